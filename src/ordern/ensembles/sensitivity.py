"""Sensitivity as a reduction: how much of the variance of a quantity each factor causes, and how far it moves it.

With f(A), f(B) and f(A_i) the values of the members of a group (`designs`), over n groups,

    S_i = cov(f(B), f(A_i) - f(A)) / V          first order, Saltelli et al. 2010 (b), about the mean
    T_i = mean (f(A) - f(A_i))^2 / (2 V)        total, Jansen 1999

S_i is the share of the variance V that knowing factor i would remove; T_i is the share that would be left if only
factor i were unknown. Sums are kept for a few parts of the groups. Their standard errors are those of the jackknife
that leaves out one part at a time, for parts of different size (Busing et al. 1999). A Sobol sequence fills space
more evenly than random numbers, so that these errors are rather too large than too small.

Effects of Morris are quotients of differences, per unit of a factor's probability; their mean size is mu*, and their
spread sigma tells of interactions and curvature (Campolongo et al. 2007).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from ..declared import explained
from ..errors import ArgumentError
from ..records import dataclass
from .answers import Answer, largest, normal
from .designs import LEVELS, Morris, Saltelli
from .members import Members, value_of
from .reductions import Of, Reduction, State, default_name, defined, moments_merged, moments_of

__all__ = ["MorrisEffects", "SobolIndices", "morris", "sobol"]

_PARTS, _BLOCK_PARTS = 64, 16
"""Parts of the groups for which sums are kept: at most, and of one block."""


@dataclass(frozen=True, eq=False)
class SobolIndices(Answer):
    """Shares of the variance of a quantity, for each factor. Arrays have a row for each factor."""

    names: tuple[str, ...]
    """The names of the factors: "q[0]", "parameters.mass.link" and so on."""
    first: Array
    """The indices of first order: the share of the variance that the factor causes by itself."""
    total: Array
    """The total indices: the share that it takes part in, alone or together with others."""
    first_error: Array
    """The standard errors of `first`."""
    total_error: Array
    """The standard errors of `total`."""
    mean: Array
    """The mean of the quantity."""
    variance: Array
    """The variance of the quantity."""
    count: int
    """The number of groups of members."""

    def first_interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return limits that contain the true indices of first order with this confidence."""
        half = normal(confidence) * self.first_error
        return self.first - half, self.first + half

    def total_interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return limits that contain the true total indices with this confidence."""
        half = normal(confidence) * self.total_error
        return self.total - half, self.total + half

    def half_width(self, confidence: float = 0.95) -> float:
        """Return half of the widest of these intervals."""
        return normal(confidence) * largest(np.stack([self.first_error, self.total_error]))

    def __repr__(self) -> str:
        if self.first.ndim > 1:
            return f"SobolIndices(of {len(self.names)} factors, {self.count} groups of members)"
        rows = [
            f"{name}: {a:.3f} ± {da:.2g}, total {b:.3f} ± {db:.2g}"
            for name, a, da, b, db in zip(
                self.names, self.first, self.first_error, self.total, self.total_error, strict=True
            )
        ]
        return f"SobolIndices({'; '.join(rows)}; {self.count} groups of members)"


@dataclass(frozen=True, eq=False)
class MorrisEffects(Answer):
    """Elementary effects of each factor: the change of a quantity over the whole of the factor's probability."""

    names: tuple[str, ...]
    """The names of the factors."""
    mu: Array
    """The mean effects."""
    mu_star: Array
    """The means of the sizes of effects: factors with small ones do not matter."""
    sigma: Array
    """The standard deviations of effects: large where factors interact, or where the effect is curved."""
    error: Array
    """The standard errors of `mu_star`."""
    count: int
    """The number of walks."""

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return limits that contain the true `mu_star` with this confidence."""
        half = normal(confidence) * self.error
        return self.mu_star - half, self.mu_star + half

    def half_width(self, confidence: float = 0.95) -> float:
        """Return half of the widest of these intervals."""
        return normal(confidence) * largest(self.error)

    def __repr__(self) -> str:
        if self.mu.ndim > 1:
            return f"MorrisEffects(of {len(self.names)} factors, {self.count} walks)"
        rows = [
            f"{name}: mu* {m:.4g} ± {e:.2g}, sigma {s:.4g}"
            for name, m, e, s in zip(self.names, self.mu_star, self.error, self.sigma, strict=True)
        ]
        return f"MorrisEffects({'; '.join(rows)}; {self.count} walks)"


class _Sensitivity(Reduction):
    """A reduction of groups of members. A group is left out if a member of it failed, or if its quantity is NaN."""

    def _groups(
        self, members: Members, fine: NDArray[np.bool_], kind: Any
    ) -> tuple[Any, int, Array, NDArray[np.bool_]]:
        """Return the design, the number of the first group, values (groups, size, ...), and which groups are fine."""
        design: Any = members.design
        if not isinstance(design, kind):
            raise ArgumentError(f"the reduction {self.name!r} needs the design of `sampling={self.sampling!r}`")
        values = np.asarray(value_of(members, self.of, f"the reduction {self.name!r}"), float)
        fine = fine & defined(values)
        count = len(members) // design.size
        values = values[: count * design.size].reshape(count, design.size, *values.shape[1:])
        whole = np.asarray(fine[: count * design.size].reshape(count, design.size).all(axis=1))
        return design, members.first // design.size, values, whole

    def of_values(self, x: Array, members: NDArray[np.int64]) -> State:
        """Raise: groups of members are reduced, not single ones."""
        raise NotImplementedError


class _Sobol(_Sensitivity):
    sampling = "saltelli"

    def partial(self, members: Members, fine: NDArray[np.bool_]) -> State:
        """Return the sums of some parts of a block."""
        design, _, f, whole = self._groups(members, fine, Saltelli)
        block = members.first // max(1, len(members))
        cuts = np.array_split(np.arange(len(f)), _BLOCK_PARTS)
        parts = [_sums(f[cut[whole[cut]]]) for cut in cuts]
        state = {key: np.stack([part[key] for part in parts]) for key in parts[0]}
        place = (block * _BLOCK_PARTS + np.arange(_BLOCK_PARTS)) % _PARTS
        return {"names": np.array(design.names), "place": place, **state}

    def merged(self, a: State, b: State) -> State:
        """Return the sums of both, part by part."""
        places = sorted({*a["place"].tolist(), *b["place"].tolist()})
        parts = [
            [_part(x, k) for x in (a, b) for k in np.flatnonzero(x["place"] == place).tolist()] for place in places
        ]
        joined = [_joined(part) for part in parts]
        return {
            "names": a["names"],
            "place": np.array(places),
            **{k: np.stack([x[k] for x in joined]) for k in joined[0]},
        }

    def answer(self, state: State) -> SobolIndices:
        """Return the indices, and their errors by the jackknife."""
        parts = [x for x in (_part(state, k) for k in range(len(state["place"]))) if x["n"] > 0]
        parts = parts or [_part(state, 0)]
        whole = _joined(parts)
        n = int(whole["n"])
        found = _indices(whole)
        errors = _jackknife(parts, n, found)
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = whole["square"] / (2 * n - 1) if n else np.full(whole["square"].shape, math.nan)
        return SobolIndices(tuple(state["names"].tolist()), *found, *errors, whole["mean"], variance, n)


def _sums(f: Array) -> State:
    """Return the sums of some groups, (groups, 2 + factors, ...): about their own means."""
    a, b, moved = f[:, 0], f[:, 1], f[:, 2:] - f[:, :1]
    n = len(f)
    both = np.concatenate([a, b])
    mean, of_b, of_moved = (x.sum(axis=0) / max(1, len(x)) for x in (both, b, moved))
    return {
        "n": np.array(n),
        "mean": mean,
        "square": ((both - mean) ** 2).sum(axis=0),
        "b": of_b,
        "moved": of_moved,
        "product": ((b - of_b)[:, None] * (moved - of_moved)).sum(axis=0),
        "apart": (moved * moved).sum(axis=0),
    }


def _part(state: State, k: int) -> State:
    return {key: x[k] for key, x in state.items() if key not in ("names", "place")}


def _joined(parts: list[State]) -> State:
    """Return the sums of several parts, in order."""
    whole = parts[0]
    for x in parts[1:]:
        n = whole["n"] + x["n"]
        share = x["n"] / max(1, int(n))
        weight = whole["n"] * share
        mean, b, moved = (x[key] - whole[key] for key in ("mean", "b", "moved"))
        whole = {
            "n": n,
            "mean": whole["mean"] + mean * share,
            "square": whole["square"] + x["square"] + 2.0 * weight * mean * mean,
            "b": whole["b"] + b * share,
            "moved": whole["moved"] + moved * share,
            "product": whole["product"] + x["product"] + weight * b * moved,
            "apart": whole["apart"] + x["apart"],
        }
    return whole


def _indices(x: State) -> tuple[Array, Array]:
    """Return the indices of first order and the total ones."""
    n = int(x["n"])
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = x["square"] / (2 * n - 1)
        return x["product"] / (n - 1) / variance, x["apart"] / (2 * n) / variance


def _jackknife(parts: list[State], n: int, found: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the standard errors of both kinds of indices; NaN from a single part."""
    if len(parts) < 2:
        return np.full_like(found[0], math.nan), np.full_like(found[1], math.nan)
    before, after = [parts[0]], [parts[-1]]
    for x in parts[1:]:
        before.append(_joined([before[-1], x]))
    for x in parts[-2::-1]:
        after.append(_joined([x, after[-1]]))
    after.reverse()
    values: list[list[Array]] = [[], []]
    ratios = []
    for k, part in enumerate(parts):
        others = [*before[k - 1 : k], *after[k + 1 : k + 2]] if k else [after[1]]
        ratio = n / int(part["n"])
        ratios.append(ratio)
        for kept, whole, less in zip(values, found, _indices(_joined(others)), strict=True):
            kept.append(ratio * whole - (ratio - 1.0) * less)
    weights = 1.0 / (np.array(ratios) - 1.0)
    errors = []
    for kept in values:
        pseudo = np.stack(kept)
        centre = sum(x / r for x, r in zip(kept, ratios, strict=True))
        scaled = weights.reshape(-1, *(1,) * (pseudo.ndim - 1)) * (pseudo - centre) ** 2
        errors.append(np.sqrt(scaled.sum(axis=0) / len(parts)))
    return errors[0], errors[1]


class _Morris(_Sensitivity):
    sampling = "morris"

    def partial(self, members: Members, fine: NDArray[np.bool_]) -> State:
        """Return the moments of effects, and of their sizes."""
        design, first, f, whole = self._groups(members, fine, Morris)
        _, order, sign = design.walks(first, first + len(f))
        back = np.argsort(order, axis=1, kind="stable")
        rows = np.arange(len(f))[:, None]
        change = np.diff(f, axis=1)[rows, back]
        effect = change * sign.reshape(*sign.shape, *(1,) * (change.ndim - 2)) / (LEVELS[2] - LEVELS[0])
        both = np.stack([effect, np.abs(effect)], axis=1)[whole]
        return {"names": np.array(design.names), **moments_of(both)}

    def merged(self, a: State, b: State) -> State:
        """Return the moments of both."""
        return {"names": a["names"], **moments_merged(a, b)}

    def answer(self, state: State) -> MorrisEffects:
        """Return the effects."""
        n, mean = int(state["n"]), state["mean"]
        with np.errstate(invalid="ignore", divide="ignore"):
            std = np.sqrt(np.asarray(state["square"]) / max(0, n - 1))  # NaN for one walk, or without any
        error = std[1] / math.sqrt(max(1, n))
        return MorrisEffects(tuple(state["names"].tolist()), mean[0], mean[1], std[0], error, n)


@explained
def sobol(of: Of, *, name: str | None = None, every: int | None = None) -> Reduction:
    """Reduce a quantity to its Sobol indices: the shares of its variance that the numbers which vary cause.

    The members are groups of D + 2 for D numbers that are drawn, points of a Sobol sequence (with SciPy), so `members`
    is a multiple of that, best with a power of 2. A group with a member that fails is left out. Other reductions of
    the same study use the two independent members of each group. `of`, `name` and `every` are as in `moments`.
    """
    return _Sobol(default_name(of, name, "sobol"), of, every)


@explained
def morris(of: Of, *, name: str | None = None, every: int | None = None) -> Reduction:
    """Reduce a quantity to the elementary effects of Morris: which of many factors matter, from few members.

    The members are walks of D + 1 for D numbers that are drawn, so `members` is a multiple of that; 10 to 50 walks are
    usual. Each factor has four levels, at 2 %, 34 %, 66 % and 98 % of its probability, and changes once in a walk, by
    two of them. Effects are for the whole of the probability. A walk with a member that fails is left out. `of`, `name`
    and `every` are as in `moments`.
    """
    return _Morris(default_name(of, name, "morris"), of, every)
