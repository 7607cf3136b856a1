"""Contacts of a model: pairs of solids that can touch, and the settings of the solver for them.

A contact is between a solid on a body and the ground, or between solids on two bodies. Its friction, restitution and
ground height are arguments of a step, so that they may differ between the states of a batch; the numbers here are the
ones that are used unless others are given. All else is part of the compiled code.
"""

from __future__ import annotations

import math

import numpy as np

from ..errors import ArgumentError
from ..joints import Placement
from ..records import dataclass

__all__ = ["SOLIDS", "Contacts", "Ground", "ModelContact", "Solid"]

SOLIDS = {"sphere": 1, "capsule": 2, "box": 3}
"""The kinds of solids, and how many numbers their sizes have: radius; radius and length; three sides."""
_HERE = Placement()


@dataclass(frozen=True, slots=True)
class Ground:
    """A plane, flat or sloped: the points x with normal . x = height, in the world.

    `friction` is the coefficient of Coulomb friction. `restitution` is the part of the approach speed that a contact
    has after an impact. `normal` points out of the ground; its length does not matter.

    >>> import math, ordern as on
    >>> slope = math.radians(20)
    >>> on.Ground(friction=0.5, normal=(math.sin(slope), 0, math.cos(slope))).friction
    0.5
    """

    friction: float = 0.8
    restitution: float = 0.0
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    height: float = 0.0

    def __post_init__(self) -> None:
        """Raise for numbers that are not possible, and make the normal a unit vector."""
        for name, most in (("friction", math.inf), ("restitution", 1.0)):
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
    """A solid on a body: a sphere (radius), a capsule along z (radius, length between its centres) or a box (sides)."""

    body: int
    kind: str
    size: tuple[float, ...]
    placement: Placement = _HERE


@dataclass(frozen=True, slots=True)
class ModelContact:
    """Two solids that can touch at one point; without a second one, a solid and the ground."""

    name: str
    first: Solid
    second: Solid | None = None
    friction: float = 0.8
    restitution: float = 0.0


@dataclass(frozen=True, slots=True)
class Contacts:
    """All contacts of a model, and how steps solve for their impulses."""

    ground: Ground | None
    pairs: tuple[ModelContact, ...]
    limited: tuple[int, ...] = ()
    """The bodies whose joints stop at their limits, solved for together with the contacts."""
    sweeps: int = 10
    """Iterations of the solver in a step."""
    push: float = 0.2
    """The part of a penetration that a step removes."""
    fastest_push: float = 1.0
    """The largest speed, in m/s, at which penetrations are pushed apart."""

    @property
    def bounces(self) -> bool:
        """True if a contact has restitution."""
        return any(c.restitution for c in self.pairs)

    @property
    def digest(self) -> str:
        """All that compiled code depends on, as text."""
        axes = None if self.ground is None else self.ground.axes
        solids = [(c.first, c.second) for c in self.pairs]
        return repr((axes, solids, self.limited, self.sweeps, self.push, self.fastest_push, self.bounces))


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
