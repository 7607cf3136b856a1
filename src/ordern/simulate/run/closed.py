"""Machine code with steps from Python where it cannot decide: about loops, or about forces near singular positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arguments import Array
from ..integrators.integrator import Integrator, Settings
from ..integrators.native import Closing
from .chunk import Chunk, Compiled, Runner, Stepwise
from .problem import Problem

if TYPE_CHECKING:
    from ...compile.timeloops.law_program import Law
    from ..constraints.limits import Stop

__all__ = ["Closed"]


_FEW = 1
"""Steps in a chunk within the band of a singular position, which the motion mostly leaves with the first step."""


class Closed(Runner):
    """Compiled steps that keep loops closed by projection, or with a control law that may be unclear.

    Near singular positions, and where it is not clear which rows are redundant, the integrator takes the steps.
    """

    native = True

    def __init__(
        self,
        problem: Problem,
        settings: Settings,
        method: str,
        between: bool,
        closing: Closing | None,
        integrator: Integrator,
        holds: bool = False,
        law: Law | None = None,
    ) -> None:
        self.problem = problem
        self._compiled = Compiled(problem, settings, method, between, closing, holds, law)
        self._stepwise = Stepwise(integrator)
        self._now: Runner = self._compiled

    def start(self, t: float, q: Array, v: Array, h: float | None, end: float = np.inf) -> None:
        """Begin at this state."""
        self._now = self._compiled if self.problem.crossing is None else self._stepwise
        self._now.start(t, q, v, h, end)

    def rests(self, stops: Sequence[Stop]) -> bool:
        """Tell whether compiled steps can let joints rest on these stops."""
        return self._compiled.rests(stops)

    @property
    def h(self) -> float | None:
        """The step that it would try next."""
        return self._now.h

    def run(self, end: float, most: int, limit: float) -> Chunk:
        """Take compiled steps up to one that is not clear, and that one from Python."""
        if self._now is self._stepwise:
            return self._stepwise.run(end, min(most, _FEW), end)
        chunk = None if self._compiled.unclear else self._compiled.run(end, most, limit)
        if chunk is not None and (len(chunk) or not self._compiled.unclear):
            return chunk
        self.problem.solve_compiled()
        t, q, v, h = self._compiled.at
        self._stepwise.start(t, q, v, h, end)
        step = self._stepwise.run(end, 1, end)
        if len(step):
            self._compiled.start(float(step.t[-1]), step.q[-1], step.v[-1], self._stepwise.h, end)
        if chunk is not None:
            counts = {"evaluations": step.evaluations + chunk.evaluations, "rejected": step.rejected + chunk.rejected}
            step = replace(step, **counts)  # type: ignore[arg-type]
        return step

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state of the runner that takes the steps now."""
        flags = {"compiled": self._now is self._compiled, "unclear": self._compiled.unclear}
        return {**{name: np.array(x) for name, x in flags.items()}, **self._now.state()}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from there."""
        self._now = self._compiled if state["compiled"] else self._stepwise
        self._now.restore(state)
        self._compiled.unclear = bool(state["unclear"])
