"""Joints that follow others, among free links: one more constraint for each, added to the assembled tree.

A joint that follows another, qdd_j = ratio qdd_i, is bound to it by a force lambda that does no work: B lambda, where B
has 1 at the joint and -ratio at the other. On free links, the force of a joint is a pair of opposite wrenches, so

    F          = K_Ji^T B_i on link i, and -X_i^T K_Ji^T B_i on its parent; a column for each joint that follows another
    n_F, a_F   = what F does to the assembled tree, by `virtual_work.responses`
    L          = sum of B_i^T K_Ji (a_F,i - X_i a_F,p),    e = sum of B_i^T qdd0_i,    L lambda = -e
    n_i       += n_F,i lambda,    a_i += a_F,i lambda,    (force of joint i) += K_Ji^T B_i lambda

Cost: order n m for m joints that follow others, and m^3.

Reference: Yamane and Nakamura, eqs. (36), (37), (46), as in `closed_loop.virtual_work`; B as in `couplings`.
Differs: the paper knows no such joints.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...model import Tree
from ...spatial import Factor, Force, Forces, Freedoms
from ...spatial.linear import dot
from ..field_types import Loads, Numbers
from .assembly import Assembly, responses
from .links import Links

__all__ = ["bind"]


def bind(tree: Tree, links: Links, assembly: Assembly, a: Any) -> tuple[Links, Any]:
    """The links and constraint forces n with followers bound; the accelerations in a are changed."""
    m = tree.couplings
    halves = [(r, c) for r in range(m) for c in range(r + 1)]
    F, L, e, force = tree.field(Loads(m)), *(tree.field(Numbers(k)) for k in (len(halves), m, m))
    n, active = tree.own(), tree.own()

    for i, _ in tree.outward():
        F[i] = Forces((Force.zero(),) * m)
        L[i], e[i] = Freedoms((0.0,) * len(halves)), Freedoms((0.0,) * m)
    for i, p in tree.outward():
        f = Forces(tuple(links.held[i].J @ Freedoms(row[c] for row in i.coupling) for c in range(m)))
        F[i] += f
        F[p] += Forces(tuple(-x for x in (links.X[i].T @ f).columns))

    n_F, a_F = responses(tree, links, assembly, F, m)
    for i, p in tree.inward():
        B, along, X = i.coupling, links.held[i].J.T, links.X[i]
        qdd0 = along @ (a[i] - X @ (a[p] + links.r[i]) - links.c[i])
        caused = [along @ (x - X @ y) for x, y in zip(a_F[i].columns, a_F[p].columns, strict=True)]
        columns = [[row[c] for row in B] for c in range(m)]
        L[p] += L[i] + Freedoms(dot(columns[r], caused[c]) for r, c in halves)
        e[p] += e[i] + Freedoms(dot(columns[c], qdd0) for c in range(m))

    known = dict(zip(halves, L[tree.base], strict=True))
    full = tuple(tuple(known[max(r, c), min(r, c)] for c in range(m)) for r in range(m))
    force[tree.base] = -Factor.of(full).solve(e[tree.base])

    for i, p in tree.outward():
        force[i] = force[p]
        columns = [x * y for x, y in zip(n_F[i], force[i], strict=True)]
        n[i] = sum(columns, assembly.n[i])
        a[i] = a[i] + a_F[i] @ force[i]
        active[i] = links.active[i] + links.held[i].J @ Freedoms(dot(row, force[i]) for row in i.coupling)
    return replace(links, active=active), n
