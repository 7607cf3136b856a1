"""Velocity and acceleration of a frame, propagated outward along its path. Cost: order of depth."""

from __future__ import annotations

from ...model import Base, Field, Frame, Joints, PlacedFrame, Tree
from ...spatial import Motion, Pose
from ...spatial.linear import ZERO3, add, cross, subtract
from ..registry import algorithm
from .pose import path_poses

__all__ = ["acceleration", "axes_of", "path_velocities", "velocity"]


@algorithm("velocity", "outward", paper="Featherstone-Orin 2000", equations="sec. 3.1", order="d")
def velocity(tree: Tree, q: Joints, qd: Joints, v0: Base, frame: Frame, axes: str) -> Motion:
    """Return the velocity (angular, linear) of a frame at its origin, in its own axes or the world's."""
    f = tree.frame(frame)
    v = path_velocities(tree, q, qd, f, v0[tree.base])
    return axes_of(tree, q, f, axes) @ (f.placement @ v[f.body])


def path_velocities(tree: Tree, q: Joints, qd: Joints, frame: PlacedFrame, base: Motion) -> Field[Motion]:
    """Return the velocities of the bodies between the base and a frame, in their own frames."""
    v = tree.field(Motion, base=base)
    for i, p in tree.path(frame):
        v[i] = i.transform(q[i]) @ v[p] + i.subspace(q[i]) @ qd[i]
    return v


@algorithm("acceleration", "outward", paper="Featherstone-Orin 2000", equations="sec. 3.1", order="d")
def acceleration(
    tree: Tree, q: Joints, qd: Joints, qdd: Joints, v0: Base, a0: Base, frame: Frame, axes: str, kind: str
) -> Motion:
    """Return the acceleration (angular, linear) of a frame at its origin, in its own axes or the world's.

    Of the kind "classical" the linear part is the second derivative of the origin's position; of the kind
    "spatial" it is the rate of change of the velocity field at the point where the origin is.
    """
    f = tree.frame(frame)
    still, started = v0[tree.base], a0[tree.base]
    spatial = Motion(started.angular, subtract(started.linear, cross(still.angular, still.linear)))
    v, a = tree.field(Motion, base=still), tree.field(Motion, base=spatial)
    for i, p in tree.path(f):
        X, vJ = i.transform(q[i]), i.subspace(q[i]) @ qd[i]
        v[i] = X @ v[p] + vJ
        c = v[i].cross(vJ) + i.bias(q[i], qd[i])
        a[i] = X @ a[p] + i.subspace(q[i]) @ qdd[i] + c
    E = axes_of(tree, q, f, axes)
    vf, af = f.placement @ v[f.body], f.placement @ a[f.body]
    if axes == "origin":
        vf, af = E @ vf, E @ af
    if kind == "classical":
        af = Motion(af.angular, add(af.linear, cross(vf.angular, vf.linear)))
    return af if axes == "origin" else E @ af


def axes_of(tree: Tree, q: Joints, frame: PlacedFrame, axes: str) -> Pose:
    """Return the pose of a frame in the chosen axes: its own; the world's, about its own origin; or the world's."""
    if axes == "frame":
        return Pose.zero()
    there = frame.pose(path_poses(tree, q, frame)[frame.body])
    return there if axes == "origin" else Pose(there.rotation, ZERO3)
