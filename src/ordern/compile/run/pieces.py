"""Compiled pieces: the functions that algorithms without loops over bodies apply to all elements of a level.

A piece is traced on one element, into straight-line code for elements of that shape; NumPy runs it on all elements and
states. The code does not depend on their number: it is the same for a chain of ten links and of a thousand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ...arguments import AnyArray
from ...forking import COMPILING
from ...graph import Counts
from ...model import Model, Piece
from ..pipeline import Code, cached_code, piece_key
from ..trace.layout import Layout, Operand
from .loaded import Machine

__all__ = ["CompiledPiece", "Counter", "Pieces", "cores_of", "flat_arrays", "traced_piece"]

Shape = tuple[int, ...]


_GENERAL: dict[Any, CompiledPiece] = {}
"""Pieces that are the same for all robots."""


class Pieces:
    """Runs the pieces of a model's algorithms, compiled at first use. Numbers other than floats run in Python."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._made: dict[Any, CompiledPiece] = {}

    def __call__(self, piece: Piece, *values: Any) -> tuple[AnyArray, ...]:
        """Return the results of a piece for these arrays."""
        arrays = list(flat_arrays(values))
        dtype = np.result_type(*arrays)
        cores = cores_of(piece, arrays)
        if dtype not in (np.float32, np.float64) or not any(map(math.prod, cores)):
            return piece(*values)
        key, known = (piece, cores, dtype), _GENERAL if piece.general else self._made
        made = known.get(key)
        if made is None:
            with COMPILING:
                made = known.get(key)
                if made is None:
                    traced = traced_piece(piece, values, cores)
                    made = known[key] = CompiledPiece(self._model, piece, traced, cores, dtype.name)
        return made([a for a, core in zip(arrays, cores, strict=True) if math.prod(core)])


class Counter:
    """Counts the operations of pieces, instead of compiling them."""

    def __init__(self) -> None:
        self.counts = Counts()
        self._known: dict[Any, Counts] = {}

    def __call__(self, piece: Piece, *values: Any) -> tuple[AnyArray, ...]:
        """Return the results of a piece for these arrays."""
        from ...graph import Node, count

        arrays = list(flat_arrays(values))
        cores = cores_of(piece, arrays)
        if (piece, cores) not in self._known:
            nodes = (x for part in traced_piece(piece, values, cores) for x in part.flat if isinstance(x, Node))
            self._known[piece, cores] = count(nodes)
        batches = (a.shape[: a.ndim - len(core)] for a, core in zip(arrays, cores, strict=True))
        self.counts = self.counts + self._known[piece, cores] * math.prod(np.broadcast_shapes(*batches))
        return piece(*values)


class CompiledPiece:
    """A piece as compiled code, for elements of one shape."""

    def __init__(
        self,
        model: Model,
        piece: Piece,
        results: tuple[AnyArray, ...],
        cores: tuple[Shape, ...],
        dtype: str,
        patterns: tuple[tuple[int, ...], ...] = (),
    ) -> None:
        """Compile the results that tracing the piece with these patterns gave, or load them from the cache."""
        self._shapes = [x.shape for x in results]
        ends = np.cumsum([0, *(x.size for x in results)]).tolist()
        self._parts = [slice(a, b) for a, b in pairwise(ends)]
        inputs = tuple(Operand(str(k), core) for k, core in enumerate(cores) if math.prod(core))
        output = Operand("out", (max(1, ends[-1]),))

        def compiled() -> Code:
            from ..program import compile_straight

            scalars = [x for part in results for x in part.flat] or [0.0]
            return compile_straight(scalars, lambda lanes: Layout(inputs, output, lanes), dtype)

        about = {"robot": model.name, "question": str(piece.key)}
        code = cached_code(piece_key(model, piece, (cores, patterns) if patterns else cores, dtype), about, compiled)
        self._machine = Machine(code, Layout(inputs, output, code.lanes), None, "piece", dtype)

    def __call__(self, arrays: list[AnyArray]) -> tuple[AnyArray, ...]:
        """Return the results for arrays of elements."""
        found = self._machine.run(arrays, None)
        batch = found.shape[:-1]
        return tuple(
            found[..., part].reshape(*batch, *shape) for part, shape in zip(self._parts, self._shapes, strict=True)
        )


def flat_arrays(values: Any) -> Iterator[AnyArray]:
    """Yield the arrays among values and tuples of values."""
    for x in values:
        if isinstance(x, tuple):
            yield from flat_arrays(x)
        else:
            yield x


def cores_of(piece: Piece, arrays: list[AnyArray]) -> tuple[Shape, ...]:
    """Return the shape of an element of each array."""
    return tuple(a.shape[a.ndim - rank :] for a, rank in zip(arrays, piece.ranks, strict=True))


def traced_piece(
    piece: Piece, values: Any, cores: tuple[Shape, ...], patterns: tuple[tuple[int, ...], ...] | None = None
) -> tuple[AnyArray, ...]:
    """Trace a piece for one element whose numbers are leaves; empty arrays are not inputs.

    `patterns` has for each array the first place of each of its numbers: equal numbers have one.
    """
    from ...graph import Graph

    graph, remaining = Graph(str(piece.key)), iter(enumerate(cores))
    number = 0

    def element(x: Any) -> Any:
        nonlocal number
        if isinstance(x, tuple):
            return tuple(map(element, x))
        k, core = next(remaining)
        found = np.empty(core, object)
        places = range(found.size) if patterns is None else patterns[k]
        leaves = {place: graph.leaf((number, place)) for place in dict.fromkeys(places)}
        found.reshape(-1)[:] = [leaves[place] for place in places]
        number += bool(found.size)
        return found

    return tuple(np.asarray(x, object) for x in piece(*map(element, values)))
