"""Kinetic energy: the sum over the bodies of v^T I v / 2, and that of the drives. Cost: order n."""

from __future__ import annotations

from ...graph import Scalar
from ...model import Base, Field, Frame, Joints, Tree
from ...spatial import Motion, Real
from ...spatial.linear import dot
from ..registry import algorithm

__all__ = ["kinetic_energy", "subtree_kinetic_energy"]


@algorithm("kinetic_energy", "body-sum", equations="sum v^T I v / 2")
def kinetic_energy(tree: Tree, q: Joints, qd: Joints, v0: Base) -> Scalar:
    """Return the kinetic energy of all bodies and drives."""
    return 0.5 * _carried(tree, q, qd, v0)[tree.base]


@algorithm("subtree_kinetic_energy", "body-sum", equations="sum v^T I v / 2")
def subtree_kinetic_energy(tree: Tree, q: Joints, qd: Joints, v0: Base, frame: Frame) -> Scalar:
    """Return the kinetic energy of a body, of all that it carries, and of the drives of their joints."""
    return 0.5 * _carried(tree, q, qd, v0)[tree.frame(frame).body]


def _carried(tree: Tree, q: Joints, qd: Joints, v0: Base) -> Field[Scalar]:
    """Return twice the kinetic energy of each body with all that it carries."""
    v, E = tree.field(Motion, base=v0[tree.base]), tree.field(Real)
    for i, p in tree.outward():
        v[i] = i.transform(q[i]) @ v[p] + i.subspace(q[i]) @ qd[i]
        drive = i.armature * qd[i]
        E[i] = (i.total_inertia @ v[i]).dot(v[i]) + dot(drive, qd[i])
    for i, p in tree.inward():
        E[p] += E[i]
    return E
