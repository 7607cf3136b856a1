"""What loops ask, as methods of a robot: one for each question, and robots that differ in their loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError, unknown_name

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["LoopQuestions"]

Array = NDArray[Any]


class LoopQuestions:
    """Residuals of loops, their derivatives, and loops that are open or closed."""

    if TYPE_CHECKING:

        def _ask(
            self,
            question: str,
            arguments: tuple[ArrayLike, ...],
            extra: Mapping[str, Any],
            method: str | None,
            threads: int | None,
            out: Array | None,
            **options: Any,
        ) -> Array: ...

    def loop_residual(
        self, q: ArrayLike, threads: int | None = None, out: Array | None = None, *, t: ArrayLike | None = None
    ) -> Array:
        """By how much the loops are open, of shape (..., nc): metres and, for small angles, radians.

        The rows are those of the active loops, then of the couplings: `loop_rows` tells which. Rows that ask something
        of velocities only (rolling; see `loop_holonomic`) are zero. `t` is the time, for loops that are driven.
        """
        return self._ask("loop_residual", (q,), {"t": t}, None, threads, out)

    def loop_rate(
        self,
        q: ArrayLike,
        v: ArrayLike,
        threads: int | None = None,
        out: Array | None = None,
        *,
        t: ArrayLike | None = None,
    ) -> Array:
        """How fast the residuals of loops change: K v, and what time alone changes, of shape (..., nc)."""
        return self._ask("loop_rate", (q, v), {"t": t}, None, threads, out)

    def loop_jacobian(
        self, q: ArrayLike, threads: int | None = None, out: Array | None = None, *, t: ArrayLike | None = None
    ) -> Array:
        """The matrix K of the loops' constraints, of shape (..., nc, nv): forces K^T lambda keep them."""
        return self._ask("loop_jacobian", (q,), {"t": t}, None, threads, out)

    def loop_bias(
        self,
        q: ArrayLike,
        v: ArrayLike,
        threads: int | None = None,
        out: Array | None = None,
        *,
        t: ArrayLike | None = None,
    ) -> Array:
        """The vector k with which loops ask K a + k = 0 of accelerations, of shape (..., nc)."""
        return self._ask("loop_bias", (q, v), {"t": t}, None, threads, out)

    def loop_wrenches(
        self, q: ArrayLike, threads: int | None = None, out: Array | None = None, *, t: ArrayLike | None = None
    ) -> Array:
        """For each row of K the force (moment, force) on the loop's child that lambda scales, of shape (..., nc, 6).

        It is in the loop's frame on the child; the parent feels the opposite. Couplings have none.
        """
        return self._ask("loop_wrenches", (q,), {"t": t}, None, threads, out)

    def loop_coordinates(self, q: ArrayLike, threads: int | None = None, out: Array | None = None) -> Array:
        """The positions of the joints that close loops, loop after loop; angles within half a turn of zero.

        Of a loop that is open they are those of a closed one next to it. Joints in series may not reach a pose that is
        closed (an elbow one that is too far away): there they are not a number. Loops without coordinates (`Distance`,
        a rod between two balls) have no place among them: `robot.loop_table.loops` has for each where its own are.
        """
        from .coordinates import bounded_loops, loop_coordinates

        robot = cast("Robot", self)
        if bounded_loops(robot):
            return loop_coordinates(robot, q, threads, out)
        return self._ask("loop_coordinates", (q,), {}, None, threads, out)

    def loop_velocities(
        self, q: ArrayLike, v: ArrayLike, threads: int | None = None, out: Array | None = None
    ) -> Array:
        """The velocities of the joints that close loops, loop after loop."""
        return self._ask("loop_velocities", (q, v), {}, None, threads, out)

    def loop_force(
        self,
        q: ArrayLike,
        along: ArrayLike | Mapping[str, ArrayLike],
        threads: int | None = None,
        out: Array | None = None,
    ) -> Array:
        """Joint forces (..., nv) that do what forces `along` the joints that close loops do, to be added to `tau`.

        `along` has a number for each freedom of those joints, in the order of `loop_velocities`: a drive's force. Or it
        is a dictionary of forces by names of loops; those that are not named have none.
        """
        if isinstance(along, Mapping):
            from .dynamics import along as forces_along

            along = forces_along(cast("Robot", self), along)
        return self._ask("loop_force", (q, along), {}, None, threads, out)

    def loop_passive_force(
        self,
        q: ArrayLike,
        v: ArrayLike,
        smoothing: ArrayLike = 0.01,
        threads: int | None = None,
        out: Array | None = None,
    ) -> Array:
        """Joint forces of damping, friction and springs in the joints that close loops; see `passive_force`."""
        return self._ask("loop_passive_force", (q, v, smoothing), {}, None, threads, out)

    def opened(self) -> Robot:
        """The same robot without its loops and couplings: a tree, whose dynamics all methods know."""
        return self._reclosed(loops=(), couplings=())

    def with_loops(self, active: Mapping[str, bool] | Sequence[str]) -> Robot:
        """The same robot with some loops closed and others open: by name, or a list of those that are closed.

        Couplings are switched by name, too; those that are not named stay as they are. The tree's functions are
        compiled once for all of them.

        >>> import ordern as on
        >>> four_bar = on.load("four-bar")
        >>> four_bar.with_loops({"pin": False}).nc, four_bar.with_loops(["pin"]).nc
        (0, 2)
        """
        robot = cast("Robot", self)
        names = [x.name for x in robot.constraints]
        listed = isinstance(active, Mapping)
        for name in [active] if isinstance(active, str) else active:
            if name not in names:
                raise unknown_name("loop", name, names, robot.name)
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
        """A robot that differs in its loops only: what was compiled of its tree serves both."""
        robot = cast("Robot", self)
        found = type(robot).of(replace(robot, **loops))
        found.__dict__["_kernels"] = {  # time loops, which are kept there too, are not of the tree alone
            key: k for key, k in robot._kernels.items() if hasattr(k, "question") and not k.question.loops
        }
        return found
