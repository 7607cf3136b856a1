"""Arrays that record what is done with them: rows taken, rows set, pieces applied.

They have the parts of NumPy's interface that texts on arrays of bodies use: rows by slices or lists of places, parts
of an element by the last axes, `concatenate`, `zeros_like`, `empty_like`, and assignments. All arithmetic is in pieces.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arguments import AnyArray
from ...errors import TraceError
from ...graph import Node
from ...model import ConcreteTree, Piece, RowAnswer
from ..pipeline import Request
from ..run.pieces import cores_of, flat_arrays, traced_piece
from .program import Apply, Copy, Program, Rows, Table, View, first_places

__all__ = ["record"]


class _Recorder:
    """Collects the steps of a program."""

    def __init__(self, dtype: np.dtype[Any], batch: int) -> None:
        self.dtype, self.batch = dtype, batch
        self.steps: list[Apply | Copy] = []
        self.tables: list[Table] = []
        self.constants: dict[int, AnyArray] = {}
        self._zero = self.table(1, 1, batched=False)
        self.constants[self._zero.number] = np.zeros((1, 1))
        self.shared: set[int] = set()
        """Tables that several arrays have, so that they must not change."""
        self._known: dict[Any, tuple[AnyArray, ...]] = {}
        """The results of pieces for one element, by the piece and by which numbers of its inputs are equal."""

    def table(self, rows: int, width: int, batched: bool = True) -> Table:
        """Add a table."""
        self.tables.append(Table(len(self.tables), rows, width, batched))
        return self.tables[-1]

    def new(self, rows: int, core: tuple[int, ...]) -> RecordedArray:
        """Return an array of rows that will be set."""
        return RecordedArray.whole(self, self.table(rows, math.prod(core)), core, owner=True)

    def new_like(self, rows: int, *arrays: RecordedArray) -> RecordedArray:
        """Return an array of rows that will be set; numbers that are equal in all of these arrays are stored once."""
        pattern = first_places(list(zip(*(x.view.columns for x in arrays), strict=True)))
        return self._compressed(rows, arrays[0].core, pattern)[0]

    def _compressed(
        self, rows: int, core: tuple[int, ...], pattern: Sequence[int]
    ) -> tuple[RecordedArray, tuple[int, ...]]:
        """Return an array whose number k is that at place pattern[k], and the places that its table has."""
        stored = tuple(k for k, first in enumerate(pattern) if k == first)
        at = {place: column for column, place in enumerate(stored)}
        view = View(self.table(rows, len(stored)), Rows(rows), tuple(at[first] for first in pattern))
        return RecordedArray(self, view, core, owner=True), stored

    def zero_array(self, shape: tuple[int, ...]) -> RecordedArray:
        """Return an array of zeros with so many rows; the shape has the axes of the batch after the first.

        All of them are one number, until some are set.
        """
        rows, core = shape[0], shape[1 + self.batch :]
        view = View(self._zero, Rows(rows, 0, 0), (0,) * math.prod(core))
        return RecordedArray(self, view, core, owner=True)

    def constant(self, array: Any, core: int) -> RecordedArray:
        """Return numbers that are known as an array of rows, whose elements have so many axes."""
        array = np.asarray(array, self.dtype)
        shape = array.shape[array.ndim - core :]
        rows = array.shape[0] if array.ndim > core else 1
        if math.prod(array.shape) != rows * math.prod(shape):
            raise TraceError("numbers that are known must not differ between states")
        table = self.table(rows, math.prod(shape), batched=False)
        self.constants[table.number] = array.reshape(rows, -1)
        return RecordedArray.whole(self, table, shape)

    def run(self, piece: Piece, *values: Any) -> tuple[RecordedArray, ...]:
        """Apply a piece."""
        given: list[Any] = list(flat_arrays(values))
        arrays = [
            x if isinstance(x, RecordedArray) else self.constant(x, rank)
            for x, rank in zip(given, piece.ranks, strict=True)
        ]
        cores = tuple(x.core for x in arrays)
        patterns = tuple(first_places(x.view.columns) for x in arrays)
        key = piece, cores, patterns
        if key not in self._known:
            self._known[key] = traced_piece(piece, values, cores_of(piece, given), patterns)
        traced = self._known[key]
        counts = {x.view.rows.count for x in arrays} - {1}
        if len(counts) > 1:
            raise TraceError(f"the arrays of the piece {piece.key} have {sorted(counts)} rows")
        count = counts.pop() if counts else 1
        made = [self._compressed(count, x.shape, first_places([_identity(y) for y in x.flat])) for x in traced]
        inputs, tables = tuple(x.view for x in arrays), tuple(x.view.table for x, _ in made)
        self.steps.append(Apply(piece, cores, inputs, tables, traced, tuple(places for _, places in made), count))
        return tuple(x for x, _ in made)


class RecordedArray:
    """Rows of a table as an array of shape (rows, batch, element)."""

    __array_priority__ = 100.0
    places: Rows | None = None
    """The rows of the array that this is a part of, if it has all of their numbers."""

    def __init__(self, recorder: _Recorder, view: View, core: tuple[int, ...], owner: bool = False) -> None:
        """Make an array of a view; an `owner` is not a part of another array, and may be set."""
        self._recorder, self.view, self.core, self._owner = recorder, view, core, owner

    @classmethod
    def whole(cls, recorder: _Recorder, table: Table, core: tuple[int, ...], owner: bool = False) -> RecordedArray:
        """Return all of a table."""
        return cls(recorder, View(table, Rows(table.rows), tuple(range(table.width))), core, owner)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, with a batch of one state."""
        return self.view.rows.count, *(1 for _ in range(self._recorder.batch)), *self.core

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return 1 + self._recorder.batch + len(self.core)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return self._recorder.dtype

    def __len__(self) -> int:
        return self.view.rows.count

    def __getitem__(self, key: Any) -> RecordedArray:
        rows, parts = self._selection(key)
        columns = np.array(self.view.columns).reshape(self.core)[parts]
        view = View(self.view.table, self.view.rows.some(rows), tuple(columns.ravel().tolist()))
        found = RecordedArray(self._recorder, view, columns.shape)
        if columns.shape == self.core:
            found.places = Rows(len(self)).some(rows)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self[key]
        if not isinstance(value, RecordedArray):
            value = self._recorder.constant(_squeezed(value, target.core), len(target.core))
        if len(value.view.columns) not in (1, len(target.view.columns)):
            raise TraceError(f"elements of shape {value.core} were assigned to elements of shape {target.core}")
        if value.view.rows.count not in (1, target.view.rows.count):
            raise TraceError(f"{value.view.rows.count} rows were assigned to {target.view.rows.count}")
        if not target.view.rows.count or self._replaced(target, value):
            return
        table = self.view.table
        if table.number in self._recorder.shared or not table.batched or not _fits(value.view, target.view):
            if not self._owner:
                raise TraceError("a part of an array of bodies cannot be set by its own name: set rows of the array")
            own = self._recorder.new(len(self), self.core)
            self._recorder.steps.append(Copy(self.view, own.view))
            self.view = own.view
            target = self[key]
        self._recorder.steps.append(_copy(value.view, target.view))

    def _replaced(self, target: RecordedArray, value: RecordedArray) -> bool:
        """Take the rows of a value as they are, if all rows of this array are set at once, in order or backwards."""
        n, rows = len(self), target.places
        if not self._owner or rows is None or len(value) != n or value.core != self.core:
            return False
        if not value.view.table.batched or (rows.first, rows.step) not in ((0, 1), (n - 1, -1)) or rows.count != n:
            return False
        self.view = value[:: rows.step].view
        self._recorder.shared.add(self.view.table.number)
        return True

    def _selection(self, key: Any) -> tuple[Any, Any]:
        """Return the selection of rows, and that of the parts of an element."""
        keys = key if isinstance(key, tuple) else (key,)
        if Ellipsis in [k for k in keys if not isinstance(k, np.ndarray)]:
            at = next(k for k, x in enumerate(keys) if x is Ellipsis)
            rows, parts = keys[:at], keys[at + 1 :]
            parts = (*(slice(None) for _ in range(len(self.core) - len(parts))), *parts)
        else:
            rows, parts = keys, ()
        if len(rows) > 1 or len(parts) > len(self.core):
            raise TraceError("an array of bodies is indexed by rows, an ellipsis, and parts of the elements")
        row = rows[0] if rows else slice(None)
        if isinstance(row, (int, np.integer)):
            row = np.array([int(row)])
        if isinstance(row, np.ndarray):
            row = np.where(row < 0, row + self.view.rows.count, row)
        return row, parts

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        known: Any = _FUNCTIONS.get(function)
        return NotImplemented if known is None else known(*args, **kwargs)


def _fits(source: View, target: View) -> bool:
    """Return True if numbers that the target stores once are equal in the source."""
    return len(source.columns) == 1 or len({*zip(target.columns, source.columns, strict=True)}) == len(
        {*target.columns}
    )


def _copy(source: View, target: View) -> Copy:
    """Return the copy of the numbers that the target stores."""
    if len(source.columns) == 1:
        return Copy(source, View(target.table, target.rows, tuple(dict.fromkeys(target.columns))))
    pairs = dict(zip(target.columns, source.columns, strict=True))
    return Copy(View(source.table, source.rows, tuple(pairs.values())), View(target.table, target.rows, tuple(pairs)))


def _identity(scalar: Any) -> Any:
    """Return what two scalars that are equal for sure have in common."""
    return scalar.index if isinstance(scalar, Node) else float(scalar).hex()


def _squeezed(value: Any, core: Sequence[int]) -> NDArray[Any]:
    """Return numbers for elements of this shape, without axes of the batch."""
    array = np.asarray(value)
    return np.broadcast_to(array.reshape(array.shape[array.ndim - len(core) :] if core else ()), tuple(core))


def _concatenate(arrays: Sequence[Any], axis: int = 0) -> RecordedArray:
    """Return the rows of several arrays in one."""
    if axis:
        raise TraceError("arrays of bodies are joined along their first axis")
    given = [x for x in arrays if isinstance(x, RecordedArray)]
    found = given[0]._recorder.new_like(sum(map(len, arrays)), *given)
    start = 0
    for x in arrays:
        if len(x):
            found[start : start + len(x)] = x
        start += len(x)
    return found


def _zeros_like(array: RecordedArray) -> RecordedArray:
    """Return zeros of the same shape."""
    return array._recorder.zero_array(array.shape)


def _empty_like(array: RecordedArray, shape: tuple[int, ...]) -> RecordedArray:
    """Return rows of the same elements, which will be set."""
    return array._recorder.new_like(shape[0], array)


_FUNCTIONS = {np.concatenate: _concatenate, np.zeros_like: _zeros_like, np.empty_like: _empty_like}


class _Numbers:
    """The numbers of an argument, in a table with a row for each."""

    def __init__(self, array: RecordedArray) -> None:
        self._array = array
        self.batch, self.dtype = array.shape[1:], array.dtype

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, k: int) -> Any:
        raise TraceError("this text reads single numbers of its arguments, and cannot be recorded")

    def rows(self, places: NDArray[np.int64]) -> RecordedArray:
        """Return numbers by their places (rows, numbers)."""
        found = self._array._recorder.new(len(places), (places.shape[1],))
        for k in range(places.shape[1]):
            found[..., k] = self._array[places[:, k]]
        return found


def record(request: Request, dtype: str) -> Program:
    """Return the program of a method that works on arrays of all bodies, for one robot."""
    recorder, tree = _Recorder(np.dtype(dtype), 0), ConcreteTree(request.model)
    if tree.couplings:
        raise TraceError(f"{request.model.name!r} has mimic joints, whose couplings cannot be recorded")
    runner: Any = recorder.run
    tree.runner, tree.zero_array, tree.frames = runner, recorder.zero_array, request.frames
    inputs, tables = [], []
    for kind, given in request.slots:
        if not given:
            inputs.append(tree.zeros(kind))
            continue
        size = math.prod(request.shape(kind))
        table = recorder.table(size, 1)
        tables.append(table)
        inputs.append(tree.input(kind, _Numbers(RecordedArray.whole(recorder, table, ()))))  # type: ignore[arg-type]
    answer = request.algorithm.function(tree, *inputs, **dict(request.options))
    rows: Any = answer.rows if isinstance(answer, RowAnswer) else None
    if not isinstance(rows, RecordedArray):
        raise TraceError(f"the method {request.algorithm.name!r} does not work on arrays of all bodies")
    table = rows.view.table
    if rows.view != View(table, Rows(table.rows), (0,)) or not table.batched:
        result = recorder.new(len(rows), ())
        recorder.steps.append(Copy(rows.view, result.view))
        table = result.view.table
    return Program(
        tuple(recorder.steps),
        tuple(recorder.tables),
        tuple(tables),
        recorder.constants,
        table,
    )
