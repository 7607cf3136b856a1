"""Forward dynamics FD1 of Rodriguez and Kreutz: bias moments first, then the mass matrix's inverse, factor by factor.

    th'' = (1 - H Psi L)^T D^-1 (1 - H Psi L) T',    T' = T - H phi [M phi^T a + b]          (4.17), (4.18)

    outward   V, a, b;    zeta_i = phi^T zeta_p + a_i                          (accelerations at th'' = 0)
    inward    f_i = M zeta_i + b_i + sum of phi f of the children,    T'_i = T_i - H f_i;     P, D, G
    inward    e_i = T'_i - H z_i,    nu_i = D_i^-1 e_i,    z_p += phi (z_i + G_i e_i)          (4.19), (4.20)
    outward   th''_i = nu_i - L_i^T lambda_p,              lambda_i = psi^T lambda_p + H^T nu_i    (4.21), (4.22)

The first two of the four sweeps are recursive Newton-Euler without joint accelerations; lambda is the links'
acceleration less zeta. The accelerations of links follow from the joints' by one sweep more,
which FD2 saves:

    outward   alpha = phi^T H^T th'' + zeta                                                   (3.15)

Cost: order n.

Reference: Rodriguez and Kreutz 1988, part I, eqs. (3.15), (4.4)-(4.8), (4.16)-(4.23); symbols in `rodriguez_kreutz`.
Differs: in body axes. zeta of the base is the acceleration that stands for gravity. Mimic joints are bound at
the end, by `binding`.
"""

from __future__ import annotations

from dataclasses import replace

from ...model import Answer, Base, Bodies, Field, Input, Joints, Tree
from ...spatial import ArticulatedInertia, Force, Motion
from ..velocities import base_motion, velocities
from .rodriguez_kreutz import Links, declare, riccati, smoothed

__all__ = ["sweeps", "with_links"]


def with_links(tree: Tree, qdd: Answer, *inputs: Input) -> Links:
    """Sweep four times, and once more for the links' accelerations (3.15)."""
    k = sweeps(tree, qdd, *inputs)
    moved, alpha = tree.field(Motion), tree.field(Motion)
    for i, p in tree.outward():
        moved[i] = k.X[i] @ moved[p] + k.S[i] @ qdd[i]
        alpha[i] = moved[i] + k.zeta[i]
    return replace(k, alpha=alpha)


def sweeps(
    tree: Tree,
    qdd: Answer,
    q: Joints,
    qd: Joints,
    tau: Joints,
    external: Bodies,
    v0: Base,
    a0: Base,
    *,
    alpha: Field[Motion] | None = None,
) -> Links:
    """Sweep four times, and fill in qdd; with alpha, a field, also the links' accelerations, as FD2 has them."""
    w, zeta = base_motion(tree, v0, a0)
    P, f, z, lam = tree.field(ArticulatedInertia), tree.field(Force), tree.field(Force), tree.field(Motion)
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
        if alpha is not None:
            alpha[i] = lam[i] + zeta[i]
    return Links(X, S, P, G, D, z, nu, w, alpha, zeta)


declare("fd1", sweeps, forward_dynamics="FD1: (4.17), (4.18) as (4.4)-(4.7), (4.19)-(4.22)")
declare(
    "fd1",
    with_links,
    link_accelerations="FD1: (4.17), (4.18), then (3.15)",
    tip_acceleration="FD1: (4.17), (4.18), then (3.15), (4.23)",
)
