"""Joint wrenches of the motion that joint forces cause: articulated bodies, then Newton and Euler's recursion.

    qdd       by `articulated_body`, from q, qd, tau and external forces
    wrench_i  = sum of I a + b - external over body i and all that it carries, by `inverse_dynamics.joint_wrenches`

It works for every robot. Methods that find constraint forces on their way to the accelerations (`virtual-work`,
`lagrange-multipliers`, `constraint-force`, `divide-and-conquer`) answer the same question without the second sweep.
Cost: order n.

Reference: Jain 1991, eqs. (45), (46), (60), then (11), (14)-(16); Yamane and Nakamura, sec. 6.1, on the second step.
"""

from __future__ import annotations

from ...model import Base, Bodies, Index, Joints, Output, Tree
from ...spatial import Freedoms
from ..inverse_dynamics.joint_wrenches import joint_wrenches
from ..registry import algorithm, alias
from .articulated_body import articulated_body

__all__ = ["caused_wrenches"]


@algorithm(
    "constraint_forces",
    "articulated-body",
    paper="Jain 1991; Featherstone-Orin 2000",
    equations="Jain (45), (46), (60), (11), (14)-(16); F-O secs. 3.1, 3.3",
)
def caused_wrenches(tree: Tree, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return the wrench through each joint for position q, velocity qd, joint forces tau and external forces."""
    qdd = _Accelerations(articulated_body(tree, q, qd, tau, external, v0, a0))
    return joint_wrenches(tree, q, qd, qdd, external, v0, a0)


class _Accelerations:
    """Accelerations of all joints, mimic joints included."""

    def __init__(self, qdd: Joints) -> None:
        self._qdd = qdd

    def __getitem__(self, i: Index) -> Freedoms:
        return i.coordinates("v", self._qdd[i])


alias("constraint_forces", "newton-euler", "articulated-body", paper="Featherstone-Orin 2000", equations="sec. 3.1")
