"""The tree as algorithms see it: loops over bodies, and fields that carry values between them.

    for i, p in tree.outward():            # base to tips
        v[i] = X[i] @ v[p] + S[i] @ qd[i]

`i` is a body with its joint, placement and inertia; `p`, its parent, is only an index. Values move between
iterations only through fields:

* `tree.field(Type)`: one fixed type for every body and the base, read and written at `[i]` and `[p]`;
* `tree.own()`: a value whose structure may differ between kinds of joints, at `[i]` only;
* `tree.carry(x)`: one value that walks along `tree.ancestors(i)`.

Here is the concrete tree, which visits body after body: with numbers it is the interpreter, with graph nodes it
unrolls. The rolling compiler has its own, in which the body is symbolic. An algorithm cannot tell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ..errors import TraceError
from ..graph import Scalar
from ..joints import Joint
from ..spatial import (
    Chain,
    FixedSize,
    Force,
    Freedoms,
    Inertia,
    Motion,
    Pose,
    Rotation,
    Subspace,
    Transform,
    Turn,
)
from .model import Model
from .parts import BASE, Frame
from .tables import ARMATURE, INERTIA, PLACEMENT, TURN, Kind

__all__ = ["ConcreteTree", "Index", "PlacedFrame", "Tree", "placed_frame"]

T = TypeVar("T")
Numbers = Sequence[Scalar]


class Index:
    """A body in a loop. The base and parents are bare indices; a loop's own body carries its data."""

    __slots__ = ("_kind", "_row", "key")

    def __init__(self, key: Hashable, kind: Kind | None = None, row: Callable[[slice], Numbers] | None = None):
        self.key = key
        self._kind, self._row = kind, row

    @property
    def kind(self) -> Kind:
        """What this body has in common with others of its kind."""
        assert self._kind is not None, "a parent is only an index; its joint is met in its own iteration"
        return self._kind

    def row(self, where: slice) -> Numbers:
        """Numbers of this body's row."""
        assert self._row is not None
        return self._row(where)

    @property
    def joint(self) -> Joint:
        """The joint that carries this body."""
        return self.kind.joint.with_parameters(tuple(self.row(self.kind.parameters)))

    @property
    def placement(self) -> Transform:
        """From the parent's frame to the joint's."""
        e = self.row(PLACEMENT)
        return Transform(Turn(((e[0], e[1], e[2]), (e[3], e[4], e[5]), (e[6], e[7], e[8]))), (e[9], e[10], e[11]))

    @property
    def inertia(self) -> Inertia:
        """The body's inertia about its frame's origin."""
        m, hx, hy, hz, xx, xy, xz, yy, yz, zz = self.row(INERTIA)
        return Inertia(m, (hx, hy, hz), (xx, xy, xz, yy, yz, zz))

    @property
    def armature(self) -> Freedoms:
        """The inertia that the joint's drive adds to each freedom."""
        nv = self.kind.joint.nv
        if not self.kind.has_armature:
            return Freedoms((0.0,) * nv)
        return Freedoms(self.row(slice(ARMATURE, ARMATURE + nv)))

    @property
    def turn(self) -> Rotation:
        """From the body's own axes, which users know, to the axes of its working frame."""
        e = self.row(TURN)
        return Turn(((e[0], e[1], e[2]), (e[3], e[4], e[5]), (e[6], e[7], e[8])))

    def transform(self, q: Freedoms) -> Chain:
        """From the parent's frame to the body's."""
        return Chain(self.placement, self.joint.transform(q))

    def subspace(self, q: Freedoms) -> Subspace:
        """The motions that the joint lets through."""
        return self.joint.subspace(q)

    def bias(self, q: Freedoms, v: Freedoms) -> Motion:
        """The acceleration that the joint's changing subspace gives."""
        return self.joint.bias(q, v)


class PlacedFrame:
    """A frame as algorithms see it: the body it is fixed to, and the transform from there."""

    __slots__ = ("body", "placement")

    def __init__(self, body: Index, placement: Transform) -> None:
        self.body, self.placement = body, placement

    def pose(self, body: Pose) -> Pose:
        """The pose of the frame, given that of its body."""
        return self.placement.child(body)


def placed_frame(model: Model, frame: Frame) -> PlacedFrame:
    """A frame relative to its body's working frame; its numbers are constants of the algorithm."""
    Q = model.joints[frame.body].type.turn() if frame.body != BASE else None
    R, p = frame.placement.R, frame.placement.p
    if Q is not None:
        R, p = Q.T @ R, Q.T @ p
    E = R.T
    E = (E.round() + 0.0) * (abs(E - E.round()) < model.snap) + E * (abs(E - E.round()) >= model.snap)
    x, y, z = (tuple(row) for row in E.tolist())
    return PlacedFrame(Index(frame.body), Transform(Turn((x, y, z)), tuple(p.tolist())))


class Tree(ABC):
    """What an algorithm may ask of a tree."""

    model: Model

    @property
    def base(self) -> Index:
        """The base, as an index of fields."""
        return Index(BASE)

    @property
    def base_acceleration(self) -> Motion:
        """The acceleration of the base that stands for gravity."""
        gx, gy, gz = self.model.gravity
        return Motion((0.0, 0.0, 0.0), (0.0 - gx, 0.0 - gy, 0.0 - gz))

    def frame(self, name: str | Frame) -> PlacedFrame:
        """A frame of the model."""
        return placed_frame(self.model, self.model.frame(name))

    @abstractmethod
    def outward(self) -> Iterator[tuple[Index, Index]]:
        """Bodies and their parents, parents first."""

    @abstractmethod
    def inward(self) -> Iterator[tuple[Index, Index]]:
        """Bodies and their parents, children first."""

    @abstractmethod
    def path(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """Only the bodies between the base and a frame, parents first."""

    @abstractmethod
    def path_inward(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """Only the bodies between the base and a frame, children first."""

    @abstractmethod
    def ancestors(self, i: Index) -> Iterator[tuple[Index, Index]]:
        """The bodies that carry body i: its parent, and so on to the root, each with its own parent's index."""

    @abstractmethod
    def field(self, type: type[FixedSize], base: Any = None) -> Any:
        """A value of one type for every body and the base (zero, unless `base` is given)."""

    @abstractmethod
    def own(self) -> Any:
        """A value for every body, whose structure may differ between kinds of joints."""

    @abstractmethod
    def carry(self, value: T) -> Carry[T]:
        """One value that a walk along ancestors carries."""

    @abstractmethod
    def output(self, kind: str) -> Any:
        """The result, filled piece by piece: kind as in `ordern.model.ports`."""

    def zeros(self, kind: str) -> Any:
        """An input that is zero."""
        return _Zeros(kind)


class Carry(Generic[T]):
    """A value carried along a walk."""

    value: T


class _Zeros:
    """An input port of zeros: what depends on it vanishes when traced."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __getitem__(self, i: Index) -> Any:
        if self.kind == "bodies":
            return Force.zero()
        joint = i.kind.joint
        return Freedoms((0.0,) * (joint.nq if self.kind == "q" else joint.nv))


class ConcreteTree(Tree):
    """Bodies one by one: the interpreter's tree, and the unrolling compiler's."""

    def __init__(self, model: Model) -> None:
        self.model = model
        t = model.tables
        rows = t.rows.tolist()
        self._index = [Index(k, t.kinds[t.kind[k]], _reader(rows[k])) for k in range(len(rows))]
        self._parent = [Index(int(p)) for p in t.parent]

    def outward(self) -> Iterator[tuple[Index, Index]]:
        """Bodies and their parents, parents first."""
        return zip(self._index, self._parent, strict=True)

    def inward(self) -> Iterator[tuple[Index, Index]]:
        """Bodies and their parents, children first."""
        return zip(reversed(self._index), reversed(self._parent), strict=True)

    def path_inward(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """From the frame's body to the base."""
        k = frame.body.key
        while isinstance(k, int) and k != BASE:
            yield self._index[k], self._parent[k]
            k = self._parent[k].key

    def path(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """From the base to the frame's body."""
        return reversed(list(self.path_inward(frame)))

    def ancestors(self, i: Index) -> Iterator[tuple[Index, Index]]:
        """From i's parent to the root."""
        k = self._parent[i.key].key  # type: ignore[call-overload]
        while k != BASE:
            yield self._index[k], self._parent[k]
            k = self._parent[k].key

    def field(self, type: type[FixedSize], base: Any = None) -> Any:
        """A dictionary by body."""
        return _ConcreteField(type.zero() if base is None else base)

    def own(self) -> Any:
        """A dictionary by body."""
        return _ConcreteField(None)

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


def _reader(row: list[float]) -> Callable[[slice], Numbers]:
    return row.__getitem__


class _ConcreteField:
    def __init__(self, base: Any) -> None:
        self._values: dict[Hashable, Any] = {BASE: base}

    def __getitem__(self, i: Index) -> Any:
        try:
            return self._values[i.key]
        except KeyError:
            raise TraceError(f"a field is read at body {i.key} before it was set there") from None

    def __setitem__(self, i: Index, value: Any) -> None:
        self._values[i.key] = value


class _ConcreteInput:
    def __init__(self, model: Model, kind: str, scalars: Numbers) -> None:
        self.kind, self.scalars, t = kind, scalars, model.tables
        self.start = {"q": t.q_start, "v": t.v_start}.get(kind)

    def __getitem__(self, i: Index) -> Any:
        k: int = i.key  # type: ignore[assignment]
        if self.kind == "scalar":
            return self.scalars[0]
        if self.kind == "bodies":
            n, f = self.scalars[6 * k : 6 * k + 3], self.scalars[6 * k + 3 : 6 * k + 6]
            return Force(i.turn.apply((n[0], n[1], n[2])), i.turn.apply((f[0], f[1], f[2])))
        assert self.start is not None
        joint, at = i.kind.joint, int(self.start[k])
        return Freedoms(self.scalars[at : at + (joint.nq if self.kind == "q" else joint.nv)])


class _ConcreteOutput:
    """Where a result is put together; `scalars` has them all, in the order of the array."""

    def __init__(self, model: Model, kind: str) -> None:
        from .ports import core_size

        self.kind, self.nv, t = kind, model.nv, model.tables
        self.start = t.q_start if kind == "q" else t.v_start
        self.scalars: list[Scalar] = [0.0] * core_size(model, kind)

    def __setitem__(self, where: Index | tuple[Index, Index], value: Any) -> None:
        if isinstance(where, tuple):
            i, j = (int(self.start[w.key]) for w in where)  # type: ignore[call-overload]
            for r, row in enumerate(value):
                for c, x in enumerate(row):
                    self.scalars[(i + r) * self.nv + j + c] = x
                    self.scalars[(j + c) * self.nv + i + r] = x
            return
        at = int(self.start[where.key])  # type: ignore[call-overload]
        if self.kind == "columns":
            for c, motion in enumerate(value):
                for r, x in enumerate(motion.scalars):
                    self.scalars[r * self.nv + at + c] = x
        else:
            self.scalars[at : at + len(value)] = value

    def __getitem__(self, i: Index) -> Freedoms:
        at, joint = int(self.start[i.key]), i.kind.joint  # type: ignore[call-overload]
        return Freedoms(self.scalars[at : at + (joint.nq if self.kind == "q" else joint.nv)])
