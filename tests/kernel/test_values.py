"""NaN, infinity, huge and tiny numbers: they reach what depends on them, and nothing crashes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.kernel.arm import ARM, CALLS, draw
from tests.random_models import random_robot

every_function = pytest.mark.parametrize(("kinds", "call"), CALLS.values(), ids=CALLS.keys())
WAYS = ("unrolled", "rolled")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Infinity less infinity may warn, as it does in NumPy."""
    with np.errstate(all="ignore"):
        yield


@every_function
def test_nan_reaches_what_depends_on_it(kinds: tuple[str, ...], call: Callable[..., Any]) -> None:
    """One number of one argument becomes NaN: exactly those outputs that change with it are NaN, in that state only."""
    rng = np.random.default_rng(0)
    arrays = [draw(ARM, kind, (5,)) for kind in kinds]
    plain = call(ARM, *arrays)
    for k, kind in enumerate(kinds):
        for where in np.ndindex(arrays[k].shape[1:]):
            moved = [x.copy() for x in arrays]
            moved[k][(3, *where)] += 0.1 * rng.normal()
            depends = call(ARM, *moved)[3] != plain[3]
            moved[k][(3, *where)] = np.nan
            broken = call(ARM, *moved)
            assert np.isnan(broken[3][depends]).all(), (kind, where)
            assert np.array_equal(np.delete(broken, 3, axis=0), np.delete(plain, 3, axis=0))
            single = call(ARM, *(x[3] for x in moved))
            assert np.array_equal(single, broken[3], equal_nan=True)


@every_function
@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinity_leaves_no_finite_answer(kinds: tuple[str, ...], call: Callable[..., Any], bad: float) -> None:
    rng = np.random.default_rng(0)
    arrays = [draw(ARM, kind, (5,)) for kind in kinds]
    plain = call(ARM, *arrays)
    for k, kind in enumerate(kinds):
        for where in np.ndindex(arrays[k].shape[1:]):
            moved = [x.copy() for x in arrays]
            moved[k][(3, *where)] += 0.1 * rng.normal()
            depends = call(ARM, *moved)[3] != plain[3]
            moved[k][(3, *where)] = bad
            broken = call(ARM, *moved)
            assert not np.isfinite(broken[3][depends]).any(), (kind, where)
            assert np.array_equal(np.delete(broken, 3, axis=0), np.delete(plain, 3, axis=0))


@every_function
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.longdouble])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300, 1e-300, -0.0])
def test_nothing_crashes(kinds: tuple[str, ...], call: Callable[..., Any], bad: float, dtype: Any) -> None:
    for shape in [(), (3,)]:
        arrays = [np.full(draw(ARM, kind, shape).shape, bad).astype(dtype) for kind in kinds]
        answer = call(ARM, *arrays)
        assert answer.dtype == dtype


@every_function
def test_nan_is_no_reason_to_warn(kinds: tuple[str, ...], call: Callable[..., Any]) -> None:
    """A number that is not there is not an invalid operation, here as in NumPy."""
    with np.errstate(all="raise"):
        assert np.isnan(np.sin(np.full(3, np.nan))).all()
        for shape in [(), (3,)]:
            call(ARM, *(np.full(draw(ARM, kind, shape).shape, np.nan) for kind in kinds))


@every_function
def test_finite_numbers_do_not_warn(kinds: tuple[str, ...], call: Callable[..., Any]) -> None:
    """Both sides of each branch are computed, and lanes beyond the last state too: none of it may be invalid."""
    with np.errstate(all="raise", under="ignore"):
        for count in (1, 3, 8, 9):
            arrays = [draw(ARM, kind, (count,)) for kind in kinds]
            for scale in (0.0, 1e-200, 1e-8, 1.0):
                given = [x if kind in ("q", "q1") else scale * x for kind, x in zip(kinds, arrays, strict=True)]
                assert np.isfinite(call(ARM, *given)).all()
    same = draw(ARM, "q", (3,))
    with np.errstate(all="raise"):
        assert np.abs(ARM.difference(same, same)).max() < 1e-15


@pytest.mark.slow
@pytest.mark.parametrize("way", ["interpreted", *WAYS])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_type_of_joint_passes_nan_on(way: str, dtype: Any) -> None:
    robot = random_robot(41, 6, (on.Revolute, on.Prismatic, on.Spherical, on.Free), chain=True)
    q, v = robot.random(0, 3).astype(dtype), np.ones((3, robot.nv), dtype)
    exact = robot.kernel("forward_dynamics", way="interpreted")
    plain = exact(*(x.astype(float) for x in (q, v, v)))
    for k in range(robot.nq):
        moved = q.astype(float)
        moved[1, k] += 0.1
        depends = np.abs(exact(moved, v, v) - plain)[1] > 1e-9
        broken = q.copy()
        broken[1, k] = np.nan
        answer = robot.kernel("forward_dynamics", way=way)(broken, v, v)
        assert np.isnan(answer[1, depends]).all()
        assert np.isfinite(answer[[0, 2]]).all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("dtype", "limit"), [(np.float64, 1e9), (np.float32, 1e5)])
def test_huge_angles_are_nan(way: str, dtype: Any, limit: float) -> None:
    """sin and cos have a range that is documented; beyond it there is no answer rather than a wrong one."""
    pendulum = (
        on.Builder("pendulum")
        .body("ground")
        .body("bob", parent="ground", joint=on.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -1))
        .build()
    )
    kernel = pendulum.kernel("gravity_force", way=way)
    inside = np.array([[0.99 * limit], [-0.99 * limit], [limit], [-limit]], dtype)
    expected = 9.81 * np.sin(inside.astype(np.float64))
    np.testing.assert_allclose(kernel(inside), expected, rtol=0, atol=1e-6 if dtype == np.float32 else 1e-12)
    beyond = np.array([[1.01 * limit], [-1.01 * limit], [1e30], [np.finfo(dtype).max]], dtype)
    assert np.isnan(kernel(beyond)).all()
    mixed = np.concatenate([inside, beyond])
    assert np.array_equal(kernel(mixed)[:4], kernel(inside))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_python_numbers_that_are_not_finite(bad: float) -> None:
    """Arrays of objects are computed with their own arithmetic, which raises where NumPy's would not."""
    q, v = draw(ARM, "q").astype(object), draw(ARM, "v").astype(object)
    q[4] = bad
    answer = ARM.bias_force(q, v)
    assert not np.isfinite(answer.astype(float)).any()


def test_zero_quaternion_is_no_rotation() -> None:
    q = draw(ARM, "q")
    q[:4] = 0.0
    assert np.isnan(ARM.integrate(q, np.ones(5))[:4]).all()
