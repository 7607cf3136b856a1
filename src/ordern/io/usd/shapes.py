"""Shapes of bodies: for viewers, and for masses that are computed from volumes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arguments import Array
from ...errors import ModelError
from ...model import ModelBuilder, Placement
from ..mjcf.hull import Indices, convex_hull
from ..remarks import Remarks
from ..solids import Mass, solid_mass
from .stage import Stage

__all__ = ["add_shape", "shape_solid"]

_TURNS = {
    "X": Placement.of(np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]), (0.0, 0.0, 0.0)),
    "Y": Placement.of(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]), (0.0, 0.0, 0.0)),
    "Z": Placement(),
}
"""Rotations of z to an axis."""
_GRID = 1e-6
"""The distance between points on a grid, relative to the size of their mesh."""
_FILLED = ("none", "sdf", "meshSimplification")
"""Approximations of a mesh that keep its shape; others are convex, like the usual one."""


def shape_of(stage: Stage, prim: Any) -> tuple[str, list[float], Placement] | None:
    """Return kind, size and place in the world of a box, sphere, ellipsoid, cylinder or capsule; else None."""
    kind = str(prim.GetTypeName())
    if kind not in ("Cube", "Sphere", "Cylinder", "Capsule"):
        return None
    place = stage.place(prim)
    factors = np.abs(place.scale) * stage.length
    if kind == "Cube":
        return "box", (factors * float(stage.UsdGeom.Cube(prim).GetSizeAttr().Get())).tolist(), place.at
    if kind == "Sphere":
        radii = factors * float(stage.UsdGeom.Sphere(prim).GetRadiusAttr().Get())
        return (
            ("sphere", [float(radii[0])], place.at)
            if np.ptp(radii) <= 1e-6 * radii.max()
            else ("ellipsoid", radii.tolist(), place.at)
        )
    form = getattr(stage.UsdGeom, kind)(prim)
    axis = str(form.GetAxisAttr().Get())
    along = "XYZ".index(axis)
    across = np.delete(factors, along).mean()
    size = [float(across * form.GetRadiusAttr().Get()), float(factors[along] * form.GetHeightAttr().Get())]
    return kind.lower(), size, place.at @ _TURNS[axis]


def add_shape(builder: ModelBuilder, stage: Stage, prim: Any, body: str, frame: Placement, remarks: Remarks) -> None:
    """Add a shape to a body whose frame is at `frame` in the world. Meshes in the file itself are left out."""
    try:
        found = shape_of(stage, prim)
    except ModelError as e:
        remarks.left_out("shapes", e)
        return
    role = "collision" if prim.HasAPI(stage.UsdPhysics.CollisionAPI) else "visual"
    if found is None:
        if prim.IsA(stage.UsdGeom.Gprim):
            remarks.add("shapes that are left out", f"{prim.GetTypeName()} {prim.GetPath()}", stage.path)
        return
    kind, size, at = found
    colors = stage.UsdGeom.Gprim(prim).GetDisplayColorAttr().Get()
    color = (*map(float, colors[0]), 1.0) if colors else None
    name = str(prim.GetName())
    builder.shape(body, kind, size, at=frame.inverse @ at, role=role, color=color, name=name, where=stage.path)


def shape_solid(stage: Stage, prim: Any) -> Mass | None:
    """Return the mass of a collision shape of density one, in the world; None if its volume cannot be computed.

    A mesh is replaced by its convex hull, as simulators do, unless it asks for its own shape.
    """
    found = shape_of(stage, prim)
    if found is not None:
        kind, size, at = found
        return solid_mass(kind, size).moved(at)
    kind = str(prim.GetTypeName())
    place = stage.place(prim) if kind in ("Cone", "Mesh") else None
    if place is None:
        return None
    if kind == "Cone":
        cone = stage.UsdGeom.Cone(prim)
        axis = str(cone.GetAxisAttr().Get())
        factors = np.abs(place.scale) * stage.length
        along = "XYZ".index(axis)
        r, h = (
            np.delete(factors, along).mean() * cone.GetRadiusAttr().Get(),
            factors[along] * cone.GetHeightAttr().Get(),
        )
        return _cone(float(r), float(h)).moved(place.at @ _TURNS[axis])
    mesh = stage.UsdGeom.Mesh(prim)
    points = np.array(mesh.GetPointsAttr().Get() or [], float).reshape(-1, 3) * place.scale * stage.length
    api = stage.UsdPhysics.MeshCollisionAPI
    approximation = str(api(prim).GetApproximationAttr().Get()) if prim.HasAPI(api) else "none"
    solid = None if approximation in _FILLED else _hull(points)
    solid = solid or _enclosed(points, _triangles(mesh))
    return None if solid is None else solid.moved(place.at)


def _cone(r: float, h: float) -> Mass:
    m = np.pi * r * r * h / 3.0
    across = m * (3.0 / 20.0 * r * r + 3.0 / 80.0 * h * h)
    return Mass(m, np.array([0.0, 0.0, -h / 4.0]), np.diag([across, across, 0.3 * m * r * r]))


def _hull(points: Array) -> Mass | None:
    """Return the mass of density one inside the convex hull of points; None if they lie in a plane.

    Points in single precision are not quite in the planes that they share. On a grid they are.
    """
    if len(points) < 4 or not np.isfinite(points).all():
        return None
    grid = _GRID * float(np.ptp(points, axis=0).max())
    if not grid:
        return None
    tidy, first = np.unique(np.round(points / grid) * grid, axis=0, return_index=True)
    return _enclosed(points[first], convex_hull(tidy))


def _triangles(mesh: Any) -> Indices:
    """Return the faces of a mesh, cut into triangles."""
    counts, corners = mesh.GetFaceVertexCountsAttr().Get() or [], mesh.GetFaceVertexIndicesAttr().Get() or []
    found, start = [], 0
    for n in counts:
        found += [(corners[start], corners[start + k], corners[start + k + 1]) for k in range(1, n - 1)]
        start += n
    return np.array(found, np.int64).reshape(-1, 3)


def _enclosed(points: Array, faces: Indices) -> Mass | None:
    """Return the mass of density one inside closed triangles, by sums over the tetrahedra to the origin; or None."""
    if not len(faces) or not 0 <= faces.min() <= faces.max() < len(points):
        return None
    edges = {(a, b) for face in faces.tolist() for a, b in zip(face, (*face[1:], face[0]), strict=True)}
    if len(edges) != 3 * len(faces) or any((b, a) not in edges for a, b in edges):
        return None  # an edge with one face, or faces that point in different directions
    middle = points.mean(axis=0)
    p = (points - middle)[faces]
    volumes = np.einsum("ij,ij->i", p[:, 0], np.cross(p[:, 1], p[:, 2])) / 6.0
    m = float(volumes.sum())
    if m < 0.0:  # all faces point inward
        m, volumes = -m, -volumes
    if not 0.0 < m < np.inf:
        return None
    sums = p.sum(axis=1)
    com = volumes @ sums / (4.0 * m)
    second = np.einsum("i,ij,ik->jk", volumes, sums, sums) + np.einsum("i,inj,ink->jk", volumes, p, p)
    moments = second / 20.0 - m * np.outer(com, com)
    return Mass(m, com + middle, np.trace(moments) * np.eye(3) - moments)
