"""The impulses of all contacts and stops of one step: sweeps of block Gauss-Seidel, and the certificate.

    u = free + G f,    f = sum of B_i^T p_i,    sigma_i = B_i u + (0, 0, bias_i)

A row is a stop (one number), a contact (three) or a plate, a body with several points on the ground (six: see `plate`).
B_i is one for stops and contacts. G is that of the rows, so that it has full rank also where points are many.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Scalar
from ...model import Index
from ...records import dataclass
from ...spatial import Force
from ...spatial.linear import Vector3, dot
from .cone import inverse, larger, natural_residual, regular, solved
from .plate import Point, block, solved_plate

__all__ = ["Problem", "Row"]


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

    def repeats(self, sweeps: int) -> int:
        """Return how often to sweep: a sweep that solves a plate as one is worth about three."""
        return -(-sweeps * 2 // 5) if any(len(row.points) > 2 for row in self.rows) else sweeps

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

    def sweep(self, p: Sequence[Scalar]) -> list[Scalar]:
        """Solve for the impulses of each row in turn, while the others stay."""
        found, f, at = list(p), self.impulses(p), 0
        for row in self.rows:
            n, u, first = len(row.free), self.velocity(row, at, f), row.points[0]
            if row.joint >= 0:
                found[first.at] = larger(found[first.at] - (u[0] + first.bias) / self.G[at][at], 0.0)
            elif n == 3:
                A = regular(block(self.own(row, at), first))
                found[first.at : first.at + 3] = solved(
                    A, inverse(A), first.mu, first.velocity(u), first.impulse(found)
                )
            else:
                parts = solved_plate(self.own(row, at), row.points, u, [point.impulse(found) for point in row.points])
                for point, part in zip(row.points, parts, strict=True):
                    found[point.at : point.at + 3] = part
            f[at : at + n] = row.impulse(found)
            at += n
        return found

    def certificate(self, p: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        """Return the largest residual, the largest penetration, and the work of the impulses."""
        residual: Scalar = 0.0
        depth: Scalar = 0.0
        work: Scalar = 0.0
        f, at = self.impulses(p), 0
        for row in self.rows:
            n, u = len(row.free), self.velocity(row, at, f)
            mean = [0.5 * (x + y) for x, y in zip(row.before, u, strict=True)]
            work = work + dot(f[at : at + n], mean)
            for point in row.points:
                if row.joint >= 0:
                    scale = self.G[at][at]
                    off = f[at] - larger(f[at] - (u[0] + point.bias) / scale, 0.0)
                    found = scale * larger(off, 0.0 - off)
                else:
                    scale = mean_of_diagonal(block(self.own(row, at), point))
                    found = natural_residual(scale, point.mu, point.velocity(u), point.impulse(p))
                    depth = larger(depth, 0.0 - point.gap)
                residual = larger(residual, found)
            at += n
        return residual, depth, work


def mean_of_diagonal(A: tuple[Vector3, Vector3, Vector3]) -> Scalar:
    """Return a third of the trace."""
    return (A[0][0] + A[1][1] + A[2][2]) * (1.0 / 3.0)
