"""Checks of a motion: limits of joints and motors, closed loops, velocities that match positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from ..errors import ArgumentError, LoopError
from ..loops.kernels import worst_loop
from ..records import dataclass
from .arguments import freedom_name, require_same_joints
from .closing import loop_functions
from .drives import Drives
from .machines import Numbers
from .trajectory import Trajectory

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Exceeded", "check", "exceeded"]

_ROUNDING = 1e-9
_OPEN = 1e-9
"""Loops count as closed below this, in rad and m."""
_OPENS = 1e-6
"""Velocities and accelerations keep loops closed if they open them by less than this part of their terms."""
_STEP, _UNLIKE = 1e-5, 1e-3
"""The step of a finite difference, relative to the duration, and its largest error, relative to the velocity."""

_LIMIT = "joint {joint!r} exceeds its {kind} limit at t = {time:.6g} s: {value:.6g} instead of {limit:.6g}"
_MESSAGES = {
    "position": f"{_LIMIT} rad or m",
    "velocity": f"{_LIMIT} rad/s or m/s",
    "effort": f"{_LIMIT} N m or N",
    "loop": "loop {joint!r} is open by {value:.3g} rad or m at t = {time:.6g} s",
    "loop velocity": "the velocities open loop {joint!r} by {value:.3g} rad/s or m/s at t = {time:.6g} s",
    "loop acceleration": "the accelerations open loop {joint!r} by {value:.3g} rad/s^2 or m/s^2 at t = {time:.6g} s",
    "rate": "the velocity of joint {joint!r} is {value:.6g} at t = {time:.6g} s, but its position changes by "
    "{limit:.6g} per second",
    "motor": "no forces of the motors ({joint}) cause the motion at t = {time:.6g} s",
}
"""The message for each kind of excess."""


@dataclass(frozen=True)
class Exceeded:
    """A limit that a motion exceeds: the joint, the quantity, the worst time, the value then, and the limit."""

    joint: str
    """The name of the joint, or of the loop that opens."""
    kind: str
    """"position", "velocity" or "effort"; "loop", "loop velocity" or "loop acceleration" of a loop that opens; "rate"
    of a velocity that is not the rate of its position; "motor" of a motion that the motors cannot cause."""
    time: float
    value: float
    limit: float

    def __str__(self) -> str:
        return _MESSAGES[self.kind].format(**asdict(self))


def check(trajectory: Trajectory, robot: Robot, samples: int) -> tuple[Exceeded, ...]:
    """Return the limits that a motion exceeds at any of `samples` equal times, or where its acceleration jumps."""
    require_same_joints(robot, trajectory.robot, "the trajectory is of another robot")
    if samples < 2:
        raise ArgumentError(f"samples must be at least 2, not {samples}")
    breaks = np.array(trajectory.breaks)
    t = np.concatenate([np.linspace(0.0, trajectory.duration, samples), breaks, breaks])
    after = trajectory._motion(t[: samples + len(breaks)], False)
    before = trajectory._motion(breaks, True)
    q, v, a = (np.concatenate([x, y]) for x, y in zip(after, before, strict=True))
    return (*opened(robot, t, q, v, a), *_unlike_rates(trajectory, robot, samples), *_efforts(robot, t, q, v, a))


def _efforts(robot: Robot, t: Array, q: Array, v: Array, a: Array) -> Iterator[Exceeded]:
    """Yield the limits that the motion exceeds; in a robot with loops, only motors have efforts.

    A floating base is assumed to be moved by external forces.
    """
    drives = Drives(robot)
    if not drives.looped:
        tau = robot.inverse_dynamics(q, v, a) - robot.passive_force(q, v)
    else:
        passive = drives.passive(Numbers(t), q, v, 0.01)
        try:
            tau = drives.forces(Numbers(t), q, v, a, passive, held=drives.held)
        except LoopError:
            tau = np.zeros(v.shape)
            for k in range(len(t)):  # to find out when
                try:
                    tau[k] = drives.forces(Numbers(t[k]), q[k], v[k], a[k], passive[k], held=drives.held)
                except LoopError:
                    yield Exceeded(", ".join(robot.actuated), "motor", float(t[k]), np.nan, np.nan)
                    break
    yield from exceeded(robot, t, q, v, tau)


def opened(robot: Robot, t: Array, q: Array, v: Array, a: Array) -> Iterator[Exceeded]:
    """Yield the loops that samples of a motion open by positions, velocities or accelerations, each at its worst."""
    if not robot.nc:
        return
    evaluate = loop_functions(robot)
    K, k = evaluate("loop_jacobian", q, t=t), evaluate("loop_bias", q, v, t=t)
    sizes = [1.0 + (np.abs(K) @ np.abs(x)[..., None])[..., 0].max(axis=-1) for x in (v, a)]
    for kind, rows, most in (
        ("loop", evaluate("loop_residual", q, t=t), np.full(len(t), _OPEN)),
        ("loop velocity", evaluate("loop_rate", q, v, t=t), _OPENS * sizes[0]),
        ("loop acceleration", (K @ a[..., None])[..., 0] + k, _OPENS * (sizes[1] + np.abs(k).max(axis=-1))),
    ):
        over = np.abs(rows).max(axis=-1) / most
        i = int(np.argmax(over))
        if over[i] > 1.0:
            name, off = worst_loop(robot, rows[i])
            yield Exceeded(name, kind, float(t[i]), off, float(most[i]))


def _unlike_rates(trajectory: Trajectory, robot: Robot, samples: int) -> Iterator[Exceeded]:
    """Yield the worst velocity that is not the rate of its position, at a few of the times, away from breaks."""
    h = _STEP * trajectory.duration
    t = np.linspace(0.0, trajectory.duration, max(3, samples // 8))[1:-1]
    t = t[[all(abs(x - b) > 2.0 * h for b in trajectory.breaks) for x in t]]
    if not t.size or not robot.nv:
        return
    (q, v, _), ahead, behind = (trajectory._motion(x, False) for x in (t, t + h, t - h))
    rate = (robot.difference(q, ahead.q) - robot.difference(q, behind.q)) / (2.0 * h)
    off = np.abs(rate - v)
    i, j = np.unravel_index(np.argmax(off), off.shape)
    if off[i, j] > _UNLIKE * np.abs(v).max() + 1e-6:
        yield Exceeded(freedom_name(robot, int(j)), "rate", float(t[i]), float(v[i, j]), float(rate[i, j]))


def exceeded(robot: Robot, t: Array, q: Array, v: Array, tau: Array) -> Iterator[Exceeded]:
    """Yield the limits that samples of a motion and of its joint forces exceed: joint by joint, each at its worst."""
    for c in robot.joints:
        ratio, offset = (c.mimic.ratio, c.mimic.offset) if c.mimic else (1.0, 0.0)
        speed, effort = np.array(c.velocity_limit), np.array(c.effort_limit)
        yield from _worst(c.name, "position", t, ratio * q[:, c.q] + offset, np.array(c.lower), np.array(c.upper))
        yield from _worst(c.name, "velocity", t, ratio * v[:, c.v], -speed, speed)
        if c.mimic is None:
            yield from _worst(c.name, "effort", t, tau[:, c.v], -effort, effort)


def _worst(joint: str, kind: str, t: Array, x: Array, lower: Array, upper: Array) -> Iterator[Exceeded]:
    if not x.size:
        return
    over = np.maximum(x - upper, lower - x)
    k, j = np.unravel_index(np.argmax(over), over.shape)
    limit = float(upper[j] if x[k, j] > upper[j] else lower[j])
    if over[k, j] > _ROUNDING * max(1.0, abs(limit)):
        yield Exceeded(joint, kind, float(t[k]), float(x[k, j]), limit)
