"""The bias force of operational space: the force at a frame that keeps it from accelerating, without joint forces.

    f = Lambda (J M^-1 c - Jdot qd),    Lambda = (J M^-1 J^T)^-1,    c = bias force of the joints, gravity included

so that a frame on which the force f acts, while all joint forces are zero, has the acceleration zero: the second
derivative of its origin and the derivative of its angular velocity ("classical", in an inertial frame). With more force
F on it, it accelerates by Lambda^-1 F; with joint forces tau, by J M^-1 tau besides. It is the sum of the terms mu (of
velocities) and p (of gravity: at rest, the force that carries the weight) of the literature. Springs and friction in
the joints are not included. Where Lambda does not exist, f is not a number.

    outward   w_i, r_i, c_i as in the articulated-body algorithm
    inward    P_i, D_i, G_i as there; forces at zero acceleration, without joint forces:
              u_i = -S_i^T z_i - (gyration of the drive),    z_p += X_i^T (z_i + Pa c_i + G_i u_i) + X_i^T Pa X_i r_i
    outward, on the path to the frame:
              a' = X_i (a_p + r_i) + c_i,    a_i = a' + S_i (D_i^-1 u_i - G_i^T a')
    at the frame, f = -Lambda a_f

Gravity is an acceleration of the base upwards; at the frame it is subtracted again. Mimic joints are bound by
`binding`. Cost: order n.

Reference: Rodriguez and Kreutz 1988, Part II, eqs. (6.10), (6.11a)-(6.11c): a_f is alpha_f(0); Jain 1991, eqs. (11),
(14), (45), (60). The gravity in a_f: Part I, eq. (3.21), from which it must be subtracted again.
Differs: both number links from the tip; trees.
"""

from __future__ import annotations

from ...model import Frame, Joints, Tree
from ...spatial import ArticulatedInertia, Force, Motion, Spin, eliminate
from ...spatial.linear import dot
from ..binding import violations
from ..factors.articulated import Articulated
from ..registry import algorithm
from ..velocities import velocities
from .inertia import at_frame
from .regular import regular_inverse

__all__ = ["operational_bias"]


@algorithm(
    "operational_bias",
    "innovations",
    paper="Rodriguez-Kreutz 1988; Jain 1991",
    equations="R-K Part II (6.10), (6.11a)-(6.11c); Jain (11), (14), (45), (60)",
    regroup=True,
)
def operational_bias(tree: Tree, q: Joints, qd: Joints, frame: Frame, axes: str) -> Force:
    """Return the force (moment, force) at a frame that keeps it from accelerating, in its own axes or the world's."""
    f = tree.frame(frame)
    w = tree.field(Spin)
    a, up = tree.field(Motion, base=tree.base_acceleration), tree.field(Motion, base=tree.base_acceleration)
    P, z = tree.field(ArticulatedInertia), tree.field(Force)
    X, S, r, c, G, D, nu = (tree.own() for _ in range(7))

    for i, p in tree.outward():
        X[i], S[i], w[i], r[i], c[i], z[i] = velocities(i, q[i], qd[i], w[p])
        P[i] = i.inertia.articulated()

    for i, p in tree.inward():
        G[i], D[i], Pa = eliminate(P[i], S[i], i.armature)
        u = -(S[i].T @ z[i] + i.gyration(q[i], qd[i]))
        nu[i] = D[i].solve(u)
        Pp = X[i].T @ Pa @ X[i]
        P[p] += Pp
        z[p] += X[i].T @ (z[i] + Pa @ c[i] + G[i] @ u) + Pp @ r[i]

    qdd = tree.own()
    for i, p in tree.outward() if tree.couplings else tree.path(f):
        a_ = X[i] @ (a[p] + r[i]) + c[i]
        qdd[i] = nu[i] - G[i].T @ a_
        a[i] = a_ + S[i] @ qdd[i]
        up[i] = X[i] @ up[p]

    e = violations(tree, qdd) if tree.couplings else None
    found = at_frame(tree, q, Articulated(X, S, P, G, D), f, axes)
    acceleration = (found.X @ (a[f.body] + f.placement.centripetal(w[f.body]) - up[f.body])).scalars
    if found.binding and e is not None:
        forces = found.binding.solve(e[tree.base])
        acceleration = tuple(x - dot(row, forces) for x, row in zip(acceleration, found.W, strict=True))
    Lambda, spoilt = regular_inverse(tree, frame, found.compliance)
    return Force.of(tuple(spoilt - dot(row, acceleration) for row in Lambda))
