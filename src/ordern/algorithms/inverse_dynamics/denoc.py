"""Saha's inverse dynamics: Newton and Euler's equations about mass centres, by the decoupled natural complement.

Twists and wrenches of body i are about its mass centre C_i. B_ij takes a twist of its parent j to body i as if the
joint were rigid; p_i are the twists that the joint adds; Omega_i turns both halves of a twist, w_i x; c is the vector
from C_j to C_i, and u_i the linear half of p_i qd_i.

    outward   nu_i = B_ij nu_j + p_i qd_i                                                (12)
              xi_i = B_ij xi_j + B'_ij nu_j + p_i qdd_i + Omega_i p_i qd_i + p*_i qd_i    (5.1)
              B'_ij nu_j = (0; w_j x (v_i - v_j)),    v_i - v_j = w_j x c + u_i
              gamma_i = M_i xi_i + M'_i nu_i - wrench_i,     M_i = diag(I_i, m_i 1),  M'_i = diag(w_i x I_i, 0)    (8)
    inward    tau_i = p_i^T gamma_i + armature_i qdd_i + g_i,    g_i = gyration of the momentum armature_i qd_i
              gamma_j += B_ij^T gamma_i

Gravity is an acceleration of the base upwards, (32); a base that is moved (v0, a0) adds its own. Cost: order n.

Reference: Saha 1999, sec. 5.1.
Differs: all vectors of a body are in its own axes, which turn with it. B'_ij is written with the velocities of mass
centres, which holds for every joint. p*_i is how p_i changes as body i sees it: zero for Saha's revolute and prismatic
joints, not so for a universal one.
"""

from __future__ import annotations

from ...graph import where_less
from ...model import Base, Bodies, Joints, Output, Tree
from ...spatial import Chain, Columns, Force, Identity, Inertia, Motion, Spin, Subspace, Transform
from ...spatial.linear import ZERO3, Vector3, add, cross, negative, scale, subtract
from ..registry import algorithm

__all__ = ["Point", "about_centre", "between_centres", "denoc", "mass_centre", "omega"]


class Point:
    """The type of a field of points or other vectors."""

    @classmethod
    def zero(cls) -> Vector3:
        """Return the origin."""
        return ZERO3


def mass_centre(inertia: Inertia) -> tuple[Vector3, Inertia]:
    """Return a body's mass centre and its inertia about it. A body without mass has its origin for one."""
    m = inertia.m
    c = scale(1.0 / where_less(0.0, m, m, 1.0), inertia.h)
    return c, Inertia(m, ZERO3, inertia.shifted(negative(c)).I)


def about_centre(c: Vector3, S: Subspace) -> Columns:
    """Return the joint-rate propagation p (13), (15): the joint's motions, of the body's mass centre."""
    return Columns(tuple(Motion(s.angular, add(s.linear, cross(s.angular, c))) for s in S.columns))


def between_centres(X: Chain, parent: Vector3, own: Vector3) -> Chain:
    """Return the twist propagation B (13), from the parent's mass centre to the body's own."""
    first, *rest = X.factors
    start = Transform(first.rotation, subtract(first.r, parent))
    return Chain((start, *rest, Transform(Identity(), own)))


def omega(w: Vector3, t: Motion) -> Motion:
    """Return Omega t, the rate of a twist that turns with its body (2)."""
    return Motion(cross(w, t.angular), cross(w, t.linear))


@algorithm("inverse_dynamics", "denoc", paper="Saha 1999", equations="sec. 5.1")
def denoc(tree: Tree, q: Joints, qd: Joints, qdd: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return joint forces tau for motions (q, qd, qdd) of the joints and (v0, a0) of the base, and external forces."""
    C, gamma = tree.field(Point), tree.field(Force)
    nu = tree.field(Motion, base=v0[tree.base])
    xi = tree.field(Motion, base=tree.base_acceleration + a0[tree.base])
    B, p = tree.own(), tree.own()
    tau = tree.output("f")

    for i, j in tree.outward():
        C[i], M = mass_centre(i.inertia)
        B[i] = between_centres(i.transform(q[i]), C[j], C[i])
        p[i] = about_centre(C[i], i.subspace(q[i]))
        own, carried = p[i] @ qd[i], B[i] @ nu[j]
        nu[i] = carried + own
        w, wj = nu[i].angular, carried.angular
        turning, sliding = B[i].centripetal(Spin(nu[j].angular)), Motion(ZERO3, cross(wj, own.linear))
        p_rate = omega(w, own) + Transform(Identity(), C[i]) @ i.bias(q[i], qd[i])
        xi[i] = B[i] @ (xi[j] + turning) + sliding + p[i] @ qdd[i] + p_rate
        n, f = external[i].angular, external[i].linear
        gamma[i] = M @ xi[i] + Spin(w).gyroscopic(M) - Force(subtract(n, cross(C[i], f)), f)

    for i, j in tree.inward():
        tau[i] = p[i].T @ gamma[i] + i.armature * qdd[i] + i.gyration(q[i], qd[i])
        gamma[j] += B[i].T @ gamma[i]
    return tau
