"""A robot from a URDF document."""

from __future__ import annotations

import os
from pathlib import Path

from ...model import ModelBuilder
from ..attributes import required
from ..grammar import Examined, note_unread
from ..remarks import Remarks
from ..source import open_source
from ..xml import Element, parse_xml
from .closing import add_loops
from .grammar import GRAMMAR, left_unread, refuse_templates
from .joint import add_joint
from .link import Colors, add_link, color_of
from .places import placement_of
from .surface import link_surfaces
from .transmission import add_motors, armatures_of

__all__ = ["build_urdf", "read_urdf"]


def read_urdf(source: str | os.PathLike[str]) -> ModelBuilder:
    """Read a robot from a URDF file, or from the text of one."""
    opened = open_source(source, [".urdf"])
    return build_urdf(parse_xml(opened.data, opened.name))


def build_urdf(root: Element) -> ModelBuilder:
    """Build a robot from the root element of a URDF document."""
    if root.tag != "robot":
        raise root.error(f"the root element is <{root.tag}>; that of a URDF document is <robot>")
    examined = Examined()
    GRAMMAR.examine([root], examined)
    refuse_templates(examined)
    remarks, colors = Remarks(), Colors()
    builder = ModelBuilder(_name(root, remarks))
    builder.source = root.source
    for material in root.all("material"):
        color_of(material, "", colors, remarks)
    surfaces = link_surfaces(root, remarks)
    for link in root.all("link"):
        add_link(builder, link, colors, surfaces, remarks)
    types = {j.attributes.get("name", ""): j.attributes.get("type", "") for j in root.all("joint")}
    armatures = armatures_of(root)
    for joint in root.all("joint"):
        add_joint(builder, joint, types, armatures, remarks)
    for frame in root.all("frame"):
        name = required(frame, "name")
        what = f"frame {name!r}"
        builder.frame(name, required(frame, "link", what), placement_of(frame, what), frame.where)
    add_loops(builder, root, remarks)
    add_motors(builder, root, types, remarks)
    _world(builder, root, remarks)
    note_unread(builder, left_unread(examined))
    remarks.note(builder)
    examined.repeats.note(builder)
    return builder


def _name(root: Element, remarks: Remarks) -> str:
    """Return the robot's name; an empty one is that of the file, without its suffix."""
    name = root.attributes.get("name")
    if name is None:
        return required(root, "name")
    if name.strip():
        return name
    name = "robot" if root.source.startswith("<") else Path(root.source).stem
    remarks.add("named after its file, because its own name is empty: the robot", repr(name), root.where)
    return name


def _world(builder: ModelBuilder, root: Element, remarks: Remarks) -> None:
    """Add the link `world` if joints name it as their parent and the file does not have it, as in Drake."""
    parents = (parent for joint in root.all("joint") for parent in joint.all("parent"))
    first = next((parent for parent in parents if parent.attributes.get("link") == "world"), None)
    if first is not None and "world" not in builder.bodies:
        builder.body("world", where=root.where)
        remarks.add("taken as the ground, because no <link> describes it", "'world'", first.where)
