"""Messages for runs that end at a dead point, where the loops lock the mechanism or its motion is not unique."""

from __future__ import annotations

import numpy as np

from ...arguments import Array
from .constraints import Constraints

__all__ = ["dead_point", "locked"]


_NEAR = 0.05
"""A run that ends where the smallest singular value is below this part of its largest ended for that reason."""
_PART = 0.1
"""Loops with this part of the combination of constraints that vanishes are named."""
_GONE = 1e-3
"""Singular values below this part of the usual smallest one do not count in the rank that is told."""


def dead_point(now: Constraints, q: Array, t: float, usual: float) -> str:
    """Return the message for a dead point: its loops, and what to do; empty if the position is not one."""
    if not now.rank or not np.isfinite(q).all() or not usual > 0.0:
        return ""
    U, sigma, _ = np.linalg.svd(now.narrow(q, t), full_matrices=False)
    least = float(sigma[now.rank - 1]) / usual
    if not least < _NEAR:
        return ""
    names = _sharing(now, U[:, now.rank - 1])
    driven = [x.loop.name for x in now.robot.loop_table.loops if x.type.timed]
    rank = min(now.rank - 1, int((sigma[: now.rank] > _GONE * usual).sum()))
    text = (
        f"{now.listed(names)} {'is' if len(names) == 1 else 'are'} at a dead point there: the smallest singular value "
        f"of the constraints is {least:.1e} of its largest so far, and next to it their rank is {rank} instead of "
        f"{now.rank}"
    )
    if driven:
        return (
            f"{text}. Time drives {now.listed(driven)} on, where the mechanism cannot follow: let time drive another "
            "joint, end the motion before, or open the loop then, with on.Switch"
        )
    return f"{text}. Tighter tolerances or shorter steps may lead through it; mobility() tells how it can move there"


def locked(now: Constraints, q: Array, t: float, rank: int) -> str:
    """Return the message for a locked mechanism: the loops that lock it, and what to do."""
    U, _, _ = np.linalg.svd(now.narrow(q, t), full_matrices=False)
    names = _sharing(now, U[:, now.rank - 1])
    return (
        f"{now.listed(names)} {'locks' if len(names) == 1 else 'lock'} the mechanism where it is at t = {t:.9g} s: of "
        f"{now.rank} constraints that are independent next to this singular position, {rank} are so in it, and no "
        "motion leads away from it. What forces do to it depends on how stiff its parts are, and rigid ones take any: "
        "start next to it, or without one of them"
    )


def _sharing(now: Constraints, u: Array) -> list[str]:
    """The loops that have a part in a combination of constraints."""
    shares = {name: float(np.linalg.norm(u[rows])) for name, rows in now.rows.names.items()}
    return [name for name, x in shares.items() if x > _PART]
