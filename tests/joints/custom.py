"""Joints in a user's own module: the library knows nothing of them, and all of it must work with them.

`Helical` has a parameter of its own and a subspace that is no unit motion; `Universal` has a subspace that changes with
its position, hence a bias; `Cylindrical` mixes a rotation and a translation, and is written with Python ints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ordern import Joint
from ordern.graph import atan2, cos, sin, sqrt, where_less
from ordern.joints.axis import turned_frame, unit_axis
from ordern.spatial import Columns, Freedoms, Motion, Subspace, Transform, Turn, Units


def turned_about_z(angle: Any) -> Turn:
    """Axes turned about z."""
    c, s = cos(angle), sin(angle)
    return Turn(((c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0)))


@dataclass(frozen=True)
class Helical(Joint):
    """A screw: turning by an angle about the axis shifts by the pitch times that angle along it."""

    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    pitch: Any = 0.1

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def transform(self, q: Freedoms) -> Transform:
        return Transform(turned_about_z(q[0]), (0.0, 0.0, self.pitch * q[0]))

    def subspace(self, q: Freedoms) -> Subspace:
        return Columns((Motion((0.0, 0.0, 1.0), (0.0, 0.0, self.pitch)),))

    def turn(self) -> NDArray[np.float64]:
        return turned_frame(self.axis)

    @property
    def parameters(self) -> tuple[float, ...]:
        return (self.pitch,)

    def with_parameters(self, parameters: tuple[Any, ...]) -> Helical:
        return Helical(self.axis, *parameters)


@dataclass(frozen=True)
class Universal(Joint):
    """A cross: turning about the parent's x by q0, then about the turned y by q1."""

    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2

    def transform(self, q: Freedoms) -> Transform:
        c0, s0, c1, s1 = cos(q[0]), sin(q[0]), cos(q[1]), sin(q[1])
        E = ((c1, s0 * s1, -(c0 * s1)), (0.0, c0, s0), (s1, -(s0 * c1), c0 * c1))
        return Transform(Turn(E), (0.0, 0.0, 0.0))

    def subspace(self, q: Freedoms) -> Subspace:
        x = Motion((cos(q[1]), 0.0, sin(q[1])), (0.0, 0.0, 0.0))
        y = Motion((0.0, 1.0, 0.0), (0.0, 0.0, 0.0))
        return Columns((x, y))

    def bias(self, q: Freedoms, v: Freedoms) -> Motion:
        vv = v[0] * v[1]
        return Motion((-(sin(q[1]) * vv), 0.0, cos(q[1]) * vv), (0.0, 0.0, 0.0))


@dataclass(frozen=True)
class Cylindrical(Joint):
    """Turning about z by q0 and sliding along it by q1."""

    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2

    def transform(self, q: Freedoms) -> Transform:
        c, s = cos(q[0]), sin(q[0])
        return Transform(Turn(((c, s, 0), (-s, c, 0), (0, 0, 1))), (0, 0, q[1]))

    def subspace(self, q: Freedoms) -> Subspace:
        return Units((2, 5))

    def bias(self, q: Freedoms, v: Freedoms) -> Motion:
        return Motion((0, 0, 0), (0, 0, 0))


@dataclass(frozen=True)
class Ball(Joint):
    """Any rotation as a unit quaternion, as one writes it down: one branch at small angles, and no care beyond that."""

    nq: ClassVar[int] = 4
    nv: ClassVar[int] = 3

    def transform(self, q: Freedoms) -> Transform:
        w, x, y, z = q
        R = (
            (1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)),
            (2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)),
            (2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)),
        )
        return Transform(Turn(R), (0.0, 0.0, 0.0))

    def subspace(self, q: Freedoms) -> Subspace:
        return Units((0, 1, 2))

    def gyration(self, q: Freedoms, v: Freedoms, h: Freedoms) -> Freedoms:
        return Freedoms((v[1] * h[2] - v[2] * h[1], v[2] * h[0] - v[0] * h[2], v[0] * h[1] - v[1] * h[0]))

    def integrate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
        angle = sqrt(square)
        k = where_less(square, 1e-3, 0.5 - square * (1 / 48 - square * (1 / 3840)), sin(angle / 2) / angle)
        c = where_less(square, 1e-3, 1 - square * (1 / 8 - square * (1 / 384 - square / 46080)), cos(angle / 2))
        w, x, y, z = q
        a, b, d = k * v[0], k * v[1], k * v[2]
        turned = (
            w * c - x * a - y * b - z * d,
            w * a + x * c + y * d - z * b,
            w * b - x * d + y * c + z * a,
            w * d + x * b - y * a + z * c,
        )
        size = sqrt(sum(t * t for t in turned))
        return Freedoms(t / size for t in turned)

    def difference(self, q0: Freedoms, q1: Freedoms) -> Freedoms:
        w, x, y, z = q0
        a, b, c, d = q1
        real = w * a + x * b + y * c + z * d
        turned = (w * b - x * a - y * d + z * c, w * c + x * d - y * a - z * b, w * d - x * c + y * b - z * a)
        sign = where_less(real, 0.0, -1.0, 1.0)
        square = sum(t * t for t in turned)
        sine = sqrt(square)
        series = 2 + square * (1 / 3 + square * (3 / 20 + square * (5 / 56)))
        k = sign * where_less(square, 1e-4, series, 2 * atan2(sine, sign * real) / sine)
        return Freedoms(k * t for t in turned)

    def neutral(self) -> tuple[float, ...]:
        return (1.0, 0.0, 0.0, 0.0)

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Any, upper: Any) -> NDArray[np.float64]:
        x = rng.normal(size=(*shape, 4))
        return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))
