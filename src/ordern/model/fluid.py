"""Bodies in a fluid: added inertia, buoyancy and drag.

A body that accelerates in a fluid moves some of the fluid with it. The kinetic energy of this fluid is v^T A v / 2 with
the body's velocity v; A is the *added inertia*, a symmetric 6x6 matrix, angular rows first. It adds to the inertia of
the body but has no weight. *Buoyancy* is the weight of the displaced fluid, upwards, at the centre of its volume.
*Drag* is a force against the velocity relative to the fluid; it is part of `passive_force`.

Reference: Fossen 2011, Handbook of Marine Craft Hydrodynamics and Motion Control, sec. 6.3 (added mass), 4.1
(restoring forces), 6.4 (drag).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array
from ..errors import ModelError
from ..joints import Placement, placement
from ..records import dataclass
from .checks import vector

__all__ = [
    "Drag",
    "EllipsoidDrag",
    "added_numbers",
    "displaced_numbers",
    "drags_of",
    "in_frame",
    "matrix_of",
    "moved",
    "virtual_mass",
]

_UPPER = np.triu_indices(6)
_ROUNDING = 1e-12
"""A negative eigenvalue of this part of the largest one is a rounding error of zero."""
_NO_PLACEMENT = Placement()


@dataclass(frozen=True, slots=True)
class Drag:
    """Drag along and about the axes of a frame on a body: `-(linear[k] + quadratic[k] * abs(v[k])) * v[k]` for each k.

    v is the velocity of the frame relative to the fluid, in the frame's axes: angular (3), then linear (3). `linear`
    and `quadratic` are six numbers each, or one for all.
    """

    linear: tuple[float, ...] = (0.0,) * 6
    quadratic: tuple[float, ...] = (0.0,) * 6
    at: Placement = _NO_PLACEMENT
    """The place of the frame in the frame of the body."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", placement(self.at, "drag"))
        for name in ("linear", "quadratic"):
            _set_numbers(self, name, 6, "drag")


@dataclass(frozen=True, slots=True)
class EllipsoidDrag:
    """Drag, lift and added mass of an ellipsoid, as MuJoCo's model of `fluidshape="ellipsoid"` has them.

    The force is a function of the velocity alone: as in MuJoCo, the part of the added mass that the acceleration takes
    is left out; give `added_inertia` to the body for it.
    """

    semi_axes: tuple[float, ...]
    """Three, in m, along the axes of the frame."""
    density: float
    """Of the fluid, in kg/m^3."""
    viscosity: float = 0.0
    """Of the fluid, in Pa s."""
    blunt: float = 0.5
    """The coefficient of drag of the area that the flow sees."""
    slender: float = 0.25
    """The coefficient of drag of the rest of the largest area."""
    angular: float = 1.5
    """The coefficient of drag of rotations."""
    kutta: float = 1.0
    """The coefficient of lift across the velocity (Kutta)."""
    magnus: float = 1.0
    """The coefficient of lift of a body that spins (Magnus)."""
    virtual_mass: tuple[float, ...] = ()
    """The volumes of fluid that move with the ellipsoid along its axes; by default, potential flow gives them."""
    virtual_inertia: tuple[float, ...] = ()
    """The second moments of these volumes about the axes."""
    at: Placement = _NO_PLACEMENT
    """The place of the ellipsoid in the frame of the body."""

    def __post_init__(self) -> None:
        what = "drag of an ellipsoid"
        object.__setattr__(self, "at", placement(self.at, what))
        _set_numbers(self, "semi_axes", 3, what)
        if not min(self.semi_axes) > 0.0:
            raise ModelError(f"{what}: semi-axes must be positive, not {self.semi_axes}")
        for name in ("density", "viscosity", "blunt", "slender", "angular", "kutta", "magnus"):
            (x,) = vector([getattr(self, name)], 1, f"{what}: {name}")
            if x < 0.0:
                raise ModelError(f"{what}: {name} must not be below zero, but is {x:g}")
            object.__setattr__(self, name, x)
        mass, inertia = virtual_mass(self.semi_axes)
        for name, usual in (("virtual_mass", mass), ("virtual_inertia", inertia)):
            if not tuple(getattr(self, name)):
                object.__setattr__(self, name, usual)
            _set_numbers(self, name, 3, what)


def _set_numbers(drag: Drag | EllipsoidDrag, name: str, count: int, what: str) -> None:
    """Check numbers that must be finite and not below zero; one number stands for all."""
    given = getattr(drag, name)
    found = vector([given] * count if np.ndim(given) == 0 else given, count, f"{what}: {name}")
    if min(found) < 0.0:
        raise ModelError(f"{what}: {name} must not be below zero, but is {found}")
    object.__setattr__(drag, name, found)


def drags_of(given: Any, what: str) -> tuple[Drag | EllipsoidDrag, ...]:
    """Return drags: one, several, or None."""
    one = isinstance(given, (Drag, EllipsoidDrag)) or not isinstance(given, Iterable)
    drags = () if given is None else (given,) if one else tuple(given)
    for drag in drags:
        if not isinstance(drag, (Drag, EllipsoidDrag)):
            raise ModelError(f"{what}: a drag is a Drag or an EllipsoidDrag, not {drag!r}")
    return drags


def added_numbers(given: ArrayLike | None, what: str) -> tuple[float, ...]:
    """Return an added inertia as the 21 numbers of its upper half, row by row; none if it is zero.

    It is a symmetric 6x6 matrix about the origin of the body's frame, in its axes, angular rows first; or 21 numbers.
    """
    if given is None or np.size(given) == 0:
        return ()
    try:
        A = np.asarray(given, float)
    except (TypeError, ValueError):
        A = np.zeros(0)
    if A.shape == (21,):
        A = matrix_of(A.tolist())
    if A.shape != (6, 6):
        raise ModelError(f"{what}: an added inertia is a 6x6 matrix or its 21 upper numbers, not {given!r}")
    if not np.isfinite(A).all():
        raise ModelError(f"{what}: an added inertia must be finite")
    if np.abs(A - A.T).max() > _ROUNDING * np.abs(A).max(initial=0.0):
        raise ModelError(f"{what}: an added inertia must be symmetric")
    values = np.linalg.eigvalsh(A)
    if values[0] < -_ROUNDING * max(values[-1], 0.0):
        raise ModelError(f"{what}: an added inertia must not be negative, but has the eigenvalue {values[0]:.3g}")
    return tuple(A[_UPPER].tolist()) if A.any() else ()


def matrix_of(numbers: Sequence[float]) -> Array:
    """Return the 6x6 matrix of 21 numbers; zero without numbers."""
    A = np.zeros((6, 6))
    if len(numbers):
        A[_UPPER] = numbers
        A = A + np.triu(A, 1).T
    return A


def displaced_numbers(given: Any, what: str) -> tuple[float, ...]:
    """Return a displaced fluid as four numbers: its mass and centre; none if there is no such fluid."""
    if given is None:
        return ()
    if not isinstance(given, (Sequence, np.ndarray)) or isinstance(given, str):
        raise ModelError(f"{what}: the displaced fluid is a mass and a centre, (m, (x, y, z)), not {given!r}")
    if len(given) == 0:
        return ()
    if len(given) == 2:  # a mass and a centre
        given = (given[0], *np.ravel(given[1]).tolist())
    found = vector(given, 4, f"{what}: the displaced fluid (mass, centre)")
    if found[0] < 0.0:
        raise ModelError(f"{what}: the mass of the displaced fluid must not be below zero, but is {found[0]:g}")
    return found if found[0] else ()


def in_frame(A: Array, at: Placement) -> Array:
    """Return an added inertia about the origin and in the axes of a frame in which its own frame is `at`."""
    R, p = at.R, at.p
    T = np.zeros((6, 6))  # velocities there from velocities here
    T[:3, :3] = T[3:, 3:] = R.T
    T[3:, :3] = -R.T @ np.cross(np.eye(3), p)
    found: Array = T.T @ A @ T
    return np.asarray(0.5 * (found + found.T))


def moved(drags: Iterable[Drag | EllipsoidDrag], at: Placement) -> tuple[Drag | EllipsoidDrag, ...]:
    """Return drags in a frame in which the frame of their body is `at`."""
    return tuple(replace(drag, at=at @ drag.at) for drag in drags)


def virtual_mass(semi_axes: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the volumes that move with an ellipsoid in potential flow, along its axes, and their second moments.

    Reference: Lamb 1932, Hydrodynamics, sec. 114 and 115. There kappa is alpha, beta, gamma.
    """
    a, b, c = semi_axes
    volume = 4.0 / 3.0 * math.pi * a * b * c
    cyclic = ((a, b, c), (b, c, a), (c, a, b))
    kappa = [2.0 / 3.0 * a * b * c * _carlson_rd(y * y, z * z, x * x) for x, y, z in cyclic]
    mass = tuple(volume * k / (2.0 - k) for k in kappa)
    inertia = []
    for k, (_, y, z) in enumerate(cyclic):
        ky, kz = kappa[(k + 1) % 3], kappa[(k + 2) % 3]
        difference = y * y - z * z
        below = 2.0 * difference + (y * y + z * z) * (ky - kz)
        inertia.append(0.0 if below == 0.0 else abs(volume / 5.0 * difference * difference * (kz - ky) / below))
    return mass, tuple(inertia)


def _carlson_rd(x: float, y: float, z: float) -> float:
    """Return Carlson's integral R_D, 3/2 of the integral of ((t + x) (t + y) (t + z)^3)^(-1/2) from zero, by doubling.

    Reference: Carlson 1995, Numerical computation of real or complex elliptic integrals.
    """
    total, factor = 0.0, 1.0
    while True:
        mean = (x + y + 3.0 * z) / 5.0
        X, Y = 1.0 - x / mean, 1.0 - y / mean
        Z = -(X + Y) / 3.0
        if max(abs(X), abs(Y), abs(Z)) < 1e-3:
            break
        shift = math.sqrt(x * y) + math.sqrt(y * z) + math.sqrt(z * x)
        total += factor / (math.sqrt(z) * (z + shift))
        factor /= 4.0
        x, y, z = (x + shift) / 4.0, (y + shift) / 4.0, (z + shift) / 4.0
    e2, e3 = X * Y - 6.0 * Z * Z, (3.0 * X * Y - 8.0 * Z * Z) * Z
    e4, e5 = 3.0 * (X * Y - Z * Z) * Z * Z, X * Y * Z * Z * Z
    series = 1.0 - 3.0 * e2 / 14.0 + e3 / 6.0 + 9.0 * e2 * e2 / 88.0 - 3.0 * e4 / 22.0 - 9.0 * e2 * e3 / 52.0
    return 3.0 * total + factor * (series + 3.0 * e5 / 26.0) / (mean * math.sqrt(mean))
