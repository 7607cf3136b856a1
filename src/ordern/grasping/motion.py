"""The result of forward dynamics of a grasp."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from ..records import dataclass
from .omega import Solved
from .state import GraspState

__all__ = ["GraspMotion", "motion_of"]


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
    def singular(self) -> Any:
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
    local = (np.swapaxes(state.axes, -1, -2) @ w[..., None])[..., 0]
    return GraspMotion(
        accelerations=accelerations,
        object_acceleration=solved.acceleration,
        forces=forces,
        contact_accelerations=tuple(local[..., i, :] @ c.free for i, c in enumerate(grasp.contacts)),
        rank=solved.rank,
        rows=sum(g.rows.size for g in grasp.groups),
        residual=solved.residual,
    )
