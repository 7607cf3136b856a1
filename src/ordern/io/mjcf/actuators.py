"""Actuators: the joints that they drive, and the armature and damping that they add.

Nothing else of them is read.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...errors import ModelError, unknown_name
from ...model import ModelBuilder
from ..xml import Element
from .document import ACTUATORS, Document, numbers
from .tree import Tree

__all__ = ["add_motors", "drives_of"]

_DRIVES_NOTHING = ("damper",)
"""Actuators that only brake a joint."""
_DRIVES_ALL = ("orientation",)
"""Actuators that drive all freedoms of their joint."""


def drives_of(document: Document, tree: Tree) -> dict[str, dict[str, float]]:
    """Return the armature and damping that actuators add through their gears, by joint."""
    joints, found = _joint_names(tree), dict[str, dict[str, float]]()
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
        for joint in _joints_of(name, element, tree, joints):
            here = found.setdefault(joint, {})
            for key, more in added.items():
                here[key] = here.get(key, 0.0) + more
    return found


def add_motors(builder: ModelBuilder, document: Document, tree: Tree) -> None:
    """Set the actuated joints of the builder, if actuators name any.

    An actuator of a ball or a free joint pushes along one direction, its gear. Such a joint counts as actuated if its
    actuators push along all of its freedoms.
    """
    joints, gears = _joint_names(tree), dict[str, list[tuple[float, ...]]]()
    whole: set[str] = set()
    others = 0
    for element in document.section("actuator"):
        e = document.resolved(element, tag="actuator") if element.tag in ACTUATORS else element
        name = e.attributes.get("joint", e.attributes.get("jointinparent", ""))
        if not name:
            others += 1
        if not name or element.tag in _DRIVES_NOTHING:
            continue
        gear = numbers(e, "gear", 1, 6, f"an actuator of joint {name!r}") or (1.0,)
        for joint in _joints_of(name, element, tree, joints):
            gears.setdefault(joint, []).append((*gear, *(0.0,) * (6 - len(gear))))
            if element.tag in _DRIVES_ALL:
                whole.add(joint)
    if not gears:
        return
    driven: list[str] = []
    for name, rows in gears.items():
        nv = builder.freedoms(name)
        rank = np.linalg.matrix_rank(np.array(rows)[:, :nv])
        if rank == nv or name in whole:
            driven.append(name)
        elif rank:
            builder.note(
                f"the actuators of joint {name!r} push along {rank} of its {nv} freedoms, so that it does not count as "
                "actuated",
                builder.source,
                "give `actuated` to say otherwise",
            )
    builder.actuated = tuple(driven)
    if others:
        builder.note(
            f"{others} actuator{'s act' if others > 1 else ' acts'} on other things than joints (tendons, sites, "
            "bodies); joints that only these move do not count as actuated",
            builder.source,
            "give `actuated` to say otherwise",
        )


def _joint_names(tree: Tree) -> set[str]:
    return {part.name for body in tree.bodies for part in body.joints}


def _joints_of(name: str, element: Element, tree: Tree, joints: set[str]) -> Iterator[str]:
    """Yield the joints of a name: one, or one in each replica."""
    for suffix in [""] if name in joints else tree.suffixes.get(("joint", name), [""]):
        if name + suffix not in joints:
            raise ModelError(str(unknown_name("joint", name + suffix, joints, f"<{element.tag}>")), element.where)
        yield name + suffix
