"""Steps on the configuration manifold, joint by joint. Cost: order n."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...graph import Jet, Scalar
from ...model import Freedom, Index, Joints, Number, Output, Tree
from ...spatial import Freedoms
from ..registry import Port, algorithm, question

__all__ = [
    "by_freedom",
    "difference",
    "integrate",
    "joint_by_joint",
    "normalize",
    "position_rate",
    "position_tangent",
    "velocity_of_rate",
]

question("position_tangent", (Port("q", "q"), Port("rate", "q")), "v", "joint-by-joint")


def joint_by_joint(tree: Tree, kind: str, value: Callable[[Index], Freedoms]) -> Output:
    """Return a result of a kind whose part of each joint is `value(body)`."""
    out = tree.output(kind)
    for i, _ in tree.outward():
        out[i] = value(i)
    return out


def by_freedom(tree: Tree, kind: str, value: Callable[[Freedom], Scalar]) -> Output:
    """Return a result of a kind with one entry for each degree of freedom, `value(d)`.

    Results of forces are combined in this way: part i of such a result has the forces of all joints that follow joint i
    already, and `joint_by_joint` would add these a second time.
    """
    out = tree.output(kind)
    for d in tree.freedoms():
        out[d] = value(d)
    return out


@algorithm("integrate", "joint-by-joint", equations="Joint.integrate")
def integrate(tree: Tree, q: Joints, qd: Joints, dt: Number) -> Output:
    """Return the position reached from q by moving at the constant velocity qd for the time dt."""
    return joint_by_joint(tree, "q", lambda i: i.joint.integrate(q[i], qd[i] * dt[i]))


@algorithm("difference", "joint-by-joint", equations="Joint.difference")
def difference(tree: Tree, q0: Joints, q1: Joints) -> Output:
    """Return the constant velocity that leads from q0 to q1 in a unit of time."""
    return joint_by_joint(tree, "v", lambda i: i.joint.difference(q0[i], q1[i]))


@algorithm("position_rate", "joint-by-joint", equations="Joint.rate")
def position_rate(tree: Tree, q: Joints, qd: Joints) -> Output:
    """Return the rate of the positions, dq/dt, at the velocity qd."""
    return joint_by_joint(tree, "q_rate", lambda i: i.joint.rate(q[i], qd[i]))


@algorithm("normalize", "joint-by-joint", equations="Joint.project")
def normalize(tree: Tree, q: Joints) -> Output:
    """Return the valid position next to numbers that are nearly one: normalise quaternions."""
    return joint_by_joint(tree, "q", lambda i: i.joint.project(q[i]))


@algorithm("position_tangent", "joint-by-joint", equations="Joint.difference")
def position_tangent(tree: Tree, q: Joints, rate: Joints) -> Output:
    """Return the velocity at which positions have this rate: the opposite of `position_rate`.

    It is the rate of the difference from a constant position q to one that moves.
    """

    return joint_by_joint(tree, "v", lambda i: velocity_of_rate(i.joint, q[i], rate[i]))


def velocity_of_rate(joint: Any, q: Sequence[Scalar], rate: Sequence[Scalar]) -> Freedoms:
    """Return the velocity at which the position of a joint has this rate."""
    joint = joint.with_parameters(tuple(Jet(x) for x in joint.parameters))
    here = Freedoms(Jet(x) for x in q)
    moving = Freedoms(Jet(x, dx) for x, dx in zip(q, rate, strict=True))
    return Freedoms(x.rate if isinstance(x, Jet) else 0.0 for x in joint.difference(here, moving))
