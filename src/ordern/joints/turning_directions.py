"""Test whether the velocities of a joint are along directions that turn as it moves.

Positions change by dq/dt = sum of f_k(q) v_k. Velocities are rates of some coordinates where the fields f_k commute:
then it does not matter in which order one moves along them. Elsewhere, as for angular velocities, a momentum along a
freedom needs a force to stay as it is: `Joint.gyration`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..spatial import Freedoms
from .base import Joint

__all__ = ["directions_turn"]

_STEP = 1e-5
_COMMUTE = 1e-6
"""Central differences err by the square of the step; brackets that are not zero are of order one."""


def directions_turn(joint: Joint) -> bool:
    """Return True if some of the fields f_k do not commute, at a random position."""
    if joint.nv < 2 or type(joint).integrate is Joint.integrate:
        return False
    q = joint.integrate(Freedoms(joint.neutral()), Freedoms(0.3 + 0.2 * k for k in range(joint.nv)))
    units = [Freedoms(1.0 if r == c else 0.0 for r in range(joint.nv)) for c in range(joint.nv)]
    for i, a in enumerate(units):
        for b in units[:i]:
            one, other = _along(joint, q, a, b), _along(joint, q, b, a)
            if max(abs(float(x - y)) for x, y in zip(one, other, strict=True)) > _COMMUTE:
                return True
    return False


def _along(joint: Joint, q: Freedoms, a: Freedoms, b: Freedoms) -> Sequence[float]:
    """Return the derivative of the field of b along the field of a."""
    f = joint.rate(q, a)
    ahead, behind = (Freedoms(x + s * _STEP * y for x, y in zip(q, f, strict=True)) for s in (1.0, -1.0))
    pairs = zip(joint.rate(ahead, b), joint.rate(behind, b), strict=True)
    return [float(x - y) / (2.0 * _STEP) for x, y in pairs]
