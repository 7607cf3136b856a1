"""Forward dynamics of closed loops by virtual work: the joints that close loops are added last.

All links are free at first, and the joints of the tree are added one by one, as in `forward_dynamics.virtual_work`. To
free links a joint that closes a loop is a joint like any other: what it holds, its wrenches F on the two links, is one
more block row of Phi. With the assembled tree as the chain that is there already, and all loops as the new joint,

    F          wrenches of the constraints on the links: opposite ones on both sides of a loop, a column for each row
    a_F        = what F does to the assembled tree, all columns at once                    Phi^-1 Phi_{i+1,i}^T in (37)
    M_L        = (F^T a_F)^-1                                                               (37)
    lambda     = -M_L (F^T (a - a_still) + k)                                               (36)
    n_i       += n_Fi lambda,    a_i += a_Fi lambda                                         (46)
    qdd_i      = K_Ji (a_i - X_i (a_p + r_i) - c_i)                                         (53)

F^T a_F is K M^-1 K^T, and F^T (a - a_still) is K qdd for the accelerations of the tree alone, where a_still are those
of links whose joints do not accelerate: neither the mass matrix nor articulated bodies are needed. A constraint that
follows from those before it leaves a pivot that is zero but for rounding, and is left out, as in `multipliers`; states
in which that cannot be told are done by `reduced`. For couplings between coordinates, and for mimic joints, F
acts along the freedoms of two joints. Cost: order n n_c + n_c^3, with all columns in one sweep.

Reference: Yamane and Nakamura, O(N) forward dynamics computation of open kinematic chains based on the principle of
virtual work: sec. 2 for closed chains, eqs. (1)-(7), where H is K; eqs. (36), (37), (46), (53) for what joints add.
Differs: the paper leaves closed chains for later, and names the method of its sec. 2 only: eq. (7) in full. Here the
recursion is used for the tree, so that only the loops' own equations are left.
"""

from __future__ import annotations

from typing import Any

from ...graph import Scalar
from ...joints.jets import wrenches
from ...model import BASE, Model, Tree
from ...spatial import Force, Forces, Freedoms, Motion
from ..binding import follower_columns
from ..field_types import Loads
from ..forward_dynamics.assembly import assemble, responses
from ..forward_dynamics.links import (
    Links,
    accelerations,
    beyond_reach_alone,
    free_links,
    joint_accelerations,
    spins,
)
from ..registry import algorithm
from .constraints import coupled_coordinates, loop_bias, loop_jacobian, slopes
from .multipliers import DROP, factor_without_dependent
from .relative import Ends

__all__ = ["operations", "virtual_work"]


def operations(model: Model) -> float:
    """Estimate the number of operations, from above."""
    n, nc = len(model.bodies), model.nc
    return n * (600.0 + 120.0 * nc) + 40.0 * nc**2 + nc**3 / 6.0


@algorithm(
    "closed_dynamics",
    "virtual-work",
    paper="Yamane-Nakamura",
    equations="Y-N (36), (37), (46), (53)",
    order="n n_c + n_c^3",
    sweeps=False,
    refuses=beyond_reach_alone,
    borrows=True,
)
def virtual_work(
    tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any, t: Any, correction: Any, drop: Any
) -> Any:
    """Return joint accelerations, multipliers, and the smallest relative pivot that was kept."""
    nv, nc, first = tree.model.nv, tree.model.nc, tree.couplings
    m = first + nc
    links = free_links(tree, q, qd, tau, external, *spins(tree, q, qd, v0))
    assembly = assemble(tree, links, a0)
    a = accelerations(tree, links, assembly.n, a0)
    F = _loads(tree, q, t, links)
    _, more = responses(tree, links, assembly, F, m)
    L: list[list[Scalar]] = [[0.0] * m for _ in range(m)]
    e: list[Scalar] = [0.0] * m
    still = tree.field(Motion, base=tree.base_acceleration + a0[tree.base])  # with joints that do not accelerate
    for i, p in tree.outward():
        still[i] = links.X[i] @ (still[p] + links.r[i]) + links.c[i]
        e = [x + y for x, y in zip(e, F[i].T @ (a[i] - still[i]), strict=True)]
        for c, column in enumerate(more[i].columns):
            for r, x in enumerate(F[i].T @ column):
                L[c][r] = L[c][r] + x

    K = loop_jacobian(tree, q, t).scalars
    rows = [(1.0,)] * first + [K[nv * r : nv * r + nv] for r in range(nc)]
    small = drop[tree.base] if drop.given else DROP
    M_L, least = factor_without_dependent(L, small, rows)
    pull = correction[tree.base]
    k = [0.0] * first + [x + y for x, y in zip(loop_bias(tree, q, qd, t), pull, strict=True)]
    force = -M_L.solve(Freedoms(x + y for x, y in zip(e, k, strict=True)))

    for i, _ in tree.outward():
        a[i] = a[i] + more[i] @ force
    return Freedoms((*joint_accelerations(tree, links, a).scalars, *force[first:], least))


def _loads(tree: Tree, q: Any, t: Any, links: Links) -> Any:
    """F: for each constraint, its wrenches on the links for a unit of its multiplier.

    First the columns of mimic joints, then those of loops, then those of couplings.
    """
    table, first = tree.model.loop_table, tree.couplings
    m = first + tree.model.nc
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
            F[frame.body] += _placed(frame.placement.T @ mine, first + loop.rows.start, m)
    x = coupled_coordinates(tree, q)
    coupled = [slopes(c, x) for c in table.couplings]
    for i, p in tree.outward():
        nv = i.kind.joint.nv
        columns = [*follower_columns(i)]
        columns += [Freedoms((0.0,) * nv) for _ in range(m - first - len(coupled))]
        columns += [Freedoms((one[i.key],) if i.key in one else (0.0,) * nv) for one in coupled]
        f = Forces(tuple(links.held[i].J @ column for column in columns))
        F[i] += f
        F[p] += Forces(tuple(-y for y in (links.X[i].T @ f).columns))
    return F


def _placed(forces: Forces, start: int, m: int) -> Forces:
    """Return m forces: the given ones from `start` on, and zeros."""
    found = [Force.zero()] * m
    found[start : start + len(forces.columns)] = forces.columns
    return Forces(tuple(found))
