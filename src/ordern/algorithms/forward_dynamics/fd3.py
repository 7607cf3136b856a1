"""Forward dynamics FD3 of Rodriguez and Kreutz: bias forces are filtered together with the joint moments.

    zeta = phi^T a,    e = T - H psi [S L T + M zeta + b],    th'' = (1 - H Psi L)^T D^-1 e    (5.8)-(5.10)

    outward   V, a, b;    zeta_i = phi^T zeta_p + a_i
    inward    P, D, G;    z_i = M zeta_i + b_i + sum of (psi z + L T) of the children
              e_i = T_i - H z_i,     nu_i = D_i^-1 e_i,                psi z_i + L_i T_i = phi (z_i + G_i e_i)
    outward   th''_i = nu_i - L_i^T lambda_p,                          lambda_i = psi^T lambda_p + H^T nu_i
              alpha_i = lambda_i + zeta_i

FD1's second sweep and its third are one here, by (1 - H Psi L) H phi = H psi (5.4). The links' accelerations are
alpha = psi^T H^T nu + zeta, which the paper leaves to the reader. Cost: order n.

Reference: Rodriguez and Kreutz 1988, part I, eqs. (5.4), (5.8)-(5.10); symbols in `rodriguez_kreutz`.
Differs: in body axes. The joint accelerations of the paper's proof have (1 - H Psi L)^-T, which should be (...)^T.
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

__all__ = ["fd3", "fd3_both", "fd3_links", "fd3_tip"]


@algorithm(
    "forward_dynamics",
    "fd3",
    paper="Rodriguez-Kreutz 1988",
    equations="FD3: (5.8)-(5.10), with (4.4)-(4.7), (4.22)",
)
def fd3(tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any) -> Any:
    """Joint accelerations qdd for position q, velocity qd, joint forces tau and external forces on the bodies."""
    return joint_accelerations(sweeps, tree, q, qd, tau, external, v0, a0)


@algorithm(
    "link_accelerations",
    "fd3",
    paper="Rodriguez-Kreutz 1988",
    equations="FD3: (5.8)-(5.10), alpha = psi^T H^T nu + zeta",
    refuses=no_couplings,
)
def fd3_links(tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any) -> Any:
    """Accelerations of the bodies for position q, velocity qd, joint forces tau and external forces."""
    return link_accelerations(sweeps, tree, q, qd, tau, external, v0, a0)


@algorithm(
    "tip_acceleration",
    "fd3",
    paper="Rodriguez-Kreutz 1988",
    equations="FD3: (5.8)-(5.10), alpha = psi^T H^T nu + zeta, (4.23)",
    refuses=no_couplings,
)
def fd3_tip(tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any, frame: Any, axes: str) -> Any:
    """The acceleration of a frame for position q, velocity qd, joint forces tau and external forces on the bodies."""
    return tip_acceleration(sweeps, tree, q, qd, tau, external, v0, a0, frame=frame, axes=axes)


@algorithm(
    "joint_and_tip_accelerations",
    "fd3",
    paper="Rodriguez-Kreutz 1988",
    equations="FD3: (5.8)-(5.10), alpha = psi^T H^T nu + zeta, (4.23)",
    refuses=no_couplings,
)
def fd3_both(tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any, frame: Any, axes: str) -> Any:
    """The joint accelerations and that of a frame, for position q, velocity qd, joint forces and external forces."""
    return joint_and_tip_accelerations(sweeps, tree, q, qd, tau, external, v0, a0, frame=frame, axes=axes)


def sweeps(tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any, qdd: Any) -> Links:
    """The three sweeps, which fill in qdd."""
    w = tree.field(Spin, base=Spin(v0[tree.base].angular))
    zeta = tree.field(Motion, base=tree.base_acceleration + a0[tree.base])
    P, z = tree.field(ArticulatedInertia), tree.field(Force)
    lam, alpha = tree.field(Motion), tree.field(Motion)
    X, S, G, D, nu = (tree.own() for _ in range(5))

    for i, p in tree.outward():
        X[i], S[i], w[i], r, c, b = velocities(i, q[i], qd[i], w[p])
        zeta[i] = X[i] @ (zeta[p] + r) + c
        P[i], z[i] = i.inertia.articulated(), i.inertia @ zeta[i] + b - external[i]

    for i, p in tree.inward():
        G[i], D[i], _ = riccati(i, p, P, X[i], S[i])
        e = tau[i] - S[i].T @ z[i] - i.gyration(q[i], qd[i])
        nu[i] = D[i].solve(e)
        z[p] += X[i].T @ (z[i] + G[i] @ e)

    for i, p in tree.outward():
        qdd[i], lam[i] = smoothed(X[i], S[i], G[i], nu[i], lam[p])
        alpha[i] = lam[i] + zeta[i]
    return Links(X, S, P, G, D, z, nu, w, alpha)
