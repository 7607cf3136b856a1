"""The steps of explicit integrators, each written once and run by two machines.

A step is a function on a `Machine`, whose values are opaque vectors: positions, velocities, and their rates.
`NumpyMachine` runs it on arrays, with any forces; the machine of `ordern.compile.timeloops.machine` emits native code
for it. Runge-Kutta methods work in the space of coordinates, dq/dt = rate(q, v), and normalise quaternions at the end
of a step, which keeps their order for every joint. Semi-implicit Euler uses the step of each joint
(`Joint.euler_step`): a linear velocity along rotating axes is stepped along fixed ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from ...records import dataclass
from .tableaus import Row, Tableau

__all__ = ["Attempt", "FixedMachine", "Machine", "Point", "attempt", "dense_coefficients", "finish", "fixed_step"]

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Point(Generic[V]):
    """Positions, velocities and the works done so far (two numbers); or the rates of these three."""

    q: V
    v: V
    w: V

    def __iter__(self) -> Iterator[V]:
        return iter((self.q, self.v, self.w))


class FixedMachine(Protocol[V]):
    """The machine that computes a step of a fixed length h. It has the time at which the step begins."""

    def acceleration(self, node: float, q: V, v: V) -> V:
        """Return dv/dt alone."""

    def rate(self, q: V, v: V) -> V:
        """Return dq/dt alone."""

    def add(self, x: V | None, terms: Sequence[tuple[float, V]]) -> V:
        """Return x + h (c1 k1 + c2 k2 + ...); without x, the second part alone."""

    def euler(self, q: V, v: V, a: V) -> tuple[V, V]:
        """Return position and velocity after a step of semi-implicit Euler, `Joint.euler_step` of every joint."""

    def project(self, q: V) -> V:
        """Return the position with normalised quaternions."""


class Machine(FixedMachine[V], Protocol[V]):
    """The machine that computes a step whose error is estimated, and the works."""

    def slope(self, node: float, q: V, v: V) -> Point[V]:
        """Return the rates at time t + node h: dq/dt, dv/dt, and the powers (of applied and of passive forces)."""

    def error(self, before: Point[V], after: Point[V], q: V, v: V) -> Any:
        """Return the mean of the squares of (q, v), each relative to its tolerance; a scalar."""


@dataclass(frozen=True, slots=True)
class Attempt(Generic[V]):
    """A step that may be accepted."""

    end: Point[V]
    """The state after the step; positions are projected."""
    slopes: tuple[Point[V], ...]
    """The rates of the stages; also at the end of the step, if they were needed."""
    squares: tuple[Any, ...]
    """The mean square of each error estimate; empty for a method without estimates."""


def fixed_step(m: FixedMachine[V], method: Tableau, q: V, v: V) -> tuple[V, V]:
    """Take one step without error estimate or works; return positions, projected, and velocities."""
    if method.exponential:
        return m.euler(q, v, m.acceleration(0.0, q, v))
    kq: list[V] = []
    kv: list[V] = []
    for c, a in zip(method.c, method.a, strict=True):
        qi, vi = _weighted(m, q, a, kq), _weighted(m, v, a, kv)
        kq.append(m.rate(qi, vi))
        kv.append(m.acceleration(c, qi, vi))
    return m.project(_weighted(m, q, method.b, kq)), _weighted(m, v, method.b, kv)


def attempt(m: Machine[V], method: Tableau, y: Point[V], first: Point[V]) -> Attempt[V]:
    """Take one step from y, where the rates are `first`, and estimate its error."""
    slopes = [first]
    for c, a in zip(method.c[1:], method.a[1:], strict=True):
        slopes.append(m.slope(c, _part(m, y, "q", a, slopes), _part(m, y, "v", a, slopes)))
    if method.exponential:
        q, v = m.euler(y.q, y.v, first.v)
    else:
        v = _part(m, y, "v", method.b, slopes)
        q = m.project(_part(m, y, "q", method.b, slopes))
    if method.needs_end:
        slopes.append(m.slope(1.0, q, v))
    end = Point(q, v, _part(m, y, "w", (0.5, 0.5) if method.exponential else method.b, slopes))
    squares = tuple(
        m.error(y, end, *(m.add(None, _terms(row, [getattr(k, name) for k in slopes])) for name in ("q", "v")))
        for row in method.errors
    )
    return Attempt(end, tuple(slopes), squares)


def finish(m: Machine[V], method: Tableau, tried: Attempt[V]) -> tuple[Point[V], ...]:
    """Return the rates of all stages of an accepted step, and at its end."""
    if method.needs_end:
        return tried.slopes
    return (*tried.slopes, m.slope(1.0, tried.end.q, tried.end.v))


def dense_coefficients(m: Machine[V], method: Tableau, y: Point[V], slopes: Sequence[Point[V]]) -> list[Point[V]]:
    """Return c[1], c[2] ... of y(s) = y + c[1] s + c[2] s^2 + ... within an accepted step."""
    slopes = list(slopes)
    for c, a in zip(method.extra_c, method.extra_a, strict=True):
        slopes.append(m.slope(c, _part(m, y, "q", a, slopes), _part(m, y, "v", a, slopes)))
    columns: list[Row] = [tuple(row[k] if k < len(row) else 0.0 for row in method.dense) for k in range(method.degree)]
    return [
        Point(*(m.add(None, _terms(column, [getattr(k, name) for k in slopes])) for name in ("q", "v", "w")))
        for column in columns
    ]


def _part(m: Machine[V], y: Point[V], name: str, weights: Row, slopes: Sequence[Point[V]]) -> V:
    x: V = getattr(y, name)
    rates: list[V] = [getattr(k, name) for k in slopes]
    return _weighted(m, x, weights, rates)


def _weighted(m: FixedMachine[V], x: V, weights: Row, rates: Sequence[V]) -> V:
    terms = _terms(weights, rates)
    return m.add(x, terms) if terms else x


def _terms(weights: Row, rates: Sequence[V]) -> list[tuple[float, V]]:
    return [(w, k) for w, k in zip(weights, rates, strict=False) if w != 0.0]
