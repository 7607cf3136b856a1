"""The ground in pictures: a plane with lines, or a piece of uneven ground, and the shadow of the robot on it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..arguments import AnyArray, Array
from .camera import horizontal
from .lens import Lens, unit, weights
from .raster import covered, nearest
from .terrain import SOIL, SOIL_LINES, Terrain, cell_size

__all__ = ["Floor", "Plane", "Uneven"]

Image = NDArray[np.float32]
_SHADOW = 0.2
_AT_ONCE = 1_000_000
"""Pixels of the ground that are computed at once."""
_MAP = 700
"""Pixels of the robot, as the sun sees it, along its longer side."""


class Floor(Protocol):
    """The ground of a picture."""

    empty: Image
    """The picture without the robot, (pixels, 3)."""
    depth: Array
    """The inverse distance of the ground along the view, where it hides what is behind it; zero elsewhere."""

    def shade(self, picture: Image, corners: Array) -> None:
        """Darken the ground where triangles (n, 3, 3) are between it and the sun."""


class Plane:
    """A plane with lines: the points x with normal . x = height. It hides nothing."""

    def __init__(self, lens: Lens, normal: Array, height: float, sun: Array, size: float) -> None:
        self._lens, self._normal, self._height, self._sun, self._size = lens, normal, height, sun, size
        self.depth = np.zeros(lens.width * lens.height)
        self.empty = np.ones((len(self.depth), 3), np.float32)
        for start in range(0, len(self.empty), _AT_ONCE):
            end = min(start + _AT_ONCE, len(self.empty))
            self.empty[start:end] *= self._ink(np.arange(start, end))[:, None]

    def _ink(self, pixels: AnyArray) -> Array:
        """Return how much light the lines of the ground leave at pixels, from 0 to 1."""
        light = np.ones(len(pixels))
        up, camera = self._normal, self._lens.camera
        rays = self._lens.rays(pixels)
        below, height = rays @ up, float(camera.position @ up) - self._height
        seen = np.flatnonzero(below * np.sign(height) < -1e-3)
        along_ray = -height / below[seen]
        points = camera.position + along_ray[:, None] * rays[seen]
        footprint = along_ray / self._lens.focus / np.abs(below[seen])  # of a pixel, where the ground is at an angle
        cell = cell_size(self._size)
        fade = np.exp(-((along_ray / camera.distance / 2.2) ** 2))
        for step, darkness, thick in ((cell, 0.10, 1.2), (5 * cell, 0.13, 1.8)):
            for direction in horizontal(up):
                s = points @ direction
                off = np.abs(s - step * np.round(s / step)) / np.maximum(footprint, 1e-9)
                ink = np.clip(thick - off + 0.5, 0.0, 1.0) * np.clip(1.5 - footprint / step * 4.0, 0.0, 1.0)
                light[seen] *= 1.0 - darkness * fade * ink
        return light

    def shade(self, picture: Image, corners: Array) -> None:
        """See `Floor`."""
        up, lens = self._normal, self._lens
        height = corners @ up - self._height
        shadow = corners - (height / (self._sun @ up))[..., None] * self._sun
        above = (height > -1e-6 * self._size).all(axis=1)
        mask = np.zeros(len(picture), np.float32)
        if lens.camera.position @ up > self._height:
            for pixel, _, _ in covered(lens.projected(shadow[above]), lens.width, lens.height):
                mask[pixel] = 1.0
        picture *= 1.0 - _SHADOW * _blurred(mask.reshape(lens.height, lens.width), 3).reshape(-1, 1)


class Uneven:
    """A piece of ground that is no plane."""

    def __init__(self, lens: Lens, ground: Terrain, sun: Array, up: Array, size: float) -> None:
        self._lens, self._sun, self._size = lens, sun, size
        self.depth = np.zeros(lens.width * lens.height)
        self.empty = np.ones((len(self.depth), 3), np.float32)
        triangles = ground.solid.vertices[ground.solid.faces]
        self._seen, self._points, normals = self._drawn(triangles)
        light = 0.42 + 0.24 * (0.5 + 0.5 * normals @ up) + 0.42 * np.maximum(normals @ sun, 0.0)
        self.empty[self._seen] = np.clip(light[:, None] * np.array(SOIL) / 255, 0.0, 1.0)
        before = self.depth.copy()
        lines, _, _ = self._drawn(_strips(ground.lines, lens))
        self.empty[lines] *= np.array(SOIL_LINES) / np.array(SOIL)
        self.depth = before  # lines are on the surface, and hide nothing

    def _drawn(self, triangles: Array) -> tuple[AnyArray, Array, Array]:
        """Return the pixels where triangles are nearer than what is there, the points there, and their normals."""
        lens = self._lens
        triangles = lens.in_front(triangles)
        corners = lens.projected(triangles)
        which = nearest(corners, lens.width, lens.height)
        pixel = np.flatnonzero(which >= 0)
        mine = which[pixel]
        part = weights(corners[mine], pixel % lens.width + 0.5, pixel // lens.width + 0.5)
        inverse = (part * corners[mine, :, 2]).sum(axis=1)
        front = inverse > self.depth[pixel]
        pixel, mine, part = pixel[front], mine[front], part[front]
        self.depth[pixel] = inverse[front]
        points = np.einsum("nk,nki->ni", part, triangles[mine])
        normals = unit(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]))[mine]
        back = ((points - lens.camera.position) * normals).sum(axis=1) > 0.0
        return pixel, points, np.where(back[:, None], -normals, normals)

    def shade(self, picture: Image, corners: Array) -> None:
        """See `Floor`: a pixel is in the shadow if the robot is nearer to the sun there."""
        if not len(corners) or not len(self._seen):
            return
        a, b = horizontal(self._sun)
        axes = np.stack([a, b, self._sun])
        robot, ground = corners @ axes.T, self._points @ axes.T
        low, high = robot[..., :2].min(axis=(0, 1)), robot[..., :2].max(axis=(0, 1))
        scale = _MAP / max(float((high - low).max()), 1e-12)
        width, height = (int(x) + 2 for x in np.ceil((high - low) * scale))
        deepest = float(min(robot[..., 2].min(), ground[:, 2].min())) - self._size
        flat = np.concatenate([(robot[..., :2] - low) * scale + 1.0, robot[..., 2:] - deepest], axis=-1)
        nearer = np.zeros(width * height)
        for pixel, _, depth in covered(flat, width, height):
            np.maximum.at(nearer, pixel, depth)
        column, row = np.floor((ground[:, :2] - low) * scale + 1.0).astype(np.int64).T
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        above = nearer[np.where(inside, row * width + column, 0)]
        dark = inside & (above > ground[:, 2] - deepest + 2e-3 * self._size)
        lens = self._lens
        mask = np.zeros(len(picture), np.float32)
        mask[self._seen[dark]] = 1.0
        soft = _blurred(mask.reshape(lens.height, lens.width), 3).ravel()[self._seen]
        picture[self._seen] *= 1.0 - _SHADOW * soft[:, None]


def _strips(lines: Array, lens: Lens) -> Array:
    """Return lines (n, 2, 3) as triangles that face the camera, a pixel and a half wide."""
    a, b = lines[:, 0], lines[:, 1]
    toward = lens.camera.position - a
    wide = 0.75 * np.linalg.norm(toward, axis=1, keepdims=True) / lens.focus
    side = wide * unit(np.cross(b - a, toward))
    return np.concatenate(
        [np.stack([a - side, a + side, b - side], axis=1), np.stack([a + side, b + side, b - side], axis=1)]
    )


def _blurred(x: Image, reach: int) -> Image:
    """Return the averages of numbers over squares, twice, which makes edges soft."""
    n = 2 * reach + 1
    for axis in (0, 1, 0, 1):
        padded = np.pad(x, [(reach + 1, reach) if k == axis else (0, 0) for k in range(2)], mode="edge")
        sums = np.cumsum(padded, axis=axis)
        ends = np.take(sums, range(n, sums.shape[axis]), axis) - np.take(sums, range(sums.shape[axis] - n), axis)
        x = np.asarray(ends / n, np.float32)
    return x
