"""Closures: constraints on the pose of one frame relative to another, as one function over any scalar.

A joint that closes a loop is not a joint of the tree. It excludes all motions of the child's frame relative to the
parent's but its own, by residuals that vanish exactly on these. Their first and second derivatives come from jets:
no Jacobian of a constraint is written by hand.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..arguments import Array
from ..errors import ModelError
from ..graph import Scalar, atan2, sqrt, where_less
from ..spatial import Motion
from ..spatial.linear import IDENTITY3, Matrix3, Vector3
from . import quaternion

__all__ = ["Closure", "Rows", "aligned", "angle_about_z", "row_count", "unturned"]

Rows = tuple[Scalar, ...]

_EARLIER_NAMES = {
    "turn": "working_frame",
    "slack": "reach_margin",
    "stages": "serial_parts",
    "unfelt": "shiftable_inertia",
    "unlocated": "why_not_locatable",
}
_FLIPPED = 1e-24
"""A smaller squared sine of an angle counts as zero."""


class Closure:
    """A constraint on a relative pose, which closes a loop: a joint, or a distance, a drive, rolling.

    R has the axes of the child's frame as its columns, p is its origin; both in the parent's frame, both frames turned
    by `working_frame()`, in which an axis is z.
    """

    timed: ClassVar[bool] = False
    """True if `closure` takes the time as a third argument."""

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return residuals that vanish exactly on the motions left free; there, their derivatives are independent."""
        raise ModelError(
            f"{_article(self)} cannot close a loop: its class has no `closure(R, p)`. Let another joint of the loop be "
            "the one that closes it, or put bodies between the parts of this one"
        )

    def slip(self, R: Matrix3, p: Vector3, V: Motion) -> Rows:
        """Return the conditions on the child's velocity V relative to the parent, in the child's frame: linear in V.

        For constraints that are not derivatives of residuals (rolling, a knife's edge); empty for all others.
        """
        return ()

    def working_frame(self) -> Array:
        """Return the rotation matrix of the working frame in the child's own frame; its third column is the axis."""
        return np.eye(3)

    turn = working_frame

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Give methods of a class both of their names: classes from outside the library may have the earlier ones."""
        super().__init_subclass__(**kwargs)
        for earlier, name in _EARLIER_NAMES.items():
            if earlier in vars(cls) and name not in vars(cls):
                setattr(cls, name, vars(cls)[earlier])
            elif name in vars(cls):
                setattr(cls, earlier, vars(cls)[name])


def row_count(what: Closure) -> tuple[int, int]:
    """Return the numbers of rows of a closure: residuals, and conditions on velocities only."""
    p = (0.1, 0.2, 0.3)
    given = (IDENTITY3, p, 0.0) if what.timed else (IDENTITY3, p)
    rows = what.closure(*given), what.slip(IDENTITY3, p, Motion.zero())
    for name, found in zip(("closure", "slip"), rows, strict=True):
        if not isinstance(found, (tuple, list)):
            raise ModelError(
                f"`{name}` of {_article(what)} must return a tuple of numbers, such as (p[0],), not {found!r}"
            )
    return len(rows[0]), len(rows[1])


def unturned(R: Matrix3) -> Rows:
    """Return three residuals, zero if two frames have the same axes: 2 sin(angle / 2) times the axis of the turn.

    Unlike the skew part of R, they vanish nowhere else: half a turn is as far from none as can be. There they jump to
    the other end of the axis.
    """
    _, x, y, z = quaternion.of_matrix(R)
    return (2.0 * x, 2.0 * y, 2.0 * z)


def aligned(R: Matrix3) -> Rows:
    """Return two residuals, zero if both z axes have the same direction: 2 sin(angle / 2), along the child's z.

    They do not vanish where these are opposite.
    """
    x, y, cosine = R[0][2], R[1][2], R[2][2]
    square = x * x + y * y
    flipped = where_less(square, _FLIPPED, where_less(cosine, 0.0, 1.0, 0.0), 0.0)  # then any direction will do
    # by the one of two formulas whose divisor is not small
    divisor = where_less(cosine, 0.0, square + flipped, 0.5 * (1.0 + cosine))
    scale = sqrt(where_less(cosine, 0.0, 2.0 * (1.0 - cosine), 1.0) / divisor)
    return (scale * (x + flipped), scale * y)


def angle_about_z(R: Matrix3) -> Scalar:
    """Return the angle, within half a turn of zero, of the rotation about z that is next to R."""
    return atan2(R[1][0] - R[0][1], R[0][0] + R[1][1])


def _article(what: object) -> str:
    name = type(what).__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
