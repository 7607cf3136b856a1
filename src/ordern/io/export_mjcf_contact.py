"""Contact parameters in MJCF: attributes of geoms, and the pairs and exclusions of <contact>."""

from __future__ import annotations

from collections.abc import Mapping

from ..model import Model, Shape
from ..model.contact_terms import ContactTerms
from .writing import Losses
from .xml_text import Node, number, numbers

__all__ = ["add_contact", "contact_attributes"]

_USUAL = ContactTerms()
_NUMBERS = {
    "dimensions": "condim",
    "priority": "priority",
    "category": "contype",
    "collides_with": "conaffinity",
    "margin": "margin",
    "gap": "gap",
}
Ends = Mapping[tuple[str, str], str]


def contact_attributes(friction: float | None, terms: ContactTerms | None, *, sliding: int = 1) -> dict[str, str]:
    """Return the attributes of a geom, or of a pair, which repeats the coefficient of sliding; usual ones are left out.

    Friction that another rule than MuJoCo's combines, and restitution, are not among them.
    """
    found = {}
    own = terms or _USUAL
    mu = 1.0 if friction is None else friction
    if own.dimensions > 3 or (terms is not None and (own.torsional, own.rolling) != (_USUAL.torsional, _USUAL.rolling)):
        found["friction"] = numbers([mu] * sliding + [own.torsional] + [own.rolling] * sliding)
    elif friction is not None:
        found["friction"] = numbers([mu] * sliding)
    for name, attribute in _NUMBERS.items():
        if getattr(own, name) != getattr(_USUAL, name):
            found[attribute] = number(getattr(own, name))
    for name in ("solref", "solimp"):
        if getattr(own, name):
            found[name] = numbers(getattr(own, name))
    return found


def add_contact(root: Node, model: Model, geoms: Ends, bodies: Mapping[str, str], losses: Losses) -> None:
    """Add <contact>. `geoms` are the names that the shapes of links have there, `bodies` those of links."""
    section, rules = root.add("contact"), model.contact_rules
    for shape in model.shapes:
        _remark(shape, losses)
    if rules is None:
        return
    for pair in rules.excluded:
        one, other = (bodies.get(link) for link in pair)
        if one is None or other is None:
            losses.remark("an exclusion of contacts, of links that are parts of one body,", " and ".join(pair))
        else:
            section.add("exclude", body1=one, body2=other)
    for x in rules.pairs:
        ends = [geoms.get((end[0], end[1])) for end in (x.first, x.second)]
        if None in ends:
            losses.remark("a pair of contacts", f"{x.first[1]} and {x.second[1]}")
        else:
            given = contact_attributes(x.friction, x.terms, sliding=2)
            section.add("pair", geom1=ends[0], geom2=ends[1], **given)


def _remark(shape: Shape, losses: Losses) -> None:
    """Remark terms that MuJoCo does not have."""
    if shape.contact is not None:
        for name in ("restitution", "stiffness", "damping"):
            if getattr(shape.contact, name):
                losses.remark(f"the {name} of a surface", f"shape {shape.name!r} of link {shape.link!r}")
