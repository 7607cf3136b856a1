"""Closed positions next to one, along what its constraints allow: what they tell of singular positions.

In a singular position constraints depend on each other that do not next to it. So small motions are tried along each
freedom, both ways, and along mixtures of two, and what they leave open is closed by Newton's method. Where constraints
depend on each other it only halves the distance with each step, so that there are many. If all ways lead back to where
they came from, the mechanism is locked there: what first derivatives call a freedom is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..algorithms.closed_loop.rank import TOLERANCE
from .asking import Array

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["is_itself", "neighbours"]

Of = Callable[[Array], Array]
"""What positions (n, nq) have."""

_NEARBY = 1e-3
"""How far away neighbours of a position are, in rad and m: far enough that their rank shows, near enough to be so."""
_CLOSED, _ENOUGH = 1e-12, 1e-10
"""Residuals that are left as they are, and those that count as none where rounding leaves no more to be gained."""
_STEPS = 40
_ITSELF = 0.03
"""Positions that are nearer than this part of `_NEARBY` are those where Newton's method stopped on its way back."""


def neighbours(robot: Robot, q: Array, motions: Array, jacobian: Of, residual: Of) -> tuple[Array, Array]:
    """Closed positions (n, nq) next to q, along the columns of `motions`, and how far off they are, (n,)."""
    near = robot.integrate(q, _directions(motions))
    off = _largest(residual(near)) if len(near) else np.zeros(0)
    todo = np.flatnonzero(off > _CLOSED)
    for _ in range(_STEPS):
        if not todo.size:
            break
        r = residual(near[todo])
        x = (np.linalg.pinv(jacobian(near[todo]), rcond=TOLERANCE) @ -r[..., None])[..., 0]
        new = robot.integrate(near[todo], x)
        now = _largest(residual(new))
        better = now < off[todo]
        near[todo[better]], off[todo[better]] = new[better], now[better]
        todo = todo[better & (now > _CLOSED)]
    near = near[off < _ENOUGH]
    return near, np.linalg.norm(robot.difference(np.broadcast_to(q, near.shape), near), axis=-1)


def is_itself(distance: Array) -> bool:
    """Whether no neighbour is another position."""
    return bool((distance < _ITSELF * _NEARBY).all())


def _directions(N: Array) -> Array:
    """(n, nv): small motions along the columns of N, and along mixtures of two of the first few."""
    f = N.shape[1]
    ways = [N[:, k] for k in range(f)]
    ways += [N[:, j] + s * N[:, k] for j in range(min(f, 4)) for k in range(j) for s in (1.0, -1.0)]
    found = [s * w / np.linalg.norm(w) for w in ways for s in (_NEARBY, -_NEARBY)]
    return np.array(found).reshape(-1, N.shape[0])


def _largest(rows: Array) -> Array:
    return np.asarray(np.abs(rows).max(axis=-1, initial=0.0))
