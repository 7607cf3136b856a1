"""Does a motion keep the limits of a robot?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ArgumentError
from ..records import dataclass
from .arguments import Array, unlike
from .trajectory import Trajectory

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Exceeded", "check", "exceeded"]

_UNITS = {"position": "rad or m", "velocity": "rad/s or m/s", "effort": "N m or N"}
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Exceeded:
    """A limit that a motion exceeds: of which joint, which quantity, when it is worst, and by how much."""

    joint: str
    kind: str
    """"position", "velocity" or "effort"."""
    time: float
    value: float
    limit: float

    def __str__(self) -> str:
        return (
            f"joint {self.joint!r} exceeds its {self.kind} limit at t = {self.time:.6g} s: {self.value:.6g} instead of "
            f"{self.limit:.6g} {_UNITS[self.kind]}"
        )


def check(trajectory: Trajectory, robot: Robot, samples: int) -> tuple[Exceeded, ...]:
    """The limits that a motion exceeds at some of so many times, or where its acceleration jumps."""
    why = unlike(robot, trajectory.robot)
    if why:
        raise ArgumentError(f"the trajectory is that of another robot: {why}")
    if samples < 2:
        raise ArgumentError(f"samples must be at least 2, not {samples}")
    breaks = np.array(trajectory.breaks)
    t = np.concatenate([np.linspace(0.0, trajectory.duration, samples), breaks, breaks])
    after = trajectory._motion(t[: samples + len(breaks)], False)
    before = trajectory._motion(breaks, True)
    q, v, a = (np.concatenate([x, y]) for x, y in zip(after, before, strict=True))
    tau = robot.inverse_dynamics(q, v, a) - robot.passive_force(q, v)
    return tuple(exceeded(robot, t, q, v, tau))


def exceeded(robot: Robot, t: Array, q: Array, v: Array, tau: Array) -> Iterator[Exceeded]:
    """The limits that samples of a motion, and of the drives' forces, exceed: joint by joint, where it is worst."""
    for c in robot.joints:
        ratio, offset = (c.mimic.ratio, c.mimic.offset) if c.mimic else (1.0, 0.0)
        lower, upper = np.array(c.lower), np.array(c.upper)
        x = ratio * q[:, c.q] + offset
        yield from _worst(c.name, "position", t, x, lower, upper)
        speed = np.array(c.velocity_limit)
        yield from _worst(c.name, "velocity", t, ratio * v[:, c.v], -speed, speed)
        if c.mimic is None:
            effort = np.array(c.effort_limit)
            yield from _worst(c.name, "effort", t, tau[:, c.v], -effort, effort)


def _worst(joint: str, kind: str, t: Array, x: Array, lower: Array, upper: Array) -> Iterator[Exceeded]:
    if not x.size:
        return
    over = np.maximum(x - upper, lower - x)
    k, j = np.unravel_index(np.argmax(over), over.shape)
    limit = float(upper[j] if x[k, j] > upper[j] else lower[j])
    if over[k, j] > _ROUNDING * max(1.0, abs(limit)):
        yield Exceeded(joint, kind, float(t[k]), float(x[k, j]), limit)
