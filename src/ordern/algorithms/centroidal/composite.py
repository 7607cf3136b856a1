"""Composite bodies of a subtree: the inertia of each body together with all that it carries.

A subtree is a body with all that it carries; the subtree of the base is the whole robot. Bodies outside have no inertia
here, so that each sum over composite bodies is a sum over the subtree.
"""

from __future__ import annotations

from ...model import Field, Joints, PlacedFrame, Tree
from ...spatial import Chain, Inertia, Pose, Real
from ...spatial.linear import Vector3, scale

__all__ = ["composite_inertias", "mass_centre", "membership", "part_of"]


def membership(tree: Tree, root: PlacedFrame) -> Field[float]:
    """Return 1 for the bodies of a subtree, 0 for others."""
    inside = tree.field(Real)
    for i, _ in tree.outward():
        inside[i] = 0.0
    inside[root.body] = 1.0
    for i, p in tree.outward():
        inside[i] = inside[i] + inside[p]
    return inside


def part_of(inside: float, inertia: Inertia) -> Inertia:
    """Return an inertia times 1 or 0."""
    m, h, I = inertia.m, inertia.h, inertia.I
    return Inertia(inside * m, scale(inside, h), tuple(inside * x for x in I))


def composite_inertias(tree: Tree, q: Joints, root: PlacedFrame) -> tuple[Field[Inertia], Field[Pose]]:
    """Return the composite inertias of a subtree, in the bodies' frames, and the poses of all bodies.

    outward   P_i = P_p X_i,    inward   Ic_p += X_i^T Ic_i X_i
    """
    inside = membership(tree, root)
    Ic, P = tree.field(Inertia), tree.field(Pose)
    X = tree.own(Chain)
    for i, p in tree.outward():
        X[i] = i.transform(q[i])
        P[i] = X[i].child(P[p])
        Ic[i] = part_of(inside[i], i.rigid_inertia)
    for i, p in tree.inward():
        Ic[p] += X[i].T @ Ic[i] @ X[i]
    return Ic, P


def mass_centre(inertia: Inertia) -> Vector3:
    """Return the centre of mass in the frame of the inertia."""
    return scale(1.0 / inertia.m, inertia.h)
