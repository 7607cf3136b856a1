"""Planar arms, by equations derived by hand, which use nothing of the library.

Links move in a plane X-Y with gravity along -Y. With the angles p_i of the links against X, the joint angles being
q_1 = p_1 and q_i = p_i - p_{i-1}, the kinetic energy is half the sum of A_ij cos(p_i - p_j) p_i' p_j', the potential
one the sum of g b_i sin p_i, where with length l_i, mass m_i, mass centre at c_i along the link, inertia I_i about it,
and the mass n_i of all links beyond i,

    A_ii = I_i + m_i c_i^2 + n_i l_i^2,    A_ij = l_i b_j for i < j,    b_i = m_i c_i + n_i l_i

and Lagrange's equations are

    Q_i = sum_j A_ij (cos(p_i - p_j) p_j'' + sin(p_i - p_j) p_j'^2) + g b_i cos p_i,    tau_i = Q_i + ... + Q_n.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from ..arguments import Array
from ..records import dataclass
from ..robots.double_pendulum import LENGTH, MASS, RADIUS
from ..robots.planar_3r import LENGTHS, MASSES

__all__ = ["DOUBLE_PENDULUM", "SAHA", "PlanarArm", "falling"]


@dataclass(frozen=True, slots=True)
class PlanarArm:
    """Links that turn about parallel axes, each at the end of the one before."""

    lengths: tuple[float, ...]
    masses: tuple[float, ...]
    centres: tuple[float, ...]
    """Distances of the mass centres from the joints."""
    inertias: tuple[float, ...]
    """About the mass centres."""
    gravity: float = 9.81

    def couplings(self) -> tuple[Array, Array]:
        """Return the constants A and b."""
        l, m, c, inertia = (np.array(x) for x in (self.lengths, self.masses, self.centres, self.inertias))
        beyond = np.array([sum(self.masses[k + 1 :]) for k in range(len(m))])
        b = m * c + beyond * l
        upper = np.triu(np.outer(l, b), 1)
        return upper + upper.T + np.diag(inertia + m * c**2 + beyond * l**2), b

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the joint torques (..., n) of a motion."""
        A, b = self.couplings()
        p, w, u = (np.cumsum(x, axis=-1) for x in (q, v, a))
        apart = p[..., :, None] - p[..., None, :]
        Q = np.cos(apart) * A @ u[..., None] + np.sin(apart) * A @ w[..., None] ** 2
        Q = Q[..., 0] + self.gravity * b * np.cos(p)
        return np.asarray(np.cumsum(Q[..., ::-1], axis=-1)[..., ::-1])


def _rod(mass: float, length: float, radius: float) -> float:
    return mass * (3.0 * radius**2 + length**2) / 12.0


SAHA = PlanarArm(
    LENGTHS,
    MASSES,
    tuple(l / 2.0 for l in LENGTHS),
    tuple(m * l**2 / 12.0 for m, l in zip(MASSES, LENGTHS, strict=True)),
)
"""The arm of Saha's section 6.1."""

DOUBLE_PENDULUM = PlanarArm((LENGTH,) * 2, (MASS,) * 2, (LENGTH / 2.0,) * 2, (_rod(MASS, LENGTH, RADIUS),) * 2)
"""The bundled double pendulum, if its first angle is counted from the horizontal: p_1 = q_1 - pi / 2."""


def falling(arm: PlanarArm, start: Sequence[Any], times: Sequence[float], digits: int = 50) -> Array:
    """Return positions and velocities (N, 2 n) of the arm after release at rest at the angles `start`.

    `times` increase. By Taylor series of 40 terms in arithmetic of `digits` digits, with steps so short that the last
    terms have half as many digits behind the point. `start` may hold numbers of mpmath; the answers are of type
    `decimal.Decimal`, whose arithmetic is faster.
    """
    import mpmath

    with mpmath.workdps(digits), localcontext() as context:
        context.prec = digits
        A, b = (np.vectorize(Decimal, otypes=[object])(x) for x in arm.couplings())
        gb = b * Decimal(arm.gravity)
        p = np.cumsum([_decimal(x) for x in start])
        w, now, found = p * 0, Decimal(0), []
        small = Decimal(10) ** (-digits // 2)
        for t in times:
            while now < t:
                P = _series(A, gb, p, w)
                sizes = [(k, abs(x)) for k in range(len(P) - 8, len(P)) for x in P[k]]  # by symmetry some may be 0
                h = min((small / x) ** (1 / Decimal(k)) for k, x in sizes if x)
                h = min(h, Decimal(t) - now)
                p, w = _at(P, h)
                now += h
            found.append([*p[:1], *(p[1:] - p[:-1]), *w[:1], *(w[1:] - w[:-1])])
        return np.array(found, dtype=object)


def _decimal(x: Any) -> Decimal:
    import mpmath

    return Decimal(mpmath.nstr(mpmath.mpf(x), mpmath.mp.dps + 5))


def _series(A: Array, gb: Array, p: Array, w: Array, terms: int = 40) -> list[Array]:
    """Return the coefficients of the angles' Taylor series, one after the other, by the equations of motion."""
    import mpmath

    n = len(p)
    angles = np.concatenate([(p[:, None] - p[None]).ravel(), p])  # all p_i - p_j, then the p_i
    S, C = ([np.array([_decimal(f(mpmath.mpf(str(x)))) for x in angles])] for f in (mpmath.sin, mpmath.cos))
    Y, P, W, square = [_rates(w)], [p, w], [w], [w * w]  # Y: rates of the angles; square: of the links' rates
    U: list[Array] = []
    AS, AC = [A * S[0][: n * n].reshape(n, n)], [A * C[0][: n * n].reshape(n, n)]
    mass = mpmath.matrix([[mpmath.mpf(str(x)) for x in row] for row in AC[0]])
    inverse = np.array([_decimal(x) for x in mass**-1], dtype=object).reshape(n, n)
    for k in range(terms):
        if k:
            S.append(_product(Y, C) / k)
            C.append(-_product(Y, S[:-1]) / k)
            AS.append(A * S[k][: n * n].reshape(n, n))
            AC.append(A * C[k][: n * n].reshape(n, n))
            W.append(U[-1] / k)
            P.append(W[-1] / (k + 1))
            Y.append(_rates(W[-1]))
            square.append(_product(W, W))
        due = -gb * C[k][n * n :] - sum(x @ y for x, y in zip(AS, square[::-1], strict=True))
        U.append(inverse @ (due - sum(x @ y for x, y in zip(AC[1:], U[::-1], strict=True))))
    return P


def _rates(w: Array) -> Array:
    return np.concatenate([(w[:, None] - w[None]).ravel(), w])


def _product(x: list[Array], y: list[Array]) -> Any:
    """Return the last coefficient of the product of two series of the same length."""
    return sum(a * b for a, b in zip(x, y[::-1], strict=True))


def _at(P: list[Array], h: Any) -> tuple[Array, Array]:
    """Return angles and rates at the time h, by Horner's scheme."""
    p, w = P[-1] * 0, P[-1] * 0
    for c in P[::-1]:
        w = w * h + p
        p = p * h + c
    return p, w
