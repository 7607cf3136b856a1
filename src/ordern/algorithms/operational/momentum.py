"""The momentum of all bodies: angular and linear, about a frame's origin and in its axes.

    composite-body    inward    h_p += X_i^T (h_i + Ic_i S_i qd_i),    Ic_p += X_i^T Ic_i X_i
    body-sum          outward   v_i = X_i v_p + S_i qd_i,    h_i = I_i v_i
                      inward    h_p += X_i^T h_i

and h at the base is taken to the frame. The first moves one joint at a time, and with it all that it carries as one
body; the second moves the bodies. The frame is a place only: that it moves does not matter. The base stands still.
Drives have momentum along their joints, which stays in the joint: armature does not count. Cost: order n.

Reference: Jain 1991, eqs. (24)-(29), read with velocities for accelerations: h + Ic v is his y + R alpha; the body sum
is eqs. (15)-(17), read so.
"""

from __future__ import annotations

from ...model import Field, Frame, Joints, Tree, Values
from ...spatial import Chain, Force, Inertia, Motion
from ...spatial.linear import cross, matvec, subtract, transpose
from ..kinematics.pose import path_poses
from ..registry import algorithm

__all__ = ["body_sum", "composite_body_momentum"]


@algorithm("momentum", "composite-body", paper="Jain 1991", equations="(24)-(29), with velocities")
def composite_body_momentum(tree: Tree, q: Joints, qd: Joints, frame: Frame) -> Force:
    """Return the momentum, by composite bodies that move one after the other."""
    Ic, h = tree.field(Inertia), tree.field(Force)
    X = tree.own()
    for i, _ in tree.outward():
        X[i] = i.transform(q[i])
        Ic[i], h[i] = i.rigid_inertia, Force.zero()
    for i, p in tree.inward():
        h[p] += X[i].T @ (h[i] + Ic[i] @ (i.subspace(q[i]) @ qd[i]))
        Ic[p] += X[i].T @ Ic[i] @ X[i]
    return _at(tree, q, frame, h)


@algorithm("momentum", "body-sum", paper="Jain 1991", equations="(15)-(17), with velocities")
def body_sum(tree: Tree, q: Joints, qd: Joints, frame: Frame) -> Force:
    """Return the momentum, body by body."""
    return _at(tree, q, frame, carried_momenta(tree, q, qd, Motion.zero()))


def carried_momenta(tree: Tree, q: Joints, qd: Joints, base: Motion) -> Field[Force]:
    """Return the momentum of each body with all that it carries, in its frame, if the base moves so."""
    v, h = tree.field(Motion, base=base), tree.field(Force)
    X = tree.own(Chain)
    for i, p in tree.outward():
        X[i] = i.transform(q[i])
        v[i] = X[i] @ v[p] + i.subspace(q[i]) @ qd[i]
        h[i] = i.rigid_inertia @ v[i]
    for i, p in tree.inward():
        h[p] += X[i].T @ h[i]
    return h


def _at(tree: Tree, q: Joints, frame: Frame, h: Values[Force]) -> Force:
    """Return a momentum about the base's origin, about a frame's."""
    f = tree.frame(frame)
    pose = f.pose(path_poses(tree, q, f)[f.body])
    total, back = h[tree.base], transpose(pose.rotation)
    about = subtract(total.angular, cross(pose.position, total.linear))
    return Force(matvec(back, about), matvec(back, total.linear))
