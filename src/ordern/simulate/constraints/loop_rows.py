"""Constraint rows of the loops and couplings of a robot, and robots whose loops open and close."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...algorithms.closed_loop import reduced
from ...arguments import Array
from ...loops.dynamics import closed_dynamics, compiles, correction, usual_method
from ...model import BASE
from ...records import dataclass
from ..integrators.native import Closing, kept
from ..results.series import LOOP_FORCE, LOOPS_CLOSED
from .constraints import CLOSED, OPEN, ROUNDS, listed

if TYPE_CHECKING:
    from ...kernel import Kernel
    from ...robot import Robot
    from ..run.problem import Problem

__all__ = ["LoopMechanism", "LoopRows"]


_DROP = 1e-6
"""Of robots with redundant constraints: relative pivots below this are those of redundant ones, off the manifold."""
_CLEAR = 1e-4
"""If all others are above this, nothing was mistaken."""


class LoopRows:
    """The rows of the active loops and couplings of a robot; a tree has no rows."""

    ranked: ClassVar[bool] = True
    locked: ClassVar[float] = 1e-12

    def __init__(self, robot: Robot) -> None:
        self.robot, self.nc = robot, robot.nc
        self.names: Mapping[str, slice] = robot.loop_rows
        self.timed = any(x.type.timed for x in robot.loop_table.loops)
        self.passive = robot.passive_question == "all_passive_force"
        self._compiled = bool(robot.nc) and usual_method(robot) == "multipliers" and compiles(robot)
        self._functions: dict[str, Callable[..., Array]] = {}

    def kernel(self, name: str) -> Kernel:
        """Return a compiled function that a step of the closed mechanism takes, over plain arrays.

        "residual" of (q), "rate" of (q, v), "bias" of (q, v), "jacobian" of (q), "acceleration" of (q, v, force) and
        "solve" of (q, x, c). Each takes the time as a last argument if `timed`. The last two return accelerations, the
        multipliers of the rows, and the smallest relative pivot: the answer is right while the size of this pivot is
        above `reduced.SMALLEST_PIVOT`.
        """
        time = ("t",) if self.timed else ()
        if name == "acceleration":
            return self.robot.kernel("closed_dynamics", "multipliers", present=time)
        return self.robot.kernel("closed_solve" if name == "solve" else f"loop_{name}", present=time)

    def _ask(self, name: str, *arguments: Array, t: Any) -> Array:
        function = self._functions.get(name)
        if function is None:
            kernel = self.kernel(name)
            function = self._functions[name] = kernel.fast(kernel)
        answer: Array = function(*arguments, t) if self.timed else function(*arguments)
        return answer

    def residual(self, q: Array, t: Any) -> Array:
        """Return by how much loops are open, (..., nc)."""
        return self._ask("residual", q, t=t)

    def rate(self, q: Array, v: Array, t: Any) -> Array:
        """Return how fast they open, (..., nc)."""
        return self._ask("rate", q, v, t=t)

    def bias(self, q: Array, v: Array, t: Any) -> Array:
        """Return how fast these rates change at constant velocities, (..., nc)."""
        return self._ask("bias", q, v, t=t)

    def jacobian(self, q: Array, t: Any) -> Array:
        """Return K, (..., nc, nv)."""
        return self._ask("jacobian", q, t=t)

    def narrow(self, q: Array, t: Any) -> Array:
        """Return K itself."""
        return self.jacobian(q, t)

    def sigma(self, q: Array, t: Any) -> Array:
        """Return the singular values of K, (..., m), the largest first."""
        return np.asarray(np.linalg.svd(self.jacobian(q, t), compute_uv=False))

    def lower_bound(self, q: Array, rank: int) -> None:
        """Return None: singular values of loops are cheap."""

    def acceleration(
        self, q: Array, v: Array, force: Array, t: Any, method: str | None, pull: Any, rank: int
    ) -> Array | None:
        """Return accelerations by joint forces; None where the rank is not clear."""
        robot, t = self.robot, t if self.timed else None
        redundant, compiled = rank < self.nc, self._compiled and method in (None, "multipliers")
        if compiled and not redundant and pull is None:
            x = self._ask("acceleration", q, v, force, t=t)
            if (np.abs(x[..., -1]) > reduced.SMALLEST_PIVOT).all():
                found: Array = x[..., : robot.nv]
                return found
        if compiled and redundant:
            more = {"t": t, "correction": correction(robot, q, v, t, pull)}
            y = self._dropping("closed_dynamics", (q, v, force), more, rank)
            if y is not None:
                return y
        if compiled and pull is None:
            return None
        if not redundant and (pull is None or not self.nc):
            return robot.forward_dynamics(q, v, force, method=method, t=t, check=False)
        known = rank if redundant else None
        return closed_dynamics(robot, q, v, force, method=method, t=t, stabilise=pull, rank=known, check=False).a

    def _dropping(self, question: str, arguments: tuple[Array, ...], more: dict[str, Any], rank: int) -> Array | None:
        """Solve by compiled code that leaves redundant rows out; return None unless it is clear which ones."""
        given = {name: y for name, y in {**more, "drop": _DROP}.items() if y is not None}
        x = self.robot.kernel(question, "multipliers", present=tuple(given))(*arguments, *given.values())
        nv = self.robot.nv
        left_out = (x[..., nv:-1] == 0.0).sum(axis=-1)
        # stages of a step are open by more than states are: the integrator decides how far is too far
        if np.all(np.abs(x[..., -1]) > _CLEAR) and np.all(left_out == self.nc - rank):
            found: Array = x[..., :nv]
            return found
        return None

    def solve(self, q: Array, x: Array, c: Array, t: Any, rank: int, positions: bool) -> Array | None:
        """Solve M a = x + K^T lambda, K a = c by compiled code; return None where the rank is not clear."""
        if not self._compiled:
            return None
        if rank < self.nc:
            return self._dropping("closed_solve", (q, x, c), {"t": t if self.timed else None}, rank)
        answer = self._ask("solve", q, x, c, t=t)
        if not (answer[..., -1] > reduced.SMALLEST_PIVOT).all():
            return None
        found: Array = answer[..., : self.robot.nv]
        return found

    def closing(
        self, method: str | None, rank: int, drift: str = "project", pull: tuple[float, float] | None = None
    ) -> Closing | str:
        """Return how compiled steps keep loops closed, or the reason why these are stepped from Python."""
        if not self._compiled or method not in (None, "multipliers"):
            return "the method of the closed dynamics is not compiled in one piece"
        redundant = self.nc - rank
        least = _CLEAR if redundant else reduced.SMALLEST_PIVOT
        return Closing(redundant, least, _DROP, CLOSED, OPEN, ROUNDS, self.timed, drift == "project", pull)

    def multipliers(self, q: Array, v: Array, force: Array, method: str) -> Array:
        """Return an empty array: nothing depends on the multipliers of loops."""
        return np.zeros(0)

    def usual_method(self) -> str:
        """Return the method of forward dynamics that is used unless one is given."""
        return usual_method(self.robot) if self.nc else "articulated-body"

    def whole(self, name: str) -> str:
        """Return the words for a loop that stays open."""
        return f"loop {name!r} cannot be closed"

    def listed(self, names: list[str]) -> str:
        """Return loops in words."""
        return listed("loop", names)


@dataclass(frozen=True)
class LoopMechanism:
    """A robot whose loops and couplings may open and close."""

    robot: Robot
    of: ClassVar[str] = "loops"

    @property
    def closed(self) -> tuple[bool, ...]:
        """For each loop and coupling, True if it is closed at the start."""
        return tuple(x.active for x in self.robot.constraints)

    @property
    def grounded(self) -> bool:
        """True if some loop is fixed to the ground, which takes momentum."""
        return any(BASE in (x.parent, x.child) for x in self.robot.loops)

    def rows(self, closed: tuple[bool, ...]) -> LoopRows:
        """Return the rows of the loops that are closed; what is compiled for them is kept."""
        robot = self.robot
        names = dict(zip((x.name for x in robot.constraints), closed, strict=True))
        key = tuple(sorted(names.items()))
        now = kept(robot, ("structure", key), lambda: robot if closed == self.closed else robot.with_loops(names))
        return kept(robot, ("rows", key), lambda: LoopRows(now))

    def extra(self, problem: Problem) -> dict[str, tuple[int, ...]]:
        """Return the names of the series of loops, and the shapes of their entries."""
        found: dict[str, tuple[int, ...]] = {LOOP_FORCE: (problem.nv,)} if problem.constrained else {}
        return found | ({LOOPS_CLOSED: (len(self.closed),)} if problem.switched else {})

    def series(self, problem: Problem, t: Array, q: Array, v: Array, a: Array, tau: Array) -> tuple[Array, ...]:
        """Return joint forces K^T lambda of the loops, and which of them are closed, if that changes."""
        if not problem.constrained:
            return ()
        force = tau + problem.passive_force(q, v) + problem.external_force(t, q, v)
        load = problem.loop_force(t, q, v, a, force)
        if not problem.switched:
            return (load,)
        closed = np.array(problem.closed, float)
        return load, np.broadcast_to(closed, (len(t), len(closed))).copy()
