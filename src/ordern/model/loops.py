"""Loops as algorithms see them: the places of their frames on the tree, and their rows of the constraints.

The constraint of a loop depends only on the joints between its two bodies and its top, the body at which their paths to
the base part. So poses along a loop are relative to its top, not to the base: a sweep outward starts anew at every top,
and the pose of a body is relative to the next top inward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ModelError
from ..joints import Closure, Placement, row_count
from ..records import dataclass
from .parts import BASE, Coupling, Frame, Loop, inward

if TYPE_CHECKING:
    from .model import Model

__all__ = ["LoopTable", "PathEnd", "TracedLoop", "closure_rows", "loop_digest", "loop_table"]


@dataclass(frozen=True, slots=True)
class PathEnd:
    """One of the two frames of a loop, and how it is reached from the loop's top."""

    frame: Frame
    """The frame in the working axes of the loop's type."""
    bodies: tuple[int, ...]
    """The body that the frame is on, and the tops between it and the loop's own, inward; empty if it is on the top."""


@dataclass(frozen=True, slots=True)
class TracedLoop:
    """A loop that is active."""

    loop: Loop
    top: int
    """The body at which the paths from the base to its two bodies part; -1 is the base."""
    parent: PathEnd
    child: PathEnd
    rows: slice
    """The rows of the loop among all constraints: residuals first, then conditions on velocities only."""
    holonomic: int
    """The number of residuals among them."""
    q: slice
    """The slice of its coordinates among the coordinates of all loops."""
    v: slice
    """The slice of its freedoms among the freedoms of all loops."""

    @property
    def type(self) -> Closure:
        """The constraint."""
        return self.loop.type


@dataclass(frozen=True, slots=True)
class LoopTable:
    """The active loops and couplings of a model, with their rows."""

    loops: tuple[TracedLoop, ...]
    couplings: tuple[Coupling, ...]
    tops: tuple[int, ...]
    """The bodies that are a loop's top, without the base."""
    rows: dict[str, slice]
    nc: int
    holonomic: tuple[bool, ...]
    nq: int
    nv: int

    @property
    def timed(self) -> bool:
        """True if a loop depends on the time."""
        return any(x.type.timed for x in self.loops)


def loop_table(model: Model) -> LoopTable:
    """Find the paths of the loops of a model on its tree, and number the rows of their constraints."""
    active = [loop for loop in model.loops if loop.active]
    tops = [_top(model, loop) for loop in active]
    stops = set(tops) - {BASE}
    found: list[TracedLoop] = []
    rows: dict[str, slice] = {}
    holonomic: list[bool] = []
    nq = nv = 0
    for loop, top in zip(active, tops, strict=True):
        h, free = closure_rows(loop.type, f"loop {loop.name!r}", loop.where)
        mine = slice(len(holonomic), len(holonomic) + h + free)
        parent = _end(model, loop, loop.parent, loop.parent_placement, top, stops)
        child = _end(model, loop, loop.child, loop.child_placement, top, stops)
        q, v = slice(nq, nq + loop.nq), slice(nv, nv + loop.nv)
        found.append(TracedLoop(loop, top, parent, child, mine, h, q, v))
        _named(rows, loop.name, mine)
        holonomic += [True] * h + [False] * free
        nq, nv = q.stop, v.stop
    couplings = tuple(x for x in model.couplings if x.active)
    for coupling in couplings:
        _named(rows, coupling.name, slice(len(holonomic), len(holonomic) + 1))
        holonomic.append(True)
    return LoopTable(tuple(found), couplings, tuple(sorted(stops)), rows, len(holonomic), tuple(holonomic), nq, nv)


def loop_digest(model: Model) -> str:
    """Return a fingerprint of the dynamics of loops and couplings; names and limits do not count."""
    active = [loop for loop in model.loops if loop.active]
    places = [(x.parent, x.parent_placement, x.child, x.child_placement) for x in active]
    asked = [(type(x.type).__module__, x.type, x.damping, x.friction, x.stiffness, x.rest) for x in active]
    return repr((places, asked, [(x.joint, x.other, x.coefficients) for x in model.couplings if x.active]))


def _top(model: Model, loop: Loop) -> int:
    """Return the body at which the paths from the base to both bodies of a loop part."""
    others = {*inward(model.joints, loop.child), BASE}
    return next(k for k in (*inward(model.joints, loop.parent), BASE) if k in others)


def _named(rows: dict[str, slice], name: str, mine: slice) -> None:
    if name in rows:
        raise ModelError(f"two loops or couplings have the name {name!r}; each needs a name of its own")
    rows[name] = mine


def closure_rows(type: Closure, what: str, where: str = "") -> tuple[int, int]:
    """Return the numbers of residuals and of conditions on velocities; raise if this cannot close a loop."""
    try:
        return row_count(type)
    except ModelError as e:
        raise ModelError(f"{what}: {e}", where) from None


def _end(model: Model, loop: Loop, body: int, at: Placement, top: int, stops: set[int]) -> PathEnd:
    """Return one of the two ends of a loop."""
    turned = at @ Placement(tuple(loop.type.working_frame().ravel().tolist()))
    stations = (k for k in inward(model.joints, body, top) if k == body or k in stops)
    return PathEnd(Frame(loop.name, body, turned), tuple(stations))
