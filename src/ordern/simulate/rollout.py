"""Rollouts: thousands of trajectories at once, with the whole time loop in machine code."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import AnyArray, choice, positive, real_number
from ..compile import cores, shared_out
from ..errors import ArgumentError, InconsistentStateError
from ..loops.kernels import worst_loop
from ..screen.progress import Progress, reported, require_progress
from .constraints.constraints import Constraints
from .constraints.limits import require_velocity, stops_of
from .constraints.loop_rows import LoopRows
from .integrators.native import Closing, FixedLoop
from .integrators.tableaus import TABLEAUS
from .memory import machine_memory
from .policies import Policy, controlled
from .rolled import Rollout

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Rollout", "rollout"]


_DRIFTS = ("baumgarte", "project")
_LIMITS = ("ignore", "bounce")
_NS_PER_OPERATION = 0.3
_WORTH_A_THREAD_NS = 1e6
_PIECE_NS = 2e8
"""One call of machine code takes about this long, so that the run can be interrupted."""


def rollout(
    robot: Robot,
    q0: ArrayLike,
    v0: ArrayLike,
    tau: ArrayLike | None,
    steps: int | None,
    dt: float,
    *,
    method: str = "semi-implicit-euler",
    every: int = 1,
    feedback: Any = None,
    policy: Any = None,
    hold: int = 1,
    noise: Any = None,
    seed: Any = 0,
    external: Any = None,
    dynamics: str | None = None,
    smoothing: float = 0.01,
    drift: str = "baumgarte",
    limits: str = "ignore",
    restitution: float = 0.0,
    threads: int | None = None,
    out: tuple[AnyArray, AnyArray] | None = None,
    progress: Progress = None,
) -> Rollout:
    """See `Robot.rollout`."""
    require_progress(progress)
    choice("method", method, TABLEAUS, "rollout")
    choice("drift", drift, _DRIFTS, "rollout")
    choice("limits", limits, _LIMITS, "rollout", "to end a run at a limit is for robot.simulate")
    dt, smoothing = positive(dt, "rollout: `dt`"), positive(smoothing, "rollout: `smoothing`")
    if feedback is not None and not (isinstance(feedback, (tuple, list)) and len(feedback) == 3):
        raise ArgumentError(f"rollout: `feedback` must be three things, (kp, kd, target), not {feedback!r}")
    every, hold = _count("every", every, 1), _count("hold", hold, 1)
    steered = None if policy is None and noise is None else Policy(robot, policy, noise, seed, dt, hold)
    if threads is not None:
        threads = _count("threads", threads, 1)
    q, v = _states("q0", q0, robot.nq), _states("v0", v0, robot.nv)
    if robot.nc:
        _check_loops(robot, q, v)
    limited = () if limits == "ignore" else _limited(robot, q, restitution)
    rank = max(q.ndim, v.ndim) - 1
    _require_arrays(tau)
    loads = None if external is None else _loads(robot, external)
    timed = {
        "tau": _over_time(robot, "tau", tau, robot.nv, rank),
        "external": _over_time(robot, "external", loads, 0 if loads is None else loads.shape[-1], rank),
        "goal": _over_time(robot, _TARGET, feedback and feedback[2], robot.nq, rank),
    }
    steps = _steps(steps, timed["tau"], _shared(tau, rank))
    batch = _batch([x.shape[:-1] for x in (q, v)] + [x.shape[:-2] for x in timed.values()], _shared(tau, rank))
    _require_rows(timed, steps)
    _require_one_reading({"tau": tau, "external": loads, _TARGET: feedback and feedback[2]}, steps, batch, rank)
    dtype = _precision(robot, (q, v, *timed.values()), dt, steps)
    count, rows = math.prod(batch), 1 + steps // every
    q_out, v_out = _results(robot, batch, rows, dtype, out, every)
    t = dt * every * np.arange(rows)
    if robot.nv == 0 or count == 0:
        q_out[...], v_out[...] = q[..., None, :], v[..., None, :]
        return Rollout(q_out, v_out, t)
    closing = _closing(robot, dynamics, q) if robot.nc and drift == "project" else None
    loop = FixedLoop.of(
        *(robot, method, dynamics, dtype.name, feedback is not None, external is not None), closing, limited
    )
    arrays = {
        "q0": _flat(q, batch, dtype),
        "v0": _flat(v, batch, dtype),
        "q_out": q_out.reshape(count, rows, robot.nq),
        "v_out": v_out.reshape(count, rows, robot.nv),
        "numbers": np.concatenate([[dt, smoothing, 0.0, 0.0, 1.0], *_gains(robot, feedback)]).astype(dtype),
        "limits": np.concatenate([[restitution], robot.lower, robot.upper]).astype(dtype),
    }
    tables = {name: _flat_rows(x, batch, dtype) for name, x in timed.items()}
    with reported(progress, robot.name) as told:
        if steered is None:
            _Run(loop, arrays, tables, steps, every).go(threads, told)
            return Rollout(q_out, v_out, t)
        go = _parts(loop, arrays, threads, steps, told)
        forces = controlled(steered, go, arrays, tables, (steps, every, hold), batch)
    return Rollout(q_out, v_out, t, forces.reshape(v_out.shape))


def _precision(robot: Robot, given: tuple[AnyArray, ...], dt: float, steps: int) -> np.dtype[Any]:
    """Return the type of all numbers: single precision for a tree if everything is; raise if it cannot hold times."""
    single = all(x.dtype in (np.float32, np.float16) for x in given)
    dtype = np.dtype(np.float32 if single and not robot.nc else np.float64)
    with np.errstate(over="ignore", under="ignore"):
        if not (0.0 < dtype.type(dt) < math.inf and dt * steps < math.inf):
            raise ArgumentError(f"rollout: {steps} steps of dt = {dt:g} s are beyond the numbers of {dtype}")
    return dtype


def _parts(
    loop: FixedLoop, arrays: dict[str, AnyArray], threads: int | None, steps: int, told: Callable[[float], Any] | None
) -> Callable[[dict[str, AnyArray], dict[str, AnyArray], int, int], None]:
    """Return the function that runs some of the steps, from other states and with other tables over time."""
    done = 0

    def go(some: dict[str, AnyArray], tables: dict[str, AnyArray], count: int, each: int) -> None:
        nonlocal done
        tables["tau"] = _flat_rows(tables["tau"], tables["tau"].shape[:1], tables["tau"].dtype)
        _Run(loop, arrays | some, tables, count, each).go(threads)
        done += count
        if told is not None and done < steps:
            told(done / steps)

    return go


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


def _closing(robot: Robot, dynamics: str | None, q: AnyArray) -> Closing:
    """Return how compiled steps project the loops of a robot; their rank is the one near the first state."""
    rows = LoopRows(robot)
    first = np.asarray(q, np.float64).reshape(-1, robot.nq)[0]
    found = rows.closing(dynamics, Constraints.near(rows, first).rank)
    if isinstance(found, str):
        raise ArgumentError(f"rollout: drift='project' is not possible for {robot.name!r}: {found}")
    return found


def _limited(robot: Robot, q: AnyArray, restitution: float) -> tuple[tuple[int, int], ...]:
    """Return the places in q and v of joints that bounce; raise if they cannot, or if a start is beyond a limit."""
    if not 0.0 <= real_number(restitution) <= 1.0:
        raise ArgumentError(f"rollout: restitution must be between 0 and 1, not {restitution!r}")
    if robot.nc:
        raise ArgumentError(
            f"rollout: limits='bounce' is for trees, but {robot.name!r} has loops; robot.simulate supports both"
        )
    stops = stops_of(robot)
    for s in stops:
        require_velocity(s)
        beyond = s.side * (q[..., s.q] - s.bound) < 0.0
        if beyond.any():
            where = f" (state {np.argwhere(beyond)[0].tolist()} of the batch is the first)" if q.ndim > 1 else ""
            raise ArgumentError(
                f"rollout: q0 has joint {s.joint!r} beyond its {'lower' if s.side > 0 else 'upper'} limit {s.bound:g}"
                f"{where}; with limits='bounce' trajectories start within the limits"
            )
    return tuple(sorted({(s.q, s.v) for s in stops}))


_TARGET = "feedback: the target"
_RULE = (
    "what changes with time has two dimensions more than the batch of states, (..., steps, n), what does not has one, "
    "(..., n); a table that all trajectories of a batch share is table[None]"
)


class _Run:
    """One call of `rollout`: its arrays, and the words for machine code."""

    def __init__(
        self, loop: FixedLoop, arrays: dict[str, AnyArray], timed: dict[str, AnyArray], steps: int, every: int
    ) -> None:
        self.loop, self.arrays, self.timed = loop, arrays, timed
        q, v = arrays["q_out"], arrays["v_out"]
        self.count, self.steps = len(q), steps
        self._lock, self._done = threading.Lock(), 0
        self.words = {name: x.ctypes.data for name, x in arrays.items()} | {"every": every, "last": self.count - 1}
        self.words |= {f"{name}_stride": arrays[name].strides[0] for name in ("q0", "v0")}
        self.words |= {"q_stride": q.strides[0], "q_row": q.strides[1], "v_stride": v.strides[0], "v_row": v.strides[1]}
        for name, x in timed.items():
            self.words |= {name: x.ctypes.data, f"{name}_stride": x.strides[0], f"{name}_step": x.strides[1]}

    def go(self, threads: int | None, progress: Callable[[float], Any] | None = None) -> None:
        """Compute all trajectories, in threads, and tell this thread's `progress` the fraction done."""
        here, whole = threading.get_ident(), self.count * self.steps

        def tell(steps: int) -> None:
            with self._lock:
                self._done += steps
            if progress is not None and threading.get_ident() == here and self._done < whole:
                progress(self._done / whole)

        lanes = self.loop.lanes
        tiles = -(-self.count // lanes)
        step_ns = self.loop.operations * _NS_PER_OPERATION
        tile_ns = self.steps * step_ns
        asked = min(cores(), int(tiles * tile_ns / _WORTH_A_THREAD_NS)) if threads is None else threads
        at_once = max(1, min(asked, tiles))
        per = max(1, min(-(-tiles // at_once), int(_PIECE_NS / max(1.0, tile_ns))))
        rows = max(1, int(_PIECE_NS / (per * step_ns * self.words["every"])))
        size = per * lanes
        shared_out(
            lambda first: self._piece(first, min(first + size, self.count), rows, tell),
            range(0, self.count, size),
            at_once,
        )
        if progress is not None:
            progress(1.0)

    def _piece(self, first: int, end: int, rows: int, tell: Callable[[int], None]) -> None:
        """Compute some trajectories, with `rows` stored rows per call; each call continues from the last row."""
        words = {**self.words, "first": first, "end": end}
        every, left = words["every"], self.steps // words["every"]
        while True:
            now = min(rows, left)
            words["steps"] = now * every
            self.loop.run(words)
            tell((end - first) * now * every)
            left -= now
            if left <= 0:
                return
            for name in ("q", "v"):
                words[f"{name}_out"] += now * words[f"{name}_row"]
                words[f"{name}0"], words[f"{name}0_stride"] = words[f"{name}_out"], words[f"{name}_stride"]
            for name in self.timed:
                words[name] += now * every * words[f"{name}_step"]


def _states(name: str, x: ArrayLike, n: int) -> AnyArray:
    a = _numbers(name, x)
    if a.ndim < 1 or a.shape[-1] != n:
        raise ArgumentError(f"rollout: {name} has shape {a.shape}; its last dimension must be {n}")
    return a


def _numbers(name: str, x: Any) -> AnyArray:
    try:
        a = np.asarray(x)
    except ValueError as e:
        raise ArgumentError(f"rollout: {name} is not an array: {e}") from None
    if a.dtype.kind not in "biuf" or a.dtype.itemsize > 8:
        raise ArgumentError(f"rollout: {name} has data type {a.dtype}; give real numbers")
    if not np.isfinite(a).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(a))[0])
        raise ArgumentError(f"rollout: {name} must be finite, but {name}[{', '.join(map(str, where))}] is {a[where]}")
    return a


def _require_arrays(tau: Any) -> None:
    if callable(tau) or (isinstance(tau, tuple) and len(tau) == 2 and np.ndim(tau[0]) != np.ndim(tau[1])):
        raise ArgumentError(
            f"rollout takes arrays, not {type(tau).__name__}: give tau of shape (..., nv), or (..., steps, nv) with a "
            "row for each step, such as [table(dt * k) for k in range(steps)]; a function of the states is "
            "policy=function, and robot.simulate takes functions of (t, q, v)"
        )


def _over_time(robot: Robot, name: str, x: ArrayLike | None, n: int, rank: int) -> AnyArray:
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


def _require_one_reading(given: dict[str, Any], steps: int, batch: tuple[int, ...], rank: int) -> None:
    """Raise if numbers have a row for each trajectory of the last axis of the batch, and as many rows as steps."""
    for name, x in given.items():
        shape: tuple[int, ...] = () if x is None else np.shape(x)
        if not 2 <= len(shape) < rank + 2 or not batch or not shape[-2] == batch[-1] == steps > 1:
            continue
        of, rest = ("external", ", :, :") if name == "external" else (name.split()[-1], ", :")
        constant = f"{of}[{'None, ' * (rank + 1 - len(shape))}..., None{rest}]"
        table = f"{of}[{', '.join(['None'] * (rank + 2 - len(shape)))}]"
        raise ArgumentError(
            f"rollout: {name} has {steps} rows, and both the batch and the steps have this length: give {constant} for "
            f"one row per trajectory, constant in time, or {table} for one row per step, the same for all trajectories"
        )


def _steps(steps: Any, forces: AnyArray, hint: str) -> int:
    if steps is not None:
        return _count("steps", steps, 0)
    if forces.shape[-2] == 1:
        raise ArgumentError(f"rollout: give `steps`, or a tau with a row for each step{hint}")
    return int(forces.shape[-2])


def _batch(shapes: list[tuple[int, ...]], hint: str) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, shapes))
        raise ArgumentError(
            f"rollout: the batch shapes of q0, v0, tau, external and target do not broadcast: {listed}{hint}; {_RULE}"
        ) from None


def _results(
    robot: Robot, batch: tuple[int, ...], rows: int, dtype: np.dtype[Any], out: Any, every: int
) -> tuple[AnyArray, AnyArray]:
    shapes = ((*batch, rows, robot.nq), (*batch, rows, robot.nv))
    if out is not None:
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            raise ArgumentError("rollout: `out` must be a pair of arrays, for q and v")
        for x, shape in zip(out, shapes, strict=True):
            if not isinstance(x, np.ndarray) or x.dtype != dtype or x.shape != shape:
                found = f"{x.dtype} {x.shape}" if isinstance(x, np.ndarray) else type(x).__name__
                raise ArgumentError(f"rollout: `out` must have an array of {dtype} {shape}, not {found}")
            if not x.flags.c_contiguous or not x.flags.writeable:
                raise ArgumentError("rollout: the arrays in `out` must be C-contiguous and writeable")
        if np.may_share_memory(*out):
            raise ArgumentError("rollout: the arrays in `out` overlap")
        return out[0], out[1]
    size = sum(map(math.prod, shapes)) * dtype.itemsize
    most = machine_memory()
    if size > most:
        raise ArgumentError(
            f"rollout: the result would take {size / 1e9:.3g} GB, and this machine has {most / 1e9:.3g} GB; store "
            f"fewer steps (every={every} now), or roll out fewer trajectories at a time"
        )
    return np.empty(shapes[0], dtype), np.empty(shapes[1], dtype)


def _flat(x: AnyArray, batch: tuple[int, ...], dtype: np.dtype[Any]) -> AnyArray:
    return np.ascontiguousarray(np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]), dtype)


def _flat_rows(x: AnyArray, batch: tuple[int, ...], dtype: np.dtype[Any]) -> AnyArray:
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


def _gains(robot: Robot, feedback: Any) -> tuple[AnyArray, AnyArray]:
    if feedback is None:
        return np.zeros(robot.nv), np.zeros(robot.nv)
    gains = []
    for name, x in zip(("kp", "kd"), feedback[:2], strict=True):
        a = _numbers(f"feedback: {name}", x)
        if a.shape not in ((), (robot.nv,)):
            raise ArgumentError(f"rollout: feedback: {name} has shape {a.shape}; give a number, or {robot.nv} (nv)")
        gains.append(np.broadcast_to(a, (robot.nv,)).astype(float))
    return gains[0], gains[1]


def _count(name: str, n: Any, least: int) -> int:
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < least or n > 2**62:
        raise ArgumentError(f"rollout: `{name}` must be a whole number from {least} on, not {n!r}")
    return int(n)
