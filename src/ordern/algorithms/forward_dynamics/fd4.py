"""Forward dynamics FD4 of Rodriguez and Kreutz: no bias accelerations in advance, only velocities.

    e = T - H z,    z = psi (S L T + b) + psi~ P a,    nu = D^-1 e                             (5.14)
    th'' = (1 - H Psi L)^T nu - L^T Psi^T (1 - G H)^T a - G^T a                                (5.15)

    outward   V, a, b                                                                          (5.13)
    inward    P, D, G;    z_i = b_i + sum of (psi z + L T + psi P a) of the children           (5.16)
              e_i = T_i - H z_i,     nu_i = D_i^-1 e_i,     psi z_i + L_i T_i = phi (z_i + G_i e_i)
    outward   th''_i = nu_i - L_i^T lambda_p - G_i^T a_i                                       (5.17)
              lambda_i = psi^T lambda_p + H^T nu_i + (1 - G_i H)^T a_i

Here lambda is the links' acceleration itself. The recursion is that of `articulated_body`: z is its pA, and nu its nu.
Cost: order n; this is the cheapest of the four, since neither zeta nor M zeta is needed.

The paper says that there is a method of two sweeps, which needs no velocities in advance: see `two_sweep`.

Reference: Rodriguez and Kreutz 1988, part I, eqs. (5.13)-(5.17), with b(k) where (5.16) repeats psi P a; symbols in
`rodriguez_kreutz`.
Differs: in body axes. lambda of the base is the acceleration that stands for gravity, which the paper puts into a
(3.21); `link_accelerations` subtracts it.
"""

from __future__ import annotations

from ...model import Answer, Base, Bodies, Joints, Tree
from ...spatial import ArticulatedInertia, Force
from ..velocities import base_motion, velocities
from .rodriguez_kreutz import Links, declare, riccati

__all__ = ["sweeps"]


def sweeps(tree: Tree, qdd: Answer, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Links:
    """Sweep three times, and fill in qdd."""
    w, lam = base_motion(tree, v0, a0)
    P, z = tree.field(ArticulatedInertia), tree.field(Force)
    X, S, a, G, D, nu = (tree.own() for _ in range(6))

    for i, p in tree.outward():
        X[i], S[i], w[i], r, c, b = velocities(i, q[i], qd[i], w[p])
        a[i] = X[i] @ r + c
        P[i], z[i] = i.inertia.articulated(), b - external[i]

    for i, p in tree.inward():
        G[i], D[i], through = riccati(i, p, P, X[i], S[i])
        e = tau[i] - S[i].T @ z[i] - i.gyration(q[i], qd[i])
        nu[i] = D[i].solve(e)
        z[p] += X[i].T @ (z[i] + G[i] @ e + through @ a[i])

    for i, p in tree.outward():
        moved = X[i] @ lam[p] + a[i]
        qdd[i] = nu[i] - G[i].T @ moved
        lam[i] = moved + S[i] @ qdd[i]
    return Links(X, S, P, G, D, z, nu, w, lam)


declare(
    "fd4",
    sweeps,
    forward_dynamics="FD4: (5.13)-(5.17), with (4.4)-(4.7)",
    link_accelerations="FD4: lambda of (5.17)",
    tip_acceleration="FD4: lambda of (5.17), (4.23)",
    joint_and_tip_accelerations="FD4: (5.17), (4.23)",
)
