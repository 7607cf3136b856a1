"""Where a box meets a box or a capsule: a normal, points on a common plane, and the true overlap.

**Two boxes** are apart by the largest of 15 separations, along the three face normals of each and along the products of
their edges; if it is negative, they overlap by that much. (They are polytopes, so no other direction has less overlap.)

    face      The box with the better face is the reference. The edges of the face of the other box that looks at it,
              the incident one, are clipped by the reference rectangle (Liang and Barsky): two points each. So are the
              corners of the rectangle that lie inside the incident face: eight and four points.
    edges     Where the product of two edges is better than all faces: the nearest points of these edges.

**A capsule** is its segment and its radius. Segment and box are apart by the smallest distance along the segment, whose
slope is piecewise linear, so that its root is exact; where they overlap, the separations along face normals and the
products of the segment with edges count. Points are the ends of the part of the segment above the feature of the box
that is nearest: of a bar across a beam there are two, of one across an edge there is one.

A face is preferred to edges, and the first box to the second, unless the other is better by a ten thousandth of the
smallest side: bodies at rest would change between them by rounding. Points that are not used have the gap `FAR`.

Reference: S. Gottschalk, M. C. Lin and D. Manocha, OBBTree, 1996, for the separations; C. Ericson, Real-time collision
detection, 2005, sec. 4.4 and 5.5.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Scalar, sqrt, where_less
from ...records import dataclass
from ...spatial import Pose
from ...spatial.linear import Matrix3, Vector3, add, cross, dot, matmul, matvec, scale, subtract, transpose
from .cone import larger, least, smaller

__all__ = ["FAR", "Axes", "Manifold", "boxes", "capsule_and_box", "completed"]

FAR = 1e3
"""The gap of points that are not used, in m."""
_TIE = 1e-4
"""Differences of lengths below this part of the smallest side are none."""
_SAME_FACE = 1e-3
"""Differences of cosines below this are none, in the choice of the incident face."""
_PARALLEL = 1e-6
"""Edges are parallel where the square of the sine between them is less."""
_TINY = 1e-30

Axes = tuple[Vector3, Vector3, Vector3]
Interval = tuple[Scalar, Scalar]


@dataclass(frozen=True, slots=True)
class Manifold:
    """The points at which two solids meet, in the world."""

    axes: Axes
    """Two directions along the plane, and the normal from the second solid to the first."""
    origin: Vector3
    """A point halfway between the surfaces, where they are closest, from which `levers` count."""
    levers: tuple[tuple[Scalar, Scalar], ...]
    """Of each point, where it is along the plane."""
    gaps: tuple[Scalar, ...]
    points: tuple[Vector3, ...]
    overlap: Scalar
    """How far the solids must move to be apart; negative if they are."""


def completed(n: Vector3) -> Axes:
    """Return two directions across n, and n."""
    steep = n[0] * n[0]
    x, y = where_less(steep, 0.5, 1.0, 0.0), where_less(steep, 0.5, 0.0, 1.0)
    t = cross((x, y, 0.0), n)
    t = scale(1.0 / sqrt(dot(t, t)), t)
    return t, cross(n, t), n


# two boxes ---------------------------------------------------------------------------------------------------------


def boxes(A: Pose, a: Sequence[float], B: Pose, b: Sequence[float]) -> Manifold:
    """Return where two boxes with these sides meet: twelve points."""
    a, b = [0.5 * x for x in a], [0.5 * x for x in b]
    tie = 2.0 * _TIE * min(*a, *b)
    back = transpose(A.rotation)
    C = matmul(back, B.rotation)
    D = transpose(C)
    d = matvec(back, subtract(B.position, A.position))
    e = matvec(D, d)
    sizes: Matrix3 = tuple(_sizes(row) for row in C)  # type: ignore[assignment]
    of_a = [x - (h + dot(b, row)) for x, h, row in zip(_sizes(d), a, sizes, strict=True)]
    of_b = [x - (h + dot(a, row)) for x, h, row in zip(_sizes(e), b, transpose(sizes), strict=True)]
    best_a, best_b = (larger(larger(s[0], s[1]), s[2]) for s in (of_a, of_b))
    of_edges, i, j = _best_edges(C, sizes, d, a, b)
    face = larger(best_a, best_b)

    second = where_less(best_a + tie, best_b, 1.0, 0.0)  # the reference is B

    def of_reference(of_a: Sequence[Scalar], of_b: Sequence[Scalar]) -> Vector3:
        x, y, z = (where_less(0.5, second, y, x) for x, y in zip(of_a, of_b, strict=True))
        return x, y, z

    axes = [of_reference(x, y) for x, y in zip(transpose(A.rotation), transpose(B.rotation), strict=True)]
    R = _Faces.of(
        of_reference(of_a, of_b), tie, of_reference(d, scale(-1.0, e)), of_reference(a, b), of_reference(b, a),
        axes, [of_reference(x, y) for x, y in zip(C, D, strict=True)],
    )  # fmt: skip
    found = R.points(tie)
    toward = where_less(0.5, second, R.side, 0.0 - R.side)  # along the normal, from B to A, on the reference axis
    centre = of_reference(A.position, B.position)
    n, ex = scale(toward, R.axes[0]), R.axes[1]
    levers = [(y[1], toward * y[2]) for y, _ in found]
    gaps = [gap for _, gap in found]
    lowest = least(gaps)

    def in_world(y: Sequence[Scalar]) -> Vector3:
        return add(add(add(centre, scale(y[0], R.axes[0])), scale(y[1], R.axes[1])), scale(y[2], R.axes[2]))

    points = [in_world((y[0] - 0.5 * R.side * _near(gap), y[1], y[2])) for y, gap in found]
    origin = in_world((R.side * (R.half[0] + 0.5 * _near(lowest)), 0.0, 0.0))

    m, along, x, within = _crossing(C, d, a, b, (i, j), of_edges, tie)
    better = where_less(face + tie, of_edges, 1.0, where_less(face, of_edges, where_less(lowest, FAR, 0.0, 1.0), 0.0))
    m, along = matvec(A.rotation, m), matvec(A.rotation, along)
    x = add(A.position, matvec(A.rotation, x))

    def chosen(edges: Vector3, faces: Vector3) -> Vector3:
        p, q, r = (where_less(0.5, better, y, z) for y, z in zip(edges, faces, strict=True))
        return p, q, r

    n, ex, origin = chosen(m, n), chosen(along, ex), chosen(x, origin)
    gaps = [where_less(0.5, better, FAR, gap) for gap in gaps]
    gaps[0] = where_less(0.5, smaller(better, within), of_edges, gaps[0])
    points[0] = chosen(x, points[0])
    levers[0] = where_less(0.5, better, 0.0, levers[0][0]), where_less(0.5, better, 0.0, levers[0][1])
    overlap = 0.0 - larger(face, of_edges)
    return Manifold((ex, cross(n, ex), n), origin, tuple(levers), tuple(gaps), tuple(points), overlap)


@dataclass(frozen=True, slots=True)
class _Faces:
    """The reference face and the incident one, in axes of the reference box: the first is normal to its face."""

    side: Scalar
    """1 if the other box is ahead along the first axis, else -1."""
    half: Vector3
    axes: Sequence[Vector3]
    """The axes of the reference box in the world."""
    middle: Vector3
    """The middle of the incident face."""
    first: Vector3
    """Half of the incident face along its first edge, and along its second."""
    second: Vector3

    @classmethod
    def of(
        cls, separations: Sequence[Scalar], tie: float, d: Vector3, half: Vector3, other: Vector3,
        axes: Sequence[Vector3], C: Sequence[Vector3],
    ) -> _Faces:  # fmt: skip
        """Choose the faces, from the middle d and the axes of the other box, columns of C, in axes of the reference."""
        turn = _first_of(separations, tie)
        d, half, axes, C = turn(d), turn(half), _turned_rows(turn, axes), _turned_rows(turn, C)
        side = where_less(d[0], 0.0, -1.0, 1.0)
        turn = _first_of(_sizes(C[0]), _SAME_FACE)
        other, (m, first, second) = turn(other), transpose(tuple(turn(row) for row in C))  # type: ignore[arg-type]
        k = where_less(side * m[0], 0.0, other[0], 0.0 - other[0])
        return cls(side, half, axes, add(d, scale(k, m)), scale(other[1], first), scale(other[2], second))

    def points(self, tie: float) -> list[tuple[Vector3, Scalar]]:
        """Return twelve points and their gaps, FAR for those that are not used."""
        found = []
        for along, across, forward in ((self.first, self.second, -1.0), (self.second, self.first, 1.0)):
            slabs = [_Slab.of(along[k], self.half[k] + tie, tie) for k in (1, 2)]
            for sign in (1.0, -1.0):  # the edges go around the face: each corner begins one, and ends another
                at = add(self.middle, scale(sign, across))
                (low, high), (also_low, also_high) = (s.part(at[k]) for s, k in zip(slabs, (1, 2), strict=True))
                low, high = larger(larger(low, also_low), -1.0), smaller(smaller(high, also_high), 1.0)
                used = where_less(low, high, 1.0, 0.0)
                begin, end = (high, low) if forward * sign < 0.0 else (low, high)
                inner = where_less(end, 1.0 - _TIE, where_less(_TIE - 1.0, end, used, 0.0), 0.0)
                for t, flag in ((begin, used), (end, inner)):
                    t = larger(smaller(t, 1.0), -1.0)
                    found.append(self._used(add(at, scale(t, along)), flag))
        return found + self._corners(tie)

    def _corners(self, tie: float) -> list[tuple[Vector3, Scalar]]:
        """Return the corners of the reference rectangle, on the incident face above them."""
        (f, p, q), (_, hx, hy) = (self.middle, self.first, self.second), self.half
        k = 1.0 / (p[1] * q[2] - p[2] * q[1])
        found = []
        for sx, sy in ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)):
            x, y = sx * hx - f[1], sy * hy - f[2]
            s, t = k * (q[2] * x - q[1] * y), k * (p[1] * y - p[2] * x)
            most = larger(larger(s, 0.0 - s), larger(t, 0.0 - t))
            at: Vector3 = (f[0] + s * p[0] + t * q[0], sx * hx, sy * hy)
            found.append(self._used(at, where_less(most, 1.0 - _TIE, 1.0, 0.0)))
        return found

    def _used(self, at: Vector3, flag: Scalar) -> tuple[Vector3, Scalar]:
        return at, where_less(0.5, flag, self.side * at[0] - self.half[0], FAR)


@dataclass(frozen=True, slots=True)
class _Slab:
    """Places along a line at which one coordinate, x + t along, is within a width on both sides of zero."""

    rate: Scalar
    reach: Scalar

    @classmethod
    def of(cls, along: Scalar, width: Scalar, tie: float) -> _Slab:
        least = 1e-6 * tie
        size = larger(where_less(along, 0.0, 0.0 - along, along), least)
        rate = 1.0 / size
        return cls(where_less(along, 0.0, 0.0 - rate, rate), width * rate)

    def part(self, x: Scalar) -> Interval:
        middle = 0.0 - x * self.rate
        return middle - self.reach, middle + self.reach


def _best_edges(
    C: Matrix3, sizes: Matrix3, d: Vector3, a: Sequence[float], b: Sequence[float]
) -> tuple[Scalar, Scalar, Scalar]:
    """Return the largest separation along products of edges, and the numbers of the edges; none if all are parallel."""
    best: tuple[Scalar, Scalar, Scalar] = (-FAR, 0.0, 0.0)
    for i in range(3):
        k, m = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            u, w = (j + 1) % 3, (j + 2) % 3
            square = C[k][j] * C[k][j] + C[m][j] * C[m][j]
            apart = d[m] * C[k][j] - d[k] * C[m][j]
            reach = a[k] * sizes[m][j] + a[m] * sizes[k][j] + b[u] * sizes[i][w] + b[w] * sizes[i][u]
            s = (_size(apart) - reach) / sqrt(larger(square, _PARALLEL))
            s = where_less(square, _PARALLEL, -FAR, s)
            better = where_less(best[0], s, 1.0, 0.0)
            edges = where_less(0.5, better, float(i), best[1]), where_less(0.5, better, float(j), best[2])
            best = larger(s, best[0]), *edges
    return best


def _crossing(
    C: Matrix3, d: Vector3, a: Sequence[float], b: Sequence[float], which: tuple[Scalar, Scalar], apart: Scalar,
    tie: float,
) -> tuple[Vector3, Vector3, Vector3, Scalar]:  # fmt: skip
    """Return, in axes of A, the normal of two edges, that of A, the point between them, and 1 if both reach it."""
    u, j = (_unit(k) for k in which)
    w = matvec(C, j)
    n = cross(u, w)
    square = larger(dot(n, n), _PARALLEL)
    turn = where_less(dot(n, d), 0.0, 1.0, -1.0) / sqrt(square)
    n = scale(turn, n)
    corner_a = tuple((1.0 - k) * where_less(x, 0.0, h, -h) for k, x, h in zip(u, n, a, strict=True))
    ahead = matvec(transpose(C), n)
    corner_b = tuple((1.0 - k) * where_less(x, 0.0, -h, h) for k, x, h in zip(j, ahead, b, strict=True))
    at: Vector3 = (corner_a[0], corner_a[1], corner_a[2])
    r = subtract(add(d, matvec(C, (corner_b[0], corner_b[1], corner_b[2]))), at)
    c, along_a, along_b = dot(u, w), dot(r, u), dot(r, w)
    s, t = (along_a - c * along_b) / square, (c * along_a - along_b) / square
    within = where_less(_size(s), dot(u, a) + tie, where_less(_size(t), dot(j, b) + tie, 1.0, 0.0), 0.0)
    limit = max(a) + tie
    s = larger(smaller(s, limit), -limit)
    return n, u, add(add(at, scale(s, u)), scale(-0.5 * apart, n)), within


# a capsule and a box -----------------------------------------------------------------------------------------------


def capsule_and_box(A: Pose, capsule: Sequence[float], B: Pose, sides: Sequence[float]) -> Manifold:
    """Return where a capsule (radius, length) and a box with these sides meet: two points."""
    radius, half, h = capsule[0], 0.5 * capsule[1], [0.5 * x for x in sides]
    tie = 2.0 * _TIE * min(h)
    back = transpose(B.rotation)
    y = matvec(back, subtract(A.position, B.position))
    u = matvec(back, transpose(A.rotation)[2])
    t = _nearest(y, u, half, h, tie)
    out = _outside(y, u, t, h)
    square = dot(out, out)
    inside = where_less(square, tie * tie, 1.0, 0.0)
    distance = sqrt(larger(square, tie * tie))
    within, deep = _least_overlap(y, u, half, h, tie)
    nx, ny, nz = (where_less(0.5, inside, x, o / distance) for x, o in zip(deep, out, strict=True))
    n: Vector3 = (nx, ny, nz)
    apart = where_less(0.5, inside, within, distance)

    reach = dot(h, _sizes(n))
    above, rate = dot(n, y) - reach, dot(n, u)  # how far points of the segment are above the plane of the feature
    low: Scalar = -half
    high: Scalar = half
    for k in range(3):
        part = _Slab.of(u[k] - rate * n[k], h[k] + tie, tie).part(y[k] - above * n[k])
        low, high = larger(low, part[0]), smaller(high, part[1])
    short = where_less(high - low, 10.0 * tie, 1.0, 0.0)
    one = where_less(0.5, inside, larger(smaller(0.5 * (low + high), half), -half), t)
    ends = where_less(0.5, short, one, low), where_less(0.5, short, one, high)
    gaps, points = [], []
    for end in ends:
        e = _outside(y, u, end, h)
        height = above + end * rate
        gap = where_less(0.5, inside, height, sqrt(larger(dot(e, e), tie * tie))) - radius
        gaps.append(gap)
        here = add(y, scale(end, u))
        points.append(subtract(here, scale(radius + 0.5 * gap, n)))
    gaps[1] = where_less(0.5, short, FAR, gaps[1])
    lowest = smaller(gaps[0], gaps[1])
    axes = completed(matvec(B.rotation, n))
    placed = [add(B.position, matvec(B.rotation, x)) for x in points]
    arm = matvec(B.rotation, subtract(points[1], points[0]))
    origin = add(placed[0], scale(0.5 * (lowest - gaps[0]), axes[2]))
    levers = (0.0, 0.0), (dot(arm, axes[0]), dot(arm, axes[1]))
    return Manifold(axes, origin, levers, tuple(gaps), tuple(placed), radius - apart)


def _outside(y: Vector3, u: Vector3, t: Scalar, h: Sequence[float]) -> Vector3:
    """Return the way from the box to a point of a line; zero inside."""
    p, q, r = (x + t * w for x, w in zip(y, u, strict=True))
    return p - _within(p, h[0]), q - _within(q, h[1]), r - _within(r, h[2])


def _nearest(y: Vector3, u: Vector3, half: float, h: Sequence[float], tie: float) -> Scalar:
    """Return the place on a segment that is nearest to a box: the root of the slope of the distance."""
    low: Scalar = -half
    high: Scalar = half
    at_low, at_high = (dot(u, _outside(y, u, t, h)) for t in (-half, half))
    for k in range(3):
        for t in _Slab.of(u[k], h[k], tie).part(y[k]):
            t = larger(smaller(t, half), -half)
            slope = dot(u, _outside(y, u, t, h))
            later = where_less(low, t, where_less(0.0, slope, 0.0, 1.0), 0.0)
            sooner = where_less(t, high, where_less(slope, 0.0, 0.0, 1.0), 0.0)
            low, at_low = where_less(0.5, later, t, low), where_less(0.5, later, slope, at_low)
            high, at_high = where_less(0.5, sooner, t, high), where_less(0.5, sooner, slope, at_high)
    rise = at_high - at_low
    least = 1e-12 * tie
    part = where_less(least, rise, 0.0 - at_low / larger(rise, least), 0.5)
    return low + larger(smaller(part, 1.0), 0.0) * (high - low)


def _least_overlap(y: Vector3, u: Vector3, half: float, h: Sequence[float], tie: float) -> tuple[Scalar, Vector3]:
    """Return the largest separation of a segment and a box, and its direction."""
    found: list[tuple[Scalar, Vector3]] = []
    for k in range(3):
        side = where_less(y[k], 0.0, -1.0, 1.0)
        n: Vector3 = (side if k == 0 else 0.0, side if k == 1 else 0.0, side if k == 2 else 0.0)
        found.append((_size(y[k]) - (half * _size(u[k]) + h[k]), n))
    for L in ((0.0, 0.0 - u[2], u[1]), (u[2], 0.0, 0.0 - u[0]), (0.0 - u[1], u[0], 0.0)):
        square, apart = dot(L, L), dot(L, y)
        k = 1.0 / sqrt(larger(square, _PARALLEL))
        s = where_less(square, _PARALLEL, -FAR, k * (_size(apart) - dot(h, _sizes(L))))
        found.append((s, scale(where_less(apart, 0.0, 0.0 - k, k), L)))
    best, n = found[0]
    compared = best
    for s, e in found[1:]:
        better = where_less(compared + tie, s, 1.0, 0.0)
        n = (
            where_less(0.5, better, e[0], n[0]),
            where_less(0.5, better, e[1], n[1]),
            where_less(0.5, better, e[2], n[2]),
        )
        compared = where_less(0.5, better, s, compared)
        best = larger(best, s)
    return best, n


# helpers -----------------------------------------------------------------------------------------------------------


def _size(x: Scalar) -> Scalar:
    return where_less(x, 0.0, 0.0 - x, x)


def _sizes(x: Sequence[Scalar]) -> Vector3:
    return _size(x[0]), _size(x[1]), _size(x[2])


def _within(x: Scalar, most: float) -> Scalar:
    return larger(smaller(x, most), -most)


def _near(gap: Scalar) -> Scalar:
    """Return a gap, and zero for that of a point that is not used."""
    return where_less(gap, FAR, gap, 0.0)


def _unit(k: Scalar) -> Vector3:
    """Return the unit vector along axis 0, 1 or 2."""
    x, z = where_less(k, 0.5, 1.0, 0.0), where_less(1.5, k, 1.0, 0.0)
    return x, 1.0 - x - z, z


class _Turn:
    """A cyclic permutation of three numbers."""

    def __init__(self, one: Scalar, two: Scalar) -> None:
        self._one, self._two = one, two

    def __call__(self, x: Sequence[Scalar]) -> Vector3:
        p, q, r = (
            where_less(0.5, self._two, x[(k + 2) % 3], where_less(0.5, self._one, x[(k + 1) % 3], x[k]))
            for k in range(3)
        )
        return p, q, r


def _first_of(x: Sequence[Scalar], tie: float) -> _Turn:
    """Return the permutation that puts the largest of three numbers first; of equal ones, the earliest."""
    one = where_less(x[0] + tie, x[1], 1.0, 0.0)
    two = where_less(where_less(0.5, one, x[1], x[0]) + tie, x[2], 1.0, 0.0)
    return _Turn(one, two)


def _turned_rows(turn: _Turn, rows: Sequence[Vector3]) -> list[Vector3]:
    """Permute rows."""
    columns = [turn([row[k] for row in rows]) for k in range(3)]
    return [(columns[0][k], columns[1][k], columns[2][k]) for k in range(3)]
