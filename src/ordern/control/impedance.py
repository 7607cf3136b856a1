"""Control of a frame by an impedance: springs and dampers, without inertia shaping (Ott 2008)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array
from ..declared import explained_methods
from ..model import Frame
from .operational_space import OperationalSpace, six_gains

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Impedance"]


@explained_methods
class Impedance(OperationalSpace):
    """Let a frame yield to forces as if springs and dampers held it: an impedance, with the inertia that it has.

    With J the Jacobian of the task, L = (J M^-1 J^T)^-1 the inertia that the frame has, e the error of its pose, and
    u = null_kp (posture - q) - null_kd v the acceleration in the null space, as in `OperationalSpace`,

        tau = J^T (K e + D e' + L (x_d'' - J' v)) + N^T (M u) + C(q, v),

    so that L e'' + D e' + K e = -f for a force f on the frame (for rotations, e'' is the difference of the angular
    accelerations). No force sensor is needed, because the inertia stays as it is. `stiffness` K is in N m/rad and N/m,
    `damping` D in N m s/rad and N s/m: a number, or six, (angular, linear), along the axes of the frame for rotations
    and of the world for translations. The moment of the springs is the gradient of e^T K e / 2, with e the rotation
    vector to the target.

    Without `coriolis`, the terms J' v and C(q, v) - g(q) are left out: the robot keeps its own centrifugal and Coriolis
    forces. Then the controller is passive for a target at rest: the sum of kinetic energy and energy of the springs
    changes by the power of the dampers and of f only; a moving target is followed less accurately. In singular
    positions, the springs act along J^T as everywhere else; L is that of the directions below `heaviest`.
    """

    text: ClassVar[str] = "impedance force"

    def __init__(
        self,
        robot: Robot,
        frame: str | Frame,
        target: Any,
        stiffness: ArrayLike,
        damping: ArrayLike,
        *,
        task: str = "pose",
        posture: ArrayLike | None = None,
        null_kp: ArrayLike | Mapping[str, ArrayLike] = 0.0,
        null_kd: ArrayLike | Mapping[str, ArrayLike] | None = None,
        coriolis: bool = True,
        heaviest: float = 1e6,
        passive: bool = True,
        smoothing: float = 0.01,
        period: float | None = None,
    ) -> None:
        more: dict[str, Any] = {"posture": posture, "null_kp": null_kp, "null_kd": null_kd, "heaviest": heaviest}
        gains = six_gains(stiffness, "stiffness"), six_gains(damping, "damping")
        super().__init__(
            robot, frame, target, *gains, task=task, **more, passive=passive, smoothing=smoothing, period=period
        )
        self.coriolis = bool(coriolis)

    def wanted(self, t: float, q: Array, v: Array) -> Array:
        """Return the desired acceleration (angular, linear) of the frame without its error, in the world's axes."""
        return self._aim(t, q, v)[0]

    def _aim(self, t: Any, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the acceleration of the goal, and the force of springs and dampers, in the world's axes."""
        T, e, V, Vd, Ad, Td = self._errors(t, q, v)
        wrench = self.poses.wrench(e, V, Vd, self.kp, self.kd)
        return np.broadcast_to(self.poses.world(Td, Ad), e.shape), self.poses.world(T, wrench)
