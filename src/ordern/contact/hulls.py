"""The corners of meshes that touch the ground: vertices of their hulls, pruned to a few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from ..errors import ArgumentError
from ..io.mjcf.hull import convex_hull
from ..io.mjcf.mesh import mesh_vertices
from ..view.meshes import MeshError, find_mesh

if TYPE_CHECKING:
    from ..model import Model
    from ..model.parts import Shape

__all__ = ["MOST_CORNERS", "hull_corners"]

MOST_CORNERS = 16


def hull_corners(model: Model, shape: Shape, name: str) -> Array:
    """Return at most 16 vertices of the hull of a mesh, (n, 3), in the frame of the shape.

    They are the farthest ones along the axes, both ways, then always the one that is farthest from those before.
    """
    try:
        vertices = mesh_vertices(find_mesh(model, shape))
    except MeshError as e:
        raise _refused(name, shape, str(e)) from None
    if vertices is None or len(vertices) < 4 or not np.isfinite(vertices).all():
        raise _refused(name, shape, "no STL (in binary form), OBJ or MSH file with at least four vertices")
    vertices = np.unique(vertices * np.array(shape.size), axis=0)
    faces = convex_hull(vertices)
    corners = vertices[np.unique(faces)] if len(faces) else vertices
    if len(corners) <= MOST_CORNERS:
        return corners
    chosen = list(dict.fromkeys(int(k) for axis in corners.T for k in (axis.argmin(), axis.argmax())))
    distance = np.min([np.linalg.norm(corners - corners[k], axis=1) for k in chosen], axis=0)
    while len(chosen) < MOST_CORNERS:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, np.linalg.norm(corners - corners[chosen[-1]], axis=1))
    return np.asarray(corners[chosen])


def _refused(name: str, shape: Shape, why: str) -> ArgumentError:
    return ArgumentError(
        f"with_contacts: shape {name!r} is the mesh {shape.file!r}, which cannot touch: {why}; "
        "give points=[...], frames with radii, in its place"
    )
