"""Rollouts as kernels for GPUs: the text of the loop gives the states of the ordinary rollout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.compile.ptx import ptx_rollout
from ordern.compile.ptx.plan import Plan
from ordern.errors import CompileError
from ordern.simulate.integrators.native import step_requests
from ordern.simulate.integrators.rk_step import fixed_step
from ordern.simulate.integrators.tableaus import tableau
from tests.compile.ptx_tools import assemble, rollout_here
from tests.random_models import random_robot, random_state
from tests.robots import ROBOTS
from tests.tolerances import ROUNDING, SINGLE, assert_close

TREE = random_robot(31, 4, (on.Revolute, on.Prismatic, on.Spherical), floating=True, passive=True)
COUNT, STEPS, DT = 70, 6, 0.005


def _arrays(robot: on.Robot, dtype: str) -> dict[str, np.ndarray]:
    q, v, _ = random_state(robot, 0, (COUNT,))
    tau = np.random.default_rng(1).normal(size=(COUNT, STEPS, robot.nv))
    numbers = np.zeros(5 + 3 * robot.nv)
    numbers[:2] = DT, 0.01
    found = {"q0": q, "v0": v, "tau": tau, "numbers": numbers}
    return {name: np.ascontiguousarray(x, dtype) for name, x in found.items()}


@pytest.mark.parametrize(
    ("method", "dtype"),
    [
        ("semi-implicit-euler", "float64"),
        ("semi-implicit-euler", "float32"),
        pytest.param("rk4", "float64", marks=pytest.mark.slow),
    ],
)
def test_steps_are_those_of_rollout(method: str, dtype: str) -> None:
    arrays = _arrays(TREE, dtype)
    q, v = rollout_here(TREE, method, arrays, STEPS, 2)
    expected = TREE.rollout(arrays["q0"], arrays["v0"], arrays["tau"], STEPS, DT, method=method, every=2)
    allowed = SINGLE if dtype == "float32" else ROUNDING
    assert_close(q, expected.q, allowed)
    assert_close(v, expected.v, allowed)


@pytest.mark.slow
@pytest.mark.parametrize("team", ["rows", "limbs"])
def test_warps_share_trajectories(team: str) -> None:
    robot = on.load("quadruped")
    arrays = _arrays(robot, "float64")
    q, v = rollout_here(robot, "semi-implicit-euler", arrays, STEPS, 3, Plan(0, 0, 0, piece=300, team=team))
    expected = robot.rollout(arrays["q0"], arrays["v0"], arrays["tau"], STEPS, DT, every=3)
    assert_close(q, expected.q, ROUNDING)
    assert_close(v, expected.v, ROUNDING)


@pytest.mark.parametrize("plan", [None, Plan(0, 0, 0, piece=300, team="rows")], ids=["threads", "rows"])
def test_feedback_and_external_forces(plan: Plan | None) -> None:
    robot, arrays = TREE, _arrays(TREE, "float64")
    rng = np.random.default_rng(2)
    goal, external = random_state(robot, 5, (1,))[0], rng.normal(size=(COUNT, STEPS, len(robot.bodies), 6))
    kp, kd = rng.uniform(1, 2, robot.nv), rng.uniform(0.1, 0.2, robot.nv)
    method = "semi-implicit-euler" if plan is None else "rk4"  # warps do not share the iterations of implicit steps
    implicit = DT * kp if plan is None else 0.0 * kp
    arrays["numbers"][5:] = *kp, *(kd + implicit), *np.full(len(kp), np.inf)
    more = {"goal": goal[:, None], "external": external.reshape(COUNT, STEPS, -1)}
    q, v = rollout_here(robot, method, arrays | more, STEPS, STEPS, plan)
    expected = robot.rollout(
        arrays["q0"],
        arrays["v0"],
        arrays["tau"],
        STEPS,
        DT,
        every=STEPS,
        method=method,
        feedback=(kp, kd, goal[0]),
        external=external,
    )
    assert_close(q, expected.q, ROUNDING)
    assert_close(v, expected.v, ROUNDING)


def test_long_robots_are_refused() -> None:
    robot, steps = on.chain(150), tableau("semi-implicit-euler")
    requests = step_requests(robot, steps, None, feedback=False, external=False)
    with pytest.raises(CompileError, match="forward_dynamics is too long"):
        ptx_rollout(robot, requests, lambda m, q, v: fixed_step(m, steps, q, v), "float32")


@pytest.mark.needs("nvidia.cuda_nvcc", "example_robot_data")
@pytest.mark.parametrize(
    ("method", "registers", "size"),
    [("semi-implicit-euler", 128, 34_000), pytest.param("rk4", 255, 140_000, marks=pytest.mark.slow)],
)
def test_registers_of_a_rollout(tmp_path: Path, method: str, registers: int, size: int) -> None:
    robot, steps = on.load(ROBOTS / "panda_description/urdf/panda.urdf"), tableau(method)
    requests = step_requests(robot, steps, None, feedback=False, external=False)
    code = ptx_rollout(robot, requests, lambda m, q, v: fixed_step(m, steps, q, v), "float32")
    found = assemble(code.text, tmp_path)
    assert found.registers <= registers
    assert found.spilled == 0
    assert found.size <= size
