"""Controllers of positions: PD, gravity compensation, computed torque, feed-forward.

All of them act only on the joints that have motors, `robot.actuated`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ..declared import explained_methods
from .arguments import freedoms
from .controller import Aimed, Goal, Modelled, Target, gains, sampled
from .drives import Drives
from .machines import Numbers

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["PD", "ComputedTorque", "FeedForward", "GravityCompensation"]

Gains = ArrayLike | Mapping[str, ArrayLike]
"""A number, nv numbers, or a dictionary by joint names; joints without an entry get zero."""


@explained_methods
class PD(Aimed):
    """tau = kp e + kd e', with e the error of position to a target or a trajectory, and e' the error of velocity.

    `gravity` adds the forces that hold the robot where it is: see `GravityCompensation`. Joints without motors get no
    force.
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
        self.breaks, self.drives = self.goal.breaks, Drives(robot)

    def _law(self, m: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        e, rate = self.goal.error(m, q, v)
        tau = self.drives.only(m, self.kp * e + self.kd * rate)
        return tau + self.drives.gravity(m, q) if self.gravity else tau


@explained_methods
class GravityCompensation(Modelled):
    """tau = gravity_force(q) - damping v: the robot rests in any position, and can be moved by hand.

    In a robot with loops, tau are the forces of the motors alone. If some joints have no motors, tau are the entries of
    the other joints: the robot rests if external forces hold the joints without motors, as the ground holds the
    floating base of a legged robot.
    """

    def __init__(self, robot: Robot, damping: Gains = 0.0, *, period: float | None = None) -> None:
        self.drives = Drives(robot)
        self.robot, self.damping, self.period = robot, freedoms(robot, damping, "damping"), sampled(period)

    def _law(self, m: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        return self.drives.gravity(m, q) - self.drives.only(m, self.damping * v)


@explained_methods
class ComputedTorque(Aimed):
    """Inverse dynamics with feedback: the error obeys e'' + kd e' + kp e = 0 for any robot.

    tau = inverse_dynamics(q, v, a) minus the passive forces of damping, friction and springs. The acceleration is
    a = a_d + kd (v_d - v) + kp e where positions are plain numbers. For spherical, free and planar joints, e is the
    rotation vector (or screw) to the target in the axes of the body, and the equation holds exactly, up to half a turn.
    Without kd the damping is critical: kd = 2 sqrt(kp).

    Every freedom needs a motor; a floating base is an error. In a robot with loops, the equation holds for the joints
    with motors, and the loops move the others. With more motors than freedoms, it holds in least squares.
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
        self.breaks, self.drives = self.goal.breaks, Drives(robot)
        self.drives.require("ComputedTorque", self.goal(0.0).q if robot.nc else None)
        self.passive, self.smoothing = passive, smoothing

    def _law(self, m: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        wanted = m.goal(self.goal)
        e = m.call(self.robot, "difference", q, wanted.q)
        a = m.feedback(self.goal, e, v, wanted, self.kp, self.kd)
        passive = self.drives.passive(m, q, v, self.smoothing) if self.passive else None
        return self.drives.forces(m, q, v, self.drives.reached(m, q, v, a), passive)


@explained_methods
class FeedForward(Aimed):
    """The forces of the desired motion, by inverse dynamics, plus a PD controller of the remaining error.

    The inverse dynamics depends on the trajectory alone, not on the state. It gives forces of the motors; a motion that
    the motors cannot cause is an error.
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
        self.breaks, self.drives = self.goal.breaks, Drives(robot)
        self.passive, self.smoothing = passive, smoothing
        if not self.drives.whole:
            self._forward(Numbers(0.0))  # refuse a motion that the motors cannot cause before it begins

    def _law(self, m: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        e, rate = self.goal.error(m, q, v)
        return self._forward(m) + self.drives.only(m, self.kp * e + self.kd * rate)

    def _forward(self, m: Any) -> Any:
        """Return the forces of the desired motion."""
        goal = m.goal(self.goal)
        passive = self.drives.passive(m, goal.q, goal.v, self.smoothing) if self.passive else None
        return self.drives.forces(m, goal.q, goal.v, goal.a, passive, check=True)
