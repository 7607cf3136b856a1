"""The motion of a robot with closed loops: accelerations, and the forces that keep its loops closed."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.closed_loop.equations import flat
from ..algorithms.closed_loop.rank import TOLERANCE, decide, groups
from ..declared import explained_methods
from ..model.parameter_sets import part
from ..records import dataclass
from .coordinates import body_forces, drive_wrench
from .kernels import Array, asking
from .mobility import singular_positions

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["ClosedMotion"]

_CONSISTENT = 1e-6
"""Constraints count as kept below this part of their terms; rounding leaves 1e-10 of ill-conditioned ones."""


@explained_methods
@dataclass(frozen=True)
class ClosedMotion:
    """Accelerations and multipliers; further results are computed when they are first used.

    Arrays have the batch's shape first.
    """

    robot: Robot = field(repr=False)
    q: Array = field(repr=False)
    v: Array = field(repr=False)
    a: Array
    """(..., nv): joint accelerations."""
    found: Array = field(repr=False)
    """(..., nc): multipliers as the method returns them."""
    t: Any = field(default=0.0, repr=False)
    external: Array | None = field(default=None, repr=False)
    tolerance: float = field(default=TOLERANCE, repr=False)
    known_rank: Array | None = field(default=None, repr=False)
    correction: Array | None = field(default=None, repr=False)
    """The term of stabilisation: K a + k + correction = 0."""
    moved: dict[str, Any] = field(default_factory=dict, repr=False)
    """The motion of the base."""
    drives: dict[str, Array] = field(default_factory=dict, repr=False)
    """Forces of drives in joints that close loops."""
    least: bool = field(default=True, repr=False)
    """True if the multipliers of the method have the least norm."""
    batch: tuple[int, ...] | None = field(default=None, repr=False)
    """The shape of the batch, where `robot` has many sets of parameters, in one row, one for each state."""

    def __post_init__(self) -> None:
        """Give the arrays of a robot with many sets of parameters the shape of the batch."""
        if self.batch is not None:
            for name in ("q", "v", "a", "found", "known_rank", "correction", "external"):
                x = getattr(self, name)
                if x is not None:
                    object.__setattr__(self, name, x.reshape((*self.batch, *x.shape[1:])))

    @cached_property
    def _batch(self) -> tuple[int, ...]:
        return self.a.shape[:-1]

    def _flat(self, x: Any, core: int = 1) -> Array:
        return flat(np.asarray(x), self._batch, int(np.prod(self._batch)), core)

    def _shaped(self, x: Array) -> Array:
        return x.reshape((*self._batch, *x.shape[1:]))

    @cached_property
    def _time(self) -> Any:
        return self.t if np.ndim(self.t) == 0 else self._flat(np.asarray(self.t)[..., None])[:, 0]

    @cached_property
    def _jacobian(self) -> Array:
        return asking(self.robot)("loop_jacobian", self._flat(self.q), t=self._time)

    @cached_property
    def rank(self) -> Array:
        """The number of independent constraints."""
        if self.known_rank is not None:
            return self.known_rank
        return self._shaped(decide(self._jacobian, self.tolerance).rank)

    @cached_property
    def multipliers(self) -> Array:
        """(..., nc): the multipliers lambda; where constraints depend on each other, the ones of least norm."""
        if self.least:
            return self.found
        decided = decide(self._jacobian, self.tolerance)
        lam = self._flat(self.found).copy()
        for r, which in groups(decided.rank):
            if r < self.robot.nc:
                load = np.swapaxes(self._jacobian[which], -1, -2) @ lam[which, :, None]
                lam[which] = decided.multipliers(which, r, (decided.rows(which, r) @ load)[..., 0])
        return self._shaped(lam)

    @cached_property
    def violation(self) -> Array:
        """(..., nc): the residual K a + k of each constraint; not zero where no accelerations keep all constraints.

        With stabilisation, it includes the correction.
        """
        return self._shaped((self._jacobian @ self._flat(self.a)[..., None])[..., 0] + self._bias)

    @cached_property
    def _bias(self) -> Array:
        k = asking(self.robot)("loop_bias", self._flat(self.q), self._flat(self.v), t=self._time)
        return k if self.correction is None else k + self._flat(self.correction)

    @cached_property
    def residual(self) -> Array:
        """The norm of `violation`."""
        return np.asarray(np.linalg.norm(self.violation, axis=-1))

    @cached_property
    def consistent(self) -> Array:
        """True if there are accelerations that keep all constraints.

        They do not exist for velocities that no motion through this position has, such as a velocity along both
        branches where two meet, or one that opens a loop.
        """
        size = (np.abs(self._jacobian) @ np.abs(self._flat(self.a))[..., None])[..., 0]
        bound = _CONSISTENT * (1.0 + np.linalg.norm(self._shaped(size + np.abs(self._bias)), axis=-1))
        return np.asarray(self.residual <= bound)

    @cached_property
    def singular(self) -> Array:
        """True if constraints depend on each other here that do not in closed positions nearby.

        The mechanism has a freedom more here than there: branches of its motion may meet. Constraints that are
        redundant everywhere, as those of a second hinge of a door, do not make a position singular.
        """
        q, rank = self._flat(self.q), self._flat(self.rank[..., None])[:, 0]
        found = np.zeros(len(q), bool)
        here = np.flatnonzero(rank < min(self.robot.nc, self.robot.nv))
        if here.size:
            t = self._time if np.ndim(self._time) == 0 else self._time[here]
            found[here] = self._singular(q[here], rank[here], t, here)
        return found.reshape(self._batch)

    def _singular(self, q: Array, rank: Array, t: Any, here: Array) -> Array:
        """Return which positions are singular; with many sets of parameters one after the other."""
        if not self.robot.batch_shape:
            return singular_positions(self.robot, q, rank, t, self.tolerance)
        times = np.broadcast_to(t, len(q))
        each = zip(here, q, rank, times, strict=True)
        return np.array(
            [singular_positions(part(self.robot, k), x[None], r[None], s, self.tolerance)[0] for k, x, r, s in each]
        )

    @cached_property
    def wrenches(self) -> dict[str, Array]:
        """For each loop the (moment, force) on its child, (..., 6), in its frame there; the parent's is opposite.

        These are the forces of constraints, without those of a drive, a spring or a damper in the loop.
        """
        W = asking(self.robot)("loop_wrenches", self._flat(self.q), t=self._time)
        each = W * self._flat(self.multipliers)[..., None]
        rows = self.robot.loop_rows
        return {x.name: self._shaped(each[:, rows[x.name]].sum(axis=1)) for x in self.robot.loops if x.active}

    @cached_property
    def coupling_forces(self) -> dict[str, Array]:
        """For each coupling between coordinates the force on the joint that it drives, (...)."""
        names = [c.name for c in self.robot.loop_table.couplings]
        return {name: self.multipliers[..., self.robot.loop_rows[name]][..., 0] for name in names}

    @cached_property
    def body_forces(self) -> Array:
        """(..., n, 6): the (moment, force) of all loops and their drives on each body, in its frame."""
        q = self._flat(self.q)
        total = np.zeros((len(q), len(self.robot.bodies), 6))
        for x in self.robot.loop_table.loops:
            wrench = self._flat(self.wrenches[x.loop.name])
            if x.loop.name in self.drives:
                wrench = wrench + drive_wrench(self.robot, q, x, self._flat(self.drives[x.loop.name]))
            total += body_forces(self.robot, q, x.loop, wrench)
        return self._shaped(total)

    @cached_property
    def joint_wrenches(self) -> Array:
        """(..., n, 6): the (moment, force) that each joint of the tree transmits to its body, in the body's frame.

        Couplings, and forces that were given as `tau`, act along the joints and are included.
        """
        forces = self.body_forces if self.external is None else self.body_forces + self.external
        if self.batch is None:
            return asking(self.robot)("joint_wrenches", self.q, self.v, self.a, external=forces, **self.moved)
        given = [self._flat(x) for x in (self.q, self.v, self.a)]
        found = asking(self.robot)("joint_wrenches", *given, external=self._flat(forces, 2), **self.moved)
        return self._shaped(found)

    def __str__(self) -> str:
        nc, name = self.robot.nc, self.robot.name
        rank = np.unique(self.rank)
        ranks = " to ".join(str(int(x)) for x in (rank[[0, -1]] if rank.size > 1 else rank))
        text = f"motion of {name!r}: {ranks} of {nc} constraints independent"
        if np.any(self.singular):
            text += f"; singular position{'s' if self.a.ndim > 1 else ''}"
        if not np.all(self.consistent):
            text += f"; no acceleration keeps all constraints (off by {float(np.max(self.residual)):.3g})"
        return text
