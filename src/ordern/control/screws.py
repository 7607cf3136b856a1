"""Velocities of rigid bodies in exponential coordinates.

A pose near q0 is q0 exp(x), with x = (angular, linear) the constant velocity, in the moving axes, that reaches it in a
unit of time. Along a curve x(t) the velocity, in the moving axes, is

    v = B(x) x',    B(x) = sum over k of (-ad x)^k / (k + 1)!,

and Ad(x) = sum of (ad x)^k / k! takes velocities from the axes of q0 exp(x) to the axes of q0. Since (ad x)^5
= -2 t (ad x)^3 - t^2 ad x with t the square of the angle, both are polynomials of degree four in ad x. Their
coefficients are entire functions of t, whose power series need no case for small angles.
"""

from __future__ import annotations

import numpy as np

from ..algorithms.configuration.chart import coefficients
from ..arguments import Array
from ..rotations import skew

__all__ = ["ad", "carry", "rates", "rates_derivative"]

_TERMS = 24
"""Enough for two turns: the last term is (4 pi)^48 / 50!, against a result of order one, near the end of a double."""
_EXPONENTS = np.arange(_TERMS)
_STRUCTURE = np.zeros((6, 6, 6))
"""The matrices `ad e_i` of the six unit velocities."""
_STRUCTURE[:3, :3, :3] = _STRUCTURE[:3, 3:, 3:] = _STRUCTURE[3:, 3:, :3] = skew(np.eye(3))


def ad(x: Array) -> Array:
    """Return the matrix (..., 6, 6) that takes y to the commutator of x and y."""
    return (x @ _STRUCTURE.reshape(6, 36)).reshape(*x.shape[:-1], 6, 6)


_RATES, _CARRY = (np.array(coefficients(first, sign, _TERMS)) for first, sign in ((1, -1.0), (0, 1.0)))


def _evaluate(series: Array, t: Array) -> Array:
    return np.asarray(t[..., None] ** _EXPONENTS[: len(series)] @ series)


def _powers(A: Array) -> tuple[Array, Array, Array, Array]:
    A2 = A @ A
    return A, A2, A2 @ A, A2 @ A2


def _combine(series: Array, x: Array) -> Array:
    c = _evaluate(series, (x[..., :3] ** 2).sum(axis=-1))
    total = np.eye(6) + np.zeros((*x.shape[:-1], 6, 6))
    for k, power in enumerate(_powers(ad(x))):
        total = total + c[..., k, None, None] * power
    return total


def rates(x: Array) -> Array:
    """Return B(x) (..., 6, 6), which takes x' to the velocity in the moving axes."""
    return _combine(_RATES, x)


def carry(x: Array) -> Array:
    """Return Ad(x) (..., 6, 6), which takes a velocity from the axes of q0 exp(x) to the axes of q0."""
    return _combine(_CARRY, x)


_RATES_BY_T = np.arange(1, _TERMS)[:, None] * _RATES[1:]


def rates_derivative(x: Array, dx: Array) -> Array:
    """Return the derivative of B(x) along x', (..., 6, 6)."""
    t = (x[..., :3] ** 2).sum(axis=-1)
    dt = 2.0 * (x[..., :3] * dx[..., :3]).sum(axis=-1)
    c, dc = _evaluate(_RATES, t), _evaluate(_RATES_BY_T, t) * dt[..., None]
    A, A2, A3, A4 = _powers(ad(x))
    D = ad(dx)
    D2 = D @ A + A @ D
    slopes = (D, D2, D2 @ A + A2 @ D, D2 @ A2 + A2 @ D2)
    total = np.zeros((*x.shape[:-1], 6, 6))
    for k, (power, slope) in enumerate(zip((A, A2, A3, A4), slopes, strict=True)):
        total = total + c[..., k, None, None] * slope + dc[..., k, None, None] * power
    return total
