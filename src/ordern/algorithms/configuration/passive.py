"""Forces of dampers, friction and springs in the joints.

    f = - damping v - friction v / sqrt(v^2 + smoothing^2) - stiffness (q - rest)

for each freedom; q - rest is the joint's `difference`, so that a spherical joint's spring pulls along its rotation
vector. Coulomb friction is smoothed: within the velocity `smoothing` it passes from one side to the other.
Cost: order n.
"""

from __future__ import annotations

from ...graph import sqrt
from ...model import Joints, Number, Output, Tree
from ...spatial import Freedoms
from ..registry import algorithm

__all__ = ["passive_force"]


@algorithm("passive_force", "joint-by-joint", equations="-d v - f v / sqrt(v^2 + s^2) - k (q - rest)")
def passive_force(tree: Tree, q: Joints, qd: Joints, smoothing: Number) -> Output:
    """Return the force on each joint of its damping, Coulomb friction and spring."""
    out = tree.output("f")
    for i, _ in tree.outward():
        v, s = qd[i], smoothing[i]
        stretch = i.joint.difference(i.rest, q[i])
        sliding = Freedoms(f * x / sqrt(x * x + s * s) for f, x in zip(i.friction, v, strict=True))
        out[i] = -(i.damping * v + sliding + i.stiffness * stretch)
    return out
