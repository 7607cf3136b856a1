"""Contact parameters: those of geoms, and the pairs and exclusions of <contact>."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import product

from ...model import ModelBuilder
from ...model.contact_terms import ContactPair, ContactRules, ContactTerms
from ..attributes import keyword, number, required, vector
from ..xml import Element
from .nodes import BodyNode, Part, Source
from .tree import Tree

__all__ = ["add_contact_rules", "contact_terms", "paired_geoms", "sliding_friction"]

_CONDIM = ("1", "3", "4", "6")
_TERMS = ("friction", "condim", "priority", "contype", "conaffinity", "margin", "gap", "solref", "solimp")
_SOFT = ("solref", "solimp", "margin", "gap")
"""Attributes that are kept, and that rigid contacts do not use."""
_USUAL = ContactTerms()


def sliding_friction(e: Element, what: str) -> float | None:
    """Return the coefficient of sliding friction, the first of up to three numbers; None for the default."""
    given = vector(e, "friction", range(1, 4), what, ())
    return max(given[0], 0.0) if given else None


def contact_terms(e: Element, what: str, part: Part | None = None) -> ContactTerms | None:
    """Return the terms of a geom, or of a pair; None if the file has none."""
    if not any(attribute in e.attributes for attribute in _TERMS):
        return None
    friction = vector(e, "friction", range(1, 6), what, ())
    if e.tag == "pair":  # two coefficients of sliding, one of torsion, two of rolling
        friction = (*friction[:1], *friction[2:])
    torsional, rolling = (*friction, *(1.0, _USUAL.torsional, _USUAL.rolling)[len(friction) :])[1:3]
    if part is not None:
        for attribute in _SOFT:
            if attribute in e.attributes and any(vector(e, attribute, range(1, 6), what)):
                part.document.unread.keep(f"{attribute} of <{e.tag}>")
    solref = vector(e, "solref", range(1, 3), what, ())
    return ContactTerms(
        torsional=max(torsional, 0.0),
        rolling=max(rolling, 0.0),
        dimensions=int(keyword(e, "condim", _CONDIM, str(_USUAL.dimensions), what)),
        priority=_whole(e, "priority", what, 0),
        category=_whole(e, "contype", what, 1),
        collides_with=_whole(e, "conaffinity", what, 1),
        margin=number(e, "margin", what, 0.0),
        gap=number(e, "gap", what, 0.0),
        solref=(*solref, 1.0)[:2] if solref else (),
        solimp=vector(e, "solimp", range(1, 6), what, ()),
    )


def _whole(e: Element, attribute: str, what: str, usual: int) -> int:
    x = number(e, attribute, what, float(usual))
    if x != int(x) or abs(x) >= 2.0**31:
        raise e.error(f"{what}: {attribute} must be a whole number, not {x:g}")
    return int(x)


def paired_geoms(tree: Tree) -> set[str]:
    """Return the names of geoms that a <pair> names: these touch whatever their bits say."""
    return {
        name
        for source, e in _elements(tree)
        if e.tag == "pair"
        for key in ("geom1", "geom2")
        for name in source.names("geom", e.attributes.get(key, ""))
    }


def add_contact_rules(builder: ModelBuilder, tree: Tree) -> None:
    """Add the pairs and exclusions of <contact>, and whether neighbours touch."""
    geoms = {part.name: (part, body) for body in tree.bodies for part in body.geoms if part.name}
    bodies = {body.name: body for body in tree.bodies}
    excluded: list[tuple[str, ...]] = []
    pairs: list[ContactPair] = []
    for source, element in _elements(tree):
        if element.tag == "exclude":
            source.document.unread.check(element)
            excluded += _both(source, element, "body", bodies, tree.generated)
        elif element.tag == "pair":
            pairs += _pairs(source, element, geoms)
        else:
            source.document.unread.add(f"<{element.tag}> in <contact>", quiet=True)
    neighbours = not tree.world.document.settings.filter_parents
    builder.contact_rules = ContactRules(tuple(excluded), tuple(pairs), neighbours)


def _elements(tree: Tree) -> Iterator[tuple[Source, Element]]:
    return ((s, e) for s in tree.sources if s.whole for e in s.document.section("contact"))


def _pairs(source: Source, element: Element, geoms: Mapping[str, tuple[Part, BodyNode]]) -> Iterator[ContactPair]:
    e = source.document.resolved(element, tag="pair")
    what = f"pair {e.attributes.get('name', '')!r}" if e.attributes.get("name") else "a pair"
    friction = vector(e, "friction", range(1, 6), what, ())
    if len(friction) > 1 and friction[1] != friction[0]:
        source.document.unread.add("second sliding friction of a <pair>", quiet=True)
    for names in _both(source, e, "geom", geoms):
        ends = [(geoms[name][1].name, name) for name in names]
        terms = contact_terms(e, what, geoms[names[0]][0]) or ContactTerms()
        yield ContactPair(ends[0], ends[1], max((*friction, 1.0)[0], 0.0), terms)


def _both(
    source: Source, e: Element, tag: str, known: Container[str], left_out: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the names in the tree of the two parts that an element names, in each replica.

    There are none of parts that are not attached, or whose names begin as those of parts that are `left_out`.
    """
    what = f"<{e.tag}>"
    given = [required(e, f"{tag}{k}", what) for k in (1, 2)]
    first, second = (source.names(tag, name, known) for name in given)
    missing = [name for name in (*first, *second) if name not in known]
    if missing:
        if source.prefix or (left_out and missing[0].startswith(left_out)):
            return
        raise e.error(f"{what}: there is no {tag} {missing[0]!r}")
    yield from zip(first, second, strict=True) if len(first) == len(second) else product(first, second)
