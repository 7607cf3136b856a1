"""The corners of meshes that touch the ground: vertices of their hulls, pruned to a few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from ..errors import ArgumentError
from ..io.mjcf.hull import convex_hull
from ..io.mjcf.mesh import mesh_vertices
from ..view.meshes import MeshError, find_mesh

if TYPE_CHECKING:
    from ..model import Model
    from ..model.parts import Shape

__all__ = ["MOST_CORNERS", "hull_corners", "hull_vertices"]

MOST_CORNERS = 16


def hull_corners(model: Model, shape: Shape, name: str) -> Array:
    """Return at most 16 vertices of the hull of a mesh, (n, 3), in the frame of the shape.

    They are the farthest ones along the axes, both ways, then always the one that is farthest from those before.
    """
    vertices, faces = _hull(model, shape, name)
    corners = vertices[np.unique(faces)] if len(faces) else vertices
    if len(corners) <= MOST_CORNERS:
        return corners
    chosen = list(dict.fromkeys(int(k) for axis in corners.T for k in (axis.argmin(), axis.argmax())))
    distance = np.min([np.linalg.norm(corners - corners[k], axis=1) for k in chosen], axis=0)
    while len(chosen) < MOST_CORNERS:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, np.linalg.norm(corners - corners[chosen[-1]], axis=1))
    return np.asarray(corners[chosen])


def hull_vertices(model: Model, shape: Shape, name: str) -> Array:
    """Return all vertices of the hull of a mesh, (n, 3), in the frame of the shape; raise if it has no volume."""
    vertices, faces = _hull(model, shape, name)
    if not len(faces):
        raise _refused(name, shape, "all its vertices lie in a plane")
    return np.asarray(vertices[np.unique(faces)])


def _hull(model: Model, shape: Shape, name: str) -> tuple[Array, NDArray[np.int64]]:
    """Return the scaled vertices of a mesh and the triangles of its hull."""
    try:
        vertices = mesh_vertices(find_mesh(model, shape))
    except MeshError as e:
        raise _refused(name, shape, str(e)) from None
    if vertices is None or len(vertices) < 4 or not np.isfinite(vertices).all():
        raise _refused(name, shape, "no STL (in binary form), OBJ or MSH file with at least four vertices")
    vertices = np.unique(vertices * np.array(shape.size), axis=0)
    return vertices, convex_hull(vertices)


def _refused(name: str, shape: Shape, why: str) -> ArgumentError:
    return ArgumentError(
        f"with_contacts: shape {name!r} is the mesh {shape.file!r}, which cannot touch: {why}; "
        "give points=[...], frames with radii, in its place"
    )
