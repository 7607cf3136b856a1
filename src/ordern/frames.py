# mypy: disable-error-code="empty-body"
"""Questions about many frames as methods of robots: their kinematics, and contacts of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from .kernel.declarations import Answering, Array, Device, Out, Threads, answers, delegated
from .kernel.settings import frame_list
from .model import Frame, Model

if TYPE_CHECKING:
    from .impacts import Impact

__all__ = ["FrameMethods", "Frames"]

Frames = Iterable[str | Frame] | None
"""Frames or their names; None for all bodies."""


class FrameMethods(Answering, Model):
    """Kinematics of many frames in one call, which share one sweep over the robot, and contacts of frames."""

    def poses(
        self, q: ArrayLike, frames: Frames = None, threads: Threads = None, out: Out = None, *, device: Device = None
    ) -> Array:
        """Return the homogeneous matrices of k frames in the world, of shape (..., k, 4, 4).

        Without `frames`, return those of all bodies in their order, of shape (..., n, 4, 4).

        >>> import ordern as on
        >>> arm = on.load("puma560")
        >>> arm.poses(arm.neutral(), ["wrist", "flange"]).shape
        (2, 4, 4)
        """
        return self._many("poses", (q,), frames, {}, threads, out, device)

    def velocities(
        self, q: ArrayLike, v: ArrayLike, frames: Frames = None, axes: str = "frame", threads: Threads = None,
        out: Out = None, *, device: Device = None, base_velocity: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the velocities (angular, linear) of k frames, or of all bodies, of shape (..., k, 6).

        Each is as `velocity` returns it.
        """
        named = {"axes": axes, "base_velocity": base_velocity}
        return self._many("velocities", (q, v), frames, named, threads, out, device)

    def accelerations(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, frames: Frames = None, axes: str = "frame",
        kind: str = "classical", threads: Threads = None, out: Out = None, *,
        device: Device = None, base_velocity: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the accelerations (angular, linear) of k frames, or of all bodies, of shape (..., k, 6).

        Each is as `acceleration` returns it, of the same `kind`, for joint accelerations `a`.
        """
        moved = {"base_velocity": base_velocity, "base_acceleration": base_acceleration}
        return self._many(
            "accelerations", (q, v, a), frames, {"axes": axes, "kind": kind, **moved}, threads, out, device
        )

    def jacobians(
        self,
        q: ArrayLike,
        frames: Frames = None,
        axes: str = "frame",
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return the Jacobians of k frames, or of all bodies, of shape (..., k, 6, nv).

        Each is as `jacobian` returns it.
        """
        listed = self._body_frames() if frames is None else frames
        return self._many("jacobians", (q,), listed, {"axes": axes}, threads, out, device)

    @answers
    def kinematic_hessian(
        self,
        q: ArrayLike,
        frame: str | Frame,
        axes: str = "frame",
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return the derivative H of a frame's Jacobian by each freedom, of shape (..., 6, nv, nv).

        H[..., j, k] is the derivative of column j of `jacobian` along a unit velocity of freedom k. With it,
        `jacobian_rate` is H v.
        """

    @delegated("impacts", sets=True, placed=True, composed=True)
    def delassus_matrix(
        self, q: ArrayLike, frames: Iterable[str | Frame] | None = None, axes: str = "frame", contact: str = "frame",
        threads: Threads = None, out: Out = None, *, device: Device = None, t: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the Delassus matrix J M^-1 J^T of k frames, of shape (..., 6 k, 6 k).

        J has the rows of the Jacobians of the frames, one frame after the other. With contact="point" these are the
        three of each origin, and the shape is (..., 3 k, 3 k). Without `frames`, J are the constraints of the robot's
        loops, and the shape is (..., nc, nc). `axes` are "frame" or "world". Loops of a robot do not bind the frames.
        `t` is the time, for driven loops.
        """

    @delegated("impacts", sets=True, placed=True, composed=True)
    def delassus_solve(
        self, q: ArrayLike, x: ArrayLike, frames: Iterable[str | Frame] | None = None, axes: str = "frame",
        contact: str = "frame", damping: float = 0.0, *, t: ArrayLike | None = None,
        device: Device = None,
    ) -> Array:  # fmt: skip
        """Return (D + damping)^-1 x with the `delassus_matrix` D, of shape (..., m).

        These are the forces on the frames, or along the constraints of loops, that cause the accelerations x there.
        Constraints that depend on each other are a `SingularError`, unless there is a `damping` (1/kg, 1/(kg m^2)). The
        other arguments are those of `delassus_matrix`.
        """

    @delegated("impacts", sets=True, placed=True, composed=True)
    def impact(
        self, q: ArrayLike, v: ArrayLike, frames: Iterable[str | Frame] | None = None, restitution: ArrayLike = 0.0, *,
        axes: str = "frame", contact: str = "frame", t: ArrayLike | None = None,
        device: Device = None,
    ) -> Impact:  # fmt: skip
        """Return the velocities after frames hit something at rest, and the impulses on them, in one record.

        After the impact, all six velocities of each frame (with contact="point": the three of its origin) are those
        before it times minus the coefficient of `restitution`, from 0 to 1. Impulses act in all of these directions:
        they may pull, and there is no friction cone. Loops stay closed. Without `frames`, the loops of the robot are
        what hits: their velocities before need not keep them closed. `axes` are those of the impulses, and `t` is the
        time, for driven loops.

        >>> import ordern as on
        >>> arm = on.load("puma560")
        >>> after = arm.impact([0.1, 0.5, -0.3, 0.2, 0.4, 0.1], [0.2] * 6, ["flange"], contact="point")
        >>> abs(arm.velocity([0.1, 0.5, -0.3, 0.2, 0.4, 0.1], after.v, "flange")[3:]).max() < 1e-12
        np.True_
        """

    def _many(
        self, question: str, state: tuple[ArrayLike, ...], frames: Frames, named: dict[str, Any], threads: Threads,
        out: Out, device: Device,
    ) -> Array:  # fmt: skip
        """Return the answers for frames, or for all bodies; loops over bodies compile to shorter code."""
        if frames is None:
            return self._ask(f"body_{question}", state, named, None, threads, out, device)
        return self._ask(question, state, {"frames": frame_list(question, frames), **named}, None, threads, out, device)

    def _body_frames(self) -> tuple[Frame, ...]:
        """Return the frames of all bodies."""
        return self._kernels.kept(("body frames",), lambda: tuple(Frame(b.name, k) for k, b in enumerate(self.bodies)))
