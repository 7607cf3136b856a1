"""The settings of a simulation, checked once."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import real_number
from ..errors import ArgumentError, unknown_name
from ..loops.dynamics import BAUMGARTE
from ..records import dataclass
from .constraints.limits import MODES
from .events import Event
from .forces import require_signature
from .integrators.integrator import Settings
from .integrators.tableaus import TABLEAUS
from .run.lengths import LEAST_TOLERANCE, ROUNDING, is_positive
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
    progress: bool | Callable[[float], Any] | None = None
    max_steps: int = 10_000_000
    native: bool | None = None
    drift: str | tuple[float, float] = "project"
    switches: tuple[Switch, ...] = ()

    def __post_init__(self) -> None:
        self._check_method()
        self._check_tolerances()
        if self.limits not in MODES:
            raise unknown_name("way to treat limits", self.limits, MODES)
        if not 0.0 <= real_number(self.restitution) <= 1.0:
            raise ArgumentError(f"restitution must be between 0 (no bounce) and 1 (no loss), not {self.restitution!r}")
        if not is_positive(self.smoothing):
            raise ArgumentError(f"smoothing must be a positive velocity, not {self.smoothing!r}")
        if not is_positive(self.max_steps) or int(self.max_steps) != self.max_steps:
            raise ArgumentError(f"max_steps must be a whole number above 0, not {self.max_steps!r}")
        if not (self.progress is None or isinstance(self.progress, bool) or callable(self.progress)):
            raise ArgumentError(f"progress must be True, False or a function of a fraction, not {self.progress!r}")
        exact = {
            "step": None if self.step is None else float(self.step),
            "restitution": float(self.restitution),
            "smoothing": float(self.smoothing),
            "max_steps": int(self.max_steps),
            "dense": bool(self.dense),
            "events": event_list(self.events),
            "drift": _drift(self.drift),
            "switches": switch_list(self.switches),
        }
        for name, x in exact.items():
            object.__setattr__(self, name, x)

    def _check_method(self) -> None:
        if self.method not in METHODS:
            raise unknown_name("method of simulation", self.method, METHODS)
        if self.method == "variational" and self.limits == "bounce":
            raise ArgumentError("limits='bounce' is not for the method 'variational'; use an adaptive one")
        if self.tolerance not in TOLERANCES:
            raise unknown_name("meaning of tolerances", self.tolerance, TOLERANCES)
        if self.step is not None and not is_positive(self.step):
            raise ArgumentError(f"step must be a positive time in seconds, not {self.step!r}")
        fixed = self.method == "variational" or (self.method in TABLEAUS and not TABLEAUS[self.method].adaptive)
        if fixed and self.step is None:
            raise ArgumentError(f"the method {self.method!r} takes steps of a fixed length: give step=, in seconds")

    def _check_tolerances(self) -> None:
        rtol, atol = self.rtol, self.atol
        for name, x in (("rtol", rtol), ("atol", atol)):
            if not 0.0 <= real_number(x) < math.inf:
                raise ArgumentError(f"{name} must be a number that is not below 0, not {x!r}")
        if max(rtol, atol) < ROUNDING:
            small = f"rtol = {rtol:g} and atol = {atol:g} are too small" if rtol or atol else "rtol and atol are both 0"
            raise ArgumentError(f"{small}: no step is that accurate, as numbers are rounded to a part of 1e-16")
        if atol < LEAST_TOLERANCE:
            raise ArgumentError(
                f"atol must be at least {LEAST_TOLERANCE:g}, not {atol!r}: where a coordinate or a velocity is zero, "
                "it alone says how accurate a step has to be"
            )

    @property
    def settings(self) -> Settings:
        """The step length, and the error that one step may have."""
        whole = self.tolerance == "motion"
        errors = (share_of_a_step(float(x), self.method) if whole else float(x) for x in (self.rtol, self.atol))
        return Settings(self.step, *errors)

    @property
    def order(self) -> int:
        """The order of the method, by which events are sampled."""
        return TABLEAUS[self.method].order if self.method in TABLEAUS else 4

    @property
    def pull(self) -> tuple[float, float] | None:
        """Alpha and beta of Baumgarte's stabilisation; None without it."""
        if isinstance(self.drift, tuple):
            return self.drift
        return (BAUMGARTE, BAUMGARTE) if self.drift == "baumgarte" else None

    @property
    def ends_early(self) -> bool:
        """Whether an event or a limit may end the run before its time."""
        return self.limits == "stop" or any(e.terminal for e in self.events)

    def shown(self) -> Callable[[float], Any] | None:
        """Return the function that gets the fraction done; a bar in the terminal for True."""
        if self.progress is True:
            from .run.progress import Bar

            return Bar()
        return self.progress or None


_SHARES = {"dormand-prince-8": 0.03, "dormand-prince": 0.01, "cash-karp": 0.003, "radau": 0.1}


def share_of_a_step(tolerance: float, method: str) -> float:
    """Return the error that one step may have: a share of the tolerance, as errors add up; not less than rounding.

    The shares are such that the error at the end of motions which are known in closed form or to 50 digits
    (`ordern.papers.references`: falls of arms that magnify an early error ten- to thirtyfold, a top, a throw) is
    within the tolerance. Error estimates of different methods differ in how far they are above the error.
    """
    return max(_SHARES.get(method, 0.1) * tolerance, min(tolerance, 2e-15))


def event_list(events: Any) -> tuple[Event, ...]:
    """Return events in a tuple; raise if they are not events."""
    if isinstance(events, Event):
        return (events,)
    try:
        found = () if events is None else None if isinstance(events, (str, bytes)) else tuple(events)
    except TypeError:
        found = None
    if found is None:
        raise ArgumentError(
            f"events must be on.Event objects, events=[on.Event(function, name=...)], or ready ones such as "
            f"on.Event.limit(joint); not {events!r}"
        )
    for e in found:
        if not isinstance(e, Event):
            raise ArgumentError(f"events must be on.Event objects: give Event(function, ...) instead of {e!r}")
        require_signature(f"event {e.name!r}: the function", e.function)
    return found


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
