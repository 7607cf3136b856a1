"""Questions about many frames as methods of robots."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from .kernel.declarations import Answering, Array, Out, Threads
from .kernel.settings import frame_list
from .model import Frame, Model

__all__ = ["FrameMethods", "Frames"]

Frames = Iterable[str | Frame] | None
"""Frames or their names; None for all bodies."""


class FrameMethods(Answering, Model):
    """Kinematics of many frames in one call: all frames share one sweep over the robot."""

    def poses(self, q: ArrayLike, frames: Frames = None, threads: Threads = None, out: Out = None) -> Array:
        """Return the homogeneous matrices of k frames in the world, of shape (..., k, 4, 4).

        Without `frames`, return those of all bodies in their order, of shape (..., n, 4, 4).

        >>> import ordern as on
        >>> arm = on.load("puma560")
        >>> arm.poses(arm.neutral(), ["wrist", "flange"]).shape
        (2, 4, 4)
        """
        return self._many("poses", (q,), frames, {}, threads, out)

    def velocities(
        self, q: ArrayLike, v: ArrayLike, frames: Frames = None, axes: str = "frame", threads: Threads = None,
        out: Out = None, *, base_velocity: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the velocities (angular, linear) of k frames, or of all bodies, of shape (..., k, 6).

        Each is as `velocity` returns it.
        """
        named = {"axes": axes, "base_velocity": base_velocity}
        return self._many("velocities", (q, v), frames, named, threads, out)

    def accelerations(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, frames: Frames = None, axes: str = "frame",
        kind: str = "classical", threads: Threads = None, out: Out = None, *, base_velocity: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the accelerations (angular, linear) of k frames, or of all bodies, of shape (..., k, 6).

        Each is as `acceleration` returns it, of the same `kind`, for joint accelerations `a`.
        """
        moved = {"base_velocity": base_velocity, "base_acceleration": base_acceleration}
        return self._many("accelerations", (q, v, a), frames, {"axes": axes, "kind": kind, **moved}, threads, out)

    def jacobians(
        self, q: ArrayLike, frames: Frames = None, axes: str = "frame", threads: Threads = None, out: Out = None
    ) -> Array:
        """Return the Jacobians of k frames, or of all bodies, of shape (..., k, 6, nv).

        Each is as `jacobian` returns it.
        """
        listed = self._body_frames() if frames is None else frames
        return self._many("jacobians", (q,), listed, {"axes": axes}, threads, out)

    def _many(
        self, question: str, state: tuple[ArrayLike, ...], frames: Frames, named: dict[str, Any], threads: Threads,
        out: Out,
    ) -> Array:  # fmt: skip
        """Return the answers for frames, or for all bodies; loops over bodies compile to shorter code."""
        if frames is None:
            return self._ask(f"body_{question}", state, named, None, threads, out)
        return self._ask(question, state, {"frames": frame_list(question, frames), **named}, None, threads, out)

    def _body_frames(self) -> tuple[Frame, ...]:
        """Return the frames of all bodies."""
        return self._kernels.kept(("body frames",), lambda: tuple(Frame(b.name, k) for k, b in enumerate(self.bodies)))
