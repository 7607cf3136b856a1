"""Named operators: block by block, or as a sweep over the bodies. Their numbers are computed on first use.

A block operator has a few blocks, at most one for each body: diagonal ones (memoryless operators such as M, H, P), or
one from each body to its parent (E_phi, E_psi, K and S). A sweep is the inverse (I - E)^-1 of such a step: it never
has a matrix, but runs from the tips to the base, y_p += E_i y_i, and its transpose from the base to the tips.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..records import dataclass
from .spaces import Space

__all__ = ["Array", "Blocks", "Cost", "Entry", "Source", "Sweep", "inverse", "times"]

Array = NDArray[Any]
Entry = tuple[int, int, Array]
"""Row, column and block."""


def times(block: Array, x: Array) -> Array:
    """Multiply a block with columns: the only arithmetic of the operators."""
    y: Array = block @ x
    return y


@dataclass(frozen=True)
class Cost:
    """The cost of applying an operator to one vector, which is proportional to the number of bodies."""

    sweeps: tuple[str, ...]
    """The recursions over the bodies in the order in which they run: "inward" or "outward"."""
    products: int
    """The number of products of a block and a vector."""

    def __add__(self, later: Cost) -> Cost:
        return Cost(self.sweeps + later.sweeps, self.products + later.products)

    def __str__(self) -> str:
        if not self.sweeps:
            return "no sweep"
        count = "1 sweep" if len(self.sweeps) == 1 else f"{len(self.sweeps)} sweeps"
        return f"{count} ({', '.join(self.sweeps)})"


class Source(ABC):
    """The action of a named operator and of its transpose."""

    domain: Space
    codomain: Space
    nature: str
    symmetric = False
    invertible = False

    @abstractmethod
    def apply(self, x: Array) -> Array:
        """Return the product with columns."""

    @abstractmethod
    def apply_transposed(self, x: Array) -> Array:
        """Return the product of the transpose with columns."""

    @abstractmethod
    def cost(self, star: bool) -> Cost:
        """Return the cost of applying it, or its transpose."""


class Blocks(Source):
    """An operator with few blocks, listed."""

    def __init__(
        self,
        domain: Space,
        codomain: Space,
        make: Callable[[], Iterable[Entry]],
        nature: str,
        *,
        symmetric: bool = False,
        invertible: bool = False,
    ) -> None:
        self.domain, self.codomain, self.nature = domain, codomain, nature
        self.symmetric, self.invertible = symmetric, invertible
        self._make = make

    @cached_property
    def entries(self) -> list[Entry]:
        """The blocks that are not empty, with their places."""
        return [(r, c, block) for r, c, block in self._make() if block.size]

    @cached_property
    def transposed(self) -> list[Entry]:
        """The blocks of the transpose, in the same order."""
        return [(c, r, block.T) for r, c, block in self.entries]

    def apply(self, x: Array) -> Array:
        """Apply it block by block."""
        return _sum(self.entries, x, self.domain, self.codomain)

    def apply_transposed(self, x: Array) -> Array:
        """Apply the transpose block by block."""
        return _sum(self.transposed, x, self.codomain, self.domain)

    def cost(self, star: bool) -> Cost:
        """Return one product for each block."""
        return Cost((), len(self.entries))

    def inverted(self, name: str) -> Blocks:
        """Return the inverse of a block-diagonal operator."""

        def make() -> Iterable[Entry]:
            for r, c, block in self.entries:
                try:
                    yield c, r, inverse(block)
                except np.linalg.LinAlgError:
                    raise ArgumentError(f"{name} has no inverse: its block {r} is singular") from None

        return Blocks(self.codomain, self.domain, make, self.nature, symmetric=self.symmetric, invertible=True)


class Sweep(Source):
    """(I - E)^-1 for a step E from each body to its parent; if `strict`, less the identity."""

    nature = "causal"

    def __init__(self, step: Blocks, strict: bool = False) -> None:
        self.step, self.strict = step, strict
        self.domain, self.codomain = step.domain, step.codomain

    def apply(self, x: Array) -> Array:
        """Sweep inward, from the tips to the base."""
        return self._swept(x, reversed(self.step.entries))

    def apply_transposed(self, x: Array) -> Array:
        """Sweep outward, from the base to the tips."""
        return self._swept(x, self.step.transposed)

    def _swept(self, x: Array, entries: Iterable[Entry]) -> Array:
        y, at = np.zeros_like(x) if self.strict else x.copy(), self.domain.slices
        for to, start, block in entries:
            y[at[to]] += times(block, y[at[start]] + x[at[start]] if self.strict else y[at[start]])
        return y

    def cost(self, star: bool) -> Cost:
        """Return one product for each body that has a parent."""
        return Cost(("outward",) if star else ("inward",), len(self.step.entries))


def _sum(entries: Iterable[Entry], x: Array, domain: Space, codomain: Space) -> Array:
    y = np.zeros((codomain.size, x.shape[1]), x.dtype)
    rows, columns = codomain.slices, domain.slices
    for r, c, block in entries:
        y[rows[r]] += times(block, x[columns[c]])
    return y


def inverse(A: Array) -> Array:
    """Return the inverse of a small matrix, in its own precision."""
    X: Array = np.linalg.inv(A.astype(np.float64)).astype(A.dtype)
    if A.dtype.itemsize > 8:
        for _ in range(2):  # each of Newton's steps doubles the digits
            X = X + X @ (np.eye(len(A), dtype=A.dtype) - A @ X)
    return X
