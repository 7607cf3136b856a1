"""Links: their inertia, and their shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arguments import Array
from ...errors import ModelError
from ...joints.axis import turned_frame, unit_axis
from ...model import SHAPES, ModelBuilder, Placement
from ...model.fluid import in_frame
from ..attributes import required, rotated
from ..remarks import Remarks
from ..solids import Mass, combined, solid_mass
from ..xml import Element
from .grammar import FLUID_AXES
from .scope import Scope
from .surface import surface_of
from .text import flag, number, numbers, pose_of, relative_to, text_of

__all__ = ["add_link"]

_WATER = 1000.0
"""The density of shapes that give none, in kg/m^3."""
_VECTORS = {"box": "size", "ellipsoid": "radii", "mesh": "scale"}
_NUMBERS: dict[str, dict[str, float]] = {
    "plane": {},
    "sphere": {"radius": 1.0},
    "cylinder": {"radius": 1.0, "length": 1.0},
    "capsule": {"radius": 0.5, "length": 1.0},
}
"""The elements that have the sizes of shapes, and their defaults."""


def add_link(builder: ModelBuilder, scope: Scope, link: Element, remarks: Remarks) -> None:
    """Add a link as a body, with its shapes."""
    name = scope.full(required(link, "name"))
    what = f"link {name!r}"
    inertial = link.only("inertial", what)
    if inertial is not None and inertial.attributes.get("auto", "false").strip().lower() not in ("false", "0", ""):
        _weigh(builder, scope, name, link, inertial)
    elif inertial is not None:
        _inertial(builder, name, link, inertial, what)
    else:  # as specified, and not massless as in other formats
        builder.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0), where=link.where)
        if not scope.static:
            remarks.add("without <inertial>, and so with 1 kg and a unit inertia", what, link.where)
    for tag, usual in (("gravity", True), ("enable_gravity", True), ("kinematic", False)):
        if flag(link, tag, what, usual) != usual:
            remarks.add("moved by gravity and forces as all others, whatever the file says", what, link.where)
    for shape in link.children:
        if shape.tag in ("visual", "collision"):
            try:
                _shape(builder, scope, link, shape, name, remarks)
            except ModelError as e:
                remarks.left_out("shapes", e)


def _inertial(builder: ModelBuilder, name: str, link: Element, inertial: Element, what: str) -> None:
    at, pose = pose_of(inertial, what)
    if relative_to(pose):
        raise (pose or inertial).error(f"{what}: the <pose> of an <inertial> is relative to its link alone")
    m = number(inertial, "mass", what, 1.0)
    inertia = inertial.only("inertia", what)
    usual = {"ixx": 1.0, "iyy": 1.0, "izz": 1.0, "ixy": 0.0, "ixz": 0.0, "iyz": 0.0}
    six = tuple(number(inertia, key, what, x) for key, x in usual.items())
    builder.body(
        name,
        mass=m,
        com=at.position,
        inertia=rotated(six, at),
        added_inertia=_added_inertia(inertial, at, what),
        where=link.where,
    )


def _weigh(builder: ModelBuilder, scope: Scope, name: str, link: Element, inertial: Element) -> None:
    """Add a body whose inertia follows from the volumes and densities of its collision shapes (auto).

    The density is that of the shape, of the link, or that of water. A mass that is given has priority over densities.
    """
    what, found = f"link {name!r}", []
    usual = number(inertial, "density", what, _WATER)
    for element in link.all("collision"):
        form = _form(element, what)
        if form is None or form.tag == "mesh":
            raise _not_automatic(element, what, "of which one is a mesh or has no volume")
        if form.tag != "plane":
            solid = solid_mass(form.tag, _size(form, what))
            density = number(element, "density", what, usual)
            m, com, I = solid.moved(_placed(scope, link, element, what))
            found.append(Mass(density * m, com, density * I))
    whole = combined(found)
    if not whole.m:
        raise _not_automatic(inertial, what, "of which it has none")
    m = number(inertial, "mass", what, whole.m)
    builder.body(name, mass=m, com=whole.com.tolist(), inertia=whole.I * (m / whole.m), where=link.where)


def _not_automatic(element: Element, what: str, why: str) -> ModelError:
    advice = "write it down, as `gz sdf --print file.sdf --expand-auto-inertials` does"
    return element.error(f"{what}: its inertia is to be computed from its shapes (auto), {why}; {advice}")


def _added_inertia(inertial: Element, at: Placement, what: str) -> Array | None:
    """Return the <fluid_added_mass> about the origin of the link; the file has it in the frame of the <inertial>."""
    element = inertial.only("fluid_added_mass", what)
    if element is None:
        return None
    A = np.zeros((6, 6))
    for r, one in enumerate(FLUID_AXES):
        for c, other in enumerate(FLUID_AXES[r:], r):
            A[r, c] = A[c, r] = number(element, one + other, what, 0.0)
    angular_first = [3, 4, 5, 0, 1, 2]
    return in_frame(A[np.ix_(angular_first, angular_first)], at)


def _shape(builder: ModelBuilder, scope: Scope, link: Element, element: Element, body: str, remarks: Remarks) -> None:
    own = element.attributes.get("name", "")
    what = f"{element.tag} {own!r} of link {body!r}"
    form = _form(element, what)
    if form is None:  # a note has the kinds of geometry that are not read
        return
    at = _placed(scope, link, element, what)
    if form.tag == "plane":
        at = at @ _upright(form, what)
    size, color, where = _size(form, what), _color(element, what), element.where
    file = text_of(form, "uri", what) if form.tag == "mesh" else ""
    looks: dict[str, Any] = {"color": color, "name": own, "where": where}
    if element.tag == "collision":
        looks["friction"], looks["contact"] = surface_of(element, what, remarks)
    builder.shape(body, form.tag, size, at=at, file=file, role=element.tag, **looks)


def _form(element: Element, what: str) -> Element | None:
    """Return the shape in a <visual> or <collision>; None if it is of a kind that is not read."""
    geometry = element.only("geometry", what)
    return next((e for e in geometry.children if e.tag in SHAPES), None) if geometry else None


def _placed(scope: Scope, link: Element, element: Element, what: str) -> Placement:
    """Return the placement of a shape in the frame of its link."""
    at, pose = pose_of(element, what)
    if not relative_to(pose):
        return at
    home = link.attributes["name"]
    return scope.place(home, link, what).inverse @ scope.place_element(element, home, what)


def _size(form: Element, what: str) -> tuple[float, ...]:
    if form.tag in _VECTORS:
        child = form.only(_VECTORS[form.tag], what)
        return (1.0, 1.0, 1.0) if child is None else numbers(child, (3,), what)
    return tuple(number(form, tag, what, usual) for tag, usual in _NUMBERS[form.tag].items())


def _upright(plane: Element, what: str) -> Placement:
    """Return the frame of a plane, whose z is the plane's normal."""
    normal = plane.only("normal", what)
    if normal is None:
        return Placement()
    x, y, z = numbers(normal, (3,), what)
    try:
        axis = unit_axis((x, y, z))
    except ModelError:
        raise normal.error(f"{what}: the normal of its plane must have a direction") from None
    return Placement() if axis == (0.0, 0.0, 1.0) else Placement.of(turned_frame(axis), (0.0, 0.0, 0.0))


def _color(element: Element, what: str) -> tuple[float, ...] | None:
    material = element.only("material", what)
    if material is None:
        return None
    for tag in ("diffuse", "ambient"):
        child = material.only(tag, what)
        if child is not None and child.text:
            return (*numbers(child, (3, 4), what), 1.0)[:4]
    return None
