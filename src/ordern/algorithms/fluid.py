"""Forces of a fluid on the bodies in it: added inertia and buoyancy as loads, and drag.

    outward   v_i = X_i v_p + S_i qd_i,    g_i = X_i g_p           (g_i: the acceleration that stands for gravity)
              load_i = external_i + (A_i + D_i) g_i + A_i (0, w_i x u_i) - v_i x* A_i v_i

A_i is the added inertia, D_i the displaced fluid, w_i and u_i the angular and linear velocity. Methods that multiply
I_i + A_i with accelerations a_i of the bodies' origins, gravity included, need these loads instead of the external
forces: gravity does not act on A_i, and the momentum A_i v_i turns and moves with the body. Cost: order n.

Drag is a function of the velocity of a frame on the body relative to the fluid. For a `Drag` it is
-(linear_k + quadratic_k |v_k|) v_k along and about each axis. For an `EllipsoidDrag` it is the law of MuJoCo: Stokes
drag of a sphere of equal mean axis, quadratic drag of the projected area, Magnus and Kutta lift, and the forces of the
added mass at constant velocity.

Reference: Fossen 2011, eqs. (6.38)-(6.44) and (4.1)-(4.4); MuJoCo, "Fluid forces" in the chapter on computation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..graph import Scalar, root_above_zero, where_less
from ..model import Base, Bodies, Index, Joints, Tree
from ..spatial import Force, Freedoms, Motion
from ..spatial.linear import Vector3, add, cross, dot, scale, subtract

__all__ = ["drag_forces", "loads"]

_LEAST = 1e-15
"""Divisors of the law of ellipsoids are not smaller, as in MuJoCo."""
_STILL = (0.0, 0.0, 0.0)


def loads(tree: Tree, q: Joints, qd: Joints, external: Bodies, v0: Base) -> Bodies:
    """Return the external forces with those of added inertia and buoyancy; as they are if the model has neither."""
    if not tree.in_fluid:
        return external
    v, up = tree.field(Motion, base=v0[tree.base]), tree.field(Motion, base=tree.base_acceleration)
    load = tree.field(Force)
    for i, p in tree.outward():
        X = i.transform(q[i])
        v[i], up[i] = X @ v[p] + i.subspace(q[i]) @ qd[i], X @ up[p]
        A, turning = i.added_inertia, Motion(_STILL, cross(v[i].angular, v[i].linear))
        load[i] = external[i] + (i.displaced @ up[i]) + A @ (up[i] + turning) - v[i].cross(A @ v[i])
    return load


def drag_forces(tree: Tree, q: Joints, qd: Joints) -> Bodies:
    """Return a field of the drag on each body, and on the bodies that it carries."""
    v, flow = tree.field(Motion), tree.field(Motion, base=tree.current)
    f, X = tree.field(Force), tree.own()
    for i, p in tree.outward():
        X[i] = i.transform(q[i])
        v[i], flow[i] = X[i] @ v[p] + i.subspace(q[i]) @ qd[i], X[i] @ flow[p]
        f[i] = _drag(i, v[i] - flow[i])
    for i, p in tree.inward():
        f[p] += X[i].T @ f[i]
    return f


def _drag(i: Index, v: Motion) -> Force:
    """Return the drag of a body that moves at v relative to the fluid."""
    total = Force.zero()
    for X, numbers in i.drags():
        speed = X @ v
        linear, quadratic = numbers[:6], numbers[6:]
        parts = zip(linear, quadratic, speed.scalars, strict=True)
        total = total + X.T @ Force.of(tuple(-(a + b * abs(x)) * x for a, b, x in parts))
    for X, numbers in i.ellipsoid_drags():
        total = total + X.T @ _ellipsoid(X @ v, numbers)
    return total


def _ellipsoid(v: Motion, numbers: Sequence[Scalar]) -> Force:
    """Return the force on an ellipsoid that moves at v relative to the fluid, in its own axes."""
    a, b, c, density, viscosity, blunt, slender, angular, kutta, magnus, *virtual = numbers
    w, u = v.angular, v.linear
    largest, middle = _largest_two(a, b, c)
    speed = root_above_zero(dot(u, u))

    normal = ((b * c) ** 2 * u[0], (c * a) ** 2 * u[1], (a * b) ** 2 * u[2])
    squared, across = dot(normal, normal), dot(normal, u)
    area = math.pi * root_above_zero(squared / _at_least(across))
    cosine = across / _at_least(speed * squared)
    lift = cross(scale(kutta * density * cosine * area, cross(normal, u)), u)
    lift = add(lift, scale(magnus * density * (4.0 / 3.0 * math.pi) * a * b * c, cross(w, u)))

    diameter = (2.0 / 3.0) * (a + b + c)
    widest = math.pi * largest * middle
    drag = (3.0 * math.pi) * viscosity * diameter + density * speed * (blunt * area + slender * (widest - area))

    most = 8.0 / 15.0 * math.pi * middle * largest**4
    moments = [8.0 / 15.0 * math.pi * x * _larger(y, z) ** 4 for x, y, z in ((a, b, c), (b, c, a), (c, a, b))]
    slowed = Freedoms(x * (angular * m + slender * (most - m)) for x, m in zip(w, moments, strict=True))
    drag_moment = math.pi * viscosity * diameter**3 + density * root_above_zero(dot(slowed, slowed))

    p: Vector3 = (density * virtual[0] * u[0], density * virtual[1] * u[1], density * virtual[2] * u[2])
    h: Vector3 = (density * virtual[3] * w[0], density * virtual[4] * w[1], density * virtual[5] * w[2])
    moment = add(cross(p, u), cross(h, w))
    return Force(subtract(moment, scale(drag_moment, w)), add(cross(p, w), subtract(lift, scale(drag, u))))


def _larger(x: Scalar, y: Scalar) -> Scalar:
    return where_less(x, y, y, x)


def _at_least(x: Scalar) -> Scalar:
    return where_less(x, _LEAST, _LEAST, x)


def _largest_two(a: Scalar, b: Scalar, c: Scalar) -> tuple[Scalar, Scalar]:
    """Return the largest of three numbers, and the one in the middle."""
    high, low = _larger(a, b), where_less(a, b, a, b)
    return _larger(high, c), where_less(c, low, low, where_less(high, c, high, c))
