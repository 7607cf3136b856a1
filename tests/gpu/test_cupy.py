"""Arrays of CuPy: answers are there, in its current stream."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.gpu import libraries

from .stand_in import StandIn
from .stand_in_cupy import stand_in_cupy


@pytest.fixture
def cupy(gpu: StandIn, monkeypatch: pytest.MonkeyPatch) -> Any:
    found = stand_in_cupy(gpu)
    monkeypatch.setitem(sys.modules, "cupy", found)
    monkeypatch.setattr(libraries, "_known", {})
    monkeypatch.setattr(libraries, "_by_type", {})
    return found


def test_answers_are_computed_in_the_stream_of_cupy(gpu: StandIn, cupy: Any) -> None:
    robot, rng = on.load("double-pendulum"), np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 20, 2))
    there = [cupy.asarray(x) for x in (q, v, tau)]
    expected = robot.forward_dynamics(q, v, tau)
    for _ in range(2):  # the second call is like the first
        found: Any = robot.forward_dynamics(*there)
        assert isinstance(found, cupy.ndarray)
        np.testing.assert_array_equal(found.get(), expected)
    out = cupy.empty((20, 2), "float64")
    kernel = robot.kernel("forward_dynamics").on("cuda")
    assert kernel(*there, out=out) is out
    np.testing.assert_array_equal(out.get(), expected)
    columns = cupy.asarray(q.T.copy()).T
    np.testing.assert_array_equal(kernel(columns, v[0], tau).get(), robot.forward_dynamics(q, v[0], tau))
    assert {stream for _, stream in gpu.launched} == {cupy.stream.handle}
    with pytest.raises(on.ArgumentError, match="has float16; on a GPU, give float32 or float64"):
        kernel(cupy.ndarray(out._block, (20, 2), (4, 2), "float16"), *there[1:])
    with pytest.raises(on.ArgumentError, match="several numbers of `out` are one in memory"):
        kernel(*there, out=cupy.ndarray(out._block, (20, 2), (0, 8), "float64"))
    with pytest.raises(on.ArgumentError, match="`out` overlaps an argument"):
        kernel(*there, out=there[0])


def test_rollouts_of_cupy_stay_there(gpu: StandIn, cupy: Any) -> None:
    robot, rng = on.load("double-pendulum"), np.random.default_rng(0)
    q, v, target = rng.normal(size=(3, 20, 2))
    expected = robot.rollout(q, v, steps=7, feedback=(2.0, 1.0, target))
    there = [cupy.asarray(x) for x in (q, v, target)]
    found: Any = robot.rollout(*there[:2], steps=7, feedback=(2.0, 1.0, there[2]))
    np.testing.assert_array_equal(found.q.get(), expected.q)
    np.testing.assert_array_equal(found.v.get(), expected.v)
    with pytest.raises(on.ArgumentError, match=r"feedback: kp is not an array: Implicit conversion"):
        robot.rollout(*there[:2], steps=7, feedback=(there[2], 1.0, there[2]))


def test_numbers_of_varied_robots_stay_until_cupy_has_read_them(gpu: StandIn, cupy: Any) -> None:
    """Robots that are gone leave memory that the next one may take, before the stream of CuPy comes to its kernel."""
    robot, rng = on.load("double-pendulum"), np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 5, 2))
    there, found = [cupy.asarray(x) for x in (q, v, tau)], []
    masses = rng.uniform(0.5, 2.0, (4, 2))
    for mass in masses:
        found.append(robot.vary(mass=mass).forward_dynamics(*there))
        gc.collect()
    for mass, answer in zip(masses, found, strict=True):
        np.testing.assert_array_equal(answer.get(), robot.vary(mass=mass).forward_dynamics(q, v, tau))  # type: ignore[attr-defined]
