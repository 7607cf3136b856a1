"""The pose of a frame: the product of placements and joint transforms along its path. Cost: order of depth."""

from __future__ import annotations

from ...model import Field, Frame, Joints, PlacedFrame, Tree
from ...spatial import Pose
from ..registry import algorithm

__all__ = ["path_poses", "pose"]


@algorithm("pose", "outward", equations="product of placements and joint transforms", order="d")
def pose(tree: Tree, q: Joints, frame: Frame) -> Pose:
    """Return the homogeneous matrix of a frame in the world."""
    f = tree.frame(frame)
    return f.pose(path_poses(tree, q, f)[f.body])


def path_poses(tree: Tree, q: Joints, frame: PlacedFrame | None) -> Field[Pose]:
    """Return the poses of the bodies between the base and a frame; without a frame, of all bodies."""
    P = tree.field(Pose)
    for i, p in tree.outward() if frame is None else tree.path(frame):
        P[i] = i.transform(q[i]).child(P[p])
    return P
