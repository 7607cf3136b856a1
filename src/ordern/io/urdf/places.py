"""Placements and required children, as links, joints and loops have them."""

from __future__ import annotations

import math

from ...model import Placement
from ..attributes import from_quaternion, vector
from ..xml import Element

__all__ = ["child_of", "origin_of", "placement_of"]

_ZERO = (0.0, 0.0, 0.0)
_HERE = Placement()


def origin_of(element: Element, what: str) -> Placement:
    """Return the <origin> of a joint, an inertial or a shape."""
    origin = element.only("origin", what)
    return _HERE if origin is None else placement_of(origin, what)


def placement_of(origin: Element, what: str) -> Placement:
    """Return a placement from the attributes xyz, and rpy or quat_xyzw."""
    xyz = vector(origin, "xyz", 3, what, _ZERO)
    if "quat_xyzw" not in origin.attributes:
        return Placement.xyz_rpy(xyz, vector(origin, "rpy", 3, what, _ZERO))
    x, y, z, w = vector(origin, "quat_xyzw", 4, what)
    if "rpy" in origin.attributes:
        raise origin.error(f"{what}: <{origin.tag}> has both rpy and quat_xyzw; expected one of them")
    n = math.hypot(x, y, z, w)
    if not 0.999 < n < 1.001:
        raise origin.error(f"{what}: <{origin.tag}> has a quat_xyzw of length {n:g}; expected 1")
    return from_quaternion((w, x, y, z), xyz)


def child_of(element: Element, tag: str, what: str, expected: str) -> Element:
    """Return a child that must be there."""
    found = element.only(tag, what)
    if found is None:
        inside = "" if element.tag.endswith("joint") else f": <{element.tag}>"
        raise element.error(f"{what}{inside} has no <{tag}>; expected {expected}")
    return found
