"""The interface of integrators: an integrator takes one step after the other, and the driver does all else.

The driver (`simulate.py`) owns output, events, limits, checkpoints and the report. An integrator knows a `Problem`,
the equations of motion with their forces, and answers `step(end)` with one accepted `Step`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import OrdernError
from ...records import dataclass
from ..run.endings import Ending

if TYPE_CHECKING:
    from ..run.problem import Problem

__all__ = ["Integrator", "Settings", "Step", "StepFailedError"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of an integrator."""

    step: float | None = None
    """The fixed step, or the longest step of an adaptive method."""
    rtol: float = 1e-10
    atol: float = 1e-10


@dataclass(frozen=True, slots=True)
class Step:
    """One accepted step. All arrays belong to it: the integrator does not write to them again."""

    t0: float
    t1: float
    q0: Array
    v0: Array
    a0: Array
    q1: Array
    """Projected: quaternions are units."""
    v1: Array
    a1: Array
    """The acceleration at the end, with the forces that act just before it."""
    work: float
    """Of the applied forces (drives and external) during this step: the integral of force times velocity."""
    dissipated: float
    """What passive forces took: minus the integral of `passive_force` times v. Springs are in it; the driver takes
    the change of their energy out."""
    dense: Array | None = None
    """Coefficients c of the motion within the step, y(s) = sum_k c[k] s^k with s = (t - t0) / (t1 - t0), of shape
    (m, nq + nv) for y = (q, v), or (m, nq + nv + 2) with work and dissipated as last components (counted from the
    start of the step). Positions are projected after the evaluation. None: Hermite's polynomial of the ends."""
    rejected: int = 0
    """Attempts that were too inaccurate, before this one."""
    evaluations: int = 0
    """Of the forward dynamics, those of rejected attempts included."""
    projected: float = 0.0
    """The energy that closing the loops at the end gave; below zero if it took some."""


class StepFailedError(OrdernError):
    """No step can be taken from here. The driver keeps all up to this time and reports the reason."""

    def __init__(
        self, kind: Ending, t: float, message: str, index: int | None = None, rejected: int = 0, evaluations: int = 0
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.lingers = False
        """Whether the motion stays at a singular position for too long: the driver then ends the passage."""
        self.t = t
        self.index = index
        """The component of v to blame, if one is."""
        self.rejected, self.evaluations = rejected, evaluations

    def counted(self, rejected: int, evaluations: int) -> StepFailedError:
        """The same, with what was tried in vain."""
        self.rejected, self.evaluations = rejected, evaluations
        return self


class Integrator(ABC):
    """A method that steps from state to state. One object integrates one run.

    `restore(state())` on a new object, with the same problem and settings, must continue bitwise as the first one
    would: the state has all that later steps depend on - time, q, v, the next step size, memories of error control,
    Jacobians that are kept, derivatives of the last stage.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    adaptive: ClassVar[bool]

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem, self.settings = problem, settings

    @abstractmethod
    def start(self, t: float, q: Array, v: Array, h: float | None = None, end: float = math.inf) -> None:
        """Begin at this state; also after a jump of the forces or the state.

        `h` is a first step to try, or None; then forces are asked for no time beyond `end`.
        """

    @abstractmethod
    def step(self, end: float) -> Step:
        """Take one step that does not pass `end`. The last one ends there exactly: `t1 == end`.

        An adaptive method must remember the step size that it would have taken, so that a step cut short by `end`
        does not slow down those after it. A fixed-step method takes `settings.step`, or what is left before `end`
        (a remainder within a millionth of a step counts as none: the last step may be longer by that).
        Raises `StepFailedError` if it cannot.
        """

    @property
    @abstractmethod
    def h(self) -> float:
        """The step size that it would try next."""

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """All that the next step depends on, as arrays."""

    @abstractmethod
    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from what `state` returned."""
