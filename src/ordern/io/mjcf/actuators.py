"""What actuators add to their joints: armature and damping. Nothing else of them is read."""

from __future__ import annotations

from ...errors import ModelError, unknown_name
from .document import ACTUATORS, Document, numbers
from .tree import Tree

__all__ = ["drives_of"]


def drives_of(document: Document, tree: Tree) -> dict[str, dict[str, float]]:
    """By joint: the armature and damping that its actuators add, seen through their gears."""
    joints = {part.name for body in tree.bodies for part in body.joints}
    found: dict[str, dict[str, float]] = {}
    for element in document.section("actuator"):
        if element.tag not in ACTUATORS:
            continue
        e = document.resolved(element, tag="actuator")
        name = e.attributes.get("joint", e.attributes.get("jointinparent", ""))
        what = f"an actuator of joint {name!r}"
        gear = (numbers(e, "gear", 1, 6, what) or (1.0,))[0]
        added = {key: gear * gear * x[0] for key in ("armature", "damping") if (x := numbers(e, key, 1, 3, what))}
        if not any(added.values()):
            continue
        if not name:
            document.unread.add(f"armature or damping of <{element.tag}> on other things than joints")
            continue
        for suffix in [""] if name in joints else tree.suffixes.get(("joint", name), [""]):
            if name + suffix not in joints:
                raise ModelError(str(unknown_name("joint", name + suffix, joints, f"<{element.tag}>")), element.where)
            here = found.setdefault(name + suffix, {})
            for key, more in added.items():
                here[key] = here.get(key, 0.0) + more
    return found
