"""Transmissions: the joints that have motors, their gears, and the inertia of their rotors."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import did_you_mean
from ...model import ModelBuilder
from ..attributes import number, parsed
from ..remarks import Remarks
from ..xml import Element
from .grammar import driven

__all__ = ["add_motors", "armatures_of"]


def add_motors(builder: ModelBuilder, root: Element, types: dict[str, str], remarks: Remarks) -> None:
    """Set the actuated joints of the builder, those that transmissions name, and add the actuators."""
    names: set[str] = set()
    known: dict[str, None] = {}
    for transmission in root.all("transmission"):
        joints = []
        for joint in driven(transmission):
            if joint in types:
                joints.append(joint)
            else:
                why = f"{joint!r}{did_you_mean(joint, types)}"
                remarks.add("left out: transmissions of joints that the robot does not have", why, transmission.where)
        known.update(dict.fromkeys(joints))
        if joints:
            _add_actuators(builder, transmission, joints, names, remarks)
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


def _add_actuators(
    builder: ModelBuilder, transmission: Element, joints: list[str], names: set[str], remarks: Remarks
) -> None:
    """Add the actuators of a transmission; `names` has those of all actuators so far.

    How a transmission of several joints divides forces among them is not read.
    """
    own = transmission.attributes.get("name") or f"{joints[0]}_transmission"
    said = next((x.text for x in transmission.all("type") if x.text), transmission.attributes.get("type", ""))
    kind = said.rpartition("/")[2].strip() or "transmission"
    for actuator in list(transmission.all("actuator")) or [transmission]:
        name = _new(actuator.attributes.get("name") or own, names)
        names.add(name)
        if len(joints) == 1:
            gear = _gear(transmission, actuator, f"actuator {name!r}", remarks)
            freedoms = builder.freedoms(joints[0])
            builder.actuator(name, kind, joints, [(gear,) * freedoms], where=actuator.where)
        else:
            through = f"transmission {own!r} of joints {', '.join(map(repr, joints))}"
            builder.actuator(name, kind, through=through, where=actuator.where)


def _new(name: str, names: set[str]) -> str:
    """Return a name, with a number if there is an actuator of this name already."""
    numbered = (f"{name}_{k}" for k in range(2, len(names) + 3))
    return name if name not in names else next(x for x in numbered if x not in names)


def _gear(transmission: Element, actuator: Element, what: str, remarks: Remarks) -> float:
    """Return the force on the joint per force of the actuator: Drake's gear_ratio, or the mechanicalReduction.

    A number that cannot be read is taken as 1, because the motion does not depend on it.
    """
    for element, text in _gears(transmission, actuator):
        try:
            return parsed(text, (1,))[0]
        except ValueError:
            remarks.add("taken as 1, because it is not a number", f"gear of {what} ({text:.40})", element.where)
    return 1.0


def _gears(transmission: Element, actuator: Element) -> Iterator[tuple[Element, str]]:
    """Yield the elements that may have a gear, with their texts, those of the actuator first."""
    for element in actuator.all("drake:gear_ratio"):
        yield element, element.attributes.get("value", "")
    for inside in (actuator, *transmission.all("joint"), transmission):
        for element in inside.all("mechanicalReduction"):
            yield element, element.text
