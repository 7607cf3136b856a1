# mypy: disable-error-code="empty-body"
"""The methods of `Robot` that are about closed loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.closed_loop.rank import TOLERANCE
from ..arguments import choice
from ..errors import ArgumentError
from ..kernel.declarations import Answering, Array, Device, Out, Threads, answers, delegated
from ..kernel.place import computing_on
from ..model.parameter_sets import for_kinematics

if TYPE_CHECKING:
    from ..robot import Robot
    from .assemble import Assembly
    from .consistent import Check
    from .inverse import Actuation
    from .mobility import Mobility
    from .motion import ClosedMotion

__all__ = ["LoopMethods"]


class LoopMethods(Answering):
    """Closed loops, as methods of a robot."""

    @answers
    def loop_residual(
        self,
        q: ArrayLike,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
        t: ArrayLike | None = None,
    ) -> Array:
        """Return the residuals of loops, of shape (..., nc): metres and, for small angles, radians.

        The rows are those of the active loops, then of the couplings; `loop_rows` has the rows of each. Rows that
        constrain only velocities (rolling; see `loop_holonomic`) are zero. `t` is the time, for driven loops.
        """

    @answers
    def loop_rate(
        self,
        q: ArrayLike,
        v: ArrayLike,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
        t: ArrayLike | None = None,
    ) -> Array:
        """Return the rates of the residuals of loops, of shape (..., nc): K v plus the rate at constant positions."""

    @answers
    def loop_jacobian(
        self,
        q: ArrayLike,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
        t: ArrayLike | None = None,
    ) -> Array:
        """Return the constraint Jacobian K of the loops, of shape (..., nc, nv): forces K^T lambda close them."""

    @answers
    def loop_bias(
        self,
        q: ArrayLike,
        v: ArrayLike,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
        t: ArrayLike | None = None,
    ) -> Array:
        """Return the vector k of the constraints K a + k = 0 on accelerations, of shape (..., nc)."""

    @answers
    def loop_wrenches(
        self,
        q: ArrayLike,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
        t: ArrayLike | None = None,
    ) -> Array:
        """Return for each row of K the (moment, force) on the loop's child that lambda scales, of shape (..., nc, 6).

        It is in the loop's frame on the child; the parent gets the opposite. Rows of couplings are zero.
        """

    def loop_coordinates(
        self, q: ArrayLike, threads: Threads = None, out: Out = None, *, device: Device = None
    ) -> Array:
        """Return the positions of the joints that close loops, of shape (..., sum of their nq), loop after loop.

        Angles are within half a turn of zero. For an open loop they are those of a closed one next to it. Joints in
        series cannot reach every pose without a residual (an elbow may be too short): there they are NaN. Loops without
        coordinates (`Distance`, a rod between two balls) are left out: `robot.loop_table.loops` has the indices of each
        loop.
        """
        from .coordinates import bounded_loops, loop_coordinates

        robot = cast("Robot", self)
        if bounded_loops(robot):
            with computing_on(device, "loop_coordinates"):
                return loop_coordinates(robot, q, threads, out)
        return self._ask("loop_coordinates", (q,), {}, None, threads, out, device)

    @answers
    def loop_velocities(
        self, q: ArrayLike, v: ArrayLike, threads: Threads = None, out: Out = None, *, device: Device = None
    ) -> Array:
        """Return the velocities of the joints that close loops, of shape (..., sum of their nv), loop after loop."""

    def loop_force(
        self,
        q: ArrayLike,
        along: ArrayLike | Mapping[str, ArrayLike],
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return the joint forces (..., nv) equivalent to forces `along` joints that close loops; add them to `tau`.

        `along` has a number for each freedom of these joints, in the order of `loop_velocities`: a drive's force. Or it
        is a dictionary of forces by names of loops; the forces of other loops are zero.
        """
        if isinstance(along, Mapping):
            from .dynamics import along as forces_along

            along = forces_along(cast("Robot", self), along)
        return self._ask("loop_force", (q, along), {}, None, threads, out, device)

    @answers
    def loop_passive_force(
        self,
        q: ArrayLike,
        v: ArrayLike,
        smoothing: ArrayLike = 0.01,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return joint forces (..., nv) of damping, friction and springs of joints that close loops."""

    def opened(self) -> Robot:
        """Return the same robot without its loops and couplings: a tree."""
        return self._reclosed(loops=(), couplings=())

    def with_loops(self, active: Mapping[str, bool] | Sequence[str]) -> Robot:
        """Return the same robot with some loops closed and others open: flags by name, or a list of the closed ones.

        Couplings are switched by name, too; couplings that are not named stay as they are. All these robots share the
        compiled functions of the tree.

        >>> import ordern as on
        >>> four_bar = on.load("four-bar")
        >>> four_bar.with_loops({"pin": False}).nc, four_bar.with_loops(["pin"]).nc
        (0, 2)
        """
        robot = cast("Robot", self)
        names = [x.name for x in robot.constraints]
        listed = isinstance(active, Mapping)
        for name in [active] if isinstance(active, str) else active:
            choice("loop", name, names, robot.name)
        if isinstance(active, str):
            raise ArgumentError(f"with_loops: give a list of names, [{active!r}], or a dictionary {{{active!r}: True}}")
        if isinstance(active, Mapping):
            for name, flag in active.items():
                if not isinstance(flag, (bool, np.bool_)):
                    raise ArgumentError(f"with_loops: loop {name!r} is closed, True, or open, False; not {flag!r}")
        on = {n: bool(active[n]) for n in active} if isinstance(active, Mapping) else dict.fromkeys(active, True)
        loops = (replace(x, active=on.get(x.name, x.active if listed else False)) for x in robot.loops)
        couplings = (replace(x, active=on.get(x.name, x.active)) for x in robot.couplings)
        return self._reclosed(loops=tuple(loops), couplings=tuple(couplings))

    def _reclosed(self, **loops: Any) -> Robot:
        """Return a robot that differs in its loops only; it shares what was compiled for the tree."""
        robot = cast("Robot", self)
        return type(robot).of(replace(robot, **loops), robot._kernels)

    @delegated("loops.dynamics", sets=True, placed=True, differentiable=True)
    def closed_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: Any = None, method: str | None = None, *,
        t: ArrayLike | None = None, stabilise: bool | tuple[float, float] | None = None,
        loop_forces: Mapping[str, ArrayLike] | None = None, tolerance: float = TOLERANCE, rank: int | None = None,
        base_velocity: ArrayLike | None = None, base_acceleration: ArrayLike | None = None, check: Check = True,
        device: Device = None,
    ) -> ClosedMotion:  # fmt: skip
        """Return the motion of a robot with loops that joint forces cause: accelerations, and forces in the loops.

        Methods: "multipliers" (forces in the loops first, compiled), "kkt" (all at once), "null-space" (in the motions
        that loops allow; bodies may be massless), "null-space-elimination" (the same, in some of the joint
        accelerations), "proximal" (linear cost for many loops to the ground), "virtual-work" (links set free, and all
        joints added, those that close loops last). All handle constraints that depend on each other: the accelerations
        are those of the mechanism, the multipliers the ones of least norm, and the result knows the rank. `tolerance`
        is the part of the largest singular value below which one counts as zero; a `rank` that is known from a closed
        position may be given, so that positions a little off do not change it.

        `stabilise` pulls loops that have drifted open back (Baumgarte): True, or (alpha, beta) in 1/s. It changes the
        motion and its energy, and is off by default. `loop_forces` are forces of
        drives in joints that close loops, by their names. `t` is the time, where loops are driven.

        A state in which loops are open, or velocities open them, is an `InconsistentStateError`: by more than 1e-3 of
        the way around the loop and of how fast its joints move (2e-3 in single precision). `check` may be another
        tolerance, or False for none; with `stabilise` there is none.

        >>> import ordern as on
        >>> four_bar = on.load("four-bar")
        >>> q = four_bar.assemble().q
        >>> motion = four_bar.closed_dynamics(q, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
        >>> int(motion.rank), bool(motion.residual < 1e-9)
        (2, True)
        """

    @delegated("loops.assemble", sets=True)
    def assemble(
        self, q: ArrayLike | None = None, keep: Iterable[str] = (), t: float = 0.0, *,
        weights: ArrayLike | Mapping[str, float] | None = None, limits: bool = True, tolerance: float = 1e-12,
        steps: int = 100, restarts: int = 0, rng: np.random.Generator | int | None = 0, check: bool = True,
    ) -> Assembly:  # fmt: skip
        """Return positions near q in which all loops are closed, `robot.assemble(q).q`, for any batch.

        The joints in `keep` stay where they are. Limits of joints, also of those that close loops, are respected unless
        `limits` is False. Joints with a larger entry in `weights`, (nv,) or by name, move less. The neutral position is
        the start unless q is given; if the search fails after `steps` steps, up to `restarts` random starts are tried.
        Loops that cannot be closed are an error that names them, unless `check` is False: then the result has how close
        the search came. The search is in double precision; q of the result is in single precision if the given q is.
        A robot with sets of placements has a position for each set.
        """

    def close(self, q: ArrayLike, t: float = 0.0, steps: int = 10, tolerance: float = 1e-12) -> tuple[Array, Array]:
        """Close positions that are nearly closed by a few Newton steps without limits.

        Return the positions (..., nq), and which of them are closed, of the batch's shape. This is a short form of
        `assemble`, for positions that have drifted in a simulation.
        """
        from .assemble import close
        from .kernels import in_single, numbers

        robot = for_kinematics(cast("Robot", self), "close")
        given = numbers("q", q, robot.nq)
        found, ok = close(robot, given.reshape(-1, robot.nq), t, steps, tolerance)
        found = found.astype(np.float32) if in_single(q) else found
        return found.reshape(given.shape), ok.reshape(given.shape[:-1])

    @delegated("loops.mobility", kinematic=True)
    def mobility(self, q: ArrayLike, t: float = 0.0, tolerance: float = TOLERANCE, *, check: Check = True) -> Mobility:
        """Return the mobility in a position: freedoms, independent and redundant constraints, possible motions.

        A position that is not closed is an error; `check` is as in `closed_dynamics`.
        """

    @delegated("loops.projection", sets=True)
    def project_velocity(
        self, q: ArrayLike, v: ArrayLike, t: ArrayLike | None = None, tolerance: float = TOLERANCE, *,
        check: Check = True, keep: Iterable[str] = (),
    ) -> Array:  # fmt: skip
        """Return the velocity next to v that keeps all loops closed, of shape (..., nv).

        The kinetic energy of the difference is least: an impulse in the loops would change v in this way. The joints in
        `keep` keep their velocities: with as many of them as the mechanism has freedoms, these velocities determine all
        others. The result is in single precision if q and v are. q must be closed; `check` is as in `closed_dynamics`.

        >>> import ordern as on
        >>> four_bar = on.load("four-bar")
        >>> v = four_bar.project_velocity(four_bar.assemble().q, [2.0, 0.0, 0.0], keep="drive")
        >>> float(v[0])
        2.0
        """

    @delegated("loops.projection", sets=True)
    def project_acceleration(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, t: ArrayLike | None = None, tolerance: float = TOLERANCE, *,
        check: Check = True, keep: Iterable[str] = (),
    ) -> Array:  # fmt: skip
        """Return the acceleration next to a that keeps all loops closed, K a + k(q, v) = 0, of shape (..., nv).

        The difference d has the least d^T M d: constraint forces in the loops would change a in this way. The joints in
        `keep` keep their accelerations. q must be closed, and v must keep it so; `check` is as in `closed_dynamics`.
        """

    @delegated("loops.inverse", sets=True)
    def actuation(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, actuated: Sequence[str] | None = None,
        weights: ArrayLike | Mapping[str, float] | None = None, external: Any = None, *, t: ArrayLike | None = None,
        tolerance: float = TOLERANCE, check: Check = True,
    ) -> Actuation:  # fmt: skip
        """Return the forces of the `actuated` joints that cause a motion, while the loops alone move all others.

        `actuated` are names of joints, and of loops whose joints have drives; `robot.actuated` unless given. With
        more drives than freedoms the forces of least u^T W u are chosen, `weights` being the diagonal of W, and the
        result has a basis of the internal forces that may be added. A motion that the drives cannot cause is an error
        that names it. So is a state that is not closed (`check` is as in `closed_dynamics`), or
        accelerations that open it, unless `check` is False.
        """
