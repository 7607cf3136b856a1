"""What a joint does, as homogeneous matrices of numbers with many digits.

Joints are written over any scalar, so mpmath numbers serve to differentiate them: with 60 digits, a difference quotient
is exact to more than double precision has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

import ordern as on
from ordern.spatial import Freedoms, Motion, Transform
from ordern.spatial.linear import IDENTITY3, ZERO3
from ordern.spatial.transform import Pose
from tests.random_models import ALL_JOINTS, random_joint

Array = NDArray[Any]

SEEDS = range(3)
MOVING = tuple(type for type in ALL_JOINTS if type is not on.Fixed)
ROTATING = (on.Spherical, on.Free)
"""Joints with a quaternion, which is the first four of their positions."""


def pose(X: Transform) -> Array:
    """The child's frame in the joint's."""
    P = X.child(Pose(IDENTITY3, ZERO3))
    T = np.array([[*row, x] for row, x in zip(P.rotation, P.position, strict=True)])
    return np.concatenate([T, [[0, 0, 0, 1]]])


def sample(type: type[on.Joint], seed: int) -> tuple[on.Joint, Freedoms, Freedoms]:
    """A joint, a position and a velocity."""
    rng = np.random.default_rng(seed)
    joint = random_joint(type, rng)
    free = np.full(joint.nq, np.inf)
    q = joint.random(rng, (), -free, free)
    return joint, Freedoms(q.tolist()), Freedoms(rng.normal(size=joint.nv).tolist())


def digits(numbers: Sequence[Any]) -> Freedoms:
    """The same numbers for mpmath."""
    return Freedoms(mpmath.mpf(x) for x in numbers)


def rate(function: Any, step: float = 1e-20) -> Array:
    """The derivative at zero of a function that gives numbers."""
    h = mpmath.mpf(step)
    return (np.array(function(h)) - np.array(function(-h))) / (2 * h)


def along(joint: on.Joint, q: Freedoms, v: Freedoms) -> Any:
    """The position as a function of time, at a constant velocity from q."""
    return lambda t: joint.integrate(q, v * t)


def hat(m: Motion) -> Array:
    """The 4x4 matrix of a motion: the rate of a homogeneous matrix that moves with it."""
    (a, b, c), (x, y, z) = m.angular, m.linear
    return np.array([[0, -c, b, x], [c, 0, -a, y], [-b, a, 0, z], [0, 0, 0, 0]])


def exponential(A: Array) -> Array:
    """The matrix exponential."""
    found = mpmath.expm(mpmath.matrix(A.tolist()), method="taylor")
    return np.array(found.tolist()).reshape(A.shape)


def as_float(x: Any) -> NDArray[np.float64]:
    return np.array(x, float)
