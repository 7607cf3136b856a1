"""The tree as algorithms see it: loops over bodies, and fields that carry values between them.

    for i, p in tree.outward():            # base to tips
        v[i] = X[i] @ v[p] + S[i] @ qd[i]

`i` is a body with its joint, placement and inertia; `p`, its parent, is only an index. Values move between
iterations only through fields:

* `tree.field(Type)`: one fixed type for every body and the base, read and written at `[i]` and `[p]`;
* `tree.own()`: a value whose structure may differ between kinds of joints, at `[i]` only;
* `tree.carry(x)`: one value that walks along `tree.ancestors(i)`.

Algorithms that work on matrices between freedoms have loops over those, `tree.freedoms()`, inside of which there may be
loops over bodies. Then values move through results, fields and carried values: see `docs/architecture.md`.

The concrete tree visits body after body: with numbers it is the interpreter, with graph nodes it unrolls. The rolling
compiler has its own, in which the body is symbolic. An algorithm cannot tell.
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
    factors,
)
from .freedoms import Freedom
from .loops import PathEnd
from .model import Model
from .parts import BASE, Frame
from .piece import Piece, Runner
from .ports import WHOLE, core_size
from .tables import INERTIA, OFFSET, PLACEMENT, RATIO, TURN, Kind, snapped

__all__ = ["Carry", "Index", "PlacedFrame", "Tree", "placed_frame"]

T = TypeVar("T")
Numbers = Sequence[Scalar]


class Index:
    """A body in a loop. The base and parents are bare indices; a loop's own body carries its data."""

    __slots__ = ("_kind", "_row", "key")

    def __init__(self, key: Hashable, kind: Kind | None = None, row: Callable[[slice], Numbers] | None = None):
        self.key = key
        self._kind, self._row = kind, row

    @property
    def is_parent(self) -> bool:
        """Whether this is only an index: a parent, or the base."""
        return self._kind is None

    @property
    def kind(self) -> Kind:
        """What this body has in common with others of its kind."""
        if self._kind is None:
            raise TraceError("a parent is only an index of fields; its own data are met in its own iteration")
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
    def placement(self) -> tuple[Transform, ...]:
        """From the parent's frame to the joint's, in factors."""
        e = self.row(PLACEMENT)
        return factors(((e[0], e[1], e[2]), (e[3], e[4], e[5]), (e[6], e[7], e[8])), (e[9], e[10], e[11]))

    @property
    def inertia(self) -> Inertia:
        """The body's inertia about its frame's origin."""
        m, hx, hy, hz, xx, xy, xz, yy, yz, zz = self.row(INERTIA)
        return Inertia(m, (hx, hy, hz), (xx, xy, xz, yy, yz, zz))

    @property
    def borrowed(self) -> Inertia | None:
        """The part that the body borrowed across its joint, if any; see `ordern.model.shiftable_inertia`."""
        if self.kind.borrowed is None:
            return None
        m, hx, hy, hz, xx, xy, xz, yy, yz, zz = self.row(self.kind.borrowed)
        return Inertia(m, (hx, hy, hz), (xx, xy, xz, yy, yz, zz))

    @property
    def armature(self) -> Freedoms:
        """The inertia that the joint's drive adds to each freedom."""
        nv = self.kind.joint.nv
        if not self.kind.has_armature:
            return Freedoms((0.0,) * nv)
        return Freedoms(self.row(self.kind.term(0)))

    def _passive(self, number: int) -> Freedoms:
        return Freedoms(self.row(self.kind.term(number)) if self.kind.passive else (0.0,) * self.kind.joint.nv)

    @property
    def damping(self) -> Freedoms:
        """The force on each freedom for a unit of its velocity."""
        return self._passive(1)

    @property
    def friction(self) -> Freedoms:
        """The force of Coulomb friction on each freedom."""
        return self._passive(2)

    @property
    def stiffness(self) -> Freedoms:
        """The force of the spring on each freedom for a unit of its stretch."""
        return self._passive(3)

    @property
    def rest(self) -> Freedoms:
        """The position in which the spring is slack."""
        return Freedoms(self.row(self.kind.term(4)) if self.kind.passive else self.kind.joint.neutral())

    @property
    def ratio(self) -> Scalar:
        """How far this joint goes for each unit of the one that it follows; 1 for one that follows none."""
        return self.row(slice(RATIO, RATIO + 1))[0] if self.kind.follows else 1.0

    def coordinates(self, kind: str, x: Freedoms) -> Freedoms:
        """What a port's numbers mean for this joint, where it follows another: all force acts on that one."""
        if not self.kind.follows:
            return x
        if kind == "f":
            return Freedoms((0.0,) * len(x))
        offset = self.row(slice(OFFSET, OFFSET + 1))[0] if kind == "q" else 0.0
        return Freedoms(self.ratio * y + offset for y in x)

    @property
    def coupling(self) -> tuple[Freedoms, ...]:
        """This joint's part in each coupling: the rows of B in B^T qdd = 0."""
        parts = Freedoms(self.row(self.kind.couplings))
        return tuple(parts for _ in range(self.kind.joint.nv))

    @property
    def turn(self) -> Rotation:
        """From the body's own axes, which users know, to the axes of its working frame."""
        e = self.row(TURN)
        return Turn(((e[0], e[1], e[2]), (e[3], e[4], e[5]), (e[6], e[7], e[8])))

    def transform(self, q: Freedoms) -> Chain:
        """From the parent's frame to the body's."""
        X = self.joint.transform(q)
        return Chain((*self.placement, *(X.factors if isinstance(X, Chain) else (X,))))

    def subspace(self, q: Freedoms) -> Subspace:
        """The motions that the joint lets through."""
        return self.joint.subspace(q)

    def bias(self, q: Freedoms, v: Freedoms) -> Motion:
        """The acceleration that the joint's changing subspace gives."""
        return self.joint.bias(q, v)

    def gyration(self, q: Freedoms, v: Freedoms) -> Freedoms:
        """The joint force that the momentum of its drive takes to turn along with the joint; zero for most joints."""
        if not self.kind.has_armature:
            return Freedoms((0.0,) * self.kind.joint.nv)
        return self.joint.gyration(q, v, self.armature * v)

    def gyration_matrix(self, q: Freedoms, v: Freedoms) -> tuple[Freedoms, ...]:
        """The rows of a skew-symmetric matrix that gives `gyration` when it is multiplied by v."""
        nv = self.kind.joint.nv
        if not self.kind.has_armature:
            return (Freedoms((0.0,) * nv),) * nv
        units = (Freedoms(1.0 if r == c else 0.0 for r in range(nv)) for c in range(nv))
        columns = [self.joint.gyration(q, unit, self.armature * v) for unit in units]
        return tuple(Freedoms(column[r] for column in columns) for r in range(nv))


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
    R, p = frame.placement.R, frame.placement.p
    if frame.body != BASE:
        Q = model.joints[frame.body].type.turn()
        R, p = Q.T @ R, Q.T @ p
    x, y, z = (tuple(row) for row in snapped(R.T, model.snap).tolist())
    return PlacedFrame(Index(frame.body), Transform(Turn((x, y, z)), tuple(p.tolist())))


class Tree(ABC):
    """What an algorithm may ask of a tree."""

    model: Model
    runner: Runner | None = None
    """What runs pieces, if it is not Python."""

    def run(self, piece: Piece, *values: Any) -> tuple[Any, ...]:
        """What a piece makes of arrays of elements."""
        return piece(*values) if self.runner is None else self.runner(piece, *values)

    @property
    def base(self) -> Index:
        """The base, as an index of fields."""
        return Index(BASE)

    @property
    def couplings(self) -> int:
        """How many joints follow others."""
        return self.model.tables.couplings

    @property
    def base_acceleration(self) -> Motion:
        """The acceleration of the base that stands for gravity."""
        gx, gy, gz = self.model.gravity
        return Motion((0.0, 0.0, 0.0), (0.0 - gx, 0.0 - gy, 0.0 - gz))

    def frame(self, name: str | Frame) -> PlacedFrame:
        """A frame of the model."""
        return placed_frame(self.model, self.model.frame(name))

    def end(self, end: PathEnd) -> PlacedFrame:
        """A frame of a loop."""
        return placed_frame(self.model, end.frame)

    @abstractmethod
    def outward(self, moved_by: Freedom | None = None, upto: Freedom | None = None) -> Iterator[tuple[Index, Index]]:
        """Bodies and their parents, parents first.

        All of them; or those that a freedom moves, as a robot of its own whose base is what carries them; or those that
        are numbered up to the body of a freedom.
        """

    @abstractmethod
    def inward(self, moved_by: Freedom | None = None) -> Iterator[tuple[Index, Index]]:
        """Bodies and their parents, children first: all, or those that a freedom moves."""

    @abstractmethod
    def freedoms(self, moved_by: Freedom | None = None, upto: Freedom | None = None) -> Iterator[Freedom]:
        """Freedoms in order: all, or those of the joints that one moves (its own first), or those up to one."""

    @abstractmethod
    def freedoms_inward(self) -> Iterator[Freedom]:
        """All freedoms, the last one first."""

    @abstractmethod
    def above(self, d: Freedom, itself: bool = False) -> Iterator[Freedom]:
        """The freedoms that eliminating d changes, the nearest first: those of its joint before it, and inward."""

    @abstractmethod
    def within(self, d: Freedom, itself: bool = False) -> Iterator[Freedom]:
        """The freedoms of the same joint before d, the nearest first."""

    @abstractmethod
    def unit(self, kind: str, d: Freedom) -> Any:
        """An input of zeros, with a one at a freedom."""

    @abstractmethod
    def path(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """Only the bodies between the base and a frame, parents first."""

    @abstractmethod
    def path_inward(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """Only the bodies between the base and a frame, children first."""

    @abstractmethod
    def ancestors(self, i: Index | Freedom) -> Iterator[tuple[Index, Index]]:
        """The bodies that carry body i: its parent, and so on to the root, each with its own parent's index.

        Those that carry a freedom begin with the freedom's own body.
        """

    @abstractmethod
    def field(self, type: FixedSize, base: Any = None) -> Any:
        """A value of one type for every body and the base (zero, unless `base` is given)."""

    @abstractmethod
    def own(self) -> Any:
        """A value for every body, whose structure may differ between kinds of joints."""

    @abstractmethod
    def vector(self) -> Any:
        """Numbers for the freedoms of each joint, at `[i]`, which walks may read and set too."""

    @abstractmethod
    def pairs(self) -> Any:
        """A matrix for each body i and each j that carries it, at `[i, j]`, with a row for each freedom of i."""

    @abstractmethod
    def columns(self, type: FixedSize) -> Any:
        """A value of one type for each body and freedom, at `[i, d]`."""

    @abstractmethod
    def carry(self, value: T) -> Carry[T]:
        """One value that a walk along ancestors carries."""

    @abstractmethod
    def output(self, kind: str) -> Any:
        """The result, filled piece by piece: kind as in `ordern.model.ports`.

        One that is not returned is memory. Freedoms are indices of vectors and matrices too: `x[d]`, `M[r, d]`.
        """

    def zeros(self, kind: str) -> Any:
        """An input that is zero."""
        return _Zeros(self.model, kind)


class Carry(Generic[T]):
    """A value carried along a walk."""

    value: T


class _Zeros:
    """An input port of zeros: what depends on it vanishes when traced."""

    def __init__(self, model: Model, kind: str) -> None:
        self.model, self.kind = model, kind

    def __getitem__(self, i: Index | Freedom) -> Any:
        if isinstance(i, Freedom):
            return 0.0
        if self.kind in WHOLE:
            return Freedoms((0.0,) * core_size(self.model, self.kind))
        if self.kind == "bodies":
            return Force.zero()
        if self.kind == "motion":
            return Motion.zero()
        if self.kind == "scalar":
            return 0.0
        joint = i.kind.joint
        return Freedoms((0.0,) * (joint.nq if self.kind == "q" else joint.nv))
