"""The motion between the steps: polynomials in the embedding, one for each step, projected when they are evaluated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ArgumentError
from ...records import dataclass

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["Closing", "Dense", "Segment", "bend", "evaluate", "hermite"]

Array = NDArray[np.float64]
Closing = Callable[[Array, Array, Array], tuple[Array, Array]]


def hermite(h: Array, y0: Array, f0: Array, y1: Array, f1: Array) -> Array:
    """Coefficients of the cubics with these values and rates at their ends: (k, n) arrays to (k, 4, n)."""
    h = np.asarray(h)[..., None]
    d, r0, r1 = y1 - y0, h * f0, h * f1
    return np.stack([y0, r0, 3.0 * d - 2.0 * r0 - r1, r0 + r1 - 2.0 * d], axis=-2)


def evaluate(coefficients: Array, s: Array) -> Array:
    """Polynomials (..., m, n) at s (...), by Horner's rule."""
    s = np.asarray(s)[..., None]
    y = coefficients[..., -1, :]
    for k in range(coefficients.shape[-2] - 2, -1, -1):
        y = coefficients[..., k, :] + s * y
    return y


def bend(coefficients: Array, change: Array) -> None:
    """Let polynomials (m, ..., n) of steps end elsewhere, by (..., k) of the first components; rates at ends stay."""
    coefficients[2, ..., : change.shape[-1]] += 3.0 * change
    coefficients[3, ..., : change.shape[-1]] -= 2.0 * change


@dataclass(frozen=True, slots=True)
class Segment:
    """The motion within one step."""

    robot: Robot
    t0: float
    t1: float
    coefficients: Array

    def time(self, s: float) -> float:
        """The time of a part of the step."""
        return self.t0 + s * (self.t1 - self.t0) if s < 1.0 else self.t1

    def at(self, s: float) -> tuple[float, Array, Array]:
        """Time and state at a part of the step."""
        nq, nv = self.robot.nq, self.robot.nv
        y = evaluate(self.coefficients, np.float64(s))
        return self.time(s), self.robot.project(y[:nq]), y[nq : nq + nv]

    def beside(self, s: float, time: float) -> tuple[float, Array, Array]:
        """Time and state a little later than a part of the step, or earlier: straight on, however short the step is."""
        nq, nv = self.robot.nq, self.robot.nv
        slopes = self.coefficients[1:] * np.arange(1, len(self.coefficients))[:, None]
        y = evaluate(self.coefficients, np.float64(s))
        y = y + time / (self.t1 - self.t0) * evaluate(slopes, np.float64(s))
        return self.time(s) + time, self.robot.project(y[:nq]), y[nq : nq + nv]


@dataclass(frozen=True)
class Dense:
    """The motion at any time of a run: call it with times to get (q, v). At a jump it gives the state after it."""

    robot: Robot
    t: Array
    """The ends of the steps, (k + 1,)."""
    coefficients: Array
    """In powers of s = (t - t[i]) / (t[i + 1] - t[i]), of shape (k, m, nq + nv)."""
    closing: Closing | None = field(default=None, repr=False)
    """Takes states to the manifold of closed loops."""

    def __call__(self, times: ArrayLike) -> tuple[Array, Array]:
        """Positions and velocities at these times, (..., nq) and (..., nv)."""
        at = np.asarray(times, dtype=float)
        if not len(self.coefficients):
            raise ArgumentError("this motion has no step: there is nothing between its states")
        if at.size and not (self.t[0] <= at.min() and at.max() <= self.t[-1]):  # also if one is not a number
            raise ArgumentError(f"the motion is known from t = {self.t[0]:g} to {self.t[-1]:g} s, not at {times!r}")
        k = np.clip(np.searchsorted(self.t, at, side="right") - 1, 0, len(self.coefficients) - 1)
        s = (at - self.t[k]) / (self.t[k + 1] - self.t[k])
        y = evaluate(self.coefficients[k], s)
        nq, nv = self.robot.nq, self.robot.nv
        q, v = self.robot.project(np.ascontiguousarray(y[..., :nq])), np.ascontiguousarray(y[..., nq : nq + nv])
        return (q, v) if self.closing is None else self.closing(at, q, v)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dense):
            return NotImplemented
        same = np.array_equal(self.t, other.t) and np.array_equal(self.coefficients, other.coefficients)
        return bool(same and self.robot == other.robot)

    __hash__: Any = None
