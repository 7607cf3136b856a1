"""Controllers of positions: PD, gravity compensation, computed torque, feed-forward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .arguments import Array, freedoms, of_robot
from .controller import Goal, Modelled, Target, gains, sampled

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["PD", "ComputedTorque", "FeedForward", "GravityCompensation"]

Gains = ArrayLike | Mapping[str, ArrayLike]
"""A number, nv numbers, or a dictionary from names of joints; joints that are not named get zero."""


class PD(Modelled):
    """tau = kp e + kd e', with e the difference to a position or a trajectory, and e' that of velocities.

    With `gravity`, the force that holds the robot where it is comes on top.
    """

    def __init__(
        self,
        robot: Robot,
        target: Target,
        kp: Gains,
        kd: Gains,
        *,
        gravity: bool = False,
        period: float | None = None,
    ) -> None:
        self.robot, self.goal, self.gravity, self.period = robot, Goal(robot, target), gravity, sampled(period)
        self.kp, self.kd = gains(robot, kp, kd, False)
        self.breaks = self.goal.breaks

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """The joint forces."""
        e, rate = self.goal.error(self.goal(t), q, v)
        tau = self.kp * e + self.kd * rate
        return np.asarray(tau + self.robot.gravity_force(q) if self.gravity else tau)


class GravityCompensation(Modelled):
    """tau = gravity_force(q) - damping v: the robot rests wherever it is, and can be led by hand."""

    def __init__(self, robot: Robot, damping: Gains = 0.0, *, period: float | None = None) -> None:
        of_robot(robot)
        self.robot, self.damping, self.period = robot, freedoms(robot, damping, "damping"), sampled(period)

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """The joint forces."""
        return np.asarray(self.robot.gravity_force(q) - self.damping * v)


class ComputedTorque(Modelled):
    """Inverse dynamics with feedback: the error obeys e'' + kd e' + kp e = 0, whatever the robot.

    tau = inverse_dynamics(q, v, a) less the passive forces of damping, friction and springs, with the acceleration that
    this needs: a_d + kd (v_d - v) + kp e where positions are plain numbers. For spherical, free and planar joints e is
    the rotation vector (or screw) to the target in the axes of the body, and the equation holds for it exactly, up to
    half a turn. Without kd the damping is critical: kd = 2 sqrt(kp).
    """

    def __init__(
        self,
        robot: Robot,
        target: Target,
        kp: Gains,
        kd: Gains | None = None,
        *,
        passive: bool = True,
        smoothing: float = 0.01,
        period: float | None = None,
    ) -> None:
        self.robot, self.goal, self.period = robot, Goal(robot, target), sampled(period)
        self.goal.space.known()
        self.kp, self.kd = gains(robot, kp, kd, True)
        self.breaks = self.goal.breaks
        self.passive, self.smoothing = passive, smoothing

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """The joint forces."""
        goal, space = self.goal(t), self.goal.space
        e = space.difference(q, goal.q)
        a = space.feedback(e, np.asarray(v, float), goal.v, goal.a, self.kp, self.kd)
        tau = self.robot.inverse_dynamics(q, v, a)
        return tau - self.robot.passive_force(q, v, self.smoothing) if self.passive else tau


class FeedForward(Modelled):
    """The forces that the wanted motion needs, by inverse dynamics, and a PD for what is left.

    They depend on the trajectory alone, and could be computed before: nothing but the PD's part uses the state.
    """

    def __init__(
        self,
        robot: Robot,
        target: Target,
        kp: Gains,
        kd: Gains,
        *,
        passive: bool = True,
        smoothing: float = 0.01,
        period: float | None = None,
    ) -> None:
        self.robot, self.goal, self.period = robot, Goal(robot, target), sampled(period)
        self.kp, self.kd = gains(robot, kp, kd, False)
        self.breaks = self.goal.breaks
        self.passive, self.smoothing = passive, smoothing

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """The joint forces."""
        goal = self.goal(t)
        e, rate = self.goal.error(goal, q, v)
        tau = self.robot.inverse_dynamics(*goal)
        if self.passive:
            tau = tau - self.robot.passive_force(goal.q, goal.v, self.smoothing)
        return np.asarray(tau + self.kp * e + self.kd * rate)
