"""SRDF, the Semantic Robot Description Format of MoveIt: named positions (<group_state>) and rotors (<rotor_params>).

<rotor_params> is Pinocchio's extension: its `mass` is the rotor's moment of inertia about its own axis in kg m^2, and
the armature of the joint is mass * gear_ratio^2. It replaces the armature of the robot's file.

Positions of joints with several coordinates are in the order of MoveIt and Pinocchio: of a floating joint (x, y, z, qx,
qy, qz, qw), of a planar one (x, y, angle). They are put into the order of the library.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..errors import ModelError, did_you_mean
from ..model import ModelBuilder
from ..model.positions import ROOT
from .attributes import number, parsed, required
from .remarks import Remarks
from .source import open_source
from .xml import Element, parse_xml

__all__ = ["add_srdf"]

Values = dict[str, tuple[float, ...]]


def add_srdf(builder: ModelBuilder, source: str | os.PathLike[str]) -> None:
    """Add the named positions and rotors of an SRDF file, or of its text, to a robot that is being built."""
    opened = open_source(source, [".srdf"])
    root = parse_xml(opened.data, opened.name)
    if root.tag != "robot":
        raise root.error(f"the root element is <{root.tag}>; that of an SRDF document is <robot>")
    remarks = Remarks()
    states: dict[str, list[tuple[str, Values, Element]]] = {}
    for element in root.all("group_state"):
        name = required(element, "name")
        group = element.attributes.get("group", "")
        states.setdefault(name, []).append((group, _values(builder, element, name, remarks), element))
    for name, found in states.items():
        _add(builder, name, found)
    for rotors in root.all("rotor_params"):
        _add_rotors(builder, rotors, remarks)
    remarks.note(builder)


def _add_rotors(builder: ModelBuilder, rotors: Element, remarks: Remarks) -> None:
    """Set the armatures of joints from the inertias of their rotors and their gear ratios."""
    for element in rotors.all("joint"):
        joint = required(element, "name", "rotor_params")
        J, ratio = (number(element, key, f"rotor_params: joint {joint!r}") for key in ("mass", "gear_ratio"))
        if J < 0.0:
            raise element.error(f'rotor_params: <joint name="{joint}"> has mass="{J:g}"; it must be non-negative')
        if joint not in builder.joints:
            why = f"{joint!r} of rotor_params{did_you_mean(joint, builder.joints)}"
            remarks.add("left out: rotors of joints that the robot does not have", why, element.where)
        elif builder.freedoms(joint) == 1:
            builder.set_terms(joint, armature=J * ratio * ratio)
        elif builder.freedoms(joint):
            remarks.add("left out: rotors of joints with several degrees of freedom", repr(joint), element.where)


def _add(builder: ModelBuilder, name: str, found: Sequence[tuple[str, Values, Element]]) -> None:
    """Add a position; several of one name, each of a group of joints, also have the names of their groups before it."""
    whole: Values = {}
    agree = True
    for _, values, _ in found:
        agree = agree and all(whole.get(joint, x) == x for joint, x in values.items())
        whole = {**values, **whole}
    if len(found) == 1 or agree:
        builder.position(name, whole, found[0][2].where)
    if len(found) > 1:
        for group, values, element in found:
            builder.position(f"{group}/{name}", values, element.where)


def _values(builder: ModelBuilder, state: Element, name: str, remarks: Remarks) -> Values:
    """Return the positions of the joints of a state; joints that the robot does not have are left out."""
    what, found = f"group_state {name!r}", Values()
    for element in state.all("joint"):
        joint = required(element, "name", what)
        text = required(element, "value", what)
        if joint != ROOT and joint not in builder.joints:
            why = f"{joint!r} of {what}{did_you_mean(joint, builder.joints)}"
            remarks.add("left out: positions of joints that the robot does not have", why, element.where)
            continue
        try:
            numbers = parsed(text, range(1, 8))
        except ValueError as e:
            raise element.error(f'{what}: <joint name="{joint}"> has value="{text:.80}"; {e}') from None
        found[joint] = _ordered(builder, joint, numbers, element, what)
    return found


def _ordered(
    builder: ModelBuilder, joint: str, numbers: tuple[float, ...], element: Element, what: str
) -> tuple[float, ...]:
    """Return the positions of a joint in the order of the library."""
    freedoms = 6 if joint == ROOT and joint not in builder.joints else builder.freedoms(joint)
    if freedoms <= 1 and len(numbers) == 1:
        return numbers
    if freedoms == 6 and len(numbers) == 7:
        x, y, z, qx, qy, qz, qw = numbers
        return qw, qx, qy, qz, x, y, z
    if freedoms == 3 and len(numbers) == 4:
        qx, qy, qz, qw = numbers
        return qw, qx, qy, qz
    if freedoms == 3 and len(numbers) == 3:
        return numbers[2], numbers[0], numbers[1]
    raise ModelError(f"{what}: joint {joint!r} has {len(numbers)} numbers, which do not fit its type", element.where)
