"""How shapes touch each other, as files say it: friction, filters, and what a soft contact would need.

Two surfaces that touch have one set of terms. By MuJoCo's rule, those of the surface with the higher priority count;
of two with the same priority, the larger friction and the larger number of dimensions. In Gazebo, the smaller friction
counts. `ContactTerms` are those of a shape beside its sliding friction; `ContactRules` those of the whole file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..records import dataclass

if TYPE_CHECKING:
    from .parts import Shape

__all__ = [
    "USUAL",
    "ContactPair",
    "ContactRules",
    "ContactTerms",
    "Friction",
    "field_heights",
    "friction_between",
    "friction_of",
]

_DIMENSIONS = (1, 3, 4, 6)


@dataclass(frozen=True, slots=True)
class Friction:
    """The coefficients of a contact, and its restitution."""

    sliding: float = 1.0
    torsional: float = 0.0
    """The moment about the normal is at most this length, in m, times the normal force."""
    rolling: float = 0.0
    """The moment about the directions along the surface is at most this length, in m, times the normal force."""
    restitution: float = 0.0


USUAL = Friction()
"""That of surfaces of a file that says nothing; it is MuJoCo's."""


@dataclass(frozen=True, slots=True)
class ContactTerms:
    """How a collision shape touches others. `Shape.friction` has its sliding friction."""

    torsional: float = 0.005
    """In m; it counts if there are at least four dimensions."""
    rolling: float = 0.0001
    """In m; it counts if there are six dimensions."""
    restitution: float = 0.0
    """The part of the approach speed that is left after an impact; of two surfaces, the larger counts."""
    dimensions: int = 3
    """1 without friction, 3 with sliding friction, 4 with torsional friction too, 6 with rolling friction too."""
    priority: int = 0
    """Of two surfaces, the one with the higher priority says how they touch."""
    category: int = 1
    """Bits of what it is: it touches shapes whose `collides_with` has one of them. MJCF: contype."""
    collides_with: int = 1
    """Bits of what it touches. MJCF: conaffinity."""
    margin: float = 0.0
    """The distance at which MuJoCo's contacts begin; rigid contacts begin at zero."""
    gap: float = 0.0
    """The part of the margin in which MuJoCo's contacts have no force."""
    solref: tuple[float, ...] = ()
    """MuJoCo's time constant and damping ratio, or minus stiffness and damping per mass; empty if not given."""
    solimp: tuple[float, ...] = ()
    """MuJoCo's impedance; empty if not given."""
    stiffness: float = 0.0
    """Of the surface, in N/m, if the file has it (Gazebo's kp); otherwise zero. Rigid contacts do not use it."""
    damping: float = 0.0
    """Of the surface, in N s/m, if the file has it (Gazebo's kd); otherwise zero. Rigid contacts do not use it."""
    smaller: bool = False
    """True if the smaller friction of two surfaces counts, as in Gazebo."""

    def __post_init__(self) -> None:
        if self.dimensions not in _DIMENSIONS:
            raise ModelError(f"a contact has 1, 3, 4 or 6 dimensions, not {self.dimensions!r}")

    @property
    def per_mass(self) -> tuple[float, float]:
        """Stiffness in 1/s^2 and damping in 1/s for each kg of the bodies that touch, by `solref` and `solimp`.

        MuJoCo's contacts scale with the inertia that they move. Times a mass, these numbers are about the stiffness and
        the damping of a spring between the bodies.
        """
        time, ratio = self.solref or (0.02, 1.0)
        width = (*self.solimp, 0.9, 0.95)[1] if len(self.solimp) > 1 else 0.95
        if time < 0.0 or ratio < 0.0:
            return -time / width**2, -ratio / width
        return 1.0 / (width * time * ratio) ** 2, 2.0 / (width * time)


_PLAIN = ContactTerms()


@dataclass(frozen=True, slots=True)
class ContactPair:
    """Two shapes that a file lets touch whatever its filters say, with terms of their own. MJCF: <pair>."""

    first: tuple[str, ...]
    """The link and the name of a shape."""
    second: tuple[str, ...]
    """The link and the name of the other shape."""
    friction: float = 1.0
    """The sliding friction, whatever that of the shapes."""
    terms: ContactTerms = _PLAIN
    """The other terms."""


@dataclass(frozen=True, slots=True)
class ContactRules:
    """Which shapes touch each other, beside the bits of `ContactTerms`."""

    excluded: tuple[tuple[str, ...], ...] = ()
    """Pairs of links that never touch."""
    pairs: tuple[ContactPair, ...] = ()
    """Shapes that touch in any case."""
    neighbours: bool = False
    """True if bodies that a joint connects touch each other."""


def friction_of(friction: float | None, terms: ContactTerms | None) -> Friction:
    """Return the coefficients of a surface; those of dimensions that it does not have are zero."""
    sliding = USUAL.sliding if friction is None else friction
    if terms is None:
        return Friction(sliding)
    n = terms.dimensions
    return Friction(
        sliding if n > 1 else 0.0,
        terms.torsional if n > 3 else 0.0,
        terms.rolling if n > 4 else 0.0,
        terms.restitution,
    )


def friction_between(a: Shape, b: Shape, pair: ContactPair | None = None) -> Friction:
    """Return the coefficients of the contact of two shapes."""
    if pair is not None:
        return friction_of(pair.friction, pair.terms)
    one, other = (s.contact or _PLAIN for s in (a, b))
    mine, theirs = ((USUAL.sliding if s.friction is None else s.friction) for s in (a, b))
    if one.priority != other.priority:
        sliding, terms = (mine, one) if one.priority > other.priority else (theirs, other)
    else:
        chosen = min if one.smaller or other.smaller else max
        sliding = chosen(mine, theirs)
        terms = ContactTerms(
            chosen(one.torsional, other.torsional),
            chosen(one.rolling, other.rolling),
            max(one.restitution, other.restitution),
            max(one.dimensions, other.dimensions),
        )
    return friction_of(sliding, terms)


def field_heights(heights: Any, kind: str, what: str) -> tuple[tuple[float, ...], ...]:
    """Return the heights of a height field as tuples; none of other kinds of shapes."""
    try:
        found = np.asarray(heights, float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    right = found.ndim == 2 and min(found.shape) > 1 and bool(np.isfinite(found).all())
    if right is not (kind == "hfield") or (found.size and not right):
        raise ModelError(f"{what}: heights are for a shape of the kind 'hfield', finite numbers of at least (2, 2)")
    return tuple(map(tuple, found.tolist())) if right else ()
