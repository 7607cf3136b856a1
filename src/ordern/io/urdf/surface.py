"""Friction of links, from Gazebo's extensions of URDF: `<gazebo reference="link">` with mu1, mu2, kp and kd."""

from __future__ import annotations

from ...errors import ModelError
from ...model.contact_terms import ContactTerms
from ...records import dataclass
from ..attributes import parsed
from ..remarks import Remarks
from ..xml import Element

__all__ = ["READ_IN_GAZEBO", "LinkSurface", "link_surfaces"]

READ_IN_GAZEBO = ("mu1", "mu2", "kp", "kd")
"""The elements of a <gazebo> that are read."""


@dataclass(frozen=True, slots=True)
class LinkSurface:
    """The surface of a link."""

    friction: float | None
    terms: ContactTerms | None


def link_surfaces(root: Element, remarks: Remarks) -> dict[str, LinkSurface]:
    """Return the surfaces of links, by their names. Friction has one coefficient: the first, of mu1."""
    given: dict[str, dict[str, float]] = {}
    for gazebo in root.all("gazebo"):
        link = gazebo.attributes.get("reference", "")
        for element in gazebo.children:
            if element.tag in READ_IN_GAZEBO and link:
                try:
                    given.setdefault(link, {})[element.tag] = _number(element, link)
                except ModelError as e:
                    remarks.left_out("surfaces", e)
    found = {}
    for link, numbers in given.items():
        mu = numbers.get("mu1", numbers.get("mu2"))
        if numbers.get("mu2", mu) != mu:
            remarks.add("with the friction of <mu1> in all directions, without <mu2>", f"link {link!r}", root.where)
        terms = None
        if mu is not None or "kp" in numbers or "kd" in numbers:
            terms = ContactTerms(stiffness=numbers.get("kp", 0.0), damping=numbers.get("kd", 0.0), smaller=True)
        found[link] = LinkSurface(mu, terms)
    return found


def _number(element: Element, link: str) -> float:
    text = element.text or element.attributes.get("value", "")
    try:
        (x,) = parsed(text, (1,))
    except ValueError as e:
        raise element.error(f"link {link!r}: <{element.tag}> in <gazebo> is {text!r:.80}; {e}") from None
    if x < 0.0:
        raise element.error(f"link {link!r}: <{element.tag}> in <gazebo> is {x:g}; expected a number not below zero")
    return x
