"""Closed positions next to a given one, which decide whether that one is singular.

In a singular position, constraints depend on each other that are independent nearby. First derivatives allow motions
x = N w there that do not continue. A motion that continues has accelerations that keep loops closed, K a + k(x) = 0.
They exist only if, for all u with u^T K = 0,

    u^T k(N w) = 0        with k, the bias of constraints, quadratic in velocities

Newton's method finds such w from many starts. Small steps are taken along these and along each freedom, and Newton's
method closes the loops again. If all steps return to the given position, the mechanism is locked: the freedoms of first
derivatives are not real.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..algorithms.closed_loop.rank import TOLERANCE
from ..records import dataclass
from .kernels import Array

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["MOST", "Constraints", "neighbours"]

_NEARBY = 1e-3
"""The distance of neighbours, in rad and m: far enough to show another rank, and close enough to be neighbours."""
_ELSEWHERE = 0.1
"""A position closer than this part of the distance is one where Newton's method stopped on its way back."""
_CLOSED, _ENOUGH = 1e-12, 1e-10
"""Residuals at which the iteration ends, and residuals that count as closed where rounding allows no further gain."""
_STEPS, _ROUNDS = 40, 60
MOST = 60
"""The largest number of freedoms for which continuing motions are searched; with more, the answer is not known."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints: functions of positions (n, nq), and of velocities (n, nv)."""

    robot: Robot
    jacobian: Callable[[Array], Array]
    residual: Callable[[Array], Array]
    bias: Callable[[Array, Array], Array]


def neighbours(of: Constraints, q: Array, motions: Array) -> Array:
    """Return closed positions (n, nq) next to q, along motions that its constraints allow, a basis in columns."""
    robot, f = of.robot, motions.shape[1]
    if not f:
        return np.zeros((0, len(q)))
    ways = np.concatenate([np.eye(f), _going_on(of, q, motions)])
    x = ways / np.linalg.norm(ways, axis=1, keepdims=True) @ motions.T
    near = robot.integrate(q, _NEARBY * np.concatenate([x, -x]))
    off = _largest(of.residual(near))
    todo = np.flatnonzero(off > _CLOSED)
    for _ in range(_STEPS):
        if not todo.size:
            break
        r = of.residual(near[todo])
        change = (np.linalg.pinv(of.jacobian(near[todo]), rcond=TOLERANCE) @ -r[..., None])[..., 0]
        new = robot.integrate(near[todo], change)
        now = _largest(of.residual(new))
        better = now < off[todo]
        near[todo[better]], off[todo[better]] = new[better], now[better]
        todo = todo[better & (now > _CLOSED)]
    near = near[off < _ENOUGH]
    distance = np.linalg.norm(robot.difference(np.broadcast_to(q, near.shape), near), axis=-1)
    return np.asarray(near[distance > _ELSEWHERE * _NEARBY])


def _going_on(of: Constraints, q: Array, N: Array) -> Array:
    """Return combinations (n, f) of motions whose second derivatives can keep the constraints."""
    f = N.shape[1]
    U = np.linalg.svd(of.jacobian(q[None])[0])[0][:, N.shape[0] - f :]
    if f == 1 or f > MOST or not U.shape[1]:
        return np.zeros((0, f))
    one, other = np.triu_indices(f)
    x = N[:, one].T + np.where(one == other, 0.0, 1.0)[:, None] * N[:, other].T
    k = of.bias(np.broadcast_to(q, (len(x), len(q))), x) @ U
    A = np.zeros((k.shape[1], f, f))  # u^T k(N w) = w^T A w
    A[:, one, other] = k.T
    plain = np.einsum("kii->ki", A).copy()
    A[:, one, other] -= np.where(one == other, 0.0, 1.0) * (plain[:, one] + plain[:, other])
    A = 0.5 * (A + np.swapaxes(A, 1, 2))
    size = np.abs(A).max(axis=(1, 2), initial=0.0)
    A = A[size > 1e-9 * max(1.0, float(size.max(initial=0.0)))]
    rng = np.random.default_rng(0)
    w = rng.normal(size=(8 + 4 * f, f))
    if not len(A):
        return np.asarray(w[:4])
    for _ in range(_ROUNDS):
        w = w / np.linalg.norm(w, axis=1, keepdims=True)
        Aw = np.einsum("kij,nj->nki", A, w)
        value = np.einsum("nki,ni->nk", Aw, w)
        slope = 2.0 * (Aw - value[..., None] * w[:, None, :])  # around, for shorter ones do not count
        w = w - (np.linalg.pinv(slope, rcond=1e-9) @ value[..., None])[..., 0]
    w = w / np.linalg.norm(w, axis=1, keepdims=True)
    left = np.abs(np.einsum("kij,ni,nj->nk", A, w, w)).max(axis=1)
    return np.asarray(w[left < 1e-6 * np.abs(A).max()])


def _largest(rows: Array) -> Array:
    return np.asarray(np.abs(rows).max(axis=-1, initial=0.0))
