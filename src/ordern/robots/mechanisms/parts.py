"""Parts of mechanisms: bars, blocks, the plane of flat mechanisms, and intersections of circles.

Flat mechanisms move in the plane x-z, with z up. Their joints turn about -y, so that angles count from x towards z, as
on paper. `flat` returns the point (x, 0, z) of space for a point (x, z) of the plane.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ...errors import ModelError
from ...joints import Closure, PointOnLine, Revolute
from ...model import ModelBuilder
from ..generated import disc, sizes

__all__ = ["ABOUT", "angle", "bar", "block", "disc", "flat", "hinge", "leg", "linkage", "meeting", "pin", "sizes"]

Point = tuple[float, float]

ABOUT = (0.0, -1.0, 0.0)
"""The axis of joints in the plane: turning about it leads from x to z."""

_SLENDER = 50.0
"""The ratio of length to thickness of bars whose source gives no thickness."""


def hinge() -> Revolute:
    """Return a hinge of a flat mechanism."""
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

    `along` is "x", "y", "z", or the opposite direction, such as "-x". The moment of inertia
    about the axis of the bar assumes a round section of this thickness; the others are m l^2 / 12.
    """
    axis, sense = "xyz".index(along[-1]), -1.0 if along.startswith("-") else 1.0
    radius = 0.5 * (length / _SLENDER if thickness is None else thickness)
    com, inertia = [0.0, 0.0, 0.0], [mass * length**2 / 12.0] * 3
    com[axis], inertia[axis] = sense * length / 2.0, mass * radius**2 / 2.0
    return {"mass": mass, "com": tuple(com), "inertia": tuple(inertia)}


def block(mass: float, sides: Sequence[float], com: Sequence[float] = (0.0, 0.0, 0.0)) -> dict[str, Any]:
    """Return mass, mass centre and inertia of a uniform box with these sides."""
    xx, yy, zz = (s * s for s in sides)
    return {"mass": mass, "com": tuple(com), "inertia": tuple(mass / 12.0 * s for s in (yy + zz, xx + zz, xx + yy))}


def linkage(
    name: str,
    bars: Iterable[tuple[str, str, str, float, float]],
    loops: Iterable[tuple[str, str, float, str, float]] = (),
    *,
    density: float,
    closure: Closure | None,
    actuated: Sequence[str] | None = None,
) -> ModelBuilder:
    """Return a flat mechanism of uniform bars, all of which point along x at q = 0.

    A row of `bars` has the names of body, joint and parent, the place of the hinge along the parent, and the length. A
    row of `loops` has the name, and the two bodies, each with the place along it that the closure joins.
    """
    builder = ModelBuilder(name, actuated=actuated).body("ground")
    for body, joint, parent, x, length in bars:
        rod = bar(density * length, length)
        builder.body(body, parent=parent, joint=hinge(), joint_name=joint, at=flat((x, 0.0)), **rod)
    for loop, parent, x, child, end in loops:
        builder.loop(loop, closure or pin(), parent, child, at=flat((x, 0.0)), child_at=flat((end, 0.0)))
    return builder


def angle(a: Point, b: Point) -> float:
    """Return the direction from one point to another, from x towards z."""
    return math.atan2(b[1] - a[1], b[0] - a[0])


def leg(what: str, ends: str, length: float, across: float) -> float:
    """Return how far a bar of this length reaches along a line, if its ends are `across` apart at a right angle to it.

    The message for a bar that is too short names its `ends`.
    """
    if not abs(across) <= length:
        raise ModelError(
            f"{what} cannot be assembled there: {ends} are {abs(across):.6g} m apart, and the bar between them has a "
            f"length of {length:.6g} m"
        )
    return math.sqrt((length - across) * (length + across))


def meeting(what: str, a: Point, from_a: float, b: Point, from_b: float, left: bool = True) -> Point:
    """Return the point at these distances from two others, left of the line from a to b, or right of it."""
    d = math.dist(a, b)
    along = (d * d + from_a**2 - from_b**2) / (2.0 * d) if d > 0.0 else math.inf
    if not abs(along) <= from_a:
        raise ModelError(
            f"{what} cannot be assembled there: two of its joints are {d:.6g} m apart, and the bars between them have "
            f"lengths {from_a:.6g} m and {from_b:.6g} m"
        )
    across = math.sqrt((from_a - along) * (from_a + along)) * (1.0 if left else -1.0)
    x, z = (b[0] - a[0]) / d, (b[1] - a[1]) / d
    return (a[0] + along * x - across * z, a[1] + along * z + across * x)
