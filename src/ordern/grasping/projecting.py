"""Projection: bring tips and object together, by the least change in the metric of the mass matrix.

Positions take Newton steps: with the residual e of the contacts, changes dq = -M^-1 J^T E lambda of the arms and
M(C)^-1 F^T lambda of the object undo it when B lambda + F dX = -e, the same system as that of contact forces.
Velocities take one such step, which is exact: it has the effect of an impact between tips and object, and removes no
more energy than that of the error. Arms with loops of their own close these in the same step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arguments import Array
from ..errors import ArgumentError
from ..rotations import exp, pose
from .omega import Omega, Solved
from .recursive import by_arms, compliance, response
from .state import GraspState

__all__ = ["projected", "respond"]

STEPS = 20
CLOSED = 1e-13
"""Residuals below which no further step helps, in rad and m."""
FITTED = 1e-9
"""Residuals up to which tips count as being on the object."""


def projected(state: GraspState) -> GraspState:
    """Return the nearest state with positions and velocities that fit."""
    before = _off(state)
    for _ in range(STEPS):
        if (before <= CLOSED).all():
            break
        moved = _step(state)
        after = _off(moved)
        if not (after < before).any():
            break
        state, before = moved, after
    if (before > FITTED).any():
        raise ArgumentError(f"grasp: the tips cannot be brought to the object: {_farthest(state, before)}")
    still = [-g.structure(q).rate(q, state.stacked(state.v, g), 0.0) if g.looped else None for g, q in state.positions]
    arms, solved = respond(state, [-r for r in state.velocity_residual], still)
    v = tuple(x + y for x, y in zip(state.v, arms, strict=True))
    return replace(state, v=v, velocity=state.velocity + solved.acceleration)


def _off(state: GraspState) -> Array:
    """Return the largest residual of any contact, or of loops of the arms' own, (...)."""
    found = np.abs(state.residual).max(axis=(-2, -1))
    for rows in _loop_residuals(state):
        if rows is not None:
            found = np.maximum(found, np.abs(rows).max(axis=(-2, -1)))
    return np.asarray(found)


def _loop_residuals(state: GraspState) -> list[Array | None]:
    """Return by how much the loops of each group's arms are open, (..., m, nc); None for trees."""
    return [g.structure(q).residual(q, 0.0) if g.looped else None for g, q in state.positions]


def _farthest(state: GraspState, off: Array) -> str:
    """Return text that names the contact or loop with the largest residual."""
    grasp = state.grasp
    for (g, q), rows in zip(state.positions, _loop_residuals(state), strict=True):
        if rows is not None and np.abs(rows).max() >= np.max(off):
            m = int(np.argmax(np.abs(rows).reshape(-1, *rows.shape[-2:]).max(axis=(0, 2))))
            name, by = g.structure(q).worst(rows[..., m, :])
            return f"loop {name!r} of arm {grasp.arms[g.arms[m]].name!r} stays open by {by:.3g} (rad or m)"
    i = int(np.argmax(np.abs(state.residual).reshape(-1, len(grasp.contacts), 6).max(axis=(0, 2))))
    return (
        f"contact {grasp.contacts[i].name!r} of arm {grasp.arm_of(i).name!r} stays {float(np.max(off)):.3g} (rad or m) "
        "away; check positions, `pose` and the places of the contacts"
    )


def _step(state: GraspState) -> GraspState:
    """Take one step of Newton: arms close their own loops, and tips and object meet where these then are."""
    state = replace(state, positions_only=True)
    loops = [None if rows is None else -rows for rows in _loop_residuals(state)]
    arms, solved = respond(state, [-r for r in state.rows(state.residual)], loops)
    moved = [g.robot.integrate(q, state.stacked(arms, g)) for g, q in state.positions]
    turn, shift = solved.acceleration[..., :3], solved.acceleration[..., 3:]
    X = pose(exp(turn) @ state.R, state.pose[..., :3, 3] + shift)
    return GraspState(state.grasp, by_arms(state, moved), state.v, X, state.velocity)


def respond(
    state: GraspState,
    contacts: list[Array],
    loops: list[Array | None],
    pushes: tuple[Array, ...] | None = None,
    wrench: Array | None = None,
) -> tuple[tuple[Array, ...], Solved]:
    """Solve M a = x + K^T lambda, K a = c for the velocities of the arms and of the object.

    c are `contacts` for the rows of contacts, by groups, and `loops` for those of the arms' own loops; x are impulses
    `pushes` on the joints and `wrench` on the object.
    """
    moved: list[Array] = []
    for (g, q), c in zip(state.positions, loops, strict=True):
        x = None if pushes is None else state.stacked(pushes, g)
        if g.looped:
            moved.append(g.structure(q).solve(q, x, c, 0.0))
        elif x is not None:
            moved.append(g.robot.mass_matrix_solve(q, x))
        else:
            moved.append(np.zeros((*q.shape[:-1], g.robot.nv)))
    free = by_arms(state, moved)
    wanted = contacts
    if any(x.any() for x in free):
        tips = state.rows(state.grasp._tip_velocities(state.q, free))
        wanted = [c + y for c, y in zip(contacts, tips, strict=True)]
    solved = Omega(state, compliance(state)).solve(wanted, wrench)
    forces = state.forces(solved.multipliers)
    both = [x - response(g, q, forces[..., g.contacts, :]) for (g, q), x in zip(state.positions, moved, strict=True)]
    return by_arms(state, both), solved
