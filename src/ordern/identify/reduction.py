"""Measured motions, reduced to one triangular factor for each force: all that least squares needs to know of them.

For a force r with the regressor rows y_k and measured values z_k,

    R_r^T R_r = sum over samples of (y_k, z_k)^T (y_k, z_k)

so that | R_r (x, -1) |^2 is the sum of squared errors of parameters x. The factors have the size of the parameters,
whatever the number of samples. Estimates, other weights of the forces, and constraints on parameters need no second
look at the samples. A row has entries for the bodies that its joint carries only; other columns are left out.

Sums are taken of products, in blocks of samples, and the factor comes from the sum by its eigenvalues. That squares the
condition of the columns, scaled to unit length: rounding is as if the squares of all forces had errors of 1e-16. QR
factors of blocks do not square it, and take four times as long; `exact` asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Array, broadcast_shapes, real
from ..errors import ArgumentError
from ..records import dataclass
from .excitation import REGRESSORS, rows_of

if TYPE_CHECKING:
    from ..robot import Robot
    from .friction import Extra

__all__ = ["Motion", "Row", "motion_of", "reduced"]

_BLOCK = 1 << 19
"""The largest number of entries of a regressor that is computed at once."""


@dataclass(frozen=True, slots=True)
class Motion:
    """Samples of motions, (N, ...), as flat batches, and the forces measured with them."""

    states: tuple[Array, ...]
    tau: Array
    """(N, rows)."""
    more: dict[str, Any]
    """Further arguments of the regressor."""
    known: Array | None = None
    """(P,): parameters whose forces are subtracted from those that were measured."""
    average: int = 1
    """How many samples in a row are replaced by their mean."""
    extra: Extra | None = None
    """Further columns of the regressor."""
    weights: Array | None = None
    """(means, rows): factors of the rows."""

    def __len__(self) -> int:
        return len(self.tau)

    @property
    def count(self) -> int:
        """The number of means."""
        return len(self) // self.average

    def some(self, where: slice | NDArray[np.intp]) -> Motion:
        """Return some of the samples."""
        more = {name: x if np.ndim(x) == 0 else x[where] for name, x in self.more.items()}
        return replace(self, states=tuple(x[where] for x in self.states), tau=self.tau[where], more=more)

    def width(self, robot: Robot) -> int:
        """Return the number of columns of the regressor."""
        return len(robot.parameters.theta) + (0 if self.extra is None else len(self.extra.labels))

    def blocks(self, robot: Robot, of: str, width: int) -> Iterator[tuple[Array, Array]]:
        """Yield the regressor (n, rows, P) and the forces (n, rows) of some samples at a time, less those known.

        Means are taken of both, so that they belong together. Samples at the end that do not fill a mean are left out.
        """
        known = None if self.known is None or not self.known.any() else self.known
        at = 0
        for Y, tau in self._blocks(robot, of, width):
            left = tau if known is None else tau - Y @ known
            Y, left = _means(Y, self.average), _means(left, self.average)
            if self.weights is not None:
                own = self.weights[at : at + len(left)]
                Y, left = Y * own[..., None], left * own
            at += len(left)
            yield Y, left

    def _blocks(self, robot: Robot, of: str, width: int) -> Iterator[tuple[Array, Array]]:
        size = max(16, _BLOCK // max(1, width * self.tau.shape[-1]))
        size = max(1, size // self.average) * self.average
        out: Array | None = None
        used = self.count * self.average
        for start in range(0, used, size):
            part = self.some(slice(start, min(start + size, used)))
            if not robot.nc and of == "inverse_dynamics":
                q, v, a = part.states
                if out is None or len(out) != len(q):
                    out = np.empty((len(q), self.tau.shape[-1], len(robot.parameters.theta)))
                robot.inverse_dynamics_regressor(q, v, a, 1, out, **part.more)
                yield out if self.extra is None else np.concatenate([out, self.extra.columns(v)], axis=-1), part.tau
            else:
                yield rows_of(robot, of, part.states, **part.more), part.tau


def _means(x: Array, count: int) -> Array:
    """Return the means of so many rows each."""
    if count == 1:
        return x
    flat = x.reshape(-1, count, int(np.prod(x.shape[1:])))
    return (np.full(count, 1.0 / count) @ flat).reshape(-1, *x.shape[1:])  # a product is faster than `mean`


@dataclass(frozen=True, slots=True)
class Row:
    """The factor of one force."""

    columns: NDArray[np.intp]
    """The parameters that the force depends on, as places among those that are estimated."""
    factor: Array
    """(c + 1, c + 1), upper triangular: the columns of the parameters, then that of the measured force."""
    count: int
    """The number of samples."""

    def squares(self, x: Array) -> float:
        """Return the sum of the squared errors of parameters x."""
        left = self.factor[:, :-1] @ x[self.columns] - self.factor[:, -1]
        return float(left @ left)


def motion_of(
    robot: Robot, of: str, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None, tau: ArrayLike | None, what: str,
    **more: Any,
) -> Motion:  # fmt: skip
    """Return samples as flat batches; without measured forces these are zero."""
    sizes = {"q": robot.nq, "v": robot.nv, "a": robot.nv}
    given = {"q": q, "v": v, "a": a}
    states = []
    for name in list(sizes)[: REGRESSORS[of]]:
        x = real(given[name], name, (..., sizes[name]))
        if x.ndim < 2 or x.shape[-1] != sizes[name]:
            raise ArgumentError(
                f"{what}: {name} has shape {x.shape}; expected (..., N, {sizes[name]}), a row for each of N samples"
            )
        states.append(x)
    batch = broadcast_shapes(what, *(x.shape[:-1] for x in states))
    n = int(np.prod(batch))
    if not n:
        raise ArgumentError(f"{what}: there are no samples; q has shape {states[0].shape}")
    flat = tuple(np.broadcast_to(x, (*batch, x.shape[-1])).reshape(n, -1) for x in states)
    settings = {k: x if np.ndim(x) == 0 else np.broadcast_to(x, batch).reshape(n) for k, x in more.items()}
    rows = _row_count(robot, of)
    measured = np.zeros((*batch, rows)) if tau is None else real(tau, "tau", (..., rows))
    if measured.shape != (*batch, rows):
        raise ArgumentError(
            f"{what}: tau has shape {measured.shape}; expected {(*batch, rows)}, {rows} numbers for each sample of q"
        )
    found = Motion(flat, measured.reshape(n, rows), settings)
    for name, x in (*zip(sizes, flat, strict=False), ("tau", found.tau)):
        if not np.isfinite(x).all():
            row = int(np.argmax(~np.isfinite(x).all(axis=-1)))
            raise ArgumentError(f"{what}: {name} of sample {row} is not finite; remove this sample, or fill it in")
    return found


def _row_count(robot: Robot, of: str) -> int:
    """Return how many numbers are measured in each sample."""
    if of == "inverse_dynamics":
        known = {c.name: c.nv for c in robot.joints} | {x.loop.name: x.loop.nv for x in robot.loop_table.loops}
        return sum(known[name] for name in robot.actuated) if robot.nc else robot.nv
    return {"joint_wrench": 6 * len(robot.bodies), "base_wrench": 6, "momentum": 6}.get(of, 1)


def reduced(robot: Robot, of: str, motion: Motion, chosen: NDArray[np.intp], exact: bool = False) -> list[Row]:
    """Return the factors of all forces, with the chosen columns of the regressor."""
    width, rows = motion.width(robot), motion.tau.shape[-1]
    columns = _columns(robot, of, rows, chosen, width, motion.extra)
    if not exact:
        sums = _sums(robot, of, motion, columns, width)
        return [Row(c[0], _factor(G), motion.count) for G, c in zip(sums, columns, strict=True)]
    factors = [np.zeros((0, len(here) + 1)) for here, _ in columns]
    for Y, tau in motion.blocks(robot, of, width):
        for r in range(rows):
            own = np.concatenate([Y[:, r, columns[r][1]], tau[:, r, None]], axis=1)
            factors[r] = _triangular(np.concatenate([factors[r], own]))
    return [Row(c[0], _square(R), motion.count) for R, c in zip(factors, columns, strict=True)]


Columns = tuple[NDArray[np.intp], NDArray[np.intp]]
"""The columns of a force: their places among the chosen ones, and in the regressor."""


def _columns(
    robot: Robot, of: str, rows: int, chosen: NDArray[np.intp], width: int, extra: Extra | None
) -> list[Columns]:
    """Return the columns that may differ from zero in each row: by the structure of a tree, or all."""
    is_tree = of == "inverse_dynamics" and not robot.nc
    seen = _carried(robot) if is_tree else np.ones((rows, width), bool)
    if extra is not None:
        seen = np.concatenate([seen, np.arange(rows)[:, None] == extra.rows], axis=1)
    found = []
    for row in seen:
        here = np.flatnonzero(row[chosen])
        found.append((here, chosen[here]))
    return found


def _carried(robot: Robot) -> NDArray[np.bool_]:
    """Return which parameters each joint force may depend on: those of the bodies it carries, and of its drives."""
    n, freedoms = len(robot.bodies), sum(c.type.nv for c in robot.joints)
    found = np.zeros((robot.nv, 10 * n + 3 * freedoms), bool)
    own = 10 * n
    for k, c in enumerate(robot.joints):
        for d in range(c.type.nv):
            found[c.v_start + d, own + d :: freedoms] = True
        own += c.type.nv
        at = k
        while at >= 0:
            above = robot.joints[at]
            found[above.v_start : above.v_start + above.type.nv, 10 * k : 10 * k + 10] = True
            at = above.parent
    return found


def _sums(robot: Robot, of: str, motion: Motion, columns: Sequence[Columns], width: int) -> list[Array]:
    """Return the sums of products of the columns and the measured force, for each force."""
    ends = np.cumsum([len(here) + 1 for here, _ in columns])
    parts = [slice(int(end) - len(here) - 1, int(end)) for end, (here, _) in zip(ends, columns, strict=True)]
    places = np.zeros(int(ends[-1]), np.intp)  # of all columns in the flat rows of the regressor: one gather for all
    for r, (part, (_, own)) in enumerate(zip(parts, columns, strict=True)):
        places[part][:-1] = r * width + own
    sums = [np.zeros((part.stop - part.start,) * 2) for part in parts]
    space = np.empty((0, len(places)))
    for Y, tau in motion.blocks(robot, of, width):
        if len(space) != len(tau):
            space = np.empty((len(tau), len(places)))
        np.take(Y.reshape(len(tau), -1), places, axis=1, out=space, mode="clip")
        space[:, ends - 1] = tau
        for total, part in zip(sums, parts, strict=True):
            some = space[:, part]
            total += some.T @ some
    return sums


def _factor(G: Array) -> Array:
    """Return the factor of a sum of products, which may be singular: one force does not determine all its columns."""
    lengths = np.sqrt(np.diag(G))
    scale = np.where(lengths > 0.0, lengths, 1.0)
    values, V = np.linalg.eigh(G / np.outer(scale, scale))
    return _square(_triangular(np.sqrt(np.maximum(values, 0.0))[:, None] * V.T * scale))


def _triangular(A: Array) -> Array:
    """Return the factor R of A = Q R."""
    return np.asarray(np.linalg.qr(A, mode="r"))


def _square(R: Array) -> Array:
    """Return a factor with as many rows as columns."""
    return np.concatenate([R, np.zeros((max(0, R.shape[1] - len(R)), R.shape[1]))])
