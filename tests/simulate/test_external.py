"""External forces on bodies in compiled time loops: against steps from Python, and closed forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.compile import program
from ordern.errors import ArgumentError, ModelError
from ordern.simulate.integrators.native import FixedLoop, Native
from ordern.simulate.integrators.numpy_machine import NumpyMachine
from ordern.simulate.integrators.rk_step import fixed_step
from ordern.simulate.integrators.tableaus import TABLEAUS
from tests.random_models import ALL_JOINTS, random_robot, random_state
from tests.tolerances import METHODS, REQUESTED, ROLLED_LOOPS, ROUNDING, SAME_STEPS, SINGLE, assert_close

ARM = on.load("puma560")
MIXED = random_robot(
    21, n=7, joints=(on.Revolute, on.Spherical, on.Planar, on.Helical, on.Universal), floating=True, passive=True
)
MIMIC = random_robot(5, n=6, joints=(on.Revolute, on.Prismatic), mimic=True, passive=True)
ROBOTS = [pytest.param(ARM, id="arm"), *(
    pytest.param(robot, id=name, marks=pytest.mark.slow) for name, robot in (("mixed", MIXED), ("mimic", MIMIC))
)]  # fmt: skip
TIMES = np.array([0.0, 0.02, 0.05, 0.09])
CART = on.Builder("cart", gravity=(0, 0, 0)).body("rail").body("cart", parent="rail", joint=on.Prismatic((1, 0, 0)),
    mass=2.0).build()  # fmt: skip


def wrenches(robot: on.Robot, *shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(*shape, len(robot.bodies), 6))


def given(robot: on.Robot, kind: str) -> Any:
    """External forces of each kind that is compiled."""
    tip = robot.bodies[-1].name
    rows = wrenches(robot, len(TIMES))
    return {
        "constant": rows[0],
        "frame": {tip: rows[0, 0]},
        "lines": on.Table(TIMES, rows),
        "steps": on.Table(TIMES, rows, hold=True),
        "frames": {tip: on.Table(TIMES, rows[:, 0]), robot.bodies[0].name: rows[0, 1]},
    }[kind]


@pytest.mark.parametrize("way", ["interpreted", "unrolled", "rolled"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3))])
def test_joint_forces_do_the_work_of_forces_on_bodies(seed: int, way: str) -> None:
    """As the difference that these forces make to inverse dynamics; for every joint, and joints that follow others."""
    robot = random_robot(seed, n=9, joints=ALL_JOINTS, floating=bool(seed % 2), mimic=seed > 1)
    q, v, _ = random_state(robot, seed, (3,))
    f = wrenches(robot, 3)
    wanted = robot.bias_force(q, v) - robot.bias_force(q, v, external=f)
    assert_close(robot.kernel("external_force", way=way)(q, f), wanted, METHODS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["constant", "frame", "lines", "steps", "frames"])
@pytest.mark.parametrize("robot", ROBOTS)
def test_simulations_agree_with_steps_from_python(robot: on.Robot, kind: str) -> None:
    q, v, tau = random_state(robot, 2)
    drives = on.Table([0.0, 0.03, 0.1], [tau, -tau, tau])
    run = {"tau": drives, "external": given(robot, kind), "until": 0.1, "rtol": 1e-8, "atol": 1e-8, "tolerance": "step"}
    ours, theirs = robot.simulate(q, 0.5 * v, **run), robot.simulate(q, 0.5 * v, native=False, **run)
    assert ours.report.native and not theirs.report.native
    assert ours.report.steps == theirs.report.steps
    assert_close(ours.t, theirs.t, SAME_STEPS)
    assert_close(ours.q[-1], theirs.q[-1], METHODS)
    assert_close(ours.v[-1], theirs.v[-1], METHODS)
    assert_close(ours.a[-1], theirs.a[-1], METHODS)
    power = max(1.0, float(np.max(np.abs(np.gradient(theirs.work, theirs.t)))))
    assert_close(ours.work, theirs.work, SAME_STEPS * power)  # at times that differ by SAME_STEPS
    assert_close(ours.work[-1], theirs.work[-1], METHODS)
    assert_close(ours.at(0.0123)[0], theirs.at(0.0123)[0], METHODS)
    assert ours.report.energy_drift < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("method", TABLEAUS)
@pytest.mark.parametrize("kind", ["constant", "lines"])
def test_every_method_agrees_with_steps_from_python(method: str, kind: str) -> None:
    q, v, _ = random_state(MIXED, 2)
    step = {} if TABLEAUS[method].adaptive else {"step": 1e-3}
    exactness = {"rtol": 1e-8, "atol": 1e-8, "tolerance": "step"}
    run = {"external": given(MIXED, kind), "until": 0.06, "method": method, **step, **exactness}
    ours, theirs = MIXED.simulate(q, 0.3 * v, **run), MIXED.simulate(q, 0.3 * v, native=False, **run)
    assert ours.report.native
    assert_close(ours.t, theirs.t, SAME_STEPS)
    assert_close(ours.q[-1], theirs.q[-1], METHODS)
    assert_close([ours.report.work, ours.report.dissipated], [theirs.report.work, theirs.report.dissipated], METHODS)
    assert_close(ours.at(0.0333)[0], theirs.at(0.0333)[0], METHODS)


@pytest.mark.slow
def test_a_force_that_grows_with_time() -> None:
    """A cart of 2 kg: with the force 6 t the position is t^3 / 2, and from 1 s on the force stays 6."""
    push = on.Table([0.0, 1.0], [[[0, 0, 0, 0, 0, 0]], [[0, 0, 0, 6, 0, 0]]])
    result = CART.simulate(external=push, until=[0.5, 1.0, 2.0])
    assert result.report.native
    assert_close(result.q[:, 0], [0.5**4, 0.5, 0.5 + 1.5 + 1.5], REQUESTED)
    assert_close(result.work[-1], 0.5 * 2.0 * (1.5 + 3.0) ** 2, REQUESTED)


def test_a_force_that_jumps() -> None:
    """A step ends where the force jumps: the result is exact to rounding on both sides of it."""
    push = {"cart": on.Table([0.0, 0.7, 1.0], [[0, 0, 0, 2, 0, 0], [0, 0, 0, -4, 0, 0], [0] * 6], hold=True)}
    for method in ({}, {"method": "radau"}, {"method": "rk4", "step": 0.13}, {"native": False}):
        result = CART.simulate(external=push, until=[0.7, 1.0, 1.5], **method)
        assert_close(result.v[:, 0], [0.7, 0.1, 0.1], REQUESTED)


class Equations:
    """A robot under constant forces on joints and bodies."""

    def __init__(self, robot: on.Robot, tau: np.ndarray, external: np.ndarray) -> None:
        self.robot, self.tau, self.external = robot, tau, external

    def rates(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, float, float]:
        force = self.tau + self.robot.passive_force(q, v)
        return self.robot.forward_dynamics(q, v, force, external=self.external), 0.0, 0.0


@pytest.mark.parametrize("method", ["plain-euler", pytest.param("rk4", marks=pytest.mark.slow)])
@pytest.mark.parametrize("robot", ROBOTS)
def test_rollouts_agree_with_steps_from_python(robot: on.Robot, method: str) -> None:
    """Each trajectory and each step has forces of its own."""
    steps, dt = 7, 2e-3
    q, v, tau = random_state(robot, 3, (5,))
    forces = wrenches(robot, 5, steps)
    found = robot.rollout(q, v, tau, steps, dt, external=forces, method=method)
    for k in (0, 4):
        qk, vk = q[k], v[k]
        for n in range(steps):
            m = NumpyMachine(Equations(robot, tau[k], forces[k, n]), 0.0, dt)
            qk, vk = fixed_step(m, TABLEAUS[method], qk, vk)
        assert_close(found.q[k, -1], qk, METHODS)
        assert_close(found.v[k, -1], vk, METHODS)


def test_shapes_of_external_forces_in_rollouts() -> None:
    """One force for all, one for each trajectory, a table that all share, and a dictionary are the same where equal."""
    q, v, _ = random_state(ARM, 0, (3,))
    f = wrenches(ARM)
    tip = {ARM.bodies[-1].name: f[-1]}
    alone = np.zeros_like(f)
    alone[-1] = f[-1]
    wanted = ARM.rollout(q, v, steps=6, external=f)
    for same in (np.tile(f, (3, 1, 1)), np.tile(f, (1, 6, 1, 1)), np.tile(f, (3, 6, 1, 1))):
        assert np.array_equal(ARM.rollout(q, v, steps=6, external=same).q, wanted.q)
    by_name = ARM.rollout(q, v, steps=6, external=tip)
    assert_close(by_name.q, ARM.rollout(q, v, steps=6, external=alone).q, ROUNDING)
    assert not np.allclose(by_name.q[:, -1], wanted.q[:, -1])
    assert ARM.rollout(q[0], v[0], steps=6, external=wrenches(ARM, 2, 6)).q.shape == (2, 7, 6)


def test_external_forces_and_feedback_in_single_precision() -> None:
    q, v, _ = random_state(ARM, 0, (3,))
    f = wrenches(ARM, 3)
    run = {"steps": 20, "feedback": (5.0, 1.0, np.zeros(6, np.float32))}
    single = ARM.rollout(q.astype(np.float32), v.astype(np.float32), external=f.astype(np.float32), **run)
    assert single.q.dtype == np.float32
    assert_close(single.q, ARM.rollout(q, v, external=f, **run).q, SINGLE)


@pytest.mark.slow
def test_external_forces_on_mechanisms() -> None:
    robot = on.load("four-bar")
    q = np.array(robots.positions("four-bar")["assembled"])
    f = 0.1 * wrenches(robot)
    found = robot.rollout(q, np.zeros(robot.nv), steps=100, dt=1e-3, method="rk4", external=f)
    wanted = robot.simulate(q, until=0.1, external=f)
    assert_close(found.q[-1], wanted.q[-1], 10 * ROLLED_LOOPS)


@pytest.mark.slow
def test_rolled_loops_have_external_forces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long robots run as loops over bodies; here all are long."""
    robot = random_robot(13, n=13, joints=ALL_JOINTS, floating=True, passive=True)
    q, v, tau = random_state(robot, 0, (3,))
    f = wrenches(robot, 3)
    wanted = robot.rollout(q, v, tau, 5, external=f)
    other = random_robot(13, n=13, joints=ALL_JOINTS, floating=True, passive=True)
    monkeypatch.setenv("ORDERN_CACHE", "off")
    monkeypatch.setattr(program, "UNROLL_LIMIT", 0)
    loop = FixedLoop.of(other, "semi-implicit-euler", None, "float64", False, True)
    assert "external_force" in loop.rolled
    assert_close(other.rollout(q, v, tau, 5, external=f).q, wanted.q, METHODS)


def test_a_checkpoint_knows_tables_of_external_forces(tmp_path: Path) -> None:
    rows = wrenches(CART, 3)
    path = tmp_path / "run.ckpt"
    run = {"until": 0.2, "checkpoint": path}
    whole = CART.simulate(external=on.Table([0.0, 0.1, 0.2], rows), **run)
    assert CART.simulate(external=on.Table([0.0, 0.1, 0.2], rows), **run) == whole
    for other in (on.Table([0.0, 0.1, 0.2], rows, hold=True), on.Table([0.0, 0.1, 0.3], rows), rows[0]):
        with pytest.raises(ModelError, match="of another run: external differs"):
            CART.simulate(external=other, **run)


def test_a_function_is_not_compiled() -> None:
    push = {"cart": [0, 0, 0, 1, 0, 0]}
    assert not CART.simulate(external=lambda t, q, v: push, until=0.1).report.native
    with pytest.raises(ArgumentError, match="native=True, but the external forces are a Python function"):
        CART.simulate(external=lambda t, q, v: push, native=True)


def test_tables_that_do_not_fit() -> None:
    with pytest.raises(ArgumentError, match=r"external: the forces have shape \(2, 6\); give \(2, 1, 6\)"):
        CART.simulate(external=on.Table([0.0, 1.0], np.zeros((2, 6))))
    with pytest.raises(ArgumentError, match="must have the same times and the same `hold`"):
        ARM.simulate(
            external={
                ARM.bodies[0].name: on.Table([0.0, 1.0], np.zeros((2, 6))),
                ARM.bodies[1].name: on.Table([0.0, 2.0], np.zeros((2, 6))),
            }
        )
    q = np.zeros(6)
    with pytest.raises(ArgumentError, match=r"external has shape \(6,\); for 'puma560' give \(\.\.\., 6, 6\)"):
        ARM.rollout(q, q, steps=3, external=q)
    with pytest.raises(ArgumentError, match="external has 4 rows over time, but there are 3 steps"):
        ARM.rollout(q, q, steps=3, external=np.zeros((4, 6, 6)))
    with pytest.raises(ArgumentError, match=r"not functions; robot\.simulate takes functions"):
        ARM.rollout(q, q, steps=3, external=lambda t, q, v: {})


def test_a_loop_without_external_forces_refuses_them() -> None:
    q = np.zeros(6)
    with pytest.raises(ArgumentError, match="compiled without external forces"):
        Native(ARM, "rk4").advance(0.0, q, q, 1e-3, 0.01, external=(np.zeros((6, 6)),) * 2)
