"""Time laws: the fraction s(t) of a motion, from 0 to 1, that is done at the time t."""

from __future__ import annotations

import math

import numpy as np

from ..arguments import Array
from ..records import dataclass

__all__ = ["LAWS", "Cycloidal", "Law", "MinimumJerk", "Trapezoidal"]

Motion = tuple[Array, Array, Array]


@dataclass(frozen=True)
class Law:
    """A function s(t) with its first and second derivatives, for times from 0 to `duration`."""

    duration: float

    @property
    def breaks(self) -> tuple[float, ...]:
        """The times, between the ends, at which the acceleration jumps."""
        return ()

    def __call__(self, t: Array, left: bool = False) -> Motion:
        """Return s, s', s'' at the times t; at a jump of s'', after it, or with `left` before it."""
        raise NotImplementedError


class Cycloidal(Law):
    """Saha (38)-(39): s = (2 pi t / T - sin(2 pi t / T)) / (2 pi); velocity and acceleration vanish at both ends."""

    def __call__(self, t: Array, left: bool = False) -> Motion:
        """Return s, s', s'' at the times t."""
        w = 2.0 * math.pi / self.duration
        s = (w * t - np.sin(w * t)) / (2.0 * math.pi)
        return s, 2.0 * np.sin(0.5 * w * t) ** 2 / self.duration, w * np.sin(w * t) / self.duration


class MinimumJerk(Law):
    """The polynomial of fifth degree that rests at both ends; it has the least integral of squared jerk."""

    def __call__(self, t: Array, left: bool = False) -> Motion:
        """Return s, s', s'' at the times t."""
        T = self.duration
        x = t / T
        s = x**3 * (10.0 + x * (6.0 * x - 15.0))
        return s, 30.0 * (x * (1.0 - x)) ** 2 / T, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / T**2


@dataclass(frozen=True)
class Trapezoidal(Law):
    """Constant acceleration for the time `ramp`, constant velocity, and constant deceleration for as long."""

    ramp: float

    @staticmethod
    def fastest(velocity: float, acceleration: float) -> Trapezoidal:
        """Return the law of the shortest time within these limits of s' and s''."""
        if velocity * velocity >= acceleration:
            ramp = 1.0 / math.sqrt(acceleration)
            return Trapezoidal(2.0 * ramp, ramp)
        ramp = velocity / acceleration
        return Trapezoidal(1.0 / velocity + ramp, ramp)

    @staticmethod
    def lasting(duration: float, acceleration: float) -> Trapezoidal:
        """Return the law with this acceleration and duration, which must not be shorter than the shortest."""
        root = math.sqrt(max(0.0, 1.0 - 4.0 / (acceleration * duration * duration)))
        return Trapezoidal(duration, 2.0 / (acceleration * duration * (1.0 + root)))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The ends of the ramps."""
        return tuple(sorted({self.ramp, self.duration - self.ramp}))

    def __call__(self, t: Array, left: bool = False) -> Motion:
        """Return s, s', s'' at the times t."""
        T, r = self.duration, self.ramp
        v = 1.0 / (T - r)
        a = v / r
        back = T - t
        s = np.where(t < r, 0.5 * a * t * t, np.where(back < r, 1.0 - 0.5 * a * back * back, v * (t - 0.5 * r)))
        ds = np.where(t < r, a * t, np.where(back < r, a * back, v))
        up, down = (t <= r, t > T - r) if left else (t < r, t >= T - r)
        return s, ds, np.where(up, a, np.where(down, -a, 0.0))


LAWS = {"cycloidal": Cycloidal, "minimum-jerk": MinimumJerk}
"""The laws that need only a duration, by name."""
