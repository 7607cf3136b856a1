"""Run a block of members: draw, roll out or simulate, keep, reduce. A member that fails is recorded with its reason."""

from __future__ import annotations

import copy
import math
import re
import time
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from ..compile.run.workers import is_stopped
from ..errors import ArgumentError, OrdernError, UnknownNameError
from ..model.units import coordinate_units
from ..records import dataclass
from .member_events import copy_events, no_events, note_events
from .members import Members, sampled
from .quantities import variant
from .reductions import State

if TYPE_CHECKING:
    from ..robot import Robot
    from .ensemble import Ensemble
    from .keep import Kind

__all__ = ["Block", "Column", "columns_of", "run_block"]


_FIRST_TRIALS, _TRIALS = 8, 64
"""Members that are tried before an ensemble begins: the first ones, and if they fail others, over all members."""
_NAMES_OF_STORES = ("member", "t", "time")
"""Names that files of results have for the numbers of members, and for times."""


@dataclass(frozen=True, slots=True)
class Block:
    """The results of some members."""

    first: int
    arrays: dict[str, AnyArray]
    """The numbers that are kept of each member; NaN for members that failed."""
    states: dict[str, State]
    """The partial states of reductions."""
    failures: tuple[tuple[int, str], ...]
    """The members that failed, and why."""


@dataclass(frozen=True, slots=True)
class Column:
    """An array of the results: the shape and type of one member's part, the names of its axes, its unit and times."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    dims: tuple[str, ...]
    unit: str | tuple[str, ...]
    """The unit, or those along its last axis if they differ."""
    times: AnyArray | None
    """The times along its axis "time"."""


def columns_of(study: Ensemble) -> dict[str, Column]:
    """Return all arrays of the results, by running one member; raise if the description is wrong."""
    members = _tried(study)
    found = {"failed": Column((), np.dtype(bool), (), "", None)}
    for kept in study.kept:
        with np.errstate(all="ignore"):
            arrays = kept.arrays(members)
        for name, x in arrays.items():
            kind, shape = kept.kind(name), x.shape[1:]
            dims = kind.dims if len(kind.dims) == len(shape) else tuple(f"{name}_{k}" for k in range(len(shape)))
            times = members.t[members.every(kept.every or 0)] if "time" in dims else None
            dtype = np.dtype(np.float64) if x.dtype.kind == "f" else x.dtype
            _require_free(name, found)
            found[name] = Column(shape, dtype, dims, _unit(study, kind), times)
    for reduction in study.reductions:
        _require_free(reduction.name, found)
    return found


def _unit(study: Ensemble, kind: Kind) -> str | tuple[str, ...]:
    """Return the unit of an array; those of its columns if they differ."""
    units = coordinate_units(study.robot, kind.columns) if kind.columns else (kind.unit,)
    return units[0] if len(set(units)) == 1 else units


def _require_free(name: str, taken: Iterable[str]) -> None:
    """Raise if a result has a name that another one has, or that stores use."""
    if name in taken or name in _NAMES_OF_STORES:
        raise ArgumentError(f"Ensemble: `keep` gives the name {name!r} to a result, but another one has it; rename it")


def _tried(study: Ensemble) -> Members:
    """Return a member that does not fail, or one that does if members fail by chance.

    A wrong description fails for each member, before it moves and for the same reason, whatever the numbers in it. So
    the run is refused if all members that are tried do. Members that fail otherwise are recorded while it runs.
    """
    run = _rolled if study.steps is not None else _simulated
    reasons: dict[str, str] = {}
    moved = False
    first = min(_FIRST_TRIALS, study.members)
    spread = np.linspace(first, study.members - 1, max(0, min(_TRIALS, study.members) - first)).astype(int)
    tried = [*range(first), *spread.tolist()]
    for k in tried:
        failures: dict[int, str] = {}
        members = run(study, k, k + 1, study.draws.drawn(k, k + 1), failures)
        if not failures:
            return members
        moved |= bool(np.isfinite(members.v).any())
        reasons.setdefault(re.sub(r"[-+]?[\d.]+(e[-+]?\d+)?", "#", failures[0]), failures[0])
        if moved or len(reasons) > 1:
            return members
    which = f"the first {len(tried)} members" if len(tried) == first else f"{len(tried)} members that were tried"
    raise ArgumentError(f"Ensemble: {which} all fail: {next(iter(reasons.values()))}")


def run_block(study: Ensemble, first: int, last: int, threads: int = 1) -> Block:
    """Run the members from `first` to before `last`, those of a rollout on some threads."""
    drawn = study.draws.drawn(first, last)
    failures: dict[int, str] = {}
    if study.steps is not None:
        members = _rolled(study, first, last, drawn, failures, threads)
    else:
        members = _simulated(study, first, last, drawn, failures)
    members = replace(members, design=study.draws.design)
    finite = np.isfinite(members.q[:, -1]).all(-1) & np.isfinite(members.v[:, -1]).all(-1)
    for k in np.flatnonzero(~finite).tolist():
        failures.setdefault(k, _divergence(members, k))
    fine = np.ones(last - first, bool)
    fine[list(failures)] = False
    arrays: dict[str, AnyArray] = {"failed": ~fine}
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        for x in study.kept:
            arrays |= x.arrays(members)
        states = {x.name: x.partial(members, fine) for x in study.reductions}
    return Block(first, arrays, states, tuple((first + k, failures[k]) for k in sorted(failures)))


def _divergence(members: Members, k: int) -> str:
    """Return when a member stopped being finite, in words."""
    fine = np.isfinite(members.q[k]).all(-1) & np.isfinite(members.v[k]).all(-1)
    if fine.all():
        return "a value is not finite"
    return f"the state is not finite at t = {members.t[int(np.argmin(fine))]:g} s, or before"


def _variant(study: Ensemble, drawn: dict[str, AnyArray], rows: slice | int) -> Robot:
    """Return the robot with the parameters of some members, or of one."""
    return variant(study.robot, {name: x[rows] if len(x) > 1 else x[0] for name, x in drawn.items()})


def _whole(study: Ensemble, drawn: dict[str, AnyArray], failures: dict[int, str], count: int) -> Robot:
    """Return the robot with the parameters of all members; those that failed have the numbers of one that did not."""
    fine = [k for k in range(count) if k not in failures]
    if not fine:
        return study.robot
    rows = np.array([fine[0] if k in failures else k for k in range(count)])
    return _variant(study, {name: x[rows] if len(x) == count else x for name, x in drawn.items()}, slice(0, count))


def _rolled(
    study: Ensemble, first: int, last: int, drawn: dict[str, AnyArray], failures: dict[int, str], threads: int = 1
) -> Members:
    """Return members after `rollout`, all at once; if that fails, in halves, down to the member that is the reason."""
    count, rows = last - first, len(study.times())
    q, v = (np.full((count, rows, n), math.nan) for n in (study.robot.nq, study.robot.nv))
    settings = study.settings | {"every": study.every, "threads": threads}
    events = no_events(study, count)
    steered = settings.get("noise") is not None or study.controller is not None
    forces = np.full_like(v, math.nan) if steered else None
    if steered:
        settings["policy"] = study.fresh_controller()

    def roll(start: int, end: int) -> None:
        some = slice(start, end)
        try:
            robot = _variant(study, drawn, some)
            q0, v0 = (np.broadcast_to(_rows(drawn[x], some), (end - start, drawn[x].shape[1])) for x in "qv")
            tau = _rows(drawn["forces"], some) if "forces" in drawn else None
            if tau is not None and tau.ndim == 2:  # constant in time
                tau = tau[:, None]
            into = None if steered else (q[some], v[some])
            seed = [study.seed, first + start]  # of noise, which no two parts of a block share
            run = robot.rollout(q0, v0, tau, study.steps, study.dt, out=into, seed=seed, **settings)
            if forces is not None:
                q[some], v[some], forces[some] = run.q, run.v, run.tau
            copy_events(events, some, run.events)
        except UnknownNameError:
            raise  # a mistake in the study, not in a member
        except OrdernError as e:
            if end - start == 1:
                failures[start] = str(e).removeprefix("set 0: ")  # the only one
                return
            middle = (start + end) // 2
            roll(start, middle)
            roll(middle, end)

    roll(0, count)
    robot = _whole(study, drawn, failures, count)
    return Members(
        *(robot, first, q, v, study.times(), drawn), steered=forces, steps_between=study.every, events=events
    )


def _rows(x: AnyArray, some: slice) -> AnyArray:
    return x[some] if len(x) > 1 else x


class _OvertimeError(OrdernError):
    """A member has taken longer than it may."""


class _Limit:
    """The time limit of a member: it hears of the progress of a simulation, and ends it when the time is over.

    It also ends it when the whole run is stopped.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._began = seconds, math.nan

    def __call__(self, fraction: float) -> None:
        if is_stopped():
            raise KeyboardInterrupt
        if math.isnan(self._began):  # after the first steps, since code may have been compiled before
            self._began = time.monotonic()
        if fraction < 1.0 and time.monotonic() > self._began + self._seconds:
            raise _OvertimeError(f"the time limit of {self._seconds:g} s was reached after {fraction:.0%} of the run")


def _simulated(study: Ensemble, first: int, last: int, drawn: dict[str, AnyArray], failures: dict[int, str]) -> Members:
    """Return members after `simulate`, one by one."""
    t = study.times()
    count = last - first
    q, v = (np.full((count, len(t), n), math.nan) for n in (study.robot.nq, study.robot.nv))
    results: list[Any] = []
    events = no_events(study, count)
    for k in range(count):
        one = slice(k, k + 1)
        results.append(None)
        try:
            start = _rows(drawn["q"], one)[0], _rows(drawn["v"], one)[0]
            robot = _variant(study, drawn, k)
            tau = study.fresh_controller()
            if tau is None and "forces" in drawn:
                tau = _rows(drawn["forces"], one)[0]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the reason is recorded
                limit = _Limit(math.inf if study.time_limit is None else study.time_limit)
                result = robot.simulate(*start, tau, t, progress=limit, **copy.deepcopy(study.settings))
            if result.report.stopped == "interrupted":
                raise KeyboardInterrupt
        except UnknownNameError:
            raise
        except OrdernError as e:
            failures[k] = str(e)
            if isinstance(e, _OvertimeError):
                q[k, 0], v[k, 0] = start
            continue
        results[-1] = result
        note_events(events, k, result)
        q[k], v[k] = (sampled(t, result.t, x) for x in (result.q, result.v))  # the last state if an event ended it
        if not result.report.ok:
            failures[k] = result.report.message
            q[k, t > result.t[-1]] = v[k, t > result.t[-1]] = math.nan
    whole = _whole(study, drawn, failures, count)
    return Members(whole, first, q, v, t, drawn, tuple(results), events=events)
