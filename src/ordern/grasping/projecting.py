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

__all__ = ["positioned", "projected", "worst"]

Array = NDArray[Any]
STEPS = 20
CLOSED = 1e-13
"""Residuals below which no further step helps, in rad and m."""


def worst(state: GraspState) -> Array:
    """The largest residual of any contact, in rad or m, (...)."""
    return np.asarray(np.max(np.abs(state.residual), axis=(-2, -1)))


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
