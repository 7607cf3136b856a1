"""Misfit: how far a state is from a state of the closed mechanism, in positions and in velocities.

With the residuals r of a loop and how fast they change, lengths divided by the way around the loop, and the velocities
v of the joints along it, translations divided by that too (see `ordern.model.loop_sizes`),

    gap^2 = |r|^2,    slip^2 = |dr/dt|^2 / (1 + |v|^2),    misfit^2 = gap^2 + slip^2

A state fits if the misfit of every loop is below a tolerance. The same text serves compiled code, and NumPy arrays of
residuals and rates that are known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...graph import Scalar, where_less
from ...model import Joints, Number, Tree
from ...model.loop_sizes import LoopSize
from ...records import dataclass
from ..composed import Array
from ..registry import Port, algorithm, question
from .constraints import loop_rate, loop_residual

__all__ = ["MISFIT", "Sizes", "excess", "gap_and_slip", "loop_excess", "norms"]

_q, _v, _t = Port("q", "q"), Port("v", "v"), Port("t", "scalar", optional=True)
question("loop_excess", (_q, _v, _t), "scalar", "outward", options=("moving",), loops=True)

MISFIT = 1e-3
"""The largest misfit of states that count as closed. Single precision and files with six digits leave 1e-6, rollouts by
"rk4" in steps of 1 ms 1e-9 to 2e-6; frames that are mistaken by a thousandth of the mechanism's size, 1e-3."""


def excess(tree: Tree, q: Joints, qd: Joints, t: Number, moving: bool = True) -> Scalar:
    """Return a number below zero if no loop has a larger misfit than `MISFIT`; without `moving`, no larger gap.

    It is (gap^2 - MISFIT^2) (1 + |v|^2) + |dr/dt|^2 of the worst loop: without a division.
    """
    r = tuple(loop_residual(tree, q, t))
    rate = tuple(loop_rate(tree, q, qd, t)) if moving else (0.0,) * len(r)
    v = {i.key: qd[i] for i, _ in tree.outward()}
    worst: Scalar | None = None
    for size in tree.model.loop_sizes:
        along = [(v[body][k], square) for body, k, _, square in size.moving]
        speed = _squares(along, 1.0) if moving else 1.0
        squares = [scale**2 for scale in size.scales]
        gap = _squares(list(zip(r[size.rows], squares, strict=True)), -(MISFIT**2))
        slip = _squares(list(zip(rate[size.rows], squares, strict=True)), 0.0)
        off = gap * speed + slip
        worst = off if worst is None else where_less(worst, off, off, worst)
    return -1.0 if worst is None else worst


@algorithm("loop_excess", "outward", paper="Featherstone-Orin 2000", equations="sec. 3.3", sweeps=False)
def loop_excess(tree: Tree, q: Joints, qd: Joints, t: Number, moving: bool) -> Scalar:
    """See `excess`, which it is."""
    return excess(tree, q, qd, t, moving)


def _squares(terms: Sequence[tuple[Scalar, float]], total: Scalar) -> Scalar:
    """Return `total` plus the sum of x^2 / d over pairs (x, d), with one division for each d."""
    sums: dict[float, Scalar] = {}
    for x, d in terms:
        sums[d] = sums.get(d, 0.0) + x * x
    for d, x in sums.items():
        total = total + (x if d == 1.0 else x * (1.0 / d))
    return total


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of all loops of a model as arrays."""

    rows: Array
    """Number of rows of each loop."""
    scale: Array
    """(nc,): divisors of the rows."""
    freedoms: Array
    """Number of freedoms along each loop."""
    column: Array
    """Indices of these freedoms in v, loop after loop."""
    over: Array
    """Divisors of their velocities."""

    @classmethod
    def of(cls, sizes: Sequence[LoopSize]) -> Sizes:
        """Collect the sizes of each loop."""
        return cls(
            np.array([len(x.angles) for x in sizes], int),
            np.array([s for x in sizes for s in x.scales]),
            np.array([len(x.moving) for x in sizes], int),
            np.array([column for x in sizes for _, _, column, _ in x.moving], int),
            np.sqrt([square for x in sizes for _, _, _, square in x.moving]),
        )


def gap_and_slip(sizes: Sizes, r: Array, rate: Array | None, v: Array | None) -> tuple[Array, Array]:
    """Return the gap and slip of each loop, (..., loops), from residuals and rates (..., nc), velocities (..., nv).

    Without rates, nothing slips.
    """
    gap = norms(r / sizes.scale, sizes.rows)
    if rate is None or v is None:
        return gap, np.zeros_like(gap)
    speed = norms(v[..., sizes.column] / sizes.over, sizes.freedoms)
    return gap, np.asarray(norms(rate / sizes.scale, sizes.rows) / np.sqrt(1.0 + speed**2))


def norms(x: Array, counts: Array) -> Array:
    """Return the norms of consecutive parts of the last dimension, which have these lengths."""
    if not x.shape[-1]:
        return np.zeros((*x.shape[:-1], len(counts)))
    starts = np.minimum(np.cumsum(counts) - counts, x.shape[-1] - 1)
    return np.asarray(np.sqrt(np.add.reduceat(x * x, starts, axis=-1) * (counts > 0)))
