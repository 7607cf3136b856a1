"""Matrices that take angular velocities to forces, against matrices of NumPy."""

from __future__ import annotations

import numpy as np

from ordern.algorithms.derivatives.body_coriolis import body_coriolis
from ordern.spatial import Inertia, Motion
from ordern.spatial.angular import AngularMatrix
from ordern.spatial.linear import skew
from tests.tolerances import assert_close


def _dense(B: AngularMatrix) -> np.ndarray:
    return np.block([[np.array(B.A), np.zeros((3, 3))], [np.array(skew(B.u)), np.zeros((3, 3))]])


def _numbers(rng: np.random.Generator, n: int) -> tuple[float, ...]:
    return tuple(rng.normal(size=n).tolist())


def test_products_and_sums_are_those_of_the_matrices() -> None:
    rng = np.random.default_rng(0)
    B, C = (AngularMatrix(tuple(_numbers(rng, 3) for _ in range(3)), _numbers(rng, 3)) for _ in range(2))  # type: ignore[arg-type]
    t = Motion(_numbers(rng, 3), _numbers(rng, 3))  # type: ignore[arg-type]
    dense, x = _dense(B + C), np.array([*t.angular, *t.linear])
    assert_close(dense, _dense(B) + _dense(C), 1e-15)
    assert_close(np.array(((B + C) @ t.angular).scalars), dense @ x, 1e-14)
    assert_close(np.array((B + C).back(t)), (dense.T @ x)[:3], 1e-14)
    assert_close(_dense(B + AngularMatrix.zero()), _dense(B), 1e-15)


def test_rate_of_a_force_with_the_velocity() -> None:
    """f = v x* I v changes by B d + I (v x d) for a change d: it is quadratic in v, so that differences are exact."""
    rng = np.random.default_rng(1)
    inertia = Inertia(2.0, _numbers(rng, 3), _numbers(rng, 6))  # type: ignore[arg-type]
    v, d = (Motion(_numbers(rng, 3), _numbers(rng, 3)) for _ in range(2))  # type: ignore[arg-type]

    def force(s: float) -> np.ndarray:
        u = v + Motion(tuple(s * x for x in d.angular), tuple(s * x for x in d.linear))  # type: ignore[arg-type]
        return np.array(u.cross(inertia @ u).scalars)

    found = body_coriolis(inertia, v, inertia @ v) @ d.angular + inertia @ v.cross(d)
    assert_close(np.array(found.scalars), (force(1.0) - force(-1.0)) / 2.0, 1e-13)
