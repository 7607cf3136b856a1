"""Checks of single bodies: mass, inertia, centre of mass."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..joints import Continuous, Revolute
from ..model import Body
from ..model.parts import inward
from .report import Finding
from .subject import Subject
from .table import body_check, robot_check

__all__: list[str] = []

_ROUNDING = 1e-3
"""Slim or flat bodies lie on the limit, and files have few digits: a smaller violation is rounding."""
_MEASURED = 1.25
"""A moment this many times the sum of the other two may be a measurement: that of the PUMA 560 is 1.1 times."""
_ROOMY, _TIGHT = 5.0, 2e-3
"""Doubtful radii of gyration of bodies of unknown shape, relative to the distances between their joints."""
_COMPACT = 0.05
"""Metres. Joints that are closer, as in a wrist, do not indicate the size of a body."""
_LARGEST, _SMALLEST = 5.0, 1e-4
"""Radii of gyration that are doubtful for any body, in metres."""
_INERTIA_ADVICE = "compute the inertia about the centre of mass, in kg m^2, from the geometry or the CAD model"
_UNITS_ADVICE = "check the units (1 g mm^2 is 1e-9 kg m^2), and that the inertia is about the centre of mass"
_IDEAL_ADVICE = "fine for an ideal; other programs may refuse it"


@body_check("inertia-negative", "error", _INERTIA_ADVICE)
def inertia_negative(s: Subject, k: int, b: Body) -> str:
    """Find principal moments below zero."""
    least, _, most = s.principal[k]
    if least >= -_ROUNDING * abs(most) or _all_equal(b):
        return ""
    return f"has {_moments(s, k)}; a moment cannot be below zero"


@body_check("inertia-triangle", "error", _INERTIA_ADVICE)
def inertia_triangle(s: Subject, k: int, b: Body) -> str:
    """Find principal moments far above the sum of the other two, which no distribution of mass has."""
    return _triangle(s, k, b) if s.principal[k][2] > _MEASURED * s.principal[k][:2].sum() else ""


@body_check("inertia-triangle", "warning", f"{_INERTIA_ADVICE}; fine if it was measured so")
def inertia_measured(s: Subject, k: int, b: Body) -> str:
    """Find principal moments a little above the sum of the other two, as measurements give."""
    return _triangle(s, k, b) if s.principal[k][2] <= _MEASURED * s.principal[k][:2].sum() else ""


@body_check("inertia-planar", "info", "fine for a motion in a plane; other programs may refuse it")
def inertia_planar(s: Subject, k: int, b: Body) -> str:
    """Find bodies with the inertia of a motion in a plane."""
    return "has a moment of inertia about its axis of rotation only; it turns about no other" if s.plane(k) else ""


def _triangle(s: Subject, k: int, b: Body) -> str:
    x, y, z = s.principal[k]
    if x < -_ROUNDING * z or z <= (x + y) * (1.0 + _ROUNDING) or _all_equal(b) or s.plane(k):
        return ""
    rule = "no body turns heavily about one axis and lightly about the others"
    if x + y > 0.0:
        rule = f"no body has one above the sum of the other two, and here it is {z / (x + y):.3g} times that"
    return f"has {_moments(s, k)}; {rule}"


@body_check("inertia-all-equal", "error", _INERTIA_ADVICE)
def inertia_all_equal(s: Subject, k: int, b: Body) -> str:
    """Find inertias with nine equal entries: a placeholder, not the inertia of a body."""
    equal = f"has an inertia whose nine entries are all {b.inertia[0]:g}, which no body can have"
    return equal if _all_equal(b) else ""


@body_check("inertia-singular", "info", _IDEAL_ADVICE)
def inertia_missing(s: Subject, k: int, b: Body) -> str:
    """Find moving bodies with mass but without inertia."""
    point = _singular(s, k, b) and s.principal[k][2] == 0.0
    return f"has mass {b.mass:.4g} kg but no inertia: it counts as a point mass" if point else ""


@body_check("inertia-singular", "info", _IDEAL_ADVICE)
def inertia_singular(s: Subject, k: int, b: Body) -> str:
    """Find moving bodies with mass but without inertia about some axis."""
    line = _singular(s, k, b) and s.principal[k][2] != 0.0
    return f"has {_moments(s, k)}: there is no inertia about one axis" if line else ""


@body_check("inertia-too-large", "warning", _UNITS_ADVICE)
def inertia_too_large(s: Subject, k: int, b: Body) -> str:
    """Find radii of gyration beyond the body's extent, or implausibly large if the extent is not known."""
    gyration, solid = _gyration(s, k, b), s.solid(k)
    if solid is not None and solid.size > 0.0:
        limit = max(solid.reach(b.com), s.span(k, b.com))
        of = f"its geometry extends {limit:.3g} m"
    elif (scale := s.scale(k)) > 0.0:
        limit = _ROOMY * max(scale, _COMPACT)
        of = f"its joints and its centre of mass are within {scale:.3g} m"
    elif 0.0 < 10.0 * s.reach < _LARGEST:
        limit, of = 10.0 * s.reach, f"the whole robot reaches {s.reach:.3g} m"
    else:
        limit, of = _LARGEST, "few bodies of robots are as large"
    if not gyration > 1.01 * limit:
        return ""
    return (
        f"has mass {b.mass:.4g} kg and inertias up to {s.principal[k][2]:.4g} kg m^2, as if its mass were "
        f"{gyration:.3g} m from its centre; {of}"
    )


@body_check("inertia-too-small", "warning", _INERTIA_ADVICE)
def inertia_below_solid(s: Subject, k: int, b: Body) -> str:
    """Find inertias below a hundredth of that of a solid of the same shape and mass."""
    gyration, solid, most = _gyration(s, k, b), s.solid(k), s.principal[k][2]
    if solid is None or not np.isfinite(solid.gyration) or not gyration < 0.1 * solid.gyration:
        return ""
    return (
        f"has inertias up to {most:.3g} kg m^2; a solid of its shape and mass ({b.mass:.4g} kg) has "
        f"{b.mass * solid.gyration**2:.3g}"
    )


@body_check("inertia-too-small", "warning", _UNITS_ADVICE)
def inertia_too_small(s: Subject, k: int, b: Body) -> str:
    """Find inertias of bodies of unknown shape that are below any plausible size."""
    gyration, solid = _gyration(s, k, b), s.solid(k)
    known = solid is not None and np.isfinite(solid.gyration)
    if known or not gyration < max(_SMALLEST, _TIGHT * s.scale(k)):
        return ""
    return (
        f"has mass {b.mass:.4g} kg and inertias up to {s.principal[k][2]:.3g} kg m^2, as if all its mass were within "
        f"{1e3 * gyration:.2g} mm"
    )


@robot_check
def inertia_default(s: Subject) -> Iterator[Finding]:
    """Find values left by an exporter or a template: 1 in all directions, or equal on many bodies."""
    same: dict[tuple[float, ...], list[Body]] = {}
    for b in s.model.bodies:
        xx, yy, zz, *off = b.inertia
        if b.mass > 0.0 and xx == yy == zz > 0.0 and not any(off):
            same.setdefault(b.inertia, []).append(b)
    for I, found in same.items():
        if (len(found) > 2 and len({b.mass for b in found}) > 1) or I[0] == 1.0:
            names = ", ".join(repr(b.name) for b in found[:4]) + (", ..." if len(found) > 4 else "")
            many = f"{len(found)} bodies ({names}) have" if len(found) > 1 else f"body {names} has"
            why = f"{many} the inertia {I[0]:g} kg m^2 in all directions: it looks like a placeholder"
            yield Finding("warning", "inertia-default", found[0].name, why, _INERTIA_ADVICE, found[0].where)


@body_check("inertia-without-mass", "warning", "give it a mass")
def inertia_without_mass(s: Subject, k: int, b: Body) -> str:
    """Find bodies with inertia but without mass, which a body that only turns about a fixed axis does not need."""
    if b.mass != 0.0 or not any(b.inertia):
        return ""
    way = [s.model.joints[j] for j in inward(s.model.joints, k)]
    about_one_point = not any(any(c.placement.position) for c in way[:-1])
    turns = s.plane(k) and about_one_point and all(isinstance(c.type, (Revolute, Continuous)) for c in way)
    return "" if turns else "has an inertia but no mass"


@body_check("com-far", "warning", "check the units (metres), and that it is given in the body's own frame")
def com_far(s: Subject, k: int, b: Body) -> str:
    """Find centres of mass far away from their bodies."""
    far, solid = float(np.linalg.norm(b.com)), s.solid(k)
    if b.mass <= 0.0:
        return ""
    if solid is not None and solid.size > 0.0:
        outside = solid.distance(b.com)
        why = f"has its centre of mass {outside:.3g} m outside of its geometry of {solid.size:.3g} m"
        return why if outside > solid.size else ""
    why = f"has its centre of mass {far:.3g} m from its origin; the whole robot reaches {s.reach:.3g} m"
    return why if 0.0 < 2.0 * s.reach < far else ""


@body_check("mass-zero", "info", "fine for a frame within a chain; otherwise give it a mass and an inertia")
def mass_zero(s: Subject, k: int, b: Body) -> str:
    """Find moving bodies without mass or inertia, fixed parts included."""
    rigid = [s.model.bodies[j] for j in s.rigid.get(k, ())]
    massless = bool(rigid) and not any(part.mass > 0.0 or any(part.inertia) for part in rigid)
    return "moves and has no mass" if massless and s.moved[k] else ""


@robot_check
def mass_huge(s: Subject) -> Iterator[Finding]:
    """Find masses that look like grams taken for kilograms."""
    if s.model.mass > 1e5:
        why = f"the robot weighs {s.model.mass:.4g} kg"
        yield Finding("warning", "mass-huge", "", why, "check the units: masses are in kilograms")


def _singular(s: Subject, k: int, b: Body) -> bool:
    least, _, most = s.principal[k]
    flat = abs(least) <= 1e-9 * most and not _all_equal(b) and not s.plane(k)
    return b.mass > 0.0 and s.moved[k] and flat


def _gyration(s: Subject, k: int, b: Body) -> float:
    """Return the largest radius of gyration; NaN, which no comparison passes, for a body without mass or inertia."""
    if b.mass <= 0.0 or s.principal[k][2] <= 0.0 or _all_equal(b):
        return np.nan
    return float(np.sqrt(s.principal[k][2] / b.mass))


def _all_equal(b: Body) -> bool:
    return b.inertia[0] != 0.0 and len(set(b.inertia)) == 1


def _moments(s: Subject, k: int) -> str:
    return f"the principal moments of inertia {', '.join(f'{x:.4g}' for x in s.principal[k])} kg m^2"
