"""The driver of a simulation: from arguments to a Result."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError, unknown_name
from .balance import conserved
from .chunk import Compiled, Runner, Stepwise
from .events import Event
from .explicit import Explicit
from .forces import External, applied, require_signature
from .identity import fingerprint
from .integrator import Integrator, Settings
from .limits import check_mode
from .loop_stops import loop_stops
from .looped import LoopedProblem, drift_of, structure_of
from .looped_run import LoopedRun
from .native import kept
from .problem import Problem
from .run import Run
from .start import assembled, closed_start
from .switches import Switch, checked
from .tableaus import TABLEAUS

if TYPE_CHECKING:
    from ..robot import Robot
    from .result import Result

__all__ = ["METHODS", "simulate"]

Array = NDArray[np.float64]
Progress = bool | Callable[[float], Any] | None

METHODS = (*TABLEAUS, "radau", "variational")
"""The integrators: explicit ones, the implicit one for stiff systems, the structure-preserving one."""


def simulate(
    robot: Robot,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    tau: Any = None,
    until: float | ArrayLike = 1.0,
    *,
    method: str = "dormand-prince-8",
    step: float | None = None,
    rtol: float = 1e-10,
    atol: float = 1e-10,
    tolerance: str = "motion",
    events: Sequence[Event] = (),
    limits: str = "ignore",
    restitution: float = 0.0,
    external: Any = None,
    dynamics: str | None = None,
    smoothing: float = 0.01,
    dense: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    max_steps: int = 10_000_000,
    native: bool | None = None,
    drift: str | tuple[float, float] = "project",
    switches: Sequence[Switch] = (),
) -> Result:
    """See `Robot.simulate`."""
    began = time.perf_counter()
    changes = checked(robot, switches)
    drift_of(drift)
    q = robot.project(_state("q0", q0, robot.neutral() if q0 is not None else assembled(robot), robot))
    v = _state("v0", v0, np.zeros(robot.nv), robot)
    times, end = _times(until)
    settings = _settings(method, step, rtol, atol, tolerance)
    if not _positive(smoothing):
        raise ArgumentError(f"smoothing must be a positive velocity, not {smoothing!r}")
    if not _positive(max_steps) or int(max_steps) != max_steps:
        raise ArgumentError(f"max_steps must be a whole number above 0, not {max_steps!r}")
    events = _events(events)
    stops = check_mode(robot, limits, restitution, q)
    if limits == "bounce" and method == "variational":
        raise ArgumentError("limits='bounce' is not for the method 'variational'; use an adaptive one")
    forces = (applied(robot, tau), External(robot, external))
    problem: Problem
    if robot.nc or changes:
        if method == "variational":
            raise ArgumentError(
                f"the method 'variational' is for trees, but {robot.name!r} has loops or couplings between joints; use "
                "an adaptive one, with drift='project', or `robot.opened()`, the same robot without them"
            )
        problem = LoopedProblem(robot, *forces, dynamics, float(smoothing), drift, bool(changes))
        problem.use(structure_of(robot, {x.name: x.active for x in robot.loops}, q, 0.0))
        q, v = closed_start(problem.now, q, v, v0 is not None)
        problem.use(structure_of(robot, problem.closed, q, 0.0))
        stops += loop_stops(problem, limits, q)
    else:
        dynamics = "articulated-body" if dynamics is None else dynamics
        robot.kernel("forward_dynamics", dynamics)  # an unknown or unfit method is named before anything is done
        problem = Problem(robot, *forces, dynamics, float(smoothing))
    between = bool(dense or events or stops or times is not None)
    runner = _runner(problem, settings, method, native, between)
    _compile(problem, q, v, limits == "bounce")
    ready = time.perf_counter()
    looped = {"switches": changes} if isinstance(problem, LoopedProblem) else {}
    run = (LoopedRun if isinstance(problem, LoopedProblem) else Run)(
        problem,  # type: ignore[arg-type]
        runner,
        Stepwise(_integrator(problem, settings, method)) if limits == "bounce" else None,
        (q, v),
        end,
        times,
        events,
        stops,
        limits,
        float(restitution),
        keep=bool(dense),
        max_steps=int(max_steps),
        method=method,
        began=ready,
        compiling=ready - began,
        order=TABLEAUS[method].order if method in TABLEAUS else 4,
        **looped,
    )
    shown = _progress(progress)
    key = (
        ""
        if checkpoint is None
        else _key(
            {
                "robot": [robot.name, robot.digest, robot.lower, robot.upper],
                "q0": q,
                "v0": v,
                "tau": problem.tau.key,
                "external": problem.external.key,
                "until": [times, end],
                "method": [method, dynamics, problem.smoothing, bool(dense)],
                "step-or-tolerances": [settings.step, settings.rtol, settings.atol],
                "events": events,
                "limits": [limits, float(restitution)],
                "loops": [robot.loop_digest, [[x.name, x.lower, x.upper] for x in robot.loops], drift, changes],
            }
        )
    )
    return run.go(checkpoint, key, shown)


def _state(name: str, given: ArrayLike | None, usual: Array, robot: Robot) -> Array:
    if given is None:
        return np.array(usual, dtype=float)
    try:
        x = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be an array of numbers, not {given!r}") from None
    what = "positions: nq" if name == "q0" else "velocities: nv"
    if x.shape != usual.shape:
        raise ArgumentError(f"{name} has shape {x.shape}; for {robot.name!r} it must be {usual.shape} ({what})")
    if not np.isfinite(x).all():
        k = int(np.flatnonzero(~np.isfinite(x))[0])
        raise ArgumentError(f"{name} must be finite; entry {k} is {x[k]}")
    return x


def _times(until: Any) -> tuple[Array | None, float]:
    """The times to report, if they are given, and the end."""
    try:
        if np.asarray(until).dtype.kind not in "biuf":
            raise TypeError
        x = np.array(until, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"until must be a time in seconds or a list of times, not {until!r}") from None
    if not x.size or x.ndim > 1 or not np.isfinite(x).all() or x.min() < 0.0:
        raise ArgumentError(
            f"until must be a time in seconds or a list of times, finite and not below 0; not {until!r}"
        )
    if x.ndim == 0:
        return None, float(x)
    if (np.diff(x) <= 0.0).any():
        k = int(np.argmax(np.diff(x) <= 0.0))
        raise ArgumentError(f"until: times must increase; after {x[k]:g} comes {x[k + 1]:g}")
    return x, float(x[-1])


def _events(events: Any) -> tuple[Event, ...]:
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


def _compile(problem: Problem, q: Array, v: Array, impacts: bool) -> None:
    """Use all functions of the robot that a run needs once, so that compiling is not counted as running."""
    drift = problem.drift if isinstance(problem, LoopedProblem) else ""
    key = ("simulate", problem.dynamics_method, impacts, problem.external.absent, drift)
    kept(problem.robot, key, lambda: _use(problem, q, v, impacts))


def _use(problem: Problem, q: Array, v: Array, impacts: bool) -> bool:
    robot = problem.robot
    robot.project(q)
    robot.position_rate(q, v)
    problem.free_dynamics(q, v, np.zeros(robot.nv), 0.0)
    robot.kinetic_energy(q, v)
    robot.potential_energy(q)
    problem.passive_force(q, v)
    if impacts:
        problem.response(q, v, 0.0)
    if isinstance(problem, LoopedProblem):
        problem.now.smallest(q[None], 0.0)
        problem.corrected_many(np.zeros(1), robot.integrate(q, np.full(robot.nv, 1e-9))[None], v[None])
        robot.inverse_dynamics(q, v, v)
    if conserved(robot, problem.external.absent).any():
        robot.momentum(q, v)
    return True


def _positive(x: Any) -> bool:
    return isinstance(x, (int, float, np.number)) and bool(0.0 < x < math.inf)


TOLERANCES = ("motion", "step")
"""What rtol and atol are of: the whole motion, so that steps are held to a share of them; or each step."""


def _settings(method: str, step: Any, rtol: Any, atol: Any, tolerance: str) -> Settings:
    if method not in METHODS:
        raise unknown_name("method of simulation", method, METHODS)
    if tolerance not in TOLERANCES:
        raise unknown_name("meaning of tolerances", tolerance, TOLERANCES)
    if step is not None and not _positive(step):
        raise ArgumentError(f"step must be a positive time in seconds, not {step!r}")
    fixed = method == "variational" or (method in TABLEAUS and not TABLEAUS[method].adaptive)
    if fixed and step is None:
        raise ArgumentError(f"the method {method!r} takes steps of a fixed length: give step=, in seconds")
    for name, x in (("rtol", rtol), ("atol", atol)):
        if not (isinstance(x, (int, float, np.number)) and 0.0 <= x < math.inf):
            raise ArgumentError(f"{name} must be a number that is not below 0, not {x!r}")
    if rtol == 0.0 and atol == 0.0:
        raise ArgumentError("rtol and atol are both 0: no step is that accurate")
    whole = tolerance == "motion"
    errors = (_of_a_step(float(x), method) if whole else float(x) for x in (rtol, atol))
    return Settings(None if step is None else float(step), *errors)


_SHARES = {"dormand-prince-8": 0.03, "dormand-prince": 0.01, "cash-karp": 0.003, "radau": 0.1}


def _of_a_step(tolerance: float, method: str) -> float:
    """What one step may err: a share of the tolerance, since errors add up; but no less than rounding allows.

    The shares are such that the error at the end of motions which are known in closed form or to 50 digits
    (`ordern.papers.references`: falls of arms that magnify an early error ten- to thirtyfold, a top, a throw) is
    within the tolerance that was asked for. Estimates of different methods differ in how far they are above the error.
    """
    return max(_SHARES.get(method, 0.1) * tolerance, min(tolerance, 2e-15))


def _integrator(problem: Problem, settings: Settings, method: str) -> Integrator:
    if method == "radau":
        from .radau import Radau

        return Radau(problem, settings)
    if method == "variational":
        from .variational import Variational

        return Variational(problem, settings)
    return Explicit(problem, settings, method)


def _runner(problem: Problem, settings: Settings, method: str, native: bool | None, between: bool) -> Runner:
    """Machine code where forces are known beforehand, else steps from Python."""
    reasons = []
    if isinstance(problem, LoopedProblem):
        reasons.append("loops are kept closed step by step, from Python")
    if method not in TABLEAUS:
        reasons.append(f"method {method!r} is stepped from Python")
    if problem.tau.kind == "function":
        reasons.append("tau is a Python function")
    if not problem.external.absent:
        reasons.append("there are external forces")
    if problem.robot.nv == 0:
        reasons.append("nothing moves")
    if not reasons and native is not False:
        try:
            return Compiled(problem, settings, method, between)
        except ArgumentError as e:
            reasons.append(str(e))
    if native:
        raise ArgumentError(f"native=True, but {'; '.join(reasons)}")
    return Stepwise(_integrator(problem, settings, method))


def _progress(progress: Progress) -> Callable[[float], Any] | None:
    if progress is None or progress is False:
        return None
    if callable(progress):
        return progress
    if progress is True:
        from .progress import Bar

        return Bar()
    raise ArgumentError(f"progress must be True, False or a function of a fraction, not {progress!r}")


def _key(parts: dict[str, Any]) -> str:
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
