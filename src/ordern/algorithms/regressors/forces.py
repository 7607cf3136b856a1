"""Regressors of joint forces and wrenches, body by body.

    outward   w_i, a_i = angular velocity and acceleration of body i, gravity included, as in Newton-Euler
    Y_ji      = S_j^T X_ij^T A_i      for body i and each joint j that carries it, its own included
    W_ji      = X_ij^T A_i            the wrench through joint j,       W_0i for the base

A_i (6 x 10) is the force that moves body i, for a unit of each of its ten parameters. It is never formed: a row of Y
is the power of these ten forces along a motion of joint j, seen from body i. For a wrench, the motions are the six
units of the frame of body j. All other columns are zero and take no operations: a joint feels the bodies that it
carries, and its own drive,

    tau_j = sum over i of Y_ji theta_i + armature_j qdd_j + (gyration) + damping_j qd_j + friction_j sign(qd_j).

sign is x / sqrt(x^2 + smoothing^2), that of `passive_force`; with zero smoothing it is -1, 0 or 1. All motions are
taken to a common frame, that of the root body, and from there to each body. Cost: order n d for a tree of depth d.

Reference: Atkeson, An and Hollerbach 1986, Estimation of inertial parameters of manipulator loads and links.
Differs: there, forces are taken inward column by column; here, motions are taken outward, six numbers instead of sixty.
"""

from __future__ import annotations

from ...graph import Scalar
from ...model import Base, Field, Index, Joints, Number, Output, Tree
from ...spatial import Columns, Freedoms, Motion, Pose, Spin, Transform
from ..configuration.passive import coulomb
from ..method_limits import no_fluid
from ..registry import algorithm
from .columns import UNITS, BodyMotion, drive_columns, in_body, own_axes, to_body

__all__ = ["base_wrench_regressor", "inverse_dynamics_regressor", "joint_wrench_regressor"]


@algorithm(
    "inverse_dynamics_regressor",
    "body-by-body",
    paper="Atkeson-An-Hollerbach 1986",
    equations="S_j^T X_ij^T A_i",
    order="n d",
    refuses=no_fluid,
)
def inverse_dynamics_regressor(
    tree: Tree, q: Joints, qd: Joints, qdd: Joints, smoothing: Number, v0: Base, a0: Base
) -> Output:
    """Return the matrix Y with tau = Y theta."""
    Y = tree.output("force_regressor")
    tree.clear(Y)
    inertia, drives = Y.columns(0, "v_inertia"), drive_columns(tree, Y, "v_own")
    S, Z = tree.own(Columns), tree.own(Transform)
    moved, pose = _moved(tree, q, qd, qdd, v0, a0, common=True)
    for i, _ in tree.outward():
        own = [own_axes(i, t) for t in i.subspace(q[i]).columns]
        frame = in_body(i, pose[i])
        S[i], Z[i] = Columns(tuple(frame @ t for t in own)), to_body(frame)
        inertia[i, i] = [moved[i].row(t) for t in own]
        for columns, block in zip(drives, _drive(i, q[i], qd[i], qdd[i], smoothing[i]), strict=True):
            columns[i, i] = block
    for i, _ in tree.inward():
        for j, _ in tree.ancestors(i):
            inertia[j, i] = [moved[i].row(Z[i] @ t) for t in S[j].columns]
    return Y


@algorithm(
    "joint_wrench_regressor",
    "body-by-body",
    paper="Atkeson-An-Hollerbach 1986",
    equations="X_ij^T A_i",
    order="n d",
    refuses=no_fluid,
)
def joint_wrench_regressor(tree: Tree, q: Joints, qd: Joints, qdd: Joints, v0: Base, a0: Base) -> Output:
    """Return the matrices W_j with the wrench through each joint = W_j theta, about its body's origin, in its axes."""
    W = tree.output("wrench_regressor")
    tree.clear(W)
    inertia = W.columns(0, "wrench_inertia")
    units, Z = tree.own(Columns), tree.own(Transform)
    moved, pose = _moved(tree, q, qd, qdd, v0, a0, common=True)
    for i, _ in tree.outward():
        frame = in_body(i, pose[i])
        units[i], Z[i] = Columns(tuple(frame @ t for t in UNITS)), to_body(frame)
        inertia[i, i] = [moved[i].row(t) for t in UNITS]
    for i, _ in tree.inward():
        for j, _ in tree.ancestors(i):
            inertia[j, i] = [moved[i].row(Z[i] @ t) for t in units[j].columns]
    return W


@algorithm(
    "base_wrench_regressor",
    "body-by-body",
    paper="Atkeson-An-Hollerbach 1986",
    equations="X_ij^T A_i",
    refuses=no_fluid,
)
def base_wrench_regressor(tree: Tree, q: Joints, qd: Joints, qdd: Joints, v0: Base, a0: Base) -> Output:
    """Return the matrix W with the wrench of the base on the robot = W theta, about the base's origin, in its axes."""
    W = tree.output("spatial_regressor")
    tree.clear(W)
    inertia = W.columns(0, "spatial_inertia")
    moved, pose = _moved(tree, q, qd, qdd, v0, a0, common=False)
    for i, _ in tree.outward():
        Z = to_body(in_body(i, pose[i]))
        inertia[i] = [[x for t in UNITS for x in moved[i].row(Z @ t)]]
    return W


def _moved(
    tree: Tree, q: Joints, qd: Joints, qdd: Joints, v0: Base, a0: Base, common: bool
) -> tuple[Field[BodyMotion], Field[Pose]]:
    """Return the motions of the bodies, and their poses: in the frame of the root body if `common`, else the base's."""
    w = tree.field(Spin, base=Spin(v0[tree.base].angular))
    a = tree.field(Motion, base=tree.base_acceleration + a0[tree.base])
    pose, moved = tree.field(Pose), tree.own(BodyMotion)
    for i, p in tree.outward():
        X, S = i.transform(q[i]), i.subspace(q[i])
        vJ = S @ qd[i]
        w[i] = X @ w[p] + vJ
        c = w[i].coriolis(vJ) + i.bias(q[i], qd[i])
        a[i] = X @ (a[p] + X.centripetal(w[p])) + S @ qdd[i] + c
        # far from the origin of the world, a robot loses no digits in the frame of its root
        pose[i] = Pose.zero() if common and tree.on_base(i) else X.child(pose[p])
        moved[i] = BodyMotion.of(i.turn.back(w[i].w), own_axes(i, a[i]))
    return moved, pose


def _drive(i: Index, q: Freedoms, v: Freedoms, a: Freedoms, smoothing: Scalar) -> tuple[list[Freedoms], ...]:
    """Return the forces on a joint for unit armature, damping and friction of each of its freedoms."""
    count = len(v)
    units = [Freedoms(1.0 if r == c else 0.0 for r in range(count)) for c in range(count)]
    inertial = [unit * a + i.joint.gyration(q, v, unit * v) for unit in units]
    armature = [Freedoms(column[r] for column in inertial) for r in range(count)]
    damping = [unit * v for unit in units]
    friction = [unit * Freedoms(coulomb(x, smoothing) for x in v) for unit in units]
    return armature, damping, friction
