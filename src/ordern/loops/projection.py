"""Velocities and accelerations next to given ones that keep loops closed.

The change d is the smallest in kinetic energy, d^T M d: an impulse in the loops, or constraint forces, would cause
it (Gauss's principle of least constraint). Joints that are kept, L, do not take part; with F the other joints,

    K_F d_F = c - K x,    d_F = d_0 + N y,    N^T M_FF (d_0 + N y) = 0    with N the null space of K_F.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.closed_loop import null_space, reduced
from ..algorithms.closed_loop.equations import Equations, flat, solved
from ..algorithms.closed_loop.rank import TOLERANCE
from ..arguments import broadcast_shapes
from ..errors import LoopError
from .consistent import Check, require_consistent, tolerance_of
from .dynamics import massive, usual_method
from .kernels import Array, asking, in_single, kept_freedoms, numbers, worst_loop
from .mobility import null_motions
from .sets import by_sets

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["project_acceleration", "project_velocity"]

_LEFT = 1e-6
"""The largest rate of loops (rad/s, m/s; of rates: per second) at what was projected, relative to it."""


def project_velocity(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    t: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    check: Check = True,
    keep: Iterable[str] = (),
) -> Array:
    """See `Robot.project_velocity`."""
    kept = kept_freedoms(robot, keep, "project_velocity")
    most = tolerance_of(check, q)
    kind = _precision(q, v, t)
    q, v = numbers("q", q, robot.nq), numbers("v", v, robot.nv)
    if not robot.nc:
        return _for_all(robot, q, v, kind)
    require_consistent(robot, q, None, t, most, "project_velocity")
    ask = asking(robot)
    rate, K = ask("loop_rate", q, v, t=t), ask("loop_jacobian", q, t=t)
    new = _nearest(robot, q, v, K, (K @ v[..., None])[..., 0] - rate, kept, tolerance)
    _require_kept(robot, "velocities", new, ask("loop_rate", q, new, t=t), kept)
    return np.asarray(new, kind)


def project_acceleration(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    t: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    check: Check = True,
    keep: Iterable[str] = (),
) -> Array:
    """See `Robot.project_acceleration`."""
    kept = kept_freedoms(robot, keep, "project_acceleration")
    most = tolerance_of(check, q, v)
    kind = _precision(q, v, a, t)
    q, v, a = numbers("q", q, robot.nq), numbers("v", v, robot.nv), numbers("a", a, robot.nv)
    if not robot.nc:
        return _for_all(robot, q, a, kind)
    require_consistent(robot, q, v, t, most, "project_acceleration")
    ask = asking(robot)
    k, K = ask("loop_bias", q, v, t=t), ask("loop_jacobian", q, t=t)
    new = _nearest(robot, q, a, K, -k, kept, tolerance)
    _require_kept(robot, "accelerations", new, (K @ new[..., None])[..., 0] + k, kept)
    return np.asarray(new, kind)


def _precision(*given: Any) -> Any:
    """Return single precision if all arrays have it, else double precision; a time that is a number does not count."""
    *states, t = given
    return np.float32 if in_single(*states, *((t,) if isinstance(t, np.ndarray) else ())) else np.float64


def _for_all(robot: Robot, q: Array, x: Array, kind: Any) -> Array:
    """Return x for all states, and sets of parameters, of a robot without loops."""
    batch = broadcast_shapes("q, v and a", robot.batch_shape, q.shape[:-1], x.shape[:-1])
    return np.array(np.broadcast_to(x, (*batch, robot.nv)), kind)


def _nearest(robot: Robot, q: Array, x: Array, K: Array, c: Array, kept: Array, tolerance: float) -> Array:
    """Return the numbers (..., nv) next to x with K x = c, for positions q (..., nq); those of kept joints stay."""
    if robot.batch_shape:
        given = {"q": q, "x": x, "K": K, "c": c}
        return by_sets(
            robot, given, {"K": 2}, lambda one, some: [_nearest(one, **some, kept=kept, tolerance=tolerance)]
        )[0]
    shapes = (q.shape[:-1], x.shape[:-1], K.shape[:-2], c.shape[:-1])
    batch = broadcast_shapes("q, v and a", *shapes)
    n, ask = int(np.prod(batch)), asking(robot)
    K, q, x, c = flat(K, batch, n, 2), flat(q, batch, n), flat(x, batch, n), flat(c, batch, n)
    if kept.any():
        new = x + _among(ask("mass_matrix", q), K, c - (K @ x[..., None])[..., 0], ~kept, tolerance)
    elif usual_method(robot) == "multipliers":
        new = reduced.solve(Equations(ask, q, x, K, c, batch), tolerance, start=x).a
    else:
        f = (ask("mass_matrix", q) @ x[..., None])[..., 0]
        new = massive(robot, lambda: solved(Equations(ask, q, f, K, c, batch), null_space.solve, tolerance)).a
    return new.reshape(*batch, robot.nv)


def _among(M: Array, K: Array, c: Array, free: Array, tolerance: float) -> Array:
    """Return the changes d (n, nv) of some freedoms with K d = c, as nearly as possible, and of least d^T M d."""
    d = np.zeros((len(c), len(free)))
    fine = np.isfinite(K).all(axis=(1, 2)) & np.isfinite(c).all(axis=1)
    d[~fine] = np.nan
    which = np.flatnonzero(fine)
    if not free.any() or not which.size:
        return d
    rank, motions = null_motions(K[which][..., free], tolerance)
    for i, r, N in zip(which, rank, motions, strict=True):
        own, inertia = K[i][:, free], M[i][np.ix_(free, free)]
        scale = np.linalg.norm(own, axis=1)
        scale[scale == 0.0] = 1.0
        U, s, Vt = np.linalg.svd(own / scale[:, None], full_matrices=False)
        d0 = Vt[:r].T @ ((U[:, :r].T @ (c[i] / scale)) / s[:r])
        d[i, free] = d0 - N @ np.linalg.lstsq(N.T @ inertia @ N, N.T @ inertia @ d0, rcond=None)[0]
    return d


def _require_kept(robot: Robot, what: str, new: Array, left: Array, kept: Array) -> None:
    """Raise if loops still open."""
    name, most = worst_loop(robot, left)
    if not most > _LEFT * (1.0 + np.abs(new).max(initial=0.0)):
        return
    unit = "rad/s, m/s" if what == "velocities" else "rad/s^2, m/s^2"
    if kept.any():
        names = ", ".join(c.name for c in robot.independent if c.nv and kept[c.v].any())
        raise LoopError(
            f"no {what} of {robot.name!r} keep all loops closed while those of {names} stay as given: loop {name!r} "
            f"would still open at {most:.3g} ({unit}); keep fewer joints, or give {what} that fit together"
        )
    raise LoopError(
        f"no {what} of {robot.name!r} keep all loops closed: loop {name!r} would still open at "
        f"{most:.3g} ({unit}). Loops that time drives contradict others, or can go no further"
    )
