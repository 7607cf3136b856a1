"""Forward dynamics from free bodies: their equations of motion, projected on the motions that all joints let through.

    f_a + f_c = I a + v x I v                                   all bodies, free, as one system              (25)
    a         = a_0 + S qdd,        S = P^-1 H                  what joints let through, by (29)             (24)
    S^T I S qdd = S^T (f_a - I a_0 - v x I v)                   since constraint forces do no work: S^T f_c = 0    (26)

    outward   a_0,i  = X_i (a_0,p + r_i) + c_i                  (accelerations at qdd = 0)
              f_i    = external_i - I_i a_0,i - gyroscopic force
    for each freedom d, outward from its joint:                 column d of S: S_i = X_i S_p + H_i e_d
              right_d = tau_d + sum of S_i^T f_i
    S^T I S from `mass_matrix/operator`, which has the same columns; then elimination

It has the structure of (22), the null-space method for loops, but begins with free bodies in place of a tree, and it is
the form from which the operator factorisations start. Cost: order n^3.

Reference: Featherstone and Orin 2000, sec. 3.5, eqs. (23)-(26), (29).
Differs: in body axes, with classical accelerations; P^-1 is the inverse of the incidence matrix with X_i in place of
ones. Drives add their armature to S^T I S.
"""

from __future__ import annotations

from ...model import Base, Bodies, Joints, Output, Tree
from ...spatial import Force, Motion
from ..elimination import solve
from ..mass_matrix.operator import operator as mass_matrix
from ..registry import algorithm
from ..velocities import base_motion, velocities

__all__ = ["operator"]


@algorithm("forward_dynamics", "operator", paper="Featherstone-Orin 2000", equations="F-O (24)-(26), (29)", order="n^3")
def operator(tree: Tree, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return joint accelerations qdd for position q, velocity qd, joint forces tau and external forces."""
    w, a = base_motion(tree, v0, a0)
    f, X, H = tree.field(Force), tree.own(), tree.own()
    right = tree.output("f")

    for i, p in tree.outward():
        X[i], H[i], w[i], r, c, b = velocities(i, q[i], qd[i], w[p])
        a[i] = X[i] @ (a[p] + r) + c
        f[i] = external[i] - i.inertia @ a[i] - b
        right[i] = tau[i] - i.gyration(q[i], qd[i])

    for d in tree.freedoms():
        unit, S, total = tree.unit("v", d), tree.field(Motion), tree.register(right[d])
        for i, p in tree.outward(moved_by=d):
            S[i] = X[i] @ S[p] + H[i] @ unit[i]
            total.value = total.value + f[i].dot(S[i])
        right[d] = total.value
    return solve(tree, mass_matrix(tree, q), right)
