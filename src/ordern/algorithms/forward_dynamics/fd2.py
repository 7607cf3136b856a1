"""Forward dynamics FD2 of Rodriguez and Kreutz: bias moments first, then the accelerations of links and joints.

    alpha = psi^T H^T D^-1 (1 - H Psi L) T' + phi^T a,    T' = T - H phi [M phi^T a + b]      (5.5), (5.6)

    outward   V, a, b;    zeta_i = phi^T zeta_p + a_i
    inward    f_i = M zeta_i + b_i + sum of phi f of the children,    T'_i = T_i - H f_i;     P, D, G
    inward    e_i = T'_i - H z_i,    nu_i = D_i^-1 e_i,    z_p += phi (z_i + G_i e_i)          (4.19), (4.20)
    outward   th''_i = nu_i - L_i^T lambda_p,              lambda_i = psi^T lambda_p + H^T nu_i
              alpha_i = lambda_i + zeta_i                                                      (4.21b), (4.22b)

It is FD1 with the links' accelerations; straight-line code for the joint accelerations alone leaves them out, and is
FD1's. Cost: order n.

Reference: Rodriguez and Kreutz 1988, part I, eqs. (5.4)-(5.7), (4.19), (4.20), (4.21b)-(4.23); symbols in
`rodriguez_kreutz`. The identity (1 - H Psi L) H phi = H psi (5.4) leads from (4.18) to (5.6).
Differs: in body axes. The paper makes zeta once more in the last sweep; here it is kept from the first. alpha carries
what stands for gravity, as in the paper, and `link_accelerations` takes it off.
"""

from __future__ import annotations

from typing import Any

from ...model import Tree
from ...spatial import ArticulatedInertia, Force, Motion, Spin
from ..method_limits import no_couplings
from ..registry import algorithm
from .rodriguez_kreutz import (
    Links,
    joint_accelerations,
    joint_and_tip_accelerations,
    link_accelerations,
    riccati,
    smoothed,
    tip_acceleration,
    velocities,
)

__all__ = ["fd2", "fd2_both", "fd2_links", "fd2_tip"]


@algorithm(
    "forward_dynamics",
    "fd2",
    paper="Rodriguez-Kreutz 1988",
    equations="FD2: (5.5), (5.6) as (4.4)-(4.7), (4.19), (4.20), (4.21b), (4.22b)",
)
def fd2(tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any) -> Any:
    """Joint accelerations qdd for position q, velocity qd, joint forces tau and external forces on the bodies."""
    return joint_accelerations(sweeps, tree, q, qd, tau, external, v0, a0)


@algorithm(
    "link_accelerations",
    "fd2",
    paper="Rodriguez-Kreutz 1988",
    equations="FD2: (5.5), (5.6)",
    refuses=no_couplings,
)
def fd2_links(tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any) -> Any:
    """Accelerations of the bodies for position q, velocity qd, joint forces tau and external forces."""
    return link_accelerations(sweeps, tree, q, qd, tau, external, v0, a0)


@algorithm(
    "tip_acceleration",
    "fd2",
    paper="Rodriguez-Kreutz 1988",
    equations="FD2: (5.5)-(5.7), (4.23)",
    refuses=no_couplings,
)
def fd2_tip(tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any, frame: Any, axes: str) -> Any:
    """The acceleration of a frame for position q, velocity qd, joint forces tau and external forces on the bodies."""
    return tip_acceleration(sweeps, tree, q, qd, tau, external, v0, a0, frame=frame, axes=axes)


@algorithm(
    "joint_and_tip_accelerations",
    "fd2",
    paper="Rodriguez-Kreutz 1988",
    equations="FD2: (4.21b), (4.22b), (5.5)-(5.7), (4.23)",
    refuses=no_couplings,
)
def fd2_both(tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any, frame: Any, axes: str) -> Any:
    """The joint accelerations and that of a frame, for position q, velocity qd, joint forces and external forces."""
    return joint_and_tip_accelerations(sweeps, tree, q, qd, tau, external, v0, a0, frame=frame, axes=axes)


def sweeps(tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any, qdd: Any) -> Links:
    """The four sweeps, which fill in qdd."""
    w = tree.field(Spin, base=Spin(v0[tree.base].angular))
    zeta = tree.field(Motion, base=tree.base_acceleration + a0[tree.base])
    P, f, z = tree.field(ArticulatedInertia), tree.field(Force), tree.field(Force)
    lam, alpha = tree.field(Motion), tree.field(Motion)
    X, S, T, G, D, nu = (tree.own() for _ in range(6))

    for i, p in tree.outward():
        X[i], S[i], w[i], r, c, b = velocities(i, q[i], qd[i], w[p])
        zeta[i] = X[i] @ (zeta[p] + r) + c
        f[i] = i.inertia @ zeta[i] + b - external[i]
        P[i], z[i] = i.inertia.articulated(), Force.zero()

    for i, p in tree.inward():
        T[i] = tau[i] - S[i].T @ f[i] - i.gyration(q[i], qd[i])
        f[p] += X[i].T @ f[i]
        G[i], D[i], _ = riccati(i, p, P, X[i], S[i])

    for i, p in tree.inward():
        e = T[i] - S[i].T @ z[i]
        nu[i] = D[i].solve(e)
        z[p] += X[i].T @ (z[i] + G[i] @ e)

    for i, p in tree.outward():
        qdd[i], lam[i] = smoothed(X[i], S[i], G[i], nu[i], lam[p])
        alpha[i] = lam[i] + zeta[i]
    return Links(X, S, P, G, D, z, nu, w, alpha)
