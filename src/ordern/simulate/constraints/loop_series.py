"""Series of a motion for the loops of its robot: their residuals, and the constraint forces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...algorithms.closed_loop.rank import decide, groups
from ...arguments import Array
from ...errors import ArgumentError, unknown_name
from ...loops.limits import loop_positions
from ..results import energy
from ..results.series import LOOP_FORCE, LOOPS_CLOSED
from .loop_rows import LoopMechanism

if TYPE_CHECKING:
    from ...robot import Robot
    from ..results.result import Result

__all__ = ["coordinates", "elastic", "forces", "multipliers", "residuals"]


_AT_ONCE = 1_000_000
"""Numbers of Jacobians that are held at a time."""


def residuals(result: Result) -> dict[str, Array]:
    """For each loop and coupling its residuals, (N, rows); loops that were open at the time included."""
    robot = _all(result.robot)
    if not robot.nc:
        return {}
    r = robot.loop_residual(result.q, t=result.t)
    return {name: r[:, rows] for name, rows in robot.loop_rows.items()}


def multipliers(result: Result) -> dict[str, Array]:
    """For each loop and coupling its multipliers, (N, rows), the shortest ones; zero while it is open."""
    if LOOP_FORCE not in result.extra:
        raise ArgumentError(
            f"this motion of {result.robot.name!r} does not tell the forces of its loops: it has no series "
            f"{LOOP_FORCE!r}; those of robot.simulate do"
        )
    load, found = result.extra[LOOP_FORCE], {}
    rows = _all(result.robot).loop_rows
    for name, where in rows.items():
        found[name] = np.zeros((len(result), where.stop - where.start))
    for robot, which in _structures(result):
        if not robot.nc:
            continue
        lam = np.zeros((len(which), robot.nc))
        step = max(1, _AT_ONCE // (robot.nc * robot.nv))
        for first in range(0, len(which), step):
            some = which[first : first + step]
            K = robot.loop_jacobian(result.q[some], t=result.t[some])
            decided = decide(K)
            for r, part in groups(decided.rank):
                along = (decided.rows(part, r) @ load[some[part], :, None])[..., 0]
                lam[first + part] = decided.multipliers(part, r, along)
        for name, where in robot.loop_rows.items():
            found[name][which] = lam[:, where]
    return found


def forces(result: Result, name: str) -> Array:
    """The (moment, force) of a loop on its child, in its frame there, (N, 6); of a coupling its force, (N,)."""
    lam = result.loop_multipliers
    if name not in lam:
        raise unknown_name("loop", name, lam, result.robot.name)
    if any(c.name == name for c in result.robot.couplings):
        return lam[name][:, 0]
    robot = _all(result.robot)
    W = robot.loop_wrenches(result.q, t=result.t)[:, robot.loop_rows[name]]
    return np.asarray((W * lam[name][..., None]).sum(axis=1))


def coordinates(result: Result, name: str, kind: str) -> Array:
    """Positions "q" or velocities "v" of the joint that closes a loop, (N, k), also while the loop is open.

    Angles are counted through full turns, from the first sample on.
    """
    robot = _all(result.robot)
    x = next(x for x in robot.loop_table.loops if x.loop.name == name)
    if kind == "v":
        return np.asarray(robot.loop_velocities(result.q, result.v)[:, x.v])
    found = loop_positions(robot, result.q)[:, x.q]
    for k in x.loop.angles:
        turns = np.round(np.diff(found[:, k]) / (2.0 * np.pi))
        found[1:, k] -= 2.0 * np.pi * np.cumsum(turns)
    found[np.isnan(robot.loop_coordinates(result.q)[:, x.q])] = np.nan
    return found


def elastic(result: Result) -> Array:
    """The energy of all springs, (N,): of loops, of those that were closed at the time."""
    total = np.zeros(len(result))
    for robot, which in _structures(result):
        total[which] = energy.elastic(robot, result.q[which])
    return total


def _with(robot: Robot, closed: Iterable[Any]) -> Robot:
    """Return the robot with these loops and couplings closed."""
    return LoopMechanism(robot).rows(tuple(map(bool, closed))).robot


def _all(robot: Robot) -> Robot:
    """Return the robot with all loops and couplings closed."""
    return _with(robot, (True for _ in robot.constraints))


def _structures(result: Result) -> Iterator[tuple[Robot, NDArray[np.int64]]]:
    """Robots with the loops that were closed, and the samples at which they were."""
    robot = result.robot
    masks = result.extra.get(LOOPS_CLOSED)
    if masks is None:
        yield robot, np.arange(len(result))
        return
    each, number = np.unique(masks, axis=0, return_inverse=True)
    for k, mask in enumerate(each):
        yield _with(robot, mask), np.flatnonzero(number.ravel() == k)
