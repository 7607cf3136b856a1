"""Forward dynamics of closed loops by virtual work: the joints that close loops are added last.

All links are free at first, and the joints of the tree are added one by one, as in `forward_dynamics.virtual_work`. To
free links a joint that closes a loop is a joint like any other: what it holds, its wrenches F on the two links, is one
more block row of Phi. With the assembled tree as the chain that is there already, and all loops as the new joint,

    F          wrenches of the constraints on the links: opposite ones on both sides of a loop, a column for each row
    a_F        = what F does to the assembled tree, all columns at once                    Phi^-1 Phi_{i+1,i}^T in (37)
    M_L        = (F^T a_F)^-1                                                               (37)
    lambda     = -M_L (K qdd_0 + k)                                                         (36)
    n_i       += n_Fi lambda,    a_i += a_Fi lambda                                         (46)
    qdd_i      = K_Ji (a_i - X_i (a_p + r_i) - c_i)                                         (53)

F^T a_F is K M^-1 K^T, found without the mass matrix or articulated bodies. A constraint that follows from those before
it leaves a pivot that is zero but for rounding, and is left out, as in `multipliers`. So is what is done with states in
which that cannot be told. Couplings between coordinates are joints whose F acts along the freedoms of two others. Cost:
order n n_c + n_c^3, with all columns in one sweep.

Reference: Yamane and Nakamura, O(N) forward dynamics computation of open kinematic chains based on the principle of
virtual work: sec. 2 for closed chains, eqs. (1)-(7), where H is K; eqs. (36), (37), (46), (53) for what joints add.
Differs: the paper leaves closed chains for later, and names the method of its sec. 2 only: eq. (7) in full. Here the
recursion is used for the tree, so that only the loops' own equations are left.
"""

from __future__ import annotations

from typing import Any

from ...joints.jets import wrenches
from ...model import BASE, Index, Model, Tree
from ...spatial import Force, Forces, Freedoms
from ...spatial.linear import dot
from ..forward_dynamics.assembly import assemble, responses
from ..forward_dynamics.links import accelerations, beyond_reach, free_links, joint_accelerations, spins
from ..registry import algorithm
from ..several import Loads
from .constraints import loop_bias, loop_jacobian
from .multipliers import DROP, factor_without_dependent
from .relative import Ends

__all__ = ["operations", "virtual_work"]


def operations(model: Model) -> float:
    """About how many operations it takes at most."""
    n, nc = len(model.bodies), model.nc
    return n * (600.0 + 120.0 * nc) + 40.0 * nc**2 + nc**3 / 6.0


@algorithm(
    "closed_dynamics",
    "virtual-work",
    paper="Yamane-Nakamura",
    equations="Y-N (36), (37), (46), (53)",
    order="n n_c + n_c^3",
    sweeps=False,
    refuses=beyond_reach,
    borrows=True,
)
def virtual_work(
    tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any, t: Any, correction: Any, drop: Any
) -> Any:
    """Joint accelerations, multipliers, and the smallest relative pivot that was kept."""
    m, nv = tree.model.nc, tree.model.nv
    links = free_links(tree, q, qd, tau, external, *spins(tree, q, qd, v0))
    assembly = assemble(tree, links, a0)
    a = accelerations(tree, links, assembly.n, a0)
    qdd0 = joint_accelerations(tree, links, a).scalars

    K = loop_jacobian(tree, q, t).scalars
    rows = [K[nv * r : nv * r + nv] for r in range(m)]
    k = loop_bias(tree, q, qd, t)
    pull = getattr(correction, "scalars", (0.0,) * m)
    F = _loads(tree, q, t, links, rows)
    _, more = responses(tree, links, assembly, F, m)
    L = [[sum((column[r] for column in each), 0.0) for r in range(m)] for each in _work(tree, F, more, m)]
    small = drop[tree.base] if hasattr(drop, "scalars") else DROP
    M_L, least = factor_without_dependent(L, small, rows)
    force = -M_L.solve(Freedoms(dot(row, qdd0) + x + y for row, x, y in zip(rows, k, pull, strict=True)))

    for i, _ in tree.outward():
        a[i] = a[i] + more[i] @ force
    return Freedoms((*joint_accelerations(tree, links, a).scalars, *force, least))


def _loads(tree: Tree, q: Any, t: Any, links: Any, rows: Any) -> Any:
    """F: for each constraint, its wrenches on the links for a unit of its multiplier."""
    m, table = tree.model.nc, tree.model.loop_table
    F, ends = tree.field(Loads(m)), Ends(tree, q)
    for i, _ in tree.outward():
        F[i] = Forces((Force.zero(),) * m)
    for loop in table.loops:
        at = ends.relative(loop)
        on_child = Forces(wrenches(loop.type, at.pose, t[tree.base]))
        on_parent = at.X.T @ Forces(tuple(-f for f in on_child.columns))
        for end, mine in ((loop.child, on_child), (loop.parent, on_parent)):
            if end.frame.body == BASE:
                continue  # which cannot be moved
            frame = tree.end(end)
            F[frame.body] += _placed(frame.placement.T @ mine, loop.rows.start, m)
    starts = [c.v_start for c in tree.model.joints]
    for number, c in enumerate(table.couplings, m - len(table.couplings)):
        for i, p in tree.outward():
            if i.key in (c.joint, c.other):
                force = links.held[i].J @ Freedoms((rows[number][starts[i.key]],))
                F[i] += _placed(Forces((force,)), number, m)
                if p.key != BASE:
                    F[Index(p.key)] += _placed(Forces((-(links.X[i].T @ force),)), number, m)
    return F


def _placed(forces: Forces, start: int, m: int) -> Forces:
    """Some of m forces; the others are zero."""
    found = [Force.zero()] * m
    found[start : start + len(forces.columns)] = forces.columns
    return Forces(tuple(found))


def _work(tree: Tree, F: Any, a: Any, m: int) -> list[list[Freedoms]]:
    """For each column of a, the products of all columns of F with it, link by link."""
    found: list[list[Freedoms]] = [[] for _ in range(m)]
    for i, _ in tree.outward():
        for column, each in zip(a[i].columns, found, strict=True):
            each.append(F[i].T @ column)
    return found
