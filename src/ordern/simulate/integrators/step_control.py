"""Step-size control, over any scalar.

The same text runs on floats and, traced, in compiled code: it uses only square roots, products and `where_less`.

The classical law of Hairer, Norsett and Wanner (II.4): the next step is 0.9 error^(-1/p) times this one, but at most 10
and at least 0.2 times; after a rejected attempt it does not grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...graph import sqrt, where_less

__all__ = ["GROWTH", "NEARLY", "REMAINDER", "SHRINKAGE", "combined_error", "step_factor"]

SAFETY, SHRINKAGE, GROWTH = 0.9, 0.2, 10.0
NEARLY, REMAINDER = 1.01, 1.0 + 1e-6
"""A step that would leave less than this part of itself, a hundredth, to the end of the interval goes all the way; a
fixed step, if it would leave less than a millionth."""

_TINY = 1e-280


def combined_error(squares: Sequence[Any]) -> Any:
    """Return the error from the mean squares of its estimates; up to 1 it is within the tolerance.

    Two estimates, of orders 5 and 3, are combined as in DOP853.
    """
    if len(squares) == 1:
        return sqrt(squares[0])
    fine, coarse = squares
    both = fine + 0.01 * coarse
    return fine / sqrt(where_less(both, _TINY, 1.0, both))


def step_factor(error: Any, order: int, most: Any) -> Any:
    """Return the factor for the next step; `most` is GROWTH, or 1 after a rejected attempt.

    For an error that is NaN, the step shrinks by the largest factor.
    """
    low, high = (SAFETY / GROWTH) ** order, (SAFETY / SHRINKAGE) ** order
    x = where_less(error, high, where_less(error, low, low, error), high)
    factor = SAFETY / _root(x, order)
    return where_less(factor, most, factor, most)


def _root(x: Any, n: int) -> Any:
    """Return x^(1/n) for n = 5 or 8; x must be neither huge nor tiny."""
    eighth = sqrt(sqrt(sqrt(x)))
    if n == 8:
        return eighth
    if n != 5:
        raise ValueError(f"there is no root for the order {n}")
    y = eighth * sqrt(eighth)  # x^(3/16); then Newton's method for y^5 = x
    for _ in range(4):
        y2 = y * y
        y = 0.8 * y + (0.2 * x) / (y2 * y2)
    return y
