"""Back to where tips and object fit, by the least change as the masses measure it.

Positions take Newton steps: with the residual e of the contacts, changes dq = -M^-1 J^T E lambda of the arms and
M(C)^-1 F^T lambda of the object undo it when B lambda + F dX = -e, the same system as that of contact forces.
Velocities take one such step, which is exact: it is what an impact between tips and object would do, and takes no more
energy than the error has. Arms with loops of their own close these in the same step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InconsistentStateError
from ..rotations import exp
from ..simulate.constraints.start import closed_start
from .arms import Group
from .omega import Omega
from .recursive import compliance, response
from .state import GraspState

__all__ = ["answered", "fitting", "impulse", "moving", "positioned", "projected", "worst"]

Array = NDArray[Any]
Changes = tuple[Array, ...]
"""Of the velocities of each arm."""
STEPS = 20
CLOSED = 1e-13
"""Residuals below which no further step helps, in rad and m."""
FITTED = 1e-9
"""Residuals up to which tips count as being on the object."""
FITS = 1e-6
"""What the start of a motion may be off, in rad, m, rad/s and m/s: rounding, but no other state than was meant."""


def worst(state: GraspState) -> Array:
    """The largest residual of any contact, in rad or m, (...)."""
    return np.asarray(np.max(np.abs(state.residual), axis=(-2, -1)))


def fitting(state: GraspState, what: str, project: bool = True) -> GraspState:
    """The projected state, if it is the given one but for rounding; an error that names what does not fit otherwise.

    Without `project`, the given one as it is.
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
    """The part of vectors (l, 6) in directions that the contacts bind, in the contacts' axes."""
    found = np.zeros_like(x)
    for i, c in enumerate(state.grasp.contacts):
        R = state.axes[i]
        found[i] = c.bound @ (c.bound.T @ np.concatenate([R.T @ x[i, :3], R.T @ x[i, 3:]]))
    return found


def projected(state: GraspState) -> GraspState:
    """The state with positions and velocities that fit."""
    return moving(positioned(state))


def positioned(state: GraspState) -> GraspState:
    """The state with positions that fit; velocities are as they were."""
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
    """The largest residual of any contact, or of loops of the arms' own, (...)."""
    found = worst(state)
    for g in state.grasp.groups:
        if g.looped:
            q = state.stacked(state.q, g)
            found = np.maximum(found, np.abs(g.structure(q).residual(q, 0.0)).max(axis=(-2, -1)))
    return found


def _farthest(state: GraspState, off: Array) -> str:
    """What does not fit, in words."""
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
    """One step of Newton: arms close their own loops, and tips and object meet where these then are."""
    grasp, state = state.grasp, replace(state, positions_only=True)
    closing = _along_loops(state, lambda g, q, v: -g.structure(q).residual(q, 0.0))
    misfit = state.residual if closing is None else state.residual - grasp._tip_velocities(state.q, closing)
    solved = Omega(state, compliance(state)).solve([-r for r in state.rows(misfit)])
    arms, shift = answered(state, solved.multipliers, closing), solved.acceleration
    qs = list(state.q)
    for g in grasp.groups:
        moved = g.robot.integrate(state.stacked(state.q, g), state.stacked(arms, g))
        for m, k in enumerate(g.arms):
            qs[k] = moved[..., m, :]
    return GraspState(grasp, tuple(qs), state.v, _moved(state.pose, shift), state.velocity)


def moving(state: GraspState) -> GraspState:
    """The state with velocities that fit."""
    closing = _along_loops(state, lambda g, q, v: -g.structure(q).rate(q, v, 0.0))
    kept = state if closing is None else replace(state, v=_sums(state.v, closing))
    solved = Omega(state, compliance(state)).solve([-r for r in kept.velocity_residual])
    arms = answered(state, solved.multipliers, closing)
    return replace(state, v=_sums(state.v, arms), velocity=state.velocity + solved.acceleration)


def impulse(state: GraspState, pushes: tuple[Array, ...], wrench: Array | None) -> tuple[Changes, Array, Array]:
    """What impulses on the joints and on the object do at once: changes of the joints' velocities and of the object's,
    (..., 6), and the impulses of the contacts on the object, (..., l, 6)."""
    grasp = state.grasp
    free: list[Array] = [np.empty(0)] * len(grasp.arms)
    for g in grasp.groups:
        q, x = state.stacked(state.q, g), state.stacked(pushes, g)
        moved = g.structure(q).solve(q, x, None, 0.0) if g.looped else g.robot.mass_matrix_solve(q, x)
        for m, k in enumerate(g.arms):
            free[k] = moved[..., m, :]
    tips = state.rows(grasp._tip_velocities(state.q, tuple(free)))
    solved = Omega(state, compliance(state)).solve(tips, wrench)
    change = answered(state, solved.multipliers, tuple(free))
    return change, solved.acceleration, state.forces(solved.multipliers)


def _along_loops(state: GraspState, asked: Callable[[Group, Array, Array], Array]) -> Changes | None:
    """The smallest changes of the arms that do what is asked of their own loops; None if no arm has some."""
    groups = state.grasp.groups
    if not any(g.looped for g in groups):
        return None
    found = [np.zeros_like(v) for v in state.v]
    for g in groups:
        if g.looped:
            q, v = state.stacked(state.q, g), state.stacked(state.v, g)
            x = g.structure(q).solve(q, None, asked(g, q, v), 0.0)
            for m, k in enumerate(g.arms):
                found[k] = x[..., m, :]
    return tuple(found)


def answered(state: GraspState, multipliers: list[Array], first: Changes | None) -> Changes:
    """What contact forces by rows do to the arms, after a first change of them."""
    forces = state.forces(multipliers)
    found: list[Array] = [np.empty(0)] * len(state.grasp.arms)
    for g in state.grasp.groups:
        x = -response(state, g, forces[..., g.contacts, :])
        for m, k in enumerate(g.arms):
            found[k] = x[..., m, :]
    return tuple(found) if first is None else _sums(first, tuple(found))


def _sums(x: Changes, y: Changes) -> Changes:
    return tuple(a + b for a, b in zip(x, y, strict=True))


def _moved(pose: Array, change: Array) -> Array:
    """A pose after a small motion (rotation vector, shift of the origin), in the world's axes."""
    X = np.array(pose)
    X[..., :3, :3] = exp(change[..., :3]) @ pose[..., :3, :3]
    X[..., :3, 3] += change[..., 3:]
    return X
