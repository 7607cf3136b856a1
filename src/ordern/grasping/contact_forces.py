"""Forces of contacts at the states of a run, and what is left before they fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .as_one_robot import from_whole
from .monitor import margins

if TYPE_CHECKING:
    from ..simulate.run.problem import Problem
    from .contact_rows import ContactRows

__all__ = ["contact_forces", "contact_margins"]

Array = NDArray[Any]


def contact_forces(problem: Problem, rows: ContactRows, t: Any, q: Array, v: Array, tau: Array) -> Array:
    """Return forces (..., l, 6) of the contacts, by applied joint forces; stops that joints rest on push besides."""
    force = tau + problem.passive_force(q, v)
    if problem.crossing is not None:
        return _forces_inside(problem, rows, t, q, v, force)
    if problem.held:
        force = force + problem.held_force(t, q, v, force)
    return rows.motion(q, v, force, problem.dynamics_method).forces


def _forces_inside(problem: Problem, rows: ContactRows, t: Any, q: Array, v: Array, force: Array) -> Array:
    """Return forces near a singular position: weak rows have the multipliers that they had at the entrance."""
    assert problem.crossing is not None
    entrance, r = problem.crossing.multipliers, problem.now.rank
    push = problem.loop_force(t, q, v, problem.dynamics(q, v, force, t), force)
    U, sigma, Vt = np.linalg.svd(rows.jacobian(q, t), full_matrices=False)
    strong = (Vt[..., :r, :] @ push[..., None])[..., 0] / sigma[..., :r]
    before = (np.swapaxes(U[..., :r], -1, -2) @ entrance[..., None])[..., 0]
    found = entrance + (U[..., :r] @ (strong - before)[..., None])[..., 0]
    state = from_whole(rows.grasp, q, v)
    return state.forces([found[..., g.rows] for g in rows.grasp.groups])


def contact_margins(problem: Problem, rows: ContactRows, t: float, q: Array, v: Array) -> Array:
    """Return what is left before contacts fail, (l, 5)."""
    forces = contact_forces(problem, rows, t, q, v, problem.applied_force(t, q, v))
    return margins(rows.grasp, from_whole(rows.grasp, q, v), forces)
