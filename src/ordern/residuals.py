"""How far accelerations are from solving the equation of motion: residuals of every method, and refinement.

    r = tau - ID(q, v, a),    residual = max |r| / max(|tau|, |ID(q, v, 0)|)

over the joints of one state, in double precision. The residual of an accurate method is some 1e-15. The error of the
accelerations is larger by up to the condition number of the mass matrix. Iterative refinement (Wilkinson 1963) solves
M d = r by the same method, at rest and in free fall, and adds d; what a method loses is lost again only in d.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .algorithms import find
from .algorithms.forward_dynamics.conjugate_gradient import PRECONDITIONED, solve
from .arguments import Array, numbers
from .errors import ArgumentError
from .kernel.arguments import external_forces
from .records import dataclass

if TYPE_CHECKING:
    from .robot import External, Robot

__all__ = ["ForwardDynamicsReport", "forward_dynamics_report", "refined", "relative"]

_MOST = 10


@dataclass(frozen=True, slots=True, eq=False)
class ForwardDynamicsReport:
    """Joint accelerations, and how exactly they solve the equation of motion. Arrays have the shape of the batch first.

    A method that is accurate for a robot has residuals near 1e-15 (1e-7 in single precision).
    """

    method: str
    """The method of forward dynamics."""
    acceleration: Array
    """(..., nv): the joint accelerations."""
    residual: Array
    """(...): the largest entry of tau - inverse_dynamics(q, v, acceleration), relative to the largest force."""
    refinements: NDArray[np.intp]
    """(...): how many steps of refinement made the residual smaller."""
    iterations: NDArray[np.intp] | None = None
    """(...): the steps of a method that iterates, without those of refinement; None for the others, and for robots
    with batched parameters."""
    converged: NDArray[np.bool_] | None = None
    """(...): whether a method that iterates reached its tolerance; None for the others."""

    def __repr__(self) -> str:
        worst = float(np.max(self.residual, initial=0.0))
        more = "" if self.iterations is None else f", {int(np.max(self.iterations, initial=0))} iterations"
        if self.converged is not None and not np.all(self.converged):
            more += f", {int(np.sum(~np.asarray(self.converged)))} states not converged"
        return f"<ForwardDynamicsReport of {self.method!r}: residual up to {worst:.2g}{more}>"


def forward_dynamics_report(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    external: External | None = None,
    method: str | None = None,
    refine: int = 0,
    base_velocity: ArrayLike | None = None,
    base_acceleration: ArrayLike | None = None,
) -> ForwardDynamicsReport:
    """See `Robot.forward_dynamics_report`."""
    if robot.nc:
        raise ArgumentError(
            f"forward_dynamics_report: {robot.name!r} has loops; `closed_dynamics` returns the residual and the rank "
            "of their constraints, and `opened()` is the tree"
        )
    if refine not in range(_MOST + 1):
        raise ArgumentError(f"forward_dynamics_report: refine must be an integer from 0 to {_MOST}, got {refine!r}")
    more: dict[str, Any] = {
        "external": external,
        "base_velocity": base_velocity,
        "base_acceleration": base_acceleration,
    }
    name, sizes = find("forward_dynamics", method)[1].name, (robot.nq, robot.nv, robot.nv)
    given = [numbers(x, what, (..., n)) for x, what, n in zip((q, v, tau), ("q", "v", "tau"), sizes, strict=True)]
    kind = np.result_type(*given)
    states = [x.astype(kind if kind == np.float32 else float, copy=False) for x in given]
    Q, V, T = (x.astype(float) for x in states)
    bias = robot.inverse_dynamics(Q, V, np.zeros(robot.nv), **more)
    if T.shape[-1:] != (robot.nv,):
        raise ArgumentError(f"forward_dynamics_report: tau has shape {T.shape}; expected (..., {robot.nv})")
    steps: Any = None
    converged: Any = None
    if name in PRECONDITIONED and robot.variation is None:
        loads = more | {"external": external_forces(robot, external)}
        found = solve(robot, *states, **loads, precondition=PRECONDITIONED[name])
        a, steps, converged = found.acceleration, found.steps, found.converged
    else:
        a = robot.forward_dynamics(states[0], states[1], states[2], method=name, **more)
    falling = np.array([0.0, 0.0, 0.0, *robot.gravity], a.dtype)

    def left(a: Array) -> Array:
        return T - robot.inverse_dynamics(Q, V, np.asarray(a, float), **more)

    def correction(r: Array) -> Array:
        still = np.zeros_like(states[1])
        return robot.forward_dynamics(states[0], still, r.astype(a.dtype), method=name, base_acceleration=falling)

    a, taken = refined(a, left, correction, int(refine))
    return ForwardDynamicsReport(name, a, relative(left(a), T, bias), taken, steps, converged)


def refined(
    a: Array, left: Callable[[Array], Array], correction: Callable[[Array], Array], steps: int
) -> tuple[Array, NDArray[np.intp]]:
    """Return accelerations after steps of refinement, and how many of them made the residual of each state smaller."""
    taken = np.zeros(np.shape(a)[:-1], np.intp)
    if not steps:
        return a, taken
    r = left(a)
    for _ in range(steps):
        trial = a + correction(r)
        after = left(trial)
        better = np.abs(after).max(axis=-1, initial=0.0) < np.abs(r).max(axis=-1, initial=0.0)
        if not better.any():
            break
        a, r = np.where(better[..., None], trial, a), np.where(better[..., None], after, r)
        taken = taken + better
    return a, taken


def relative(r: Array, tau: Array, bias: Array) -> Array:
    """Return the largest entries of residuals, relative to the largest of the forces; zero if all are zero."""
    size, forces = (
        np.abs(r).max(axis=-1, initial=0.0),
        np.maximum(np.abs(tau).max(axis=-1, initial=0.0), np.abs(bias).max(axis=-1, initial=0.0)),
    )
    return np.asarray(np.where(size > 0.0, size / np.where(forces > 0.0, forces, np.nan), 0.0 * size))
