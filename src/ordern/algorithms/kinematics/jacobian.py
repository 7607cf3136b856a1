"""The Jacobian of a frame: its velocity for a unit velocity of each freedom. Cost: order of depth.

The walk goes inward, from the frame to the base, carrying the pose of the body at hand relative to the frame: the
columns come out in the frame's own axes without any transform at the end.
"""

from __future__ import annotations

from ...model import Frame, Joints, Output, Tree
from ...spatial import Pose
from ..registry import algorithm
from .velocity import axes_of

__all__ = ["jacobian"]


@algorithm("jacobian", "inward", equations="J = columns X_f,i S_i", order="d")
def jacobian(tree: Tree, q: Joints, frame: Frame, axes: str) -> Output:
    """Return the 6 x nv matrix J with velocity = J qd, in the frame's own axes or the world's."""
    f = tree.frame(frame)
    J = tree.output("columns")
    P = tree.field(Pose)
    P[f.body] = f.placement.parent(axes_of(tree, q, f, axes))
    for i, p in tree.path_inward(f):
        J[i] = [P[i] @ column for column in i.subspace(q[i]).columns]
        P[p] = i.transform(q[i]).parent(P[i])
    return J
