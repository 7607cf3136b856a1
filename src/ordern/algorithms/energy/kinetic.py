"""Kinetic energy: the sum over the bodies of v^T I v / 2, and that of the drives. Cost: order n."""

from __future__ import annotations

from ...graph import Scalar
from ...model import Base, Joints, Tree
from ...spatial import Motion, Real
from ...spatial.linear import dot
from ..registry import algorithm

__all__ = ["kinetic_energy"]


@algorithm("kinetic_energy", "body-sum", equations="sum v^T I v / 2")
def kinetic_energy(tree: Tree, q: Joints, qd: Joints, v0: Base) -> Scalar:
    """Return the kinetic energy of all bodies and drives."""
    v, E = tree.field(Motion, base=v0[tree.base]), tree.field(Real)
    for i, p in tree.outward():
        v[i] = i.transform(q[i]) @ v[p] + i.subspace(q[i]) @ qd[i]
        drive = i.armature * qd[i]
        E[i] = (i.inertia @ v[i]).dot(v[i]) + dot(drive, qd[i])
    for i, p in tree.inward():
        E[p] += E[i]
    return 0.5 * E[tree.base]
