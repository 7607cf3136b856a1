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

from ...model import Answer, Base, Bodies, Joints, Tree
from ...spatial import ArticulatedInertia, Force, Motion
from ..velocities import base_motion, velocities
from .rodriguez_kreutz import Links, declare, riccati, smoothed

__all__ = ["sweeps"]


def sweeps(tree: Tree, qdd: Answer, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Links:
    """Sweep three times, and fill in qdd."""
    w, zeta = base_motion(tree, v0, a0)
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


declare(
    "fd3",
    sweeps,
    forward_dynamics="FD3: (5.8)-(5.10), with (4.4)-(4.7), (4.22)",
    link_accelerations="FD3: (5.8)-(5.10), alpha = psi^T H^T nu + zeta",
    tip_acceleration="FD3: (5.8)-(5.10), alpha = psi^T H^T nu + zeta, (4.23)",
    joint_and_tip_accelerations="FD3: (5.8)-(5.10), alpha = psi^T H^T nu + zeta, (4.23)",
)
