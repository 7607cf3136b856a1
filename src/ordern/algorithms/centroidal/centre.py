"""The centre of mass of a robot or of a subtree, and its velocity, acceleration and Jacobian in the world's axes.

With m the mass of the subtree whose root is the body b, and c its centre of mass:

    inward    Ic_p += X_i^T Ic_i X_i,    h_p += X_i^T h_i,    f_p += X_i^T f_i

    position        P_b c_b,  with  m c_b  the first moment of Ic_b
    velocity        m c'  = linear half of h_b,   h_i = I_i v_i
    acceleration    m c'' = linear half of f_b,   f_i = I_i a_i + v_i x* I_i v_i
    Jacobian        m J_i = linear half of Ic_i S_i, in the world's axes

Cost: order n.

Reference: Featherstone and Orin 2000, eqs. (3)-(5), (9), for the sums; Orin, Goswami and Lee 2013 for the Jacobian as
the linear half of the centroidal momentum matrix.
"""

from __future__ import annotations

from ...model import Base, Bodies, Frame, Joints, Output, Tree
from ...spatial import Chain, Force, Motion, Real
from ...spatial.linear import Vector3, cross, matvec, scale, subtract
from ..kinematics.pose import path_poses
from ..operational.momentum import carried_momenta
from ..registry import algorithm
from .composite import composite_inertias, mass_centre

__all__ = ["com", "com_acceleration", "com_jacobian", "com_velocity"]


@algorithm("com", "composite-body", equations="P_b h_b / m")
def com(tree: Tree, q: Joints, frame: Frame) -> Vector3:
    """Return the centre of mass of a subtree."""
    f = tree.frame(frame)
    Ic, P = composite_inertias(tree, q, f)
    return P[f.body].point(mass_centre(Ic[f.body]))


@algorithm("com_velocity", "body-sum", equations="linear half of sum I v, over m")
def com_velocity(tree: Tree, q: Joints, qd: Joints, v0: Base, frame: Frame) -> Vector3:
    """Return the velocity of the centre of mass of a subtree."""
    return _per_mass(tree, q, frame, carried_momenta(tree, q, qd, v0[tree.base]))


@algorithm("com_acceleration", "body-sum", equations="linear half of sum I a + v x* I v, over m")
def com_acceleration(tree: Tree, q: Joints, qd: Joints, qdd: Joints, v0: Base, a0: Base, frame: Frame) -> Vector3:
    """Return the acceleration of the centre of mass of a subtree."""
    still, started = v0[tree.base], a0[tree.base]
    spatial = Motion(started.angular, subtract(started.linear, cross(still.angular, still.linear)))
    v, a = tree.field(Motion, base=still), tree.field(Motion, base=spatial)
    f = tree.field(Force)
    X = tree.own(Chain)
    for i, p in tree.outward():
        X[i] = i.transform(q[i])
        S = i.subspace(q[i])
        vJ = S @ qd[i]
        v[i] = X[i] @ v[p] + vJ
        a[i] = X[i] @ a[p] + S @ qdd[i] + v[i].cross(vJ) + i.bias(q[i], qd[i])
        f[i] = i.rigid_inertia @ a[i] + v[i].cross(i.rigid_inertia @ v[i])
    for i, p in tree.inward():
        f[p] += X[i].T @ f[i]
    return _per_mass(tree, q, frame, f)


@algorithm("com_jacobian", "composite-body", paper="Orin-Goswami-Lee 2013", equations="linear half of A_G, over m")
def com_jacobian(tree: Tree, q: Joints, frame: Frame) -> Output:
    """Return the 3 x nv matrix J with the velocity of the centre of mass = J qd."""
    f = tree.frame(frame)
    Ic, P = composite_inertias(tree, q, f)
    J = tree.output("point_columns")
    for i, _ in tree.outward():
        R, m = P[i].rotation, Ic[f.body].m
        J[i] = [scale(1.0 / m, matvec(R, (Ic[i] @ column).linear)) for column in i.subspace(q[i]).columns]
    return J


def _per_mass(tree: Tree, q: Joints, frame: Frame, sums: Bodies) -> Vector3:
    """Return the linear half of a sum over a subtree, divided by its mass, in the world's axes."""
    f = tree.frame(frame)
    m = tree.field(Real)
    for i, _ in tree.outward():
        m[i] = i.rigid_inertia.m
    for i, p in tree.inward():
        m[p] += m[i]
    rotation = path_poses(tree, q, f)[f.body].rotation
    return matvec(rotation, scale(1.0 / m[f.body], sums[f.body].linear))
