"""Reductions over the members of an ensemble: moments, histograms, quantiles, worst cases and coverage.

Each block of members gives a partial state, a few arrays. States are merged in the order of the members, so the bits of
the answer do not depend on workers and shards. Members that failed are left out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import AnyArray, Array, positive
from ..errors import ArgumentError
from ..records import dataclass
from .counters import normal_quantile
from .members import Members, value_of

__all__ = ["Moments", "Reduction", "coverage", "histogram", "moments", "precise", "quantiles", "worst"]

State = dict[str, AnyArray]


class _Answer:
    """An answer of a reduction, which equals another one if all numbers do."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return all(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f") for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]


Of = str | Callable[[Members], ArrayLike]


class Reduction(ABC):
    """A reduction of one quantity."""

    name: str
    every: int | None
    key: Any
    skips = True
    """True if members for which an event did not take place are left out of its time."""

    def __init__(self, name: str, of: Of, every: int | None, *settings: Any) -> None:
        if not callable(of) and not isinstance(of, str):
            raise ArgumentError(f"{type(self).__name__}: give a function of members, or the name of a quantity")
        self.name, self.of, self.every = name, of, every
        self.key = (type(self).__name__, name, of, every, *settings)

    def partial(self, members: Members, fine: NDArray[np.bool_]) -> State:
        """Return the state of a block, of the members that are fine."""
        values = np.asarray(value_of(members, self.of, f"the reduction {self.name!r}"), float)
        if self.skips and self.of in members.of_events():
            fine = fine & ~np.isnan(values)
        where = np.flatnonzero(fine)
        return self.of_values(values[where], where + members.first)

    @abstractmethod
    def of_values(self, x: Array, members: NDArray[np.int64]) -> State:
        """Return the state of values, and the numbers of their members."""

    @abstractmethod
    def merged(self, a: State, b: State) -> State:
        """Return the state of members a, then b."""

    @abstractmethod
    def answer(self, state: State) -> Any:
        """Return the answer for a state."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower().lstrip('_')} of {self.name}>"


@dataclass(frozen=True, eq=False)
class Moments(_Answer):
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
        z = float(normal_quantile(np.array([0.5 + 0.5 * confidence]))[0])
        return self.mean - z * self.standard_error, self.mean + z * self.standard_error

    def __repr__(self) -> str:
        if np.ndim(self.mean):
            return f"Moments(of {self.count} members, mean={self.mean}, std={self.std})"
        return f"Moments(mean={self.mean:.6g} ± {self.standard_error:.2g}, std={self.std:.6g}, of {self.count} members)"


class _Moments(Reduction):
    def of_values(self, x: Array, members: NDArray[np.int64]) -> State:
        n, shape = len(x), x.shape[1:]
        mean = x.sum(axis=0) / max(1, n)
        square = ((x - mean) ** 2).sum(axis=0)
        low, high = (f(x, axis=0, initial=s) for f, s in ((np.min, math.inf), (np.max, -math.inf)))
        return {"n": np.array(n), "mean": mean + np.zeros(shape), "square": square, "low": low, "high": high}

    def merged(self, a: State, b: State) -> State:
        n = a["n"] + b["n"]
        apart, share = b["mean"] - a["mean"], b["n"] / max(1, int(n))
        return {
            "n": n,
            "mean": a["mean"] + apart * share,
            "square": a["square"] + b["square"] + apart * apart * (a["n"] * share),
            "low": np.minimum(a["low"], b["low"]),
            "high": np.maximum(a["high"], b["high"]),
        }

    def answer(self, state: State) -> Moments:
        n = int(state["n"])
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = state["mean"] + (0.0 if n else math.nan)
            std = np.sqrt(np.asarray(state["square"]) / (n - 1))  # not a number for a single member
        return Moments(n, mean, std, state["low"], state["high"])


@dataclass(frozen=True, eq=False)
class Histogram(_Answer):
    """Counts of a quantity between edges."""

    edges: Array
    counts: NDArray[np.int64]
    """Of shape (bins, ...)."""
    below: NDArray[np.int64]
    above: NDArray[np.int64]

    @property
    def density(self) -> Array:
        """The share of each bin, per unit of the quantity."""
        total = self.counts.sum(axis=0) + self.below + self.above
        width = np.diff(self.edges).reshape(-1, *(1,) * (self.counts.ndim - 1))
        return np.asarray(self.counts / np.maximum(1, total) / width)

    def __repr__(self) -> str:
        return f"Histogram({len(self.edges) - 1} bins from {self.edges[0]:g} to {self.edges[-1]:g})"


class _Histogram(Reduction):
    def __init__(self, name: str, of: Of, edges: Array, every: int | None) -> None:
        super().__init__(name, of, every, edges)
        self.edges = edges

    def of_values(self, x: Array, members: NDArray[np.int64]) -> State:
        flat = x.reshape(len(x), math.prod(x.shape[1:]))
        bins = len(self.edges) - 1
        where = np.searchsorted(self.edges, flat, side="right")
        where = np.where(flat == self.edges[-1], bins, where)  # the last edge belongs to the last bin
        counts = np.zeros((bins + 2, flat.shape[1]), np.int64)
        for k in range(flat.shape[1]):
            counts[:, k] = np.bincount(where[:, k], minlength=bins + 2)
        return {"counts": counts.reshape(bins + 2, *x.shape[1:])}

    def merged(self, a: State, b: State) -> State:
        return {"counts": a["counts"] + b["counts"]}

    def answer(self, state: State) -> Histogram:
        counts = state["counts"]
        return Histogram(self.edges, counts[1:-1], counts[0], counts[-1])


_MANTISSA = 7
"""Bits of the mantissa that tell the buckets of quantiles apart: values are known to 2^-8 of themselves."""


@dataclass(frozen=True, eq=False)
class Quantiles(_Answer):
    """Quantiles of a quantity, to 0.4 % of their values."""

    p: Array
    values: Array
    """Of shape (len(p), ...)."""
    count: int

    def __repr__(self) -> str:
        if self.values.ndim > 1:
            return f"Quantiles(at {self.p.tolist()}, of {self.count} members)"
        shown = ", ".join(f"{100 * p:g} %: {x:.4g}" for p, x in zip(self.p, self.values, strict=True))
        return f"Quantiles({shown}, of {self.count} members)"


class _Quantiles(Reduction):
    """A sketch with buckets between neighbouring floating-point numbers of few bits: its counts add up exactly."""

    def __init__(self, name: str, of: Of, p: Array, every: int | None) -> None:
        super().__init__(name, of, every, p)
        self.p = p

    def of_values(self, x: Array, members: NDArray[np.int64]) -> State:
        flat = x.reshape(len(x), math.prod(x.shape[1:]))
        bits = np.ascontiguousarray(np.abs(flat)).view(np.uint64) >> np.uint64(52 - _MANTISSA)
        bucket = np.where(flat < 0.0, -1 - bits.astype(np.int64), bits.astype(np.int64))
        column = np.broadcast_to(np.arange(flat.shape[1]), flat.shape)
        pairs, counts = np.unique(np.stack([column.ravel(), bucket.ravel()]), axis=1, return_counts=True)
        return {"pairs": pairs, "counts": counts.astype(np.int64), "shape": np.array(x.shape[1:], np.int64)}

    def merged(self, a: State, b: State) -> State:
        both = np.concatenate([a["pairs"], b["pairs"]], axis=1)
        pairs, where = np.unique(both, axis=1, return_inverse=True)
        counts = np.zeros(pairs.shape[1], np.int64)
        np.add.at(counts, where.ravel(), np.concatenate([a["counts"], b["counts"]]))
        return {"pairs": pairs, "counts": counts, "shape": a["shape"]}

    def answer(self, state: State) -> Quantiles:
        shape = tuple(state["shape"].tolist())
        found = np.full((len(self.p), math.prod(shape)), np.nan)
        count = 0
        for k in range(found.shape[1]):
            own = state["pairs"][0] == k
            bucket, counts = state["pairs"][1][own], state["counts"][own]
            up_to = np.cumsum(counts)
            count = int(up_to[-1]) if len(up_to) else 0
            if count:
                which = np.searchsorted(up_to, np.clip(self.p * count, 0.5, count - 0.5), side="left")
                found[:, k] = _middle(bucket[which])
        return Quantiles(self.p, found.reshape(len(self.p), *shape), count)


def _middle(bucket: NDArray[np.int64]) -> Array:
    """Return the middles of buckets."""
    size = np.where(bucket < 0, -1 - bucket, bucket).astype(np.uint64)
    low, high = ((n << np.uint64(52 - _MANTISSA)).view(np.float64) for n in (size, size + np.uint64(1)))
    middle = np.where(size == 0, 0.0, 0.5 * (low + high))
    return np.where(bucket < 0, -middle, middle)


@dataclass(frozen=True, eq=False)
class Worst(_Answer):
    """The members with the largest (or smallest) values of a quantity, the worst first."""

    members: NDArray[np.int64]
    values: Array

    def __repr__(self) -> str:
        first = f"member {self.members[0]} with {self.values[0]:.6g}" if len(self.members) else "none"
        return f"Worst({len(self.members)} members, first {first})"


class _Worst(Reduction):
    def __init__(self, name: str, of: Of, count: int, largest: bool, every: int | None) -> None:
        super().__init__(name, of, every, count, largest)
        self.count, self.largest = count, largest

    def of_values(self, x: Array, members: NDArray[np.int64]) -> State:
        if x.ndim != 1:
            raise ArgumentError(f"worst {self.name!r}: the quantity has {x.shape[1:]} numbers a member; give one")
        return self._first({"values": x, "members": members})

    def merged(self, a: State, b: State) -> State:
        return self._first({key: np.concatenate([a[key], b[key]]) for key in a})

    def _first(self, state: State) -> State:
        order = np.argsort(-state["values"] if self.largest else state["values"], kind="stable")[: self.count]
        return {key: x[order] for key, x in state.items()}

    def answer(self, state: State) -> Worst:
        return Worst(state["members"], state["values"])


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
        if not self.count:
            return 0.0, 1.0
        z = float(normal_quantile(np.array([0.5 + 0.5 * confidence]))[0])
        n, p = self.count, self.share
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(0.0, middle - half), min(1.0, middle + half)


class _Coverage(Reduction):
    skips = False

    def __init__(self, name: str, of: Of, low: float, high: float, every: int | None) -> None:
        super().__init__(name, of, every, low, high)
        self.low, self.high = low, high

    def of_values(self, x: Array, members: NDArray[np.int64]) -> State:
        inside = ((x >= self.low) & (x <= self.high)).reshape(len(x), -1).all(axis=1)
        return {"inside": np.array(int(inside.sum())), "count": np.array(len(x))}

    def merged(self, a: State, b: State) -> State:
        return {key: a[key] + b[key] for key in a}

    def answer(self, state: State) -> Coverage:
        return Coverage(int(state["inside"]), int(state["count"]))


def moments(of: Of, *, name: str | None = None, every: int | None = None) -> Reduction:
    """Reduce a quantity to its mean, standard deviation, least and largest value, with the error of the mean.

    `of` is the name of a quantity ("q_final", "v_final", "energy", "energy_change", or one that is drawn), or a
    function of `Members` that returns an array with a row for each. The answer is in the outcome by its `name`, by
    default "energy_moments" and so on. `every` is the number of steps between the states that the function needs, as
    in `value`.
    """
    return _Moments(_named(of, name, "moments"), of, every)


def histogram(
    of: Of, *, range: Sequence[float], bins: int = 50, name: str | None = None, every: int | None = None
) -> Reduction:
    """Reduce a quantity to counts in bins of equal width, and the counts below and above the range.

    `of`, `name` and `every` are as in `moments`.
    """
    low, high = (float(x) for x in range)
    if not (bins >= 1 and low < high and math.isfinite(high - low)):
        raise ArgumentError(f"histogram: give at least one bin, and a range (low, high), not {bins} and {range}")
    return _Histogram(_named(of, name, "histogram"), of, np.linspace(low, high, bins + 1), every)


def quantiles(
    of: Of, *, p: Sequence[float] = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99), name: str | None = None,
    every: int | None = None,
) -> Reduction:  # fmt: skip
    """Reduce a quantity to quantiles at probabilities p, each to 0.4 % of its value.

    `of`, `name` and `every` are as in `moments`.
    """
    at = np.asarray(p, float)
    if at.ndim != 1 or not ((at >= 0.0) & (at <= 1.0)).all():
        raise ArgumentError(f"quantiles: `p` must be a list of probabilities between 0 and 1, not {p!r}")
    return _Quantiles(_named(of, name, "quantiles"), of, at, every)


def worst(
    of: Of, *, count: int = 10, largest: bool = True, name: str | None = None, every: int | None = None
) -> Reduction:
    """Reduce a quantity to `count` members with its largest values, or, without `largest`, its smallest.

    `of`, `name` and `every` are as in `moments`.
    """
    return _Worst(_named(of, name, "worst"), of, int(count), bool(largest), every)


def coverage(
    of: Of, *, low: float = -math.inf, high: float = math.inf, name: str | None = None, every: int | None = None
) -> Reduction:
    """Reduce a quantity to the share of members for which it lies from `low` to `high`, with its confidence.

    `of`, `name` and `every` are as in `moments`.
    """
    return _Coverage(_named(of, name, "coverage"), of, float(low), float(high), every)


def _named(of: Of, name: str | None, kind: str) -> str:
    """Return the name of a reduction: as given, or made from its quantity."""
    if name is not None:
        return name
    found = of if isinstance(of, str) else getattr(of, "__name__", "<lambda>")
    known = found.replace("_", "a").replace(".", "a").isalnum()
    return f"{found}_{kind}" if known else ""  # `keep={"name": ...}` may name it


class Precision:
    """A rule that ends an ensemble when a mean or a share is known well enough."""

    def __init__(self, name: str, error: float, confidence: float) -> None:
        self.name, self.error, self.confidence = name, error, confidence

    def reached(self, answers: dict[str, Any]) -> bool:
        """Return True if the answer is precise enough."""
        found = answers.get(self.name)
        if not isinstance(found, (Moments, Coverage)):
            raise ArgumentError(
                f"precise: {self.name!r} is not among the moments and shares that are kept: {', '.join(answers)}"
            )
        low, high = found.interval(self.confidence)
        return found.count > 1 and bool(np.max(0.5 * (np.asarray(high) - np.asarray(low))) <= self.error)


def precise(name: str, error: float, confidence: float = 0.95) -> Precision:
    """Return a rule for `stop`: end when moments or coverage of this name are within an error, with a confidence.

    It is looked at after 1, 2, 4, 8 ... blocks of members, so that every run of a study ends at the same one.
    """
    return Precision(name, positive(error, "precise: `error`"), positive(confidence, "precise: `confidence`"))
