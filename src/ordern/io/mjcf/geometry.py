"""Geoms: their shapes, and their masses and inertias, which MuJoCo sums up for bodies."""

from __future__ import annotations

from collections.abc import Container
from typing import Any, NamedTuple

import numpy as np

from ...errors import ModelError
from ...model import ModelBuilder, Placement
from ..attributes import flag, found, keyword, number, required, vector
from ..solids import NOTHING, Mass, shape_mass
from ..xml import Element
from .contact import contact_terms, sliding_friction
from .document import Document
from .hfield import heights_of
from .mesh import mesh_file, read_mesh
from .nodes import BodyNode, Part
from .orientation import fromto, placed
from .scale import Scale

__all__ = ["Geom", "MeshError", "UnknownMassError", "add_shapes", "geom_of", "mass_of"]

_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
_TYPES = ("plane", "hfield", *_SIZES, "mesh", "sdf")


_GIVE = "give the body an <inertial>"


class MeshError(ModelError):
    """A mesh that gives no mass, because its file is missing or broken."""


class UnknownMassError(MeshError):
    """A mass that only MuJoCo can find out."""


class Geom(NamedTuple):
    """A geom: its type, half sizes, and place in its body."""

    kind: str
    size: tuple[float, ...]
    at: Placement
    element: Element
    what: str
    document: Document
    scale: Scale
    """The scale of its lengths and masses; `at` has it already, the sizes do not."""


def geom_of(part: Part, body: BodyNode) -> Geom:
    """Return type, size and placement of a geom. The sizes of a geom that is fitted to a mesh are not known here."""
    e = part.element
    what = f"geom {part.name!r} of {body.what}" if part.name else f"a geom of {body.what}"
    kind = keyword(e, "type", _TYPES, "sphere", what)
    n = _SIZES.get(kind, 0)
    if "fromto" in e.attributes and n > 1:
        at, half = fromto(e, what)
        size = vector(e, "size", range(1, 4), what, ())[:1]
        size = (*size, half) if n == 2 else (*size, *size, half)
    else:
        at = placed(e, part.document.settings, what)
        size = vector(e, "size", range(1, 4), what, ())[:n]
    if "mesh" not in e.attributes and (len(size) < n or any(x <= 0.0 for x in size)):
        raise e.error(f'{what}: a {kind} has size="{e.attributes.get("size", "")}"; expected {n} positive numbers')
    return Geom(kind, size, part.at @ part.scale.of_placement(at), e, what, part.document, part.scale)


def mass_of(geom: Geom) -> Mass:
    """Return the mass of a geom, in the frame of its body: of its volume, or of its surface if it is a shell."""
    e, what = geom.element, geom.what
    m = number(e, "mass", what, -1.0) if "mass" in e.attributes else None
    density = number(e, "density", what, 1000.0)
    if (m is not None and m < 0.0) or density < 0.0:
        raise e.error(f"{what} has a negative mass or density")
    if geom.kind in ("plane", "hfield") or not (density if m is None else m):
        return NOTHING
    shell = flag(e, "shellinertia", False, what)
    if geom.kind == "sdf" and any(child.tag == "plugin" for child in (*e.children, *_asset(geom).children)):
        raise UnknownMassError(f"{what} is made by a plugin, and its mass is not known here; {_GIVE}", e.where)
    at, size = Placement(), geom.size
    if geom.kind in ("mesh", "sdf"):
        unit = _mesh(geom, shell)
    else:
        if "mesh" in e.attributes:
            at, size = _fitted(geom, _mesh(geom, False))
        unit = shape_mass(geom.kind, size, shell)
    scale = density if m is None else m / unit.m
    mass = Mass(scale * unit.m, unit.com, scale * unit.I).moved(at)
    return geom.scale.of_mass(mass).moved(geom.at)


def _asset(geom: Geom) -> Element:
    return found("mesh", required(geom.element, "mesh", geom.what), geom.document.meshes, geom.element, geom.what)


def _mesh(geom: Geom, shell: bool) -> Mass:
    asset, document = _asset(geom), geom.document
    known = document.mesh_masses
    key = (geom.element.attributes["mesh"], shell)
    try:
        if key not in known:
            known[key] = read_mesh(asset, document, shell=shell)
        return known[key]
    except ModelError as e:
        generated = "builtin" in asset.attributes or any(child.tag == "plugin" for child in asset.children)
        raise (UnknownMassError if generated else MeshError)(
            f"{geom.what} has its mass from mesh {geom.element.attributes['mesh']!r}, which cannot be used: {e}; "
            f"or {_GIVE}",
            geom.element.where,
        ) from None


def _fitted(geom: Geom, mesh: Mass) -> tuple[Placement, tuple[float, ...]]:
    """Return placement and half sizes of a shape with about the inertia of a mesh, in the frame of the geom."""
    if geom.document.settings.fit_aabb:
        why = f"is fitted to the bounding box of a mesh, which is not read; {_GIVE}"
        raise UnknownMassError(f"{geom.what} {why}", geom.element.where)
    moments, axes = np.linalg.eigh(mesh.I)
    moments, axes = moments[::-1], axes[:, ::-1]
    axes = axes * np.linalg.det(axes)
    scale = number(geom.element, "fitscale", geom.what, 1.0)
    a, b, c = scale * np.sqrt(1.5 * np.maximum(moments.sum() - 2.0 * moments, 0.0) / mesh.m)
    r = 0.5 * (a + b)
    sizes = {"sphere": ((a + b + c) / 3.0,), "capsule": (r, max(0.0, c - 0.5 * r)), "cylinder": (r, c)}
    return Placement.of(axes, mesh.com), tuple(map(float, sizes.get(geom.kind, (a, b, c))))


def add_shapes(builder: ModelBuilder, geom: Geom, part: Part, body: BodyNode, paired: Container[str]) -> None:
    """Add the visual and the collision shape of a geom, as far as it has these roles; a `paired` one collides."""
    e, kind, document = geom.element, geom.kind, geom.document
    if kind == "hfield":
        _add_field(builder, geom, part, body)
        return
    if kind == "sdf" or (kind in _SIZES and "mesh" in e.attributes):
        fitted = " fitted to a mesh" if "mesh" in e.attributes and kind != "sdf" else ""
        document.unread.add(f"shape of a geom of type {kind}{fitted}", quiet=True)
        return
    size, file, at = geom.size, "", geom.at
    if kind == "mesh":
        file, size, inner = mesh_file(_asset(geom), document, Placement())
        at = at @ geom.scale.of_placement(inner)
    elif kind == "box":
        size = tuple(2.0 * x for x in size)
    elif kind in ("cylinder", "capsule"):
        size = (size[0], 2.0 * size[1])
    size = tuple(geom.scale.length * x for x in size)
    collides = part.name in paired or any(number(e, bits, geom.what, 1.0) for bits in ("contype", "conaffinity"))
    seen = number(e, "group", geom.what, 0.0) <= 2 or not collides
    looks: dict[str, Any] = {"color": _color(geom), "name": part.name, "where": e.where}
    if seen:
        builder.shape(body.name, kind, size, at=at, file=file, role="visual", **looks)
    if collides:
        looks |= {"friction": sliding_friction(e, geom.what), "contact": contact_terms(e, geom.what, part)}
        builder.shape(body.name, kind, size, at=at, file=file, role="collision", **looks)


def _add_field(builder: ModelBuilder, geom: Geom, part: Part, body: BodyNode) -> None:
    """Add the collision shape of a height field; one that is a picture is left out."""
    e = geom.element
    try:
        asset = found("hfield", required(e, "hfield", geom.what), geom.document.hfields, e, geom.what)
        field = heights_of(asset, geom.document)
    except ModelError as error:  # the motion without contacts does not depend on it
        geom.document.unread.add(f"shape of a geom of type hfield, which cannot be read ({error})", quiet=True)
        return
    if field is None:
        geom.document.unread.add("shape of a geom of type hfield, whose elevations are a picture", quiet=True)
        return
    heights, scale = field[0] * geom.scale.length, geom.scale.length
    touching: dict[str, Any] = {
        "friction": sliding_friction(e, geom.what),
        "contact": contact_terms(e, geom.what, part),
    }
    size = (field[1][0] * scale, field[1][1] * scale)
    builder.shape(
        body.name,
        "hfield",
        size,
        at=geom.at,
        role="collision",
        name=part.name,
        where=e.where,
        heights=heights,
        **touching,
    )


def _color(geom: Geom) -> tuple[float, ...] | None:
    e = geom.element
    material = geom.document.materials.get(e.attributes.get("material", ""))
    for looks in (e, material):
        if looks is not None and looks.attributes.get("rgba", "").strip():  # an empty one is none
            return vector(looks, "rgba", 4, geom.what)
    return None
