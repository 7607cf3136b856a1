"""The same algebra with dense NumPy matrices, and hypothesis strategies for the values of ours.

`m6` and `f6` are the six numbers of a motion or force, `X66` and `I66` the matrices of a transform and an inertia.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ordern.spatial import About, ArticulatedInertia, Chain, Force, Identity, Inertia, Motion, Pose, Transform, Turn
from ordern.spatial.linear import full

Array = NDArray[np.float64]

QUICK = settings(deadline=None, derandomize=True, max_examples=50)

numbers = st.floats(-3.0, 3.0, allow_subnormal=False)


def _several(n: int) -> st.SearchStrategy[tuple[float, ...]]:
    """Special numbers as hypothesis likes them; or any, with some zeros, which tell more formulas apart."""
    return st.one_of(st.tuples(*[numbers] * n), *[st.integers(0, 2**64 - 1).map(lambda seed: _any(seed, n))] * 3)


def _any(seed: int, n: int) -> tuple[float, ...]:
    rng = np.random.default_rng([seed, n])
    return tuple(np.where(rng.random(n) < 0.15, 0.0, rng.uniform(-3.0, 3.0, n)).tolist())


vectors = _several(3)
motions = _several(6).map(Motion.of)
forces = _several(6).map(Force.of)
angles = _several(1).map(lambda one: 2.0 * one[0])


def _rpy(a: tuple[float, ...]) -> Turn:
    (cx, sx), (cy, sy), (cz, sz) = ((math.cos(x), math.sin(x)) for x in a)
    X = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    Y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    Z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    x, y, z = (tuple(row) for row in (Z @ Y @ X).tolist())
    return Turn((x, y, z))


rotations = st.one_of(
    st.just(Identity()),
    st.builds(lambda axis, a: About(axis, math.cos(a), math.sin(a)), st.integers(0, 2), angles),
    st.tuples(angles, angles, angles).map(_rpy),
)
transforms = st.builds(Transform, rotations, vectors)
chains = st.lists(transforms, min_size=1, max_size=3).map(lambda factors: Chain(tuple(factors)))
poses = st.builds(lambda turn, p: Pose(turn.E, p), st.tuples(angles, angles, angles).map(_rpy), vectors)
inertias = st.builds(Inertia, numbers, vectors, _several(6))
articulated = st.builds(ArticulatedInertia, _several(6), st.tuples(vectors, vectors, vectors), _several(6))


def cross3(a: Any) -> Array:
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def m6(m: Motion) -> Array:
    assert type(m) is Motion
    return np.array(m.scalars)


def f6(f: Force) -> Array:
    assert type(f) is Force
    return np.array(f.scalars)


def E33(rotation: Any) -> Array:
    """From the definition of each class, not by its methods."""
    if isinstance(rotation, Identity):
        return np.eye(3)
    if isinstance(rotation, About):
        j, k = (rotation.axis + 1) % 3, (rotation.axis + 2) % 3
        E = np.eye(3)
        E[j, j] = E[k, k] = rotation.c
        E[j, k], E[k, j] = rotation.s, -rotation.s
        return E
    return np.array(rotation.E)


def X66(X: Transform | Chain) -> Array:
    """Takes motions from the parent to the child."""
    if isinstance(X, Chain):
        return reduce(lambda outer, factor: X66(factor) @ outer, X.factors, np.eye(6))
    E = E33(X.rotation)
    return np.block([[E, np.zeros((3, 3))], [-E @ cross3(X.r), E]])


def T44(X: Transform | Chain) -> Array:
    """The homogeneous matrix of the child's frame in the parent's."""
    if isinstance(X, Chain):
        return reduce(lambda outer, factor: outer @ T44(factor), X.factors, np.eye(4))
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = E33(X.rotation).T, X.r
    return T


def pose44(P: Pose) -> Array:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = P.rotation, P.position
    return T


def I66(I: Inertia | ArticulatedInertia) -> Array:
    if isinstance(I, Inertia):
        h = cross3(I.h)
        return np.block([[np.array(full(I.I)), h], [h.T, I.m * np.eye(3)]])
    H = np.array(I.H)
    return np.block([[np.array(full(I.I)), H], [H.T, np.array(full(I.M))]])


def crm(v: Array) -> Array:
    """The matrix of v x for motions."""
    w = cross3(v[:3])
    return np.block([[w, np.zeros((3, 3))], [cross3(v[3:]), w]])


def crf(v: Array) -> Array:
    """The matrix of v x* for forces."""
    return -crm(v).T
