"""Trajectories: the base class, and the two kinds from which all others are made.

`Straight` follows one motion of constant velocity by a time law. `Segments` passes through knots with given positions,
velocities and accelerations; between two knots the coordinates, in the chart about the first, are polynomials of fifth
degree. So the acceleration is continuous for all joints.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, finite, positive, real
from ..declared import explained_methods
from ..errors import ArgumentError
from .laws import Law
from .spaces import Configurations, Space

if TYPE_CHECKING:
    from ..robot import Robot
    from .checks import Exceeded

__all__ = ["Motion", "Samples", "Segments", "Sequence", "Straight", "Trajectory"]


class Motion(NamedTuple):
    """Position, velocity and acceleration, of shapes (..., nq), (..., nv) and (..., nv)."""

    q: Array
    v: Array
    a: Array


class Samples(NamedTuple):
    """A trajectory at equal steps of time: t of shape (n,), q, v and a with one row for each time."""

    t: Array
    q: Array
    v: Array
    a: Array


@explained_methods
class Trajectory(ABC):
    """A motion over the times from 0 to `duration`; before and after it, the robot rests.

    `trajectory(t)` is (q, v, a) at a time or at an array of times: v is the velocity of the robot's joints (for a
    spherical joint, the angular velocity in the body's axes), and a is its derivative. Both are zero before the start
    and after the end.
    """

    space: Space
    duration: float
    breaks: tuple[float, ...] = ()
    """The times, between the ends, at which the acceleration jumps."""

    @abstractmethod
    def _motion(self, t: Array, left: bool) -> Motion:
        """Return the motion at times (n,) within the duration; at a jump, after it or, with `left`, before it."""

    @property
    def robot(self) -> Robot:
        """The robot that moves."""
        assert isinstance(self.space, Configurations)
        return self.space.robot

    def __call__(self, t: ArrayLike) -> Motion:
        """Return position, velocity and acceleration at the time t, or at an array of times."""
        times = finite(real(t, "t"), "t")
        flat = times.reshape(-1)
        q, v, a = self._motion(np.clip(flat, 0.0, self.duration), False)
        outside = (flat < 0.0) | (flat > self.duration)
        v[outside] = a[outside] = 0.0
        return Motion(*(x.reshape(*times.shape, *x.shape[1:]) for x in (q, v, a)))

    def sample(self, rate: float) -> Samples:
        """Return the motion at `rate` times per second, from the start; the last sample is always the end."""
        count = self.duration * positive(rate, "rate")
        if count > 1e8:
            raise ArgumentError(f"a rate of {rate:g} per second would give {count:.3g} samples; use a lower rate")
        t = np.arange(int(count * (1.0 + 1e-12)) + 1) / rate
        t = np.append(t[t < self.duration * (1.0 - 1e-12)], self.duration)
        return Samples(t, *self(t))

    def check(self, robot: Robot | None = None, samples: int = 1000) -> tuple[Exceeded, ...]:
        """Return the limits of position, velocity and effort that the motion exceeds, each at its worst time.

        The effort is the force of the drives, without damping, friction and springs; in a robot with loops, the force
        of the motors. Loops that open are reported as well, and velocities that are not the rates of positions. The
        result is empty if the motion passes all checks at `samples` equal times. `robot` may be another robot with the
        same joints, and with other limits or a load.
        """
        from .checks import check

        return check(self, robot or self.robot, samples)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.duration:g} s>"


class Straight(Trajectory):
    """A motion from one point to another at a velocity of constant direction, by a time law."""

    def __init__(self, space: Space, start: Array, way: Array, law: Law) -> None:
        self.space, self.start, self.way, self.law = space, start, way, law
        self.duration, self.breaks = law.duration, law.breaks

    def _motion(self, t: Array, left: bool) -> Motion:
        s, ds, dds = (x[:, None] for x in self.law(t, left))
        q = self.space.integrate(self.start, s * self.way)
        return Motion(q, ds * self.way, dds * self.way)


@explained_methods
class Segments(Trajectory):
    """A motion through knots with given positions, velocities and accelerations, which may jump at a knot."""

    def __init__(self, space: Space, t: Array, q: Array, v: Array, a: Array, before: Array | None = None) -> None:
        space.known()
        self.space, self.t, self.q = space, t, q
        self.duration = float(t[-1])
        ends = a[1:] if before is None else before[1:]
        self.breaks = tuple(float(x) for x in t[1:-1][(np.abs(ends[:-1] - a[1:-1]) > 0.0).any(axis=1)])
        x1 = space.difference(q[:-1], q[1:])
        dx1, ddx1 = space.coordinates(x1, v[1:], ends)
        self._coefficients = hermite(np.diff(t)[:, None], x1, v[:-1], dx1, a[:-1], ddx1)

    def _powers(self, k: int) -> Array:
        """Return the coefficients of the coordinates in the chart about knot k: powers 0 to 5, and a zero, (7, nv)."""
        c = self._coefficients[:, k]
        zero = np.zeros((1, c.shape[1]))
        return np.concatenate([zero, c, zero])

    def _motion(self, t: Array, left: bool) -> Motion:
        k = np.clip(np.searchsorted(self.t, t, "left" if left else "right") - 1, 0, len(self.t) - 2)
        s, c = (t - self.t[k])[:, None], self._coefficients[:, k]
        x = s * (c[0] + s * (c[1] + s * (c[2] + s * (c[3] + s * c[4]))))
        dx = c[0] + s * (2.0 * c[1] + s * (3.0 * c[2] + s * (4.0 * c[3] + s * 5.0 * c[4])))
        ddx = 2.0 * c[1] + s * (6.0 * c[2] + s * (12.0 * c[3] + s * 20.0 * c[4]))
        return Motion(self.space.integrate(self.q[k], x), *self.space.motion(x, dx, ddx))


def hermite(h: Array, x1: Array, v0: Array, v1: Array, a0: Array, a1: Array) -> Array:
    """Return the coefficients, first to fifth power, of polynomials from 0 to x1 with these rates at both ends."""
    p = (x1 - h * v0 - 0.5 * h * h * a0) / h**3
    dp = (v1 - v0 - h * a0) / h**2
    ddp = (a1 - a0) / h
    return np.stack(
        [
            v0,
            0.5 * a0,
            10.0 * p - 4.0 * dp + 0.5 * ddp,
            (7.0 * dp - 15.0 * p - ddp) / h,
            (6.0 * p - 3.0 * dp + 0.5 * ddp) / h**2,
        ]
    )


class Sequence(Trajectory):
    """Trajectories one after the other."""

    def __init__(self, parts: tuple[Trajectory, ...]) -> None:
        self.space, self.parts = parts[0].space, parts
        self.starts = np.concatenate([[0.0], np.cumsum([p.duration for p in parts])])
        self.duration = float(self.starts[-1])
        inner = {float(s) + b for s, p in zip(self.starts[:-1], parts, strict=True) for b in p.breaks}
        self.breaks = tuple(sorted(inner.union(self.starts[1:-1].tolist())))

    def _motion(self, t: Array, left: bool) -> Motion:
        k = np.clip(np.searchsorted(self.starts, t, "left" if left else "right") - 1, 0, len(self.parts) - 1)
        if not t.size:
            return self.parts[0]._motion(t, left)
        found = []
        for j in np.unique(k):
            part = self.parts[j]
            found.append(part._motion(np.clip(t[k == j] - self.starts[j], 0.0, part.duration), left))
        back = np.argsort(np.argsort(k, kind="stable"))  # from the order of the parts to the order of t
        return Motion(*(np.concatenate(x)[back] for x in zip(*found, strict=True)))
