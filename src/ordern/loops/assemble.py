"""Close loops: find positions near given ones in which all residuals vanish.

Levenberg-Marquardt (`ordern.loops.least_squares`), with weights w for the joints:

    x = -W^-1 K^T (K W^-1 K^T + mu)^-1 r,    q <- integrate(q, x)

Joints that are kept, or that are at a limit and would be pushed beyond it, are left out. The coordinate of a joint that
closes a loop is a function of q; one that is beyond a limit, or would be after the step, adds a row to K and r that
leads it to that limit. mu vanishes near the solution, where the iteration is Newton's and each step doubles the number
of digits. At positions where loops depend on each other, convergence is slower. No step turns a joint by more than half
a radian, and full turns are subtracted at the end, so that the result is near the start.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.closed_loop.equations import flat
from ..arguments import random_generator, real
from ..declared import explained_methods
from ..errors import ArgumentError, LoopError
from ..joints import Revolute, Universal
from ..model import Connection
from ..model.parameter_sets import for_kinematics, has_sets_of_places
from ..records import dataclass
from .kernels import Array, Weights, asking, in_single, kept_freedoms, numbers, positive_weights
from .least_squares import JointLimits, LeastSquares, Search
from .limits import CutLimits
from .sets import by_sets

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Assembly", "assemble", "close"]

_LITTLE = 1e-6
"""Residuals below this, in rad and m, may be caused by missing digits of the model."""

TOLERANCE = 1e-12
"""The norm of all residuals, in rad and m, below which loops count as closed."""
_PATIENCE = 8
"""A search ends after more stalled steps in a row than this."""

_WITHIN = 2e-12
"""The largest distance of joints that close loops beyond a limit, in rad and m: they are led next to it."""

_LONGEST = 0.5
"""The largest turn of a joint in one step, in rad."""

_NUDGES = (0.03, 0.1, 0.3, 1.0)
"""Random displacements of a start from which the search failed, in rad and m: mechanisms are often drawn stretched,
where no small motion brings their ends together."""


@explained_methods
@dataclass(frozen=True)
class Assembly:
    """Positions in which loops are closed, or the nearest ones that were found; arrays have the batch's shape first."""

    robot: Robot = field(repr=False)
    q: Array
    """(..., nq)"""
    residual: Array
    """The norm of all residuals, in rad and m."""
    steps: Array
    """The number of steps."""
    ok: Array
    """True if all loops are closed, with their own joints within limits."""
    loops: dict[str, Array]
    """For each loop and coupling, the norm of its residuals."""
    held: Array = field(repr=False)
    """(..., nv): joints that were kept, or that a limit stopped in the end."""
    beyond: dict[str, Array] = field(default_factory=dict, repr=False)
    """For each loop whose joint has limits, how far it is beyond them; empty if limits were ignored."""

    @property
    def worst(self) -> str:
        """The loop or coupling that is furthest from closed, or whose joint is furthest beyond its limits."""

        def far(name: str) -> float:
            return max(float(np.max(x.get(name, 0.0), initial=0.0)) for x in (self.loops, self.beyond))

        return max(self.loops, key=far, default="")

    def __str__(self) -> str:
        closed, total = int(np.sum(self.ok)), int(np.size(self.ok))
        lines = [f"{self.robot.name}: {'closed' if closed == total else f'{closed} of {total} positions closed'}"]
        lines[0] += f", residual {float(np.max(self.residual, initial=0.0)):.3g} after "
        lines[0] += f"{int(np.max(self.steps, initial=0))} steps"
        if closed < total:
            lines += [f"  {name}: off by up to {float(np.max(x)):.3g}" for name, x in self.loops.items()]
            far = {name: float(np.max(x)) for name, x in self.beyond.items() if np.max(x) > _WITHIN}
            lines += [f"  {name}: up to {x:.3g} beyond its limits" for name, x in far.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the text of `print`, for notebooks."""
        from ..screen.html import printed

        return printed(self)


def assemble(
    robot: Robot,
    q: ArrayLike | None = None,
    keep: Iterable[str] = (),
    t: float = 0.0,
    *,
    weights: Weights = None,
    limits: bool = True,
    tolerance: float = TOLERANCE,
    steps: int = 100,
    restarts: int = 0,
    rng: np.random.Generator | int | None = 0,
    check: bool = True,
) -> Assembly:
    """See `Robot.assemble`."""
    start = robot.neutral() if q is None else numbers("q", q, robot.nq)
    if not np.isfinite(start).all():
        raise ArgumentError("assemble: q must be finite")
    if has_sets_of_places(robot):
        settings: dict[str, Any] = {"keep": keep if isinstance(keep, str) else tuple(keep), "t": t, "weights": weights}
        settings |= {"limits": limits, "tolerance": tolerance, "steps": steps, "restarts": restarts, "rng": rng}
        return _of_sets(robot, start if q is None else np.asarray(q), settings | {"check": check})
    robot = for_kinematics(robot, "assemble")
    batch = start.shape[:-1]
    n = int(np.prod(batch))
    which = "or a dictionary of such by names of joints"
    heavy = positive_weights(weights, robot.nv, lambda name: robot.joint(name).v, which)
    solver = _Solver(robot, kept_freedoms(robot, keep, "assemble"), heavy, t, limits, tolerance)
    x = solver.limits.within(np.asarray(robot.normalize(flat(start, batch, n))))
    found = solver.solve(x, steps)
    generator = random_generator(rng, "assemble")
    whole: Any = restarts
    if not isinstance(whole, (int, np.integer)) or restarts < 0:
        raise ArgumentError(f"assemble: restarts must be a whole number that is not below 0, not {restarts!r}")

    def again(part: _Solver, which: Array, k: int) -> Search:
        if k < len(_NUDGES):
            nudge = _NUDGES[k] * generator.standard_normal((len(which), robot.nv)) * ~solver.kept
            start = np.asarray(robot.integrate(x[which], nudge))
        else:
            start = np.where(solver.kept_q, x[which], robot.random(generator, len(which)))
        return part.solve(start, steps)

    solver.retry(found, len(_NUDGES) + restarts, again)
    found.q = solver.unturned(found.q, x)
    result = _report(solver, found, batch)
    if check and not result.ok.all():
        raise LoopError(_complaint(solver, result, x, steps, restarts))
    single = in_single(q, *((weights,) if isinstance(weights, np.ndarray) else ()))
    return replace(result, q=result.q.astype(np.float32)) if single else result


def _of_sets(robot: Robot, q: Array, settings: dict[str, Any]) -> Assembly:
    """Return the positions of all sets of placements."""
    names: list[tuple[str, ...]] = []

    def of(one: Robot, some: dict[str, Any]) -> list[Array]:
        found = assemble(one, some["q"], **settings)
        names[:] = [tuple(found.loops), tuple(found.beyond)]
        main = [found.q, found.residual, found.steps, found.ok, found.held]
        return [*main, *found.loops.values(), *found.beyond.values()]

    found, residual, steps, ok, held, *sizes = by_sets(robot, {"q": q}, {}, of)
    (loops, beyond), count = names, len(names[0])
    each, far = dict(zip(loops, sizes[:count], strict=True)), dict(zip(beyond, sizes[count:], strict=True))
    return Assembly(robot, found, residual, steps, ok, each, held, far)


def close(robot: Robot, q: Array, t: Any = 0.0, steps: int = 10, tolerance: float = TOLERANCE) -> tuple[Array, Array]:
    """Close positions (n, nq) that are nearly closed, by a few steps that ignore limits; also return which are closed.

    This keeps a simulation on its manifold: from nearby, two steps are enough.
    """
    t = t if isinstance(t, float) else real(t, "close: t")
    solver = _Solver(robot, np.zeros(robot.nv, bool), np.ones(robot.nv), t, False, tolerance)
    solver.damping = 1e-14
    found = solver.solve(q, steps)
    return found.q, found.done


class _Solver(LeastSquares):
    """Least squares of the residuals of loops, and of coordinates with limits of the joints that close them."""

    damping, stalled, smallest, shrinks = 1e-6, 1e-10, 1e-15, 1e-3

    def __init__(self, robot: Robot, kept: Array, weights: Array, t: Any, limits: bool, tolerance: float) -> None:
        if not tolerance > 0.0:
            raise ArgumentError(f"tolerance must be a positive number, not {tolerance!r}")
        self.robot, self.kept, self.t, self.tolerance = robot, kept, t, tolerance
        self.ask = asking(robot)
        self.mobility = 1.0 / weights
        self.rows = np.array(robot.loop_holonomic, bool)
        self.limited = limits
        self.cut = CutLimits(robot, limits)
        self.turning = np.array([k for c in robot.independent for k in _turning(c)], int)
        self.kept_q = np.zeros(robot.nq, bool)
        for c in robot.independent:
            self.kept_q[c.q] = kept[c.v].any()
        lower, upper = np.where(self.kept_q, -np.inf, robot.lower), np.where(self.kept_q, np.inf, robot.upper)
        self.limits = JointLimits(robot, lower, upper, limits)

    def unturned(self, q: Array, start: Array) -> Array:
        """Return the same positions with full turns of hinges subtracted, as far as limits allow."""
        near = q.copy()
        for c in self.robot.independent:
            if isinstance(c.type, (Revolute, Universal)):
                x = q[:, c.q] - 2.0 * np.pi * np.round((q[:, c.q] - start[:, c.q]) / (2.0 * np.pi))
                inside = (not self.limited) | ((x >= c.lower) & (x <= c.upper))
                near[:, c.q] = np.where(inside, x, q[:, c.q])
        same = self.sizes(near) <= np.maximum(self.tolerance, 2.0 * self.sizes(q))  # couplings count turns
        return np.where(same[:, None], near, q)

    def residual(self, q: Array) -> Array:
        """Return the residuals (n, nc)."""
        return self.ask("loop_residual", q, t=self.t) if self.rows.size else np.zeros((len(q), 0))

    def sizes(self, q: Array) -> Array:
        """Return the norms of the residuals, (n,)."""
        return np.asarray(np.linalg.norm(self.residual(q), axis=-1))

    def jacobian(self, q: Array) -> Array:
        """Return the Jacobian (n, nc, nv), with zeros for rows on velocities only."""
        K = self.ask("loop_jacobian", q, t=self.t)
        return K if self.rows.all() else K * self.rows[:, None]

    def residuals(self, q: Array) -> Array:
        """Return the residuals, followed by the coordinates with limits of joints that close loops, (n, nc + m)."""
        r = self.residual(q)
        return np.concatenate([r, self.cut.at(q)], axis=1) if self.cut.found else r

    def squares(self, r: Array) -> Array:
        """Return the squared residuals plus squared distances of joints that close loops beyond their limits, (n,)."""
        if self.cut.found:
            r = np.concatenate([r[:, : self.rows.size], self.cut.beyond(r[:, self.rows.size :])], axis=1)
        return super().squares(r)

    def solved(self, r: Array) -> Array:
        """Return flags (n,): loops are closed, and their joints within limits."""
        r, beyond = r[:, : self.rows.size], self.cut.beyond(r[:, self.rows.size :])
        within = (np.abs(beyond) <= max(_WITHIN, self.tolerance)).all(axis=-1)
        return np.asarray((np.linalg.norm(r, axis=-1) <= self.tolerance) & within)

    def hopeless(self, better: Array, gained: Array, tired: Array, mu: Array) -> Array:
        """Return which searches end, (n,)."""
        return tired > _PATIENCE

    def step(self, q: Array, r: Array, mu: Array) -> tuple[Array, Array]:
        """Return the steps (n, nv), none of which turns a joint far, and the squares (n,) that are predicted."""
        K, G = self.jacobian(q), self.cut.rows(q)
        x = self._full_step(q, r, K, G, mu)
        x = x / np.maximum(1.0, np.abs(x[:, self.turning]).max(axis=-1, initial=0.0) / _LONGEST)[:, None]
        rows = np.concatenate([K, G], axis=1) if self.cut.found else K
        return x, self.squares(r + (rows @ x[..., None])[..., 0])

    def _full_step(self, q: Array, r: Array, K: Array, G: Array, mu: Array) -> Array:
        """Return the damped step; G is the Jacobian of the coordinates with limits of joints that close loops."""
        r, c = r[:, : self.rows.size], r[:, self.rows.size :]
        held = self.kept | self.limits.stopped(q, -(np.swapaxes(K, 1, 2) @ r[..., None])[..., 0])
        size = np.maximum(np.einsum("nij,j,nij->n", K, self.mobility, K), 1e-30)
        eye = (np.maximum(mu, self.smallest) * size)[:, None, None] * np.eye(r.shape[1] + c.shape[1])
        at = self.cut.nearest(c)
        for _ in range(3):
            led = np.isfinite(at)
            rows = np.concatenate([K, G * led[..., None]], axis=1)
            asked = np.concatenate([r, np.where(led, c - np.where(led, at, 0.0), 0.0)], axis=1)
            Kt = np.swapaxes(rows, 1, 2) * (~held * self.mobility)[..., None]
            x = -(Kt @ np.linalg.solve(rows @ Kt + eye, asked[..., None]))[..., 0]
            more = self.limits.stopped(q, x) & ~held
            new = np.where(led, np.nan, self.cut.nearest(c + (G @ x[..., None])[..., 0]))
            if not more.any() and not np.isfinite(new).any():
                break
            held |= more
            at = np.where(led, at, new)
        return np.asarray(x)


def _turning(c: Connection) -> list[int]:
    """Return the indices of a joint's angular velocities."""
    if c.type.nq != c.type.nv:  # a quaternion comes first, and with it an angular velocity
        return [c.v_start + k for k in range(min(3, c.type.nv))]
    return [c.v_start + k for k in c.type.angles]


def _closes_beyond(solver: _Solver, start: Array, steps: int) -> list[str]:
    """Describe the coordinates that are beyond limits in the nearest closed position; empty without such a position."""
    robot = solver.robot
    loose = _Solver(robot, solver.kept, 1.0 / solver.mobility, solver.t, False, solver.tolerance)
    found = loose.solve(start, steps)
    if not found.done.any():
        return []
    cut, q = CutLimits(robot, True), solver.unturned(found.q, start)[found.done]
    c = cut.at(q)
    tree, loops = q - np.clip(q, robot.lower, robot.upper), cut.beyond(c)
    k = int((np.square(tree).sum(axis=1) + np.square(loops).sum(axis=1)).argmin())
    coordinates = []
    for x in robot.independent:
        for i in range(x.type.nq):
            bounds = (x.lower[i], x.upper[i])
            coordinates.append((f"joint {x.name!r}", i, q[k, x.q_start + i], tree[k, x.q_start + i], bounds))
    for n, y in enumerate(cut.found):
        coordinates.append((f"the joint of loop {y.loop!r}", y.index, c[k, n], loops[k, n], (y.lower, y.upper)))
    return [
        f"{who}, coordinate {i}, at {at:.6g}, {abs(far):.3g} {'above its upper' if far > 0 else 'below its lower'} "
        f"limit {bounds[1] if far > 0 else bounds[0]:g}"
        for who, i, at, far, bounds in coordinates
        if abs(far) > _WITHIN
    ]


def _report(solver: _Solver, found: Search, batch: tuple[int, ...]) -> Assembly:
    robot, q, r = solver.robot, found.q, solver.residual(found.q)
    held = np.broadcast_to(solver.kept, (len(q), robot.nv))
    if robot.nc:
        held = held | solver.limits.stopped(q, -(np.swapaxes(solver.jacobian(q), 1, 2) @ r[..., None])[..., 0])
    loops = {name: np.linalg.norm(r[:, s], axis=-1).reshape(batch) for name, s in robot.loop_rows.items()}
    far, beyond = np.abs(solver.cut.beyond(solver.cut.at(q))), {}
    for name in dict.fromkeys(x.loop for x in solver.cut.found):
        mine = [k for k, x in enumerate(solver.cut.found) if x.loop == name]
        beyond[name] = far[:, mine].max(axis=1).reshape(batch)
    size, steps, ok = (x.reshape(batch) for x in (np.linalg.norm(r, axis=-1), found.steps, found.done))
    q, held = q.reshape(*batch, robot.nq), held.reshape(*batch, robot.nv)
    return Assembly(robot, q, size, steps, ok, loops, held, beyond)


def _complaint(solver: _Solver, found: Assembly, start: Array, steps: int, restarts: int) -> str:
    robot, far = solver.robot, int(np.sum(~found.ok))
    each = ", ".join(
        f"{name!r} by {float(np.max(x)):.3g}" for name, x in found.loops.items() if np.max(x) > solver.tolerance
    )
    text = f"loop {found.worst!r} of {robot.name!r} cannot be closed from here"
    if found.ok.size > 1:
        text += f", in {far} of {found.ok.size} positions"
    text += f": after {int(np.max(found.steps))} steps "
    text += f"these are open, in rad and m: {each}" if each else "a limit is still in the way"
    beyond = _closes_beyond(solver, start[~found.ok.reshape(-1)], steps) if solver.limited else []
    if beyond:
        text += f". It closes only beyond limits; where it does next to the start: {'; '.join(beyond)}"
    stopped = found.held[~found.ok].reshape(-1, robot.nv).any(axis=0) & ~solver.kept
    at_limits = [c.name for c in robot.independent if stopped[c.v].any()]
    if at_limits:
        text += f". Joints that limits stop: {', '.join(at_limits)}"
    if solver.kept.any():
        text += f". Joints that were kept: {', '.join(c.name for c in robot.independent if solver.kept[c.v].any())}"
    advice = ["start from a position closer to a closed one"]
    if each and max(float(np.max(x)) for x in found.loops.values()) < _LITTLE:
        advice.append("accept the rest with a larger `tolerance`")
    if solver.kept.any():
        advice.append("keep fewer joints")
    if restarts:
        text += f". Nor does it from {restarts} random position{'s' * (restarts > 1)}"
    else:
        advice.append("set `restarts` to try random ones")
    return f"{text}. To go on, {' or '.join(filter(None, (', '.join(advice[:-1]), advice[-1])))}"
