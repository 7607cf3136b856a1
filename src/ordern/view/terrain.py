"""The ground of a robot's contacts around its motion, as triangles: a plane, stairs, or a height field.

Heights are those of the contact algorithm (`algorithms/contact/terrain.py`): treads and risers, and two triangles of
each cell, which is cut from its corner with the least x and y to that with the largest. Beyond the grid, the border
goes on.
"""

from __future__ import annotations

import math

import numpy as np

from ..arguments import AnyArray, Array
from ..model.contacts import Ground
from ..records import dataclass
from .solids import Solid

__all__ = ["SOIL", "SOIL_LINES", "Terrain", "cell_size", "terrain"]

SOIL, SOIL_LINES = (226, 229, 234), (176, 183, 194)
"""The colours of the ground and of the lines on it."""
_AROUND = 0.9
"""How far the ground goes on around the motion, as a part of the size of the robot."""
_THICK = 0.04
"""How far the sides of the piece go down below its lowest point, as a part of the size of the robot."""
_LIFT = 1.5e-3
"""Lines are off the surface by this part of the size of the robot."""
_MOST_CELLS = 40_000


@dataclass(frozen=True, eq=False)
class Terrain:
    """A piece of ground, in the world."""

    solid: Solid
    """Its surface, and sides that go down."""
    lines: Array
    """Lines on the surface, (N, 2, 3)."""


def cell_size(size: float) -> float:
    """Return the distance of lines on the ground: about a quarter of the robot's size, with the digit 1, 2 or 5."""
    x = size / 4
    power = 10.0 ** math.floor(math.log10(x))
    return power * max(d for d in (1, 2, 5) if d * power <= x * (1 + 1e-9))


def terrain(ground: Ground, height: float, corners: Array, size: float) -> Terrain:
    """Return the ground below points (N, 3), such as the corners of a robot in motion, and some way around them.

    `height` is that of the ground in this motion, `size` that of the robot.
    """
    axes = np.array(ground.axes)
    places = corners @ axes[:2].T
    low, high = places.min(axis=0), places.max(axis=0)
    cell = cell_size(size)
    if ground.heights:
        x, y, z = _field(ground, low, high, _AROUND * size)
    else:
        low, high = low - _AROUND * size, high + _AROUND * size
        x, z = _profile(ground, float(low[0]), float(high[0]))
        y = np.array([low[1], *_multiples(float(low[1]), float(high[1]), cell), high[1]])
        x, z = _divided(x, z, cell)
        z = np.repeat(z[:, None], len(y), axis=1)
    across, along = (_kept(x, cell), _kept(y, cell)) if ground.heights else (range(len(x)), range(len(y)))
    points = np.stack([*np.meshgrid(x, y, indexing="ij"), z], axis=-1)
    lines = [points[i] for i in across] + [points[:, j] for j in along]
    pieces = [np.stack([line[:-1], line[1:]], axis=1) for line in lines]
    solid = _slab(points, float(z.min()) - _THICK * size)
    up = height * axes[2]
    off = _LIFT * size
    raised = np.concatenate(pieces) + np.array([-off if ground.steps else 0.0, 0.0, off])  # risers face -x
    return Terrain(Solid(solid.vertices @ axes + up, solid.faces, flat=True), raised @ axes + up)


def _profile(ground: Ground, low: float, high: float) -> tuple[Array, Array]:
    """Return places along x, each riser twice, and the heights there: of stairs, or of a plane."""
    before = max((t for x, t in ground.steps if x <= low), default=0.0)
    x, z = [low], [before]
    for at, tread in ground.steps:
        if low < at < high:
            x += [at, at]
            z += [z[-1], tread]
    return np.array([*x, high]), np.array([*z, z[-1]])


def _multiples(low: float, high: float, step: float) -> Array:
    """Return the multiples of a number between two others."""
    found = step * np.arange(math.ceil(low / step), math.floor(high / step) + 1)
    return np.asarray(found[(found > low) & (found < high)])


def _divided(x: Array, z: Array, cell: float) -> tuple[Array, Array]:
    """Return a profile with points at multiples of a length on the treads."""
    xs, zs = [x[:1]], [z[:1]]
    for k in range(1, len(x)):
        between = _multiples(float(x[k - 1]), float(x[k]), cell)
        between = between[np.abs(between[:, None] - x[[k - 1, k]]).min(axis=1, initial=np.inf) > 1e-6 * cell]
        xs += [between, x[k : k + 1]]
        zs += [np.full(len(between), z[k]), z[k : k + 1]]
    return np.concatenate(xs), np.concatenate(zs)


def _field(ground: Ground, low: Array, high: Array, around: float) -> tuple[Array, Array, Array]:
    """Return places along x and y, and the heights there: those of the grid, and where it ends, of its border."""
    heights = np.array(ground.heights)
    grids = [
        middle + length * np.linspace(-0.5, 0.5, count)
        for middle, length, count in zip(ground.centre, ground.size, heights.shape, strict=True)
    ]
    while True:
        picked = [
            _range(grid, float(a) - around, float(b) + around) for grid, a, b in zip(grids, low, high, strict=True)
        ]
        if math.prod(len(rows) for _, rows in picked) <= _MOST_CELLS or around < 1e-3 * float((high - low).max()):
            break
        around *= 0.7
    (x, rows), (y, columns) = picked
    return x, y, heights[np.ix_(rows, columns)]


def _range(grid: Array, low: float, high: float) -> tuple[Array, AnyArray]:
    """Return the lines of a grid around a range, with ends beyond the grid, and the row of each."""
    first = max(int(np.searchsorted(grid, low, side="right")) - 1, 0)
    last = min(int(np.searchsorted(grid, high, side="left")), len(grid) - 1)
    x, rows = grid[first : last + 1], np.arange(first, last + 1)
    if low < grid[0]:
        x, rows = np.append(low, x), np.append(0, rows)
    if high > grid[-1]:
        x, rows = np.append(x, high), np.append(rows, len(grid) - 1)
    return x, rows


def _kept(x: Array, cell: float) -> range:
    """Return which lines of a grid are drawn: not closer than a part of the usual distance."""
    usual = float(np.median(np.diff(x)))
    return range(0, len(x), max(1, math.ceil(0.35 * cell / usual - 1e-9)))


def _slab(points: Array, bottom: float) -> Solid:
    """Return the surface through points (rows, columns, 3) with sides down to a height."""
    rows, columns, _ = points.shape
    number = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (x.ravel() for x in (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]))
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    rim = np.concatenate([number[:, 0], number[-1, 1:], number[-2::-1, -1], number[0, -2:0:-1]])  # as seen from above
    vertices = points.reshape(-1, 3)
    foot = np.column_stack([vertices[rim][:, :2], np.full(len(rim), bottom)])
    below, after = len(vertices) + np.arange(len(rim)), np.roll(np.arange(len(rim)), -1)
    sides = [np.stack([rim, below, below[after]], axis=1), np.stack([rim, below[after], rim[after]], axis=1)]
    whole = np.concatenate([vertices, foot])
    faces = np.concatenate([faces, *sides])
    corners = whole[faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return Solid(whole, faces[area > 0.0], flat=True)
