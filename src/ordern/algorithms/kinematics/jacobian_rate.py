"""The rates of change of a frame's Jacobian: along a motion, and by each freedom. Cost: order of depth, and n d.

The columns of the Jacobian are X_i S_i, where X_i takes motions of body i to the chosen axes. While the joints move,

    (X_i S_i)' = X_i S_i' + u_i x X_i S_i,    u_p = u_i - X_i S_i qd_i

with S_i' the rate that body i sees, and u_i the velocity of body i relative to the axes, in these axes. At the frame's
own body it is zero in the axes of the frame, the angular velocity in the axes of the world, which follow the frame's
origin, and the whole velocity in the axes of the world about its own origin. The walk goes inward, as for the Jacobian.

The rate is linear in the velocity. Its matrices for unit velocities of each freedom are the kinematic Hessian.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model import Field, Frame, Index, Joints, Output, PlacedFrame, Register, Tree
from ...records import dataclass
from ...spatial import Motion, Pose
from ...spatial.linear import ZERO3
from ..coriolis.rates import subspace_rates
from ..registry import algorithm
from .velocity import axes_of, path_velocities

__all__ = ["jacobian_rate", "kinematic_hessian"]


@algorithm("jacobian_rate", "inward", equations="J' = columns X S' + u x X S", order="d")
def jacobian_rate(tree: Tree, q: Joints, qd: Joints, frame: Frame, axes: str) -> Output:
    """Return the 6 x nv matrix J'. The acceleration of the frame is J qdd + J' qd."""
    J = tree.output("columns")
    for i, columns in _Columns.of(tree, q, frame, axes).rates(qd):
        J[i] = columns
    return J


@algorithm("kinematic_hessian", "inward", equations="columns X S' + u x X S for unit velocities", order="n d")
def kinematic_hessian(tree: Tree, q: Joints, frame: Frame, axes: str) -> Output:
    """Return the 6 x nv x nv array H of the derivatives of the Jacobian by each freedom: J' = H qd."""
    known, H = _Columns.of(tree, q, frame, axes), tree.output("column_rates")
    for d in tree.freedoms():
        for i, columns in known.rates(tree.unit("v", d)):
            H[i, d] = columns
    return H


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of a frame's Jacobian: the poses of the bodies on its path in the chosen axes."""

    tree: Tree
    q: Joints
    frame: PlacedFrame
    axes: str
    E: Register[Pose]
    """The frame's own pose in the axes."""
    P: Field[Pose]

    @classmethod
    def of(cls, tree: Tree, q: Joints, frame: Frame, axes: str) -> _Columns:
        f = tree.frame(frame)
        E, P = tree.register(axes_of(tree, q, f, axes)), tree.field(Pose)
        P[f.body] = f.placement.parent(E.value)
        for i, p in tree.path_inward(f):
            P[p] = i.transform(q[i]).parent(P[i])
        return cls(tree, q, f, axes, E, P)

    def rates(self, qd: Joints) -> Iterator[tuple[Index, list[Motion]]]:
        """Yield the bodies between the frame and the base with the rates of their columns along a velocity."""
        tree, q, f, P, u = self.tree, self.q, self.frame, self.P, self.tree.field(Motion)
        u[f.body] = Motion.zero()
        if self.axes != "frame":
            v = path_velocities(tree, q, qd, f, Motion.zero())
            own = self.E.value @ (f.placement @ v[f.body])
            u[f.body] = Motion(own.angular, ZERO3) if self.axes == "world" else own
        for i, p in tree.path_inward(f):
            S, seen = i.subspace(q[i]), subspace_rates(i, q[i], qd[i])
            pairs = zip(S.columns, seen.columns, strict=True)
            yield i, [P[i] @ rate + u[i].cross(P[i] @ column) for column, rate in pairs]
            u[p] = u[i] - P[i] @ (S @ qd[i])
