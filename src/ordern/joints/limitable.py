"""Find the coordinates of a joint that are integrals of single velocities: only these can be held at a limit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..spatial import Freedoms

__all__ = ["own_rates"]


def own_rates(joint: Any) -> list[int]:
    """Return, for each coordinate of a joint, the index of the velocity that it integrates; -1 if there is none.

    Of joints in series, each of them has its own places: a ball has one position more than velocities.
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
