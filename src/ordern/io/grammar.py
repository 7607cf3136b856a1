"""The elements and attributes that a reader of an XML format knows, and what it does about others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..model import ModelBuilder
from .remarks import Remarks
from .spelling import refuse_misspelt_attributes, refuse_misspelt_child
from .xml import Element

__all__ = ["Examined", "Grammar", "note_unread"]

_EMPTY: dict[str, None] = {}
_LOOKS = ("visual", "collision", "material")
"""Elements whose contents do not affect the motion."""


class Examined:
    """Parts of a document that its reader does not take as they are."""

    def __init__(self) -> None:
        self.unread: dict[str, list[Element]] = {}
        """Elements that are not read (gazebo, plugin, sensor ...), and elements with such attributes, by kind."""
        self.repeats = Remarks()
        """Elements that repeat an element beside them word for word."""

    def in_order(self) -> dict[str, list[Element]]:
        """Return the unread elements in the order of the file."""
        for elements in self.unread.values():
            elements.sort(key=lambda element: element.line)
        return dict(sorted(self.unread.items(), key=lambda item: item[1][0].line))


class Grammar:
    """The children and attributes that are read, by element; and the elements that may be repeated."""

    def __init__(self, known: Mapping[str, tuple[str, str]], repeated: Iterable[str], root: str = "") -> None:
        self._names = {tag: tuple(children.split()) for tag, (children, _) in known.items()}
        self._children = {tag: frozenset(names) for tag, names in self._names.items()}
        self._attributes = {tag: dict.fromkeys(attributes.split()) for tag, (_, attributes) in known.items()}
        self._repeated, self._root = frozenset(repeated), root

    def examine(self, roots: Iterable[Element], found: Examined, *, strict: bool = True) -> None:
        """Collect unread and repeated elements in one walk.

        If it is `strict`, raise if a name that affects the motion looks misspelt: the robot would be another one
        without it.
        """
        stack = [(root, not strict) for root in roots]
        while stack:
            element, lenient = stack.pop()
            known, attributes = self._children.get(element.tag), self._attributes.get(element.tag, _EMPTY)
            if not element.attributes.keys() <= attributes.keys():
                self._unknown_attributes(element, attributes, found, lenient)
            if known is None:
                continue
            first: dict[str, Element] = {}
            present: set[str] = set()
            for child in element.children:
                tag = child.tag
                if tag in known:
                    stack.append((child, lenient or tag in _LOOKS))
                    if first.setdefault(tag, child) is not child and tag not in self._repeated:
                        self._repeat(child, first[tag], element, found)
                    continue
                if not lenient:
                    present = present or {other.tag for other in element.children}
                    refuse_misspelt_child(child, element, present, self._names[element.tag], self._repeated)
                inside = "" if element.tag == self._root else f" in <{element.tag}>"
                found.unread.setdefault(f"<{tag}>{inside}", []).append(child)

    def _unknown_attributes(self, element: Element, known: Mapping[str, None], found: Examined, lenient: bool) -> None:
        if not lenient:
            refuse_misspelt_attributes(element, known)
        for name in element.attributes if self._root else ():
            if name not in known and not name.startswith("xmlns"):
                found.unread.setdefault(f"{name} of <{element.tag}>", []).append(element)

    def _repeat(self, child: Element, first: Element, parent: Element, found: Examined) -> None:
        if child.repeats(first):
            name = parent.attributes.get("name")
            of = f"{parent.tag} {name!r}" if name else f"<{parent.tag}> in line {parent.line}"
            found.repeats.add("repeated, and read once", f"<{child.tag}> of {of}", child.where)


def note_unread(builder: ModelBuilder, unread: Mapping[str, list[Element]]) -> None:
    """Add a note about the elements that are not read and may change the motion, and a quiet one about all others."""
    for start, quiet in (("not read, though the motion may depend on it", False), ("not read", True)):
        kinds = {what: found for what, found in unread.items() if _is_harmless(what) is quiet}
        if kinds:
            counts = [f"{what} ({len(found)}, first in line {found[0].line})" for what, found in kinds.items()]
            more = f", ... ({len(counts)} kinds in all)" if counts[_MOST:] else ""
            where = next(iter(kinds.values()))[0].where
            builder.note(f"{start}: {', '.join(counts[:_MOST])}{more}", where, quiet=quiet)


_MOST = 40
"""The most kinds of elements that a note lists."""
_HARMLESS_NAMES = (
    "allow_auto_disable atmosphere audio_sink audio_source battery calibration camera cast_shadows "
    "collision_filter_group contact controller_gains dont_collapse gazebo gripper group gui laser_retro light "
    "magnetic_field material max_contacts meta mujoco particle_emitter physics plugin projector provide_feedback "
    "ros2_control safety_controller scene self_collide self_collision_checking self_filter sensor "
    "spherical_coordinates state surface transmission transparency verbose"
)
_HARMLESS = frozenset(_HARMLESS_NAMES.split())
"""Elements for sensors, contacts, controllers, looks and simulators, on which the motion does not depend."""
_SHAPES = "box sphere cylinder capsule ellipsoid plane mesh"
_LOOKS_OF = frozenset([*_LOOKS, "geometry", *_SHAPES.split(), "color", "texture"])


def _is_harmless(what: str) -> bool:
    """Return whether a kind of unread parts does not change the motion: `<sensor> in <link>`, `jerk of <limit>`."""
    name, within, parent = what.partition(" in ")
    if not within:
        name, within, parent = what.partition(" of ")
        if within and (parent == "<limit>" or name.startswith("xsi:")):
            return True  # other limits than those of the format
    return name.strip("<>").rpartition(":")[2] in _HARMLESS or parent.strip("<>") in _LOOKS_OF
