"""The number of independent constraints: the one place that decides it.

The rows of K have different units (an angle, a length), and a mechanism may be small or large. So each row is divided
by its norm, but by no less than a hundredth of the largest norm: a row that vanishes, because nothing in the mechanism
can violate it, must not be blown up to what rounding left of it. The rank is the number of singular values above a part
`TOLERANCE` of the largest.

Why 1e-7: loops that are redundant are so only where they are closed. With positions that are closed to 1e-10 (what
`assemble` and projections reach), redundant rows differ by some 1e-10, times up to a hundred for small rows. Rounding
is far below that. On the other side, a mechanism that is nearer than 1e-7 to a singular position moves through it in
1e-7 of a second: that it counts as singular there does not show.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...records import dataclass
from ..composed import Array

__all__ = ["TOLERANCE", "Rank", "decide", "groups", "scales"]

TOLERANCE = 1e-7
"""Singular values below this part of the largest count as zero."""
_SMALLEST_ROW = 1e-2
_NO_ROW = 1e-6
"""Rows are divided by no less than this, and singular values compared with no less than a hundredth: where loops
constrain nothing (a door's second hinge), rounding of 1e-17 must not be compared with itself."""


@dataclass(frozen=True, slots=True)
class Rank:
    """K = diag(scale) U diag(sigma) V, and how many of the singular values count; for each of several states."""

    rank: Array
    """(n,)"""
    scale: Array
    """(n, nc): what each row was divided by."""
    U: Array
    """(n, nc, m)"""
    sigma: Array
    """(n, m): the largest first."""
    V: Array
    """(n, m, nv): with orthonormal rows; the first `rank` of them span what the constraints forbid."""

    def rows(self, which: Array, r: int) -> Array:
        """(.., r, nv): orthonormal rows that forbid the same, of states whose rank is r."""
        return self.V[which, :r]

    def sides(self, which: Array, r: int, c: Array) -> Array:
        """(.., r): the right sides e of `rows` a = e, for right sides c of K a = c, as near as these can be kept."""
        scaled = c / self.scale[which]
        e = (np.swapaxes(self.U[which, :, :r], -1, -2) @ scaled[..., None])[..., 0]
        return np.asarray(e / self.sigma[which, :r])

    def multipliers(self, which: Array, r: int, mu: Array) -> Array:
        """(.., nc): the shortest lambda with K^T lambda = rows^T mu."""
        B = self.scale[which][..., None] * self.U[which, :, :r]
        Q, R = np.linalg.qr(B)
        y = (mu / self.sigma[which, :r])[..., None]
        return np.asarray((Q @ np.linalg.solve(np.swapaxes(R, -1, -2), y))[..., 0])


def scales(K: Array) -> Array:
    """(n, nc): what the rows are divided by before they are compared."""
    norms = np.linalg.norm(K, axis=-1)
    largest = norms.max(axis=-1, keepdims=True, initial=0.0)
    return np.asarray(np.maximum(np.maximum(norms, _SMALLEST_ROW * largest), _NO_ROW))


def decide(K: Array, tolerance: float = TOLERANCE, rank: int | None = None) -> Rank:
    """Find the rank of each of several matrices K (n, nc, nv); a known `rank` is kept.

    States that are not finite have the rank 0.
    """
    s = scales(K)
    scaled = K / s[..., None]
    finite = np.asarray(np.isfinite(scaled).all(axis=(-1, -2)))
    U, sigma, V = np.linalg.svd(np.where(finite[:, None, None], scaled, 0.0), full_matrices=False)
    m = sigma.shape[-1]
    largest: Array = np.maximum(sigma.max(axis=-1, keepdims=True, initial=0.0), _SMALLEST_ROW)
    found = np.asarray(sigma > tolerance * largest).sum(axis=-1)
    if rank is not None:  # but never more than is there
        found = np.minimum(min(rank, m), np.asarray(sigma > 1e-14 * largest).sum(axis=-1))
    return Rank(np.where(finite, found, 0), s, U, sigma, V)


def groups(rank: Array) -> Iterator[tuple[int, Array]]:
    """Ranks that occur, and which states have them."""
    for r in np.unique(rank):
        yield int(r), np.flatnonzero(rank == r)
