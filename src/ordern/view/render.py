"""Pictures of a robot without a browser: its parts, lit by a sky and a sun, with a shadow on a ground with lines.

This renderer always works: it needs NumPy and nothing else, no screen and no graphics processor. A picture takes some
tenths of a second, by the number of its pixels and of the triangles of the robot.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import AnyArray, Array
from ..model import BASE
from .camera import Camera, camera_for, ground_plane, horizontal
from .looks import Looks, Part
from .motion import Motion, rest, thinned
from .raster import covered, nearest
from .scene import CONE, FORCES, PATH, TOGGLES, cell_size, friction_cone
from .solids import Solid, along, cylinder, turned
from .stage import Stage

__all__ = ["Picture", "Renderer"]

Picture = NDArray[np.uint8]
_FINER = 2
"""Pixels of a picture are averages of this many pixels squared."""
_SHADOW = 0.2
_AT_ONCE = 1_000_000
"""Pixels of the ground that are computed at once."""
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
        return np.repeat(_unit(normals)[:, None], 3, axis=1)
    sums = np.zeros_like(solid.vertices, dtype=float)
    for k in range(3):
        np.add.at(sums, solid.faces[:, k], normals)
    return _unit(sums)[solid.faces]


def _unit(x: Array) -> Array:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-30))


class Renderer:
    """Draws the robot of a stage at any position, always from the same point."""

    def __init__(self, stage: Stage, size: tuple[int, int] = (800, 600), look_from: ArrayLike | None = None) -> None:
        self._stage = stage
        looks = stage.looks
        q = np.concatenate([stage.q[None], stage.motion.q[thinned(stage.motion.q, 40)]])
        corners = looks.corners(q)
        self._normal, self._ground = ground_plane(looks, corners, stage.ground_height)
        if stage.external is not None:  # arrows are in the picture, too
            pushes = stage.arrows(rest(stage.q))["external forces"]
            corners = np.concatenate([corners, *(x.reshape(-1, 3) for x in pushes)])
        self._width, self._height = _FINER * size[0], _FINER * size[1]
        self._camera = camera_for(looks, corners, stage.q, look_from)
        self._set_camera(self._camera)
        x, y = horizontal(looks.up)
        self._sun = _unit(0.45 * x - 0.35 * y + 0.82 * looks.up)
        shown = [p for p in looks.parts if not p.collision]
        self._solid = _Mesh([p for p in shown if p.opacity >= 1.0])
        self._glass = _Mesh([p for p in shown if p.opacity < 1.0])
        self._lines = [np.array(points)[thinned(points, _MOST_LINES)] for points in stage.paths().values()]
        self._empty = self._floor()

    def _set_camera(self, camera: Camera) -> None:
        forward = _unit(camera.target - camera.position)
        right = _unit(np.cross(forward, camera.up))
        self._axes = np.stack([right, np.cross(forward, right), forward])  # to the right, downward, into the picture
        narrow = min(1.0, self._width / self._height)  # an upright picture sees as much from side to side
        self._focus = 0.5 * self._height * narrow / np.tan(camera.field / 2)

    def _projected(self, points: Array) -> Array:
        """Return (x, y, inverse depth) of points (..., 3) of the world, in pixels; zero depth behind the camera."""
        x, y, z = np.moveaxis((points - self._camera.position) @ self._axes.T, -1, 0)
        front = z > 1e-3 * self._camera.distance
        inverse = np.where(front, 1.0 / np.where(front, z, 1.0), 0.0)
        scaled = self._focus * inverse
        return np.stack([x * scaled + 0.5 * self._width, y * scaled + 0.5 * self._height, inverse], axis=-1)

    def _rays(self, pixels: AnyArray) -> Array:
        """Return unit directions from the camera through the centres of pixels."""
        x = (pixels % self._width + 0.5 - 0.5 * self._width) / self._focus
        y = (pixels // self._width + 0.5 - 0.5 * self._height) / self._focus
        return _unit(np.stack([x, y, np.ones_like(x)], axis=-1) @ self._axes)

    def _floor(self) -> NDArray[np.float32]:
        """Return the picture without the robot: white, with the lines of the ground."""
        picture = np.ones((self._width * self._height, 3), np.float32)
        for start in range(0, len(picture), _AT_ONCE):
            end = min(start + _AT_ONCE, len(picture))
            picture[start:end] *= self._ink(np.arange(start, end))[:, None]
        return picture

    def _ink(self, pixels: AnyArray) -> Array:
        """Return how much light the lines of the ground leave at pixels, from 0 to 1."""
        light = np.ones(len(pixels))
        up, camera = self._normal, self._camera
        rays = self._rays(pixels)
        below, height = rays @ up, float(camera.position @ up) - self._ground
        seen = np.flatnonzero(below * np.sign(height) < -1e-3)
        along_ray = -height / below[seen]
        points = camera.position + along_ray[:, None] * rays[seen]
        footprint = along_ray / self._focus / np.abs(below[seen])  # of a pixel, where the ground is seen at an angle
        cell = cell_size(self._stage.looks.size)
        fade = np.exp(-((along_ray / camera.distance / 2.2) ** 2))
        for step, darkness, thick in ((cell, 0.10, 1.2), (5 * cell, 0.13, 1.8)):
            for direction in horizontal(up):
                s = points @ direction
                off = np.abs(s - step * np.round(s / step)) / np.maximum(footprint, 1e-9)
                ink = np.clip(thick - off + 0.5, 0.0, 1.0) * np.clip(1.5 - footprint / step * 4.0, 0.0, 1.0)
                light[seen] *= 1.0 - darkness * fade * ink
        return light

    def draw(self, shown: Motion) -> Picture:
        """Return the picture (height, width, 3) of the first position of a motion."""
        stage = self._stage
        poses = np.concatenate([stage.poses(shown.q[0])[0], np.eye(4)[None]])  # the base is the last, number -1
        picture = self._empty.copy()
        extra = _Mesh([*self._arrows(shown), *self._ribbons()])
        world = self._solid.placed(poses, stage.looks)
        self._shade_ground(picture, world[self._solid.faces])
        depth = np.zeros(len(picture))
        for mesh in (self._solid, extra, self._glass, _Mesh(self._cones(shown))):
            if len(mesh.faces):
                self._paint(picture, depth, mesh, mesh.placed(poses, stage.looks), poses)
        small = picture.reshape(self._height // _FINER, _FINER, self._width // _FINER, _FINER, 3).mean(axis=(1, 3))
        return np.asarray(np.clip(np.round(255.0 * small), 0, 255).astype(np.uint8))

    def still(self) -> Picture:
        """Return the picture of the first position."""
        return self.draw(self._stage.motion.still(self._stage.q))

    def _shade_ground(self, picture: NDArray[np.float32], corners: Array) -> None:
        """Darken the ground where the robot is between it and the sun."""
        up = self._normal
        height = corners @ up - self._ground
        shadow = corners - (height / (self._sun @ up))[..., None] * self._sun
        above = (height > -1e-6 * self._stage.looks.size).all(axis=1)
        mask = np.zeros(len(picture), np.float32)
        if self._camera.position @ up > self._ground:
            for pixel, _, _ in covered(self._projected(shadow[above]), self._width, self._height):
                mask[pixel] = 1.0
        picture *= 1.0 - _SHADOW * _blurred(mask.reshape(self._height, self._width), 3).reshape(-1, 1)

    def _paint(self, picture: NDArray[np.float32], depth: Array, mesh: _Mesh, world: Array, poses: Array) -> None:
        """Draw a mesh where it is nearer than what is there."""
        corners = self._projected(world)[mesh.faces]
        triangle = nearest(corners, self._width, self._height)
        pixel = np.flatnonzero(triangle >= 0)
        mine = triangle[pixel]
        b = _weights(corners[mine], pixel % self._width + 0.5, pixel // self._width + 0.5)
        inverse = (b * corners[mine, :, 2]).sum(axis=1)
        front = inverse >= depth[pixel] * (1.0 - 1e-9)
        pixel, mine, b, inverse = pixel[front], mine[front], b[front], inverse[front]
        own = np.einsum("nk,nki->ni", b, mesh.normals[mine])
        normal = _unit(np.einsum("nij,nj->ni", poses[mesh.on[mine], :3, :3], own))
        ray = self._rays(pixel)
        normal *= np.where((normal * ray).sum(axis=1) > 0.0, -1.0, 1.0)[:, None]  # both sides of a surface are lit
        colour = self._lit(mesh.colours[mine], normal, ray)
        opacity = mesh.opacity[mine][:, None]
        picture[pixel] = opacity * colour + (1.0 - opacity) * picture[pixel]
        depth[pixel] = inverse

    def _lit(self, colour: Array, normal: Array, ray: Array) -> Array:
        sky = 0.5 + 0.5 * normal @ self._stage.looks.up
        sun = np.maximum(normal @ self._sun, 0.0)
        glance = _unit(self._sun - ray)
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
                neck = b - 0.04 * size * _unit(b - a)
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
                toward = self._camera.position - a
                wide = 1.3 * _FINER * float(np.linalg.norm(toward)) / self._focus / 2
                side = np.cross(b - a, toward)
                length = float(np.linalg.norm(side))
                if length > 0.0:
                    side *= wide / length
                    corners = np.stack([a - side, a + side, b - side, b + side])
                    parts.append(Part(BASE, Solid(corners, np.array([[0, 1, 2], [1, 3, 2]]), flat=True), PATH))
        return parts


def _weights(corners: Array, x: AnyArray, y: AnyArray) -> Array:
    """Return the weights of the corners (n, 3, 3) of triangles at points of the picture, right in perspective."""
    (ax, ay), (bx, by), (cx, cy) = (corners[:, k, :2].T for k in range(3))
    area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
    second = ((x - ax) * (cy - ay) - (cx - ax) * (y - ay)) / area
    third = ((bx - ax) * (y - ay) - (x - ax) * (by - ay)) / area
    flat = np.stack([1.0 - second - third, second, third], axis=1) * corners[..., 2]
    return np.asarray(flat / flat.sum(axis=1, keepdims=True))


def _blurred(x: NDArray[np.float32], reach: int) -> NDArray[np.float32]:
    """Return the averages of numbers over squares, twice, which makes edges soft."""
    n = 2 * reach + 1
    for axis in (0, 1, 0, 1):
        padded = np.pad(x, [(reach + 1, reach) if k == axis else (0, 0) for k in range(2)], mode="edge")
        sums = np.cumsum(padded, axis=axis)
        ends = np.take(sums, range(n, sums.shape[axis]), axis) - np.take(sums, range(sums.shape[axis] - n), axis)
        x = np.asarray(ends / n, np.float32)
    return x
