"""Joint wrenches: the wrench that each joint transmits to its body, about the body's origin and in its axes.

    outward   w_i = X_i w_p + S_i qd_i                          (angular velocity)
              a_i = X_i (a_p + r_i) + S_i qdd_i + c_i           (acceleration; r_i centripetal, c_i Coriolis)
              f_i = I_i a_i + b_i - external_i,                 b_i = gyroscopic force of body i
    inward    wrench_i = f_i,    f_p += X_i^T f_i

It moves the body and all that it carries: f_i is the sum of the force on the body itself and the forces on its
children. Its part along the joint is the force of the drive less its inertia, S_i^T f_i = tau_i - armature_i qdd_i
(less the gyration of the drive's momentum, if there is one); the bearings carry the rest. Cost: order n.

Reference: Jain 1991, eqs. (11), (14)-(16), where it is f(k); Featherstone and Orin 2000, sec. 3.1, where it is f^J.
Differs: Jain numbers links from the tip.
"""

from __future__ import annotations

from ...model import Base, Bodies, Field, Frame, Joints, Output, Tree
from ...spatial import Chain, Force
from ...spatial.linear import add, cross, matvec, subtract
from ..fluid import loads
from ..kinematics.velocity import axes_of
from ..registry import algorithm
from ..velocities import base_motion, velocities

__all__ = ["joint_wrenches", "supported_wrench"]


@algorithm(
    "joint_wrenches",
    "newton-euler",
    paper="Jain 1991; Featherstone-Orin 2000",
    equations="Jain (11), (14)-(16); F-O sec. 3.1",
)
def joint_wrenches(tree: Tree, q: Joints, qd: Joints, qdd: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return the (moment, force) on each body through its joint, for a motion of the joints and the base."""
    X, f = _body_forces(tree, q, qd, qdd, external, v0, a0)
    wrench = tree.output("wrenches")
    for i, p in tree.inward():
        wrench[i] = f[i]
        f[p] += X[i].T @ f[i]
    return wrench


@algorithm(
    "supported_wrench",
    "newton-euler",
    paper="Jain 1991; Featherstone-Orin 2000",
    equations="Jain (11), (14)-(16); F-O sec. 3.1",
)
def supported_wrench(
    tree: Tree, q: Joints, qd: Joints, qdd: Joints, external: Bodies, v0: Base, a0: Base, frame: Frame, axes: str
) -> Force:
    """Return the (moment, force) on a frame's body through its joint, about the frame's origin or the world's."""
    X, f = _body_forces(tree, q, qd, qdd, external, v0, a0)
    for i, p in tree.inward():
        f[p] += X[i].T @ f[i]
    at = tree.frame(frame)
    turn, E = at.placement.rotation, axes_of(tree, q, at, axes)
    moment, force = f[at.body].angular, f[at.body].linear
    n, s = (matvec(E.rotation, turn.apply(x)) for x in (subtract(moment, cross(at.placement.r, force)), force))
    return Force(add(n, cross(E.position, s)), s)


def _body_forces(
    tree: Tree, q: Joints, qd: Joints, qdd: Joints, external: Bodies, v0: Base, a0: Base
) -> tuple[Field[Chain], Field[Force]]:
    """Return the transforms of the bodies, and the force that moves each body by itself."""
    w, a = base_motion(tree, v0, a0)
    f, X, load = tree.field(Force), tree.own(Chain), loads(tree, q, qd, external, v0)
    for i, p in tree.outward():
        X[i], S, w[i], r, c, b = velocities(i, q[i], qd[i], w[p])
        a[i] = X[i] @ (a[p] + r) + S @ qdd[i] + c
        f[i] = i.total_inertia @ a[i] + b - load[i]
    return X, f
