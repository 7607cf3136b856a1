"""The driver of a simulation: from arguments to a Result."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Array, array
from ..errors import ArgumentError
from ..model.parameter_sets import part
from ..screen.progress import reported
from .arguments import initial_state, integrator_for, report_times, require_end, run_key
from .constraints.limits import Stop, limit_stops
from .constraints.loop_rows import LoopMechanism, LoopRows
from .constraints.start import assembled, closed_start
from .contacts.choosing import contacts_of, with_usual
from .forces import External, applied
from .integrators.native import Closing, kept
from .integrators.tableaus import TABLEAUS
from .motion_source import MotionSource
from .options import SimulationOptions
from .run.balance import conserved
from .run.chunk import Compiled, Runner, Stepwise
from .run.closed import Closed
from .run.problem import Problem
from .run.run import OneSided, Run, State
from .switches import require_loops

if TYPE_CHECKING:
    from ..compile.timeloops.law_program import Law
    from ..robot import Robot
    from .results.result import Result

__all__ = ["drive", "simulate"]


def simulate(
    robot: Robot,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    tau: Any = None,
    until: float | ArrayLike = 1.0,
    external: Any = None,
    **keywords: Any,
) -> Any:
    """See `Robot.simulate`; the keywords are those of `SimulationOptions`."""
    keywords = with_usual(robot, keywords)
    if robot.batch_shape:
        return _each_set(robot, q0, v0, tau, until, external, keywords)
    began = time.perf_counter()
    if keywords.get("method") == "variational" and (robot.nc or keywords.get("switches")):
        raise ArgumentError(
            f"the method 'variational' is for trees, but {robot.name!r} has loops or couplings between joints; use "
            "an adaptive one, with drift='project', or `robot.opened()`, the same robot without them"
        )
    options = SimulationOptions(**keywords)
    require_loops(robot, options.switches)
    q = robot.normalize(initial_state("q0", q0, robot.neutral() if q0 is not None else assembled(robot), robot))
    v = initial_state("v0", v0, np.zeros(robot.nv), robot)
    span = report_times(until)
    forces = (applied(robot, tau), External(robot, external))
    require_end(span[1], forces[0], options)
    constrained = bool(robot.nc or options.switches)
    if not constrained:  # name an unknown or unfit method before anything is done
        robot.kernel("forward_dynamics", options.dynamics or "articulated-body")
    problem = Problem(
        robot,
        *forces,
        options.dynamics,
        options.smoothing,
        mechanism=LoopMechanism(robot) if constrained else None,
        drift=options.drift if isinstance(options.drift, str) else "baumgarte",
        pull=options.pull,
        switched=bool(options.switches),
    )
    touching = contacts_of(robot, options.contacts)
    if touching is not None:
        problem.touch_by(touching)
    law = None if constrained else problem.tau.law()
    reasons = _reasons(problem, options, law)
    if constrained:
        problem.sparing = not reasons and options.native is not False
        problem.close(problem.closed, q=q)
        q, v = closed_start(problem.now, q, v, v0 is not None)
        problem.close(problem.closed, q=q)
    stops = limit_stops(problem, options.limits, q)
    # singular positions of loops are found between the ends of steps, too
    between = bool(options.dense or options.events or stops or constrained or span[0] is not None)
    runner = _runner(problem, options, reasons, between, bool(stops) and options.limits == "bounce", law)
    _compile(problem, q, v, stops if options.limits == "bounce" else [])
    parts = {"loops": [robot.loop_digest, [[x.name, x.lower, x.upper] for x in robot.loops]]}
    result = drive(problem, options, (q, v), span, stops, runner, parts, began, touching)
    object.__setattr__(result, "source", MotionSource(robot, *forces, options, span[0] is not None))
    return result


def _each_set(
    robot: Robot, q0: Any, v0: Any, tau: Any, until: Any, external: Any, keywords: dict[str, Any]
) -> NDArray[Any]:
    """Return an array of results, one for each set of parameters; states and constant forces may differ, too."""
    if keywords.get("checkpoint") is not None:
        raise ArgumentError(
            f"simulate: {robot.name!r} has sets of parameters, and a checkpoint is for one run: use `folded`"
        )
    batch = robot.batch_shape
    given = {"q0": (q0, robot.nq), "v0": (v0, robot.nv), "tau": (tau, robot.nv)}
    several = {}
    for name, (x, n) in given.items():
        if isinstance(x, (np.ndarray, list)) and np.ndim(x) > 1:
            numbers = array(x, (..., n), f"simulate: {name}")
            try:
                several[name] = np.broadcast_to(numbers, (*batch, n))
            except ValueError:
                raise ArgumentError(
                    f"simulate: {name} has shape {numbers.shape}; for {robot.name!r}, which has sets of parameters of "
                    f"the shape {batch}, it must broadcast to {(*batch, n)}"
                ) from None
    found = np.empty(batch, object)
    for index in np.ndindex(*batch):
        q, v, f = (several[name][index] if name in several else x for name, (x, _) in given.items())
        found[index] = simulate(part(robot, index), q, v, f, until, external, **keywords)
    return found


def drive(
    problem: Problem,
    options: SimulationOptions,
    state: State,
    span: tuple[Array | None, float],
    stops: list[Stop],
    runner: Runner,
    parts: dict[str, Any],
    began: float,
    contacts: OneSided | None = None,
) -> Result:
    """Run to the end of the span, with a checkpoint if one is given.

    `parts` identify the run in the checkpoint, in addition to its options.
    """
    resting = Stepwise(integrator_for(problem, options)) if options.limits == "bounce" else None
    ready = time.perf_counter()
    run = Run(problem, runner, resting, state, span, stops, options, ready, ready - began, contacts)
    key = "" if options.checkpoint is None else run_key(parts, problem, options, state, span)
    with reported(options.progress, problem.robot.name) as told:
        return run.go(options.checkpoint, key, told)


def _compile(problem: Problem, q: Array, v: Array, stops: list[Stop]) -> None:
    """Call all functions of the robot that a run needs once, so that the time of the run does not include compiling."""
    drift = problem.drift if problem.constrained else ""
    contacts = "" if problem.touching is None else problem.touching.model
    key = ("simulate", problem.dynamics_method, len(stops), problem.external.absent, drift, problem.sparing, contacts)
    kept(problem.robot, key, lambda: _use(problem, q, v, stops))


def _use(problem: Problem, q: Array, v: Array, stops: list[Stop]) -> bool:
    robot = problem.robot
    robot.normalize(q)
    robot.position_rate(q, v)
    problem.free_dynamics(q, v, np.zeros(robot.nv), 0.0)
    robot.kinetic_energy(q, v)
    robot.potential_energy(q)
    problem.passive_force(q, v)
    if stops:
        problem.stop_response(q, problem.stop_rows(stops, q), 0.0)
        problem.stop_bias(stops, q, v)
    if problem.constrained:
        problem.now.smallest(q[None], 0.0)
        if not problem.sparing:
            problem.corrected_many(np.zeros(1), robot.integrate(q, np.full(robot.nv, 1e-9))[None], v[None])
        robot.inverse_dynamics(q, v, v)
    if conserved(robot, problem.external.absent).any():
        robot.momentum(q, v)
    return True


def _closing(problem: Problem, options: SimulationOptions) -> Closing | str:
    """Return how compiled steps keep loops closed, or the reason why the steps are taken from Python."""
    if problem.switched:
        return "loops that open and close are stepped from Python"
    rows = problem.now.rows
    assert isinstance(rows, LoopRows)
    return rows.closing(options.dynamics, problem.now.rank, problem.drift, problem.pull)


def _reasons(problem: Problem, options: SimulationOptions, law: Law | None) -> list[str]:
    """Return the reasons why steps are taken from Python; machine code can take them if there are none."""
    closing = _closing(problem, options) if problem.constrained else ""
    found = {
        closing if isinstance(closing, str) else "": True,
        f"method {options.method!r} is stepped from Python": options.method not in TABLEAUS,
        "tau is a Python function": problem.tau.kind == "function" and law is None,
        "the external forces are a Python function": problem.external.is_function,
        "nothing moves": problem.robot.nv == 0,
        "contacts are stepped from Python": problem.touching is not None,
    }
    return [reason for reason, holds in found.items() if reason and holds]


def _runner(
    problem: Problem, options: SimulationOptions, reasons: list[str], between: bool, holds: bool, law: Law | None
) -> Runner:
    """Return machine code unless there are reasons against it; if it `holds`, joints may rest on stops."""
    settings, method = options.settings, options.method
    if not reasons and options.native is not False:
        try:
            closing = _closing(problem, options) if problem.constrained else None
            loops = closing if isinstance(closing, Closing) else None
            if loops or (law is not None and law.program.checked and law.period is None):
                integrator = integrator_for(problem, options)
                holds = holds and (loops is None or loops.projects)
                return Closed(problem, settings, method, between, loops, integrator, holds, law)
            return Compiled(problem, settings, method, between, holds=holds, law=law)
        except ArgumentError as e:
            reasons = [str(e)]
            problem.solve_compiled()
    if options.native:
        raise ArgumentError(f"native=True, but {'; '.join(reasons)}")
    return Stepwise(integrator_for(problem, options))
