"""Pictures of a robot without a browser: its parts, lit by a sky and a sun, with a shadow on a ground with lines.

This renderer always works: it needs NumPy and nothing else, no screen and no graphics processor. A picture takes some
tenths of a second, by the number of its pixels and of the triangles of the robot.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Array
from ..model import BASE
from .camera import camera_for, ground_plane, horizontal, uneven_ground
from .floors import Floor, Plane, Uneven
from .lens import Lens, unit, weights
from .looks import Looks, Part
from .motion import Motion, rest, thinned
from .raster import nearest
from .scene import CONE, FORCES, PATH, TOGGLES, friction_cone
from .solids import Solid, along, cylinder, turned
from .stage import Stage

__all__ = ["Picture", "Renderer"]

Picture = NDArray[np.uint8]
_FINER = 2
"""Pixels of a picture are averages of this many pixels squared."""
_MOST_LINES = 300
"""Pieces of a path."""


class _Mesh:
    """Triangles with normals and colours, on bodies."""

    def __init__(self, parts: list[Part]) -> None:
        self.vertices, self.faces, self.on = np.zeros((0, 3)), np.zeros((0, 3), np.int64), np.zeros(0, np.int64)
        self.normals, self.colours = np.zeros((0, 3, 3)), np.zeros((0, 3))
        self.opacity = np.zeros(0)
        if not parts:
            return
        starts = np.cumsum([0, *(len(p.solid.vertices) for p in parts)])[:-1]
        self.vertices = np.concatenate([p.solid.vertices for p in parts])
        self.faces = np.concatenate([p.solid.faces.astype(np.int64) + at for p, at in zip(parts, starts, strict=True)])
        counts = [len(p.solid.faces) for p in parts]
        self.on = np.repeat([p.body for p in parts], counts)
        self.normals = np.concatenate([_normals(p) for p in parts])
        self.colours = np.repeat(np.array([p.colour for p in parts], float) / 255, counts, axis=0)
        self.opacity = np.repeat([p.opacity for p in parts], counts)
        sizes = [len(p.solid.vertices) for p in parts]
        self._vertex_on = np.repeat([p.body for p in parts], sizes)
        spans = [slice(at, at + n) for at, n in zip(starts, sizes, strict=True)]
        self._rods = [(p, span) for p, span in zip(parts, spans, strict=True) if p.rod is not None]

    def placed(self, poses: Array, looks: Looks) -> Array:
        """Return the vertices in the world for poses of bodies and, last, of the base."""
        if not len(self.vertices):
            return self.vertices
        own = self.vertices
        if self._rods:
            own = own.copy()
        for part, span in self._rods:
            assert part.rod is not None
            stretched = own[span] * (1.0, 1.0, looks.length(part, poses))
            own[span] = stretched @ part.rod[:3, :3].T + part.rod[:3, 3]
        T = poses[self._vertex_on]
        return np.asarray(np.einsum("nij,nj->ni", T[:, :3, :3], own) + T[:, :3, 3])


def _normals(part: Part) -> Array:
    """Return the normals (m, 3, 3) of a surface at the corners of its triangles, in the axes of its body."""
    solid = part.solid if part.rod is None else part.solid.at(part.rod)
    corners = solid.vertices[solid.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    if solid.flat:
        return np.repeat(unit(normals)[:, None], 3, axis=1)
    sums = np.zeros_like(solid.vertices, dtype=float)
    for k in range(3):
        np.add.at(sums, solid.faces[:, k], normals)
    return unit(sums)[solid.faces]


class Renderer:
    """Draws the robot of a stage at any position, always from the same point."""

    def __init__(self, stage: Stage, size: tuple[int, int] = (800, 600), look_from: ArrayLike | None = None) -> None:
        self._stage = stage
        looks = stage.looks
        q = np.concatenate([stage.q[None], stage.motion.q[thinned(stage.motion.q, 40)]])
        corners = looks.corners(q)
        terrain = uneven_ground(looks, corners, stage.ground_height)
        normal, height = ground_plane(looks, corners, stage.ground_height)
        if stage.external is not None:  # arrows are in the picture, too
            pushes = stage.arrows(rest(stage.q))["external forces"]
            corners = np.concatenate([corners, *(x.reshape(-1, 3) for x in pushes)])
        self._lens = Lens(camera_for(looks, corners, stage.q, look_from), _FINER * size[0], _FINER * size[1])
        x, y = horizontal(looks.up)
        self._sun = unit(0.45 * x - 0.35 * y + 0.82 * looks.up)
        shown = [p for p in looks.parts if not p.collision]
        self._solid = _Mesh([p for p in shown if p.opacity >= 1.0])
        self._glass = _Mesh([p for p in shown if p.opacity < 1.0])
        self._lines = [np.array(points)[thinned(points, _MOST_LINES)] for points in stage.paths().values()]
        self._floor: Floor = (
            Plane(self._lens, normal, height, self._sun, looks.size)
            if terrain is None
            else Uneven(self._lens, terrain, self._sun, looks.up, looks.size)
        )

    def draw(self, shown: Motion) -> Picture:
        """Return the picture (height, width, 3) of the first position of a motion."""
        stage = self._stage
        poses = np.concatenate([stage.poses(shown.q[0])[0], np.eye(4)[None]])  # the base is the last, number -1
        picture = self._floor.empty.copy()
        extra = _Mesh([*self._arrows(shown), *self._ribbons()])
        world = self._solid.placed(poses, stage.looks)
        self._floor.shade(picture, world[self._solid.faces])
        depth = self._floor.depth.copy()
        for mesh in (self._solid, extra, self._glass, _Mesh(self._cones(shown))):
            if len(mesh.faces):
                self._paint(picture, depth, mesh, mesh.placed(poses, stage.looks), poses)
        small = picture.reshape(self._lens.height // _FINER, _FINER, self._lens.width // _FINER, _FINER, 3).mean(
            axis=(1, 3)
        )
        return np.asarray(np.clip(np.round(255.0 * small), 0, 255).astype(np.uint8))

    def still(self) -> Picture:
        """Return the picture of the first position."""
        return self.draw(self._stage.motion.still(self._stage.q))

    def _paint(self, picture: NDArray[np.float32], depth: Array, mesh: _Mesh, world: Array, poses: Array) -> None:
        """Draw a mesh where it is nearer than what is there."""
        corners = self._lens.projected(world)[mesh.faces]
        triangle = nearest(corners, self._lens.width, self._lens.height)
        pixel = np.flatnonzero(triangle >= 0)
        mine = triangle[pixel]
        b = weights(corners[mine], pixel % self._lens.width + 0.5, pixel // self._lens.width + 0.5)
        inverse = (b * corners[mine, :, 2]).sum(axis=1)
        front = inverse >= depth[pixel] * (1.0 - 1e-9)
        pixel, mine, b, inverse = pixel[front], mine[front], b[front], inverse[front]
        own = np.einsum("nk,nki->ni", b, mesh.normals[mine])
        normal = unit(np.einsum("nij,nj->ni", poses[mesh.on[mine], :3, :3], own))
        ray = self._lens.rays(pixel)
        normal *= np.where((normal * ray).sum(axis=1) > 0.0, -1.0, 1.0)[:, None]  # both sides of a surface are lit
        colour = self._lit(mesh.colours[mine], normal, ray)
        opacity = mesh.opacity[mine][:, None]
        picture[pixel] = opacity * colour + (1.0 - opacity) * picture[pixel]
        depth[pixel] = inverse

    def _lit(self, colour: Array, normal: Array, ray: Array) -> Array:
        sky = 0.5 + 0.5 * normal @ self._stage.looks.up
        sun = np.maximum(normal @ self._sun, 0.0)
        glance = unit(self._sun - ray)
        gloss = 0.22 * np.maximum((normal * glance).sum(axis=1), 0.0) ** 40
        return np.asarray(np.clip(colour * (0.40 + 0.22 * sky + 0.42 * sun)[:, None] + gloss[:, None], 0.0, 1.0))

    def _arrows(self, shown: Motion) -> list[Part]:
        """Return the arrows of the forces that are shown at first."""
        stage, size = self._stage, self._stage.looks.size
        if not any(TOGGLES[kind] for kind in stage.force_kinds):
            return []
        parts = []
        for kind, segments in stage.arrows(shown).items():
            for a, b in segments[0] if TOGGLES[kind] else ():
                neck = b - 0.04 * size * unit(b - a)
                shaft = cylinder(0.006 * size, float(np.linalg.norm(neck - a))).at(along(a, neck))
                rim = (0.016 * size, -0.02 * size)
                head = turned([[(0.0, -0.02 * size), rim], [rim, (0.0, 0.02 * size)]]).at(along(neck, b))
                parts += [Part(BASE, shaft, FORCES[kind]), Part(BASE, head, FORCES[kind])]
        return parts

    def _cones(self, shown: Motion) -> list[Part]:
        """Return the friction cones of contacts that push."""
        stage, forces = self._stage, shown.contact_forces
        if forces is None or not TOGGLES["friction cones"]:
            return []
        each = zip(stage.cones(shown)[0], stage.friction, forces[0, :, 2], strict=True)
        size = stage.looks.size
        return [Part(BASE, friction_cone(float(mu), size).at(T), CONE, 0.35) for T, mu, push in each if push > 0.0]

    def _ribbons(self) -> list[Part]:
        """Return the paths as thin strips that face the camera."""
        if not self._stage.moves:
            return []
        parts = []
        for points in self._lines:
            for a, b in pairwise(points):
                toward = self._lens.camera.position - a
                wide = 1.3 * _FINER * float(np.linalg.norm(toward)) / self._lens.focus / 2
                side = np.cross(b - a, toward)
                length = float(np.linalg.norm(side))
                if length > 0.0:
                    side *= wide / length
                    corners = np.stack([a - side, a + side, b - side, b + side])
                    parts.append(Part(BASE, Solid(corners, np.array([[0, 1, 2], [1, 3, 2]]), flat=True), PATH))
        return parts
