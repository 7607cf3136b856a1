"""The point from which a robot is seen, and the height of the ground."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array
from ..errors import ArgumentError
from ..model.poses import body_poses
from ..records import dataclass
from .looks import Looks
from .skeleton import axis_of
from .terrain import Terrain, terrain

__all__ = ["Camera", "camera_for", "ground_plane", "horizontal", "uneven_ground"]

_FIELD = 0.7


@dataclass(frozen=True, eq=False)
class Camera:
    """A camera: its place, the point that it looks at, its upward direction, and its field of view."""

    position: Array
    target: Array
    up: Array
    field: float
    """The angle from the bottom of the picture to its top, in radians."""
    distance: float
    """From the camera to the target."""


def ground_level(looks: Looks, corners: Array) -> float:
    """Return the height of the ground: at the base, unless the robot reaches below it or floats."""
    low = float((corners @ looks.up).min())
    return low if looks.floats else 0.0 if low > -0.06 * looks.size else low - 0.02 * looks.size


def ground_plane(looks: Looks, corners: Array, height: float | None = None) -> tuple[Array, float]:
    """Return the normal of the ground, and its distance from the origin along it: of the robot's contacts, or level.

    `height` is that of the contacts of a motion, which may differ from the robot's own.
    """
    contacts = looks.model.contacts
    if contacts is None or contacts.ground is None:
        return looks.up, ground_level(looks, corners)
    return np.array(contacts.ground.normal), contacts.ground.height if height is None else height


def uneven_ground(looks: Looks, corners: Array, height: float | None = None) -> Terrain | None:
    """Return the steps or the height field of the robot's contacts around these corners; None if its ground is flat."""
    contacts = looks.model.contacts
    if contacts is None or contacts.ground is None or not contacts.ground.uneven:
        return None
    return terrain(contacts.ground, ground_plane(looks, corners, height)[1], corners, looks.size)


def horizontal(up: Array) -> tuple[Array, Array]:
    """Return two horizontal directions, at right angles."""
    x = np.eye(3)[0 if abs(up[0]) < 0.9 else 1]
    x = x - (x @ up) * up
    x /= np.linalg.norm(x)
    return x, np.cross(up, x)


def camera_for(looks: Looks, corners: Array, q: Array, look_from: ArrayLike | None = None) -> Camera:
    """Return a camera that sees all these corners; it looks from a direction, or from a usual one for position q."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    middle, radius = (low + high) / 2, max(float(np.linalg.norm(high - low)) / 2, 0.3 * looks.size)
    distance = 1.02 * radius / math.sin(_FIELD / 2)
    side = _usual(looks, q) if look_from is None else _given(look_from)
    up = looks.up if abs(side @ looks.up) < 0.999 else horizontal(looks.up)[0]
    return Camera(middle + distance * side, middle, up, _FIELD, distance)


def _given(look_from: ArrayLike) -> Array:
    direction = array(look_from, (3,), "look_from")
    if not direction.any():
        raise ArgumentError("look_from must be a direction, such as (1, -1, 0.5), not zero")
    return np.asarray(direction / np.linalg.norm(direction))


def _usual(looks: Looks, q: Array) -> Array:
    """Return the direction of the camera: from the front and above, or at a right angle to a planar robot."""
    up = looks.up
    x, y = horizontal(up)
    ground = None if looks.model.contacts is None else looks.model.contacts.ground
    if ground is not None and ground.steps:
        x = -np.array(ground.axes[0])  # stairs are seen from below: from above, their risers are hidden
    usual = 0.9 * x - 0.75 * y + 0.45 * up
    own = [axis_of(c.type) for c in looks.model.joints]
    turns = zip(body_poses(looks.model, q), own, strict=True)
    axes = [T[:3, :3] @ axis.direction for T, axis in turns if axis is not None and axis.turns]
    planar = axes and len(axes) == len(own) and all(abs(a @ axes[0]) > 0.999 for a in axes)
    if planar and abs(axes[0] @ up) < 0.1:
        side = axes[0] if axes[0] @ usual > 0 else -axes[0]
        usual = side + 0.35 * np.cross(up, side) + 0.22 * up
    return np.asarray(usual / np.linalg.norm(usual))
