"""URDF, the Unified Robot Description Format: the part of it that says how a robot moves.

Read are links with their inertials, and joints with their origins, axes, limits and dynamics. See
http://wiki.ros.org/urdf/XML.

Differs: a revolute or prismatic joint may have no <limit>, or one without lower and upper: it is then
unlimited. (The specification demands a <limit>, and takes a missing bound as zero; files in the wild mean
neither.) If one bound is given, the other is zero, as specified. Limits may be infinite.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ModelError, unknown_name
from ..joints import Continuous, Fixed, Free, Joint, Prismatic, Revolute
from ..model import ModelBuilder, Placement
from .attributes import number, required, vector
from .source import open_source
from .warnings import warn
from .xml import Element, parse_xml

__all__ = ["build_urdf", "read_urdf", "unread_elements"]

_ZERO = (0.0, 0.0, 0.0)

_WITH_AXIS: dict[str, Callable[[tuple[float, float, float]], Joint]] = {
    "revolute": Revolute,
    "continuous": Continuous,
    "prismatic": Prismatic,
}
_WITHOUT_AXIS: dict[str, Callable[[], Joint]] = {"fixed": Fixed, "floating": Free}
_TYPES = (*_WITH_AXIS, *_WITHOUT_AXIS, "planar")

_KNOWN: dict[str, frozenset[str]] = {
    "robot": frozenset({"link", "joint", "material"}),
    "link": frozenset({"inertial", "visual", "collision"}),
    "inertial": frozenset({"origin", "mass", "inertia"}),
    "joint": frozenset(
        {
            "origin",
            "parent",
            "child",
            "axis",
            "limit",
            "dynamics",
            "mimic",
            "calibration",
            "safety_controller",
        }
    ),
}
"""The children that each element may have. What is inside other elements is for viewers."""


def read_urdf(source: str | os.PathLike[str]) -> ModelBuilder:
    """A robot from a URDF file, or from the text of one."""
    opened = open_source(source, [".urdf"])
    return build_urdf(parse_xml(opened.data, opened.name))


def build_urdf(root: Element) -> ModelBuilder:
    """A robot from the root element of a URDF document."""
    if root.tag != "robot":
        raise ModelError(f"the root element is <{root.tag}>; that of a URDF document is <robot>", root.where)
    _refuse_xacro(root)
    builder = ModelBuilder(required(root, "name"))
    builder.source = root.source
    for link in root.all("link"):
        _link(builder, link)
    mimics: list[str] = []
    for joint in root.all("joint"):
        _joint(builder, joint, mimics)
    if mimics:
        listed = ", ".join(mimics[:40]) + (", ..." if len(mimics) > 40 else "")
        warn(
            f"{root.source}: mimic joints are not coupled yet; treated as independent: {listed} ({len(mimics)} in all)"
        )
    return builder


def unread_elements(root: Element) -> list[Element]:
    """The elements of a URDF document that the format does not have (transmission, gazebo, sensor ...)."""
    unread: list[Element] = []
    stack = [root]
    while stack:
        element = stack.pop()
        known = _KNOWN.get(element.tag)
        if known is not None:
            unread.extend(child for child in element.children if child.tag not in known)
            stack.extend(child for child in element.children if child.tag in known)
    return sorted(unread, key=lambda element: element.line)


def _link(builder: ModelBuilder, link: Element) -> None:
    name = required(link, "name")
    what = f"link {name!r}"
    inertial = link.only("inertial", what)
    if inertial is None:
        builder.body(name, where=link.where)
        return
    xyz, rpy = _origin(inertial, what)
    m = number(_child(inertial, "mass", what, '<mass value="...">'), "value", what)
    inertia = _child(inertial, "inertia", what, '<inertia ixx="..." ixy="..." ...>')
    I = tuple(number(inertia, key, what) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    builder.body(name, mass=m, com=xyz, inertia=_turned(I, rpy), where=link.where)


def _joint(builder: ModelBuilder, joint: Element, mimics: list[str]) -> None:
    name = required(joint, "name")
    what = f"joint {name!r}"
    kind = required(joint, "type", what)
    parent = required(_child(joint, "parent", what, '<parent link="...">'), "link", what)
    child = required(_child(joint, "child", what, '<child link="...">'), "link", what)
    mimic = joint.only("mimic", what)
    if mimic is not None:
        required(mimic, "joint", what)
        mimics.append(name)
    builder.joint(
        name,
        _type(joint, kind, what),
        parent,
        child,
        at=Placement.xyz_rpy(*_origin(joint, what)),
        where=joint.where,
        **_limits(joint, kind, what),
        **_dynamics(joint, what),
    )


def _type(joint: Element, kind: str, what: str) -> Joint:
    if kind in _WITHOUT_AXIS:
        return _WITHOUT_AXIS[kind]()
    if kind == "planar":
        raise ModelError(
            f"{what}: joints of type 'planar' are not supported yet; write it as two prismatic joints and a "
            "continuous one, with massless links between them",
            joint.where,
        )
    if kind not in _WITH_AXIS:
        raise ModelError(str(unknown_name("joint type", kind, _TYPES, what)), joint.where)
    axis = joint.only("axis", what)
    if axis is None:
        return _WITH_AXIS[kind]((1.0, 0.0, 0.0))
    x, y, z = vector(axis, "xyz", 3, what)
    try:
        return _WITH_AXIS[kind]((x, y, z))
    except ModelError as e:
        raise ModelError(f"{what}: {e}", axis.where) from None


def _limits(joint: Element, kind: str, what: str) -> dict[str, Any]:
    limit = joint.only("limit", what)
    if limit is None or kind in ("fixed", "floating"):
        return {}
    limits: dict[str, Any] = {}
    if kind != "continuous" and ("lower" in limit.attributes or "upper" in limit.attributes):
        limits["lower"] = number(limit, "lower", what, 0.0, infinite=True)
        limits["upper"] = number(limit, "upper", what, 0.0, infinite=True)
    for attribute in ("velocity", "effort"):
        if attribute in limit.attributes:
            limits[f"{attribute}_limit"] = number(limit, attribute, what, infinite=True)
    return limits


def _dynamics(joint: Element, what: str) -> dict[str, Any]:
    dynamics = joint.only("dynamics", what)
    if dynamics is None:
        return {}
    return {key: number(dynamics, key, what) for key in ("damping", "friction") if key in dynamics.attributes}


def _origin(element: Element, what: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """xyz and rpy of the <origin> of a joint or an inertial."""
    origin = element.only("origin", what)
    if origin is None:
        return _ZERO, _ZERO
    return vector(origin, "xyz", 3, what, _ZERO), vector(origin, "rpy", 3, what, _ZERO)


def _child(element: Element, tag: str, what: str, expected: str) -> Element:
    found = element.only(tag, what)
    if found is None:
        inside = f"<{element.tag}>" if element.tag == "inertial" else ""
        raise ModelError(f"{what}{': ' if inside else ''}{inside} has no <{tag}>; expected {expected}", element.where)
    return found


def _turned(I: tuple[float, ...], rpy: tuple[float, ...]) -> tuple[float, ...]:
    """An inertia (xx, yy, zz, xy, xz, yz) given in axes that are turned by rpy, in the axes of the link."""
    if rpy == _ZERO:
        return I
    xx, yy, zz, xy, xz, yz = I
    R = Placement.xyz_rpy(_ZERO, rpy).R
    with np.errstate(over="ignore", invalid="ignore"):  # the builder refuses what is not finite
        A = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return (*A.diagonal().tolist(), float(A[0, 1]), float(A[0, 2]), float(A[1, 2]))


def _refuse_xacro(root: Element) -> None:
    for element in root.children:
        if element.tag.startswith("xacro:"):
            raise ModelError(
                f"<{element.tag}> belongs to a xacro template, which is not a robot yet; make one with "
                "`xacro template.xacro > robot.urdf`",
                element.where,
            )
