"""Motors of joints, in the words of Drake: the inertia of a rotor, and its gear."""

from __future__ import annotations

from .joint import SdfJoint
from .text import number

__all__ = ["armature_of", "gear_of", "has_motor"]

_GEAR, _ROTOR = "drake:gear_ratio", "drake:rotor_inertia"


def has_motor(joint: SdfJoint) -> bool:
    """Return whether the file describes the motor of a joint."""
    return any(child.tag in (_GEAR, _ROTOR) for child in joint.element.children)


def gear_of(joint: SdfJoint) -> float:
    """Return the ratio of the gear, 1 by default."""
    return number(joint.element, _GEAR, joint.what, 1.0)


def armature_of(joint: SdfJoint) -> float:
    """Return the inertia of the rotor as the joint feels it: rotor_inertia times gear_ratio^2."""
    rotor = number(joint.element, _ROTOR, joint.what, 0.0)
    if rotor < 0.0:
        raise joint.element.error(f"{joint.what}: its <{_ROTOR}> is {rotor:g}; expected zero or more")
    return rotor * gear_of(joint) ** 2
