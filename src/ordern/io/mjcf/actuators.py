"""Actuators: the joints that they drive, and the armature and damping that they add.

Nothing else of them is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...errors import unknown_name
from ...model import ModelBuilder
from ...records import dataclass
from ..attributes import vector
from ..xml import Element
from .document import ACTUATORS, Document
from .tree import Tree

__all__ = ["Actuator", "add_motors", "drives_of", "read_actuators"]

_ADVICE = "give `actuated` to say otherwise"


@dataclass(frozen=True, slots=True)
class Actuator:
    """An actuator of a document."""

    tag: str
    joints: tuple[str, ...]
    """The joint that it acts on, or the joint in each replica; empty if it acts on something else, such as a tendon."""
    gear: tuple[float, ...]
    """The direction in which it pushes, six numbers."""
    added: dict[str, float]
    """The armature and damping that it adds to its joint."""


def read_actuators(document: Document, tree: Tree) -> list[Actuator]:
    """Return the actuators of a document."""
    joints = {part.name for body in tree.bodies for part in body.joints}
    found = []
    for element in document.section("actuator"):
        known = element.tag in ACTUATORS
        e = document.resolved(element, tag="actuator") if known else element
        name = e.attributes.get("joint", e.attributes.get("jointinparent", ""))
        what = f"an actuator of joint {name!r}"
        gear = vector(e, "gear", range(1, 7), what, (1.0,))
        terms = {key: vector(e, key, range(1, 4), what, (0.0,)) for key in ("armature", "damping") if known}
        added = {key: gear[0] * gear[0] * x[0] for key, x in terms.items() if x[0]}
        if added and not name:
            document.unread.add(f"armature or damping of <{element.tag}> on other things than joints")
        on = tuple(_joints_of(name, element, tree, joints)) if name else ()
        found.append(Actuator(element.tag, on, (*gear, *(0.0,) * (6 - len(gear))), added))
    return found


def drives_of(actuators: Sequence[Actuator]) -> dict[str, dict[str, float]]:
    """Return the armature and damping that actuators add through their gears, by joint."""
    found: dict[str, dict[str, float]] = {}
    for actuator in actuators:
        for joint in actuator.joints if actuator.added else ():
            here = found.setdefault(joint, {})
            for key, more in actuator.added.items():
                here[key] = here.get(key, 0.0) + more
    return found


def add_motors(builder: ModelBuilder, actuators: Sequence[Actuator]) -> None:
    """Set the actuated joints of the builder, if actuators name any.

    An actuator of a ball or a free joint pushes along one direction, its gear. Such a joint counts as actuated if its
    actuators push along all of its freedoms. A <damper> only brakes, and an <orientation> drives all freedoms.
    """
    gears: dict[str, list[tuple[float, ...]]] = {}
    for actuator in actuators:
        for joint in actuator.joints if actuator.tag != "damper" else ():
            gears.setdefault(joint, []).append(actuator.gear)
    if not gears:
        return
    whole = {joint for actuator in actuators if actuator.tag == "orientation" for joint in actuator.joints}
    driven: list[str] = []
    for name, rows in gears.items():
        nv = builder.freedoms(name)
        rank = np.linalg.matrix_rank(np.array(rows)[:, :nv])
        if rank == nv or name in whole:
            driven.append(name)
        elif rank:
            few = f"push along {rank} of its {nv} freedoms, so that it does not count as actuated"
            builder.note(f"the actuators of joint {name!r} {few}", builder.source, _ADVICE)
    builder.actuated = tuple(driven)
    others = sum(not actuator.joints for actuator in actuators)
    if others:
        builder.note(
            f"{others} actuator{'s act' if others > 1 else ' acts'} on other things than joints (tendons, sites, "
            "bodies); joints that only these move do not count as actuated",
            builder.source,
            _ADVICE,
        )


def _joints_of(name: str, element: Element, tree: Tree, joints: set[str]) -> Iterator[str]:
    """Yield the joints of a name: one, or one in each replica."""
    for suffix in [""] if name in joints else tree.suffixes.get(("joint", name), [""]):
        if name + suffix not in joints:
            raise element.error(str(unknown_name("joint", name + suffix, joints, f"<{element.tag}>")))
        yield name + suffix
