"""Joint forces of a controller that is called once in each period; they may act later than their sample."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from .forces import Applied, Function, TimeFunction, called

if TYPE_CHECKING:
    from ..compile.timeloops.law_program import Law
    from ..robot import Robot

__all__ = ["Sampled"]

_WHOLE = 1e-9
"""A delay that differs from a number of periods by less than this part of a period is that number of periods."""


class Sampled(Function):
    """A controller that is called once at each multiple of its period.

    The force of a sample acts after a delay, and holds until that of the next sample acts. No force acts before the
    first.
    """

    kind = "sampled"
    saved = ("_held", "_sample", "_waiting")

    def __init__(self, robot: Robot, function: TimeFunction, period: float, delay: float = 0.0) -> None:
        super().__init__(robot, function)
        self.period = self.longest = period
        periods = round(delay / period)
        self._whole = abs(delay - periods * period) <= _WHOLE * period
        self._periods, self.delay = periods, delay
        self._held, self._sample = np.zeros(robot.nv), -1
        self._waiting = np.zeros((0, 1 + robot.nv))
        """The numbers and the forces of samples that do not act yet, one in each row."""

    def enter(self, t: float, q: Array, v: Array) -> None:
        """Call the controller if its next sample is due: pieces also begin at impacts, and twice at the same time."""
        k = round(t / self.period)
        if t == k * self.period and k > self._sample:
            tau, self._sample = called(self.robot, self.function, t, q, v), k
            if not self.delay:
                self._held = tau
                return
            self._waiting = np.concatenate([self._waiting, [[k, *tau]]])
        while len(self._waiting) and self._acts(int(self._waiting[0, 0])) <= t:
            self._held, self._waiting = self._waiting[0, 1:].copy(), self._waiting[1:]

    def _acts(self, sample: int) -> float:
        """Return the time from which the force of a sample acts."""
        return (sample + self._periods) * self.period if self._whole else sample * self.period + self.delay

    def next_break(self, t: float) -> float:
        """Return the next time at which a sample is taken, or at which its force begins to act."""
        k = self._next(t)
        if self._whole:
            return k * self.period
        acts = k - self._periods - 2
        while self._acts(acts) <= t:
            acts += 1
        return min(k * self.period, self._acts(max(acts, 0)))

    def _next(self, t: float) -> int:
        """Return the number of the first sample after a time."""
        k = math.floor(t / self.period) + 1
        while k * self.period <= t:
            k += 1
        while (k - 1) * self.period > t:
            k -= 1
        return k

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return the force that is held."""
        return self._held

    def over(self, t: Array, q: Array, v: Array) -> Array:
        """Return the force that is held, for each time."""
        return Applied.over(self, t, q, v)

    def law(self) -> Law | None:
        """Return the law of a controller of the library whose forces act at once."""
        return None if self.delay else super().law()

    @property
    def key(self) -> str:
        """Identify the controller by its period, its delay, its code and its data."""
        return f"sampled {self.period!r} {self.delay!r} {super().key}"

    def return_to(self, t: float, tau: Array) -> None:
        """Hold the force that acted at a time since the last sample."""
        self._held, self._sample = np.array(tau), self._next(t) - 1
