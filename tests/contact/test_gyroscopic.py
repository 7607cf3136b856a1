"""The gyroscopic torque of free and ball joints in steps: bodies that spin keep their energy and their momentum."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on

FAR = on.Ground(height=-1e6)


def spinning_box(*, offset: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> on.Robot:
    builder = on.Builder("box", gravity=(0.0, 0.0, 0.0)).body("box", mass=2.0, com=offset, inertia=(0.3, 0.2, 0.1))
    return builder.build(floating=True)


def top() -> on.Robot:
    builder = on.Builder("top").body("ground").body("top", mass=1.0, com=(0.0, 0.0, 0.2), inertia=(0.02, 0.03, 0.01))
    return builder.joint("tip", on.Spherical(), "ground", "top").build()


def energies(robot: on.Robot, v: np.ndarray, h: float, seconds: float) -> np.ndarray:
    """Return the energies at the start and after each tenth of a motion."""
    steps = round(seconds / h)
    touching = robot.with_contacts(FAR, points=[robot.bodies[-1].name])
    run = touching.rollout(robot.neutral(), v, steps=steps, dt=h, every=steps // 10)
    return np.asarray(robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q))


@pytest.mark.parametrize("h", [2e-3, 4e-3])
def test_a_box_that_spins_keeps_its_energy(h: float) -> None:
    found = energies(spinning_box(), np.array([6.0, 7.0, 4.0, 1.0, 0.0, 0.0]), h, 20.0)
    np.testing.assert_allclose(found, found[0], rtol=30.0 * h * h)  # it doubled in two seconds


def test_the_error_is_of_second_order() -> None:
    coarse, fine = (np.ptp(energies(spinning_box(), np.array([6.0, 7, 4, 0, 0, 0]), h, 1.0)) for h in (4e-3, 2e-3))
    assert 3.5 < coarse / fine < 4.5


def test_a_body_away_from_its_origin_keeps_its_energy() -> None:
    found = energies(spinning_box(offset=(0.1, 0.2, 0.05)), np.array([6.0, 7.0, 4.0, 0.0, 0.0, 0.0]), 2e-3, 20.0)
    np.testing.assert_allclose(found, found[0], rtol=0.01)


def test_a_fast_top_on_a_ball_joint_keeps_its_energy() -> None:
    found = energies(top(), np.array([1.0, 1.0, 60.0]), 4e-3, 10.0)
    np.testing.assert_allclose(found, found[0], rtol=1e-3)  # it gained 3,000 % in one second


def test_a_robot_that_tumbles_keeps_its_angular_momentum() -> None:
    robot, stand = on.load("quadruped"), on.robots.positions("quadruped")["stand"]
    v, kp, kd = np.zeros(18), np.full(18, 500.0), np.full(18, 5.0)
    v[:3], kp[:6], kd[:6] = (6.0, 7.0, 4.0), 0.0, 0.0
    run = robot.with_contacts(FAR, points=["lf_foot"]).rollout(
        stand, v, steps=2500, dt=4e-3, every=250, feedback=(kp, kd, stand)
    )
    found = np.linalg.norm(robot.centroidal_momentum(run.q, run.v)[:, :3], axis=-1)
    np.testing.assert_allclose(found, found[0], rtol=5e-3)  # it grew by 40 %


def test_the_step_is_that_of_kahan() -> None:
    I, w, h = np.diag([0.3, 0.2, 0.1]), np.array([6.0, 7.0, 4.0]), 4e-3
    robot = spinning_box().with_contacts(FAR, points=["box"])
    run = robot.rollout([1.0, 0, 0, 0, 0, 0, 0], [*w, 0, 0, 0], steps=1, dt=h)
    after = run.v[1, :3]
    np.testing.assert_allclose(I @ (after - w), -h / 2 * (np.cross(w, I @ after) + np.cross(after, I @ w)), atol=1e-14)


def test_other_joints_are_stepped_as_before() -> None:
    robot = on.chain(5)
    v = np.linspace(1.0, 5.0, 5)
    run = robot.with_contacts(FAR, points=[robot.bodies[-1].name]).rollout(np.zeros(5), v, steps=1, dt=1e-3)
    expected = v + 1e-3 * robot.forward_dynamics(np.zeros(5), v, np.zeros(5))
    np.testing.assert_allclose(run.v[1], expected, rtol=1e-13)
