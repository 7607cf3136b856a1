"""Residuals of products of groups of displacements, by the form of the product.

Four forms have residuals in closed form; read backwards, X^-1 = ... g2^-1 g1^-1, they are four more.

* Rotations are known: about no axis, one or two axes, or a ball, with any shifts between (`known_turns`).
* Two axes are parallel (`parallel_axes`).
* Two universal joints have parallel axes in the middle (`cardans`).
* A ball comes last: its centre must be on the orbit of the groups before it (`orbits`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...spatial import Pose
from ...spatial.linear import IDENTITY3
from .cardans import cardans
from .displacements import Group, product_rank
from .known_turns import known_turns
from .orbits import orbit
from .parallel_axes import parallel_axes
from .products import Backwards, PointOnOrbit, Product
from .turning import vector

__all__ = ["product"]


def product(groups: Sequence[Group]) -> Product | None:
    """Find the form of the product of these groups; None if it has no residuals in closed form."""
    given = tuple(groups)
    wanted = 6 - product_rank(given)
    for form in (known_turns, parallel_axes, cardans, _ball_last):
        for turned, some in ((False, given), (True, given[::-1])):
            found = form(some)
            if found is not None and sum(map(len, found.rows(Pose(IDENTITY3, (0.1, 0.2, 0.3))))) == wanted:
                return Backwards(given, found) if turned else found
    return None


def _ball_last(groups: tuple[Group, ...]) -> Product | None:
    *others, ball = groups
    if ball.turns != 3 or ball.shifts.shape[1] or not others:
        return None
    found = orbit(others, ball.point)
    return None if found is None else PointOnOrbit(groups, vector(ball.point), found)
