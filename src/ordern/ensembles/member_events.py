"""The events of the members of an ensemble, collected from rollouts and from single runs into arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..simulate.rollout_events import Crossings

if TYPE_CHECKING:
    from .ensemble import Ensemble

__all__ = ["copy_events", "no_events", "note_events"]


def no_events(study: Ensemble, count: int) -> Crossings | None:
    """Return room for the events of some members, before any is noted; None without events."""
    names = study.event_names
    if not names:
        return None
    n, nq, nv = len(names), study.robot.nq, study.robot.nv
    time, q, v = (np.full(shape, math.nan) for shape in ((count, n), (count, n, nq), (count, n, nv)))
    return Crossings(names, time, q, v, np.zeros((count, n), np.int64), np.full(count, -1))


def copy_events(to: Crossings | None, some: slice, found: Crossings | None) -> None:
    """Copy the events of some members, which one rollout has run."""
    for name in ("time", "q", "v", "count", "stopped") if to is not None and found is not None else ():
        getattr(to, name)[some] = getattr(found, name)


def note_events(to: Crossings | None, member: int, result: Any) -> None:
    """Note the first crossings in the `Result` of one member, and how often they take place."""
    if to is None:
        return
    for x in result.events:
        if x.index < 0:  # a limit that the run watches by itself
            continue
        at = member, x.index
        if not to.count[at]:
            to.time[at], to.q[at], to.v[at] = x.time, x.q, x.v
        to.count[at] += 1
    if result.report.stopped == "event":
        to.stopped[member] = result.events[-1].index
