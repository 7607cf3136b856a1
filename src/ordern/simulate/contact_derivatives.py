"""Derivatives of rollouts with contacts: step by step, each step a native function for all trajectories.

A step applies F = tau + passive + external + kp (target - q) - D v with the implicit damping D = kd + dt kp, and asks
`contact_step`. Its derivatives are those of the equations of the contacts (`algorithms.derivatives.roots`). Impulses
that a step begins from have no part in them.

The states of all steps come from the native time loop. A gradient goes back through segments of the steps: the first
run keeps the states at the starts of segments, and each segment is run again before the way back through it. So memory
is bounded for any number of steps, and a step is taken at most twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..algorithms.derivatives.coordinates import pull_name, push_name
from ..arguments import AnyArray
from ..compile.timeloops.machine import is_flat
from ..errors import ArgumentError
from ..kernel.bound import bound
from ..model.contacts import CERTIFICATE
from ..model.varied_derivatives import by_field, from_fields, pull_numbers, push_numbers
from .contact_record import ContactRecord, ContactSettings, surfaces
from .efforts import has_efforts
from .integrators.native import step_question
from .integrators.native_derivatives import derivative_kernel
from .rollout import steps_between
from .rollout_arguments import Plan
from .step_rule import without_limits

if TYPE_CHECKING:
    from ..robot import Robot
    from .rolled import Source

__all__ = ["CONTACT_NAMES", "contact_gradient", "contact_rates", "contact_sizes", "require_ends"]

CONTACT_NAMES = {"contact_friction": 0, "ground_height": 2}
"""Arguments about contacts, and their columns among the surfaces of a contact."""
_TAPE_BYTES = 1 << 27
"""The states of the steps that are kept at once. Longer rollouts are gone through in segments."""


def contact_sizes(robot: Robot) -> dict[str, tuple[int, ...]]:
    """Return the shapes of tangents of arguments about contacts."""
    if robot.contacts is None or not robot.contacts.pairs:
        return {}
    names = CONTACT_NAMES if robot.contacts.ground is not None else ("contact_friction",)
    return {name: (len(robot.contacts.pairs),) for name in names}


class _State(NamedTuple):
    """The arguments of a step, (..., n)."""

    q: AnyArray
    v: AnyArray
    impulses: AnyArray
    stops: AnyArray


class _Motion:
    """The steps of one rollout, its forces, and the derivatives of both."""

    def __init__(self, source: Source, threads: int | None) -> None:
        self.robot, self.plan, self.threads = source.robot, source.plan, threads
        robot, p = self.robot, self.plan
        assert robot.contacts is not None
        self.settings = source.contact or ContactSettings()
        self.contacts, self.blocks, self.dtype = len(robot.contacts.pairs), robot.contacts.blocks, p.dtype
        found = surfaces(robot, p.batch, self.settings)
        self.surfaces = found.reshape(*found.shape[:-1], -1, 3).astype(p.dtype)
        self.kp, self.damping = (x.astype(p.dtype) for x in p.gains)
        self.effort = p.effort.astype(p.dtype)
        self.clips = "goal" in p.given and has_efforts(robot)
        """True if the forces of feedback have limits."""
        self.dt, self.smoothing = (np.asarray(x, p.dtype) for x in (p.dt, p.smoothing))
        self.limits = robot.lower.astype(p.dtype), robot.upper.astype(p.dtype)
        self.question = step_question(robot)
        self.flat = is_flat(robot)
        self.bare = without_limits(robot)
        """The robot of steps in which no joint is at a limit: their derivatives have no rows for limits."""
        self.stepping = robot
        """The robot of the current step."""
        self._kernels: dict[Any, Any] = {}
        self._first = ContactRecord(robot, replace(p, steps=0), self.settings).arrays["pushes0"]

    # states ------------------------------------------------------------------------------------------------------

    def segments(self) -> list[tuple[int, int]]:
        """Return the first step and the number of steps of each segment."""
        p, steps = self.plan, self.plan.steps
        width = (self.robot.nq + self.robot.nv + self._first.shape[-1]) * p.dtype.itemsize * max(1, p.count)
        length = min(steps, max(1, _TAPE_BYTES // width, math.isqrt(steps)))
        return [(k, min(length, steps - k)) for k in range(0, steps, length)]

    def run(self, start: Mapping[str, AnyArray], first: int, steps: int, every: int) -> dict[str, AnyArray]:
        """Take steps from a start; return states and impulses of every so many, the start among them."""
        return steps_between(self.robot, self.plan, self.settings, start, (first, steps, every), self.threads)

    @property
    def start(self) -> dict[str, AnyArray]:
        """The start of the rollout, for the time loop."""
        arrays = self.plan.arrays
        return {"q0": arrays["q0"], "v0": arrays["v0"], "pushes0": self._first}

    def starts(self, segments: Sequence[tuple[int, int]]) -> list[dict[str, AnyArray]]:
        """Return the starts of all segments."""
        found = [self.start]
        if len(segments) > 1:
            length = segments[0][1]
            rows = self.run(self.start, 0, length * (len(segments) - 1), length)
            found += [{f"{x}0": np.ascontiguousarray(rows[x][:, k]) for x in rows} for k in range(1, len(segments))]
        return found

    def state(self, rows: Mapping[str, AnyArray], k: int) -> _State:
        """Return the state of one row, with the shape of the batch."""
        batch, split = self.plan.batch, 3 * self.blocks  # moments of contacts stand behind the impulses
        q, v, pushes = (rows[x][:, k].reshape(*batch, -1) for x in ("q", "v", "pushes"))
        stops = pushes[..., split:] if pushes.shape[-1] > split else np.zeros(self.robot.nv, self.dtype)
        return _State(q, v, pushes[..., :split].reshape(*batch, self.blocks, 3), stops)

    def enter(self, after: _State) -> None:
        """Choose the robot of a step by the impulses of limits in it, those of the state `after` it."""
        self.stepping = self.robot if (after.stops != 0.0).any() else self.bare

    def now(self, step: int) -> dict[str, AnyArray]:
        """Return what is applied in one step; of external forces, those on all bodies."""
        found = {}
        for name, x in self.plan.timed.items():
            if name == "tau" or name in self.plan.given:
                row = x[..., step if x.shape[-2] > 1 else 0, :].astype(self.dtype)
                found[name] = row.reshape(*row.shape[:-1], -1, 6) if name == "external" else row
        return found

    # forces ------------------------------------------------------------------------------------------------------

    def ask(self, question: str, *arguments: Any) -> AnyArray:
        """Return the answer to a question."""
        kernel = self._kernels.get(question)
        if kernel is None:
            kernel = self._kernels[question] = self.robot.kernel(question)
        return np.asarray(kernel(*arguments, threads=self.threads))

    def derived(self, question: str, name: Any, *arguments: Any) -> AnyArray:
        """Return a derivative of the answer to a question, by the numbers of its arguments."""
        steps = question == self.question
        robot = self.stepping if steps else self.robot
        kernel = self._kernels.get((question, name, id(robot)))
        if kernel is None:
            kernel = derivative_kernel(robot, question, name, steps and self.clips)
            self._kernels[question, name, id(robot)] = kernel
        return np.asarray(kernel(*arguments, threads=self.threads))

    def forces(self, x: _State, now: Mapping[str, AnyArray]) -> tuple[AnyArray, ...]:
        """Return all joint forces; those of feedback on their own if they have limits."""
        total = now["tau"]
        if self.robot.has_step_passive:
            total = total + self.ask("step_passive_force", x.q, x.v, self.smoothing)
        if "external" in now:
            total = total + self.ask("external_force", x.q, now["external"])
        if "goal" not in now:
            return (np.asarray(total),)
        servo = self.kp * self.ask("difference", x.q, now["goal"]) - self.damping * x.v
        return (total, servo) if self.clips else (total + servo,)

    def arguments(self, x: _State, now: Mapping[str, AnyArray]) -> tuple[AnyArray, ...]:
        """Return the arguments of derivatives of `contact_step`, without what these add and the effort limits."""
        force, *servo = self.forces(x, now)
        given = x.q, x.v, force, self.dt, self.damping, *self.limits
        contacts = (x.impulses, x.stops, self.surfaces) if self.contacts else (x.stops,)
        return (*given, *contacts, *servo)

    @property
    def last(self) -> tuple[AnyArray, ...]:
        """The arguments of these derivatives that are behind all others."""
        return (self.effort,) if self.clips else ()

    def as_tangent(self, q: AnyArray, weights: AnyArray) -> AnyArray:
        """Return derivatives in the tangent of q from those by its numbers."""
        if self.flat:
            return weights
        zero = np.zeros(self.robot.nv, self.dtype)
        return self.ask(pull_name("position_rate", ("v",)), q, zero, weights)

    def as_numbers(self, q: AnyArray, weights: AnyArray) -> AnyArray:
        """Return derivatives by the numbers of q from those in its tangent."""
        if self.flat:
            return weights
        zero = np.zeros(self.robot.nq, self.dtype)
        return self.ask(pull_name("position_tangent", ("rate",)), q, zero, weights)


# gradients -------------------------------------------------------------------------------------------------------


def contact_gradient(
    source: Source,
    weights: Mapping[str, AnyArray | None],
    by_numbers: bool,
    threads: int | None,
    ends: tuple[AnyArray, AnyArray] | None,
    changed: str,
) -> dict[str, AnyArray]:
    """Return the derivatives of a weighted sum of kept states by all arguments; see `Rollout.vjp`."""
    back = _Back(_Motion(source, threads), weights, by_numbers)
    motion, p = back.motion, back.motion.plan
    segments = motion.segments()
    for k, ((first, count), start) in reversed(list(enumerate(zip(segments, motion.starts(segments), strict=True)))):
        rows = motion.run(start, first, count, 1)
        if k == len(segments) - 1:
            require_ends(p, rows, ends, changed)
        for step in reversed(range(first, first + count)):
            if (step + 1) % p.every == 0:
                back.weigh(motion.state(rows, step - first + 1).q, (step + 1) // p.every)
            motion.enter(motion.state(rows, step - first + 1))
            back.step(motion.state(rows, step - first), step)
    q0 = np.broadcast_to(p.q, (*p.batch, p.q.shape[-1])).astype(p.dtype)
    back.weigh(q0, 0)
    return back.found(q0)


def require_ends(p: Plan, rows: Mapping[str, AnyArray], ends: Any, changed: str) -> None:
    """Raise if the states at the end are not those of the rollout."""
    for name, wanted in zip(("q", "v"), ends or (), strict=False):
        found = rows[name][:, -1].reshape(*p.batch, -1)
        if not np.array_equal(found, np.broadcast_to(wanted, found.shape), equal_nan=True):
            raise ArgumentError(changed)


class _Back:
    """Goes back through steps, and collects derivatives."""

    def __init__(self, motion: _Motion, weights: Mapping[str, AnyArray | None], by_numbers: bool) -> None:
        self.motion, self.weights, self.by_numbers = motion, weights, by_numbers
        p, nv = motion.plan, motion.robot.nv
        batch = p.batch
        self.q, self.v = (np.zeros((*batch, n), p.dtype) for n in (motion.robot.nq, nv))
        self.drag, self.kp = np.zeros((*batch, nv), p.dtype), np.zeros((*batch, nv), p.dtype)
        self.dt, self.surfaces = np.zeros(batch, p.dtype), np.zeros((*batch, motion.contacts, 3), p.dtype)
        rows = {name: p.steps if name in p.by_rows and x.shape[-2] > 1 else 1 for name, x in p.timed.items()}
        sizes = {"tau": nv, "external": p.timed["external"].shape[-1], "goal": nv}
        self.timed = {name: np.zeros((*batch, rows[name], sizes[name]), p.dtype) for name in rows}
        self.numbers: dict[bool, AnyArray] = {}

    def weigh(self, q: AnyArray, row: int) -> None:
        """Add the weights of a kept state."""
        batch = self.motion.plan.batch
        wq, wv = (None if x is None else x[:, row].reshape(*batch, -1) for x in self.weights.values())
        if wq is not None:
            self.q = self.q + (wq if self.by_numbers else self.motion.as_numbers(q, wq))
        if wv is not None:
            self.v = self.v + wv

    def pull(self, question: str, sizes: Sequence[int], *arguments: Any) -> list[AnyArray]:
        """Return the derivatives of a weighted answer, one for each argument; collect those by numbers of the robot."""
        row, at, found = self.motion.derived(question, pull_name, *arguments), 0, []
        for size in sizes:
            found.append(row[..., at : at + size])
            at += size
        if row.shape[-1] > at:
            regroup = self.motion.robot.kernel(question).request.algorithm.regroup
            self.numbers[regroup] = self.numbers.get(regroup, 0.0) + row[..., at:].astype(float)
        return found

    def step(self, x: _State, step: int) -> None:
        """Go back through one step, from the state at its end to the one at its start."""
        m, now = self.motion, self.motion.now(step)
        nq, nv = m.robot.nq, m.robot.nv
        weights = np.zeros((*self.q.shape[:-1], nq + 2 * nv + 3 * m.blocks + len(CERTIFICATE)), m.dtype)
        weights[..., :nq], weights[..., nq : nq + nv] = self.q, self.v
        touching = (3 * m.contacts,) if m.contacts else ()
        sizes = (nq, nv, nv, 1, nv, *touching, *((nv,) if m.clips else ()))
        found = self.pull(m.question, sizes, *m.arguments(x, now), weights, *m.last)
        (q, v, force, dt, drag), surface, servo = found[:5], found[5 : 5 + len(touching)], found[5 + len(touching) :]
        self.dt += dt[..., 0]
        self.drag += drag
        for by_surface in surface:
            self.surfaces += by_surface.reshape(self.surfaces.shape)
        self._give("tau", step, force)
        if m.robot.has_step_passive:
            by_q, by_v = self.pull("step_passive_force", (nq, nv), x.q, x.v, m.smoothing, force)
            q, v = q + by_q, v + by_v
        if "external" in now:
            size = self.timed["external"].shape[-1]
            by_q, loads = self.pull("external_force", (nq, size), x.q, now["external"], force)
            q = q + by_q
            self._give("external", step, loads)
        if "goal" in now:
            fed = servo[0] if m.clips else force
            self.kp += fed * m.ask("difference", x.q, now["goal"])
            self.drag -= fed * x.v
            v = v - fed * m.damping
            by_q, by_goal = self.pull("difference", (nq, nq), x.q, now["goal"], fed * m.kp)
            q = q + by_q
            self._give("goal", step, m.as_tangent(np.broadcast_to(now["goal"], by_goal.shape), by_goal))
        self.q, self.v = q, v

    def _give(self, name: str, step: int, x: AnyArray) -> None:
        """Add derivatives by what is applied in a step."""
        table = self.timed[name]
        table[..., step if table.shape[-2] > 1 else 0, :] += x

    def found(self, q0: AnyArray) -> dict[str, AnyArray]:
        """Return the derivatives by all arguments."""
        m = self.motion
        p, robot = m.plan, m.robot
        tables = {name: x if name in p.by_rows else x[..., 0, :] for name, x in self.timed.items()}
        loads = tables["external"]
        found = {
            **{"q0": m.as_tangent(q0, self.q), "v0": self.v, "tau": tables["tau"], "target": tables["goal"]},
            **{"external": loads.reshape(*loads.shape[:-1], -1, 6), "kd": self.drag, "kp": self.kp + m.dt * self.drag},
            **{"dt": self.dt + (self.drag * m.kp).sum(-1)},
            **{name: self.surfaces[..., column] for name, column in CONTACT_NAMES.items()},
        }
        numbers = bound(robot)
        if numbers is not None:
            total = np.zeros((*p.batch, numbers.values.shape[-1]))
            for regroup, x in self.numbers.items():
                total = total + pull_numbers(numbers.structure, regroup, numbers.values, x)
            fields = by_field(numbers.structure, total)  # friction of contacts is among the surfaces above
            found = {name: x.astype(p.dtype) for name, x in fields.items()} | found
        return found


# rates -----------------------------------------------------------------------------------------------------------


def contact_rates(
    source: Source,
    tangents: Mapping[str, AnyArray],
    batch: tuple[int, ...],
    threads: int | None,
    ends: Any,
    changed: str,
) -> Iterator[tuple[int, AnyArray, AnyArray]]:
    """Yield the rates of kept states, one after the other: a row, and the rates of q (in its tangent) and v.

    Those of the arguments that may change with time are (..., rows, n), others (..., n).
    """
    motion = _Motion(source, threads)
    m, p, robot = motion, motion.plan, motion.robot
    moving = _Moving(motion, tangents)
    zero = np.zeros((*batch, robot.nv), p.dtype)
    dq, dv = (zero + tangents[x] if x in tangents else zero for x in ("q0", "v0"))
    yield 0, dq, dv
    dq = dq if m.flat else m.ask("position_rate", p.q.astype(p.dtype), dq)
    start = m.start
    for first, count in m.segments():
        rows = m.run(start, first, count, 1)
        for step in range(first, first + count):
            m.enter(m.state(rows, step - first + 1))
            dq, dv = moving.step(m.state(rows, step - first), step, dq, dv)
            if (step + 1) % p.every == 0:
                after = m.state(rows, step - first + 1).q
                yield (step + 1) // p.every, dq if m.flat else m.ask("position_tangent", after, dq), dv
        start = {f"{x}0": np.ascontiguousarray(rows[x][:, -1]) for x in rows}
        if first + count == p.steps:
            require_ends(p, rows, ends, changed)


class _Moving:
    """Carries rates through steps."""

    def __init__(self, motion: _Motion, tangents: Mapping[str, AnyArray]) -> None:
        self.motion, self.tangents = motion, tangents
        m, nv = motion, motion.robot.nv
        self.dt = tangents.get("dt", np.zeros((), m.dtype))
        self.kp = tangents.get("kp", np.zeros(nv, m.dtype))
        self.drag = tangents.get("kd", np.zeros(nv, m.dtype)) + m.dt * self.kp + self.dt[..., None] * m.kp
        parts = [tangents.get(name, np.zeros(m.contacts, m.dtype)) for name in CONTACT_NAMES]
        friction, height = np.broadcast_arrays(*parts)
        self.surfaces = np.stack([friction, np.zeros_like(friction), height], axis=-1)
        self.numbers: dict[bool, AnyArray] = {}

    def push(self, question: str, *arguments: Any, last: Sequence[AnyArray] = ()) -> AnyArray:
        """Return the rate of an answer; the `last` arguments come after the rates of parameters."""
        robot = self.motion.robot
        numbers = bound(robot)
        if numbers is None:
            return self.motion.derived(question, push_name, *arguments, *last)
        regroup = robot.kernel(question).request.algorithm.regroup
        if regroup not in self.numbers:
            assert numbers.structure.variation is not None
            masks = numbers.structure.variation.masks
            fields = {name: x for name, x in self.tangents.items() if name in masks}
            shapes = [x.shape[: x.ndim - masks[name].ndim] for name, x in fields.items()]
            values = from_fields(numbers.structure, fields, np.broadcast_shapes(*shapes))
            self.numbers[regroup] = push_numbers(numbers.structure, regroup, numbers.values, values)
        moving = self.numbers[regroup].astype(self.motion.dtype)
        return self.motion.derived(question, push_name, *arguments, moving, *last)

    def step(self, x: _State, step: int, dq: AnyArray, dv: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Return the rates of the state after a step, by the numbers of q."""
        m, now = self.motion, self.motion.now(step)
        nq, nv = m.robot.nq, m.robot.nv
        force, fed = self._row("tau", step, np.zeros(nv, m.dtype)), tuple[AnyArray, ...]()
        if m.robot.has_step_passive:
            force = force + self.push("step_passive_force", x.q, x.v, m.smoothing, dq, dv)
        if "external" in now:
            loads = self._row("external", step, np.zeros(now["external"].shape[-2:], m.dtype))
            force = force + self.push("external_force", x.q, now["external"], dq, loads)
        if "goal" in now:
            goal = now["goal"]
            dgoal = self._row("target", step, np.zeros(nv, m.dtype))
            dgoal = dgoal if m.flat else m.ask("position_rate", goal, dgoal)
            servo = m.kp * self.push("difference", x.q, goal, dq, dgoal) - m.damping * dv
            servo = servo + self.kp * m.ask("difference", x.q, goal) - self.drag * x.v
            fed, force = ((servo,), force) if m.clips else ((), force + servo)
        touching = (self.surfaces,) if m.contacts else ()
        rates = (dq, dv, force, self.dt, self.drag, *touching, *fed)
        found = self.push(m.question, *m.arguments(x, now), *rates, last=m.last)
        return found[..., :nq], found[..., nq : nq + nv]

    def _row(self, name: str, step: int, zero: AnyArray) -> AnyArray:
        """Return the rate of what is applied in a step."""
        x = self.tangents.get(name)
        if x is None:
            return zero
        table = {"target": "goal"}.get(name, name)
        if table not in self.motion.plan.by_rows:
            return x
        axis = x.ndim - 1 - zero.ndim
        return np.asarray(x.take(step if x.shape[axis] > 1 else 0, axis=axis))
