"""Contacts between the tip of an arm and an object: their freedoms, and the forces that they can carry.

A contact has a frame on the object, whose axes are the contact's axes. Tip and object touch at its origin, which is
fixed on the object. The free motions are rotations h W of the object relative to the tip, with W the contact's
velocities; so the velocities on both sides obey

    V- = V+ + H^T W,    H^T = (h; 0),        and forces do no work on what is free:    H f = 0

Reference: Rodriguez and Kreutz 1988, Part II, appendix A.
Differs: h is in axes that are fixed to the object; forces are written in the complement of h, f = E (moments, forces).
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Array, array
from ..declared import explained_methods
from ..errors import ArgumentError
from ..joints import Placement
from ..records import dataclass
from ..rotations import log
from .arguments import placed

__all__ = ["Contact", "Hinge", "Parted", "Point", "Rigid", "SoftFinger", "Surface"]

_HERE = Placement()


@explained_methods
@dataclass(frozen=True, slots=True)
class Surface:
    """The surface of a one-sided contact: the tip can push, but not pull, and friction is limited.

    The normal points into the object, in the contact's axes. The normal force must be positive. The tangential force is
    at most `friction` times the normal force, and the moment about the normal at most `spin` (in metres) times it. A
    contact area with the half lengths `area` along two tangential directions carries moments while the centre of
    pressure is inside it; for the normals z and -z, the directions are x and y.
    """

    friction: float = 0.5
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    spin: float = math.inf
    area: tuple[float, float] = (math.inf, math.inf)

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", _unit(self.normal, "Surface: normal"))
        for name, what in (("friction", "a number"), ("spin", "a number"), ("area", "two numbers")):
            given = getattr(self, name)
            try:
                numbers = np.asarray(given, dtype=float)
            except (TypeError, ValueError):
                numbers = np.array(np.nan)
            if numbers.shape != ((2,) if name == "area" else ()) or not (numbers >= 0.0).all():
                raise ArgumentError(f"Surface: {name} must be {what} not below zero, not {given!r}")
        object.__setattr__(self, "area", (float(self.area[0]), float(self.area[1])))

    @property
    def torsional(self) -> float:
        """The same as `spin`, under the name that `Ground` has for it."""
        return self.spin

    @property
    def axes(self) -> Array:
        """Two tangential directions and the normal, as columns; the identity for the normal z."""
        return _completed(np.array(self.normal))


@explained_methods
@dataclass(frozen=True)
class Contact:
    """A contact. `at` places its frame on the object, `on_tip` on the tip; the grasp keeps both together.

    Without `at`, the contact is where the tip is in the position given to `on.grasp`. Without a `surface`, the contact
    is two-sided: it can pull as well.
    """

    at: Any = None
    on_tip: Any = _HERE
    surface: Surface | None = None
    name: str = ""

    freedoms: ClassVar[int] = 0
    """The number of free rotations: n_g of the paper."""
    keeps_attitude: ClassVar[bool] = True
    """True if the contact fixes the attitude of the object relative to the tip."""

    def __post_init__(self) -> None:
        what = f"{type(self).__name__} contact" + (f" {self.name!r}" if self.name else "")
        if self.at is not None:
            object.__setattr__(self, "at", placed(self.at, what))
        object.__setattr__(self, "on_tip", placed(self.on_tip, what))
        if self.surface is not None and not isinstance(self.surface, Surface):
            raise ArgumentError(f"{what}: surface must be a Surface(friction, ...), not {self.surface!r}")
        if not isinstance(self.name, str):
            raise ArgumentError(f"{what}: its name must be a string")

    @property
    def free(self) -> Array:
        """h: (3, freedoms), orthonormal axes of the free rotations, as columns in the contact's axes."""
        return np.zeros((3, 0))

    @property
    def bound(self) -> Array:
        """E: (6, rows), an orthonormal basis of the forces (moment, force) of the contact, in its axes."""
        N = _complement(self.free)
        E = np.zeros((6, N.shape[1] + 3))
        E[:3, : N.shape[1]], E[3:, N.shape[1] :] = N, np.eye(3)
        return E

    @property
    def holonomic(self) -> NDArray[np.bool_]:
        """(rows,): True for columns of `bound` that constrain positions, not only velocities."""
        return np.ones(self.bound.shape[1], dtype=bool)

    def turned(self, R: Array) -> Array:
        """Return the rotation vectors (..., 3) of the object relative to the tip in constrained directions.

        R are rotations (..., 3, 3) from the contact's axes on the object to those on the tip.
        """
        return log(R, check=False) if self.keeps_attitude else np.zeros(R.shape[:-1])


@dataclass(frozen=True)
class Rigid(Contact):
    """No motion is free: six forces. With a surface, it is a flat foot or pad that can tip, slip and spin."""


@explained_methods
@dataclass(frozen=True)
class Hinge(Contact):
    """One rotation is free, about an axis in the contact's axes: a hinge, or, with a surface, an edge."""

    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    freedoms: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "axis", _unit(self.axis, "Hinge: axis"))

    @property
    def free(self) -> Array:
        """The axis as a column."""
        return np.array(self.axis)[:, None]

    def turned(self, R: Array) -> Array:
        """Return the rotation vectors from the tip's axis to the object's."""
        a = np.array(self.axis)
        moved = R @ a  # the object's axis, in the tip's contact axes
        s = np.cross(a, moved)
        sine = np.linalg.norm(s, axis=-1, keepdims=True)
        angle = np.arctan2(sine, (moved @ a)[..., None])
        with np.errstate(all="ignore"):
            return np.where(sine > 0.0, s * (angle / np.where(sine > 0.0, sine, 1.0)), 0.0)


@explained_methods
@dataclass(frozen=True)
class Point(Contact):
    """All rotations are free: a ball in its socket, or, with a surface, a point with friction."""

    freedoms: ClassVar[int] = 3
    keeps_attitude: ClassVar[bool] = False

    @property
    def free(self) -> Array:
        """All three axes."""
        return np.eye(3)


@explained_methods
@dataclass(frozen=True)
class SoftFinger(Contact):
    """A point that does not spin about the normal of its surface: two rotations are free.

    The constraint on the spin is nonholonomic: by rolling, the object can reach every attitude.
    """

    surface: Surface | None = field(default_factory=Surface)
    freedoms: ClassVar[int] = 2
    keeps_attitude: ClassVar[bool] = False

    @property
    def _axes(self) -> Array:
        return (self.surface or Surface()).axes

    @property
    def free(self) -> Array:
        """The directions of the tangent plane."""
        return self._axes[:, :2]

    @property
    def holonomic(self) -> NDArray[np.bool_]:
        """The spin, which comes first, constrains velocities only."""
        return np.array([False, True, True, True])


@explained_methods
@dataclass(frozen=True)
class Parted(Contact):
    """A released contact: no force, and no constraint."""

    keeps_attitude: ClassVar[bool] = False

    @property
    def bound(self) -> Array:
        """An empty basis: a released contact has no force."""
        return np.zeros((6, 0))


def _unit(x: ArrayLike, what: str) -> tuple[float, float, float]:
    a = array(x, (3,), what)
    size = float(np.linalg.norm(a))
    if not size:
        raise ArgumentError(f"{what} must not be zero")
    first, second, third = (a / size).tolist()
    return (first, second, third)


def _completed(n: Array) -> Array:
    """Return a rotation whose third column is n; the identity if n is z, and half a turn about x if n is -z."""
    if n[2] > 1.0 - 1e-12:
        return np.eye(3)
    if n[2] < -1.0 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(n)))], n)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(n, x), n], axis=-1)


def _complement(h: Array) -> Array:
    """Return orthonormal directions perpendicular to the columns of h."""
    k = h.shape[1]
    if k in (0, 3):
        return np.eye(3)[:, k:]
    if k == 1:
        return _completed(h[:, 0])[:, :2]
    return np.cross(h[:, 0], h[:, 1])[:, None]
