"""Writing actuators as MJCF: motors of joints and of fixed tendons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ..model import Actuator, Model
from .writing import Losses
from .xml_text import Node, fresh, numbers

__all__ = ["add_actuators"]

_FORCE = ("motor", "general")
"""Kinds of actuators whose control is a force. Of others, the gains are not known."""


def add_actuators(root: Node, model: Model, parts: Mapping[str, Sequence[tuple[str, int]]], losses: Losses) -> Node:
    """Add the actuators of a model, and motors of gear one for joints that have motors which no actuator describes.

    Return the section of tendons. `parts` has the MuJoCo joints of each joint, with their numbers of freedoms.
    """
    if model.motors == () and model.joints:
        losses.remark("the statement that no joint has a motor", "the robot")
    section, tendons = root.add("actuator"), root.add("tendon")
    names = {actuator.name for actuator in model.actuators}
    driven: dict[str, list[tuple[float, ...]]] = {}
    for actuator in model.actuators:
        what = f"actuator {actuator.name!r}"
        whole = all(len(parts.get(joint, ())) == 1 for joint in actuator.joints)
        direct = len(actuator.joints) == 1 and not actuator.through
        if not actuator.joints or not whole or (direct and actuator.joints[0] not in (model.motors or ())):
            losses.remark("the actuator", what)
        elif direct:
            (joint,), (gear,) = actuator.joints, actuator.gear
            driven.setdefault(joint, []).append(gear)
            _add(section, actuator, losses, joint=parts[joint][0][0], gear=numbers(_ordered(gear)))
        elif any(len(gear) > 1 for gear in actuator.gear):
            losses.remark("the actuator of several joints", what)
        else:
            tendon = tendons.add("fixed", name=f"{actuator.name}_tendon")
            for joint, gear in zip(actuator.joints, actuator.gear, strict=True):
                tendon.add("joint", joint=parts[joint][0][0], coef=numbers(gear))
            _add(section, actuator, losses, tendon=f"{actuator.name}_tendon")
    for name in model.motors or ():
        nv = sum(n for _, n in parts[name])
        if name in driven and np.linalg.matrix_rank(np.array(driven[name])) == nv:
            continue
        for joint, n in parts[name]:
            for row in np.eye(n, dtype=int).tolist():
                names.add(own := fresh(f"{joint}_motor", names))
                section.add("motor", name=own, joint=joint, gear=" ".join(map(str, row)) if n > 1 else None)
    return tendons


def _add(section: Node, actuator: Actuator, losses: Losses, **on: str | None) -> None:
    """Add a motor. Controls of other kinds than forces, such as positions, are left out."""
    given = dict(on)
    if any(map(math.isfinite, actuator.force_limits)):
        given["forcerange"] = numbers(_finite(actuator.force_limits))
    if actuator.kind in _FORCE and any(map(math.isfinite, actuator.control_limits)):
        given["ctrlrange"] = numbers(_finite(actuator.control_limits))
    if actuator.kind not in _FORCE:
        losses.remark(f"the kind {actuator.kind!r}, written as a motor,", f"actuator {actuator.name!r}")
    section.add("motor", name=actuator.name, **given)


def _ordered(gear: tuple[float, ...]) -> tuple[float, ...]:
    """Return a gear in MuJoCo's order, in which the linear freedoms of a free joint come first."""
    return (*gear[3:], *gear[:3]) if len(gear) == 6 else gear


def _finite(limits: tuple[float, float]) -> tuple[float, float]:
    low, high = (math.copysign(1e10, x) if math.isinf(x) else x for x in limits)
    return low, high
