"""Inverse dynamics of loops: the forces of actuated joints that cause a motion, while the others have no drive.

The motion needs the joint forces g; the loops bear K^T lambda of them, and the drives the rest, B u:

    B u + K^T lambda = g = M a + C - (external forces)
    N^T B u = N^T g                                         with N the motions that loops allow, K N = 0

With as many drives as freedoms, u is unique. With more, the u of least u^T W u is chosen; others differ from it by
internal forces, B u = -K^T lambda, which load the mechanism without moving it: `internal` is a basis of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.closed_loop.equations import flat
from ..algorithms.closed_loop.rank import TOLERANCE
from ..arguments import choice, positive
from ..declared import explained_methods
from ..errors import ArgumentError, LoopError, unknown_name
from ..model.parameter_sets import flattened
from ..records import dataclass
from .consistent import Check, require_consistent, tolerance_of
from .kernels import Array, Weights, asking, numbers, positive_weights
from .mobility import joint_parts, null_motions

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Actuation", "actuation", "drive_forces", "drives", "listed"]

_CONSISTENT = 1e-6
"""The tolerance for constraints on the motion, and for forces that no drive can bear, relative to their terms."""


@explained_methods
@dataclass(frozen=True)
class Actuation:
    """Forces of the drives that cause a motion; arrays have the batch's shape first."""

    forces: dict[str, Array]
    """For each actuated joint or loop, its forces (..., freedoms)."""
    u: Array
    """(..., m): the same forces in one array."""
    tau: Array
    """(..., nv): as forces of the tree's joints, drives in loops included."""
    multipliers: Array
    """(..., nc): the multipliers of the loops, of least norm."""
    internal: list[Array] | Array
    """(m, k): a basis of the internal forces of the drives, which cause no motion; a list of such for a batch."""
    labels: tuple[str, ...] = field(repr=False)
    """A name for each of the m forces."""

    def with_internal(self, z: ArrayLike) -> Array:
        """Return the forces u plus multiples z of the internal forces, (..., m)."""
        if isinstance(self.internal, list):
            raise ArgumentError("with_internal is for one state; for a batch, add `internal[k] @ z` to `u[k]`")
        return np.asarray(self.u + self.internal @ numbers("z", z, self.internal.shape[-1]))


def actuation(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    actuated: Sequence[str] | None = None,
    weights: Weights = None,
    external: Any = None,
    *,
    t: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    check: Check = True,
    given: Array | None = None,
    held: Array | None = None,
) -> Actuation:
    """See `Robot.actuation`. `given` are further joint forces (..., nv) that need no drive.

    Velocities that are `held`, flags (nv,), are kept at zero by other forces, which are not computed.
    """
    most = tolerance_of(check, q, v)
    q, v, a = numbers("q", q, robot.nq), numbers("v", v, robot.nv), numbers("a", a, robot.nv)
    ask = asking(robot)
    forces = None if external is None else robot._forces(external)
    g = ask("inverse_dynamics", q, v, a, external=forces)
    if given is not None:
        g = g - given
    batch = g.shape[:-1]
    n = int(np.prod(batch))
    if most is not None:
        require_consistent(robot, q, v, t, most, "actuation")
    robot = flattened(robot, batch)
    ask = asking(robot)
    q, v, a, g = flat(q, batch, n), flat(v, batch, n), flat(a, batch, n), flat(g, batch, n)
    time = None if t is None else flat(np.asarray(t, float), batch, n, 0)
    K = ask("loop_jacobian", q, t=time) if robot.nc else np.zeros((n, 0, robot.nv))
    positive(tolerance, "tolerance")
    if most is not None and robot.nc:
        _consistent(robot, ask, q, v, a, K, time)
    names = robot.actuated if actuated is None else listed(actuated)
    B, parts, labels = drives(robot, q, names)
    which = "one for each actuated freedom"
    W = positive_weights(weights, len(labels), lambda name: parts[choice("actuated joint", name, parts)], which)
    u, lam, internal = np.zeros((n, len(labels))), np.zeros((n, robot.nc)), []
    kept = K
    if held is not None and held.any():
        kept = np.concatenate([K, np.broadcast_to(np.eye(robot.nv)[held], (n, int(held.sum()), robot.nv))], axis=1)
    _, motions = null_motions(kept, tolerance)
    for i in range(n):
        least, free = drive_forces(robot, motions[i], B[i], g[i, :, None], W, tolerance, names)
        u[i] = least[:, 0]
        internal.append(free)
        # the loops bear the rest, with multipliers of least norm
        lam[i] = np.linalg.lstsq(K[i].T, g[i] - B[i] @ u[i], rcond=tolerance)[0] if robot.nc else 0.0
    tau = (B @ u[..., None])[..., 0]
    u = u.reshape(*batch, len(labels))
    return Actuation(
        {name: u[..., s] for name, s in parts.items()}, u, tau.reshape(*batch, robot.nv),
        lam.reshape(*batch, robot.nc), internal if batch else internal[0], labels,
    )  # fmt: skip


def listed(actuated: Sequence[str]) -> tuple[str, ...]:
    """Return the names of actuated joints and loops, each once."""
    names = (actuated,) if isinstance(actuated, str) else tuple(actuated)
    if len(set(names)) < len(names):
        raise ArgumentError(f"actuated: {', '.join(names)} has a joint twice")
    return names


def drives(robot: Robot, q: Array, names: Sequence[str]) -> tuple[Array, dict[str, slice], tuple[str, ...]]:
    """Return B (n, nv, m), the columns of each drive, and a name for each column."""
    known = {c.name: c for c in robot.joints}
    loops = {x.loop.name: x for x in robot.loop_table.loops if x.loop.nv}
    columns: list[Array] = []
    parts: dict[str, slice] = {}
    labels: list[str] = []
    for name in names:
        if name in known:
            c = known[name]
            unit = np.eye(robot.nv)[:, c.v] * (_ratio(robot, name) if c.mimic else 1.0)
            mine = np.broadcast_to(unit, (len(q), *unit.shape[-2:]))
        elif name in loops:
            units = np.eye(robot.loop_table.nv)[loops[name].v]
            mine = np.stack([robot.loop_force(q, unit) for unit in units], axis=-1)
        elif name in robot.loop_rows:
            raise ArgumentError(
                f"actuation: {name!r} of {robot.name!r} has no coordinate of its own that a drive could act along; "
                f"drive a joint, or a loop that has one ({', '.join(loops) or 'there is no such loop'})"
            )
        else:
            raise unknown_name("joint or loop", name, (*known, *loops), robot.name)
        m = mine.shape[-1]
        parts[name] = slice(len(labels), len(labels) + m)
        labels += [name] if m == 1 else [f"{name}[{k}]" for k in range(m)]
        columns.append(mine)
    B = np.concatenate([np.zeros((len(q), robot.nv, 0)), *columns], axis=-1)
    return B, parts, tuple(labels)


def _ratio(robot: Robot, name: str) -> Array:
    """Return the ratio of a joint that follows another: one number, or (n, 1, 1) for n sets of parameters."""
    followers = [c.name for c in robot.joints if c.mimic]
    ratios = robot.parameters.mimic_ratio[..., followers.index(name)]
    return ratios[..., None, None] if ratios.ndim else ratios


def drive_forces(
    robot: Robot, N: Array, B: Array, g: Array, W: Array, tolerance: float, names: Sequence[str]
) -> tuple[Array, Array]:
    """Return the forces u of least u^T W u with N^T B u = N^T g, and a basis of the internal forces.

    g is a matrix (nv, k), and u has the forces (m, k) for each of its columns.
    """
    root = 1.0 / np.sqrt(W)
    A, b = N.T @ B, N.T @ g
    U, s, Vt = np.linalg.svd(A * root, full_matrices=True)
    r = int((s > tolerance * s.max(initial=0.0)).sum())
    y = Vt[:r].T @ ((U[:, :r].T @ b) / s[:r, None])
    left = U[:, r:].T @ b
    sizes = np.linalg.norm(left, axis=0)
    if (sizes > _CONSISTENT * (1e-3 + np.linalg.norm(g, axis=0))).any():
        k = int(sizes.argmax())
        worst = N @ U[:, r:] @ left[:, k] / sizes[k]
        raise LoopError(
            f"{robot.name!r} has {N.shape[1]} freedom{'s' * (N.shape[1] != 1)}, of which the actuated joints "
            f"({', '.join(names) or 'none'}) drive {r}: their forces cannot cause this motion. "
            f"They cannot drive the motion {joint_parts(robot, worst)}"
        )
    basis, _ = np.linalg.qr(root[:, None] * Vt[r:].T) if len(root) > r else (np.zeros((len(root), 0)), None)
    return root[:, None] * y, basis


def _consistent(robot: Robot, ask: Any, q: Array, v: Array, a: Array, K: Array, t: Array | None) -> None:
    """Raise unless the accelerations keep all loops closed."""
    k = ask("loop_bias", q, v, t=t)
    left = np.abs((K @ a[..., None])[..., 0] + k)
    size = _CONSISTENT * (1.0 + np.abs(K) @ np.abs(a)[..., None])[..., 0] + _CONSISTENT * np.abs(k)
    for name, rows in robot.loop_rows.items():
        if (left[:, rows] > size[:, rows]).any():
            raise ArgumentError(
                f"actuation: the accelerations do not keep loop {name!r} closed (by {float(left[:, rows].max()):.3g}); "
                "no forces cause such a motion. `robot.project_acceleration(q, v, a)` is the acceleration next to them "
                "that keeps it closed"
            )
