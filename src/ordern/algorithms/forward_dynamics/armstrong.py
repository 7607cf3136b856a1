"""Armstrong's forward dynamics, for spherical joints: angular accelerations and joint forces, linear in v'.

With v' the acceleration of a body's joint, w' its angular acceleration, N the moment and F the force in that joint,

    w'_k = Omega_w v'_k + Upsilon_w,      F_k = Omega_F v'_k + Upsilon_F                                        (47)

    inward    Gamma     = [J - sum of l~ Omega_F l~]^-1
              L         = -[sum of l~ Omega_F + m p~]
              Omega_w   = Gamma L,        Upsilon_w = Gamma [N_k - b_N - sum of (l~ (Upsilon_F + Omega_F r) + N)]
              Omega_F   = sum of Omega_F + m - L^T Omega_w
              Upsilon_F = sum of (Upsilon_F + Omega_F r) + b_F - L^T Upsilon_w                                  (48)
    outward   v'_k = v'_p + w'_p x l + r,                      w'_k = Omega_w v'_k + Upsilon_w
              qdd_k = w'_k - w'_p - w_k x qd_k

Sums are over the children, with their l from the body's joint to theirs and their N, Omega_F, Upsilon_F; J, m p and m
are moments of the body, of second, first and no order, about its joint. Cost: order n.

Jain leaves out two terms: b = (b_N, b_F), the gyroscopic less the external force on the body, and r, the acceleration w
x (w x l) of a child's joint. Here both enter where they arise. So N is the joint's whole moment, gravity is an
acceleration v' of the base, and no inverse dynamics is needed in advance.

Reference: Armstrong 1979, as in Jain 1991, eqs. (47)-(49), with Upsilon_F = Upsilon_F(k-1) - L* Upsilon_w. By (49) the
blocks of the articulated inertia P are Gamma^-1, -L and sum of Omega_F + m, and the correction force z is b plus the
sum of (l~ (Upsilon_F + Omega_F r) + N, Upsilon_F + Omega_F r). The fields `P` and `z` hold them while children add.
Differs: in body axes, in which a child's Omega_F and l~ Omega_F l~ are turned as one matrix. Trees, and a base that is
moved. An armature would make N depend on the parent's w', which (47) does not have; that, and joints with one freedom,
are in `armstrong_general`.
"""

from __future__ import annotations

from ...graph import Scalar
from ...joints import Spherical
from ...model import Answer, Base, Bodies, Field, Input, Joints, Model, Output, Tree
from ...records import dataclass
from ...spatial import ArticulatedInertia, Factor, Force, Freedoms, Motion
from ...spatial.linear import (
    Matrix3,
    Symmetric3,
    Vector3,
    add,
    full,
    matvec,
    negative,
    product_symmetric,
    subtract,
    transpose,
)
from ..method_limits import all_of, only_joint_types
from ..registry import algorithm
from ..velocities import base_motion, velocities

__all__ = ["armstrong"]


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of (47) of each body, with its inertia P and bias force z, to which its children have added."""

    P: Field[ArticulatedInertia]
    z: Field[Force]
    Omega_w: Field[Matrix3]
    Upsilon_w: Field[Vector3]
    Omega_F: Field[Symmetric3]
    Upsilon_F: Field[Vector3]


def _no_armature(model: Model) -> str:
    found = next((c.name for c in model.joints if any(c.armature)), "")
    reason = f"its joint moments are given, but that of joint {found!r} depends on its armature's acceleration"
    return reason if found else ""


@algorithm(
    "forward_dynamics",
    "armstrong",
    paper="Armstrong 1979, as in Jain 1991",
    equations="Jain (47)-(49)",
    refuses=all_of(only_joint_types(Spherical), _no_armature),
)
def armstrong(tree: Tree, *inputs: Input) -> Output:
    """Return joint accelerations qdd for position q, velocity qd, joint moments tau and external forces."""
    qdd = tree.output("v")
    sweeps(tree, qdd, *inputs)
    return qdd


def sweeps(
    tree: Tree, qdd: Answer, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base
) -> Coefficients:
    """Return the three sweeps, which fill in qdd."""
    w, a = base_motion(tree, v0, a0)
    P, z = tree.field(ArticulatedInertia), tree.field(Force)
    X, r, c, Omega_w, Upsilon_w, Omega_F, Upsilon_F = (tree.own() for _ in range(7))

    for i, p in tree.outward():
        X[i], _, w[i], r[i], c[i], b = velocities(i, q[i], qd[i], w[p])
        P[i], z[i] = i.inertia.articulated(), b - external[i]

    for i, p in tree.inward():
        Gamma, Lt = Factor.of(full(P[i].I)), _columns(*(negative(row) for row in P[i].H))
        Omega_w[i] = _columns(*(Gamma.solve(column) for column in Lt))
        Upsilon_w[i] = _three(Gamma.solve(tau[i] - z[i].angular))
        Omega_F[i] = _less(P[i].M, product_symmetric(Lt, Omega_w[i]))
        Upsilon_F[i] = subtract(z[i].linear, matvec(Lt, Upsilon_w[i]))
        # at the parent: -l~ Omega_F l~, l~ Omega_F and Omega_F, then N + l~ Upsilon_F and Upsilon_F
        moved = X[i].T @ _force_alone(Omega_F[i]) @ X[i]
        P[p] += moved
        z[p] += X[i].T @ Force(_three(tau[i]), Upsilon_F[i]) + moved @ r[i]

    for i, p in tree.outward():
        a_ = X[i] @ (a[p] + r[i])
        wd = add(matvec(Omega_w[i], a_.linear), Upsilon_w[i])
        a[i] = Motion(wd, a_.linear)
        qdd[i] = Freedoms(subtract(subtract(wd, a_.angular), c[i].angular))
    return Coefficients(P, z, Omega_w, Upsilon_w, Omega_F, Upsilon_F)


def _three(x: tuple[Scalar, ...]) -> Vector3:
    return (x[0], x[1], x[2])


def _columns(*columns: tuple[Scalar, ...]) -> Matrix3:
    x, y, z = columns
    return transpose((_three(x), _three(y), _three(z)))


def _less(A: Symmetric3, B: Symmetric3) -> Symmetric3:
    a, b, c, d, e, f = (x - y for x, y in zip(A, B, strict=True))
    return (a, b, c, d, e, f)


def _force_alone(Omega: Symmetric3) -> ArticulatedInertia:
    """Return an inertia that resists translation as Omega does, and does not resist rotation."""
    nothing = ArticulatedInertia.zero()
    return ArticulatedInertia(nothing.I, nothing.H, Omega)
