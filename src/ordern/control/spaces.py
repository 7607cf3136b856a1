"""Configuration spaces of motions: positions of a robot, and poses of a frame.

A space has points, and velocities of nv numbers. `difference` and `integrate` convert between points and velocities
along motions of constant velocity. The coordinates x of a point near another are in the exponential chart: the
constant velocity that reaches the point in a unit of time. Most joints are flat: x' is the velocity. For joints that
rotate a body in space or in a plane, `screws` relates x' to the velocity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import rotations
from ..arguments import Array, pose
from ..errors import ModelError
from ..joints import Continuous, Free, Joint, Planar, Spherical
from . import screws
from .arguments import of_robot, position

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Configurations", "Lines", "Poses", "Screws", "Space"]

_CURVED: dict[Any, tuple[int, ...]] = {
    Spherical.integrate: (0, 1, 2),
    Free.integrate: (0, 1, 2, 3, 4, 5),
    Planar.integrate: (2, 3, 4),
}
"""The functions by which curved joints integrate, and the places of their velocities among the six of a body."""


class Space(ABC):
    """Points and velocities. `curved` lists the velocities of rotating bodies, with their places among the six."""

    nv: int
    curved: tuple[tuple[slice, tuple[int, ...]], ...] = ()

    @abstractmethod
    def point(self, x: ArrayLike, what: str) -> Array:
        """Return a point given by the user, checked."""

    @abstractmethod
    def integrate(self, point: Array, x: Array) -> Array:
        """Return the points reached at the velocities x in a unit of time."""

    @abstractmethod
    def difference(self, a: Array, b: Array) -> Array:
        """Return the velocities that lead from points a to points b in a unit of time."""

    def known(self) -> None:  # noqa: B027, most spaces have only known charts
        """Raise if the chart of a joint is not known."""

    def motion(self, x: Array, dx: Array, ddx: Array) -> tuple[Array, Array]:
        """Return velocity and acceleration of a curve with coordinates x(t) in a chart."""
        v, a = dx.copy(), ddx.copy()
        for at, places in self.curved:
            X, dX, ddX = (_six(y[..., at], places) for y in (x, dx, ddx))
            B, dB = screws.rates(X), screws.rates_derivative(X, dX)
            v[..., at] = _times(B, dX)[..., places]
            a[..., at] = (_times(B, ddX) + _times(dB, dX))[..., places]
        return v, a

    def coordinates(self, x: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return x' and x'' at x, in a chart, of a curve with this velocity and acceleration."""
        dx, ddx = v.copy(), a.copy()
        for at, places in self.curved:
            X, V, A = (_six(y[..., at], places) for y in (x, v, a))
            B = screws.rates(X)
            dX = _solved(B, V)
            ddX = _solved(B, A - _times(screws.rates_derivative(X, dX), dX))
            dx[..., at], ddx[..., at] = dX[..., places], ddX[..., places]
        return dx, ddx

    def carried(self, e: Array, v: Array) -> Array:
        """Transport velocities v from the point at the coordinates e to the origin of the chart."""
        out = np.array(np.broadcast_to(v, np.broadcast_shapes(e.shape, v.shape)))
        for at, places in self.curved:
            E, V = (_six(np.broadcast_to(y, out.shape)[..., at], places) for y in (e, v))
            out[..., at] = _times(screws.carry(E), V)[..., places]
        return out

    def feedback(self, e: Array, v: Array, goal_v: Array, goal_a: Array, kp: Array, kd: Array) -> Array:
        """Return the acceleration for which e'' + kd e' + kp e = 0 holds exactly, with e = difference(here, goal).

        With goal = here exp(e), the goal's velocity is Ad(-e) v + B(e) e'. Its derivative gives the
        acceleration.
        """
        out: Array = goal_a + kd * (goal_v - v) + kp * e
        for at, places in self.curved:
            E, V, goal_V, goal_A = (
                _six(np.broadcast_to(y, out.shape)[..., at], places) for y in (e, v, goal_v, goal_a)
            )
            B, here = screws.rates(E), _times(screws.carry(-E), V)
            dE = _solved(B, goal_V - here)
            W = _times(B, dE)
            wanted = np.zeros_like(E)
            wanted[..., places] = kd[at] * dE[..., places] + kp[at] * E[..., places]
            A = goal_A + _times(screws.ad(W), here) - _times(screws.rates_derivative(E, dE), dE) + _times(B, wanted)
            out[..., at] = _times(screws.carry(E), A)[..., places]
        return out


def _six(x: Array, places: tuple[int, ...]) -> Array:
    out = np.zeros((*x.shape[:-1], 6))
    out[..., places] = x
    return out


def _times(A: Array, x: Array) -> Array:
    return np.asarray((A @ x[..., None])[..., 0])


def _solved(A: Array, b: Array) -> Array:
    return np.asarray(np.linalg.solve(A, b[..., None])[..., 0])


class Configurations(Space):
    """The positions of a robot."""

    def __init__(self, robot: Robot) -> None:
        of_robot(robot)
        self.robot, self.nv = robot, robot.nv
        curved: list[tuple[slice, tuple[int, ...]]] = []
        self.turning: list[tuple[int, int]] = []
        """The places in q and v of joints that may go on for several turns."""
        self.unknown: list[str] = []
        """The joints whose charts are not known."""
        for c in robot.independent:
            start, at = c.v_start, c.q_start
            for part, _ in c.type.serial_parts():
                if isinstance(part, Continuous):
                    self.turning.append((at, start))
                how: Any = type(part).integrate
                if how in _CURVED:
                    curved.append((slice(start, start + part.nv), _CURVED[how]))
                elif part.nv and how is not Joint.integrate:
                    self.unknown.append(c.name)
                start, at = start + part.nv, at + part.nq
        self.curved = tuple(curved)

    def known(self) -> None:
        """Raise if the chart of a joint is not known."""
        if self.unknown:
            raise ModelError(
                f"joint {self.unknown[0]!r} integrates in a way of its own, for which the accelerations of a general "
                "curve are not known; motions between two positions (cycloidal, minimum_jerk, trapezoidal) still are"
            )

    def point(self, x: ArrayLike, what: str) -> Array:
        """Return a position of the robot, checked."""
        return position(self.robot, x, what)

    def integrate(self, point: Array, x: Array) -> Array:
        """Return the positions reached at constant velocities."""
        return self.robot.integrate(point, x)

    def difference(self, a: Array, b: Array) -> Array:
        """Return the constant velocities from a to b; spherical joints take the short way, continuous ones do not.

        The positions of a trajectory are reached with all full turns: a wheel rolls as far as they say.
        """
        x = self.robot.difference(a, b)
        for q, v in self.turning:
            x[..., v] = b[..., q] - a[..., q]
        return x


class Poses(Space):
    """The poses of a frame."""

    nv = 6

    def point(self, x: ArrayLike, what: str) -> Array:
        """Return a pose, checked."""
        return pose(x, what)

    @abstractmethod
    def frame_motion(self, T: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return velocity and classical acceleration of the frame, (angular, linear), in the world's axes."""


class Screws(Poses):
    """Poses that move along screws: the velocity (angular, linear) is constant in the body's own axes."""

    curved = ((slice(0, 6), (0, 1, 2, 3, 4, 5)),)

    def integrate(self, point: Array, x: Array) -> Array:
        """Return the poses reached along screws."""
        return np.asarray(point @ rotations.exp_pose(x))

    def difference(self, a: Array, b: Array) -> Array:
        """Return the velocities of the screws from a to b."""
        return rotations.log_pose(rotations.inverse(a) @ b, check=False)

    def frame_motion(self, T: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return velocity and classical acceleration of the frame, (angular, linear), in the world's axes."""
        classical = np.concatenate([a[..., :3], a[..., 3:] + np.cross(v[..., :3], v[..., 3:])], axis=-1)
        R = T[..., :3, :3]
        return rotations.rotate(R, v), rotations.rotate(R, classical)


class Lines(Poses):
    """Poses whose origin moves along a straight line while they rotate about a fixed axis.

    Velocities are (angular in the frame's axes, linear in the world's axes).
    """

    curved = ((slice(0, 3), (0, 1, 2)),)

    def integrate(self, point: Array, x: Array) -> Array:
        """Return the poses reached along lines and rotations."""
        T = np.array(np.broadcast_to(point, (*np.broadcast_shapes(point.shape[:-2], x.shape[:-1]), 4, 4)))
        T[..., :3, :3] = T[..., :3, :3] @ rotations.exp(x[..., :3])
        T[..., :3, 3] += x[..., 3:]
        return T

    def difference(self, a: Array, b: Array) -> Array:
        """Return the rotation vectors from a to b, and the displacements of the origin."""
        turn = rotations.log(a[..., :3, :3].swapaxes(-1, -2) @ b[..., :3, :3], check=False)
        return np.concatenate([turn, b[..., :3, 3] - a[..., :3, 3]], axis=-1)

    def frame_motion(self, T: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return velocity and classical acceleration of the frame, (angular, linear), in the world's axes."""
        return self.world(T, v), self.world(T, a)

    def wrench(self, e: Array, v: Array, goal_v: Array, kp: Array, kd: Array) -> Array:
        """Return the force (moment in the frame's axes, force in the world's) of springs kp and dampers kd to a goal.

        Its power is that of kp e + kd e' along e'. So the springs have the energy kp e^2 / 2, and dampers take energy.
        """
        e, v, goal_v = np.broadcast_arrays(e, v, goal_v)
        [(at, places)] = self.curved
        E, V, goal_V = (_six(y[..., at], places) for y in (e, v, goal_v))
        B, C = screws.rates(E), screws.carry(E)
        rate = goal_v - v
        rate[..., at] = _solved(B, goal_V - _times(screws.carry(-E), V))[..., places]
        pull: Array = kp * e + kd * rate
        pull[..., at] = _times(C, _solved(B.swapaxes(-1, -2), _six(pull[..., at], places)))[..., places]
        return pull

    @staticmethod
    def world(T: Array, x: Array) -> Array:
        """Convert velocities of this space at poses T to (angular, linear) in the world's axes."""
        return np.concatenate([_times(T[..., :3, :3], x[..., :3]), x[..., 3:]], axis=-1)

    @staticmethod
    def own(T: Array, x: Array) -> Array:
        """Convert velocities (angular, linear) in the world's axes to velocities of this space at poses T."""
        return np.concatenate([_times(T[..., :3, :3].swapaxes(-1, -2), x[..., :3]), x[..., 3:]], axis=-1)
