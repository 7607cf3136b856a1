"""Forward dynamics of closed loops by virtual work: the joints that close loops are added last.

All links are free at first, and the joints of the tree are added one by one, as in `forward_dynamics.virtual_work`. For
free links a joint that closes a loop is a joint like any other: its wrenches F on the two links are one more block row
of Phi. With the assembled tree in place of the existing chain, and all loops in place of the new joint,

    F          wrenches of the constraints on the links: opposite ones on both sides of a loop, a column for each row
    a_F        = response of the assembled tree to F, all columns at once                Phi^-1 Phi_{i+1,i}^T in (37)
    M_L        = (F^T a_F)^-1                                                               (37)
    lambda     = -M_L (F^T (a - a_still) + k)                                               (36)
    n_i       += n_Fi lambda,    a_i += a_Fi lambda                                         (46)
    qdd_i      = K_Ji (a_i - X_i (a_p + r_i) - c_i)                                         (53)

F^T a_F is K M^-1 K^T, and F^T (a - a_still) is K qdd for the accelerations of the tree alone, where a_still are those
of links whose joints do not accelerate: neither the mass matrix nor articulated bodies are needed. A constraint that
depends on earlier constraints leaves a pivot that is zero up to rounding, and is left out, as in `multipliers`; states
in which dependence cannot be decided are solved by `reduced`. For couplings between coordinates, and for mimic joints,
F acts along the freedoms of two joints. Cost: order n n_c + n_c^3, with all columns in one sweep.

Reference: Yamane and Nakamura, O(N) forward dynamics computation of open kinematic chains based on the principle of
virtual work: sec. 2 for closed chains, eqs. (1)-(7), where H is K; eqs. (36), (37), (46), (53) for the effect of each
joint.
Differs: the paper leaves closed chains for later, and names the method of its sec. 2 only: eq. (7) in full. Here the
recursion is used for the tree, so that only the loops' own equations are left.
"""

from __future__ import annotations

from ...graph import Scalar
from ...joints.jets import wrenches
from ...model import BASE, Field, Index, Input, Joints, Model, Number, Tree
from ...spatial import Force, Forces, Freedoms
from ..binding import follower_columns
from ..field_types import Loads, cleared
from ..forward_dynamics.assembly import assemble, responses
from ..forward_dynamics.links import Links, accelerations, beyond_reach_alone, free_links, joint_accelerations, pull
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
def virtual_work(tree: Tree, q: Joints, qd: Joints, *inputs: Input) -> Freedoms:
    """Return joint accelerations, multipliers, and the smallest relative pivot that was kept."""
    *forces, t, correction, drop = inputs
    nv, nc, first = tree.model.nv, tree.model.nc, tree.couplings
    m = first + nc
    links = free_links(tree, q, qd, *forces)
    assembly = assemble(tree, links)
    a = accelerations(tree, links, assembly.n)
    F = _loads(tree, q, t, links)
    _, more = responses(tree, links, assembly, F, m)
    L: list[list[Scalar]] = [[0.0] * m for _ in range(m)]
    e: list[Scalar] = [0.0] * m
    still = links.accelerations(tree)  # with joints that do not accelerate
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
    k = [0.0] * first + [x + y for x, y in zip(loop_bias(tree, q, qd, t), correction[tree.base], strict=True)]
    force = -M_L.solve(Freedoms(x + y for x, y in zip(e, k, strict=True)))

    for i, _ in tree.outward():
        a[i] = a[i] + more[i] @ force
    return Freedoms((*joint_accelerations(tree, links, a, tree.output("v")).scalars, *force[first:], least))


def _loads(tree: Tree, q: Joints, t: Number, links: Links) -> Field[Forces]:
    """Return F: for each constraint, its wrenches on the links for a unit of its multiplier.

    Columns of mimic joints come first, then columns of loops, then columns of couplings.
    """
    table, first = tree.model.loop_table, tree.couplings
    m = first + tree.model.nc
    F, ends = cleared(tree, Loads(m)), Ends(tree, q)
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

    def along(i: Index) -> list[Freedoms]:
        """Return the forces of mimic joints and couplings along the freedoms of a joint."""
        none = Freedoms((0.0,) * i.kind.joint.nv)
        of_couplings = [Freedoms((one[i.key],)) if i.key in one else none for one in coupled]
        return [*follower_columns(i), *[none] * (m - first - len(coupled)), *of_couplings]

    pull(tree, links, F, along)
    return F


def _placed(forces: Forces, start: int, m: int) -> Forces:
    """Return m forces: the given ones from `start` on, and zeros."""
    found = [Force.zero()] * m
    found[start : start + len(forces.columns)] = forces.columns
    return Forces(tuple(found))
