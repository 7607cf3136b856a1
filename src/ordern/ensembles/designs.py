"""Designs of sensitivity studies: members in groups that differ from each other in one factor at a time.

A factor is one number that is drawn, or a whole quantity that is a function of a seed. Members of a group follow each
other, so the place of a member gives its group and its part in it, and any range of members can be drawn at any time.

Reference: Saltelli et al. 2010, Variance based sensitivity analysis of model output. Morris 1991, Factorial sampling
plans for preliminary computational experiments.
"""

from __future__ import annotations

import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from ..errors import ArgumentError
from ..records import dataclass
from .counters import uniforms

__all__ = ["DESIGNS", "Design", "Factor", "Morris", "Saltelli", "sobol_points"]

LEVELS = (0.02, 0.34, 0.66, 0.98)
"""The probabilities at which factors are in the design of Morris. A walk changes a factor from one of the first two to
the one after the next, or back: not by half of a circle, over which many quantities of robots are the same. The usual
levels 0 and 1 would be infinite for normal distributions."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor: its name, and its columns among all numbers that are drawn; none for a function of a seed."""

    name: str
    columns: tuple[int, ...]


class Design(ABC):
    """The members of a sensitivity study."""

    name: str
    independent: int
    """So many members of a group, the first ones, are independent draws."""

    def __init__(self, factors: Sequence[Factor], columns: int, seed: int) -> None:
        self.factors, self.columns, self.seed = tuple(factors), columns, seed
        if not factors:
            raise ArgumentError(f"Ensemble: sampling={self.name!r} needs something that varies by a distribution")

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of members of a group."""

    @abstractmethod
    def points(self, first: int, last: int) -> Array:
        """Return the numbers between 0 and 1 of groups, of shape (groups, size, columns)."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the factors."""
        return tuple(x.name for x in self.factors)

    def of_members(self, first: int, last: int) -> Array:
        """Return the numbers between 0 and 1 of members, of shape (last - first, columns)."""
        start, stop = first // self.size, -(-last // self.size)
        rows = self.points(start, stop).reshape(-1, self.columns)
        return rows[first - start * self.size : last - start * self.size]

    def required(self, what: str, count: int) -> int:
        """Return a number of members that is whole groups; raise if it is not."""
        if count % self.size:
            below, above = count // self.size * self.size, -(-count // self.size) * self.size
            near = f"{above:,}" if not below else f"{below:,} or {above:,}"
            raise ArgumentError(
                f"Ensemble: sampling={self.name!r} of {len(self.factors)} factors has groups of {self.size} members, "
                f"so `{what}` must be a multiple of it: give {near}, not {count:,}"
            )
        return count


class Saltelli(Design):
    """Points A and B of a Sobol sequence, and for each factor the point A with that factor from B."""

    name, independent = "saltelli", 2

    @property
    def size(self) -> int:
        """The number of members of a group: A, B, and one for each factor."""
        return 2 + len(self.factors)

    def points(self, first: int, last: int) -> Array:
        """Return the numbers of groups."""
        both = sobol_points(2 * self.columns, self.seed, first, last, self.name)
        a, b = both[:, : self.columns], both[:, self.columns :]
        found = np.repeat(a[:, None], self.size, axis=1)
        found[:, 1] = b
        for k, x in enumerate(self.factors):
            for column in x.columns:
                found[:, 2 + k, column] = b[:, column]
        return found

    def from_second(self, factor: str, first: int, last: int) -> NDArray[np.bool_]:
        """Tell for which members a factor that is a function of a seed is that of point B."""
        part = np.arange(first, last) % self.size
        return np.asarray((part == 1) | (part == 2 + self.names.index(factor)))


class Morris(Design):
    """Walks from a random point that change each factor once, in random order, by two of its four levels."""

    name, independent = "morris", 0

    def __init__(self, factors: Sequence[Factor], columns: int, seed: int) -> None:
        super().__init__(factors, columns, seed)
        seeds = next((x.name for x in factors if not x.columns), None)
        if seeds is not None:
            raise ArgumentError(
                f"Ensemble: {seeds} is a function of a seed, which has no levels; sampling='morris' needs distributions"
            )

    @property
    def size(self) -> int:
        """The number of members of a group: the start of a walk, and the end of each step."""
        return 1 + len(self.factors)

    def points(self, first: int, last: int) -> Array:
        """Return the numbers of groups."""
        n = len(self.factors)
        start, order, sign = self.walks(first, last)
        level = np.where(sign > 0, start, start + 2)
        found = np.empty((last - first, n + 1, n), np.int64)
        found[:, 0] = level
        rows = np.arange(last - first)
        for k in range(n):
            which = order[:, k]
            found[:, k + 1] = found[:, k]
            found[rows, k + 1, which] += 2 * sign[rows, which]
        return np.array(LEVELS)[found]

    def walks(self, first: int, last: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return for each walk the lower level of each factor, the factors in order, and 1 or -1 for up or down."""
        n = len(self.factors)
        u = uniforms(self.seed, "morris", first, last, 3 * n)
        start, order = np.where(u[:, :n] < 0.5, 0, 1), np.argsort(u[:, n : 2 * n], axis=1, kind="stable")
        return start, order, np.where(u[:, 2 * n :] < 0.5, 1, -1)


_LAST = threading.local()
"""The sequence that this thread used last: to go on costs less than to begin again, as members come in order."""

DESIGNS: dict[str, Any] = {"saltelli": Saltelli, "morris": Morris}


def sobol_points(columns: int, seed: int, first: int, last: int, sampling: str) -> Array:
    """Return points of a scrambled Sobol sequence, of shape (last - first, columns), without 0 and 1."""
    try:
        from scipy.stats import qmc
    except ImportError:
        raise ArgumentError(f"Ensemble: sampling={sampling!r} needs SciPy: pip install scipy") from None
    if not columns:
        return np.zeros((last - first, 0))
    if columns > qmc.Sobol.MAXDIM:
        raise ArgumentError(f"Ensemble: a Sobol sequence has at most {qmc.Sobol.MAXDIM} numbers, not {columns}")
    engine = _sequence(qmc, columns, seed, first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a block need not be a power of 2
        u = engine.random(last - first)
    return np.asarray(np.clip(u, 2.0**-54, 1.0 - 2.0**-53))


def _sequence(qmc: Any, columns: int, seed: int, first: int) -> Any:
    """Return a scrambled Sobol sequence that goes on with this point."""
    found: tuple[Any, Any] = getattr(_LAST, "sequence", (None, None))
    key, engine = found
    if key != (columns, seed) or engine.num_generated > first:
        engine = qmc.Sobol(columns, scramble=True, rng=np.random.default_rng(seed))
        _LAST.sequence = (columns, seed), engine
    if first > engine.num_generated:
        engine.fast_forward(first - engine.num_generated)
    return engine
