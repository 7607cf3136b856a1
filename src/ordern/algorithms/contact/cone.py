"""The impulse of one contact with Coulomb friction, in its axes (two along the surface, then the normal).

With the velocity sigma = A p + b of the contact after the step, the impulse p solves

    open     p = 0,                      sigma_N >= 0
    stick    sigma = 0,                  |p_T| <= mu p_N
    slip     sigma_N = 0,                p_T = mu p_N t,   sigma_T = -s t,   s > 0,   |t| = 1

The three cases are the complementarity K_mu contains p, perpendicular to sigma + (0, 0, mu |sigma_T|) in K_mu*.
Slip has one unknown, the direction t: with n = -b_N / (A_NN + mu A_NT . t), p = n (mu t, 1), and t is the root of
f(t) = t x sigma_T(t). `solved` takes one step of Newton's method on it from the direction of a projected step; as part
of a sweep over all contacts, which is repeated, both converge together. Before that, n is bounded such that p adds no
energy, p . sigma <= 0, which solutions satisfy.

A is regular by the caller: see `regular`. The only choice is `where_less`: all states of a vector take one path.

Reference: M. Jourdan, P. Alart and M. Jean, A Gauss-Seidel like algorithm to solve frictional contact problems, 1998;
Q. Le Lidec et al., Contact models in robotics: a comparative analysis, 2024, for the residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ...graph import Scalar, sqrt, where_less
from ...spatial.linear import Matrix3, Vector3, dot

__all__ = [
    "direction",
    "inverse",
    "larger",
    "least",
    "natural_residual",
    "regular",
    "smaller",
    "smooth_root",
    "smoothly_solved",
    "solved",
]

_REGULAR = 1e-6
"""Added to the diagonal of A, relative to its mean: points that cannot move in a direction have zeros there."""
_IMMOVABLE = 1e-12
"""Added as well, in 1/kg: a point that nothing moves, such as one on the axis of its only joint, has zeros alone."""
_TINY = 1e-30
_NOTHING = 1e-36
"""The square of an impulse that counts as zero. Its root has finite derivatives, in single precision as well."""


def larger(a: Scalar, b: Scalar) -> Scalar:
    """Return the larger number."""
    return where_less(a, b, b, a)


def smaller(a: Scalar, b: Scalar) -> Scalar:
    """Return the smaller number."""
    return where_less(a, b, a, b)


def least(x: Sequence[Scalar]) -> Scalar:
    """Return the smallest of several numbers."""
    return reduce(smaller, x)


def regular(A: Matrix3) -> Matrix3:
    """Return A with a small multiple of one added.

    Updates p - A^-1 sigma with it stop only where sigma is zero, so that the solution is the one of A.
    """
    e = (A[0][0] + A[1][1] + A[2][2]) * (_REGULAR / 3.0) + _IMMOVABLE
    x, y, z = A
    return (x[0] + e, x[1], x[2]), (y[0], y[1] + e, y[2]), (z[0], z[1], z[2] + e)


def inverse(A: Matrix3) -> Matrix3:
    """Return the inverse of a symmetric matrix."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = A
    a, b, c = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    d, e, f = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    k = 1.0 / (xx * a + xy * b + xz * c)
    a, b, c, d, e, f = (x * k for x in (a, b, c, d, e, f))
    return (a, b, c), (b, d, e), (c, e, f)


def smooth_root(b: Scalar, a: Scalar, kappa: Scalar) -> Scalar:
    """Return the positive n with n (a n + b) = kappa: an impulse whose velocity a n + b is positive, too.

    a is positive where b is not; friction that wedges a contact makes it negative, and then n is the smaller root.
    """
    root = sqrt(larger(b * b + 4.0 * a * kappa, _TINY))
    return where_less(b, 0.0, (root - b) / (2.0 * a), 2.0 * kappa / larger(root + b, _TINY))


def smoothly_solved(A: Matrix3, mu: Scalar, sigma: Vector3, p: Vector3, kappa: Scalar) -> Vector3:
    """Return the same as `solved` for p_N sigma_N = kappa > 0 in the place of the complementarity of the normal.

    There is no open contact: p_N is positive at any distance. A contact that sticks has sigma_T = 0; without p_T, its
    normal has the Schur complement of A.
    """
    x, y, z = A
    b = (sigma[0] - dot(x, p), sigma[1] - dot(y, p), sigma[2] - dot(z, p))
    k = 1.0 / (x[0] * y[1] - x[1] * x[1])

    def along(c: Scalar, d: Scalar) -> tuple[Scalar, Scalar]:
        """Return the solution of A_TT e = (c, d)."""
        return k * (y[1] * c - x[1] * d), k * (x[0] * d - x[1] * c)

    free, moved = along(b[0], b[1]), along(x[2], y[2])
    n = smooth_root(b[2] - z[0] * free[0] - z[1] * free[1], z[2] - z[0] * moved[0] - z[1] * moved[1], kappa)
    stick = (0.0 - free[0] - n * moved[0], 0.0 - free[1] - n * moved[1], n)
    slip = _slip(A, mu, b, _direction(p, sigma, 1.0 / larger(x[0], y[1]), stick), kappa)
    limit, sliding = mu * n, stick[0] * stick[0] + stick[1] * stick[1]
    one, two, three = (where_less(limit * limit, sliding, c, d) for c, d in zip(slip, stick, strict=True))
    return one, two, three


def solved(A: Matrix3, A_inverse: Matrix3, mu: Scalar, sigma: Vector3, p: Vector3) -> Vector3:
    """Return the impulse of a contact while all others stay, from its impulse p and velocity sigma before."""
    x, y, z = A
    b = (sigma[0] - dot(x, p), sigma[1] - dot(y, p), sigma[2] - dot(z, p))
    stick = (0.0 - dot(A_inverse[0], b), 0.0 - dot(A_inverse[1], b), 0.0 - dot(A_inverse[2], b))
    slip = _slip(A, mu, b, _direction(p, sigma, 1.0 / larger(x[0], y[1]), stick))
    limit = mu * stick[2]
    sliding = stick[0] * stick[0] + stick[1] * stick[1]

    def chosen(k: int) -> Scalar:
        held = where_less(stick[2], 0.0, slip[k], where_less(limit * limit, sliding, slip[k], stick[k]))
        return where_less(b[2], 0.0, held, 0.0)  # the others carry it away

    return chosen(0), chosen(1), chosen(2)


def _direction(p: Vector3, sigma: Vector3, step: Scalar, stick: Vector3) -> tuple[Scalar, Scalar]:
    """Return the direction of p_T - step sigma_T; of the impulse that would stick, if that is zero."""
    x, y = p[0] - step * sigma[0], p[1] - step * sigma[1]
    square = x * x + y * y
    return _unit(where_less(square, _TINY, stick[0], x), where_less(square, _TINY, stick[1], y))


def _unit(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    k = 1.0 / sqrt(larger(x * x + y * y, _TINY))
    return x * k, y * k


def direction(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Return a unit vector along (x, y): (1, 0) if both are zero."""
    square = x * x + y * y
    return _unit(where_less(square, _TINY, 1.0, x), where_less(square, _TINY, 0.0, y))


def _slip(A: Matrix3, mu: Scalar, b: Vector3, t: tuple[Scalar, Scalar], kappa: Scalar | None = None) -> Vector3:
    """Return the impulse of a contact that slips, with t turned by a step of Newton's method on f.

    With kappa, its normal is that of `smooth_root`.
    """
    x, y, z = A
    least = 1e-3 * z[2]  # where it is less, friction wedges the contact (Painleve)
    tx, ty = t
    a = larger(z[2] + mu * (z[0] * tx + z[1] * ty), least)
    w = 1.0 / a
    n = 0.0 - b[2] * w
    if kappa is not None:
        a = where_less(b[2], 0.0, a, z[2] + mu * (z[0] * tx + z[1] * ty))
        n = smooth_root(b[2], a, kappa)
        w = n / sqrt(larger(b[2] * b[2] + 4.0 * a * kappa, _TINY))  # dn = -n w da
    ux, uy = x[2] + mu * (x[0] * tx + x[1] * ty), y[2] + mu * (y[0] * tx + y[1] * ty)
    vx, vy = b[0] + n * ux, b[1] + n * uy
    f = tx * vy - ty * vx
    dn = n * w * mu * (z[0] * ty - z[1] * tx)  # derivatives while t turns to (-ty, tx)
    dvx = dn * ux + n * mu * (x[1] * tx - x[0] * ty)
    dvy = dn * uy + n * mu * (y[1] * tx - y[0] * ty)
    slope = larger(tx * dvy - ty * dvx - tx * vx - ty * vy, 1e-12)
    e = larger(smaller(f / slope, 1.0), -1.0)
    tx, ty = _unit(tx + e * ty, ty - e * tx)
    ux, uy = x[2] + mu * (x[0] * tx + x[1] * ty), y[2] + mu * (y[0] * tx + y[1] * ty)
    across = z[2] + mu * (z[0] * tx + z[1] * ty)
    along = mu * (tx * ux + ty * uy) + across
    if kappa is not None:
        n = smooth_root(b[2], where_less(b[2], 0.0, larger(across, least), across), kappa)
        return mu * n * tx, mu * n * ty, n
    most = 0.0 - (b[2] + mu * (tx * b[0] + ty * b[1])) / along  # a larger impulse would add energy
    n = larger(smaller(0.0 - b[2] / larger(across, least), most), 0.0)
    return mu * n * tx, mu * n * ty, n


def natural_residual(scale: Scalar, mu: Scalar, sigma: Vector3, p: Vector3) -> Scalar:
    """Return how far a contact is from its law, in m/s: scale |p - P_K(p - (sigma + (0, 0, mu |sigma_T|)) / scale)|.

    P_K is the nearest point of the friction cone, and `scale` the mean of the diagonal of A.
    """
    k = 1.0 / scale
    speed = sqrt(sigma[0] * sigma[0] + sigma[1] * sigma[1] + _TINY)
    x, y, z = p[0] - k * sigma[0], p[1] - k * sigma[1], p[2] - k * (sigma[2] + mu * speed)
    radius = sqrt(x * x + y * y + _TINY)
    n = (z + mu * radius) * (1.0 / (1.0 + mu * mu))
    s = mu * n / radius

    def nearest(inside: Scalar, on_cone: Scalar) -> Scalar:
        found = where_less(mu * z, radius, on_cone, inside)
        return where_less(mu * radius, 0.0 - z, 0.0, found)

    e = p[0] - nearest(x, x * s), p[1] - nearest(y, y * s), p[2] - nearest(z, n)
    return scale * sqrt(larger(dot(e, e), _NOTHING))
