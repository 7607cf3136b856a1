"""Forward dynamics of robots with loops: by which method, with which corrections, and what is told about it."""

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
from ..errors import ArgumentError, LoopError, ModelError, unknown_name
from ..kernel.fast_path import install
from .consistent import Check, require_consistent, tolerance_of
from .kernels import Array, asking, in_single, numbers, worst_loop
from .motion import ClosedMotion

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["BAUMGARTE", "METHODS", "accelerations", "closed_dynamics", "project_velocity", "usual_method"]

T = TypeVar("T")

METHODS = ("multipliers", "kkt", "null-space", "null-space-elimination", "proximal", "virtual-work")

BAUMGARTE = 20.0
"""alpha = beta of Baumgarte's stabilisation in 1/s: errors die out critically damped, with a time constant of 50 ms.
That is long against the steps of any integrator (it stays stable up to steps of about 0.1 s), and short against the
seconds in which drift builds up."""


_LEFT = 1e-6
"""What projected velocities may leave of rates (rad/s, m/s), relative to them: more than that is a contradiction."""


def usual_method(robot: Robot) -> str:
    """The method that is used unless another is asked for: where some joint moves no mass, one that needs none."""
    return robot._kernels.kept(("usual method",), lambda: _usual_method(robot))


def _usual_method(robot: Robot) -> str:
    try:
        robot.require_inertia()
    except ModelError:
        return "null-space"
    return "multipliers"


def accelerations(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    method: str | None = None,
    out: Array | None = None,
    **more: Any,
) -> Array:
    """(..., nv): the accelerations alone, computed in double precision; of single precision if all states are."""
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
    if in_single(q, v, tau):
        found = found.astype(np.float32)
    return found if out is None else _written(found, out)


def _written(found: Array, out: Array) -> Array:
    """The answer in memory of the caller's."""
    if not isinstance(out, np.ndarray):
        raise ArgumentError(f"forward_dynamics: `out` must be a NumPy array, not {type(out).__name__}")
    if not out.flags.writeable:
        raise ArgumentError("forward_dynamics: `out` is read-only")
    if out.shape != found.shape:
        raise ArgumentError(f"forward_dynamics: `out` has shape {out.shape}, but the result has {found.shape}")
    if not np.can_cast(found.dtype, out.dtype, "same_kind"):
        raise ArgumentError(f"forward_dynamics: cannot cast the result from {found.dtype} to {out.dtype}")
    out[...] = found
    return out


def closed_dynamics(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    external: Any = None,
    method: str | None = None,
    *,
    t: ArrayLike | None = None,
    stabilise: Any = None,
    loop_forces: Mapping[str, ArrayLike] | None = None,
    tolerance: float = TOLERANCE,
    rank: int | None = None,
    base_velocity: ArrayLike | None = None,
    base_acceleration: ArrayLike | None = None,
    threads: int | None = None,
    check: Check = True,
    asked: str = "closed_dynamics",
) -> ClosedMotion:
    """See `Robot.closed_dynamics`. `asked` is the function of the robot that was called, which errors name."""
    method = usual_method(robot) if method is None else method
    if method not in METHODS:
        raise unknown_name("method", method, METHODS, f"{asked} of {robot.name!r}")
    stabilised = stabilise is not None and stabilise is not False
    try:
        most = tolerance_of(False if stabilised else check, q, v)
        return _closed_dynamics(
            robot, q, v, tau, external, method, t, stabilise, loop_forces, tolerance, rank,
            {"base_velocity": base_velocity, "base_acceleration": base_acceleration}, threads, most,
        )  # fmt: skip
    except (ArgumentError, ModelError) as e:
        e.args = (_told(str(e), robot, asked),)
        raise


def _told(message: str, robot: Robot, asked: str) -> str:
    """An error's message, with the function that was called and the robot in it."""
    first, _, rest = message.partition(": ")
    if any(first == x.name for x in questions()):  # a function behind the one that was called
        message = rest
    return f"{asked}: {message}" if repr(robot.name) in message else f"{asked} of {robot.name!r}: {message}"


def _closed_dynamics(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    external: Any,
    method: str,
    t: ArrayLike | None,
    stabilise: Any,
    loop_forces: Mapping[str, ArrayLike] | None,
    tolerance: float,
    rank: int | None,
    moved: dict[str, Any],
    threads: int | None,
    most: float | None,
) -> ClosedMotion:
    if method in ("multipliers", "proximal", "virtual-work") and usual_method(robot) == "null-space":
        raise ModelError(
            f"some joint of {robot.name!r} moves no mass, so that the method {method!r}, which inverts the mass matrix "
            "of the tree, is not for it; 'null-space' and 'kkt' are",
            robot.source,
        )
    sizes = {"q": (q, robot.nq), "v": (v, robot.nv), "tau": (tau, robot.nv)}
    q, v, tau = (numbers(f"argument {name!r}", x, n) for name, (x, n) in sizes.items())
    if loop_forces:
        tau = tau + robot.loop_force(q, along(robot, loop_forces))
    ask = asking(robot)
    forces = None if external is None else robot._forces(external)
    pull = correction(robot, q, v, t, stabilise)
    optional: dict[str, Any] = {"external": forces, **moved, "t": t, "correction": pull}
    given: dict[str, Any] = {
        "external": forces,
        "t": 0.0 if t is None else t,
        "tolerance": tolerance,
        "correction": pull,
        "moved": moved,
        "drives": {name: np.asarray(f, float) for name, f in (loop_forces or {}).items()},
    }
    try:
        np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[:-1])
    except ValueError:
        raise ArgumentError(
            f"the batch shapes of the arguments do not broadcast: q {q.shape[:-1]}, v {v.shape[:-1]}, "
            f"tau {tau.shape[:-1]}"
        ) from None
    if method == "multipliers" and rank is None and compiles(robot):
        return _compiled(robot, method, q, v, tau, optional, given, threads, most)
    require_consistent(robot, q, v, t, most)
    if method == "virtual-work" and rank is None:
        return _compiled(robot, method, q, v, tau, optional, given, threads, None)
    if method == "proximal" and rank is None:
        a, lam, _ = proximal.solve(ask, q, v, tau, **optional)
        return ClosedMotion(robot, q, v, a, lam, **given)
    E = equations(ask, q, v, tau, **optional)
    return _motion(robot, q, v, E, _solved(robot, lambda: solution(E, method, tolerance, rank)), given)


def _solved(robot: Robot, solve: Callable[[], T]) -> T:
    """A solution, unless some motion that loops allow moves no mass."""
    try:
        return solve()
    except np.linalg.LinAlgError:
        raise ModelError(
            f"{robot.name!r}: some motion that its loops allow moves no mass, so its acceleration is not defined: "
            "give a body that takes part in it a mass and an inertia, or its joint an armature",
            robot.source,
        ) from None


def along(robot: Robot, forces: Mapping[str, ArrayLike]) -> Array:
    """Forces of drives in loops, by the loops' names, as one array for all joints that close loops."""
    known = {x.loop.name: x for x in robot.loop_table.loops}
    if not isinstance(forces, Mapping):
        raise ArgumentError(f"loop_forces must be forces by names of loops, {{'pin': 2.0}}, not {forces!r}")
    given = []
    for name, force in forces.items():
        loop = known.get(name)
        if loop is None:
            raise unknown_name("loop", name, known, robot.name)
        if not loop.loop.nv:
            raise ArgumentError(f"loop {name!r} is closed by {type(loop.type).__name__}, which no drive can move")
        if loop.loop.nv == 1 and np.ndim(force) == 0:
            force = np.reshape(force, 1)
        given.append((loop.v, numbers(f"the force in loop {name!r}", force, loop.loop.nv)))
    out = np.zeros((*np.broadcast_shapes(*(f.shape[:-1] for _, f in given)), robot.loop_table.nv))
    for v, f in given:
        out[..., v] = f
    return out


def compiles(robot: Robot) -> bool:
    """Whether it is worth one piece of straight-line code."""
    small = operations(robot) <= MOST_OPERATIONS and robot.nv <= 60
    return small and bool(robot.nc and robot.nv) and not robot.tables.couplings


def solution(E: Equations, method: str, tolerance: float, rank: int | None = None) -> Solution:
    """The equations of some states, solved by a method."""
    if method in ("multipliers", "virtual-work"):  # the latter has no rows to choose from, where a rank is given
        return reduced.solve(E, tolerance, rank)
    solvers = {"kkt": kkt.solve, "null-space-elimination": null_space_elimination.solve}
    return solved(E, solvers.get(method, null_space.solve), tolerance, rank)


def correction(robot: Robot, q: Array, v: Array, t: ArrayLike | None, stabilise: Any) -> Array | None:
    """What Baumgarte's stabilisation adds: 2 alpha (how fast residuals change) + beta^2 (residuals)."""
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
    robot: Robot,
    method: str,
    q: Array,
    v: Array,
    tau: Array,
    optional: dict[str, Any],
    given: Any,
    threads: int | None,
    most: float | None,
) -> ClosedMotion:
    """By one compiled function; states whose constraints may depend on each other again, with care.

    The last number of its answer is negative in states that do not fit, by the usual tolerance.
    """
    tolerance = given["tolerance"]
    drop = None if tolerance == TOLERANCE else max(tolerance**2, DROP)
    arguments = {name: x for name, x in {**optional, "drop": drop}.items() if x is not None}
    long = method == "virtual-work" and virtual_work.operations(robot) > MOST_OPERATIONS
    way = "interpreted" if long else None
    kernel = robot.kernel("closed_dynamics", method, present=tuple(arguments), way=way)
    x = kernel(q, v, tau, *arguments.values(), threads=threads)
    nv, batch = robot.nv, x.shape[:-1]
    a, lam, good = x[..., :nv], x[..., nv:-1], x[..., -1] > reduced.SMALLEST_PIVOT
    if most is not None and most < MISFIT:
        require_consistent(robot, q, v, optional["t"], most)
    doubtful = not good.all()
    if doubtful:
        if most is not None and most >= MISFIT and (x[..., -1] < 0.0).any():
            require_consistent(robot, q, v, optional["t"], most, suspected=True)
        good = np.abs(x[..., -1]) > reduced.SMALLEST_PIVOT
        doubtful = not good.all()
    if doubtful:
        n = int(np.prod(batch))
        which = np.flatnonzero(~good.reshape(n))
        kinds = {"external": 2, "t": 0}
        some = [flat(y, batch, n)[which] for y in (q, v, tau)]
        more: dict[str, Any] = {
            name: None if y is None else flat(np.asarray(y, float), batch, n, kinds.get(name, 1))[which]
            for name, y in optional.items()
        }
        s = reduced.solve(equations(asking(robot), *some, **more), tolerance)
        a, lam = a.reshape(n, nv).copy(), lam.reshape(n, robot.nc).copy()
        a[which], lam[which] = s.a, s.multipliers
        a, lam = a.reshape(*batch, nv), lam.reshape(*batch, robot.nc)
    return ClosedMotion(robot, q, v, a, lam, least=False, **given)


def _motion(robot: Robot, q: Array, v: Array, E: Equations, s: Solution, given: Any) -> ClosedMotion:
    a, lam = s.a.reshape(*E.batch, robot.nv), s.multipliers.reshape(*E.batch, robot.nc)
    return ClosedMotion(robot, q, v, a, lam, known_rank=s.rank.reshape(E.batch), **given)


def project_velocity(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    t: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    check: Check = True,
) -> Array:
    """See `Robot.project_velocity`."""
    most = tolerance_of(check, q)
    kind = np.float32 if in_single(q, v, *((t,) if isinstance(t, np.ndarray) else ())) else np.float64
    q, v = numbers("q", q, robot.nq), numbers("v", v, robot.nv)
    if not robot.nc:
        return np.array(v, kind)
    require_consistent(robot, q, None, t, most, "project_velocity")
    ask = asking(robot)
    rate = ask("loop_rate", q, v, t=t)
    batch = rate.shape[:-1]
    n = int(np.prod(batch))
    K = flat(ask("loop_jacobian", q, t=t), batch, n, 2)
    q, v, rate = flat(q, batch, n), flat(v, batch, n), flat(rate, batch, n)
    c = (K @ v[..., None])[..., 0] - rate
    if usual_method(robot) == "multipliers":
        E = Equations(ask, q, v, K, c, batch)
        new = reduced.solve(E, tolerance, start=v).a
    else:
        f = (ask("mass_matrix", q) @ v[..., None])[..., 0]
        new = _solved(robot, lambda: solved(Equations(ask, q, f, K, c, batch), null_space.solve, tolerance)).a
    new = new.reshape(*batch, robot.nv)
    name, left = worst_loop(robot, ask("loop_rate", q.reshape(*batch, -1), new, t=t))
    if left > _LEFT * (1.0 + np.abs(new).max(initial=0.0)):
        raise LoopError(
            f"no velocities of {robot.name!r} keep all loops closed: loop {name!r} would still open at "
            f"{left:.3g} (rad/s, m/s). Loops that time drives contradict others, or can go no further"
        )
    return np.asarray(new, kind)
