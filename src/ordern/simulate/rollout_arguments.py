"""The arguments of rollouts, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import arguments
from ..arguments import AnyArray, choice, positive, unmasked
from ..errors import ArgumentError, InconsistentStateError
from ..loops.kernels import worst_loop
from ..records import dataclass
from .efforts import effort_limits
from .integrators.tableaus import TABLEAUS

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = [
    "Plan",
    "flat_rows",
    "gains_of",
    "over_time",
    "plan",
    "require_arrays",
    "require_feedback",
    "require_one_reading",
    "shared_rows",
    "whole_number",
    "with_implicit_gains",
]

_DRIFTS = ("baumgarte", "project")
_TARGET = "feedback: the target"
_RULE = (
    "what changes with time has two dimensions more than the batch of states, (..., steps, n), what does not has one, "
    "(..., n); a table that all trajectories of a batch share is table[None]"
)


@dataclass(frozen=True)
class Plan:
    """The arguments of a rollout, checked: everything that its steps and their derivatives need."""

    q: AnyArray
    v: AnyArray
    timed: dict[str, AnyArray]
    """Joint forces, external forces and the target of feedback, each with a row for each step or one for all."""
    given: frozenset[str]
    """The names of these that were given."""
    by_rows: frozenset[str]
    """The names of these that were given with rows over time."""
    gains: tuple[AnyArray, AnyArray]
    effort: AnyArray
    """The largest forces of feedback, (nv,)."""
    steps: int
    dt: float
    every: int
    batch: tuple[int, ...]
    dtype: np.dtype[Any]
    method: str
    dynamics: str | None
    smoothing: float
    drift: str

    @property
    def count(self) -> int:
        """The number of trajectories."""
        return math.prod(self.batch)

    @property
    def rows(self) -> int:
        """The number of kept states."""
        return 1 + self.steps // self.every

    @property
    def arrays(self) -> dict[str, AnyArray]:
        """The starts, a row for each trajectory, and the numbers that all steps share."""
        numbers = np.concatenate([[self.dt, self.smoothing, 0.0, 0.0, 1.0], *self.gains, self.effort]).astype(
            self.dtype
        )
        return {"q0": _flat(self.q, self.batch, self.dtype), "v0": _flat(self.v, self.batch, self.dtype)} | {
            "numbers": numbers
        }

    @property
    def tables(self) -> dict[str, AnyArray]:
        """Everything that may change with time, as (trajectories, rows, n)."""
        return {name: flat_rows(x, self.batch, self.dtype) for name, x in self.timed.items()}


def plan(
    robot: Robot,
    q0: ArrayLike,
    v0: ArrayLike,
    tau: ArrayLike | None,
    steps: int | None,
    dt: float,
    method: str,
    every: int,
    feedback: Any,
    external: Any,
    dynamics: str | None,
    smoothing: float,
    drift: str,
    effort: str = "clip",
) -> Plan:
    """Return the arguments of a rollout; raise if one of them is wrong."""
    choice("method", method, TABLEAUS, "rollout")
    choice("drift", drift, _DRIFTS, "rollout")
    dt, smoothing = positive(dt, "rollout: `dt`"), positive(smoothing, "rollout: `smoothing`")
    gains, efforts = gains_of(robot, feedback), effort_limits(robot, effort)
    every = whole_number("every", every, 1)
    q, v = _states("q0", q0, robot.nq), _states("v0", v0, robot.nv)
    if robot.nc:
        _check_loops(robot, q, v)
    rank = max(q.ndim, v.ndim) - 1
    require_arrays(tau)
    loads = None if external is None else _loads(robot, external)
    timed = {
        "tau": over_time(robot, "tau", tau, robot.nv, rank),
        "external": over_time(robot, "external", loads, 0 if loads is None else loads.shape[-1], rank),
        "goal": over_time(robot, _TARGET, feedback and feedback[2], robot.nq, rank),
    }
    steps = _steps(steps, timed["tau"], _shared(tau, rank))
    shapes = [x.shape[:-1] for x in (q, v)] + [x.shape[:-2] for x in timed.values()]
    batch = _batch(shapes + ([robot.batch_shape] if robot.batch_shape else []), _shared(tau, rank))
    _require_rows(timed, steps)
    given = {"tau": tau, "external": loads, "goal": feedback and feedback[2]}
    read = {name: np.shape(x) for name, x in given.items() if x is not None}
    require_one_reading({"target" if x == "goal" else x: shape for x, shape in read.items()}, steps, batch, rank)
    dtype = _precision(robot, (q, v, *timed.values()), dt, steps)
    by_rows = frozenset(name for name, shape in read.items() if len(shape) >= rank + 2)
    return Plan(
        *(q, v, timed, frozenset(read), by_rows, gains, efforts, steps, dt, every, batch, dtype),
        *(method, dynamics, smoothing, drift),
    )


def with_implicit_gains(robot: Robot, p: Plan) -> Plan:
    """Return a plan for steps with contacts, whose feedback is implicit: kd v and kp h v at the end of the step."""
    return p if robot.contacts is None else replace(p, gains=(p.gains[0], p.gains[1] + p.dt * p.gains[0]))


def _precision(robot: Robot, given: tuple[AnyArray, ...], dt: float, steps: int) -> np.dtype[Any]:
    """Return the type of all numbers: single precision for a tree if everything is; raise if it cannot hold times."""
    single = all(x.dtype in (np.float32, np.float16) for x in given)
    dtype = np.dtype(np.float32 if single and not robot.nc else np.float64)
    with np.errstate(over="ignore", under="ignore"):
        if not (0.0 < dtype.type(dt) < math.inf and dt * steps < math.inf):
            raise ArgumentError(f"rollout: {steps} steps of dt = {dt:g} s are beyond the numbers of {dtype}")
    return dtype


_OPEN = 1e-6
"""The largest residual of loops at the start, in m and rad, and the largest rate of it, per second."""


def _check_loops(robot: Robot, q: AnyArray, v: AnyArray) -> None:
    """Raise if loops are driven by time, which compiled steps do not support, or are not closed at the start."""
    for x in robot.loop_table.loops:
        if x.type.timed:
            raise ArgumentError(f"rollout: loop {x.loop.name!r} is driven by time; robot.simulate supports such loops")
    q, v = np.asarray(q, np.float64), np.asarray(v, np.float64)
    for what, found, help in (
        ("open by", robot.loop_residual(q), "robot.assemble(q0).q closes it"),
        ("opening at", robot.loop_rate(q, v), "robot.project_velocity(q0, v0) keeps it closed"),
    ):
        if not np.abs(found).max(initial=0.0) <= _OPEN:  # also if it is NaN
            name, most = worst_loop(robot, found)
            at = np.argwhere(~(np.abs(found).max(axis=-1) <= _OPEN))[0].tolist()
            where = f" (state {at[0] if len(at) == 1 else tuple(at)} of the batch is the first)" if at else ""
            raise InconsistentStateError(
                f"rollout: the start has loop {name!r} {what} up to {most:.3g}{where}, and the tolerance is "
                f"{_OPEN:g}: {help}"
            )


def _states(name: str, x: ArrayLike, n: int) -> AnyArray:
    a = _numbers(name, x)
    if a.ndim < 1 or a.shape[-1] != n:
        raise ArgumentError(f"rollout: {name} has shape {a.shape}; its last dimension must be {n}")
    return a


def _numbers(name: str, x: Any) -> AnyArray:
    unmasked(x, f"rollout: {name}")
    try:
        a = np.asarray(x)
    except (TypeError, ValueError) as e:  # arrays on a GPU have reasons of their own
        raise ArgumentError(f"rollout: {name} is not an array: {e}") from None
    if a.dtype.kind not in "biuf" or a.dtype.itemsize > 8:
        raise ArgumentError(f"rollout: {name} has data type {a.dtype}; give real numbers")
    if not np.isfinite(a).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(a))[0])
        raise ArgumentError(f"rollout: {name} must be finite, but {name}[{', '.join(map(str, where))}] is {a[where]}")
    return a


def require_arrays(tau: Any) -> None:
    """Raise if forces are a function, or a table of times and values."""
    if callable(tau) or (isinstance(tau, tuple) and len(tau) == 2 and np.ndim(tau[0]) != np.ndim(tau[1])):
        raise ArgumentError(
            f"rollout takes arrays, not {type(tau).__name__}: give tau of shape (..., nv), or (..., steps, nv) with a "
            "row for each step, such as [table(dt * k) for k in range(steps)]; a function of the states is "
            "policy=function, and robot.simulate takes functions of (t, q, v)"
        )


def over_time(robot: Robot, name: str, x: ArrayLike | None, n: int, rank: int) -> AnyArray:
    """Return numbers with a row for each step, or one row for all; without them zeros, which fit any batch and type."""
    if x is None:
        return np.zeros((1, n), np.float16)
    a = _numbers(name, x)
    if a.ndim < 1 or a.shape[-1] != n:
        raise ArgumentError(f"rollout: {name} has shape {a.shape}; for {robot.name!r} its last dimension must be {n}")
    return a if a.ndim >= rank + 2 else a[..., None, :]


def _loads(robot: Robot, external: Any) -> AnyArray:
    """Return external forces on bodies as (..., 6 n)."""
    if callable(external):
        raise ArgumentError("rollout takes arrays of external forces, not functions; robot.simulate takes functions")
    forces, n = _numbers("external", robot._forces(external)), len(robot.bodies)
    if forces.shape[-2:] != (n, 6):
        raise ArgumentError(
            f"rollout: external has shape {forces.shape}; for {robot.name!r} give (..., {n}, 6), a (moment, force) for "
            "each body, or a dictionary from names of bodies or frames to (..., 6)"
        )
    return forces.reshape(*forces.shape[:-2], 6 * n)


def _shared(tau: ArrayLike | None, rank: int) -> str:
    """Return a hint for a tau with as many dimensions as the states that was meant as a table over time."""
    shape = np.shape(tau) if tau is not None else ()
    if rank == 0 or len(shape) != 1 + rank:
        return ""
    return (
        f"; tau of shape {shape} is read as a constant force for each state: for a table that all share give tau[None]"
    )


def _require_rows(timed: dict[str, AnyArray], steps: int) -> None:
    """Raise unless everything that changes with time has a row for each step."""
    for name, x in timed.items():
        if x.shape[-2] not in (1, steps):
            what = _TARGET if name == "goal" else name
            raise ArgumentError(
                f"rollout: {what} has {x.shape[-2]} rows over time, but there are {steps} steps; {_RULE}"
            )


def require_one_reading(shapes: Mapping[str, tuple[int, ...]], steps: int, batch: tuple[int, ...], rank: int) -> None:
    """Raise if numbers have a row for each trajectory of the last axis of the batch, and as many rows as steps.

    `shapes` are those of "tau", "external" and "target", with one dimension for the numbers of a row; `rank` is the
    number of dimensions of the batch of states.
    """
    for name, shape in shapes.items():
        if not 2 <= len(shape) < rank + 2 or not batch or not shape[-2] == batch[-1] == steps > 1:
            continue
        what, rest = _TARGET if name == "target" else name, ", :, :" if name == "external" else ", :"
        constant = f"{name}[{'None, ' * (rank + 1 - len(shape))}..., None{rest}]"
        table = f"{name}[{', '.join(['None'] * (rank + 2 - len(shape)))}]"
        raise ArgumentError(
            f"rollout: {what} has {steps} rows, and both the batch and the steps have this length: give {constant} for "
            f"one row per trajectory, constant in time, or {table} for one row per step, the same for all trajectories"
        )


def _steps(steps: Any, forces: AnyArray, hint: str) -> int:
    if steps is not None:
        return whole_number("steps", steps, 0)
    if forces.shape[-2] == 1:
        raise ArgumentError(f"rollout: give `steps`, or a tau with a row for each step{hint}")
    return int(forces.shape[-2])


def _batch(shapes: list[tuple[int, ...]], hint: str) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, shapes))
        raise ArgumentError(
            "rollout: the batch shapes of q0, v0, tau, external, target and the robot's parameters do not broadcast: "
            f"{listed}{hint}; {_RULE}"
        ) from None


def _flat(x: AnyArray, batch: tuple[int, ...], dtype: np.dtype[Any]) -> AnyArray:
    return np.ascontiguousarray(np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]), dtype)


def shared_rows(x: AnyArray, batch: tuple[int, ...]) -> AnyArray:
    """Return (count, n), without a copy if one row serves all."""
    count, n = math.prod(batch), x.shape[-1]
    if math.prod(x.shape[:-1]) == 1:
        one = np.ascontiguousarray(x.reshape(n))
        return np.lib.stride_tricks.as_strided(one, (count, n), (0, one.itemsize), writeable=False)
    return np.ascontiguousarray(np.broadcast_to(x, (*batch, n)).reshape(count, n))


def flat_rows(x: AnyArray, batch: tuple[int, ...], dtype: np.dtype[Any]) -> AnyArray:
    """Return (count, rows, n), without a copy if one row, or one table, serves all."""
    rows, n = x.shape[-2:]
    count = math.prod(batch)
    if math.prod(x.shape[:-2]) == 1:
        one = np.ascontiguousarray(x.reshape(rows, n), dtype)
        strides = (0, one.strides[0] if rows > 1 else 0, dtype.itemsize)
        return np.lib.stride_tricks.as_strided(one, (count, rows, n), strides, writeable=False)
    full = np.ascontiguousarray(np.broadcast_to(x, (*batch, rows, n)).reshape(count, rows, n), dtype)
    if rows > 1:
        return full
    return np.lib.stride_tricks.as_strided(full, full.shape, (full.strides[0], 0, dtype.itemsize), writeable=False)


def require_feedback(feedback: Any) -> None:
    """Raise unless feedback is None, or two gains and a target."""
    if feedback is not None and not (isinstance(feedback, (tuple, list)) and len(feedback) == 3):
        raise ArgumentError(f"rollout: `feedback` must be three things, (kp, kd, target), not {feedback!r}")


def gains_of(robot: Robot, feedback: Any) -> tuple[AnyArray, AnyArray]:
    """Return the gains (nv,) of feedback; zeros if there is none."""
    require_feedback(feedback)
    if feedback is None:
        return np.zeros(robot.nv), np.zeros(robot.nv)
    gains = []
    for name, x in zip(("kp", "kd"), feedback[:2], strict=True):
        a = _numbers(f"feedback: {name}", x)
        if a.shape not in ((), (robot.nv,)):
            raise ArgumentError(f"rollout: feedback: {name} has shape {a.shape}; give a number, or {robot.nv} (nv)")
        gains.append(np.broadcast_to(a, (robot.nv,)).astype(float))
    return gains[0], gains[1]


def whole_number(name: str, n: Any, least: int) -> int:
    """Return an argument as an integer; raise if it is below the least, or not whole."""
    return arguments.whole_number(n, f"rollout: `{name}`", least)
