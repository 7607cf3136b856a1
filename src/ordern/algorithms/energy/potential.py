"""Potential energy in the field of gravity: the sum of -m g . c, zero at the base's origin. Cost: order n."""

from __future__ import annotations

from ...graph import Scalar
from ...model import Field, Frame, Joints, Tree
from ...spatial import Pose, Real
from ...spatial.linear import add, dot, matvec, scale
from ..registry import algorithm

__all__ = ["potential_energy", "subtree_potential_energy"]


@algorithm("potential_energy", "body-sum", equations="- sum m g . c")
def potential_energy(tree: Tree, q: Joints) -> Scalar:
    """Return the potential energy of all bodies."""
    return _carried(tree, q)[tree.base]


@algorithm("subtree_potential_energy", "body-sum", equations="- sum m g . c")
def subtree_potential_energy(tree: Tree, q: Joints, frame: Frame) -> Scalar:
    """Return the potential energy of a body with all that it carries."""
    return _carried(tree, q)[tree.frame(frame).body]


def _carried(tree: Tree, q: Joints) -> Field[Scalar]:
    """Return the potential energy of each body with all that it carries."""
    P, E = tree.field(Pose), tree.field(Real)
    for i, p in tree.outward():
        P[i] = i.transform(q[i]).child(P[p])
        I = i.rigid_inertia - i.displaced if tree.in_fluid else i.rigid_inertia
        E[i] = dot(tree.base_acceleration.linear, add(scale(I.m, P[i].position), matvec(P[i].rotation, I.h)))
    for i, p in tree.inward():
        E[p] += E[i]
    return E
