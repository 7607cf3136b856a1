"""The energy of springs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import Array
from ...loops.coordinates import nearest_coordinates
from ...model import Loop, ModelJoint
from ...spatial import Freedoms

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["elastic"]


def elastic(robot: Robot, q: Array) -> Array:
    """Return the energy of the springs of all joints at positions (..., nq): the sum of k (q - rest)^2 / 2.

    This includes joints that close loops.

    As in `passive_force`, q - rest is the joint's `displacement`. The force is the gradient of this energy if the
    freedoms of a joint are independent of each other, and for a rotation with the same stiffness about all axes. For
    free and planar joints, and rotations with different stiffnesses, no energy has the force as its gradient.
    """
    total = np.zeros(q.shape[:-1])
    springs: list[tuple[Any, list[Array]]] = [*_loops(robot, q), *_joints(robot, q)]
    for part, at in springs:
        stretch = part.type.displacement(Freedoms(part.rest), Freedoms(at))
        for stiffness, x in zip(part.stiffness, stretch, strict=True):
            total += 0.5 * stiffness * np.square(x)
    return total


def _joints(robot: Robot, q: Array) -> Iterator[tuple[ModelJoint, list[Array]]]:
    """Yield the joints of the tree that have springs, and their positions."""
    for c in robot.joints:
        if any(c.stiffness):
            own = [q[..., k] for k in range(c.q.start, c.q.stop)]
            yield c, own if c.mimic is None else [c.mimic.ratio * x + c.mimic.offset for x in own]


def _loops(robot: Robot, q: Array) -> Iterator[tuple[Loop, list[Array]]]:
    """Yield the joints with springs that close loops, and their positions; angles within half a turn of their rest."""
    sprung = [x for x in robot.loop_table.loops if any(x.loop.stiffness)]
    at = nearest_coordinates(robot, q) if sprung else q
    for x in sprung:
        near = [at[..., k] for k in range(x.q.start, x.q.stop)]
        for k in x.loop.angles:
            rest = x.loop.rest[k]
            near[k] = rest + np.remainder(near[k] - rest + np.pi, 2.0 * np.pi) - np.pi
        yield x.loop, near
