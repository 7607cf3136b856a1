"""Forward dynamics of a grasp by dense matrices of all arms.

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

import numpy as np

from ..arguments import AnyArray, Array
from ..errors import ArgumentError
from .arms import split_rows
from .motion import GraspMotion, Inputs, motion_of
from .omega import Omega, Solved
from .products import solved, times, transposed
from .recursive import compliance, jacobians

__all__ = ["DENSE"]


class _Dense:
    """The matrices of all arms at a state: J and A have 6 rows for each contact, EJ and EA those that it binds."""

    def __init__(self, given: Inputs) -> None:
        state, grasp = given.state, given.state.grasp
        for g in grasp.groups:
            if g.looped:
                raise ArgumentError(
                    "grasp: the methods direct, reduced, closed-form and appendix-b are for arms that are trees, not "
                    f"for arm {grasp.arms[g.arms[0]].name!r}: {g.coupled}; use method='general'"
                )
        shape, n, l = state.shape, grasp.nv, len(grasp.contacts)
        self.M, self.inverse = np.zeros((*shape, n, n)), np.zeros((*shape, n, n))
        self.T, self.C = np.concatenate(given.tau, axis=-1), np.zeros((*shape, n))
        J = np.zeros((*shape, l, 6, n))
        for g, stacked in state.positions:
            own = jacobians(g, stacked).reshape(*shape, len(g.arms), len(g.tips), 6, -1)
            for m, k in enumerate(g.arms):
                arm, q = grasp.arms[k], state.q[k]
                J[..., arm.contacts, :, arm.v] = own[..., m, :, :, :]
                self.M[..., arm.v, arm.v] = g.robot.mass_matrix(q)
                self.inverse[..., arm.v, arm.v] = g.robot.mass_matrix_inverse(q)
                self.C[..., arm.v] = g.robot.bias_force(q, state.v[k])
        self.state, self.omega = state, Omega(state, compliance(state), given.rcond)
        self.J, self.A = J.reshape(*shape, 6 * l, n), state.A.reshape(*shape, 6 * l, 6)
        self.b = state.object_bias(given.wrench)
        self.pushed = times(state.mobility, self.b)
        """M(C)^-1 b(C)."""
        self.wanted = (state.bias - state.convective).reshape(*shape, 6 * l)
        """a(C) - Jdot th."""
        Et = transposed(self.omega._forces)
        self.EJ, self.EA, self.Ewanted = Et @ self.J, Et @ self.A, times(Et, self.wanted)

    def motion(self, th: Array, f: Array, rank: AnyArray, residual: Array) -> GraspMotion:
        """Return the result from joint accelerations and constraint forces; M(C) alpha + b = A^T f."""
        state = self.state
        alpha = times(state.mobility, times(transposed(self.EA), f)) - self.pushed
        solved = Solved(split_rows(state.grasp.groups, f), alpha, rank, residual)
        return motion_of(state, state.grasp._split(th), solved, state.forces(solved.multipliers))

    def without_effect(self, rcond: float) -> tuple[Array, Array]:
        """Return the projector on forces without effect, K^T f = 0, and the rank of K = [J, -A]."""
        K = self.EJ if self.state.inertia is None else np.concatenate([self.EJ, -self.EA], axis=-1)
        if not K.shape[-2]:
            return np.zeros((*K.shape[:-2], 0, 0)), np.zeros(K.shape[:-2], int)
        U, d, _ = np.linalg.svd(K)
        full = np.zeros(U.shape[:-1])
        full[..., : d.shape[-1]] = d
        zero = full <= np.sqrt(rcond) * full[..., :1]
        U = U * zero[..., None, :]
        return U @ transposed(U), np.sum(~zero, axis=-1)


def direct(given: Inputs) -> GraspMotion:
    """Solve for all unknowns at once, (2.11)."""
    d, inertia = _Dense(given), given.state.inertia
    P, rank = d.without_effect(given.rcond)
    J, A, M = d.EJ, d.EA, inertia
    if M is None:  # no unknown acceleration of the object
        A, M = A[..., :0], np.zeros((*given.state.shape, 0, 0))
    (c, n), o = J.shape[-2:], M.shape[-1]
    none = np.zeros((*given.state.shape, o, n))
    S = np.block([[P, -A, J], [-transposed(A), M, none], [transposed(J), transposed(none), d.M]])
    right = np.concatenate([d.Ewanted, -d.b[..., :o], d.T - d.C], axis=-1)
    x = solved(S, right)
    ineffective = times(P, x[..., :c])
    return d.motion(x[..., c + o :], x[..., :c] - ineffective, rank, np.linalg.norm(ineffective, axis=-1))


def reduced(given: Inputs) -> GraspMotion:
    """Solve without the object's acceleration, (2.14)."""
    d = _Dense(given)
    P, rank = d.without_effect(given.rcond)
    n = d.M.shape[-1]
    S = np.block([[d.M, transposed(d.EJ)], [d.EJ, P - d.EA @ given.state.mobility @ transposed(d.EA)]])
    right = np.concatenate([d.T - d.C, d.Ewanted - times(d.EA, d.pushed)], axis=-1)  # T', a'(C)
    x = solved(S, right)
    ineffective = times(P, x[..., n:])
    return d.motion(x[..., :n], x[..., n:] - ineffective, rank, np.linalg.norm(ineffective, axis=-1))


def closed_form(given: Inputs) -> GraspMotion:
    """Evaluate the analytical solution (3.6)."""
    d = _Dense(given)
    wanted = d.Ewanted - times(d.EA, d.pushed)
    U, over = d.omega._spectrum
    inverse = (U * over[..., None, :]) @ transposed(U)
    MJ, T = d.inverse @ transposed(d.EJ), d.T - d.C
    right = times(transposed(MJ), T) - wanted
    th = times(d.inverse - MJ @ inverse @ transposed(MJ), T) + times(MJ, times(inverse, wanted))
    left = np.where(over > 0.0, 0.0, times(transposed(U), right))
    return d.motion(th, times(inverse, right), d.omega.rank, np.linalg.norm(left, axis=-1))


def appendix_b(given: Inputs) -> GraspMotion:
    """Solve (b.9), for contacts with free rotations, by Omega and H of the paper."""
    d, state = _Dense(given), given.state
    _require_regular(d.omega)
    contacts = state.grasp.contacts
    H = np.zeros((*state.shape, 6 * len(contacts), sum(c.freedoms for c in contacts)))
    at = 0
    for i, c in enumerate(contacts):
        H[..., 6 * i : 6 * i + 3, at : at + c.freedoms] = state.axes[..., i, :, :] @ c.free
        at += c.freedoms
    over = np.asarray(np.linalg.inv(d.omega.full), float)
    JM = d.J @ d.inverse
    MJ = transposed(JM)
    G1 = times(d.A, d.pushed) - d.wanted - times(JM, d.C)  # (b.9a)
    HO = transposed(H) @ over
    Pi = over - transposed(HO) @ np.linalg.solve(HO @ H, HO) if at else over  # (b.9c)
    f = times(Pi, times(JM, d.T) + G1)  # (b.9d)
    th = times(d.inverse - MJ @ Pi @ JM, d.T) - times(MJ @ Pi, G1) - times(d.inverse, d.C)  # (b.9e)
    rows, rank = times(transposed(d.omega._forces), f), np.full(state.shape, d.omega.size)
    return d.motion(th, rows, rank, np.zeros(state.shape))


def _require_regular(omega: Omega) -> None:
    """Raise, with the name of an arm, unless every arm can move its tips in all directions."""
    grasp = omega.state.grasp
    for c in grasp.contacts:
        if not c.bound.shape[1]:
            raise ArgumentError(f"grasp: method 'appendix-b' is not for contacts that have parted, as {c.name!r} has")
    for g, L in zip(grasp.groups, omega.compliance, strict=True):
        d = np.linalg.eigvalsh(L)
        bad = np.any(d[..., 0] <= omega.rcond * d[..., -1], axis=tuple(range(d.ndim - 2)))
        if bad.any():
            name = grasp.arms[g.arms[int(np.flatnonzero(bad)[0])]].name
            raise ArgumentError(
                f"grasp: method 'appendix-b' inverts Omega, for which arm {name!r} must be able to move its tip in all "
                "six ways; it has fewer joints or is in a singular position. Use another method"
            )


DENSE = {"direct": direct, "reduced": reduced, "closed-form": closed_form, "appendix-b": appendix_b}
