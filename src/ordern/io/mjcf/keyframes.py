"""Keyframes: named positions. Velocities, controls and times of keyframes are not read.

As in MuJoCo, keyframes of attached models get the prefix of their attachment; joints that they do not know are in the
position of the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from ...errors import ModelError
from ...model import ModelBuilder
from ...rotations import quaternion_from_matrix
from ..attributes import vector
from ..remarks import Remarks
from .bodies import joint_kind, reference
from .document import Document
from .nodes import BodyNode, Part, Source
from .scale import ONE
from .tree import Tree

__all__ = ["add_keyframes"]

_SIZES = {"hinge": 1, "slide": 1, "ball": 4, "free": 7}
Values = tuple[float, ...]


def add_keyframes(builder: ModelBuilder, tree: Tree) -> None:
    """Add the keyframes that have a `qpos` as named positions. One that does not fit is noted."""
    remarks, names = Remarks(), set[str]()
    start = {part.name: _at_start(part, body) for body in tree.bodies for part in body.joints}
    scaled = next((part.name for body in tree.bodies for part in body.joints if part.scale != ONE), "")
    for source in tree.sources:
        keys = [e for e in source.document.section("keyframe") if e.tag == "key"] if source.whole else []
        if not any("qpos" in key.attributes for key in keys):
            continue
        sizes, attached = _sizes(tree), source is not tree.sources[0]
        if attached:
            sizes = _sizes(_alone(source))
        for k, key in enumerate(keys):
            name = source.prefix + (key.attributes.get("name") or f"key{k}")
            if "qpos" not in key.attributes or name in names:
                continue
            try:
                if scaled:
                    raise key.error(f"keyframe {name!r}: a <frame> scales joint {scaled!r}")
                values = _by_joint(vector(key, "qpos", sum(sizes.values()), f"keyframe {name!r}"), sizes)
            except ModelError as e:
                remarks.left_out("keyframes", e)
                continue
            names.add(name)
            builder.position(
                name, {**start, **dict(_renamed(values, source, start))} if attached else values, key.where
            )
    remarks.note(builder, quiet=True)


def _alone(source: Source) -> Tree:
    """Return the tree of an attached model by itself, with joints that are not attached."""
    document = Document(source.document.root, source.document.folder)
    document.main = source.document.main
    return Tree(document)


def _sizes(tree: Tree) -> dict[str, int]:
    """Return the numbers of positions of the joints, in their order."""
    parts = [part for body in tree.bodies for part in body.joints]
    return {part.name: _SIZES[joint_kind(part.element, f"joint {part.name!r}")] for part in parts}


def _renamed(values: Mapping[str, Values], source: Source, known: Mapping[str, Values]) -> Iterable[tuple[str, Values]]:
    """Yield the positions of the joints that are attached, by their names in the whole tree."""
    for name, own in values.items():
        for full in source.names("joint", name, known):
            if full in known:
                yield full, own


def _at_start(part: Part, body: BodyNode) -> Values:
    """Return the position of a joint in the pose of the file, in the order of the library."""
    what = f"joint {part.name!r}"
    kind = joint_kind(part.element, what)
    if kind == "free":
        return (*quaternion_from_matrix(body.pose.R).tolist(), *body.pose.position)
    return (1.0, 0.0, 0.0, 0.0) if kind == "ball" else (reference(part, what),)


def _by_joint(qpos: Values, sizes: Mapping[str, int]) -> dict[str, Values]:
    """Return the positions of all joints in the order of the library: quaternions of length one come first."""
    found, start = dict[str, Values](), 0
    for name, n in sizes.items():
        own, start = qpos[start : start + n], start + n
        if n == 7:
            own = (*_unit(own[3:]), *own[:3])
        elif n == 4:
            own = _unit(own)
        found[name] = own
    return found


def _unit(quaternion: Values) -> Values:
    length = math.hypot(*quaternion)
    return tuple(x / length for x in quaternion) if length > 0.0 else (1.0, 0.0, 0.0, 0.0)
