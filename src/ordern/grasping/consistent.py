"""Refuse states that a grasp cannot have: tips off the object or moving against it, and open loops of the arms.

The misfit of a contact, with s the length of its arm plus the lever on the object, is

    gap^2 = |turned|^2 + |apart|^2 / s^2,    slip^2 = (|w|^2 + |u|^2 / s^2) / (1 + |v|^2),    misfit^2 = gap^2 + slip^2

where w and u are the velocities of the object relative to the tip that the contact forbids, and v the velocities of the
arm's joints and of the object, with translations divided by s. The tolerance is that of robots with loops: see
`ordern.loops.consistent`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..algorithms.closed_loop.misfit import norms
from ..arguments import AnyArray, Array
from ..errors import InconsistentStateError
from ..loops.consistent import Check, require_consistent, tolerance_of, whose
from ..model.loop_sizes import turning
from ..model.parts import path_length
from ..records import dataclass
from .state import GraspState

if TYPE_CHECKING:
    from .mechanism import Grasp

__all__ = ["ContactSizes", "contact_sizes", "require_fitting", "tolerance_for"]


@dataclass(frozen=True, slots=True)
class ContactSizes:
    """Lengths and matrices from which the misfits of all contacts of a grasp are computed."""

    length: Array
    """(l,): the length of the arm plus the lever, in metres."""
    frames: Array
    """(l, 4, 4): the contacts' frames on the object."""
    kept: Array
    """(l, 4, 4): projects differences of poses onto the part that the contact forbids; distances over the length."""
    arm: NDArray[np.intp]
    """(l,): the index of the contact's arm."""
    over: Array
    """(nv,): the divisors of joint velocities."""
    counts: NDArray[np.intp]
    """The number of joint velocities of each arm."""


def contact_sizes(grasp: Grasp) -> ContactSizes:
    """Return the sizes of a grasp's contacts."""
    found = [path_length(a.robot.joints, tip) for a in grasp.arms for tip in a.tips]
    reach = np.array(found) + np.linalg.norm(grasp.places, axis=-1)
    usual = float(reach.max()) or 1.0
    length = np.where(reach > 1e-6 * usual, reach, usual)
    frames = np.array([c.at.matrix for c in grasp.contacts])
    kept = np.zeros((len(reach), 4, 4))
    for i, c in enumerate(grasp.contacts):
        turns = c.bound[:3, c.holonomic & c.bound[:3].any(axis=0)]
        if turns.shape[1] == 3:
            kept[i, :3, :3] = np.eye(3) / math.sqrt(2.0)
        elif turns.shape[1] == 2:
            kept[i, :3, 0] = np.cross(turns[:, 0], turns[:, 1])
        kept[i, 3, 3] = 1.0 / length[i] if c.bound.shape[1] else 0.0
    arm = np.array([k for k, a in enumerate(grasp.arms) for _ in a.tips], dtype=np.intp)
    longest = [float(length[a.contacts].max()) for a in grasp.arms]
    joints = [(c.type, size) for a, size in zip(grasp.arms, longest, strict=True) for c in a.robot.independent]
    over = np.array([1.0 if turns else size for joint, size in joints for turns in turning(joint)])
    counts = np.array([a.robot.nv for a in grasp.arms], dtype=np.intp)
    return ContactSizes(length, frames, kept, arm, over, counts)


def tolerance_for(check: Check, *given: object) -> float | None:
    """Return the tolerance given by `check`; the default depends on the precision of the arguments."""
    parts: list[object] = []
    for x in given:
        parts += x if isinstance(x, (list, tuple)) else [x]
    return tolerance_of(check, *parts)


def require_fitting(state: GraspState, tolerance: float | None, what: str, moving: bool = True) -> None:
    """Raise if tips and object do not fit, or do not move together, within a tolerance; None skips the check.

    Loops of the arms are checked as well. Without `moving`, only positions are checked.
    """
    if tolerance is None:
        return
    grasp = state.grasp
    for g in grasp.groups:
        for k in g.arms if g.looped else ():
            arm, v = grasp.arms[k], state.v[k] if moving else None
            require_consistent(arm.robot, state.q[k], v, None, tolerance, f"{what}: arm {arm.name!r}")
    with np.errstate(all="ignore"):
        gap = _gaps(state)
        slip = _slips(state) if moving else None
        tolerance = np.float64(tolerance)  # whose square may be infinite
        if (gap if slip is None else gap + slip).max(initial=0.0) <= tolerance**2:
            return  # the reference of velocities is at least 1
        slip = np.zeros_like(gap) if slip is None else slip / _speeds(state)
        bad = gap + slip > tolerance**2
    if bad.any():
        raise InconsistentStateError(f"{what}: {_complaint(state, gap, slip, bad, tolerance)}")


def _gaps(state: GraspState) -> Array:
    """Return the squares of the contacts' gaps, (..., l)."""
    s = state.grasp.sizes
    off = (state.pose[..., None, :, :] @ s.frames - state.tip_poses) @ s.kept
    return np.asarray(np.einsum("...ij,...ij->...", off, off))


def _slips(state: GraspState) -> Array:
    """Return the squares of the forbidden velocities between tips and object, (..., l)."""
    across = state.forbidden_velocities
    return np.asarray(_squared(across[..., :3]) + _squared(across[..., 3:]) / state.grasp.sizes.length**2)


def _speeds(state: GraspState) -> Array:
    """Return the reference of these squares, (..., l): 1 plus the squared velocities of the arm and of the object."""
    s, V = state.grasp.sizes, state.velocity
    arms = norms(np.concatenate(state.v, axis=-1) / s.over, s.counts)[..., s.arm]
    turning, moving = (_squared(x)[..., None] for x in (V[..., :3], V[..., 3:]))
    return np.asarray(1.0 + arms**2 + turning + moving / s.length**2)


def _squared(x: Array) -> Array:
    """Return the squares of the lengths of vectors (..., 3)."""
    return np.asarray(np.einsum("...i,...i->...", x, x))


def _complaint(state: GraspState, gap: Array, slip: Array, bad: AnyArray, tolerance: float) -> str:
    """Return text that names the contact with the largest misfit in the first bad state."""
    grasp, states = state.grasp, np.asarray(bad.any(axis=-1))
    at = tuple(int(k) for k in np.argwhere(states)[0])
    i = int(np.argmax(np.where(bad, gap + slip, 0.0)[at]))
    if gap[at][i] >= slip[at][i]:
        r = state.residual[at][i]
        moves = f"the tip is off the object by {_size(r[3:])} m and {_size(r[:3])} rad"
        part = f"{math.sqrt(gap[at][i]):.3g} of the arm's length"
    else:
        across = state.forbidden_velocities[at][i]
        moves = f"the tip moves against the object at {_size(across[3:])} m/s and {_size(across[:3])} rad/s"
        part = f"{math.sqrt(slip[at][i]):.3g} of how fast the arm moves"
    more = [grasp.contacts[k].name for k in np.flatnonzero(bad[at]) if k != i]
    others = f" (nor do {', '.join(map(repr, more[:5]))})" if more else ""
    return (
        f"contact {grasp.contacts[i].name!r} of arm {grasp.arm_of(i).name!r} does not fit{whose(states, at)}: {moves}, "
        f"{part}{others}; the tolerance is {tolerance:.3g}. Check the frames and bases of positions and velocities; "
        "grasp.project(q, v, pose, velocity) returns a state near it that fits; check=False skips this check"
    )


def _size(x: Array) -> str:
    return f"{float(np.linalg.norm(x)):.3g}"
