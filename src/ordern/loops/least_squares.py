"""Levenberg-Marquardt on the configuration manifold: least squares for a batch of positions, within joint limits.

A step x comes from the linear model of the residuals, damped by mu, and q <- integrate(q, x). mu follows Nielsen's
rule: it depends on how well the linear model predicted the gain, and vanishes near a solution. All positions of a batch
take their steps together; a position leaves the batch when it is solved, or when it gains no more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..joints.limitable import own_rates
from ..records import dataclass
from .kernels import Array

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["JointLimits", "LeastSquares", "Search"]

L = TypeVar("L", bound="LeastSquares")


class JointLimits:
    """Limits (nq,) of the coordinates whose rates are velocities: a limit can stop only these."""

    def __init__(self, robot: Robot, lower: Array, upper: Array, respected: bool) -> None:
        known = robot._kernels.kept(("coordinates with own rates",), lambda: _with_own_rates(robot))
        limited = (np.isfinite(lower) | np.isfinite(upper)) & respected
        self._q, self._v = known[:, limited[known[0]]]
        self.lower, self.upper = lower[self._q], upper[self._q]

    def within(self, q: Array) -> Array:
        """Return positions (n, nq) clipped to the limits."""
        if self._q.size:
            q = q.copy()
            q[:, self._q] = np.clip(q[:, self._q], self.lower, self.upper)
        return q

    def stopped(self, q: Array, x: Array) -> Array:
        """Return flags (n, nv) of joints at a limit that a step x would push beyond it."""
        stopped = np.zeros(x.shape, bool)
        if self._q.size:
            at, way = q[:, self._q], x[:, self._v]
            stopped[:, self._v] = ((at <= self.lower) & (way < 0.0)) | ((at >= self.upper) & (way > 0.0))
        return stopped


def _with_own_rates(robot: Robot) -> Array:
    """Return the indices in q and in v of the coordinates whose rates are velocities, (2, n)."""
    found: list[tuple[int, int]] = []
    for c in robot.independent:
        found += [(c.q_start + k, c.v_start + rate) for k, rate in enumerate(own_rates(c.type)) if rate >= 0]
    return np.asarray(np.array(found, int).reshape(-1, 2).T)


@dataclass
class Search:
    """The positions (n, nq) of a batch, the number of steps to each, and which of them are solved."""

    q: Array
    steps: Array
    done: Array


class LeastSquares(ABC):
    """A problem of least squares, and its solution from given positions."""

    robot: Robot
    limits: JointLimits
    damping: float
    """The damping at the start."""
    stalled: float
    """A step that gains less than this part of the squares counts as stalled."""
    smallest: float
    """The smallest damping."""
    shrinks: float
    """The smallest factor by which a step changes the damping."""

    @abstractmethod
    def residuals(self, q: Array) -> Array:
        """Return the residuals (n, m) of positions."""

    @abstractmethod
    def step(self, q: Array, r: Array, mu: Array) -> tuple[Array, Array]:
        """Return the damped steps (n, nv), and the squares (n,) that the linear model predicts after them."""

    @abstractmethod
    def solved(self, r: Array) -> Array:
        """Return which residuals are within the tolerance, (n,)."""

    @abstractmethod
    def hopeless(self, better: Array, gained: Array, tired: Array, mu: Array) -> Array:
        """Return which searches end, (n,), from flags of the last step and the number of stalled steps so far."""

    def squares(self, r: Array) -> Array:
        """Return the sums of squares that are minimised, (n,)."""
        return np.asarray((r * r).sum(axis=-1))

    def of(self: L, which: Array) -> L:
        """Return the problem of a part of the batch."""
        return self

    def solve(self, q: Array, steps: int) -> Search:
        """Take at most `steps` steps from each of the positions q (n, nq), clipped to the limits."""
        q = self.limits.within(q)
        n, part, r = len(q), self, self.residuals(q)
        found = Search(np.array(q, float), np.zeros(n, int), self.solved(r))
        on, stay, tired = np.arange(n), ~found.done, np.zeros(n, int)
        mu, grow = np.full(n, self.damping), np.full(n, 2.0)
        for _ in range(steps):
            if not stay.all():
                part = part.of(stay)
                on, q, r, mu, grow, tired = (y[stay] for y in (on, q, r, mu, grow, tired))
            if not on.size:
                break
            x, linear = part.step(q, r, mu)
            trial = self.limits.within(np.asarray(self.robot.integrate(q, x)))
            new = part.residuals(trial)
            before, after = self.squares(r), self.squares(new)
            better = after < before
            ratio = np.clip((before - after) / np.maximum(before - linear, 1e-300), -1.0, 1.0)
            q, r = np.where(better[:, None], trial, q), np.where(better[:, None], new, r)
            mu = np.where(better, mu * np.maximum(self.shrinks, 1.0 - (2.0 * ratio - 1.0) ** 3), mu * grow)
            mu, grow = np.clip(mu, self.smallest, 1e15), np.where(better, 2.0, 2.0 * grow)
            found.steps[on] += 1
            found.q[on], found.done[on] = q, self.solved(r)
            gained = better & (before - after > self.stalled * before)
            tired = np.where(gained, 0, tired + 1)
            stay = ~(found.done[on] | self.hopeless(better, gained, tired, mu))
        return found

    def retry(self: L, found: Search, times: int, again: Callable[[L, Array, int], Search]) -> None:
        """Solve what is not solved again, up to some times, and keep what is better.

        `again(part, which, k)` returns the k-th search for the part of the batch that is not solved.
        """
        for k in range(times):
            which = np.flatnonzero(~found.done)
            if not which.size:
                break
            part = self.of(which)
            new = again(part, which, k)
            now, before = (part.squares(part.residuals(q)) for q in (new.q, found.q[which]))
            better = new.done | (now < before)
            found.q[which[better]], found.done[which] = new.q[better], new.done
            found.steps[which] += new.steps
