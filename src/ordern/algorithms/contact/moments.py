"""A contact with torsional and rolling friction: moments beside its impulse, limited by the normal impulse.

With the velocity (sigma, w) = A (p, m) + b of a contact, w being the angular velocity, m solves, besides the law of p,

    |m_N| <= s p_N,    w_N = 0, or m_N = -s p_N sign(w_N)           (torsional friction)
    |m_T| <= r p_N,    w_T = 0, or m_T = -r p_N w_T / |w_T|         (rolling friction)

s and r are lengths. A row of six numbers has both, as that of a plate. `solved_with_moments` first lets everything
stick, which is exact where it is possible; otherwise it solves for p, then for m_N and m_T, while the others stay, as
part of a sweep. The direction of m_T takes one step of Newton's method on f(t) = t x w_T(t), as that of p_T does.

Reference: R. I. Leine and C. Glocker, A set-valued force law for spatial Coulomb-Contensou friction, 2003, for the
laws, here without the coupling between sliding and spinning; E. Todorov, MuJoCo's computation, for r and s as lengths.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Scalar, sqrt, where_less
from ...spatial import Factor
from ...spatial.linear import Matrix3, Vector3, dot
from .cone import inverse, larger, regular, smaller, solved
from .plate import Numbers, Point, Rows, responses

__all__ = ["moment_residual", "projected_moments", "solved_with_moments"]

_TINY = 1e-30
_REGULAR = 1e-6
"""As in `cone`: added to the diagonal of A, relative to its mean over the impulses, and over the moments."""
Six = tuple[Scalar, ...]


def solved_with_moments(A: Rows, point: Point, u: Numbers, p: Vector3, m: Vector3) -> tuple[Vector3, Vector3]:
    """Return the impulse and the moment of a point while all others stay, from those before, with velocities u."""
    columns = [*responses(A, point), *(tuple(row[3 + k] for row in A) for k in range(3))]
    G = [list(row) for row in zip(*((*point.moved(c), *c[3:6]) for c in columns), strict=True)]
    velocity = (*point.velocity(u), *u[3:6])
    stick, fits = _all_stick(G, point, velocity, (*p, *m))
    own: Matrix3 = regular(_block(G))
    impulse = solved(own, inverse(own), point.mu, _three(velocity), p)
    new, now = list(m), _moved(velocity, G, range(3), [x - y for x, y in zip(impulse, p, strict=True)])
    if point.torsional:
        most = point.torsional * impulse[2]
        new[2] = larger(smaller(m[2] - now[5] / larger(G[5][5], _TINY), most), 0.0 - most)
        now = _moved(now, G, [5], [new[2] - m[2]])
    if point.rolling:
        new[0], new[1] = _in_disk(G, (now[3], now[4]), (m[0], m[1]), point.rolling * impulse[2])
    found = [where_less(0.5, fits, a, b) for a, b in zip(stick, (*impulse, *new), strict=True)]
    return (found[0], found[1], found[2]), (found[3], found[4], found[5])


def _three(x: Sequence[Scalar]) -> Vector3:
    return x[0], x[1], x[2]


def _block(G: Rows) -> Matrix3:
    return _three(G[0]), _three(G[1]), _three(G[2])


def _moved(velocity: Sequence[Scalar], G: Rows, which: Sequence[int], change: Sequence[Scalar]) -> Six:
    """Return the velocities after a change of some of the six impulses."""
    return tuple(x + dot([row[k] for k in which], change) for x, row in zip(velocity, G, strict=True))


def _all_stick(G: Rows, point: Point, velocity: Six, z: Six) -> tuple[list[Scalar], Scalar]:
    """Return the impulses with which the contact neither slides, spins nor rolls, and 1 if its friction allows them."""
    used = [0, 1, 2, *([3, 4] if point.rolling else []), *([5] if point.torsional else [])]
    linear, angular = (_REGULAR / 3.0 * (G[k][k] + G[k + 1][k + 1] + G[k + 2][k + 2]) + _TINY for k in (0, 3))
    M = [[G[r][c] + ((linear if r < 3 else angular) if r == c else 0.0) for c in used] for r in used]
    change = Factor.of(M).solve(tuple(velocity[k] for k in used))
    found = list(z)
    for k, x in zip(used, change, strict=True):
        found[k] = z[k] - x
    n = larger(found[2], 0.0)
    limits = [(found[0] * found[0] + found[1] * found[1], point.mu)]
    limits += [(found[3] * found[3] + found[4] * found[4], point.rolling)] if point.rolling else []
    limits += [(found[5] * found[5], point.torsional)] if point.torsional else []
    fits: Scalar = where_less(found[2], 0.0, 0.0, 1.0)
    for square, most in limits:
        fits = where_less(most * n * (most * n), square, 0.0, fits)
    return found, fits


def _in_disk(G: Rows, w: tuple[Scalar, Scalar], m: tuple[Scalar, Scalar], most: Scalar) -> tuple[Scalar, Scalar]:
    """Return the moment that stops rolling or, where it would be too large, the one that is largest against it."""
    e = 0.5 * _REGULAR * (G[3][3] + G[4][4]) + _TINY
    xx, xy, yy = G[3][3] + e, G[3][4], G[4][4] + e
    bx, by = w[0] - (xx * m[0] + xy * m[1]), w[1] - (xy * m[0] + yy * m[1])
    k = 1.0 / (xx * yy - xy * xy)
    sx, sy = k * (xy * by - yy * bx), k * (xy * bx - xx * by)
    step = 1.0 / larger(xx, yy)
    x, y = m[0] - step * w[0], m[1] - step * w[1]
    square = x * x + y * y
    tx, ty = _unit(where_less(square, _TINY, sx, x), where_less(square, _TINY, sy, y))
    vx, vy = bx + most * (xx * tx + xy * ty), by + most * (xy * tx + yy * ty)
    turn = most * (tx * (yy * tx - xy * ty) - ty * (xy * tx - xx * ty))  # how f grows while t turns to (-ty, tx)
    slope = larger(turn - tx * vx - ty * vy, 1e-12)
    e = larger(smaller((tx * vy - ty * vx) / slope, 1.0), -1.0)
    tx, ty = _unit(tx + e * ty, ty - e * tx)
    inside = where_less(most * most, sx * sx + sy * sy, 0.0, 1.0)
    return where_less(0.5, inside, sx, most * tx), where_less(0.5, inside, sy, most * ty)


def _unit(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    k = 1.0 / sqrt(larger(x * x + y * y, _TINY))
    return x * k, y * k


def moment_residual(A: Rows, point: Point, u: Numbers, p: Vector3, m: Vector3) -> Scalar:
    """Return how far the moments are from their laws, in rad/s: scale |m - P(m - w / scale)|."""
    _, new, (rolling, spinning) = projected_moments(A, point, u, p, m)
    found: Scalar = 0.0
    if point.torsional:
        off = m[2] - new[2]
        found = spinning * larger(off, 0.0 - off)
    if point.rolling:
        ex, ey = m[0] - new[0], m[1] - new[1]
        found = larger(found, rolling * sqrt(ex * ex + ey * ey + _TINY * _TINY))
    return found


def projected_moments(
    A: Rows, point: Point, u: Numbers, p: Vector3, m: Vector3
) -> tuple[Vector3, Vector3, tuple[Scalar, Scalar]]:
    """Return z = m - w / scale, the nearest moments P(z) that the normal impulse allows, and scales of m_T and m_N."""
    rolling, spinning = 0.5 * (A[3][3] + A[4][4]) + _TINY, A[5][5] + _TINY
    z: Vector3 = m[0] - u[3] / rolling, m[1] - u[4] / rolling, m[2] - u[5] / spinning
    x: Scalar = 0.0
    y: Scalar = 0.0
    turn: Scalar = 0.0
    if point.rolling:
        k = smaller(point.rolling * p[2] / sqrt(z[0] * z[0] + z[1] * z[1] + _TINY * _TINY), 1.0)
        x, y = k * z[0], k * z[1]
    if point.torsional:
        most = point.torsional * p[2]
        turn = larger(smaller(z[2], most), 0.0 - most)
    return z, (x, y, turn), (rolling, spinning)
