"""Joints: their types, axes, limits and dynamics, and those that they mimic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...errors import ModelError, did_you_mean, unknown_name
from ...joints import Continuous, Fixed, Free, Joint, Planar, Prismatic, Revolute, Spherical
from ...model import ModelBuilder
from ..attributes import bound, number, required, unquoted, vector
from ..remarks import Remarks
from ..xml import Element
from .places import child_of, origin_of

__all__ = ["AXIAL_JOINTS", "OTHER_JOINTS", "add_joint", "joint_terms", "joint_type"]

AXIAL_JOINTS: dict[str, Callable[..., Joint]] = {
    "revolute": Revolute,
    "continuous": Continuous,
    "prismatic": Prismatic,
    "planar": Planar,
}
"""Joints with an axis."""
OTHER_JOINTS: dict[str, Callable[[], Joint]] = {"fixed": Fixed, "floating": Free, "spherical": Spherical}
_ONE_COORDINATE = ("revolute", "continuous", "prismatic")


def add_joint(
    builder: ModelBuilder, joint: Element, types: dict[str, str], armatures: dict[str, float], remarks: Remarks
) -> None:
    """Add a joint. `types` are the types of all joints by name, `armatures` those of their motors."""
    name = required(joint, "name")
    what = f"joint {name!r}"
    kind = required(joint, "type", what)
    parent = required(child_of(joint, "parent", what, '<parent link="...">'), "link", what)
    child = required(child_of(joint, "child", what, '<child link="...">'), "link", what)
    type, at = joint_type(joint, kind, what, remarks), origin_of(joint, what)
    mimic = _mimic(joint, kind, what, types, remarks)
    terms = joint_terms(joint, kind, what, remarks)
    if kind in _ONE_COORDINATE and name in armatures:
        terms["armature"] = armatures[name]
    builder.joint(name, type, parent, child, at=at, where=joint.where, mimic=mimic, **terms)


def joint_type(joint: Element, kind: str, what: str, remarks: Remarks) -> Joint:
    """Return the type of a joint, with its axis."""
    if kind in OTHER_JOINTS:
        return OTHER_JOINTS[kind]()
    if kind not in AXIAL_JOINTS:
        raise ModelError(str(unknown_name("joint type", kind, (*AXIAL_JOINTS, *OTHER_JOINTS), what)), joint.where)
    axis = joint.only("axis", what)
    if axis is None:
        return AXIAL_JOINTS[kind]((1.0, 0.0, 0.0))
    x, y, z = vector(axis, "xyz", 3, what)
    length = math.hypot(x, y, z)
    if length > 0.0 and abs(length - 1.0) > 1e-3:
        remarks.add("given length one: axes that have another", f"{what} ({length:.4g})", axis.where)
    try:
        return AXIAL_JOINTS[kind]((x, y, z))
    except ModelError as e:
        raise axis.error(f"{what}: {e}") from None


def joint_terms(joint: Element, kind: str, what: str, remarks: Remarks) -> dict[str, Any]:
    """Return limits and dynamics of a joint, as arguments of the builder."""
    return _limits(joint, kind, what, remarks) | _dynamics(joint, what, remarks)


def _mimic(
    joint: Element, kind: str, what: str, types: dict[str, str], remarks: Remarks
) -> tuple[str, float, float] | None:
    mimic = joint.only("mimic", what)
    if mimic is None or kind == "fixed":
        return None
    name = required(mimic, "joint", what)
    ratio, offset = number(mimic, "multiplier", what, 1.0), number(mimic, "offset", what, 0.0)
    if types.get(name) not in _ONE_COORDINATE:
        moving = (n for n, kind in types.items() if kind in _ONE_COORDINATE)
        why = repr(name) if name in types else f"there is no joint {name!r}{did_you_mean(name, moving)}"
        remarks.add("independent, because it mimics no moving joint", f"{what} ({why})", mimic.where)
        return None
    return name, ratio, offset


def _limits(joint: Element, kind: str, what: str, remarks: Remarks) -> dict[str, Any]:
    limit = joint.only("limit", what)
    if limit is None or kind not in _ONE_COORDINATE:
        return {}
    limits: dict[str, Any] = {}
    if kind != "continuous" and ("lower" in limit.attributes or "upper" in limit.attributes):
        lower, upper = (bound(number(limit, key, what, 0.0, infinite=True)) for key in ("lower", "upper"))
        if lower <= upper:
            limits["lower"], limits["upper"] = lower, upper
        else:
            remarks.add("without limits, because the lower one is above the upper one", what, limit.where)
    for attribute in ("velocity", "effort"):
        if attribute in limit.attributes:
            x = unquoted(limit.attributes[attribute])
            if x is None:
                x = number(limit, attribute, what, infinite=True)
            else:
                remarks.add("read without the quotes around it", f"{attribute} of {what}", limit.where)
            limits[f"{attribute}_limit"] = bound(x)
    return limits


def _dynamics(joint: Element, what: str, remarks: Remarks) -> dict[str, Any]:
    dynamics = joint.only("dynamics", what)
    if dynamics is None:
        return {}
    found = {key: number(dynamics, key, what) for key in ("damping", "friction") if key in dynamics.attributes}
    remarks.raise_to_zero(found, found, what, dynamics.where)
    return found
