"""Omega, the compliance of the contacts: block diagonal plus rank six, and solved in order l.

    Omega = J M^-1 J^T + A M(C)^-1 A^T = diag(Lambda_i) + A M(C)^-1 A^T

In the rows that contacts bind, with B_i = E_i^T Lambda_i E_i and F = E^T A, the forces f = E lambda obey
B lambda + F alpha(C) = r and M(C) alpha(C) = F^T lambda + g. Dense, this is one system of all rows, of order l^3.
Or the rows of each arm are eliminated by themselves, which leaves six equations for the object, of order l:

    lambda_i = B_i^+ (r_i - F_i alpha) + N_i mu_i,         N_i: the null space of B_i, where arm i does not yield
    (M(C) + sum F_i^T B_i^+ F_i) alpha = g + sum F_i^T B_i^+ r_i + C^T mu,    C alpha = N^T r,    C = N^T F

If all B_i are regular, there is no mu, and this is Woodbury's formula for Omega^-1. Singular arms and arms with few
joints add the rows C; where these are dependent, mu is the least one. So lambda has the least norm, and alpha is right,
for any rank. The rank of all rows is the sum of the ranks of all B_i and of C.

Reference: Rodriguez and Kreutz 1988, Part II, eqs. (3.1), (4.7), (b.7), and the remark before (6.12) that less than
order l^3 might do.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from ..records import dataclass
from .arms import Group, join_rows, split_rows
from .products import solved, symmetric, times, transposed
from .state import GraspState

__all__ = ["RCOND", "Omega", "Solved"]


RCOND = 1e-11
"""Eigenvalues below this part of the largest count as zero. Rounding leaves about 1e-15; a hand in a regular position
has 1e-6, since it yields a hundred times as much to moments as to forces, and masses differ."""


@dataclass(frozen=True)
class Solved:
    """The solution: constraint forces and the object's acceleration."""

    multipliers: list[Array]
    """lambda for each group, (..., m, c)."""
    acceleration: Array
    """alpha(C), (..., 6)."""
    rank: NDArray[np.intp]
    """The rank of all rows, (...)."""
    residual: Array
    """The norm of the part of the right-hand side that no forces can cause, (...)."""


class Omega:
    """Omega at a state: its blocks, its inverse, and solutions of systems with it."""

    def __init__(self, state: GraspState, compliance: list[Array], rcond: float = RCOND) -> None:
        self.state, self.compliance, self.rcond = state, compliance, rcond
        self._groups, self.size = state.grasp.groups, state.grasp.nc

    @cached_property
    def blocks(self) -> list[Array]:
        """B for each group, (..., m, c, c)."""
        both = zip(self.state.E, self.compliance, strict=True)
        return [transposed(E) @ L @ E for E, L in both]

    # ---- by arms, in order l

    @cached_property
    def _eigen(self) -> list[tuple[Array, Array]]:
        """For each group, the eigenvectors of B, and the inverse eigenvalues, with 0 for those that are zero."""
        return [_eigen(symmetric(B), self.rcond) for B in self.blocks]

    def solve(self, r: list[Array], g: Array | None = None) -> Solved:
        """Return lambda and alpha(C), by elimination arm by arm, for rows r and a wrench g on the object."""
        state = self.state
        Q = np.zeros((*state.shape, 6, 6)) if state.inertia is None else state.inertia.copy()
        h = np.zeros((*state.shape, 6)) if g is None else np.array(g)
        rank = np.full(state.shape, self.size)
        across, wanted = [np.zeros((*state.shape, 0, 6))], [np.zeros((*state.shape, 0))]
        images = []
        for (U, over), F, x in zip(self._eigen, state.F, r, strict=True):
            Ut = transposed(U)
            UF, Ux = Ut @ F, times(Ut, x)
            flat, weighted = (y.reshape(*state.shape, -1, 6) for y in (UF, UF * over[..., None]))
            Q += transposed(weighted) @ flat
            h += times(transposed(weighted), Ux.reshape(*state.shape, -1))
            zero = over == 0.0
            singular = zero.any()
            if singular:
                rank -= np.sum(zero, axis=(-2, -1))
                across.append((UF * zero[..., None]).reshape(*state.shape, -1, 6))
                wanted.append((Ux * zero).reshape(*state.shape, -1))
            images.append((U, over, UF, Ux, zero if singular else None))
        C, s = np.concatenate(across, axis=-2), np.concatenate(wanted, axis=-1)
        if state.inertia is None:
            alpha, mu = np.zeros_like(h), np.zeros_like(s)
        else:
            alpha, mu, more = _bound(Q, h, C, s, self.rcond)
            rank += more
        multipliers, at = [], 0
        for U, over, UF, Ux, stiff in images:
            y = over * (Ux - times(UF, alpha[..., None, :]))
            if stiff is not None:
                n = stiff.shape[-2] * stiff.shape[-1]
                y = y + stiff * mu[..., at : at + n].reshape(stiff.shape)
                at += n
            multipliers.append(times(U, y))
        return Solved(multipliers, alpha, rank, np.linalg.norm(s - times(C, alpha), axis=-1))

    # ---- all rows at once

    @cached_property
    def matrix(self) -> Array:
        """E^T Omega E: (..., nc, nc), between the rows of all contacts."""
        F = self.state.all_F
        whole = F @ self.state.mobility @ transposed(F)
        for g, B in zip(self._groups, self.blocks, strict=True):
            whole[..., g.rows[:, :, None], g.rows[:, None, :]] += B
        return symmetric(whole)

    @cached_property
    def full(self) -> Array:
        """Omega itself: (..., 6 l, 6 l), between the contacts' motions and forces in the world's axes."""
        state, l = self.state, len(self.state.grasp.contacts)
        A = state.A.reshape(*state.shape, 6 * l, 6)
        whole = A @ state.mobility @ transposed(A)
        for g, L in zip(self._groups, self.compliance, strict=True):
            at = _entries(g)
            whole[..., at[:, :, None], at[:, None, :]] += L
        return whole

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        """Eigenvectors of the matrix, and 1 / eigenvalue or 0."""
        return _eigen(self.matrix, self.rcond)

    @property
    def rank(self) -> NDArray[np.intp]:
        """The rank of the matrix, (...)."""
        return np.asarray(np.sum(self._spectrum[1] > 0.0, axis=-1))

    @cached_property
    def inverse(self) -> Array:
        """(..., 6 l, 6 l): from accelerations of the contacts to the forces that cause them; Omega^-1 of rigid grasps.

        For other contacts it is Pi of (b.7), and where Omega is singular the pseudo-inverse.
        """
        U, over = self._spectrum
        EU = self._forces @ U
        return np.asarray((EU * over[..., None, :]) @ transposed(EU))

    @cached_property
    def _forces(self) -> Array:
        """E as one matrix (..., 6 l, nc)."""
        whole = np.zeros((*self.state.shape, 6 * len(self.state.grasp.contacts), self.size))
        for g, E in zip(self._groups, self.state.E, strict=True):
            whole[..., _entries(g)[:, :, None], g.rows[:, None, :]] = E
        return whole

    def solve_dense(self, r: list[Array], g: Array | None = None) -> Solved:
        """Return the same as `solve`, by the eigenvalues of all rows."""
        state, F = self.state, self.state.all_F
        force = np.zeros((*state.shape, 6)) if g is None else g
        x = join_rows(self._groups, r) - times(F, times(state.mobility, force))
        U, over = self._spectrum
        y = times(transposed(U), x)
        multipliers = times(U, over * y)
        alpha = times(state.mobility, times(transposed(F), multipliers) + force)
        residual = np.linalg.norm(np.where(over > 0.0, 0.0, y), axis=-1)
        return Solved(split_rows(self._groups, multipliers), alpha, self.rank, residual)


def _entries(g: Group) -> NDArray[np.intp]:
    """Return where the forces of each arm are among those of all contacts, six for each: (m, 6 k)."""
    return (6 * g.contacts[:, :, None] + np.arange(6)).reshape(len(g.arms), -1)


def _eigen(B: Array, rcond: float) -> tuple[Array, Array]:
    """Return the eigenvectors of symmetric matrices, and the inverse eigenvalues, with 0 for those that are zero."""
    if not B.shape[-1]:
        return B, np.zeros(B.shape[:-1])
    d, U = np.linalg.eigh(B)
    zero = d <= rcond * d[..., -1:]
    return U, np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, d))


def _bound(Q: Array, h: Array, C: Array, s: Array, rcond: float) -> tuple[Array, Array, Array]:
    """Return alpha with Q alpha = h + C^T mu and C alpha = s, the least mu, and the rank of C."""
    if not C.any():
        return solved(Q, h), np.zeros_like(s), np.zeros(s.shape[:-1], int)
    if C.shape[-2] < 6:  # pad the rows to six, so that all directions of alpha are among the singular vectors
        C = np.concatenate([C, np.zeros((*C.shape[:-2], 6 - C.shape[-2], 6))], axis=-2)
    U, d, Vt = np.linalg.svd(C, full_matrices=False)
    U = U[..., : s.shape[-1], :]
    held = d > max(rcond, 1e-9) * np.maximum(d[..., :1], 1.0)
    over = np.where(held, 1.0 / np.where(held, d, 1.0), 0.0)
    # in the coordinates Vt alpha: those that are held are known, the others follow from Q
    V = transposed(Vt)
    K, k = Vt @ Q @ V, times(Vt, h)
    known = over * times(transposed(U), s)
    loose = ~held
    both = loose[..., :, None] & loose[..., None, :]
    one = np.broadcast_to(np.eye(6), K.shape) * held[..., None]
    y = known + solved(np.where(both, K, one), np.where(loose, k - times(K, known), 0.0))
    mu = times(U, over * (times(K, y) - k))
    return times(V, y), mu, np.sum(held, axis=-1)
