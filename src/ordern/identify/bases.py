"""Bases of motions that begin and end at rest: Fourier series and splines, linear in their coefficients."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..arguments import Array
from ..records import dataclass
from ..simulate.results.tables import library

__all__ = ["Basis", "Fourier", "Spline"]


class Basis(Protocol):
    """A basis of motions of one joint."""

    @property
    def duration(self) -> float:
        """The length of the motion in s."""

    def maps(self, t: Array) -> tuple[Array, Array, Array]:
        """Return the matrices (n, m) from coefficients to positions, velocities and accelerations at times."""


@dataclass(frozen=True, slots=True)
class Fourier:
    """Sines and cosines of multiples of one frequency, whose sums are at rest at the ends: the motion is periodic."""

    duration: float
    """The period in s."""
    harmonics: int
    """The number of frequencies."""

    def maps(self, t: Array) -> tuple[Array, Array, Array]:
        """Return the matrices from coefficients to the motion."""
        k = np.arange(1.0, self.harmonics + 1.0)
        w = 2.0 * np.pi / self.duration * k
        S, C = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        rest = np.zeros((2, 2 * self.harmonics))  # sum k a_k = 0, sum k^2 b_k = 0
        rest[0, : self.harmonics], rest[1, self.harmonics :] = k, k * k
        free = np.linalg.svd(rest)[2][2:].T
        waves = ((S, C), (w * C, -w * S), (-w * w * S, -w * w * C))
        first, second, third = (np.concatenate(x, axis=1) @ free for x in waves)
        return first, second, third


@dataclass(frozen=True, slots=True)
class Spline:
    """B-splines of fifth order, without the three at each end: position, velocity and acceleration are zero there."""

    duration: float
    """The length of the motion in s."""
    harmonics: int
    """Half the number of coefficients of a joint: as many as a Fourier series of so many frequencies has."""

    def maps(self, t: Array) -> tuple[Array, Array, Array]:
        """Return the matrices from coefficients to the motion."""
        spline = library("scipy.interpolate", "a spline", "identify").BSpline
        count = 2 * self.harmonics + 6
        knots = np.concatenate([np.zeros(5), np.linspace(0.0, self.duration, count - 4), np.full(5, self.duration)])
        basis = spline(knots, np.eye(count)[:, 3:-3], 5)
        first, second, third = (np.asarray(basis(t, k)) for k in range(3))
        return first, second, third
