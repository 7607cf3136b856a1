"""Controlled robots, integrated by SciPy: nothing of the library's own simulation."""

from __future__ import annotations

from typing import Any

import numpy as np

import ordern as on

Array = np.ndarray


def move(robot: on.Robot, controller: Any, q: Array, v: Array, until: float) -> tuple[Array, Array]:
    """The state at the time `until`, with all passive forces."""
    from scipy.integrate import solve_ivp

    controller.start(robot)

    def rate(t: float, y: Array) -> Array:
        q, v = robot.project(y[: robot.nq]), y[robot.nq :]
        tau = controller(t, q, v) + robot.passive_force(q, v)
        return np.concatenate([robot.position_rate(q, v), robot.forward_dynamics(q, v, tau)])

    start = np.concatenate([q, v])
    done = solve_ivp(rate, (0.0, until), start, method="DOP853", rtol=1e-11, atol=1e-11)
    assert done.success, done.message
    end = done.y[:, -1]
    return robot.project(end[: robot.nq]), end[robot.nq :]


def slopes(robot: on.Robot, trajectory: Any, times: Array, h: float = 1e-4) -> tuple[Array, Array]:
    """Velocities and accelerations of a trajectory by central differences of its positions and velocities."""
    q = trajectory(times).q
    (before, v_before, _), (after, v_after, _) = trajectory(times - h), trajectory(times + h)
    v = (robot.difference(q, after) - robot.difference(q, before)) / (2.0 * h)
    return v, (v_after - v_before) / (2.0 * h)
