"""A plate: several points of one body on the ground, such as the corners of a foot.

A body moves with six numbers, u = (velocity of the first point, angular velocity) in the axes of the ground, so that four
points of a foot with twelve rows have a G of rank six at most. Two things follow.

Points are level. While gaps phi close in the step, points that stick have v_1 - v_2 = -(phi_1 - phi_2) n / h, but each
motion of a body has (v_1 - v_2) . (x_1 - x_2) = 0. Both hold only if the difference of the x is along the ground. Taken
where they are, points of unequal gaps contradict each other by (phi_1 - phi_2)^2 / (h length) m/s, and their impulses against
each other grow from sweep to sweep, slowly, until one slips. So all points are taken at the height of the lowest: r_i = (x, y, 0),

    sigma_i = B_i u + (0, 0, bias_i) = v + w x r_i + (0, 0, bias_i),    f = sum of B_i^T p_i = sum of (p_i, r_i x p_i)

The plate is solved as one block, u = u_0 + A f with A the 6 x 6 block of G. After sweeps over its points come steps of
Newton's method on the augmented Lagrangian with centres p_i,

    u = u_0 + A f(u),    p_i(u) = P_i(p_i - s_i sigma_i),    s_i = c / (mean of the diagonal of B_i A B_i^T)
    P(z) = (k z_T, n),   n = max(z_N, 0),   k = min(1, mu n / |z_T|)

which is regular for any number of points: c is large, but finite. With A = L D L^T, u = u_0 + L z, K = df / du,

    (D^-1 - L^T K L) dz = L^T (f(u) - f),    dp_i = p_i(u) - p_i + (dP_i / du) L dz

and the step is shortened to the root of dz . (L^T f - L^T f(u)), which is the slope of the Lagrangian along the step where
P is a gradient. The new p_i, projected, are the centres of the next sweep.

Reference: P. Alart and A. Curnier, A mixed formulation for frictional contact problems prone to Newton like solution
methods, 1991; A. M. Castro et al., An unconstrained convex formulation of compliant contact, 2022, for the line search.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Scalar, sqrt, where_less
from ...records import dataclass
from ...spatial import Factor
from ...spatial.linear import Matrix3, Vector3, dot
from .cone import inverse, larger, regular, smaller, solved

__all__ = ["Point", "block", "solved_plate"]

_POINT_SWEEPS = 2
"""Sweeps over the points of a plate before Newton's method."""
_NEWTON_STEPS = 3
_STIFF = 100.0
"""The number c: smaller ones need more sweeps, larger ones more steps of Newton's method."""
_SEARCHES = 4
"""Evaluations in the search for the length of a step."""
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

    def impulse(self, p: Sequence[Scalar]) -> Vector3:
        """Return its impulse among all."""
        return p[self.at], p[self.at + 1], p[self.at + 2]

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
    x, y, z = (point.moved(column) for column in _responses(A, point))
    return (x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2])


def _responses(A: Rows, point: Point) -> list[Numbers]:
    """Return the columns of A B^T."""
    if len(A) == 3:
        return [tuple(row[k] for row in A) for k in range(3)]
    units: tuple[Vector3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    return [tuple(dot(row, point.wrench(e)) for row in A) for e in units]


def solved_plate(A: Rows, points: Sequence[Point], u: Numbers, p: Sequence[Vector3]) -> list[Vector3]:
    """Return the impulses of the points while all other rows stay, from those before, with which the body moves at u."""
    found = list(p)
    for _ in range(_POINT_SWEEPS):
        for k, point in enumerate(points):
            own = regular(block(A, point))
            new = solved(own, inverse(own), point.mu, point.velocity(u), found[k])
            change = tuple(a - b for a, b in zip(new, found[k], strict=True))
            u = tuple(x + dot(change, r) for x, r in zip(u, zip(*_responses(A, point), strict=True), strict=True))
            found[k] = new
    if len(points) < 3:
        return found
    state = _State.of(A, points, u, found)
    for _ in range(_NEWTON_STEPS):
        state = state.stepped()
    new = [_projected(point.mu, x)[0] for point, x in zip(points, state.p, strict=True)]
    change = state.total([tuple(a - b for a, b in zip(x, y, strict=True)) for x, y in zip(new, found, strict=True)])
    after = tuple(x + dot(row, change) for x, row in zip(u, A, strict=True))
    errors = [_error(points, state.stiff, v, x) for v, x in ((u, found), (after, new))]
    return [_chosen(errors, x, y) for x, y in zip(found, new, strict=True)]


def _error(points: Sequence[Point], stiff: Sequence[Scalar], u: Numbers, p: Sequence[Vector3]) -> Scalar:
    """Return how far impulses are from P(p - s sigma / c), squared, as velocities."""
    total: Scalar = 0.0
    for point, s, x in zip(points, stiff, p, strict=True):
        e = _along(x, -1.0, _projected(point.mu, _along(x, s * (-1.0 / _STIFF), point.velocity(u)))[0])
        total = total + dot(e, e) / (s * s)
    return total


def _chosen(errors: Sequence[Scalar], old: Vector3, new: Vector3) -> Vector3:
    """Return the new impulse, or the old one if its error was less."""
    a, b, c = (where_less(errors[1], errors[0], y, x) for x, y in zip(old, new, strict=True))
    return a, b, c


def _projected(mu: Scalar, z: Vector3) -> tuple[Vector3, Scalar, Scalar]:
    """Return P(z), k and |z_T|."""
    n = larger(z[2], 0.0)
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
class _State:
    """An iterate of Newton's method: impulses p that need not be in their cones, and z = centre - s sigma."""

    points: Sequence[Point]
    factor: Factor
    stiff: Sequence[Scalar]
    p: Sequence[Vector3]
    z: Sequence[Vector3]

    @classmethod
    def of(cls, A: Rows, points: Sequence[Point], u: Numbers, p: Sequence[Vector3]) -> _State:
        """Begin at impulses p, which are the centres; the body moves at u with them."""
        factor = Factor.of(A, lambda i, d: 1.0 / larger(d, 1e-9 * A[i][i] + _TINY))
        stiff, z = [], []
        for point, x in zip(points, p, strict=True):
            own, sigma = block(A, point), point.velocity(u)
            s = (3.0 * _STIFF) / (own[0][0] + own[1][1] + own[2][2] + _TINY)
            stiff.append(s)
            z.append((x[0] - s * sigma[0], x[1] - s * sigma[1], x[2] - s * sigma[2]))
        return cls(points, factor, stiff, p, z)

    def stepped(self) -> _State:
        """Return the next iterate."""
        parts = [_projected(point.mu, z) for point, z in zip(self.points, self.z, strict=True)]
        slopes = [
            _slopes(point.mu, s, z, k, radius)
            for point, s, z, (_, k, radius) in zip(self.points, self.stiff, self.z, parts, strict=True)
        ]
        off = [tuple(a - b for a, b in zip(new, p, strict=True)) for (new, _, _), p in zip(parts, self.p, strict=True)]
        L, weights = self.factor.lower, self.factor.inverse
        right = _under(L, self.total(off))
        dz = _solved(self._matrix(slopes), right, weights)
        du = [dz[r] + dot(L[r], dz[:r]) if r else dz[0] for r in range(6)]
        moves = [point.moved(du) for point in self.points]
        dp = [
            tuple(x + dot(row, move) for x, row in zip(o, slope, strict=True))
            for o, slope, move in zip(off, slopes, moves, strict=True)
        ]
        a = self._length(moves, dp)
        p = [_along(x, a, d) for x, d in zip(self.p, dp, strict=True)]
        z = [_along(x, 0.0 - a * s, d) for x, s, d in zip(self.z, self.stiff, moves, strict=True)]
        return _State(self.points, self.factor, self.stiff, p, z)

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

    def _length(self, moves: Sequence[Vector3], dp: Sequence[Sequence[Scalar]]) -> Scalar:
        """Return the length of the step: at most 1, or the root of the slope before it."""
        start = _sum([dot(p, move) for p, move in zip(self.p, moves, strict=True)])
        rate = _sum([dot(d, move) for d, move in zip(dp, moves, strict=True)])

        def slope(a: Scalar) -> Scalar:
            found = start + a * rate
            for point, s, z, move in zip(self.points, self.stiff, self.z, moves, strict=True):
                found = found - dot(_projected(point.mu, _along(z, 0.0 - a * s, move))[0], move)
            return found

        low: Scalar = 0.0
        high: Scalar = 1.0
        at_low, at_high = slope(0.0), slope(1.0)
        whole = where_less(at_low, 0.0, where_less(0.0, at_high, 0.0, 1.0), 1.0)
        for _ in range(_SEARCHES):
            a = 0.5 * (low + high)
            here = slope(a)
            low, high = where_less(here, 0.0, a, low), where_less(here, 0.0, high, a)
        return where_less(whole, 0.5, low, 1.0)


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


def _solved(M: list[list[Scalar]], b: Sequence[Scalar], least: Sequence[Scalar]) -> list[Scalar]:
    """Return M^-1 b by elimination; pivots are at least a small part of their least value in exact arithmetic."""
    M, y, n = [list(row) for row in M], list(b), len(b)
    over = []
    for k in range(n):
        over.append(1.0 / larger(M[k][k], 1e-3 * least[k]))
        for r in range(k + 1, n):
            ratio = M[r][k] * over[k]
            y[r] = y[r] - ratio * y[k]
            for c in range(k + 1, n):
                M[r][c] = M[r][c] - ratio * M[k][c]
    for k in reversed(range(n)):
        y[k] = (y[k] - dot(M[k][k + 1 :], y[k + 1 :]) if k + 1 < n else y[k]) * over[k]
    return y
