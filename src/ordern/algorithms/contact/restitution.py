"""How much of its restitution an impact keeps: the largest part that adds no energy.

Newton's law of restitution for normals beside Coulomb's law for friction can add energy: where friction changes sides
during an impact, as in T. R. Kane's pendulum. So with the impulses p_e of restitution and the impulses p_0 of the same
impact without it, the impulses are

    p = p_0 + t (p_e - p_0),    t the largest number in [0, 1] with W(t) <= max(W(0), 0)

W is the work of the impulses of all contacts and joints together, p times the mean of the velocities before and after.
Cones are convex, so that p is in all of them. W is a convex parabola in t, and W(0) is not positive but for pushing
penetrations apart and for other forces of the step. Where p_0 and p_e close the same contacts, these part at t e times
the speed of their approach. An impact without friction, or whose energy does not grow, keeps t = 1.

Reference: T. R. Kane and D. A. Levinson, Dynamics, 1985, section 5.8, for the paradox; A. Chatterjee and A. Ruina, A
new algebraic rigid-body collision law based on impulse space considerations, 1998, for sums of plastic and elastic
impulses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ...graph import Scalar, sqrt, where_less
from ...spatial.linear import dot
from .cone import larger, smaller

if TYPE_CHECKING:
    from .problem import Problem
    from .rows import Row

__all__ = ["Measures", "at_rest", "blended", "kept_part"]

_TINY = 1e-30


class Measures(NamedTuple):
    """How well impulses fulfil the law, and their work."""

    residual: Scalar = 0.0
    """The largest residual of the law."""
    leveling: Scalar = 0.0
    """The largest difference of the velocities of true points from those of points at one height."""
    linear: Scalar = 0.0
    """Impulses times the sum of the velocities before, and those after without impulses."""
    square: Scalar = 0.0
    """Impulses times the velocities that they cause."""
    pushing: Scalar = 0.0
    """The work of pushing apart."""
    bounces: Scalar = 0.0
    """1 if a contact has restitution in this step."""

    @property
    def work(self) -> Scalar:
        """The work of all impulses."""
        return 0.5 * (self.linear + self.square)


def kept_part(without: Scalar, whole: Scalar, curvature: Scalar) -> Scalar:
    """Return t from the works W(0) and W(1), and the second coefficient of W, W(t) = W(0) + b t + curvature t^2."""
    w, b = smaller(without, 0.0), whole - without - curvature
    root = sqrt(larger(b * b - 4.0 * curvature * w, _TINY))
    t = where_less(0.0, b, (0.0 - 2.0 * w) / (larger(b, 0.0) + root), (root - b) / larger(2.0 * curvature, _TINY))
    return where_less(larger(without, 0.0), whole, smaller(larger(t, 0.0), 1.0), 1.0)


def at_rest(problem: Problem, flag: Scalar) -> Problem:
    """Return the same problem without restitution, in states with a flag of 1; in others no row is near."""
    rows = []
    for row in problem.rows:
        points = [p if p.resting is None else replace(p, bias=p.resting) for p in row.points]
        rows.append(replace(row, points=tuple(points)))
    return replace(problem, rows=rows, flags=[where_less(0.5, flag, x, 0.0) for x in problem.flags])


def blended(
    whole: tuple[Sequence[Scalar], Sequence[Scalar], Measures], rest: Problem,
    without: tuple[Sequence[Scalar], Sequence[Scalar]],
) -> list[Scalar]:  # fmt: skip
    """Return impulses, channels and their measures that keep the largest part of the restitution that adds no energy.

    `whole` are impulses and channels with restitution and their measures, `without` those of the problem `rest`. Where
    a part is kept, residual and leveling are those of both solutions.
    """
    (p, s, found), (q, r) = whole, without
    still = rest.measured(q, r)
    curvature: Scalar = 0.0
    for near, row in zip(rest.near, rest.rows, strict=True):

        def curved(row: Row = row, curvature: Scalar = curvature) -> list[Scalar]:
            f = [x - y for x, y in zip(row.impulse(p), row.impulse(q), strict=True)]
            u = [x - y for x, y in zip(row.velocity(s), row.velocity(r), strict=True)]
            return [curvature + 0.5 * dot(f, u)]

        (curvature,) = rest.tree.when(near, curved, [curvature])
    curvature = larger(curvature, 0.0)
    t = kept_part(still.work, found.work, curvature)

    def mixed(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
        return [where_less(t, 1.0, y + t * (x - y), x) for x, y in zip(a, b, strict=True)]

    _, _, linear, square, pushing, _ = mixed(found, still)
    square = square - 2.0 * (t - t * t) * curvature
    residual = where_less(t, 1.0, larger(found.residual, still.residual), found.residual)
    leveling = where_less(t, 1.0, larger(found.leveling, still.leveling), found.leveling)
    return [*mixed(p, q), *mixed(s, r), residual, leveling, linear, square, pushing, found.bounces]
