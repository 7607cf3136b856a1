"""The arguments of a simulation, of robots and of grasps: checked, and in the form that a run wants."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError, unknown_name
from .events import Event
from .forces import require_signature
from .integrators.explicit import Explicit
from .integrators.integrator import Integrator, Settings
from .integrators.tableaus import TABLEAUS
from .run.exchange import real
from .run.fingerprint import fingerprint
from .run.lengths import LEAST_TIME, LEAST_TOLERANCE, ROUNDING, as_number, is_positive
from .switches import Switch

if TYPE_CHECKING:
    from ..robot import Robot
    from .run.problem import Problem

__all__ = [
    "METHODS",
    "TOLERANCES",
    "Progress",
    "event_list",
    "initial_state",
    "integrator_for",
    "progress_shown",
    "report_times",
    "run_key",
    "share_of_a_step",
    "step_settings",
]

Array = NDArray[np.float64]
Progress = bool | Callable[[float], Any] | None

METHODS = (*TABLEAUS, "radau", "variational")
"""The integrators: explicit ones, the implicit one for stiff systems, the structure-preserving one."""
TOLERANCES = ("motion", "step")
"""What rtol and atol are of: the whole motion, so that steps are held to a share of them; or each step."""


def initial_state(name: str, given: ArrayLike | None, usual: Array, robot: Robot) -> Array:
    """Positions or velocities at the start: as given, or the usual ones."""
    if given is None:
        return np.array(usual, dtype=float)
    x = np.array(real(name, given))
    what = "positions: nq" if name == "q0" else "velocities: nv"
    if x.shape != usual.shape:
        raise ArgumentError(f"{name} has shape {x.shape}; for {robot.name!r} it must be {usual.shape} ({what})")
    if not np.isfinite(x).all():
        k = int(np.flatnonzero(~np.isfinite(x))[0])
        raise ArgumentError(f"{name} must be finite; entry {k} is {x[k]}")
    return x


def report_times(until: Any) -> tuple[Array | None, float]:
    """The times to report, if they are given, and the end."""
    try:
        if np.asarray(until).dtype.kind not in "iuf":
            raise TypeError
        x = np.array(until, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"until must be a time in seconds or a list of times, not {until!r}") from None
    if not x.size or x.ndim > 1 or not np.isfinite(x).all() or x.min() < 0.0:
        raise ArgumentError(
            f"until must be a time in seconds or a list of times, finite and not below 0; not {until!r}"
        )
    if 0.0 < x.flat[-1] < LEAST_TIME:
        raise ArgumentError(f"until = {x.flat[-1]:g} s is too short a run: give at least {LEAST_TIME:g} s, or 0")
    if x.ndim == 0:
        return None, float(x)
    if (np.diff(x) <= 0.0).any():
        k = int(np.argmax(np.diff(x) <= 0.0))
        raise ArgumentError(f"until: times must increase; after {x[k]:g} comes {x[k + 1]:g}")
    return x, float(x[-1])


def event_list(events: Any) -> tuple[Event, ...]:
    """Events in a tuple, if they are such."""
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


def step_settings(method: str, step: Any, rtol: Any, atol: Any, tolerance: str) -> Settings:
    """How steps are chosen: their length, or what one of them may err."""
    if method not in METHODS:
        raise unknown_name("method of simulation", method, METHODS)
    if tolerance not in TOLERANCES:
        raise unknown_name("meaning of tolerances", tolerance, TOLERANCES)
    if step is not None and not is_positive(step):
        raise ArgumentError(f"step must be a positive time in seconds, not {step!r}")
    fixed = method == "variational" or (method in TABLEAUS and not TABLEAUS[method].adaptive)
    if fixed and step is None:
        raise ArgumentError(f"the method {method!r} takes steps of a fixed length: give step=, in seconds")
    for name, x in (("rtol", rtol), ("atol", atol)):
        if not 0.0 <= as_number(x) < math.inf:
            raise ArgumentError(f"{name} must be a number that is not below 0, not {x!r}")
    if max(rtol, atol) < ROUNDING:
        small = f"rtol = {rtol:g} and atol = {atol:g} are too small" if rtol or atol else "rtol and atol are both 0"
        raise ArgumentError(f"{small}: no step is that accurate, as numbers are rounded to a part of 1e-16")
    if atol < LEAST_TOLERANCE:
        raise ArgumentError(
            f"atol must be at least {LEAST_TOLERANCE:g}, not {atol!r}: where a coordinate or a velocity is zero, it "
            "alone says how accurate a step has to be"
        )
    whole = tolerance == "motion"
    errors = (share_of_a_step(float(x), method) if whole else float(x) for x in (rtol, atol))
    return Settings(None if step is None else float(step), *errors)


_SHARES = {"dormand-prince-8": 0.03, "dormand-prince": 0.01, "cash-karp": 0.003, "radau": 0.1}


def share_of_a_step(tolerance: float, method: str) -> float:
    """What one step may err: a share of the tolerance, since errors add up; but no less than rounding allows.

    The shares are such that the error at the end of motions which are known in closed form or to 50 digits
    (`ordern.papers.references`: falls of arms that magnify an early error ten- to thirtyfold, a top, a throw) is
    within the tolerance that was asked for. Estimates of different methods differ in how far they are above the error.
    """
    return max(_SHARES.get(method, 0.1) * tolerance, min(tolerance, 2e-15))


def integrator_for(problem: Problem, settings: Settings, method: str) -> Integrator:
    """The integrator of this name."""
    if method == "radau":
        from .integrators.radau import Radau

        return Radau(problem, settings)
    if method == "variational":
        from .integrators.variational import Variational

        return Variational(problem, settings)
    return Explicit(problem, settings, method)


def progress_shown(progress: Progress) -> Callable[[float], Any] | None:
    """The function that is told how far a run is; a bar for True."""
    if progress is None or progress is False:
        return None
    if callable(progress):
        return progress
    if progress is True:
        from .run.progress import Bar

        return Bar()
    raise ArgumentError(f"progress must be True, False or a function of a fraction, not {progress!r}")


def run_key(parts: dict[str, Any]) -> str:
    """What tells a run from others: a digest for each part, so that a refusal can say which one differs."""

    def text(x: Any) -> str:
        if isinstance(x, np.ndarray):
            return f"{x.dtype.str}{x.shape}{np.ascontiguousarray(x).tobytes().hex()}"
        if isinstance(x, (tuple, list)):
            return f"({','.join(map(text, x))})"
        if isinstance(x, Switch):
            return f"switch {x} {x.at} {x.tolerance} {x.once} {text(x.when)}"
        if isinstance(x, Event):
            return f"event {x.name} {x.direction} {x.terminal} {fingerprint(x.function)}"
        return repr(x)

    digests = {name: hashlib.sha256(text(x).encode()).hexdigest()[:32] for name, x in parts.items()}
    return " ".join(["ordern-simulate", *(f"{name}={digest}" for name, digest in digests.items())])
