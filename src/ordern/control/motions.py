"""Motions between points of any space, from which trajectories of robots and of poses are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array, choice, positive
from ..errors import ArgumentError
from . import splines
from .laws import LAWS, Law, Trapezoidal
from .spaces import Configurations, Space
from .trajectory import Segments, Straight, Trajectory
from .trajectory import Sequence as InTurn

__all__ = ["at_ends", "meet", "points_of", "spline_in", "straight", "through_in", "trapezoid", "way"]


def straight(space: Space, q0: ArrayLike, q1: ArrayLike, law: Law) -> Trajectory:
    """Return the motion from point to point of any space by a time law."""
    return Straight(space, *way(space, q0, q1), law)


def through_in(space: Space, points: ArrayLike, durations: ArrayLike, law: str) -> InTurn:
    """Return the motion through points of any space that rests at each."""
    choice("time law", law, LAWS)
    at = points_of(space, points)
    n = len(at) - 1
    times = array(durations, () if np.ndim(durations) == 0 else (n,), "durations")
    each = [positive(x, "durations") for x in np.broadcast_to(times, (n,))]
    return InTurn(tuple(straight(space, at[k], at[k + 1], LAWS[law](each[k])) for k in range(n)))


def trapezoid(far: Array, most: Sequence[Array], duration: float | None, name: Callable[[int], str]) -> Trapezoidal:
    """Return the fastest law for the distances `far` within the limits `most` of velocity and acceleration.

    With a `duration` it is slower: it lasts as long. `name` names the coordinates in the message for one too short.
    """
    moving = np.flatnonzero(far > 0.0)
    for limit, what in zip(most, ("velocity", "acceleration"), strict=True):
        for k in moving[limit[moving] <= 0.0]:
            raise ArgumentError(f"{name(int(k))} has to move, but its limit of {what} is {limit[k]:g}; give `{what}`")
    rates = [x[moving] / far[moving] for x in most]
    speed, rise = (float(x.min()) for x in rates)
    law = Trapezoidal.fastest(speed, rise)
    if duration is None:
        return law
    if positive(duration, "duration") < law.duration * (1.0 - 1e-12):
        slowest = moving[np.argmin(rates[1 if speed**2 >= rise else 0])]
        raise ArgumentError(
            f"duration {duration:g} s is too short: within the limits of velocity and acceleration it takes "
            f"{law.duration:.6g} s; {name(int(slowest))} is the slowest"
        )
    return Trapezoidal.lasting(max(float(duration), law.duration), rise)


def spline_in(
    space: Space,
    times: ArrayLike,
    points: ArrayLike,
    degree: int,
    ends: str,
    v: Sequence[ArrayLike | None],
    a: Sequence[ArrayLike | None],
) -> Segments:
    """Return a spline through points of any space."""
    choice("kind of ends", ends, ("clamped", "natural", "periodic"))
    if degree not in (3, 5):
        raise ArgumentError(f"degree must be 3 or 5, not {degree!r}")
    q = points_of(space, points)
    t = array(times, (len(q),), "times")
    if t[0] != 0.0 or (np.diff(t) <= 0.0).any():
        raise ArgumentError(f"times must start at 0 and increase, but they are {t}")
    given = [name for name, x in zip(("v0", "v1", "a0", "a1"), (*v, *a), strict=True) if x is not None]
    if given and (ends != "clamped" or (degree == 3 and given[-1].startswith("a"))):
        raise ArgumentError(f"{given[-1]} has no place in a spline of degree {degree} with {ends} ends")
    if degree == 5 and ends == "natural" and len(q) < 3:
        raise ArgumentError("a natural spline of degree 5 needs three points")
    meet(space, q)
    speeds, rises = at_ends(space, "v", v), at_ends(space, "a", a)
    if ends == "periodic":
        apart = np.abs(space.difference(q[-1], q[0])).max(initial=0.0)
        if apart > 1e-9:
            raise ArgumentError(f"a periodic spline ends where it starts, but the last point is off by {apart:.3g}")
    h, d = np.diff(t), space.difference(q[:-1], q[1:])
    cubic = degree == 3
    at = splines.cubic(h, d, ends, speeds) if cubic else splines.quintic(h, d, ends, speeds, rises)
    return Segments(space, t, q, *at)


def points_of(space: Space, points: ArrayLike) -> Array:
    """Return two or more points, checked, as one array."""
    if not isinstance(points, (Sequence, np.ndarray)) or isinstance(points, str) or np.ndim(points[:1]) < 2:
        raise ArgumentError(f"points must be a sequence of points, not {points!r}")
    listed = [space.point(p, f"point {k}") for k, p in enumerate(points)]
    if len(listed) < 2:
        raise ArgumentError(f"two or more points are needed, not {len(listed)}")
    return np.stack(listed)


def way(space: Space, q0: ArrayLike, q1: ArrayLike) -> tuple[Array, Array]:
    """Return the start, and the velocity that leads to the end in a unit of time."""
    a, b = space.point(q0, "q0"), space.point(q1, "q1")
    meet(space, np.stack([a, b]))
    return a, space.difference(a, b)


def meet(space: Space, q: Array) -> None:
    """Raise unless a constant velocity leads from each point to the next; for a rolling disc it may not."""
    if not isinstance(space, Configurations):
        return
    reached = space.integrate(q[:-1], space.difference(q[:-1], q[1:]))
    for c in space.robot.independent:
        there, wanted = reached[:, c.q], q[1:, c.q]
        off = np.abs(there - wanted).max(axis=1, initial=0.0)
        if c.type.nq != c.type.nv:  # a quaternion and its negative are one rotation
            flipped = np.where(np.arange(c.type.nq) < 4, -there, there)
            off = np.minimum(off, np.abs(flipped - wanted).max(axis=1))
        if off.max(initial=0.0) > 1e-6 * max(1.0, np.abs(wanted).max(initial=0.0)):
            raise ArgumentError(
                f"joint {c.name!r} ({type(c.type).__name__}) cannot be led from point to point at a constant velocity: "
                f"it would be off by {off.max():.3g}"
            )


def at_ends(space: Space, name: str, given: Sequence[ArrayLike | None]) -> Array:
    """Return the velocities ("v") or accelerations ("a") at both ends, (2, nv); zero where they are not given."""
    each = enumerate(np.zeros(space.nv) if x is None else x for x in given)
    return np.stack([array(x, (space.nv,), f"{name}{k}") for k, x in each])
