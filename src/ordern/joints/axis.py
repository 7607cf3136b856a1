"""The axis of a joint or a closure: a unit vector, and the z axis of its working frame."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from .closure import Closure

__all__ = ["AlongAxis", "Axis", "turned_frame", "unit_axis"]

Axis = tuple[float, float, float]


class AlongAxis(Closure):
    """A joint or closure with an axis, given in the child's frame: it is z of the working frame."""

    axis: Axis

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def working_frame(self) -> NDArray[np.float64]:
        """Return the frame in which the axis is z."""
        return turned_frame(self.axis)


def unit_axis(axis: Sequence[float]) -> Axis:
    """Return the axis with length one; components that are zero but for rounding become zero."""
    try:
        x, y, z = (float(a) for a in axis)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"a joint's axis must be three numbers, not {axis!r}") from None
    length = math.hypot(x, y, z)
    if not math.isfinite(length) or length == 0.0:
        raise ModelError(f"a joint's axis must have a direction, but it is ({x:g}, {y:g}, {z:g})")
    x, y, z = (0.0 if abs(a) < 1e-12 * length else a / length for a in (x, y, z))
    return (x, y, z)


def turned_frame(axis: Axis) -> NDArray[np.float64]:
    """Return a rotation matrix whose third column is the axis.

    For an axis along a coordinate axis it only permutes axes and signs, so that a turned body has as many zeros as
    before.
    """
    largest = max(range(3), key=lambda k: abs(axis[k]))  # the first of equal ones
    x = [0.0, 0.0, 0.0]
    x[(largest + 1) % 3] = 1.0
    y = np.array(_cross(axis, x))
    y /= np.linalg.norm(y)
    across: list[float] = y.tolist()
    return np.asarray(np.array((_cross(across, axis), across, axis)).T + 0.0, np.float64)


def _cross(a: Sequence[float], b: Sequence[float]) -> Axis:
    """Return the vector product of two vectors: NumPy's takes a hundred times as long for three numbers."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
