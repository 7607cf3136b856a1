"""The inputs and the result of forward dynamics of a grasp."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from ..records import dataclass
from .arms import Group
from .omega import Omega, Solved
from .products import times, transposed
from .state import GraspState

__all__ = ["GraspMotion", "Inputs", "motion_of"]


@dataclass(frozen=True, eq=False)
class Inputs:
    """A state, forces on joints and object, and the way to solve for contact forces."""

    state: GraspState
    tau: tuple[Array, ...]
    """Joint forces of each arm, (..., nv)."""
    wrench: Array | None
    """An additional (moment, force) on the object, (..., 6)."""
    solve: Callable[[Omega, list[Array], Array | None], Solved]
    arm_method: str | None
    """The method of forward dynamics of the arms, for `general`."""
    rcond: float

    @cached_property
    def groups(self) -> list[tuple[Group, Array, Array, Array]]:
        """Each group, with positions, velocities and joint forces of its arms, (..., m, n)."""
        s = self.state
        return [(g, q, s.stacked(s.v, g), s.stacked(self.tau, g)) for g, q in s.positions]

    def contact_forces(self, omega: Omega, alpha: Array) -> tuple[Solved, Array, list[Array]]:
        """Solve for contact forces, from accelerations (..., l, 6) that tips would have without contacts.

        Return the solution, the forces (..., l, 6), and those on each group, (..., m, k, 6).
        """
        s = self.state
        solved = self.solve(omega, s.rows(alpha - s.bias), -s.object_bias(self.wrench))
        forces = s.forces(solved.multipliers)
        return solved, forces, [forces[..., g.contacts, :] for g in s.grasp.groups]


@dataclass(frozen=True, eq=False)
class GraspMotion:
    """Accelerations and contact forces of a grasp, with any leading batch shape."""

    accelerations: tuple[Array, ...]
    """Joint accelerations of each arm, (..., nv)."""
    object_acceleration: Array
    """alpha(C) of the object's origin: (angular, linear), second derivatives in the world's axes, (..., 6)."""
    forces: Array
    """f: (moment, force) of each tip on the object, at the contact, in the world's axes, (..., l, 6)."""
    contact_accelerations: tuple[Array, ...]
    """dW/dt of each contact, (..., freedoms)."""
    rank: NDArray[np.intp]
    """The number of independent contact rows, (...)."""
    rows: int
    """The number of contact rows."""
    residual: Array
    """The norm of the constraint accelerations that no forces can cause, (...): zero on every smooth motion."""

    @property
    def singular(self) -> NDArray[np.bool_]:
        """True where rows depend on each other, so that contact forces are not unique; the least is given."""
        return self.rank < self.rows


def motion_of(
    state: GraspState, accelerations: tuple[Array, ...], solved: Solved, forces: Array, alpha: Array | None = None
) -> GraspMotion:
    """Return the result from accelerations of joints and object; `alpha` are those of the tips, if known."""
    grasp = state.grasp
    if alpha is None:
        alpha = grasp._tip_accelerations(state.q, state.v, accelerations)
    w = solved.acceleration[..., None, :3] - alpha[..., :3] + state.bias[..., :3]
    local = times(transposed(state.axes), w)
    free = tuple(local[..., i, :] @ c.free for i, c in enumerate(grasp.contacts))
    return GraspMotion(accelerations, solved.acceleration, forces, free, solved.rank, grasp.nc, solved.residual)
