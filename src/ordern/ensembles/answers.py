"""Answers of reductions, with their confidence: how far an answer may be from that of endlessly many members."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array, real_number
from ..declared import explained_methods
from ..errors import ArgumentError
from ..records import dataclass
from .counters import normal_quantile

__all__ = [
    "MANTISSA",
    "Answer",
    "Coverage",
    "Histogram",
    "Moments",
    "Quantiles",
    "Worst",
    "largest",
    "normal",
    "quantiles_of",
    "required_confidence",
    "wilson",
]

MANTISSA = 7
"""Bits of the mantissa that tell the buckets of quantiles apart: values are known to 2^-8 of themselves."""


class Answer:
    """An answer of a reduction, which equals another one if all numbers do."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return all(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f") for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]


def normal(confidence: float) -> float:
    """Return how many standard errors an interval of this confidence has on each side."""
    return float(normal_quantile(np.array([0.5 + 0.5 * required_confidence(confidence)]))[0])


def required_confidence(x: Any) -> float:
    """Return a probability between 0 and 1; raise for any other number, such as a percentage."""
    if not 0.0 < real_number(x) < 1.0:
        raise ArgumentError(f"the confidence must be a number between 0 and 1, such as 0.95, not {x!r}")
    return float(x)


def largest(errors: Array) -> float:
    """Return the largest error; infinity if one of them is not known."""
    return math.inf if np.isnan(errors).any() else float(np.max(errors, initial=0.0))


def wilson(inside: NDArray[np.int64], count: NDArray[np.int64], confidence: float) -> tuple[Array, Array]:
    """Return limits of shares `inside` of `count` (Wilson's interval); from 0 to 1 without members."""
    z, n = normal(confidence), np.maximum(1, count)
    p = inside / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    some = count > 0
    return np.where(some, np.maximum(0.0, middle - half), 0.0), np.where(some, np.minimum(1.0, middle + half), 1.0)


@explained_methods
@dataclass(frozen=True, eq=False)
class Moments(Answer):
    """Mean and spread of a quantity."""

    count: int
    mean: Array
    std: Array
    """The standard deviation of single members."""
    minimum: Array
    maximum: Array

    @property
    def standard_error(self) -> Array:
        """The standard deviation of the mean."""
        return np.asarray(self.std / math.sqrt(max(1, self.count)))

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return limits that contain the true mean with this confidence, for many members."""
        z = normal(confidence)
        return self.mean - z * self.standard_error, self.mean + z * self.standard_error

    def half_width(self, confidence: float = 0.95) -> float:
        """Return half of the widest interval; infinity for a single member."""
        return largest(normal(confidence) * self.standard_error)

    def __repr__(self) -> str:
        if np.ndim(self.mean):
            return f"Moments(of {self.count} members, mean={self.mean}, std={self.std})"
        return f"Moments(mean={self.mean:.6g} ± {self.standard_error:.2g}, std={self.std:.6g}, of {self.count} members)"


@explained_methods
@dataclass(frozen=True, eq=False)
class Histogram(Answer):
    """Counts of a quantity between edges."""

    edges: Array
    counts: NDArray[np.int64]
    """Of shape (bins, ...)."""
    below: NDArray[np.int64]
    above: NDArray[np.int64]

    @property
    def count(self) -> NDArray[np.int64]:
        """The number of members."""
        return np.asarray(self.counts.sum(axis=0) + self.below + self.above)

    @property
    def share(self) -> Array:
        """The share of members in each bin."""
        return np.asarray(self.counts / np.maximum(1, self.count))

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return limits that contain the true share of each bin with this confidence (Wilson's interval)."""
        return wilson(self.counts, self.count, confidence)

    def half_width(self, confidence: float = 0.95) -> float:
        """Return half of the widest interval of a share."""
        low, high = self.interval(confidence)
        return largest(0.5 * (high - low))

    @property
    def density(self) -> Array:
        """The share of each bin, per unit of the quantity."""
        return np.asarray(self.share / np.diff(self.edges).reshape(-1, *(1,) * (self.counts.ndim - 1)))

    def __repr__(self) -> str:
        return f"Histogram({len(self.edges) - 1} bins from {self.edges[0]:g} to {self.edges[-1]:g})"


@explained_methods
@dataclass(frozen=True, eq=False)
class Quantiles(Answer):
    """Quantiles of a quantity, to 0.4 % of their values."""

    p: Array
    values: Array
    """Of shape (len(p), ...)."""
    count: int

    @classmethod
    def of_counts(
        cls, p: Array, shape: tuple[int, ...], pairs: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> Quantiles:
        """Return the quantiles from the counts of buckets, which intervals need later on."""
        count = int(counts[pairs[0] == 0].sum()) if math.prod(shape) else 0
        made = cls(p, quantiles_of(pairs, counts, shape, p), count)
        object.__setattr__(made, "_sketch", (pairs, counts))
        return made

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return limits that contain the true quantiles with this confidence, of the shape of `values`.

        The number of members below a quantile is binomial, so its limits are other quantiles of the sketch.
        """
        half = normal(confidence) * np.sqrt(self.p * (1.0 - self.p) / max(1, self.count))
        shape = self.values.shape[1:]
        pairs, counts = self.__dict__["_sketch"]
        low, high = (quantiles_of(pairs, counts, shape, self.p + side * half) for side in (-1.0, 1.0))
        return low, high

    def half_width(self, confidence: float = 0.95) -> float:
        """Return half of the widest interval."""
        low, high = self.interval(confidence)
        return largest(0.5 * (high - low))

    def __repr__(self) -> str:
        if self.values.ndim > 1:
            return f"Quantiles(at {self.p.tolist()}, of {self.count} members)"
        shown = ", ".join(f"{100 * p:g} %: {x:.4g}" for p, x in zip(self.p, self.values, strict=True))
        return f"Quantiles({shown}, of {self.count} members)"


def quantiles_of(pairs: NDArray[np.int64], counts: NDArray[np.int64], shape: tuple[int, ...], p: Array) -> Array:
    """Return the quantiles at probabilities p, (len(p), *shape), from the counts of buckets."""
    found = np.full((len(p), math.prod(shape)), np.nan)
    for k in range(found.shape[1]):
        own = pairs[0] == k
        up_to = np.cumsum(counts[own])
        if len(up_to):
            which = np.searchsorted(up_to, np.clip(p * up_to[-1], 0.5, up_to[-1] - 0.5), side="left")
            found[:, k] = _middle(pairs[1][own][which])
    return found.reshape(len(p), *shape)


def _middle(bucket: NDArray[np.int64]) -> Array:
    """Return the middles of buckets."""
    size = np.where(bucket < 0, -1 - bucket, bucket).astype(np.uint64)
    low, high = ((n << np.uint64(52 - MANTISSA)).view(np.float64) for n in (size, size + np.uint64(1)))
    middle = np.where(size == 0, 0.0, 0.5 * (low + high))
    return np.where(bucket < 0, -middle, middle)


@explained_methods
@dataclass(frozen=True, eq=False)
class Worst(Answer):
    """The members with the largest (or smallest) values of a quantity, the worst first."""

    members: NDArray[np.int64]
    values: Array
    count: int
    """The number of members among which they are the worst."""

    def exceeded(self, confidence: float = 0.95) -> float:
        """Return the largest share of all members that could be drawn which may be worse, with this confidence.

        After n members, a worse one has a probability of at most 1 - (1 - confidence)^(1/n): about 3 / n for 95 %.
        """
        outside = 1.0 - required_confidence(confidence)
        return 1.0 - outside ** (1.0 / self.count) if self.count else 1.0

    def half_width(self, confidence: float = 0.95) -> float:
        """Return the share that may be worse."""
        return self.exceeded(confidence)

    def __repr__(self) -> str:
        first = f"member {self.members[0]} with {self.values[0]:.6g}" if len(self.members) else "none"
        return f"Worst({len(self.members)} members, first {first})"


@explained_methods
@dataclass(frozen=True, slots=True)
class Coverage:
    """The share of members whose quantity lies within limits."""

    inside: int
    count: int

    @property
    def share(self) -> float:
        """The share of members inside."""
        return self.inside / self.count if self.count else math.nan

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return limits that contain the true share with this confidence (Wilson's interval)."""
        low, high = wilson(np.array(self.inside), np.array(self.count), confidence)
        return float(low), float(high)

    def half_width(self, confidence: float = 0.95) -> float:
        """Return half of the interval."""
        low, high = self.interval(confidence)
        return 0.5 * (high - low)
