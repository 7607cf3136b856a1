"""Trajectories: motions of a robot over time.

Each function returns a `Trajectory`: `trajectory(t)` is (q, v, a), and the robot rests before and after. Motions are on
the configuration manifold: between two positions, each joint moves along the motion of constant velocity, which for a
spherical or free joint is the shortest rotation or screw. v and a are velocity and acceleration of the joints, in the
body's axes.

| function | motion |
|---|---|
| `cycloidal`, `minimum_jerk` | from rest to rest, smoothly, in a given time |
| `trapezoidal` | from rest to rest within limits of velocity and acceleration, all joints together |
| `quintic` | between two positions with given velocities and accelerations |
| `spline` | through positions at given times, with continuous acceleration |
| `through` | through positions, resting at each |
| `hold`, `sequence` | rest; one after the other |
| `tip` | a frame along straight lines, screws or a spline of poses, by inverse kinematics |

For a robot with loops, all given positions must be closed. As many joints lead as the robot has freedoms, joints
with motors first; they move as they would without loops. The loops determine the positions of the other joints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, positive
from ..declared import explained
from ..errors import ArgumentError
from .arguments import freedom_name, freedoms
from .checks import Exceeded
from .closed_trajectory import closed
from .closing import require_kept
from .laws import Cycloidal, MinimumJerk
from .motions import at_ends, meet, spline_in, straight, through_in, trapezoid
from .motions import way as way_between
from .spaces import Configurations
from .tip import TipTrajectory, tip
from .trajectory import Motion, Samples, Segments, Straight, Trajectory
from .trajectory import Sequence as _Sequence

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = [
    "Exceeded",
    "Motion",
    "Samples",
    "TipTrajectory",
    "Trajectory",
    "cycloidal",
    "hold",
    "minimum_jerk",
    "quintic",
    "sequence",
    "spline",
    "through",
    "tip",
    "trapezoidal",
]


@explained
def cycloidal(robot: Robot, q0: ArrayLike, q1: ArrayLike, duration: float) -> Trajectory:
    """Move from rest to rest by a cycloid: q0 + (q1 - q0) (t/T - sin(2 pi t/T) / (2 pi)), Saha (38)-(39).

    Velocity and acceleration start and end at zero; the acceleration is a sine.

    >>> import ordern as on
    >>> arm = on.load("planar-3r")
    >>> q, v, a = on.trajectories.cycloidal(arm, [0, 0, 0], [1, 1, 2], 4.0)(2.0)
    >>> q.tolist(), v.tolist()
    ([0.5, 0.5, 1.0], [0.5, 0.5, 1.0])
    """
    return _between(straight(Configurations(robot), q0, q1, Cycloidal(positive(duration, "duration"))), q0, q1)


@explained
def minimum_jerk(robot: Robot, q0: ArrayLike, q1: ArrayLike, duration: float) -> Trajectory:
    """Move from rest to rest with the least integral of squared jerk: 10 x^3 - 15 x^4 + 6 x^5 with x = t/T."""
    return _between(straight(Configurations(robot), q0, q1, MinimumJerk(positive(duration, "duration"))), q0, q1)


@explained
def trapezoidal(
    robot: Robot,
    q0: ArrayLike,
    q1: ArrayLike,
    duration: float | None = None,
    *,
    acceleration: ArrayLike,
    velocity: ArrayLike | None = None,
) -> Trajectory:
    """Move from rest to rest by constant acceleration, velocity and deceleration, with the joints synchronised.

    The motion is as fast as the limits of all joints allow, or takes the given `duration`. `velocity` and
    `acceleration` are limits for each velocity: a number, nv numbers, or a dictionary by joints. Without
    `velocity`, the limits of the model hold.
    """
    space = Configurations(robot)
    start, way = way_between(space, q0, q1)
    if velocity is None:
        velocity = np.array([x for c in robot.independent for x in c.velocity_limit])
    most = freedoms(robot, velocity, "velocity", infinite=True), freedoms(robot, acceleration, "acceleration")
    if not way.any():
        if duration is None:
            raise ArgumentError("q0 and q1 are the same: there is no shortest time; give a duration, or use `hold`")
        return _between(Straight(space, start, way, MinimumJerk(positive(duration, "duration"))), q0, q1)
    law = trapezoid(np.abs(way), most, duration, lambda k: f"joint {freedom_name(robot, k)!r}")
    return _between(Straight(space, start, way, law), q0, q1)


@explained
def quintic(
    robot: Robot,
    q0: ArrayLike,
    q1: ArrayLike,
    duration: float,
    *,
    v0: ArrayLike | None = None,
    v1: ArrayLike | None = None,
    a0: ArrayLike | None = None,
    a1: ArrayLike | None = None,
) -> Trajectory:
    """Move between two positions by polynomials of fifth degree.

    The velocities `v0` and `v1` and the accelerations `a0` and `a1` at both ends, each (nv,), are zero unless given.

    Spherical, free and planar joints have the polynomials in the coordinates of the exponential chart about q0.
    """
    space = Configurations(robot)
    q = np.stack([space.point(q0, "q0"), space.point(q1, "q1")])
    meet(space, q)
    v, a = at_ends(space, "v", (v0, v1)), at_ends(space, "a", (a0, a1))
    times = np.array([0.0, positive(duration, "duration")])
    _keep_loops(robot, q, (v0, v1), (a0, a1), times)
    return _between(Segments(space, times, q, v, a), q0, q1)


@explained
def spline(
    robot: Robot,
    times: ArrayLike,
    points: ArrayLike,
    *,
    degree: int = 3,
    ends: str = "clamped",
    v0: ArrayLike | None = None,
    v1: ArrayLike | None = None,
    a0: ArrayLike | None = None,
    a1: ArrayLike | None = None,
) -> Trajectory:
    """Move through points (n, nq) at increasing times that start at 0, by a spline of degree 3 or 5.

    `ends` is "clamped" (velocities v0 and v1, for degree 5 also accelerations a0 and a1; zero if not given), "natural"
    (no acceleration at the ends; for degree 5 no third and fourth derivatives) or "periodic" (first and last point
    are the same, and so are velocities and accelerations). For joints whose velocities are the rates of their
    positions it is the classical spline, with two or four continuous derivatives. Others (spherical, free, planar) pass
    through the points with continuous velocity and acceleration.
    """
    found = spline_in(Configurations(robot), times, points, degree, ends, (v0, v1), (a0, a1))
    _keep_loops(robot, found.q[[0, -1]], (v0, v1), (a0, a1), found.t[[0, -1]])
    return closed(found, found.t.tolist(), list(found.q), [f"point {k}" for k in range(len(found.q))])


@explained
def through(robot: Robot, points: ArrayLike, durations: ArrayLike, *, law: str = "cycloidal") -> Trajectory:
    """Move through points (n, nq) with a rest at each, one of `durations` per part or for all, and a time `law`."""
    found = through_in(Configurations(robot), points, durations, law)
    names = [f"point {k}" for k in range(len(found.starts))]
    return closed(found, found.starts.tolist(), list(np.asarray(points, float)), names)


@explained
def hold(robot: Robot, q: ArrayLike, duration: float) -> Trajectory:
    """Rest at q."""
    space = Configurations(robot)
    rest = Straight(space, space.point(q, "q"), np.zeros(robot.nv), MinimumJerk(positive(duration, "duration")))
    return closed(rest, [0.0], [rest.start], ["q"])


def _between(tree: Trajectory, q0: ArrayLike, q1: ArrayLike) -> Trajectory:
    """Return the motion of the tree from one position to another, with loops closed at every time."""
    return closed(tree, [0.0, tree.duration], [np.asarray(q0, float), np.asarray(q1, float)], ["q0", "q1"])


def _keep_loops(
    robot: Robot, q: Array, v: Sequence[ArrayLike | None], a: Sequence[ArrayLike | None], times: Array
) -> None:
    """Raise unless the given velocities and accelerations at the ends keep loops closed."""
    for k in (0, 1) if robot.nc else ():
        rate = np.zeros(robot.nv) if v[k] is None else np.asarray(v[k], float)
        if v[k] is not None:
            require_kept(robot, f"v{k}", q[k], rate, None, times[k])
        if a[k] is not None:
            require_kept(robot, f"a{k}", q[k], rate, np.asarray(a[k], float), times[k])


@explained
def sequence(*parts: Trajectory | Iterable[Trajectory]) -> Trajectory:
    """Join trajectories. Each must start where the one before ended, at the same velocity."""
    flat: list[Trajectory] = []
    for part in parts:
        flat.extend(part if isinstance(part, Iterable) else [part])
    if not flat or not all(isinstance(p, Trajectory) for p in flat):
        raise ArgumentError("sequence takes one or more trajectories")
    for k, (one, other) in enumerate(pairwise(flat)):
        _join(k, one, other)
    return _Sequence(tuple(flat))


def _join(k: int, one: Trajectory, other: Trajectory) -> None:
    if one.robot != other.robot:
        raise ArgumentError(f"trajectories {k} and {k + 1} are of different robots")
    end, start = one(one.duration), other(0.0)
    gap, jump = one.space.difference(end.q, start.q), start.v - end.v
    for what, apart, size in (("position", gap, 1.0), ("velocity", jump, np.abs(end.v).max(initial=1.0))):
        worst = int(np.argmax(np.abs(apart))) if apart.size else 0
        if apart.size and not abs(apart[worst]) <= 1e-6 * size:
            raise ArgumentError(
                f"trajectories {k} and {k + 1} do not meet: the {what} of joint "
                f"{freedom_name(one.robot, worst)!r} would jump by {apart[worst]:.3g}"
            )
