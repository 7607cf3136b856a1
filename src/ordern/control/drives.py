"""Forces of the motors: the only joint forces that a controller may use.

Functions that are part of a control law take the machine `m` that computes it (see `machines`).

Let g be the joint forces that a motion needs. In a robot with loops, forces tau of the motors, which are zero at all
other joints, have the same effect as g if N^T tau = N^T g for all motions N that the loops allow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array
from ..errors import ArgumentError, LoopError
from ..joints import Free
from ..loops.inverse import actuation
from ..loops.mobility import joint_parts, null_motions
from ..model import BASE
from .arguments import of_robot
from .closing import loop_functions

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Drives"]


class Drives:
    """The motors of a robot, and the joint forces that they can produce."""

    def __init__(self, robot: Robot) -> None:
        of_robot(robot)
        self.robot, self.looped = robot, bool(robot.nc)
        self.at = np.zeros(robot.nv, bool)
        for name in robot.actuated:
            self.at[robot.joint(name).v] = True
        self.everywhere = bool(self.at.all())
        self.whole = self.everywhere and not self.looped
        """True if every joint has a motor and the robot has no loops."""
        self.passive_loops = robot.passive_question == "all_passive_force"
        self.timed = robot.loop_table.timed
        self.ask = loop_functions(robot)
        self.held = self._floating()

    def _floating(self) -> Array:
        """Return (nv,) which velocities are of floating bases: free joints without motors that no loop constrains."""
        robot = self.robot
        found = np.zeros(robot.nv, bool)
        loose = [
            c for c in robot.independent if isinstance(c.type, Free) and c.parent == BASE and not self.at[c.v].any()
        ]
        if not loose or not self.looped:
            return found
        K = self.ask("loop_jacobian", robot.random(0), t=0.0)
        for c in loose:
            found[c.v] = not np.abs(K[:, c.v]).max(initial=0.0) > 1e-9
        return found

    @property
    def without(self) -> list[str]:
        """The names of the joints that have no motor."""
        return [c.name for c in self.robot.independent if c.nv and not self.at[c.v].any()]

    def only(self, m: Any, tau: Any) -> Any:
        """Return joint forces with zeros at joints without a motor."""
        return tau if self.everywhere else m.only(self.at, tau)

    def require(self, who: str, q: Array | None = None) -> None:
        """Raise unless the motors can cause every motion; in a robot with loops, at the position q."""
        robot = self.robot
        if not self.looped and not self.whole:
            raise ArgumentError(self._refusal(who, f"a motor at every joint, but {_some(self.without)}"))
        if self.held.any():
            base = [c.name for c in robot.independent if self.held[c.v].any()]
            raise ArgumentError(self._refusal(who, f"motors for all freedoms, but {_some(base)}"))
        if q is None or not self.looped:
            return
        K = self.ask("loop_jacobian", q[None], t=np.zeros(1))
        N = null_motions(K)[1][0]
        U, s, _ = np.linalg.svd(N[self.at].T, full_matrices=True)
        r = int((s > 1e-9).sum())
        if r < N.shape[1]:
            raise ArgumentError(
                f"{who} needs motors for all {N.shape[1]} freedoms of {robot.name!r}, but its actuated joints "
                f"({', '.join(robot.actuated) or 'none'}) drive {r}; the motion {joint_parts(robot, N @ U[:, r])} has "
                "none. If there are other motors, say so: robot.with_actuated([...])"
            )

    def _refusal(self, who: str, needs: str) -> str:
        return (
            f"{who} needs {needs} of {self.robot.name!r} has none: no forces of the others make such a motion. Use "
            "PD(..., gravity=True), which pushes the joints that have motors; or, if there are more motors, say so: "
            "robot.with_actuated([...])"
        )

    def forces(
        self, m: Any, q: Any, v: Any, a: Any, passive: Any, *, check: bool = False, held: Array | None = None
    ) -> Any:
        """Return the forces of the motors that cause a motion; raise, with the joints, if they cannot.

        Velocities that are `held` (nv,) are those of a floating base, on which external forces act.
        """
        if self.whole:
            tau = m.call(self.robot, "inverse_dynamics", q, v, a)
            return tau if passive is None else tau - passive
        t = m.t  # only machines that compute with numbers know it
        time = t if self.timed else None
        return actuation(self.robot, q, v, a, self.robot.actuated, t=time, check=check, given=passive, held=held).tau

    def passive(self, m: Any, q: Any, v: Any, smoothing: float) -> Any:
        """Return the joint forces of damping, friction and springs, those in loops included."""
        tau = m.call(self.robot, "passive_force", q, v, smoothing)
        return tau + self.robot.loop_passive_force(q, v, smoothing) if self.passive_loops else tau

    def gravity(self, m: Any, q: Any) -> Any:
        """Return the forces of the motors that hold the robot at rest; external forces hold a floating base."""
        if not self.looped:
            return self.only(m, m.call(self.robot, "gravity_force", q))
        still = np.zeros(self.robot.nv)
        return self.forces(m, q, still, still, None, held=self.held)

    def reached(self, m: Any, q: Any, v: Any, wanted: Any) -> Any:
        """Return the accelerations that keep loops closed, with those of the motorised joints as wanted.

        With more motors than freedoms, the accelerations are the closest ones, in least squares.
        """
        if not self.looped:
            return wanted
        a, N = self.allowed(q, v, m.t)
        rest = (wanted - a)[..., self.at]
        for i in np.ndindex(a.shape[:-1]):
            n = N[i]
            x, _, rank, _ = np.linalg.lstsq(n[self.at], rest[i], rcond=1e-9)
            if rank < n.shape[1]:
                raise LoopError(
                    f"{self.robot.name!r} is in a position in which its actuated joints "
                    f"({', '.join(self.robot.actuated)}) move {rank} of its {n.shape[1]} freedoms: their accelerations "
                    "do not determine those of the others"
                )
            a[i] += n @ x
        return a

    def allowed(self, q: Array, v: Array, t: float) -> tuple[Array, Any]:
        """Return accelerations (..., nv) that keep loops closed, and an array of matrices N of allowed motions."""
        K, k = self.ask("loop_jacobian", q, t=t), self.ask("loop_bias", q, v, t=t)
        a = np.array(-(np.linalg.pinv(K, rcond=1e-9) @ k[..., None])[..., 0])
        N = np.empty(a.shape[:-1], object)
        found = null_motions(np.broadcast_to(K, (*a.shape[:-1], *K.shape[-2:])).reshape(-1, *K.shape[-2:]))[1]
        for i, n in zip(np.ndindex(a.shape[:-1]), found, strict=True):
            N[i] = n
        return a, N


def _some(names: list[str]) -> str:
    listed = ", ".join(repr(name) for name in names[:5])
    return listed + (f", ... ({len(names)} in all)" if names[5:] else "")
