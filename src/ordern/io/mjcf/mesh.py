"""Meshes: volume, centre and inertia of triangles that are given in the document or in STL, OBJ and MSH files.

The integrals are sums over the pyramids between the triangles and a point inside, as in J. O'Rourke, Computational
Geometry in C, section 1.3.8. Vertices are rounded to single precision first, as MuJoCo does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path, PureWindowsPath

import numpy as np

from ...arguments import Array
from ...errors import ModelError
from ...model import Placement
from ...rotations import matrix_from_quaternion
from ..attributes import keyword, required, vector
from ..solids import Mass
from ..source import open_source
from ..xml import Element
from .document import Document
from .hull import Indices, convex_hull
from .obj import read_obj

__all__ = ["mesh_file", "mesh_vertices", "read_mesh"]

_ZERO, _ONE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
_KINDS = ("legacy", "exact", "convex", "shell")


def read_mesh(asset: Element, document: Document, *, shell: bool = False) -> Mass:
    """Return the mass of a mesh asset of density one, in the frame of its geoms; of its surface if it is a shell."""
    name = asset.attributes.get("name") or Path(asset.attributes.get("file", "")).stem
    what = f"mesh {name!r}"
    if any(child.tag == "plugin" for child in asset.children) or "builtin" in asset.attributes:
        raise asset.error(f"{what} is made by MuJoCo itself; load it there and save it")
    kind = keyword(asset, "inertia", _KINDS, "exact" if document.settings.exact_meshes else "legacy", what)
    kind = "shell" if shell else kind
    vertices, faces = _given(asset, what) if "vertex" in asset.attributes else _from_file(asset, document, what)
    if len(vertices) < 4 or not np.isfinite(vertices).all():
        raise asset.error(f"{what} has {len(vertices)} vertices; expected at least 4, all finite")
    if faces.size and not 0 <= faces.min() <= faces.max() < len(vertices):
        raise asset.error(f"{what} has faces with vertices that do not exist")
    position, R, scale = _transform(asset, what)
    with np.errstate(all="ignore"):
        vertices = (vertices - position) @ R * scale
        if not len(faces) or kind == "convex":
            faces = convex_hull(vertices)
        elif scale.prod() < 0.0:
            faces = faces[:, ::-1]
        mesh = _integrals(vertices, faces, kind) if len(faces) else None
    if mesh is None or not 1e-14 < mesh.m < np.inf:
        hint = "; its faces point inward, or it is not closed" if kind == "exact" else ""
        raise asset.error(f"{what} has no {'area' if kind == 'shell' else 'volume'}{hint}")
    return mesh


def mesh_vertices(path: Path) -> Array | None:
    """Return the vertices of a mesh file that MuJoCo reads; None if there is no such file, or if it is broken."""
    try:
        data = open_source(path).data
        reader = _READERS[path.suffix.lower()]
        return reader(data if isinstance(data, bytes) else data.encode())[0]
    except (ModelError, KeyError, ValueError, IndexError, OverflowError):
        return None


def mesh_file(asset: Element, document: Document, at: Placement) -> tuple[str, tuple[float, ...], Placement]:
    """Return the file of a mesh, relative to the main file; the scale; the placement of the file's frame in a body."""
    what = "a mesh"
    position, R, scale = _transform(asset, what)
    if not np.array_equal(R, np.eye(3)) and len(set(scale.tolist())) > 1:
        document.unread.add("refquat of a <mesh> with scales that differ", quiet=True)
        R, position = np.eye(3), np.zeros(3)
    if position.any() or not np.array_equal(R, np.eye(3)):
        with np.errstate(all="ignore"):
            at = at @ Placement.of(R.T, -(R.T @ position) * scale)
    file = asset.attributes.get("file", "")
    if file:
        file = _located(asset, file, document)
        if document.root.source != document.main:  # an attached model
            here, there = (os.path.dirname(name) for name in (document.main, document.root.source))
            file = os.path.relpath(os.path.join(there, file), here or ".").replace("\\", "/")
    return file, tuple(scale.tolist()), at


def _transform(asset: Element, what: str) -> tuple[Array, Array, Array]:
    """Return the origin and the axes of the mesh's frame, and the scale along these axes."""
    q = np.array(vector(asset, "refquat", 4, what, (1.0, 0.0, 0.0, 0.0)))
    if np.linalg.norm(q) < 1e-14:
        raise asset.error(f"{what} has a refquat of zero")
    R = matrix_from_quaternion(q)
    return np.array(vector(asset, "refpos", 3, what, _ZERO)), R, np.array(vector(asset, "scale", 3, what, _ONE))


def _located(asset: Element, file: str, document: Document) -> str:
    """Return the path of a mesh, relative to its document: in the directory of meshes or, if it is not there, beside
    the included file that has the asset.
    """
    settings, main = document.settings, document.root.source
    if settings.strip_path:
        file = PureWindowsPath(file).name
    folder = settings.asset_dir if settings.mesh_dir is None else settings.mesh_dir
    usual = os.path.join(folder, file).replace("\\", "/")
    here = os.path.dirname(main)
    if asset.source == main or main.startswith("<") or os.path.exists(os.path.join(here, usual)):
        return usual
    beside = os.path.relpath(os.path.join(os.path.dirname(asset.source), file.replace("\\", "/")), here or ".")
    return beside.replace("\\", "/") if os.path.exists(os.path.join(here, beside)) else usual


def _given(asset: Element, what: str) -> tuple[Array, Indices]:
    """Return vertices and faces from the document itself."""
    vertices = _single(_list(asset, "vertex", what))
    faces = _list(asset, "face", what) if "face" in asset.attributes else np.zeros((0, 3))
    if not np.array_equal(faces, np.rint(faces)):
        raise asset.error(f"{what} has faces that are not numbers of vertices")
    return vertices, faces.astype(np.int64)


def _list(asset: Element, attribute: str, what: str) -> Array:
    n = len(required(asset, attribute, what).split())
    numbers = np.array(vector(asset, attribute, n, what))
    if n % 3:
        raise asset.error(f"{what} has {n} numbers in {attribute}; expected three for each")
    return numbers.reshape(-1, 3)


def _from_file(asset: Element, document: Document, what: str) -> tuple[Array, Indices]:
    file = _located(asset, required(asset, "file", what), document)
    suffix = "." + asset.attributes.get("content_type", Path(file).suffix).rpartition(".")[2].rpartition("/")[2].lower()
    if suffix not in _READERS:
        raise asset.error(f"{what}: {file!r} must end in one of {', '.join(_READERS)}")
    source = document.root.source
    if source.startswith("<") and not os.path.isabs(file):
        raise asset.error(f"{what}: text has no directory to find {file!r} in; load it from a file")
    data = open_source(Path(source).parent / file, list(_READERS)).data
    try:
        vertices, faces = _READERS[suffix](data if isinstance(data, bytes) else data.encode())
    except (ValueError, IndexError, OverflowError):
        hint = " in binary form" if suffix == ".stl" else ""
        raise asset.error(f"{what}: {file!r} is broken, or no {suffix[1:].upper()} file{hint}") from None
    return _single(vertices), faces


def _single(vertices: Array) -> Array:
    """Round vertices to single precision; numbers that are too large become infinite."""
    with np.errstate(over="ignore"):
        return vertices.astype(np.float32).astype(np.float64)


def _stl(data: bytes) -> tuple[Array, Indices]:
    """Read binary STL: 80 bytes, the number of triangles, and for each a normal, three vertices and two bytes."""
    n = int(np.frombuffer(data, "<u4", 1, 80)[0])
    if len(data) != 84 + 50 * n or not n:
        raise ValueError
    rows = np.frombuffer(data, np.dtype([("normal", "<f4", 3), ("vertex", "<f4", (3, 3)), ("rest", "<u2")]), n, 84)
    return rows["vertex"].reshape(-1, 3).astype(np.float64), np.arange(3 * n).reshape(-1, 3)


def _msh(data: bytes) -> tuple[Array, Indices]:
    """Read MuJoCo's own format: the numbers of vertices, normals, texture coordinates and faces, then each of these."""
    n, normals, textures, faces = (int(k) for k in np.frombuffer(data, "<i4", 4))
    start = 16 + 12 * n + 12 * normals + 8 * textures
    if min(n, normals, textures, faces) < 0 or len(data) != start + 12 * faces:
        raise ValueError
    vertices = np.frombuffer(data, "<f4", 3 * n, 16).reshape(-1, 3).astype(np.float64)
    return vertices, np.frombuffer(data, "<i4", 3 * faces, start).reshape(-1, 3).astype(np.int64)


_READERS: dict[str, Callable[[bytes], tuple[Array, Indices]]] = {".stl": _stl, ".obj": read_obj, ".msh": _msh}


def _integrals(vertices: Array, faces: Indices, kind: str) -> Mass | None:
    """Integrate over the pyramids from the triangles to a point: their mean for the centre, the centre for the inertia.

    In the kind "legacy" every pyramid counts as positive, also where the surface is dented.
    """
    corners = vertices[faces]
    normals = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas: Array = np.linalg.norm(normals, axis=1)
    if not areas.sum() > 1e-14:
        return None
    middle = areas @ corners.mean(axis=1) / areas.sum()

    def weights(at: Array) -> Array:
        if kind == "shell":
            return areas
        w: Array = np.einsum("ij,ij->i", corners.mean(axis=1) - at, normals) / 3.0
        return np.abs(w) if kind == "legacy" else w

    w = weights(middle)
    if not w.sum() > 1e-14:
        return None
    com = middle if kind == "shell" else w @ (0.75 * corners.mean(axis=1) + 0.25 * middle) / w.sum()
    w = weights(com)
    x = corners - com
    x = np.concatenate([x, x.sum(axis=1, keepdims=True)], axis=1)
    C = np.einsum("n,nki,nkj->ij", w, x, x) / (12.0 if kind == "shell" else 20.0)
    return Mass(float(w.sum()), com, np.trace(C) * np.eye(3) - C)
