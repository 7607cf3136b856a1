"""The protocol of controllers, and the base of those in the library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array, positive
from ..declared import explained_methods
from ..errors import ArgumentError
from .arguments import freedoms, position, require_same_joints
from .machines import Numbers
from .spaces import Configurations
from .trajectory import Motion, Trajectory

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Aimed", "Controller", "Goal", "Modelled", "Target", "Written", "desired", "gains", "sampled"]

Target = ArrayLike | Trajectory | Callable[[float], Any]
"""A goal: a position, a trajectory, or a function of time that returns (q, v, a)."""


@explained_methods
class Controller(ABC):
    """Joint forces from time and state: `controller(t, q, v)` returns tau, of shape (..., nv).

    A controller of your own is a class with this one function. `robot.simulate(tau=controller)` first calls `start`,
    then the function, whenever the integrator needs a force: not in the order of time, and also for states that the
    integrator rejects later. A controller with a state of its own (an integral, a filter) must therefore be sampled:
    with a `period`, it is called once at each multiple of the period, in order, and its force holds until the next.

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
        """Prepare for a simulation of the robot: raise if the robot does not fit, and reset the controller."""

    def reference(self, t: float) -> Any:
        """Return the desired motion (q, v, a) at a time, or None for a controller without one.

        If a controller of yours returns one, the result of a simulation has its series: see `Result.extra`.
        """
        return None

    def jacobian(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the derivatives of the joint forces by the numbers of q, (nv, nq), and by v, (nv, nv), at one state.

        Derivatives of simulations need them. The library's controllers of joints have them, for trees whose positions
        are plain numbers.
        """
        raise ArgumentError(
            f"the derivatives of {type(self).__name__} are not known: give it a method jacobian(t, q, v) that returns "
            "those of its forces by the numbers of q, (nv, nq), and by v, (nv, nv)"
        )

    @abstractmethod
    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return the joint forces tau at a time and a state."""


@explained_methods
class Written(Controller):
    """A controller whose law is a text for two machines: `Numbers` computes it here, and compiled time loops record it.

    Time loops record only the laws of the library's own classes. A subclass is called as any function is.
    """

    @abstractmethod
    def _law(self, m: Any, q: Any, v: Any) -> Any:
        """Return the joint forces, by the operations of a machine."""

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return the joint forces."""
        return np.asarray(self._law(Numbers(t), np.asarray(q, float), np.asarray(v, float)))

    def jacobian(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the derivatives of the law; a class of your own, which may change the law, has its own ones."""
        from .moving_law import law_jacobian

        if not type(self).__module__.startswith("ordern.control."):
            return super().jacobian(t, q, v)
        return law_jacobian(self, t, q, v)


@explained_methods
class Modelled(Written):
    """A controller with a model of the robot; the controlled robot may have other masses, but has the same joints."""

    robot: Robot

    def start(self, robot: Robot) -> None:
        """Raise unless the robot has the model's joints."""
        require_same_joints(self.robot, robot, f"{type(self).__name__} was made for another robot")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.robot.name!r}>"


class Goal:
    """The desired position, velocity and acceleration at each time."""

    def __init__(self, robot: Robot, target: Target) -> None:
        self.space = Configurations(robot)
        self.robot, self.nq, self.nv = robot, robot.nq, robot.nv
        self.fixed: Motion | None = None
        if isinstance(target, Trajectory):
            require_same_joints(robot, target.robot, "the target is a trajectory of another robot")
        elif not callable(target):
            zero = np.zeros(self.nv)
            self.fixed = Motion(position(robot, target, "target"), zero, zero)
        self.target: Any = target

    @property
    def breaks(self) -> tuple[float, ...]:
        """The times at which the desired acceleration may jump."""
        return (*self.target.breaks, self.target.duration) if isinstance(self.target, Trajectory) else ()

    def __call__(self, t: float) -> Motion:
        """Return the desired position, velocity and acceleration."""
        if self.fixed is not None:
            return self.fixed
        found = self.target(t)
        return Motion(*found) if isinstance(self.target, Trajectory) else desired(self.robot, "the target", found, t)

    def error(self, m: Any, q: Any, v: Any) -> tuple[Any, Any]:
        """Return the errors of position and of velocity, in the axes of the actual position."""
        motion = m.goal(self)
        e = m.call(self.robot, "difference", q, motion.q)
        return e, m.carried(self, e, motion.v) - v


@explained_methods
class Aimed(Modelled):
    """A controller of joint positions that has a goal."""

    goal: Goal

    def reference(self, t: float) -> Motion:
        """Return the desired position, velocity and acceleration at a time."""
        return self.goal(t)


def desired(robot: Robot, what: str, found: Any, t: float) -> Motion:
    """Return the desired motion that a function of the user returned, checked."""
    try:
        q, v, a = found
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} must return (q, v, a); at t = {t:g} it returned {found!r}") from None
    each = zip(("q", "v", "a"), (q, v, a), (robot.nq, robot.nv, robot.nv), strict=True)
    return Motion(*(array(x, (n,), f"{name} of {what} at t = {t:g}") for name, x, n in each))


def gains(
    robot: Robot, kp: ArrayLike | Mapping[str, ArrayLike], kd: ArrayLike | Mapping[str, ArrayLike] | None, inertia: bool
) -> tuple[Array, Array]:
    """Return kp and kd for each velocity; a missing kd gives critical damping for a unit of inertia."""
    stiff = freedoms(robot, kp, "kp")
    if kd is None:
        if not inertia:
            raise ArgumentError("give kd, the gain of the velocity: how much damping is right depends on the inertia")
        return stiff, 2.0 * np.sqrt(stiff)
    return stiff, freedoms(robot, kd, "kd")


def sampled(period: float | None) -> float | None:
    """Return a period, checked; None stays None."""
    return None if period is None else positive(period, "period")
