"""The start, the times, the integrator and the identity of a run, from the arguments of a simulation."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array, unmasked
from ..errors import ArgumentError
from .events import Event
from .integrators.explicit import Explicit
from .integrators.integrator import Integrator
from .run.fingerprint import recognizable
from .run.lengths import LEAST_TIME, require_reachable
from .switches import Switch

if TYPE_CHECKING:
    from ..robot import Robot
    from .forces import Applied
    from .options import SimulationOptions
    from .run.problem import Problem

__all__ = ["initial_state", "integrator_for", "report_times", "require_end", "run_key"]


def initial_state(name: str, given: ArrayLike | None, usual: Array, robot: Robot) -> Array:
    """Return positions or velocities at the start: the given ones, or the defaults."""
    if given is None:
        return np.array(usual, dtype=float)
    meaning = "positions: nq" if name == "q0" else "velocities: nv"
    return np.array(array(given, usual.shape, f"{name} of {robot.name!r} ({meaning})"))


def report_times(until: Any) -> tuple[Array | None, float]:
    """Return the times to report, or None if only the end is given, and the end."""
    unmasked(until, "until")
    try:
        given = np.asarray(until)
    except ValueError:  # lists of different lengths
        given = np.zeros(0)
    x = given.astype(float) if given.dtype.kind in "iuf" else np.zeros(0)
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


def integrator_for(problem: Problem, options: SimulationOptions) -> Integrator:
    """Return the integrator of this name."""
    settings = options.settings
    if options.method == "radau":
        from .integrators.radau import Radau

        return Radau(problem, settings)
    if options.method == "variational":
        from .integrators.variational import Variational

        return Variational(problem, settings)
    return Explicit(problem, settings, options.method)


def require_end(end: float, tau: Applied, options: SimulationOptions, ends_early: bool = False) -> None:
    """Raise if the steps of a run cannot reach its end; a run that may end early need not reach it."""
    early = ends_early or options.ends_early
    require_reachable(end, options.step, "step", options.max_steps, early)
    require_reachable(end, tau.longest, "the period of tau", options.max_steps, early)


def run_key(
    parts: dict[str, Any], problem: Problem, options: SimulationOptions, state: tuple[Array, Array], span: Any
) -> str:
    """Return the key of a run in a checkpoint: a digest of each part, so that errors can name the part that differs."""

    def text(x: Any) -> str:
        if isinstance(x, np.ndarray):
            return f"{x.dtype.str}{x.shape}{np.ascontiguousarray(x).tobytes().hex()}"
        if isinstance(x, (tuple, list)):
            return f"({','.join(map(text, x))})"
        if isinstance(x, Switch):
            return f"switch {x} {x.at} {x.tolerance} {x.once} {text(x.when)}"
        if isinstance(x, Event):
            effect = "" if x.effect is None else recognizable("events", x.effect)
            function = recognizable("events", x.function)
            return f"event {x.name} {x.direction} {x.terminal} {function} {effect}"
        return repr(x)

    robot = problem.robot
    parts = parts | {
        "robot": [robot.name, robot.digest, robot.lower, robot.upper],
        "q0": state[0],
        "v0": state[1],
        "until": span,
        "tau": problem.tau.key,
        "external": problem.external.key,
        "method": [options.method, options.dynamics, options.smoothing, options.dense],
        "step-or-tolerances": [options.settings.step, options.settings.rtol, options.settings.atol],
        "events": options.events,
        "limits": options.limits,
        "restitution": options.restitution,
        "loops": [parts["loops"], options.drift, options.switches],
    }
    digests = {name: hashlib.sha256(text(x).encode()).hexdigest()[:32] for name, x in parts.items()}
    return " ".join(["ordern-simulate", *(f"{name}={digest}" for name, digest in digests.items())])
