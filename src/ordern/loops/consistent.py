"""Refuse states that the closed mechanism cannot have: errors name the open loops, the amounts, and a remedy.

The argument `check` of the methods is True for the default tolerance, a number for another one, or False for no check.
`ordern.algorithms.closed_loop.misfit` defines the number that is compared with it. States that are not finite pass;
their results are NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.closed_loop.misfit import MISFIT, Sizes, gap_and_slip
from ..errors import ArgumentError, InconsistentStateError
from .kernels import Array

if TYPE_CHECKING:
    from ..model.loop_sizes import LoopSize
    from ..robot import Robot

__all__ = ["SINGLE", "Check", "complaint", "require_consistent", "tolerance_of", "whose"]

Check = bool | float

SINGLE = 2e-3
"""The tolerance of states in single precision: the angle of a hinge after a thousand turns has an error of 5e-4 rad."""
_HALF = 5e-2
_DOUBLE = np.dtype(float)
_LONG = 60
"""Robots with more freedoms are checked loop by loop, from residuals and rates: straight-line code would be long."""
_MOST = 5
"""The largest number of loops that an error names."""


def tolerance_of(check: Any, *given: Any) -> float | None:
    """Return the tolerance that `check` stands for; None for no check.

    The default depends on the precision of the positions and velocities that were given.
    """
    if check is False or (isinstance(check, np.bool_) and not check):
        return None
    if check is True or isinstance(check, np.bool_):
        kinds = [getattr(x, "dtype", None) for x in given]
        if all(kind is _DOUBLE or kind is None for kind in kinds):  # comparing types takes a microsecond
            return MISFIT
        return _HALF if np.float16 in kinds else SINGLE if np.float32 in kinds else MISFIT
    if not isinstance(check, (int, float, np.number)) or not 0.0 < check < np.inf:
        raise ArgumentError(f"check must be True, False, or a positive tolerance, not {check!r}")
    return float(check)


def require_consistent(
    robot: Robot, q: Array, v: Array | None, t: Any, tolerance: float | None, what: str = "", suspected: bool = False
) -> None:
    """Raise if loops are open in positions q (..., nq), or opened by velocities v (..., nv), by more than a tolerance.

    Without velocities, only positions are checked. The error begins with `what`. States that are `suspected` are known
    to be inconsistent by the default tolerance.
    """
    if tolerance is None or not robot.nc or (tolerance >= MISFIT and not suspected and _fits(robot, q, v, t)):
        return
    if t is None:
        r, rate = robot.loop_residual(q), None if v is None else robot.loop_rate(q, v)
    else:
        r, rate = robot.loop_residual(q, t=t), None if v is None else robot.loop_rate(q, v, t=t)
    if not suspected and _small(_sizes(robot), tolerance, r, rate):
        return
    text = complaint(robot, r, rate, v, tolerance)
    if text:
        raise InconsistentStateError(f"{what}: {text}" if what else text)


def _small(sizes: Sizes, tolerance: float, r: Array, rate: Array | None) -> bool:
    """Return True if the residuals and rates of all loops together are below the tolerance, at any speed."""
    with np.errstate(all="ignore"):
        scaled = [x / sizes.scale for x in (r, rate) if x is not None]
        total = sum(np.einsum("...i,...i->...", x, x) for x in scaled)
        return bool(np.max(total, initial=0.0) <= tolerance**2)


def _fits(robot: Robot, q: Array, v: Array | None, t: Any) -> bool:
    """Return True if one compiled function finds all states consistent; False, without a call, for long robots."""
    if robot.nv > _LONG:
        return False
    kernel, timed, still = robot._kernels.kept(("loop_excess", v is None), lambda: _excess(robot, v is not None))
    given = (q, still if v is None else v)
    off = kernel(*given, 0.0 if t is None else t) if timed else kernel(*given)
    return bool((off < 0.0).all()) if isinstance(off, np.ndarray) else bool(off < 0.0)


def _excess(robot: Robot, moving: bool) -> tuple[Callable[..., Any], bool, Array]:
    """Return the function of (q, v), whether it takes the time as well, and a velocity of zero."""
    timed = robot.loop_table.timed
    kernel = robot.kernel("loop_excess", present=("t",) if timed else (), moving=moving)
    return kernel.single, timed, np.zeros(robot.nv)


def complaint(robot: Robot, r: Array, rate: Array | None, v: Array | None, tolerance: float) -> str:
    """Return what is wrong with states of these residuals and rates, (..., nc); empty if all are consistent."""
    with np.errstate(all="ignore"):
        gap, slip = gap_and_slip(_sizes(robot), r, rate, v)
        gap, slip = np.broadcast_arrays(gap, slip)
        off = np.sqrt(gap**2 + slip**2)
        bad = off > tolerance
    if not bad.any():
        return ""
    states = bad.any(axis=-1)
    at = tuple(int(k) for k in np.argwhere(states)[0])
    of = whose(states, at)
    r, gap, slip, bad, off = (np.broadcast_to(x, (*states.shape, x.shape[-1]))[at] for x in (r, gap, slip, bad, off))
    worst = int(np.argmax(np.where(bad, off, 0.0)))
    order = sorted(np.flatnonzero(bad).tolist(), key=lambda k: -off[k])
    sizes = robot.loop_sizes
    names = [sizes[k].name for k in order]
    if gap[worst] >= slip[worst] or rate is None:
        told = [f"by {_amounts(sizes[k], r, '')}" for k in order]
        first = f"{_loops(names, robot.name)} {'are open:' if names[1:] else 'is open'} {_listed(names, told)}{of}"
        return (
            f"{first}. That is {gap[worst]:.3g} of the way around the loop, {sizes[worst].length:.3g} m, or of a "
            f"radian; the tolerance is {tolerance:.3g}. {_REMEDY_Q}; check=False takes the state as it is"
        )
    rate = np.broadcast_to(rate, (*states.shape, rate.shape[-1]))[at]
    told = [f"opens at {_amounts(sizes[k], rate, '/s')}" for k in order]
    it = "" if names[1:] else "it "
    return (
        f"velocities do not keep {_loops(names, robot.name)} closed: {it}{_listed(names, told)}{of}. That is "
        f"{slip[worst]:.3g} of how fast the loop's joints move; the tolerance is {tolerance:.3g}. {_REMEDY_V}; "
        "check=False takes the state as it is"
    )


_REMEDY_Q = "robot.assemble(q).q is a closed position near it"
_REMEDY_V = "robot.project_velocity(q, v) is the velocity next to it that keeps loops closed"


def _sizes(robot: Robot) -> Sizes:
    return robot._kernels.kept(("loop sizes",), lambda: Sizes.of(robot.loop_sizes))


def whose(states: Array, at: tuple[int, ...]) -> str:
    """Return the words for one state of a batch."""
    if not states.shape:
        return ""
    index = at[0] if len(at) == 1 else at
    count = int(states.sum())
    more = f", the first of {count} such states" if count > 1 else ""
    return f" in state {index} of the batch{more}"


def _amounts(size: LoopSize, rows: Array, per: str) -> str:
    """Return the largest length and angle of a loop's rows, in words."""
    mine, angles = np.abs(rows[size.rows]), np.array(size.angles)
    found = ((mine[~angles], "m"), (mine[angles], "rad"))
    largest = [(float(np.max(x, initial=0.0)), unit) for x, unit in found]
    return " and ".join(f"{x:.3g} {unit}{per}" for x, unit in largest if x > 0.0)


def _loops(names: list[str], robot: str) -> str:
    return f"loops of {robot!r}" if names[1:] else f"loop {names[0]!r} of {robot!r}"


def _listed(names: list[str], told: list[str]) -> str:
    """Return the text about one loop, or about several with their names."""
    if not names[1:]:
        return told[0]
    more = f" and {len(told) - _MOST} more" if len(told) > _MOST else ""
    return ", ".join(f"{name!r} {x}" for name, x in zip(names[:_MOST], told[:_MOST], strict=True)) + more
