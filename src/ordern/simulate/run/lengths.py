"""Numbers that say how long a run and its steps are: checked before it starts, so that none hangs, or ends in nonsense.

Times are told apart to a part of 1e-16. A run whose steps are shorter than a part of 1e-15 of it would stand still, and
one of more steps than it may take would never get to its end.
"""

from __future__ import annotations

import math
from typing import Any

from ...arguments import real_number
from ...errors import ArgumentError

__all__ = ["LEAST_TIME", "LEAST_TOLERANCE", "ROUNDING", "is_positive", "require_reachable"]

LEAST_TIME = 1e-100
"""A shorter time, in seconds, is no time to move in: its square is next to nothing that a number can say."""
LEAST_TOLERANCE = 1e-60
"""What is smaller is not a tolerance: errors of 1e-16, relative to it, must still have squares."""
ROUNDING = 1e-17
"""One of the tolerances must be larger: steps have errors of rounding, which no shorter step makes less."""
_LONGEST = 1e12
"""Seconds at which times are told apart to 1e-4."""
_RESOLVED = 1e15
_MANY = 1e9
"""Steps that nobody waits for. Fewer are left to `max_steps`."""


def is_positive(x: Any) -> bool:
    """Return True for a finite number above 0."""
    return 0.0 < real_number(x) < math.inf


def require_reachable(end: float, length: float | None, what: str, max_steps: int, ends_early: bool) -> None:
    """Raise if a run to the time `end` cannot get there in steps of at most this length.

    `what` names the length. A run that something may end before (`ends_early`) need not get there.
    """
    if length is None:
        if end > _LONGEST and not ends_early:
            raise ArgumentError(
                f"until = {end:g} s is too long: times are told apart to a part of 1e-16, so that no step would be "
                f"accurate; give at most {_LONGEST:g} s, or an event that ends the run"
            )
        return
    if end == 0.0:
        return
    count = end / length if length > end / 1e300 else math.inf
    if count > _RESOLVED:
        raise ArgumentError(
            f"{what} = {length:g} s is too short for a run to until = {end:g} s: times are told apart to a part of "
            "1e-16, and such steps do not change them; give longer steps, or a shorter run"
        )
    if count > max(_MANY, max_steps) and not ends_early:
        raise ArgumentError(
            f"{what} = {length:g} s takes {count:.3g} steps to until = {end:g} s, and max_steps = {max_steps:,} allows "
            "fewer; give longer steps, or a shorter run"
        )
