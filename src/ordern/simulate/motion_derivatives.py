"""Derivatives of simulations: of all samples by the start, by forces and by times.

They are those of the accepted steps, with the lengths of steps held constant, and of the dense output at the samples.
All states at the starts of steps are known. So the matrices of all steps,

    A_k = d(state at the end of step k) / d(state at its start),

by the numbers of q and v, come from one pass of forward mode over many steps at once. A direction is then carried
forward by products, d_{k+1} = A_k d_k + b_k, with b_k the part of forces that vary; and weights of samples are carried
back, w_k = A_k^T w_{k+1} + ..., which gives the gradient by the start. With the weights at the ends of all steps, one
pass of reverse mode over many steps at once gives the gradients by forces.

Reference: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, sec. I.14; Griewank and Walther 2008.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Array, names_of, real
from ..errors import ArgumentError, unknown_name
from ..kernel.bound import bound
from ..model.parameter_fields import FIELDS, hint_of_motion
from ..model.variation import wholly_varied
from ..model.varied_derivatives import by_field, from_fields, pull_numbers, push_numbers
from .force_derivatives import StepForces, varied_drives, varied_loads
from .integrators.array_machine import ArrayMachine
from .integrators.dense import Dense
from .integrators.differentiated import ONE, STEP, Moving, Tape
from .integrators.rk_step import Point, attempt, dense_coefficients, finish
from .integrators.tableaus import TABLEAUS, Tableau
from .motion_jumps import jump_matrices
from .motion_source import MotionSource

if TYPE_CHECKING:
    from .results.result import Result

__all__ = ["motion_jvp", "motion_vjp"]

_NUMBERS_AT_ONCE = 2_000_000
"""The numbers of one value in a pass over several steps: 16 MB."""


def motion_vjp(result: Result, q: ArrayLike | None, v: ArrayLike | None, wrt: str | Sequence[str] | None) -> Any:
    """See `Result.vjp`."""
    motion = _Motion.of(result, "vjp")
    if q is None and v is None:
        raise ArgumentError("vjp: give the weights of positions, q=..., or of velocities, v=..., or of both")
    names = motion.names(wrt)
    motion.vary(names)
    weights, batch = motion.weights(q, v)
    found = motion.gradient(weights, [name for name in names if name not in ("q0", "v0", "until")])
    shapes = motion.shapes()
    return _named("Gradient", names)(*(found[name].reshape((*batch, *shapes[name])) for name in names))


def motion_jvp(result: Result, tangents: Mapping[str, ArrayLike]) -> Any:
    """See `Result.jvp`."""
    motion = _Motion.of(result, "jvp")
    names = motion.names(list(tangents), "the tangents")
    shapes = motion.shapes()
    given = {name: real(tangents[name], f"jvp: the tangent of {name}") for name in names}
    for name, x in given.items():
        core = shapes[name]
        if x.shape[x.ndim - len(core) :] != core:
            raise ArgumentError(f"jvp: the tangent of {name} has shape {x.shape}; its last dimensions must be {core}")
    try:
        batch = np.broadcast_shapes(*(x.shape[: x.ndim - len(shapes[name])] for name, x in given.items()))
    except ValueError:
        listed = ", ".join(f"{name} {x.shape}" for name, x in given.items())
        raise ArgumentError(f"jvp: the batches of the tangents differ: {listed}") from None
    flat = {name: np.broadcast_to(x, (*batch, *shapes[name])).reshape(-1, *shapes[name]) for name, x in given.items()}
    motion.vary(names)
    q, v = (x.reshape(*batch, *x.shape[1:]) for x in motion.rates(flat))
    return _named("Rates", ("q", "v"))(q, v)


class _Motion:
    """The accepted steps of a simulation, and its samples."""

    def __init__(self, result: Result, source: MotionSource, t: Array, q: Array, v: Array) -> None:
        """Take the ends of steps, (steps + 1,), and the states there."""
        self.result, self.source, self.robot = result, source, source.robot
        self.t, self.q, self.v = t, q, v
        self.method: Tableau = TABLEAUS[source.options.method]
        self.steps = len(t) - 1
        after = np.searchsorted(t, result.t, side="left")
        self.after: NDArray[np.intp] = after
        """For each sample the first end of a step that is not earlier."""
        self.inside = t[after] != result.t
        """For each sample, True if it is between the ends of a step."""
        self.jumps: dict[int, Array] = {}
        """The saltation matrices of events between steps, by the end of a step."""
        self.size = self.robot.nq + self.robot.nv
        """The numbers of a state."""
        self._charts = ArrayMachine(self.robot, source.options.dynamics, 1.0, np.zeros(0), None)
        """For changes between tangents and numbers of q."""

    def _at_end(self, k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the samples at the end of a step: those before an event that takes place there, and those after."""
        found = np.flatnonzero((self.after == k) & ~self.inside)
        return (found[:1], found[1:]) if k in self.jumps else (found, found[:0])

    @staticmethod
    def of(result: Result, what: str) -> _Motion:
        """Return the steps of a result; raise if it has no derivatives, and say why."""
        source: MotionSource | None = result.source
        if source is None:
            raise ArgumentError(
                f"{what}: the derivatives of a motion are those of a result as `simulate` returns it, not of a part, a "
                "file or arrays"
            )
        _require_smooth(result, source, what)
        dense = result.dense
        nq = source.robot.nq
        if isinstance(dense, Dense):
            starts = dense.coefficients[:, 0]
            q = np.concatenate([starts[:, :nq], result.q[-1:]])
            v = np.concatenate([starts[:, nq : nq + source.robot.nv], result.v[-1:]])
            motion = _Motion(result, source, dense.t, q, v)
            motion.jumps = jump_matrices(result, source, dense.t, what)
            return motion
        if result.report.impacts or result.events:
            raise ArgumentError(f"{what}: there were events, and the steps between them were not kept; use dense=True")
        if source.listed and result.t[-1] > 0.0:
            raise ArgumentError(f"{what}: the steps between the samples were not kept; simulate with dense=True")
        return _Motion(result, source, result.t, result.q, result.v)

    def names(self, wrt: str | Sequence[str] | None, what: str = "`wrt`") -> tuple[str, ...]:
        """Return the names of arguments, in their order."""
        known = ["q0", "v0", "tau", "external", "until"]
        if varied_drives(self.source.drives) is None:
            known.remove("tau")
        if varied_loads(self.source.external) is None:
            known.remove("external")
        variation = None if self.jumps else self.robot.variation  # impacts depend on masses in their own way
        known += [] if variation is None else variation.masks
        if wrt is None:
            absent = ("tau",) if self.source.drives.kind == "none" else ()
            return tuple(x for x in known if x not in absent)
        names = names_of(wrt, "vjp: `wrt`")
        for name in names:
            if name not in known:
                hint = "" if self.jumps else hint_of_motion(name)
                raise unknown_name(f"argument in {what}", name, known, "simulate", hint)
        if not names:
            raise ArgumentError(f"give at least one argument in {what}: there are {', '.join(known)}")
        return tuple(x for x in known if x in names)

    def vary(self, names: Sequence[str]) -> None:
        """Let all numbers of the fields among these names vary: those, too, that are zero in the robot."""
        if self.robot.variation is not None:
            self.robot = wholly_varied(self.robot, [x for x in names if x in FIELDS])

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of tangents and gradients."""
        nv, found = self.robot.nv, {}
        for name, forces in (
            ("tau", varied_drives(self.source.drives)),
            ("external", varied_loads(self.source.external)),
        ):
            if forces is not None:
                found[name] = forces.values.shape if len(forces.values) > 1 else forces.values.shape[1:]
        variation = self.robot.variation
        found |= {} if variation is None else {field: mask.shape for field, mask in variation.masks.items()}
        return {"q0": (nv,), "v0": (nv,), **found, "until": (len(self.result.t),) if self.source.listed else ()}

    def weights(self, q: ArrayLike | None, v: ArrayLike | None) -> tuple[Array, tuple[int, ...]]:
        """Return the weights of the numbers of samples, (directions, samples, nq + nv), and the shape of the batch."""
        nq, nv, n = self.robot.nq, self.robot.nv, len(self.result.t)
        parts = []
        for name, x in (("q", q), ("v", v)):
            given = np.zeros((n, nv)) if x is None else real(x, f"vjp: the weights of {name}")
            by_numbers = name == "q" and nq != nv and given.shape[-2:] == (n, nq)
            if given.shape[-2:] != (n, nv) and not by_numbers:
                raise ArgumentError(f"vjp: the weights of {name} have shape {given.shape}, not (..., {n}, {nv})")
            if name == "q" and not by_numbers:
                given = self._charts.weights_by_numbers(self.result.q, given)
            parts.append(given)
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in parts))
        whole = np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in parts], axis=-1)
        return whole.reshape(-1, n, self.size), batch

    # ---- passes over steps

    def _chunks(self, directions: int) -> Iterator[slice]:
        """Return the steps in parts whose passes fit into memory."""
        many = max(1, _NUMBERS_AT_ONCE // (directions * self.size))
        return (slice(k, min(k + many, self.steps)) for k in range(0, self.steps, many))

    def _machine(self, some: slice) -> tuple[ArrayMachine, StepForces]:
        source, t, h = self.source, self.t[:-1][some], np.diff(self.t)[some]
        forces = StepForces(self.robot, source.drives, source.external, t, h)
        return ArrayMachine(self.robot, source.options.dynamics, source.options.smoothing, h, forces), forces

    def _step(self, m: Any, q: Any, v: Any, between: bool) -> tuple[Point[Any], list[Point[Any]]]:
        """Take steps; return the states at their ends, and the powers of dense output if samples are between."""
        method, y = self.method, Point(q, v, None)
        tried = attempt(m, method, y, m.slope(0.0, q, v))
        if not between:
            return tried.end, []
        slopes = finish(m, method, tried)
        if method.degree:
            return tried.end, dense_coefficients(m, method, y, slopes)
        ends = [[getattr(x, name) for name in "qv"] for x in (y, tried.end, slopes[0], slopes[-1])]
        powers = ((0, 0, 1, 0), (-3, 3, -2, -1), (2, -2, 1, 1))
        found = []
        for row in powers:  # Hermite's cubic of both ends
            parts = [
                m.blend([(c, factor, x) for c, factor, x in zip(row, (ONE, ONE, STEP, STEP), some, strict=True) if c])
                for some in zip(*ends, strict=True)
            ]
            found.append(Point(parts[0], parts[1], None))
        return tried.end, found

    def _samples(self, some: slice) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """Return the samples between the ends of some steps, their steps, counted from the first, and parts of it."""
        step = self.after - 1
        found = np.flatnonzero(self.inside & (step >= some.start) & (step < some.stop))
        k = step[found]
        return found, k - some.start, (self.result.t[found] - self.t[k]) / (self.t[k + 1] - self.t[k])

    def _moving(
        self, some: slice, q_rate: Array, v_rate: Array, rates: Mapping[str, Array]
    ) -> tuple[Array, NDArray[np.intp], Array]:
        """Return rates at the ends of steps, (steps, directions, nq + nv), the samples between, and rates at these."""
        m, forces = self._machine(some)
        forces.rates |= {name: x for name, x in rates.items() if name in ("tau", "external")}
        m.number_rates = self._number_rates({name: x for name, x in rates.items() if name in FIELDS})
        q, v = self.q[:-1][some, None], self.v[:-1][some, None]
        which, k, s = self._samples(some)
        end, powers = self._step(Moving(m), (q, q_rate), (v, v_rate), len(which) > 0)
        shape = np.broadcast_shapes(q_rate.shape[:-1], end.v[1].shape[:-1])
        at_ends = np.concatenate([np.broadcast_to(x[1], (*shape, x[1].shape[-1])) for x in (end.q, end.v)], axis=-1)
        if not len(which):
            return at_ends, which, at_ends[:0]
        scale = [s[:, None, None] ** p for p in range(1, 1 + len(powers))]
        values, moved = [], []
        for name, start, rate in (("q", q, q_rate), ("v", v, v_rate)):
            pairs = [getattr(c, name) for c in powers]
            full = np.broadcast_to(rate, (*shape, rate.shape[-1]))
            values.append(start[k] + sum(x * c[0][k] for x, c in zip(scale, pairs, strict=True)))
            moved.append(full[k] + sum(x * c[1][k] for x, c in zip(scale, pairs, strict=True)))
        if not m.flat:
            moved[0] = m.push_project(values[0], moved[0])
        return at_ends, which, np.concatenate(moved, axis=-1)

    def _matrices(self, some: slice) -> tuple[Array, NDArray[np.intp], Array]:
        """Return the transposed matrices of steps and of the samples between them, by the states at their starts."""
        nq, n = self.robot.nq, self.size
        unit = np.broadcast_to(np.eye(n), (some.stop - some.start, n, n))
        return self._moving(some, unit[..., :nq], unit[..., nq:], {})

    def rates(self, tangents: Mapping[str, Array]) -> tuple[Array, Array]:
        """Return the rates of positions, in their tangent, and of velocities, each (directions, samples, nv)."""
        nq, nv, n = self.robot.nq, self.robot.nv, len(self.result.t)
        count = len(next(iter(tangents.values())))
        by_q, by_v = (tangents.get(name, np.zeros((count, nv))) for name in ("q0", "v0"))
        now = np.concatenate([self._charts.as_numbers(self.q[0], by_q), by_v], axis=-1)
        forces = {name: x for name, x in tangents.items() if name not in ("q0", "v0", "until")}
        for name, rank in (("tau", 2), ("external", 3)):  # constant forces are tables of one row
            if name in forces and forces[name].ndim == rank:
                forces[name] = forces[name][:, None]
        found = np.zeros((count, n, self.size))
        found[:, (self.after == 0) & ~self.inside] = now[:, None]
        for some in self._chunks(max(self.size, count)):
            A, which, S = self._matrices(some)
            b = sb = np.zeros((1, 1, 1))
            if forces:
                still = np.zeros((some.stop - some.start, count, self.size))
                b, _, sb = self._moving(some, still[..., :nq], still[..., nq:], forces)
            b, sb = np.broadcast_to(b, (len(A), count, self.size)), np.broadcast_to(sb, (len(S), count, self.size))
            for k in range(len(A)):
                inside = (self.after[which] - 1 - some.start) == k
                for j in np.flatnonzero(inside):
                    found[:, which[j]] = now @ S[j] + sb[j]
                now, end = now @ A[k] + b[k], some.start + k + 1
                before, after = self._at_end(end)
                found[:, before] = now[:, None]
                if end in self.jumps:
                    now = now @ self.jumps[end].T
                    found[:, after] = now[:, None]
        if "until" in tangents:
            speed, rate = self._speeds(), tangents["until"]
            found += (rate[..., None] if self.source.listed else rate[:, None, None]) * speed
        return self._charts.as_tangent(self.result.q, found[..., :nq]), found[..., nq:]

    def _number_rates(self, fields: Mapping[str, Array]) -> dict[bool, Array]:
        """Return the rates of the numbers that code reads, for tangents of parameters."""
        numbers = bound(self.robot)
        if numbers is None or not fields:
            return {}
        values = from_fields(numbers.structure, fields, (len(next(iter(fields.values()))),))
        return {x: push_numbers(numbers.structure, x, numbers.values, values) for x in (False, True)}

    def _speeds(self) -> Array:
        """Return the rates of all samples by their own times; without a list of times, only the last one moves."""
        found = np.concatenate([self._charts.as_numbers(self.result.q, self.result.v), self.result.a], axis=-1)
        if not self.source.listed:
            found[:-1] = 0.0
        return found

    def gradient(self, weights: Array, forces: Sequence[str]) -> dict[str, Array]:
        """Return the gradients of weighted samples by all arguments, with a leading axis of directions."""
        nq, count = self.robot.nq, len(weights)
        now = np.zeros((count, self.size))
        collected = {}
        numbers = bound(self.robot)
        by_value = np.zeros((count, 0 if numbers is None else numbers.values.shape[-1]))
        for name, varied in (
            ("tau", varied_drives(self.source.drives)),
            ("external", varied_loads(self.source.external)),
        ):
            if name in forces and varied is not None:
                collected[name] = np.zeros((len(varied.values), count, *varied.values.shape[1:]))
        for some in reversed(list(self._chunks(max(self.size, count)))):
            A, which, S = self._matrices(some)
            ends = np.zeros((len(A), count, self.size))
            for k in reversed(range(len(A))):
                end = some.start + k + 1
                before, after = self._at_end(end)
                if end in self.jumps:
                    now = (now + weights[:, after].sum(1)) @ self.jumps[end]
                ends[k] = now + weights[:, before].sum(1)
                now = ends[k] @ A[k].T
                for j in np.flatnonzero((self.after[which] - 1 - some.start) == k):
                    now = now + weights[:, which[j]] @ S[j].T
            if forces:
                found = self._pull(some, ends, weights, collected)
                for regroup, x in found.items():
                    assert numbers is not None
                    by_value += pull_numbers(numbers.structure, regroup, numbers.values, x)
        now = now + weights[:, self._at_end(0)[0]].sum(1)
        by_time = (weights * self._speeds()).sum(-1)
        by_q = self._charts.weights_in_tangent(self.q[0], now[:, :nq])
        gradient = {"q0": by_q, "v0": now[:, nq:], "until": by_time if self.source.listed else by_time[:, -1]}
        gradient |= {} if numbers is None else by_field(numbers.structure, by_value)
        return gradient | {name: np.moveaxis(x, 1, 0) for name, x in collected.items()}

    def _pull(self, some: slice, ends: Array, weights: Array, collected: dict[str, Array]) -> dict[bool, Array]:
        """Collect the derivatives by forces, from the weights of the ends of steps and of the samples between.

        Return those by the numbers of a varied robot, which code reads without regrouping, or with it.
        """
        m, forces = self._machine(some)
        forces.collected, m.collects = collected, self.robot.variation is not None
        nq = self.robot.nq
        which, k, s = self._samples(some)
        tape = Tape(m)
        q, v = self.q[:-1][some, None], self.v[:-1][some, None]
        end, powers = self._step(tape, q, v, len(which) > 0)
        tape.weigh(end.q, ends[..., :nq])
        tape.weigh(end.v, ends[..., nq:])
        if len(which):
            scale = [s[:, None, None] ** p for p in range(1, 1 + len(powers))]
            mine = np.moveaxis(weights[:, which], 0, 1)
            y = q[k] + sum(x * c.q[k] for x, c in zip(scale, powers, strict=True))
            by_q = mine[..., :nq] if m.flat else m.pull_project(y, mine[..., :nq])
            for x, c in zip(scale, powers, strict=True):
                for value, found in ((c.q, by_q), (c.v, mine[..., nq:])):
                    whole = np.zeros((len(ends), *found.shape[1:]))
                    np.add.at(whole, k, x * found)
                    tape.weigh(value, whole)
        tape.back()
        return m.by_numbers


def _require_smooth(result: Result, source: MotionSource, what: str) -> None:
    """Raise if a simulation has no derivatives, and say why."""
    options, robot, drives = source.options, source.robot, source.drives
    kind = type(getattr(drives, "function", None)).__name__
    reasons = {
        f"{robot.name!r} has contacts; robot.contact_step has derivatives": robot.contacts is not None,
        f"{robot.name!r} has loops, which are kept closed by an iteration; robot.rollout(..., drift='baumgarte') has "
        "derivatives": bool(robot.nc or options.switches),
        f"the method {options.method!r} has none; the explicit methods have, such as 'dormand-prince-8'": (
            options.method not in TABLEAUS
        ),
        f"a controller with a period ({kind}) is called from Python, and has no derivatives": drives.kind == "sampled",
        f"tau is a function ({kind}) without a method `jacobian`; give it one, jacobian(t, q, v), that returns the "
        "derivatives of its forces by the numbers of q, (nv, nq), and by v, (nv, nv)": (
            drives.kind == "function" and not callable(getattr(getattr(drives, "function", None), "jacobian", None))
        ),
        "the external forces are a function; constant ones and tables have derivatives": source.external.is_function,
        f"the run ended early: {result.report.message}": result.report.stopped != "end",
        "a joint that bounces is at its stop at the start": options.limits == "bounce" and _at_stops(result),
    }
    for reason, holds in reasons.items():
        if holds:
            raise ArgumentError(f"{what}: {reason}")


def _at_stops(result: Result) -> bool:
    """Return True if a joint is at a stop in the first sample."""
    robot = result.robot
    return bool(((result.q[:1] <= robot.lower) | (result.q[:1] >= robot.upper)).any())


@lru_cache(maxsize=64)
def _named(title: str, names: tuple[str, ...]) -> Any:
    return namedtuple(title, names)
