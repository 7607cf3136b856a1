"""Distribution of a force on the object over the contacts, and internal forces, which squeeze the object.

Contact forces f = E lambda put G lambda on the object, G = A^T E. Of all lambda with G lambda = w, the one of the least
lambda^T Q lambda is Q^-1 G^T (G Q^-1 G^T)^+ w. The rest of given forces, lambda - Q^-1 G^T (G Q^-1 G^T)^+ G lambda,
is in the null space of G: internal forces, which squeeze the object and do not move it.

The sum of squares adds moments in N m and forces in N, which suits levers of about a metre; otherwise, use weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array
from ..errors import ArgumentError
from ..records import dataclass
from .arguments import numbers, spread
from .arms import join_rows, split_rows
from .products import times, transposed
from .state import GraspState

if TYPE_CHECKING:
    from .mechanism import Grasp

__all__ = ["Distribution", "distribute", "internal_basis", "internal_forces"]


@dataclass(frozen=True, eq=False)
class Distribution:
    """Contact forces that together exert a given wrench on the object."""

    forces: Array
    """(..., l, 6): (moment, force) of the tips on the object, at the contacts, in the world's axes."""
    residual: Array
    """(...): the norm of the part that the contacts cannot exert; zero if they hold the object in every direction."""
    internal: int
    """The number of independent internal forces."""


def distribute(state: GraspState, wrench: Array, weights: ArrayLike | None = None) -> Distribution:
    """Return the contact forces of the least weighted squares that exert a wrench on the object."""
    G = transposed(state.all_F)
    shared, rank = _inverse(G, _costs(state.grasp, weights))
    y = times(shared, wrench)
    residual = np.linalg.norm(times(G, y) - wrench, axis=-1)
    return Distribution(_forces(state, y), residual, G.shape[-1] - int(np.min(rank)))


def internal_forces(state: GraspState, forces: Array, weights: ArrayLike | None = None) -> Array:
    """Return the part of contact forces that does not move the object."""
    G = transposed(state.all_F)
    y = join_rows(state.grasp.groups, state.rows(forces))
    shared, _ = _inverse(G, _costs(state.grasp, weights))
    return _forces(state, y - times(shared, times(G, y)))


def internal_basis(state: GraspState) -> Array:
    """Return an orthonormal basis of the null space of G, as forces (..., k, l, 6)."""
    _, d, Vt = np.linalg.svd(transposed(state.all_F))
    ranks = np.sum(d > 1e-9 * d[..., :1], axis=-1)
    if np.ptp(ranks):
        raise ArgumentError("grasp: some states have more internal forces than others; call state by state")
    null = Vt[..., int(np.min(ranks)) :, :]
    if not null.shape[-2]:
        return np.zeros((*state.shape, 0, len(state.grasp.contacts), 6))
    return np.stack([_forces(state, null[..., k, :]) for k in range(null.shape[-2])], axis=-3)


def _forces(state: GraspState, y: Array) -> Array:
    """Return E lambda, (..., l, 6)."""
    shape = np.broadcast_shapes(y.shape[:-1], state.shape)
    if shape != state.shape:
        state = state.spread(shape)
    return state.forces(split_rows(state.grasp.groups, spread(y, shape)))


def _costs(grasp: Grasp, weights: ArrayLike | None) -> Array | None:
    """Return Q, (rows, rows), from weights of contacts or of components."""
    if weights is None:
        return None
    l = len(grasp.contacts)
    w = numbers(weights, "`weights`")
    if w.shape not in ((l,), (l, 6)) or not (w > 0.0).all() or not np.isfinite(w).all():
        raise ArgumentError(
            f"grasp: weights must be finite and above zero, one for each of the {l} contacts or six for each, "
            f"not of shape {w.shape}"
        )
    each = np.broadcast_to(w[:, None], (l, 6)) if w.ndim == 1 else w
    Q = np.zeros((grasp.nc, grasp.nc))
    at = 0
    for c, own in zip(grasp.contacts, each, strict=True):
        n = c.bound.shape[1]
        Q[at : at + n, at : at + n] = c.bound.T @ (own[:, None] * c.bound)
        at += n
    return Q


def _inverse(G: Array, Q: Array | None) -> tuple[Array, Array]:
    """Return Q^-1 G^T (G Q^-1 G^T)^+ and the rank of G."""
    if not G.shape[-1]:
        return transposed(G), np.zeros(G.shape[:-2], int)
    L = np.eye(G.shape[-1]) if Q is None else np.linalg.inv(np.linalg.cholesky(Q)).T  # Q^-1 = L L^T
    scaled = G @ L
    d = np.linalg.svd(scaled, compute_uv=False)
    return L @ np.linalg.pinv(scaled, rcond=1e-9), np.sum(d > 1e-9 * d[..., :1], axis=-1)
