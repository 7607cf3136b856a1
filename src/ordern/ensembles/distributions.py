"""Distributions of what varies between the members of an ensemble.

A distribution turns numbers between 0 and 1 into values, so that the same distributions serve random numbers, Latin
hypercubes and Sobol sequences: see `sampling` of `Ensemble`. `normal(0.0, 0.1)` for a quantity with seven numbers are
seven independent ones; means, limits and so on may be arrays.

>>> import ordern as on
>>> on.distributions.uniform(-1.0, 1.0)
uniform(-1.0, 1.0)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Array, real
from ..declared import explained, explained_methods
from ..errors import ArgumentError
from .counters import normal_quantile

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = [
    "Distribution",
    "FromSeeds",
    "around",
    "choice",
    "function",
    "log_normal",
    "normal",
    "uniform",
    "within_limits",
]


_NAMES = {"FromSeeds": "function"}


@explained_methods
class Distribution(ABC):
    """The distribution of one quantity."""

    words: tuple[Any, ...] = ()
    """The values that were given, for its representation."""
    of_positions = False
    """True if its values are positions q, and nothing else."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the numbers that were given for one value; () if they fit any value."""
        return np.broadcast_shapes(*(np.shape(x) for x in self.words))

    def columns(self, robot: Robot, shape: tuple[int, ...]) -> int:
        """Return how many numbers between 0 and 1 a value of this shape takes."""
        return math.prod(shape)

    @abstractmethod
    def values(self, u: Array, robot: Robot, shape: tuple[int, ...]) -> Array:
        """Return values (m, *shape) from numbers between 0 and 1, of shape (m, columns)."""

    def __repr__(self) -> str:
        shown = (f"{x.tolist()}" if isinstance(x, np.ndarray) else repr(x) for x in self.words)
        return f"{_NAMES.get(type(self).__name__, type(self).__name__.lstrip('_'))}({', '.join(shown)})"


class _uniform(Distribution):
    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        self.words = _numbers("uniform", low=low, high=high)
        if np.any(np.greater(*self.words)):
            raise ArgumentError(f"uniform: low must not be above high, not {self.words[0]} and {self.words[1]}")

    def values(self, u: Array, robot: Robot, shape: tuple[int, ...]) -> Array:
        low, high = _fitted(self, shape)
        return low + (high - low) * u.reshape(len(u), *shape)


@explained_methods
class _normal(Distribution):
    def __init__(self, mean: ArrayLike, std: ArrayLike) -> None:
        self.words = _numbers("normal", mean=mean, std=std)
        _require_positive("normal", "std", self.words[1])

    def values(self, u: Array, robot: Robot, shape: tuple[int, ...]) -> Array:
        mean, std = _fitted(self, shape)
        return mean + std * normal_quantile(u).reshape(len(u), *shape)


class _log_normal(Distribution):
    def __init__(self, median: ArrayLike, sigma: ArrayLike) -> None:
        self.words = _numbers("log_normal", median=median, sigma=sigma)
        _require_positive("log_normal", "sigma", self.words[1])
        if np.any(np.asarray(self.words[0]) <= 0.0):
            raise ArgumentError(f"log_normal: the median must be above zero, not {self.words[0]}")

    def values(self, u: Array, robot: Robot, shape: tuple[int, ...]) -> Array:
        median, sigma = _fitted(self, shape)
        return median * _exp(sigma * normal_quantile(u).reshape(len(u), *shape))


class _choice(Distribution):
    def __init__(self, values: ArrayLike, p: Sequence[float] | None) -> None:
        self._from = np.asarray(values, float)
        if self._from.ndim < 1 or not len(self._from):
            raise ArgumentError("choice: give a list of values to choose from")
        weights = np.ones(len(self._from)) if p is None else np.asarray(p, float)
        if weights.shape != (len(self._from),) or not (weights >= 0.0).all():
            raise ArgumentError(f"choice: `p` must have a probability for each of {len(self._from)} values")
        if p is not None and not abs(weights.sum() - 1.0) <= 1e-9:
            raise ArgumentError(f"choice: the probabilities `p` must have the sum 1, not {weights.sum():g}")
        self.words = (self._from,) if p is None else (self._from, weights)
        self._ends = np.cumsum(weights / weights.sum())

    @property
    def shape(self) -> tuple[int, ...]:
        return self._from.shape[1:]

    def columns(self, robot: Robot, shape: tuple[int, ...]) -> int:
        return 1 if self._from.shape[1:] == shape else math.prod(shape)

    def values(self, u: Array, robot: Robot, shape: tuple[int, ...]) -> Array:
        which = np.minimum(np.searchsorted(self._ends, u, side="right"), len(self._from) - 1)
        if self._from.shape[1:] == shape:
            return self._from[which[:, 0]]
        if self._from.ndim > 1:
            raise ArgumentError(f"choice: the values have shape {self._from.shape[1:]}, but the quantity {shape}")
        return self._from[which].reshape(len(u), *shape)


class _within_limits(Distribution):
    """Positions within the limits of the joints."""

    of_positions = True

    def columns(self, robot: Robot, shape: tuple[int, ...]) -> int:
        return robot.nq

    def values(self, u: Array, robot: Robot, shape: tuple[int, ...]) -> Array:
        q = np.empty_like(u)
        for c in robot.independent:
            start = c.q.start
            for part, _ in c.type.serial_parts():
                turned = 4 if part.nq > part.nv and part.neutral()[:4] == (1.0, 0.0, 0.0, 0.0) else 0
                if turned:  # a quaternion
                    x = normal_quantile(u[:, start : start + 4])
                    q[:, start : start + 4] = x / np.sqrt(_summed(x * x))[:, None]
                for k in range(start + turned, start + part.nq):
                    low, high = part.usual_limits(robot.lower[k], robot.upper[k])
                    q[:, k] = low + (high - low) * u[:, k]
                start += part.nq
        return q


class _around(Distribution):
    """Positions about one of them."""

    of_positions = True

    def __init__(self, q: ArrayLike, std: ArrayLike) -> None:
        self.words = _numbers("around", q=q, std=std)
        _require_positive("around", "std", self.words[1])

    def columns(self, robot: Robot, shape: tuple[int, ...]) -> int:
        q, std = (np.shape(x) for x in self.words)
        if q not in ((), (robot.nq,)) or std not in ((), (robot.nv,)):
            raise ArgumentError(
                f"around: q has shape {q} and std has shape {std}; {robot.name!r} has positions of shape "
                f"({robot.nq},), and a std is one number, or ({robot.nv},)"
            )
        return robot.nv

    def values(self, u: Array, robot: Robot, shape: tuple[int, ...]) -> Array:
        q, std = self.words
        step = np.broadcast_to(std, (robot.nv,)) * normal_quantile(u)
        return np.asarray(robot.integrate(np.broadcast_to(np.asarray(q, float), (robot.nq,)), step))


@explained_methods
class FromSeeds(Distribution):
    """Values that a function of a seed returns."""

    shape = ()

    def __init__(self, of: Callable[[int], ArrayLike], vectorised: bool) -> None:
        if not callable(of):
            raise ArgumentError(f"function: give a function of a seed, not {of!r}")
        self.of, self.vectorised, self.words = of, vectorised, (of,)

    def columns(self, robot: Robot, shape: tuple[int, ...]) -> int:
        """Return zero: its values come from seeds."""
        return 0

    def values(self, u: Array, robot: Robot, shape: tuple[int, ...]) -> Array:
        """Raise: its values come from seeds."""
        raise NotImplementedError

    def of_seeds(self, seeds: NDArray[np.uint64], shape: tuple[int, ...]) -> Array:
        """Return the values for seeds, one for each member."""
        found = self.of(seeds) if self.vectorised else [self.of(int(s)) for s in seeds]  # type: ignore[arg-type]
        values = real(found, "function: the values")
        if values.shape != (len(seeds), *shape):
            one = values.shape if self.vectorised else values.shape[1:]
            raise ArgumentError(f"function: it returned an array of shape {one}; the quantity has {shape} per member")
        return values


@explained
def uniform(low: ArrayLike, high: ArrayLike) -> Distribution:
    """Return the distribution of numbers that are equally likely from `low` to `high`."""
    return _uniform(low, high)


@explained
def normal(mean: ArrayLike = 0.0, std: ArrayLike = 1.0) -> Distribution:
    """Return the normal distribution with a `mean` and a standard deviation `std`."""
    return _normal(mean, std)


@explained
def log_normal(median: ArrayLike = 1.0, sigma: ArrayLike = 0.1) -> Distribution:
    """Return the distribution of positive numbers whose logarithm is normal: median * exp(sigma * normal)."""
    return _log_normal(median, sigma)


@explained
def choice(values: ArrayLike, p: Sequence[float] | None = None) -> Distribution:
    """Return the distribution of values from a list, equally likely or with probabilities `p`."""
    return _choice(values, p)


@explained
def within_limits() -> Distribution:
    """Return the distribution of positions that are equally likely within the limits of all joints.

    Coordinates without limits lie within the usual range of their joint type. Orientations are equally likely.
    """
    return _within_limits()


@explained
def around(q: ArrayLike, std: ArrayLike) -> Distribution:
    """Return the distribution of positions `integrate(q, std * normal)`: normal steps of all freedoms from q."""
    return _around(q, std)


@explained
def function(of: Callable[[Any], ArrayLike], vectorised: bool = False) -> Distribution:
    """Return a distribution from a function of a seed, a whole number of 64 bits that belongs to the member.

    With `vectorised`, the function takes an array of seeds and returns an array with a row for each.
    """
    return FromSeeds(of, vectorised)


def _numbers(what: str, **given: ArrayLike) -> tuple[Any, ...]:
    """Return the numbers of a distribution as floats or arrays; raise if they are not finite or do not broadcast."""
    found = []
    for name, x in given.items():
        try:
            a = np.asarray(x, float)
        except (TypeError, ValueError):
            raise ArgumentError(f"{what}: {name} must be a number or an array, not {x!r}") from None
        if not np.isfinite(a).all():
            raise ArgumentError(f"{what}: {name} must be finite, not {x!r}")
        found.append(a)
    if what != "around":
        try:
            np.broadcast_shapes(*(a.shape for a in found))
        except ValueError:
            raise ArgumentError(f"{what}: {' and '.join(given)} do not broadcast") from None
    return tuple(float(a) if a.ndim == 0 else a for a in found)


def _fitted(of: Distribution, shape: tuple[int, ...]) -> list[Array]:
    try:
        return [np.broadcast_to(x, shape) for x in of.words]
    except ValueError:
        raise ArgumentError(f"{of!r}: its numbers do not fit a quantity of shape {shape} per member") from None


def _require_positive(what: str, name: str, x: Any) -> None:
    if np.any(np.asarray(x) < 0.0):
        raise ArgumentError(f"{what}: {name} must not be below zero, but is {x}")


def _summed(x: Array) -> Array:
    """Return the sum over the last axis, one term after the other."""
    total = x[..., 0]
    for k in range(1, x.shape[-1]):
        total = total + x[..., k]
    return total


def _exp(x: Array) -> Array:
    """Return e to the power x, by arithmetic that is the same on every processor."""
    n = np.rint(x * 1.4426950408889634)
    r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10
    total = np.full_like(r, 1.0)
    for k in range(14, 0, -1):
        total = total * r / k + 1.0
    return np.ldexp(total, n.astype(np.int64))
