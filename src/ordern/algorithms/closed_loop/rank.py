"""The number of independent constraints: the one place that decides it.

The rows of K have different units (an angle, a length), and a mechanism may be small or large. So each row is divided
by its norm, but by no less than a hundredth of the largest norm: otherwise a row that vanishes, because nothing in the
mechanism can violate it, would become a unit row of rounding errors. The rank is the number of singular values above a
part `TOLERANCE` of the largest.

Why 1e-7: redundant loops are redundant only where they are closed. In positions that are closed to 1e-10, as `assemble`
and projections find them, redundant rows differ by about 1e-10, times up to a hundred for small rows. Rounding is far
below that. On the other side, a mechanism that is nearer than 1e-7 to a singular position moves through it in 1e-7 of a
second: so counting it as singular there has no visible effect.
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
        """Return orthonormal rows (.., r, nv) that forbid the same motions, for states whose rank is r."""
        return self.V[which, :r]

    def sides(self, which: Array, r: int, c: Array) -> Array:
        """Return the right sides e (.., r) of `rows` a = e that keep K a = c as nearly as possible."""
        scaled = c / self.scale[which]
        e = (np.swapaxes(self.U[which, :, :r], -1, -2) @ scaled[..., None])[..., 0]
        return np.asarray(e / self.sigma[which, :r])

    def multipliers(self, which: Array, r: int, mu: Array) -> Array:
        """Return the shortest lambda (.., nc) with K^T lambda = rows^T mu."""
        B = self.scale[which][..., None] * self.U[which, :, :r]
        Q, R = np.linalg.qr(B)
        y = (mu / self.sigma[which, :r])[..., None]
        return np.asarray((Q @ np.linalg.solve(np.swapaxes(R, -1, -2), y))[..., 0])


def scales(K: Array) -> Array:
    """Return the divisors of the rows (n, nc), by which they become comparable."""
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
    """Yield the ranks that occur, and the states that have them."""
    for r in np.unique(rank):
        yield int(r), np.flatnonzero(rank == r)
