"""Reductions over the members of an ensemble: moments, histograms, quantiles, worst cases and coverage.

Each block of members gives a partial state, a few arrays. States are merged in the order of the members, so the bits of
the answer do not depend on workers and shards. Members that failed are left out, and those whose quantity is NaN: the
count of an answer tells how many took part.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import AnyArray, Array, array, real, whole_number
from ..declared import explained
from ..errors import ArgumentError
from .answers import MANTISSA, Coverage, Histogram, Moments, Quantiles, Worst
from .members import Members, value_of

__all__ = [
    "Of",
    "Reduction",
    "State",
    "coverage",
    "default_name",
    "defined",
    "histogram",
    "moments",
    "moments_merged",
    "moments_of",
    "quantiles",
    "worst",
]

State = dict[str, AnyArray]


Of = str | Callable[[Members], ArrayLike]


class Reduction(ABC):
    """A reduction of one quantity."""

    name: str
    every: int | None
    key: Any
    sampling: str | None = None
    """The sampling that its members must have; None for any."""
    skips = True
    """True if members are left out whose quantity is NaN, such as the time of an event that did not take place."""

    def __init__(self, name: str, of: Of, every: int | None, *settings: Any) -> None:
        if not callable(of) and not isinstance(of, str):
            raise ArgumentError(f"{type(self).__name__}: give a function of members, or the name of a quantity")
        self.name, self.of, self.every = name, of, every
        self.key = (type(self).__name__, name, of, every, *settings)

    def partial(self, members: Members, fine: NDArray[np.bool_]) -> State:
        """Return the state of a block, of the members that are fine."""
        values = np.asarray(value_of(members, self.of, f"the reduction {self.name!r}"), float)
        if members.design is not None:
            fine = fine & ((members.first + np.arange(len(members))) % members.design.size < members.design.independent)
        if self.skips:
            fine = fine & defined(values)
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


def defined(values: Array) -> NDArray[np.bool_]:
    """Return True for each member whose numbers are all defined, not NaN."""
    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    return np.asarray(~np.isnan(flat).any(axis=1))


def moments_of(x: Array) -> State:
    """Return the number of rows, their mean, the sum of squares about it, and limits."""
    n, shape = len(x), x.shape[1:]
    mean = x.sum(axis=0) / max(1, n)
    square = ((x - mean) ** 2).sum(axis=0)
    low, high = (f(x, axis=0, initial=s) for f, s in ((np.min, math.inf), (np.max, -math.inf)))
    return {"n": np.array(n), "mean": mean + np.zeros(shape), "square": square, "low": low, "high": high}


def moments_merged(a: State, b: State) -> State:
    """Return the moments of the rows of a, then b."""
    n = a["n"] + b["n"]
    apart, share = b["mean"] - a["mean"], b["n"] / max(1, int(n))
    return {
        "n": n,
        "mean": a["mean"] + apart * share,
        "square": a["square"] + b["square"] + apart * apart * (a["n"] * share),
        "low": np.minimum(a["low"], b["low"]),
        "high": np.maximum(a["high"], b["high"]),
    }


class _Moments(Reduction):
    def of_values(self, x: Array, members: NDArray[np.int64]) -> State:
        return moments_of(x)

    def merged(self, a: State, b: State) -> State:
        return moments_merged(a, b)

    def answer(self, state: State) -> Moments:
        n = int(state["n"])
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = state["mean"] + (0.0 if n else math.nan)
            std = np.sqrt(np.asarray(state["square"]) / max(0, n - 1))  # NaN for one member, or without any
        return Moments(n, mean, std, state["low"], state["high"])


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


class _Quantiles(Reduction):
    """A sketch with buckets between neighbouring floating-point numbers of few bits: its counts add up exactly."""

    def __init__(self, name: str, of: Of, p: Array, every: int | None) -> None:
        super().__init__(name, of, every, p)
        self.p = p

    def of_values(self, x: Array, members: NDArray[np.int64]) -> State:
        flat = x.reshape(len(x), math.prod(x.shape[1:]))
        bits = np.ascontiguousarray(np.abs(flat)).view(np.uint64) >> np.uint64(52 - MANTISSA)
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
        return Quantiles.of_counts(self.p, tuple(state["shape"].tolist()), state["pairs"], state["counts"])


class _Worst(Reduction):
    def __init__(self, name: str, of: Of, count: int, largest: bool, every: int | None) -> None:
        super().__init__(name, of, every, count, largest)
        self.count, self.largest = count, largest

    def of_values(self, x: Array, members: NDArray[np.int64]) -> State:
        if x.ndim != 1:
            raise ArgumentError(f"worst {self.name!r}: the quantity has {x.shape[1:]} numbers a member; give one")
        return self._first(x, members, len(x))

    def merged(self, a: State, b: State) -> State:
        values, members = (np.concatenate([a[key], b[key]]) for key in ("values", "members"))
        return self._first(values, members, int(a["count"] + b["count"]))

    def _first(self, values: Array, members: NDArray[np.int64], count: int) -> State:
        order = np.argsort(-values if self.largest else values, kind="stable")[: self.count]
        return {"values": values[order], "members": members[order], "count": np.array(count)}

    def answer(self, state: State) -> Worst:
        return Worst(state["members"], state["values"], int(state["count"]))


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


@explained
def moments(of: Of, *, name: str | None = None, every: int | None = None) -> Reduction:
    """Reduce a quantity to its mean, standard deviation, least and largest value, with the error of the mean.

    `of` is the name of a quantity ("q_final", "v_final", "energy", "energy_change", or one that is drawn), or a
    function of `Members` that returns an array with a row for each. The answer is in the outcome by its `name`, by
    default "energy_moments" and so on. `every` is the number of steps between the states that the function needs, as
    in `value`.
    """
    return _Moments(default_name(of, name, "moments"), of, every)


@explained
def histogram(
    of: Of, *, range: Sequence[float], bins: int = 50, name: str | None = None, every: int | None = None
) -> Reduction:
    """Reduce a quantity to counts in bins of equal width, and the counts below and above the range.

    `of`, `name` and `every` are as in `moments`.
    """
    bins = whole_number(bins, "histogram: `bins`", 1)
    edges = array(range, (2,), "histogram: `range`")
    low, high = float(edges[0]), float(edges[1])
    if not (low < high and math.isfinite(high - low)):
        raise ArgumentError(f"histogram: `range` must be (low, high) with low below high, not {range!r}")
    return _Histogram(default_name(of, name, "histogram"), of, np.linspace(low, high, bins + 1), every)


@explained
def quantiles(
    of: Of, *, p: Sequence[float] = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99), name: str | None = None,
    every: int | None = None,
) -> Reduction:  # fmt: skip
    """Reduce a quantity to quantiles at probabilities p, each to 0.4 % of its value.

    `of`, `name` and `every` are as in `moments`.
    """
    at = real(p, "quantiles: `p`")
    if at.ndim != 1 or not ((at >= 0.0) & (at <= 1.0)).all():
        raise ArgumentError(f"quantiles: `p` must be a list of probabilities between 0 and 1, not {p!r}")
    return _Quantiles(default_name(of, name, "quantiles"), of, at, every)


@explained
def worst(
    of: Of, *, count: int = 10, largest: bool = True, name: str | None = None, every: int | None = None
) -> Reduction:
    """Reduce a quantity to `count` members with its largest values, or, without `largest`, its smallest.

    `of`, `name` and `every` are as in `moments`.
    """
    count = whole_number(count, "worst: `count`", 1)
    return _Worst(default_name(of, name, "worst"), of, count, bool(largest), every)


@explained
def coverage(
    of: Of, *, low: float = -math.inf, high: float = math.inf, name: str | None = None, every: int | None = None
) -> Reduction:
    """Reduce a quantity to the share of members for which it lies from `low` to `high`, with its confidence.

    `of`, `name` and `every` are as in `moments`.
    """
    limits = array((low, high), (2,), "coverage: `low` and `high`", nonfinite=True)
    if not limits[0] < limits[1] or not np.isfinite(limits).any():
        raise ArgumentError(f"coverage: give `low`, `high` or both, with low below high, not {low!r} and {high!r}")
    return _Coverage(default_name(of, name, "coverage"), of, float(limits[0]), float(limits[1]), every)


def default_name(of: Of, name: str | None, kind: str) -> str:
    """Return the name of a reduction: as given, or made from its quantity."""
    if name is not None:
        return name
    found = of if isinstance(of, str) else getattr(of, "__name__", "<lambda>")
    known = found.replace("_", "a").replace(".", "a").isalnum()
    return f"{found}_{kind}" if known else ""  # `keep={"name": ...}` may name it
