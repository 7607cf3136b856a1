"""Tasks that are ready to use: legged robots that walk forward, as environments of Gymnasium.

In "ant", actions are the torques of eight motors. The reward is the forward speed + 1 - 0.5 |action|^2, in the manner
of Gymnasium's Ant, until the ball touches the ground or flies. In "quadruped", actions are goals of twelve joints, for
springs and dampers in each step. The reward is the nearness to a speed straight ahead, less the effort, until the trunk
is low or tilted.

Gymnasium knows them as "ordern/Ant-v0" and "ordern/Quadruped-v0" once `ordern.gym` is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from ..arguments import AnyArray, choice
from ..ensembles import distributions
from ..loading import load
from ..model.contacts import Ground
from ..robot import Robot
from ..robots import positions
from ..robots.ant import RADIUS
from ..rotations import matrix_from_quaternion
from .environments import Env, VectorEnv

__all__ = ["TASKS", "register", "task"]

_SPEED = 0.5
"""Of the quadruped, in m/s."""
_SWEEPS = 40
"""Of the ant, which pushes against the stops of its joints: with 10, half of the steps would be uncertified."""
_UPRIGHT = 0.5
"""The least cosine of the tilt of a quadruped that has not fallen."""


def _moving(q: AnyArray, v: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the velocity (count, 3) of the trunk in the world, and the upward direction (count, 3) in its axes."""
    R = matrix_from_quaternion(q[:, :4])
    return (R @ v[:, 3:6, None])[..., 0], R[:, 2, :]


def _seen(q: AnyArray, v: AnyArray) -> AnyArray:
    """Return height, the upward direction in the trunk, angles of joints, velocities of trunk and joints."""
    return np.concatenate([q[:, 6:7], _moving(q, v)[1], q[:, 7:], v], axis=1)


def _starts(name: str, high: float) -> dict[str, Any]:
    """Return starts near the standing position, `high` above it: joints and velocities differ a little."""
    stand = positions(name)["stand"]
    spread = np.r_[np.zeros(7), np.full(len(stand) - 7, 0.1)]
    lift = high * np.eye(len(stand))[6]  # so that no foot begins below the ground
    return {
        "q": distributions.uniform(stand + lift - spread, stand + lift + spread),
        "v": distributions.normal(0.0, 0.05),
    }


def _ant() -> tuple[Robot, dict[str, Any]]:
    feet = {f"foot_{k}": RADIUS for k in range(1, 5)}
    robot = load("ant").with_contacts(Ground(friction=1.0), points=feet, bodies=["ball"], sweeps=_SWEEPS)
    limits = np.array([robot.joint(name).effort_limit[0] for name in robot.actuated])

    def reward(q: AnyArray, v: AnyArray, tau: AnyArray) -> AnyArray:
        actions = tau[:, 6:] / limits
        return np.asarray(_moving(q, v)[0][:, 0] + 1.0 - 0.5 * (actions**2).sum(axis=1))

    def terminated(q: AnyArray, v: AnyArray) -> AnyArray:
        return np.asarray((q[:, 6] < 0.26) | (q[:, 6] > 1.2))

    given = {"reward": reward, "terminated": terminated, "observation": _seen, "starts": _starts("ant", 0.03)}
    return robot, {**given, "dt": 5e-3, "hold": 10, "length": 1000}


def _quadruped() -> tuple[Robot, dict[str, Any]]:
    feet = [f"{leg}_foot" for leg in ("lf", "rf", "lh", "rh")]
    robot = load("quadruped").with_contacts(Ground(friction=0.8), points=feet)

    def reward(q: AnyArray, v: AnyArray, tau: AnyArray) -> AnyArray:
        moving, _ = _moving(q, v)
        off = (moving[:, 0] - _SPEED) ** 2 + moving[:, 1] ** 2 + 0.1 * v[:, 2] ** 2
        return np.asarray(np.exp(-4.0 * off) - 2e-5 * (tau**2).sum(axis=1))

    def terminated(q: AnyArray, v: AnyArray) -> AnyArray:
        return np.asarray((q[:, 6] < 0.16) | (_moving(q, v)[1][:, 2] < _UPRIGHT))

    springs = np.repeat([0.0, 100.0], [6, 12]), np.repeat([0.0, 3.0], [6, 12]), positions("quadruped")["stand"]
    given = {"reward": reward, "terminated": terminated, "observation": _seen, "starts": _starts("quadruped", 0.02)}
    return robot, {**given, "feedback": springs, "goals": 0.5, "dt": 4e-3, "hold": 5, "length": 1000}


TASKS: dict[str, Callable[[], tuple[Robot, dict[str, Any]]]] = {"ant": _ant, "quadruped": _quadruped}
"""The tasks: each function returns a robot and the arguments of `VectorEnv`."""


def task(name: str, num_envs: int | None = None, **changes: Any) -> Any:
    """Return a task as a `VectorEnv`, or as an `Env` if `num_envs` is not given.

    `name` is "ant" or "quadruped". `changes` are arguments of `VectorEnv` that take the place of the task's own, such
    as `length`, `reward` or `parameters`.

    >>> import ordern as on
    >>> env = on.gym.task("ant", 16, length=200)
    >>> env.action_space.shape, env.observation_space.shape
    ((16, 8), (16, 26))
    """
    robot, given = TASKS[choice("name", name, TASKS, "gym.task")]()
    if num_envs is None:
        return Env(robot, **{**given, **changes})
    return VectorEnv(robot, num_envs, **{**given, **changes})


def register() -> None:
    """Make the tasks known to Gymnasium, as "ordern/Ant-v0" and so on."""
    for name in TASKS:
        known = f"ordern/{name.capitalize()}-v0"
        if known not in gymnasium.registry:
            gymnasium.register(known, entry_point=partial(task, name), vector_entry_point=partial(task, name))
