"""The interface of integrators. An integrator takes one step after the other; a `Run` does everything else.

The run owns output, events, limits, checkpoints and the report. An integrator has a `Problem`, the equations of motion
with their forces, and returns one accepted `Step` from `step(end)`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from ...arguments import Array
from ...errors import OrdernError
from ...records import dataclass
from ..run.endings import Ending
from ..run.saved import Saved

if TYPE_CHECKING:
    from ..run.problem import Problem

__all__ = ["Integrator", "Settings", "Step", "StepFailedError"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of an integrator."""

    step: float | None = None
    """The fixed step, or the longest step of an adaptive method."""
    rtol: float = 1e-10
    atol: float = 1e-10

    @property
    def longest(self) -> float:
        """The longest step that is allowed."""
        return math.inf if self.step is None else self.step


@dataclass(frozen=True, slots=True)
class Step:
    """One accepted step. All arrays belong to it: the integrator does not write to them again."""

    t0: float
    t1: float
    q0: Array
    v0: Array
    a0: Array
    q1: Array
    """Projected: quaternions have unit length."""
    v1: Array
    a1: Array
    """The acceleration at the end, with the forces that act just before it."""
    work: float
    """The work of the applied forces (drives and external) in this step: the integral of force times velocity."""
    dissipated: float
    """The energy that passive forces took: minus the integral of `passive_force` times v. It contains the energy that
    springs stored; the run subtracts that."""
    dense: Array | None = None
    """Coefficients c of the motion within the step, y(s) = sum_k c[k] s^k with s = (t - t0) / (t1 - t0), of shape
    (m, nq + nv) for y = (q, v), or (m, nq + nv + 2) with work and dissipated as last components (counted from the
    start of the step). Positions are projected after the evaluation. None: Hermite's polynomial of the ends."""
    rejected: int = 0
    """The number of rejected attempts before this one."""
    evaluations: int = 0
    """Evaluations of the forward dynamics, rejected attempts included."""
    projected: float = 0.0
    """The energy that projection onto closed loops added at the end; negative if it removed some."""


class StepFailedError(OrdernError):
    """No step can be taken from here. The run keeps everything up to this time and reports the reason."""

    def __init__(
        self, kind: Ending, t: float, message: str, index: int | None = None, rejected: int = 0, evaluations: int = 0
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.lingers = False
        """True if the motion stays at a singular position for too long: the run then ends the passage."""
        self.t = t
        self.index = index
        """The component of v that caused the failure, if it is known."""
        self.rejected, self.evaluations = rejected, evaluations

    def counted(self, rejected: int, evaluations: int) -> StepFailedError:
        """Return this error with the numbers of rejected attempts and evaluations."""
        self.rejected, self.evaluations = rejected, evaluations
        return self


class Integrator(ABC, Saved):
    """A method that steps from state to state. One object integrates one run.

    `restore(state())` on a new object, with the same problem and settings, must continue bitwise as the first one
    would: `saved` names everything that later steps depend on - time, q, v, the next step size, memories of error
    control, Jacobians that are kept, derivatives of the last stage.
    """

    h: float
    """The step size that it would try next."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem, self.settings = problem, settings

    @abstractmethod
    def start(self, t: float, q: Array, v: Array, h: float | None = None, end: float = math.inf) -> None:
        """Begin at this state; also after a jump of the forces or the state.

        `h` is a first step to try, or None; then no force is evaluated after the time `end`.
        """

    @abstractmethod
    def step(self, end: float) -> Step:
        """Take one step that does not pass `end`. The last one ends there exactly: `t1 == end`.

        An adaptive method must remember the step size that it would have taken, so that a step cut short by `end`
        does not slow down the steps after it. A fixed-step method takes `settings.step`, or a shorter last step; if
        less than a millionth of a step would be left, the last step is longer by that.
        Raises `StepFailedError` if it cannot.
        """
