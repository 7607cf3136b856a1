"""The settings of a simulation, checked once."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..arguments import choice, positive, real_number
from ..errors import ArgumentError
from ..loops.dynamics import BAUMGARTE
from ..records import dataclass
from ..screen.progress import Progress, require_progress
from .constraints.limits import MODES
from .events import Event, listed
from .forces import require_signature
from .integrators.integrator import Settings
from .integrators.tableaus import TABLEAUS
from .run.lengths import LEAST_TOLERANCE, ROUNDING
from .switches import Switch, switch_list

__all__ = ["METHODS", "TOLERANCES", "SimulationOptions", "share_of_a_step"]

METHODS = (*TABLEAUS, "radau", "variational")
"""The integrators: explicit ones, the implicit one for stiff systems, the structure-preserving one."""
TOLERANCES = ("motion", "step")
"""The scope of rtol and atol: the whole motion, of which each step gets a share; or each step."""
DRIFTS = ("project", "baumgarte", "none")


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """The keywords of `Robot.simulate`, which `Grasp.simulate` shares. Making one checks them."""

    method: str = "dormand-prince-8"
    step: float | None = None
    rtol: float = 1e-10
    atol: float = 1e-10
    tolerance: str = "motion"
    events: tuple[Event, ...] = ()
    limits: str = "ignore"
    restitution: float = 0.0
    dynamics: str | None = None
    smoothing: float = 0.01
    dense: bool = True
    checkpoint: str | os.PathLike[str] | None = None
    progress: Progress = None
    max_steps: int = 10_000_000
    native: bool | None = None
    drift: str | tuple[float, float] = "project"
    switches: tuple[Switch, ...] = ()
    contacts: str | None = None

    def __post_init__(self) -> None:
        self._check_method()
        self._check_tolerances()
        choice("way to treat limits", self.limits, MODES)
        if not 0.0 <= real_number(self.restitution) <= 1.0:
            raise ArgumentError(f"restitution must be between 0 (no bounce) and 1 (no loss), not {self.restitution!r}")
        if not real_number(self.max_steps) >= 1.0 or self.max_steps % 1:
            raise ArgumentError(f"max_steps must be a whole number above 0, not {self.max_steps!r}")
        require_progress(self.progress)
        events = listed("events", self.events, Event, "[on.Event(function, name=...), on.Event.limit(joint)]")
        for e in events:
            require_signature(f"event {e.name!r}: the function", e.function)
            if e.effect is not None:
                require_signature(f"event {e.name!r}: the effect", e.effect)
        exact = {
            "restitution": float(self.restitution),
            "smoothing": positive(self.smoothing, "smoothing, a velocity,"),
            "max_steps": int(self.max_steps),
            "dense": bool(self.dense),
            "events": events,
            "drift": _drift(self.drift),
            "switches": switch_list(self.switches),
        }
        for name, x in exact.items():
            object.__setattr__(self, name, x)

    def _check_method(self) -> None:
        choice("method of simulation", self.method, METHODS)
        if self.method == "variational" and self.limits == "bounce":
            raise ArgumentError("limits='bounce' is not for the method 'variational'; use an adaptive one")
        choice("meaning of tolerances", self.tolerance, TOLERANCES)
        if self.step is not None:
            object.__setattr__(self, "step", positive(self.step, "step, in seconds,"))
        fixed = self.method == "variational" or (self.method in TABLEAUS and not TABLEAUS[self.method].adaptive)
        if fixed and self.step is None:
            raise ArgumentError(f"the method {self.method!r} takes steps of a fixed length: give step=, in seconds")

    def _check_tolerances(self) -> None:
        rtol, atol = positive(self.rtol, "rtol", zero=True), positive(self.atol, "atol", zero=True)
        if max(rtol, atol) < ROUNDING:
            small = f"rtol = {rtol:g} and atol = {atol:g} are too small" if rtol or atol else "rtol and atol are both 0"
            raise ArgumentError(f"{small}: no step is that accurate, as numbers are rounded to a part of 1e-16")
        if atol < LEAST_TOLERANCE:
            raise ArgumentError(
                f"atol must be at least {LEAST_TOLERANCE:g}, not {atol!r}: if a coordinate or a velocity is zero, only "
                "atol sets the accuracy of a step"
            )

    @property
    def settings(self) -> Settings:
        """The step length, and the error that one step may have."""
        whole = self.tolerance == "motion"
        errors = (share_of_a_step(float(x), self.method) if whole else float(x) for x in (self.rtol, self.atol))
        return Settings(self.step, *errors)

    @property
    def order(self) -> int:
        """The order of the method, which sets how densely events are sampled."""
        return TABLEAUS[self.method].order if self.method in TABLEAUS else 4

    @property
    def pull(self) -> tuple[float, float] | None:
        """Alpha and beta of Baumgarte's stabilisation; None without it."""
        if isinstance(self.drift, tuple):
            return self.drift
        return (BAUMGARTE, BAUMGARTE) if self.drift == "baumgarte" else None

    @property
    def ends_early(self) -> bool:
        """True if an event or a limit may end the run before its time."""
        return self.limits == "stop" or any(e.terminal for e in self.events)


_SHARES = {"dormand-prince-8": 0.03, "dormand-prince": 0.01, "cash-karp": 0.003, "radau": 0.1}


def share_of_a_step(tolerance: float, method: str) -> float:
    """Return the error that one step may have: a share of the tolerance, as errors add up; not less than rounding.

    The shares are such that the error at the end of motions which are known in closed form or to 50 digits
    (`ordern.papers.references`: falls of arms that magnify an early error ten- to thirtyfold, a top, a throw) is
    within the tolerance. Error estimates of different methods differ in how far they are above the error.
    """
    return max(_SHARES.get(method, 0.1) * tolerance, min(tolerance, 2e-15))


def _drift(drift: Any) -> str | tuple[float, float]:
    """Return the treatment of drift; raise if there is no such treatment."""
    if isinstance(drift, str) and drift in DRIFTS:
        return drift
    try:
        alpha, beta = (float(x) for x in drift)
    except (TypeError, ValueError):
        alpha = beta = float("nan")
    if not (0.0 <= alpha < np.inf and 0.0 <= beta < np.inf):
        raise ArgumentError(
            f"drift must be 'project', 'baumgarte', 'none', or two numbers (alpha, beta) in 1/s that are not below 0; "
            f"not {drift!r}"
        )
    return alpha, beta
