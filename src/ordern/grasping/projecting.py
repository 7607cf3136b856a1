"""Projection: bring tips and object together, by the least change in the metric of the mass matrix.

Positions take Newton steps: with the residual e of the contacts, changes dq = -M^-1 J^T E lambda of the arms and
M(C)^-1 F^T lambda of the object undo it when B lambda + F dX = -e, the same system as that of contact forces.
Velocities take one such step, which is exact: it is what an impact between tips and object would do, and takes no more
energy than the error has. Arms with loops of their own close these in the same step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InconsistentStateError
from ..rotations import exp
from ..simulate.constraints.start import closed_start
from .arms import Group
from .omega import Omega, Solved
from .recursive import by_arms, compliance, response
from .state import GraspState

__all__ = ["Changes", "fitting", "projected", "respond"]

Array = NDArray[Any]
Changes = tuple[Array, ...]
"""Of the velocities of each arm."""
STEPS = 20
CLOSED = 1e-13
"""Residuals below which no further step helps, in rad and m."""
FITTED = 1e-9
"""Residuals up to which tips count as being on the object."""
FITS = 1e-6
"""The largest error of a start of a motion, in rad, m, rad/s and m/s: rounding, but no other state than was meant."""


def fitting(state: GraspState, what: str, project: bool = True) -> GraspState:
    """Return the projected state if it is the given one but for rounding; else raise an error that names the misfit.

    Without `project`, return the given state as it is.
    """
    grasp = state.grasp
    for name, x in (("q", state.q), ("v", state.v)):
        for arm, y in zip(grasp.arms, x, strict=True):
            if not np.isfinite(y).all():
                raise ArgumentError(f"{what}: `{name}0` of arm {arm.name!r} must be finite, not {y.tolist()}")
    for name, y in (("pose", state.pose), ("velocity", state.velocity)):
        if not np.isfinite(y).all():
            raise ArgumentError(f"{what}: `{name}` must be finite, not {y.tolist()}")
    for g in grasp.groups:
        for k in g.arms if g.looped else ():
            try:
                closed_start(g.structure(state.q[k]), state.q[k], state.v[k], True)
            except ArgumentError as e:
                raise type(e)(f"{what}: arm {grasp.arms[k].name!r}: {e}") from None
    across = (state.A @ state.velocity[..., None, :, None])[..., 0] - state.tip_velocities
    for misfit, is_off, unit in (
        (state.residual, "the tip is off the object by", "rad or m"),
        (_bound(state, across), "the tip moves against the object with", "rad/s or m/s"),
    ):
        by = np.abs(misfit).max(axis=-1)
        i = int(np.argmax(by))
        if by[i] > FITS:
            raise InconsistentStateError(
                f"{what}: contact {grasp.contacts[i].name!r} of arm {grasp.arm_of(i).name!r} does not fit at the "
                f"start: {is_off} {by[i]:.3g} {unit}, and the tolerance is {FITS:g}. Start from a state that fits, "
                "such as that of grasp.project(q, v, pose, velocity)"
            )
    return projected(state) if project else state


def _bound(state: GraspState, x: Array) -> Array:
    """Return the part of vectors (l, 6) in directions that the contacts bind, in the contacts' axes."""
    found = np.zeros_like(x)
    for i, c in enumerate(state.grasp.contacts):
        R = state.axes[i]
        found[i] = c.bound @ (c.bound.T @ np.concatenate([R.T @ x[i, :3], R.T @ x[i, 3:]]))
    return found


def projected(state: GraspState) -> GraspState:
    """Return the state with positions and velocities that fit."""
    return _moving(_positioned(state))


def _positioned(state: GraspState) -> GraspState:
    """Return the state with positions that fit; velocities stay as they are."""
    before = _open(state)
    for _ in range(STEPS):
        if (before <= CLOSED).all():
            return state
        moved = _step(state)
        after = _open(moved)
        if not (after < before).any():
            break
        state, before = moved, after
    if (before > FITTED).any():
        raise ArgumentError(f"grasp: the tips cannot be brought to the object: {_farthest(state, before)}")
    return state


def _open(state: GraspState) -> Array:
    """Return the largest residual of any contact, or of loops of the arms' own, (...)."""
    found = np.asarray(np.max(np.abs(state.residual), axis=(-2, -1)))
    for g in state.grasp.groups:
        if g.looped:
            q = state.stacked(state.q, g)
            found = np.maximum(found, np.abs(g.structure(q).residual(q, 0.0)).max(axis=(-2, -1)))
    return found


def _farthest(state: GraspState, off: Array) -> str:
    """Return words for the contact or loop that fits worst."""
    grasp = state.grasp
    for g in grasp.groups:
        q = state.stacked(state.q, g)
        if g.looped and (rows := np.abs(g.structure(q).residual(q, 0.0))).max() >= np.max(off):
            m = int(np.argmax(rows.reshape(-1, len(g.arms), rows.shape[-1]).max(axis=(0, 2))))
            name, by = g.structure(q).worst(rows[..., m, :])
            return f"loop {name!r} of arm {grasp.arms[g.arms[m]].name!r} stays open by {by:.3g} (rad or m)"
    i = int(np.argmax(np.abs(state.residual).reshape(-1, len(grasp.contacts), 6).max(axis=(0, 2))))
    return (
        f"contact {grasp.contacts[i].name!r} of arm {grasp.arm_of(i).name!r} stays {float(np.max(off)):.3g} (rad or m) "
        "away; check positions, `pose` and the places of the contacts"
    )


def _step(state: GraspState) -> GraspState:
    """Take one step of Newton: arms close their own loops, and tips and object meet where these then are."""
    grasp, state = state.grasp, replace(state, positions_only=True)
    loops = [-g.structure(q).residual(q, 0.0) if g.looped else None for g, q in _positions(state)]
    arms, solved = respond(state, [-r for r in state.rows(state.residual)], loops)
    moved = [g.robot.integrate(q, state.stacked(arms, g)) for g, q in _positions(state)]
    return GraspState(grasp, by_arms(state, moved), state.v, _moved(state.pose, solved.acceleration), state.velocity)


def _moving(state: GraspState) -> GraspState:
    """Return the state with velocities that fit."""
    both = [(g, q, state.stacked(state.v, g)) for g, q in _positions(state)]
    loops = [-g.structure(q).rate(q, v, 0.0) if g.looped else None for g, q, v in both]
    arms, solved = respond(state, [-r for r in state.velocity_residual], loops)
    v = tuple(x + y for x, y in zip(state.v, arms, strict=True))
    return replace(state, v=v, velocity=state.velocity + solved.acceleration)


def _positions(state: GraspState) -> list[tuple[Group, Array]]:
    """Return the groups, and the positions of their arms."""
    return [(g, state.stacked(state.q, g)) for g in state.grasp.groups]


def respond(
    state: GraspState,
    contacts: list[Array],
    loops: list[Array | None],
    pushes: Changes | None = None,
    wrench: Array | None = None,
) -> tuple[Changes, Solved]:
    """Solve M a = x + K^T lambda, K a = c for the velocities of the arms and of the object.

    c are `contacts` for the rows of contacts, by groups, and `loops` for those of the arms' own loops; x are impulses
    `pushes` on the joints and `wrench` on the object.
    """
    moved: list[Array] = []
    for (g, q), c in zip(_positions(state), loops, strict=True):
        x = None if pushes is None else state.stacked(pushes, g)
        if g.looped:
            moved.append(g.structure(q).solve(q, x, c, 0.0))
        else:
            still = np.zeros((*q.shape[:-1], g.robot.nv))
            moved.append(still if x is None else g.robot.mass_matrix_solve(q, x))
    free = by_arms(state, moved)
    wanted = contacts
    if any(x.any() for x in free):
        tips = state.rows(state.grasp._tip_velocities(state.q, free))
        wanted = [c + y for c, y in zip(contacts, tips, strict=True)]
    solved = Omega(state, compliance(state)).solve(wanted, wrench)
    forces = state.forces(solved.multipliers)
    pushed = [-response(state, g, forces[..., g.contacts, :]) for g in state.grasp.groups]
    return tuple(x + y for x, y in zip(free, by_arms(state, pushed), strict=True)), solved


def _moved(pose: Array, change: Array) -> Array:
    """Return a pose after a small motion (rotation vector, shift of the origin), in the world's axes."""
    X = np.array(pose)
    X[..., :3, :3] = exp(change[..., :3]) @ pose[..., :3, :3]
    X[..., :3, 3] += change[..., 3:]
    return X
