"""Series of a motion that no kernel computes: the energy of springs, the mass centre."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError
from ...joints import Joint
from ...loops.coordinates import nearest_coordinates
from ...model import Connection
from ...spatial import Freedoms

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["elastic", "mass_centre"]

Array = NDArray[np.float64]


def elastic(robot: Robot, q: Array) -> Array:
    """Return the energy of the springs of all joints at positions (..., nq): the sum of k (q - rest)^2 / 2.

    This includes joints that close loops.

    As in `passive_force`, q - rest is the joint's `difference`. The force is the gradient of this energy if the
    freedoms of a joint are independent of each other, and for a rotation with the same stiffness about all axes. For
    free and planar joints, and rotations with different stiffnesses, no energy has the force as its gradient.
    """
    total = _of_loops(robot, q)
    for c in robot.joints:
        if any(c.stiffness):
            stretch = c.type.difference(Freedoms(c.rest), Freedoms(_positions(c, q)))
            for k, x in zip(c.stiffness, stretch, strict=True):
                total += 0.5 * k * np.square(x)
    return total


def _of_loops(robot: Robot, q: Array) -> Array:
    """Return the energy of springs in joints that close loops; angles are within half a turn of their rest."""
    total = np.zeros(q.shape[:-1])
    sprung = [x for x in robot.loop_table.loops if any(x.loop.stiffness)]
    at = nearest_coordinates(robot, q) if sprung else total
    for x in sprung:
        joint, rest = x.type, x.loop.rest
        assert isinstance(joint, Joint)
        near = [at[..., k] for k in range(x.q.start, x.q.stop)]
        for k in joint.angles:
            near[k] = rest[k] + np.remainder(near[k] - rest[k] + np.pi, 2.0 * np.pi) - np.pi
        stretch = joint.difference(Freedoms(rest), Freedoms(near))
        for stiffness, y in zip(x.loop.stiffness, stretch, strict=True):
            total += 0.5 * stiffness * np.square(y)
    return total


def _positions(c: Connection, q: Array) -> list[Array]:
    """Return the positions of a joint, which may be a mimic joint."""
    own = [q[..., k] for k in range(c.q.start, c.q.stop)]
    return own if c.mimic is None else [c.mimic.ratio * x + c.mimic.offset for x in own]


def mass_centre(robot: Robot, q: Array) -> Array:
    """Return the centre of mass of all moving bodies at positions (..., nq): (..., 3).

    It is the potential energy in three fields of unit strength, one along each axis, divided by the mass.
    """
    if not robot.mass:
        raise ArgumentError(f"{robot.name!r} has no mass, and so no centre of mass")
    fields = ((-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0))
    moments = [replace(robot, gravity=g).potential_energy(q) for g in fields]
    return np.stack(moments, axis=-1) / robot.mass
