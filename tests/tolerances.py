"""Every tolerance of the tests, each with its reason.

A comparison divides the difference by the size of what is expected, or by one where that is smaller: numbers in tests
are of order one to a hundred, and what cancels to nothing keeps the rounding of what it came from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

ROUNDING = 1e-12
"""Two ways to compute one thing in double precision. Each rounding is 1e-16; some thousand of them, on trees of a dozen
bodies whose mass matrices have condition numbers up to 1e4, stay below."""

EXACT = 4e-16
"""Two roundings of double precision: for what should be the same but for the order of two operations."""

EXTENDED = 1e-16
"""The same as ROUNDING, in longdouble, whose unit is 1e-19. On machines where longdouble is double, tests that use it
ask for ROUNDING instead."""

MANY_DIGITS = 1e-30
"""Expressions in mpmath with 80 digits: whatever their condition, two forms of one expression agree to half of that.
Anything computed in double precision on the way would show at 1e-16."""

FINITE_DIFFERENCE = 1e-7
"""Central differences in double precision with steps near 1e-5: the step squared is 1e-10, times third derivatives up
to a hundred, plus rounding over the step, 1e-11."""

SINCOS_ULPS = 2.0
"""Compiled sin and cos, in units of the last place of the exact value: the reduced angle, the polynomial and its last
sum are rounded once each, to half a unit; without fused multiply-add one more product is."""

SINCOS_FAR = {"float64": 2e-33, "float32": 2e-23}
"""Compiled sin and cos near a multiple of pi/2, for each radian of the angle: what is left of pi/2 after its two pieces
in double precision (1.5e-33), or its three in single (1.1e-23). Seen only where the result is tiny."""

SINCOS_FAR_WITHOUT_FMA = {"float64": 2e-33, "float32": 5e-15}
"""The same on machines without fused multiply-add, where the pieces must be short: four of them have 114 bits in double
precision, but only 48 in single, and their last product is rounded to as many."""

ATAN2_ULPS = 3.0
"""Compiled atan2, in units of the last place: a quotient, a rational function of it, and two sums that unfold it."""

PEER = 1e-10
"""Agreement with another library on a real robot, for the worst of all states. The error of a state is the largest
difference in its answer, relative to the largest entry of the peer's answer: two libraries round differently, and on
robots whose mass matrices have condition numbers up to 1e6 that shows at 1e-12."""

CLOSED_FORM = 1e-12
"""A formula on paper for one or two bodies, evaluated in double precision: some dozen roundings on each side."""

PUBLISHED = 1e-11
"""Reference values that are printed with 12 decimals."""

INVERSION = 1e-10
"""There and back again through the mass matrix: rounding times its condition number, up to 1e5 on random trees."""

ENERGY_STEPS = 1e-9
"""The energy balance over ten steps of 1 ms of a rule of fourth order: a step errs by 1e-15, times rates up to 1e5."""

SINGLE = 2e-4
"""float32 code against double precision. Each rounding is 6e-8; a thousand of them, and mass matrices with condition
numbers up to 1e4, leave three digits in accelerations. Everything but accelerations is better by far."""

LONG_CHAIN = 1e-9
"""A hundred spherical joints in series, or a thousand bodies, in double precision against longdouble: the figure that
the project has set itself."""

PEER_INVERSE = 1e-8
"""Inverses of mass matrices against another library's, whose condition numbers reach 1e6."""

METHODS = 1e-9
"""Different algorithms for one question, on random trees: rounding times condition, and the tolerance at which those
that iterate stop; the figure that the project has set itself."""

METHODS_ON_ROBOTS = 1e-8
"""The same on real robots, whose mass matrices have condition numbers up to 1e6."""


def difference(actual: ArrayLike, expected: ArrayLike) -> float:
    """The largest difference, divided by the largest expected number or by one."""
    a, b = np.asarray(actual), np.asarray(expected)
    assert a.shape == b.shape, f"shapes {a.shape} and {b.shape} differ"
    if not b.size:
        return 0.0
    return float(np.max(np.abs(a - b)) / max(1.0, float(np.max(np.abs(b)))))


def assert_close(actual: Any, expected: Any, tolerance: float) -> None:
    """Fail unless the difference is within the tolerance; NaN never is."""
    found = difference(actual, expected)
    assert found <= tolerance, f"differs by {found:.3g}, more than {tolerance:g}:\n{actual}\nand\n{expected}"
