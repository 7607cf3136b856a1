"""Forward dynamics of a grasp by dense matrices of all arms: the equations in their first form.

    direct (2.11)          [ 0    -A    J ] [ f     ]   [ a(C) - Jdot th ]
                           [ -A^T M(C)  0 ] [ alpha ] = [ -b(C)          ]
                           [ J^T   0    M ] [ th    ]   [ T'             ]
    reduced (2.14)         [ M  J^T                ] [ th ]   [ T'    ]
                           [ J  -A M(C)^-1 A^T     ] [ f  ] = [ a'(C) ]
    closed-form (3.6)      f = Omega^-1 (J M^-1 T' - a'),    th = (M^-1 - M^-1 J^T Omega^-1 J M^-1) T'
                                                                   + M^-1 J^T Omega^-1 a'
    appendix-b (b.9)       f = Pi (J M^-1 T + G1),  Pi = Om^-1 - Om^-1 H^T [H Om^-1 H^T]^-1 H Om^-1,
                           dW/dt = -[H Om^-1 H^T]^-1 H Om^-1 (J M^-1 T + G1)

All are of order n^3. The first two find dependent rows from the singular values of [J, -A], add the projector on
forces without effect to the upper left block, and so find the least f. The closed form uses the pseudo-inverse of
Omega; appendix B, as in the paper, is for regular arms.

Reference: Rodriguez and Kreutz 1988, Part II, eqs. (2.11)-(2.15), (3.4)-(3.6), (b.9).
Differs: contacts bind only the rows E: J and A stand for E^T J and E^T A in the first three.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import Array
from ..errors import ArgumentError
from .motion import GraspMotion, motion_of
from .omega import Omega, Solved
from .recursive import compliance, jacobians
from .state import GraspState

__all__ = ["DENSE", "appendix_b", "closed_form", "direct", "reduced"]


class _Dense:
    """The matrices of all arms at a state."""

    def __init__(self, state: GraspState, tau: tuple[Array, ...], wrench: Array | None) -> None:
        grasp, self.state = state.grasp, state
        for g in grasp.groups:
            if g.looped:
                raise ArgumentError(
                    "grasp: the methods direct, reduced, closed-form and appendix-b are for arms that are trees, not "
                    f"for arm {grasp.arms[g.arms[0]].name!r}: {g.coupled}; use method='general'"
                )
        shape, n, l = state.shape, grasp.nv, len(grasp.contacts)
        self.M, self.inverse = np.zeros((*shape, n, n)), np.zeros((*shape, n, n))
        self.T, self.C = np.zeros((*shape, n)), np.zeros((*shape, n))
        J = np.zeros((*shape, l, 6, n))
        for g in grasp.groups:
            own = jacobians(g, state.stacked(state.q, g)).reshape(*shape, len(g.arms), len(g.tips), 6, -1)
            for m, k in enumerate(g.arms):
                arm = grasp.arms[k]
                J[..., arm.contacts, :, arm.v] = own[..., m, :, :, :]
                q, v = state.q[k], state.v[k]
                self.M[..., arm.v, arm.v] = g.robot.mass_matrix(q)
                self.inverse[..., arm.v, arm.v] = g.robot.mass_matrix_inverse(q)
                self.T[..., arm.v], self.C[..., arm.v] = tau[k], g.robot.bias_force(q, v)
        self.J, self.A = J.reshape(*shape, 6 * l, n), state.A.reshape(*shape, 6 * l, 6)
        zeros = tuple(np.zeros_like(v) for v in state.v)
        self.convective = grasp._tip_accelerations(state.q, state.v, zeros).reshape(*shape, 6 * l)
        self.bias = state.bias.reshape(*shape, 6 * l)
        self.b = state.object_bias(wrench)

    def bound(self, omega: Omega) -> tuple[Array, Array, Array]:
        """Return E^T J, E^T A and E^T (a(C) - Jdot th)."""
        Et = np.swapaxes(omega._forces, -1, -2)
        return Et @ self.J, Et @ self.A, _times(Et, self.bias - self.convective)

    def motion(self, th: Array, omega: Omega, f: Array, alpha: Array, rank: Any, residual: Array) -> GraspMotion:
        """Return the result from joint accelerations, constraint forces and the object's acceleration."""
        grasp = self.state.grasp
        solved = Solved([f[..., g.rows] for g in grasp.groups], alpha, np.asarray(rank), residual)
        return motion_of(self.state, grasp._split(th), solved, self.state.forces(solved.multipliers))


def _times(A: Array, x: Array) -> Array:
    return np.asarray((A @ x[..., None])[..., 0])


def _t(A: Array) -> Array:
    return np.swapaxes(A, -1, -2)


def _without_effect(K: Array, rcond: float) -> tuple[Array, Array]:
    """Return the projector on forces without effect, K^T f = 0, and the rank of K."""
    if not K.shape[-2]:
        return np.zeros((*K.shape[:-2], 0, 0)), np.zeros(K.shape[:-2], int)
    U, d, _ = np.linalg.svd(K)
    full = np.zeros(U.shape[:-1])
    full[..., : d.shape[-1]] = d
    zero = full <= np.sqrt(rcond) * full[..., :1]
    U = U * zero[..., None, :]
    return U @ _t(U), np.sum(~zero, axis=-1)


def direct(state: GraspState, tau: tuple[Array, ...], wrench: Array | None, rcond: float) -> GraspMotion:
    """Solve for all unknowns at once, (2.11)."""
    d, omega = _Dense(state, tau, wrench), Omega(state, compliance(state), rcond)
    J, A, wanted = d.bound(omega)
    moves = state.inertia is not None
    K = np.concatenate([J, -A], axis=-1) if moves else J
    P, rank = _without_effect(K, rcond)
    c, o, n = K.shape[-2], 6 * moves, J.shape[-1]
    S = np.zeros((*state.shape, c + o + n, c + o + n))
    S[..., :c, :c], S[..., :c, c + o :], S[..., c + o :, :c], S[..., c + o :, c + o :] = P, J, _t(J), d.M
    right = np.zeros((*state.shape, c + o + n))
    right[..., :c], right[..., c + o :] = wanted, d.T - d.C
    if state.inertia is not None:
        S[..., :c, c : c + o], S[..., c : c + o, :c], S[..., c : c + o, c : c + o] = -A, -_t(A), state.inertia
        right[..., c : c + o] = -d.b
    x = np.linalg.solve(S, right[..., None])[..., 0]
    ineffective = _times(P, x[..., :c])
    alpha = x[..., c : c + o] if moves else np.zeros((*state.shape, 6))
    return d.motion(x[..., c + o :], omega, x[..., :c] - ineffective, alpha, rank, np.linalg.norm(ineffective, axis=-1))


def reduced(state: GraspState, tau: tuple[Array, ...], wrench: Array | None, rcond: float) -> GraspMotion:
    """Solve without the object's acceleration, (2.14)."""
    d, omega = _Dense(state, tau, wrench), Omega(state, compliance(state), rcond)
    J, A, wanted = d.bound(omega)
    P, rank = _without_effect(J if state.inertia is None else np.concatenate([J, -A], axis=-1), rcond)
    n, c = J.shape[-1], J.shape[-2]
    S = np.zeros((*state.shape, n + c, n + c))
    S[..., :n, :n], S[..., :n, n:], S[..., n:, :n], S[..., n:, n:] = d.M, _t(J), J, P
    if state.inertia is not None:
        S[..., n:, n:] -= A @ np.linalg.solve(state.inertia, _t(A))
        wanted = wanted - _times(A, np.linalg.solve(state.inertia, d.b[..., None])[..., 0])  # a'(C)
    right = np.concatenate([d.T - d.C, wanted], axis=-1)
    x = np.linalg.solve(S, right[..., None])[..., 0]
    ineffective = _times(P, x[..., n:])
    f = x[..., n:] - ineffective
    return d.motion(x[..., :n], omega, f, _object(state, A, f, d.b), rank, np.linalg.norm(ineffective, axis=-1))


def closed_form(state: GraspState, tau: tuple[Array, ...], wrench: Array | None, rcond: float) -> GraspMotion:
    """Evaluate the analytical solution (3.6)."""
    d, omega = _Dense(state, tau, wrench), Omega(state, compliance(state), rcond)
    J, A, wanted = d.bound(omega)
    if state.inertia is not None:
        wanted = wanted - _times(A, np.linalg.solve(state.inertia, d.b[..., None])[..., 0])
    U, over = omega._spectrum
    inverse = (U * over[..., None, :]) @ _t(U)
    MJ, T = d.inverse @ _t(J), d.T - d.C
    right = _times(_t(MJ), T) - wanted
    f = _times(inverse, right)
    th = _times(d.inverse - MJ @ inverse @ _t(MJ), T) + _times(MJ, _times(inverse, wanted))
    left = np.where(over > 0.0, 0.0, _times(_t(U), right))
    return d.motion(th, omega, f, _object(state, A, f, d.b), omega.rank, np.linalg.norm(left, axis=-1))


def appendix_b(state: GraspState, tau: tuple[Array, ...], wrench: Array | None, rcond: float) -> GraspMotion:
    """Solve (b.9), for contacts with free rotations, by Omega and H of the paper."""
    grasp = state.grasp
    d, omega = _Dense(state, tau, wrench), Omega(state, compliance(state), rcond)
    _require_regular(omega, rcond)
    count = len(grasp.contacts)
    H = np.zeros((*state.shape, 6 * count, sum(c.freedoms for c in grasp.contacts)))
    at = 0
    for i, c in enumerate(grasp.contacts):
        H[..., 6 * i : 6 * i + 3, at : at + c.freedoms] = state.axes[..., i, :, :] @ c.free
        at += c.freedoms
    over = np.linalg.inv(omega.full)
    pushed = np.zeros_like(d.bias)
    if state.inertia is not None:
        pushed = _times(d.A, np.linalg.solve(state.inertia, d.b[..., None])[..., 0])
    JM = d.J @ d.inverse
    G1 = pushed + d.convective - d.bias - _times(JM, d.C)  # (b.9a)
    S = _t(H) @ over @ H
    HO = _t(H) @ over
    Pi = over - _t(HO) @ np.linalg.solve(S, HO) if at else over  # (b.9c)
    f = _times(Pi, _times(JM, d.T) + G1)  # (b.9d)
    th = _times(d.inverse - _t(JM) @ Pi @ JM, d.T) - _times(_t(JM) @ Pi, G1) - _times(d.inverse, d.C)  # (b.9e)
    rows = _times(_t(omega._forces), f)
    alpha = _object(state, _t(omega._forces) @ d.A, rows, d.b)
    found = d.motion(th, omega, rows, alpha, np.full(state.shape, omega.size), np.zeros(state.shape))
    return found


def _object(state: GraspState, A: Array, f: Array, b: Array) -> Array:
    """Return alpha(C), from M(C) alpha + b = A^T f."""
    if state.inertia is None:
        return np.zeros((*state.shape, 6))
    return np.asarray(np.linalg.solve(state.inertia, (_times(_t(A), f) - b)[..., None])[..., 0])


def _require_regular(omega: Omega, rcond: float) -> None:
    """Raise, with the name of an arm, unless every arm can move its tips in all directions."""
    grasp = omega.state.grasp
    for c in grasp.contacts:
        if not c.bound.shape[1]:
            raise ArgumentError(f"grasp: method 'appendix-b' is not for contacts that have parted, as {c.name!r} has")
    for g, L in zip(grasp.groups, omega.compliance, strict=True):
        d = np.linalg.eigvalsh(L)
        bad = np.any(d[..., 0] <= rcond * d[..., -1], axis=tuple(range(d.ndim - 2)))
        if bad.any():
            name = grasp.arms[g.arms[int(np.flatnonzero(bad)[0])]].name
            raise ArgumentError(
                f"grasp: method 'appendix-b' inverts Omega, for which arm {name!r} must be able to move its tip in all "
                "six ways; it has fewer joints or is in a singular position. Every other method can do it"
            )


DENSE = {"direct": direct, "reduced": reduced, "closed-form": closed_form, "appendix-b": appendix_b}
