"""Back to where tips and object fit, by the least change as the masses measure it.

Positions take Newton steps: with the residual e of the contacts, changes dq = -M^-1 J^T E lambda of the arms and
M(C)^-1 F^T lambda of the object undo it when B lambda + F dX = -e, the same system as that of contact forces.
Velocities take one such step, which is exact: it is what an impact between tips and object would do, and takes no more
energy than the error has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from .held import cross_matrix
from .omega import Omega
from .recursive import compliance, response
from .state import GraspState

__all__ = ["fitting", "positioned", "projected", "worst"]

Array = NDArray[Any]
STEPS = 20
CLOSED = 1e-13
"""Residuals below which no further step helps, in rad and m."""
FITS = 1e-6
"""What the start of a motion may be off, in rad, m, rad/s and m/s: rounding, but no other state than was meant."""


def worst(state: GraspState) -> Array:
    """The largest residual of any contact, in rad or m, (...)."""
    return np.asarray(np.max(np.abs(state.residual), axis=(-2, -1)))


def fitting(state: GraspState, what: str) -> GraspState:
    """The projected state, if it is the given one but for rounding; an error that names what does not fit otherwise."""
    grasp = state.grasp
    for name, x in (("q", state.q), ("v", state.v)):
        for arm, y in zip(grasp.arms, x, strict=True):
            if not np.isfinite(y).all():
                raise ArgumentError(f"{what}: `{name}0` of arm {arm.name!r} must be finite, not {y.tolist()}")
    for name, y in (("pose", state.pose), ("velocity", state.velocity)):
        if not np.isfinite(y).all():
            raise ArgumentError(f"{what}: `{name}` must be finite, not {y.tolist()}")
    across = (state.A @ state.velocity[..., None, :, None])[..., 0] - state.tip_velocities
    for misfit, is_off, unit in (
        (state.residual, "the tip is off the object by", "rad or m"),
        (_bound(state, across), "the tip moves against the object with", "rad/s or m/s"),
    ):
        by = np.abs(misfit).max(axis=-1)
        i = int(np.argmax(by))
        if by[i] > FITS:
            raise ArgumentError(
                f"{what}: contact {grasp.contacts[i].name!r} of arm {grasp.arm_of(i).name!r} does not fit at the "
                f"start: {is_off} {by[i]:.3g} {unit}. Start from a state that fits, such as that of "
                "grasp.project(q, v, pose, velocity)"
            )
    return projected(state)


def _bound(state: GraspState, x: Array) -> Array:
    """The part of vectors (l, 6) in directions that the contacts bind, in the contacts' axes."""
    found = np.zeros_like(x)
    for i, c in enumerate(state.grasp.contacts):
        R = state.axes[i]
        found[i] = c.bound @ (c.bound.T @ np.concatenate([R.T @ x[i, :3], R.T @ x[i, 3:]]))
    return found


def projected(state: GraspState) -> GraspState:
    """The state with positions and velocities that fit."""
    return _moving(positioned(state))


def positioned(state: GraspState) -> GraspState:
    """The state with positions that fit; velocities are as they were."""
    before = worst(state)
    for _ in range(STEPS):
        if (before <= CLOSED).all():
            return state
        moved = _step(state)
        after = worst(moved)
        if not (after < before).any():
            break
        state, before = moved, after
    if (before > 1e-9).any():
        i = int(np.argmax(np.abs(state.residual).reshape(-1, len(state.grasp.contacts), 6).max(axis=(0, 2))))
        raise ArgumentError(
            f"grasp: the tips cannot be brought to the object: contact {state.grasp.contacts[i].name!r} of arm "
            f"{state.grasp.arm_of(i).name!r} stays {float(np.max(before)):.3g} (rad or m) away; check positions, "
            "`pose` and the places of the contacts"
        )
    return state


def _step(state: GraspState) -> GraspState:
    grasp, state = state.grasp, replace(state, positions_only=True)
    solved = Omega(state, compliance(state)).solve([-r for r in state.rows(state.residual)])
    forces = state.forces(solved.multipliers)
    qs = list(state.q)
    for g in grasp.groups:
        change = -response(state, g, forces[..., g.contacts, :])
        moved = g.robot.integrate(state.stacked(state.q, g), change)
        for m, k in enumerate(g.arms):
            qs[k] = moved[..., m, :]
    return GraspState(grasp, tuple(qs), state.v, _moved(state.pose, solved.acceleration), state.velocity)


def _moving(state: GraspState) -> GraspState:
    grasp = state.grasp
    solved = Omega(state, compliance(state)).solve([-r for r in state.velocity_residual])
    forces = state.forces(solved.multipliers)
    vs = list(state.v)
    for g in grasp.groups:
        change = response(state, g, forces[..., g.contacts, :])
        for m, k in enumerate(g.arms):
            vs[k] = state.v[k] - change[..., m, :]
    return GraspState(grasp, state.q, tuple(vs), state.pose, state.velocity + solved.acceleration)


def _moved(pose: Array, change: Array) -> Array:
    """A pose after a small motion (rotation vector, shift of the origin), in the world's axes."""
    w = change[..., :3]
    angle = np.linalg.norm(w, axis=-1)[..., None, None]
    K = cross_matrix(w)
    safe = np.where(angle > 1e-8, angle, 1.0)
    s = np.where(angle > 1e-8, np.sin(safe) / safe, 1.0)
    c = np.where(angle > 1e-8, (1.0 - np.cos(safe)) / safe**2, 0.5)
    X = np.array(pose)
    X[..., :3, :3] = (np.eye(3) + s * K + c * (K @ K)) @ pose[..., :3, :3]
    X[..., :3, 3] += change[..., 3:]
    return X
