"""The <surface> of a collision: friction, restitution, stiffness."""

from __future__ import annotations

import math

from ...model.contact_terms import ContactTerms
from ..remarks import Remarks
from ..xml import Element
from .text import flag, number

__all__ = ["surface_of"]

_PATCH = 3.0 * math.pi / 16.0
"""The mean distance of the pressure in a round patch from its centre, as Gazebo has it, relative to its radius."""


def surface_of(collision: Element, what: str, remarks: Remarks) -> tuple[float | None, ContactTerms | None]:
    """Return the coefficient of sliding friction, and the other terms; None where the file does not say them."""
    surface = collision.only("surface", what)
    if surface is None:
        return None, None
    friction, contact, bounce = (surface.only(tag, what) for tag in ("friction", "contact", "bounce"))
    ode = None if friction is None else friction.only("ode", what)
    mu = number(ode, "mu", what, -1.0)
    if mu >= 0.0 and number(ode, "mu2", what, mu) != mu:
        remarks.add("with the friction of <mu> in all directions, without <mu2>", what, surface.where)
    torsional = _torsional(friction, what, remarks)
    e = number(bounce, "restitution_coefficient", what, 0.0)
    stiff = None if contact is None else contact.only("ode", what)
    if not 0.0 <= e <= 1.0:
        raise surface.error(f"{what}: its restitution is {e:g}; expected a number from 0 to 1")
    terms = ContactTerms(
        torsional=torsional,
        restitution=e,
        dimensions=4 if torsional else 3,
        stiffness=max(number(stiff, "kp", what, 0.0), 0.0),
        damping=max(number(stiff, "kd", what, 0.0), 0.0),
        smaller=True,
    )
    return (mu if mu >= 0.0 else None), terms


def _torsional(friction: Element | None, what: str, remarks: Remarks) -> float:
    """Return the length by which the normal force limits the moment about the normal: that of a round patch."""
    torsional = None if friction is None else friction.only("torsional", what)
    if torsional is None:
        return 0.0
    if not flag(torsional, "use_patch_radius", what, True):
        remarks.add("without torsional friction, which depends on the depth of the contact", what, torsional.where)
        return 0.0
    return max(_PATCH * number(torsional, "coefficient", what, 1.0) * number(torsional, "patch_radius", what, 0.0), 0.0)
