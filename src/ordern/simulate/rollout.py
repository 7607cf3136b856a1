"""Rollouts: thousands of trajectories at once, with the whole time loop in machine code."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import AnyArray
from ..compile import cores, shared_out
from ..compile.run.workers import can_stop
from ..compile.timeloops.code import ROLLOUT_WORDS
from ..errors import ArgumentError
from ..gpu.device import is_gpu
from ..kernel.place import PLACE
from ..memory import machine_memory
from ..screen.progress import Progress, reported, require_progress
from .constraints.constraints import Constraints
from .constraints.limits import require_velocity, stops_of
from .constraints.loop_rows import LoopRows
from .contact_record import ContactRecord, ContactSettings, require_contacts
from .divergence import fastest
from .integrators.native import Closing, FixedLoop
from .policies import Policy, controlled
from .rolled import Rollout, Source
from .rollout_arguments import Plan, flat_rows, plan, shared_rows, whole_number, with_implicit_gains
from .rollout_events import crossings, new_marks, watched_events
from .step_rule import require_restitution, stepped

if TYPE_CHECKING:
    from ..gpu.rollout import DeviceLoop
    from ..robot import Robot

__all__ = ["Rollout", "rollout", "steps_between"]


_NS_PER_OPERATION = 0.3
_WORTH_A_THREAD_NS = 1e6
_STORED = ("q", "v", "pushes", "certificate")
"""The arrays that are stored of each trajectory; the last two are of robots with contacts."""
_PIECE_NS = 2e8
"""One call of machine code takes about this long, so that the run can be interrupted."""
_ASIDE_NS = 5e7
"""Work that takes longer is left to other threads, so that Ctrl-C reaches this one."""


def rollout(
    robot: Robot, q0: ArrayLike, v0: ArrayLike, tau: ArrayLike | None, steps: int | None, dt: float, *,
    method: str = "semi-implicit-euler", every: int = 1, feedback: Any = None, policy: Any = None, hold: int = 1,
    noise: Any = None, seed: Any = 0, external: Any = None, dynamics: str | None = None, smoothing: float = 0.01,
    drift: str = "baumgarte", limits: str | None = None, restitution: float = 0.0, events: Any = None,
    threads: int | None = None, out: tuple[AnyArray, AnyArray] | None = None, progress: Progress = None,
    device: str | None = None, contact_friction: Any = None, ground_height: Any = None, contact_impulses: Any = None,
    effort: str = "clip",
) -> Rollout:  # fmt: skip
    """See `Robot.rollout`."""
    require_progress(progress)
    place = PLACE.device if device is None else device
    settings = ContactSettings(contact_friction, ground_height, contact_impulses)
    refused = {"dynamics": dynamics is not None, "events": events is not None and robot.contacts is not None}
    require_contacts(robot, settings, method, limits, refused)
    require_restitution(limits, restitution)
    robot, notes = stepped(robot, method, limits, feedback is not None, drift, dynamics)
    hold = whole_number("hold", hold, 1)
    if threads is not None:
        threads = whole_number("threads", threads, 1)
    p = plan(robot, q0, v0, tau, steps, dt, method, every, feedback, external, dynamics, smoothing, drift, effort)
    p = with_implicit_gains(robot, p)
    steered = None if policy is None and noise is None else Policy(robot, policy, noise, seed, p.dt, hold)
    limited = _limited(robot, p.q) if limits == "bounce" else ()
    names, watched = watched_events(robot, events, p)
    q_out, v_out = _results(robot, p.batch, p.rows, p.dtype, out, p.every)
    t = p.dt * p.every * np.arange(p.rows)
    record = None if robot.contacts is None else ContactRecord(robot, p, settings)
    steering = "policy" if policy is not None else "noise" if noise is not None else ""
    marks = new_marks(len(names), robot, p)

    def rolled(forces: AnyArray | None = None) -> Rollout:
        found = crossings(names, watched, marks, robot, p) if names else None
        ended = 0 if found is None else int((found.stopped >= 0).sum())
        source = Source(robot, p, steering, limits, ended, settings)
        return Rollout(q_out, v_out, t, forces, found, source, record, fastest(robot), notes)

    if robot.nv == 0 or p.count == 0:
        q_out[...], v_out[...] = p.q[..., None, :], p.v[..., None, :]
        return rolled()
    closing = _closing(robot, dynamics, p.q) if robot.nc and drift == "project" and record is None else None
    loop: FixedLoop | DeviceLoop
    if is_gpu(place, "rollout"):
        _require_plain_steps(robot, closing is not None, limits, names)
        loop, parameters = _loop_there(robot, p, (method, dynamics), place)
    else:
        given = method, dynamics, p.dtype.name, feedback is not None, external is not None
        loop = FixedLoop.of(robot, *given, closing, limited, watched)
        parameters = loop.parameters(robot)
    arrays = {
        **p.arrays,
        "q_out": q_out.reshape(p.count, p.rows, robot.nq),
        "v_out": v_out.reshape(p.count, p.rows, robot.nv),
        "limits": np.concatenate([[restitution], robot.lower, robot.upper]).astype(p.dtype),
        "parameters": shared_rows(parameters, p.batch),
        "marks": marks,
        **({} if record is None else record.arrays),
    }
    with reported(progress, robot.name) as told:
        if steered is None:
            _go(loop, arrays, p.tables, (p.steps, p.every), threads, told)
            return rolled()
        go = _parts(loop, arrays, threads, p.steps, told)
        forces = controlled(steered, go, arrays, p.tables, (p.steps, p.every, hold), p.batch)
    return rolled(forces.reshape(v_out.shape))


def steps_between(
    robot: Robot, p: Plan, settings: ContactSettings, start: Mapping[str, AnyArray], span: tuple[int, int, int],
    threads: int | None,
) -> dict[str, AnyArray]:  # fmt: skip
    """Take some steps of a rollout: `span` has the first, their number, and which are kept.

    `start` has the positions, velocities and impulses from which the first one begins, if not those of the rollout.
    Return kept states, and impulses of a robot with contacts, (trajectories, rows, n), beginning with the start.
    """
    first, steps, every = span
    part = replace(p, steps=steps, every=every)
    record = None if robot.contacts is None else ContactRecord(robot, part, settings)
    given = robot, p.method, p.dynamics, p.dtype.name, "goal" in p.given, "external" in p.given
    loop = FixedLoop.of(*given, None, (), watched_events(robot, None, part)[1])
    states = {x: np.empty((p.count, part.rows, n), p.dtype) for x, n in (("q", robot.nq), ("v", robot.nv))}
    arrays = {
        **part.arrays,
        **{f"{x}_out": states[x] for x in states},
        "parameters": shared_rows(loop.parameters(robot), p.batch),
        "marks": new_marks(0, robot, part),
        **({} if record is None else record.arrays),
        **start,
    }
    tables = {name: x if x.shape[1] == 1 else x[:, first : first + steps] for name, x in p.tables.items()}
    _go(loop, arrays, tables, (steps, every), threads)
    return states if record is None else {**states, "pushes": record.pushes}


def _go(
    loop: FixedLoop | DeviceLoop, arrays: dict[str, AnyArray], tables: dict[str, AnyArray], counts: tuple[int, int],
    threads: int | None, told: Callable[[float], Any] | None = None, begun: int = 0,
) -> None:  # fmt: skip
    """Take steps of all trajectories, and store every so many: `counts` has both."""
    if isinstance(loop, FixedLoop):
        _Run(loop, arrays, tables, *counts, begun).go(threads, told)
        return
    loop.run(arrays, tables, *counts)
    if told is not None:
        told(1.0)


def _loop_there(robot: Robot, p: Plan, how: tuple[str, str | None], place: Any) -> tuple[DeviceLoop, AnyArray]:
    """Return the compiled steps of a robot on a GPU, and the numbers of a varied robot for them."""
    from .rollout_device import device_loop, device_parameters

    given = *how, p.dtype, p.given
    return device_loop(robot, *given, place), device_parameters(robot, *given)


def _require_plain_steps(robot: Robot, projects: bool, limits: str | None, events: Sequence[str]) -> None:
    """Raise if steps on a GPU would need decisions that only this machine makes."""
    refused = {"drift='project'": projects, f"limits={limits!r}": limits == "bounce", "events": bool(events)}
    for what, is_given in refused.items():
        if is_given:
            raise ArgumentError(f"rollout of {robot.name!r}: {what} is not for GPUs; leave the device out")


def _parts(
    loop: FixedLoop | DeviceLoop,
    arrays: dict[str, AnyArray],
    threads: int | None,
    steps: int,
    told: Callable[[float], Any] | None,
) -> Callable[[dict[str, AnyArray], dict[str, AnyArray], int, int], None]:
    """Return the function that runs some of the steps, from other states and with other tables over time."""
    done = 0

    def go(some: dict[str, AnyArray], tables: dict[str, AnyArray], count: int, each: int) -> None:
        nonlocal done
        tables["tau"] = flat_rows(tables["tau"], tables["tau"].shape[:1], tables["tau"].dtype)
        _go(loop, arrays | some, tables, (count, each), threads, begun=done)
        done += count
        if told is not None and done < steps:
            told(done / steps)

    return go


def _closing(robot: Robot, dynamics: str | None, q: AnyArray) -> Closing:
    """Return how compiled steps project the loops of a robot; their rank is the one near the first state."""
    rows = LoopRows(robot)
    first = np.asarray(q, np.float64).reshape(-1, robot.nq)[0]
    found = rows.closing(dynamics, Constraints.near(rows, first).rank)
    if isinstance(found, str):
        raise ArgumentError(f"rollout: drift='project' is not possible for {robot.name!r}: {found}")
    return found


def _limited(robot: Robot, q: AnyArray) -> tuple[tuple[int, int], ...]:
    """Return the places in q and v of joints that bounce; raise if they cannot, or if a start is beyond a limit."""
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


class _Run:
    """One call of `rollout`: its arrays, and the words for machine code."""

    def __init__(
        self,
        loop: FixedLoop,
        arrays: dict[str, AnyArray],
        timed: dict[str, AnyArray],
        steps: int,
        every: int,
        begun: int = 0,
    ) -> None:
        """`begun` is the number of steps before these."""
        self.loop, self.arrays, self.timed, self.begun = loop, arrays, timed, begun
        self.count, self.steps = len(arrays["q_out"]), steps
        self._lock, self._done = threading.Lock(), 0
        self.stored = [name for name in _STORED if f"{name}_out" in arrays]
        self.stop: NDArray[np.int64] | None = None
        self.words = dict.fromkeys(ROLLOUT_WORDS, 0) | {name: x.ctypes.data for name, x in arrays.items()}
        self.words |= {"every": every, "last": self.count - 1}
        rows = ("q0", "v0", "parameters", "marks", "surfaces", "pushes0")
        self.words |= {f"{name}_stride": arrays[name].strides[0] for name in rows if name in arrays}
        for name in self.stored:
            x = arrays[f"{name}_out"]
            self.words |= {f"{name}_stride": x.strides[0], f"{name}_row": x.strides[1]}
        for name, x in timed.items():
            self.words |= {name: x.ctypes.data, f"{name}_stride": x.strides[0], f"{name}_step": x.strides[1]}

    def go(self, threads: int | None, progress: Callable[[float], Any] | None = None) -> None:
        """Compute all trajectories, in threads, and tell this thread's `progress` the fraction done."""
        here, whole = threading.get_ident(), self.count * self.steps

        def tell(steps: int = 0) -> None:
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
        lasting = tiles * tile_ns > _ASIDE_NS
        if lasting or can_stop():
            self.stop = np.zeros(1, np.int64)
            self.words["stop"] = self.stop.ctypes.data
        shared_out(
            lambda first: self._piece(first, min(first + size, self.count), rows, tell),
            range(0, self.count, size),
            at_once,
            stop=self.stop,
            aside=lasting,
            meanwhile=tell,
        )
        if progress is not None:
            progress(1.0)

    def _piece(self, first: int, end: int, rows: int, tell: Callable[[int], None]) -> None:
        """Compute some trajectories, with `rows` stored rows per call; each call continues from the last row."""
        begun = np.array([self.begun], self.loop.dtype)
        words = {**self.words, "first": first, "end": end, "begun": begun.ctypes.data}
        every, left = words["every"], self.steps // words["every"]
        while True:
            now = min(rows, left)
            words["steps"] = now * every
            self.loop.run(words)
            tell((end - first) * now * every)
            begun += now * every
            left -= now
            if left <= 0 or (self.stop is not None and self.stop[0]):
                return
            for name in self.stored:
                words[f"{name}_out"] += now * words[f"{name}_row"]
                if name != "certificate":
                    words[f"{name}0"], words[f"{name}0_stride"] = words[f"{name}_out"], words[f"{name}_stride"]
            for name in self.timed:
                words[name] += now * every * words[f"{name}_step"]


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
