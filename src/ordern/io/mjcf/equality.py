"""Equality constraints: joints that close loops, and joints that are bound to each other."""

from __future__ import annotations

import numpy as np

from ...joints import Fixed, Spherical
from ...model import ModelBuilder, Placement
from ..attributes import flag, found, from_quaternion, number, required, vector
from ..xml import Element
from .bodies import reference, site_placement
from .document import Document
from .orientation import shifted
from .tree import BodyNode, Tree, unique

__all__ = ["add_equalities"]

_ZERO = (0.0, 0.0, 0.0)


def add_equalities(builder: ModelBuilder, document: Document, tree: Tree) -> None:
    """Add loops and couplings from <equality>. Inactive ones are noted, and are open."""
    adder = _Adder(builder, document, tree)
    given_names = [e.attributes["name"] for e in document.section("equality") if e.attributes.get("name")]
    count = 0
    for element in document.section("equality"):
        if element.tag not in ("connect", "weld", "joint"):
            document.unread.add(f"equality <{element.tag}>")
            continue
        e = document.resolved(element, tag="equality")
        for suffix in _suffixes(e, tree):
            count += 1
            given = e.attributes.get("name", "")
            name = adder.name(given + suffix, e) if given else builder.unused(f"equality{count}", given_names)
            active = flag(e, "active", True, f"equality {name!r}")
            if not active:
                kind = "coupling" if e.tag == "joint" else "loop"
                builder.note(f"equality {name!r} is not active: a {kind} that is open", e.where)
            adder.add(e, name, suffix, active)


def _suffixes(e: Element, tree: Tree) -> list[str]:
    """Return the suffixes of the replicas that an element refers to: it is repeated for each."""
    for attribute in ("body1", "body2", "site1", "site2", "joint1", "joint2"):
        suffixes = tree.suffixes.get((attribute[:-1], e.attributes.get(attribute, "")))
        if suffixes:
            return suffixes
    return [""]


class _Adder:
    def __init__(self, builder: ModelBuilder, document: Document, tree: Tree) -> None:
        self.builder, self.document = builder, document
        self.bodies: dict[str, BodyNode] = {body.name: body for body in tree.bodies}
        self.sites = {part.name: (part, body) for body in tree.bodies for part in body.sites if part.name}
        self.joints = {part.name: part for body in tree.bodies for part in body.joints}
        self.world = tree.world

    def name(self, given: str, e: Element) -> str:
        """Return a name that no joint has. In MuJoCo an equality and a joint may have the same name."""
        name = unique(given, set(self.builder.joints))
        if name != given:
            self.builder.note(f"equality {given!r} has the name of a joint: here it is {name!r}", e.where)
        return name

    def add(self, e: Element, name: str, suffix: str, active: bool = True) -> None:
        what = f"equality {name!r}"
        if e.tag == "joint":
            self._couple(e, name, suffix, what, active)
            return
        one, at, other, child_at = (self._sites if "site1" in e.attributes else self._bodies)(e, suffix, what)
        turns = e.tag == "connect" or number(e, "torquescale", what, 1.0) == 0.0
        type = Spherical() if turns else Fixed()
        self.builder.loop(name, type, one.name, other.name, at=at, child_at=child_at, active=active, where=e.where)

    def _sites(self, e: Element, suffix: str, what: str) -> tuple[BodyNode, Placement, BodyNode, Placement]:
        names = (required(e, attribute, what) + suffix for attribute in ("site1", "site2"))
        (part, one), (part2, other) = (found("site", name, self.sites, e, what) for name in names)
        return one, site_placement(part, self.document), other, site_placement(part2, self.document)

    def _bodies(self, e: Element, suffix: str, what: str) -> tuple[BodyNode, Placement, BodyNode, Placement]:
        """Return the anchor on both bodies. On the second body, the pose of the file places it, unless given."""
        one, other = found("body", required(e, "body1", what) + suffix, self.bodies, e, what), self.world
        if "body2" in e.attributes:
            other = found("body", e.attributes["body2"] + suffix, self.bodies, e, what)
        relative = other.pose.inverse @ one.pose
        if e.tag == "connect":
            at = shifted(vector(e, "anchor", 3, what))
            return one, at, other, relative @ at
        anchor = shifted(vector(e, "anchor", 3, what, _ZERO))
        given = vector(e, "relpose", 7, what, (0.0,) * 7)
        if any(given[3:]):
            return one, from_quaternion(given[3:], given[:3]), other, anchor
        return one, relative.inverse @ anchor, other, anchor

    def _couple(self, e: Element, name: str, suffix: str, what: str, active: bool) -> None:
        """Couple two joints by a polynomial of their distances from their references."""
        settings = self.document.settings
        given = vector(e, "polycoef", range(1, 6), what, ())
        a = [*given, *(0.0, 1.0, 0.0, 0.0, 0.0)[len(given) :]]
        joint = found("joint", required(e, "joint1", what) + suffix, self.joints, e, what)
        y0 = reference(joint, settings, what)
        if "joint2" not in e.attributes:
            self.builder.couple(name, joint.name, None, (y0 + a[0],), e.where, active)
            return
        other = found("joint", e.attributes["joint2"] + suffix, self.joints, e, what)
        x0 = reference(other, settings, what)
        with np.errstate(all="ignore"):  # the builder refuses coefficients that are not finite
            c = (np.poly1d(a[::-1])(np.poly1d((1.0, -x0))) + y0).coeffs[::-1].tolist()
        self.builder.couple(name, joint.name, other.name, c if len(c) > 1 else [*c, 0.0], e.where, active)
