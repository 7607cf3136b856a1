"""What a controller is: the protocol for one's own, and what the library's have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array, positive
from ..errors import ArgumentError
from .arguments import freedoms, position, unlike
from .spaces import Configurations
from .trajectory import Motion, Trajectory

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Controller", "Goal", "Modelled", "Target", "gains", "sampled"]

Target = ArrayLike | Trajectory | Callable[[float], Any]
"""Where to go: a position, a trajectory, or a function of time that returns (q, v, a)."""


class Controller(ABC):
    """Joint forces from time and state: `controller(t, q, v)` returns tau, of shape (..., nv).

    A controller of your own is a class with this one function; `robot.simulate(tau=controller)` calls `start` first,
    and then the function, as often as the integrator asks: also for states that it rejects later, and not in the order
    of time. A controller that keeps a state of its own (an integral, a filter) must therefore be sampled: with a
    `period`, it is called once at each multiple of it, in order, and its force holds until the next.

    >>> import numpy as np, ordern as on
    >>> class Brake(on.controllers.Controller):
    ...     def __call__(self, t, q, v):
    ...         return -2.0 * np.asarray(v)
    >>> Brake()(0.0, [0.0], [1.5])
    array([-3.])
    """

    period: float | None = None
    """Seconds between samples, or None: continuous."""
    breaks: tuple[float, ...] = ()
    """Times at which the forces jump, if they are known: no step of an integrator crosses one."""

    def start(self, robot: Robot) -> None:  # noqa: B027, most have nothing to prepare
        """Called before a simulation of the robot: raise if it is not one to be controlled, and forget the past."""

    @abstractmethod
    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """The joint forces tau at a time and a state."""


class Modelled(Controller):
    """A controller that knows a model of the robot; the robot that it controls may be a little different."""

    robot: Robot

    def start(self, robot: Robot) -> None:
        """Raise unless the robot has the model's joints."""
        why = unlike(self.robot, robot)
        if why:
            raise ArgumentError(f"{type(self).__name__} was made for another robot: {why}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.robot.name!r}>"


class Goal:
    """Where a robot should be: position, velocity and acceleration at each time."""

    def __init__(self, robot: Robot, target: Target) -> None:
        self.space = Configurations(robot)
        self.robot, self.nq, self.nv = robot, robot.nq, robot.nv
        self.fixed: Motion | None = None
        if isinstance(target, Trajectory):
            why = unlike(robot, target.robot)
            if why:
                raise ArgumentError(f"the target is a trajectory of another robot: {why}")
        elif not callable(target):
            zero = np.zeros(self.nv)
            self.fixed = Motion(position(robot, target, "target"), zero, zero)
        self.target: Any = target

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times at which the wanted acceleration may jump."""
        return (*self.target.breaks, self.target.duration) if isinstance(self.target, Trajectory) else ()

    def __call__(self, t: float) -> Motion:
        """The wanted position, velocity and acceleration."""
        if self.fixed is not None:
            return self.fixed
        found = self.target(t)
        if isinstance(self.target, Trajectory):
            return Motion(*found)
        try:
            q, v, a = found
        except (TypeError, ValueError):
            raise ArgumentError(f"the target must return (q, v, a); at t = {t:g} it returned {found!r}") from None
        each = zip(("q", "v", "a"), (q, v, a), (self.nq, self.nv, self.nv), strict=True)
        return Motion(*(array(x, (n,), f"{name} of the target at t = {t:g}") for name, x, n in each))

    def error(self, motion: Motion, q: Array, v: Array) -> tuple[Array, Array]:
        """From the state to the wanted one: difference of positions, and of velocities in the axes of where it is."""
        e = self.space.difference(q, motion.q)
        return e, self.space.carried(e, motion.v) - v


def gains(
    robot: Robot, kp: ArrayLike | Mapping[str, ArrayLike], kd: ArrayLike | Mapping[str, ArrayLike] | None, inertia: bool
) -> tuple[Array, Array]:
    """Gains for each freedom; a missing kd is critical for a unit of inertia."""
    stiff = freedoms(robot, kp, "kp")
    if kd is None:
        if not inertia:
            raise ArgumentError("give kd, the gain of the velocity: how much damping is right depends on the inertia")
        return stiff, 2.0 * np.sqrt(stiff)
    return stiff, freedoms(robot, kd, "kd")


def sampled(period: float | None) -> float | None:
    """A period, checked."""
    return None if period is None else positive(period, "period")
