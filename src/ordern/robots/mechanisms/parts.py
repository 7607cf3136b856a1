"""Parts of mechanisms: bars, blocks, the plane of flat mechanisms, and intersections of circles.

Flat mechanisms move in the plane x-z, with z up. Their joints turn about -y, so that angles count from x towards z, as
on paper. A point (x, z) of the plane is (x, 0, z) in space, which `flat` makes of it.
"""

from __future__ import annotations

import math
from typing import Any

from ...arguments import real_number
from ...errors import ModelError
from ...joints import Closure, PointOnLine, Revolute

__all__ = ["ABOUT", "Point", "angle", "apart", "bar", "block", "flat", "hinge", "meeting", "pin", "sizes"]

Point = tuple[float, float]

ABOUT = (0.0, -1.0, 0.0)
"""The axis of joints in the plane: turning about it leads from x to z."""

_SLENDER = 50.0
"""The ratio of length to thickness of bars whose source gives no thickness."""


def hinge() -> Revolute:
    """Return a joint that turns in the plane."""
    return Revolute(ABOUT)


def pin() -> Closure:
    """Return the closure of a pin in a flat mechanism: it keeps two points together in the plane.

    A hinge in space constrains three further motions, out of the plane, which the other joints of a flat mechanism
    constrain already. `closure=Revolute(ABOUT)` gives such a hinge; the mechanism moves just the same.
    """
    return PointOnLine(ABOUT)


def flat(point: Point) -> tuple[float, float, float]:
    """Return a point of the plane, in space."""
    return (point[0], 0.0, point[1])


def bar(mass: float, length: float, along: str = "x", thickness: float | None = None) -> dict[str, Any]:
    """Return mass, mass centre and inertia of a thin uniform bar from the origin, for `ModelBuilder.body`.

    Its inertia across is m l^2 / 12, and along it that of a round bar of this thickness.
    """
    axis = "xyz".index(along)
    radius = 0.5 * (length / _SLENDER if thickness is None else thickness)
    com, inertia = [0.0, 0.0, 0.0], [mass * length**2 / 12.0] * 3
    com[axis], inertia[axis] = length / 2.0, mass * radius**2 / 2.0
    return {"mass": mass, "com": tuple(com), "inertia": tuple(inertia)}


def block(mass: float, x: float, y: float, z: float) -> dict[str, Any]:
    """Return mass and inertia of a uniform box around the origin, with these sides."""
    xx, yy, zz = x * x, y * y, z * z
    return {"mass": mass, "inertia": tuple(mass / 12.0 * s for s in (yy + zz, xx + zz, xx + yy))}


def sizes(what: str, **given: float) -> None:
    """Raise unless all of these are finite and above zero."""
    for name, x in given.items():
        if not 0.0 < real_number(x) < math.inf:
            raise ModelError(f"{what}: {name} must be a finite number above zero, not {x!r}")


def apart(a: Point, b: Point) -> float:
    """Return the distance of two points."""
    return math.hypot(b[0] - a[0], b[1] - a[1])


def angle(a: Point, b: Point) -> float:
    """Return the direction from one point to another, from x towards z."""
    return math.atan2(b[1] - a[1], b[0] - a[0])


def meeting(what: str, a: Point, from_a: float, b: Point, from_b: float, left: bool = True) -> Point:
    """Return the point at these distances from two others, left of the line from a to b, or right of it."""
    d = apart(a, b)
    along = (d * d + from_a**2 - from_b**2) / (2.0 * d) if d > 0.0 else math.inf
    if not abs(along) <= from_a:
        raise ModelError(
            f"{what} cannot be assembled there: two of its joints are {d:.6g} m apart, and the bars between them have "
            f"lengths {from_a:.6g} m and {from_b:.6g} m"
        )
    across = math.sqrt((from_a - along) * (from_a + along)) * (1.0 if left else -1.0)
    x, z = (b[0] - a[0]) / d, (b[1] - a[1]) / d
    return (a[0] + along * x - across * z, a[1] + along * z + across * x)
