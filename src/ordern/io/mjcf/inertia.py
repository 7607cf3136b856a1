"""The masses and inertias of bodies: given, or of their geoms, adjusted by the compiler settings."""

from __future__ import annotations

import numpy as np

from ..attributes import number, required, vector
from ..solids import Mass, combined
from .document import Settings
from .geometry import geom_of, mass_of
from .nodes import BodyNode, Part
from .orientation import placed

__all__ = ["body_mass"]


def body_mass(body: BodyNode) -> Mass:
    """Return mass, centre and inertia of a body."""
    try:
        with np.errstate(all="ignore"):
            mass = _bounded(_body_mass(body), body.document.settings)
    except OverflowError:
        mass = None
    if mass is None or not np.isfinite([mass.m, *mass.com, *mass.I.ravel()]).all():
        raise body.element.error(f"{body.what} has no finite mass and inertia")
    return mass


def _body_mass(body: BodyNode) -> Mass:
    settings = body.document.settings
    if len(body.inertials) > 1:
        raise body.inertials[1].element.error(f"{body.what} has {len(body.inertials)} <inertial>; expected one")
    low, high = settings.groups
    counted = (part for part in body.geoms if low <= number(part.element, "group", body.what, 0.0) <= high)
    geoms = [geom_of(part, body) for part in counted]
    if body.inertials and (settings.from_geoms != "true" or not geoms):
        return _given(body.inertials[0], body)
    if settings.from_geoms == "false":
        return combined([])
    masses = (mass_of(geom) for geom in geoms)
    return combined([mass for mass in masses if mass.m > 0.0])


def _given(part: Part, body: BodyNode) -> Mass:
    """Return the mass of an <inertial>."""
    e, what = part.element, body.what
    required(e, "pos", what)
    m = number(e, "mass", what)
    at = placed(e, part.document.settings, what)
    if "diaginertia" in e.attributes and "fullinertia" in e.attributes:
        raise e.error(f"{what}: <inertial> has diaginertia and fullinertia; expected one of them")
    if "fullinertia" in e.attributes:
        xx, yy, zz, xy, xz, yz = vector(e, "fullinertia", 6, what)
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    else:
        I = np.diag(vector(e, "diaginertia", 3, what, (0.0, 0.0, 0.0)))
    return part.scale.of_mass(Mass(m, np.zeros(3), I).moved(at)).moved(part.at)


def _bounded(mass: Mass, settings: Settings) -> Mass:
    """Return a mass with the least mass and moments that the settings allow, and physical moments."""
    if settings.bound_mass <= 0.0 and settings.bound_inertia <= 0.0 and not settings.balance:
        return mass
    moments, axes = np.linalg.eigh(mass.I)
    moments = np.maximum(moments, settings.bound_inertia)
    if settings.balance and 2.0 * moments.max() > moments.sum():
        moments[:] = moments.mean()
    return Mass(max(mass.m, settings.bound_mass), mass.com, (axes * moments) @ axes.T)
