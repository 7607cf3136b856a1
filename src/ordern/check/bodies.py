"""Checks of single bodies: mass, inertia, centre of mass."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..model import Body
from .report import Finding, Severity
from .subject import Subject

__all__ = [
    "com_far",
    "inertia_all_equal",
    "inertia_default",
    "inertia_negative",
    "inertia_singular",
    "inertia_too_large",
    "inertia_too_small",
    "inertia_triangle",
    "inertia_without_mass",
    "mass_huge",
    "mass_zero",
]

_ROUNDING = 1e-3
"""Slim or flat bodies lie on the limit, and files have few digits: a smaller violation is rounding."""
_INERTIA_ADVICE = "compute the inertia about the centre of mass, in kg m^2, from the geometry or the CAD model"


def mass_zero(s: Subject) -> Iterator[Finding]:
    """Find moving bodies without mass, except parts of heavier bodies, and frames within a chain."""
    bodies = s.model.bodies
    for group in s.rigid:
        head = group[0]
        if not s.moved[head] or any(bodies[k].mass > 0.0 for k in group):
            continue
        if not any(bodies[k].inertia_matrix.any() for k in group):
            yield Finding(
                "info",
                "mass-zero",
                bodies[head].name,
                f"body {bodies[head].name!r} moves and has no mass",
                "fine for a frame within a chain; otherwise give it a mass and an inertia",
                bodies[head].where,
            )


def inertia_without_mass(s: Subject) -> Iterator[Finding]:
    """Find bodies with inertia but without mass."""
    for k, b in enumerate(s.model.bodies):
        if b.mass == 0.0 and any(b.inertia):
            yield _about(s, k, "inertia-without-mass", "has an inertia but no mass", "give it a mass", "warning")


def inertia_negative(s: Subject) -> Iterator[Finding]:
    """Find principal moments below zero."""
    for k, b in enumerate(s.model.bodies):
        least, _, most = s.principal[k]
        if least < -_ROUNDING * abs(most) and not _all_equal(b):
            moments = _listed(s.principal[k])
            why = f"has the principal moments of inertia {moments} kg m^2; none can be below zero"
            yield _about(s, k, "inertia-negative", why, _INERTIA_ADVICE)


def inertia_triangle(s: Subject) -> Iterator[Finding]:
    """Find principal moments above the sum of the other two, which no distribution of mass has."""
    for k, b in enumerate(s.model.bodies):
        x, y, z = s.principal[k]
        if x >= -_ROUNDING * z and z > (x + y) * (1.0 + _ROUNDING) and not _all_equal(b):
            why = (
                f"has the principal moments of inertia {_listed(s.principal[k])} kg m^2; no body has one above the sum "
                f"of the other two, and here it is {z / (x + y):.3g} times that"
                if x + y > 0.0
                else f"has the principal moments of inertia {_listed(s.principal[k])} kg m^2; no body turns heavily "
                "about one axis and lightly about the others"
            )
            yield _about(s, k, "inertia-triangle", why, _INERTIA_ADVICE)


def inertia_all_equal(s: Subject) -> Iterator[Finding]:
    """Find inertias with nine equal entries: a placeholder, not the inertia of a body."""
    for k, b in enumerate(s.model.bodies):
        if _all_equal(b):
            why = f"has an inertia whose nine entries are all {b.inertia[0]:g}, which no body can have"
            yield _about(s, k, "inertia-all-equal", why, _INERTIA_ADVICE)


def inertia_singular(s: Subject) -> Iterator[Finding]:
    """Find bodies with mass but without inertia about some axis."""
    for k, b in enumerate(s.model.bodies):
        least, _, most = s.principal[k]
        if b.mass <= 0.0 or not s.moved[k] or abs(least) > 1e-9 * most or _all_equal(b):
            continue
        if most == 0.0:
            why = f"has mass {b.mass:.4g} kg but no inertia: it counts as a point mass"
        else:
            why = f"has the principal moments of inertia {_listed(s.principal[k])} kg m^2: none about one axis"
        yield Finding(
            "info" if most == 0.0 else "warning",
            "inertia-singular",
            b.name,
            f"body {b.name!r} {why}",
            "fine for an ideal; other programs may refuse it",
            b.where,
        )


def inertia_too_large(s: Subject) -> Iterator[Finding]:
    """Find radii of gyration beyond the body's extent, or implausibly large if the extent is not known."""
    for k, b in enumerate(s.model.bodies):
        if b.mass <= 0.0 or s.principal[k][2] <= 0.0 or _all_equal(b):
            continue
        gyration = float(np.sqrt(s.principal[k][2] / b.mass))
        solid = s.solid(k)
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
        if gyration > 1.01 * limit:
            why = (
                f"has mass {b.mass:.4g} kg and inertias up to {s.principal[k][2]:.4g} kg m^2, as if its mass were "
                f"{gyration:.3g} m from its centre; {of}"
            )
            yield _about(s, k, "inertia-too-large", why, _UNITS_ADVICE, "warning")


def inertia_too_small(s: Subject) -> Iterator[Finding]:
    """Find inertias below a hundredth of that of a solid of the same shape and mass, or below any plausible size."""
    for k, b in enumerate(s.model.bodies):
        if b.mass <= 0.0 or s.principal[k][2] <= 0.0 or _all_equal(b):
            continue
        gyration = float(np.sqrt(s.principal[k][2] / b.mass))
        solid = s.solid(k)
        if solid is not None and np.isfinite(solid.gyration):
            expected = b.mass * solid.gyration**2
            if s.principal[k][2] < 0.01 * expected:
                why = (
                    f"has inertias up to {s.principal[k][2]:.3g} kg m^2; a solid of its shape and mass "
                    f"({b.mass:.4g} kg) has {expected:.3g}"
                )
                yield _about(s, k, "inertia-too-small", why, _INERTIA_ADVICE, "warning")
        elif gyration < max(_SMALLEST, _TIGHT * s.scale(k)):
            why = (
                f"has mass {b.mass:.4g} kg and inertias up to {s.principal[k][2]:.3g} kg m^2, as if all its mass were "
                f"within {1e3 * gyration:.2g} mm"
            )
            yield _about(s, k, "inertia-too-small", why, _UNITS_ADVICE, "warning")


_ROOMY, _TIGHT = 5.0, 2e-3
"""Doubtful radii of gyration of bodies of unknown shape, relative to the distances between their joints."""
_COMPACT = 0.05
"""Metres. Joints that are closer, as in a wrist, do not indicate the size of a body."""
_LARGEST, _SMALLEST = 5.0, 1e-4
"""Radii of gyration that are doubtful for any body, in metres."""
_UNITS_ADVICE = "check the units (1 g mm^2 is 1e-9 kg m^2), and that the inertia is about the centre of mass"


def inertia_default(s: Subject) -> Iterator[Finding]:
    """Find values left by an exporter or a template: 1 in all directions, or equal on many bodies."""
    same: dict[tuple[float, ...], list[int]] = {}
    for k, b in enumerate(s.model.bodies):
        xx, yy, zz, *off = b.inertia
        if b.mass > 0.0 and xx == yy == zz > 0.0 and not any(off):
            same.setdefault(b.inertia, []).append(k)
    for I, found in same.items():
        masses = {s.model.bodies[k].mass for k in found}
        if (len(found) > 2 and len(masses) > 1) or I[0] == 1.0:
            names = ", ".join(repr(s.model.bodies[k].name) for k in found[:4]) + (", ..." if len(found) > 4 else "")
            first = s.model.bodies[found[0]]
            many = f"{len(found)} bodies ({names}) have" if len(found) > 1 else f"body {names} has"
            yield Finding(
                "warning",
                "inertia-default",
                first.name,
                f"{many} the inertia {I[0]:g} kg m^2 in all directions: it looks like a placeholder",
                _INERTIA_ADVICE,
                first.where,
            )


def com_far(s: Subject) -> Iterator[Finding]:
    """Find centres of mass far away from their bodies."""
    for k, b in enumerate(s.model.bodies):
        if b.mass <= 0.0:
            continue
        far = float(np.linalg.norm(b.com))
        solid = s.solid(k)
        if solid is not None and solid.size > 0.0:
            outside = solid.distance(b.com)
            if outside > solid.size:
                why = f"has its centre of mass {outside:.3g} m outside of its geometry of {solid.size:.3g} m"
                yield _about(s, k, "com-far", why, _COM_ADVICE, "warning")
        elif s.reach > 0.0 and far > 2.0 * s.reach:
            why = f"has its centre of mass {far:.3g} m from its origin; the whole robot reaches {s.reach:.3g} m"
            yield _about(s, k, "com-far", why, _COM_ADVICE, "warning")


_COM_ADVICE = "check the units (metres), and that it is given in the body's own frame"


def mass_huge(s: Subject) -> Iterator[Finding]:
    """Find masses that look like grams taken for kilograms."""
    total = s.model.mass
    if total > 1e5:
        yield Finding(
            "warning", "mass-huge", "", f"the robot weighs {total:.4g} kg", "check the units: masses are in kilograms"
        )


def _about(s: Subject, k: int, code: str, why: str, advice: str, severity: Severity = "error") -> Finding:
    """Return a finding about a body; of a fixed body, it is only an information."""
    b = s.model.bodies[k]
    return Finding(severity if s.moved[k] else "info", code, b.name, f"body {b.name!r} {why}", advice, b.where)


def _all_equal(b: Body) -> bool:
    return b.inertia[0] != 0.0 and len(set(b.inertia)) == 1


def _listed(numbers: Iterator[float] | np.ndarray) -> str:
    return ", ".join(f"{x:.4g}" for x in numbers)
