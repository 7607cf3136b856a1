"""Inertias as the ten numbers of a body's row: mass, first moments x y z, second moments xx xy xz yy yz zz."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arguments import Array
from ..graph import Scalar
from ..spatial import Inertia

__all__ = ["inertia_of", "second_moments", "spatial"]


def inertia_of(numbers: Sequence[Scalar]) -> Inertia:
    """Return an inertia from its ten numbers."""
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = numbers
    return Inertia(m, (hx, hy, hz), (xx, xy, xz, yy, yz, zz))


def second_moments(numbers: Array) -> Array:
    """Return the second moments (..., 3, 3) of inertias (..., 10)."""
    nine = numbers[..., 4:][..., [0, 1, 2, 1, 3, 4, 2, 4, 5]]
    return nine.reshape(*numbers.shape[:-1], 3, 3)


def spatial(numbers: Array) -> Array:
    """Return inertias (..., 10) as matrices (..., 6, 6)."""
    A = np.zeros((*numbers.shape[:-1], 6, 6))
    A[..., :3, :3] = second_moments(numbers)
    A[..., 3:, 3:] = numbers[..., 0, None, None] * np.eye(3)
    x, y, z = np.moveaxis(numbers[..., 1:4], -1, 0)
    A[..., 0, 4], A[..., 0, 5], A[..., 1, 3], A[..., 1, 5], A[..., 2, 3], A[..., 2, 4] = -z, y, z, -x, -y, x
    A[..., 3:, :3] = np.swapaxes(A[..., :3, 3:], -1, -2)
    return A
