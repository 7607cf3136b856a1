"""The tree that visits bodies one by one, for the interpreter and the unrolling compiler."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import TraceError
from ..graph import Scalar
from ..spatial import FixedSize
from .base_parameters import regrouped
from .freedoms import Freedom, FreedomTables
from .index import Index, Numbers
from .model import Model
from .parts import BASE, Frame, inward
from .port_arrays import Input, Output
from .ports import core_size
from .tree import PlacedFrame, Register, Tree
from .varied_rows import VariedRows, varied_rows

__all__ = ["ConcreteTree"]

T = TypeVar("T")


class ConcreteTree(Tree):
    """A tree that visits bodies one by one."""

    def __init__(
        self,
        model: Model,
        number: Callable[[float], Scalar] | None = None,
        regroup: bool = False,
        entry: Callable[[int], Scalar] | None = None,
        values: Sequence[Scalar] | None = None,
    ) -> None:
        """Make a tree whose constants are floats, or converted by `number`, for arithmetic with more digits.

        With `regroup`, inertia is moved between bodies in ways that the joints cannot sense: see `regrouped`. For a
        structure, `entry` returns a number that varies, by its place (see `varied_rows`), or `values` are all numbers
        that vary, as users know them.
        """
        self.model, self.number = model, number
        self.values = values
        """The numbers that vary as users know them; None if all are fixed, or if they are not known here."""
        if values is not None:
            needed = varied_rows(model, regroup)
            entry = needed.evaluated(needed.nodes, values).__getitem__
        self.rows = regrouped(model.tables) if regroup and entry is None else model.tables.rows
        """The numbers of the bodies, if none of them vary."""
        self._varied: VariedRows | None = None
        if entry is not None:
            self._varied, self._entry = varied_rows(model, regroup), entry

    @cached_property
    def _index(self) -> list[Index]:
        """The bodies, with their numbers."""
        t, number = self.model.tables, self.number
        rows: list[list[Scalar]]
        if self._varied is not None:
            rows = [self._varied.filled(row, self._entry, number) for row in self._varied.rows]
        elif number is not None:
            rows = [[number(x) for x in row] for row in self.rows.tolist()]
        else:
            rows = self.rows.tolist()
        return [Index(k, t.kinds[t.kind[k]], rows[k].__getitem__) for k in range(len(rows))]

    @cached_property
    def _parent(self) -> list[Index]:
        """The parents of the bodies."""
        return [Index(int(p)) for p in self.model.tables.parent]

    def number_rows(self, bodies: NDArray[np.int64]) -> NDArray[Any]:
        """Return the numbers of several bodies, one row for each."""
        return self.rows[bodies] if self._varied is None and self.number is None else super().number_rows(bodies)

    @property
    def gravity(self) -> Sequence[Scalar]:
        """The acceleration of gravity."""
        return self.model.gravity if self._varied is None else self._varied.filled(self._varied.gravity, self._entry)

    def varied_placement(self, frame: Frame) -> Callable[[], Sequence[Scalar]] | None:
        """Return a function that reads the twelve numbers of a frame's placement; None if they are fixed."""
        place = None if self._varied is None else self._varied.frame(frame)
        if self._varied is None or place is None:
            return None
        numbers = self._varied.filled(list(self._varied.frames.values())[place], self._entry)
        return lambda: numbers

    def entry(self, place: int) -> Scalar:
        """Return a number that varies, by its place among those that code reads (see `varied_rows`)."""
        return self._entry(place)

    def index(self, body: int) -> Index:
        """Return a body, by its number."""
        return self._index[body]

    def on_base(self, i: Index) -> bool:
        """Return True if a body hangs on the base."""
        return bool(self._parent[i.key].key == BASE)

    @cached_property
    def _freedoms(self) -> FreedomTables:
        return FreedomTables.of(self.model)

    def outward(self, moved_by: Freedom | None = None, upto: Freedom | None = None) -> Iterator[tuple[Index, Index]]:
        """Visit bodies and their parents, parents first."""
        if moved_by is not None:
            return iter(self._moved(moved_by))
        last = len(self._index) if upto is None else int(self._freedoms.body[upto.key]) + 1
        return zip(self._index[:last], self._parent[:last], strict=True)

    def inward(self, moved_by: Freedom | None = None) -> Iterator[tuple[Index, Index]]:
        """Visit bodies and their parents, children first."""
        if moved_by is not None:
            return reversed(self._moved(moved_by))
        return zip(reversed(self._index), reversed(self._parent), strict=True)

    def _moved(self, d: Freedom) -> list[tuple[Index, Index]]:
        t, at = self._freedoms, d.key
        start, root = int(t.at[at]), int(t.root[at])
        found = t.order[start : start + int(t.count[at])].tolist()
        return [(self._index[k], self.base if k == root else self._parent[k]) for k in found]

    def freedoms(self, moved_by: Freedom | None = None, upto: Freedom | None = None) -> Iterator[Freedom]:
        """Visit freedoms in order."""
        if moved_by is not None:
            t, at = self._freedoms, moved_by.key
            start = int(t.v_at[at])
            return map(Freedom, t.v_order[start : start + int(t.v_count[at])].tolist())
        return map(Freedom, range(self.model.nv if upto is None else upto.key + 1))

    def freedoms_inward(self) -> Iterator[Freedom]:
        """Visit all freedoms, the last one first."""
        return map(Freedom, reversed(range(self.model.nv)))

    def elimination_path(self, d: Freedom, itself: bool = False) -> Iterator[Freedom]:
        """Visit the path of d in the elimination tree."""
        up, k = self._freedoms.up, int(d.key)
        if not itself:
            k = int(up[k])
        while k >= 0:
            yield Freedom(k)
            k = int(up[k])

    def same_joint(self, d: Freedom, itself: bool = False) -> Iterator[Freedom]:
        """Visit the freedoms of the same joint before d."""
        k = int(d.key)
        return map(Freedom, reversed(range(int(self._freedoms.first[k]), k + itself)))

    def unit(self, kind: str, d: Freedom) -> Input:
        """Return an argument of zeros, with a one at a freedom."""
        return self.input(kind, [1.0 if k == d.key else 0.0 for k in range(self.model.nv)])

    def path_inward(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """Visit the bodies from the frame's body to the base."""
        return self._inward(frame.body.key)

    def path(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """Visit the bodies from the base to the frame's body."""
        return reversed(list(self.path_inward(frame)))

    def ancestors(self, i: Index | Freedom) -> Iterator[tuple[Index, Index]]:
        """Visit the bodies from i's parent to the root."""
        of_freedom = isinstance(i, Freedom)
        return self._inward(int(self._freedoms.body[i.key]) if of_freedom else self._parent[i.key].key)

    def _inward(self, body: int) -> Iterator[tuple[Index, Index]]:
        """Visit a body and all that carry it, with their parents."""
        return ((self._index[k], self._parent[k]) for k in inward(self.model.joints, body))

    def start(self, of: str, where: Index | Freedom) -> int:
        """Return the number at which the range of a body along an axis begins."""
        key: int = where.key
        return key if of == "body" or isinstance(where, Freedom) else self._starts[of][key]

    @cached_property
    def _starts(self) -> dict[str, list[int]]:
        t, own = self.model.tables, [0, *accumulate(c.type.nv for c in self.model.joints)]
        return {"q": t.q_start.tolist(), "v": t.v_start.tolist(), "own": own[:-1]}

    def field(self, type: FixedSize[T], base: Any = None) -> Any:
        """Return a dictionary by body."""
        zero = type.zero()
        return _ConcreteField(zero, zero if base is None else base)

    def own(self, type: Any = None) -> Any:
        """Return a dictionary by body."""
        return _ConcreteOwn()

    def vector(self) -> Any:
        """Return a dictionary by body."""
        return _ConcreteMemory()

    def pairs(self) -> Any:
        """Return a dictionary by pairs of bodies."""
        return _ConcreteMemory()

    def columns(self, type: FixedSize[T]) -> Any:
        """Return a dictionary by body and freedom."""
        return _ConcreteMemory()

    def register(self, value: T) -> Register[T]:
        """Return a plain variable."""
        found: Register[T] = Register()
        found.value = value
        return found

    def input(self, kind: str, scalars: Numbers) -> Input:
        """Return an argument of the algorithm, from its scalars in order."""
        return Input(self, kind, scalars.__getitem__, scalars)

    def output(self, kind: str) -> Output:
        """Return a result: scalars in the order of its array."""
        scalars: list[Scalar] = [0.0] * core_size(self.model, kind, self.frames)
        return Output(self, kind, scalars.__getitem__, scalars.__setitem__, scalars)


class _ConcreteField:
    def __init__(self, zero: Any, base: Any) -> None:
        self._values: dict[Hashable, Any] = {BASE: base}
        self._type = type(zero)

    def __getitem__(self, i: Index) -> Any:
        try:
            return self._values[i.key]
        except KeyError:
            raise TraceError(f"a field is read at body {i.key} before it was set there") from None

    def __setitem__(self, i: Index, value: Any) -> None:
        if type(value) is not self._type and self._type is not float:
            raise TraceError(f"a field of {self._type.__name__} was given a {type(value).__name__}")
        self._values[i.key] = value


class _ConcreteOwn:
    def __init__(self) -> None:
        self._values: dict[Hashable, Any] = {}

    def __getitem__(self, i: Index) -> Any:
        if i.is_parent or i.key not in self._values:
            raise TraceError("an own field is read at a loop's own body only, after it was set there")
        return self._values[i.key]

    def __setitem__(self, i: Index, value: Any) -> None:
        if i.is_parent:
            raise TraceError("an own field is set at a loop's own body only")
        self._values[i.key] = value


class _ConcreteMemory:
    """Values by bodies, or pairs of indices."""

    def __init__(self) -> None:
        self._values: dict[Hashable, Any] = {}

    def __getitem__(self, where: Any) -> Any:
        return self._values[tuple(i.key for i in where) if isinstance(where, tuple) else where.key]

    def __setitem__(self, where: Any, value: Any) -> None:
        self._values[tuple(i.key for i in where) if isinstance(where, tuple) else where.key] = value
