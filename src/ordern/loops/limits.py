"""Limits of joints that close loops: their coordinates, and how these depend on the tree's velocities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..joints import Joint
from ..joints.limitable import own_rates
from ..model import TracedLoop
from ..model.poses import motion_subspace, stacked_motion
from ..records import dataclass
from ..rotations import rotate
from ..spatial import Freedoms
from .coordinates import between, nearest_coordinates
from .kernels import Array

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["CutLimits", "LimitedCoordinate", "limited_coordinates", "loop_positions", "velocity_bias", "velocity_rows"]


@dataclass(frozen=True, slots=True)
class LimitedCoordinate:
    """A coordinate with limits of a joint that closes a loop."""

    loop: str
    index: int
    """Its index among the joint's coordinates."""
    q: int
    """Its index among the coordinates of all joints that close loops."""
    v: int
    """The index of its rate among their velocities; -1 if its rate is not a velocity."""
    lower: float
    upper: float


def limited_coordinates(robot: Robot) -> tuple[LimitedCoordinate, ...]:
    """Return the coordinates with limits of all loops that are closed."""
    found = []
    for x in robot.loop_table.loops:
        rates = own_rates(x.type) if x.loop.nq and isinstance(x.type, Joint) else []
        for k, rate in enumerate(rates):
            low, high = x.loop.lower[k], x.loop.upper[k]
            if math.isfinite(low) or math.isfinite(high):
                v = x.v.start + rate if rate >= 0 else -1
                found.append(LimitedCoordinate(x.loop.name, k, x.q.start + k, v, low, high))
    return tuple(found)


def loop_positions(robot: Robot, q: Array) -> Array:
    """Return coordinates (..., n) of joints that close loops; angles are within half a turn of the middle of limits."""
    found = np.array(nearest_coordinates(robot, q))
    for x in robot.loop_table.loops:
        for k in x.loop.angles:
            middle = _middle(x, k)
            if math.isfinite(middle):
                at = found[..., x.q.start + k]
                found[..., x.q.start + k] = middle + np.remainder(at - middle + math.pi, 2.0 * math.pi) - math.pi
    return found


def velocity_rows(robot: Robot, q: Array, which: list[int]) -> Array:
    """Return the Jacobian (..., k, nv) of some velocities of joints that close loops."""
    along = np.zeros((len(which), robot.loop_table.nv))
    along[np.arange(len(which)), which] = 1.0
    return robot.loop_force(q[..., None, :], along)


def velocity_bias(robot: Robot, q: Array, v: Array, x: TracedLoop) -> Array:
    """Return the rate of the velocities of a joint that closes a loop, while the tree's velocities are constant.

    With V = S v_l the child's velocity relative to the parent, and u the parent's velocity, both in the child's frame:

        dv_l/dt = (S^T S)^-1 S^T (a_c - X a_f + V x u - (bias)),    V = v_c - u,    u = X v_f
    """
    joint = x.type
    assert isinstance(joint, Joint)
    still = np.zeros(np.shape(v))
    (P, v_f, a_f), (C, v_c, a_c) = (
        (robot.pose(q, f), robot.velocity(q, v, f), robot.acceleration(q, v, still, f, kind="spatial"))
        for f in (x.parent.frame, x.child.frame)
    )
    turn, to = between(C, P)
    u, carried = (_seen(turn, to, m) for m in (v_f, a_f))
    V = v_c - u
    A = a_c - carried + _crossed(V, u)
    at = nearest_coordinates(robot, q)[..., x.q]
    inverse = np.linalg.pinv(motion_subspace(joint, at))
    along = (inverse @ V[..., None])[..., 0]
    own = joint.bias(*(Freedoms(np.moveaxis(y, -1, 0)) for y in (at, along)))
    return np.asarray((inverse @ (A - stacked_motion(own, V.shape[:-1]))[..., None])[..., 0])


class CutLimits:
    """The limits of joints that close loops, for states q (n, nq) and m coordinates with limits."""

    def __init__(self, robot: Robot, respected: bool) -> None:
        self.robot = robot
        self.found = tuple(x for x in limited_coordinates(robot) if x.v >= 0) if respected else ()
        self._q, self._v = np.array([x.q for x in self.found], int), [x.v for x in self.found]
        self.lower, self.upper = (np.array([getattr(x, k) for x in self.found]) for k in ("lower", "upper"))

    def at(self, q: Array) -> Array:
        """Return the coordinates (n, m)."""
        return loop_positions(self.robot, q)[..., self._q] if self.found else np.zeros((len(q), 0))

    def rows(self, q: Array) -> Array:
        """Return the Jacobian (n, m, nv) of the coordinates."""
        return velocity_rows(self.robot, q, self._v) if self.found else np.zeros((len(q), 0, self.robot.nv))

    def beyond(self, c: Array) -> Array:
        """Return how far coordinates are above (positive) or below (negative) their limits, (n, m); zero within."""
        return np.asarray(c - np.clip(c, self.lower, self.upper))

    def nearest(self, c: Array) -> Array:
        """Return the limit that each coordinate is beyond, (n, m); NaN where it is within."""
        return np.where(c > self.upper, self.upper, np.where(c < self.lower, self.lower, np.nan))


def _seen(turn: Array, to: Array, m: Array) -> Array:
    """Return a motion (..., 6) in another frame: `turn` leads to its axes, `to` is the old origin in it."""
    turned = rotate(turn, m)
    turned[..., 3:] += np.cross(to, turned[..., :3])
    return turned


def _crossed(a: Array, b: Array) -> Array:
    """Return the cross product of motions (..., 6)."""
    linear = np.cross(a[..., :3], b[..., 3:]) + np.cross(a[..., 3:], b[..., :3])
    return np.concatenate([np.cross(a[..., :3], b[..., :3]), linear], axis=-1)


def _middle(x: TracedLoop, k: int) -> float:
    """Return the middle of an angle's limits: a quarter of a turn inside a single limit, infinite without limits."""
    low, high = x.loop.lower[k], x.loop.upper[k]
    if math.isfinite(low):
        return 0.5 * (low + high) if math.isfinite(high) else low + 0.5 * math.pi
    return high - 0.5 * math.pi
