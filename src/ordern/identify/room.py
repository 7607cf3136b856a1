"""Places that frames of a robot must keep to: above a height, and out of spheres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array, real
from ..errors import ArgumentError
from ..records import dataclass

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Room", "room_of"]

_SCALE = 0.1
"""The length in m that counts like the whole of another limit."""


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """A least height and spheres, for the origins of some frames."""

    robot: Robot
    frames: tuple[str, ...]
    height: float
    """In m, along z of the world; minus infinity for none."""
    spheres: Array
    """(s, 4): centres and radii in m."""

    def beyond(self, q: Array) -> tuple[Array, Array]:
        """Return by how much the frames are outside (n, k), in parts of 0.1 m, and the gradients (n, k, nv)."""
        p = self.robot.poses(q, list(self.frames))[..., :3, 3]
        J = self.robot.jacobians(q, list(self.frames), "world")[..., 3:, :]
        off, slopes = [], []
        if np.isfinite(self.height):
            off.append(self.height - p[..., 2])
            slopes.append(-J[..., 2, :])
        for x, y, z, r in self.spheres:
            away = p - np.array([x, y, z])
            distance = np.maximum(np.linalg.norm(away, axis=-1), 1e-9)
            off.append(r - distance)
            slopes.append(-np.einsum("nki,nkij->nkj", away / distance[..., None], J))
        outside = np.concatenate(off, axis=1) / _SCALE
        slope = np.concatenate(slopes, axis=1) / _SCALE
        return np.maximum(outside, 0.0), np.where(outside[..., None] > 0.0, slope, 0.0)


def room_of(
    robot: Robot, frames: Sequence[str] | None, height: float | None, obstacles: Sequence[ArrayLike]
) -> Room | None:
    """Return the places that are allowed; None if all are."""
    spheres = [array(x, (4,), "an obstacle") for x in obstacles]
    if height is None and not spheres:
        if frames is not None:
            raise ArgumentError(
                "exciting_trajectory: frames are those that keep a least_height or out of obstacles; give one"
            )
        return None
    for x in spheres:
        if not (np.isfinite(x).all() and x[3] > 0.0):
            raise ArgumentError(f"exciting_trajectory: an obstacle is a sphere (x, y, z, radius), not {x.tolist()}")
    names = (robot.bodies[-1].name,) if frames is None else (frames,) if isinstance(frames, str) else tuple(frames)
    for name in names:
        robot.frame(name)
    if not names:
        raise ArgumentError("exciting_trajectory: frames names no frame")
    low = -np.inf if height is None else float(real(height, "least_height"))
    return Room(robot, names, low, np.array(spheres).reshape(-1, 4))
