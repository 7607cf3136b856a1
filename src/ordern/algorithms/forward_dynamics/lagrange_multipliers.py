"""Forward dynamics by Lagrange multipliers: links and constraints as one sparse system, eliminated from the tips.

The equations of all links and joints (see `links`) are one symmetric system, which is not positive definite:

    [ A    T ] [  a ]   [ t     ]                                            (27)
    [ T^T -E ] [ -n ] = [ T^T c ]

The order link, its joint, parent, parent's joint ... is perfect: it leaves every zero of this matrix a zero. With D_i
and -B_i the pivots of link and joint, w and z what becomes of the right side,

    inward    B_i = T_i^T D_i^-1 T_i + E_i,         z_i = T_i^T (X_i r_i + c_i - D_i^-1 w_i)
              D_p += X_i^T T_i B_i^-1 T_i^T X_i,    w_p -= X_i^T T_i B_i^-1 z_i
    outward   n_i = B_i^-1 (z_i + T_i^T X_i a_p),   a_i = D_i^-1 (w_i + T_i n_i)
              qdd_i = K_Ji (a_i - X_i (a_p + r_i) - c_i)

beginning from D_i = A_i, the inertia of the link, and w_i = t_i. D_i is the articulated-body inertia, and it is
inverted, where the articulated-body algorithm inverts a matrix of the size of the joint's freedoms. Mimic joints
are bound at the end, by `binding`, which takes the same D_i. Cost: order n.

Reference: Featherstone and Orin 2000, sec. 3.5, eq. (27), after D. Baraff, Linear-time dynamics using Lagrange
multipliers, 1996.
Differs: the paper gives only the system and the order; the recursion follows from them. Axes, the base, and E for
drives with inertia as in `links`.
"""

from __future__ import annotations

from functools import partial

from ...graph import Scalar
from ...model import Field, Input, Joints, Output, Tree
from ...spatial import ArticulatedInertia, Factor, Force, Forces, Freedoms, Motion, eliminate, plus_diagonal
from ...spatial.linear import dot
from ..binding import bind_followers, free_accelerations
from ..mobility import gram, reduced
from ..registry import algorithm
from .links import Links, beyond_reach, beyond_reach_alone, free_links, joint_accelerations, joint_wrenches

__all__ = ["lagrange_multipliers", "multipliers", "wrenches"]


def multipliers(tree: Tree, links: Links) -> tuple[Joints, Field[Motion], Field[ArticulatedInertia]]:
    """Return the constraint forces n of all joints, the accelerations a of all links, and the pivots D."""
    X, joint = links.X, links.held
    a = links.accelerations(tree)
    D, w = tree.field(ArticulatedInertia), tree.field(Force)
    pivot, B, z, n, free = (tree.own() for _ in range(5))

    for i, _ in tree.outward():
        D[i], w[i] = i.inertia.articulated(), links.t[i]

    for i, p in tree.inward():
        T = joint[i].T
        pivot[i] = Factor.of(D[i].rows())
        free[i] = Motion.of(pivot[i].solve(w[i].scalars))
        B[i] = Factor.of(plus_diagonal(_under(pivot[i], T), Freedoms(joint[i].E)))
        z[i] = T.T @ (X[i] @ links.r[i] + links.c[i] - free[i])
        D[p] += X[i].T @ gram([f.scalars for f in reduced(B[i], T.columns)], B[i].inverse) @ X[i]
        w[p] = w[p] - X[i].T @ (T @ B[i].solve(z[i]))

    for i, p in tree.outward():
        T = joint[i].T
        n[i] = B[i].solve(z[i] + T.T @ (X[i] @ a[p]))
        a[i] = free[i] + Motion.of(pivot[i].solve((T @ n[i]).scalars))
    return n, a, D


def _under(D: Factor, T: Forces) -> tuple[tuple[Scalar, ...], ...]:
    """Return T^T D^-1 T."""
    rows = reduced(D, [Freedoms(f.scalars[r] for f in T.columns) for r in range(6)])
    columns = [Freedoms(row[k] for row in rows) for k in range(len(T.columns))]
    return tuple(tuple(dot(x * D.inverse, y) for y in columns) for x in columns)


_by_multipliers = partial(
    algorithm,
    name="lagrange-multipliers",
    paper="Baraff 1996, as in Featherstone-Orin 2000",
    equations="F-O (27)",
    borrows=True,
)


@_by_multipliers("forward_dynamics", refuses=beyond_reach_alone)
def lagrange_multipliers(tree: Tree, q: Joints, *inputs: Input) -> Output:
    """Return joint accelerations qdd for position q, velocity qd, joint forces tau and external forces."""
    links = free_links(tree, q, *inputs)
    _, a, D = multipliers(tree, links)
    qdd = joint_accelerations(tree, links, a, free_accelerations(tree))
    S, G, along = (tree.own() for _ in range(3))
    for i, _ in tree.outward() if tree.couplings else ():
        S[i] = i.subspace(q[i])
        G[i], along[i], _ = eliminate(D[i], S[i], i.armature)
    return bind_followers(tree, (links.X, S, G, along), qdd)


@_by_multipliers("constraint_forces", refuses=beyond_reach)
def wrenches(tree: Tree, *inputs: Input) -> Output:
    """Return the wrench through each joint for position q, velocity qd, joint forces tau and external forces."""
    links = free_links(tree, *inputs)
    n, a, _ = multipliers(tree, links)
    return joint_wrenches(tree, links, n, a)
