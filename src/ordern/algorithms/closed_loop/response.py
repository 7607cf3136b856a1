"""Response of a robot with closed loops: M a = x + K^T lambda, K a = c, without velocities, gravity and forces.

With x alone, a is the change of velocities by impulses x on the joints. With c alone, a is the motion of least kinetic
energy that changes residuals by c; projections consist of such motions. The method is that of `multipliers`, in one
piece of straight-line code, from the accelerations M^-1 x of the tree.

Reference: Featherstone and Orin 2000, sec. 3.4, eq. (21), method 2.
"""

from __future__ import annotations

from ...model import Input, Joints, Number, Tree
from ...spatial import Freedoms
from ..factors.solve import innovations_solve
from ..registry import Port, question
from .multipliers import DROP, by_multipliers, constrained

__all__ = ["closed_solve"]

_q, _x, _c = Port("q", "q"), Port("x", "f"), Port("c", "rows")
_t, _drop = Port("t", "scalar", optional=True), Port("drop", "scalar", optional=True)
question("closed_solve", (_q, _x, _c, _t, _drop), "closed", "multipliers", needs_inertia=True, loops=True)


@by_multipliers("closed_solve", paper="Featherstone-Orin 2000")
def closed_solve(tree: Tree, q: Joints, x: Joints, c: Input, t: Number, drop: Input) -> Freedoms:
    """Return accelerations, multipliers, and the smallest relative pivot that was kept."""
    small = drop[tree.base] if drop.given else DROP
    a, force, least = constrained(tree, q, innovations_solve(tree, q, x), c.scalars, t, small)
    return Freedoms((*a.scalars, *force, least))
