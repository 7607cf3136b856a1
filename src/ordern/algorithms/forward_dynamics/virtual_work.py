"""Forward dynamics by virtual work: joints are added one by one, each with the constraint force that it then has.

All links are free at first (see `links`). With A^-1 and y the mobility and acceleration of a link and what it carries,

    inward    M_i  = (T_i^T (A_i^-1 + X_i A_p^-1 X_i^T) T_i + E_i)^-1        (41)
              n'_i = M_i T_i^T (X_i (y_p + r_i) + c_i - y_i)                 (40)
              W_i  = A_p^-1 X_i^T T_i
              y_p -= W_i n'_i,    A_p^-1 -= W_i M_i W_i^T
    outward   n_i  = n'_i + M_i W_i^T g_p                                    (47)
              g_i  = T_i n_i,     g_p -= X_i^T T_i n_i
    outward   qdd_i = K_Ji (a_i - X_i (a_p + r_i) - c_i),    a_i = A_i^-1 (t_i + g_i)      (53)

g_p is the sum of the constraint forces on p that are known so far. M_i^-1 are the pivots of the block factorisation
Phi = L M^-1 L^T, from the tips to the base. They are 6 - nv wide: a joint with more freedoms costs less, and it is
the number of links that counts. The constraint forces come out on the way. The recursion is in `assembly`; mimic
joints are bound at the end, in `bound_links`. Cost: order n, for any tree.

Reference: Yamane and Nakamura, O(N) forward dynamics computation of open kinematic chains based on the principle of
virtual work, eqs. (40)-(53) and sec. 4.
Differs: axes and the base as in `links`. The paper splits links with more than three joints into smaller ones, so that
each joint meets two others at most; here a link's mobility is kept while its joints are added, which needs no more
than one 6x6 matrix for any number of joints, and gives the same M_i as Phi itself. (Splitting a model in this way, by
fixed joints, works too.) Torques of all joints act from the start.
"""

from __future__ import annotations

from functools import partial

from ...model import Input, Output, Tree
from ..registry import algorithm
from .assembly import assemble
from .bound_links import bind
from .links import accelerations, beyond_reach_alone, free_links, has_borrowed, joint_accelerations, joint_wrenches

__all__ = ["virtual_work", "wrenches"]


_by_virtual_work = partial(
    algorithm, name="virtual-work", paper="Yamane-Nakamura", refuses=beyond_reach_alone, borrows=True
)


@_by_virtual_work("forward_dynamics", equations="Y-N (40), (41), (47), (53), sec. 4")
def virtual_work(tree: Tree, *inputs: Input) -> Output:
    """Return joint accelerations qdd for position q, velocity qd, joint forces tau and external forces."""
    links = free_links(tree, *inputs)
    assembly = assemble(tree, links)
    a = accelerations(tree, links, assembly.n)
    if tree.couplings:
        bind(tree, links, assembly, a)
    return joint_accelerations(tree, links, a, tree.output("v"))


@_by_virtual_work("constraint_forces", equations="Y-N (40), (41), (47), sec. 4")
def wrenches(tree: Tree, *inputs: Input) -> Output:
    """Return the wrench through each joint for position q, velocity qd, joint forces tau and external forces."""
    links = free_links(tree, *inputs)
    assembly = assemble(tree, links)
    if not (tree.couplings or has_borrowed(tree)):
        return joint_wrenches(tree, links, assembly.n)
    a, n = accelerations(tree, links, assembly.n), assembly.n
    if tree.couplings:
        links, n = bind(tree, links, assembly, a)
    return joint_wrenches(tree, links, n, a)
