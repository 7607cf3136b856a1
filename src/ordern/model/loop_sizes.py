"""Sizes of the loops of a model: scales for the residuals of loops and their rates.

Residuals that are lengths are compared with the way around the loop, those that are angles with one radian. How fast
they change is compared with that, times the speed of the joints along the loop and no less than one radian per second.
So a state fits equally well in metres and in millimetres, and a joint that is in no loop does not count.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..joints import Closure, Joint, row_count
from ..joints.jets import wrenches
from ..records import dataclass
from ..spatial import Freedoms, Pose
from .parts import BASE, Loop, inward

if TYPE_CHECKING:
    from .model import Model

__all__ = ["LoopSize", "loop_sizes", "turning"]

_POSES = (
    Pose(((1.0, 0.0, 0.0), (0.0, 0.8, -0.6), (0.0, 0.6, 0.8)), (0.1, 0.2, 0.3)),
    Pose(((0.8, 0.0, 0.6), (0.0, 1.0, 0.0), (-0.6, 0.0, 0.8)), (-0.3, 0.2, 0.1)),
    Pose(((0.96, -0.28, 0.0), (0.28, 0.96, 0.0), (0.0, 0.0, 1.0)), (0.2, -0.1, 0.05)),
)
"""Arbitrary poses: a row that no translation changes in any of them is an angle."""


@dataclass(frozen=True, slots=True)
class LoopSize:
    """The size of one active loop or coupling."""

    name: str
    rows: slice
    length: float
    """The way around it, in metres."""
    angles: tuple[bool, ...]
    """True for each row that is an angle; the others are lengths."""
    moving: tuple[tuple[int, int, int, float], ...]
    """For each freedom along it: its body, its index in the joint and in v, and the square of the divisor of its
    velocity, which is 1 for rotations and the length for translations."""

    @property
    def scales(self) -> tuple[float, ...]:
        """The divisor of each row."""
        return tuple(1.0 if angle else self.length for angle in self.angles)


def loop_sizes(model: Model) -> tuple[LoopSize, ...]:
    """Return the sizes of all active loops, then of couplings, in the order of their rows."""
    table, found = model.loop_table, []
    sides = [tuple(inward(model.joints, end, x.top) for end in (x.loop.parent, x.loop.child)) for x in table.loops]
    lengths = [_length(model, x.loop, *both) for x, both in zip(table.loops, sides, strict=True)]
    usual = max((*lengths, *(_norm(c.placement.p) for c in model.joints)), default=0.0) or 1.0
    for x, (one, other), length in zip(table.loops, sides, lengths, strict=True):
        around = length if length > 1e-6 * usual else usual
        moving = _moving(model, [*one, *other], around)
        try:
            angles = _angles(x.type)
        except TypeError:  # it cannot be hashed
            angles = _angles.__wrapped__(x.type)
        found.append(LoopSize(x.loop.name, x.rows, around, angles, moving))
    for c in table.couplings:
        ends = [k for k in dict.fromkeys((c.joint, c.other)) if k != BASE]
        turns = turning(model.joints[c.joint].type)
        found.append(LoopSize(c.name, table.rows[c.name], usual, turns, _moving(model, ends, usual)))
    return tuple(found)


@lru_cache(maxsize=64)
def _angles(of: Closure) -> tuple[bool, ...]:
    """Return, for each row of a closure, True if it is an angle."""
    each = []
    for pose in _POSES:
        try:
            each.append(wrenches(of, pose, 0.0))
        except (ArithmeticError, ValueError):  # joints in series may not reach it
            continue
    if not each:
        return (False,) * sum(row_count(of))
    return tuple(all(_norm(w.linear) < 1e-9 for w in row) for row in zip(*each, strict=True))


def _length(model: Model, loop: Loop, one: list[int], other: list[int]) -> float:
    """Return the length of a loop: from joint to joint, and the length of its closure.

    `one` and `other` are the bodies from its parent and its child to the top. On the top it is from where one side
    begins to where the other does, wherever the top's own frame is.
    """
    own = sum(float(getattr(loop.type, name, 0.0)) for name in ("length", "radius"))
    begin, *first = [loop.parent_placement.p, *(model.joints[k].placement.p for k in one)][::-1]
    end, *second = [loop.child_placement.p, *(model.joints[k].placement.p for k in other)][::-1]
    return own + _norm(begin - end) + sum(_norm(p) for p in (*first, *second))


def _moving(model: Model, path: list[int], length: float) -> tuple[tuple[int, int, int, float], ...]:
    found = []
    for body in path:
        c = model.joints[body]
        ratio = 1.0 if c.mimic is None else c.mimic.ratio
        for k, turns in enumerate(turning(c.type) if ratio else ()):
            found.append((body, k, c.v_start + k, (1.0 if turns else length) ** 2 / ratio**2))
    return tuple(found)


def turning(joint: Joint) -> tuple[bool, ...]:
    """Return, for each freedom of a joint, True if it turns the child."""
    return tuple(_norm(column.angular) > 0.0 for column in joint.subspace(Freedoms(joint.neutral())).columns)


def _norm(x: Any) -> float:
    return math.sqrt(sum(float(y) ** 2 for y in x))
