"""Forward dynamics of robots with loops on tensors: the compiled method of multipliers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from ...algorithms.closed_loop.rank import TOLERANCE
from ...algorithms.closed_loop.reduced import SMALLEST_PIVOT
from ...errors import ArgumentError
from ...loops.dynamics import BAUMGARTE, compiles, loop_places
from .tensors import require_out, tensors_of

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["ClosedMotion", "accelerations", "closed_dynamics"]


class ClosedMotion(NamedTuple):
    """The motion of a robot with loops. It is NaN where constraints depend on each other, or loops are open."""

    a: Tensor
    """Accelerations of the joints, of shape (..., nv)."""
    multipliers: Tensor
    """Forces along the constraints of loops, of shape (..., nc)."""

    @property
    def joint_wrenches(self) -> Any:
        """Raise: tensors have accelerations and multipliers only."""
        raise ArgumentError(
            "joint_wrenches of a robot with loops is for NumPy arrays; on tensors, give the forces in the loops as "
            "`external` forces of `robot.opened()`"
        )


def accelerations(
    robot: Robot, q: Any, v: Any, tau: Any, method: Any = None, out: Tensor | None = None, **more: Any
) -> Tensor:
    """Return the accelerations (..., nv) alone."""
    found = closed_dynamics(robot, q, v, tau, method=method, asked="forward_dynamics", **more).a
    if out is None:
        return found
    require_out("forward_dynamics", out, [found])
    return out.copy_(found)


def closed_dynamics(
    robot: Robot, q: Any, v: Any, tau: Any, external: Any = None, method: str | None = None, *, t: Any = None,
    stabilise: Any = None, loop_forces: Mapping[str, Any] | None = None, tolerance: float = TOLERANCE,
    rank: int | None = None, base_velocity: Any = None, base_acceleration: Any = None, threads: int | None = None,
    check: Any = True, asked: str = "closed_dynamics",
) -> ClosedMotion:  # fmt: skip
    """See `Robot.closed_dynamics`."""
    _require(robot, asked, method, tolerance, rank, check)
    q, v, tau = tensors_of(asked, {"q": q, "v": v, "tau": tau})
    if loop_forces:
        tau = tau + robot.loop_force(q, _along(robot, loop_forces))
    pull = None
    if stabilise is not None and stabilise is not False:
        alpha, beta = (BAUMGARTE, BAUMGARTE) if stabilise is True else stabilise
        pull = 2.0 * alpha * robot.loop_rate(q, v, t=t) + beta**2 * robot.loop_residual(q, t=t)
        check = False
    optional = {"external": external, "base_velocity": base_velocity, "base_acceleration": base_acceleration, "t": t}
    given = {name: x for name, x in {**optional, "correction": pull}.items() if x is not None}
    kernel = robot.kernel("closed_dynamics", "multipliers", present=tuple(given))
    x: Any = kernel(q, v, tau, *given.values(), threads=threads)
    pivot = x[..., -1:]  # the smallest, and negative in states that are not closed
    known = (pivot if check else pivot.abs()) > SMALLEST_PIVOT
    answer = torch.where(known, x[..., :-1], torch.nan)
    return ClosedMotion(answer[..., : robot.nv], answer[..., robot.nv :])


def _require(robot: Robot, asked: str, method: Any, tolerance: float, rank: Any, check: Any) -> None:
    """Raise if a call is not for tensors, and say what to do."""
    words = f"{asked} of {robot.name!r}: with tensors, robots with loops are solved"
    if method not in (None, "multipliers"):
        raise ArgumentError(f"{words} by 'multipliers', not by {method!r}")
    if tolerance != TOLERANCE or rank is not None or not isinstance(check, bool):
        raise ArgumentError(
            f"{words} with the usual `tolerance`, without `rank`, and with `check` True or False; other settings are "
            "for NumPy arrays"
        )
    if not compiles(robot):
        raise ArgumentError(
            f"{words} by one compiled function, and this robot is too large for it, or has mimic joints; use NumPy "
            "arrays, and `robot.vjp` for their derivatives"
        )


def _along(robot: Robot, forces: Mapping[str, Any]) -> Tensor:
    """Return forces of drives in loops, by names of loops, as one tensor for all joints that close loops."""
    given = loop_places(robot, forces)
    tensors = tensors_of("loop_forces", {name: forces[name] for name in given})
    parts = []
    for name, f in zip(given, tensors, strict=True):
        count = given[name].stop - given[name].start
        f = f.unsqueeze(-1) if f.ndim == 0 and count == 1 else f
        if f.shape[-1:] != (count,):
            raise ArgumentError(
                f"the force in loop {name!r} has shape {tuple(f.shape)}; its last dimension must be {count}"
            )
        parts.append((given[name], f))
    batch = torch.broadcast_shapes(*(f.shape[:-1] for _, f in parts))
    columns = list(tensors[0].new_zeros(*batch, robot.loop_table.nv).unbind(-1))
    for place, f in parts:
        columns[place] = f.expand(*batch, f.shape[-1]).unbind(-1)
    return torch.stack(columns, -1)
