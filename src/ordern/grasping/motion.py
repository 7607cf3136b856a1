"""What forward dynamics of a grasp gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import dataclass
from .omega import Solved
from .state import GraspState

__all__ = ["GraspMotion", "motion_of"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class GraspMotion:
    """Accelerations and contact forces of a grasp, with any batch shape in front."""

    accelerations: tuple[Array, ...]
    """Of the joints, for each arm, (..., nv)."""
    object_acceleration: Array
    """alpha(C) of the object's origin: (angular, linear), second derivatives in the world's axes, (..., 6)."""
    forces: Array
    """f: (moment, force) of each tip on the object, at the contact, in the world's axes, (..., l, 6)."""
    contact_accelerations: tuple[Array, ...]
    """dW/dt of each contact, (..., freedoms)."""
    rank: NDArray[np.intp]
    """How many of the contacts' rows are independent, (...)."""
    rows: int
    """How many rows there are."""
    residual: Array
    """The norm of what the contacts ask for and no forces can bring about, (...): zero on every smooth motion."""

    @property
    def singular(self) -> Any:
        """Whether rows depend on one another, so that contact forces are not unique: those of least norm are given."""
        return self.rank < self.rows


def motion_of(
    state: GraspState, accelerations: tuple[Array, ...], solved: Solved, forces: Array, alpha: Array | None = None
) -> GraspMotion:
    """The result, with what follows from joint accelerations and the object's; `alpha` are those of the tips."""
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
