"""Forces of contacts at the states of a run, and their margins before they fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from .arms import split_rows
from .monitor import margins
from .products import times, transposed

if TYPE_CHECKING:
    from ..simulate.run.problem import Problem
    from .contact_rows import ContactRows

__all__ = ["contact_forces", "contact_margins"]


def contact_forces(problem: Problem, rows: ContactRows, t: Array | float, q: Array, v: Array, tau: Array) -> Array:
    """Return forces (..., l, 6) of the contacts, by applied joint forces and by stops that joints rest on."""
    force = tau + problem.passive_force(q, v)
    if problem.crossing is not None:
        return _forces_inside(problem, rows, t, q, v, force)
    if problem.held:
        force = force + problem.held_force(t, q, v, force)
    return rows.motion(rows.state(q, v), force, problem.dynamics_method).forces


def _forces_inside(problem: Problem, rows: ContactRows, t: Array | float, q: Array, v: Array, force: Array) -> Array:
    """Return forces near a singular position, where weak rows keep the multipliers that they had at its entrance."""
    assert problem.crossing is not None
    entrance, r = problem.crossing.multipliers, problem.now.rank
    push = problem.loop_force(t, q, v, problem.dynamics(q, v, force, t), force)
    U, sigma, Vt = np.linalg.svd(rows.jacobian(q, t), full_matrices=False)
    strong = times(Vt[..., :r, :], push) / sigma[..., :r]
    found = entrance + times(U[..., :r], strong - times(transposed(U[..., :r]), entrance))
    return rows.state(q, v).forces(split_rows(rows.grasp.groups, found))


def contact_margins(problem: Problem, rows: ContactRows, t: float, q: Array, v: Array) -> Array:
    """Return the margins before contacts fail, (l, 5)."""
    forces = contact_forces(problem, rows, t, q, v, problem.applied_force(t, q, v))
    return margins(rows.state(q, v), forces)
