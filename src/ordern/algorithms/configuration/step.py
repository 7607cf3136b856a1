"""Steps on the configuration manifold, joint by joint. Cost: order n."""

from __future__ import annotations

from ...model import Joints, Number, Output, Tree
from ..registry import algorithm

__all__ = ["difference", "integrate", "position_rate", "project"]


@algorithm("integrate", "joint-by-joint", equations="Joint.integrate")
def integrate(tree: Tree, q: Joints, qd: Joints, dt: Number) -> Output:
    """Return the position reached from q by moving at the constant velocity qd for the time dt."""
    out = tree.output("q")
    for i, _ in tree.outward():
        out[i] = i.joint.integrate(q[i], qd[i] * dt[i])
    return out


@algorithm("difference", "joint-by-joint", equations="Joint.difference")
def difference(tree: Tree, q0: Joints, q1: Joints) -> Output:
    """Return the constant velocity that leads from q0 to q1 in a unit of time."""
    out = tree.output("v")
    for i, _ in tree.outward():
        out[i] = i.joint.difference(q0[i], q1[i])
    return out


@algorithm("position_rate", "joint-by-joint", equations="Joint.rate")
def position_rate(tree: Tree, q: Joints, qd: Joints) -> Output:
    """Return the rate of the positions, dq/dt, at the velocity qd."""
    out = tree.output("q")
    for i, _ in tree.outward():
        out[i] = i.joint.rate(q[i], qd[i])
    return out


@algorithm("project", "joint-by-joint", equations="Joint.project")
def project(tree: Tree, q: Joints) -> Output:
    """Return the valid position next to numbers that are nearly one: normalise quaternions."""
    out = tree.output("q")
    for i, _ in tree.outward():
        out[i] = i.joint.project(q[i])
    return out
