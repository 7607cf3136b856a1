"""A motion between its samples.

If there is no dense output of an integrator, positions are cubics in the coordinates of the embedding (of a rotation:
its quaternion), with the values and rates of the samples at their ends. They are projected back: quaternions get unit
length, and the sign of a quaternion does not matter. Velocities are cubics from the velocities and accelerations of
the samples. The error is of fourth order in the time between samples. All other series, such as forces and work, are
cubics that do not overshoot (Fritsch and Carlson 1980), so that a force that is switched stays between its values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arguments import Array
from ...joints import Composite, Free, Joint, Spherical
from ...model import Model
from ...records import dataclass
from ..integrators.dense import derivative, evaluate, hermite, located

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["Hermite", "Motion", "Spliced", "monotone"]

Motion = Callable[[Array], tuple[Array, Array]]
"""Positions and velocities at times."""


def _cubic(t: Array, at: Array, k: NDArray[np.intp], y0: Array, r0: Array, y1: Array, r1: Array) -> tuple[Array, Array]:
    """Return values and rates of cubics, given values and rates at both ends of the intervals from sample k."""
    h = t[k + 1] - t[k]
    s = np.where(h > 0.0, at - t[k], 1.0)  # of two samples at one time the later one counts
    h = np.where(h > 0.0, h, 1.0)
    c = hermite(h, y0, r0, y1, r1)
    return evaluate(c, s / h), evaluate(derivative(c), s / h) / h[..., None]


def _inner(t: Array, k: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return intervals: the last sample belongs to the interval before it."""
    return np.minimum(k, len(t) - 2)


@dataclass(frozen=True, eq=False)
class Hermite:
    """The motion at any time, from samples of q, v and a: call it with times to get (q, v)."""

    robot: Robot
    t: Array
    q: Array
    v: Array
    a: Array

    def __call__(self, times: ArrayLike) -> tuple[Array, Array]:
        """Return positions and velocities at these times, (..., nq) and (..., nv)."""
        at, k = located(self.t, times)
        if len(self.t) == 1:
            return self.q[k], self.v[k]
        k = _inner(self.t, k)
        q0, q1 = self.q[k], self.q[k + 1].copy()
        r0, r1 = self.robot.position_rate(q0, self.v[k]), self.robot.position_rate(q1, self.v[k + 1])
        for start in _quaternions(self.robot):
            part = slice(start, start + 4)
            other = (q0[..., part] * q1[..., part]).sum(axis=-1, keepdims=True) < 0.0
            q1[..., part] = np.where(other, -q1[..., part], q1[..., part])
            r1[..., part] = np.where(other, -r1[..., part], r1[..., part])
        q, _ = _cubic(self.t, at, k, q0, r0, q1, r1)
        v, _ = _cubic(self.t, at, k, self.v[k], self.a[k], self.v[k + 1], self.a[k + 1])
        return self.robot.normalize(q), v

    def acceleration(self, times: ArrayLike) -> Array:
        """Return accelerations at these times, the rates of the cubics of velocities, (..., nv)."""
        at, k = located(self.t, times)
        if len(self.t) == 1:
            return self.a[k]
        k = _inner(self.t, k)
        return _cubic(self.t, at, k, self.v[k], self.a[k], self.v[k + 1], self.a[k + 1])[1]


def _quaternions(robot: Model) -> list[int]:
    """Return the indices in q at which quaternions start."""
    return [c.q_start + k for c in robot.independent for k in _in_joint(c.type)]


def _in_joint(joint: Joint) -> list[int]:
    if isinstance(joint, (Free, Spherical)):
        return [0]
    found, start = [], 0
    for part, _ in joint.parts if isinstance(joint, Composite) else ():
        found += [start + k for k in _in_joint(part)]
        start += part.nq
    return found


@dataclass(frozen=True, eq=False)
class Spliced:
    """The motion of one run after another."""

    robot: Robot
    starts: Array
    """The start of each run."""
    shifts: Array
    """The shift of each run against its own time."""
    spans: Array
    """The first and last time of each run, in its own time, (k, 2)."""
    motions: tuple[Motion, ...]

    def __call__(self, times: ArrayLike) -> tuple[Array, Array]:
        """Return positions and velocities at these times, (..., nq) and (..., nv)."""
        at = np.asarray(times, dtype=float)
        which = np.clip(np.searchsorted(self.starts, at, side="right") - 1, 0, None)
        q, v = np.empty((*at.shape, self.robot.nq)), np.empty((*at.shape, self.robot.nv))
        for k in np.unique(which):
            here = which == k
            q[here], v[here] = self.motions[k](np.clip(at[here] - self.shifts[k], *self.spans[k]))  # shifting rounds
        return q, v


def monotone(t: Array, y: Array, times: ArrayLike) -> Array:
    """Interpolate samples y (N, ...) by cubics that do not overshoot; jumps between samples of one time stay."""
    at, k = located(t, times)
    if len(t) == 1:
        return y[k]
    flat = y.reshape(len(y), -1)
    h = np.diff(t)[:, None]
    steep = np.diff(flat, axis=0) / np.where(h > 0.0, h, 1.0)
    slopes = np.zeros_like(flat)
    slopes[:-1], slopes[-1] = steep, steep[-1]
    before, after = np.broadcast_to(h[:-1], steep[1:].shape), np.broadcast_to(h[1:], steep[1:].shape)
    one, other = steep[:-1], steep[1:]
    with np.errstate(all="ignore"):
        w1, w2 = 2.0 * after + before, after + 2.0 * before
        mean = (w1 + w2) / (w1 / one + w2 / other)
    slopes[1:-1] = np.where(one * other > 0.0, mean, 0.0)
    slopes[1:-1] = np.where(before > 0.0, slopes[1:-1], other)
    slopes[1:-1] = np.where(after > 0.0, slopes[1:-1], one)
    k = _inner(t, k)
    drawn, _ = _cubic(t, at, k, flat[k], slopes[k], flat[k + 1], slopes[k + 1])
    return drawn.reshape(*at.shape, *y.shape[1:])
