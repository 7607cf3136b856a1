"""Linearised motion: the matrices A and B of dx/dt = A x + B u, or of one step of a rollout, x' = A x + B u.

The state x is a small change of position, in the tangent of `integrate`, and of velocity; u is a change of joint
forces. Dampers, friction, springs and drag take part, as in rollouts.

    continuous    A = [ D  1 ]    B = [   0  ]        D: drift of tangents, zero where axes do not turn
                      [ a_q a_v ]     [ a_tau ]
    step          the derivatives of `integrators.rk_step.fixed_step`, on a machine that carries derivatives; or
                  those of the implicit step that rollouts take by `step_rule`

A robot with loops has fewer motions than freedoms. Changes that open loops never arise, and no forces cause them, so
that they would make (A, B) uncontrollable. So the state has the changes of some freedoms alone, which determine all
others. With N the motions that loops allow, K N = 0, scaled to be 1 at these freedoms,

    dq = N y,    dv = N z + E y,    K E + d(K v)/dq N = 0,   E = 0 at these freedoms

and `lift` is the matrix from (y, z) to (dq, dv). Loops that constrain only velocities leave more freedoms of positions
than of velocities.

Reference: Featherstone and Orin 2000, sec. 3.4, eq. (22), for coordinates of loops.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.closed_loop.equations import flat
from ..algorithms.derivatives.linear_step import turning
from ..arguments import array, broadcast_shapes, choice, positive
from ..declared import explained_methods
from ..errors import ArgumentError
from ..loops.consistent import require_consistent, tolerance_of
from ..loops.implicit import ImplicitMotion, refuse_singular
from ..loops.kernels import in_single, kept_freedoms
from ..loops.sets import by_sets
from ..model.checks import require_no_contacts
from .integrators.rk_step import fixed_step
from .integrators.tableaus import TABLEAUS, tableau
from .integrators.tangent_machine import TangentMachine, Varied
from .step_rule import stepped as step_of

if TYPE_CHECKING:
    from ..arguments import AnyArray
    from ..robot import Robot

__all__ = ["Linearisation", "linearise"]

_MOST = 18
"""The number of freedoms up to which one piece of code has all derivatives."""
_INDEPENDENT = 1e-6
"""The smallest singular value of N at the chosen freedoms: below it they do not determine the motion."""


@explained_methods
class Linearisation(namedtuple("Linearisation", ("A", "B"))):
    """The matrices A (..., k, k) and B (..., k, nv) of a linearised motion: `A, B = robot.linearise(...)`.

    For a tree k is 2 nv: changes of position, then of velocity. For a robot with loops they are those of the freedoms
    in `positions` and `velocities`.
    """

    A: AnyArray
    B: AnyArray
    positions: tuple[int, ...]
    """The freedoms, as indices of v, whose changes of position are in the state."""
    velocities: tuple[int, ...]
    """The freedoms whose changes of velocity are in the state, after those of position."""
    _lift: AnyArray | None = None
    _rest: Callable[[], tuple[AnyArray, AnyArray]]

    @property
    def lift(self) -> AnyArray:
        """(..., 2 nv, k): the changes of all positions and velocities that belong to a state."""
        if self._lift is None:
            return np.broadcast_to(np.eye(self.A.shape[-1], dtype=self.A.dtype), self.A.shape)
        return self._lift

    @cached_property
    def _end(self) -> tuple[AnyArray, AnyArray]:
        return self._rest()

    @property
    def q(self) -> AnyArray:
        """The position at the end of the step; without a step, the given position."""
        return self._end[0]

    @property
    def v(self) -> AnyArray:
        """The velocity there."""
        return self._end[1]

    def __repr__(self) -> str:
        return f"Linearisation(A={self.A.shape}, B={self.B.shape}, positions={self.positions})"


def linearise(
    robot: Robot, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None, dt: float | None = None, *,
    method: str | None = None, external: Any = None, smoothing: float = 0.01,
    independent: Sequence[str] | None = None,
) -> Linearisation:  # fmt: skip
    """See `Robot.linearise`."""
    require_no_contacts(robot, "linearise")
    stepped = choice("method", "semi-implicit-euler" if method is None else method, TABLEAUS, "linearise")
    if dt is None and method is not None:
        raise ArgumentError(
            f"linearise: `method`, here {method!r}, is that of a step of a rollout, and needs its length `dt`; without "
            "both, the matrices are those of dx/dt = A x + B u"
        )
    smoothing = positive(smoothing, "linearise: `smoothing`")
    h = None if dt is None else positive(dt, "linearise: `dt`")
    if independent is not None and not robot.nc:
        raise ArgumentError(f"linearise: `independent` is for robots with loops; {robot.name!r} has none")
    for x in robot.loop_table.loops:
        if x.type.timed:
            raise ArgumentError(f"linearise: loop {x.loop.name!r} is driven by time; its motion is not linearised")
    implicit = h is not None and _is_implicit(robot, stepped, None)
    compiled = not robot.nc and robot.nv <= _MOST and (h is None or tableau(stepped).exponential) and not turning(robot)
    if compiled and (not implicit or not _is_implicit(robot, stepped, "ignore")):
        found = _of_arm(robot, q, v, tau, external, smoothing, h)
        if not implicit or all(_is_within_limits(robot, x) for x in (q, found.q)):
            return found
    if robot.batch_shape:
        settings = {"dt": dt, "method": method, "smoothing": smoothing, "independent": independent}
        return _of_sets(robot, {"q": q, "v": v, "tau": tau}, external, settings)
    single = in_single(*(x for x in (q, v, tau) if x is not None))
    q = array(q, (..., robot.nq), "linearise: q")
    rest = np.zeros(robot.nv)
    v = rest if v is None else array(v, (..., robot.nv), "linearise: v")
    tau = rest if tau is None else array(tau, (..., robot.nv), "linearise: tau")
    loads = None if external is None else np.asarray(robot._forces(external), float)
    cores = [x.shape[:-1] for x in (q, v, tau)] + ([] if loads is None else [loads.shape[:-2]])
    batch = broadcast_shapes("q, v and tau", *cores)
    n = int(np.prod(batch))
    q, v, tau = (flat(np.asarray(x, float), batch, n) for x in (q, v, tau))
    loads = None if loads is None else flat(loads, batch, n, 2)
    if implicit:
        assert h is not None
        A, B, q1, v1 = _of_rollout(robot, (q, v, tau), loads, smoothing, h)
    else:
        full = _Full(robot, q, v, tau, loads, smoothing)
        A, B, q1, v1 = full.continuous() if h is None else full.step(stepped, h)
    rows, lift = list(range(2 * robot.nv)), np.broadcast_to(np.eye(2 * robot.nv), (n, 2 * robot.nv, 2 * robot.nv))
    if robot.nc:
        rows, lift = _reduced(robot, q, v, batch, independent)
        A, B = A[:, rows] @ lift, B[:, rows]
    kind = np.float32 if single else np.float64
    found = Linearisation(*(x.reshape(*batch, *x.shape[1:]).astype(kind) for x in (A, B)))
    found.positions = tuple(k for k in rows if k < robot.nv)
    found.velocities = tuple(k - robot.nv for k in rows if k >= robot.nv)
    found._lift = lift.reshape(*batch, *lift.shape[1:]).astype(kind)
    found._rest = lambda: (q1.reshape(*batch, -1).astype(kind), v1.reshape(*batch, -1).astype(kind))
    return found


def _is_implicit(robot: Robot, method: str, limits: str | None) -> bool:
    """Return whether a step of a rollout differs from the one with explicit forces."""
    return step_of(robot, method, limits, False, "baumgarte", None)[0].contacts is not None


def _is_within_limits(robot: Robot, q: Any) -> bool:
    """Return whether no joint of a batch is at a limit or beyond; False if joints that follow others have limits."""
    if any(c.mimic is not None and np.isfinite([*c.lower, *c.upper]).any() for c in robot.joints):
        return False
    return bool(((robot.lower < q) & (q < robot.upper)).all())


def _of_sets(robot: Robot, given: dict[str, Any], external: Any, settings: dict[str, Any]) -> Linearisation:
    """Return the linearised motion of a robot with sets of parameters, set after set."""
    arrays = {x: y for x, y in given.items() if y is not None}
    if external is not None:
        arrays["external"] = robot._forces(external)
    places: list[Any] = []

    def of(one: Robot, some: dict[str, Any]) -> tuple[AnyArray, ...]:
        found = linearise(one, **some, **settings)
        places[:] = [found.positions, found.velocities]
        if settings["independent"] is None and robot.nc:  # the same for all sets
            names = [c.name for c in robot.independent if c.nv and {*range(c.v.start, c.v.stop)} <= {*found.positions}]
            settings["independent"] = names
        return found.A, found.B, found.lift, found.q, found.v

    A, B, lift, q, v = by_sets(robot, arrays, {"external": 2}, of)
    found = Linearisation(A, B)
    found.positions, found.velocities = places
    found._lift, found._rest = lift, lambda: (q, v)
    return found


def _of_arm(robot: Robot, q: Any, v: Any, tau: Any, external: Any, smoothing: float, h: float | None) -> Linearisation:
    """Return the linearised motion of an arm, or its step of semi-implicit Euler, by one compiled function."""
    kernels, nv = robot._kernels, robot.nv
    rest, at = _constants(nv)
    given = () if external is None else (robot._forces(external),)
    v, tau = rest if v is None else v, rest if tau is None else tau
    kernel = kernels.kernel("linear_step", None, ("external",) if given else (), step=h is not None)
    try:
        both = kernel(q, v, tau, 1.0 if h is None else h, smoothing, *given)
    except ArgumentError as e:  # it names the function that was called
        e.args = (str(e).replace("linear_step", "linearise"),)
        raise
    found = Linearisation(both[..., : 2 * nv], both[..., 2 * nv :])
    found.positions = found.velocities = at
    found._rest = lambda: _after(robot, (q, v, tau), given, smoothing, h, both.shape[:-2])
    return found


def _after(
    robot: Robot, state: tuple[Any, ...], external: tuple[Any, ...], smoothing: float, h: float | None,
    batch: tuple[int, ...],
) -> tuple[AnyArray, AnyArray]:  # fmt: skip
    """Return the state after a step; without a step, the given one."""
    q, v, tau = (np.broadcast_to(np.asarray(x), (*batch, robot.nv)) for x in state)
    if h is None:
        return q, v
    passive = robot.passive_question
    forces = tau + robot._kernels.ask(passive, q, v, smoothing) if passive else tau
    v = v + h * robot.forward_dynamics(q, v, forces, *external)
    return robot.integrate(q, v, h), v


@lru_cache(maxsize=64)
def _constants(nv: int) -> tuple[AnyArray, tuple[int, ...]]:
    return np.zeros(nv, np.float32), tuple(range(nv))  # zeros that fit any precision


def _of_rollout(
    robot: Robot, state: tuple[AnyArray, ...], external: AnyArray | None, smoothing: float, h: float
) -> tuple[AnyArray, ...]:
    """Return A, B and the states after one implicit step of a rollout, for n states (q, v, tau)."""
    (q, v, tau), nv = state, robot.nv
    if robot.nc:
        require_consistent(robot, q, v, None, tolerance_of(True, q, v), "linearise")
    run = robot.rollout(q, v, tau, 1, h, external=external, smoothing=smoothing)
    units = np.eye(3 * nv)[:, None]
    rates = run.jvp(q0=units[..., :nv], v0=units[..., nv : 2 * nv], tau=units[..., 2 * nv :])
    d = np.moveaxis(np.concatenate([rates.q[..., -1, :], rates.v[..., -1, :]], axis=-1), 0, -1)
    return d[..., : 2 * nv], d[..., 2 * nv :], run.q[:, -1], run.v[:, -1]


class _Full:
    """The linearised motion in all freedoms of the tree, for n states."""

    def __init__(
        self, robot: Robot, q: AnyArray, v: AnyArray, tau: AnyArray, external: AnyArray | None, smoothing: float
    ) -> None:
        self.robot, n, nv = robot, len(q), robot.nv
        units = np.broadcast_to(np.eye(3 * nv), (n, 3 * nv, 3 * nv))
        rates = robot.derivatives.coordinate_rate(q, v, wrt="v").v
        self.q = Varied(q, rates @ units[:, :nv])
        self.v, tau_ = Varied(v, units[:, nv : 2 * nv]), Varied(tau, units[:, 2 * nv :])
        rank = None
        if robot.nc:
            require_consistent(robot, q, v, None, tolerance_of(True, q, v), "linearise")
            found = ImplicitMotion(robot, q, None, 1e-7, None)
            refuse_singular(found, "linearise", (n,))
            ranks = np.unique(found.rank)
            rank = int(ranks[0]) if len(ranks) == 1 else None
        self._machine: Callable[[float], TangentMachine] = lambda h: TangentMachine(
            robot, tau_, external, smoothing, h, rank
        )

    def continuous(self) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
        """Return A, B and the state."""
        robot, n, nv = self.robot, len(self.q.x), self.robot.nv
        a = self._machine(1.0).acceleration(0.0, self.q, self.v)
        A = np.zeros((n, 2 * nv, 2 * nv))
        A[:, :nv, :nv] = robot.derivatives.tangent_drift(self.q.x, self.v.x, np.zeros_like(self.v.x), wrt="x").x
        A[:, :nv, nv:], A[:, nv:] = np.eye(nv), a.d[:, :, : 2 * nv]
        B = np.concatenate([np.zeros((n, nv, nv)), a.d[:, :, 2 * nv :]], axis=1)
        return A, B, self.q.x, self.v.x

    def step(self, method: str, h: float) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
        """Return A and B of one step, and the state after it."""
        q, v = fixed_step(self._machine(h), tableau(method), self.q, self.v)
        d, n = np.concatenate([q.d, v.d], axis=1), 2 * self.robot.nv
        return d[:, :, :n], d[:, :, n:], q.x, v.x


def _reduced(
    robot: Robot, q: AnyArray, v: AnyArray, batch: tuple[int, ...], independent: Sequence[str] | None
) -> tuple[list[int], AnyArray]:
    """Return the places of independent freedoms in (dq, dv), and the matrices from their changes to all."""
    n, nv = len(q), robot.nv
    K = robot.loop_jacobian(q)
    turned = robot.derivatives.loop_rate(q, v, wrt="q").q
    holonomic = np.array(robot.loop_holonomic, bool)
    chosen = None if independent is None else np.flatnonzero(kept_freedoms(robot, independent, "linearise"))
    of_q, N = _motions(robot, K[:, holonomic], chosen, batch)
    of_v, V = (of_q, N) if holonomic.all() else _motions(robot, K, chosen, batch)
    E = -np.linalg.pinv(K, rcond=1e-9) @ (turned @ N)
    E = E - V @ E[:, of_v]
    m = len(of_q)
    lift = np.zeros((n, 2 * nv, m + len(of_v)))
    lift[:, :nv, :m], lift[:, nv:, :m], lift[:, nv:, m:] = N, E, V
    return [*of_q, *(nv + k for k in of_v)], lift


def _motions(
    robot: Robot, K: AnyArray, chosen: AnyArray | None, batch: tuple[int, ...]
) -> tuple[list[int], AnyArray]:  # fmt: skip
    """Return independent freedoms, and the motions (n, nv, m) that are 1 at each of them."""
    from ..loops.mobility import null_motions

    ranks, motions = null_motions(K)
    if not len(ranks):
        raise ArgumentError(
            f"linearise: q has no states; the freedoms of {robot.name!r}, which has loops, are those of its states"
        )
    if len(np.unique(ranks)) > 1:
        raise ArgumentError(
            f"linearise: {robot.name!r} has {robot.nv - ranks.max()} to {robot.nv - ranks.min()} freedoms in the "
            "states of this batch; give states with the same number"
        )
    N = np.stack(motions)
    m = N.shape[-1]
    if chosen is None:
        at = _pivots(N[0])
    else:
        at = list(map(int, chosen))
        if len(at) != m:
            raise ArgumentError(
                f"linearise: {robot.name!r} has {m} freedom{'s' * (m != 1)} here, but the joints in `independent` "
                f"have {len(at)}; leave `independent` out, or give as many"
            )
    least = np.linalg.svd(N[:, at], compute_uv=False).min(axis=-1, initial=1.0)
    if (least < _INDEPENDENT).any():
        state = int(np.argmin(least))
        where = f" in state {tuple(map(int, np.unravel_index(state, batch)))} of the batch" if batch else ""
        names = ", ".join(dict.fromkeys(c.name for c in robot.independent for k in at if c.v.start <= k < c.v.stop))
        raise ArgumentError(
            f"linearise: the joints {names} do not determine the motion of {robot.name!r}{where}; "
            "choose other joints with `independent`"
        )
    return at, N @ np.linalg.inv(N[:, at])


def _pivots(N: AnyArray) -> list[int]:
    """Return the freedoms that determine motions N (nv, m) best: rows by elimination with pivoting."""
    rest, found = N.copy(), []
    for _ in range(N.shape[1]):
        k = int(np.argmax(np.linalg.norm(rest, axis=1).round(12)))
        unit = rest[k] / np.linalg.norm(rest[k])
        rest = rest - np.outer(rest @ unit, unit)
        found.append(k)
    return sorted(found)
