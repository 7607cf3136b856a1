"""Sign changes of a function of one variable."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["crossing"]

_EPS = 2.0**-52
_LEAST = 1e-17


def crossing(f: Callable[[float], float], start: float, end: float, f_start: float | None = None) -> float:
    """Return a root of f between two points at which its signs differ, to rounding.

    Chandrupatla's method: inverse quadratic interpolation where it is safe, else bisection. `f_start` is the value at
    the start, if it is known better than by a call.

    T. R. Chandrupatla, "A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function without
    using derivatives", Advances in Engineering Software 28 (1997) 145-149.
    """
    a, b = end, start  # a is the newest point, the root is between a and b, and c is the point before
    fa, fb = f(a), f(b) if f_start is None else f_start
    if fa == 0.0:
        return a
    share = 0.5
    for _ in range(200):
        x = a + share * (b - a)
        fx = f(x)
        if math.copysign(1.0, fx) == math.copysign(1.0, fa):
            c, fc = a, fa
        else:
            c, fc = b, fb
            b, fb = a, fa
        a, fa = x, fx
        best, least = (a, abs(fa)) if abs(fa) < abs(fb) else (b, abs(fb))
        width, rounding = abs(b - a), 2.0 * _EPS * abs(best) + _LEAST
        if rounding > 0.5 * width or least == 0.0:  # also at the start, where rounding may hide that the signs differ
            return best
        edge = rounding / width
        share = min(1.0 - edge, max(edge, _share(a, fa, b, fb, c, fc)))
    return best


def _share(a: float, fa: float, b: float, fb: float, c: float, fc: float) -> float:
    """Return the part of the way from a to b: by inverse quadratic interpolation where it is monotonic, else 1/2."""
    xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
    if phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi:
        return fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    return 0.5
