"""Trajectories as pieces of polynomials, for time loops that follow them in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import Array
from ..compile.timeloops.law_program import DEGREE, goal_table
from .laws import Cycloidal, Law, MinimumJerk, Trapezoidal
from .pose_paths import PosePath
from .spaces import Lines
from .tip import TipTrajectory
from .trajectory import Segments, Sequence, Straight, Trajectory

__all__ = ["chart_pieces", "goal_pieces", "pose_pieces"]

Piece = tuple[float, float, float, Array, Array]
"""The time at which a piece begins, the time from which it counts, the frequency of its sine, the coefficients
(DEGREE + 2, n) of the powers from 0 on and the amplitude of the sine, and the position from which coordinates count."""


def goal_pieces(target: Any) -> tuple[Array, bool] | None:
    """Return the table of a trajectory, and whether it has sines; None if it is not made of polynomials and sines.

    The robot rests before the start and after the end, as in `Trajectory.__call__`.
    """
    if not isinstance(target, Trajectory):
        return None
    moving = _pieces(target)
    if moving is None:
        return None
    first, last = (_rest(q) for q in target(np.array([0.0, target.duration])).q)
    return _table(target, [first, *(_shifted(c, base) for *_, c, base in moving), last], moving)


def chart_pieces(target: Any) -> tuple[Array, bool] | None:
    """Return the table of a trajectory of a robot with bodies that rotate: coordinates in charts about positions.

    Each row ends with the position about which its chart is. See `goal_pieces`.
    """
    moving = _pieces(target) if isinstance(target, Trajectory) else None
    if moving is None:
        return None
    still = np.zeros((DEGREE + 2, target.space.nv))
    first, last = (np.concatenate([still.ravel(), q]) for q in target(np.array([0.0, target.duration])).q)
    return _table(target, [first, *(np.concatenate([c.ravel(), base]) for *_, c, base in moving), last], moving)


def pose_pieces(path: Any) -> tuple[Array, bool] | None:
    """Return the table of a path of poses along straight lines; None for others. See `goal_pieces`."""
    if type(path) is not PosePath or type(path.trajectory.space) is not Lines:
        return None
    motion = path.trajectory
    parts = motion.parts if type(motion) is Sequence else (motion,)
    moving, rows = [], []
    begin = 0.0
    for part in parts:
        if not isinstance(part, Straight):
            return None
        found = _law_pieces(part.law) if type(part) is Straight else None
        if found is None:
            return None
        for start, since, rate, c in found:
            full = c[:, None] * part.way
            full[0, 3:] += part.start[:3, 3]
            moving.append((begin + start, begin + since, rate, full, part.start))
            rows.append(np.concatenate([full.ravel(), part.start[:3, :3].ravel()]))
        begin += part.duration
    first, last = (
        np.concatenate([_rest(np.concatenate([np.zeros(3), T[:3, 3]])).ravel(), T[:3, :3].ravel()])
        for T in motion(np.array([0.0, motion.duration])).q
    )
    return _table(motion, [first, *rows, last], moving)


def _table(motion: Trajectory, rows: list[Array], moving: list[Piece]) -> tuple[Array, bool]:
    """Return the table of pieces, with rest before the start and after the end."""
    after = float(np.nextafter(motion.duration, np.inf))
    heads = [(-np.inf, 0.0, 0.0), *(piece[:3] for piece in moving), (after, 0.0, 0.0)]
    sizes = np.array([[since, rate, *row.ravel()] for (_, since, rate), row in zip(heads, rows, strict=True)])
    return goal_table(np.array([start for start, _, _ in heads]), sizes), any(rate > 0.0 for _, _, rate in heads)


def _shifted(c: Array, base: Array) -> Array:
    """Return coefficients of positions from those of coordinates about a position."""
    return np.concatenate([(c[0] + base)[None], c[1:]])


def _rest(q: Array) -> Array:
    return np.concatenate([q[None], np.zeros((DEGREE + 1, len(q)))])


def _pieces(motion: Trajectory) -> list[Piece] | None:
    """Return the pieces of a trajectory of a class of the library; None for all others."""
    if type(motion) is Straight:
        found = _law_pieces(motion.law)
        if found is None:
            return None
        return [(start, since, rate, c[:, None] * motion.way, motion.start) for start, since, rate, c in found]
    if type(motion) is Segments or (type(motion) is TipTrajectory and motion.closing is None):
        return [(t, t, 0.0, motion._powers(k), motion.q[k]) for k, t in enumerate(motion.t[:-1].tolist())]
    if type(motion) is Sequence:
        return _in_turn(motion)
    return None


def _in_turn(motion: Sequence) -> list[Piece] | None:
    """Return the pieces of trajectories one after the other."""
    pieces: list[Piece] = []
    for begin, part in zip(motion.starts.tolist(), motion.parts, strict=False):
        found = _pieces(part)
        if found is None:
            return None
        pieces += [(begin + start, begin + since, *rest) for start, since, *rest in found]
    return pieces


def _law_pieces(law: Law) -> list[tuple[float, float, float, Array]] | None:
    """Return the fraction s(t) of a time law, in pieces of one number."""
    T = law.duration
    if type(law) is MinimumJerk:
        return [(0.0, 0.0, 0.0, np.array([0.0, 0.0, 0.0, 10.0 / T**3, -15.0 / T**4, 6.0 / T**5, 0.0]))]
    if type(law) is Cycloidal:
        return [(0.0, 0.0, 2.0 * np.pi / T, np.array([0.0, 1.0 / T, 0.0, 0.0, 0.0, 0.0, -0.5 / np.pi]))]
    if type(law) is Trapezoidal:
        r, v = law.ramp, 1.0 / (T - law.ramp)
        a = v / r
        up, down = _powers(0.0, 0.0, 0.5 * a), _powers(1.0, 0.0, -0.5 * a)
        level = [(r, r, 0.0, _powers(0.5 * v * r, v))] if r < T - r else []
        return [(0.0, 0.0, 0.0, up), *level, (T - r, T, 0.0, down)]
    return None


def _powers(*c: float) -> Array:
    return np.array([*c, *np.zeros(DEGREE + 2 - len(c))])
