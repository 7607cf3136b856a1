"""The mass matrix column by column, but only the half that symmetry requires.

While freedom d accelerates alone, all bodies between it and the base stand still. The part from its joint outward is a
smaller robot, whose inverse dynamics gives one half of column d:

    outward   a_i = X_i a_p + S_i qdd_i, with qdd = 1 at d and 0 elsewhere,    f_i = I_i a_i
    inward    T_i = S_i^T f_i + armature_i qdd_i,    f_p += X_i^T f_i
              M_rd = M_dr = T_r

Cost: order n d, where d is the depth of the tree: half of the direct method's on a chain, less on trees with short
branches. In a robot with mimic joints no part is known to stand still: then it is the direct method.

Reference: Jain 1991, sec. 3, the symmetry based method, after Walker and Orin 1982, method 2.
"""

from __future__ import annotations

from ...model import Joints, Output, Tree
from ..registry import algorithm
from .unit_acceleration import by_columns

__all__ = ["symmetric"]


@algorithm(
    "mass_matrix",
    "symmetric",
    paper="Walker-Orin 1982, method 2, as in Jain 1991",
    equations="Jain sec. 3, (23)",
    order="n d",
)
def symmetric(tree: Tree, q: Joints) -> Output:
    """Return the mass matrix M for position q."""
    return by_columns(tree, q, half=True)
