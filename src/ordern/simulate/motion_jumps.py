"""Events of a simulation that change its motion, for its derivatives: a saltation matrix between two steps for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from ..errors import ArgumentError
from .integrators.tableaus import TABLEAUS
from .run.watchers import SAME_MOMENT

if TYPE_CHECKING:
    from .motion_source import MotionSource
    from .results.result import Result
    from .saltation import Saltation

__all__ = ["jump_matrices"]


def jump_matrices(result: Result, source: MotionSource, ends: Array, what: str) -> dict[int, Array]:
    """Return the saltation matrices of events with an effect, by the end of a step at which they take place.

    The step before an event ends on the dense output of a longer one. Its derivatives are those of a step of its own
    length, which differ by the error of the method; so the method must control it.
    """
    known: Saltation | None = result.__dict__.get("_saltation")
    found: dict[int, Array] = {}
    for jump in () if known is None else known.jumps:
        name = jump.watchers[0].name
        who = f"{what}: {name!r} at t = {jump.time:.9g} s"
        if not TABLEAUS[source.options.method].adaptive:
            raise ArgumentError(f"{who} changes the motion within a step of fixed length; use an adaptive method")
        if jump.struck is not None:
            for stop in jump.struck[0]:
                if stop.own and jump.v_after[stop.v] == 0.0:
                    raise ArgumentError(f"{who}: joint {stop.joint!r} rests on its stop, where the motion has none")
        happened = next((e for e in result.events if abs(e.time - jump.time) <= SAME_MOMENT and e.name == name), None)
        if happened is None:
            raise ArgumentError(f"{who} changes the motion, but is not among the events of the result")
        end = int(np.argmin(np.abs(ends - jump.time)))
        matrix = _by_numbers(result, jump.q, result.saltation(happened), who)
        found[end] = matrix @ found[end] if end in found else matrix
    if len(found) < result.report.impacts:
        raise ArgumentError(f"{what}: joints struck their stops at moments that the result does not list")
    return found


def _by_numbers(result: Result, q: Array, matrix: Array, who: str) -> Array:
    """Return a matrix for changes of the numbers of q and v from one for changes in the tangent of q and of v.

    The change of q adds a motion to it: it is along the velocities before and after.
    """
    robot, nq, nv = result.robot, result.robot.nq, result.robot.nv
    rates = robot.position_rate(q, np.eye(nv)).T
    tangents = robot.kernel("position_tangent")(q, np.eye(nq)).T
    if np.linalg.matrix_rank(robot.kernel("push normalize by q")(q, np.eye(nq))) != nv:
        raise ArgumentError(f"{who}: {robot.name!r} has a joint with more positions than velocities, such as a disc")
    found = np.eye(nq + nv)
    found[:nq, :nq] += rates @ (matrix[:nv, :nv] - np.eye(nv)) @ tangents
    found[:nq, nq:] = rates @ matrix[:nv, nv:]
    found[nq:, :nq], found[nq:, nq:] = matrix[nv:, :nv] @ tangents, matrix[nv:, nv:]
    return found
