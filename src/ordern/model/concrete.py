"""The tree that visits bodies one by one: the interpreter's, and the unrolling compiler's."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import cached_property
from typing import Any, TypeVar

from ..errors import TraceError
from ..graph import Scalar
from ..spatial import FixedSize, Force, Freedoms, Motion
from .base_parameters import regrouped
from .freedoms import Freedom, FreedomTables
from .model import Model
from .parts import BASE
from .ports import WHOLE, check_block, core_size
from .tree import Carry, Index, Numbers, PlacedFrame, Tree

__all__ = ["ConcreteTree"]

T = TypeVar("T")


class ConcreteTree(Tree):
    """Bodies one by one: the interpreter's tree, and the unrolling compiler's."""

    def __init__(
        self, model: Model, number: Callable[[float], Scalar] | None = None, joints_only: bool = False
    ) -> None:
        """A tree whose constants are floats, or what `number` makes of them: more digits need them throughout.

        If only joints are asked about, inertias may be others that these feel in the same way: see `regrouped`.
        """
        self.model = model
        t = model.tables
        rows = (regrouped(t) if joints_only else t.rows).tolist()
        if number is not None:
            rows = [[number(x) for x in row] for row in rows]
        self._index = [Index(k, t.kinds[t.kind[k]], _reader(rows[k])) for k in range(len(rows))]
        self._parent = [Index(int(p)) for p in t.parent]

    @cached_property
    def _freedoms(self) -> FreedomTables:
        return FreedomTables.of(self.model)

    def outward(self, moved_by: Freedom | None = None, upto: Freedom | None = None) -> Iterator[tuple[Index, Index]]:
        """Bodies and their parents, parents first."""
        if moved_by is not None:
            return iter(self._moved(moved_by))
        last = len(self._index) if upto is None else int(self._freedoms.body[upto.key]) + 1  # type: ignore[call-overload]
        return zip(self._index[:last], self._parent[:last], strict=True)

    def inward(self, moved_by: Freedom | None = None) -> Iterator[tuple[Index, Index]]:
        """Bodies and their parents, children first."""
        if moved_by is not None:
            return reversed(self._moved(moved_by))
        return zip(reversed(self._index), reversed(self._parent), strict=True)

    def _moved(self, d: Freedom) -> list[tuple[Index, Index]]:
        t, at = self._freedoms, d.key
        start, root = int(t.at[at]), int(t.root[at])  # type: ignore[call-overload]
        found = t.order[start : start + int(t.count[at])].tolist()  # type: ignore[call-overload]
        return [(self._index[k], self.base if k == root else self._parent[k]) for k in found]

    def freedoms(self, moved_by: Freedom | None = None, upto: Freedom | None = None) -> Iterator[Freedom]:
        """Freedoms in order."""
        if moved_by is not None:
            t, at = self._freedoms, moved_by.key
            start = int(t.v_at[at])  # type: ignore[call-overload]
            return map(Freedom, t.v_order[start : start + int(t.v_count[at])].tolist())  # type: ignore[call-overload]
        return map(Freedom, range(self.model.nv if upto is None else upto.key + 1))  # type: ignore[operator]

    def freedoms_inward(self) -> Iterator[Freedom]:
        """All freedoms, the last one first."""
        return map(Freedom, reversed(range(self.model.nv)))

    def above(self, d: Freedom, itself: bool = False) -> Iterator[Freedom]:
        """The freedoms that eliminating d changes."""
        up, k = self._freedoms.up, int(d.key)  # type: ignore[call-overload]
        if not itself:
            k = int(up[k])
        while k >= 0:
            yield Freedom(k)
            k = int(up[k])

    def within(self, d: Freedom, itself: bool = False) -> Iterator[Freedom]:
        """The freedoms of the same joint before d."""
        k = int(d.key)  # type: ignore[call-overload]
        return map(Freedom, reversed(range(int(self._freedoms.first[k]), k + itself)))

    def unit(self, kind: str, d: Freedom) -> Any:
        """An input of zeros, with a one at a freedom."""
        return _ConcreteInput(self.model, kind, [1.0 if k == d.key else 0.0 for k in range(self.model.nv)])

    def path_inward(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """From the frame's body to the base."""
        k = frame.body.key
        while isinstance(k, int) and k != BASE:
            yield self._index[k], self._parent[k]
            k = self._parent[k].key

    def path(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """From the base to the frame's body."""
        return reversed(list(self.path_inward(frame)))

    def ancestors(self, i: Index | Freedom) -> Iterator[tuple[Index, Index]]:
        """From i's parent to the root."""
        if isinstance(i, Freedom):
            k: Any = int(self._freedoms.body[i.key])  # type: ignore[call-overload]
        else:
            k = self._parent[i.key].key  # type: ignore[call-overload]
        while k != BASE:
            yield self._index[k], self._parent[k]
            k = self._parent[k].key

    def field(self, type: FixedSize, base: Any = None) -> Any:
        """A dictionary by body."""
        zero = type.zero()
        return _ConcreteField(zero, zero if base is None else base)

    def own(self) -> Any:
        """A dictionary by body."""
        return _ConcreteOwn()

    def vector(self) -> Any:
        """A dictionary by body."""
        return _ConcreteMemory()

    def pairs(self) -> Any:
        """A dictionary by pairs of bodies."""
        return _ConcreteMemory()

    def columns(self, type: FixedSize) -> Any:
        """A dictionary by body and freedom."""
        return _ConcreteMemory()

    def carry(self, value: T) -> Carry[T]:
        """A plain variable."""
        c: Carry[T] = Carry()
        c.value = value
        return c

    def input(self, kind: str, scalars: Numbers) -> Any:
        """An argument of the algorithm, from its scalars in order."""
        return _ConcreteInput(self.model, kind, scalars)

    def output(self, kind: str) -> Any:
        """Scalars in the order of the result's array."""
        return _ConcreteOutput(self.model, kind)


def _reader(row: list[Scalar]) -> Callable[[slice], Numbers]:
    return row.__getitem__


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


class _ConcreteInput:
    def __init__(self, model: Model, kind: str, scalars: Numbers) -> None:
        self.kind, self.scalars, t = kind, scalars, model.tables
        self.start = {"q": t.q_start, "v": t.v_start, "f": t.v_start}.get(kind)

    def __getitem__(self, i: Index | Freedom) -> Any:
        k: int = i.key  # type: ignore[assignment]
        if isinstance(i, Freedom):
            return self.scalars[k]
        if self.kind == "scalar":
            return self.scalars[0]
        if self.kind in WHOLE:
            return Freedoms(self.scalars)
        if self.kind == "motion":
            return Motion.of(tuple(self.scalars))
        if self.kind == "bodies":
            n, f = self.scalars[6 * k : 6 * k + 3], self.scalars[6 * k + 3 : 6 * k + 6]
            return Force(i.turn.apply((n[0], n[1], n[2])), i.turn.apply((f[0], f[1], f[2])))
        assert self.start is not None
        joint, at = i.kind.joint, int(self.start[k])
        return i.coordinates(self.kind, Freedoms(self.scalars[at : at + (joint.nq if self.kind == "q" else joint.nv)]))


class _ConcreteOutput:
    """Where a result is put together; `scalars` has them all, in the order of the array."""

    def __init__(self, model: Model, kind: str) -> None:
        self.kind, self.nv, t = kind, model.nv, model.tables
        self.start = t.q_start if kind == "q" else t.v_start
        self.scalars: list[Scalar] = [0.0] * core_size(model, kind)

    def _add(self, at: int, i: Index, x: Scalar) -> None:
        """Forces and the like of a joint that follows another are added to those of that one."""
        self.scalars[at] = self.scalars[at] + i.ratio * x

    def _at(self, where: Any) -> int:
        """Where the number of a freedom, or of a pair, is."""
        at: Any = where.key if isinstance(where, Freedom) else where[0].key * self.nv + where[1].key
        return int(at)

    def __setitem__(self, where: Any, value: Any) -> None:
        if isinstance(where, Freedom) or (isinstance(where, tuple) and isinstance(where[0], Freedom)):
            self.scalars[self._at(where)] = value
            return
        if isinstance(where, tuple):
            one, other = where
            check_block(value, one.kind.joint.nv, other.kind.joint.nv)
            i, j = (int(self.start[w.key]) for w in where)
            if self.kind == "matrix":
                for r, row in enumerate(value):
                    for c, x in enumerate(row):
                        self._add((i + r) * self.nv + j + c, one, other.ratio * x)
                return
            for r, row in enumerate(value):
                # of a block on the diagonal one half stands for both, so that the matrix is exactly symmetric
                for c, x in enumerate(row[: r + 1] if one.key == other.key else row):
                    self._add((i + r) * self.nv + j + c, one, other.ratio * x)
                    if one.key != other.key or r != c:
                        self._add((j + c) * self.nv + i + r, one, other.ratio * x)
            return
        if self.kind == "wrenches":
            k = 6 * where.key
            own = Force(where.turn.back(value.angular), where.turn.back(value.linear))
            self.scalars[k : k + 6] = own.scalars
            return
        joint = where.kind.joint
        check_block(value, joint.nq if self.kind == "q" else joint.nv)
        at = int(self.start[where.key])
        if self.kind == "spans":
            for r, row in enumerate(value):
                for c, x in enumerate(row):
                    self._add((at + r) * 6 + c, where, x)
        elif self.kind == "columns":
            for c, motion in enumerate(value):
                for r, x in enumerate(motion.scalars):
                    self._add(r * self.nv + at + c, where, x)
        elif self.kind == "row_columns":
            for c, column in enumerate(value):
                for r, x in enumerate(column):
                    self._add(r * self.nv + at + c, where, x)
        elif self.kind == "f":
            for k, x in enumerate(value):
                self._add(at + k, where, x)
        elif not where.kind.follows:
            self.scalars[at : at + len(value)] = value

    def __getitem__(self, i: Any) -> Any:
        if not isinstance(i, Index):
            return self.scalars[self._at(i)]
        at, joint = int(self.start[i.key]), i.kind.joint  # type: ignore[call-overload]
        return Freedoms(self.scalars[at : at + (joint.nq if self.kind == "q" else joint.nv)])
