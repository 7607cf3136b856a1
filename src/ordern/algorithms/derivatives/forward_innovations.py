"""The derivatives of forward dynamics with solutions by articulated bodies: order n for each column.

    qdd by articulated bodies,    dID/dq and dID/dqd at this qdd, see `inverse_dynamics`
    for each column x of them, and of the unit matrix:    y = M^-1 x    as in `articulated`

Factors of the mass matrix, as in `forward_dynamics`, take fewer operations for up to some dozen freedoms, but order d^2
for each column: this method is for longer robots. Cost: order n^2.

Reference: Carpentier and Mansard 2018, sec. III; Jain 1991, eqs. (45), (46) and Lemma 6.4, for the solutions.
"""

from __future__ import annotations

from ...model import Base, Bodies, Joints, Output, Tree
from ..factors.articulated import articulated, solved
from ..forward_dynamics.articulated_body import articulated_body
from ..method_limits import all_of, no_couplings, no_fluid
from ..registry import algorithm
from .absolute import absolute, forces, mass_matrix
from .forward_dynamics import Accelerations
from .inverse_dynamics import partials

__all__ = ["innovations"]


@algorithm(
    "forward_dynamics_derivatives",
    "innovations",
    paper="Carpentier-Mansard 2018; Jain 1991",
    equations="C-M sec. III; Jain (45), (46), Lemma 6.4",
    order="n^2",
    refuses=all_of(no_fluid, no_couplings),
)
def innovations(tree: Tree, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return dqdd/dq, dqdd/dqd and M^-1 for position q, velocity qd, joint forces tau and external forces."""
    found, free = tree.output("matrices"), (tree.output("matrix"), tree.output("matrix"))
    for output in (found, *free):
        tree.clear(output)
    dq, dqd, inverse = (found.part(k, "matrix") for k in range(3))
    qdd = Accelerations(articulated_body(tree, q, qd, tau, external, v0, a0))
    bodies = absolute(tree, q, qd, external, v0)
    composites = mass_matrix(tree, bodies, tree.output("symmetric"))
    moved = forces(tree, bodies, q, qd, qdd, v0, a0)
    partials(tree, bodies, composites, moved, (q, qd, qdd), (dq, dqd), free)
    known = articulated(tree, q)
    for c in tree.freedoms():
        for B, E in zip((dq, dqd), free, strict=True):
            x, y = tree.output("f"), tree.output("v")
            for k in tree.freedoms():
                x[k] = -B[k, c]
            solved(tree, known, x, y)
            for k in tree.freedoms():
                B[k, c] = y[k] - E[k, c]
        y = tree.output("v")
        solved(tree, known, tree.unit("f", c), y)
        for k in tree.freedoms():
            inverse[k, c] = y[k]
    return found
