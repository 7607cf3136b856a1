"""The impulses of all contacts and joints of one step: block Gauss-Seidel, Newton's method on plates, the certificate.

    u = free + G f,    f = sum of B_i^T p_i,    sigma_i = B_i u + (0, 0, bias_i)

A row is a freedom of a joint (one number: see `stops`), a contact (three) or a plate, a body with several points on the
ground (six: see `plate`). A contact with torsional or rolling friction has six, too, and moments after the impulses of
all contacts (`moments`). B_i is one for joints and contacts. G acts by way of channels (`rows`), and so is that of the
rows which are near: others have no impulse, and nothing is computed for them.

A sweep solves for one point or joint after another, while the others stay. Once it is clear which of them slip, sweeps
converge linearly: changes of impulses are d, q d, q^2 d ... with q near 1 where contacts and joints work against each
other. So every fifth sweep goes on by q / (1 - q) times its change, with the q of the last two sweeps (Aitken). Plates
with more than two points have fewer rows than unknowns, and sweeps alone converge slowly on them: steps of Newton's
method follow, plate after plate.

With `smooth`, a speed s, normals satisfy p_N sigma_N = s^2 / G_NN, with both positive, in the place of p_N sigma_N = 0:
contacts push at a distance, and gradients know of them before they touch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...graph import Scalar, sqrt, where_less
from ...model import ControlFlow
from ...records import dataclass
from ...spatial.linear import Vector3, dot
from .cone import direction, larger, natural_residual, smaller, smoothly_solved, solved
from .moments import moment_residual, projected_moments, solved_with_moments
from .plate import Numbers, Plate, Point, projected
from .restitution import Measures
from .rows import Response, Row

__all__ = ["Problem", "State"]

_UNSOLVED = 1e-3
"""Steps with a larger residual, in m/s, may not add energy."""
_NO_ERROR = 1e-12
"""A plate with a smaller error, in m/s, has no error."""
_SWEEPS = 3
"""Sweeps before steps of Newton's method."""
_STEPS = 2
"""Steps of Newton's method after them."""

_PERIOD = 5
"""After so many sweeps, impulses are extrapolated."""
_LEAST, _MOST = 0.2, 0.98
"""The ratios of changes between which they are."""


@dataclass(frozen=True, slots=True)
class State:
    """The numbers that sweeps change."""

    p: list[Scalar]
    """Impulses."""
    s: list[Scalar]
    """Channels."""
    d: list[Scalar]
    """The last changes of the impulses."""
    change: Scalar = 0.0
    """Their size as velocities, squared, relative to a change that does not matter."""
    overlap: Scalar = 0.0
    """Their product with the changes before them, in the same measure."""
    turn: Scalar = 0.0
    """Sweeps since the last extrapolation."""

    @property
    def numbers(self) -> list[Scalar]:
        """All numbers, the change last."""
        return [*self.p, *self.s, *self.d, self.turn, self.change]

    @classmethod
    def of(cls, x: Sequence[Scalar], n: int) -> State:
        """Return the state of n impulses from its numbers."""
        return cls(list(x[:n]), list(x[n : -n - 2]), list(x[-n - 2 : -2]), x[-1], 0.0, x[-2])


@dataclass(frozen=True, slots=True)
class Problem:
    """Impulses p in cones, with the velocities u = G f + free along all rows."""

    tree: ControlFlow
    rows: Sequence[Row]
    flags: Sequence[Scalar]
    """1 for rows that may touch, 0 for others."""
    count: int
    """The number of channels, which are zero without impulses."""
    smooth: float = 0.0
    """The speed s of the smoothed law, p_N sigma_N = s^2 / G_NN; zero for the rigid one."""
    settled: float = 0.0
    """Sweeps may end where they change the velocities of contacts by less, in m/s; zero for all sweeps."""

    @property
    def near(self) -> Sequence[Scalar]:
        """The flags of the rows; for derivatives all are near, which changes nothing and is less to differentiate."""
        return [1.0] * len(self.rows) if self.tree.differentiated else self.flags

    @property
    def plates(self) -> list[tuple[Scalar, Row]]:
        """The rows with more points than their six numbers can tell apart, and whether they are near."""
        if self.smooth:  # normals are unique, so that sweeps suffice
            return []
        return [(near, row) for near, row in zip(self.near, self.rows, strict=True) if row.newton is not None]

    def channels(self, p: Sequence[Scalar]) -> list[Scalar]:
        """Return s, all channels with these impulses."""
        s: list[Scalar] = [0.0] * self.count
        for near, row in zip(self.near, self.rows, strict=True):

            def pushed(row: Row = row) -> list[Scalar]:
                return row.pushed(s, row.impulse(p))

            _put(s, row.link.channels, self.tree.when(near, pushed, [s[c] for c in row.link.channels]))
        return s

    def solved(
        self, p: Sequence[Scalar], sweeps: int, s: Sequence[Scalar] | None = None, first: Scalar = 1.0
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return impulses and channels after so many sweeps, or when they settle.

        Channels s of the impulses p are computed unless they are given: then rows that are far have no impulses.
        Compiled code takes no sweeps where `first` is zero. With plates, sweeps end at the first error of a plate. Then
        `polished` follows each third sweep, unless all plates are far.
        """
        p, n = list(p), len(p)
        if not self.rows:
            return p, self.channels(p)
        for near, row in zip(self.near, self.rows, strict=True) if s is None else ():
            for k in row.places:
                p[k] = where_less(0.5, near, p[k], 0.0)
        start = State(p, self.channels(p) if s is None else list(s), [0.0] * n, 1.0).numbers
        changes = (lambda _, new: new[-1]) if self.settled else None

        def swept(x: Sequence[Scalar]) -> list[Scalar]:
            return self._extrapolated(State.of(x, n), self.near).numbers

        if not self.plates:
            end = State.of(self.tree.repeat(sweeps, swept, start, changes, first), n)
            return end.p, end.s
        some: Scalar = 0.0
        for near, _ in self.plates:
            some = larger(some, near)
        with_plates = [where_less(0.5, some, near, 0.0) for near in self.near]

        def several(x: Sequence[Scalar]) -> list[Scalar]:
            state, change = State.of(x, n), 0.0
            for _ in range(_SWEEPS):
                state = self._swept(state, with_plates)
                change = change + state.change
            p, s = self.polished(state.p, state.s)
            return State(p, s, state.d, change + self._error_of_plates(p, s)).numbers

        def until_error(x: Sequence[Scalar]) -> list[Scalar]:
            *x, ended = x
            going = [where_less(ended, 0.5, near, 0.0) for near in self.near]
            new = self._extrapolated(State.of(x, n), going)
            error = self._error_of_plates(new.p, new.s)
            now = where_less(ended, 0.5, where_less(1.0, error, 1.0, 0.0), 1.0)
            return [*replace(new, change=new.change + error).numbers, now]

        def ends(_: Sequence[Scalar], new: Sequence[Scalar]) -> Scalar:
            return where_less(0.5, new[-1], 0.0, new[-2])

        *x, _ = self.tree.repeat(sweeps, until_error, [*start, 0.0], ends if self.settled else None, first)
        x = self.tree.repeat(-(-sweeps // _SWEEPS), several, x, changes, where_less(0.5, some, x[-1], 0.0))
        end = State.of(x, n)
        return end.p, end.s

    def sweep(self, p: Sequence[Scalar]) -> list[Scalar]:
        """Solve for the impulses of each row in turn, while the others stay."""
        return self._swept(State(list(p), self.channels(p), [0.0] * len(p)), self.near).p

    def _swept(self, x: State, near: Sequence[Scalar]) -> State:
        """Solve for the impulses of each row in turn."""
        p, s, d = list(x.p), list(x.s), list(x.d)
        sums: list[Scalar] = [0.0, 0.0]
        for flag, row in zip(near, self.rows, strict=True):
            places, channels = row.places, row.link.channels
            n, m = len(places), len(channels)

            def turn(row: Row = row, sums: Sequence[Scalar] = sums) -> list[Scalar]:
                new, f, weights = self._turned(row, row.velocity(s), p)
                moved = [x - p[k] for x, k in zip(new, row.places, strict=True)]
                by = [w * x for w, x in zip(weights, moved, strict=True)]
                old = [d[k] for k in row.places]
                if not self._alone(row):  # nothing is extrapolated
                    return [*new, *row.pushed(s, f), *old, sums[0] + dot(by, moved), sums[1]]
                return [*new, *row.pushed(s, f), *moved, sums[0] + dot(by, moved), sums[1] + dot(by, old)]

            before = [*(p[k] for k in places), *(s[c] for c in channels), *(d[k] for k in places), *sums]
            found = self.tree.when(flag, turn, before)
            _put(p, places, found[:n])
            _put(s, channels, found[n : n + m])
            _put(d, places, found[n + m : -2])
            sums = found[-2:]
        return State(p, s, d, sums[0], sums[1], x.turn)

    def _extrapolated(self, x: State, near: Sequence[Scalar]) -> State:
        """Take a sweep; after several, go on to where the changes would end if each were the same part of the last."""
        new = self._swept(x, near)
        ratio = new.overlap / larger(x.change, 1e-30)
        due = where_less(x.turn, _PERIOD - 1.5, 0.0, where_less(ratio, _MOST, where_less(_LEAST, ratio, 1.0, 0.0), 0.0))
        far = where_less(0.5, due, ratio / (1.0 - smaller(ratio, _MOST)), 0.0)

        def ahead() -> list[Scalar]:
            p, s = list(new.p), list(new.s)
            for flag, row in zip(near, self.rows, strict=True):
                if not self._alone(row):
                    continue
                step = {k: far * new.d[k] for k in row.places}
                for old, places, there in (
                    (p, row.places, [p[k] + y for k, y in step.items()]),
                    (s, row.link.channels, row.pushed(s, row.impulse(step))),
                ):  # numbers of a row that is far are not known
                    _put(old, places, [where_less(0.5, flag, y, old[k]) for k, y in zip(places, there, strict=True)])
            return [*p, *s]

        found = self.tree.when(due, ahead, [*new.p, *new.s])
        p, s = found[: len(new.p)], found[len(new.p) :]
        return replace(new, p=p, s=s, turn=where_less(0.5, due, 0.0, x.turn + 1.0))

    def _alone(self, row: Row) -> bool:
        """Return True if sweeps alone solve for a row."""
        return row.newton is None or bool(self.smooth)

    def _turned(self, row: Row, u: Numbers, p: Sequence[Scalar]) -> tuple[list[Scalar], Sequence[Scalar], list[Scalar]]:
        """Return the next impulses of a row that moves at u, the change along its rows, and weights of their changes.

        The weights make velocities of changes, relative to one that does not matter. Those of impulses of a plate are
        zero: these may change for ever while its motion does not.
        """
        rate = 1.0 / (self.settled or 1.0) ** 2
        if row.stop is not None:
            at, g = row.stop.at, row.stop.scale
            new = row.stop.turned(u[0], p[at], self.smooth)
            return [new], [new - p[at]], [g * g * rate]
        found: list[Scalar] = []
        weights: list[Scalar] = []
        f: list[Scalar] = [0.0] * len(row.free)
        for point, response in zip(row.points, row.responses, strict=True):
            old, moments = point.impulse(p), tuple[Scalar, ...]()
            if point.moment >= 0:
                new, moments = solved_with_moments(row.own, point, u, old, point.moments(p))
                spin = [x - y for x, y in zip(moments, point.moments(p), strict=True)]
                u = tuple(x + dot(spin, a[3:6]) for x, a in zip(u, row.own, strict=True))
                f[3:] = [x + y for x, y in zip(f[3:], spin, strict=True)]
            else:
                new = self._one(response, point, u, old)
            change: Vector3 = new[0] - old[0], new[1] - old[1], new[2] - old[2]
            u = tuple(x + dot(change, c) for x, c in zip(u, zip(*response.columns, strict=True), strict=True))
            f = [x + y for x, y in zip(f, point.wrench(change)[: len(f)], strict=True)]
            found += [*new, *moments]
            weight = response.scale * response.scale * rate if self._alone(row) else 0.0
            weights += [weight] * 3
            if moments:
                g = (row.own[3][3] + row.own[4][4] + row.own[5][5]) * (1.0 / 3.0)
                weights += [g * g * rate] * 3
        return found, f, weights

    def _one(self, response: Response, point: Point, u: Numbers, old: Vector3) -> Vector3:
        """Return the next impulse of a point of a row that moves at u."""
        if not self.smooth:
            return solved(response.own, response.inverse, point.mu, point.velocity(u), old)
        kappa = self.smooth * self.smooth / (_normal(point, response) + 1e-30)
        return smoothly_solved(response.own, point.mu, point.velocity(u), old, kappa)

    # ---- plates

    def polished(self, p: list[Scalar], s: list[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """Take steps of Newton's method on all plates, in turn; keep the old impulses if they have less error."""
        new, t = list(p), list(s)
        for step in range(_STEPS + 1):
            for near, row in self.plates:

                def stepped(row: Row = row, last: bool = step == _STEPS) -> list[Scalar]:
                    plate, old = _plate(row, p), [point.impulse(new) for point in row.points]
                    found = plate.projected(old) if last else plate.stepped(row.velocity(t), old)
                    change = [[x - y for x, y in zip(a, b, strict=True)] for a, b in zip(found, old, strict=True)]
                    return [*(x for one in found for x in one), *row.pushed(t, plate.total(change))]

                places = [point.at + k for point in row.points for k in range(3)]
                before = [*(new[k] for k in places), *(t[c] for c in row.link.channels)]
                found = self.tree.when(near, stepped, before)
                _put(new, places, found[: len(places)])
                _put(t, row.link.channels, found[len(places) :])
        worse = where_less(self._error_of_plates(new, t), self._error_of_plates(p, s), 0.0, 1.0)

        def kept(old: Sequence[Scalar], new: Sequence[Scalar]) -> list[Scalar]:
            return [a if a is b else where_less(0.5, worse, a, b) for a, b in zip(old, new, strict=True)]

        return kept(p, new), kept(s, t)

    def _error_of_plates(self, p: Sequence[Scalar], s: Sequence[Scalar]) -> Scalar:
        """Return the error of all plates, relative to one that does not matter."""
        total: Scalar = 0.0
        for near, row in self.plates:

            def error(row: Row = row, total: Scalar = total) -> list[Scalar]:
                own = [point.impulse(p) for point in row.points]
                return [total + _plate(row, p).error(row.velocity(s), own)]

            (total,) = self.tree.when(near, error, [total])
        return total * (1.0 / _NO_ERROR**2)

    # ---- laws and certificates

    def _projected(
        self, response: Response, point: Point, u: Sequence[Scalar], p: Sequence[Scalar]
    ) -> tuple[Vector3, Vector3, Scalar]:
        """Return z = p - sigma / g of a point, P(z) and g, the mean of the diagonal of its block."""
        g = response.scale
        x, y, z = (a - s / g for a, s in zip(point.impulse(p), point.velocity(u), strict=True))
        square = self.smooth * self.smooth / (g * (_normal(point, response) + 1e-30)) if self.smooth else None
        return (x, y, z), projected(point.mu, (x, y, z), square)[0], g

    def law(self, p: Sequence[Scalar]) -> tuple[list[Scalar], list[dict[int, Scalar]]]:
        """Return equations that impulses satisfy, z = p - sigma / g and p = P(z) for each point, and directions.

        P is that of `plate`, and g the mean of the diagonal of its block. With t along z_T, the directions are t, the
        one across it, and the normal: a contact that slips has p_t = mu p_N, so that each pivot of K is that of one
        contact: 1, a mean of 1 and G_cc / g, and (G_NN + mu G_Nt) / g. Moments come after all impulses, and have the
        same form: see `projected_moments`.
        """
        found, directions = list(p), [dict[int, Scalar]() for _ in p]
        s = self.channels(p)
        for row in self.rows:
            u = row.velocity(s)
            if row.stop is not None:
                k = row.stop.at
                found[k] = p[k] - row.stop.turned(u[0], p[k], self.smooth)
                directions[k] = {k: 1.0}
            for point, response in zip(row.points, row.responses, strict=True):
                k = point.at
                z, x, _ = self._projected(response, point, u, p)
                found[k : k + 3] = [p[k] - x[0], p[k + 1] - x[1], p[k + 2] - x[2]]
                directions[k : k + 3] = _axes(k, direction(z[0], z[1]))
                if point.moment >= 0:
                    k = point.moment
                    z, x, _ = projected_moments(row.own, point, u, point.impulse(p), point.moments(p))
                    found[k : k + 3] = [p[k] - x[0], p[k + 1] - x[1], p[k + 2] - x[2]]
                    directions[k : k + 3] = _axes(k, direction(z[0], z[1]))
        return found, directions

    def measured(self, p: Sequence[Scalar], s: Sequence[Scalar]) -> Measures:
        """Return how well impulses with their channels fulfil the law, and their work."""
        found: list[Scalar] = list(Measures())
        for near, row in zip(self.near, self.rows, strict=True):

            def seen(row: Row = row, found: Sequence[Scalar] = found) -> list[Scalar]:
                residual, leveling, linear, square, pushing, bounces = found
                u, f = row.velocity(s), row.impulse(p)
                linear = linear + dot(f, [x + y for x, y in zip(row.free, row.before, strict=True)])
                square = square + dot(f, [x - y for x, y in zip(u, row.free, strict=True)])
                if row.stop is not None:
                    residual = larger(residual, row.stop.residual(u[0], f[0], self.smooth))
                    pushing = pushing + row.stop.pushing(f[0])
                for k, point in enumerate(row.points):
                    residual = larger(residual, self._residual(row, k, u, p))
                    rest = point.bias if point.resting is None else point.resting
                    pushing = pushing + point.impulse(p)[2] * larger(0.0 - rest, 0.0)
                    if point.resting is not None:
                        bounces = where_less(point.bias, rest, 1.0, bounces)
                leveling = self._leveled(row, u, p, leveling)
                return [residual, leveling, linear, square, pushing, bounces]

            found = self.tree.when(near, seen, found)
        return Measures(*found)

    def certified(
        self, p: Sequence[Scalar], s: Sequence[Scalar], found: Measures | None = None
    ) -> tuple[list[Scalar], list[Scalar], tuple[Scalar, Scalar, Scalar]]:
        """Return impulses, channels, and the largest residual, the leveling and the work.

        Impulses that are not solved for are made smaller where they would add energy.
        """
        residual, leveling, linear, square, pushing, _ = self.measured(p, s) if found is None else found
        most = (2.0 * pushing - linear) / larger(square, 1e-30)
        part = where_less(_UNSOLVED, residual, larger(smaller(most, 1.0), 0.0), 1.0)
        work = 0.5 * part * (linear + part * square)
        return [part * x for x in p], [part * x for x in s], (residual, leveling, work)

    def _residual(self, row: Row, k: int, u: Numbers, p: Sequence[Scalar]) -> Scalar:
        """Return how far a point is from its law."""
        point, response = row.points[k], row.responses[k]
        if self.smooth:
            _, new, scale = self._projected(response, point, u, p)
            e = [x - y for x, y in zip(point.impulse(p), new, strict=True)]
            return scale * sqrt(larger(dot(e, e), 1e-36))
        impulse = point.impulse(p)
        found = natural_residual(response.scale, point.mu, point.velocity(u), impulse)
        if point.moment < 0:
            return found
        return larger(found, moment_residual(row.own, point, u, impulse, point.moments(p)))

    def _leveled(self, row: Row, u: Numbers, p: Sequence[Scalar], most: Scalar) -> Scalar:
        """Return how far the points of a row that push move from where they are solved for, in m/s, if it is the most.

        Points of a plate have the impulses of points at one height. Where they are, these have the further moments
        (0, 0, above) x p, which change u, and the velocities of the points are those at their own heights.
        """
        if len(row.points) < 2:
            return most
        x: Scalar = 0.0
        y: Scalar = 0.0
        total: Scalar = 0.0
        for point in row.points:
            p_x, p_y, p_n = point.impulse(p)
            x, y, total = x - point.above * p_y, y + point.above * p_x, total + p_n
        du = [a[3] * x + a[4] * y for a in row.own]
        least = 0.01 * total if self.smooth else 0.0  # smoothed contacts push at any distance
        for point in row.points:
            v = point.moved(du)
            e = v[0] + point.above * (u[4] + du[4]), v[1] - point.above * (u[3] + du[3]), v[2]
            speed = sqrt(larger(dot(e, e), 1e-36))
            most = where_less(least, point.impulse(p)[2], larger(most, speed), most)
        return most


def _put(x: list[Scalar], places: Sequence[int], numbers: Sequence[Scalar]) -> None:
    """Set the numbers at some places."""
    for k, y in zip(places, numbers, strict=True):
        x[k] = y


def _plate(row: Row, centres: Sequence[Scalar]) -> Plate:
    """Return Newton's method for a row, with its centres among all impulses."""
    assert row.newton is not None
    return Plate(row.points, row.newton.factor, row.newton.stiff, [point.impulse(centres) for point in row.points])


def _normal(point: Point, response: Response) -> Scalar:
    """Return G_NN of a point."""
    return point.moved(response.columns[2])[2]


def _axes(k: int, t: tuple[Scalar, Scalar]) -> list[dict[int, Scalar]]:
    """Return directions among the unknowns from k on: along t, across it, and normal."""
    return [{k: t[0], k + 1: t[1]}, {k: 0.0 - t[1], k + 1: t[0]}, {k + 2: 1.0}]
