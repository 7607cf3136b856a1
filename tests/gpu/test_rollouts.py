"""Rollouts on a device are those of this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import gpu as og
from ordern.gpu import batches
from ordern.gpu import rollout as on_device
from tests.simulate.test_efforts import arm
from tests.simulate.test_step_rule import finger

from .stand_in import StandIn


@pytest.fixture
def robot() -> on.Robot:
    return on.load("double-pendulum")


def same(robot: on.Robot, *given: Any, **settings: Any) -> None:
    expected = robot.rollout(*given, **settings)
    found = robot.rollout(*given, device="cuda", **settings)
    assert found.q.dtype == expected.q.dtype
    for x, y in ((found.q, expected.q), (found.v, expected.v), (found.t, expected.t)):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_starts_forces_and_stored_states(robot: on.Robot, gpu: StandIn, dtype: str) -> None:
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(2, 70, 2)).astype(dtype)
    table = rng.normal(size=(70, 20, 2)).astype(dtype)
    same(robot, q, v, None, 10)
    same(robot, q, v, table[:, 0], 20, every=5)
    same(robot, q, v, table, every=20)
    same(robot, q, v, table[:1], every=7)
    same(robot, q[0], v[0], table[0], method="rk4")
    same(robot, q.reshape(7, 10, 2), v[0], table[0, 0], 5)
    assert sum(n for n, _ in gpu.launched) == 5 * 70 + 1


def test_feedback_external_forces_and_policies(robot: on.Robot, gpu: StandIn) -> None:
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(2, 9, 2))
    same(robot, q, v, None, 12, feedback=(30.0, 2.0, np.zeros(2)), external={robot.bodies[-1].name: np.ones(6)})
    same(robot, q, v, None, 12, policy=lambda q, v: -5.0 * q - v, hold=4, every=2)
    same(robot, q, v, None, 12, feedback=(30.0, 2.0, rng.normal(size=(9, 12, 2))))


def test_implicit_steps(gpu: StandIn) -> None:
    """With effort limits, joint limits, dry friction, and a free base alone."""
    fed = {"feedback": (60.0, 3.0, np.array([-0.5, 0.4]))}
    same(arm(False), np.full((9, 2), 0.2), np.zeros(2), None, 12, **fed)
    for terms in ({}, {"friction": 0.05}):
        same(finger(**terms), np.full((9, 1), 0.9), np.full(1, 20.0), None, 12)
    same(finger(), np.full((9, 1), 0.9), np.full(1, 20.0), None, 12, limits="ignore", feedback=(1.0, 2.0, np.zeros(1)))
    body = on.Builder("body").body("bus", mass=1.0, inertia=(1.0, 2.0, 3.0)).build(floating=True)
    same(body, body.neutral(), np.ones((9, 6)), None, 12)


def test_sets_of_parameters(robot: on.Robot, gpu: StandIn) -> None:
    many = robot.vary(mass=np.random.default_rng(0).uniform(0.5, 2.0, (40, 2)))
    same(many, np.ones(2), np.zeros(2), None, 8)
    same(robot.vary(mass=np.full(2, 1.5)), np.ones((3, 2)), np.zeros(2), None, 8)


def test_rollouts_beyond_the_memory_go_in_pieces(
    robot: on.Robot, install: Callable[..., StandIn], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_LEAST", 1 << 12)
    gpu = install(memory=1 << 16)
    rng = np.random.default_rng(0)
    same(robot, rng.normal(size=(300, 2)), np.zeros(2), rng.normal(size=(300, 30, 2)))
    assert len(gpu.launched) > 4 and gpu.memory < on_device._MOST
    out = np.empty((300, 31, 2)), np.empty((300, 31, 2))
    found = robot.rollout(np.ones((300, 2)), np.zeros(2), None, 30, out=out, device="cuda")
    assert found.q is out[0]
    np.testing.assert_array_equal(out[0], robot.rollout(np.ones((300, 2)), np.zeros(2), None, 30).q)


def test_what_is_not_for_gpus_says_so(robot: on.Robot, gpu: StandIn) -> None:
    for settings, what in (
        ({"limits": "bounce"}, "limits='bounce'"),
        ({"events": on.Event(lambda t, q, v: q[0], "up")}, "events"),
    ):
        with pytest.raises(on.ArgumentError, match=f"rollout of 'double-pendulum': {what} is not for GPUs"):
            robot.rollout(np.ones(2), np.zeros(2), None, 5, device="cuda", **settings)  # type: ignore[arg-type]
    with pytest.raises(on.ArgumentError, match="200 freedoms, and steps on a GPU are straight-line code"):
        on.chain(200).rollout(np.ones(200), np.zeros(200), None, 5, device="cuda")
    with pytest.raises(on.ArgumentError, match="`device` must be"):
        robot.rollout(np.ones(2), np.zeros(2), None, 5, device="gpu")


def test_ensembles_run_on_a_device(robot: on.Robot, gpu: StandIn) -> None:
    settings = {"members": 50, "steps": 20, "seed": 3, "block": 16, "keep": ("final",)}
    starts = {"q": on.distributions.uniform(-1.0, 1.0)}
    study = on.Ensemble(robot, starts=starts, **settings)  # type: ignore[arg-type]
    found, expected = study.run(engine="gpu"), study.run()
    assert len(gpu.launched) >= 4 and not found.failures()
    assert expected.keys()
    for name in list(expected.keys()):
        np.testing.assert_array_equal(found[name], expected[name])
    with pytest.raises(on.ArgumentError, match="engine='gpu' is for rollouts, and this ensemble runs `simulate`"):
        on.Ensemble(robot, members=3, until=0.1).run(engine="gpu")
    with pytest.raises(on.ArgumentError, match="limits='bounce' is not for GPUs"):
        on.Ensemble(robot, members=3, steps=5, limits="bounce").run(engine="cuda:1")
    with pytest.raises(on.GpuError, match="no GPU of this number"):
        study.run(engine="cuda:7")


def test_arrays_of_a_device_stay_there(robot: on.Robot, gpu: StandIn) -> None:
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(2, 30, 2))
    table = rng.normal(size=(30, 12, 2))
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((q, v, table), {"every": 3}),
        ((q, v[0], table[:1]), {"method": "rk4"}),
        ((q, v, table[:, 0], 5), {}),
        ((q, v, None, 6), {"feedback": (20.0, 1.0, np.zeros(2)), "external": {robot.bodies[-1].name: np.ones(6)}}),
        ((q.reshape(5, 6, 2), v.reshape(5, 6, 2), None, 6), {}),
    ]
    for given, settings in calls:
        there = [og.array(x) if isinstance(x, np.ndarray) else x for x in given]
        found, expected = robot.rollout(*there, **settings), robot.rollout(*given, **settings)
        for x, y in ((found.q, expected.q), (found.v, expected.v)):
            assert isinstance(x, og.Array)
            np.testing.assert_array_equal(x.numpy(), y)
        np.testing.assert_allclose(found.t, expected.t)
    many = robot.vary(mass=rng.uniform(0.5, 2.0, (30, 2)))
    np.testing.assert_array_equal(
        many.rollout(og.array(q), og.array(v), None, 4).q.numpy(), many.rollout(q, v, None, 4).q
    )  # type: ignore[arg-type]
    for wrong, message in (
        ({"tau": og.array(table[:, :5]), "steps": 7}, "tau has 5 rows over time"),
        ({}, "give `steps`"),
    ):
        with pytest.raises(on.ArgumentError, match=message):
            robot.rollout(og.array(q), og.array(v), **wrong)  # type: ignore[arg-type]


def test_arrays_of_wrong_shapes_never_reach_the_device(robot: on.Robot, gpu: StandIn) -> None:
    """A kernel does not see shapes: it would read what lies beyond a small array."""
    q, v, table = (og.array(np.zeros(shape)) for shape in ((4, 2), (4, 2), (4, 2)))
    narrow = og.array(np.zeros((4, 1)))
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"q0": narrow}, r"q0 has shape \(4, 1\); for 'double-pendulum' give an array \(..., 2\)"),
        ({"v0": narrow}, r"v0 has shape \(4, 1\)"),
        ({"v0": None}, "v0 is None"),
        ({"tau": narrow}, r"tau has shape \(4, 1\)"),
        ({"external": og.array(np.zeros((4, 6)))}, r"external has shape \(4, 6\).*\(..., 2, 6\)"),
        ({"feedback": (1.0, 1.0, narrow)}, r"target has shape \(4, 1\)"),
        ({"feedback": (1.0, 1.0)}, "`feedback` must be three things"),
        ({"feedback": (np.ones(3), 1.0, np.zeros(2))}, r"kp has shape \(3,\)"),
        ({"tau": table, "steps": 4}, "both the batch and the steps have this length"),
    ]
    for change, message in wrong:
        given: dict[str, Any] = {"q0": q, "v0": v, "steps": 3, **change}
        with pytest.raises(on.ArgumentError, match=f"rollout: .*{message}"):
            robot.rollout(**given)
    assert not gpu.launched


@pytest.mark.needs("pyarrow")
def test_a_store_of_a_processor_is_not_continued_on_a_gpu(robot: on.Robot, gpu: StandIn, tmp_path: Path) -> None:
    study = on.Ensemble(robot, members=20, steps=5, block=8)
    study.run(out=tmp_path / "falls.parquet")
    with pytest.raises(on.ArgumentError, match=r"compiles for GPU 9.0, CUDA 12.4, "):
        study.run(out=tmp_path / "falls.parquet", engine="gpu")
    found = study.run(out=tmp_path / "on_gpu.parquet", engine="gpu")
    again = study.run(out=tmp_path / "on_gpu.parquet", engine="gpu")
    np.testing.assert_array_equal(found["q_final"], again["q_final"])
