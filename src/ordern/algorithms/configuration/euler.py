"""A step of semi-implicit Euler, joint by joint: the state (q', v') = Joint.euler_step(q, qd, qdd, dt). Cost: order n.

There are two questions, since a question has one result. Each computes only the part of the step that it needs.
"""

from __future__ import annotations

from ...model import Joints, Number, Output, Tree
from ..registry import Port, algorithm, question
from .step import joint_by_joint

__all__ = ["euler_position", "euler_velocity"]

_STEP = (Port("q", "q"), Port("v", "v"), Port("a", "v"), Port("dt", "scalar"))

question("euler_position", _STEP, "q", "joint-by-joint")
question("euler_velocity", _STEP, "v", "joint-by-joint")


@algorithm("euler_position", "joint-by-joint", equations="Joint.euler_step")
def euler_position(tree: Tree, q: Joints, qd: Joints, qdd: Joints, dt: Number) -> Output:
    """Return the position after the step."""
    return joint_by_joint(tree, "q", lambda i: i.joint.euler_step(q[i], qd[i], qdd[i], dt[i])[0])


@algorithm("euler_velocity", "joint-by-joint", equations="Joint.euler_step")
def euler_velocity(tree: Tree, q: Joints, qd: Joints, qdd: Joints, dt: Number) -> Output:
    """Return the velocity after the step."""
    return joint_by_joint(tree, "v", lambda i: i.joint.euler_step(q[i], qd[i], qdd[i], dt[i])[1])
