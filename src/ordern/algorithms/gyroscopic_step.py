"""The gyroscopic torque of free and ball joints in a step of semi-implicit Euler, by Kahan's method.

A free rigid body obeys S dw/dt + w x S w = 0. If a step takes the torque w x S w at its start, the energy grows by
(h dw/dt)^T S (h dw/dt) / 2 in each step: a box that spins at 10 rad/s doubles it within seconds. Kahan's method
replaces w x S w by the mean of w x S w' and w' x S w, where w' is the velocity at the end of the step. This is linear
in w':

    S dw + h/2 (w x S dw + dw x S w) = S dw_0            dw_0: the rate with the torque at the start

It is of second order, and conserves a quantity that differs from the energy, and one that differs from the angular
momentum, by terms of order h^2, so that neither drifts.

S is the rotational inertia that the joint feels, that of the articulated body: D^-1 = [[S^-1, ..], [.., ..]]. So the
torque is that of the whole robot as far as its joints resist, and that of the body alone as far as they give way. In
robots with loops or mimic joints, accelerations are not yet those of the closed robot when they are computed; there,
dw_0 is that of a body which nothing else turns, S dw_0 = -w x S w.

Reference: R. Hirota and K. Kimura, Discretization of the Euler top, 2000; E. Celledoni et al., Geometric properties of
Kahan's method, 2013.
"""

from __future__ import annotations

from ..graph import Scalar
from ..joints import Joint
from ..spatial import Factor, Freedoms, Spin
from ..spatial.linear import Vector3, add, cross, dot, scale

__all__ = ["gyroscopic_step"]

Columns = tuple[Vector3, Vector3, Vector3]


def gyroscopic_step(joint: Joint, D: Factor, w: Spin, dw: Vector3 | None, h: Scalar) -> Freedoms:
    """Return what Kahan's method adds to the acceleration of a joint; it is zero but for free and ball joints.

    w is the angular velocity of the child, dw its rate with the torque at the start of the step. None stands for the
    rate of a body without any other torque.
    """
    if not joint.spins:
        return Freedoms((0.0,) * joint.nv)
    Z = [D.solve(tuple(1.0 if k == axis else 0.0 for k in range(joint.nv))) for axis in range(3)]
    x, y, z = ((Z[0][k], Z[1][k], Z[2][k]) for k in range(3))
    S = _inverse((x[0], x[1], x[2]), (x[1], y[1], y[2]), (x[2], y[2], z[2]))
    momentum, half = _times(S, w.w), 0.5 * h

    def torque(dw: Vector3) -> Vector3:
        return scale(half, add(cross(w.w, _times(S, dw)), cross(dw, momentum)))

    e: Columns = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    x, y, z = (add(column, torque(unit)) for column, unit in zip(S, e, strict=True))
    start = cross(momentum, w.w) if dw is None else _times(S, dw)
    a, b, c = cross(y, z), cross(z, x), cross(x, y)
    t = torque(scale(1.0 / dot(x, a), (dot(a, start), dot(b, start), dot(c, start))))
    return Freedoms(0.0 - (t[0] * p + t[1] * q + t[2] * r) for p, q, r in zip(*Z, strict=True))


def _times(A: Columns, x: Vector3) -> Vector3:
    """Return A x for a matrix of columns."""
    return add(add(scale(x[0], A[0]), scale(x[1], A[1])), scale(x[2], A[2]))


def _inverse(x: Vector3, y: Vector3, z: Vector3) -> Columns:
    """Return the columns of the inverse of a symmetric matrix with the columns x, y and z."""
    a = cross(y, z)
    k = 1.0 / dot(x, a)
    d, e, f = z[2] * x[0] - z[0] * x[2], y[0] * x[2] - y[2] * x[0], x[0] * y[1] - x[1] * y[0]
    a = scale(k, a)
    return a, (a[1], k * d, k * e), (a[2], k * e, k * f)
