"""Lengths of runs and steps: checked before a run starts, so that it neither hangs nor ends in nonsense.

Times are resolved to a part of 1e-16. A run whose steps are shorter than a part of 1e-15 of it would not advance, and a
run that needs more steps than it may take would never reach its end.
"""

from __future__ import annotations

import math

from ...errors import ArgumentError

__all__ = ["LEAST_TIME", "LEAST_TOLERANCE", "ROUNDING", "require_reachable"]

LEAST_TIME = 1e-100
"""The shortest run and step, in seconds: the square of a shorter time underflows."""
LEAST_TOLERANCE = 1e-60
"""The smallest absolute tolerance: errors of 1e-16 relative to a smaller one have squares that overflow."""
ROUNDING = 1e-17
"""One of the tolerances must be larger: shorter steps do not reduce errors of rounding."""
_LONGEST = 1e12
"""The longest run, in seconds: times there are resolved to 1e-4."""
_RESOLVED = 1e15
_MANY = 1e9
"""More steps than anybody waits for. Fewer steps are limited by `max_steps`."""


def require_reachable(end: float, length: float | None, what: str, max_steps: int, ends_early: bool) -> None:
    """Raise if a run to the time `end` cannot reach it in steps of at most this length.

    `what` names the length. A run that may end before (`ends_early`) need not reach it.
    """
    if length is None:
        if end > _LONGEST and not ends_early:
            raise ArgumentError(
                f"until = {end:g} s is too long: times are resolved to a part of 1e-16, so that no step would be "
                f"accurate; give at most {_LONGEST:g} s, or an event that ends the run"
            )
        return
    if end == 0.0:
        return
    count = end / length if length > end / 1e300 else math.inf
    if count > _RESOLVED:
        raise ArgumentError(
            f"{what} = {length:g} s is too short for a run to until = {end:g} s: times are resolved to a part of "
            "1e-16, and such steps do not change them; give longer steps, or a shorter run"
        )
    if count > max(_MANY, max_steps) and not ends_early:
        raise ArgumentError(
            f"{what} = {length:g} s takes {count:.3g} steps to until = {end:g} s, and max_steps = {max_steps:,} allows "
            "fewer; give longer steps, or a shorter run"
        )
