"""Takes states between the steps of a run to where its loops are closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...records import dataclass
from ..results.series import LOOPS_CLOSED
from .looped import structure_of

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["Closing", "stored_closing"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Closing:
    """Which loops of a robot are closed since when; called with times and states, it closes these."""

    robot: Robot
    pieces: tuple[tuple[float, tuple[bool, ...]], ...]
    """Times from which on loops are closed, and for each loop whether it is."""

    def __call__(self, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """Positions (..., nq) and velocities (..., nv) at times (...), closed."""
        shape, starts = t.shape, np.array([start for start, _ in self.pieces])
        t, q, v = t.reshape(-1), q.reshape(-1, self.robot.nq).copy(), v.reshape(-1, self.robot.nv).copy()
        piece = np.clip(np.searchsorted(starts, t, side="right") - 1, 0, len(starts) - 1)
        names = [x.name for x in self.robot.constraints]
        for k in np.unique(piece):
            which = np.flatnonzero(piece == k)
            closed = dict(zip(names, self.pieces[k][1], strict=True))
            now = structure_of(self.robot, closed, q[which[0]], float(t[which[0]]))
            if now.nc:
                q[which], _ = now.closed(q[which], t[which])
                v[which] = now.kept(q[which], v[which], t[which])
        return q.reshape(*shape, self.robot.nq), v.reshape(*shape, self.robot.nv)


def stored_closing(robot: Robot, report: Any, t: Array, extra: Mapping[str, Array]) -> Closing | None:
    """That of a motion that was read from a file: samples tell which loops were closed, if that changed."""
    if report is None or report.loops is None or report.loops.drift != "project" or not len(t):
        return None
    masks = extra.get(LOOPS_CLOSED)
    if masks is None:
        return Closing(robot, ((float(t[0]), tuple(x.active for x in robot.constraints)),))
    new = [0, *(np.flatnonzero((masks[1:] != masks[:-1]).any(axis=1)) + 1)]
    return Closing(robot, tuple((float(t[k]), tuple(bool(x) for x in masks[k])) for k in new))
