"""Joint forces of external forces on the bodies: tau = J^T f, by one sweep from the tips to the base.

    inward    tau_i = S_i^T f_i,    f_i = external_i at first
              f_p  += X_i^T f_i

Forces are (moment, force) about the body's origin, in its axes. Cost: order n.
"""

from __future__ import annotations

from ...model import Bodies, Joints, Output, Tree
from ...spatial import Force
from ..registry import Port, algorithm, question

__all__ = ["external_force"]

question("external_force", (Port("q", "q"), Port("external", "bodies")), "f", "inward")


@algorithm("external_force", "inward", equations="J^T f")
def external_force(tree: Tree, q: Joints, external: Bodies) -> Output:
    """Return the joint forces that do the same work as forces on the bodies."""
    f = tree.field(Force)
    tau = tree.output("f")
    for i, _ in tree.outward():
        f[i] = external[i]
    for i, p in tree.inward():
        tau[i] = i.subspace(q[i]).T @ f[i]
        f[p] += i.transform(q[i]).T @ f[i]
    return tau
