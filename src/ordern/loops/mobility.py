"""The mobility of a robot with loops: freedoms, independent and redundant constraints, and possible motions."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.closed_loop.rank import TOLERANCE, decide, groups, scales
from ..arguments import positive
from ..declared import explained_methods
from ..errors import ArgumentError
from ..records import dataclass
from .consistent import Check, require_consistent, tolerance_of
from .kernels import Array, asking, numbers
from .nearby import MOST, Constraints, neighbours

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Mobility", "joint_parts", "mobility", "null_motions", "singular_positions"]


@explained_methods
@dataclass(frozen=True)
class Mobility:
    """The freedoms of a robot with loops in one position."""

    robot: Robot = field(repr=False)
    q: Array = field(repr=False)
    freedoms: int
    """The number of independent motions that keep all loops closed, to first order."""
    rank: int
    """The number of independent constraints."""
    constraints: int
    """The number of all constraints."""
    independent: dict[str, int]
    """For each loop and coupling, the number of its constraints that do not follow from those before it."""
    rows: dict[str, int]
    """For each loop and coupling, the number of its constraints."""
    motions: Array
    """(nv, freedoms): velocities that keep all loops closed; orthonormal columns."""
    t: Any = field(default=0.0, repr=False)
    tolerance: float = field(default=TOLERANCE, repr=False)

    @property
    def redundant(self) -> int:
        """The number of constraints that follow from others."""
        return self.constraints - self.rank

    @property
    def redundant_rows(self) -> dict[str, int]:
        """For each loop and coupling with redundant constraints, the number of them."""
        return {name: n - self.independent[name] for name, n in self.rows.items() if n > self.independent[name]}

    @cached_property
    def singular(self) -> bool:
        """True if closed positions nearby have fewer freedoms."""
        if self.rank == min(self.constraints, self.robot.nv):
            return False
        rank = np.array([self.rank])
        return bool(singular_positions(self.robot, self.q[None], rank, self.t, self.tolerance)[0])

    @cached_property
    def locked(self) -> bool:
        """True for a singular position that no motion leads away from: first derivatives allow motions that do not
        exist."""
        return self.singular and not len(_neighbours(self.robot, self.q, self.motions, self.t))

    def __str__(self) -> str:
        lines = [
            f"{self.robot.name}: {self.freedoms} freedom{'s' * (self.freedoms != 1)} of {self.robot.nv}, "
            f"{self.rank} of {self.constraints} constraints independent"
        ]
        for name, n in self.rows.items():
            kept = self.independent[name]
            lines.append(f"  {name}: {n} constraint{'s' * (n != 1)}" + (f", {n - kept} redundant" if n > kept else ""))
        for k in range(self.freedoms):
            lines.append(f"  motion {k + 1}: {joint_parts(self.robot, self.motions[:, k])}")
        if self.singular:
            nearby = "no motion leads away from it: it is locked" if self.locked else "there are fewer freedoms nearby"
            lines.append(f"  a singular position: {nearby}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the text of `print`, for notebooks."""
        from ..screen.html import printed

        return printed(self)


def joint_parts(robot: Robot, x: Array, most: int = 6) -> str:
    """Return a velocity in words: the joints with the largest parts, and these."""
    parts = []
    for c in robot.independent:
        for k in range(c.nv):
            label = c.name if c.nv == 1 else f"{c.name}[{k}]"
            parts.append((abs(float(x[c.v_start + k])), label, float(x[c.v_start + k])))
    largest = max((size for size, _, _ in parts), default=0.0)
    shown = sorted((p for p in parts if p[0] > 1e-6 * largest), key=lambda p: -p[0])
    text = ", ".join(f"{label} {value:+.3g}" for _, label, value in shown[:most])
    return text + (", ..." if len(shown) > most else "")


def mobility(robot: Robot, q: ArrayLike, t: float = 0.0, tolerance: float = TOLERANCE, check: Check = True) -> Mobility:
    """See `Robot.mobility`."""
    most = tolerance_of(check, q)
    q = numbers("q", q, robot.nq)
    if q.ndim != 1:
        raise ArgumentError(f"mobility: q has shape {q.shape}; give one position, of shape ({robot.nq},)")
    if not np.isfinite(q).all():
        raise ArgumentError("mobility: q must be finite")
    tolerance = positive(tolerance, "tolerance")
    require_consistent(robot, q, None, t, most, "mobility")
    K = asking(robot)("loop_jacobian", q[None], t=t) if robot.nc else np.zeros((1, 0, robot.nv))
    rank, motions = null_motions(K, tolerance)
    rows = {name: s.stop - s.start for name, s in robot.loop_rows.items()}
    (r,), (N,) = rank, motions
    independent = _independent(robot, K[0], int(r), tolerance)
    return Mobility(robot, q, robot.nv - int(r), int(r), robot.nc, independent, rows, N, t, tolerance)


def null_motions(K: Array, tolerance: float = TOLERANCE) -> tuple[Array, list[Array]]:
    """Return the rank of each K (n, nc, nv), and an orthonormal basis (nv, nv - rank) of each null space."""
    found = decide(K, tolerance)
    out: list[Array] = [np.zeros((0, 0))] * len(K)
    for r, which in groups(found.rank):
        rows = found.rows(which, r)
        Q, _ = np.linalg.qr(np.swapaxes(rows, -1, -2), mode="complete")
        N = Q[:, :, r:]
        # the sign that makes the largest part positive
        at = np.abs(N).argmax(axis=1)[:, None, :]
        N = N * np.sign(np.take_along_axis(N, at, 1) + 0.0)
        for k, i in enumerate(which):
            out[i] = N[k]
    return found.rank, out


def _independent(robot: Robot, K: Array, rank: int, tolerance: float) -> dict[str, int]:
    """Return how many independent constraints each loop adds to those before it."""
    s = scales(K[None])[0]
    K, found, before = K / s[:, None], {}, 0
    largest = np.linalg.svd(K, compute_uv=False).max(initial=1e-2)
    last = len(robot.loop_rows) - 1
    for k, (name, rows) in enumerate(robot.loop_rows.items()):
        sigma = np.linalg.svd(K[: rows.stop], compute_uv=False)
        now = rank if k == last else min(rank, int((sigma > tolerance * largest).sum()))
        found[name], before = now - before, now
    return found


def singular_positions(robot: Robot, q: Array, rank: Array, t: Any, tolerance: float) -> Array:
    """Return flags (n,) of the positions q (n, nq) that are singular: closed positions nearby have a higher rank, or do
    not exist though first derivatives allow motions."""
    found = np.zeros(len(q), bool)
    for i, N in enumerate(null_motions(asking(robot)("loop_jacobian", q, t=t), tolerance)[1]):
        here = t if np.ndim(t) == 0 else t[i]
        near = _neighbours(robot, q[i], N, here)
        if len(near):
            K = asking(robot)("loop_jacobian", near, t=here)
            found[i] = bool((decide(K, tolerance).rank > rank[i]).any())
        else:
            found[i] = 0 < N.shape[1] <= MOST
    return found


def _neighbours(robot: Robot, q: Array, motions: Array, t: Any) -> Array:
    ask = asking(robot)
    of = Constraints(
        robot,
        lambda x: ask("loop_jacobian", x, t=t),
        lambda x: ask("loop_residual", x, t=t),
        lambda x, v: ask("loop_bias", x, v, t=t),
    )
    return neighbours(of, q, motions)
