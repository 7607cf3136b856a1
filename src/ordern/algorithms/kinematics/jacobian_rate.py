"""The rate of change of a frame's Jacobian along a motion. Cost: order of depth.

The columns of the Jacobian are X_i S_i, where X_i takes motions of body i to the chosen axes. While the joints move,

    (X_i S_i)' = X_i S_i' + u_i x X_i S_i,    u_p = u_i - X_i S_i qd_i

with S_i' the rate that body i sees, and u_i the velocity of body i relative to the axes, in these axes. At the frame's
own body it is zero in the axes of the frame, the angular velocity in the axes of the world, which follow the frame's
origin, and the whole velocity in the axes of the world about its own origin. The walk goes inward, as for the Jacobian.
"""

from __future__ import annotations

from ...model import Frame, Joints, Output, Tree
from ...spatial import Motion, Pose
from ...spatial.linear import ZERO3
from ..coriolis.rates import subspace_rates
from ..registry import algorithm
from .velocity import axes_of, path_velocities

__all__ = ["jacobian_rate"]


@algorithm("jacobian_rate", "inward", equations="J' = columns X S' + u x X S", order="d")
def jacobian_rate(tree: Tree, q: Joints, qd: Joints, frame: Frame, axes: str) -> Output:
    """Return the 6 x nv matrix J'. The acceleration of the frame is J qdd + J' qd."""
    f = tree.frame(frame)
    J = tree.output("columns")
    P, u = tree.field(Pose), tree.field(Motion)
    v = None if axes == "frame" else path_velocities(tree, q, qd, f, Motion.zero())
    E = axes_of(tree, q, f, axes)
    P[f.body] = f.placement.parent(E)
    u[f.body] = Motion.zero()
    if v is not None:
        own = E @ (f.placement @ v[f.body])
        u[f.body] = Motion(own.angular, ZERO3) if axes == "world" else own
    for i, p in tree.path_inward(f):
        S, seen = i.subspace(q[i]), subspace_rates(i, q[i], qd[i])
        pairs = zip(S.columns, seen.columns, strict=True)
        J[i] = [P[i] @ rate + u[i].cross(P[i] @ column) for column, rate in pairs]
        u[p] = u[i] - P[i] @ (S @ qd[i])
        P[p] = i.transform(q[i]).parent(P[i])
    return J
