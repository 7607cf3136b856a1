"""Displacements of bodies from one position to another, and their momenta at both ends.

The kinetic energy of a body that goes from one pose to another in the time h is taken as that of a body that turns
evenly while its mass centre moves straight: with d the way of the mass centre and w the rotation vector between the
poses, both in the body's axes at the start,

    L = m d . d / (2 h) + w . Ic w / (2 h)

The momenta at the ends are its derivatives by the poses there. With l = Ic w / h and
k = (1 - (|w|/2) cot(|w|/2)) / |w|^2,

    start     f = m d / h,              n = l + w x l / 2 + k w x (w x l)           in the axes at the start
    finish    f turned by -w,           n = l - w x l / 2 + k w x (w x l)           in the axes at the end

A displacement is kept by what it differs from none: the rotation matrix less one. Joints whose motions do not change
with their position (whose `bias` is zero) make the same displacement in a step wherever they are, so it is computed as
if from the neutral position. Then nothing is a difference of large numbers, however short the step.

n is the transpose of the inverse right-trivialised tangent of the exponential map, dexp^-T l. As nothing but poses
relative to each other enters, the same momentum leaves the start and arrives at the finish, in fixed axes.
"""

from __future__ import annotations

from typing import NamedTuple

from ...graph import Scalar, atan2, sqrt, where_less
from ...joints import Joint
from ...joints.se3_series import unscrew
from ...model import Index, Joints, Number, Tree, Values
from ...records import dataclass
from ...spatial import Chain, Force, Freedoms, Inertia, Pose, Subspace, Transform
from ...spatial.linear import ZERO3, Matrix3, Vector3, add, cross, dot, full, matmul, matvec, scale, subtract, transpose

__all__ = ["Displacement", "Ends", "ends", "momenta"]

_SMALL = 1e-3
"""The arc sine of a smaller squared sine is computed by a series; its error is under 1e-16."""


@dataclass(frozen=True, slots=True)
class Displacement:
    """The displacement of a body's frame, in the frame at the start: its rotation matrix less one, and its origin."""

    W: Matrix3
    d: Vector3

    @classmethod
    def zero(cls) -> Displacement:
        """Return the displacement that is zero."""
        return cls((ZERO3, ZERO3, ZERO3), ZERO3)

    @classmethod
    def of(cls, pose: Pose) -> Displacement:
        """Return the displacement to a pose."""
        x, y, z = pose.rotation
        W = ((x[0] - 1.0, x[1], x[2]), (y[0], y[1] - 1.0, y[2]), (z[0], z[1], z[2] - 1.0))
        return cls(W, pose.position)

    def at(self, X: Chain) -> Displacement:
        """Return the same motion of space, as a displacement of the frame that X leads to."""
        W, d = self.W, self.d
        for step in X.factors:
            E = step.rotation
            d = E.apply(add(d, matvec(W, step.r)))
            for _ in range(2):  # E W, then its transpose E W^T E^T, and back
                a, b, c = transpose(W)
                W = (E.apply(a), E.apply(b), E.apply(c))
        return Displacement(W, d)

    def then(self, next: Displacement) -> Displacement:
        """Return this displacement followed by another, in the axes reached."""
        turned = matmul(self.W, next.W)
        sums = [add(add(a, b), c) for a, b, c in zip(self.W, next.W, turned, strict=True)]
        return Displacement((sums[0], sums[1], sums[2]), add(add(self.d, next.d), matvec(self.W, next.d)))


class Ends(NamedTuple):
    """Data of each body: its joint's position at the finish, transforms and subspaces at both ends, displacement."""

    q1: Joints
    X0: Values[Chain]
    X1: Values[Chain]
    S0: Values[Subspace]
    S1: Values[Subspace]
    displacement: Values[Displacement]


def ends(tree: Tree, q: Joints, x: Joints, dt: Number) -> Ends:
    """Move all bodies from position q for the time dt at the joint velocities x."""
    D = tree.field(Displacement)
    q1, X0, X1, S0, S1 = (tree.own() for _ in range(5))
    for i, p in tree.outward():
        way = x[i] * dt[i]
        q1[i] = i.joint.integrate(q[i], way)
        X0[i], S0[i] = i.transform(q[i]), i.subspace(q[i])
        X1[i], S1[i] = i.transform(q1[i]), i.subspace(q1[i])
        D[i] = D[p].at(X0[i]).then(_of_joint(i, q[i], q1[i], way))
    return Ends(q1, X0, X1, S0, S1, D)


def _of_joint(i: Index, q: Freedoms, q1: Freedoms, way: Freedoms) -> Displacement:
    """Return the displacement of a joint's child, seen from itself, while the parent stands still."""
    joint = i.joint
    if type(joint).bias is Joint.bias:
        reached = joint.integrate(Freedoms(joint.neutral()), way)
        return Displacement.of(joint.transform(reached).child(Pose.zero()))
    return Displacement.of(_seen(joint.transform(q), joint.transform(q1).child(Pose.zero())))


def _seen(X: Transform | Chain, pose: Pose) -> Pose:
    """Return a pose in the parent's frame, seen from the child's."""
    (a, b, c), r = transpose(pose.rotation), pose.position
    for step in X.factors if isinstance(X, Chain) else (X,):
        E = step.rotation
        a, b, c, r = E.apply(a), E.apply(b), E.apply(c), E.apply(subtract(r, step.r))
    return Pose(transpose((a, b, c)), r)


def momenta(inertia: Inertia, displacement: Displacement, dt: Scalar) -> tuple[Force, Force]:
    """Return the momentum of a body at the start and at the finish of a displacement, each in its frame there."""
    W, rate = displacement.W, 1.0 / dt
    w = rotation_vector(W)
    c, Ic = _central(inertia)
    f0 = scale(rate, add(scale(inertia.m, displacement.d), matvec(W, inertia.h)))
    f1 = add(f0, matvec(transpose(W), f0))
    l = scale(rate, matvec(Ic, w))
    half = scale(0.5, cross(w, l))
    even = add(l, scale(unscrew(dot(w, w)), cross(w, cross(w, l))))
    start, finish = add(even, half), subtract(even, half)
    return Force(add(start, cross(c, f0)), f0), Force(add(finish, cross(c, f1)), f1)


def rotation_vector(W: Matrix3) -> Vector3:
    """Return the rotation vector of a rotation by less than half a turn, from its matrix less one."""
    n = scale(0.5, (W[2][1] - W[1][2], W[0][2] - W[2][0], W[1][0] - W[0][1]))
    cosine = 1.0 + 0.5 * (W[0][0] + W[1][1] + W[2][2])
    s2 = dot(n, n)
    near = where_less(cosine, 0.0, 1.0, s2)
    s = sqrt(where_less(near, _SMALL, 1.0, s2 + 1e-300))
    # asin(s) / s
    terms = (1.0, 1.0 / 6.0, 3.0 / 40.0, 15.0 / 336.0, 105.0 / 3456.0, 945.0 / 42240.0)
    series: Scalar = 0.0
    for term in reversed(terms):
        series = term + s2 * series
    k = where_less(near, _SMALL, series, atan2(s, cosine) / s)
    return scale(k, n)


def _central(inertia: Inertia) -> tuple[Vector3, Matrix3]:
    """Return the mass centre, and the inertia about it; a body without mass has its centre in the origin."""
    m, h, I = inertia.m, inertia.h, full(inertia.I)
    c = scale(1.0 / where_less(0.0, m, m, 1.0), h)
    ch = dot(c, h)
    x, y, z = (add(I[r], scale(h[r], c)) for r in range(3))
    return c, ((x[0] - ch, x[1], x[2]), (y[0], y[1] - ch, y[2]), (z[0], z[1], z[2] - ch))
