"""Joints that close loops, as exporters write them.

URDF itself has no word for them. Isaac Sim and old versions of Drake have <loop_joint>, with a place on either link:

    <loop_joint name="rod" type="spherical"><link1 link="a" xyz="0 0 1"/><link2 link="b" xyz="0 0 0"/></loop_joint>

onshape-to-robot adds two links at fixed joints, `closing_rod_1` and `closing_rod_2`, whose origins coincide. If the
joint turns about z, there are also `closing_rod_1_z` and `closing_rod_2_z`, each on the z axis of its frame.
"""

from __future__ import annotations

from ...joints import Joint, Revolute, Spherical
from ...model import ModelBuilder
from ..attributes import required
from ..remarks import Remarks
from ..xml import Element
from .joint import joint_terms, joint_type
from .places import child_of, placement_of

__all__ = ["add_loops"]

_PREFIX = "closing_"


def add_loops(builder: ModelBuilder, root: Element, remarks: Remarks) -> None:
    """Add the joints of a document that close loops."""
    for element in root.all("loop_joint"):
        _loop_joint(builder, element, remarks)
    links = {link.attributes.get("name", ""): link for link in root.all("link")}
    for first, link in links.items():
        if first.startswith(_PREFIX) and first.endswith("_1"):
            name = first.removesuffix("_1")
            _closing_links(builder, name, link, links, remarks)


def _loop_joint(builder: ModelBuilder, element: Element, remarks: Remarks) -> None:
    """Add a <loop_joint>. Its axis has the same numbers in the frames of both ends."""
    name = required(element, "name")
    what = f"loop joint {name!r}"
    kind = required(element, "type", what)
    ends = [child_of(element, tag, what, f'<{tag} link="..." xyz="..." rpy="...">') for tag in ("link1", "link2")]
    parent, child = (required(end, "link", what) for end in ends)
    at, child_at = (placement_of(end, what) for end in ends)
    type, terms = joint_type(element, kind, what, remarks), joint_terms(element, kind, what, remarks)
    builder.loop(name, type, parent, child, at=at, child_at=child_at, where=element.where, **terms)


def _closing_links(
    builder: ModelBuilder, name: str, link: Element, links: dict[str, Element], remarks: Remarks
) -> None:
    """Close a loop between two links of onshape-to-robot; `link` is the first of them."""
    if f"{name}_2" not in links:
        remarks.add(f"not read as a loop, because there is no second link ({name}_2)", f"{name}_1", link.where)
        return
    type: Joint = Spherical()
    if f"{name}_1_z" in links and f"{name}_2_z" in links:
        type = Revolute((0.0, 0.0, 1.0))
    else:
        why = "closed as a ball joint, because the file does not say which joint it is"
        remarks.add(why, repr(name), link.where)
    builder.loop(name, type, f"{name}_1", f"{name}_2", where=link.where)
