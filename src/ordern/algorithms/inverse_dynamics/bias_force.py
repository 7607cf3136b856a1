"""Bias and gravity forces: inverse dynamics of motions without acceleration, or at rest."""

from __future__ import annotations

from ...model import Base, Bodies, Joints, Output, Tree
from ..registry import algorithm
from .newton_euler import newton_euler

__all__ = ["bias_force", "gravity_force"]


@algorithm("bias_force", "newton-euler", paper="Featherstone-Orin 2000", equations="sec. 3.2, (15)", regroup=True)
def bias_force(tree: Tree, q: Joints, qd: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return the joint forces C(q, qd) for zero joint accelerations: Coriolis, centrifugal and gravity forces."""
    return newton_euler(tree, q, qd, tree.zeros("v"), external, v0, a0)


@algorithm("gravity_force", "newton-euler", paper="Featherstone-Orin 2000", equations="sec. 3.1 at rest", regroup=True)
def gravity_force(tree: Tree, q: Joints) -> Output:
    """Return joint forces that hold the robot at rest against gravity."""
    still = tree.zeros("motion")
    return newton_euler(tree, q, tree.zeros("v"), tree.zeros("v"), tree.zeros("bodies"), still, still)
