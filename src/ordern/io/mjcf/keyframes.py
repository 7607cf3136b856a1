"""Keyframes: named positions. Velocities, controls and times of keyframes are not read."""

from __future__ import annotations

import math

from ...errors import ModelError
from ...model import ModelBuilder
from ..attributes import vector
from ..remarks import Remarks
from .document import Document
from .scale import ONE
from .tree import Tree

__all__ = ["add_keyframes"]


def add_keyframes(builder: ModelBuilder, tree: Tree, document: Document) -> None:
    """Add the keyframes of a document that have a `qpos` as named positions. One that does not fit is noted."""
    remarks, names = Remarks(), set[str]()
    joints = [name for name in builder.joints if name in tree.joint_names]  # without those of rotors
    sizes = {name: {0: 0, 3: 4, 6: 7}.get(n, n) for name in joints for n in [builder.freedoms(name)]}
    nq = sum(sizes.values())
    scaled = next((part.name for body in tree.bodies for part in body.joints if part.scale != ONE), "")
    keys = [element for element in document.section("keyframe") if element.tag == "key"]
    for k, key in enumerate(keys):
        name = key.attributes.get("name") or f"key{k}"
        if "qpos" not in key.attributes or name in names:
            continue
        try:
            if scaled:
                raise key.error(f"keyframe {name!r}: a <frame> scales joint {scaled!r}")
            qpos = vector(key, "qpos", nq, f"keyframe {name!r}")
        except ModelError as e:
            remarks.left_out("keyframes", e)
            continue
        names.add(name)
        builder.position(name, _by_joint(qpos, sizes), key.where)
    remarks.note(builder, quiet=True)


def _by_joint(qpos: tuple[float, ...], sizes: dict[str, int]) -> dict[str, tuple[float, ...]]:
    """Return the positions of all joints in the order of the library: quaternions of length one come first."""
    found, start = {}, 0
    for name, n in sizes.items():
        own, start = qpos[start : start + n], start + n
        if n == 7:
            own = (*_unit(own[3:]), *own[:3])
        elif n == 4:
            own = _unit(own)
        if n:
            found[name] = own
    return found


def _unit(quaternion: tuple[float, ...]) -> tuple[float, ...]:
    length = math.hypot(*quaternion)
    return tuple(x / length for x in quaternion) if length > 0.0 else (1.0, 0.0, 0.0, 0.0)
