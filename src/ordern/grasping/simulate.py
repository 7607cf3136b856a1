"""The motion of a grasp in time: the explicit integrators of single robots, on the accelerations of all arms together.

After each step the state is projected to where tips and object fit. One-sided contacts are watched: where a margin
passes through zero within a step, the moment is found on the step's own polynomial.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, unknown_name
from ..simulate.dense import evaluate
from ..simulate.energy import elastic
from ..simulate.explicit import Explicit
from ..simulate.forces import External, Table, applied
from ..simulate.integrator import Settings, Step, StepFailedError
from ..simulate.problem import Problem
from ..simulate.report import Report, warn
from ..simulate.result import Result
from ..simulate.tableaus import TABLEAUS
from .arguments import numbers, per_arm
from .monitor import KINDS, Breach, breach, margins
from .motion import GraspMotion
from .projecting import fitting, projected, worst
from .state import GraspState
from .whole import from_whole, to_whole

if TYPE_CHECKING:
    from .mechanism import Grasp

__all__ = ["GraspProblem", "simulate"]

Array = NDArray[Any]
BREACH = ("warn", "stop", "release")
METHODS = tuple(name for name, t in TABLEAUS.items() if t.degree)
_HALVINGS = 50
_TOGETHER = 1e-9
"""Parts of a step by which contacts that fail at once may differ."""


class GraspProblem(Problem):
    """The equations of motion of a grasp, in the coordinates of the whole robot."""

    def __init__(self, grasp: Grasp, tau: Any, dynamics: str | None, smoothing: float) -> None:
        robot = grasp.robot
        super().__init__(robot, applied(robot, tau), External(robot, None), smoothing=smoothing)
        self.grasp, self.method = grasp, dynamics

    def motion(self, q: Array, v: Array, force: Array) -> GraspMotion:
        """Accelerations and contact forces, by joint forces and those on the object."""
        state = from_whole(self.grasp, q, v)
        wrench = None
        if self.grasp.object is not None:
            n = self.grasp.nv
            wrench = np.concatenate([state.R @ force[..., n : n + 3], state.R @ force[..., n + 3 :]], axis=-1)
        return self.grasp.dynamics(state, force[..., : self.grasp.nv], self.method, wrench=wrench)

    def dynamics(self, q: Array, v: Array, force: Array, t: Any = 0.0) -> Array:
        """dv/dt of the whole robot; the time does not matter."""
        found = self.motion(q, v, force)
        a = np.concatenate(found.accelerations, axis=-1)
        if self.grasp.object is None:
            return a
        state = from_whole(self.grasp, q, v)
        w, u, alpha = state.velocity[..., :3], state.velocity[..., 3:], found.object_acceleration
        back = np.swapaxes(state.R, -1, -2)
        return np.concatenate([a, back @ alpha[:3], back @ (alpha[3:] - np.cross(w, u))], axis=-1)

    def rates(self, t: float, q: Array, v: Array) -> tuple[Array, float, float]:
        """dv/dt, the power of the applied forces, and what passive forces take."""
        self.evaluations += 1
        force = self.applied_force(t, q, v)
        passive = self.passive_force(q, v)
        return self.dynamics(q, v, force + passive), float(force @ v), -float(passive @ v)

    def forces(self, t: float, q: Array, v: Array) -> tuple[GraspMotion, Array]:
        """Contact forces and joint accelerations at a state, and the applied joint forces."""
        tau = self.applied_force(t, q, v)
        return self.motion(q, v, tau + self.passive_force(q, v)), tau


def simulate(
    grasp: Grasp,
    q0: Any,
    v0: Any,
    tau: Any,
    until: Any,
    *,
    pose: Any,
    velocity: Any,
    wrench: Any,
    method: str,
    dynamics: str | None,
    step: float | None,
    rtol: float,
    atol: float,
    project: bool,
    breach: str,
    smoothing: float,
    max_steps: int,
) -> Result:
    """See `Grasp.simulate`."""
    if method not in METHODS:
        raise unknown_name("integrator", method, METHODS, "grasp.simulate")
    if breach not in BREACH:
        raise unknown_name("way to treat a breach", breach, BREACH, "grasp.simulate")
    if not TABLEAUS[method].adaptive and step is None:
        raise ArgumentError(f"grasp.simulate: the method {method!r} needs a fixed `step`")
    if (step is not None and not step > 0.0) or not (rtol >= 0.0 and atol > 0.0 and smoothing > 0.0):
        raise ArgumentError("grasp.simulate: step, atol and smoothing must be above zero, rtol not below")
    times, end = _times(until)
    start = grasp.state(q0, v0, pose, velocity)
    if start.shape != ():
        raise ArgumentError(f"grasp.simulate: one state at a time, not a batch of shape {start.shape}")
    start = fitting(start, "grasp.simulate") if project else start
    run = _Run(
        grasp=grasp,
        tau=_joint_forces(grasp, tau, wrench),
        settings=Settings(step, rtol, atol),
        method=method,
        dynamics=dynamics,
        project=project,
        breach=breach,
        smoothing=smoothing,
        max_steps=max_steps,
        times=times,
        end=end,
    )
    return run.go(start)


@dataclass(eq=False)
class _Run:
    grasp: Grasp
    tau: Any
    settings: Settings
    method: str
    dynamics: str | None
    project: bool
    breach: str
    smoothing: float
    max_steps: int
    times: Array | None
    end: float
    t: float = 0.0
    samples: list[tuple[Any, ...]] = field(default_factory=list)
    events: list[Breach] = field(default_factory=list)
    steps: int = 0
    rejected: int = 0
    evaluations: int = 0
    work: float = 0.0
    taken: float = 0.0
    kinetic: float = 0.0
    error: float = 0.0
    stopped: str = ""
    message: str = ""
    open: dict[tuple[int, int], int] = field(default_factory=dict)
    """Contacts and kinds that do not hold but are held on, and their events."""

    def go(self, start: GraspState) -> Result:
        """All of it."""
        began = time.perf_counter()
        self.problem = GraspProblem(self.grasp, self.tau, self.dynamics, self.smoothing)
        self.robot = self.problem.robot
        q, v = to_whole(start)
        self.energy0, self.elastic0 = self._mechanical(q, v), float(elastic(self.robot, q))
        self._initial(q, v)
        while not self.stopped and self.t < self.end:
            try:
                q, v = self._advance()
            except StepFailedError as e:
                self.stopped, self.message = e.kind, str(e)
            except KeyboardInterrupt:
                self.stopped, self.message = "interrupted", f"interrupted at t = {self.t:.9g} s"
            if self.steps >= self.max_steps and not self.stopped and self.t < self.end:
                self.stopped, self.message = "max-steps", f"{self.steps} steps led to t = {self.t:.9g} s only"
        if not self.stopped:
            self.stopped, self.message = "end", f"reached t = {self.t:.9g} s"
        return self._result(q, time.perf_counter() - began)

    def _begin(self, q: Array, v: Array, h: float | None) -> None:
        """Start the integrator anew: at first, and when the state, the forces or the contacts have jumped."""
        self.problem.tau.enter(self.t, q, v)
        self.piece = min(self.end, self.problem.tau.next_break(self.t))
        self.problem.end = self.piece
        self.integrator = Explicit(self.problem, self.settings, self.method)
        self.integrator.start(self.t, q, v, h, self.piece)

    def _initial(self, q: Array, v: Array) -> None:
        """What holds at the start, and the first sample."""
        self.problem.tau.enter(self.t, q, v)
        self.signs = self._margins(self.t, q, v) >= 0.0
        self._sample(self.t, q, v)
        failed = _pairs(~self.signs)
        if failed:
            self._fail([(self.t, i, k) for i, k in failed], q, v)
        if not self.stopped:
            self._begin(q, v, None)

    def _advance(self) -> tuple[Array, Array]:
        """One step, with all that follows from it."""
        step = self.integrator.step(self.piece)
        self.steps += 1
        self.rejected, self.evaluations = self.rejected + step.rejected, self.evaluations + step.evaluations
        lost = self._failures(step)
        s = lost[0][0] if lost and self.breach != "warn" else 1.0
        lost = [x for x in lost if x[0] <= s + _TOGETHER]
        t0, self.t = self.t, step.t1 if s == 1.0 else step.t0 + s * (step.t1 - step.t0)
        q, v, work, taken = self._at(step, s)
        self.work, self.taken = self.work + work, self.taken + taken
        if self.times is not None:
            for t in self.times[(self.times > t0) & (self.times <= self.t)]:
                self._sample(float(t), *self._at(step, (float(t) - step.t0) / (step.t1 - step.t0))[:2])
        if self.project:
            q, v = to_whole(projected(from_whole(self.grasp, q, v)))
        self._account(q, v)
        if self.times is None or s < 1.0:
            self._sample(self.t, q, v)
        if lost:
            span = step.t1 - step.t0
            self._fail([(min(step.t0 + part * span, self.t), i, k) for part, i, k in lost], q, v)
        anew = self.project or s < 1.0 or self.t >= self.piece
        if anew and self.t < self.end and not self.stopped:
            self._begin(q, v, self.integrator.h)
        return q, v

    def _at(self, step: Step, s: float) -> tuple[Array, Array, float, float]:
        """The state and the works at a part of a step."""
        if s == 1.0:
            return step.q1, step.v1, step.work, step.dissipated
        assert step.dense is not None
        y = evaluate(step.dense, np.float64(s))
        nq, nv = self.robot.nq, self.robot.nv
        works = y[nq + nv :] if y.size > nq + nv else s * np.array([step.work, step.dissipated])
        return self.robot.project(y[:nq]), y[nq : nq + nv], float(works[0]), float(works[1])

    # ---- contacts

    @property
    def _watched(self) -> bool:
        return any(c.surface is not None and c.bound.shape[1] for c in self.grasp.contacts)

    def _margins(self, t: float, q: Array, v: Array) -> Array:
        if not self._watched:
            return np.full((len(self.grasp.contacts), len(KINDS)), np.inf)
        found, _ = self.problem.forces(t, q, v)
        return margins(self.grasp, from_whole(self.grasp, q, v), found.forces)

    def _failures(self, step: Step) -> list[tuple[float, int, int]]:
        """Contacts that hold at the start of a step and not at its end: (part of the step, contact, kind), in order."""
        if not self._watched:
            return []
        left = self._margins(step.t1, step.q1, step.v1)
        found = [(self._crossing(step, i, k), i, k) for i, k in _pairs(self.signs & (left < 0.0))]
        for pair, number in list(self.open.items()):
            by = float(-left[pair])
            if by < 0.0:
                del self.open[pair]  # it holds again
            else:
                self.events[number] = replace(self.events[number], by=max(by, self.events[number].by))
        self.signs = left >= 0.0
        return sorted(found)

    def _crossing(self, step: Step, contact: int, kind: int) -> float:
        """The part of a step from which on a contact does not hold."""
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            t = step.t0 + middle * (step.t1 - step.t0)
            if t in (step.t0, step.t1):
                break
            q, v, _, _ = self._at(step, middle)
            holds = self._margins(t, q, v)[contact, kind] >= 0.0
            low, high = (middle, high) if holds else (low, middle)
        return high

    def _fail(self, lost: list[tuple[float, int, int]], q: Array, v: Array) -> None:
        """Note what does not hold any more, (time, contact, kind), and do what was asked for."""
        left = self._margins(self.t, q, v)
        parting = {i for _, i, k in lost if k == 0}
        for t, i, k in lost:
            if k == 0 or i not in parting:
                by = max(0.0, float(-left[i, k]))
                self.open[i, k] = len(self.events)
                self.events.append(breach(self.grasp, i, k, t, by, q, v))
        if self.breach == "stop":
            self.stopped, self.message = "event", str(self.events[self.open[min(self.open)]])
        elif self.breach == "release":
            self.open.clear()
            self.grasp = self.grasp.released(*{i for _, i, _ in lost})
            self.problem = GraspProblem(self.grasp, self.tau, self.dynamics, self.smoothing)
            self.signs = self._margins(self.t, q, v) >= 0.0
            self._sample(self.t, q, v)
            again = _pairs(~self.signs)
            if again:
                self._fail([(self.t, i, k) for i, k in again], q, v)

    # ---- samples and the account of energy

    def _mechanical(self, q: Array, v: Array) -> float:
        return float(self.robot.kinetic_energy(q, v) + self.robot.potential_energy(q))

    def _account(self, q: Array, v: Array) -> None:
        self.kinetic = max(self.kinetic, float(self.robot.kinetic_energy(q, v)))
        self.error = max(self.error, abs(self._mechanical(q, v) - self.energy0 - self.work + self.taken))

    def _sample(self, t: float, q: Array, v: Array) -> None:
        if self.project and self.samples:
            q, v = to_whole(projected(from_whole(self.grasp, q, v)))
        found, tau = self.problem.forces(t, q, v)
        state = from_whole(self.grasp, q, v)
        a = self.problem.dynamics(q, v, tau + self.problem.passive_force(q, v))
        lost = self.taken - (float(elastic(self.robot, q)) - self.elastic0)
        apart = max((float(np.max(np.abs(r), initial=0.0)) for r in state.velocity_residual), default=0.0)
        self.samples.append((t, q, v, a, tau, self.work, lost, found.forces, float(worst(state)), apart))

    def _result(self, q: Array, wall: float) -> Result:
        t, qs, v, a, tau, work, lost, forces, apart, drift = (np.array(x) for x in zip(*self.samples, strict=True))
        extra = {f"force.{c.name}": forces[:, i] for i, c in enumerate(self.grasp.contacts)}
        extra |= {"residual": apart, "residual.velocity": drift}
        report = Report(
            robot=self.robot.name,
            method=self.method,
            dynamics=self.dynamics or "default",
            stopped=self.stopped,
            message=self.message,
            time=self.t,
            steps=self.steps,
            rejected=self.rejected,
            evaluations=self.evaluations,
            work=self.work,
            dissipated=self.taken - (float(elastic(self.robot, q)) - self.elastic0),
            kinetic=self.kinetic,
            energy_error=self.error,
            momentum_error=(None,) * 6,
            violations=(),
            impacts=0,
            native=False,
            wall=wall,
        )
        if not report.ok:
            warn(report.message)
        if self.breach == "warn" and self.events:
            more = f" (and {len(self.events) - 1} more: see the result's events)" if self.events[1:] else ""
            warn(f"{self.events[0]}{more}")
        return Result(self.robot, t, qs, v, a, tau, work, lost, tuple(self.events), report, None, extra)


def _pairs(failed: Array) -> list[tuple[int, int]]:
    """Contacts and kinds that are true in a table."""
    return [(int(i), int(k)) for i, k in np.argwhere(failed)]


def _times(until: Any) -> tuple[Array | None, float]:
    """The times to report, if they are given, and the end."""
    x = numbers(until, "`until`")
    if x.ndim > 1 or not x.size or not np.isfinite(x).all() or (np.diff(np.atleast_1d(x)) < 0.0).any() or x.min() < 0.0:
        raise ArgumentError(f"grasp.simulate: until must be a time not below zero, or times that rise, not {until!r}")
    return (None, float(x)) if x.ndim == 0 else (x, float(x[-1]))


def _joint_forces(grasp: Grasp, tau: Any, wrench: Any) -> Any:
    """Joint forces of the whole robot: those of the arms, and the force on the object along its own axes."""
    n = grasp.robot.nv
    if isinstance(tau, Table) and wrench is None:
        if tau.values.shape[1] != grasp.nv:
            raise ArgumentError(f"grasp.simulate: the table of `tau` has {tau.values.shape[1]} columns, not {grasp.nv}")
        pad = np.zeros((len(tau.t), n - grasp.nv))
        return Table(tau.t, np.concatenate([tau.values, pad], axis=1), tau.hold)
    if wrench is not None and grasp.object is None:
        raise ArgumentError("grasp.simulate: a `wrench` on an object that does not move has no effect; leave it out")
    if not callable(tau) and wrench is None:
        parts = per_arm(grasp.arms, np.zeros(grasp.nv) if tau is None else tau, "tau")
        return np.concatenate([*parts, np.zeros(n - grasp.nv)])

    def forces(t: float, q: Array, v: Array) -> Array:
        state = from_whole(grasp, q, v)
        given = tau(t, state) if callable(tau) and not isinstance(tau, Table) else tau(t) if callable(tau) else tau
        parts = per_arm(grasp.arms, np.zeros(grasp.nv) if given is None else given, "tau")
        if grasp.object is None:
            return np.concatenate(parts)
        w = wrench(t, state) if callable(wrench) else np.zeros(6) if wrench is None else wrench
        x = numbers(w, "`wrench`", (6,))
        return np.concatenate([*parts, state.R.T @ x[:3], state.R.T @ x[3:]])

    return forces
