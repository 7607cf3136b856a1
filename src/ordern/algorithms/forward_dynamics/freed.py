"""Links as free bodies, as arrays: shared parts of methods that treat many links or joints at once.

Symbols and equations are as in `links`. All joints have as many columns T as the joint with most constraints: the
columns that a joint lacks are zero, with a compliance E of one.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...model import Piece, packed, piece
from ...records import dataclass
from ...spatial import Force, Freedoms
from ..mobility import Mobility
from .links import held
from .scan import Array, Arrays, BodyArrays, Group, times, transpose

__all__ = ["Freed", "product"]


@dataclass(frozen=True, slots=True)
class Freed:
    """Mobilities A^-1, constraint forces T with compliances E, forces J along one freedom each, and forces of joints.

    `active` are the forces of joints on their links, `felt` on the carriers.
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
        found = k.by_group(partial(_free, k), 1, (6, 6), (6, 6), (6, k.S.shape[-1]), (6,))
        A, T, J, lacking = (x[which] for x in found)
        width = max(len(held(k.index[i], Freedoms(k.index[i].kind.joint.neutral())).E) for i in which)
        active, felt = k.tree.run(_active, J, k.tau[which], k.X[which])
        return cls(A, T[..., :width], J, 1.0 - lacking[..., :width], active, felt)

    def moved(
        self, k: BodyArrays, which: Array, n: Array, t: Array, carried: Array, by: Array, wrenches: Array | None
    ) -> None:
        """Find the accelerations of these bodies and of their joints, by known forces t and constraint forces n.

        The bodies at the places `by` carry the bodies at the places `carried`. Fill in the wrenches through the joints.
        """
        run, X = k.tree.run, k.X[which]
        on_body, on_carrier = run(_wrench, self.T, n, X)
        f = t + on_body
        np.subtract.at(f, by, on_carrier[carried])
        (k.a[which],) = run(product, self.A, f)
        (k.qdd[which],) = run(_along, self.J, self.A, X, f, k.a[k.parent[which]], k.c[which])
        if wrenches is not None:
            wrenches[which] = on_body + self.active


def _free(k: BodyArrays, group: Group) -> Piece:
    """Return the piece that finds the mobility of each link of a group by itself, T, J and 1 - E."""

    def free(rows: Array, q: Array) -> Arrays:
        i = group.of(rows)
        joint, A = held(i, k.position(i, q)), Mobility.of(i.inertia)
        units = [Force.of(tuple(1.0 if r == c else 0.0 for r in range(6))) for c in range(6)]
        return (
            packed([x for unit in units for x in (A @ unit).scalars], 6, 6),
            transpose(packed([x for f in joint.T.columns for x in f.scalars], len(joint.E), 6)),
            transpose(packed([x for f in joint.J.columns for x in f.scalars], len(joint.J.columns), 6)),
            packed([1.0 - e for e in joint.E], len(joint.E)),
        )

    return Piece(free, (1, 1), ("free", group.number))


@piece(2, 1, 2)
def _active(J: Array, tau: Array, X: Array) -> Arrays:
    """Return the forces of joints on their links, and on the carriers."""
    f = times(J, tau)
    return f, times(transpose(X), f)


@piece(2, 1)
def product(A: Array, x: Array) -> Arrays:
    """Return a matrix by a vector."""
    return (times(A, x),)


@piece(2, 1, 2)
def _wrench(T: Array, n: Array, X: Array) -> Arrays:
    """Return the constraint forces on links, and on the carriers."""
    f = times(T, n)
    return f, times(transpose(X), f)


@piece(2, 2, 2, 1, 1, 1)
def _along(J: Array, A: Array, X: Array, f: Array, carrier: Array, c: Array) -> Arrays:
    """Return the accelerations of joints, from the forces on links and the accelerations of their carriers."""
    return (times(transpose(J), times(A, f) - times(X, carrier) - c),)
