"""Regressors of many motions: random ones, which show all that can be seen, or measured ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array, choice, positive, random_generator
from ..errors import ArgumentError
from ..model import BASE, Frame
from .base import TOLERANCE, BaseParameters, from_columns, from_silent
from .tree_rules import silent_changes

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["REGRESSORS", "SMOOTHING", "base_parameters", "motions_of", "random_rows", "rows_of"]

REGRESSORS = {
    "inverse_dynamics": 3,
    "joint_wrench": 3,
    "base_wrench": 3,
    "momentum": 2,
    "kinetic_energy": 2,
    "potential_energy": 1,
}
"""The regressors, and how many of q, v and a each depends on."""
SMOOTHING = 0.01
"""The velocity within which Coulomb friction is smoothed, unless given: as in `passive_force`."""
_ROWS = 4
"""Rows of random motions for each parameter."""


def base_parameters(
    robot: Robot, of: str = "inverse_dynamics", method: str = "numeric", tolerance: float = TOLERANCE, rng: Any = 0
) -> BaseParameters:
    """See `Robot.base_parameters`."""
    choice("regressor", of, REGRESSORS)
    choice("method of base_parameters", method, ("numeric", "tree"))
    positive(tolerance, "tolerance")
    labels = robot.parameters.theta_labels
    if method == "numeric":
        usual = isinstance(rng, int) and rng == 0
        rows = random_rows(robot, of, None if usual else random_generator(rng, "base_parameters"))
        return from_columns(rows, labels, robot.name, of, tolerance)
    if of != "inverse_dynamics":
        raise ArgumentError(
            f"base_parameters: the rules of the tree are for joint forces, of='inverse_dynamics', not for {of!r}; use "
            "method='numeric'"
        )
    if robot.nc:
        raise ArgumentError(
            f"base_parameters: {robot.name!r} has loops; the rules are for trees. Use method='numeric', or "
            "`robot.opened()`"
        )
    plain = robot if robot.variation is None else robot.folded(())  # whose tables have the numbers that were varied
    return from_silent(silent_changes(plain), labels, robot.name)


def rows_of(robot: Robot, of: str, states: Sequence[Array], way: str | None = None, **more: Any) -> Array:
    """Return a regressor (..., rows, P) of states (q, v, a); for forces of a robot with loops, that of its drives.

    The states may have more than the regressor depends on. That of forces may be given the `smoothing` of friction.
    """
    if of == "inverse_dynamics":
        more = {"smoothing": SMOOTHING} | more
        if robot.nc:
            q, v, a = states
            return robot.actuation_regressor(q, v, a, **more)
    states = states[: REGRESSORS[of]]
    settings: dict[str, Any] = {"frame": Frame("world", BASE)} if of == "momentum" else {}
    kernel = robot.kernel(f"{of}_regressor", way=way, **settings)
    found: Array = kernel(*states, *more.values())
    batch = np.broadcast_shapes(*(np.shape(x)[:-1] for x in states))
    return found.reshape(*batch, -1, found.shape[-1])


def random_rows(robot: Robot, of: str, rng: np.random.Generator | None = None) -> Array:
    """Return the triangular factor (.., P) of a regressor of random motions, some times as many rows as parameters.

    Without `rng` it is that of the seed zero, which a robot keeps.
    """
    kept: dict[str, Array] = robot.__dict__.setdefault("_regressor_rows", {})
    if rng is None and of in kept:
        return kept[of]
    count = len(robot.parameters.theta)
    rows = {"inverse_dynamics": len(robot.actuated) if robot.nc else robot.nv, "joint_wrench": 6 * len(robot.bodies)}
    each = rows.get(of, 6 if of in ("base_wrench", "momentum") else 1)
    if not each:
        raise ArgumentError(f"base_parameters: {robot.name!r} has no {'drive' if robot.nc else 'freedom'}")
    motions = motions_of(robot, _ROWS * count // each + 4, np.random.default_rng(0) if rng is None else rng)
    # a few hundred states: not worth the time to compile
    found = rows_of(robot, of, motions, way="interpreted").reshape(-1, count)
    found = np.asarray(np.linalg.qr(found, mode="r"))
    if rng is None:
        kept[of] = found
    return found


def motions_of(robot: Robot, count: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return random positions, velocities and accelerations of a robot; they keep its loops closed."""
    q, v, a = robot.random(rng, (count,)), rng.normal(size=(count, robot.nv)), rng.normal(size=(count, robot.nv))
    if not robot.nc:
        return q, v, a
    start = robot.assemble(restarts=20).q  # positions nearby are closed as well
    near = robot.integrate(start, 0.5 * rng.normal(size=(count, robot.nv)))
    found = robot.assemble(near, check=False)
    closed = np.abs(robot.loop_residual(found.q)).max(axis=-1) < 1e-9
    if not closed.any():
        raise ArgumentError(f"{robot.name!r}: no random position near its assembled one closes all loops")
    q = np.resize(found.q[closed], (count, robot.nq))
    v = robot.project_velocity(q, v)
    return q, v, robot.project_acceleration(q, v, a)
