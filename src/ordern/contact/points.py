"""`Robot.contact_points`: where the contacts of a robot are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import Array, array
from ..errors import ArgumentError
from ..simulate.contact_record import ContactSettings, surfaces

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["ContactPoints", "contact_points"]


class ContactPoints(NamedTuple):
    """Where contacts are, in the world."""

    points: Array
    """The points, (..., contacts, 3): the lowest of a sphere on the ground, or the middle between two surfaces."""
    axes: Array
    """Two directions along the surface, then the normal, each a row: (..., contacts, 3, 3)."""
    gap: Array
    """The distances in m, negative where solids overlap, (..., contacts)."""


def contact_points(robot: Robot, q: Any, height: Any) -> ContactPoints:
    """See `Robot.contact_points`."""
    if robot.contacts is None:
        raise ArgumentError(
            f"contact_points: {robot.name!r} has no contacts; robot.with_contacts(on.Ground(...)) adds some"
        )
    q = array(q, (..., robot.nq), "contact_points: q")
    named = "contact_points: friction", "contact_points: height"
    given = surfaces(robot, q.shape[:-1], ContactSettings(None, height), named)
    found = np.asarray(robot.kernel("contact_places")(q, given.reshape((*given.shape[:-1], -1, 3))))
    axes = found[..., 3:12].reshape((*found.shape[:-1], 3, 3))
    return ContactPoints(found[..., :3], axes, found[..., 12])
