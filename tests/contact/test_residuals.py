"""The laws of a step, computed with NumPy from positions, velocities and impulses alone, without the solver.

The three residuals are those of Le Lidec et al., Contact models in robotics, 2024: the equation of motion; Signorini's
condition (gap, normal impulse and their product); Coulomb's cone and the largest dissipation within it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.simulate.contact_record import Certificate
from tests.contact.robots import ball, block, hopper
from tests.contact.test_known_answers import on_slope, slope

Residuals = dict[str, float]


def turned(q: Any) -> Any:
    """Return the rotation matrix of the quaternion of a free joint."""
    w, x, y, z = q[:4]
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def in_first_axes(q0: Any, q1: Any, v1: Any) -> Any:
    """Return velocities after a step, those of the free joint in the axes before it, in which it is stepped."""
    change = turned(q0).T @ turned(q1)
    return np.concatenate([change @ v1[:3], change @ v1[3:6], v1[6:]])


def rows(robot: on.Robot, q: Any) -> tuple[Any, Any]:
    """Return the Jacobian (3 contacts, nv) of all contacts with the ground in its axes, and their gaps."""
    contacts = robot.contacts
    assert contacts is not None and contacts.ground is not None
    E, found, gaps = np.array(contacts.ground.axes), [], []
    for contact in contacts.pairs:
        solid = contact.first
        link = robot.bodies[solid.body].name
        pose, J = robot.pose(q, link), robot.jacobian(q, link, axes="world")
        lever = pose[:3, :3] @ np.array(solid.placement.position) - solid.size[0] * E[2]
        x, y, z = lever
        cross = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])  # w x lever = cross w
        found.append(E @ (J[3:] + cross @ J[:3]))
        gaps.append(E[2] @ (pose[:3, 3] + lever) - contacts.ground.height)
    return np.concatenate(found), np.array(gaps)


def gyroscopic(M: Any, bias: Any, v: Any, h: float) -> Any:
    """Return the torque on a free base by which Kahan's method differs from the torque at the start of a step.

    The joints give way, so that the base feels the inverse of a part of M^-1.
    """
    inverse = np.linalg.inv(M)
    S, w, dw = np.linalg.inv(inverse[:3, :3]), v[:3], -(inverse @ bias)[:3]
    J = np.column_stack([np.cross(w, S @ e) + np.cross(e, S @ w) for e in np.eye(3)])
    return np.concatenate([0.5 * h * J @ np.linalg.solve(S + 0.5 * h * J, S @ dw), np.zeros(len(v) - 3)])


def residuals(robot: on.Robot, run: on.Rollout, dt: float, mu: float) -> Residuals:
    """Return the largest residuals of all steps."""
    worst = dict.fromkeys(("motion", "gap", "impulse", "signorini", "cone", "dissipation"), 0.0)
    impulses = run.contact_impulses
    assert impulses is not None
    for k in range(len(run.t) - 1):
        q, v, p = run.q[k], run.v[k], impulses[k + 1]
        after = in_first_axes(q, run.q[k + 1], run.v[k + 1])
        turning = np.zeros(robot.nv)
        turning[3:6] = np.cross(v[:3], v[3:6])  # fixed axes: the velocity of the origin is not seen to turn
        M, bias = robot.mass_matrix(q), robot.inverse_dynamics(q, v, np.zeros(robot.nv))
        damped = np.diag([dt * d for c in robot.joints for d in c.damping])
        J, gaps = rows(robot, q)
        rate = (after - v) / dt - turning
        free = bias + damped @ v / dt
        motion = (M + damped) @ rate + free - J.T @ p.ravel() / dt + gyroscopic(M + damped, free, v, dt)
        u = (J @ after).reshape(-1, 3)
        N, speed = u[:, 2] + gaps / dt, np.hypot(u[:, 0], u[:, 1])
        push, friction = p[:, 2], np.hypot(p[:, 0], p[:, 1])
        found = {
            "motion": np.abs(motion).max() * dt,
            "gap": (-N).max(),
            "impulse": (-push).max(),
            "signorini": np.abs(N * push).max(),
            "cone": (friction - mu * push).max(),
            "dissipation": np.abs((u[:, :2] * p[:, :2]).sum(axis=1) + mu * push * speed).max(),
        }
        worst = {name: max(x, float(found[name])) for name, x in worst.items()}
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ball", "hopper", "block"])
def test_each_step_keeps_the_laws(name: str) -> None:
    mu, dt = 0.3, 1e-3
    if name == "ball":
        robot = ball().with_contacts(slope(0.2, mu), sweeps=20)
        q, v, steps = [1, 0, 0, 0, 0.1, 0.0, 0.12], [3.0, 1.0, -2.0, 0.5, -0.4, 0.0], 400
    elif name == "hopper":
        robot = hopper().with_contacts(on.Ground(mu), points=["foot"], limits=False, sweeps=60)
        q, v, steps = [1, 0, 0, 0, 0, 0, 0.36, 0.6, -1.2], [0.2, 0, 0.5, 0.8, 0.5, 0, 0, 0], 150
    else:
        robot = block().with_contacts(on.Ground(mu), sweeps=200)
        q, v, steps = [1, 0, 0, 0, 0, 0, 0.0502], [0, 0, 2.0, 0.6, 0.3, 0], 250
    run = robot.rollout(q, v, steps=steps, dt=dt)
    found = residuals(robot, run, dt, mu)
    assert run.contact_impulses is not None
    assert run.contact_impulses[..., 2].max() > 0.0
    assert max(found.values()) <= 1e-9, found


def test_the_position_of_a_block_that_slides_is_of_first_order() -> None:
    angle, mu = math.radians(35.0), 0.3
    robot = block().with_contacts(slope(angle, mu), sweeps=30)
    a, down = 9.81 * (math.sin(angle) - mu * math.cos(angle)), np.array([math.cos(angle), 0.0, -math.sin(angle)])
    errors = []
    for steps in (250, 500):
        run = robot.rollout(on_slope(angle, 0.05), np.zeros(6), steps=steps, dt=0.5 / steps, every=steps)
        errors.append((run.q[-1, 4:] - run.q[0, 4:]) @ down - 0.125 * a)
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=1e-6)


def test_bounces_are_late_by_less_than_a_step_each() -> None:
    """Each impact of a rollout is at the end of the step that closes the gap."""
    robot = ball().with_contacts(on.Ground(0.0, restitution=0.5))
    fall = math.sqrt(2.0 * 0.5 / 9.81)
    times = [fall, 2.0 * fall, 2.5 * fall]
    late = []
    for dt in (1e-3, 2.5e-4):
        run = robot.rollout([1, 0, 0, 0, 0, 0, 0.6], np.zeros(6), steps=int(0.85 / dt), dt=dt)
        assert run.contact_impulses is not None
        hits = np.flatnonzero(run.contact_impulses[:, 0, 2] > 0.0) * dt
        late.append(np.abs(hits[:3] - times).max())
        assert late[-1] <= 4.0 * dt
    assert late[1] < 0.5 * late[0]


def test_a_spinning_box_stops_at_the_known_time() -> None:
    robot = block().with_contacts(on.Ground(0.4), sweeps=30)
    stops = 3.0 * (2.0 / 12.0 * 0.08) / (0.4 * 2.0 * 9.81 * math.hypot(0.1, 0.1))
    run = robot.rollout([1, 0, 0, 0, 0, 0, 0.05], [0, 0, 3.0, 0, 0, 0], steps=60, dt=1e-3)
    spin = run.v[:, 2]
    np.testing.assert_allclose(spin[:37], 3.0 * (1.0 - run.t[:37] / stops), atol=2e-3)
    assert np.abs(run.v[38:]).max() <= 1e-9
    assert not run.uncertified.any()


def test_steps_of_far_leveled_points_are_flagged() -> None:
    zero, leveling = np.zeros(3), np.array([0.0, 9e-3, 1.1e-2])
    assert Certificate(zero, zero, leveling, zero).uncertified.tolist() == [False, False, True]


def test_the_certificate_has_the_velocities_of_corners_where_they_are() -> None:
    """A tilted block lands on two corners of unequal heights, which a step takes at one height."""
    robot = block().with_contacts(on.Ground(0.6), sweeps=50)
    rng = np.random.default_rng(1)
    largest = []
    for _ in range(20):
        q = robot.integrate(np.array([1, 0, 0, 0, 0, 0, 0.0]), np.r_[0.02 * rng.standard_normal(3), np.zeros(3)])
        _, gaps = rows(robot, q)
        q[6] -= gaps.min()
        v = np.r_[0.5 * rng.standard_normal(5), -4.0]
        step = robot.contact_step(q, v, dt=2e-3)
        J, gaps = rows(robot, q)
        turning = robot.jacobian(q, "block", axes="world")[:3]
        flat, p = J.copy(), step.impulses
        for k, z in enumerate(gaps - gaps.min()):  # lower each corner: w x (0, 0, -z)
            flat[3 * k] -= z * turning[1]
            flat[3 * k + 1] += z * turning[0]
        after = in_first_axes(q, step.q, step.v)
        true = J @ (after + np.linalg.solve(robot.mass_matrix(q), (J - flat).T @ p.ravel()))
        off = np.linalg.norm((true - flat @ after).reshape(-1, 3), axis=1)
        assert float(step.residual) <= 1e-9
        assert float(step.leveling) == pytest.approx(off[p[:, 2] > 0.0].max(), rel=1e-6, abs=1e-9)
        largest.append(float(step.leveling))
    assert max(largest) > 1e-2  # of the order of the 0.026 m/s that the residual does not contain
