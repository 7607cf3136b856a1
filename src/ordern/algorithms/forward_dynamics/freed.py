"""Links as free bodies, as arrays: shared parts of methods that treat many links or joints at once.

The symbols and equations are those of `links`. All joints have as many forces T as the one with most: those that a
joint lacks are zero, with a yield E of one.
"""

from __future__ import annotations

from typing import Any

from ...model import Piece, packed, piece
from ...records import dataclass
from ...spatial import Force
from ..mobility import Mobility
from .links import held
from .scan import Array, Arrays, BodyArrays, Group, freedoms, times, transpose

__all__ = ["Freed", "along", "product", "wrench"]


@dataclass(frozen=True, slots=True)
class Freed:
    """Mobilities A^-1, what joints hold, T and E, forces J that act on one freedom each, and the joints' own forces.

    `active` are these on links, `felt` on what carries them.
    """

    A: Array
    T: Array
    J: Array
    E: Array
    active: Array
    felt: Array

    @classmethod
    def of(cls, k: BodyArrays, which: Array) -> Freed:
        """Collect these quantities for some bodies."""
        A, T, J, lacking = (x[which] for x in k.by_group(_free, (6, 6), (6, 6), (6, k.S.shape[-1]), (6,)))
        width = max(len(held(k.index[i], _any_position(k.index[i])).E) for i in which)
        active, felt = k.tree.run(_active, J, k.tau[which], k.X[which])
        return cls(A, T[..., :width], J, 1.0 - lacking[..., :width], active, felt)


def _free(group: Group) -> Piece:
    """Return the piece that finds the mobility of each link of a group by itself, T, J and 1 - E."""

    def free(rows: Array, q: Array) -> Arrays:
        i = group.of(rows)
        joint, A = held(i, freedoms(q)), Mobility.of(i.inertia)
        units = [Force.of(tuple(1.0 if r == c else 0.0 for r in range(6))) for c in range(6)]
        return (
            packed([x for unit in units for x in (A @ unit).scalars], 6, 6),
            transpose(packed([x for f in joint.T.columns for x in f.scalars], len(joint.E), 6)),
            transpose(packed([x for f in joint.J.columns for x in f.scalars], len(joint.J.columns), 6)),
            packed([1.0 - e for e in joint.E], len(joint.E)),
        )

    return Piece(free, (1, 1), ("free", group.number))


def _any_position(i: Any) -> Any:
    return i.kind.joint.neutral()


@piece(2, 1, 2)
def _active(J: Array, tau: Array, X: Array) -> Arrays:
    """Return the joints' own forces on links, and on those that carry them."""
    f = times(J, tau)
    return f, times(transpose(X), f)


@piece(2, 1)
def product(A: Array, x: Array) -> Arrays:
    """Return a matrix by a vector."""
    return (times(A, x),)


@piece(2, 1, 2)
def wrench(T: Array, n: Array, X: Array) -> Arrays:
    """Constraint forces on links, and on those that carry them."""
    f = times(T, n)
    return f, times(transpose(X), f)


@piece(2, 2, 2, 1, 1, 1)
def along(J: Array, A: Array, X: Array, f: Array, carrier: Array, c: Array) -> Arrays:
    """Return the accelerations of joints, from the forces on links and the accelerations of their carriers."""
    return (times(transpose(J), times(A, f) - times(X, carrier) - c),)
