"""What robots with closed loops can be asked: the methods of `Robot` that are about loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algorithms.closed_loop.rank import TOLERANCE
from .questions import LoopQuestions

if TYPE_CHECKING:
    from ..robot import Robot
    from .assemble import Assembly
    from .consistent import Check
    from .inverse import Actuation
    from .mobility import Mobility
    from .motion import ClosedMotion

__all__ = ["LoopMethods"]

Array = NDArray[Any]


class LoopMethods(LoopQuestions):
    """Closed loops, as methods of a robot."""

    def closed_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external: Any = None,
        method: str | None = None,
        *,
        t: ArrayLike | None = None,
        stabilise: bool | tuple[float, float] | None = None,
        loop_forces: Mapping[str, ArrayLike] | None = None,
        tolerance: float = TOLERANCE,
        rank: int | None = None,
        base_velocity: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
        check: Check = True,
    ) -> ClosedMotion:
        """The motion of a robot with loops that joint forces cause: accelerations, and what keeps the loops closed.

        Methods: "multipliers" (forces in the loops first, compiled), "kkt" (all at once), "null-space" (in the motions
        that loops allow; bodies may be massless), "null-space-elimination" (the same, in some of the joint
        accelerations), "proximal" (linear cost for many loops to the ground), "virtual-work" (links set free, and all
        joints added, those that close loops last). All handle constraints that depend on each other: the accelerations
        are those of the mechanism, the multipliers the ones of least norm, and the result knows the rank. `tolerance`
        is the part of the largest singular value below which one counts as zero; a `rank` that is known from a closed
        position may be given, so that positions a little off do not change it.

        `stabilise` pulls loops that have drifted open back (Baumgarte): True, or (alpha, beta) in 1/s. That is not the
        mechanism's own motion; it takes or gives energy, and is off unless asked for. `loop_forces` are forces of
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
        from .dynamics import closed_dynamics

        return closed_dynamics(
            cast("Robot", self), q, v, tau, external, method, t=t, stabilise=stabilise, loop_forces=loop_forces,
            tolerance=tolerance, rank=rank, base_velocity=base_velocity, base_acceleration=base_acceleration,
            check=check,
        )  # fmt: skip

    def assemble(
        self,
        q: ArrayLike | None = None,
        keep: Iterable[str] = (),
        t: float = 0.0,
        *,
        weights: ArrayLike | Mapping[str, float] | None = None,
        limits: bool = True,
        tolerance: float = 1e-12,
        steps: int = 100,
        restarts: int = 0,
        rng: np.random.Generator | int | None = 0,
        check: bool = True,
    ) -> Assembly:
        """Positions near q in which all loops are closed: `robot.assemble(q).q`; any batch of them.

        The joints in `keep` stay where they are, limits of joints, those that close loops included, are respected
        unless told otherwise, and of joints with a larger weight less is asked. The neutral position is the start
        unless q is given; where that leads nowhere, up to `restarts` random ones are tried. Loops that cannot be closed
        are an error that names them, unless `check` is False: then the result says how near it came. It is computed in
        double precision; q of the result is rounded to single if the one that was given is.
        """
        from .assemble import assemble

        return assemble(
            cast("Robot", self), q, keep, t, weights=weights, limits=limits, tolerance=tolerance, steps=steps,
            restarts=restarts, rng=rng, check=check,
        )  # fmt: skip

    def close(self, q: ArrayLike, t: float = 0.0, steps: int = 10, tolerance: float = 1e-12) -> tuple[Array, Array]:
        """Positions that are nearly closed, closed by a few Newton steps; and whether they are. Limits do not matter.

        The short form of `assemble`, for positions that a simulation has let drift.
        """
        from .assemble import close
        from .kernels import in_single, numbers

        robot = cast("Robot", self)
        given = numbers("q", q, robot.nq)
        found, ok = close(robot, given.reshape(-1, robot.nq), t, steps, tolerance)
        found = found.astype(np.float32) if in_single(q) else found
        return found.reshape(given.shape), ok.reshape(given.shape[:-1])

    def mobility(self, q: ArrayLike, t: float = 0.0, tolerance: float = TOLERANCE, *, check: Check = True) -> Mobility:
        """How a robot with loops can move in a position: freedoms, independent and redundant constraints, motions.

        In a position that is not closed it is an error: `check` is as in `closed_dynamics`.
        """
        from .mobility import mobility

        return mobility(cast("Robot", self), q, t, tolerance, check)

    def project_velocity(
        self,
        q: ArrayLike,
        v: ArrayLike,
        t: ArrayLike | None = None,
        tolerance: float = TOLERANCE,
        *,
        check: Check = True,
    ) -> Array:
        """The velocity next to v that keeps all loops closed, of shape (..., nv).

        Next to it in the kinetic energy of the difference: what a blow through the loops would make of v. Computed in
        double precision, and rounded to single if q and v are. q must be closed: `check` is as in `closed_dynamics`.
        """
        from .dynamics import project_velocity

        return project_velocity(cast("Robot", self), q, v, t, tolerance, check)

    def actuation(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        actuated: Sequence[str] | None = None,
        weights: ArrayLike | Mapping[str, float] | None = None,
        external: Any = None,
        *,
        t: ArrayLike | None = None,
        tolerance: float = TOLERANCE,
        check: Check = True,
    ) -> Actuation:
        """The forces of the `actuated` joints that cause a motion, when all others are moved by the loops alone.

        `actuated` are names of joints, and of loops whose joints have drives; `robot.actuated` unless given. With
        more drives than freedoms the forces of least u^T W u are chosen, `weights` being the diagonal of W, and the
        result has a basis of the internal forces that may be added. A motion that the drives cannot cause is an error
        that names what they cannot move. So is a state that is not closed (`check` is as in `closed_dynamics`), or
        accelerations that open it, unless `check` is False.
        """
        from .inverse import actuation

        return actuation(
            cast("Robot", self), q, v, a, actuated, weights, external, t=t, tolerance=tolerance, check=check
        )
