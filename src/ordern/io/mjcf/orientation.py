"""Where elements are: positions, and the five ways to write an orientation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ModelError
from ...model import Placement
from ..attributes import vector
from ..xml import Element
from .document import ORIENTATIONS, Settings

__all__ = ["about", "along", "euler_rotation", "fromto", "placed", "quaternion_of", "quaternion_rotation", "shifted"]

Array = NDArray[np.float64]
_ZERO = (0.0, 0.0, 0.0)


def placed(element: Element, settings: Settings, what: str) -> Placement:
    """Where an element is: its pos, and its quat, axisangle, euler, xyaxes or zaxis."""
    given = [name for name in ORIENTATIONS if name in element.attributes]
    if len(given) > 1:
        raise ModelError(f"{what}: <{element.tag}> has {' and '.join(given)}; expected one orientation", element.where)
    position = vector(element, "pos", 3, what, _ZERO)
    if not given:
        return Placement(position=position)
    try:
        with np.errstate(all="ignore"):
            return Placement.of(_rotation(element, given[0], settings, what), position)
    except ModelError as e:
        raise e if e.where else ModelError(f"{what}: {e}", element.where) from None


def _rotation(element: Element, name: str, settings: Settings, what: str) -> Array:
    x = np.array(vector(element, name, {"quat": 4, "axisangle": 4, "xyaxes": 6}.get(name, 3), what))
    if name == "euler":
        return euler_rotation(x, settings)
    if name == "quat":
        return quaternion_rotation(_unit(x, element, name, what))
    if name == "axisangle":
        return about(_unit(x[:3], element, name, what), settings.angle(float(x[3])))
    if name == "zaxis":
        return along(_unit(x, element, name, what))
    ex = _unit(x[:3], element, name, what)
    ey = _unit(x[3:] - ex * (ex @ x[3:]), element, name, what)
    return np.column_stack([ex, ey, np.cross(ex, ey)])


def _unit(x: Array, element: Element, name: str, what: str) -> Array:
    length = math.hypot(*x)
    if length < 1e-14:
        raise ModelError(
            f'{what}: <{element.tag}> has {name}="{element.attributes[name]}", which has no direction', element.where
        )
    return np.asarray(x / length)


def euler_rotation(angles: ArrayLike, settings: Settings) -> Array:
    """Turns in the order of eulerseq: about axes that turn too (small letters), or that stay (capital ones)."""
    R = np.eye(3)
    for letter, angle in zip(settings.eulerseq, np.asarray(angles, float), strict=True):
        turn = about(np.eye(3)["xyz".index(letter.lower())], settings.angle(float(angle)))
        R = R @ turn if letter.islower() else turn @ R
    return R


def about(axis: ArrayLike, angle: float) -> Array:
    """The rotation about a unit axis."""
    x, y, z = np.asarray(axis, float)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + math.sin(angle) * K + 2.0 * math.sin(0.5 * angle) ** 2 * (K @ K))


def along(axis: ArrayLike) -> Array:
    """The smallest rotation that takes z to a unit vector."""
    z = np.asarray(axis, float)
    n = np.array([-z[1], z[0], 0.0])
    s = math.hypot(*n)
    if s < 1e-14:
        return np.eye(3) if z[2] > 0.0 else np.diag([1.0, -1.0, -1.0])
    return about(n / s, math.atan2(s, z[2]))


def quaternion_rotation(q: ArrayLike) -> Array:
    """The rotation matrix of a unit quaternion (w, x, y, z)."""
    w, x, y, z = np.asarray(q, float)
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def quaternion_of(R: Array) -> tuple[float, ...]:
    """The unit quaternion (w, x, y, z) of a rotation matrix, with its largest component positive."""
    # Each column of this matrix is the quaternion times four times one of its components.
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    Q = np.array(
        [
            [1.0 + a + e + i, h - f, c - g, d - b],
            [h - f, 1.0 + a - e - i, b + d, c + g],
            [c - g, b + d, 1.0 - a + e - i, f + h],
            [d - b, c + g, f + h, 1.0 - a - e + i],
        ]
    )
    q = Q[int(np.argmax(Q.diagonal()))]
    return tuple((q / math.hypot(*q)).tolist())


def shifted(position: ArrayLike) -> Placement:
    """A frame that is moved and not turned."""
    return Placement(position=tuple((np.asarray(position, float) + 0.0).tolist()))


def fromto(element: Element, what: str) -> tuple[Placement, float]:
    """The frame in the middle of two points whose z points to the first, and half the distance between them."""
    x = np.array(vector(element, "fromto", 6, what))
    length = math.hypot(*(x[:3] - x[3:]))
    axis = _unit(x[:3] - x[3:], element, "fromto", what)
    return Placement.of(along(axis), 0.5 * (x[:3] + x[3:])), 0.5 * length
