"""The tree as algorithms see it: loops over bodies, and fields that carry values between them.

    for i, p in tree.outward():            # base to tips
        v[i] = X[i] @ v[p] + S[i] @ qd[i]

`i` is a body with its joint, placement and inertia; `p`, its parent, is only an index. Values move between
iterations only through fields:

* `tree.field(Type)`: one fixed type for every body and the base, read and written at `[i]` and `[p]`;
* `tree.own()`: a value whose structure may differ between kinds of joints, at `[i]` only;
* `tree.register(x)`: one value that is kept along `tree.ancestors(i)`, or from before a loop to the inside of it.

Algorithms that work on matrices between freedoms have loops over those, `tree.freedoms()`, inside of which there may be
loops over bodies. Then values move through results, fields and registers: see `docs/architecture.md`.

The concrete tree visits body after body: with numbers it is the interpreter, with graph nodes it unrolls. The rolling
compiler has its own, in which the body is symbolic. An algorithm is the same text for both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import TraceError
from ..graph import Scalar, where_less
from ..joints.placement import snapped
from ..spatial import ArticulatedInertia, FixedSize, Force, Freedoms, Inertia, Motion, Pose, Transform, Turn
from .freedoms import Freedom
from .index import Index
from .loops import PathEnd
from .model import Model
from .parts import BASE, Frame
from .piece import Piece, Runner
from .port_arrays import Input, Output, Zeros

__all__ = [
    "Answer",
    "Base",
    "Bodies",
    "Columns",
    "ControlFlow",
    "Field",
    "Joints",
    "Number",
    "Pairs",
    "PlacedFrame",
    "Register",
    "Tree",
    "Values",
    "placed_frame",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Values(Protocol[T_co]):
    """A value for every body, read at its index: an argument, a result, or a field."""

    def __getitem__(self, i: Index, /) -> T_co:
        """Return the value at a body."""


Joints = Values[Freedoms]
"""Numbers for the freedoms of each joint: positions, velocities, accelerations or forces."""
Bodies = Values[Force]
"""A force on each body."""
Base = Values[Motion]
"""A motion of the base, at any index."""
Number = Values[Scalar]
"""One number, at any index."""


class Field(Protocol[T]):
    """A value for every body, read and written at its index."""

    def __getitem__(self, i: Index, /) -> T:
        """Return the value at a body."""

    def __setitem__(self, i: Index, value: T, /) -> None:
        """Set the value at a body."""


Answer = Field[Freedoms]
"""Numbers for the freedoms of each joint that an algorithm finds."""


class Pairs(Protocol):
    """A matrix for every body and each of its ancestors, with a row for each freedom of the body."""

    def __getitem__(self, where: tuple[Index, Index], /) -> tuple[Freedoms, ...]:
        """Return the rows of the matrix."""

    def __setitem__(self, where: tuple[Index, Index], rows: Any, /) -> None:
        """Set the rows of the matrix."""


class Columns(Protocol[T]):
    """A value for every body and freedom."""

    def __getitem__(self, where: tuple[Index, Freedom], /) -> T:
        """Return the value at a body and a freedom."""

    def __setitem__(self, where: tuple[Index, Freedom], value: T, /) -> None:
        """Set the value at a body and a freedom."""


class Register(Generic[T]):
    """One value that a loop or walk changes step by step."""

    value: T


class PlacedFrame:
    """A frame as algorithms see it: the body that it is fixed to, and the transform from there."""

    __slots__ = ("_read", "body")

    def __init__(self, body: Index, read: Callable[[], Transform]) -> None:
        """Make a frame on a body from a function that reads its placement."""
        self.body, self._read = body, read

    @property
    def placement(self) -> Transform:
        """The transform from the body; numbers that vary are read where it is used."""
        return self._read()

    def pose(self, body: Pose) -> Pose:
        """Return the pose of the frame, given the pose of its body."""
        return self.placement.child(body)


def placed_frame(model: Model, frame: Frame) -> PlacedFrame:
    """Return a frame relative to its body's working frame; its numbers are constants of the algorithm."""
    R, p = frame.placement.R, frame.placement.p
    if frame.body != BASE:
        Q = model.joints[frame.body].type.turn()
        R, p = Q.T @ R, Q.T @ p
    x, y, z = (tuple(row) for row in snapped(R.T, model.snap).tolist())
    at = Transform(Turn((x, y, z)), tuple(p.tolist()))
    return PlacedFrame(Index(frame.body), lambda: at)


class ControlFlow:
    """The loops and branches of a text: here each turn is computed, and both sides of a branch."""

    differentiating: Callable[..., Sequence[Scalar]] | None = None
    """Takes the place of solutions of equations while a text is differentiated."""
    solving: bool = False
    """True while a solver runs whose iterations are not differentiated."""

    @property
    def differentiated(self) -> bool:
        """True if derivatives go through what is computed now."""
        return self.differentiating is not None and not self.solving

    def repeat(
        self, count: int, step: Callable[[Sequence[Scalar]], Sequence[Scalar]], start: Any,
        change: Callable[[Sequence[Scalar], Sequence[Scalar]], Scalar] | None = None, first: Scalar = 1.0,
    ) -> Any:  # fmt: skip
        """Apply a function of numbers so many times, to its own result.

        `change` is a function of the numbers before a step and after it. Compiled code may stop in states in which it
        is below one, and does not begin in states in which `first` is. Others go on, for derivatives of the iterations
        settle later than these.
        """
        for _ in range(count):
            start = step(start)
        return start

    def when(
        self, flag: Scalar, compute: Callable[[], Sequence[Scalar]], before: Sequence[Scalar] | None = None
    ) -> list[Scalar]:
        """Return numbers that are computed in states with a flag of 1; in those with 0 they are the ones `before`.

        Compiled code skips the computation where all states of a vector have 0. Without `before`, the numbers of such
        states must not be read.
        """
        found = list(compute())
        if before is None:
            return found
        return [new if new is old else where_less(0.5, flag, new, old) for new, old in zip(found, before, strict=True)]


class Tree(ControlFlow, ABC):
    """The loops, fields, arguments and results of one robot."""

    model: Model
    frames: int = 0
    """The number of frames in the setting `frames`: the length of arrays with a part for each."""
    runner: Runner | None = None
    """Runs pieces instead of Python."""
    zero_array: Callable[[tuple[int, ...]], Any] | None = None
    """Makes the arrays of algorithms that work on all bodies at once; None makes NumPy's."""

    def root(self, solve: Callable[[], Sequence[Scalar]], law: Callable[[Sequence[Scalar]], Any]) -> Sequence[Scalar]:
        """Return numbers that solve equations, as a solver finds them.

        `law` returns the equations for any numbers, and directions of these (see `algorithms.derivatives.roots`).
        Derivatives are those of the equations, and do not go through the solver.
        """
        if self.differentiating is None:
            return solve()
        self.solving = True
        try:
            found = solve()
        finally:
            self.solving = False
        return self.differentiating(found, law)

    def run(self, piece: Piece, *values: Any) -> tuple[Any, ...]:
        """Apply a piece to arrays of elements."""
        return piece(*values) if self.runner is None else self.runner(piece, *values)

    @property
    def base(self) -> Index:
        """The base, as an index of fields."""
        return Index(BASE)

    @property
    def couplings(self) -> int:
        """The number of joints that follow others."""
        return self.model.tables.couplings

    @property
    def gravity(self) -> Sequence[Scalar]:
        """The acceleration of gravity."""
        return self.model.gravity

    @property
    def base_acceleration(self) -> Motion:
        """The acceleration of the base that stands for gravity."""
        gx, gy, gz = self.gravity
        return Motion((0.0, 0.0, 0.0), (0.0 - gx, 0.0 - gy, 0.0 - gz))

    @property
    def in_fluid(self) -> bool:
        """True if some body has added inertia, or displaces fluid."""
        return self.model.in_fluid

    @property
    def has_drag(self) -> bool:
        """True if some body has drag."""
        return any(body.drags for body in self.model.bodies)

    @property
    def inertia_type(self) -> FixedSize[Any]:
        """The type of the bodies' `total_inertia`."""
        return ArticulatedInertia if self.in_fluid else Inertia

    @property
    def current(self) -> Motion:
        """The velocity of the fluid."""
        x, y, z = self.model.current
        return Motion((0.0, 0.0, 0.0), (x, y, z))

    def frame(self, name: str | Frame) -> PlacedFrame:
        """Return a frame of the model."""
        frame = self.model.frame(name)
        if (varied := self.varied_placement(frame)) is None:
            return placed_frame(self.model, frame)

        def read() -> Transform:
            e = varied()
            turn = Turn(((e[0], e[1], e[2]), (e[3], e[4], e[5]), (e[6], e[7], e[8])))
            return Transform(turn, (e[9], e[10], e[11]))

        return PlacedFrame(Index(frame.body), read)

    def varied_placement(self, frame: Frame) -> Callable[[], Sequence[Scalar]] | None:
        """Return a function that reads the twelve numbers of a frame's placement; None if they are fixed."""
        return None

    def end(self, end: PathEnd) -> PlacedFrame:
        """Return a frame of a loop."""
        return placed_frame(self.model, end.frame)

    def index(self, body: int) -> Index:
        """Return a body by its number, for texts that do not visit bodies in loops."""
        raise TraceError("this text takes a body by its number, so that it has no loops over bodies")

    def number_rows(self, bodies: NDArray[np.int64]) -> NDArray[Any]:
        """Return the numbers of several bodies, one row for each."""
        return np.array([self.index(int(k)).row(slice(None)) for k in bodies])

    @abstractmethod
    def start(self, of: str, where: Index | Freedom) -> Any:
        """Return the number at which the range of a body along an axis begins: see `ordern.model.ports`."""

    @abstractmethod
    def on_base(self, i: Index) -> bool:
        """Return True if a body is known to hang on the base.

        A rolling compiler knows it only of kinds of bodies, all of which do; then False says nothing.
        """

    def each_column(self) -> Iterator[Freedom]:
        """Visit the columns of matrices, one for each freedom, like `freedoms`.

        What a visit computes depends on no other visit: it reads and writes its own column `M[k, c]`, or its row
        `M[c, k]`, and reads what was set before the loop. So compiled code may take several columns at once, with
        symbolic c. Then `freedoms(upto=c)` and `elimination_path(c)` visit those of the last of these columns, and
        `unit` tells the columns apart.
        """
        return self.freedoms()

    def clear(self, output: Output) -> None:
        """Set a result to zero, before a text that changes it step by step, or does not set all of it."""

    @abstractmethod
    def outward(self, moved_by: Freedom | None = None, upto: Freedom | None = None) -> Iterator[tuple[Index, Index]]:
        """Visit bodies and their parents, parents first.

        All bodies; or those that a freedom moves, as a robot of its own on a fixed base; or those with numbers up to
        the body of a freedom.
        """

    @abstractmethod
    def inward(self, moved_by: Freedom | None = None) -> Iterator[tuple[Index, Index]]:
        """Visit bodies and their parents, children first: all bodies, or those that a freedom moves."""

    @abstractmethod
    def freedoms(self, moved_by: Freedom | None = None, upto: Freedom | None = None) -> Iterator[Freedom]:
        """Visit freedoms in order: all, or those of the joints that one moves (its own first), or those up to one."""

    @abstractmethod
    def freedoms_inward(self) -> Iterator[Freedom]:
        """Visit all freedoms, the last one first."""

    @abstractmethod
    def elimination_path(self, d: Freedom, itself: bool = False) -> Iterator[Freedom]:
        """Visit the path of d in the elimination tree, the nearest first: its joint's freedoms before d, and inward."""

    @abstractmethod
    def same_joint(self, d: Freedom, itself: bool = False) -> Iterator[Freedom]:
        """Visit the freedoms of the same joint before d, the nearest first."""

    @abstractmethod
    def unit(self, kind: str, d: Freedom) -> Input:
        """Return an argument of zeros, with a one at a freedom."""

    @abstractmethod
    def path(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """Visit only the bodies between the base and a frame, parents first."""

    @abstractmethod
    def path_inward(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """Visit only the bodies between the base and a frame, children first."""

    @abstractmethod
    def ancestors(self, i: Index | Freedom) -> Iterator[tuple[Index, Index]]:
        """Visit the ancestors of body i: its parent, and so on to the root, each with its own parent's index.

        For a freedom, the walk begins with the freedom's own body.
        """

    @abstractmethod
    def field(self, type: FixedSize[T], base: Any = None) -> Field[T]:
        """Return a value of one type for every body and the base (zero, unless `base` is given)."""

    @overload
    def own(self) -> Field[Any]: ...
    @overload
    def own(self, type: type[T]) -> Field[T]: ...
    @abstractmethod
    def own(self, type: type[Any] | None = None) -> Field[Any]:
        """Return a value for every body, whose structure may differ between kinds of joints.

        The type is for type checkers only.
        """

    @abstractmethod
    def vector(self) -> Field[Freedoms]:
        """Return numbers for the freedoms of each joint, at `[i]`, which walks may read and set too."""

    @abstractmethod
    def pairs(self) -> Pairs:
        """Return a matrix for each body i and each ancestor j, at `[i, j]`, with a row for each freedom of i."""

    @abstractmethod
    def columns(self, type: FixedSize[T]) -> Columns[T]:
        """Return a value of one type for each body and freedom, at `[i, d]`."""

    @abstractmethod
    def register(self, value: T) -> Register[T]:
        """Return a register for one value, which a walk along ancestors or a loop over freedoms changes."""

    @abstractmethod
    def output(self, kind: str) -> Output:
        """Return a result to be filled: `kind` is a row of the table in `ordern.model.ports`.

        A result that is not returned is scratch memory. Freedoms are indices of vectors and matrices too: `x[d]`,
        `M[r, d]`. `H[i, d]` are the numbers between the freedoms of body i and one freedom.
        """

    def zeros(self, kind: str) -> Input:
        """Return an argument that is zero."""
        return Zeros(self, kind)

    def above(self, d: Freedom, itself: bool = False) -> Iterator[Freedom]:
        """Visit the elimination path: the former name of `elimination_path`."""
        return self.elimination_path(d, itself)

    def within(self, d: Freedom, itself: bool = False) -> Iterator[Freedom]:
        """Visit the freedoms of the same joint: the former name of `same_joint`."""
        return self.same_joint(d, itself)

    def carry(self, value: T) -> Register[T]:
        """Return a register: the former name of `register`."""
        return self.register(value)
