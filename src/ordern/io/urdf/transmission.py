"""Transmissions: the joints that have motors, and the inertia of their rotors."""

from __future__ import annotations

from ...errors import did_you_mean
from ...model import ModelBuilder
from ..attributes import number
from ..remarks import Remarks
from ..xml import Element
from .grammar import driven

__all__ = ["add_motors", "armatures_of"]


def add_motors(builder: ModelBuilder, root: Element, types: dict[str, str], remarks: Remarks) -> None:
    """Set the actuated joints of the builder: those that transmissions name."""
    named = [(name, element) for element in root.all("transmission") for name in driven(element)]
    for name, element in named:
        if name not in types:
            why = f"{name!r}{did_you_mean(name, types)}"
            remarks.add("left out: transmissions of joints that the robot does not have", why, element.where)
    known = dict.fromkeys(name for name, _ in named if name in types)
    if known:
        builder.actuated = tuple(known)


def armatures_of(root: Element) -> dict[str, float]:
    """Return the inertias of rotors as their joints feel them, by joint: Drake's rotor_inertia times gear_ratio^2."""
    found: dict[str, float] = {}
    for transmission in root.all("transmission"):
        names = driven(transmission)
        for actuator in transmission.all("actuator"):
            what = f"actuator {actuator.attributes.get('name', '')!r}"
            rotor, gear = (actuator.only(f"drake:{key}", what) for key in ("rotor_inertia", "gear_ratio"))
            if rotor is None or len(names) != 1:
                continue
            ratio = 1.0 if gear is None else number(gear, "value", what)
            inertia = number(rotor, "value", what)
            if inertia < 0.0:
                raise rotor.error(f"{what}: its <drake:rotor_inertia> is {inertia:g}; expected zero or more")
            found[names[0]] = found.get(names[0], 0.0) + inertia * ratio * ratio
    return found
