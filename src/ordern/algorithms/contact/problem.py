"""The impulses of all contacts and stops of one step: block Gauss-Seidel, Newton's method on plates, the certificate.

    u = free + G f,    f = sum of B_i^T p_i,    sigma_i = B_i u + (0, 0, bias_i)

A row is a stop (one number), a contact (three) or a plate, a body with several points on the ground (six: see `plate`).
A contact with torsional or rolling friction has six, too, and moments after the impulses of all contacts (`moments`).
B_i is one for stops and contacts. G is that of the rows, which are six for a plate of any number of points.

A sweep solves for one point or stop after another, while the others stay. Plates with more than two points have fewer
rows than unknowns, and sweeps alone converge slowly on them: steps of Newton's method follow, plate after plate. Plates
with two points have as many, but those of a foot that is light and turns freely about its ankle tip each other. There
sweeps take long, too, and `few` is 1.

With `smooth`, a speed s, normals satisfy p_N sigma_N = s^2 / G_NN, with both positive, in the place of p_N sigma_N = 0:
contacts push at a distance, and gradients know of them before they touch.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Scalar, sqrt, where_less
from ...model import Index, Tree
from ...records import dataclass
from ...spatial import Force
from ...spatial.linear import Vector3, dot
from .cone import direction, inverse, larger, natural_residual, regular, smaller, smooth_root, smoothly_solved, solved
from .moments import moment_residual, projected_moments, solved_with_moments
from .plate import Numbers, Plate, Point, Rows, block, projected, responses

__all__ = ["Problem", "Row"]

_UNSOLVED = 1e-3
"""Steps with a larger residual, in m/s, may not add energy."""
_NO_ERROR = 1e-12
"""A plate with a smaller error, in m/s, has no error."""
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
            if point.moment >= 0:
                part = (*part[:3], *(x + y for x, y in zip(part[3:], point.moments(p), strict=True)))
            total = part if total is None else tuple(x + y for x, y in zip(total, part, strict=True))
        assert total is not None
        return total

    def plus_moments(self, f: Sequence[Scalar], p: Sequence[Scalar]) -> list[Scalar]:
        """Return the impulse on a plate with the moments of its points, from one without."""
        found = list(f)
        for point in self.points:
            if point.moment >= 0:
                found[3:] = [x + y for x, y in zip(found[3:], point.moments(p), strict=True)]
        return found


@dataclass(frozen=True, slots=True)
class Problem:
    """Impulses p in cones, with the velocities u = G f + free along all rows."""

    G: tuple[tuple[Scalar, ...], ...]
    rows: Sequence[Row]
    smooth: float = 0.0
    """The speed s of the smoothed law, p_N sigma_N = s^2 / G_NN; zero for the rigid one."""
    settled: float = 0.0
    """Sweeps may end where they change the velocities of contacts by less, in m/s; zero for all sweeps."""
    few: int = 2
    """Plates with more points than this have steps of Newton's method."""

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
        """The rows that have steps of Newton's method, and their places."""
        places = [0]
        for row in self.rows:
            places.append(places[-1] + len(row.free))
        if self.smooth:  # normals are unique, so that sweeps suffice
            return []
        return [(at, row) for at, row in zip(places, self.rows, strict=False) if len(row.points) > self.few]

    def solved(self, tree: Tree, p: Sequence[Scalar], sweeps: int) -> list[Scalar]:
        """Return the impulses after so many sweeps, or when they settle.

        With plates, sweeps end at the first error of a plate. Then `polished` follows each third sweep.
        """
        settled = self._change if self.settled else None
        if not self.plates:
            return list(tree.repeat(sweeps, self.sweep, p, settled))

        def swept(x: Sequence[Scalar]) -> list[Scalar]:
            *old, _, ended = x
            new = self.sweep(old)
            error = where_less(1.0, self._error_of_plates(new), 1.0, 0.0)
            after = [*new, self._change(old, new), error]
            return [where_less(0.5, ended, a, b) for a, b in zip(x, after, strict=True)]

        def several(p: Sequence[Scalar]) -> list[Scalar]:
            return self.polished(tree.repeat(_SWEEPS, self.sweep, p))

        def ends(_: Sequence[Scalar], new: Sequence[Scalar]) -> Scalar:
            return where_less(0.5, new[-1], 0.0, new[-2])

        *p, change, _ = tree.repeat(sweeps, swept, [*p, 1.0, 0.0], ends if self.settled else None)
        return list(tree.repeat(-(-sweeps // _SWEEPS), several, p, settled, change))

    def _change(self, old: Sequence[Scalar], new: Sequence[Scalar]) -> Scalar:
        """Return the change of impulses as velocities, squared, relative to one that does not matter.

        Impulses of a plate may change for ever while its motion does not: it has settled when it has no error.
        """
        change, at, plates = self._error_of_plates(new), 0, {at for at, _ in self.plates}
        rate = 1.0 / (self.settled or 1.0) ** 2
        for row in self.rows:
            stop, own = row.joint >= 0, self.own(row, at)
            if at not in plates:
                scale = own[0][0] if stop else mean_of_diagonal(own)
                places = [point.at + k for point in row.points for k in range(1 if stop else 3)]
                moved = [new[k] - old[k] for k in places]
                change = change + scale * scale * dot(moved, moved) * rate
            for point in row.points:
                if point.moment >= 0:
                    turns = (own[3][3] + own[4][4] + own[5][5]) * (1.0 / 3.0)
                    spun = [new[point.moment + k] - old[point.moment + k] for k in range(3)]
                    change = change + turns * turns * dot(spun, spun) * rate
            at += len(row.free)
        return change

    def _error_of_plates(self, p: Sequence[Scalar]) -> Scalar:
        """Return the error of all plates, relative to one that does not matter."""
        plates = []
        for at, row in self.plates:
            centres = [point.impulse(p) for point in row.points]
            plates.append((at, row, Plate.of(self.own(row, at), row.points, centres)))
        error = self._error(plates, self.impulses(p), [plate.centres for _, _, plate in plates])
        return error * (1.0 / _NO_ERROR**2)

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
                f[at : at + 6] = row.plus_moments(plate.total(new[k]), p)
        for k, (at, row, plate) in enumerate(plates):
            new[k] = plate.projected(new[k])
            f[at : at + 6] = row.plus_moments(plate.total(new[k]), p)
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
                found[first.at] = self._stopped(found[first.at] - (u[0] + first.bias) / self.G[at][at], at)
            else:
                _sweep_points(self.own(row, at), row.points, u, found, self.smooth)
            f[at : at + n] = row.impulse(found)
            at += n
        return found

    def _stopped(self, z: Scalar, at: int) -> Scalar:
        """Return the impulse of a stop from z = p - sigma / g."""
        if not self.smooth:
            return larger(z, 0.0)
        s = self.smooth / self.G[at][at]
        return smooth_root(0.0 - z, 1.0, s * s)

    def _projected(
        self, row: Row, at: int, point: Point, u: Sequence[Scalar], p: Sequence[Scalar]
    ) -> tuple[Vector3, Vector3, Scalar]:
        """Return z = p - sigma / g of a point, P(z) and g, the mean of the diagonal of its block."""
        own = block(self.own(row, at), point)
        g = mean_of_diagonal(own)
        x, y, z = (a - s / g for a, s in zip(point.impulse(p), point.velocity(u), strict=True))
        square = self.smooth * self.smooth / (g * (own[2][2] + 1e-30)) if self.smooth else None
        return (x, y, z), projected(point.mu, (x, y, z), square)[0], g

    def law(self, p: Sequence[Scalar]) -> tuple[list[Scalar], list[dict[int, Scalar]]]:
        """Return equations that impulses satisfy, z = p - sigma / g and p = P(z) for each point, and directions.

        P is that of `plate`, and g the mean of the diagonal of its block. With t along z_T, the directions are t, the
        one across it, and the normal: a contact that slips has p_t = mu p_N, so that each pivot of K is that of one
        contact: 1, a mean of 1 and G_cc / g, and (G_NN + mu G_Nt) / g. Moments come after all impulses, and have the
        same form: see `projected_moments`.
        """
        found, directions = list(p), [dict[int, Scalar]() for _ in p]
        f, at = self.impulses(p), 0
        for row in self.rows:
            u = self.velocity(row, at, f)
            for point in row.points:
                k = point.at
                if row.joint >= 0:
                    found[k] = p[k] - self._stopped(p[k] - (u[0] + point.bias) / self.G[at][at], at)
                    directions[k] = {k: 1.0}
                    continue
                z, x, _ = self._projected(row, at, point, u, p)
                t = direction(z[0], z[1])
                found[k : k + 3] = [p[k] - x[0], p[k + 1] - x[1], p[k + 2] - x[2]]
                directions[k : k + 3] = _axes(k, t)
                if point.moment >= 0:
                    k = point.moment
                    z, x, _ = projected_moments(self.own(row, at), point, u, point.impulse(p), point.moments(p))
                    found[k : k + 3] = [p[k] - x[0], p[k + 1] - x[1], p[k + 2] - x[2]]
                    directions[k : k + 3] = _axes(k, direction(z[0], z[1]))
            at += len(row.free)
        return found, directions

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
            off = here - self._stopped(here - (u[0] + point.bias) / scale, at)
            return scale * larger(off, 0.0 - off)
        if self.smooth:
            _, new, scale = self._projected(row, at, point, u, p)
            e = [x - y for x, y in zip(point.impulse(p), new, strict=True)]
            return scale * sqrt(larger(dot(e, e), 1e-36))
        own, impulse = self.own(row, at), point.impulse(p)
        found = natural_residual(mean_of_diagonal(block(own, point)), point.mu, point.velocity(u), impulse)
        if point.moment < 0:
            return found
        return larger(found, moment_residual(own, point, tuple(u), impulse, point.moments(p)))


def _sweep_points(A: Rows, points: Sequence[Point], u: Numbers, p: list[Scalar], smooth: float = 0.0) -> None:
    """Solve for the impulses of the points of a row, each in turn, from those in p, with which the row moves at u."""
    for point in points:
        old, turning = point.impulse(p), point.moments(p)
        columns = responses(A, point)
        if point.moment >= 0:
            new, moments = solved_with_moments(A, point, u, old, turning)
            p[point.moment : point.moment + 3] = moments
            spin = [x - y for x, y in zip(moments, turning, strict=True)]
            u = tuple(x + dot(spin, row[3:6]) for x, row in zip(u, A, strict=True))
        elif smooth:
            own = block(A, point)
            kappa = smooth * smooth / (own[2][2] + 1e-30)
            new = smoothly_solved(regular(own), point.mu, point.velocity(u), old, kappa)
        else:
            own = regular(block(A, point))
            new = solved(own, inverse(own), point.mu, point.velocity(u), old)
        change = new[0] - old[0], new[1] - old[1], new[2] - old[2]
        u = tuple(x + dot(change, r) for x, r in zip(u, zip(*columns, strict=True), strict=True))
        p[point.at : point.at + 3] = new


def _axes(k: int, t: tuple[Scalar, Scalar]) -> list[dict[int, Scalar]]:
    """Return directions among the unknowns from k on: along t, across it, and normal."""
    return [{k: t[0], k + 1: t[1]}, {k: 0.0 - t[1], k + 1: t[0]}, {k + 2: 1.0}]


def mean_of_diagonal(A: Sequence[Sequence[Scalar]]) -> Scalar:
    """Return the mean of the first three numbers on the diagonal."""
    return (A[0][0] + A[1][1] + A[2][2]) * (1.0 / 3.0)
