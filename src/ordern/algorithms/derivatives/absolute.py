"""Bodies in one common frame, that of the root body: poses, velocities, accelerations, forces and mass matrix.

    outward   v_i = v_p + S_i qd_i
              a_i = a_p + S_i qdd_i + v_p x S_i qd_i + c_i            (spatial accelerations)
              f_i = I_i a_i + v_i x* I_i v_i - external_i
    inward    Ic_i = I_i + sum of Ic_j of the children j
              M_ii = S_i^T Ic_i S_i + armature_i,    M_ji = S_j^T Ic_i S_i    for each ancestor j of i

Quantities of different bodies are added as they are. In the frame of the root body a free joint at the base has unit
columns, and a robot far from the origin of the world loses no digits. c_i is the bias of the joint.
Cost: order n, and n d for the mass matrix, where d is the depth of the tree.

Reference: Featherstone and Orin 2000, secs. 3.1 and 3.2, without coordinates.
"""

from __future__ import annotations

from typing import Any

from ...model import Base, Bodies, Field, Index, Joints, Output, Tree
from ...records import dataclass
from ...spatial import Columns, Force, Forces, Inertia, Motion, Pose, Transform, Turn, plus_diagonal
from ...spatial.angular import AngularMatrix
from ...spatial.linear import ZERO3, cross, transpose
from .body_coriolis import body_coriolis

__all__ = ["Absolute", "absolute", "forces", "mass_matrix"]


@dataclass(frozen=True, slots=True)
class Absolute:
    """Poses, subspaces, velocities and inertias of the bodies, in the common frame."""

    pose: Field[Pose]
    S: Field[Columns]
    v: Field[Motion]
    above: Field[Motion]
    """The velocity v_p of each body's parent."""
    moving: Field[Columns]
    """v_p x S: the rates of the columns with the motion of the parent."""
    inertia: Field[Inertia]
    coriolis: Field[AngularMatrix]
    push: Field[Force]
    """The force v x* I v - external that keeps a body without acceleration."""
    to_root: Field[Any]
    """The transform from the base to a root body; None for other bodies."""

    def parent(self, i: Index, p: Index, of: Field[Motion]) -> Motion:
        """Return a motion of the parent, in the common frame: a base's own motion is in the base's frame."""
        X = self.to_root[i]
        return of[p] if X is None else X @ of[p]


def absolute(tree: Tree, q: Joints, qd: Joints, external: Bodies, v0: Base) -> Absolute:
    """Return the bodies at the position q and velocity qd, on a base that moves at v0."""
    pose, v = tree.field(Pose), tree.field(Motion, base=v0[tree.base])
    inertia, coriolis, push = tree.field(Inertia), tree.field(AngularMatrix), tree.field(Force)
    found = Absolute(pose, tree.own(), v, tree.own(), tree.own(), inertia, coriolis, push, tree.own())
    for i, p in tree.outward():
        X = i.transform(q[i])
        on_base = tree.on_base(i)
        found.to_root[i] = X if on_base else None
        pose[i] = Pose.zero() if on_base else X.child(pose[p])
        found.S[i] = S = Columns(tuple(pose[i] @ column for column in i.subspace(q[i]).columns))
        found.above[i] = vp = found.parent(i, p, v)
        found.moving[i] = Columns(tuple(vp.cross(t) for t in S.columns))
        v[i] = vp + S @ qd[i]
        Z = Transform(Turn(transpose(pose[i].rotation)), pose[i].position)
        inertia[i] = Z.T @ i.inertia @ Z
        momentum = inertia[i] @ v[i]
        coriolis[i] = body_coriolis(inertia[i], v[i], momentum)
        push[i] = v[i].cross(momentum) - Z.T @ external[i]
    return found


def forces(
    tree: Tree, bodies: Absolute, q: Joints, qd: Joints, qdd: Joints | None, v0: Base, a0: Base
) -> tuple[Field[Motion], Field[Force]]:
    """Return the acceleration of each body's parent, and the force that moves each body; without `qdd` it is zero."""
    started, moved = tree.base_acceleration + a0[tree.base], v0[tree.base]
    a = tree.field(Motion, base=started - Motion(ZERO3, cross(moved.angular, moved.linear)))
    above, f = tree.own(), tree.field(Force)
    for i, p in tree.outward():
        above[i] = ap = bodies.parent(i, p, a)
        a[i] = ap + bodies.moving[i] @ qd[i] + bodies.pose[i] @ i.bias(q[i], qd[i])
        if qdd is not None:
            a[i] = a[i] + bodies.S[i] @ qdd[i]
        f[i] = bodies.inertia[i] @ a[i] + bodies.push[i]
    return above, f


def mass_matrix(tree: Tree, bodies: Absolute, M: Output) -> tuple[Field[Inertia], Field[Forces]]:
    """Set the mass matrix; return the composite inertias, and their forces for unit accelerations of the freedoms."""
    S, Ic, F = bodies.S, tree.field(Inertia), tree.own()
    for i, _ in tree.outward():
        Ic[i] = bodies.inertia[i]
    for i, p in tree.inward():
        Ic[p] += Ic[i]
        F[i] = S[i].under(Ic[i])
        along = tree.register(F[i])
        M[i, i] = plus_diagonal(S[i].T @ F[i], i.armature)
        for j, _ in tree.ancestors(i):
            M[i, j] = S[j].T @ along.value
    return Ic, F
