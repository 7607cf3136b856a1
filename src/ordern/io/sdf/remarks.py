"""What a reader notices and goes on from; the elements that it does not read, and those that look misspelt."""

from __future__ import annotations

from collections.abc import Iterable

from ...model import SHAPES, ModelBuilder
from ..remarks import Remarks, note_repeats
from ..spelling import refuse_misspelt_attributes, refuse_misspelt_child
from ..xml import Element

__all__ = ["Remarks", "note_said_twice", "note_unread", "refuse_misspelt"]

_AXIS = "xyz limit dynamics mimic use_parent_model_frame"
_KNOWN = {
    "sdf": "world model",
    "world": "model include frame joint gravity",
    "include": "uri name pose static placement_frame",
    "model": "model include link joint frame pose static",
    "frame": "pose",
    "link": "pose inertial visual collision gravity enable_gravity kinematic",
    "inertial": "pose mass inertia",
    "inertia": "ixx iyy izz ixy ixz iyz",
    "visual": "pose geometry material",
    "collision": "pose geometry",
    "geometry": f"empty {' '.join(SHAPES)}",
    "joint": "pose parent child axis axis2 thread_pitch screw_thread_pitch gearbox_ratio gearbox_reference_body",
    "axis": _AXIS,
    "axis2": _AXIS,
    "limit": "lower upper effort velocity",
    "dynamics": "damping friction spring_reference spring_stiffness",
    "mimic": "multiplier offset reference",
}
_CHILDREN = {tag: frozenset(children.split()) for tag, children in _KNOWN.items()}
"""The children of each element that are read."""

_ATTRIBUTES = {
    "sdf": ("version",),
    "model": ("name", "canonical_link", "placement_frame"),
    "include": ("merge", "placement_frame"),
    "frame": ("name", "attached_to"),
    "link": ("name",),
    "joint": ("name", "type"),
    "inertial": ("auto",),
    "pose": ("relative_to", "rotation_format", "degrees", "frame"),
    "xyz": ("expressed_in",),
    "mimic": ("joint", "axis"),
}
"""The attributes that are read."""

_REPEATED = ("model", "include", "link", "joint", "frame", "visual", "collision")
_LOOKS = ("visual", "collision")
"""What is in these has no part in the motion."""


def refuse_misspelt(roots: Iterable[Element]) -> None:
    """Raise if what decides the motion looks misspelt: it would be another robot without it."""
    stack = list(roots)
    while stack:
        element = stack.pop()
        refuse_misspelt_attributes(element, _ATTRIBUTES.get(element.tag, ()))
        known = _CHILDREN.get(element.tag)
        present = {child.tag for child in element.children}
        for child in element.children:
            if known is None or child.tag in known:
                if child.tag not in _LOOKS:
                    stack.append(child)
            else:
                refuse_misspelt_child(child, element, present, _KNOWN[element.tag].split(), _REPEATED)


def note_said_twice(remarks: Remarks, roots: Iterable[Element]) -> None:
    """Remark on elements that are repeated word for word."""
    note_repeats(roots, _CHILDREN, _REPEATED, remarks)


def note_unread(builder: ModelBuilder, roots: Iterable[Element]) -> None:
    """One note of all elements below these that are not read (plugin, sensor, surface ...)."""
    found: dict[str, list[Element]] = {}
    stack = list(roots)
    while stack:
        element = stack.pop()
        for child in element.children:
            if child.tag not in _CHILDREN[element.tag]:
                found.setdefault(f"<{child.tag}> in <{element.tag}>", []).append(child)
            elif child.tag in _CHILDREN:
                stack.append(child)
    if not found:
        return
    firsts = {what: min(elements, key=lambda e: e.line) for what, elements in found.items()}
    order = sorted(found, key=lambda what: firsts[what].line)
    counts = [f"{what} ({len(found[what])}, first in line {firsts[what].line})" for what in order]
    more = f", ... ({len(counts)} kinds in all)" if counts[20:] else ""
    builder.note(f"not read: {', '.join(counts[:20])}{more}", firsts[order[0]].where)
