"""The elements and attributes of URDF that are read, and what is left over from xacro."""

from __future__ import annotations

from ..grammar import Examined, Grammar
from ..xml import Element
from .surface import READ_IN_GAZEBO

__all__ = ["GRAMMAR", "SHAPES", "driven", "left_unread", "refuse_templates", "unread"]

SHAPES = {
    "box": (("size", 3),),
    "sphere": (("radius", 1),),
    "cylinder": (("radius", 1), ("length", 1)),
    "capsule": (("radius", 1), ("length", 1)),
    "mesh": (("scale", 3),),
}
"""The attributes that have the sizes of shapes, and the number of numbers in each."""

_KNOWN: dict[str, tuple[str, str]] = {
    "robot": ("link joint material frame loop_joint", "name version"),
    "link": ("inertial visual collision", "name"),
    "inertial": ("origin mass inertia density", ""),
    "mass": ("", "value"),
    "density": ("", "value"),
    "inertia": ("", "ixx iyy izz ixy ixz iyz"),
    "visual": ("origin geometry material", "name"),
    "collision": ("origin geometry material", "name"),
    "geometry": (" ".join(SHAPES), ""),
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
    "loop_joint": ("link1 link2 axis limit dynamics", "name type"),
    "link1": ("", "link xyz rpy quat_xyzw"),
    "link2": ("", "link xyz rpy quat_xyzw"),
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
_REPEATED = ("link", "joint", "loop_joint", "frame", "visual", "collision", "material")
GRAMMAR = Grammar(_KNOWN, _REPEATED, "robot")
_DRIVEN = ("joint", "rollJoint", "flexJoint", "gap_joint")
"""The elements that name the joints of a <transmission>; the PR2's wrists and grippers have the last three."""
_DIRECTIVES = (
    *("xacro:arg", "xacro:attribute", "xacro:call", "xacro:element", "xacro:if", "xacro:include"),
    *("xacro:insert_block", "xacro:macro", "xacro:property", "xacro:unless"),
)
"""The elements that xacro itself defines. It removes all of them, so that their document is a template."""
_HARMLESS = ("<visual>", "<collision>", "<material>", "<geometry>")
"""The elements in which a macro that xacro did not know cannot change the motion."""

_OFF, _ON = ("", "0", "0.0", "false"), ("", "1", "1.0", "true")
_WITHOUT_EFFECT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("joint", "link"), ()),
    **dict.fromkeys(("springStiffness", "dampingFactor", "velocity_decay", "turnGravityOff", "static"), _OFF),
    "gravity": _ON,
}
"""The parts of a <gazebo> that change the motion there, and values with which they do not."""


def unread(root: Element) -> dict[str, list[Element]]:
    """Return the elements (gazebo, plugin ...) and attributes of a URDF document that are not part of the format."""
    examined = Examined()
    GRAMMAR.examine([root], examined, strict=False)
    return left_unread(examined)


def left_unread(examined: Examined) -> dict[str, list[Element]]:
    """Return the unread elements in order: without the transmissions that drive joints, with what moves in Gazebo."""
    left = [x for x in examined.unread.pop("<transmission>", ()) if not driven(x)]
    if left:
        examined.unread["<transmission>"] = left
    gazebos = [x for x in examined.unread.get("<gazebo>", ()) if not _read_whole(x)]
    if gazebos:
        examined.unread["<gazebo>"] = gazebos
    else:
        examined.unread.pop("<gazebo>", None)
    for element in [part for gazebo in examined.unread.get("<gazebo>", ()) for part in gazebo.children]:
        value = (element.text or element.attributes.get("value", "")).lower()
        if value not in _WITHOUT_EFFECT.get(element.tag, (value,)):
            examined.unread.setdefault(f"<{element.tag}> in <gazebo>", []).append(element)
    return examined.in_order()


def _read_whole(gazebo: Element) -> bool:
    """Return whether all of a <gazebo> is read: the friction of a link."""
    return bool(gazebo.children) and all(child.tag in READ_IN_GAZEBO for child in gazebo.children)


def driven(transmission: Element) -> list[str]:
    """Return the joints that a transmission names."""
    return [x.attributes["name"] for x in transmission.children if x.tag in _DRIVEN and x.attributes.get("name")]


def refuse_templates(examined: Examined) -> None:
    """Raise if the document is a xacro template.

    Older versions of xacro keep calls of macros that they do not know. Such a call is left out where it cannot be a
    part of a link or a joint.
    """
    for kind, (first, *_) in examined.in_order().items():
        inside = kind.partition(" in ")[2]
        if first.tag in _DIRECTIVES or (first.tag.startswith("xacro:") and inside and inside not in _HARMLESS):
            what = f"<{first.tag}> belongs to a xacro template, which is not a robot yet"
            raise first.error(f"{what}; run `xacro` on it, or call the file x.urdf.xacro and load it with xacro=True")
