# mypy: disable-error-code="empty-body"
"""The robot that users hold: a model with its kinematics and dynamics as methods.

Every function takes and returns NumPy arrays with any leading batch shape, broadcasts, and accepts `out=`. The first
call compiles the algorithm for this robot; the machine code is kept on disk for the next process.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .algorithms import methods
from .algorithms.method_limits import require_tree
from .arguments import positive
from .centroidal import CentroidalMethods
from .declared import explained_methods
from .derivatives import SecondDerivativeMethods
from .errors import ArgumentError
from .frames import FrameMethods
from .identify import IdentifyMethods
from .joints import Fixed, Joint, Placement, placement
from .kernel.arguments import external_forces, stored
from .kernel.declarations import Array, Device, Out, Threads, answers, delegated
from .kernel.place import computing_on
from .kernel.tracing import readable
from .loops.robot_methods import LoopMethods
from .loops.sets import by_sets
from .model import BASE, Body, Frame, Model, ModelBuilder
from .model.checks import require_one_set
from .model.variation import with_other_contacts
from .parameters import ParameterMethods

if TYPE_CHECKING:
    from .check import Report
    from .contact.forces import ContactForces
    from .contact.points import ContactPoints
    from .contact.stepping import ContactStep
    from .contact.tasks import Task
    from .contact.whole_body import WholeBody
    from .control.inverse_kinematics import Reach
    from .kernel import Kernel, Kernels
    from .model.contacts import Ground
    from .operators import Operators
    from .residuals import ForwardDynamicsReport
    from .simulate.events import Event
    from .simulate.forces import Table
    from .simulate.results.result import Result
    from .simulate.rollout import Rollout
    from .simulate.switches import Switch
    from .view import Viewer

__all__ = ["Builder", "Robot"]

External = ArrayLike | Mapping[str, ArrayLike]
_WORLD = Frame("world", BASE)
_FEW = 4096


@explained_methods
@readable
class Robot(
    IdentifyMethods, SecondDerivativeMethods, ParameterMethods, FrameMethods, CentroidalMethods, LoopMethods, Model
):
    """Bodies joined in a tree, and their kinematics and dynamics.

    Positions q, velocities v, accelerations a and joint forces tau are arrays whose last dimension is nq or nv. Spatial
    vectors are (angular, linear). All quantities are in SI units and radians.
    """

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a robot does not change: {name!r} cannot be set; build another one")

    @classmethod
    def of(cls, model: Model, kernels: Kernels | None = None) -> Robot:
        """Return the robot of a model; it shares the `kernels` of a robot with the same tree."""
        if "jax" in sys.modules:  # so that robots can be arguments of functions that JAX transforms
            import_module("ordern.worlds.trees").register()
        found = cls(**model.__getstate__())
        if kernels is not None:
            found.__dict__["_kernels"] = kernels.shared_with(found)
        return found

    @answers
    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, external: External | None = None, method: str = "newton-euler",
        threads: Threads = None, out: Out = None, *, device: Device = None, base_velocity: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the joint forces of a motion, tau = M(q) a + C(q, v) - J^T external, of shape (..., nv).

        `external` are forces on the bodies: an array (..., n, 6) of (moment, force) for each body in its own frame, or
        a dictionary from names of bodies or frames to such six numbers in that frame. A moving base has a velocity and
        an acceleration (angular, linear) of its origin, in its own axes; gravity is in these axes, too.
        """

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: External | None = None, method: str | None = None,
        threads: Threads = None, out: Out = None, *, device: Device = None, base_velocity: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None, t: ArrayLike | None = None, check: bool | float = True,
    ) -> Array:  # fmt: skip
        """Return the accelerations that joint forces tau and `external` forces cause, without contacts, (..., nv).

        Contacts, joint limits, damping, friction and springs do not act, not even for a robot `with_contacts`, and the
        same holds for the derivatives: add `passive_force` and contact forces yourself, or take a step with `rollout`.
        Loops do act.

        The default method is "articulated-body"; for robots with loops it is "multipliers", which keeps the loops
        closed. `closed_dynamics` has the other methods for loops, and more results. `t` is the time, for driven loops.
        A state in which loops are open is an error, unless `check` is False; it may be a tolerance (default 1e-3).
        """
        extra = {"external": external, "base_velocity": base_velocity, "base_acceleration": base_acceleration}
        if self.nc:
            from .loops.dynamics import accelerations

            with computing_on(device, "forward_dynamics"):
                return accelerations(self, q, v, tau, method, out, t=t, threads=threads, check=check, **extra)
        return self._ask("forward_dynamics", (q, v, tau), extra, method, threads, out, device)

    @delegated("residuals", sets=True)
    def forward_dynamics_report(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: External | None = None, method: str | None = None,
        refine: int = 0, *, base_velocity: ArrayLike | None = None, base_acceleration: ArrayLike | None = None,
    ) -> ForwardDynamicsReport:  # fmt: skip
        """Return the accelerations of `forward_dynamics` with their residual, for a robot without loops.

        `residual` is the largest entry of tau - inverse_dynamics(q, v, acceleration), relative to the largest force:
        near 1e-15 where the method loses no digits, whatever the method is. A method that iterates also reports its
        `iterations`, and whether it `converged`; here it does not raise if it has not. `refine` is the number of steps
        of iterative refinement, each of which costs one more solution by the same method; a step that does not make
        the residual of a state smaller is not taken.

        >>> import ordern as on
        >>> arm = on.load("puma560")
        >>> found = arm.forward_dynamics_report(arm.random(0), [0.1] * 6, [0.0] * 6, method="divide-and-conquer")
        >>> bool(found.residual < 1e-9)
        True
        """

    @answers
    def mass_matrix(
        self,
        q: ArrayLike,
        method: str = "composite-body",
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return the joint-space mass matrix M(q), of shape (..., nv, nv)."""

    @answers
    def mass_matrix_inverse(
        self,
        q: ArrayLike,
        method: str = "innovations",
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return the inverse of the mass matrix, of shape (..., nv, nv), by recursions that invert no large matrix."""

    def mass_matrix_factors(
        self, q: ArrayLike, method: str = "innovations", threads: Threads = None, *, device: Device = None
    ) -> tuple[Array, Array]:
        """Return factors F and D of the mass matrix, M = F D F^T, both of shape (..., nv, nv).

        F has unit blocks on its diagonal and zeros below it; D is block-diagonal. With the method "ltl", D is the
        identity. Robots with mimic joints have the methods "ltdl" and "ltl" only.
        """
        F = self._ask("mass_matrix_factor", (q,), {}, method, threads, None, device)
        return F, self._ask("mass_matrix_pivots", (q,), {}, method, threads, None, device)

    @answers
    def mass_matrix_product(
        self,
        q: ArrayLike,
        x: ArrayLike,
        method: str = "newton-euler",
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return M(q) x, of shape (..., nv), without forming the matrix, in order n."""

    @answers
    def mass_matrix_solve(
        self,
        q: ArrayLike,
        x: ArrayLike,
        method: str = "innovations",
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return M(q)^-1 x, of shape (..., nv), without forming the matrix, in order n."""

    @answers
    def mass_matrix_root_product(
        self,
        q: ArrayLike,
        x: ArrayLike,
        method: str = "innovations",
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return F D^(1/2) x with the factors of the mass matrix, of shape (..., nv), in order n.

        It turns white noise x into noise of covariance M. With mimic joints, use the method "ltl", of order n^3 at
        most.
        """

    @answers
    def mass_matrix_root_solve(
        self,
        q: ArrayLike,
        x: ArrayLike,
        method: str = "innovations",
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return D^(-1/2) F^-1 x, of shape (..., nv): the inverse of `mass_matrix_root_product`, in order n."""

    @answers
    def coriolis_matrix(
        self,
        q: ArrayLike,
        v: ArrayLike,
        method: str = "christoffel",
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return a matrix C(q, v), (..., nv, nv), with C v the Coriolis and centrifugal forces and dM/dt - 2 C skew."""

    def joint_wrenches(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike | None = None, external: External | None = None,
        method: str | None = None, threads: Threads = None, out: Out = None, *, device: Device = None,
        tau: ArrayLike | None = None,
        base_velocity: ArrayLike | None = None, base_acceleration: ArrayLike | None = None, check: bool | float = True,
    ) -> Array:  # fmt: skip
        """Return the (moment, force) that each joint transmits to its body, in the body's frame, of shape (..., n, 6).

        The motion has the accelerations `a`, or is the one that the joint forces `tau` cause. With `tau`, the default
        method is "articulated-body" followed by the Newton-Euler recursion; "virtual-work", "lagrange-multipliers",
        "constraint-force" and "divide-and-conquer" find the wrenches on the way to the accelerations. For robots with
        loops, `method` is one of `closed_dynamics`, and `check` is as in `forward_dynamics`.
        """
        if (a is None) == (tau is None):
            raise ArgumentError("joint_wrenches: give either the accelerations `a` or the joint forces `tau`")
        moved = {"base_velocity": base_velocity, "base_acceleration": base_acceleration}
        if self.nc:
            with computing_on(device, "joint_wrenches"):
                return self._closed_wrenches(q, v, a, tau, external, {**moved, "check": check}, method, out)
        if tau is not None:
            return self._ask(
                "constraint_forces", (q, v, tau), {"external": external, **moved}, method, threads, out, device
            )
        if method not in (None, "newton-euler") and any(m.name == method for m in methods("constraint_forces")):
            raise ArgumentError(
                f"joint_wrenches by the method {method!r} is for joint forces `tau`, from which it finds the wrenches; "
                "with accelerations `a`, leave the method out"
            )
        return self._ask("joint_wrenches", (q, v, a), {"external": external, **moved}, method, threads, out, device)

    def _closed_wrenches(
        self, q: ArrayLike, v: ArrayLike, a: Any, tau: Any, external: External | None, more: Any, method: str | None,
        out: Array | None,
    ) -> Array:  # fmt: skip
        """Return the wrenches of the tree's joints for a robot with loops; they depend on the forces in the loops."""
        if tau is None:
            raise ArgumentError(
                f"joint_wrenches: {self.name!r} has loops; accelerations `a` alone do not determine their forces. Give "
                "the joint forces `tau`, or use `robot.opened()`, the same robot without loops"
            )
        return stored("joint_wrenches", self.closed_dynamics(q, v, tau, external, method, **more).joint_wrenches, out)

    def link_accelerations(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: External | None = None, method: str = "fd4",
        threads: Threads = None, out: Out = None, *, device: Device = None, base_velocity: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the classical accelerations (angular, linear) of all bodies that joint forces cause, (..., n, 6).

        Each is the acceleration of the body's origin relative to the world, in the body's axes; it includes the motion
        of a moving base (see `inverse_dynamics`). Loops are kept closed, as in `forward_dynamics`; then `method` is one
        of `closed_dynamics`, and "fd4" stands for its default.
        """
        moved: dict[str, Any] = {"base_velocity": base_velocity, "base_acceleration": base_acceleration}
        if not self.nc:
            return self._ask(
                "link_accelerations", (q, v, tau), {"external": external, **moved}, method, threads, out, device
            )
        moved["device"] = device
        a = self.forward_dynamics(q, v, tau, external, None if method == "fd4" else method, threads, **moved)
        return self.accelerations(q, v, a, threads=threads, out=out, **moved)

    def tip_acceleration(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, frame: str | Frame, axes: str = "frame",
        external: External | None = None, method: str = "fd4", threads: Threads = None, out: Out = None, *,
        device: Device = None,
        base_velocity: ArrayLike | None = None, base_acceleration: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the classical acceleration (angular, linear) of a frame that joint forces cause, of shape (..., 6).

        The sweeps of forward dynamics give it directly. For known joint accelerations, use `acceleration`.
        """
        if self.nc:
            require_tree(self, "tip_acceleration")
        moved = {"base_velocity": base_velocity, "base_acceleration": base_acceleration}
        extra = {"frame": frame, "axes": axes, "external": external, **moved}
        return self._ask("tip_acceleration", (q, v, tau), extra, method, threads, out, device)

    @answers
    def momentum(
        self, q: ArrayLike, v: ArrayLike, frame: str | Frame = _WORLD, threads: Threads = None, out: Out = None, *,
        device: Device = None,
        method: str = "composite-body",
    ) -> Array:  # fmt: skip
        """Return the momentum (angular, linear) of all bodies about a frame's origin, in its axes, of shape (..., 6).

        The default frame is the world, at rest, even if a body has this name. Methods: "composite-body", "body-sum".
        """

    def operational_inertia(
        self, q: ArrayLike, frame: str | Frame, axes: str = "frame", threads: Threads = None, out: Out = None, *,
        device: Device = None,
        tolerance: float | None = None,
    ) -> Array:  # fmt: skip
        """Return the operational-space inertia Lambda = (J M^-1 J^T)^-1 of a frame, of shape (..., 6, 6).

        It exists where the frame can move in all six directions. Elsewhere - fewer than six freedoms between base and
        frame, or a singular position - a `SingularError` names the directions in which the frame cannot move. With a
        `tolerance`, the result is the inertia for the possible motions: the Moore-Penrose inverse
        Lambda = R (R^T J M^-1 J^T R)^-1 R^T with R an orthonormal basis of the range of J, a radian counted as a metre.
        Eigenvalues of J M^-1 J^T (its angular and linear half divided by their traces) below this part of the largest
        count as zero. Lambda gives no force in the other directions: the joints bear every force along them. Without
        a tolerance, positions nearer than about 1e-6 rad to a singular one count as singular.
        """
        return self._movable("operational_inertia", (q,), frame, axes, tolerance, threads, out, device)

    @answers
    def operational_inertia_inverse(
        self,
        q: ArrayLike,
        frame: str | Frame,
        axes: str = "frame",
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return J M^-1 J^T, the response of a frame to forces on it, of shape (..., 6, 6); it always exists."""

    @answers
    def frame_response(
        self,
        q: ArrayLike,
        frame: str | Frame,
        axes: str = "frame",
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return M^-1 J^T, the joint accelerations that unit forces on a frame cause, (..., nv, 6), in order n."""

    def dynamic_inverse(
        self, q: ArrayLike, frame: str | Frame, axes: str = "frame", threads: Threads = None, out: Out = None, *,
        device: Device = None,
        tolerance: float | None = None,
    ) -> Array:  # fmt: skip
        """Return the dynamically consistent inverse M^-1 J^T Lambda of a Jacobian, of shape (..., nv, 6).

        Lambda is the `operational_inertia`. Where a frame cannot move in all six directions, this is a `SingularError`;
        with a `tolerance`, Lambda is the inertia for the possible motions, and J times the result projects on them.
        """
        return self._movable("dynamic_inverse", (q,), frame, axes, tolerance, threads, out, device)

    def operational_bias(
        self, q: ArrayLike, v: ArrayLike, frame: str | Frame, axes: str = "frame", threads: Threads = None,
        out: Out = None, *, device: Device = None, tolerance: float | None = None,
    ) -> Array:  # fmt: skip
        """Return the force at a frame that keeps it from accelerating, against gravity and velocities, (..., 6).

        It is Lambda (J M^-1 C - J' v), with Lambda the `operational_inertia`. Where a frame cannot move in all six
        directions, this is a `SingularError`. With a `tolerance`, Lambda is the inertia for the possible motions: the
        force keeps the frame from accelerating along these, and has no component in the other directions.
        """
        return self._movable("operational_bias", (q, v), frame, axes, tolerance, threads, out, device)

    def _movable(
        self, question: str, states: tuple[ArrayLike, ...], frame: str | Frame, axes: str, tolerance: float | None,
        threads: int | None, out: Array | None, device: Device = None,
    ) -> Array:  # fmt: skip
        """Return an answer that exists where a frame can move in all six ways; elsewhere raise, or use a tolerance."""
        if device is not None:
            with computing_on(device, question):
                return self._movable(question, states, frame, axes, tolerance, threads, out)
        answer: Any = self._ask(question, states, {"frame": frame, "axes": axes}, None, threads, out)
        if not isinstance(answer, np.ndarray):
            if tolerance is not None:
                raise ArgumentError(
                    f"{question}: a `tolerance` is for NumPy arrays; without it, singular states are NaN"
                )
            elsewhere: Array = answer
            return elsewhere
        if tolerance is None and _exists(answer, 1 if question == "operational_bias" else 2):
            return answer
        if self.batch_shape:
            place = self._own_name(frame)

            def of(one: Robot, some: dict[str, Any]) -> tuple[Array]:
                return (one._movable(question, tuple(some.values()), place, axes, tolerance, threads, None),)

            (found,) = by_sets(self, dict(zip(("q", "v"), states, strict=False)), {}, of)
            return stored(question, found, out)
        from .algorithms.operational import movable

        def ask(question: str, *arguments: Any, **options: Any) -> Array:
            return self.kernel(question, **options)(*arguments, threads=threads)

        return movable.answer(ask, self, question, states, self.frame(frame), axes, tolerance, answer)

    def _own_name(self, frame: str | Frame) -> str | Frame:
        """Return the name of a frame of this robot, which each set of parameters places; other frames as they are."""
        found = self.frame(frame)
        return found.name if self._frame_index.get(found.name) == found else found

    @answers
    def bias_force(
        self, q: ArrayLike, v: ArrayLike, external: External | None = None, method: str = "newton-euler",
        threads: Threads = None, out: Out = None, *, device: Device = None, base_velocity: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the joint forces C(q, v) that keep all joint accelerations at zero, of shape (..., nv)."""

    @answers
    def gravity_force(self, q: ArrayLike, threads: Threads = None, out: Out = None, *, device: Device = None) -> Array:
        """Return the joint forces that hold the robot at rest against gravity, of shape (..., nv)."""

    def static_torque(
        self,
        q: ArrayLike,
        external: External | None = None,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return the joint forces that hold the robot at rest against gravity and `external` forces, (..., nv)."""
        # single precision stays single beside zeros of it, in every array library
        still = np.zeros(self.nv, np.result_type(q, np.float32) if isinstance(q, np.ndarray) else np.float32)
        return self.bias_force(q, still, external, threads=threads, out=out, device=device)

    @answers
    def passive_force(
        self,
        q: ArrayLike,
        v: ArrayLike,
        smoothing: ArrayLike = 0.01,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return the joint forces of damping, friction and springs, to be added to the drives' `tau`, (..., nv).

        Coulomb friction is smoothed: at the velocity `smoothing` it is 0.7 of its full force.
        """

    @answers
    def pose(
        self, q: ArrayLike, frame: str | Frame, threads: Threads = None, out: Out = None, *, device: Device = None
    ) -> Array:
        """Return the homogeneous matrix of a frame in the world, of shape (..., 4, 4)."""

    @answers
    def velocity(
        self, q: ArrayLike, v: ArrayLike, frame: str | Frame, axes: str = "frame", threads: Threads = None,
        out: Out = None, *, device: Device = None, base_velocity: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the velocity (angular, linear) of a frame's origin, of shape (..., 6).

        `axes` are the frame's own ("frame") or the world's ("world"); the point is the frame's origin in both.
        """

    @answers
    def acceleration(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, frame: str | Frame, axes: str = "frame",
        kind: str = "classical", threads: Threads = None, out: Out = None, *,
        device: Device = None, base_velocity: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the acceleration (angular, linear) of a frame's origin, without gravity, of shape (..., 6).

        The "classical" kind is the second derivative of the position; the "spatial" kind is the derivative of the
        spatial velocity, as in the papers.
        """

    @answers
    def jacobian(
        self,
        q: ArrayLike,
        frame: str | Frame,
        axes: str = "frame",
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return the Jacobian J of a frame, `velocity(q, v, frame) = J v`, of shape (..., 6, nv).

        Axes: "frame", its own; "world", those of the world, about the frame's origin; "origin", those of the world,
        about the world's origin.
        """

    @answers
    def jacobian_rate(
        self, q: ArrayLike, v: ArrayLike, frame: str | Frame, axes: str = "frame", threads: Threads = None,
        out: Out = None, *, device: Device = None,
    ) -> Array:  # fmt: skip
        """Return the rate of change J' of a frame's Jacobian along a motion, of shape (..., 6, nv)."""

    @answers
    def integrate(
        self,
        q: ArrayLike,
        v: ArrayLike,
        dt: ArrayLike = 1.0,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return the position after the time dt at the constant velocity v, beginning at q, of shape (..., nq)."""

    @answers
    def difference(
        self, q0: ArrayLike, q1: ArrayLike, threads: Threads = None, out: Out = None, *, device: Device = None
    ) -> Array:
        """Return the constant velocity that leads from q0 to q1 in a unit of time, of shape (..., nv).

        Spherical, free and continuous joints go the short way round. Angles of other joints are subtracted: limits may
        be on the short way, and joints that follow others, and screws, are elsewhere after a full turn. For a rolling
        joint, whose path depends on the order of motions, it is the velocity that turns the body as far.
        """

    @answers
    def position_rate(
        self, q: ArrayLike, v: ArrayLike, threads: Threads = None, out: Out = None, *, device: Device = None
    ) -> Array:
        """Return the rate of the positions, dq/dt, at the velocity v, of shape (..., nq)."""

    @answers
    def normalize(self, q: ArrayLike, threads: Threads = None, out: Out = None, *, device: Device = None) -> Array:
        """Return q with quaternions of unit length, of shape (..., nq); loops stay as open as they are."""

    def normalise(self, q: ArrayLike, threads: Threads = None, out: Out = None, *, device: Device = None) -> Array:
        """Return `normalize(q)`, of shape (..., nq): another spelling."""
        return self.normalize(q, threads, out, device=device)

    def project(self, q: ArrayLike, threads: Threads = None, out: Out = None, *, device: Device = None) -> Array:
        """Return the valid position next to q, of shape (..., nq): unit quaternions, and closed loops.

        For a robot without loops it is `normalize(q)`. With loops it is `assemble(q).q`, in NumPy on the CPU, and loops
        that cannot be closed raise an error; `assemble` has more options.

        >>> import ordern as on
        >>> four_bar = on.load("four-bar")
        >>> bool(abs(four_bar.loop_residual(four_bar.project([0.3, 0.0, 0.0]))).max() < 1e-12)
        True
        """
        if not self.nc:
            return self.normalize(q, threads, out, device=device)
        if device is not None:
            raise ArgumentError(
                f"project: {self.name!r} has loops, which are closed on the CPU only; leave out `device`, or call "
                "`normalize`, which leaves loops as they are"
            )
        closed = self.assemble(q).q
        return stored("project", closed, out)

    def interpolate(self, q0: ArrayLike, q1: ArrayLike, s: ArrayLike) -> Array:
        """Return the position at the part s of the way from q0 to q1 at constant velocity, of shape (..., nq).

        s = 0 gives q0, and s = 1 gives q1. An array s (k,) with single positions gives (k, nq).

        >>> import ordern as on
        >>> on.load("double-pendulum").interpolate([0.0, 0.0], [1.0, -1.0], [0.25, 0.5]).tolist()
        [[0.25, -0.25], [0.5, -0.5]]
        """
        return self.integrate(q0, self.difference(q0, q1), s)

    def distance(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """Return the norm of `difference(q0, q1)`, of the batch shape; it adds radians and metres."""
        apart: Any = self.difference(q0, q1)
        return (
            np.asarray(np.linalg.norm(apart, axis=-1)) if isinstance(apart, np.ndarray) else (apart**2).sum(-1) ** 0.5
        )

    def same_position(self, q0: ArrayLike, q1: ArrayLike, tolerance: float = 1e-12) -> Array:
        """Return whether no entry of `difference(q0, q1)` exceeds the tolerance, as booleans of the batch shape.

        A quaternion and its negative are the same position, and so are angles of continuous joints that differ by full
        turns; those of other joints are not.
        """
        apart: Any = abs(self.difference(q0, q1)) <= positive(tolerance, "tolerance", zero=True)
        return np.asarray(apart.all(axis=-1)) if isinstance(apart, np.ndarray) else apart.all(-1)

    @delegated("simulate.simulate", sets=True)
    def simulate(
        self, q0: ArrayLike | None = None, v0: ArrayLike | None = None, tau: Any = None, until: ArrayLike = 1.0, *,
        method: str | None = None, step: float | None = None, rtol: float = 1e-10, atol: float = 1e-10,
        tolerance: str = "motion", events: Sequence[Event] = (), limits: str | None = None, restitution: float = 0.0,
        external: External | Table | Mapping[str, ArrayLike | Table] | Callable[..., External] | None = None,
        dynamics: str | None = None, smoothing: float = 0.01, dense: bool = True,
        checkpoint: str | os.PathLike[str] | None = None, progress: bool | Callable[[float], Any] | None = None,
        max_steps: int = 10_000_000, native: bool | None = None, drift: str | tuple[float, float] = "project",
        switches: Sequence[Switch] = (), contacts: str | None = None,
    ) -> Result:  # fmt: skip
        """Return the motion from a state (at rest in the neutral position unless given), until a time in seconds.

        `until` may be a list of times: then these are the samples of the result, by dense output; otherwise every step
        is one. `tau` are joint forces: None, an array (nv,), a `Table(t, values)` or pair (t, values), a function
        f(t, q, v), or a controller; one with a `period` is called once in each, and its forces are held. `external`
        forces on bodies are as for `forward_dynamics`, a `Table` of such, or a function of (t, q, v) that returns such;
        in a dictionary, the force on a frame may be a `Table` of (moment, force).

        Methods: "dormand-prince-8" (the default), "dormand-prince", "cash-karp" (adaptive), "radau" (adaptive, for
        stiff springs and dampers), "rk4", "semi-implicit-euler" and "variational" (structure-preserving) with a fixed
        `step`; for the others `step` is the longest. The error of each step is kept below a share of
        `atol + rtol |y|`, on the average of y = (q, v): from 0.003 to 0.1 by the method, since errors add up and
        motions magnify them, so that the state after some swings is within the tolerance. A chaotic motion leaves any
        tolerance in the end. With `tolerance="step"` it is kept below all of it, as SciPy and MATLAB do: fewer steps,
        and a larger error in all.

        `events` are noticed where a function of the motion changes sign. `limits` of joints are "ignore", by default
        (they are reported), "stop" (the end of the run), or "bounce" with a coefficient of `restitution`, and rest.
        Dampers, springs and friction of the model act, friction smoothed as in `passive_force`. `dynamics` is the
        method of `forward_dynamics`; the usual one unless it is given. Without `dense` the result keeps no motion
        between its samples.

        Loops and couplings of the model are kept closed. The start must be closed (next to the neutral position unless
        given), and its velocities must keep it so. Against `drift`, positions and velocities are projected after each
        step ("project"), or pulled back by forces ("baumgarte", or (alpha, beta) in 1/s), or nothing is done ("none").
        `switches` open and close loops on the way. `report.loops` has how well loops were kept, and singular
        positions; `result.loop_residuals` and `result.loop_forces(name)` are series of both. "variational" is for
        trees.

        Robots `with_contacts` need a model of them: `contacts="compliant"` are springs and dampers, with smoothed
        friction, by the method "radau" unless another is given; joints with limits "bounce" unless told otherwise.
        "rigid" contacts go from impact, slip and rest to the next, exactly but slowly; limits of joints "stop" the run.
        The result has series "force.<contact>" and "gap.<contact>", and events of touching, leaving, sticking and
        slipping; `report.contacts` says what it can be held to.

        A run with a `checkpoint` file can be killed: calling the same again goes on where it was, with the same result.
        The file knows the run by its robot, state, settings, forces and events: functions and controllers by all that
        they hold, or by a text `fingerprint` of your own. Another run is refused. That a function has no memory of its
        own is up to you. `progress` is True for a bar with the time left (plain lines in a log), or a function of the
        fraction done. Whatever ends a run before its time (a state that is not finite, steps that become too small,
        Ctrl-C) is in `result.report` and a warning; the motion so far is kept. Forces that are no Python functions run
        as machine code, unless `native` is False.

        A robot with sets of parameters returns an array of results of its `batch_shape`; states and constant forces
        with this leading shape are those of each set. They run one after the other; `Ensemble` runs them on all cores.

        >>> import ordern as on
        >>> result = on.load("double-pendulum").simulate([1.0, 0.0], until=2.0)
        >>> result.report.energy_drift < 1e-8
        True
        """

    @delegated("simulate.rollout", sets=True, differentiable=True)
    def rollout(
        self, q0: ArrayLike, v0: ArrayLike, tau: ArrayLike | None = None, steps: int | None = None, dt: float = 1e-3,
        *, method: str = "semi-implicit-euler", every: int = 1,
        feedback: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None, policy: Callable[..., Any] | None = None,
        hold: int = 1, noise: Mapping[str, Any] | None = None, seed: Any = 0, external: External | None = None,
        dynamics: str | None = None, smoothing: float = 0.01, drift: str = "baumgarte", limits: str | None = None,
        restitution: float = 0.0, events: Event | Sequence[Event] | None = None, threads: Threads = None,
        out: tuple[Array, Array] | None = None, progress: bool | Callable[[float], Any] | None = None,
        device: Device = None, contact_friction: ArrayLike | None = None, ground_height: ArrayLike | None = None,
        contact_impulses: ArrayLike | None = None, effort: str = "clip",
    ) -> Rollout:  # fmt: skip
        """Return trajectories of a batch of states in steps of `dt`, in native code: `q, v, t = robot.rollout(...)`.

        q and v have the shapes (..., 1 + steps // every, n): the initial state, and every `every`-th after it. Joint
        forces `tau` are constant, (..., nv), or have a row for each step, (..., steps, nv), held during the step: then
        they have two dimensions more than the states' batch, and a table for all of a batch is tau[None]. The method is
        "semi-implicit-euler", "plain-euler" (the same with explicit forces: MuJoCo's Euler without `eulerdamp`), "rk4",
        "dormand-prince", "cash-karp" or "dormand-prince-8", all with fixed steps. The first one steps linear velocities
        of free and planar joints along fixed axes, as MuJoCo's Euler does. It treats
        damping, the gains of `feedback` and gyroscopic torques implicitly; joints of one freedom stop at their limits
        (`limits="active"`), and dry friction sticks or slips, exactly: `certificate` of the result tells how exactly,
        and `stop_impulses` has the impulses. `limits="ignore"` lets joints leave their limits. All other methods have
        explicit forces and smoothed friction, and ignore limits, as do steps with a method of forward `dynamics`, with
        `drift="project"`, of robots with both loops and mimic joints, and of more than 60 freedoms: `notes` of the
        result says so. `feedback=(kp, kd, target)` adds kp (target - q) - kd v at every stage, with positions (...,
        nq) or (..., steps, nq) as the target, within the effort limits of the joints (`effort="clip"`), or without
        limits (`effort="ignore"`). A `policy` is a function of the states (q, v) of the whole batch, or of (t, q, v),
        that returns joint forces (..., nv), which are added to `tau`. It is called once in each control step of `hold`
        steps, and its forces are held; a controller is a policy, too. `noise` has standard deviations of what the
        policy sees, and of the forces: {"q": 1e-3, "v": 1e-2, "tau": 0.1}, each a number, nv numbers, or numbers by
        joints; a new draw for each trajectory and control step, from `seed`. `external` forces on bodies are as for
        `forward_dynamics`, constant, or with a row for each step. Damping, friction and springs act. A trajectory that
        is no longer finite stays so. `diverged` of the result flags these, and those in which a joint is faster than
        ten times its velocity limit, or than 200 rad/s or 100 m/s without one; `diverged_at` has the first such state.
        With `limits="bounce"`, joints of a tree that end a step beyond a limit are set back to it and bounce with a
        coefficient of `restitution`, or rest, within an error of the order of dt; forces are explicit then. A GPU
        (`device="cuda"`) takes steps without events, bounces and projections. Robots `with_contacts` touch the ground
        and each other; then `contact_friction` and `ground_height` are numbers, or have one for each contact, (...,
        contacts) or (..., 1). The solver of the first step begins with `contact_impulses`, such as the last ones of an
        earlier rollout.

        `events` are noted in each trajectory: `run.events["name"]` has the time and the state of the first crossing,
        and the number of all. A `terminal` event ends its trajectory: later rows repeat the state at the event, and the
        others are not affected. The function of an event is called once, with symbols, and compiled with the steps: see
        `Event`. The step in which it changes sign is taken again, shortened to end at the event, so time and state have
        the accuracy of the method. A function that changes sign twice within one step is not noticed.

        In implicit steps, loops are closed again at the end of each. In others, they are kept closed by Baumgarte's
        stabilisation, within what the steps' errors leave after 50 ms: with rk4 at 1 ms some 1e-9 m. With
        `drift="project"` the end of each step is projected onto closed positions and velocities, as in `simulate`, to
        1e-12 m; a trajectory for which this is not possible goes on as NaN. Singular positions are not watched as in
        `simulate`. The start must be closed. `progress` shows how far a long call is, as in `simulate`.
        """

    def builder(self) -> Builder:
        """Return a builder with the parts of this robot, to be changed and built again."""
        return Builder.of(self)

    def lock(self, *joints: str, at: Mapping[str, ArrayLike] | None = None) -> Robot:
        """Return a robot in which some joints are fixed: at the neutral position, or at the positions in `at`.

        >>> import ordern as on
        >>> on.load("puma560").lock("wrist_pitch", "flange_roll", at={"waist": 0.5}).nv
        3
        """
        require_one_set(self, "lock")
        builder = self.builder()
        for name, q in {**dict.fromkeys(joints), **(at or {})}.items():
            builder.lock(name, q)  # type: ignore[arg-type]
        return builder.build(snap=self.snap)

    def attach(
        self, other: Model | ModelBuilder | Body | str, to: str | Frame, *, at: Placement | ArrayLike = (0.0, 0.0, 0.0),
        joint: Joint | None = None, joint_name: str | None = None, prefix: str | None = None, merge: bool | None = None,
        **terms: Any,
    ) -> Robot:  # fmt: skip
        """Return a robot with another robot, a tool or a payload at the place `at` in the frame `to`.

        `other` is a robot, a `Body`, or the name of a new body with `mass`, `com` and `inertia`. It is fixed to the
        frame, or moved by a `joint`. `prefix`, `joint_name` and the further keywords (`terms`) are as for
        `Builder.attach`. What is fixed becomes part of its body unless `merge` is False; by default, it is kept apart
        if this robot keeps fixed joints apart. Joints of the other robot follow those of the body that carries it, so
        places in q may change: `robot.joint(name).q` has them.

        >>> import ordern as on
        >>> arm = on.load("puma560")
        >>> loaded = arm.attach("payload", to="flange", mass=2.0, com=(0, 0, 0.1), inertia=(0.01, 0.01, 0.01))
        >>> round(loaded.mass - arm.mass, 12)
        2.0
        >>> arm.attach(on.load("double-pendulum"), to="flange").nq
        8
        """
        require_one_set(self, "attach")
        frame = self.frame(to)
        host = self.base if frame.body == BASE else self.bodies[frame.body].name
        place = frame.placement @ placement(at, "attach")
        builder = self.builder()
        builder._occupy(frame.name)
        builder.attach(other, host, at=place, joint=joint, joint_name=joint_name, prefix=prefix, **terms)
        apart = any(isinstance(c.type, Fixed) for c in self.joints)
        return builder.build(merge=not apart if merge is None else merge, snap=self.snap)

    def with_actuated(self, joints: Iterable[str] | None) -> Robot:
        """Return the same robot with motors at these joints, by their names; None stands for the default.

        See `actuated`. Compiled functions serve both robots.

        >>> import ordern as on
        >>> on.load("planar-3r").with_actuated(["joint1", "joint2"]).actuated
        ('joint1', 'joint2')
        """
        return Robot.of(replace(self, motors=joints), self._kernels)  # type: ignore[arg-type]

    def with_contacts(
        self, ground: Ground | None = None, *, points: Any = None, bodies: Iterable[str] | None = None,
        pairs: Iterable[Sequence[str]] = (), self_collision: bool = False, friction: float | None = None,
        restitution: float | None = None, limits: bool = True, sweeps: int = 10, settled: float = 1e-11,
        smooth: float = 0.0, stiffness: float | None = None, dissipation: float | None = None, slip_speed: float = 1e-4,
        convex: bool = False, scene: bool | None = None,
    ) -> Robot:  # fmt: skip
        """Return the same robot with rigid contacts, which `rollout` solves for in each step.

        `points` are frames that touch the `ground`: names, (name, radius) for spheres, or a dictionary of radii.
        Without points, all collision shapes of moving `bodies` touch it, or those of the bodies named: spheres,
        capsules (two spheres), boxes (eight corners), cylinders (four points), and of meshes on bodies that are named
        at most 16 corners of the hull. `pairs` are bodies whose shapes touch each other, such as
        ("finger", "box"): spheres, capsules and boxes. With `self_collision`, all shapes touch each other by the rules
        of the file: its bits and exclusions, and not where a joint connects their bodies. By the same rules, moving
        bodies touch the static geometry of the `scene` (shapes on the base, such as tables and stairs): by default
        unless `points` or `pairs` are given, with True in any case, with False never. `friction` and
        `restitution` are those of contacts between bodies; by default those of the file, or 0.8 and 0. Those of
        the ground are its own. With `limits`,
        joints of one freedom stop at their limits, in the same solver. `sweeps` are its iterations in a step: more of
        them make a step more exact. They end in states where they change velocities by less than `settled` in m/s; zero
        is for all sweeps. With neither ground nor pairs, the ground is the plane of the file, by the rules
        and the friction of the file. A speed `smooth` in m/s makes contacts push at a distance, so that gradients know
        of them before they touch: a body accelerates by smooth^2 / gap.

        `stiffness` (N/m^1.5), `dissipation` (s/m) and `slip_speed` (m/s) are those of compliant contacts, see
        `simulate`. The usual stiffness lets the robot's weight sink by 0.1 mm on one contact; the usual dissipation
        gives contacts that approach at 1 m/s their restitution, at least 0.05. Friction is smoothed below the slip
        speed.

        With `convex`, bodies of `pairs` and `self_collision` touch with their whole convex shapes: boxes, spheres,
        capsules, cylinders, ellipsoids and hulls of meshes, edges too. Ellipsoids and hulls then also touch a ground
        that is a plane. Only `simulate(contacts="compliant")` handles such contacts. Those between bodies need the
        package coal: `pip install ordern[convex]`.

        `linearise` refuses robots with contacts; functions that are not of motions ignore them. A robot that is built
        from this one, such as by `attach`, has none.

        >>> import ordern as on
        >>> ball = on.Builder("ball")
        >>> _ = ball.body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
        >>> robot = ball.build(floating=True).with_contacts(on.Ground(friction=0.5), points={"ball": 0.1})
        >>> run = robot.rollout([1, 0, 0, 0, 0, 0, 0.1], [0, 0, 0, 1, 0, 0], steps=1000, dt=1e-3)
        >>> round(float(run.v[-1, 1] * 0.1), 6)  # it rolls at 5/7 of its speed
        0.714286
        """
        from .contact.choosing import chosen_contacts
        from .contact.softness import smoothed, softened

        require_one_set(self, "with_contacts")
        given = ground, points, bodies, pairs, self_collision, friction, restitution, limits, sweeps
        found = smoothed(chosen_contacts(self, *given, convex, scene), smooth, settled)
        return Robot.of(with_other_contacts(self, softened(found, stiffness, dissipation, slip_speed)))

    @delegated("contact.stepping", composed=True, placed=True)
    def contact_step(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, dt: float = 1e-3, *,
        impulses: ArrayLike | None = None, stops: ArrayLike | None = None, friction: ArrayLike | None = None,
        height: ArrayLike | None = None, device: Device = None,
    ) -> ContactStep:  # fmt: skip
        """Return the state after one step with contacts, the impulses of the step, and how exact it is.

        `impulses` (..., contacts, 3) and `stops` (..., nv) are those from which the solver starts, best the ones of the
        step before. `friction` and `height` of the ground are numbers, or have one for each contact, (..., contacts).
        Dry friction of the joints is part of it, and their damping is implicit. Add other passive forces to `tau`, as
        `rollout` does: `passive_force(q, v, smoothing=np.inf)` has damping and springs without dry friction.
        `robot.vjp("contact_step", ...)` and the like come from the equations of the contacts, not from the iterations
        of the solver: they are exact where no contact is about to part, stick or slip.

        >>> import ordern as on
        >>> ball = on.Builder("ball")
        >>> _ = ball.body("ball", mass=2.0, inertia=(0.004, 0.004, 0.004))
        >>> robot = ball.build(floating=True).with_contacts(on.Ground(), points={"ball": 0.1})
        >>> step = robot.contact_step([1, 0, 0, 0, 0, 0, 0.1], [0, 0, 0, 0, 0, 0], dt=1e-3)
        >>> round(float(step.impulses[0, 2]), 5)  # its weight for a millisecond
        0.01962
        """

    @delegated("contact.points")
    def contact_points(self, q: ArrayLike, *, height: ArrayLike | None = None) -> ContactPoints:
        """Return where the contacts are: their points, axes and gaps, for any batch of positions.

        `height` of the ground is as in `contact_step`.

        >>> import ordern as on
        >>> ball = on.Builder("ball")
        >>> _ = ball.body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
        >>> robot = ball.build(floating=True).with_contacts(on.Ground(), points={"ball": 0.1})
        >>> found = robot.contact_points([1, 0, 0, 0, 2, 3, 0.15])
        >>> found.points.tolist(), round(float(found.gap[0]), 9)
        ([[2.0, 3.0, 0.04999999999999999]], 0.05)
        """

    @delegated("contact.forces")
    def contact_forces(
        self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None, *,
        friction: ArrayLike | None = None, height: ArrayLike | None = None, touching: ArrayLike | None = None,
        iterations: int = 500,
    ) -> ContactForces:  # fmt: skip
        """Return the forces of contacts and motors that cause a motion (q, v, a), for any batch.

        Contact forces stay in their friction cones, and balance the freedoms without motors, such as those of a trunk
        that floats, by least squares; among equal balances they are the smallest. `residual` is what no contact can
        balance: zero if the motion is possible. Contacts within 1 mm of the ground carry forces, or those that are
        `touching`. `friction` and `height` are as in `contact_step`. More `iterations` are more exact.

        >>> import numpy as np, ordern as on
        >>> robot = on.load("quadruped")
        >>> q = np.array(on.robots.positions("quadruped")["stand"])
        >>> feet = ["lf_foot", "rf_foot", "lh_foot", "rh_foot"]
        >>> found = robot.with_contacts(on.Ground(), points=feet).contact_forces(q, touching=[True] * 4)
        >>> round(float(found.forces[:, 2].sum() / 9.81), 3), bool(found.residual < 1e-3)
        (16.4, True)
        """

    @delegated("contact.whole_body")
    def whole_body(
        self, q: ArrayLike, v: ArrayLike | None = None, tasks: Task | Iterable[Task] = (), *,
        touching: ArrayLike | None = None, friction: ArrayLike | None = None, height: ArrayLike | None = None,
        effort: ArrayLike | None = None, least: float = 1e-6,
    ) -> WholeBody:  # fmt: skip
        """Return the motion that fulfils `tasks` best, its motor forces and its contact forces, for any batch.

        Tasks are those of `on.tasks`. Contacts within 1 mm of the ground, or those that are `touching`, stick, and
        their forces stay in their friction cones. Motor forces are within the effort limits of the joints, or within
        `effort`, a number or nv of them. Among equal motions the forces are the smallest: `least` is their weight.
        `status` tells where no motion is possible. `friction` and `height` are as in `contact_step`. This needs the
        package clarabel: `pip install ordern[whole-body]`.

        >>> import numpy as np, ordern as on
        >>> feet = ["lf_foot", "rf_foot", "lh_foot", "rh_foot"]
        >>> robot = on.load("quadruped").with_contacts(on.Ground(0.6), points=feet)
        >>> q = np.array(on.robots.positions("quadruped")["stand"])
        >>> aside = on.tasks.CentreOfMass(acceleration=[0, 1, 0])
        >>> found = robot.whole_body(q, tasks=[aside])              # doctest: +SKIP
        >>> found.forces.sum(axis=0) / robot.mass                   # doctest: +SKIP
        array([0.  , 1.  , 9.81])
        """

    def without_contacts(self) -> Robot:
        """Return the same robot without the contacts of `with_contacts`."""
        return Robot.of(with_other_contacts(self, None))

    @delegated("control.inverse_kinematics", kinematic=True)
    def inverse_kinematics(
        self, pose: ArrayLike | Mapping[str, ArrayLike], frame: str | Frame | None = None, q0: ArrayLike | None = None,
        *, limits: bool = True, damping: float = 1e-3, tolerance: float = 1e-9, steps: int = 100,
        weights: ArrayLike | Mapping[str, ArrayLike] | None = None, restarts: int = 0, null: ArrayLike | None = None,
        rng: np.random.Generator | int | None = 0,
    ) -> tuple[Array, Reach]:  # fmt: skip
        """Return positions in which frames have given poses, (q, info), for any batch, by damped least squares.

        `pose` is (..., 4, 4) for one frame, or a dictionary of such by the names of frames that have to be reached
        together. The search starts at q0 (near the neutral position if not given), respects the joints' limits unless
        `limits` is False, and starts again at up to `restarts` random positions where it gets stuck. `weights` are six
        for each frame, (angular, linear) in the target's axes; a weight of zero leaves a direction free: (0, 0, 0, 1,
        1, 1) is for the position only. A target counts as reached when the norm of all weighted residuals, in rad and
        m, is within `tolerance`. With `null`, freedoms that are left over bring q as near to that position as they can.
        `info` tells which targets were reached, how far the others are off, and whether limits or a singular position
        stand in the way.

        >>> import ordern as on
        >>> arm = on.load("puma560")
        >>> q, info = arm.inverse_kinematics(arm.pose([0.1, 0.5, -0.3, 0.2, 0.4, 0.1], "flange"), "flange")
        >>> bool(info.reached), bool(info.distance < 1e-9)
        (True, True)
        """

    @delegated("operators", composed=True)
    def operators(self, q: ArrayLike, v: ArrayLike | None = None) -> Operators:
        """Return the papers' spatial operators of a tree at one state: H, phi, psi, M, P, D, K and others.

        Robots with loops or mimic joints are refused: the algebra is that of a tree. `robot.opened()` is the tree of a
        robot with loops. Contacts do not matter.
        """

    @delegated("check")
    def check(self) -> Report:
        """Return a report on doubtful properties of this robot: masses, inertias, joints, limits, loops, units."""

    @delegated("view", "show", kinematic=True)
    def view(
        self, q: ArrayLike | None = None, *, motion: Any = None, save: str | os.PathLike[str] | None = None,
        port: int | None = None, browser: bool | None = None, wait: bool | None = None,
        paths: Sequence[str | Frame] | None = None, external: External | None = None, origins: Sequence[str] = (),
        size: tuple[int, int] = (800, 600), look_from: ArrayLike | None = None,
    ) -> Viewer | None:  # fmt: skip
        """Show the robot in the browser, at a position or in motion; or `save` it in one HTML file that plays offline.

        In a notebook, the page is the output of the cell, and stays in it; there, `browser=True` opens a tab as well.

        `motion` is the result of a simulation, or a pair (t, q). `port` is that of the server, `paths` are the frames
        whose paths are drawn, `external` forces are drawn as arrows. Scripts wait for Ctrl-C, unless `wait` is False.
        `origins` are further addresses that may connect, such as a proxy.

        `save` also writes a picture (.png, .jpg, .webp), or a film of the motion (.gif, .mp4 and others, for which
        `result.animate` has more options), of `size` pixels, from the direction `look_from`. This needs no browser.
        """

    def plot(self, motion: Result, *what: str, **options: Any) -> Any:
        """Return a figure of a motion of this robot: `motion.plot(*what, ...)`. See `ordern.plot.motion`."""
        from .plot import motion as draw

        return draw(motion, *what, **options)

    @delegated("io.export_urdf")
    def to_urdf(self, *, lossy: bool = False) -> str:
        """Return the robot as URDF text. What URDF lacks is an error; with `lossy` it is left out and listed."""

    @delegated("io.export_mjcf")
    def to_mjcf(self, *, lossy: bool = False) -> str:
        """Return the robot as MJCF text. What MJCF lacks is an error; with `lossy` it is left out and listed."""

    @delegated("io.writing")
    def save(self, path: str | os.PathLike[str], *, lossy: bool = False, in_place: bool = False) -> None:
        """Write the robot to a file: URDF or MJCF, by its suffix. The file is complete or not written at all.

        It is an error if the format cannot express a part of the dynamics; with `lossy` that part is left out. With
        `in_place`, the new file is the one that the robot was loaded from, comments and all, with other numbers where
        those of the robot differ: inertias, damping, friction, armature (MJCF) and placements of joints (URDF).
        """

    def kernel(
        self, question: str, method: str | None = None, *, present: Sequence[str] = (), way: str | None = None,
        **options: Any,
    ) -> Kernel:  # fmt: skip
        """Return the compiled function of a question, made on first use.

        `present` names the optional arguments that it takes, in their order; `way` is "interpreted", "unrolled",
        "rolled", or None to let the number of operations decide; `options` are settings such as the frame.
        """
        return self._kernels.kernel(question, method, present, way, **options)

    def _forces(self, external: External) -> Array:
        """Return external forces as one array (..., n, 6), each in its body's frame."""
        return np.asarray(external_forces(self, external))


@explained_methods
class Builder(ModelBuilder):
    """Builds a robot from bodies, joints and frames, in any order.

    >>> import ordern as on
    >>> pendulum = (
    ...     on.Builder("pendulum")
    ...     .body("base")
    ...     .body("bob", parent="base", joint=on.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -0.5))
    ...     .build()
    ... )
    >>> round(float(pendulum.forward_dynamics([0.1], [0.0], [0.0])[0]), 3)
    -1.959
    """

    def build(self, *, floating: bool | Joint = False, merge: bool = True, snap: float = 1e-11) -> Robot:
        """Return the robot: checked, in order from the root outward, bodies behind fixed joints merged into parents.

        With `floating` the root gets a free joint, or the given joint. `merge=False` keeps bodies behind fixed joints.
        Entries of placements within `snap` of 0 or +-1 become exactly that; 0 turns it off.
        """
        return Robot.of(super().build(floating=floating, merge=merge, snap=snap))


def _exists(answer: Array, core: int) -> bool:
    """Return True if an answer about a frame, with `core` dimensions of its own, exists in every state.

    Where it does not exist, the first number of the state is NaN, as others are.
    """
    if answer.ndim == core and answer.size:
        return not math.isnan(answer.item(0))
    if not answer.size:
        return False
    first = answer[..., 0, 0] if core == 2 else answer[..., 0]
    if first.ndim == 1 and first.size < _FEW:  # the quickest sum of a few numbers
        return not math.isnan(first.dot(first))
    return not math.isnan(first.sum())
