"""Relations between the velocities of a joint and its coordinates.

A coordinate that is the integral of a single velocity can be held at a limit (`own_rates`). Positions change by
dq/dt = sum of f_k(q) v_k. Velocities are rates of some coordinates where the fields f_k commute: then the order of
moving along them does not matter. Elsewhere, as for angular velocities, a momentum along a freedom needs a force to
stay constant, `Joint.gyration` (`directions_turn`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..spatial import Freedoms
from .base import Joint

__all__ = ["directions_turn", "own_rates"]

_STEP = 1e-5
_COMMUTE = 1e-6
"""Central differences err by the square of the step; brackets that are not zero are of order one."""


def own_rates(joint: Joint) -> list[int]:
    """Return, for each coordinate of a joint, the index of the velocity that it integrates; -1 if there is no such one.

    Joints in series are numbered one after the other: a ball has one position more than velocities.
    """
    rng, found, start = np.random.default_rng(0), [], 0
    for part, _ in joint.serial_parts():
        own = [k < part.nv for k in range(part.nq)]
        for _ in range(2):
            free = np.full(part.nq, np.inf)
            q, v = part.random(rng, (), -free, free), rng.normal(size=part.nv)
            rate = part.rate(Freedoms(q.tolist()), Freedoms(v.tolist()))
            own = [mine and bool(rate[k] == v[k]) for k, mine in enumerate(own)]
        found += [start + k if mine else -1 for k, mine in enumerate(own)]
        start += part.nv
    return found


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
