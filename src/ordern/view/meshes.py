"""Find and read the mesh files of a robot's description."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from ..arguments import AnyArray, Array
from ..model import Model, Shape
from .solids import Solid

__all__ = ["Coloured", "MeshError", "find_mesh", "read_mesh"]

Coloured = tuple[Solid, tuple[float, float, float, float] | None]
_FOLDERS = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH")


class MeshError(Exception):
    """A mesh that cannot be shown; the text says why."""


def find_mesh(model: Model, shape: Shape) -> Path:
    """Return the file of a mesh. Packages are searched above the robot's file, then in the paths of ROS and Gazebo."""
    scheme, found, rest = shape.file.partition("://")
    if found and scheme not in ("file", "package", "model"):
        raise MeshError(f"only files are read, no {scheme}://")
    plain = Path(unquote(rest)) if found else _home(model) / shape.file
    for path in _packaged(model, rest) if scheme in ("package", "model") else (plain,):
        if path.is_file():
            return path
    raise MeshError("no such file")


def _home(model: Model) -> Path:
    return Path(model.source).parent if model.source and not model.source.startswith("<") else Path()


def _packaged(model: Model, rest: str) -> Iterator[Path]:
    """Yield possible paths of a file in a package: package/path in several folders, or path in the package's own."""
    _, _, inner = rest.partition("/")
    home = Path(os.path.abspath(_home(model)))
    for folder in (home, *home.parents):
        yield folder / rest
        yield folder / inner
    for variable in _FOLDERS:
        for folder in map(Path, filter(None, os.environ.get(variable, "").split(os.pathsep))):
            yield from (folder / rest, folder / "share" / rest, folder / inner)


def read_mesh(path: Path, scale: tuple[float, ...]) -> list[Coloured]:
    """Read the surfaces in a file (STL, OBJ, DAE, GLB, PLY ...), with colours (red, green, blue, opacity; 0 to 1)."""
    import trimesh

    try:
        scene: Any = trimesh.load_scene(path, process=False)
        found = [_coloured(part, scale) for part in scene.dump() if len(getattr(part, "faces", ()))]
    except Exception as e:  # readers of foreign files raise any exception
        text = f"{e}".split("\n")[0].rstrip(".")
        raise MeshError(f"cannot be read ({type(e).__name__}: {text})") from None
    if not found:
        raise MeshError("has no triangles")
    return found


def _coloured(part: Any, scale: tuple[float, ...]) -> Coloured:
    vertices = np.asarray(part.vertices, float) * scale
    faces = np.asarray(part.faces)
    if np.prod(scale) < 0:  # a mirror image turns faces inside out
        faces = faces[:, ::-1]
    return creased(vertices, faces), _colour(part.visual)


def _colour(visual: Any) -> tuple[float, float, float, float] | None:
    """Return the main colour of a surface, if it has one of its own."""
    if not getattr(visual, "defined", False):
        return None
    main = getattr(getattr(visual, "material", None) or visual, "main_color", None)
    if main is None:
        return None
    r, g, b, a = (float(x) / 255 for x in main)
    return r, g, b, a


def creased(vertices: Array, faces: AnyArray, angle: float = 0.6) -> Solid:
    """Return a surface that is shaded smoothly, but has an edge wherever two faces meet at more than an angle.

    Corners that share a place share a vertex if their faces point the same way, roughly.
    """
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normals, axis=1)
    keep = length > 0
    faces, normals = faces[keep], normals[keep] / length[keep, None]
    size = float(np.ptp(vertices, axis=0).max()) or 1.0
    _, place = np.unique(np.round(vertices / (1e-6 * size)).astype(np.int64), axis=0, return_inverse=True)
    place = place.reshape(-1)[faces].ravel()
    direction = np.repeat(normals, 3, axis=0)
    group, left, rounds = np.zeros(len(place), np.int64), np.arange(len(place)), 0
    while left.size:  # in each place, the first corner left collects the corners with about its direction
        _, first, own = np.unique(place[left], return_index=True, return_inverse=True)
        leader = left[first][own.reshape(-1)]
        near = np.einsum("ni,ni->n", direction[left], direction[leader]) >= np.cos(angle)
        group[left[near]] = rounds
        left, rounds = left[~near], rounds + 1
    _, at, new = np.unique(place * rounds + group, return_index=True, return_inverse=True)
    return Solid(vertices[faces.ravel()[at]], new.reshape(-1, 3))
