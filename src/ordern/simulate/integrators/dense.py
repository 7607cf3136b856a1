"""The motion within steps: one polynomial in the embedding for each step; positions are projected after evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arguments import Array, real
from ...errors import ArgumentError
from ...records import dataclass

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["Closing", "Dense", "Segment", "bend", "derivative", "evaluate", "hermite", "located"]

Closing = Callable[[Array, Array, Array], tuple[Array, Array]]


def hermite(h: Array, y0: Array, f0: Array, y1: Array, f1: Array) -> Array:
    """Return the coefficients (..., 4, n) of cubics with these values and rates (..., n) at both ends."""
    h = np.asarray(h)[..., None]
    d, r0, r1 = y1 - y0, h * f0, h * f1
    return np.stack([y0, r0, 3.0 * d - 2.0 * r0 - r1, r0 + r1 - 2.0 * d], axis=-2)


def evaluate(coefficients: Array, s: Array) -> Array:
    """Return the values of polynomials (..., m, n) at s (...), by Horner's rule."""
    s = np.asarray(s)[..., None]
    y = coefficients[..., -1, :]
    for k in range(coefficients.shape[-2] - 2, -1, -1):
        y = coefficients[..., k, :] + s * y
    return y


def derivative(coefficients: Array) -> Array:
    """Return the coefficients (..., m - 1, n) of the derivatives of polynomials."""
    return np.asarray(coefficients[..., 1:, :] * np.arange(1.0, coefficients.shape[-2])[:, None])


def bend(coefficients: Array, change: Array) -> None:
    """Move the ends of polynomials (m, ..., n) of steps, by (..., k) of the first components; rates at ends stay."""
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
        """Return the time of a part of the step."""
        return self.t0 + s * (self.t1 - self.t0) if s < 1.0 else self.t1

    def at(self, s: float) -> tuple[float, Array, Array]:
        """Return time and state at a part of the step."""
        return self.time(s), *_state(self.robot, evaluate(self.coefficients, np.float64(s)))

    def beside(self, s: float, time: float) -> tuple[float, Array, Array]:
        """Return time and state a little later than a part of the step, or earlier, along the tangent.

        The state may be outside of the step.
        """
        y, rate = (evaluate(c, np.float64(s)) for c in (self.coefficients, derivative(self.coefficients)))
        return self.time(s) + time, *_state(self.robot, y + time / (self.t1 - self.t0) * rate)


def _state(robot: Robot, y: Array) -> tuple[Array, Array]:
    """Return positions, projected, and velocities from values of polynomials."""
    nq, nv = robot.nq, robot.nv
    return robot.normalize(np.ascontiguousarray(y[..., :nq])), np.ascontiguousarray(y[..., nq : nq + nv])


def located(t: Array, times: ArrayLike) -> tuple[Array, NDArray[np.intp]]:
    """Return times as an array, and for each the last sample that is not later; `ArgumentError` beyond the samples."""
    at = real(times, "the time")
    if not len(t):
        raise ArgumentError("this motion has no samples, and so no states between them")
    span = 1e-12 * max(abs(t[0]), abs(t[-1]))  # n * step may round to a little more than the end
    inside = (at >= t[0] - span) & (at <= t[-1] + span)
    if not inside.all():
        raise ArgumentError(f"the motion is known from t = {t[0]:g} to {t[-1]:g} s, not at {at[~inside].flat[0]:g}")
    at = np.asarray(np.clip(at, t[0], t[-1]))
    return at, np.searchsorted(t, at, side="right") - 1


@dataclass(frozen=True)
class Dense:
    """The motion at any time of a run: call it with times to get (q, v). At a jump, this is the state after it."""

    robot: Robot
    t: Array
    """The ends of the steps, (k + 1,)."""
    coefficients: Array
    """In powers of s = (t - t[i]) / (t[i + 1] - t[i]), of shape (k, m, nq + nv)."""
    closing: Closing | None = field(default=None, repr=False)
    """Projects states onto closed loops."""

    def __call__(self, times: ArrayLike) -> tuple[Array, Array]:
        """Return positions and velocities at these times, (..., nq) and (..., nv)."""
        at, k = located(self.t, times)
        k = np.minimum(k, len(self.coefficients) - 1)
        s = (at - self.t[k]) / (self.t[k + 1] - self.t[k])
        q, v = _state(self.robot, evaluate(self.coefficients[k], s))
        return (q, v) if self.closing is None else self.closing(at, q, v)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dense):
            return NotImplemented
        same = np.array_equal(self.t, other.t) and np.array_equal(self.coefficients, other.coefficients)
        return bool(same and self.robot == other.robot)

    __hash__: Any = None
