"""Offsets between positions of MuJoCo's joints with a reference (`ref`) and ours.

In MuJoCo, a body is where the file places it if its joints are at their references. A robot loaded from the same file
has the same coordinates; a robot from another description has the body there at position zero. The placement of the
body distinguishes the two.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arguments import Array
from ..joints import joint_placement
from ..model import BASE, Frame, Model
from ..model.parts import inward
from .peers import Peer, PeerJoint, base_joints

__all__ = ["offsets_of"]

Pairs = Sequence[tuple[int, list[PeerJoint]]]


def offsets_of(robot: Model, peer: Peer, pairs: Pairs) -> dict[int, float]:
    """Return their positions where ours are zero, by index in q. `pairs` are our joints, each with its partners."""
    found: dict[int, float] = {}
    carried = {joint.body: k for k, theirs in pairs for joint in theirs}
    for body in sorted({joint.body for _, theirs in pairs for joint in theirs if joint.reference}):
        own = [(k, theirs) for k, theirs in pairs if any(joint.body == body for joint in theirs)]
        expected = peer.bodies[body].placement.matrix
        frame, outer = _frame(robot, peer, body, carried), _frame(robot, peer, peer.bodies[body].parent, carried)
        far = []
        for at_reference in (True, False):
            q = {k: _position(robot, k, theirs, peer.library, at_reference) for k, theirs in own}
            far.append(float(np.abs(np.linalg.solve(_pose(robot, outer, q), _pose(robot, frame, q)) - expected).max()))
        if far[1] < far[0]:
            found |= {joint.q: joint.reference for _, theirs in own for joint in theirs}
    return found


def _position(robot: Model, k: int, theirs: list[PeerJoint], library: str, at_reference: bool) -> Array:
    """Return the position of our joint: neutral, except for freedoms with a reference."""
    joint = robot.joints[k].type
    q: list[float] = []
    for part, other in zip(base_joints(joint, library), theirs, strict=True):
        q.extend([other.reference] if at_reference and part.nq == 1 else part.neutral())
    return np.array(q)


def _frame(robot: Model, peer: Peer, body: int, carried: dict[int, int]) -> Frame:
    """Return our frame of a body of theirs: the frame of its name, or of the body that the same joint carries."""
    above = Frame("", BASE)
    chain = [body]
    named = {f.name for f in robot.frames}
    while chain[-1] and chain[-1] not in carried and peer.bodies[chain[-1]].name not in named:
        chain.append(peer.bodies[chain[-1]].parent)
    if chain[-1]:
        name = peer.bodies[chain[-1]].name
        above = next((f for f in robot.frames if f.name == name), Frame("", carried.get(chain[-1], BASE)))
    at = above.placement
    for inner in reversed(chain[:-1]):  # bodies without joints that do not exist here
        at = at @ peer.bodies[inner].placement
    return Frame("", above.body, at)


def _pose(robot: Model, frame: Frame, q: dict[int, Array]) -> Array:
    """Return the 4x4 pose of a frame in the world, with joints at these positions or at their neutral ones."""
    at = frame.placement
    for k in inward(robot.joints, frame.body):
        c = robot.joints[k]
        at = c.placement @ joint_placement(c.type, q.get(k, np.array(c.type.neutral())).tolist()) @ at
    return at.matrix
