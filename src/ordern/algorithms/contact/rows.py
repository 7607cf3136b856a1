"""Rows of contacts and stops: their velocities, and how they move each other through the joints.

With w = (1 - H psi K) J^T (see `binding`), G = J M^-1 J^T is w^T D^-1 w. A row has numbers in w at the joints between
it and the base, its channels, and nowhere else. So impulses f act on velocities u by way of all channels s:

    s = s_0 + sum of into_i^T f_i,    u_i = free_i + out_i s,    into = w^T,    out = w^T D^-1

G itself is not formed but for the blocks on its diagonal: a row that touches nothing takes no part, and a robot with
many contacts has work for those that touch. Loops add channels: see `ties`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from ...graph import Scalar
from ...model import ControlFlow
from ...records import dataclass
from ...spatial.linear import Matrix3, dot
from .cone import inverse, regular
from .plate import Newton, Numbers, Point, Rows, block, responses
from .stops import Stop

__all__ = ["Link", "Response", "Row", "guarded"]

R = TypeVar("R")
_TINY = 1e-30


@dataclass(frozen=True, slots=True)
class Link:
    """The channels of a row: their places among all, and the numbers of `into` and `out` there."""

    channels: tuple[int, ...]
    into: Rows
    out: Rows

    @classmethod
    def dense(cls, G: Rows, first: int, count: int) -> Link:
        """Return the link of rows of a given matrix G: each row of it is a channel."""
        n = len(G)
        unit = [tuple(1.0 if c == first + r else 0.0 for c in range(n)) for r in range(count)]
        return cls(tuple(range(n)), unit, [tuple(G[first + r]) for r in range(count)])

    @property
    def own(self) -> tuple[Numbers, ...]:
        """The block on the diagonal of G."""
        known = {(r, c): dot(self.out[r], self.into[c]) for r in range(len(self.out)) for c in range(r + 1)}
        n = range(len(self.out))
        return tuple(tuple(known[max(r, c), min(r, c)] for c in n) for r in n)


@dataclass(frozen=True, slots=True)
class Response:
    """How a point moves by its own impulse."""

    columns: tuple[Numbers, ...]
    """Velocities of its row by unit impulses."""
    own: Matrix3
    """Its own velocities by unit impulses, made regular."""
    inverse: Matrix3
    scale: Scalar
    """The mean of the diagonal of its block."""


@dataclass(frozen=True, slots=True)
class Row:
    """The rows of one contact, of one plate, or of one freedom of a joint."""

    free: Numbers
    """Velocities along the rows without impulses."""
    before: Numbers
    """Velocities along the rows at the start of the step."""
    points: tuple[Point, ...]
    link: Link
    own: tuple[Numbers, ...]
    responses: tuple[Response, ...]
    """Of each point."""
    newton: Newton | None
    """Of a plate with more points than its six numbers can tell apart."""
    stop: Stop | None = None
    """The law of a freedom of a joint, which has no points."""

    @classmethod
    def of(cls, free: Sequence[Scalar], before: Sequence[Scalar], points: Sequence[Point], link: Link) -> Row:
        """Compute what all sweeps need."""
        own, found = link.own, list[Response]()
        for point in points:
            mine = block(own, point)
            stiff = regular(mine)
            scale = (mine[0][0] + mine[1][1] + mine[2][2]) * (1.0 / 3.0) + _TINY
            found.append(Response(tuple(responses(own, point)), stiff, inverse(stiff), scale))
        newton = Newton.of(own, points) if len(points) > 2 else None
        return cls(tuple(free), tuple(before), tuple(points), link, own, tuple(found), newton)

    @classmethod
    def of_joint(
        cls, free: Scalar, before: Scalar, at: int, link: Link, friction: Scalar | None = None,
        lower: Scalar | None = None, upper: Scalar | None = None,
    ) -> Row:  # fmt: skip
        """Return the row of a freedom with dry friction, or whose velocity is between `lower` and `upper`."""
        own = link.own
        stop = Stop.of(at, own[0][0], friction, lower, upper)
        return cls((free,), (before,), (), link, own, (), None, stop)

    @property
    def places(self) -> list[int]:
        """The places of its impulses and moments among all."""
        if self.stop is not None:
            return [self.stop.at]
        starts = [x for point in self.points for x in (point.at, point.moment) if x >= 0]
        return [start + k for start in starts for k in range(3)]

    def impulse(self, p: Sequence[Scalar] | Mapping[int, Scalar]) -> Numbers:
        """Return the impulse along the rows, from those of all points."""
        if self.stop is not None:
            return (p[self.stop.at],)
        n, total = len(self.free), None
        for point in self.points:
            part = point.wrench(point.impulse(p))[:n]
            if point.moment >= 0:
                part = (*part[:3], *(x + y for x, y in zip(part[3:], point.moments(p), strict=True)))
            total = part if total is None else tuple(x + y for x, y in zip(total, part, strict=True))
        assert total is not None
        return total

    def velocity(self, s: Sequence[Scalar]) -> Numbers:
        """Return u, from all channels."""
        here = [s[c] for c in self.link.channels]
        return tuple(u + dot(out, here) for u, out in zip(self.free, self.link.out, strict=True))

    def pushed(self, s: Sequence[Scalar], f: Sequence[Scalar]) -> list[Scalar]:
        """Return its channels after more impulses along the rows."""
        found = [s[c] for c in self.link.channels]
        for x, into in zip(f, self.link.into, strict=True):
            found = [y + x * z for y, z in zip(found, into, strict=True)]
        return found


def dense_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the same rows with each other's impulses as channels, by the whole matrix G."""
    links = [row.link for row in rows for _ in row.free]
    within = [k for row in rows for k in range(len(row.free))]
    n = len(links)
    G: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for r in range(n):
        out = dict(zip(links[r].channels, links[r].out[within[r]], strict=True))
        for c in range(r + 1):
            for channel, x in zip(links[c].channels, links[c].into[within[c]], strict=True):
                if channel in out:
                    G[r][c] = G[r][c] + out[channel] * x
            G[c][r] = G[r][c]
    found, at = [], 0
    for row in rows:
        found.append(replace(row, link=Link.dense(G, at, len(row.free))))
        at += len(row.free)
    return found


def guarded(tree: ControlFlow, flag: Scalar, build: Callable[[], R]) -> R:
    """Return a record whose numbers are computed only where the flag is 1; where it is 0, nothing may read them."""
    made: list[Any] = []

    def numbers() -> list[Scalar]:
        made.append(build())
        return _numbers(made[0])

    found = iter(tree.when(flag, numbers))
    record: R = _filled(made[0], found)
    return record


def _numbers(x: Any) -> list[Scalar]:
    """Return all numbers of nested records and tuples; integers are not among them."""
    if isinstance(x, (tuple, list)):
        return [y for part in x for y in _numbers(part)]
    if is_dataclass(x):
        return [y for field in fields(x) for y in _numbers(getattr(x, field.name))]
    return [] if x is None or isinstance(x, int) else [x]


def _filled(x: Any, numbers: Any) -> Any:
    """Return a record with other numbers."""
    if isinstance(x, (tuple, list)):
        return tuple(_filled(part, numbers) for part in x)
    if is_dataclass(x) and not isinstance(x, type):
        return type(x)(**{field.name: _filled(getattr(x, field.name), numbers) for field in fields(x)})
    return x if x is None or isinstance(x, int) else next(numbers)
