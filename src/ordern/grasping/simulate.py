"""Simulation of a grasp: a run of arms and object as one robot, whose steps contacts and loops correct.

Integrators, events, limits, samples, energy balance and checkpoints are those of `Robot.simulate`.
"""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, choice
from ..arguments import finite as all_finite
from ..errors import ArgumentError, InconsistentStateError, unknown_name
from ..rotations import rotate
from ..simulate.arguments import integrator_for, report_times, require_end
from ..simulate.constraints.limits import limit_stops
from ..simulate.forces import External, Table, applied
from ..simulate.options import METHODS as ALL_METHODS
from ..simulate.options import SimulationOptions
from ..simulate.results.result import Result
from ..simulate.run.chunk import Stepwise
from ..simulate.run.problem import Problem
from ..simulate.simulate import drive
from .arguments import Numbers, Pose, finite, numbers, per_arm
from .as_one_robot import from_whole, to_whole
from .consistent import require_fitting
from .contact_rows import ContactMechanism, contact_rows
from .dense import DENSE
from .one_sided import BREACH, OneSidedContacts
from .projecting import projected
from .recursive import RECURSIVE
from .state import GraspState

if TYPE_CHECKING:
    from .mechanism import Force, Grasp

__all__ = ["METHODS", "simulate"]

METHODS = tuple(m for m in ALL_METHODS if m != "variational")
DYNAMICS = (*RECURSIVE, *DENSE)
FITS = 1e-6
"""The tolerance of the start of a run: larger errors are not due to rounding."""
_WHAT = "grasp.simulate"


def simulate(
    grasp: Grasp,
    q0: ArrayLike,
    v0: Numbers,
    tau: Force,
    until: ArrayLike,
    *,
    pose: Pose,
    velocity: Numbers,
    wrench: Force,
    project: bool,
    breach: str,
    **keywords: Any,
) -> Result:
    """See `Grasp.simulate`; the keywords are those of `SimulationOptions`."""
    began = time.perf_counter()
    choice("way to treat a breach", breach, BREACH, _WHAT)
    if not isinstance(project, (bool, np.bool_)):
        raise ArgumentError(f"{_WHAT}: project must be True or False, not {project!r}")
    if keywords["method"] == "variational":
        raise unknown_name("integrator", "variational", METHODS, _WHAT)
    options = SimulationOptions(**keywords, drift="project" if project else "none")
    span = report_times(until)
    forces = _joint_forces(grasp, tau, wrench)
    q, v = _start(grasp, q0, v0, pose, velocity, project)
    if options.dynamics is not None:
        choice("method", options.dynamics, DYNAMICS, "grasp")
    robot, mechanism = grasp.robot, ContactMechanism(grasp)
    external, drift = External(robot, None), str(options.drift)
    applied_forces = applied(robot, forces)
    problem = Problem(
        robot, applied_forces, external, options.dynamics, options.smoothing, mechanism=mechanism, drift=drift
    )
    problem.close(problem.closed, q=q)
    require_end(span[1], problem.tau, options, breach == "stop")
    stops = limit_stops(problem, options.limits, q)
    runner = Stepwise(integrator_for(problem, options))
    rows = contact_rows(problem)
    # also compiles the functions, so that this is not counted as running
    found = rows.motion(rows.state(q, v), np.zeros(problem.nv), problem.dynamics_method)
    if options.method == "radau" and found.singular:
        raise ArgumentError(
            f"{_WHAT}: the method 'radau' evaluates states next to those in which tips and object fit, and there "
            f"contacts that depend on each other ({int(found.rank)} of {found.rows} rows are independent here) would "
            "lock the motion; use an explicit method"
        )
    contacts = [[type(c).__name__, c.name, c.at.matrix, c.on_tip.matrix, c.bound, c.surface] for c in grasp.contacts]
    parts = {"loops": robot.loop_digest, "contacts": contacts, "breach": breach}
    one_sided = OneSidedContacts(problem, breach)
    return one_sided.with_breaches(drive(problem, options, (q, v), span, stops, runner, parts, began, one_sided))


def _start(
    grasp: Grasp, q0: ArrayLike, v0: Numbers, pose: Pose, velocity: Numbers, project: bool
) -> tuple[Array, Array]:
    """Return q and v of the whole robot at the start, projected but for `project=False`; raise if it does not fit."""
    finite(grasp.arms, per_arm(grasp.arms, q0, "q"), "q0")
    start = grasp.state(q0, v0, pose, velocity)
    if start.shape != ():
        raise ArgumentError(f"{_WHAT}: one state at a time, not a batch of shape {start.shape}")
    if grasp.object is None and not np.allclose(start.pose, grasp.stands.matrix):
        raise ArgumentError(f"{_WHAT}: the object is fixed at the `pose` given to on.grasp; leave `pose` out here")
    finite(grasp.arms, start.v, "v0")
    all_finite(start.velocity, f"{_WHAT}: `velocity`")
    try:
        require_fitting(start, FITS, _WHAT)
    except InconsistentStateError as e:
        raise InconsistentStateError(str(e).partition("; check=False")[0]) from None  # a run has no such argument
    return to_whole(projected(start) if project else start)


def _require_signature(name: str, f: Force) -> None:
    """Raise unless a function can be called with a time and a state."""
    if not callable(f) or isinstance(f, Table):
        return
    try:
        inspect.signature(f).bind(0.0, None)
    except TypeError as e:
        raise ArgumentError(
            f"{_WHAT}: `{name}` must be a function f(t, state) of a time and a GraspState (state.q, state.v, "
            f"state.pose, ...): {e}"
        ) from None
    except ValueError:  # functions that are not Python may have no signature
        pass


def _joint_forces(grasp: Grasp, tau: Force, wrench: Force) -> Any:
    """Return joint forces of the whole robot: those of the arms, and the force on the object along its own axes."""
    _require_signature("tau", tau)
    _require_signature("wrench", wrench)
    n = grasp.robot.nv
    if isinstance(tau, Table) and wrench is None:
        if tau.values.shape[1] != grasp.nv:
            raise ArgumentError(f"{_WHAT}: the table of `tau` has {tau.values.shape[1]} columns, not {grasp.nv}")
        pad = np.zeros((len(tau.t), n - grasp.nv))
        return Table(tau.t, np.concatenate([tau.values, pad], axis=1), tau.hold)
    if wrench is not None and grasp.object is None:
        raise ArgumentError(f"{_WHAT}: a `wrench` on an object that does not move has no effect; leave it out")
    if not callable(tau) and wrench is None:
        parts = per_arm(grasp.arms, np.zeros(grasp.nv) if tau is None else tau, "tau")
        return np.concatenate([*parts, np.zeros(n - grasp.nv)])

    def now(force: Force, t: float, state: GraspState, size: int) -> ArrayLike:
        given = force(t) if isinstance(force, Table) else force(t, state) if callable(force) else force
        return np.zeros(size) if given is None else given

    def forces(t: float, q: Array, v: Array) -> Array:
        state = from_whole(grasp, q, v)
        parts = per_arm(grasp.arms, now(tau, t, state, grasp.nv), "tau")
        if grasp.object is None:
            return np.concatenate(parts)
        w = numbers(now(wrench, t, state, 6), "`wrench`", (6,))
        return np.concatenate([*parts, rotate(state.R.T, w)])

    for name in ("period", "breaks"):  # the times at which a controller acts
        if hasattr(tau, name):
            setattr(forces, name, getattr(tau, name))
    return forces
