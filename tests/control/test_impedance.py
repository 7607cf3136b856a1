"""Impedance control without inertia shaping."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.control.controllers import recorded_law
from tests.tolerances import CLOSED_LOOP, ROUNDING, assert_close

co, tr = on.controllers, on.trajectories
PUMA = on.load("puma560")
Q0 = np.array([0.0, 0.8, -2.2, 0.0, 0.6, 0.0])
STIFF, DAMP = np.array([20.0, 30.0, 40.0, 900.0, 1000.0, 1200.0]), np.array([2.0, 3.0, 2.5, 60.0, 80.0, 70.0])


def goal() -> np.ndarray:
    T = PUMA.pose(Q0, "flange")
    T[:3, 3] += [0.02, 0.05, -0.03]
    T[:3, :3] = T[:3, :3] @ on.rotations.exp(np.array([0.3, -0.2, 0.4]))
    return T


def line() -> on.trajectories.Trajectory:
    return tr.tip(PUMA, "flange", goal(), 0.5, q0=Q0)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["pose", "position"])
def test_the_frame_has_its_own_inertia(task: str) -> None:
    """L e'' + D e' + K e = -f, for positions; the rest of the arm is redundant for the second task."""
    rng = np.random.default_rng(1)
    q, v, t = Q0 + 0.1 * rng.normal(size=6), rng.normal(size=6), 0.2
    path = line().path
    control = co.Impedance(PUMA, "flange", path, STIFF, DAMP, task=task, posture=Q0, null_kp=10.0)
    push = np.concatenate([np.zeros(3), rng.normal(size=3)])
    if task == "pose":  # no moment, so that angular and linear equations are apart
        L = np.linalg.inv(PUMA.operational_inertia_inverse(q, "flange", axes="world"))
    else:
        L = np.zeros((6, 6))
        soft = PUMA.operational_inertia_inverse(q, "flange", axes="world")[3:, 3:]
        L[3:, 3:] = np.linalg.inv(soft)
    tau = control(t, q, v) + PUMA.passive_force(q, v)
    a = PUMA.forward_dynamics(q, v, tau + PUMA.jacobian(q, "flange", axes="world").T @ push)
    T, V, A = path(t)
    x, u = PUMA.pose(q, "flange"), PUMA.velocity(q, v, "flange", axes="world")
    away = A - PUMA.acceleration(q, v, a, "flange", axes="world", kind="classical")
    pull = STIFF[3:] * (T[:3, 3] - x[:3, 3]) + DAMP[3:] * (V - u)[3:]
    assert_close((L @ away)[3:] + pull, -push[3:], 1e-8)


@pytest.mark.parametrize("name", ["puma560", pytest.param("delta-robot", marks=pytest.mark.slow)])
def test_springs_conserve_energy(name: str) -> None:
    """Without dampers, and with the robot's own Coriolis forces, kinetic energy and that of the springs stay."""
    robot = on.load(name)
    frame = "flange" if name == "puma560" else "platform"
    q0 = Q0 if name == "puma560" else np.asarray(on.robots.positions(name)["assembled"])
    target = robot.pose(q0, frame)
    target[:3, 3] += [0.02, 0.05, -0.03]
    task = "pose" if name == "puma560" else "position"
    if task == "pose":
        target[:3, :3] = target[:3, :3] @ on.rotations.exp(np.array([0.9, -0.5, 0.7]))
    control = co.Impedance(robot, frame, target, STIFF, 0.0, task=task, coriolis=False, null_kd=0.0)
    result = robot.simulate(q0, tau=control, until=0.3)
    e = result["pose_error"] if task == "pose" else result["pose_error"] * [0, 0, 0, 1, 1, 1]
    total = result.kinetic + 0.5 * (STIFF * e**2).sum(axis=1)
    assert result.kinetic.max() > 0.2 * total[0]
    assert_close(total, np.full(len(total), total[0]), CLOSED_LOOP)


@pytest.mark.parametrize(
    ("coriolis", "period"),
    [(True, 0.01), *(pytest.param(*x, marks=pytest.mark.slow) for x in ((True, None), (False, None), (False, 0.01)))],
)
def test_compiled_as_from_python(coriolis: bool, period: float | None) -> None:
    def control(target: Any) -> co.Impedance:
        return co.Impedance(PUMA, "flange", target, STIFF, DAMP, coriolis=coriolis, period=period)

    run = {"until": 0.08, "method": "rk4", "step": 0.004}
    native, python = (PUMA.simulate(Q0, tau=control(line()), native=n, **run) for n in (True, False))
    assert native.report.native and not python.report.native
    assert_close(native.q, python.q, 100 * ROUNDING)
    assert_close(native.tau, python.tau, 1e-8)
    assert recorded_law(control(goal()), PUMA) is not None


@pytest.mark.slow
def test_follows_a_path_and_yields_to_a_push() -> None:
    control = co.Impedance(PUMA, "flange", line(), STIFF, DAMP)
    result = PUMA.simulate(Q0, tau=control, until=0.6)
    assert np.abs(result["pose_error"]).max() < CLOSED_LOOP
    hold = co.Impedance(PUMA, "flange", PUMA.pose(Q0, "flange"), STIFF, 3.0 * DAMP)
    pushed = PUMA.simulate(Q0, tau=hold, until=20.0, external={"flange": [0, 0, 0, 0, 0, -5.0]}, dense=False)
    force = PUMA.pose(pushed.q[-1], "flange")[:3, :3] @ [0.0, 0.0, -5.0]  # along the axes of the frame
    assert_close(STIFF[3:] * pushed["pose_error"][-1, 3:], -force, 1e-6)


def test_gains_are_checked() -> None:
    with pytest.raises(on.ArgumentError, match="stiffness must not be below zero"):
        co.Impedance(PUMA, "flange", goal(), -1.0, 1.0)
    with pytest.raises(on.ArgumentError, match="damping has shape"):
        co.Impedance(PUMA, "flange", goal(), 1.0, [1.0, 2.0])
