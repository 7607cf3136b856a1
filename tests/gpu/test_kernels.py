"""Kernels on a device equal those of this machine: arrays, broadcasting, pieces, parameters, derivatives, loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import gpu as og
from ordern.gpu import batches

from .stand_in import StandIn


def states(robot: on.Robot, *batch: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(1)
    return robot.random(rng, batch), rng.normal(size=(*batch, robot.nv)), rng.normal(size=(*batch, robot.nv))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numpy_arrays_go_to_the_device_and_come_back(gpu: StandIn, dtype: str) -> None:
    robot = on.load("double-pendulum")
    q, v, tau = (x.astype(dtype) for x in states(robot, 300))
    expected = robot.forward_dynamics(q, v, tau)
    found = robot.forward_dynamics(q, v, tau, device="cuda")
    assert found.dtype == dtype and gpu.launched
    np.testing.assert_array_equal(found, expected)
    for out in (np.empty_like(expected), np.empty((300, 4), dtype)[:, ::2], np.empty((2, 300, 2), "float64")):
        assert robot.forward_dynamics(q, v, tau, out=out, device="cuda:1") is out
        np.testing.assert_array_equal(out, np.broadcast_to(expected, out.shape))
    assert robot.forward_dynamics(q, v, tau, out=q, device="cuda") is q  # the result in the place of an argument
    np.testing.assert_array_equal(q, expected)
    assert not any(gpu.contexts.values())  # the context of the caller is current again


SHAPES = [((), (), ()), ((5,), (), (5,)), ((4, 1), (1, 3), (3,)), ((0,), (0,), ()), ((2, 3), (), (1,))]


@pytest.mark.parametrize("shapes", SHAPES)
def test_batches_broadcast(gpu: StandIn, shapes: tuple[tuple[int, ...], ...]) -> None:
    robot = on.load("double-pendulum")
    rng = np.random.default_rng(2)
    q, v, tau = (rng.normal(size=(*s, 2)) for s in shapes)
    expected = robot.forward_dynamics(q, v, tau)
    kernel = robot.kernel("forward_dynamics").on("cuda")
    np.testing.assert_array_equal(kernel(q, v, tau), expected)
    np.testing.assert_array_equal(kernel(*(og.array(x) for x in (q, v, tau))).numpy(), expected)


def test_batches_beyond_the_memory_of_the_device_go_in_pieces(
    install: Callable[..., StandIn], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_LEAST", 1 << 12)
    monkeypatch.setattr(batches, "_MOST", 1 << 20)
    gpu = install(memory=1 << 16)
    robot = on.load("double-pendulum")
    q, v, tau = states(robot, 7001)
    expected = robot.forward_dynamics(q, v, tau)
    assert q.nbytes * 4 > gpu.memory
    np.testing.assert_array_equal(robot.forward_dynamics(q, v, tau, device="cuda"), expected)
    assert sum(n for n, _ in gpu.launched) == 7001 and len({stream for _, stream in gpu.launched}) >= 2
    np.testing.assert_array_equal(
        robot.forward_dynamics(q.reshape(7001, 1, 2), v[:2], tau[0], device="cuda"),
        robot.forward_dynamics(q.reshape(7001, 1, 2), v[:2], tau[0]),
    )


def test_questions_with_settings_and_optional_arguments(gpu: StandIn) -> None:
    robot = on.load("stanford-arm")
    q, v, a = states(robot, 20)
    calls: list[Callable[[Any], Any]] = [
        lambda d: robot.pose(q, robot.bodies[-1].name, device=d),
        lambda d: robot.poses(q, device=d),
        lambda d: robot.inverse_dynamics(q, v, a, np.ones((len(robot.bodies), 6)), base_velocity=np.ones(6), device=d),
        lambda d: robot.mass_matrix(q, "composite-body", device=d),
        lambda d: robot.com(q, device=d),
        lambda d: robot.kinetic_energy(q, v, device=d),
        lambda d: robot.integrate(q, v, 0.1, device=d),
        lambda d: robot.jvp("gravity_force", (q,), (v,), device=d),
        lambda d: robot.derivatives.gravity_force(q, device=d).q,
    ]
    for call in calls:
        before = len(gpu.launched)
        np.testing.assert_array_equal(call("cuda"), call("cpu"))
        assert len(gpu.launched) > before


@pytest.mark.parametrize("leading", [(), (30,)])
def test_varied_robots_bring_their_numbers(gpu: StandIn, leading: tuple[int, ...]) -> None:
    base = on.load("double-pendulum")
    mass = np.random.default_rng(3).uniform(0.5, 2.0, (*leading, len(base.bodies)))
    robot = base.vary(mass=mass)
    q, v, tau = states(base, 30)
    expected = robot.forward_dynamics(q, v, tau)
    np.testing.assert_array_equal(robot.forward_dynamics(q, v, tau, device="cuda"), expected)
    there = [og.array(x) for x in (q, v, tau)]
    np.testing.assert_array_equal(robot.kernel("forward_dynamics").on("cuda")(*there).numpy(), expected)
    np.testing.assert_array_equal(robot.position_rate(q, v, device="cuda"), robot.position_rate(q, v))


def test_loops_run_their_kernels_on_the_device(gpu: StandIn) -> None:
    robot = on.load("four-bar")
    q = np.tile(robot.assemble().q, (6, 1))
    tau = np.random.default_rng(4).normal(size=(6, robot.nv))
    expected = robot.forward_dynamics(q, np.zeros((6, 3)), tau)
    found = robot.forward_dynamics(q, np.zeros((6, 3)), tau, device="cuda")
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert gpu.launched


def test_rolled_code_gets_a_workspace_and_tables(gpu: StandIn) -> None:
    robot = on.load("double-pendulum")
    kernel = robot.kernel("forward_dynamics", way="rolled")
    q, v, tau = states(robot, 5000)
    expected = kernel(q, v, tau)
    np.testing.assert_array_equal(kernel.on("cuda")(q, v, tau), expected)
    np.testing.assert_array_equal(kernel.on("cuda")(*(og.array(x) for x in (q, v, tau))).numpy(), expected)


def test_numbers_of_this_machine_go_with_arrays_of_a_device(gpu: StandIn) -> None:
    robot = on.load("double-pendulum")
    q, v, _ = states(robot, 8)
    kernel = robot.kernel("integrate").on("cuda")
    np.testing.assert_array_equal(kernel(og.array(q), v, 0.1).numpy(), robot.integrate(q, v, 0.1))
    found = kernel(og.array(q.astype("float32")), v, 0.1)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(
        found.numpy(), robot.integrate(q.astype("float32"), v.astype("float32"), np.float32(0.1))
    )
    external = {robot.bodies[0].name: np.ones(6)}
    kernel = robot.kernel("inverse_dynamics", present=["external"]).on("cuda")
    np.testing.assert_array_equal(
        kernel(og.array(q), og.array(v), og.array(v), external).numpy(), robot.inverse_dynamics(q, v, v, external)
    )


def test_methods_of_robots_answer_where_their_arguments_are(gpu: StandIn) -> None:
    robot = on.load("double-pendulum")
    q, v, tau = states(robot, 8)
    there = [og.array(x, device="cuda:1") for x in (q, v, tau)]
    found: Any = robot.forward_dynamics(*there)  # type: ignore[arg-type]
    assert isinstance(found, og.Array) and found.device.number == 1
    np.testing.assert_array_equal(found.numpy(), robot.forward_dynamics(q, v, tau))
    moved: Any = robot.integrate(there[0], there[1], 0.1)  # type: ignore[arg-type]
    np.testing.assert_array_equal(moved.numpy(), robot.integrate(q, v, 0.1))


def test_single_states_go_to_the_device_that_is_asked_for(gpu: StandIn) -> None:
    robot = on.load("double-pendulum")
    q = np.array([0.3, 0.2])
    for _ in range(3):  # later calls have a fast path on this machine
        expected = robot.gravity_force(q), robot.pose(q, robot.bodies[-1].name)
    for k in range(1, 3):
        found = robot.gravity_force(q, device="cuda"), robot.pose(q, robot.bodies[-1].name, device="cuda")
        assert len(gpu.launched) == 2 * k
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("varied", [False, True])
def test_operators_of_array_libraries_run_there(gpu: StandIn, varied: bool) -> None:
    from ordern.gpu.libraries import library_of
    from ordern.gpu.program import operated
    from ordern.worlds.operators import operator_of

    robot = on.load("double-pendulum")
    if varied:
        robot = robot.vary(mass=np.ones((5, len(robot.bodies))))
    rng = np.random.default_rng(0)
    for operator in (operator_of(robot.kernel("inverse_dynamics")), operator_of(robot.kernel("position_rate"))):
        given = [rng.uniform(0.5, 1.0, (5, *x.shape)) for x in operator.inputs]
        library = library_of({"x": og.array(given[0])}, "test")
        assert library is not None
        there = [og.array(x) for x in given]
        if varied:
            there[-1] = Picked(there[-1])
        np.testing.assert_array_equal(operated(operator, library, there).numpy(), operator(*given))


class Picked(og.Array):
    """An array from which columns can be picked, as those of other libraries."""

    __slots__ = ()

    def __init__(self, x: Any) -> None:
        super().__init__(x.shape, x.dtype, x.device, x._held, x._offset)

    def __getitem__(self, index: Any) -> Any:
        return og.array(self.numpy()[index])
