"""The relative motion of the two frames of each loop: poses and velocities for the constraints.

    outward   P_i = P_p X_i,    v_i = X_i v_p + S_i qd_i,    a_i = X_i a_p + v_i x S_i qd_i + (bias)

all relative to the next top of a loop inward of i, where the walk starts anew: bodies inward of a loop's top have no
effect on the loop (see `ordern.model.loops`). Relative to the parent's frame f, the child's frame c is at R = R_f^T
R_c, p = R_f^T (p_c - p_f), and moves, in its own axes and with X from f to c, at

    V = v_c - X v_f,    dV/dt = a_c - X a_f + V x X v_f        with joint accelerations zero, unless given

Cost: order n.
"""

from __future__ import annotations

from typing import TypeVar

from ...graph import Scalar, where_less
from ...model import Index, Joints, PathEnd, TracedLoop, Tree
from ...records import dataclass
from ...spatial import Motion, Pose, Real, Transform, Turn, leaves, rebuild
from ...spatial.linear import add, matmul, matvec, subtract, transpose

__all__ = ["Ends", "Relative"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Relative:
    """The child's frame of a loop relative to the parent's: its pose, its velocity, and the rate of that."""

    pose: Pose
    V: Motion
    A: Motion

    @property
    def X(self) -> Transform:
        """The transform from the parent's frame to the child's."""
        return Transform(Turn(transpose(self.pose.rotation)), self.pose.position)


@dataclass(frozen=True, slots=True)
class _End:
    """A frame relative to a loop's top."""

    pose: Pose
    v: Motion
    a: Motion


class Ends:
    """Poses and motions of the bodies, by one walk outward, and the frames of loops relative to each other."""

    def __init__(self, tree: Tree, q: Joints, qd: Joints | None = None, qdd: Joints | None = None) -> None:
        """Without velocities, loops are at rest. From the top of a loop, the walk starts anew."""
        self.tree, self.moves, tops = tree, qd is not None, tree.model.loop_table.tops
        P, v, a = self.P, self.v, self.a = tree.field(Pose), tree.field(Motion), tree.field(Motion)
        if tops:  # then a top passes zero to its children, not its own pose and motion
            P, v, a = tree.field(Pose), tree.field(Motion), tree.field(Motion)
            top = tree.field(Real)
            for i, _ in tree.outward():
                top[i] = 0.0
            for k in tops:
                top[Index(k)] = 1.0
        for i, p in tree.outward():
            X = i.transform(q[i])
            self.P[i] = X.child(P[p])
            if qd is not None:
                S = i.subspace(q[i])
                vJ = S @ qd[i]
                self.v[i] = X @ v[p] + vJ
                self.a[i] = X @ a[p] + self.v[i].cross(vJ) + i.bias(q[i], qd[i])
                if qdd is not None:
                    self.a[i] = self.a[i] + S @ qdd[i]
            if tops:
                P[i] = _unless(top[i], self.P[i], Pose.zero())
            if tops and qd is not None:
                v[i] = _unless(top[i], self.v[i], Motion.zero())
                a[i] = _unless(top[i], self.a[i], Motion.zero())

    def relative(self, loop: TracedLoop) -> Relative:
        """Return the child's frame relative to the parent's."""
        f, c = self._end(loop.parent), self._end(loop.child)
        back = transpose(f.pose.rotation)
        R, p = matmul(back, c.pose.rotation), matvec(back, subtract(c.pose.position, f.pose.position))
        X = Transform(Turn(transpose(R)), p)
        carried = X @ f.v
        V = c.v - carried
        return Relative(Pose(R, p), V, c.a - X @ f.a + V.cross(carried))

    def _end(self, end: PathEnd) -> _End:
        """Return a frame relative to the loop's top, from top to top outward."""
        pose, v, a = Pose.zero(), Motion.zero(), Motion.zero()
        for k in reversed(end.bodies):
            here = self.P[Index(k)]
            if self.moves:
                X = Transform(Turn(transpose(here.rotation)), here.position)
                own = self.v[Index(k)]
                v = X @ v + own
                a = X @ a + self.a[Index(k)] + v.cross(own)
            pose = _product(pose, here)
        placement = self.tree.end(end).placement
        return _End(placement.child(pose), placement @ v, placement @ a)


def _product(outer: Pose, inner: Pose) -> Pose:
    at = add(outer.position, matvec(outer.rotation, inner.position))
    return Pose(matmul(outer.rotation, inner.rotation), at)


def _unless(flag: Scalar, value: T, other: T) -> T:
    """Return the value, or the other one where the flag is 1."""
    pairs = zip(leaves(value), leaves(other), strict=True)
    return rebuild(value, iter([where_less(flag, 0.5, x, y) for x, y in pairs]))
