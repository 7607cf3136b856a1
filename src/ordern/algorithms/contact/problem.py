"""The impulses of all contacts and stops of one step: block Gauss-Seidel, Newton's method on plates, the certificate.

    u = free + G f,    f = sum of B_i^T p_i,    sigma_i = B_i u + (0, 0, bias_i)

A row is a stop (one number), a contact (three) or a plate, a body with several points on the ground (six: see `plate`).
B_i is one for stops and contacts. G is that of the rows, which are six for a plate of any number of points.

A sweep solves for one point or stop after another, while the others stay. Plates with more than two points have fewer
rows than unknowns, and sweeps alone converge slowly on them: steps of Newton's method follow, plate after plate.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Scalar, where_less
from ...model import Index, Tree
from ...records import dataclass
from ...spatial import Force
from ...spatial.linear import Vector3, dot
from .cone import larger, natural_residual, smaller
from .plate import Plate, Point, block, swept

__all__ = ["Problem", "Row"]

_UNSOLVED = 1e-3
"""Steps with a larger residual, in m/s, may not add energy."""
_SWEEPS = 3
"""Sweeps before steps of Newton's method."""
_STEPS = 2
"""Steps of Newton's method after them."""


@dataclass(frozen=True, slots=True)
class Row:
    """The rows of one contact, of one plate, or of one stop."""

    free: tuple[Scalar, ...]
    """Velocities along the rows without impulses."""
    before: tuple[Scalar, ...]
    """Velocities along the rows at the start of the step."""
    points: tuple[Point, ...]
    loads: tuple[tuple[Index, tuple[Force, ...]], ...] = ()
    joint: int = -1
    """The body of the joint of a stop."""
    side: Scalar = 1.0
    """1 at the lower limit, -1 at the upper one."""

    def impulse(self, p: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Return the impulse along the rows, from those of all points."""
        if self.joint >= 0:
            return (p[self.points[0].at],)
        n, total = len(self.free), None
        for point in self.points:
            part = point.wrench(point.impulse(p))[:n]
            total = part if total is None else tuple(x + y for x, y in zip(total, part, strict=True))
        assert total is not None
        return total


@dataclass(frozen=True, slots=True)
class Problem:
    """Impulses p in cones, with the velocities u = G f + free along all rows."""

    G: tuple[tuple[Scalar, ...], ...]
    rows: Sequence[Row]

    def impulses(self, p: Sequence[Scalar]) -> list[Scalar]:
        """Return f, the impulses along all rows."""
        return [x for row in self.rows for x in row.impulse(p)]

    def velocity(self, row: Row, at: int, f: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Return u of a row whose first number is `at`."""
        return tuple(start + dot(self.G[at + k], f) for k, start in enumerate(row.free))

    def own(self, row: Row, at: int) -> tuple[tuple[Scalar, ...], ...]:
        """Return the block of a row on the diagonal of G."""
        n = len(row.free)
        return tuple(tuple(self.G[at + k][at : at + n]) for k in range(n))

    @property
    def plates(self) -> list[tuple[int, Row]]:
        """The rows with more points than their six numbers can tell apart, and their places."""
        places = [0]
        for row in self.rows:
            places.append(places[-1] + len(row.free))
        return [(at, row) for at, row in zip(places, self.rows, strict=False) if len(row.points) > 2]

    def solved(self, tree: Tree, p: Sequence[Scalar], sweeps: int) -> list[Scalar]:
        """Return the impulses after so many sweeps; with plates, `polished` follows each third, and the last is one."""
        if not self.plates:
            return list(tree.repeat(sweeps, self.sweep, p))

        def several(p: Sequence[Scalar]) -> list[Scalar]:
            return self.polished(tree.repeat(_SWEEPS, self.sweep, p))

        return list(tree.repeat(-(-sweeps // _SWEEPS), several, p))

    def polished(self, p: Sequence[Scalar]) -> list[Scalar]:
        """Take steps of Newton's method on all plates, in turn; keep the old impulses if they have less error."""
        f, plates = self.impulses(p), []
        for at, row in self.plates:
            centres = [point.impulse(p) for point in row.points]
            plates.append((at, row, Plate.of(self.own(row, at), row.points, centres)))
        old = [plate.centres for _, _, plate in plates]
        before, new = self._error(plates, f, old), list(old)
        for _ in range(_STEPS):
            for k, (at, row, plate) in enumerate(plates):
                new[k] = plate.stepped(self.velocity(row, at, f), new[k])
                f[at : at + 6] = plate.total(new[k])
        for k, (at, _, plate) in enumerate(plates):
            new[k] = plate.projected(new[k])
            f[at : at + 6] = plate.total(new[k])
        after, found = self._error(plates, f, new), list(p)
        for (_, row, _), xs, ys in zip(plates, old, new, strict=True):
            for point, x, y in zip(row.points, xs, ys, strict=True):
                found[point.at : point.at + 3] = [where_less(after, before, b, a) for a, b in zip(x, y, strict=True)]
        return found

    def _error(
        self, plates: Sequence[tuple[int, Row, Plate]], f: Sequence[Scalar], p: Sequence[Sequence[Vector3]]
    ) -> Scalar:
        """Return the error of the impulses p of all plates."""
        total: Scalar = 0.0
        for (at, row, plate), x in zip(plates, p, strict=True):
            total = total + plate.error(self.velocity(row, at, f), x)
        return total

    def sweep(self, p: Sequence[Scalar]) -> list[Scalar]:
        """Solve for the impulses of each row in turn, while the others stay."""
        found, f, at = list(p), self.impulses(p), 0
        for row in self.rows:
            n, u, first = len(row.free), self.velocity(row, at, f), row.points[0]
            if row.joint >= 0:
                found[first.at] = larger(found[first.at] - (u[0] + first.bias) / self.G[at][at], 0.0)
            else:
                parts = swept(self.own(row, at), row.points, u, [point.impulse(found) for point in row.points])
                for point, part in zip(row.points, parts, strict=True):
                    found[point.at : point.at + 3] = part
            f[at : at + n] = row.impulse(found)
            at += n
        return found

    def certified(self, p: Sequence[Scalar]) -> tuple[list[Scalar], tuple[Scalar, Scalar, Scalar]]:
        """Return impulses, and their certificate: the largest residual, the largest penetration, and the work.

        Impulses that are not solved for are made smaller where they would add energy.
        """
        residual: Scalar = 0.0
        depth: Scalar = 0.0
        linear: Scalar = 0.0
        square: Scalar = 0.0
        pushing: Scalar = 0.0
        f, at = self.impulses(p), 0
        for row in self.rows:
            n, u = len(row.free), self.velocity(row, at, f)
            mine = f[at : at + n]
            linear = linear + dot(mine, [x + y for x, y in zip(row.free, row.before, strict=True)])
            square = square + dot(mine, [x - y for x, y in zip(u, row.free, strict=True)])
            for point in row.points:
                residual = larger(residual, self._residual(row, at, point, u, p))
                normal = mine[0] if row.joint >= 0 else point.impulse(p)[2]
                pushing = pushing + normal * larger(0.0 - point.bias, 0.0)
                if row.joint < 0:
                    depth = larger(depth, 0.0 - point.gap)
            at += n
        most = (2.0 * pushing - linear) / larger(square, 1e-30)
        part = where_less(_UNSOLVED, residual, larger(smaller(most, 1.0), 0.0), 1.0)
        work = 0.5 * part * (linear + part * square)
        return [part * x for x in p], (residual, depth, work)

    def _residual(self, row: Row, at: int, point: Point, u: Sequence[Scalar], p: Sequence[Scalar]) -> Scalar:
        """Return how far a point or a stop is from its law."""
        if row.joint >= 0:
            scale, here = self.G[at][at], p[point.at]
            off = here - larger(here - (u[0] + point.bias) / scale, 0.0)
            return scale * larger(off, 0.0 - off)
        scale = mean_of_diagonal(block(self.own(row, at), point))
        return natural_residual(scale, point.mu, point.velocity(u), point.impulse(p))


def mean_of_diagonal(A: tuple[Vector3, Vector3, Vector3]) -> Scalar:
    """Return a third of the trace."""
    return (A[0][0] + A[1][1] + A[2][2]) * (1.0 / 3.0)
