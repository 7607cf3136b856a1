"""Placements of elements: positions, and the five ways to write an orientation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import Array
from ...errors import ModelError
from ...model import Placement
from ...rotations import about, from_z
from ..attributes import from_quaternion, vector
from ..xml import Element
from .document import ORIENTATIONS, Settings

__all__ = ["euler_rotation", "fromto", "placed", "shifted"]

_ZERO = (0.0, 0.0, 0.0)


def placed(element: Element, settings: Settings, what: str) -> Placement:
    """Return the placement of an element: its pos, and its quat, axisangle, euler, xyaxes or zaxis."""
    given = [name for name in ORIENTATIONS if name in element.attributes]
    if len(given) > 1:
        raise element.error(f"{what}: <{element.tag}> has {' and '.join(given)}; expected one orientation")
    position = vector(element, "pos", 3, what, _ZERO)
    if not given:
        return Placement(position=position)
    if given == ["quat"]:
        quaternion = vector(element, "quat", 4, what)
        _length(quaternion, element, "quat", what)
        return from_quaternion(quaternion, position)
    try:
        with np.errstate(all="ignore"):
            return Placement.of(_rotation(element, given[0], settings, what), position)
    except ModelError as e:
        raise e if e.where else element.error(f"{what}: {e}") from None


def _rotation(element: Element, name: str, settings: Settings, what: str) -> Array:
    x = np.array(vector(element, name, {"axisangle": 4, "xyaxes": 6}.get(name, 3), what))
    if name == "euler":
        return euler_rotation(x, settings)
    if name == "axisangle":
        return about(_unit(x[:3], element, name, what), settings.angle(float(x[3])))
    if name == "zaxis":
        return from_z(_unit(x, element, name, what))
    ex = _unit(x[:3], element, name, what)
    ey = _unit(x[3:] - ex * (ex @ x[3:]), element, name, what)
    return np.column_stack([ex, ey, np.cross(ex, ey)])


def _unit(x: Array, element: Element, name: str, what: str) -> Array:
    return np.asarray(x / _length(x.tolist(), element, name, what))


def _length(x: Sequence[float], element: Element, name: str, what: str) -> float:
    """Return the length of a vector; raise if it is zero."""
    length = math.hypot(*x)
    if length < 1e-14:
        raise element.error(f'{what}: <{element.tag}> has {name}="{element.attributes[name]}", which has no direction')
    return length


def euler_rotation(angles: ArrayLike, settings: Settings) -> Array:
    """Return the rotation by Euler angles: about moving axes (small letters of eulerseq) or fixed ones (capitals)."""
    R = np.eye(3)
    for letter, angle in zip(settings.eulerseq, np.asarray(angles, float), strict=True):
        turn = about(np.eye(3)["xyz".index(letter.lower())], settings.angle(float(angle)))
        R = R @ turn if letter.islower() else turn @ R
    return R


def shifted(position: ArrayLike) -> Placement:
    """Return a placement without rotation."""
    return Placement(position=tuple((np.asarray(position, float) + 0.0).tolist()))


def fromto(element: Element, what: str) -> tuple[Placement, float]:
    """Return the frame halfway between two points, whose z points to the first, and half their distance."""
    x = np.array(vector(element, "fromto", 6, what))
    length = math.hypot(*(x[:3] - x[3:]))
    axis = _unit(x[:3] - x[3:], element, "fromto", what)
    return Placement.of(from_z(axis), 0.5 * (x[:3] + x[3:])), 0.5 * length
