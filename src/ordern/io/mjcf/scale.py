"""Scales of frames (`scale`, `massscale` and `scaling` of <frame>): factors of lengths, masses and joint terms.

A frame scales all that it contains, bodies included. Lengths are multiplied by s, and masses by m, which is s^3 unless
given. With the policy "similar", coefficients and forces of joints are those of the larger robot in the same units of
time: of a hinge or a ball they are multiplied by m s^2, of a slide by m, its forces by m s. With "geometry" they stay.
Those of free joints always do.
"""

from __future__ import annotations

import math

from ...model import Placement
from ...records import dataclass
from ..attributes import keyword, number, vector
from ..solids import Mass
from ..xml import Element

__all__ = ["ONE", "Scale", "scale_of"]

_REMEDY = "load the file in MuJoCo, which scales it, and save it"


@dataclass(frozen=True, slots=True)
class Scale:
    """The factors of all frames around an element."""

    length: float = 1.0
    mass: float = 1.0
    term_length: float = 1.0
    """The factor of lengths in coefficients of joints."""
    term_mass: float = 1.0
    """The factor of masses in these."""

    def of_mass(self, mass: Mass) -> Mass:
        """Return a mass that is scaled about the origin."""
        s = self.length
        return Mass(self.mass * mass.m, s * mass.com, self.mass * s * s * mass.I)

    def of_placement(self, at: Placement) -> Placement:
        """Return a placement whose position is scaled."""
        x, y, z = at.position
        return at if self.length == 1.0 else Placement(at.rotation, (self.length * x, self.length * y, self.length * z))

    def of_term(self, term: str, kind: str) -> float:
        """Return the factor of a term of a joint, in the words of the builder, for a kind of joint of MJCF."""
        s, m = self.term_length, self.term_mass
        if term in ("lower", "upper", "rest"):
            return self.length if kind == "slide" else 1.0
        if kind == "free":
            return 1.0
        if kind != "slide":
            return m * s * s
        return m * s if term in ("friction", "effort_limit") else m

    def __matmul__(self, inner: Scale) -> Scale:
        return Scale(
            self.length * inner.length,
            self.mass * inner.mass,
            self.term_length * inner.term_length,
            self.term_mass * inner.term_mass,
        )


ONE = Scale()


def scale_of(frame: Element) -> Scale:
    """Return the scale of a <frame>; an error if it differs along its axes."""
    if not any(key in frame.attributes for key in ("scale", "massscale")):
        return ONE
    given = vector(frame, "scale", range(1, 4), "a frame", (1.0,))
    if any(x != given[0] for x in given):
        why = f"has a scale that differs along its axes ({frame.attributes['scale']}), which is not read"
        raise frame.error(f"a <frame> {why}: {_REMEDY}")
    s = given[0]
    m = number(frame, "massscale", "a frame", 0.0) or s**3
    if not (math.isfinite(s) and s > 0.0 and math.isfinite(m) and m > 0.0):
        raise frame.error(f"a <frame> has scale {s:g} and massscale {m:g}; expected positive numbers")
    similar = keyword(frame, "scaling", ("similar", "geometry"), "similar", "a frame") == "similar"
    return Scale(s, m, *((s, m) if similar else (1.0, 1.0)))
