"""The two machines that run the text of a control law.

A law is written once, as a function of a machine, q and v. `Numbers` computes it on arrays, for one state or many.
`Recorder` notes its operations as a program, which compiled time loops run (`compile.timeloops.law_program`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array, real
from ..compile.pipeline import Request, layout_of
from ..compile.timeloops.law_program import Law, Operation, Program
from .pieces import chart_pieces, goal_pieces, pose_pieces
from .trajectory import Motion

if TYPE_CHECKING:
    from ..robot import Robot
    from .combined import Sampled
    from .controller import Goal
    from .operational_space import OperationalSpace

__all__ = ["NotRecordedError", "Numbers", "Recorder", "Vector"]


class NotRecordedError(Exception):
    """A law that compiled time loops do not compute: it needs NumPy, or code of the user."""


class Numbers:
    """Computes a law on arrays of shapes (..., nq) and (..., nv), at a time or at an array of times."""

    def __init__(self, t: Any) -> None:
        self.t = t

    def goal(self, goal: Goal) -> Motion:
        """Return the desired motion."""
        return goal(self.t)

    def call(self, robot: Robot, question: str, *arguments: Any, **settings: Any) -> Array:
        """Return the answer of a method of the robot."""
        answer: Array = getattr(robot, question)(*arguments, **settings)
        return answer

    def carried(self, goal: Goal, e: Array, v: Array) -> Array:
        """Return the velocity v of the goal, at the error e, in the axes of the actual position."""
        return goal.space.carried(e, v)

    def feedback(self, goal: Goal, e: Array, v: Array, wanted: Motion, kp: Array, kd: Array) -> Array:
        """Return the acceleration for which e'' + kd e' + kp e = 0."""
        return goal.space.feedback(e, v, wanted.v, wanted.a, kp, kd)

    def task_force(self, controller: OperationalSpace, q: Array, v: Array, bent: Array) -> Array:
        """Return the force on the controlled frame, which has the acceleration `bent` without it, (..., 6)."""
        return controller._task_force(self.t, q, v, bent)

    def pull(self, columns: Array, force: Array) -> Array:
        """Return the joint forces of a force on a frame, by the columns of its Jacobian."""
        return np.asarray((columns.swapaxes(-1, -2) @ force[..., None])[..., 0])

    def only(self, at: Array, x: Array) -> Array:
        """Return the numbers of x where `at` is True, else zeros."""
        return np.where(at, x, 0.0)

    def clip(self, x: Array, limits: Array, saturated: Any) -> Array:
        """Return x within limits; the controller notes demands above them."""
        saturated._note(self.t, x)
        return np.clip(x, -limits, limits)

    def sampled(self, controller: Sampled, q: Array, v: Array) -> Array:
        """Return the forces of a controller that is sampled, with noise and rounding."""
        return controller._real(self, q, v)

    def part(self, whole: str, part: Any, q: Array, v: Array) -> Array:
        """Return the forces of another controller, or of a function, as floats."""
        name = getattr(part, "__name__", type(part).__name__)
        return real(part(self.t, q, v), f"{whole}: the forces of {name}")


class Vector:
    """A vector of a program: operators record sums and products, number by number."""

    __slots__ = ("index", "recorder", "size")
    __array_ufunc__ = None  # arrays leave operators to this class

    def __init__(self, recorder: Recorder, index: int, size: int) -> None:
        self.recorder, self.index, self.size = recorder, index, size

    def __add__(self, other: Any) -> Vector:
        return self.recorder.note("add", self, other)

    def __radd__(self, other: Any) -> Vector:
        return self.recorder.note("add", other, self)

    def __sub__(self, other: Any) -> Vector:
        return self.recorder.note("subtract", self, other)

    def __rsub__(self, other: Any) -> Vector:
        return self.recorder.note("subtract", other, self)

    def __mul__(self, other: Any) -> Vector:
        return self.recorder.note("multiply", self, other)

    def __rmul__(self, other: Any) -> Vector:
        return self.recorder.note("multiply", other, self)


class Recorder:
    """Notes the operations of a law.

    `texts` are the classes whose laws may be recorded: a controller of any other class, a subclass included, is code of
    the user.
    """

    def __init__(self, robot: Robot, texts: frozenset[type]) -> None:
        self.nv, self._texts = robot.nv, texts
        self._operations: list[Operation] = []
        self._parameters: list[Array] = []
        self._requests: dict[str, Request] = {}
        self._goals: list[tuple[Any, Array, bool]] = []
        self._charts: dict[int, Motion] = {}
        """Desired motions of joints that rotate bodies, by the number of the goal."""
        self._saturated: list[Any] = []
        self.q, self.v = self._value("q", robot.nq), self._value("v", robot.nv)

    def finish(self, controller: Any) -> Law:
        """Record the law of a controller, and return it."""
        period = controller.period
        result = self.part("", controller, self.q, self.v)
        if result.index != len(self._operations) - 1:  # the forces are the last vector of a program
            self._value("add", self.nv, (result.index, self._lifted(np.zeros(self.nv), self.nv).index))
        waves = tuple(wave for _, _, wave in self._goals)
        program = Program(tuple(self._operations), waves, period is not None)
        parameters = np.concatenate([np.zeros(0), *self._parameters])
        goals = tuple(table for _, table, _ in self._goals)
        return Law(program, self._requests, parameters, goals, period, _demands(self._saturated))

    # ---- operations

    @property
    def t(self) -> Any:
        """The time is not known: only code that compiled time loops do not run needs it as a number."""
        raise NotRecordedError("closed loops")

    def goal(self, goal: Goal) -> Motion:
        """Return the desired motion: parameters if it is constant, else polynomials."""
        if goal.fixed is not None:
            sizes = (goal.nq, goal.nv, goal.nv)
            return Motion(*(self._lifted(x, n) for x, n in zip(goal.fixed, sizes, strict=True)))  # type: ignore[arg-type]
        if goal.nq != goal.nv or goal.space.curved:
            return self._curved_goal(goal)
        which = self._goal_number(goal.target, goal_pieces)
        return Motion(*(self._value(f"goal {x}", self.nv, which=which) for x in "qva"))  # type: ignore[arg-type]

    def _curved_goal(self, goal: Goal) -> Motion:
        """Return the desired motion of joints that rotate bodies: from coordinates in a chart about a position."""
        if goal.space.unknown:
            raise NotRecordedError("a moving goal of a joint that integrates in a way of its own")
        which = self._goal_number(goal.target, chart_pieces)
        if which not in self._charts:
            x, dx, ddx = (self._value(f"goal {name}", self.nv, which=which) for name in "qva")
            q = self.call(goal.robot, "integrate", self._value("goal base", goal.nq, which=which), x, 1.0)
            v, a = self._chart("velocity", goal, x, dx), self._chart("acceleration", goal, x, dx, ddx)
            self._charts[which] = Motion(q, v, a)  # type: ignore[arg-type]
        return self._charts[which]

    def _chart(self, text: str, goal: Goal, *vectors: Any) -> Vector:
        """Record a text of `algorithms.configuration.chart`."""
        curved = tuple((at.start, places) for at, places in goal.space.curved)
        operands = tuple(self._lifted(x, self.nv).index for x in vectors)
        return self._value("chart", self.nv, operands, (text, curved))

    def _goal_number(self, target: Any, pieces: Callable[[Any], tuple[Array, bool] | None]) -> int:
        """Return the number of a goal's table, made now if it is new."""
        for k, (other, _, _) in enumerate(self._goals):
            if other is target:
                return k
        found = pieces(target)
        if found is None:
            raise NotRecordedError("a goal that is not a polynomial of time")
        self._goals.append((target, *found))
        return len(self._goals) - 1

    def call(self, robot: Robot, question: str, *arguments: Any, **settings: Any) -> Vector:
        """Record the call of a compiled kernel."""
        if robot.nc:
            raise NotRecordedError("closed loops")
        if robot.variation is not None:  # it may have other numbers than the robot that moves
            raise NotRecordedError("parameters that vary")
        kernel = robot.kernel(question, **settings)
        if kernel.is_interpreted:
            raise NotRecordedError(f"{question} is not compiled")
        known = [name for name, request in self._requests.items() if request is kernel.request]
        name = known[0] if known else f"law{len(self._requests)}_{question}"
        self._requests[name] = kernel.request
        layout = layout_of(kernel.request, 1)
        given = (self._lifted(x, port.size).index for x, port in zip(arguments, layout.inputs, strict=True))
        return self._value("kernel", layout.output.size, tuple(given), name)

    def carried(self, goal: Goal, e: Any, v: Any) -> Any:
        """Return a velocity, which has the same axes everywhere unless bodies rotate."""
        return self._chart("carried", goal, e, v) if goal.space.curved and goal.fixed is None else v

    def feedback(self, goal: Goal, e: Any, v: Any, wanted: Motion, kp: Array, kd: Array) -> Any:
        """Record the feedback, which is a sum unless bodies rotate."""
        if goal.space.curved:
            return self._chart("feedback", goal, e, v, wanted.v, wanted.a, kp, kd)
        return goal.space.feedback(e, v, wanted.v, wanted.a, kp, kd)

    def task_force(self, controller: OperationalSpace, q: Any, v: Any, bent: Any) -> Vector:
        """Record the force on the controlled frame."""
        robot, frame = controller.robot, controller.frame
        state = (
            self.call(robot, "pose", q, frame=frame),
            self.call(robot, "velocity", q, v, frame=frame, axes="world"),
            bent,
            self.call(robot, "operational_inertia_inverse", q, frame=frame, axes="world"),
        )
        numbers = ((controller.kp, 6), (controller.kd, 6), (controller.heaviest, 1))
        given = (*state, *self._pose_goal(controller.target), *(self._lifted(x, n) for x, n in numbers))
        rows = (controller.rows.start, controller.rows.stop)
        return self._value(controller.text, 6, tuple(x.index for x in given), rows)

    def _pose_goal(self, target: Any) -> tuple[Vector, ...]:
        """Return coordinates, velocity and acceleration of a desired pose, and the rotation they count from."""
        if isinstance(target, np.ndarray):
            x, base = np.concatenate([np.zeros(3), target[:3, 3]]), target[:3, :3].ravel()
            return (self._lifted(x, 6), self._lifted(0.0, 6), self._lifted(0.0, 6), self._lifted(base, 9))
        which = self._goal_number(target, pose_pieces)
        return tuple(self._value(f"goal {x}", 9 if x == "base" else 6, which=which) for x in ("q", "v", "a", "base"))

    def pull(self, columns: Vector, force: Vector) -> Vector:
        """Record the joint forces of a force on a frame."""
        return self._value("pull", self.nv, (columns.index, force.index))

    def only(self, at: Array, x: Any) -> Vector:
        """Record a choice of numbers."""
        return self.note("only", x, at.astype(float))

    def clip(self, x: Any, limits: Array, saturated: Any) -> Vector:
        """Record limits; compiled code notes demands above them."""
        self._saturated.append(saturated)
        return self.note("clip", x, limits)

    def sampled(self, controller: Sampled, q: Any, v: Any) -> Any:
        """Record a controller without delay and noise; states and forces may be rounded."""
        imperfect = controller.imperfect
        if controller.delay or (imperfect is None and not controller._ideal) or (imperfect and imperfect.noise):
            raise NotRecordedError("delay and noise")
        steps = imperfect.steps if imperfect else {}
        q, v = (self._rounded(x, steps.get(name)) for x, name in ((q, "q"), (v, "v")))
        return self._rounded(controller._exact(self, q, v), steps.get("tau"))

    def _rounded(self, x: Any, step: Array | None) -> Any:
        """Record rounding to multiples of steps."""
        if step is None:
            return x
        return self._value("round", len(step), (self._lifted(x, len(step)).index, self._lifted(step, len(step)).index))

    def part(self, whole: str, part: Any, q: Any, v: Any) -> Vector:
        """Record another controller of the library."""
        if type(part) not in self._texts:
            raise NotRecordedError("code of the user")
        return self._lifted(part._law(self, q, v), self.nv)

    # ---- notes

    def note(self, name: str, *operands: Any) -> Vector:
        """Note an operation on vectors of nv numbers."""
        return self._value(name, self.nv, tuple(self._lifted(x, self.nv).index for x in operands))

    def _lifted(self, x: Any, size: int) -> Vector:
        """Return a vector; numbers become parameters."""
        if isinstance(x, Vector):
            return x
        self._parameters.append(np.broadcast_to(np.asarray(x, float), (size,)))
        return self._value("parameter", size)

    def _value(self, name: str, size: int, operands: tuple[int, ...] = (), which: Any = None) -> Vector:
        self._operations.append(Operation(name, size, operands, which))
        return Vector(self, len(self._operations) - 1, size)


def _demands(saturated: list[Any]) -> Callable[[Array | None], Array]:
    """Return the function that reads and replaces the largest demands of controllers that saturate."""

    def demands(new: Array | None) -> Array:
        for k, x in enumerate(saturated if new is not None else ()):
            assert new is not None
            x.demand, x.time = new[k].copy()
        return np.array([[x.demand, x.time] for x in saturated])

    return demands
