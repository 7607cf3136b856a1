"""Tendons. The forces of their springs, dampers, friction and limits are not modelled.

A fixed tendon is a sum of joint positions with coefficients: so are the joints known that an actuator drives by it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..attributes import number
from ..xml import Element
from .nodes import Source
from .tree import Tree

__all__ = ["read_tendons"]

_FORCES = ("stiffness", "damping", "frictionloss", "armature", "range")
"""Attributes by which a tendon acts on the motion by itself."""


def read_tendons(tree: Tree, joints: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return the coefficients of joints in fixed tendons, by the names of these; note what is not modelled."""
    known, found = set(joints), dict[str, dict[str, float]]()
    for source in tree.sources:
        for element in source.document.section("tendon") if source.whole else ():
            e = source.document.resolved(element, tag="tendon")
            acting = [key for key in _FORCES if any(word not in _ZEROS for word in e.attributes.get(key, "").split())]
            if e.attributes.get("limited") == "false" and "range" in acting:
                acting.remove("range")
            for key in acting:
                source.document.unread.add(f"{key} of tendons")
            if not acting:
                source.document.unread.add("tendon", quiet=True)
            for suffix in _suffixes(e, source):
                name = f"{source.prefix}{e.attributes.get('name', '')}{suffix}"
                on = {f"{source.prefix}{part.attributes.get('joint', '')}{suffix}": part for part in e.all("joint")}
                what = f"tendon {name!r}"
                found[name] = {joint: number(part, "coef", what) for joint, part in on.items() if joint in known}
    return found


_ZEROS = ("0", "0.0", "0.", "-0")


def _suffixes(e: Element, source: Source) -> list[str]:
    """Return the suffixes of the replicas that a tendon refers to: it is repeated for each."""
    for part in e.children:
        for key in ("joint", "site", "geom"):
            suffixes = source.suffixes.get((key, part.attributes.get(key, "")))
            if suffixes:
                return suffixes
    return [""]
