"""Motions of a frame: poses over time, with velocities and accelerations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array, choice, pose, positive
from ..errors import ArgumentError
from .laws import LAWS
from .motions import spline_in, through_in, trapezoid, way
from .spaces import Lines, Poses, Screws
from .trajectory import Motion, Straight, Trajectory

__all__ = ["Function", "PosePath", "pose_path"]


class PosePath:
    """A motion of a frame: `path(t)` is (pose, velocity, acceleration), the last two (angular, linear) in world axes.

    The velocity is of the frame's origin, and the acceleration its derivative. Before and after the motion, the frame
    rests.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.duration = trajectory.duration
        self.breaks = trajectory.breaks

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return pose, velocity and acceleration at the time t, or at an array of times."""
        return self._world(self.trajectory(t))

    def at(self, t: Array, left: bool = False) -> tuple[Array, Array, Array]:
        """Return the same at times (n,) within the duration; at a jump, after it or, with `left`, before it."""
        return self._world(self.trajectory._motion(t, left))

    def _world(self, motion: Motion) -> tuple[Array, Array, Array]:
        space = self.trajectory.space
        assert isinstance(space, Poses)
        return (motion.q, *space.frame_motion(*motion))


class Function(PosePath):
    """A motion of a frame given by a function of time, which returns (pose, velocity, acceleration)."""

    def __init__(self, function: Callable[[float], Any], duration: float) -> None:
        super().__init__(_Given(function, duration))

    def _world(self, motion: Motion) -> tuple[Array, Array, Array]:
        return motion


class _Given(Trajectory):
    """The poses that a function returns, with its velocities and accelerations in the world's axes."""

    def __init__(self, function: Callable[[float], Any], duration: float) -> None:
        self.function, self.space, self.duration = function, Lines(), duration

    def _motion(self, t: Array, left: bool) -> Motion:
        found = [self._once(float(x)) for x in t]
        T, V, A = (np.array([each[k] for each in found]) for k in range(3))
        return Motion(T.reshape(-1, 4, 4), V.reshape(-1, 6), A.reshape(-1, 6))

    def _once(self, t: float) -> tuple[Array, Array, Array]:
        try:
            T, V, A = self.function(t)
        except (TypeError, ValueError) as e:
            raise ArgumentError(f"a path of poses must return (pose, velocity, acceleration) at t = {t:g}: {e}") from e
        where = f"of the path at t = {t:g}"
        V, A = (array(x, (6,), f"the {what} {where}") for what, x in (("velocity", V), ("acceleration", A)))
        return pose(T, f"the pose {where}"), V, A


def pose_path(
    poses: Any,
    duration: Any,
    *,
    path: str = "line",
    law: str = "cycloidal",
    times: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
) -> PosePath:
    """Return the path of poses from the arguments of `tip`."""
    if isinstance(poses, PosePath):
        return poses
    if callable(poses):
        return Function(poses, positive(duration, "duration"))
    choice("kind of path", path, ("line", "screw", "spline"))
    if path == "spline":
        if times is None or duration is not None:
            raise ArgumentError("a spline of poses needs `times`, one for each pose, and no duration")
        return PosePath(spline_in(Screws(), times, poses, 3, "clamped", (None, None), (None, None)))
    if times is not None:
        raise ArgumentError("`times` belong to path='spline'; lines and screws have a `duration`")
    space = Lines() if path == "line" else Screws()
    if law != "trapezoidal":
        choice("time law", law, (*LAWS, "trapezoidal"))
        if duration is None:
            raise ArgumentError("give the duration of the motion, or law='trapezoidal' with velocity and acceleration")
        return PosePath(through_in(space, poses, duration, law))
    if len(poses) != 2 or velocity is None or acceleration is None:
        raise ArgumentError("law='trapezoidal' needs two poses, and `velocity` and `acceleration` as (angular, linear)")
    start, step = way(space, poses[0], poses[1])
    far = np.linalg.norm(step.reshape(2, 3), axis=1)
    limits = (array(velocity, (2,), "velocity"), array(acceleration, (2,), "acceleration"))
    if far.max() == 0.0:
        raise ArgumentError("the two poses are the same")
    timing = trapezoid(far, limits, duration, ("the rotation", "the displacement").__getitem__)
    return PosePath(Straight(space, start, step, timing))
