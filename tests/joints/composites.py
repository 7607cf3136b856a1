"""Joints in series whose motions together have residuals in closed form, by what they are; and some that have none."""

from __future__ import annotations

from typing import Any

import numpy as np

import ordern as on
from ordern.joints import Joint

Parts = tuple[Any, ...]

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
A, B = (1.0, 2.0, 3.0), (2.0, -1.0, 0.5)
FLAT = (1.0, 2.0, 0.0)
ONE, TWO, THREE = (0.1, 0.2, 0.35), (-0.2, 0.3, 0.1), (0.3, -0.1, 0.2)
ORIGIN = (0.0, 0.0, 0.0)


def R(axis: Any, at: Any = ORIGIN) -> Parts:
    return (on.Revolute(axis), at)


def P(axis: Any) -> Joint:
    return on.Prismatic(axis)


def H(axis: Any, pitch: float, at: Any = ORIGIN) -> Parts:
    return (on.Helical(axis, pitch), at)


def C(axis: Any, at: Any = ORIGIN) -> Parts:
    return (on.Cylindrical(axis), at)


def E(axis: Any, at: Any = ORIGIN) -> Parts:
    return (on.Planar(axis), at)


def S(at: Any = ORIGIN) -> Parts:
    return (on.Spherical(), at)


def U(one: Any, two: Any, at: Any = ORIGIN) -> Parts:
    return (on.Universal(one, two), at)


def scaled(at: Any, size: float) -> tuple[float, ...]:
    return tuple((np.array(at) * size).tolist())


TILTED = ((0.1, -0.2, 0.3), (0.4, 0.5, -0.6))

GROUPS: dict[str, Parts] = {
    # they fill a group: the closure is that of one joint
    "coaxial R P": (R(A, ONE), P(A)),
    "P P": (P(X), P(A)),
    "P P P": (P(X), P(A), P(B)),
    "R P P, planar": (R(Z, ONE), P(X), P(FLAT)),
    "P R P, planar": (P(X), R(Z, ONE), P(Y)),
    "coaxial H P": (H(Z, 0.3, ONE), P(Z)),
    "C P P, all shifts": (C(A, ONE), P(X), P(Y)),
    "planar P, all shifts": (E(Z, ONE), P(A)),
}
POSTURES: dict[str, Parts] = {
    # they do, but with a reach that ends, and two ways to most places
    "R R R, roll pitch yaw": (R(Z), R(Y), R(X)),
    "R R R, wrist": (R(Z, ONE), R(X, ONE), R(Z, ONE)),
    "R R R, any through a point": (R(Z, ONE), R(A, ONE), R(B, ONE)),
    "R U, a ball": (R(A, TWO), U(Z, X, TWO)),
    "R R R, planar": (R(Z, ONE), R(Z, TWO), R(Z, THREE)),
    "R R P, planar": (R(Z, ONE), R(Z, TWO), P(FLAT)),
    "R P R, planar": (R(Z, ONE), P(FLAT), R(Z, THREE)),
    "P R R, planar": (P(X), R(Z, ONE), R(Z, TWO)),
    "R R R P, all shifts": (R(Z, ONE), R(Z, TWO), R(Z, THREE), P(Z)),
    # the centre of a ball is in a plane or on a sphere, but not everywhere there
    "R P S, a leg": (R(Y, (0.0, 0.0, -1.0)), P(Z), S()),
    "S P R, a leg": (S(), P(Z), R(Y, (0.0, 0.0, -1.0))),
    "P R S": (P(X), R(Y, ONE), S(TWO)),
    "R R S, parallel": (R(Z, ONE), R(Z, TWO), S(THREE)),
    "U S": (U(Z, X, ONE), S(TWO)),
}
PRODUCTS: dict[str, Parts] = {
    "R R, perpendicular": (R(Z), R(X)),
    "R R, meeting": (R(Z, ONE), R(A, ONE)),
    "R R, nearly parallel": (R(Z, ONE), R((0.02, 0.01, 1.0), ONE)),
    "R R, skew": (R(Z, ONE), R(A, TWO)),
    "R R, parallel": (R(A, ONE), R(A, TWO)),
    "R R, opposite": (R(A, ONE), R((-1.0, -2.0, -3.0), TWO)),
    "R R, small": (R(Z, scaled(ONE, 1e-5)), R(Z, scaled(TWO, 1e-5))),
    "R R, large": (R(Z, scaled(ONE, 1e5)), R(A, scaled(TWO, 1e5))),
    "R P, across": (R(Z, ONE), P(X)),
    "R P": (R(Z, ONE), P(A)),
    "P R": (P(A), R(Z, ONE)),
    "P R P": (P(A), R(Z, ONE), P(B)),
    "R P P": (R(Z, ONE), P(A), P(X)),
    "U P": (U(Z, X, ONE), P(A)),
    "P U": (P(A), U(Z, X, ONE)),
    "P U P": (P(A), U(Z, X, ONE), P(B)),
    "C R": (C(Z, ONE), R(A, TWO)),
    "C C": (C(Z, ONE), C(A, TWO)),
    "C P": (C(Z, ONE), P(X)),
    "C R, parallel": (C(Z, ONE), R(Z, TWO)),
    "R C, parallel": (R(Z, ONE), C(Z, TWO)),
    "planar R": (E(Z, ONE), R(A, TWO)),
    "R planar": (R(A, TWO), E(Z)),
    "R R R, two parallel": (R(Z, ONE), R(Z, TWO), R(A, THREE)),
    "R R R, the last two parallel": (R(A, THREE), R(Z, ONE), R(Z, TWO)),
    "R R C, two parallel": (R(Z, ONE), R(Z, TWO), C(A, THREE)),
    "R R P, two parallel": (R(Z, ONE), R(Z, TWO), P(A)),
    "P R R, two parallel": (P(A), R(Z, ONE), R(Z, TWO)),
    "S P": (S(ONE), P(A)),
    "P S": (P(A), S(ONE)),
    "S P P": (S(ONE), P(X), P(A)),
    "P S P": (P(A), S(ONE), P(B)),
    "S R": (S(ONE), R(A, TWO)),
    "R S": (R(A, TWO), S(ONE)),
    "S C": (S(ONE), C(A, TWO)),
    "C S": (C(A, TWO), S(ONE)),
    "R P S, oblique": (R(Y, ONE), P(A), S(TWO)),
    "P R S, oblique": (P(A), R(Y, ONE), S(TWO)),
    "R R S, a torus": (R(A, ONE), R(B, TWO), S(THREE)),
    "S R R, a torus": (S(THREE), R(A, ONE), R(B, TWO)),
    "U P U, a shaft": (U(Z, X), P(Y), U(X, Z, Y)),
    "U U": (U(Z, X), U(X, (0.0, 1.0, 1.0), (0.0, 1.0, 0.2))),
    "H R": (H(Z, 0.3, ONE), R(A, TWO)),
    "H H": (H(Z, 0.3, ONE), H(A, -0.2, TWO)),
    "H P": (H(Z, 0.3, ONE), P(A)),
    "H R, parallel": (H(Z, 0.3, ONE), R(Z, TWO)),
    "R H, parallel": (R(Z, ONE), H(Z, 0.3, TWO)),
    "H S": (H(A, 0.3, TWO), S(ONE)),
    "H S, its centre on the axis": (H(A, 0.3, ONE), S(ONE)),
    "inside each other": (on.Composite((R(Z, ONE), R(X, TWO))), (on.Composite((P(X), on.Fixed())), TILTED)),
    "turned": ((on.Revolute(Y), TILTED), (on.Fixed(), TILTED), (on.Universal(Z, X), TILTED), P(A)),
}
SHARED: dict[str, Parts] = {
    # some motion is that of two parts: there is a closure, but coordinates are not unique
    "R R, coaxial": (R(Z), R(Z, (0.0, 0.0, 0.3))),
    "S S, a rod": (S(ONE), S(TWO)),
    "S planar": (S(ONE), E(A, TWO)),
    "C S, its centre on the axis": (C(A, ONE), S(ONE)),
    "planar planar": (E(Z, ONE), E(X, TWO)),
    "planar C": (E(Z, ONE), C(X, TWO)),
}
OPEN: dict[str, Parts] = {
    "R R R, skew": (R(Z, ONE), R(A, TWO), R(B, THREE)),
    "R S R": (R(Z, ONE), S(TWO), R(A, THREE)),
    "U U, of which no axes are parallel": (U(Z, X), U(A, (-2.0, 1.0, 0.0), TWO)),
    "H H, parallel": (H(Z, 0.3, ONE), H(Z, 0.2, TWO)),
}
UNIQUE = GROUPS | PRODUCTS
LOCATED = UNIQUE | POSTURES
ALL = LOCATED | SHARED
