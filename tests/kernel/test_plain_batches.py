"""Batches of plain arrays take a shorter way through Python: with the same answers and the same complaints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on

N = 11


@pytest.fixture(scope="module")
def robot() -> on.Robot:
    robot = on.load("puma560")
    robot.forward_dynamics(robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv))
    return robot


def given(robot: on.Robot, n: int = N) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return robot.random(rng, (n,)), rng.normal(size=(n, robot.nv)), rng.normal(size=(n, robot.nv))


def one_by_one(robot: on.Robot, *arrays: np.ndarray) -> np.ndarray:
    return np.array([robot.forward_dynamics(*state) for state in zip(*arrays, strict=True)])


def test_arguments_of_every_kind_give_the_same(robot: on.Robot) -> None:
    q, v, tau = given(robot)
    expected = one_by_one(robot, q, v, tau)
    wide = np.zeros((N, 2 * robot.nv))
    wide[:, ::2] = v
    order = np.asfortranarray(tau)
    swapped = q.astype(q.dtype.newbyteorder())
    for arguments in (
        (q, v, tau),
        (q, wide[:, ::2], order),
        (q[::-1][::-1], v, tau),
        (swapped, v, tau),
        (q.tolist(), v, tau),
        (q.view(np.recarray), v, tau),
        (q[:, None], v[:, None], tau[:, None]),
    ):
        found = robot.forward_dynamics(*arguments)
        np.testing.assert_allclose(found.reshape(N, -1), expected, rtol=1e-13, atol=1e-13)
    for threads in (1, 2, True, np.int64(1)):
        np.testing.assert_array_equal(robot.forward_dynamics(q, v, tau, threads=threads), expected)
    np.testing.assert_array_equal(robot.forward_dynamics(q, v, tau, None, None, 1), expected)
    np.testing.assert_array_equal(robot.forward_dynamics(q, v=v, tau=tau), expected)
    np.testing.assert_array_equal(robot.forward_dynamics(q[:1], v, tau)[0], expected[0])
    assert robot.forward_dynamics(q[:0], v[:0], tau[:0]).shape == (0, robot.nv)


def test_results_go_where_they_are_asked_for(robot: on.Robot) -> None:
    q, v, tau = given(robot)
    expected = one_by_one(robot, q, v, tau)
    out = np.empty_like(v)
    assert robot.forward_dynamics(q, v, tau, out=out) is out
    np.testing.assert_array_equal(out, expected)
    over = tau.copy()
    robot.forward_dynamics(q, v, over, out=over)  # the result takes an argument's place
    np.testing.assert_array_equal(over, expected)
    twice = np.empty((2, N, robot.nv))
    np.testing.assert_array_equal(robot.forward_dynamics(q, v, tau, out=twice)[1], expected)
    single = np.empty((N, robot.nv), np.float32)
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau, out=single), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"v": np.zeros((N, 5))}, r"'v' has shape \(11, 5\)"),
        ({"v": np.zeros((N + 1, 6))}, "do not broadcast"),
        ({"q": np.zeros(5)}, r"'q' has shape \(5,\)"),
        ({"out": np.empty((N, 5))}, "`out` has shape"),
        ({"out": [1.0]}, "`out` must be a NumPy array, not list"),
        ({"out": np.broadcast_to(0.0, (N, 6))}, "read-only"),
        ({"threads": 0}, "`threads` must be a whole number above 0"),
        ({"threads": "two"}, "`threads` must be a whole number above 0"),
        ({"out": np.empty((N, 6), int)}, "Cannot cast"),
    ],
)
def test_what_is_wrong_is_said(robot: on.Robot, change: dict[str, Any], message: str) -> None:
    q, v, tau = given(robot)
    arguments = {"q": q, "v": v, "tau": tau} | {k: x for k, x in change.items() if k in ("q", "v")}
    settings = {k: x for k, x in change.items() if k not in arguments}
    with pytest.raises(on.ArgumentError, match=message):
        robot.forward_dynamics(*arguments.values(), **settings)


def test_other_numbers_of_arguments_are_told() -> None:
    robot = on.load("puma560")
    q, v, _ = given(robot)
    robot.forward_dynamics(q, v, v)
    robot.forward_dynamics(q[0], v[0], v[0])
    with pytest.raises(TypeError, match="tau"):
        robot.forward_dynamics(q, v)
    with pytest.raises(TypeError, match="speed"):
        robot.forward_dynamics(q, v, v, speed=1.0)


def test_large_results_that_are_held_stay_as_they_are(robot: on.Robot) -> None:
    """Memory of results of 1 MB and more is used again, but not while somebody has it."""
    q, v, tau = given(robot, 30_000)
    first = robot.forward_dynamics(q, v, tau, threads=1)
    part = first[100:200]
    kept = first.copy()
    del first
    second = robot.forward_dynamics(q, -v, tau, threads=1)
    np.testing.assert_array_equal(part, kept[100:200])
    assert not np.shares_memory(part, second)
    del part
    robot.forward_dynamics(q, v, tau, threads=1)
    assert np.isfinite(second).all()
