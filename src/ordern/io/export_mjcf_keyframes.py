"""Writing named positions as MJCF: keyframes, with the positions of all joints in MuJoCo's order."""

from __future__ import annotations

from collections.abc import Iterable

from ..arguments import Array
from ..model import Connection, Model
from ..records import dataclass
from .xml_text import Node, numbers

__all__ = ["Written", "add_keyframes"]


@dataclass(frozen=True, slots=True)
class Written:
    """A joint of MuJoCo that is written for one of ours, or for a part of it."""

    name: str
    kind: str
    """Its type in the words of MJCF."""
    q: slice
    """Its slice in the coordinates of the joint that it belongs to."""
    of: Connection


def add_keyframes(root: Node, model: Model, world: Node, joints: Iterable[Written]) -> None:
    """Add the named positions of a model; `world` has the bodies with all joints that are written."""
    if not model.named_positions:
        return
    known = {joint.name: joint for joint in joints}
    order, stack = [], [world]
    while stack:
        node = stack.pop()
        order += [known[child.attributes["name"] or ""] for child in node.children if child.tag == "joint"]
        stack += [child for child in reversed(node.children) if child.tag == "body"]
    section = root.add("keyframe")
    for name, q in model.positions.items():
        section.add("key", name=name, qpos=numbers(x for joint in order for x in _position(joint, q)))


def _position(joint: Written, q: Array) -> list[float]:
    """Return the positions of a joint in MuJoCo's order: of a free one, the quaternion comes last."""
    c = joint.of
    own = q[c.q].tolist()
    if c.mimic is not None:
        own = [c.mimic.ratio * own[0] + c.mimic.offset]
    own = own[joint.q]
    return [*own[4:], *own[:4]] if joint.kind == "free" else own
