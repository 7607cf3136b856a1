"""Closes the constraints of states between the steps of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import Array
from ...records import dataclass
from ..results.series import LOOPS_CLOSED
from .constraints import Constraints, Mechanism
from .loop_rows import LoopMechanism

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["Closing", "stored_closing"]


@dataclass(frozen=True)
class Closing:
    """The constraints of a mechanism that are closed since when. Call it with times and states to close these."""

    mechanism: Mechanism
    pieces: tuple[tuple[float, tuple[bool, ...]], ...]
    """Times, and which sets of rows are closed from then on."""

    def __call__(self, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """Return positions (..., nq) and velocities (..., nv) at times (...), closed."""
        shape, starts = t.shape, np.array([start for start, _ in self.pieces])
        t, q, v = t.reshape(-1), q.reshape(-1, q.shape[-1]).copy(), v.reshape(-1, v.shape[-1]).copy()
        piece = np.clip(np.searchsorted(starts, t, side="right") - 1, 0, len(starts) - 1)
        for k in np.unique(piece):
            which = np.flatnonzero(piece == k)
            first = which[0]
            now = Constraints.near(self.mechanism.rows(self.pieces[k][1]), q[first], float(t[first]))
            if now.nc:
                q[which], _ = now.closed(q[which], t[which])
                v[which] = now.kept(q[which], v[which], t[which])
        return q.reshape(*shape, -1), v.reshape(*shape, -1)


def stored_closing(robot: Robot, report: Any, t: Array, extra: Mapping[str, Array]) -> Closing | None:
    """Return the closing of a motion from a file: samples tell which loops were closed, if that changed."""
    if report is None or report.loops is None or report.loops.drift != "project" or not len(t):
        return None
    mechanism, masks = LoopMechanism(robot), extra.get(LOOPS_CLOSED)
    if masks is None:
        return Closing(mechanism, ((float(t[0]), mechanism.closed),))
    new = [0, *(np.flatnonzero((masks[1:] != masks[:-1]).any(axis=1)) + 1)]
    return Closing(mechanism, tuple((float(t[k]), tuple(bool(x) for x in masks[k])) for k in new))
