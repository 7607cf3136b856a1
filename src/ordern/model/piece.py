"""Functions of arrays that algorithms apply to many elements at a time: all pairs of a level, in all states.

An algorithm that is not made of loops over bodies is NumPy code around such pieces. The result of a piece
for one element does not depend on the others, so a piece is compiled once for elements of one shape: `tree.run(piece,
...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field
from typing import Any

import numpy as np

from ..arguments import AnyArray
from ..records import dataclass

__all__ = ["Piece", "RowAnswer", "Runner", "packed", "piece"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A function of arrays, and tuples of them, whose first axes count elements; it returns a tuple of arrays.

    `ranks` are the numbers of axes that belong to an element, array by array. Pieces with the same key are the same.
    """

    function: Callable[..., tuple[AnyArray, ...]] = field(compare=False)
    ranks: tuple[int, ...]
    key: Hashable
    general: bool = False
    """True if it is the same for all robots."""

    def __call__(self, *values: Any) -> tuple[AnyArray, ...]:
        """Run the function, as it is written."""
        return self.function(*values)


@dataclass(frozen=True, slots=True)
class RowAnswer:
    """The result of an algorithm on arrays of bodies, with a row for each of its numbers."""

    rows: AnyArray


Runner = Callable[..., tuple[AnyArray, ...]]
"""A function that runs a piece: runner(piece, *values)."""


def piece(*ranks: int) -> Callable[[Callable[..., tuple[AnyArray, ...]]], Piece]:
    """Declare a function as a piece."""

    def made(function: Callable[..., tuple[AnyArray, ...]]) -> Piece:
        return Piece(function, ranks, (function.__module__, function.__qualname__), general=True)

    return made


def packed(scalars: Any, *shape: int) -> AnyArray:
    """Return scalars (numbers, nodes, or arrays with a number for each element) as one array of this shape."""
    flat = list(scalars)
    kinds = [getattr(x, "dtype", np.dtype(float if isinstance(x, (int, float)) else object)) for x in flat]
    known = [kind for kind, x in zip(kinds, flat, strict=True) if not isinstance(x, (int, float))]
    batch = np.broadcast_shapes(*(getattr(x, "shape", ()) for x in flat))
    found = np.empty((*batch, len(flat)), np.result_type(*known) if known else float)
    for k, x in enumerate(flat):
        found[..., k] = x
    return found.reshape(*batch, *shape)
