"""Links: their mass, and their shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import ModelError
from ...model import ModelBuilder
from ..attributes import number, required, rotated, vector
from ..remarks import Remarks
from ..solids import combined, solid_mass
from ..xml import Element
from .grammar import SHAPES
from .places import child_of, origin_of
from .surface import LinkSurface

__all__ = ["Colors", "add_link", "color_of"]

Colors = dict[str, tuple[float, ...]]


def add_link(
    builder: ModelBuilder, link: Element, colors: Colors, surfaces: Mapping[str, LinkSurface], remarks: Remarks
) -> None:
    """Add a link as a body, with its shapes."""
    name = required(link, "name")
    what = f"link {name!r}"
    inertial = link.only("inertial", what)
    if inertial is None:
        builder.body(name, where=link.where)
    elif inertial.only("density", what) is not None and inertial.only("mass", what) is None:
        _weigh(builder, name, link, inertial, remarks)
    else:
        at = origin_of(inertial, what)
        m = number(child_of(inertial, "mass", what, '<mass value="...">'), "value", what)
        inertia = child_of(inertial, "inertia", what, '<inertia ixx="..." ixy="..." ...>')
        I = tuple([number(inertia, key, what) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")])
        builder.body(name, mass=m, com=at.position, inertia=rotated(I, at), where=link.where)
    for shape in link.children:
        if shape.tag in ("visual", "collision"):
            try:
                _shape(builder, name, shape, colors, surfaces.get(name), remarks)
            except ModelError as e:
                remarks.left_out("shapes", e)


def _weigh(builder: ModelBuilder, name: str, link: Element, inertial: Element, remarks: Remarks) -> None:
    """Add a body whose mass is the <density> of Isaac Gym times the volume of its collision shapes.

    A mass depends on all shapes, so that a fault in one of them is an error here.
    """
    what = f"link {name!r}"
    density = number(child_of(inertial, "density", what, '<density value="...">'), "value", what)
    solids = []
    for shape in link.all("collision"):
        geometry = child_of(shape, "geometry", what, "<geometry> with a shape in it")
        form = next((child for child in geometry.children if child.tag in SHAPES), None)
        if form is None or form.tag == "mesh":
            kind = "a mesh" if form is not None else "no known shape"
            why = f"its mass is a <density> times the volume of its collision shapes, of which one is {kind}"
            raise geometry.error(f"{what}: {why}; write <mass> and <inertia> instead")
        solids.append(solid_mass(form.tag, _size(form, what)).moved(origin_of(shape, what)))
    if not solids:
        why = "its mass is a <density> times the volume of its collision shapes, but it has no <collision>"
        raise inertial.error(f"{what}: {why}; write <mass> and <inertia> instead")
    m, com, I = combined(solids)
    builder.body(name, mass=density * m, com=com.tolist(), inertia=density * I, where=link.where)
    remarks.add("with the mass of its collision shapes, by their <density>", what, inertial.where)


def _shape(
    builder: ModelBuilder, link: str, shape: Element, colors: Colors, surface: LinkSurface | None, remarks: Remarks
) -> None:
    what = f"link {link!r}"
    geometry = child_of(shape, "geometry", what, "<geometry> with a shape in it")
    form = next((child for child in geometry.children if child.tag in SHAPES), None)
    if form is None:
        raise geometry.error(f"{what}: its <{shape.tag}> has no known shape; expected one of {', '.join(SHAPES)}")
    material = shape.only("material", what)
    size, at, name = _size(form, what), origin_of(shape, what), shape.attributes.get("name", "")
    file = required(form, "filename", what) if form.tag == "mesh" else ""
    color = None if material is None else color_of(material, what, colors, remarks)
    touching: dict[str, Any] = {}
    if shape.tag == "collision" and surface is not None:
        touching = {"friction": surface.friction, "contact": surface.terms}
    looks: dict[str, Any] = {"color": color, "name": name, "where": shape.where}
    builder.shape(link, form.tag, size, at=at, file=file, role=shape.tag, **looks, **touching)


def _size(form: Element, what: str) -> list[float]:
    usual = (1.0, 1.0, 1.0) if form.tag == "mesh" else None
    return [x for attribute, n in SHAPES[form.tag] for x in vector(form, attribute, n, what, usual)]


def color_of(material: Element, what: str, colors: Colors, remarks: Remarks) -> tuple[float, ...] | None:
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
