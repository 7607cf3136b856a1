"""Triangles to pixels: which triangle is nearest at each pixel, in NumPy.

A triangle is cut into its rows of pixels, and each row into its pixels, for all triangles at once. The depth of a pixel
and the number of its triangle are packed into one integer, so that the least integer is the nearest triangle.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..arguments import AnyArray, Array

__all__ = ["Coverage", "covered", "nearest"]

Coverage = tuple[AnyArray, AnyArray, Array]
"""Pixels (as numbers row by row), their triangles, and the inverse depths of the triangles there."""
_MOST = 2_000_000
"""Pixels that are treated at once."""
_NOTHING = np.uint64(2**64 - 1)
_STEPS = 2.0**32 - 2.0


def _starts(counts: AnyArray) -> AnyArray:
    """Return 0 ... n - 1 for each count n, one after the other."""
    ends = np.cumsum(counts)
    return np.asarray(np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts))


def _spans(x: Array, y: Array, width: int, height: int) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """Return the rows of pixels of triangles (m, 3): triangle, row, first pixel, and number of pixels."""
    top = np.clip(np.ceil(y.min(axis=1) - 0.5), 0, height).astype(np.int64)
    bottom = np.clip(np.ceil(y.max(axis=1) - 0.5), 0, height).astype(np.int64)
    seen = (x.max(axis=1) > 0) & (x.min(axis=1) < width)
    counts = np.where(seen, np.maximum(bottom - top, 0), 0)
    triangle = np.repeat(np.arange(len(x)), counts)
    row = top[triangle] + _starts(counts)
    middle = row + 0.5
    left, right = np.full(len(row), np.inf), np.full(len(row), -np.inf)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        ya, yb = y[triangle, a], y[triangle, b]
        crosses = (np.minimum(ya, yb) <= middle) & (np.maximum(ya, yb) > middle)
        part = (middle - ya) / np.where(crosses, yb - ya, 1.0)
        at = x[triangle, a] + part * (x[triangle, b] - x[triangle, a])
        left, right = np.where(crosses, np.minimum(left, at), left), np.where(crosses, np.maximum(right, at), right)
    some = right > left
    first = np.clip(np.ceil(np.where(some, left, 0.0) - 0.5), 0, width).astype(np.int64)
    end = np.clip(np.ceil(np.where(some, right, 0.0) - 0.5), 0, width).astype(np.int64)
    keep = end > first
    return triangle[keep], row[keep], first[keep], (end - first)[keep]


def covered(corners: Array, width: int, height: int) -> Iterator[Coverage]:
    """Yield the pixels of triangles (m, 3, 3), whose corners are (x, y, inverse depth) in pixels.

    A corner behind the camera, with an inverse depth that is not above zero, removes its triangle.
    """
    which = np.flatnonzero((corners[..., 2] > 0.0).all(axis=1))
    x, y, inverse = (corners[which, :, k] for k in range(3))
    a, b = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
    c, d = y[:, 1] - y[:, 0], y[:, 2] - y[:, 0]
    area = a * d - b * c
    solid = np.abs(area) > 1e-12
    which, x, y, inverse = which[solid], x[solid], y[solid], inverse[solid]
    a, b, c, d, area = a[solid], b[solid], c[solid], d[solid], area[solid]
    e, f = inverse[:, 1] - inverse[:, 0], inverse[:, 2] - inverse[:, 0]
    across, down = (e * d - f * c) / area, (f * a - e * b) / area  # the inverse depth is linear on the picture
    start = inverse[:, 0] - across * x[:, 0] - down * y[:, 0]
    triangle, row, first, counts = _spans(x, y, width, height)
    ends = np.cumsum(counts)
    for low, high in _pieces(ends):
        n = counts[low:high]
        span = np.repeat(np.arange(low, high), n)
        column = first[span] + _starts(n)
        mine = triangle[span]
        depth = (start[triangle] + down[triangle] * (row + 0.5))[span] + across[mine] * (column + 0.5)
        yield row[span] * width + column, which[mine], depth


def _pieces(ends: AnyArray) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows with few pixels enough to be treated at once."""
    low = 0
    while low < len(ends):
        before = int(ends[low - 1]) if low else 0
        high = max(int(np.searchsorted(ends, before + _MOST, side="right")), low + 1)
        yield low, high
        low = high


def nearest(corners: Array, width: int, height: int) -> NDArray[np.int64]:
    """Return the nearest triangle at each pixel, row by row; -1 where there is none."""
    buffer = np.full(width * height, _NOTHING)
    most = float(corners[..., 2].max(initial=0.0)) or 1.0
    for pixel, triangle, inverse in covered(corners, width, height):
        far = ((1.0 - np.clip(inverse / most, 0.0, 1.0)) * _STEPS).astype(np.uint64)
        np.minimum.at(buffer, pixel, (far << np.uint64(32)) | triangle.astype(np.uint64))
    found = (buffer & np.uint64(2**32 - 1)).astype(np.int64)
    return np.where(buffer == _NOTHING, -1, found)
