"""Pose and velocity of the object from those of the tips that hold it.

    V(C) = (F^T F)^-1 F^T E^T V(0)

which is (2.8a) for rigid grasps, where E is the identity and F is A. Contacts with too many freedoms do not determine
the object's motion. It is then a part of the state, as the contacts' parameters and W are in appendix A of the paper.

Reference: Rodriguez and Kreutz 1988, Part II, eqs. (2.8), (a.6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from ..errors import ArgumentError
from ..rotations import nearest, pose
from .contacts import Parted, Rigid
from .products import times, transposed
from .state import GraspState

if TYPE_CHECKING:
    from .mechanism import Grasp

__all__ = ["fitted", "pose_from_tips", "velocity_from_tips"]


def pose_from_tips(grasp: Grasp, tips: Array) -> Array:
    """Return the object's pose (..., 4, 4) from the contacts' frames on the tips, (..., l, 4, 4).

    It follows from the rigid contacts, or else from three points that are not in a line.
    """
    rigid = [i for i, c in enumerate(grasp.contacts) if isinstance(c, Rigid)]
    if rigid:
        R = nearest(np.sum(tips[..., rigid, :, :][..., :3, :3] @ transposed(grasp.turns[rigid]), axis=-3))
        p = np.mean(tips[..., rigid, :, :][..., :3, 3] - grasp.places[rigid] @ transposed(R), axis=-2)
        return pose(R, p)
    held = [i for i, c in enumerate(grasp.contacts) if not isinstance(c, Parted)]
    if len(held) < 3 or _in_line(grasp.places[held]):
        kinds = ", ".join(f"{c.name} ({type(c).__name__.lower()})" for c in grasp.contacts)
        raise ArgumentError(
            f"grasp: the tips do not determine the rotation of the object (contacts: {kinds}): give its `pose`, a 4x4 "
            "matrix; with one rigid contact, or three points that are not in a line, it is not needed"
        )
    return fitted(grasp.places[held], tips[..., held, :, :][..., :3, 3])


def _in_line(points: Array) -> bool:
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return bool(spread[1] <= 1e-6 * spread[0])


def fitted(places: Array, points: Array) -> Array:
    """Return the pose that fits places (l, 3) to points (..., l, 3), in least squares."""
    here, there = places.mean(axis=0), points.mean(axis=-2)
    R = nearest(np.swapaxes(points - there[..., None, :], -1, -2) @ (places - here))
    return pose(R, there - R @ here)


def velocity_from_tips(state: GraspState) -> Array:
    """Return the object's velocity V(C), (..., 6)."""
    F = np.concatenate([x.reshape(*state.shape, -1, 6) for x in state.F], axis=-2)
    y = np.concatenate([x.reshape(*state.shape, -1) for x in state.rows(state.tip_velocities)], axis=-1)
    if F.shape[-2] < 6 or (np.linalg.svd(F, compute_uv=False)[..., -1] < 1e-9).any():
        raise ArgumentError(
            "grasp: the tips do not determine the motion of the object, since the contacts have too many freedoms: "
            "give its `velocity` (angular, linear), in the world's axes"
        )
    return times(np.linalg.pinv(F), y)
