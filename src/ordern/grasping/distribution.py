"""Distribution of a force on the object over the contacts, and internal forces, which squeeze the object.

Contact forces f = E lambda put G lambda on the object, G = A^T E. Of all lambda with G lambda = w, the one of the least
lambda^T Q lambda is Q^-1 G^T (G Q^-1 G^T)^+ w. The rest of given forces, lambda - Q^-1 G^T (G Q^-1 G^T)^+ G lambda,
is in the null space of G: internal forces, which squeeze the object and do not move it.

The sum of squares adds moments in N m and forces in N, which suits levers of about a metre; otherwise, use weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array
from ..errors import ArgumentError
from ..records import dataclass
from .arguments import numbers
from .state import GraspState

if TYPE_CHECKING:
    from .mechanism import Grasp

__all__ = ["Distribution", "distribute", "grasp_matrix", "internal_basis", "internal_forces"]


@dataclass(frozen=True, eq=False)
class Distribution:
    """Contact forces that together exert a given wrench on the object."""

    forces: Array
    """(..., l, 6): (moment, force) of the tips on the object, at the contacts, in the world's axes."""
    residual: Array
    """(...): the norm of the part that the contacts cannot exert; zero if they hold the object in every direction."""
    internal: int
    """The number of independent internal forces."""


def grasp_matrix(grasp: Grasp, state: GraspState) -> Array:
    """Return G, (..., 6, rows), with rows in the order of the contacts."""
    count = sum(g.rows.size for g in grasp.groups)
    G = np.zeros((*state.shape, 6, count))
    for g, F in zip(grasp.groups, state.F, strict=True):
        G[..., :, g.rows] = np.moveaxis(F, -1, -3)
    return G


def distribute(grasp: Grasp, state: GraspState, wrench: Array, weights: Any = None) -> Distribution:
    """Return the contact forces of the least weighted squares that exert a wrench on the object."""
    G = grasp_matrix(grasp, state)
    shared, rank = _inverse(G, _costs(grasp, weights))
    y = (shared @ wrench[..., None])[..., 0]
    residual = np.linalg.norm((G @ y[..., None])[..., 0] - wrench, axis=-1)
    return Distribution(_forces(grasp, state, y), residual, G.shape[-1] - int(np.min(rank)))


def internal_forces(grasp: Grasp, state: GraspState, forces: Array, weights: Any = None) -> Array:
    """Return the part of contact forces that does not move the object."""
    G = grasp_matrix(grasp, state)
    y = np.zeros((*np.broadcast_shapes(state.shape, forces.shape[:-2]), G.shape[-1]))
    for g, own in zip(grasp.groups, state.rows(forces), strict=True):
        y[..., g.rows] = own
    shared, _ = _inverse(G, _costs(grasp, weights))
    inside = y - (shared @ (G @ y[..., None]))[..., 0]
    return _forces(grasp, state, inside)


def internal_basis(grasp: Grasp, state: GraspState) -> Array:
    """Return an orthonormal basis of the null space of G, as forces (..., k, l, 6)."""
    G = grasp_matrix(grasp, state)
    _, d, Vt = np.linalg.svd(G)
    ranks = np.sum(d > 1e-9 * d[..., :1], axis=-1)
    if np.ndim(ranks) and np.ptp(ranks):
        raise ArgumentError("grasp: some states have more internal forces than others; call state by state")
    rank = int(np.min(ranks))
    null = Vt[..., rank:, :]
    if not null.shape[-2]:
        return np.zeros((*state.shape, 0, len(grasp.contacts), 6))
    return np.stack([_forces(grasp, state, null[..., k, :]) for k in range(null.shape[-2])], axis=-3)


def _forces(grasp: Grasp, state: GraspState, y: Array) -> Array:
    """Return E lambda, (..., l, 6)."""
    if y.shape[:-1] != state.shape:
        state = state.spread(np.broadcast_shapes(y.shape[:-1], state.shape))
        y = np.broadcast_to(y, (*state.shape, y.shape[-1]))
    return state.forces([y[..., g.rows] for g in grasp.groups])


def _costs(grasp: Grasp, weights: Any) -> Array | None:
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
    Q = np.zeros((sum(g.rows.size for g in grasp.groups),) * 2)
    at = 0
    for c, own in zip(grasp.contacts, each, strict=True):
        n = c.bound.shape[1]
        Q[at : at + n, at : at + n] = c.bound.T @ (own[:, None] * c.bound)
        at += n
    return Q


def _inverse(G: Array, Q: Array | None) -> tuple[Array, Array]:
    """Return Q^-1 G^T (G Q^-1 G^T)^+ and the rank of G."""
    if not G.shape[-1]:
        return np.swapaxes(G, -1, -2), np.zeros(G.shape[:-2], int)
    if Q is None:
        L = np.eye(G.shape[-1])
    else:
        L = np.linalg.inv(np.linalg.cholesky(Q)).T  # Q^-1 = L L^T
    scaled = G @ L
    d = np.linalg.svd(scaled, compute_uv=False)
    return L @ np.linalg.pinv(scaled, rcond=1e-9), np.sum(d > 1e-9 * d[..., :1], axis=-1)
