"""Mimic joints among free links: one more constraint for each, added to the assembled tree.

A mimic joint, qdd_j = ratio qdd_i, is bound by a force lambda that does no work: B lambda, where B has 1 at the joint
and -ratio at the other. On free links, the force of a joint is a pair of opposite wrenches, so

    F          = K_Ji^T B_i on link i, and -X_i^T K_Ji^T B_i on its parent; a column for each mimic joint
    n_F, a_F   = response of the assembled tree to F, by `assembly.responses`
    L          = sum of B_i^T K_Ji (a_F,i - X_i a_F,p),    e = sum of B_i^T qdd0_i,    L lambda = -e
    n_i       += n_F,i lambda,    a_i += a_F,i lambda,    (force of joint i) += K_Ji^T B_i lambda

Cost: order n m for m mimic joints, and m^3.

Reference: Yamane and Nakamura, eqs. (36), (37), (46), as in `closed_loop.virtual_work`; B as in `binding`.
Differs: the paper has no such joints.
"""

from __future__ import annotations

from dataclasses import replace

from ...model import Field, Index, Joints, Tree
from ...spatial import Factor, Freedoms, Motion
from ...spatial.linear import dot
from ..binding import follower_columns, lower_half, symmetric_rows, tree_sum
from ..field_types import Loads, Numbers, cleared
from .assembly import Assembly, responses
from .links import Links, pull

__all__ = ["bind"]


def bind(tree: Tree, links: Links, assembly: Assembly, a: Field[Motion]) -> tuple[Links, Joints]:
    """Bind mimic joints: return the links and the constraint forces n, and correct the accelerations in a."""
    m, half = tree.couplings, lower_half(tree.couplings)
    F, force = cleared(tree, Loads(m)), tree.field(Numbers(m))
    n, active = tree.own(), tree.own()

    pull(tree, links, F, follower_columns)
    n_F, a_F = responses(tree, links, assembly, F, m)

    def along(i: Index, child: Motion, parent: Motion) -> Freedoms:
        """Return the relative acceleration of two links, along the freedoms of the joint between them."""
        return links.held[i].J.T @ (child - links.X[i] @ parent)

    def share(i: Index, p: Index) -> Freedoms:
        """Return the part of a joint in the lower half of L, and in e."""
        B, qdd0 = follower_columns(i), along(i, a[i] - links.c[i], a[p] + links.r[i])
        caused = [along(i, x, y) for x, y in zip(a_F[i].columns, a_F[p].columns, strict=True)]
        return Freedoms((*(dot(B[r], caused[c]) for r, c in half), *(dot(column, qdd0) for column in B)))

    L_and_e = tree_sum(tree, len(half) + m, share)[tree.base]
    force[tree.base] = -Factor.of(symmetric_rows(m, L_and_e[: len(half)])).solve(L_and_e[len(half) :])

    for i, p in tree.outward():
        force[i] = force[p]
        columns = [x * y for x, y in zip(n_F[i], force[i], strict=True)]
        n[i] = sum(columns, assembly.n[i])
        a[i] = a[i] + a_F[i] @ force[i]
        active[i] = links.active[i] + links.held[i].J @ Freedoms(dot(row, force[i]) for row in i.coupling)
    return replace(links, active=active), n
