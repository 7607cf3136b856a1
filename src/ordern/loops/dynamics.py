"""Forward dynamics of robots with loops: the choice of the method, and stabilisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import methods, questions
from ..algorithms.closed_loop import kkt, null_space, null_space_elimination, proximal, reduced, virtual_work
from ..algorithms.closed_loop.equations import Equations, Solution, equations, flat, solved
from ..algorithms.closed_loop.misfit import MISFIT
from ..algorithms.closed_loop.multipliers import DROP, MOST_OPERATIONS, operations
from ..algorithms.closed_loop.rank import TOLERANCE
from ..arguments import choice, real
from ..errors import ArgumentError, ModelError
from ..kernel.arguments import broadcast_named, stored
from ..kernel.bound import bound
from ..kernel.elsewhere import delegate
from ..kernel.fast_path import install
from ..model.parameter_sets import flattened, part
from .consistent import Check, require_consistent, tolerance_of
from .kernels import Array, asking, in_single, numbers
from .motion import ClosedMotion

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["BAUMGARTE", "METHODS", "accelerations", "closed_dynamics", "massive", "usual_method"]

T = TypeVar("T")

METHODS = ("multipliers", "kkt", "null-space", "null-space-elimination", "proximal", "virtual-work")

BAUMGARTE = 20.0
"""alpha = beta of Baumgarte's stabilisation in 1/s: errors die out critically damped, with a time constant of 50 ms.
That is long against the steps of any integrator (it stays stable up to steps of about 0.1 s), and short against the
seconds in which drift builds up."""


_RANKS = {"external": 2, "t": 0}
"""The number of dimensions of arguments for one state, where it is not one."""


def usual_method(robot: Robot) -> str:
    """Return the default method: "multipliers", or "null-space" where some joint moves no mass."""
    return robot._kernels.kept(("usual method",), lambda: _usual_method(robot))


def _usual_method(robot: Robot) -> str:
    varied = bound(robot) if robot.batch_shape else None
    try:
        if varied is None:
            robot.require_inertia()
        else:
            varied.require_inertia()
    except ModelError:
        return "null-space"
    return "multipliers"


def accelerations(
    robot: Robot, q: ArrayLike, v: ArrayLike, tau: ArrayLike, method: str | None = None, out: Array | None = None,
    **more: Any,
) -> Array:  # fmt: skip
    """Return the accelerations (..., nv) alone, computed in double precision; in single if all states are single."""
    elsewhere = delegate("forward_dynamics", robot, {"q": q, "v": v, "tau": tau, **more})
    if elsewhere is not None:
        found_elsewhere: Array = elsewhere(robot, q, v, tau, method, out, **more)
        return found_elsewhere
    if method not in (None, *METHODS) and any(m.name == method for m in methods("forward_dynamics")):
        raise ArgumentError(
            f"forward_dynamics by the method {method!r} is for trees, but {robot.name!r} has loops or couplings "
            f"({', '.join(list(robot.loop_rows)[:5])}): use one of {', '.join(METHODS)}; or `robot.opened()`, which is "
            "the same robot without them"
        )
    found = closed_dynamics(robot, q, v, tau, method=method, asked="forward_dynamics", **more).a
    if "forward_dynamics" not in robot.__dict__ and usual_method(robot) == "multipliers" and compiles(robot):
        kernel = robot.kernel("closed_dynamics", "multipliers")
        install(robot, "forward_dynamics", kernel, first=robot.nv, floor=reduced.SMALLEST_PIVOT)
    return stored("forward_dynamics", found.astype(np.float32) if in_single(q, v, tau) else found, out)


def closed_dynamics(
    robot: Robot, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: Any = None, method: str | None = None, *,
    t: ArrayLike | None = None, stabilise: Any = None, loop_forces: Mapping[str, ArrayLike] | None = None,
    tolerance: float = TOLERANCE, rank: int | None = None, base_velocity: ArrayLike | None = None,
    base_acceleration: ArrayLike | None = None, threads: int | None = None, check: Check = True,
    asked: str = "closed_dynamics",
) -> ClosedMotion:  # fmt: skip
    """See `Robot.closed_dynamics`. `asked` is the method of the robot that was called; errors name it."""
    method = usual_method(robot) if method is None else method
    choice("method", method, METHODS, f"{asked} of {robot.name!r}")
    stabilised = stabilise is not None and stabilise is not False
    try:
        most = tolerance_of(False if stabilised else check, q, v)
        _require_mass(robot, method)
        sizes = {"q": (q, robot.nq), "v": (v, robot.nv), "tau": (tau, robot.nv)}
        q, v, tau = (numbers(f"argument {name!r}", x, n) for name, (x, n) in sizes.items())
        if loop_forces:
            tau = tau + robot.loop_force(q, along(robot, loop_forces))
        forces = None if external is None else robot._forces(external)
        t = None if t is None else real(t, "t")
        pull = correction(robot, q, v, t, stabilise)
        moved = {"base_velocity": base_velocity, "base_acceleration": base_acceleration}
        moved = {name: None if x is None else real(x, name) for name, x in moved.items()}
        given: dict[str, Any] = {
            "external": forces,
            "t": 0.0 if t is None else t,
            "tolerance": tolerance,
            "correction": pull,
            "moved": moved,
            "drives": {name: real(f, f"the force in loop {name!r}") for name, f in (loop_forces or {}).items()},
        }
        shapes = {"q": q.shape[:-1], "v": v.shape[:-1], "tau": tau.shape[:-1]}
        optional = {"external": forces, **moved, "t": t, "correction": pull}
        if robot.batch_shape:
            shapes["parameters of the robot"] = robot.batch_shape
            return _solve_sets(robot, method, (q, v, tau), optional, given, tolerance, rank, threads, most, shapes)
        broadcast_named("the batch shapes of the arguments", shapes)
        return _solve(robot, method, (q, v, tau), optional, given, tolerance, rank, threads, most)
    except (ArgumentError, ModelError) as e:
        e.args = (_told(str(e), robot, asked),)
        raise


def _told(message: str, robot: Robot, asked: str) -> str:
    """Return an error's message with the method that was called and the robot in it."""
    first, _, rest = message.partition(": ")
    if any(first == x.name for x in questions()):  # a function behind the one that was called
        message = rest
    return f"{asked}: {message}" if repr(robot.name) in message else f"{asked} of {robot.name!r}: {message}"


def _require_mass(robot: Robot, method: str) -> None:
    if method in ("multipliers", "proximal", "virtual-work") and usual_method(robot) == "null-space":
        raise ModelError(
            f"some joint of {robot.name!r} moves no mass, so that the method {method!r}, which inverts the mass matrix "
            "of the tree, cannot be used; 'null-space' and 'kkt' can",
            robot.source,
        )


def _solve(
    robot: Robot, method: str, state: tuple[Array, Array, Array], optional: dict[str, Any], given: dict[str, Any],
    tolerance: float, rank: int | None, threads: int | None, most: float | None,
) -> ClosedMotion:  # fmt: skip
    """Solve the equations of motion by a method; `given` are the other fields of the result."""
    q, v, tau = state
    if method == "multipliers" and rank is None and compiles(robot):
        return _compiled(robot, method, state, optional, given, threads, most)
    require_consistent(robot, q, v, optional["t"], most)
    if method == "virtual-work" and rank is None:
        return _compiled(robot, method, state, optional, given, threads, None)
    if method == "proximal" and rank is None:
        a, lam, _ = proximal.solve(asking(robot), q, v, tau, **optional)
        return ClosedMotion(robot, q, v, a, lam, **given)
    E = equations(asking(robot), q, v, tau, **optional)
    s = massive(robot, lambda: solution(E, method, tolerance, rank))
    a, lam = s.a.reshape(*E.batch, robot.nv), s.multipliers.reshape(*E.batch, robot.nc)
    return ClosedMotion(robot, q, v, a, lam, known_rank=s.rank.reshape(E.batch), **given)


def _solve_sets(
    robot: Robot, method: str, state: tuple[Array, Array, Array], optional: dict[str, Any], given: dict[str, Any],
    tolerance: float, rank: int | None, threads: int | None, most: float | None, shapes: dict[str, tuple[int, ...]],
) -> ClosedMotion:  # fmt: skip
    """Solve the equations of motion of a robot with many sets of parameters: all states in one row, each with its set.

    The default method is one compiled function; others solve state by state.
    """
    arrays = {name: None if x is None else np.asarray(x, float) for name, x in optional.items()}
    shapes |= {name: x.shape[: x.ndim - _RANKS.get(name, 1)] for name, x in arrays.items() if x is not None}
    shapes |= {f"the force in loop {name!r}": f.shape[:-1] for name, f in given["drives"].items() if f.ndim}
    batch = broadcast_named("the batch shapes of the arguments", shapes)
    n, sets = int(np.prod(batch)), flattened(robot, batch)
    q, v, tau = (flat(x, batch, n) for x in state)
    more: dict[str, Any] = {
        name: None if x is None else flat(x, batch, n, _RANKS.get(name, 1)) for name, x in arrays.items()
    }
    given = given | {"external": more["external"], "t": 0.0 if more["t"] is None else more["t"], "batch": batch}
    given |= {"correction": more["correction"], "moved": {name: more[name] for name in given["moved"]}}
    given["drives"] = {name: f if not f.ndim else flat(f, batch, n) for name, f in given["drives"].items()}
    if method == "multipliers" and rank is None and compiles(robot):
        return _compiled(sets, method, (q, v, tau), more, given, threads, most)
    a, lam, ranks = np.zeros((n, robot.nv)), np.zeros((n, robot.nc)), np.zeros(n, int)
    for k in range(n):
        own = {name: None if x is None else x[k] for name, x in more.items()}
        plain = {"tolerance": tolerance}
        one = _solve(part(sets, k), method, (q[k], v[k], tau[k]), own, plain, tolerance, rank, threads, most)
        a[k], lam[k], ranks[k] = one.a, one.multipliers, one.rank
    return ClosedMotion(sets, q, v, a, lam, known_rank=ranks, **given)


def massive(robot: Robot, solve: Callable[[], T]) -> T:
    """Return a solution; raise if some motion that loops allow moves no mass."""
    try:
        return solve()
    except np.linalg.LinAlgError:
        raise ModelError(
            f"{robot.name!r}: some motion that its loops allow moves no mass, so its acceleration is not defined: "
            "give a body that takes part in it a mass and an inertia, or its joint an armature",
            robot.source,
        ) from None


def along(robot: Robot, forces: Mapping[str, ArrayLike]) -> Array:
    """Return forces of drives in loops, given by names of loops, as one array for all joints that close loops."""
    given = []
    for name, v in loop_places(robot, forces).items():
        force, count = forces[name], v.stop - v.start
        if count == 1 and np.ndim(force) == 0:
            force = np.reshape(force, 1)
        given.append((v, numbers(f"the force in loop {name!r}", force, count)))
    out = np.zeros((*np.broadcast_shapes(*(f.shape[:-1] for _, f in given)), robot.loop_table.nv))
    for v, f in given:
        out[..., v] = f
    return out


def loop_places(robot: Robot, forces: Any) -> dict[str, slice]:
    """Return the places of drives in loops, given by names of loops, among all freedoms of joints that close loops."""
    known = {x.loop.name: x for x in robot.loop_table.loops}
    if not isinstance(forces, Mapping):
        raise ArgumentError(f"loop_forces must be forces by names of loops, {{'pin': 2.0}}, not {forces!r}")
    found = {}
    for name in forces:
        loop = known[choice("loop", name, known, robot.name)]
        if not loop.loop.nv:
            raise ArgumentError(f"loop {name!r} is closed by {type(loop.type).__name__}, which no drive can move")
        found[name] = loop.v
    return found


def compiles(robot: Robot) -> bool:
    """Return True if one piece of straight-line code can solve the whole problem."""
    small = operations(robot) <= MOST_OPERATIONS and robot.nv <= 60
    return small and bool(robot.nc and robot.nv) and not robot.tables.couplings


def solution(E: Equations, method: str, tolerance: float, rank: int | None = None) -> Solution:
    """Solve the equations of some states by a method."""
    if method in ("multipliers", "virtual-work"):  # the latter has no rows to choose from, where a rank is given
        return reduced.solve(E, tolerance, rank)
    solvers = {"kkt": kkt.solve, "null-space-elimination": null_space_elimination.solve}
    return solved(E, solvers.get(method, null_space.solve), tolerance, rank)


def correction(robot: Robot, q: Array, v: Array, t: ArrayLike | None, stabilise: Any) -> Array | None:
    """Return the term of Baumgarte's stabilisation: 2 alpha (rate of residuals) + beta^2 (residuals)."""
    if stabilise is None or stabilise is False:
        return None
    pair = (BAUMGARTE, BAUMGARTE) if stabilise is True else stabilise
    try:
        alpha, beta = (float(x) for x in pair)
    except (TypeError, ValueError):
        alpha = beta = np.nan
    if not (0.0 <= alpha < np.inf and 0.0 <= beta < np.inf):
        raise ArgumentError(
            f"stabilise must be True, or two numbers (alpha, beta) in 1/s not below 0, not {stabilise!r}"
        )
    ask = asking(robot)
    return np.asarray(2.0 * alpha * ask("loop_rate", q, v, t=t) + beta**2 * ask("loop_residual", q, t=t))


def _compiled(
    robot: Robot, method: str, state: tuple[Array, Array, Array], optional: dict[str, Any], given: dict[str, Any],
    threads: int | None, most: float | None,
) -> ClosedMotion:  # fmt: skip
    """Solve by one compiled function, and states whose constraints may depend on each other again, by a rank decision.

    The last number of the function's answer is the smallest pivot; it is negative in inconsistent states.
    """
    tolerance, (q, v, tau) = given["tolerance"], state
    drop = None if tolerance == TOLERANCE else max(tolerance**2, DROP)
    long = method == "virtual-work" and virtual_work.operations(robot) > MOST_OPERATIONS
    arguments = {name: x for name, x in {**optional, "drop": drop}.items() if x is not None}
    kernel = robot.kernel("closed_dynamics", method, present=tuple(arguments), way="interpreted" if long else None)
    x = kernel(q, v, tau, *arguments.values(), threads=threads)
    nv, batch, pivot = robot.nv, x.shape[:-1], x[..., -1]
    a, lam = x[..., :nv], x[..., nv:-1]
    if most is not None and most < MISFIT:
        require_consistent(robot, q, v, optional["t"], most)
    if not (pivot > reduced.SMALLEST_PIVOT).all():
        if most is not None and most >= MISFIT and (pivot < 0.0).any():
            require_consistent(robot, q, v, optional["t"], most, suspected=True)
        n = int(np.prod(batch))
        which = np.flatnonzero(~(np.abs(pivot) > reduced.SMALLEST_PIVOT).reshape(n))
        if which.size:
            some = [flat(y, batch, n)[which] for y in state]
            more: dict[str, Any] = {
                name: None if y is None else flat(np.asarray(y, float), batch, n, _RANKS.get(name, 1))[which]
                for name, y in optional.items()
            }
            a, lam = a.reshape(n, nv).copy(), lam.reshape(n, robot.nc).copy()
            if robot.batch_shape:
                for k, at in enumerate(which):  # each with its own set of parameters
                    one: dict[str, Any] = {name: None if y is None else y[k] for name, y in more.items()}
                    s = reduced.solve(equations(asking(part(robot, at)), *(x[k] for x in some), **one), tolerance)
                    a[at], lam[at] = s.a[0], s.multipliers[0]
            else:
                s = reduced.solve(equations(asking(robot), *some, **more), tolerance)
                a[which], lam[which] = s.a, s.multipliers
            a, lam = a.reshape(*batch, nv), lam.reshape(*batch, robot.nc)
    return ClosedMotion(robot, q, v, a, lam, least=False, **given)
