"""Velocities of the bodies, and the accelerations and forces that they cause: the first sweep of most methods.

    outward   w_i = X_i w_p + S_i qd_i                          (angular velocity)
              r_i = centripetal acceleration of body i's origin, in the parent's axes
              c_i = Coriolis acceleration of body i
              b_i = gyroscopic force of body i

Gravity is an acceleration of the base upwards; a base that moves (v0, a0) adds its own.

Reference: Jain 1991, eqs. (11), (14), where X_i r_i + c_i is a(k) and b_i is b(k).
"""

from __future__ import annotations

from ..model import Base, Field, Index, Tree
from ..spatial import Chain, Force, Freedoms, Motion, Spin, Subspace

__all__ = ["base_motion", "velocities"]


def base_motion(tree: Tree, v0: Base, a0: Base) -> tuple[Field[Spin], Field[Motion]]:
    """Return fields of angular velocities and accelerations that hold the motion of the base, with gravity."""
    w = tree.field(Spin, base=Spin(v0[tree.base].angular))
    return w, tree.field(Motion, base=tree.base_acceleration + a0[tree.base])


def velocities(i: Index, q: Freedoms, qd: Freedoms, w: Spin) -> tuple[Chain, Subspace, Spin, Motion, Motion, Force]:
    """Return X, S, w_i, r, c and b of body i, whose parent turns at w."""
    X, S = i.transform(q), i.subspace(q)
    vJ = S @ qd
    w_i = X @ w + vJ
    return X, S, w_i, X.centripetal(w), w_i.coriolis(vJ) + i.bias(q, qd), w_i.gyroscopic(i.rigid_inertia)
