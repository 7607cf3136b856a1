"""Velocities of bodies that rotate, in exponential coordinates: goals and feedback of controllers in compiled loops.

A goal near a position is described by coordinates x in the chart about it: the constant velocity (angular, linear) in
the moving axes that reaches the goal in a unit of time. With A = ad x, t the square of the angle, and

    B(x) = sum of (-A)^k / (k + 1)!,    Ad(x) = sum of A^k / k!,    B(x)^-1 = 1 + A / 2 + d2(t) A^2 + d4(t) A^4,

the velocity is B x', and Ad takes velocities from the axes of the goal to those of the position. All are polynomials of
degree four in A, since A^5 = -2 t A^3 - t^2 A; see `ordern.control.screws`, which computes the same with NumPy.

A vector has the velocities of a whole robot. `curved` lists the parts of it that belong to rotating bodies: the first
place, and the places among the six velocities of a body. All other velocities are the rates of their positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb, factorial
from typing import Any

from ...graph import Scalar
from ...spatial.linear import add, cross, dot

__all__ = ["TEXTS", "coefficients"]

Curved = Sequence[tuple[int, Sequence[int]]]
Vector = Sequence[Scalar]

_TERMS = 18
"""Enough for a turn: the last term is (2 pi)^36 / 38!, against a result of order one."""
_INVERSE_TERMS = 28
"""Enough for half a turn, the largest error: terms shrink to a quarter of those before."""


def coefficients(first: int, sign: float, terms: int) -> list[list[float]]:
    """Return the coefficients, by powers of t, of A^1 ... A^4 in the sum of (sign A)^k / (k + first)!."""
    c = [[0.0] * 4 for _ in range(terms)]
    for m in range(terms):
        # A^(2 m + 1) = r t^m A + p t^(m - 1) A^3
        p, r = (-1) ** (m + 1) * m, (-1) ** (m + 1) * (m - 1)
        odd, even = sign / factorial(2 * m + 1 + first), 1.0 / factorial(2 * m + 2 + first)
        c[m][0] += r * odd
        c[m][1] += r * even
        if m:
            c[m - 1][2] += p * odd
            c[m - 1][3] += p * even
    return c


def _inverse_coefficients(terms: int) -> list[list[float]]:
    """Return the coefficients of A^1 ... A^4 in B^-1, by powers of t: from b_k = |B_2k| / (2 k)!, Bernoulli numbers.

    The even part of B^-1 has the value -sum b_k t^k and its derivative at A^2 = -t, which determines d2 and d4.
    """
    numbers = [Fraction(1)]
    for n in range(1, 2 * terms + 3):
        numbers.append(-sum((comb(n + 1, k) * numbers[k] for k in range(n)), Fraction(0)) / (n + 1))
    b = [float(abs(numbers[2 * k]) / factorial(2 * k)) for k in range(terms + 2)]
    return [[0.5 if m == 0 else 0.0, (1 - m) * b[m + 1], 0.0, -(m + 1) * b[m + 2]] for m in range(terms)]


_RATES, _CARRY = coefficients(1, -1.0, _TERMS), coefficients(0, 1.0, _TERMS)
_INVERSE = _inverse_coefficients(_INVERSE_TERMS)


def _velocity(curved: Curved, x: Vector, dx: Vector) -> list[Scalar]:
    """Return the velocities of a curve with coordinates x."""
    return _each(curved, dx, lambda X, dX: _applied(_RATES, X, dX), x, dx)


def _acceleration(curved: Curved, x: Vector, dx: Vector, ddx: Vector) -> list[Scalar]:
    """Return the accelerations of a curve with coordinates x."""

    def bent(X: Vector, dX: Vector, ddX: Vector) -> Vector:
        return _sum(_applied(_RATES, X, ddX), _changed(X, dX))

    return _each(curved, ddx, bent, x, dx, ddx)


def _carried(curved: Curved, e: Vector, v: Vector) -> list[Scalar]:
    """Return velocities of the goal, which is at the coordinates e, in the axes of the position."""
    return _each(curved, v, lambda E, V: _applied(_CARRY, E, V), e, v)


def _feedback(
    curved: Curved, e: Vector, v: Vector, goal_v: Vector, goal_a: Vector, kp: Vector, kd: Vector
) -> list[Scalar]:
    """Return the accelerations for which e'' + kd e' + kp e = 0; see `Space.feedback` of `ordern.control.spaces`."""
    flat = [goal_a[k] + kd[k] * (goal_v[k] - v[k]) + kp[k] * e[k] for k in range(len(v))]

    def fed(E: Vector, V: Vector, goal_V: Vector, goal_A: Vector, P: Vector, D: Vector) -> Vector:
        here = _applied(_CARRY, [-x for x in E], V)
        W = _sum(goal_V, [-x for x in here])
        dE = _applied(_INVERSE, E, W)
        pull = _applied(_RATES, E, [d * y + p * x for d, y, p, x in zip(D, dE, P, E, strict=True)])
        bend = _sum(_ad(W, here), [-x for x in _changed(E, dE)])
        return _applied(_CARRY, E, _sum(_sum(goal_A, bend), pull))

    return _each(curved, flat, fed, e, v, goal_v, goal_a, kp, kd)


TEXTS: dict[str, Callable[..., list[Scalar]]] = {
    "velocity": _velocity,
    "acceleration": _acceleration,
    "carried": _carried,
    "feedback": _feedback,
}
"""The functions by name: of `curved`, and of vectors."""


def _each(curved: Curved, flat: Vector, function: Callable[..., Vector], *vectors: Vector) -> list[Scalar]:
    """Return a vector with the results of a function of six numbers at the curved parts, and the flat one elsewhere."""
    out = list(flat)
    for start, places in curved:
        given = []
        for x in vectors:
            six: list[Scalar] = [0.0] * 6
            for k, place in enumerate(places):
                six[place] = x[start + k]
            given.append(six)
        found = function(*given)
        out[start : start + len(places)] = [found[place] for place in places]
    return out


def _ad(x: Vector, y: Vector) -> list[Scalar]:
    """Return the commutator of two velocities."""
    w, u, a, b = ((z[0], z[1], z[2]) for z in (x[:3], x[3:], y[:3], y[3:]))
    return [*cross(w, a), *add(cross(w, b), cross(u, a))]


def _sum(x: Vector, y: Vector) -> list[Scalar]:
    return [a + b for a, b in zip(x, y, strict=True)]


def _series(c: list[list[float]], k: int, t: Scalar) -> tuple[Scalar, Scalar]:
    """Return the coefficient of A^(k + 1), and its derivative by t."""
    total: Any = 0.0
    slope: Any = 0.0
    for m in reversed(range(len(c))):
        total = c[m][k] + t * total
        if m:
            slope = m * c[m][k] + t * slope
    return total, slope


def _applied(c: list[list[float]], x: Vector, y: Vector) -> list[Scalar]:
    """Return y + sum of c_k A^k y."""
    t, out, power = dot(x[:3], x[:3]), list(y), y
    for k in range(4):
        power = _ad(x, power)
        if any(row[k] for row in c):
            factor = _series(c, k, t)[0]
            out = [a + factor * b for a, b in zip(out, power, strict=True)]
    return out


def _changed(x: Vector, dx: Vector) -> list[Scalar]:
    """Return B' dx, with B' the derivative of B(x) along dx."""
    t, dt = dot(x[:3], x[:3]), 2.0 * dot(x[:3], dx[:3])
    out: list[Scalar] = [0.0] * 6
    power: Vector = dx
    change: Vector = [0.0] * 6
    for k in range(4):
        power, change = _ad(x, power), _sum(_ad(dx, power), _ad(x, change))
        c, slope = _series(_RATES, k, t)
        rate = slope * dt
        out = [a + rate * p + c * d for a, p, d in zip(out, power, change, strict=True)]
    return out
