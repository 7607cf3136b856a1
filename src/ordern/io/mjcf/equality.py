"""Equality constraints: joints that close loops, and joints that are bound to each other."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import numpy as np

from ...joints import Fixed, Spherical
from ...model import ModelBuilder, Placement
from ..attributes import flag, found, from_quaternion, number, required, vector
from ..remarks import Remarks
from ..xml import Element
from .bodies import joint_kind, reference, site_placement
from .nodes import BodyNode, Part, Source
from .orientation import shifted
from .tree import Tree, unique

__all__ = ["add_equalities"]

_ZERO = (0.0, 0.0, 0.0)
Ends = tuple[str, str]
"""The words before and after the names of a document in the tree: a prefix, and the suffix of a replica."""


def add_equalities(builder: ModelBuilder, tree: Tree) -> None:
    """Add loops and couplings from <equality>. Inactive ones are noted, and are open."""
    adder = _Adder(builder, tree)
    given = [(source, element) for source in tree.sources if source.whole for element in _section(source)]
    taken = [source.prefix + e.attributes["name"] for source, e in given if e.attributes.get("name")]
    for source, element in given:
        document = source.document
        if element.tag not in ("connect", "weld", "joint"):
            document.unread.add(f"equality <{element.tag}>")
            continue
        e = document.resolved(element, tag="equality")
        for suffix in _suffixes(e, source):
            known = adder.has_all(e, source.prefix, suffix)
            if not known and (source.prefix or adder.binds_deformable(e)):
                continue  # it is about parts that are not attached, or that are left out
            adder.add(e, source.prefix, suffix, taken)
    adder.remarks.note(builder, quiet=True)


def _section(source: Source) -> Iterator[Element]:
    return source.document.section("equality")


_REFERENCES = ("body1", "body2", "site1", "site2", "joint1", "joint2")


def _suffixes(e: Element, source: Source) -> list[str]:
    """Return the suffixes of the replicas that an element refers to: it is repeated for each."""
    for attribute in _REFERENCES:
        suffixes = source.suffixes.get((attribute[:-1], e.attributes.get(attribute, "")))
        if suffixes:
            return suffixes
    return [""]


def _unit(joint: Part, what: str) -> float:
    """Return the factor of a joint's position by the scale of its frame."""
    return joint.scale.of_term("rest", joint_kind(joint.element, what))


def _full(name: str, ends: Ends) -> str:
    return f"{ends[0]}{name}{ends[1]}"


class _Adder:
    """Adds equalities to a builder."""

    def __init__(self, builder: ModelBuilder, tree: Tree) -> None:
        self.builder = builder
        self.remarks = Remarks()
        self.count = 0
        self.bodies: dict[str, BodyNode] = {body.name: body for body in tree.bodies}
        self.sites = {part.name: (part, body) for body in tree.bodies for part in body.sites if part.name}
        self.joints = {part.name: part for body in tree.bodies for part in body.joints}
        self.world, self.generated = tree.world, tree.generated

    def name(self, given: str, e: Element) -> str:
        """Return a name that no joint has. In MuJoCo an equality and a joint may have the same name."""
        name = unique(given, set(self.builder.joints))
        if name != given:
            self.remarks.add("renamed, because a joint has the name of the equality", repr(name), e.where)
        return name

    def has_all(self, e: Element, prefix: str, suffix: str) -> bool:
        """Return whether all parts that an equality refers to are in the tree."""
        known: dict[str, Container[str]] = {"body": self.bodies, "site": self.sites, "joint": self.joints}
        named = [key for key in _REFERENCES if e.attributes.get(key)]
        return all(prefix + e.attributes[key] + suffix in known[key[:-1]] for key in named)

    def binds_deformable(self, e: Element) -> bool:
        """Return whether an equality holds a deformable body that is left out; raise if the other end moves."""
        named = [e.attributes[key] for key in ("body1", "body2") if e.attributes.get(key)]
        held = [name for name in named if name not in self.bodies and name.startswith(self.generated)]
        for name in named if held else ():
            if name in self.bodies and self.bodies[name].moves:
                why = f"binds body {name!r} to the deformable body {held[0]!r}, which is not supported; remove it"
                raise e.error(f"<{e.tag}> {why}")
        return bool(held)

    def add(self, e: Element, prefix: str, suffix: str, taken: Sequence[str]) -> None:
        """Add an equality, for the replica with a suffix; `taken` are the names of all equalities."""
        self.count += 1
        given = e.attributes.get("name", "")
        name = self.name(prefix + given + suffix, e) if given else self.builder.unused(f"equality{self.count}", taken)
        what = f"equality {name!r}"
        active = flag(e, "active", True, what)
        if not active:
            kind = "coupling" if e.tag == "joint" else "loop"
            self.remarks.add(f"not active, and so a {kind} that is open", what, e.where)
        ends = (prefix, suffix)
        if e.tag == "joint":
            self._couple(e, name, ends, what, active)
            return
        one, at, other, child_at = (self._sites if "site1" in e.attributes else self._bodies)(e, ends, what)
        turns = e.tag == "connect" or number(e, "torquescale", what, 1.0) == 0.0
        type = Spherical() if turns else Fixed()
        self.builder.loop(name, type, one.name, other.name, at=at, child_at=child_at, active=active, where=e.where)

    def _sites(self, e: Element, ends: Ends, what: str) -> tuple[BodyNode, Placement, BodyNode, Placement]:
        names = (_full(required(e, attribute, what), ends) for attribute in ("site1", "site2"))
        (part, one), (part2, other) = (found("site", name, self.sites, e, what) for name in names)
        return one, site_placement(part), other, site_placement(part2)

    def _bodies(self, e: Element, ends: Ends, what: str) -> tuple[BodyNode, Placement, BodyNode, Placement]:
        """Return the anchor on both bodies. On the second body, the pose of the file places it, unless given."""
        one, other = found("body", _full(required(e, "body1", what), ends), self.bodies, e, what), self.world
        if "body2" in e.attributes:
            other = found("body", _full(e.attributes["body2"], ends), self.bodies, e, what)
        relative = other.pose.inverse @ one.pose
        if e.tag == "connect":
            at = one.scale.of_placement(shifted(vector(e, "anchor", 3, what)))
            return one, at, other, relative @ at
        anchor = other.scale.of_placement(shifted(vector(e, "anchor", 3, what, _ZERO)))
        given = vector(e, "relpose", 7, what, (0.0,) * 7)
        if any(given[3:]):
            if one.scale != other.scale:
                why = "frames scale its bodies differently, so that its relpose has no unit; leave the relpose out"
                raise e.error(f"{what}: {why}")
            return one, one.scale.of_placement(from_quaternion(given[3:], given[:3])), other, anchor
        return one, relative.inverse @ anchor, other, anchor

    def _couple(self, e: Element, name: str, ends: Ends, what: str, active: bool) -> None:
        """Couple two joints by a polynomial of their distances from their references."""
        given = vector(e, "polycoef", range(1, 6), what, ())
        a = [*given, *(0.0, 1.0, 0.0, 0.0, 0.0)[len(given) :]]
        joint = found("joint", _full(required(e, "joint1", what), ends), self.joints, e, what)
        y0, unit = reference(joint, what), _unit(joint, what)
        a = [unit * x for x in a]
        if "joint2" not in e.attributes:
            self.builder.couple(name, joint.name, None, (y0 + a[0],), e.where, active)
            return
        other = found("joint", _full(e.attributes["joint2"], ends), self.joints, e, what)
        x0, unit = reference(other, what), _unit(other, what)
        a = [x / unit**k for k, x in enumerate(a)]
        with np.errstate(all="ignore"):  # the builder refuses coefficients that are not finite
            c = (np.poly1d(a[::-1])(np.poly1d((1.0, -x0))) + y0).coeffs[::-1].tolist()
        self.builder.couple(name, joint.name, other.name, c if len(c) > 1 else [*c, 0.0], e.where, active)
