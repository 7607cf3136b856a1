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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from ..records import dataclass
from .arms import Group
from .state import GraspState

__all__ = ["RCOND", "Omega", "Solved"]


RCOND = 1e-11
"""Eigenvalues smaller than this part of the largest count as zero: rounding leaves about 1e-15, and a hand in a good
position has 1e-6, since it is a hundred times as easily turned as moved and masses differ."""


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
        self._groups: tuple[Group, ...] = state.grasp.groups

    @cached_property
    def blocks(self) -> list[Array]:
        """B for each group, (..., m, c, c)."""
        found = []
        for E, L in zip(self.state.E, self.compliance, strict=True):
            found.append(np.swapaxes(E, -1, -2) @ L @ E)
        return found

    @property
    def size(self) -> int:
        """The number of rows."""
        return sum(g.rows.size for g in self._groups)

    # ---- by arms, in order l

    @cached_property
    def _eigen(self) -> list[tuple[Array, Array, Array]]:
        """For each group, the eigenvectors of B, the inverse eigenvalues or 0, and 1 where an eigenvalue is zero."""
        found = []
        for B in self.blocks:
            if not B.shape[-1]:
                found.append((B, np.zeros(B.shape[:-1]), np.zeros(B.shape[:-1])))
                continue
            d, U = np.linalg.eigh((B + np.swapaxes(B, -1, -2)) / 2.0)
            zero = d <= self.rcond * d[..., -1:]
            found.append((U, np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, d)), zero.astype(float)))
        return found

    def solve(self, r: list[Array], g: Array | None = None) -> Solved:
        """Return lambda and alpha(C), by elimination arm by arm, for rows r and a wrench g on the object."""
        state = self.state
        Q = np.zeros((*state.shape, 6, 6)) if state.inertia is None else state.inertia.copy()
        h = np.zeros((*state.shape, 6)) if g is None else np.array(g)
        across, wanted, images = [], [], []
        for (U, over, zero), F, x in zip(self._eigen, state.F, r, strict=True):
            Ut = np.swapaxes(U, -1, -2)
            UF, Ux = Ut @ F, (Ut @ x[..., None])[..., 0]
            images.append((UF, Ux))
            flat, weighted = (x.reshape(*state.shape, -1, 6) for x in (UF, UF * over[..., None]))
            Q += np.swapaxes(weighted, -1, -2) @ flat
            h += (np.swapaxes(weighted, -1, -2) @ Ux.reshape(*state.shape, -1, 1))[..., 0]
            across.append((UF * zero[..., None]).reshape(*state.shape, -1, 6))
            wanted.append((Ux * zero).reshape(*state.shape, -1))
        C, s = np.concatenate(across, axis=-2), np.concatenate(wanted, axis=-1)
        rank = sum((np.sum(zero == 0.0, axis=(-2, -1)) for _, _, zero in self._eigen), np.zeros(state.shape, int))
        if state.inertia is None:
            alpha, mu = np.zeros_like(h), np.zeros_like(s)
        else:
            alpha, mu, more = _bound(Q, h, C, s, self.rcond)
            rank = rank + more
        residual = np.linalg.norm(s - (C @ alpha[..., None])[..., 0], axis=-1)
        return Solved(self._back(images, alpha, mu), alpha, np.asarray(rank), residual)

    def _back(self, images: list[tuple[Array, Array]], alpha: Array, mu: Array) -> list[Array]:
        """Return lambda of each group from the object's acceleration."""
        found, at = [], 0
        for (U, over, zero), (UF, Ux) in zip(self._eigen, images, strict=True):
            n = zero.shape[-2] * zero.shape[-1]
            own = mu[..., at : at + n].reshape(zero.shape)
            at += n
            y = over * (Ux - (UF @ alpha[..., None, :, None])[..., 0]) + zero * own
            found.append((U @ y[..., None])[..., 0])
        return found

    # ---- all rows at once

    @cached_property
    def matrix(self) -> Array:
        """E^T Omega E: (..., nc, nc), between the rows of all contacts."""
        state = self.state
        whole = np.zeros((*state.shape, self.size, self.size))
        F = np.zeros((*state.shape, self.size, 6))
        for g, B, own in zip(self._groups, self.blocks, state.F, strict=True):
            whole[..., g.rows[:, :, None], g.rows[:, None, :]] = B
            F[..., g.rows, :] = own
        if state.inertia is not None:
            whole += F @ np.linalg.solve(state.inertia, np.swapaxes(F, -1, -2))
        return (whole + np.swapaxes(whole, -1, -2)) / 2.0

    @cached_property
    def full(self) -> Array:
        """Omega itself: (..., 6 l, 6 l), between the contacts' motions and forces in the world's axes."""
        state, l = self.state, len(self.state.grasp.contacts)
        whole = np.zeros((*state.shape, l, 6, l, 6))
        for g, L in zip(self._groups, self.compliance, strict=True):
            k = len(g.tips)
            L = L.reshape(*L.shape[:-2], k, 6, k, 6)
            for a in range(k):
                for b in range(k):
                    i, j = g.contacts[:, a], g.contacts[:, b]
                    whole[..., i[:, None, None], np.arange(6)[:, None], j[:, None, None], np.arange(6)] = L[
                        ..., a, :, b, :
                    ]
        whole = whole.reshape(*state.shape, 6 * l, 6 * l)
        if state.inertia is None:
            return whole
        A = state.A.reshape(*state.shape, 6 * l, 6)
        return whole + A @ np.linalg.solve(state.inertia, np.swapaxes(A, -1, -2))

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        """Eigenvectors of the matrix, and 1 / eigenvalue or 0."""
        if not self.size:
            return self.matrix, np.zeros((*self.state.shape, 0))
        d, U = np.linalg.eigh(self.matrix)
        zero = d <= self.rcond * d[..., -1:]
        return U, np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, d))

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
        E = self._forces
        EU = E @ U
        return np.asarray((EU * over[..., None, :]) @ np.swapaxes(EU, -1, -2))

    @cached_property
    def _forces(self) -> Array:
        """E as one matrix (..., 6 l, nc)."""
        state, l = self.state, len(self.state.grasp.contacts)
        whole = np.zeros((*state.shape, l, 6, self.size))
        for g, E in zip(self._groups, state.E, strict=True):
            for a in range(len(g.tips)):
                i = g.contacts[:, a]
                whole[..., i[:, None, None], np.arange(6)[:, None], g.rows[:, None, :]] = E[..., 6 * a : 6 * a + 6, :]
        return whole.reshape(*state.shape, 6 * l, self.size)

    def solve_dense(self, r: list[Array], g: Array | None = None) -> Solved:
        """Return the same as `solve`, by the eigenvalues of all rows."""
        state = self.state
        x, F = np.zeros((*state.shape, self.size)), np.zeros((*state.shape, self.size, 6))
        for group, own, image in zip(self._groups, r, state.F, strict=True):
            x[..., group.rows] = own
            F[..., group.rows, :] = image
        force = np.zeros((*state.shape, 6)) if g is None else g
        still = state.inertia is None
        pushed = np.zeros_like(force) if still else _solved(state.inertia, force)
        x = x - (F @ pushed[..., None])[..., 0]
        U, over = self._spectrum
        y = (np.swapaxes(U, -1, -2) @ x[..., None])[..., 0]
        multipliers = (U @ (over * y)[..., None])[..., 0]
        total = (np.swapaxes(F, -1, -2) @ multipliers[..., None])[..., 0] + force
        alpha = np.zeros_like(force) if still else _solved(state.inertia, total)
        residual = np.linalg.norm(np.where(over > 0.0, 0.0, y), axis=-1)
        return Solved([multipliers[..., g_.rows] for g_ in self._groups], alpha, self.rank, residual)


def _solved(M: Any, x: Array) -> Array:
    return np.asarray(np.linalg.solve(M, x[..., None])[..., 0])


def _bound(Q: Array, h: Array, C: Array, s: Array, rcond: float) -> tuple[Array, Array, Array]:
    """Return alpha with Q alpha = h + C^T mu and C alpha = s, the least mu, and the rank of C."""
    if not C.any():
        return _solved(Q, h), np.zeros_like(s), np.zeros(s.shape[:-1], int)
    U, d, Vt = np.linalg.svd(C, full_matrices=False)
    if d.shape[-1] < 6:  # fewer rows than six
        more = 6 - C.shape[-2]
        C = np.concatenate([C, np.zeros((*C.shape[:-2], more, 6))], axis=-2)
        U, d, Vt = np.linalg.svd(C, full_matrices=False)
        U = U[..., : s.shape[-1], :]
    held = d > max(rcond, 1e-9) * np.maximum(d[..., :1], 1.0)
    over = np.where(held, 1.0 / np.where(held, d, 1.0), 0.0)
    # in the coordinates Vt alpha: those that are held are known, the others follow from Q
    V = np.swapaxes(Vt, -1, -2)
    K, k = Vt @ Q @ V, (Vt @ h[..., None])[..., 0]
    known = over * (np.swapaxes(U, -1, -2) @ s[..., None])[..., 0]
    loose = ~held
    both = loose[..., :, None] & loose[..., None, :]
    one = np.broadcast_to(np.eye(6), K.shape) * held[..., None]
    y = known + _solved(np.where(both, K, one), np.where(loose, k - (K @ known[..., None])[..., 0], 0.0))
    pull = over * ((K @ y[..., None])[..., 0] - k)
    alpha, mu = (V @ y[..., None])[..., 0], (U @ pull[..., None])[..., 0]
    return alpha, mu, np.sum(held, axis=-1)
