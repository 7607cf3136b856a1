"""Forces on a frame that lead it to a desired pose: by its acceleration, or by a spring and a damper.

The frame follows a pose with the rotation base exp(x), at the velocity x' and with the acceleration x''. With E the
rotation vector from the frame to this pose, the error obeys E'' + kd E' + kp E = 0 exactly; see `Space.feedback` of
`ordern.control.spaces`, which computes the same with NumPy. With a spring and a damper, the moment has the power of
kp E + kd E' along E'; see `Lines.wrench` there.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any

from ...graph import Scalar, atan2, sqrt, where_less
from ...joints import quaternion
from ...spatial.linear import Matrix3, Vector3, add, cross, dot, matmul, matvec, scale, subtract, transpose

__all__ = ["impedance_force", "task_force"]

_TERMS = 15
"""Enough for half a turn: the last term is pi^30 / 32!, against a result of order one."""
_SMALL = 0.02
"""For smaller squared angles, a series replaces a quotient of small numbers; its error is under 1e-17."""


def task_force(rows: range, given: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """Return the force (angular, linear) on the frame in the world's axes, and 1 if it is clear, else 0.

    `given` are the pose (16 numbers), the velocity and the acceleration without the force, both in the world's axes,
    J M^-1 J^T (36 numbers), x, x', x'', the base (9 numbers), kp, kd, and the largest inertia (one number). The force
    is not clear if the inertia in some direction may be larger.
    """
    pose, velocity, bent, soft, x, dx, ddx, base, kp, kd, [heaviest] = given
    wanted = _wanted(pose, velocity, (x, dx, ddx), base, kp, kd)
    matrix = [[soft[6 * i + j] for j in rows] for i in rows]
    force, clear = _solved(matrix, [wanted[k] - bent[k] for k in rows], heaviest)
    found = dict(zip(rows, force, strict=True))
    return [*(found.get(k, 0.0) for k in range(6)), clear]


def impedance_force(rows: range, given: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """Return the force of a spring kp and a damper kd on the frame, and the force of the goal's acceleration.

    Arguments and result are those of `task_force`.
    """
    pose, velocity, bent, soft, x, dx, ddx, base, kp, kd, [heaviest] = given
    axes, p, E, dE, _ = _turn(pose, velocity, (x, dx), base)
    pull = _three([kd[k] * dE[k] + kp[k] * E[k] for k in range(3)])
    moment = matvec(axes, _rate(p, scale(-1.0, E), pull))
    linear = [kd[k] * (dx[k] - velocity[k]) + kp[k] * (x[k] - pose[4 * (k - 3) + 3]) for k in range(3, 6)]
    wrench = [*moment, *linear]
    wanted = [*matvec(axes, _three(ddx)), *ddx[3:]]
    matrix = [[soft[6 * i + j] for j in rows] for i in rows]
    force, clear = _solved(matrix, [wanted[k] - bent[k] for k in rows], heaviest)
    found = dict(zip(rows, force, strict=True))
    return [*(found[k] + wrench[k] if k in found else 0.0 for k in range(6)), clear]


def _wanted(
    pose: Sequence[Scalar],
    velocity: Sequence[Scalar],
    goal: tuple[Sequence[Scalar], ...],
    base: Sequence[Scalar],
    kp: Sequence[Scalar],
    kd: Sequence[Scalar],
) -> list[Scalar]:
    """Return the acceleration of the frame, in the world's axes."""
    x, dx, ddx = goal
    axes, _, E, dE, here = _turn(pose, velocity, (x, dx), base)
    W = subtract(_three(dx), here)
    pull = _three([kd[k] * dE[k] + kp[k] * E[k] for k in range(3)])
    A = subtract(add(add(_three(ddx), cross(W, here)), _times_rates(E, pull)), _times_rates_derivative(E, dE))
    linear = [ddx[k] + kd[k] * (dx[k] - velocity[k]) + kp[k] * (x[k] - pose[4 * (k - 3) + 3]) for k in range(3, 6)]
    return [*matvec(axes, A), *linear]


def _turn(
    pose: Sequence[Scalar], velocity: Sequence[Scalar], goal: tuple[Sequence[Scalar], ...], base: Sequence[Scalar]
) -> tuple[Matrix3, quaternion.Quaternion, Vector3, Vector3, Vector3]:
    """Return the axes of the goal, E as quaternion and as vector, E', and the angular velocity in these axes."""
    x, dx = goal
    R = _rows(pose, 4)
    turned = matmul(_rows(base, 3), quaternion.matrix(quaternion.exponential(_three(x))))
    p = quaternion.of_matrix(matmul(transpose(R), turned))
    E = quaternion.logarithm(p)
    here = matvec(transpose(turned), _three(velocity))
    return turned, p, E, _rate(p, E, subtract(_three(dx), here)), here


def _rows(x: Sequence[Scalar], width: int) -> Matrix3:
    """Return the rotation in the first three columns of a matrix of this width."""
    a, b, c = (_three(x[width * k :]) for k in range(3))
    return (a, b, c)


def _three(x: Sequence[Scalar]) -> Vector3:
    return (x[0], x[1], x[2])


def _rate(p: quaternion.Quaternion, E: Vector3, W: Vector3) -> Vector3:
    """Return B(E)^-1 W, with B(E) = 1 - b S + c S^2 and S the matrix of the vector product by E."""
    t2, s2 = dot(E, E), dot(p[1:], p[1:])
    s = sqrt(where_less(t2, _SMALL, 1.0, s2))
    far = (1.0 - atan2(s, p[0]) * p[0] / s) / where_less(t2, _SMALL, 1.0, t2)
    series = 1.0 / 12.0 + t2 * (1.0 / 720.0 + t2 * (1.0 / 30240.0 + t2 * (1.0 / 1209600.0 + t2 / 47900160.0)))
    SW = cross(E, W)
    return add(add(W, scale(0.5, SW)), scale(where_less(t2, _SMALL, series, far), cross(E, SW)))


def _series(first: int, t2: Scalar) -> tuple[Scalar, Scalar]:
    """Return the sum of (-t2)^k / (2 k + first)!, and its derivative by t2."""
    total: Any = 0.0
    slope: Any = 0.0
    for k in reversed(range(_TERMS)):
        c = (-1.0) ** k / factorial(2 * k + first)
        total = c + t2 * total
        if k:
            slope = k * c + t2 * slope
    return total, slope


def _times_rates(E: Vector3, x: Vector3) -> Vector3:
    """Return B(E) x."""
    t2 = dot(E, E)
    b, c = _series(2, t2)[0], _series(3, t2)[0]
    Sx = cross(E, x)
    return add(subtract(x, scale(b, Sx)), scale(c, cross(E, Sx)))


def _times_rates_derivative(E: Vector3, dE: Vector3) -> Vector3:
    """Return B' dE, with B' the derivative of B along dE."""
    t2, dt2 = dot(E, E), 2.0 * dot(E, dE)
    db, (c, dc) = _series(2, t2)[1], _series(3, t2)
    turn = cross(E, dE)
    return add(
        subtract(scale(c, cross(dE, turn)), scale(db * dt2, turn)),
        scale(dc * dt2, cross(E, turn)),
    )


def _solved(matrix: list[list[Scalar]], x: list[Scalar], heaviest: Scalar) -> tuple[list[Scalar], Scalar]:
    """Return the solution by factors L D L^T, and whether all eigenvalues of the matrix are above 1 / heaviest.

    The sum of the inverse eigenvalues is the trace of the inverse, which bounds the largest of them.
    """
    n = len(matrix)
    inverse: list[list[Scalar]] = [[0.0] * n for _ in range(n)]  # of L
    lower: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    pivots: list[Scalar] = []
    clear: Any = 1.0
    for i in range(n):
        for j in range(i):
            rest = matrix[i][j]
            for k in range(j):
                rest = rest - lower[i][k] * pivots[k] * lower[j][k]
            lower[i][j] = rest / pivots[j]
        pivot = matrix[i][i]
        for k in range(i):
            pivot = pivot - lower[i][k] * lower[i][k] * pivots[k]
        clear = where_less(0.0, pivot, clear, 0.0)
        pivots.append(pivot)
        inverse[i][i] = 1.0
        for j in range(i):
            inverse[i][j] = -dot(lower[i][j:i], [inverse[k][j] for k in range(j, i)])
    trace: Any = 0.0
    for i in range(n):
        trace = trace + dot(inverse[i][: i + 1], inverse[i][: i + 1]) / pivots[i]
    y = [dot(inverse[i][: i + 1], x[: i + 1]) / pivots[i] for i in range(n)]
    found = [dot([inverse[k][i] for k in range(i, n)], y[i:]) for i in range(n)]
    return found, where_less(trace, heaviest, clear, 0.0)
