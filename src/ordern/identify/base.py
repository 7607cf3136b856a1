"""Base parameters: the combinations of a robot's parameters that measurements determine.

Columns of a regressor depend on each other, Y_d = Y_b B, whatever the motion. So measurements determine

    base = theta_b + B theta_d

and nothing else: one *base parameter* for each independent column b. Which columns count as independent is a matter of
choice. Here columns are taken in a fixed order, root to tip, second moments before first moments before masses before
drives, and a column that depends on those before it is moved into them. Moments across the axis of a joint then move
into the parent, as in the rules of Gautier and Khalil.

The rank rule: columns are divided by their lengths, and QR with pivoting is done. A column counts as zero if its length
is below `ZERO` of the longest one. The rank is the number of pivots above `tolerance` times the first one.

Reference: Gautier 1991, Numerical calculation of the base inertial parameters of robots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Array, real
from ..declared import explained_methods
from ..errors import ArgumentError
from ..records import dataclass
from .words import combination, listed

__all__ = ["TOLERANCE", "BaseParameters", "from_columns", "from_silent"]

TOLERANCE = 1e-9
"""The part of the largest pivot below which one counts as zero, for exact regressors of random motions."""
ZERO = 1e-11
"""The part of the longest column below which a column counts as zero."""
_CLEAN = 1e-9
"""Factors of a combination are rounded to zero or to whole numbers within this."""
_ORDER = ("xx", "yy", "zz", "xy", "xz", "yz", "mx", "my", "mz", "mass")


@explained_methods
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BaseParameters:
    """The combinations of parameters that forces depend on: `matrix @ theta`."""

    robot: str
    """The name of the robot."""
    of: str
    """The regressor: "inverse_dynamics", "base_wrench" ..."""
    labels: tuple[str, ...]
    """The names of all numbers of theta."""
    kept: NDArray[np.intp]
    """(B,): the independent columns, by their places in theta."""
    matrix: Array
    """(B, P): the combinations. Columns of `kept` are the identity; columns of parameters without effect are zero."""
    method: str = "numeric"
    """How they were found: "numeric", from the regressor of random motions, or "tree", from the rules alone."""
    _names: list[str] = field(default_factory=list, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The combinations in words, such as "link2.xx - link2.yy"; each begins with the parameter that is kept."""
        if not self._names:
            self._names.extend(
                combination(row, self.labels, int(k)) for row, k in zip(self.matrix, self.kept, strict=True)
            )
        return tuple(self._names)

    def __len__(self) -> int:
        return len(self.kept)

    @property
    def silent(self) -> tuple[str, ...]:
        """The parameters that have no effect at all, alone or in combination."""
        seen = {int(k) for k in self.matrix.nonzero()[1]}
        return tuple(x for k, x in enumerate(self.labels) if k not in seen)

    @property
    def alone(self) -> tuple[str, ...]:
        """The parameters that are identified by themselves, in no combination with others."""
        single = np.count_nonzero(self.matrix, axis=1) == 1
        return tuple(self.labels[k] for k in self.kept[single])

    @property
    def combined(self) -> tuple[str, ...]:
        """The parameters that are identified in combination with others only."""
        apart = {*self.silent, *self.alone}
        return tuple(x for x in self.labels if x not in apart)

    def of_theta(self, theta: ArrayLike) -> Array:
        """Return the base parameters (..., B) of parameters theta (..., P)."""
        given = real(theta, "theta", (..., len(self.labels)))
        if given.shape[-1:] != (len(self.labels),):
            raise ArgumentError(f"theta has shape {given.shape}; its last dimension must be {len(self.labels)}")
        return np.asarray(given @ self.matrix.T)

    def columns(self, Y: ArrayLike) -> Array:
        """Return the independent columns (..., B) of a regressor (..., P): times the base parameters it is Y theta."""
        given = real(Y, "Y", (..., len(self.labels)))
        if given.shape[-1:] != (len(self.labels),):
            raise ArgumentError(f"Y has shape {given.shape}; its last dimension must be {len(self.labels)}")
        return np.asarray(given[..., self.kept])

    def theta_near(self, base: ArrayLike, theta: ArrayLike) -> Array:
        """Return the parameters nearest to theta, (..., P), that have these base parameters (..., B).

        The sum of the squares of the changes is least. What base parameters leave open stays as it is in `theta`. The
        result need not be possible for a body; `Estimate.theta` of a consistent estimate is.
        """
        off = np.asarray(base, float) - self.of_theta(theta)
        M = self.matrix
        return np.asarray(np.asarray(theta, float) + np.linalg.solve(M @ M.T, off[..., None])[..., 0] @ M)

    @property
    def report(self) -> str:
        """The parameters that can be identified, and those that cannot, in words."""
        lines = [
            f"{self.robot!r}, {self.of}: {len(self)} base parameters of {len(self.labels)} parameters.",
            f"Identified by themselves ({len(self.alone)}): {listed(self.alone)}.",
            f"Without effect, cannot be identified ({len(self.silent)}): {listed(self.silent)}.",
            f"In combination with others only ({len(self.combined)}): {listed(self.combined)}.",
            "The combinations:",
            *(f"  {name}" for name in self.names if " " in name),
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<BaseParameters of {self.robot!r}: {len(self)} of {len(self.labels)} parameters, {self.of}>"

    __str__ = __repr__


def from_columns(A: Array, labels: Sequence[str], robot: str, of: str, tolerance: float = TOLERANCE) -> BaseParameters:
    """Return the base parameters of a regressor (rows, P) of many motions, or of its R factor (P, P)."""
    lengths = np.linalg.norm(A, axis=0)
    there = lengths > ZERO * lengths.max(initial=0.0)
    scaled = np.where(there, A, 0.0) / np.where(there, lengths, 1.0)
    if len(scaled) > len(labels):
        scaled = np.asarray(np.linalg.qr(scaled, mode="r"))
    rank = len(_pivoted(scaled, tolerance))
    order = [k for k in _preferred(labels) if there[k]]
    kept = _in_order(scaled, order, rank, tolerance)
    matrix = np.zeros((len(kept), len(labels)))
    factors = np.linalg.lstsq(scaled[:, kept], scaled, rcond=None)[0]
    matrix[:] = factors * lengths / lengths[kept, None]
    relative = np.abs(factors) < 10.0 * max(tolerance, _CLEAN)
    matrix[relative | ~there] = 0.0
    return BaseParameters(robot, of, tuple(labels), kept, _clean(matrix, kept), "numeric")


def from_silent(silent: Array, labels: Sequence[str], robot: str) -> BaseParameters:
    """Return the base parameters of joint forces from changes (k, P) of theta that change no force.

    In reduced row echelon form, with the columns from the last to the first of the preferred order, the leading entry
    of each row belongs to a parameter that is moved into the others.
    """
    order = _preferred(labels)[::-1]
    M = silent[:, order].astype(float)
    leading: list[int] = []
    for c in range(M.shape[1]):
        r = len(leading)
        if r == len(M):
            break
        best = r + int(np.abs(M[r:, c]).argmax())
        if abs(M[best, c]) <= _CLEAN:
            continue
        M[[r, best]] = M[[best, r]]
        M[r] /= M[r, c]
        others = np.arange(len(M)) != r
        M[others] -= np.outer(M[others, c], M[r])
        leading.append(c)
    moved = [order[c] for c in leading]
    kept = np.array(sorted(set(range(len(labels))) - set(moved), key=order[::-1].index), np.intp)
    relations = np.zeros((len(moved), len(labels)))
    relations[:, order] = M[: len(moved)]
    matrix = np.zeros((len(kept), len(labels)))
    matrix[np.arange(len(kept)), kept] = 1.0
    matrix[:, moved] = -relations[:, kept].T
    return BaseParameters(robot, "inverse_dynamics", tuple(labels), kept, _clean(matrix, kept), "tree")


def _preferred(labels: Sequence[str]) -> list[int]:
    """Return the columns in the order in which they are kept, if they are independent of those before them."""
    places = {name: k for k, name in enumerate(_ORDER)}
    bodies = [k for k, x in enumerate(labels) if x.rpartition(".")[2] in places]
    inertial = sorted(bodies, key=lambda k: (k // 10, places[labels[k].rpartition(".")[2]]))
    return [*inertial, *range(len(bodies), len(labels))]


def _pivoted(A: Array, tolerance: float) -> list[int]:
    """Return the columns that QR with pivoting takes, until what is left is below the tolerance."""
    left, found, first = A.copy(), list[int](), 0.0
    for _ in range(min(A.shape)):
        sizes = np.linalg.norm(left, axis=0)
        k = int(sizes.argmax())
        first = first or float(sizes[k])
        if not sizes[k] > tolerance * first:
            break
        found.append(k)
        _project_out(left, left[:, k] / sizes[k])
    return found


def _in_order(A: Array, order: Sequence[int], rank: int, tolerance: float) -> NDArray[np.intp]:
    """Return `rank` columns, each independent of those before it in an order.

    The threshold is the rank rule's; where a column is almost dependent, those of the largest rest are taken.
    """
    left, found = A.copy(), list[int]()
    rest = np.zeros(A.shape[1])
    for k in order:
        rest[k] = size = float(np.linalg.norm(left[:, k]))
        if size > tolerance and len(found) < rank:
            found.append(k)
            _project_out(left, left[:, k] / size)
    if len(found) < rank:
        more = [k for k in np.argsort(-rest) if k not in found]
        found += more[: rank - len(found)]
    return np.array(found, np.intp)


def _project_out(left: Array, direction: Array) -> None:
    """Subtract the parts along a unit vector, twice: once leaves rounding errors of the first size."""
    for _ in range(2):
        left -= np.outer(direction, direction @ left)


def _clean(matrix: Array, kept: NDArray[np.intp]) -> Array:
    """Return combinations with exact zeros and whole numbers where they are within rounding."""
    whole = np.round(matrix)
    near = np.abs(matrix - whole) < _CLEAN * np.maximum(1.0, np.abs(whole))
    found = np.where(near, whole, matrix)
    found[:, kept] = np.eye(len(kept))
    found.flags.writeable = False
    return found
