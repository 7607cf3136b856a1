"""Contacts of a model: pairs of solids that can touch, and the settings of the solver for them.

A contact is between a solid on a body and the ground, or between solids on two bodies. Its friction, restitution and
ground height are arguments of a step, so that they may differ between the states of a batch; the numbers here are the
ones that are used unless others are given. All else is part of the compiled code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..declared import explained_methods
from ..errors import ArgumentError
from ..joints import Placement
from ..records import dataclass
from .parameter_fields import starts

if TYPE_CHECKING:
    from .model import Model

__all__ = [
    "CERTIFICATE", "MEETING", "SOLIDS", "Contacts", "Ground", "ModelContact", "Solid", "limited_joints", "stop_places",
]  # fmt: skip

SOLIDS = {"sphere": 1, "capsule": 2, "box": 3, "rim": 3, "cylinder": 2, "ellipsoid": 3, "hull": 0}
"""The kinds of solids, and how many numbers their sizes have: radius; radius and length; three sides; of a point on the
rim of a cylinder radius, length, and which one it is (see `geometry`). Contacts of convex shapes also have cylinders
(radius and length), ellipsoids (half axes) and hulls (three numbers for each corner)."""
MEETING = {("box", "box"): 12, ("capsule", "box"): 2}
"""The kinds of solids that meet at several points, each of them a contact, and how many these are."""
CERTIFICATE = ("residual", "penetration", "leveling", "work")
"""The numbers of the certificate of a step. Of several steps, each is the largest one, but for the work: the sum."""
_HERE = Placement()


@explained_methods
@dataclass(frozen=True, slots=True)
class Ground:
    """A plane, flat or sloped: the points x with normal . x = height, in the world. Or steps, or a height field on it.

    `friction` is the coefficient of Coulomb friction; with None, each shape has that of its file. `restitution` is the
    part of the approach speed that a contact has after an impact. `normal` points out of the ground; its length does
    not matter. With `torsional` and `rolling` friction, lengths in m, contacts resist spinning and rolling: the moment
    about the normal is at most `torsional` times the normal force, that across it `rolling` times it.

    `steps` are pairs (x, height) of stairs that rise along x: from x on, the ground is higher by this height.
    `heights` (rows, columns) are those of a grid over `size`, two lengths in m, around `centre`, by default the origin:
    rows are along x, columns along y. On a slope, x and y are the directions of `axes`.

    >>> import math, ordern as on
    >>> slope = math.radians(20)
    >>> on.Ground(friction=0.5, normal=(math.sin(slope), 0, math.cos(slope))).friction
    0.5
    """

    friction: float | None = 0.8
    restitution: float = 0.0
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    height: float = 0.0
    torsional: float = 0.0
    rolling: float = 0.0
    steps: Any = ()
    heights: Any = ()
    size: tuple[float, float] = (0.0, 0.0)
    centre: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        """Raise for numbers that are not possible, and make the normal a unit vector."""
        names = ("friction", math.inf), ("restitution", 1.0), ("torsional", math.inf), ("rolling", math.inf)
        for name, most in names:
            if name == "friction" and self.friction is None:
                continue
            object.__setattr__(self, name, coefficient(getattr(self, name), f"Ground: {name}", most))
        object.__setattr__(self, "height", number(self.height, "Ground: height"))
        try:
            n = np.asarray(self.normal, float)
        except (TypeError, ValueError):
            n = np.zeros(0)
        if n.shape != (3,) or not np.isfinite(n).all() or not n.any():
            raise ArgumentError(f"Ground: normal must be three numbers, not all zero, not {self.normal!r}")
        n = n / np.abs(n).max()
        object.__setattr__(self, "normal", tuple((n / np.linalg.norm(n)).tolist()))
        self._set_terrain()

    def _set_terrain(self) -> None:
        """Check steps and heights, and make them tuples."""
        try:
            steps = np.asarray(self.steps, float) if len(self.steps) else np.zeros((0, 2))
            heights, size = np.asarray(self.heights, float), np.asarray(self.size, float)
            x, y = (number(x, "Ground: centre") for x in self.centre)
        except (TypeError, ValueError):
            what = "steps are pairs (x, height), heights an array, size and centre two numbers each"
            raise ArgumentError(f"Ground: {what}") from None
        if steps.shape[1:] != (2,):
            raise ArgumentError(f"Ground: steps are pairs (x, height), not {self.steps!r}")
        if not np.isfinite(steps).all() or (np.diff(np.vstack([[-math.inf, 0.0], steps]), axis=0) <= 0.0).any():
            raise ArgumentError("Ground: steps are pairs (x, height); both must rise, the heights from above zero")
        if heights.size and (heights.ndim != 2 or min(heights.shape) < 2):
            raise ArgumentError(
                f"Ground: heights must have the shape (rows, columns), at least (2, 2), not {heights.shape}"
            )
        if not np.isfinite(heights).all():
            raise ArgumentError("Ground: heights must be finite numbers")
        if heights.size and (size.shape != (2,) or not (size > 0.0).all() or not np.isfinite(size).all()):
            raise ArgumentError(f"Ground: size must be the two lengths of the height field in m, not {self.size!r}")
        if not heights.size and (size.any() or x or y):
            raise ArgumentError("Ground: size and centre are those of a height field; give its heights, too")
        if heights.size and len(steps):
            raise ArgumentError("Ground: give steps or heights, not both")
        object.__setattr__(self, "steps", tuple(map(tuple, steps.tolist())))
        object.__setattr__(self, "heights", tuple(map(tuple, heights.tolist())) if heights.size else ())
        object.__setattr__(self, "size", (float(size[0]), float(size[1])))
        object.__setattr__(self, "centre", (x, y))

    @property
    def uneven(self) -> bool:
        """True for steps and height fields, False for a plane."""
        return bool(self.steps or self.heights)

    @property
    def axes(self) -> tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]:
        """Two directions along the plane and the normal; x, y and z for flat ground."""
        n = np.array(self.normal)
        t = np.cross([0.0, 1.0, 0.0], n) if abs(n[1]) < 0.9 else np.cross(n, [1.0, 0.0, 0.0])
        t = t / np.linalg.norm(t)
        x, y, z = ((np.array(e) + 0.0).tolist() for e in (t, np.cross(n, t), n))
        return (x[0], x[1], x[2]), (y[0], y[1], y[2]), (z[0], z[1], z[2])


@dataclass(frozen=True, slots=True)
class Solid:
    """A solid on a body: a sphere (radius), a capsule along z (radius, length between its centres) or a box (sides).

    A point on the rim of a cylinder along z (radius, length, 0 to 3) moves along it, so that it stays near the ground.
    Cylinders, ellipsoids and hulls are solids of convex contacts.
    """

    body: int
    kind: str
    size: tuple[float, ...]
    placement: Placement = _HERE

    @property
    def fits(self) -> bool:
        """True if it is of a known kind, with as many numbers as that has."""
        if self.kind == "hull":
            return len(self.size) >= 12 and len(self.size) % 3 == 0
        return len(self.size) == SOLIDS.get(self.kind, -1)


@dataclass(frozen=True, slots=True)
class ModelContact:
    """Two solids that can touch at one point; without a second one, a solid and the ground."""

    name: str
    first: Solid
    second: Solid | None = None
    friction: float = 0.8
    restitution: float = 0.0
    torsional: float = 0.0
    """The moment about the normal is at most this length, in m, times the normal force."""
    rolling: float = 0.0
    """The moment along the surface is at most this length, in m, times the normal force."""
    part: int = 0
    """Of a contact with steps: 0 for the tread below it, 1 for the edge and the riser of the next step. Of solids that
    meet at several points: the number of the point."""
    convex: bool = False
    """True if it is of whole convex shapes, which only `simulate` with compliant contacts has."""

    @property
    def meets(self) -> bool:
        """True for one of several points at which two solids meet."""
        kinds = (self.first.kind, "" if self.second is None else self.second.kind)
        return not self.convex and kinds in MEETING


@dataclass(frozen=True, slots=True)
class Contacts:
    """All contacts of a model, and how steps solve for their impulses."""

    ground: Ground | None
    pairs: tuple[ModelContact, ...]
    limited: tuple[int, ...] = ()
    """The bodies whose joints stop at their limits, or at those of joints that follow them, in steps with contacts."""
    sweeps: int = 10
    """Iterations of the solver in a step."""
    push: float = 0.2
    """The part of a penetration that a step removes."""
    fastest_push: float = 1.0
    """The largest speed, in m/s, at which penetrations are pushed apart."""
    stiffness: float | None = None
    """Of compliant contacts, in N/m^1.5; None for the usual one."""
    dissipation: float | None = None
    """Of compliant contacts, in s/m; None for the usual one."""
    slip_speed: float = 1e-4
    """Of compliant contacts, in m/s: friction is smoothed below it."""
    settled: float = 1e-11
    """Sweeps end in states where they change the velocities of contacts by less, in m/s; zero for all sweeps."""
    smooth: float = 0.0
    """The speed, in m/s, of the smoothed law, with impulses at a distance; zero for rigid contacts."""

    @property
    def bounces(self) -> bool:
        """True if a contact has restitution."""
        return any(c.restitution for c in self.pairs)

    def with_friction(self, friction: Iterable[float]) -> Contacts:
        """Return the same contacts with other coefficients of `friction`, one for each."""
        pairs = tuple(replace(c, friction=x) for c, x in zip(self.pairs, friction, strict=True))
        return replace(self, pairs=pairs)

    def with_limits(self, limited: tuple[int, ...]) -> Contacts:
        """Return the same contacts with other joints that stop at their limits."""
        return replace(self, limited=limited)

    @property
    def turning(self) -> tuple[int, ...]:
        """The contacts with torsional or rolling friction, which have moments."""
        return tuple(k for k, c in enumerate(self.pairs) if c.torsional or c.rolling)

    @property
    def blocks(self) -> int:
        """The number of impulses and moments, of three numbers each: those of all contacts, then the moments."""
        return len(self.pairs) + len(self.turning)

    def moment_of(self, k: int) -> int:
        """Return the place of the first moment of contact `k` among all impulses; -1 if it has none."""
        turning = self.turning
        return 3 * (len(self.pairs) + turning.index(k)) if k in turning else -1

    @property
    def lacking(self) -> str:
        """The name of a contact of solids that meet, unless all their points are there, in order; empty otherwise."""
        for k, c in enumerate(self.pairs):
            if c.meets and c.second is not None:
                count = MEETING[c.first.kind, c.second.kind]
                first = k - c.part
                group = self.pairs[max(first, 0) : first + count]
                if [(x.first, x.second, x.part) for x in group] != [(c.first, c.second, n) for n in range(count)]:
                    return c.name
        return ""

    @property
    def digest(self) -> str:
        """All that compiled code depends on, as text."""
        ground = self.ground
        axes = None if ground is None else (ground.axes, ground.steps, ground.heights, ground.size, ground.centre)
        solids = [(c.first, c.second, c.torsional, c.rolling, c.part, c.convex) for c in self.pairs]
        numbers = self.push, self.fastest_push, self.bounces, self.settled, self.smooth
        return repr((axes, solids, self.limited, self.sweeps, *numbers))


def stop_places(model: Model, limited: Iterable[int]) -> list[tuple[int, int, bool]]:
    """Return body and freedom of each joint that steps solve for, and whether it has dry friction: its own, or that of
    joints that follow it."""
    varied, found = model.variation, []
    masks = {} if varied is None else varied.masks
    begin = starts(model, "joint_friction") if "joint_friction" in masks else ()

    def dry(k: int, d: int) -> bool:
        return bool(model.joints[k].friction[d]) or (bool(begin) and bool(masks["joint_friction"][begin[k] + d]))

    stopping = set(limited)
    for k, c in enumerate(model.joints):
        if c.mimic is not None:
            continue
        same = [k, *(j for j, other in enumerate(model.joints) if other.mimic and other.mimic.joint == k)]
        for d in range(c.type.nv):
            rubs = any(dry(j, d) for j in same)
            if rubs or k in stopping:
                found.append((k, d, rubs))
    return found


def limited_joints(model: Model) -> tuple[int, ...]:
    """Return the bodies whose joints have one coordinate with limits: their own, or those of joints that follow."""
    has_limits = {
        k if c.mimic is None else c.mimic.joint
        for k, c in enumerate(model.joints)
        if (c.type.nq, c.type.nv) == (1, 1) and np.isfinite([*c.lower, *c.upper]).any()
    }
    return tuple(sorted(has_limits))


def number(x: object, what: str) -> float:
    """Return a finite number."""
    try:
        found = float(x)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise ArgumentError(f"{what} must be a finite number, not {x!r}")
    return found


def coefficient(x: object, what: str, most: float = math.inf) -> float:
    """Return a number that is not negative, and not above the most."""
    found = number(x, what)
    if not 0.0 <= found <= most:
        up_to = "not negative" if most == math.inf else f"between 0 and {most:g}"
        raise ArgumentError(f"{what} must be {up_to}, not {x!r}")
    return found
