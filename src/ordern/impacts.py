"""Contacts and loops as constraints: their Delassus matrix, its inverse, and velocities after an impact.

The rows of a constraint matrix R are Jacobians of frames, or the constraints of loops. With D = R M^-1 R^T,

    v' = v + M^-1 R^T f,    R v' = -e R v,    so that    D f = -(1 + e) R v

for an impact with the coefficient of restitution e, and impulses f.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arguments import array, choice, positive
from .errors import ArgumentError, SingularError
from .kernel.arguments import broadcast_named, stored
from .kernel.settings import frame_list
from .loops.sets import by_sets
from .model.parameter_sets import spread
from .records import dataclass

if TYPE_CHECKING:
    from .robot import Robot

__all__ = ["Impact", "delassus_matrix", "delassus_solve", "impact"]

Array = NDArray[Any]
CONTACTS = ("frame", "point")
_SINGULAR = 1e-12
"""Eigenvalues of a Delassus matrix with a unit diagonal below this part of the largest are rounding."""


@dataclass(frozen=True, slots=True)
class Impact:
    """Velocities after an impact, and the impulses that changed them."""

    v: Array
    """Velocities after the impact, of shape (..., nv)."""
    impulses: Array
    """The impulse (moment, force) on each frame, about its origin, in the chosen axes, of shape (..., k, 6)."""
    loop_impulses: Array
    """The impulse along each constraint of the loops, of shape (..., nc)."""
    unique: Array
    """False where constraints depend on each other: then other impulses give the same velocities, and these are the
    smallest. The shape is that of the batch."""


def delassus_matrix(
    robot: Robot, q: ArrayLike, frames: Any, axes: str, contact: str, threads: int | None, out: Array | None, t: Any
) -> Array:
    """Return R M^-1 R^T; see `Robot.delassus_matrix`."""
    choice("contact", contact, CONTACTS, "delassus_matrix")
    if frames is not None:
        question = "delassus_matrix" if contact == "frame" else "point_delassus_matrix"
        settings = {"frames": frame_list("delassus_matrix", frames), "axes": axes}
        return robot._ask(question, (q,), settings, None, threads, out)
    _require_loops(robot, "delassus_matrix")
    K = robot.loop_jacobian(q, t=t)
    return stored("delassus_matrix", _symmetric(_responses(robot, q, K) @ np.swapaxes(K, -1, -2)), out)


def delassus_solve(
    robot: Robot, q: ArrayLike, x: ArrayLike, frames: Any, axes: str, contact: str, damping: float, t: Any
) -> Array:
    """Return (D + damping)^-1 x; see `Robot.delassus_solve`."""
    D = delassus_matrix(robot, q, frames, axes, contact, None, None, t)
    m = D.shape[-1]
    x = array(x, (..., m), "x", nonfinite=True)
    broadcast_named("delassus_solve: the batch shapes", {"q": D.shape[:-2], "x": x.shape[:-1]})
    D = D + positive(damping, "damping", zero=True) * np.eye(m)
    if np.isfinite(D).all() and not _regular(D).all():
        raise SingularError(
            f"delassus_solve: the constraints of {robot.name!r} depend on each other in this position, so the Delassus "
            'matrix has no inverse. Give fewer frames, contact="point" for points that may turn, or a `damping`'
        )
    return np.asarray(np.linalg.solve(D, x[..., None])[..., 0])


def impact(
    robot: Robot, q: ArrayLike, v: ArrayLike, frames: Any, restitution: ArrayLike, axes: str, contact: str, t: Any
) -> Impact:
    """Return velocities after an impact; see `Robot.impact`."""
    choice("contact", contact, CONTACTS, "impact")
    if robot.batch_shape:
        names = None if frames is None else [robot._own_name(x) for x in frame_list("impact", frames)]

        def of(one: Robot, some: dict[str, Any]) -> tuple[Array, ...]:
            found = impact(one, some["q"], some["v"], names, some["restitution"], axes, contact, t)
            return found.v, found.impulses, found.loop_impulses, found.unique

        given = {"q": q, "v": v, "restitution": restitution}
        return Impact(*by_sets(robot, given, {"restitution": 0}, of))
    q, v = array(q, (..., robot.nq), "q", nonfinite=True), array(v, (..., robot.nv), "v", nonfinite=True)
    e = array(restitution, (...,), "restitution")
    if not ((e >= 0.0) & (e <= 1.0)).all():
        raise ArgumentError(f"impact: restitution must be from 0 to 1, not {restitution!r}")
    batch = broadcast_named("impact: the batch shapes", {"q": q.shape[:-1], "v": v.shape[:-1], "restitution": e.shape})
    listed = () if frames is None else frame_list("impact", frames)
    if not listed:
        _require_loops(robot, "impact without frames")
    q, v = np.broadcast_to(q, (*batch, robot.nq)), np.broadcast_to(v, (*batch, robot.nv))
    R, nc = _rows(robot, q, listed, axes, contact, t), robot.nc
    before = (R @ v[..., None])[..., 0]
    if nc:
        before[..., :nc] = robot.loop_rate(q, v, t=t)  # driven loops have rates of their own
    # loops stay closed while frames hit something; without frames, the loops themselves are what hits
    kept = np.concatenate([np.full(nc, 0.0 if listed else 1.0), np.ones(R.shape[-2] - nc)])
    W = _responses(robot, q, R)
    f, unique = _least(_symmetric(W @ np.swapaxes(R, -1, -2)), -(1.0 + e[..., None] * kept) * before)
    after = v + (f[..., None, :] @ W)[..., 0, :]
    impulses = np.zeros((*batch, len(listed), 6))
    each = 3 if contact == "point" else 6
    impulses[..., -each:] = f[..., nc:].reshape((*batch, len(listed), each))
    return Impact(after, impulses, f[..., :nc], unique)


def _rows(robot: Robot, q: Array, frames: tuple[Any, ...], axes: str, contact: str, t: Any) -> Array:
    """Return the rows of the constraints: those of loops, then those of each frame."""
    J = robot.jacobians(q, frames, axes)[..., 3 if contact == "point" else 0 :, :]
    J = J.reshape((*q.shape[:-1], J.shape[-3] * J.shape[-2], robot.nv))
    return np.concatenate([robot.loop_jacobian(q, t=t), J], axis=-2) if robot.nc else J


def _responses(robot: Robot, q: ArrayLike, R: Array) -> Array:
    """Return M^-1 R^T, transposed: for each row the velocities that its unit impulse causes."""
    return spread(robot).mass_matrix_solve(np.asarray(q)[..., None, :], R)


def _require_loops(robot: Robot, what: str) -> None:
    if not robot.nc:
        raise ArgumentError(f"{what}: {robot.name!r} has no loops; list the `frames` that are in contact")


def _symmetric(D: Array) -> Array:
    return 0.5 * (D + np.swapaxes(D, -1, -2))


def _scaled(D: Array) -> tuple[Array, Array]:
    """Return a matrix with a unit diagonal (zero where it is zero), and the roots of its diagonal."""
    root = np.sqrt(np.maximum(np.diagonal(D, axis1=-2, axis2=-1), 0.0))
    over = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0.0)
    return D * over[..., :, None] * over[..., None, :], over


def _regular(D: Array) -> Array:
    """Return whether each matrix can be inverted."""
    values = np.linalg.eigvalsh(_scaled(D)[0])
    return np.asarray(values[..., 0] > _SINGULAR * values[..., -1]) if D.shape[-1] else np.ones(D.shape[:-2], bool)


def _least(D: Array, b: Array) -> tuple[Array, Array]:
    """Return the solution of D f = b that is smallest in the units of the diagonal, and whether there is no other."""
    if not D.shape[-1]:
        return b, np.ones(b.shape[:-1], bool)
    A, over = _scaled(D)
    finite = np.asarray(np.isfinite(A).all(axis=(-1, -2)))
    values, vectors = np.linalg.eigh(np.where(finite[..., None, None], A, np.eye(A.shape[-1])))
    small = values <= _SINGULAR * values[..., -1:]
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=~small)
    along = (over * b)[..., None, :] @ vectors
    f = over * ((along * inverse[..., None, :]) @ np.swapaxes(vectors, -1, -2))[..., 0, :]
    return np.where(finite[..., None], f, np.nan), np.asarray(~small.any(axis=-1))
