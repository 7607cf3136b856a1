"""The settings of compliant and smoothed contacts in `Robot.with_contacts`."""

from __future__ import annotations

from dataclasses import replace

from ..arguments import positive
from ..errors import ArgumentError
from ..model.contacts import Contacts, coefficient

__all__ = ["smoothed", "softened"]


def softened(contacts: Contacts, stiffness: float | None, dissipation: float | None, slip_speed: float) -> Contacts:
    """Return contacts with these settings; raise if one is not possible."""
    return replace(
        contacts,
        stiffness=None if stiffness is None else positive(stiffness, "with_contacts: stiffness, in N/m^1.5,"),
        dissipation=None if dissipation is None else coefficient(dissipation, "with_contacts: dissipation"),
        slip_speed=positive(slip_speed, "with_contacts: slip_speed, in m/s,"),
    )


def smoothed(contacts: Contacts, smooth: float, settled: float) -> Contacts:
    """Return contacts with these speeds of the smoothed law and of sweeps that end; raise if one is not possible."""
    speed = coefficient(smooth, "with_contacts: smooth")
    if speed and contacts.turning:
        name = contacts.pairs[contacts.turning[0]].name
        raise ArgumentError(
            f"with_contacts: contact {name!r} has torsional or rolling friction, which the smoothed law has not: "
            "give smooth=0.0, or friction without them"
        )
    return replace(contacts, smooth=speed, settled=coefficient(settled, "with_contacts: settled"))
