"""A step of semi-implicit Euler without contacts: limits and dry friction of joints, damping and feedback implicit.

It is that of `step` for robots without contacts, and has no arguments for them.
"""

from __future__ import annotations

from typing import Any

from ...model import Input, Joints, Number, Tree
from ..method_limits import no_loops_with_couplings
from ..registry import Port, algorithm, question
from .step import gauss_seidel

__all__ = ["joint_step"]

_PORTS = (
    *(Port("q", "q"), Port("v", "v"), Port("tau", "f"), Port("dt", "scalar"), Port("drag", "f")),
    *(Port("lower", "q"), Port("upper", "q"), Port("stops", "v")),
    *(Port("servo", "f", optional=True), Port("effort", "f", optional=True)),
)
question("joint_step", _PORTS, "contact_step", "gauss-seidel", needs_inertia=True, loops=True, contacts=True)


class _Nothing:
    """An argument about contacts, of which there are none."""

    def __getitem__(self, _: Any) -> tuple[()]:
        return ()


@algorithm(
    "joint_step",
    "gauss-seidel",
    paper="Jourdan, Alart and Jean 1998",
    equations="Gauss-Seidel on G = J M^-1 J^T",
    order="n m^2",
    regroup=True,
    sweeps=False,
    repeats=True,
    refuses=no_loops_with_couplings,
)
def joint_step(
    tree: Tree, q: Joints, qd: Joints, tau: Joints, dt: Number, drag: Joints, lower: Joints, upper: Joints,
    stops: Joints, servo: Input, effort: Input,
) -> tuple[Any, ...]:  # fmt: skip
    """Return positions, velocities, impulses of joints after a step, and its certificate."""
    none: Any = _Nothing()
    return gauss_seidel(tree, q, qd, tau, dt, drag, lower, upper, none, stops, none, servo, effort)
