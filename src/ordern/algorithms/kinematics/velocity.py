"""Velocity and acceleration of a frame, propagated outward along its path. Cost: order of depth."""

from __future__ import annotations

from ...model import Base, Field, Frame, Joints, PlacedFrame, Tree
from ...spatial import Motion, Pose
from ...spatial.linear import ZERO3, add, cross, subtract
from ..registry import algorithm
from .pose import path_poses

__all__ = [
    "acceleration",
    "axes_at",
    "axes_of",
    "path_accelerations",
    "path_velocities",
    "seen_acceleration",
    "velocity",
]


@algorithm("velocity", "outward", paper="Featherstone-Orin 2000", equations="sec. 3.1", order="d")
def velocity(tree: Tree, q: Joints, qd: Joints, v0: Base, frame: Frame, axes: str) -> Motion:
    """Return the velocity (angular, linear) of a frame at its origin, in its own axes or the world's."""
    f = tree.frame(frame)
    v = path_velocities(tree, q, qd, f, v0[tree.base])
    return axes_of(tree, q, f, axes) @ (f.placement @ v[f.body])


@algorithm("acceleration", "outward", paper="Featherstone-Orin 2000", equations="sec. 3.1", order="d")
def acceleration(
    tree: Tree, q: Joints, qd: Joints, qdd: Joints, v0: Base, a0: Base, frame: Frame, axes: str, kind: str
) -> Motion:
    """Return the acceleration (angular, linear) of a frame at its origin, in its own axes or the world's.

    Of the kind "classical" the linear part is the second derivative of the origin's position; of the kind
    "spatial" it is the rate of change of the velocity field at the point where the origin is.
    """
    f = tree.frame(frame)
    v, a = path_accelerations(tree, q, qd, qdd, f, v0[tree.base], a0[tree.base])
    E = axes_of(tree, q, f, axes)
    return seen_acceleration(f.placement @ v[f.body], f.placement @ a[f.body], E, axes, kind)


def path_velocities(tree: Tree, q: Joints, qd: Joints, frame: PlacedFrame | None, base: Motion) -> Field[Motion]:
    """Return the velocities of the bodies between the base and a frame, in their own frames; without one, of all."""
    v = tree.field(Motion, base=base)
    for i, p in tree.outward() if frame is None else tree.path(frame):
        v[i] = i.transform(q[i]) @ v[p] + i.subspace(q[i]) @ qd[i]
    return v


def path_accelerations(
    tree: Tree, q: Joints, qd: Joints, qdd: Joints, frame: PlacedFrame | None, still: Motion, started: Motion
) -> tuple[Field[Motion], Field[Motion]]:
    """Return velocities and spatial accelerations of the bodies between the base and a frame; without one, of all.

    The base moves at the velocity `still` and the classical acceleration `started`.
    """
    spatial = Motion(started.angular, subtract(started.linear, cross(still.angular, still.linear)))
    v, a = tree.field(Motion, base=still), tree.field(Motion, base=spatial)
    for i, p in tree.outward() if frame is None else tree.path(frame):
        X, vJ = i.transform(q[i]), i.subspace(q[i]) @ qd[i]
        v[i] = X @ v[p] + vJ
        c = v[i].cross(vJ) + i.bias(q[i], qd[i])
        a[i] = X @ a[p] + i.subspace(q[i]) @ qdd[i] + c
    return v, a


def seen_acceleration(v: Motion, a: Motion, E: Pose, axes: str, kind: str) -> Motion:
    """Return an acceleration of a kind in the chosen axes, from the frame's motion in its own axes."""
    if axes == "origin":
        v, a = E @ v, E @ a
    if kind == "classical":
        a = Motion(a.angular, add(a.linear, cross(v.angular, v.linear)))
    return a if axes == "origin" else E @ a


def axes_of(tree: Tree, q: Joints, frame: PlacedFrame, axes: str) -> Pose:
    """Return the pose of a frame in the chosen axes: its own; the world's, about its own origin; or the world's."""
    if axes == "frame":
        return Pose.zero()
    return axes_at(frame.pose(path_poses(tree, q, frame)[frame.body]), axes)


def axes_at(there: Pose, axes: str) -> Pose:
    """Return the pose of a frame in the chosen axes, given its pose in the world."""
    if axes == "frame":
        return Pose.zero()
    return there if axes == "origin" else Pose(there.rotation, ZERO3)
