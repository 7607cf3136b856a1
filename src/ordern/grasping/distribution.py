"""How a force on the object is shared between the contacts, and how they squeeze it.

Contact forces f = E lambda put G lambda on the object, G = A^T E. Of all lambda with G lambda = w, the one of the least
lambda^T Q lambda is Q^-1 G^T (G Q^-1 G^T)^+ w. What is left of given forces, lambda - Q^-1 G^T (G Q^-1 G^T)^+ G lambda,
is in the null space of G: it squeezes the object and moves nothing.

Moments and forces are added up in one sum of squares, in N m and N: with levers of about a metre that is fair, else
weights say what a moment costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..records import dataclass
from .arguments import numbers
from .state import GraspState

if TYPE_CHECKING:
    from .mechanism import Grasp

__all__ = ["Distribution", "distribute", "grasp_matrix", "internal_basis", "internal_forces"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Distribution:
    """Contact forces that carry a force on the object."""

    forces: Array
    """(..., l, 6): (moment, force) of the tips on the object, at the contacts, in the world's axes."""
    residual: Array
    """(...): the norm of what the contacts cannot carry; zero if they hold the object in every direction."""
    internal: int
    """How many independent ways there are to squeeze besides."""


def grasp_matrix(grasp: Grasp, state: GraspState) -> Array:
    """G: (..., 6, rows), rows in the order of the contacts."""
    count = sum(g.rows.size for g in grasp.groups)
    G = np.zeros((*state.shape, 6, count))
    for g, F in zip(grasp.groups, state.F, strict=True):
        G[..., :, g.rows] = np.moveaxis(F, -1, -3)
    return G


def distribute(grasp: Grasp, state: GraspState, wrench: Array, weights: Any = None) -> Distribution:
    """The forces of the least weighted squares that put a wrench on the object."""
    G = grasp_matrix(grasp, state)
    shared, rank = _inverse(G, _costs(grasp, weights))
    y = (shared @ wrench[..., None])[..., 0]
    residual = np.linalg.norm((G @ y[..., None])[..., 0] - wrench, axis=-1)
    return Distribution(_forces(grasp, state, y), residual, G.shape[-1] - int(np.min(rank)))


def internal_forces(grasp: Grasp, state: GraspState, forces: Array, weights: Any = None) -> Array:
    """What of the contact forces does not move the object."""
    G = grasp_matrix(grasp, state)
    y = np.zeros((*np.broadcast_shapes(state.shape, forces.shape[:-2]), G.shape[-1]))
    for g, own in zip(grasp.groups, state.rows(forces), strict=True):
        y[..., g.rows] = own
    shared, _ = _inverse(G, _costs(grasp, weights))
    inside = y - (shared @ (G @ y[..., None]))[..., 0]
    return _forces(grasp, state, inside)


def internal_basis(grasp: Grasp, state: GraspState) -> Array:
    """An orthonormal basis of the null space of G, as forces (..., k, l, 6)."""
    G = grasp_matrix(grasp, state)
    _, d, Vt = np.linalg.svd(G)
    ranks = np.sum(d > 1e-9 * d[..., :1], axis=-1)
    if np.ndim(ranks) and np.ptp(ranks):
        raise ArgumentError("grasp: in this batch some states have more ways to squeeze than others; ask one by one")
    rank = int(np.min(ranks))
    null = Vt[..., rank:, :]
    return (
        np.stack([_forces(grasp, state, null[..., k, :]) for k in range(null.shape[-2])], axis=-3)
        if (null.shape[-2])
        else np.zeros((*state.shape, 0, len(grasp.contacts), 6))
    )


def _forces(grasp: Grasp, state: GraspState, y: Array) -> Array:
    """E lambda, (..., l, 6)."""
    if y.shape[:-1] != state.shape:
        state = state.spread(np.broadcast_shapes(y.shape[:-1], state.shape))
        y = np.broadcast_to(y, (*state.shape, y.shape[-1]))
    return state.forces([y[..., g.rows] for g in grasp.groups])


def _costs(grasp: Grasp, weights: Any) -> Array | None:
    """Q: (rows, rows), what the squares cost, from weights of contacts or of components."""
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
    """Q^-1 G^T (G Q^-1 G^T)^+, and the rank of G."""
    if not G.shape[-1]:
        return np.swapaxes(G, -1, -2), np.zeros(G.shape[:-2], int)
    if Q is None:
        L = np.eye(G.shape[-1])
    else:
        L = np.linalg.inv(np.linalg.cholesky(Q)).T  # Q^-1 = L L^T
    scaled = G @ L
    d = np.linalg.svd(scaled, compute_uv=False)
    return L @ np.linalg.pinv(scaled, rcond=1e-9), np.sum(d > 1e-9 * d[..., :1], axis=-1)
