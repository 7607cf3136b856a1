"""Joints in series as products of displacements: their residuals, and their coordinates in a relative pose.

Every part moves by a group, and the child by a product of elements, one of each group. In the frame where all parts'
frames are at their neutral positions, placements cancel: the pose of the child is that product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ...arguments import Array
from ...errors import ModelError
from ...graph import Jet
from ...records import dataclass
from ...spatial import Freedoms, Pose
from ...spatial.linear import IDENTITY3, Matrix3, Vector3, scale
from ..base import Joint
from ..closure import Rows
from ..placement import Placement
from .cardans import cardans
from .displacements import Group, Run, aligned, generated, merged, product_rank
from .factoring import factoring
from .known_turns import known_turns
from .orbits import orbit
from .parallel_axes import parallel_axes
from .products import Backwards, Factoring, PointOnOrbit, Product, Undetermined
from .turning import after, inverse, vector

__all__ = ["Series", "series"]


_NEAR, _FAR = 1e-2, 1e2
"""Sizes of joints, in metres, within which lengths need no other unit."""


@dataclass(frozen=True, eq=False)
class _Part:
    """A part: its joint, where its frame is in the whole's, and the group by which it moves."""

    joint: Joint
    at: Pose
    group: Group


@dataclass(frozen=True, eq=False)
class Series:
    """Joints one after the other, with known residuals of their motions together. Lengths are in units of `unit`."""

    what: str
    parts: tuple[_Part, ...]
    unit: float
    runs: tuple[Run, ...]
    product: Product

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return the residuals: angles in radians, then lengths in metres."""
        angles, lengths = self.product.rows(Pose(R, scale(1.0 / self.unit, p)))
        return (*angles, *(self.unit * x for x in lengths)) if self.unit != 1.0 else (*angles, *lengths)

    @cached_property
    def _factoring(self) -> Factoring | str:
        """The formulas for the displacements of the parts; or the reason why they are not known."""
        try:
            return factoring([x.group for x in self.parts if x.group.freedoms], self.runs, self.product)
        except Undetermined as e:
            return str(e)

    @property
    def why_not_locatable(self) -> str:
        """The reason why the coordinates of the parts are not known; empty if they are."""
        if not isinstance(self._factoring, str):
            return ""
        return (
            f"{self.what} closes a loop, but its coordinates there are not known: {self._factoring}. It can have no "
            "springs, dampers, limits or drives"
        )

    def locate(self, R: Matrix3, p: Vector3) -> Freedoms:
        """Return the coordinates of all parts; where there are several, those on the side of the neutral position."""
        how = self._factoring
        if isinstance(how, str):
            raise ModelError(self.why_not_locatable)
        elements = iter(how.elements(Pose(R, scale(1.0 / self.unit, p))))
        located = (self._own(x, next(elements) if x.group.freedoms else Pose.zero()) for x in self.parts)
        return Freedoms(x for part in located for x in part)

    def reach_margin(self, R: Matrix3, p: Vector3) -> Rows:
        """Return numbers that are below zero if the parts do not reach a pose whose residual is zero."""
        how = self._factoring
        return () if isinstance(how, str) else how.reach_margin(Pose(R, scale(1.0 / self.unit, p)))

    def _own(self, part: _Part, g: Pose) -> Freedoms:
        """Return a part's coordinates, from the element by which it moves."""
        g = Pose(g.rotation, scale(self.unit, g.position))
        X = after(after(inverse(part.at), g), part.at)
        return part.joint.locate(X.rotation, X.position)


def series(parts: Sequence[tuple[Joint, Placement]], frame: Placement) -> Series:
    """Return the joint motion of joints in series, in a frame; raise if their product has no known residuals."""
    unit = _unit([at for _, at in parts])
    moving = [
        _part(f"its part {number}, {type(part).__name__}", joint, frame.inverse @ at @ inner, unit)
        for number, (part, at) in enumerate(parts, 1)
        for joint, inner in part.serial_parts()
    ]
    groups = aligned([x.group for x in moving])
    moving = [replace(x, group=g) for x, g in zip(moving, groups, strict=True)]
    runs = merged([g for g in groups if g.freedoms])
    found = _product([r.group for r in runs])
    what = f"a Composite of {len(parts)} joints ({', '.join(type(part).__name__ for part, _ in parts)})"
    if found is None:
        raise ModelError(f"{what} cannot close a loop: no residuals are known for their motions together. {_ADVICE}")
    return Series(what, tuple(moving), unit, runs, found)


_ADVICE = "Let another joint of the loop be the one that closes it, or put bodies between its parts"


def _unit(places: Sequence[Placement]) -> float:
    """Return a power of two near the size of the whole, where that is far from a metre."""
    size = max(math.hypot(*at.position) for at in places)
    return 1.0 if size == 0.0 or _NEAR <= size <= _FAR else 2.0 ** round(math.log2(size))


def _part(part: str, joint: Joint, at: Placement, unit: float) -> _Part:
    """Return a part with its group; raise if its motions do not form a group."""
    turned = at @ Placement(tuple(joint.working_frame().ravel().tolist()))
    R, p = turned.R, turned.p
    (x, y, z), position = (vector(row) for row in R), vector(p)
    what = f"a Composite cannot close a loop with {part}"
    columns = _twists(joint)
    if columns is None:
        raise ModelError(f"{what}: its motions change with its position. {_ADVICE}")
    w = R @ columns[:3]
    twists = np.concatenate([w, (R @ columns[3:] + np.cross(p, w.T).T) / unit])
    group = generated([Group(twists / np.linalg.norm(twists, axis=0))])
    if group.freedoms != joint.nv:
        found = f"its motions do not form a group: {joint.nv} of them generate {group.freedoms}"
        raise ModelError(f"{what}: {found}. {_ADVICE}")
    neutral = joint.transform(Freedoms(joint.neutral())).child(Pose.zero())
    if not np.allclose([*neutral.rotation, neutral.position], [*np.eye(3), np.zeros(3)], atol=1e-12):
        raise ModelError(f"{what}: at its neutral position its child's frame does not meet its own. {_ADVICE}")
    return _Part(joint, Pose((x, y, z), position), group)


def _twists(joint: Joint) -> Array | None:
    """Return the motion subspace (6, nv) of a joint, or None if it changes with the position; exact, by jets."""
    given = Freedoms(Jet(x, 1.0) for x in joint.neutral())
    scalars = [m.scalars for m in joint.subspace(given).columns]
    if any(isinstance(x, Jet) for column in scalars for x in column):
        return None
    return np.asarray(np.array(scalars, float).reshape(-1, 6).T)


def _product(groups: Sequence[Group]) -> Product | None:
    """Find the form of the product of these groups; None if it has no residuals in closed form.

    Four forms have residuals in closed form; read backwards, X^-1 = ... g2^-1 g1^-1, they are four more.

    * Rotations are known: about no axis, one or two axes, or a ball, with any shifts between (`known_turns`).
    * Two axes are parallel (`parallel_axes`).
    * Two universal joints have parallel axes in the middle (`cardans`).
    * A ball comes last: its centre must be on the orbit of the groups before it (`orbits`).
    """
    given = tuple(groups)
    wanted = 6 - product_rank(given)
    for form in (known_turns, parallel_axes, cardans, _ball_last):
        for turned, some in ((False, given), (True, given[::-1])):
            found = form(some)
            if found is not None and sum(map(len, found.rows(Pose(IDENTITY3, (0.1, 0.2, 0.3))))) == wanted:
                return Backwards(given, found) if turned else found
    return None


def _ball_last(groups: tuple[Group, ...]) -> Product | None:
    *others, ball = groups
    if ball.turns != 3 or ball.shifts.shape[1] or not others:
        return None
    found = orbit(others, ball.point)
    return None if found is None else PointOnOrbit(groups, vector(ball.point), found)
