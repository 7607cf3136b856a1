"""A camera with pixels: points of the world on the picture, and rays through its pixels."""

from __future__ import annotations

import numpy as np

from ..arguments import AnyArray, Array
from .camera import Camera

__all__ = ["Lens", "unit", "weights"]


def unit(x: Array) -> Array:
    """Return vectors (..., 3) of length one in the same directions."""
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-30))


class Lens:
    """A camera, and the width and height of its picture in pixels."""

    def __init__(self, camera: Camera, width: int, height: int) -> None:
        self.camera, self.width, self.height = camera, width, height
        forward = unit(camera.target - camera.position)
        right = unit(np.cross(forward, camera.up))
        self._axes = np.stack([right, np.cross(forward, right), forward])  # to the right, downward, into the picture
        narrow = min(1.0, width / height)  # an upright picture sees as much from side to side
        self.focus = float(0.5 * height * narrow / np.tan(camera.field / 2))
        self._near = 1e-3 * camera.distance

    def projected(self, points: Array) -> Array:
        """Return (x, y, inverse depth) of points (..., 3) of the world, in pixels; zero depth behind the camera."""
        x, y, z = np.moveaxis((points - self.camera.position) @ self._axes.T, -1, 0)
        front = z > self._near
        inverse = np.where(front, 1.0 / np.where(front, z, 1.0), 0.0)
        scaled = self.focus * inverse
        return np.stack([x * scaled + 0.5 * self.width, y * scaled + 0.5 * self.height, inverse], axis=-1)

    def rays(self, pixels: AnyArray) -> Array:
        """Return unit directions from the camera through the centres of pixels."""
        x = (pixels % self.width + 0.5 - 0.5 * self.width) / self.focus
        y = (pixels // self.width + 0.5 - 0.5 * self.height) / self.focus
        return unit(np.stack([x, y, np.ones_like(x)], axis=-1) @ self._axes)

    def in_front(self, triangles: Array) -> Array:
        """Return triangles (n, 3, 3) of the world, cut where they go behind the camera."""
        depth = (triangles - self.camera.position) @ self._axes[2] - 2.0 * self._near
        count = (depth > 0.0).sum(axis=1)
        found = [triangles[count == 3]]
        for some in (1, 2):
            mine, deep = triangles[count == some], depth[count == some]
            # the corner that is alone on its side comes first
            first = np.argmax(deep > 0.0, axis=1) if some == 1 else np.argmin(deep > 0.0, axis=1)
            order = (first[:, None] + np.arange(3)) % 3
            a, b, c = np.moveaxis(np.take_along_axis(mine, order[..., None], axis=1), 1, 0)
            da, db, dc = np.take_along_axis(deep, order, axis=1).T[..., None]
            ab, ac = a + (da / (da - db)) * (b - a), a + (da / (da - dc)) * (c - a)
            found += (
                [np.stack([a, ab, ac], axis=1)]
                if some == 1
                else [np.stack([ab, b, c], axis=1), np.stack([ab, c, ac], axis=1)]
            )
        return np.concatenate(found)


def weights(corners: Array, x: AnyArray, y: AnyArray) -> Array:
    """Return the weights of the corners (n, 3, 3) of triangles at points of the picture, right in perspective."""
    (ax, ay), (bx, by), (cx, cy) = (corners[:, k, :2].T for k in range(3))
    area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
    second = ((x - ax) * (cy - ay) - (cx - ax) * (y - ay)) / area
    third = ((bx - ax) * (y - ay) - (x - ax) * (by - ay)) / area
    flat = np.stack([1.0 - second - third, second, third], axis=1) * corners[..., 2]
    return np.asarray(flat / flat.sum(axis=1, keepdims=True))
