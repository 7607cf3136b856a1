"""The coefficients of screw motions: rotation and translation at a constant velocity in the moving axes.

Moving for a unit of time at (w, u) leads to the point u + a w x u + b w x (w x u), with (a, b) = screw(w . w); the way
back is u = x - w x x / 2 + k w x (w x x), with k = unscrew(w . w).
"""

from __future__ import annotations

from ..graph import Scalar, cos, sin, sqrt, where_less

__all__ = ["screw", "unscrew"]

_SMALL = 1e-2
"""For smaller squared angles series are used; the error is under 1e-15."""


def screw(t2: Scalar) -> tuple[Scalar, Scalar]:
    """Return (1 - cos t) / t^2 and (t - sin t) / t^3, from t^2."""
    safe = where_less(t2, _SMALL, 1.0, t2)
    t = sqrt(safe)
    half = sin(0.5 * t)
    a = 0.5 - t2 * (1.0 / 24.0 - t2 * (1.0 / 720.0 - t2 * (1.0 / 40320.0 - t2 * (1.0 / 3628800.0))))
    b = 1.0 / 6.0 - t2 * (1.0 / 120.0 - t2 * (1.0 / 5040.0 - t2 * (1.0 / 362880.0 - t2 * (1.0 / 39916800.0))))
    return (
        where_less(t2, _SMALL, a, 2.0 * half * half / safe),
        where_less(t2, _SMALL, b, (t - sin(t)) / (safe * t)),
    )


def unscrew(t2: Scalar) -> Scalar:
    """Return (1 - (t/2) cot(t/2)) / t^2, from t^2."""
    safe = where_less(t2, _SMALL, 1.0, t2)
    h = 0.5 * sqrt(safe)
    series = 1.0 / 12.0 + t2 * (1.0 / 720.0 + t2 * (1.0 / 30240.0 + t2 * (1.0 / 1209600.0 + t2 * (1.0 / 47900160.0))))
    return where_less(t2, _SMALL, series, (1.0 - h * cos(h) / sin(h)) / safe)
