"""The machine that differentiates the text of a control law: values with their rates along all numbers of q and v.

It serves joint controllers of trees in which positions are plain numbers. There, charts are flat: errors are
differences, and velocities need not be carried from the goal to the robot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.derivatives.coordinates import push_name
from ..algorithms.registry import find_question
from ..arguments import Array, array
from ..errors import ArgumentError
from .trajectory import Motion

if TYPE_CHECKING:
    from ..robot import Robot
    from .controller import Goal, Written

__all__ = ["Moved", "MovingLaw", "law_jacobian"]


class Moved:
    """A vector of the law, (n,), and its rates, (directions, n)."""

    __slots__ = ("rates", "value")
    __array_ufunc__ = None  # arrays leave operators to this class

    def __init__(self, value: Array, rates: Array) -> None:
        self.value, self.rates = value, rates

    def __add__(self, other: Any) -> Moved:
        x = _lifted(other)
        return Moved(self.value + x.value, self.rates + x.rates)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Moved:
        x = _lifted(other)
        return Moved(self.value - x.value, self.rates - x.rates)

    def __rsub__(self, other: Any) -> Moved:
        return _lifted(other) - self

    def __mul__(self, other: Any) -> Moved:
        x = _lifted(other)
        return Moved(self.value * x.value, self.rates * x.value + self.value * x.rates)

    __rmul__ = __mul__


def _lifted(x: Any) -> Moved:
    return x if isinstance(x, Moved) else Moved(np.asarray(x, float), np.zeros(1))


class MovingLaw:
    """Computes a law and its rates, at one time and state."""

    def __init__(self, t: float) -> None:
        self.t = t

    def goal(self, goal: Goal) -> Motion:
        """Return the desired motion, which does not depend on the state."""
        return goal(self.t)

    def call(self, robot: Robot, question: str, *arguments: Any, **settings: Any) -> Any:
        """Return the answer of a method of the robot, and its rates."""
        value = getattr(robot, question)(*(x.value if isinstance(x, Moved) else x for x in arguments), **settings)
        ports = [p.name for p in find_question(question).inputs if not p.optional]
        moved = {name: x for name, x in zip(ports, arguments, strict=True) if isinstance(x, Moved)}
        if not moved:
            return value
        kernel = robot.kernel(push_name(question, tuple(moved)), **settings)
        given = [np.asarray(x.value if isinstance(x, Moved) else x, float) for x in arguments]
        return Moved(value, np.asarray(kernel(*given, *(x.rates for x in moved.values()))))

    def carried(self, goal: Goal, e: Moved, v: Array) -> Array:
        """Return the velocity of the goal, which has the same axes everywhere."""
        return v

    def feedback(self, goal: Goal, e: Moved, v: Moved, wanted: Motion, kp: Array, kd: Array) -> Moved:
        """Return the acceleration for which e'' + kd e' + kp e = 0."""
        return wanted.a + kd * (wanted.v - v) + kp * e

    def task_force(self, controller: Any, q: Any, v: Any, bent: Any) -> Any:
        """Raise: the law of a frame is not differentiated."""
        raise ArgumentError(
            f"the law of {type(controller).__name__} has no derivatives; those of joint controllers have"
        )

    def sampled(self, controller: Any, q: Any, v: Any) -> Any:
        """Raise: forces that are held depend on earlier states."""
        raise ArgumentError(
            f"{type(controller).__name__} holds its forces, and has no derivatives by the present state"
        )

    def only(self, at: Array, x: Any) -> Any:
        """Return the numbers of x where `at` is True, else zeros."""
        return np.where(at, x, 0.0) if not isinstance(x, Moved) else x * at.astype(float)

    def clip(self, x: Any, limits: Array, saturated: Any) -> Moved:
        """Return x within limits; beyond them it is constant."""
        x = _lifted(x)
        return Moved(np.clip(x.value, -limits, limits), x.rates * (np.abs(x.value) < limits))

    def part(self, whole: str, part: Any, q: Moved, v: Moved) -> Moved:
        """Return the forces of another controller, or of a function that knows its Jacobian."""
        jacobian = getattr(part, "jacobian", None)
        if not callable(jacobian):
            name = getattr(part, "__name__", type(part).__name__)
            raise ArgumentError(f"{whole}: the derivatives of {name} are not known; give it a method `jacobian`")
        by_q, by_v = jacobian(self.t, q.value, v.value)
        return Moved(np.asarray(part(self.t, q.value, v.value)), q.rates @ by_q.T + v.rates @ by_v.T)


def law_jacobian(controller: Written, t: float, q: Array, v: Array) -> tuple[Array, Array]:
    """Return the derivatives of the forces of a controller by q and by v, (nv, nq) and (nv, nv)."""
    from ..compile.timeloops.machine import is_flat

    name, robot = type(controller).__name__, getattr(controller, "robot", None)  # a Sum has none of its own
    if robot is not None and (robot.nc or not is_flat(robot)):
        raise ArgumentError(
            f"the derivatives of {name} are for trees whose positions are plain numbers, but {robot.name!r} has loops, "
            "or joints that rotate in space"
        )
    sizes = (None, None) if robot is None else (robot.nq, robot.nv)
    q, v = array(q, sizes[:1], "jacobian: q", nonfinite=True), array(v, sizes[1:], "jacobian: v", nonfinite=True)
    nq, nv = len(q), len(v)
    unit = np.eye(nq + nv)
    moving = Moved(q, unit[:, :nq]), Moved(v, unit[:, nq:])
    found = _lifted(controller._law(MovingLaw(t), *moving))
    rates = np.broadcast_to(found.rates, (nq + nv, nv)).T
    return rates[:, :nq], rates[:, nq:]
