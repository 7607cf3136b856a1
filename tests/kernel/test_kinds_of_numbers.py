"""Arguments of different data types: nothing is computed in less than the common one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import ordern as on


@pytest.fixture(scope="module")
def body() -> on.Robot:
    return on.Builder("a").body("b", mass=2, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25)).build(floating=True)


@pytest.mark.parametrize("kind", ["u1", "u8", "i1", "f2", "f4"])
def test_small_numbers_beside_long_doubles(body: on.Robot, kind: str) -> None:
    """Differences of unsigned integers would wrap, and products of short floats overflow."""
    q, v = body.neutral(), np.array([0, 1, 2, 90, 4, 5], kind)
    expected = body.bias_force(q, v.astype(float))
    found = body.bias_force(q.astype(np.longdouble), v)
    assert found.dtype == np.longdouble
    np.testing.assert_allclose(found.astype(float), expected, rtol=1e-12)
    np.testing.assert_allclose(body.kernel("bias_force", way="interpreted")(q, v), expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["interpreted", "unrolled", "rolled", None])
@pytest.mark.parametrize(
    ("kind", "result"),
    [("?", "f8"), ("i1", "f8"), ("u2", "f8"), ("i8", "f8"), ("f2", "f4"), ("f4", "f4"), ("f8", "f8")],
)
def test_all_ways_compute_in_the_same_type(way: str | None, kind: str, result: str) -> None:
    robot = on.load("puma560")
    q = np.array([1, 0, 1, 0, 1, 0], kind)
    M = robot.kernel("mass_matrix", way=way)(q)
    assert M.dtype == result
    np.testing.assert_allclose(M, robot.mass_matrix(q.astype(float)), rtol=1e-5 if result == "f4" else 1e-12, atol=1e-6)
    moved = robot.kernel("integrate", way=way)(q, q, 0.1)  # a plain number does not count
    assert moved.dtype == result


def test_floats_beside_mpmath_numbers_become_such() -> None:
    robot = on.load("puma560")
    with mpmath.workdps(50):
        q = np.array([mpmath.mpf(1) / 3] * 6, object)
        v = np.linspace(0.1, 0.7, 6)
        exact = robot.bias_force(q, np.array([mpmath.mpf(float(x)) for x in v], object))
        found = robot.bias_force(q, v)
        assert max(abs(x - y) for x, y in zip(exact, found, strict=True)) < mpmath.mpf(10) ** -45


@pytest.mark.parametrize("bad", [[None] * 6, ["x"] * 6, [Fraction(1, 3)] * 6])
def test_objects_that_are_no_numbers(bad: list[Any]) -> None:
    with pytest.raises(on.ArgumentError, match="mass_matrix: cannot compute with objects of type"):
        on.load("puma560").mass_matrix(np.array(bad, object))


def test_masked_numbers_are_refused() -> None:
    robot = on.load("puma560")
    masked = np.ma.array(np.zeros(6), mask=[1, 0, 0, 0, 0, 0])
    with pytest.raises(on.ArgumentError, match="'q': some entries are masked"):
        robot.mass_matrix(masked)
    assert robot.mass_matrix(masked.filled(0.5)).shape == (6, 6)
    assert robot.mass_matrix(np.ma.array(np.zeros(6))).shape == (6, 6)


@pytest.mark.parametrize(
    "call",
    [
        lambda r, x: r.rollout(x, [0, 0], steps=1),
        lambda r, x: r.rollout([0, 0], [0, 0], x, steps=1),
        lambda r, x: r.rollout([0, 0], [0, 0], steps=1, feedback=(1.0, x, [0, 0])),
        lambda r, x: r.simulate(x, [0, 0], until=0.1),
        lambda r, x: r.simulate([0, 0], [0, 0], ([0.0, 1.0], [x, x]), until=0.1),
        lambda r, x: r.simulate([0, 0], [0, 0], until=x),
        lambda r, x: r.bias_force([0, 0], [0, 0], {"lower": np.ma.concatenate([x, x, x])}),
        lambda r, x: r.vary(mass=x),
        lambda r, x: r.with_parameters(damping=x),
        lambda r, x: r.identify([x], [[0, 0]], [[0, 0]], [[1, 1]]),
        lambda r, x: r.inverse_kinematics(np.eye(4), "lower", x),
        lambda r, x: r.mass_matrix([x, x]),
    ],
)
def test_masked_numbers_are_refused_by_all_functions(call: Callable[[on.Robot, Any], Any]) -> None:
    with pytest.raises(on.ArgumentError, match="some entries are masked"):
        call(on.load("double-pendulum"), np.ma.array([0.1, 0.2], mask=[True, False]))


def test_threads_are_checked_on_every_way() -> None:
    robot = on.load("puma560")
    for q in (np.zeros(6), np.zeros(6, np.longdouble), np.array([mpmath.mpf(0)] * 6, object)):
        with pytest.raises(on.ArgumentError, match="`threads` must be a whole number above 0"):
            robot.mass_matrix(q, threads=-5)
