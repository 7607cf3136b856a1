"""A plate: several points of one body on the ground, such as the corners of a foot, or of two solids that meet.

A body moves with six numbers, u = (velocity of the first point, angular velocity) in the axes of the ground, so that
four points of a foot, with twelve rows, have a G of rank six at most. Two things follow.

First, points are level. While gaps phi close in a step, points that stick have v_1 - v_2 = -(phi_1 - phi_2) n / h, but
every motion of a body has (v_1 - v_2) . (x_1 - x_2) = 0. Both hold only if x_1 - x_2 is along the ground. Taken where
they are, points of unequal gaps contradict each other by (phi_1 - phi_2)^2 / (h |x_1 - x_2|), in m/s, and in each sweep
their impulses against each other grow a little, until a point slips after thousands of sweeps. So all points of a plate
are taken at the height of the lowest, r_i = (x, y, 0) from the first; their gaps stay, and so do the rates of these:

    sigma_i = B_i u + (0, 0, bias_i) = v + w x r_i + (0, 0, bias_i),    f = sum of B_i^T p_i = sum of (p_i, r_i x p_i)

Second, sweeps over points converge slowly. Steps of Newton's method on the augmented Lagrangian with centres c_i help:

    u = u_0 + A f(u),    p_i(u) = P(c_i - s_i sigma_i),    s_i = 100 / (mean of the diagonal of B_i A B_i^T)
    P(z) = (k z_T, n),   n = max(z_N, 0),   k = min(1, mu n / |z_T|)

A is the 6 x 6 block of G. s is large, but finite, so that u is unique for any number of points. The p_i(u) solve
the contacts if they equal the centres; the impulses after the steps, projected, are the next centres. With A = L D L^T
and K = df / du, a step from impulses p_i with the sum f is

    (D^-1 - L^T K L) dz = L^T (f(u) - f),    du = L dz,    dp_i = p_i(u) - p_i + (dp_i / du) du

and is shortened to the root of du . (f - f(u)), the slope of the Lagrangian along it.

Reference: P. Alart and A. Curnier, A mixed formulation for frictional contact problems prone to Newton like solution
methods, 1991; A. M. Castro et al., An unconstrained convex formulation of compliant contact, 2022, for the line search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...graph import Scalar, sqrt, where_less
from ...records import dataclass
from ...spatial import Factor
from ...spatial.linear import Matrix3, Vector3, dot
from .cone import larger, smaller, smooth_root

__all__ = ["Newton", "Numbers", "Plate", "Point", "Rows", "block", "projected", "responses"]

_STIFF = 100.0
"""The number c: smaller ones need more sweeps, larger ones more steps of Newton's method."""
_SEARCHES = 3
"""Evaluations in the search for the length of a step, besides those at its ends."""
_TINY = 1e-30

Numbers = tuple[Scalar, ...]
Rows = Sequence[Sequence[Scalar]]


@dataclass(frozen=True, slots=True)
class Point:
    """A point of contact: of a row of its own, or of a plate."""

    at: int
    """The place of its first impulse among all."""
    bias: Scalar
    """The normal velocity of the point is at least minus this."""
    gap: Scalar
    mu: Scalar
    lever: tuple[Scalar, Scalar] = (0.0, 0.0)
    """r: where it is along the ground, from the first point of the plate."""
    above: Scalar = 0.0
    """How far it is above the height at which all points of the plate are taken."""
    moment: int = -1
    """The place of its first moment among all impulses; -1 for a point without."""
    torsional: float = 0.0
    rolling: float = 0.0
    """By these lengths, the normal impulse limits the moments: see `moments`."""
    resting: Scalar | None = None
    """The bias without restitution; None if it has none."""

    def impulse(self, p: Sequence[Scalar] | Mapping[int, Scalar]) -> Vector3:
        """Return its impulse among all."""
        return p[self.at], p[self.at + 1], p[self.at + 2]

    def moments(self, p: Sequence[Scalar] | Mapping[int, Scalar]) -> Vector3:
        """Return its moments among all impulses."""
        k = self.moment
        return (0.0, 0.0, 0.0) if k < 0 else (p[k], p[k + 1], p[k + 2])

    def moved(self, u: Sequence[Scalar]) -> Vector3:
        """Return B u, the velocity of the point."""
        if len(u) == 3:
            return u[0], u[1], u[2]
        x, y = self.lever
        return u[0] - y * u[5], u[1] + x * u[5], u[2] + (y * u[3] - x * u[4])

    def velocity(self, u: Sequence[Scalar]) -> Vector3:
        """Return sigma."""
        v = self.moved(u)
        return v[0], v[1], v[2] + self.bias

    def wrench(self, p: Vector3) -> Numbers:
        """Return B^T p."""
        x, y = self.lever
        return *p, y * p[2], 0.0 - x * p[2], x * p[1] - y * p[0]


def block(A: Rows, point: Point) -> Matrix3:
    """Return B A B^T of a point."""
    x, y, z = (point.moved(column) for column in responses(A, point))
    return (x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2])


def responses(A: Rows, point: Point) -> list[Numbers]:
    """Return the columns of A B^T."""
    if len(A) == 3:
        return [tuple(row[k] for row in A) for k in range(3)]
    units: tuple[Vector3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    return [tuple(dot(row, point.wrench(e)) for row in A) for e in units]


def projected(mu: Scalar, z: Vector3, smooth: Scalar | None = None) -> tuple[Vector3, Scalar, Scalar]:
    """Return P(z), k and |z_T|; with `smooth`, the square of an impulse, n (n - z_N) is that."""
    n = larger(z[2], 0.0) if smooth is None else smooth_root(0.0 - z[2], 1.0, smooth)
    radius = sqrt(z[0] * z[0] + z[1] * z[1] + _TINY)
    k = smaller(mu * n / radius, 1.0)
    return (k * z[0], k * z[1], n), k, radius


def _slopes(mu: Scalar, s: Scalar, z: Vector3, k: Scalar, radius: Scalar) -> Matrix3:
    """Return dP / d sigma."""
    x, y = z[0] / radius, z[1] / radius
    slips = where_less(k, 1.0, 1.0, 0.0)
    e = where_less(0.0, z[2], 0.0 - s, 0.0)
    t, m, e_k = e * slips * k, e * slips * mu, e * k
    xy = 0.0 - t * x * y
    return (e_k - t * x * x, xy, m * x), (xy, e_k - t * y * y, m * y), (0.0, 0.0, e)


@dataclass(frozen=True, slots=True)
class Newton:
    """Numbers of a plate that all steps of Newton's method share: the factors of A, and the numbers s."""

    factor: Factor
    stiff: tuple[Scalar, ...]

    @classmethod
    def of(cls, A: Rows, points: Sequence[Point]) -> Newton:
        """Factorise A."""
        factor = Factor.of(A, lambda i, d: 1.0 / larger(d, 1e-9 * A[i][i] + _TINY))
        stiff = []
        for point in points:
            own = block(A, point)
            stiff.append((3.0 * _STIFF) / (own[0][0] + own[1][1] + own[2][2] + _TINY))
        return cls(factor, tuple(stiff))


@dataclass(frozen=True, slots=True)
class Plate:
    """Newton's method for one plate: its points, the factors of A, the numbers s and the centres."""

    points: Sequence[Point]
    factor: Factor
    stiff: Sequence[Scalar]
    centres: Sequence[Vector3]

    def stepped(self, u: Numbers, p: Sequence[Vector3]) -> list[Vector3]:
        """Return impulses after a step, from impulses p with which the body moves at u; they may leave their cones."""
        each = list(zip(self.points, self.stiff, strict=True))
        z = [_along(c, 0.0 - s, point.velocity(u)) for (point, s), c in zip(each, self.centres, strict=True)]
        parts = [projected(point.mu, x) for point, x in zip(self.points, z, strict=True)]
        slopes = [
            _slopes(point.mu, s, x, k, radius) for (point, s), x, (_, k, radius) in zip(each, z, parts, strict=True)
        ]
        off = [_along(new, -1.0, old) for (new, _, _), old in zip(parts, p, strict=True)]
        L = self.factor.lower
        dz = _solved(self._matrix(slopes), _under(L, self.total(off)), self.factor.inverse)
        du = [dz[r] + dot(L[r], dz[:r]) if r else dz[0] for r in range(6)]
        moves = [point.moved(du) for point in self.points]
        dp = [
            (o[0] + dot(D[0], move), o[1] + dot(D[1], move), o[2] + dot(D[2], move))
            for o, D, move in zip(off, slopes, moves, strict=True)
        ]
        a = self._length(z, p, moves, dp)
        return [_along(x, a, d) for x, d in zip(p, dp, strict=True)]

    def projected(self, p: Sequence[Vector3]) -> list[Vector3]:
        """Return the impulses in their cones."""
        return [projected(point.mu, x)[0] for point, x in zip(self.points, p, strict=True)]

    def error(self, u: Numbers, p: Sequence[Vector3]) -> Scalar:
        """Return how far impulses are from P(p - s sigma / c), as velocities, squared."""
        total: Scalar = 0.0
        for point, s, x in zip(self.points, self.stiff, p, strict=True):
            e = _along(x, -1.0, projected(point.mu, _along(x, s * (-1.0 / _STIFF), point.velocity(u)))[0])
            total = total + dot(e, e) / (s * s)
        return total

    def total(self, p: Sequence[Sequence[Scalar]]) -> list[Scalar]:
        """Return the impulse on the plate."""
        wrenches = [point.wrench((x[0], x[1], x[2])) for point, x in zip(self.points, p, strict=True)]
        return [_sum(row) for row in zip(*wrenches, strict=True)]

    def _matrix(self, slopes: Sequence[Matrix3]) -> list[list[Scalar]]:
        """Return D^-1 - L^T K L, row by row."""
        L = self.factor.lower
        units = [tuple(1.0 if r == c else 0.0 for r in range(6)) for c in range(6)]
        K: list[list[Scalar]] = []  # columns
        for e in units:
            each = [tuple(dot(row, point.moved(e)) for row in D) for point, D in zip(self.points, slopes, strict=True)]
            K.append(self.total(each))
        columns = []
        for c in range(6):
            column = [_sum([K[c][r], *(K[j][r] * L[j][c] for j in range(c + 1, 6))]) for r in range(6)]
            column = [0.0 - x for x in _under(L, column)]
            column[c] = column[c] + self.factor.inverse[c]
            columns.append(column)
        return [list(row) for row in zip(*columns, strict=True)]

    def _length(
        self, z: Sequence[Vector3], p: Sequence[Vector3], moves: Sequence[Vector3], dp: Sequence[Vector3]
    ) -> Scalar:
        """Return the length of the step: 1, or the root of the slope before it, by regula falsi (Illinois)."""
        start = _sum([dot(x, move) for x, move in zip(p, moves, strict=True)])
        rate = _sum([dot(d, move) for d, move in zip(dp, moves, strict=True)])
        back = [(0.0 - s * m[0], 0.0 - s * m[1], 0.0 - s * m[2]) for s, m in zip(self.stiff, moves, strict=True)]

        def slope(a: Scalar) -> Scalar:
            found = start + a * rate
            for point, x, d, move in zip(self.points, z, back, moves, strict=True):
                found = found - dot(projected(point.mu, _along(x, a, d))[0], move)
            return found

        low: Scalar = 0.0
        high: Scalar = 1.0
        side: Scalar = 0.0
        at_low, at_high = slope(0.0), slope(1.0)
        whole = where_less(at_low, 0.0, where_less(0.0, at_high, 0.0, 1.0), 1.0)
        at_low, at_high = smaller(at_low, 0.0), larger(at_high, 0.0)

        def root() -> Scalar:
            return low - at_low * (high - low) / (at_high - at_low + _TINY)

        for _ in range(_SEARCHES):
            a = root()
            here = slope(a)
            old_low = where_less(0.0, side, 0.5 * at_low, at_low)
            old_high = where_less(side, 0.0, 0.5 * at_high, at_high)
            at_low, at_high = where_less(0.0, here, old_low, here), where_less(0.0, here, here, old_high)
            low, high = where_less(0.0, here, low, a), where_less(0.0, here, a, high)
            side = where_less(0.0, here, 1.0, -1.0)
        return where_less(whole, 0.5, root(), 1.0)


def _sum(x: Sequence[Scalar]) -> Scalar:
    total = x[0]
    for y in x[1:]:
        total = total + y
    return total


def _along(x: Sequence[Scalar], a: Scalar, d: Sequence[Scalar]) -> Vector3:
    """Return x + a d."""
    return x[0] + a * d[0], x[1] + a * d[1], x[2] + a * d[2]


def _under(L: Sequence[Sequence[Scalar]], x: Sequence[Scalar]) -> list[Scalar]:
    """Return L^T x; the diagonal of L is one."""
    return [_sum([x[r], *(L[j][r] * x[j] for j in range(r + 1, len(x)))]) for r in range(len(x))]


def _solved(M: list[list[Scalar]], b: Sequence[Scalar], usual: Sequence[Scalar]) -> list[Scalar]:
    """Return M^-1 b by elimination; pivots that are small, relative to what is usual for them, are enlarged."""
    M, y, n = [list(row) for row in M], list(b), len(b)
    over = []
    for k in range(n):
        small = 1e-3 * usual[k]
        over.append(1.0 / where_less(M[k][k] * M[k][k], small * small, small, M[k][k]))
        for r in range(k + 1, n):
            ratio = M[r][k] * over[k]
            y[r] = y[r] - ratio * y[k]
            for c in range(k + 1, n):
                M[r][c] = M[r][c] - ratio * M[k][c]
    for k in reversed(range(n)):
        y[k] = (y[k] - dot(M[k][k + 1 :], y[k + 1 :]) if k + 1 < n else y[k]) * over[k]
    return y
