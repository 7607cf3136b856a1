"""Newton-Euler in three-dimensional vectors, as it stood before spatial ones.

With k+1 for the parent, l from its origin to that of body k, p from there to the mass centre:

    outward   w(k)    = w(k+1) + wJ                                                             (2.1)
              w'(k)   = w'(k+1) + wJ' + w(k+1) x wJ                                             (2.2)
              v'(k)   = v'(k+1) + w'(k+1) x l + w(k+1) x [w(k+1) x l]
                        + uJ' + 2 w(k+1) x uJ + wJ x uJ                                         (2.3)
              v'c(k)  = v'(k) + w'(k) x p + w(k) x [w(k) x p]                                   (2.5)
              Nc(k)   = Ic w'(k) + w(k) x Ic w(k),        Fc(k) = m v'c(k)                      (2.9), (2.10)
    inward    F(k)    = sum F(child) + Fc(k)                                                    (2.11)
              N(k)    = sum [N(child) + l x F(child)] + p x Fc(k) + Nc(k)                       (2.12)
              T(k)    = h^T N(k)                                                                (2.13)

wJ = h qd and uJ = 0 for a revolute joint, wJ = 0 and uJ = h qd for a sliding one; any other has both, and T takes of N
and of F. Cost: order n.

Reference: Rodriguez and Kreutz 1988, eqs. (2.1)-(2.13), and (2.31) for sliding joints.
Differs: each body's vectors are in its own axes. The terms of uJ in (2.3) are for joints that slide, which the
paper adds in (2.32) and there leaves out a factor 2. The velocity v(k), (2.4), enters nothing and is left out.
"""

from __future__ import annotations

from ...model import Base, Bodies, Joints, Output, Tree
from ...spatial import Chain, Force
from ...spatial.linear import Vector3, add, cross, full, matvec, scale, subtract
from ..registry import algorithm
from .denoc import Point, mass_centre

__all__ = ["newton_euler_vector", "turned_back"]


@algorithm(
    "inverse_dynamics", "newton-euler-vector", paper="Rodriguez-Kreutz 1988", equations="(2.1)-(2.13), (2.31), (2.32)"
)
def newton_euler_vector(tree: Tree, q: Joints, qd: Joints, qdd: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return joint forces for motions (q, qd, qdd) of the joints and (v0, a0) of the base, and external forces."""
    start = tree.base_acceleration + a0[tree.base]
    w, dw = tree.field(Point, base=v0[tree.base].angular), tree.field(Point, base=start.angular)
    dv, N, F = tree.field(Point, base=start.linear), tree.field(Point), tree.field(Point)
    X, H = tree.own(), tree.own()
    T = tree.output("f")

    for k, k1 in tree.outward():
        X[k], H[k] = k.transform(q[k]), k.subspace(q[k])
        joint, rate = H[k] @ qd[k], H[k] @ qdd[k] + k.bias(q[k], qd[k])
        wJ, uJ = joint.angular, joint.linear
        l, w1 = X[k].origin, _turned(X[k], w[k1])
        w[k] = add(w1, wJ)
        dw[k] = add(_turned(X[k], dw[k1]), add(rate.angular, cross(w1, wJ)))
        sliding = add(scale(2.0, cross(w1, uJ)), cross(wJ, uJ))
        carried = add(dv[k1], add(cross(dw[k1], l), cross(w[k1], cross(w[k1], l))))
        dv[k] = add(_turned(X[k], carried), add(rate.linear, sliding))

        p, about = mass_centre(k.inertia)
        Ic = full(about.I)
        dvc = add(dv[k], add(cross(dw[k], p), cross(w[k], cross(w[k], p))))
        Nc = add(matvec(Ic, dw[k]), cross(w[k], matvec(Ic, w[k])))
        Fc = scale(about.m, dvc)
        F[k] = subtract(Fc, external[k].linear)
        N[k] = subtract(add(cross(p, Fc), Nc), external[k].angular)

    for k, k1 in tree.inward():
        T[k] = H[k].T @ Force(N[k], F[k]) + k.armature * qdd[k] + k.gyration(q[k], qd[k])
        back = turned_back(X[k], F[k])
        F[k1] = add(F[k1], back)
        N[k1] = add(N[k1], add(turned_back(X[k], N[k]), cross(X[k].origin, back)))
    return T


def _turned(X: Chain, x: Vector3) -> Vector3:
    """Return a vector of the parent, in the body's axes."""
    for factor in X.factors:
        x = factor.rotation.apply(x)
    return x


def turned_back(X: Chain, x: Vector3) -> Vector3:
    """Return a vector of the body, in the parent's axes."""
    for factor in reversed(X.factors):
        x = factor.rotation.back(x)
    return x
