"""Poses, velocities, accelerations and Jacobians of many frames, from one sweep over all bodies.

    outward   P_i = P_p X_i,    v_i and a_i as in `velocity`
    at each frame f, fixed to the body b:    P_f = P_b X_f,    v_f = X_f v_b

The columns of freedom k of body i, whose joint moves the frame f, are in the world's axes

    (R_i w_k,  R_i u_k + R_i w_k x (p_f - p_i)),    (w_k, u_k) = column k of S_i

and zero for all other joints. Cost: order n, and k for each of k frames; k n for Jacobians.
"""

from __future__ import annotations

from ...graph import Scalar
from ...model import Base, Frame, Joints, Output, PlacedFrame, Tree, Values
from ...spatial import Motion, Pose, Real
from ...spatial.linear import add, cross, matvec, scale, subtract, transpose
from ..field_types import cleared
from ..registry import algorithm
from .pose import path_poses
from .velocity import axes_at, path_accelerations, path_velocities, seen_acceleration

__all__ = ["accelerations", "jacobians", "poses", "velocities"]

Frames = tuple[Frame, ...]


@algorithm("poses", "outward", equations="product of placements and joint transforms")
def poses(tree: Tree, q: Joints, frames: Frames) -> tuple[Pose, ...]:
    """Return the homogeneous matrices of frames in the world."""
    P = path_poses(tree, q, None)
    return tuple(f.pose(P[f.body]) for f in map(tree.frame, frames))


@algorithm("velocities", "outward", paper="Featherstone-Orin 2000", equations="sec. 3.1")
def velocities(tree: Tree, q: Joints, qd: Joints, v0: Base, frames: Frames, axes: str) -> tuple[Motion, ...]:
    """Return the velocities (angular, linear) of frames at their origins, in their own axes or the world's."""
    v = path_velocities(tree, q, qd, None, v0[tree.base])
    placed = [tree.frame(frame) for frame in frames]
    E = _axes(tree, q, placed, axes)
    return tuple(E[k] @ (f.placement @ v[f.body]) for k, f in enumerate(placed))


@algorithm("accelerations", "outward", paper="Featherstone-Orin 2000", equations="sec. 3.1")
def accelerations(
    tree: Tree, q: Joints, qd: Joints, qdd: Joints, v0: Base, a0: Base, frames: Frames, axes: str, kind: str
) -> tuple[Motion, ...]:
    """Return the accelerations (angular, linear) of frames at their origins; see `acceleration`."""
    v, a = path_accelerations(tree, q, qd, qdd, None, v0[tree.base], a0[tree.base])
    placed = [tree.frame(frame) for frame in frames]
    E = _axes(tree, q, placed, axes)
    return tuple(
        seen_acceleration(f.placement @ v[f.body], f.placement @ a[f.body], E[k], axes, kind)
        for k, f in enumerate(placed)
    )


@algorithm("jacobians", "outward", equations="columns X_f,i S_i", order="n k")
def jacobians(tree: Tree, q: Joints, frames: Frames, axes: str) -> Output:
    """Return the 6 x nv matrices J with velocity = J qd of frames, in their own axes or the world's."""
    placed = [tree.frame(frame) for frame in frames]
    P, J = path_poses(tree, q, None), tree.output("frame_columns")
    moves = {f.body.key: _movers(tree, f) for f in placed}
    at = [tree.register(f.pose(P[f.body])) for f in placed]
    for i, _ in tree.outward():
        R, p = P[i].rotation, P[i].position
        columns = []
        for column in i.subspace(q[i]).columns:
            w, u = matvec(R, column.angular), matvec(R, column.linear)
            numbers: list[Scalar] = []
            for f, there in zip(placed, at, strict=True):
                inside, F = moves[f.body.key][i], there.value
                lever = p if axes == "origin" else subtract(p, F.position)
                seen = Motion(scale(inside, w), scale(inside, add(u, cross(lever, w))))
                numbers += _turned(F, seen, axes).scalars
            columns.append(numbers)
        J[i] = columns
    return J


@algorithm("body_poses", "outward", equations="product of placements and joint transforms")
def body_poses(tree: Tree, q: Joints) -> Output:
    """Return the homogeneous matrices of all bodies in the world."""
    P, found = path_poses(tree, q, None), tree.output("body_poses")
    for i, _ in tree.outward():
        x, y, z = P[i].rotation
        turn = i.turn
        found[i] = [Pose((turn.back(x), turn.back(y), turn.back(z)), P[i].position)]
    return found


@algorithm("body_velocities", "outward", paper="Featherstone-Orin 2000", equations="sec. 3.1")
def body_velocities(tree: Tree, q: Joints, qd: Joints, v0: Base, axes: str) -> Output:
    """Return the velocities (angular, linear) of all bodies at their origins, in their own axes or the world's."""
    v, found = path_velocities(tree, q, qd, None, v0[tree.base]), tree.output("body_motions")
    P = None if axes == "frame" else path_poses(tree, q, None)
    for i, _ in tree.outward():
        seen = v[i] if P is None else axes_at(P[i], axes) @ v[i]
        found[i] = [Motion(i.turn.back(seen.angular), i.turn.back(seen.linear)) if P is None else seen]
    return found


@algorithm("body_accelerations", "outward", paper="Featherstone-Orin 2000", equations="sec. 3.1")
def body_accelerations(
    tree: Tree, q: Joints, qd: Joints, qdd: Joints, v0: Base, a0: Base, axes: str, kind: str
) -> Output:
    """Return the accelerations (angular, linear) of all bodies at their origins; see `acceleration`."""
    v, a = path_accelerations(tree, q, qd, qdd, None, v0[tree.base], a0[tree.base])
    found = tree.output("body_motions")
    P = None if axes == "frame" else path_poses(tree, q, None)
    for i, _ in tree.outward():
        seen = seen_acceleration(v[i], a[i], Pose.zero() if P is None else axes_at(P[i], axes), axes, kind)
        found[i] = [Motion(i.turn.back(seen.angular), i.turn.back(seen.linear)) if P is None else seen]
    return found


def _axes(tree: Tree, q: Joints, frames: list[PlacedFrame], axes: str) -> list[Pose]:
    """Return the pose of each frame in the chosen axes."""
    if axes == "frame":
        return [Pose.zero()] * len(frames)
    P = path_poses(tree, q, None)
    return [axes_at(f.pose(P[f.body]), axes) for f in frames]


def _movers(tree: Tree, frame: PlacedFrame) -> Values[float]:
    """Return 1 for the bodies that carry a frame, 0 for others."""
    carries = cleared(tree, Real)
    carries[frame.body] = 1.0
    for i, p in tree.inward():
        carries[p] += carries[i]
    return carries


def _turned(there: Pose, motion: Motion, axes: str) -> Motion:
    """Return a motion in the axes of a frame, if these are chosen."""
    if axes != "frame":
        return motion
    back = transpose(there.rotation)
    return Motion(matvec(back, motion.angular), matvec(back, motion.linear))
