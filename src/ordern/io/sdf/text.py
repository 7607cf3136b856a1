"""Numbers, flags and poses from the text of XML elements; errors say what was found and what is expected."""

from __future__ import annotations

import math

from ...model import Placement
from ..attributes import from_quaternion, parsed
from ..xml import Element

__all__ = ["flag", "number", "numbers", "pose_of", "relative_to", "text_of"]

_TRUE = ("1", "true")
_FALSE = ("0", "false")


def text_of(element: Element, tag: str, what: str) -> str:
    """Return the text of a child that must be there and not be empty."""
    child = element.only(tag, what)
    if child is None or not child.text:
        fault = f"has no <{tag}>" if child is None else f"has an empty <{tag}>"
        raise (child or element).error(f"{what} {fault}; expected <{tag}>...</{tag}>")
    return child.text


def number(element: Element | None, tag: str, what: str, default: float, *, infinite: bool = False) -> float:
    """Return the number in a child, or the default if there is no child. `infinite` allows inf and -inf."""
    child = element.only(tag, what) if element else None
    if child is None or not child.text:
        return default
    return numbers(child, (1,), what, infinite=infinite)[0]


def numbers(element: Element, counts: tuple[int, ...], what: str, *, infinite: bool = False) -> tuple[float, ...]:
    """Return the numbers in an element's text, as many as one of `counts`."""
    try:
        return parsed(element.text, counts, infinite=infinite)
    except ValueError as e:
        raise element.error(f"{what}: <{element.tag}> is {element.text!r:.80}; {e}") from None


def flag(element: Element, tag: str, what: str, default: bool = False) -> bool:
    """Return whether a child says true or 1."""
    child = element.only(tag, what)
    return default if child is None or not child.text else _truth(child.text, f"<{tag}>", child, what)


def relative_to(pose: Element | None) -> str:
    """Return the frame that a pose is relative to, or "". Before version 1.7 the attribute is called frame."""
    given = pose.attributes if pose else {}
    return given.get("relative_to") or given.get("frame") or ""


def pose_of(element: Element, what: str) -> tuple[Placement, Element | None]:
    """Return the placement in an element's <pose>, and the <pose>. Without one, or with an empty one, it is zero."""
    pose = element.only("pose", what)
    if pose is None or not pose.text:
        return Placement(), pose
    given = pose.attributes.get("rotation_format", "euler_rpy")
    if given == "quat_xyzw":
        px, py, pz, x, y, z, w = numbers(pose, (7,), what)
        length = math.hypot(x, y, z, w)
        if not 1e-6 < length < math.inf:
            raise pose.error(f"{what}: the quaternion of <pose> has length {length:g}; expected 1")
        return from_quaternion((w, x, y, z), (px, py, pz)), pose
    if given != "euler_rpy":
        raise pose.error(f"{what}: <pose> has rotation_format={given!r}; expected euler_rpy or quat_xyzw")
    x, y, z, *rpy = numbers(pose, (6,), what)
    degrees = pose.attributes.get("degrees")
    if degrees and _truth(degrees, "degrees", pose, what):
        rpy = [math.radians(a) for a in rpy]
    return Placement.xyz_rpy((x, y, z), rpy), pose


def _truth(text: str, name: str, element: Element, what: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE + _FALSE:
        raise element.error(f"{what}: {name} is {text!r:.80}; expected true or false")
    return word in _TRUE
