"""URDF, the Unified Robot Description Format; see http://wiki.ros.org/urdf/XML and docs/formats/urdf.md.

The reader takes links with inertials and shapes, joints with origins, axes, limits, dynamics and mimics, and from
transmissions the joints that they drive.

Differs: an error in a part that describes the motion is refused, and so is a name that looks misspelt. Parts that
describe only looks, or have no meaning here, are left out, and a note of the model lists them. A revolute or prismatic
joint without a <limit>, or without lower and upper, is unlimited. (The specification demands a <limit>, and takes a
missing bound as zero; files in the wild mean neither.) If one bound is given, the other is zero, as specified. Limits
may be infinite. Some extensions of other programs are read: `spherical` joints, <frame>, and a `world` without a
<link>.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

from ..errors import ModelError, did_you_mean, unknown_name
from ..joints import Continuous, Fixed, Free, Joint, Planar, Prismatic, Revolute, Spherical
from ..model import ModelBuilder, Placement
from .attributes import bound, from_quaternion, number, required, rotated, vector
from .grammar import Examined, Grammar, note_unread
from .remarks import Remarks
from .source import open_source
from .xml import Element, parse_xml

__all__ = ["AXIAL_JOINTS", "OTHER_JOINTS", "build_urdf", "read_urdf", "unread"]

Colors = dict[str, tuple[float, ...]]
_ZERO = (0.0, 0.0, 0.0)
_HERE = Placement()

AXIAL_JOINTS: dict[str, Callable[..., Joint]] = {
    "revolute": Revolute,
    "continuous": Continuous,
    "prismatic": Prismatic,
    "planar": Planar,
}
"""Joints with an axis."""
OTHER_JOINTS: dict[str, Callable[[], Joint]] = {"fixed": Fixed, "floating": Free, "spherical": Spherical}
_ONE_COORDINATE = ("revolute", "continuous", "prismatic")

_SHAPES = {
    "box": (("size", 3),),
    "sphere": (("radius", 1),),
    "cylinder": (("radius", 1), ("length", 1)),
    "capsule": (("radius", 1), ("length", 1)),
    "mesh": (("scale", 3),),
}
"""The attributes that have the sizes of shapes, and the number of numbers in each."""

_KNOWN: dict[str, tuple[str, str]] = {
    "robot": ("link joint material frame", "name version"),
    "link": ("inertial visual collision", "name"),
    "inertial": ("origin mass inertia", ""),
    "mass": ("", "value"),
    "inertia": ("", "ixx iyy izz ixy ixz iyz"),
    "visual": ("origin geometry material", "name"),
    "collision": ("origin geometry material", "name"),
    "geometry": (" ".join(_SHAPES), ""),
    "box": ("", "size"),
    "sphere": ("", "radius"),
    "cylinder": ("", "radius length"),
    "capsule": ("", "radius length"),
    "mesh": ("", "filename scale"),
    "material": ("color texture", "name"),
    "color": ("", "rgba"),
    "texture": ("", "filename"),
    "frame": ("", "name link xyz rpy quat_xyzw"),
    "joint": ("origin parent child axis limit dynamics mimic calibration safety_controller", "name type"),
    "origin": ("", "xyz rpy quat_xyzw"),
    "parent": ("", "link"),
    "child": ("", "link"),
    "axis": ("", "xyz"),
    "limit": ("", "lower upper velocity effort"),
    "dynamics": ("", "damping friction"),
    "mimic": ("", "joint multiplier offset"),
    "calibration": ("", "rising falling"),
    "safety_controller": ("", "soft_lower_limit soft_upper_limit k_position k_velocity"),
}
"""The children and the attributes that each element may have."""
_GRAMMAR = Grammar(_KNOWN, ("link", "joint", "frame", "visual", "collision", "material"), "robot")
_DRIVEN = ("joint", "rollJoint", "flexJoint", "gap_joint")
"""The elements that name the joints of a <transmission>; the PR2's wrists and grippers have the last three."""


def read_urdf(source: str | os.PathLike[str]) -> ModelBuilder:
    """Read a robot from a URDF file, or from the text of one."""
    opened = open_source(source, [".urdf"])
    return build_urdf(parse_xml(opened.data, opened.name))


def build_urdf(root: Element) -> ModelBuilder:
    """Build a robot from the root element of a URDF document."""
    if root.tag != "robot":
        raise root.error(f"the root element is <{root.tag}>; that of a URDF document is <robot>")
    examined = Examined()
    _GRAMMAR.examine([root], examined)
    _refuse_xacro(examined)
    builder = ModelBuilder(required(root, "name"))
    builder.source = root.source
    remarks, colors = Remarks(), Colors()
    for material in root.all("material"):
        _color(material, "", colors, remarks)
    for link in root.all("link"):
        _link(builder, link, colors, remarks)
    types = {j.attributes.get("name", ""): j.attributes.get("type", "") for j in root.all("joint")}
    for joint in root.all("joint"):
        _joint(builder, joint, types, remarks)
    for frame in root.all("frame"):
        name = required(frame, "name")
        what = f"frame {name!r}"
        builder.frame(name, required(frame, "link", what), _placement(frame, what), frame.where)
    _motors(builder, root, types, remarks)
    _world(builder, root, remarks)
    note_unread(builder, _without_motors(examined))
    remarks.note(builder)
    examined.repeats.note(builder)
    return builder


def unread(root: Element) -> dict[str, list[Element]]:
    """Return the elements (gazebo, plugin ...) and attributes of a URDF document that are not part of the format."""
    examined = Examined()
    _GRAMMAR.examine([root], examined, strict=False)
    return _without_motors(examined)


def _without_motors(examined: Examined) -> dict[str, list[Element]]:
    """Return the unread elements in order, without the transmissions that drive joints."""
    left = [x for x in examined.unread.pop("<transmission>", ()) if not _driven(x)]
    if left:
        examined.unread["<transmission>"] = left
    return examined.in_order()


def _refuse_xacro(examined: Examined) -> None:
    for first, *_ in examined.in_order().values():
        if first.tag.startswith("xacro:"):
            what = f"<{first.tag}> belongs to a xacro template, which is not a robot yet"
            raise first.error(f"{what}; make one with `xacro template.xacro > robot.urdf`")


def _link(builder: ModelBuilder, link: Element, colors: Colors, remarks: Remarks) -> None:
    name = required(link, "name")
    what = f"link {name!r}"
    inertial = link.only("inertial", what)
    if inertial is None:
        builder.body(name, where=link.where)
    else:
        at = _origin(inertial, what)
        m = number(_child(inertial, "mass", what, '<mass value="...">'), "value", what)
        inertia = _child(inertial, "inertia", what, '<inertia ixx="..." ixy="..." ...>')
        I = tuple([number(inertia, key, what) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")])
        builder.body(name, mass=m, com=at.position, inertia=rotated(I, at), where=link.where)
    for shape in link.children:
        if shape.tag in ("visual", "collision"):
            try:
                _shape(builder, name, shape, colors, remarks)
            except ModelError as e:
                remarks.left_out("shapes", e)


def _shape(builder: ModelBuilder, link: str, shape: Element, colors: Colors, remarks: Remarks) -> None:
    what = f"link {link!r}"
    geometry = _child(shape, "geometry", what, "<geometry> with a shape in it")
    form = next((child for child in geometry.children if child.tag in _SHAPES), None)
    if form is None:
        raise geometry.error(f"{what}: its <{shape.tag}> has no known shape; expected one of {', '.join(_SHAPES)}")
    material = shape.only("material", what)
    usual = (1.0, 1.0, 1.0) if form.tag == "mesh" else None
    size = [x for attribute, n in _SHAPES[form.tag] for x in vector(form, attribute, n, what, usual)]
    at, name = _origin(shape, what), shape.attributes.get("name", "")
    file = required(form, "filename", what) if form.tag == "mesh" else ""
    color = None if material is None else _color(material, what, colors, remarks)
    builder.shape(link, form.tag, size, at=at, file=file, role=shape.tag, color=color, name=name, where=shape.where)


def _color(material: Element, what: str, colors: Colors, remarks: Remarks) -> tuple[float, ...] | None:
    """Return the color of a material: its own, or that of the first one of its name. New ones go to `colors`."""
    name = material.attributes.get("name", "")
    what = what or f"material {name!r}"
    try:
        color = material.only("color", what)
        rgba = None if color is None else vector(color, "rgba", 4, what)
    except ModelError as e:
        remarks.left_out("colors", e)
        return None
    if not name:
        return rgba
    if rgba is not None:
        colors.setdefault(name, rgba)
    elif name not in colors and not material.children:
        remarks.add("materials that are not defined", f"{name!r} of {what}", material.where)
    return rgba or colors.get(name)


def _joint(builder: ModelBuilder, joint: Element, types: dict[str, str], remarks: Remarks) -> None:
    name = required(joint, "name")
    what = f"joint {name!r}"
    kind = required(joint, "type", what)
    parent = required(_child(joint, "parent", what, '<parent link="...">'), "link", what)
    child = required(_child(joint, "child", what, '<child link="...">'), "link", what)
    type, at = _type(joint, kind, what, remarks), _origin(joint, what)
    mimic = _mimic(joint, kind, what, types, remarks)
    terms = _limits(joint, kind, what, remarks) | _dynamics(joint, what, remarks)
    builder.joint(name, type, parent, child, at=at, where=joint.where, mimic=mimic, **terms)


def _type(joint: Element, kind: str, what: str, remarks: Remarks) -> Joint:
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
            limits[f"{attribute}_limit"] = bound(number(limit, attribute, what, infinite=True))
    return limits


def _dynamics(joint: Element, what: str, remarks: Remarks) -> dict[str, Any]:
    dynamics = joint.only("dynamics", what)
    if dynamics is None:
        return {}
    found = {key: number(dynamics, key, what) for key in ("damping", "friction") if key in dynamics.attributes}
    remarks.raise_to_zero(found, found, what, dynamics.where)
    return found


def _motors(builder: ModelBuilder, root: Element, types: dict[str, str], remarks: Remarks) -> None:
    """Set the actuated joints of the builder: those that transmissions name."""
    named = [(name, element) for element in root.all("transmission") for name in _driven(element)]
    for name, element in named:
        if name not in types:
            why = f"{name!r}{did_you_mean(name, types)}"
            remarks.add("left out: transmissions of joints that the robot does not have", why, element.where)
    known = dict.fromkeys(name for name, _ in named if name in types)
    if known:
        builder.actuated = tuple(known)


def _driven(transmission: Element) -> list[str]:
    """Return the joints that a transmission names."""
    return [x.attributes["name"] for x in transmission.children if x.tag in _DRIVEN and x.attributes.get("name")]


def _world(builder: ModelBuilder, root: Element, remarks: Remarks) -> None:
    """Add the link `world` if joints name it as their parent and the file does not have it, as in Drake."""
    parents = (parent for joint in root.all("joint") for parent in joint.all("parent"))
    first = next((parent for parent in parents if parent.attributes.get("link") == "world"), None)
    if first is not None and "world" not in builder.bodies:
        builder.body("world", where=root.where)
        remarks.add("taken as the ground, because no <link> describes it", "'world'", first.where)


def _origin(element: Element, what: str) -> Placement:
    """Return the <origin> of a joint, an inertial or a shape."""
    origin = element.only("origin", what)
    return _HERE if origin is None else _placement(origin, what)


def _placement(origin: Element, what: str) -> Placement:
    """Return a placement from the attributes xyz, and rpy or quat_xyzw."""
    xyz = vector(origin, "xyz", 3, what, _ZERO)
    if "quat_xyzw" not in origin.attributes:
        return Placement.xyz_rpy(xyz, vector(origin, "rpy", 3, what, _ZERO))
    x, y, z, w = vector(origin, "quat_xyzw", 4, what)
    if "rpy" in origin.attributes:
        raise origin.error(f"{what}: <{origin.tag}> has both rpy and quat_xyzw; expected one of them")
    n = math.hypot(x, y, z, w)
    if not 0.999 < n < 1.001:
        raise origin.error(f"{what}: <{origin.tag}> has a quat_xyzw of length {n:g}; expected 1")
    return from_quaternion((w, x, y, z), xyz)


def _child(element: Element, tag: str, what: str, expected: str) -> Element:
    found = element.only(tag, what)
    if found is None:
        inside = "" if element.tag == "joint" else f": <{element.tag}>"
        raise element.error(f"{what}{inside} has no <{tag}>; expected {expected}")
    return found
