"""Linearised motions: against differences of the rollout's own steps, MuJoCo's, and between each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ordern as on
from ordern.errors import ArgumentError, SingularError, UnknownNameError
from ordern.simulate.integrators.tableaus import TABLEAUS
from tests.random_models import ALL_JOINTS, random_robot
from tests.tolerances import assert_close

Array = NDArray[np.float64]
CLOSE = 1e-9
"""Relative. Differences of fourth order with steps of 1e-4 leave 1e-11, where friction is smooth enough."""


def _differences(answer: Any, h: float = 1e-4) -> Array:
    return np.asarray((8.0 * (answer(h) - answer(-h)) - (answer(2 * h) - answer(-2 * h))) / (12.0 * h))


def _rate(robot: on.Robot, state: tuple[Array, ...], dt: float, method: str, dx: Array) -> Array:
    """The change of the state after one step of a rollout along a change of the start and of the forces."""
    q, v, tau = state
    nv = robot.nv

    def end(s: float) -> Any:
        start = robot.integrate(q, dx[:nv], s), v + s * dx[nv : 2 * nv]
        return robot.rollout(*start, tau + s * dx[2 * nv :], 1, dt, method=method, smoothing=0.3)

    there = end(0.0).q[-1]
    return _differences(lambda s: np.concatenate([robot.difference(there, end(s).q[-1]), end(s).v[-1]]))


def _state(robot: on.Robot, seed: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    return robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)


@pytest.mark.parametrize("method", [pytest.param(x, marks=pytest.mark.slow if "-" in x else ()) for x in TABLEAUS])
def test_steps_of_arms(method: str) -> None:
    robot, dt = on.load("double-pendulum"), 0.05
    state = _state(robot, 0)
    dx = np.random.default_rng(1).normal(size=3 * robot.nv)
    found = robot.linearise(*state, dt, method=method, smoothing=0.3)
    A, B = found
    assert_close(A @ dx[: 2 * robot.nv] + B @ dx[2 * robot.nv :], _rate(robot, state, dt, method, dx), CLOSE)
    end = robot.rollout(*state, 1, dt, method=method, smoothing=0.3)
    assert_close(np.concatenate([found.q, found.v]), np.concatenate([end.q[-1], end.v[-1]]), 1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("method", TABLEAUS)
def test_steps_with_all_joints(method: str) -> None:
    """Quaternions, rolling discs, turning axes, springs, dampers and friction; stages leave the valid positions."""
    robot, dt = random_robot(3, 4, ALL_JOINTS, floating=True, passive=True, armature=True), 0.05
    state = _state(robot, 0)
    dx = np.random.default_rng(1).normal(size=3 * robot.nv)
    A, B = robot.linearise(*state, dt, method=method, smoothing=0.3)
    assert_close(A @ dx[: 2 * robot.nv] + B @ dx[2 * robot.nv :], _rate(robot, state, dt, method, dx), CLOSE)


@pytest.mark.slow
def test_motion_is_the_limit_of_steps() -> None:
    """Also for a free body that turns, where tangents drift; with forces on bodies, and for a batch."""
    robot = random_robot(5, 2, [on.Revolute, on.Spherical], floating=True, passive=True)
    q, v, tau = (np.stack([x, y]) for x, y in zip(_state(robot, 0), _state(robot, 1), strict=True))
    external = np.random.default_rng(2).normal(size=(len(robot.bodies), 6))
    A, B = robot.linearise(q, v, tau, external=external, smoothing=0.3)
    assert np.abs(A[:, :6, :6]).max() > 0.1
    one, h = np.eye(2 * robot.nv), 1e-4
    ends = [robot.linearise(q, v, tau, s * h, external=external, smoothing=0.3, method="rk4") for s in (1, 2, 3)]
    slopes = [((x.A - one) / (s * h), x.B / (s * h)) for s, x in zip((1, 2, 3), ends, strict=True)]
    for known, k in ((A, 0), (B, 1)):
        assert_close(3.0 * slopes[0][k] - 3.0 * slopes[1][k] + slopes[2][k], known, 1e-7)


@pytest.mark.slow
def test_arms_by_the_general_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled function for arms has the numbers of the general one, in all ways of running."""
    from ordern.simulate import linearise as module

    monkeypatch.setattr(module, "step_of", lambda robot, *_: (robot, ()))  # explicit forces, no limits
    robot = random_robot(1, 4, [on.Revolute, on.Prismatic], passive=True, armature=True, mimic=True)
    q, v, tau = (np.stack([x, y]) for x, y in zip(_state(robot, 0), _state(robot, 1), strict=True))
    external = np.random.default_rng(2).normal(size=(len(robot.bodies), 6))
    for dt in (None, 0.01):
        arm = robot.linearise(q, v, tau, dt, external=external)
        with pytest.MonkeyPatch.context() as m:
            m.setattr(module, "_MOST", 0)
            whole = robot.linearise(q, v, tau, dt, external=external)
        for mine, known in zip((*arm, arm.lift, arm.q, arm.v), (*whole, whole.lift, whole.q, whole.v), strict=True):
            assert_close(mine, known, 1e-11)
    kernel = robot.kernel("linear_step", way="interpreted", step=True)
    known = robot.linearise(q[0], v[0], tau[0], 0.01).A
    assert_close(kernel(q[0], v[0], tau[0], 0.01, 0.01)[:, : -robot.nv], known, 1e-11)
    single = robot.linearise(*(x.astype(np.float32) for x in (q, v, tau)), 0.01)
    assert single.A.dtype == np.float32
    assert_close(single.A, robot.linearise(q, v, tau, 0.01).A, 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["semi-implicit-euler", "rk4"])
@pytest.mark.parametrize("name", ["four-bar", "stewart-platform", "bricard"])
def test_closed_mechanisms(name: str, method: str) -> None:
    """In the freedoms of the mechanism: against rollouts from closed states; the bricard's loop is redundant."""
    robot, dt = on.load(name), 0.01
    rng = np.random.default_rng(1)
    q = robot.assemble().q
    v, tau = robot.project_velocity(q, 0.3 * rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    found = robot.linearise(q, v, tau, dt, method=method)
    x, u = rng.normal(size=found.A.shape[-1]), rng.normal(size=robot.nv)
    assert len(x) == 2 * robot.mobility(q).freedoms
    dq, dv = (found.lift @ x).reshape(2, -1)
    assert_close(np.concatenate([dq[list(found.positions)], dv[list(found.velocities)]]), x, 1e-12)

    def end(s: float) -> Any:
        start = robot.assemble(robot.integrate(q, dq, s), tolerance=1e-14).q
        return robot.rollout(start, robot.project_velocity(start, v + s * dv), tau + s * u, 1, dt, method=method)

    there = end(0.0).q[-1]
    known = _differences(lambda s: np.concatenate([robot.difference(there, end(s).q[-1]), end(s).v[-1]]))
    rows = [*found.positions, *(robot.nv + k for k in found.velocities)]
    assert_close(found.A @ x + found.B @ u, known[rows], CLOSE)
    A, _ = robot.linearise(q, v, tau)
    small = robot.linearise(q, v, tau, 1e-6)
    assert_close((small.A - np.eye(len(x))) / 1e-6, A, 1e-4)


@pytest.mark.slow
def test_rolling_has_more_positions_than_velocities() -> None:
    """A skate: it cannot slide sideways, but it can be anywhere."""
    builder = on.Builder("skate").body("base")
    builder.body("skate", parent="base", joint=on.Planar((0, 0, 1)), mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.1, 0, 0))
    robot = builder.loop("edge", on.KnifeEdge((0, 1, 0)), "base", "skate").build()
    q = np.array([0.3, 0.5, 0.2])
    v = robot.project_velocity(q, [0.7, 1.0, 0.4])
    found = robot.linearise(q, v)
    assert found.A.shape == (5, 5)
    assert len(found.positions) == 3
    rng = np.random.default_rng(0)
    x, h = rng.normal(size=5), 1e-5
    dq, dv = (found.lift @ x).reshape(2, -1)
    rates = [robot.forward_dynamics(q + s * h * dq, v + s * h * dv, np.zeros(3)) for s in (1, -1)]
    known = (rates[0] - rates[1]) / (2.0 * h)
    assert_close((found.A @ x)[3:], known[list(found.velocities)], 1e-7)


@pytest.mark.slow
def test_mujoco() -> None:
    import mujoco

    robot = random_robot(2, 5, [on.Revolute, on.Prismatic], armature=True)
    q, v, _ = _state(robot, 0)
    model = mujoco.MjModel.from_xml_string(robot.to_mjcf(lossy=True))
    model.opt.timestep = 1e-3
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, v
    known = np.zeros((10, 10))
    mujoco.mjd_transitionFD(model, data, 1e-6, True, known, None, None, None)
    assert_close(robot.linearise(q, v, None, 1e-3).A, known, 1e-7)


def test_wrong_calls_are_named() -> None:
    arm, closed = on.load("double-pendulum"), on.load("four-bar")
    q = closed.assemble().q
    with pytest.raises(ArgumentError, match="`independent` is for robots with loops"):
        arm.linearise([0.0, 0.0], independent=["joint1"])
    with pytest.raises(ArgumentError, match="`dt`"):
        arm.linearise([0.0, 0.0], dt=-1.0)
    with pytest.raises(UnknownNameError, match="unknown method 'euler'"):
        arm.linearise([0.0, 0.0], dt=0.1, method="euler")
    with pytest.raises(ArgumentError, match="`method`, here 'rk4', is that of a step"):
        arm.linearise([0.0, 0.0], method="rk4")
    with pytest.raises(ArgumentError, match=r"'four-bar' has 1 freedom here, but the joints in `independent` have 2"):
        closed.linearise(q, independent=["drive", "elbow"])
    with pytest.raises(ArgumentError, match=r"linearise.*is open"):
        closed.linearise(q + 0.3)
    flat = on.load("double-parallelogram")
    with pytest.raises(SingularError, match="linearise: 'double-parallelogram' is in a singular position"):
        flat.linearise(flat.assemble().q)
