"""Forces of dampers, friction and springs in the joints.

    f = - damping v - friction v / sqrt(v^2 + smoothing^2) - stiffness (q - rest)

for each freedom; q - rest is the joint's `displacement`, so that a spherical joint's spring pulls along its rotation
vector, and that of a continuous joint counts full turns. Coulomb friction is smoothed: within the velocity `smoothing`
it passes from one side to the other. The drag of bodies in a fluid adds S^T times the drag on all bodies that the
joint carries.
Cost: order n.
"""

from __future__ import annotations

from collections.abc import Callable

from ...graph import Scalar, sqrt, where_less
from ...model import Index, Joints, Number, Output, Tree
from ...spatial import Freedoms
from ..fluid import drag_forces
from ..registry import algorithm
from .step import joint_by_joint

__all__ = ["coulomb", "frictionless_force", "passive_force", "resistance"]

_REST = 1e-36
"""The square of a velocity that counts as zero; single precision has smaller numbers, but they lose digits."""


def coulomb(v: Scalar, smoothing: Scalar) -> Scalar:
    """Return the smoothed sign of a velocity, v / sqrt(v^2 + smoothing^2); with zero smoothing -1, 0 or 1."""
    square = v * v + smoothing * smoothing
    return where_less(square, _REST, 0.0, v / sqrt(where_less(square, _REST, 1.0, square)))


def resistance(damping: Freedoms, friction: Freedoms, v: Freedoms, smoothing: Scalar) -> Freedoms:
    """Return damping v + friction v / sqrt(v^2 + smoothing^2)."""
    return damping * v + Freedoms(f * coulomb(x, smoothing) for f, x in zip(friction, v, strict=True))


@algorithm("passive_force", "joint-by-joint", equations="-d v - f v / sqrt(v^2 + s^2) - k (q - rest)")
def passive_force(tree: Tree, q: Joints, qd: Joints, smoothing: Number) -> Output:
    """Return the force on each joint of its damping, Coulomb friction and spring."""
    return _opposed(tree, q, qd, lambda i: resistance(i.damping, i.friction, qd[i], smoothing[i]))


def frictionless_force(tree: Tree, q: Joints, qd: Joints) -> Output:
    """Return the force on each joint of its damping and spring, without dry friction."""
    return _opposed(tree, q, qd, lambda i: i.damping * qd[i])


def _opposed(tree: Tree, q: Joints, qd: Joints, resisting: Callable[[Index], Freedoms]) -> Output:
    """Return the force on each joint of its spring, of drag, and against what resists it."""

    def force(i: Index) -> Freedoms:
        return -(resisting(i) + i.stiffness * i.joint.displacement(i.rest, q[i]))

    if not tree.has_drag:
        return joint_by_joint(tree, "f", force)
    drag = drag_forces(tree, q, qd)
    return joint_by_joint(tree, "f", lambda i: force(i) + i.subspace(q[i]).T @ drag[i])
