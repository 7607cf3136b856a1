"""Forward dynamics of robots with loops in JAX: the compiled method of multipliers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp

from ...algorithms.closed_loop.rank import TOLERANCE
from ...algorithms.closed_loop.reduced import SMALLEST_PIVOT
from ...errors import ArgumentError
from ...loops.dynamics import BAUMGARTE, compiles, loop_places
from .external import external_forces

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["ClosedMotion", "accelerations", "closed_dynamics"]


class ClosedMotion(NamedTuple):
    """The motion of a robot with loops in JAX. It is NaN where constraints depend on each other, or loops are open."""

    a: Any
    """Accelerations of the joints, of shape (..., nv)."""
    multipliers: Any
    """Forces along the constraints of loops, of shape (..., nc)."""

    @property
    def joint_wrenches(self) -> Any:
        """Raise: JAX arrays have accelerations and multipliers only."""
        raise ArgumentError("joint_wrenches of a robot with loops is for NumPy arrays; in JAX, use `robot.opened()`")


def accelerations(robot: Robot, q: Any, v: Any, tau: Any, method: Any = None, out: Any = None, **more: Any) -> Any:
    """Return the accelerations (..., nv) alone."""
    if out is not None:
        raise ArgumentError(
            "forward_dynamics: `out` is for NumPy arrays; JAX arrays are not written to, so leave it out"
        )
    return closed_dynamics(robot, q, v, tau, method=method, asked="forward_dynamics", **more).a


def closed_dynamics(
    robot: Robot, q: Any, v: Any, tau: Any, external: Any = None, method: str | None = None, *, t: Any = None,
    stabilise: Any = None, loop_forces: Mapping[str, Any] | None = None, tolerance: float = TOLERANCE,
    rank: int | None = None, base_velocity: Any = None, base_acceleration: Any = None, threads: int | None = None,
    check: Any = True, asked: str = "closed_dynamics",
) -> ClosedMotion:  # fmt: skip
    """See `Robot.closed_dynamics`."""
    if not robot.nc:
        moved = {"base_velocity": base_velocity, "base_acceleration": base_acceleration}
        a = robot.forward_dynamics(q, v, tau, external, threads=threads, **moved)
        return ClosedMotion(a, a[..., :0])
    _require(robot, asked, method, tolerance, rank, check)
    if isinstance(external, Mapping):
        external = external_forces(robot, external)
    if loop_forces:
        tau = jnp.asarray(tau) + robot.loop_force(q, _along(robot, loop_forces))
    pull = None
    if stabilise is not None and stabilise is not False:
        alpha, beta = (BAUMGARTE, BAUMGARTE) if stabilise is True else stabilise
        pull = 2.0 * alpha * robot.loop_rate(q, v, t=t) + beta**2 * robot.loop_residual(q, t=t)
        check = False
    optional = {"external": external, "base_velocity": base_velocity, "base_acceleration": base_acceleration, "t": t}
    given = {name: x for name, x in {**optional, "correction": pull}.items() if x is not None}
    x = robot.kernel("closed_dynamics", "multipliers", present=tuple(given))(
        q, v, tau, *given.values(), threads=threads
    )
    pivot = x[..., -1:]  # the smallest, and negative in states that are not closed
    known = (pivot if check else abs(pivot)) > SMALLEST_PIVOT
    answer = jnp.where(known, x[..., :-1], jnp.nan)
    return ClosedMotion(answer[..., : robot.nv], answer[..., robot.nv :])


def _require(robot: Robot, asked: str, method: Any, tolerance: float, rank: Any, check: Any) -> None:
    """Raise if a call is not for JAX arrays, and say what to do."""
    words = "with JAX arrays, robots with loops are"
    if method not in (None, "multipliers"):
        raise ArgumentError(f"{asked} of {robot.name!r}: {words} solved by 'multipliers', not by {method!r}")
    if tolerance != TOLERANCE or rank is not None or not isinstance(check, bool):
        raise ArgumentError(
            f"{asked} of {robot.name!r}: {words} solved with the usual `tolerance`, without `rank`, and with `check` "
            "True or False; other settings are for NumPy arrays"
        )
    if not compiles(robot):
        raise ArgumentError(
            f"{asked} of {robot.name!r}: {words} solved by one compiled function, and this robot is too large for it, "
            "or has mimic joints; use NumPy arrays"
        )


def _along(robot: Robot, forces: Mapping[str, Any]) -> Any:
    """Return forces of drives in loops, by names of loops, as one array for all joints that close loops."""
    given = [(place, jnp.asarray(forces[name])) for name, place in loop_places(robot, forces).items()]
    parts = [(v, f[..., None] if f.ndim == 0 and v.stop - v.start == 1 else f) for v, f in given]
    batch = jnp.broadcast_shapes(*(f.shape[:-1] for _, f in parts))
    total = jnp.zeros((*batch, robot.loop_table.nv), jnp.result_type(jnp.float32, *(f for _, f in parts)))
    for v, f in parts:
        total = total.at[..., v].set(f)
    return total
