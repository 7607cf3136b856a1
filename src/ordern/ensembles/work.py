"""Run a block of members: draw, roll out or simulate, keep, reduce. A member that fails is recorded with its reason."""

from __future__ import annotations

import copy
import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from ..errors import ArgumentError, OrdernError, UnknownNameError
from ..records import dataclass
from .members import Members
from .quantities import variant
from .reductions import State

if TYPE_CHECKING:
    from ..robot import Robot
    from .ensemble import Ensemble

__all__ = ["Block", "Column", "columns_of", "run_block"]


_TRIALS = 8
"""Members that are tried before an ensemble begins."""


@dataclass(frozen=True, slots=True)
class Block:
    """The results of some members."""

    first: int
    arrays: dict[str, AnyArray]
    """What is kept of each member; NaN for those that failed."""
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
    unit: str
    times: AnyArray | None
    """The times along its axis "time"."""


def columns_of(study: Ensemble) -> dict[str, Column]:
    """Return all arrays of the results, by running the first member; raise if the first ones fail, all of them."""
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
            found[name] = Column(shape, dtype, dims, kind.unit, times)
    return found


def _tried(study: Ensemble) -> Members:
    """Return the first member that does not fail."""
    reason = ""
    for k in range(min(_TRIALS, study.members)):
        failures: dict[int, str] = {}
        run = _rolled if study.steps is not None else _simulated
        members = run(study, k, k + 1, study.draws.drawn(k, k + 1), failures)
        if not failures:
            return members
        reason = failures[0]
    raise ArgumentError(f"Ensemble: the first {min(_TRIALS, study.members)} members all fail: {reason}")


def run_block(study: Ensemble, first: int, last: int) -> Block:
    """Run the members from `first` to before `last`."""
    drawn = study.draws.drawn(first, last)
    failures: dict[int, str] = {}
    members = (_rolled if study.steps is not None else _simulated)(study, first, last, drawn, failures)
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


def _rolled(study: Ensemble, first: int, last: int, drawn: dict[str, AnyArray], failures: dict[int, str]) -> Members:
    """Return members after `rollout`, all at once; if that fails, in halves, down to the member that is the reason."""
    count, rows = last - first, len(study.times())
    q, v = (np.full((count, rows, n), math.nan) for n in (study.robot.nq, study.robot.nv))
    settings = dict(study.settings)
    steered = settings.get("noise") is not None or study.controller is not None
    if steered:
        settings |= {"policy": study.fresh_controller(), "seed": [study.seed, first]}

    def roll(start: int, end: int) -> None:
        some = slice(start, end)
        try:
            robot = _variant(study, drawn, some)
            q0, v0 = (np.broadcast_to(_rows(drawn[x], some), (end - start, drawn[x].shape[1])) for x in "qv")
            tau = _rows(drawn["forces"], some) if "forces" in drawn else None
            if tau is not None and tau.ndim == 2:  # constant in time
                tau = tau[:, None]
            into = None if steered else (q[some], v[some])
            run = robot.rollout(q0, v0, tau, study.steps, study.dt, every=study.every, threads=1, out=into, **settings)
            if into is None:
                q[some], v[some] = run.q, run.v
        except UnknownNameError:
            raise  # a mistake in the study, not in a member
        except OrdernError as e:
            if end - start == 1:
                failures[start] = str(e)
                return
            middle = (start + end) // 2
            roll(start, middle)
            roll(middle, end)

    roll(0, count)
    return Members(_whole(study, drawn, failures, count), first, q, v, study.times(), drawn, steps_between=study.every)


def _rows(x: AnyArray, some: slice) -> AnyArray:
    return x[some] if len(x) > 1 else x


def _simulated(study: Ensemble, first: int, last: int, drawn: dict[str, AnyArray], failures: dict[int, str]) -> Members:
    """Return members after `simulate`, one by one."""
    t = study.times()
    count = last - first
    q, v = (np.full((count, len(t), n), math.nan) for n in (study.robot.nq, study.robot.nv))
    results: list[Any] = []
    for k in range(count):
        one = slice(k, k + 1)
        results.append(None)
        try:
            robot = _variant(study, drawn, k)
            tau = study.fresh_controller()
            if tau is None and "forces" in drawn:
                tau = _rows(drawn["forces"], one)[0]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the reason is recorded
                result = robot.simulate(
                    _rows(drawn["q"], one)[0], _rows(drawn["v"], one)[0], tau, t, **copy.deepcopy(study.settings)
                )
        except UnknownNameError:
            raise
        except OrdernError as e:
            failures[k] = str(e)
            continue
        results[-1] = result
        rows = len(result.t)
        q[k, :rows], v[k, :rows] = result.q[: len(t)], result.v[: len(t)]
        if not result.report.ok:
            failures[k] = result.report.message
        elif rows < len(t):  # an event ended it
            q[k, rows:], v[k, rows:] = result.q[-1], result.v[-1]
    return Members(_whole(study, drawn, failures, count), first, q, v, t, drawn, tuple(results))
