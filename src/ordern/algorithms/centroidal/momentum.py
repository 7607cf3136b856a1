"""The centroidal momentum: the momentum of a robot or a subtree about its centre of mass, in the world's axes.

It is h = A_G(q) v, with the columns

    A_G,i = (n + (p_i - c) x f, f),    (n, f) = R_i (Ic_i S_i)

where p_i and R_i are the pose of body i, and c is the centre of mass. The rate of A_G follows from the rates of its
parts, all at the position and the velocity given:

    (n', f') = R_i (Ic_i' S_i + Ic_i (v_i x S_i + S_i')),    A_G,i' = (n' + (p_i - c) x f' - c' x f, f')
    inward    Ic_p' += X_i^T Ic_i' X_i

The rate of a rigid inertia is one of mass zero: its first moment is m times the velocity of the centre of mass.
Drives have momentum along their joints, which stays in the joint: armature does not count. Cost: order n.

Reference: Orin, Goswami and Lee 2013, eqs. (18)-(27); the rate by differentiating them.
"""

from __future__ import annotations

from ...graph import Scalar
from ...model import Frame, Joints, Output, Tree
from ...spatial import Chain, Force, Inertia, Motion
from ...spatial.linear import Matrix3, Vector3, add, cross, dot, full, matmul, matvec, scale, skew, subtract
from ..coriolis.rates import subspace_rates
from ..operational.momentum import carried_momenta
from ..registry import algorithm
from .composite import composite_inertias, mass_centre, membership, part_of

__all__ = ["centroidal_map", "centroidal_map_rate", "centroidal_momentum"]


@algorithm("centroidal_momentum", "composite-body", paper="Orin-Goswami-Lee 2013", equations="(18)-(20)")
def centroidal_momentum(tree: Tree, q: Joints, qd: Joints, frame: Frame) -> Force:
    """Return the momentum (angular, linear) of a subtree about its centre of mass."""
    b = tree.frame(frame)
    h = carried_momenta(tree, q, qd, Motion.zero())
    Ic, P = composite_inertias(tree, q, b)
    rotation = P[b.body].rotation
    total = h[b.body]
    about = subtract(total.angular, cross(mass_centre(Ic[b.body]), total.linear))
    return Force(matvec(rotation, about), matvec(rotation, total.linear))


@algorithm("centroidal_map", "composite-body", paper="Orin-Goswami-Lee 2013", equations="(21)-(27)")
def centroidal_map(tree: Tree, q: Joints, frame: Frame) -> Output:
    """Return the 6 x nv matrix A_G with the centroidal momentum = A_G qd."""
    b = tree.frame(frame)
    Ic, P = composite_inertias(tree, q, b)
    A = tree.output("columns")
    for i, _ in tree.outward():
        arm = subtract(P[i].position, P[b.body].point(mass_centre(Ic[b.body])))
        A[i] = [_about(arm, _turned(P[i].rotation, Ic[i] @ column)) for column in i.subspace(q[i]).columns]
    return A


@algorithm("centroidal_map_rate", "composite-body", paper="Orin-Goswami-Lee 2013", equations="(21)-(27), their rates")
def centroidal_map_rate(tree: Tree, q: Joints, qd: Joints, frame: Frame) -> Output:
    """Return the rate of change of the matrix A_G along a motion."""
    b = tree.frame(frame)
    inside = membership(tree, b)
    Ic, P = composite_inertias(tree, q, b)
    v, D = tree.field(Motion), tree.field(Inertia)
    X = tree.own(Chain)
    A = tree.output("columns")
    for i, p in tree.outward():
        X[i] = i.transform(q[i])
        v[i] = X[i] @ v[p] + i.subspace(q[i]) @ qd[i]
        D[i] = part_of(inside[i], _inertia_rate(i.rigid_inertia, v[i]))
    for i, p in tree.inward():
        D[p] += X[i].T @ D[i] @ X[i]
    for i, _ in tree.outward():
        arm, R = subtract(P[i].position, P[b.body].point(mass_centre(Ic[b.body]))), P[i].rotation
        moving = scale(1.0 / Ic[b.body].m, matvec(P[b.body].rotation, D[b.body].h))
        S, seen = i.subspace(q[i]), subspace_rates(i, q[i], qd[i])
        columns = []
        for column, own in zip(S.columns, seen.columns, strict=True):
            F = _turned(R, Ic[i] @ column)
            rate = _turned(R, D[i] @ column + Ic[i] @ (v[i].cross(column) + own))
            at = _about(arm, rate)
            columns.append(Force(subtract(at.angular, cross(moving, F.linear)), at.linear))
        A[i] = columns
    return A


def _turned(R: Matrix3, f: Force) -> Force:
    """Return a force in other axes."""
    return Force(matvec(R, f.angular), matvec(R, f.linear))


def _about(arm: Vector3, f: Force) -> Force:
    """Return a force about a point from which its own reference point is at `arm`."""
    return Force(add(f.angular, cross(arm, f.linear)), f.linear)


def _inertia_rate(inertia: Inertia, v: Motion) -> Inertia:
    """Return the rate of an inertia about a fixed point in fixed axes, while its body moves: I' = v x* I - I v x."""
    w, u, h = v.angular, v.linear, inertia.h
    turn = matmul(skew(w), full(inertia.I))
    twice = 2.0 * dot(u, h)

    def entry(r: int, k: int) -> Scalar:
        found = turn[r][k] + turn[k][r] - u[r] * h[k] - h[r] * u[k]
        return found + twice if r == k else found

    rows = (entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2))
    return Inertia(0.0, add(scale(inertia.m, u), cross(w, h)), rows)
