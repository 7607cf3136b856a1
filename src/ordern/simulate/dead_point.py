"""What to say of a run that ends at a dead point: where loops that move on can no longer be followed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .structure import Structure

__all__ = ["dead_point"]

Array = NDArray[np.float64]

_NEAR = 0.05
"""A run that ends where the smallest singular value is below this part of its largest ended for that reason."""
_PART = 0.1
"""Loops with this part of the combination of constraints that vanishes are named."""
_GONE = 1e-3
"""Singular values below this part of the usual smallest one do not count in the rank that is told."""


def dead_point(now: Structure, q: Array, t: float, usual: float) -> str:
    """Which loops depend on each other here that usually do not, and what to do; nothing if none do."""
    if not now.rank or not np.isfinite(q).all() or not usual > 0.0:
        return ""
    U, sigma, _ = np.linalg.svd(now.robot.loop_jacobian(q, t=now.time(t)))
    least = float(sigma[now.rank - 1]) / usual
    if not least < _NEAR:
        return ""
    shares = {name: float(np.linalg.norm(U[rows, now.rank - 1])) for name, rows in now.robot.loop_rows.items()}
    names = [name for name, x in shares.items() if x > _PART]
    driven = [x.loop.name for x in now.robot.loop_table.loops if x.type.timed]
    rank = min(now.rank - 1, int((sigma[: now.rank] > _GONE * usual).sum()))
    text = (
        f"{_listed(names)} {'is' if len(names) == 1 else 'are'} at a dead point there: the smallest singular value of "
        f"the constraints is {least:.1e} of its largest so far, and next to it their rank is {rank} instead of "
        f"{now.rank}"
    )
    if driven:
        return (
            f"{text}. Time drives {_listed(driven)} on, where the mechanism cannot follow: let time drive another "
            "joint, end the motion before, or open the loop then, with on.Switch"
        )
    return f"{text}. Tighter tolerances or shorter steps may lead through it; mobility() tells how it can move there"


def _listed(names: list[str]) -> str:
    quoted = [repr(x) for x in names]
    if len(quoted) == 1:
        return f"loop {quoted[0]}"
    return f"loops {', '.join(quoted[:-1])} and {quoted[-1]}"
