"""The forces of feedback in a step: implicit, and within the effort limits of the joints.

Feedback has the force u at the start of the step, and u - D (v' - v) at its end, where D is its `drag`. With D in the
equations of the step, stiff gains are stable. A joint that would leave its effort limits has a constant force at the
limit instead, and no drag. What counts is the force at the end of the step, before contacts: by the force at the
start, stiff feedback that needs little force to stop a joint would hit it with all it has, first one way, then the
other. As the force of one joint depends on the others, the joints at their limits are found in a few rounds, each with
those found before. The first round finds none in most steps, and is the last one then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...graph import Scalar, where_less
from ...model import Answer, Index, Input, Joints, Tree
from ...spatial import Freedoms
from ..binding import Gains
from ..forward_dynamics.articulated_body import articulated_sweeps

__all__ = ["damped_sweeps", "driven"]

_ROUNDS = 4
"""Rounds in which joints at their limits are found."""


def damped_sweeps(tree: Tree, q: Joints, qd: Joints, tau: Joints, h: Scalar, drag: Joints) -> tuple[Gains, Answer]:
    """Return the factors of M + h (damping + drag), and the accelerations of a step in which both are implicit."""
    still, unloaded = tree.zeros("motion"), tree.zeros("bodies")

    def damped(i: Index) -> Freedoms:
        return Freedoms((i.damping + drag[i]) * h)

    return articulated_sweeps(tree, q, qd, tau, unloaded, still, still, damped, h)


def driven(
    tree: Tree, motion: tuple[Joints, Joints, Joints], h: Scalar, drag: Joints, servo: Input, effort: Input
) -> tuple[Any, Any]:
    """Return all joint forces, and the drags, of positions, velocities and other joint forces: the `motion`."""
    q, qd, tau = motion
    bodies = [i for i, _ in tree.outward()]

    def limited(sides: Sequence[Scalar]) -> tuple[Any, Any]:
        """Return forces and drags with some joints at their limits."""
        force, rest, rows = tree.own(), tree.own(), iter(sides)
        for i in bodies:
            here = [(u, next(rows), most) for u, most in zip(servo[i], effort[i], strict=True)]
            force[i] = tau[i] + Freedoms(
                where_less(side, -0.5, 0.0 - most, where_less(0.5, side, most, u)) for u, side, most in here
            )
            rest[i] = Freedoms(
                where_less(0.5, side * side, 0.0, d) for (_, side, _), d in zip(here, drag[i], strict=True)
            )
        return force, rest

    def found(sides: Sequence[Scalar]) -> list[Scalar]:
        force, rest = limited(sides)
        _, qdd = damped_sweeps(tree, q, qd, force, h, rest)
        ends = [
            _side(u - d * (h * a), most)
            for i in bodies
            for u, d, a, most in zip(servo[i], drag[i], qdd[i], effort[i], strict=True)
        ]
        return [where_less(0.5, old * old, old, new) for old, new in zip(sides, ends, strict=True)]

    def more(before: Sequence[Scalar], after: Sequence[Scalar]) -> Scalar:
        total: Scalar = 0.0
        for x, y in zip(before, after, strict=True):
            total = total + (x - y) * (x - y)
        return total

    start = [0.0 for i in bodies for _ in servo[i]]
    return limited(tree.repeat(_ROUNDS, found, start, more))


def _side(force: Scalar, most: Scalar) -> Scalar:
    """Return 1 or -1 if a force is beyond its upper or lower limit, and else 0."""
    return where_less(most, force, 1.0, where_less(force, 0.0 - most, -1.0, 0.0))
