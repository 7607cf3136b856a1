"""Ground that is no plane: steps, and height fields over a grid.

Places are (x, y, z) along the two axes of the ground and its normal, heights above the height of the ground.

Steps rise along x: those at x_1 < x_2 < ... have treads of the heights t_1 < t_2 < ...; before the first it is zero. A
sphere has two contacts with them: with the tread below it, and with the edge or riser of the next step, of which the
nearest point is (max(x, x_k), min(z, t_k)). A step is below the sphere if its centre is past x_k and above the middle
of the riser: so a foot that is a rounding error inside of a riser is pushed back, not up.

A height field is linear in two triangles of each cell; beyond the grid it goes on with the heights of its border. A
sphere touches the plane of the triangle below its centre: exact for points and planes, and for spheres on ridges and in
valleys off by a part of the radius that is of second order in the change of slope.
"""

from __future__ import annotations

from ...graph import Scalar, sqrt, table_entry, where_less
from ...model.contacts import Ground
from ...spatial.linear import Vector3
from .cone import larger, smaller

__all__ = ["surface"]

_TINY = 1e-30


def surface(ground: Ground, place: Vector3, radius: float, part: int) -> tuple[Scalar, Vector3]:
    """Return the distance of a sphere, by its centre, from the ground, and the normal there.

    `part` is 0 for the surface below the sphere, and 1 for the edge of the next step.
    """
    if ground.steps:
        return _tread(ground, place, radius) if part == 0 else _edge(ground, place, radius)
    return _field(ground, place, radius)


def _passed(x: float, low: float, high: float, place: Vector3) -> Scalar:
    """Return 1 if a step is below a place, and 0 if it is before it."""
    return where_less(x, place[0], where_less(0.5 * (low + high), place[2], 1.0, 0.0), 0.0)


def _tread(ground: Ground, place: Vector3, radius: float) -> tuple[Scalar, Vector3]:
    height: Scalar = 0.0
    before = 0.0
    for x, t in ground.steps:
        height = height + (t - before) * _passed(x, before, t, place)
        before = t
    return place[2] - height - radius, (0.0, 0.0, 1.0)


def _edge(ground: Ground, place: Vector3, radius: float) -> tuple[Scalar, Vector3]:
    """Return the distance from the next step; behind the last one, a large distance."""
    passed, before = [], 0.0
    for x, t in ground.steps:
        passed.append(_passed(x, before, t, place))
        before = t
    edge_x: Scalar = ground.steps[-1][0]
    edge_t: Scalar = ground.steps[-1][1]
    for below, (x, t) in reversed(list(zip(passed, ground.steps, strict=True))):
        edge_x, edge_t = where_less(below, 0.5, x, edge_x), where_less(below, 0.5, t, edge_t)
    dx, dz = place[0] - larger(place[0], edge_x), place[2] - smaller(place[2], edge_t)
    inside = place[0] - edge_x  # past the riser and below the tread: out the way that it came
    square = dx * dx + dz * dz
    distance = sqrt(square + _TINY)
    outside = where_less(_TINY, square, 1.0, 0.0)
    nx, nz = where_less(0.5, outside, dx / distance, -1.0), where_less(0.5, outside, dz / distance, 0.0)
    gap = where_less(0.5, outside, distance, 0.0 - inside) - radius
    return where_less(0.5, passed[-1], 1e3, gap), (nx, 0.0, nz)


def _field(ground: Ground, place: Vector3, radius: float) -> tuple[Scalar, Vector3]:
    """Return the distance from the plane of the triangle below."""
    heights, (a, b) = ground.heights, ground.size
    rows, columns = len(heights), len(heights[0])
    dx, dy = a / (rows - 1), b / (columns - 1)
    table = tuple(h for row in heights for h in row)
    x, i = _cell(place[0] - ground.centre[0], a, dx, rows)
    y, j = _cell(place[1] - ground.centre[1], b, dy, columns)
    at = i * float(columns) + j + 0.25  # a quarter, against rounding
    h00, h01 = table_entry(table, at), table_entry(table, at + 1.0)
    h10, h11 = table_entry(table, at + float(columns)), table_entry(table, at + (columns + 1.0))
    first = where_less(y, x, 1.0, 0.0)  # the triangle along x, then y; or the other one
    sx = where_less(0.5, first, h10 - h00, h11 - h01)
    sy = where_less(0.5, first, h11 - h10, h01 - h00)
    u, v = larger(smaller(x, 1.0), 0.0), larger(smaller(y, 1.0), 0.0)
    height = h00 + sx * u + sy * v
    gx, gy = _within(x, sx * (1.0 / dx)), _within(y, sy * (1.0 / dy))
    k = 1.0 / sqrt(gx * gx + gy * gy + 1.0)
    return (place[2] - height) * k - radius, (0.0 - gx * k, 0.0 - gy * k, k)


def _within(x: Scalar, slope: Scalar) -> Scalar:
    """Return a slope, or zero beyond the grid."""
    return where_less(x, 0.0, 0.0, where_less(1.0, x, 0.0, slope))


def _cell(x: Scalar, length: float, step: float, count: int) -> tuple[Scalar, Scalar]:
    """Return the place in a cell, from 0 to 1, and the number of the cell; places beyond are below 0 or above 1."""
    at = (x + 0.5 * length) * (1.0 / step)
    cell = table_entry(tuple(map(float, range(count - 1))), at)
    return at - cell, cell
