"""Where contacts are: the point, the axes and the gap of each, at one position of the robot.

The loads of a `Touch` are unit forces along the axes e_k of a contact, at its point: moments x cross e_k on a body. The
point follows from them, x = sum of e_k cross (x cross e_k) / 2. Cost: order of the depth of each contact.
"""

from __future__ import annotations

from typing import Any

from ...graph import Scalar
from ...model import Joints, Tree, Values
from ...model.contacts import Contacts
from ...spatial import Freedoms
from ...spatial.linear import add, cross, matvec, scale
from ..kinematics.pose import path_poses
from ..registry import Port, algorithm, question
from .geometry import touches

__all__ = ["places"]

question("contact_places", (Port("q", "q"), Port("surfaces", "surfaces")), "contact_places", "outward", contacts=True)


@algorithm("contact_places", "outward", equations="poses of bodies, then the nearest points", order="n", sweeps=False)
def places(tree: Tree, q: Joints, surfaces: Values[Freedoms]) -> tuple[Any, ...]:
    """Return for each contact its point in the world, its two directions along the surface and its normal, the gap."""
    contacts = tree.model.contacts or Contacts(None, ())
    P, found = path_poses(tree, q, None), list[Scalar]()
    here = touches(tree, P, contacts, surfaces[tree.base][2::3])
    for contact, at in zip(contacts.pairs, here, strict=True):
        body, forces = at.loads[0]
        side = 1.0 if body.key == contact.first.body else -1.0  # the forces on the second solid are the opposite ones
        arm: Any = (0.0, 0.0, 0.0)
        for force in forces[:3]:
            arm = add(arm, scale(0.5, cross(force.linear, force.angular)))
        axes = [matvec(P[body].rotation, scale(side, force.linear)) for force in forces[:3]]
        found += [*P[body].point(arm), *(x for e in axes for x in e), at.gap]
    return tuple(found)
