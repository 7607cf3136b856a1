"""Derivatives of steps: each step of `rk_step` runs on machines that differentiate it, operation by operation.

`Tape` records the operations of a step, and goes back through them: from the derivatives of a number by the state at
the end of the step to those by the state at its start, by the forces and by the length of the step (reverse mode).
`Moving` carries the rates of all values along (forward mode). Both work on a machine that adds the derivatives of
single operations to those of `Machine`; there is one that runs on arrays, and one that emits native code.

Derivatives are by the numbers of q as they are stored, since Runge-Kutta methods step these.

Reference: Griewank and Walther 2008, Evaluating Derivatives, chapter 3; Hager 2000, Runge-Kutta methods in optimal
control and the transformed adjoint system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from .rk_step import Point

__all__ = ["ONE", "STEP", "Moving", "PullMachine", "PushMachine", "Tape", "Terms"]

V = TypeVar("V")
Terms = Sequence[tuple[float, str, Any]]
"""Parts of a sum: a number, a further factor, and a value."""
ONE, STEP, STRETCH = "", "h", "dh"
"""The further factors: none, the length of the step, and the rate of this length."""


class PullMachine(Protocol[V]):
    """A machine that computes steps, and the derivatives of a weighted sum of an operation's results."""

    flat: bool
    """True if velocities are the rates of positions."""
    turning: bool
    """True if a joint has its own step of semi-implicit Euler."""

    def combine(self, terms: Terms) -> V:
        """Return a weighted sum of values."""

    def stretch(self, terms: Sequence[tuple[float, V]], weights: V) -> None:
        """Add the derivative by the length of the step of h times a weighted sum."""

    def pull_acceleration(self, node: float, q: V, v: V, a: V, weights: V) -> tuple[V, V]:
        """Return derivatives by q and v; add those by forces to what the machine collects."""

    def pull_rate(self, q: V, v: V, weights: V) -> tuple[V, V]:
        """Return derivatives by q and v of the rates of positions."""

    def pull_integrate(self, q: V, v: V, weights: V) -> tuple[V, V]:
        """Return derivatives by q and v of a step along a velocity."""

    def pull_euler(self, q: V, v: V, a: V, weights: tuple[V, V]) -> tuple[V, V, V]:
        """Return derivatives by q, v and a of the joints' own steps."""

    def pull_project(self, q: V, weights: V) -> V:
        """Return derivatives of the projection."""


class Tape:
    """Runs a step on a machine, and records it."""

    def __init__(self, m: Any) -> None:
        self.m = m
        self._trail: list[Callable[[], None]] = []
        self._values: list[Any] = []
        """All values, so that no two have the same identity."""
        self._parts: dict[int, list[tuple[float, str, Any]]] = {}
        """For each value, by its identity, the parts of the derivative by it."""

    # operations of a step ------------------------------------------------------------------------------------------

    def slope(self, node: float, q: Any, v: Any) -> Point[Any]:
        """Return the rates at a stage; powers are not differentiated."""
        return Point(self.rate(q, v), self.acceleration(node, q, v), None)

    def acceleration(self, node: float, q: Any, v: Any) -> Any:
        """Return dv/dt at a stage."""
        m, a = self.m, self.m.acceleration(node, q, v)
        return self._record(a, lambda bar: self._give((q, v), m.pull_acceleration(node, q, v, a, bar)))

    def rate(self, q: Any, v: Any) -> Any:
        """Return dq/dt."""
        m = self.m
        if m.flat:
            return v
        return self._record(m.rate(q, v), lambda bar: self._give((q, v), m.pull_rate(q, v, bar)))

    def add(self, x: Any, terms: Sequence[tuple[float, Any]]) -> Any:
        """Return x plus a weighted sum times the step."""
        if terms[0][1] is None:
            return None

        def pull(bar: Any) -> None:
            if x is not None:
                self._add(x, (1.0, ONE, bar))
            for c, k in terms:
                self._add(k, (c, STEP, bar))
            self.m.stretch(terms, bar)

        return self._record(self.m.add(x, terms), pull)

    def blend(self, terms: Terms) -> Any:
        """Return a weighted sum of values; a further factor is the step, which is constant here."""

        def pull(bar: Any) -> None:
            for c, factor, x in terms:
                self._add(x, (c, factor, bar))

        return self._record(self.m.combine(terms), pull)

    def error(self, *given: Any) -> float:
        """Return nothing: accepted steps need no estimate."""
        return 0.0

    def euler(self, q: Any, v: Any, a: Any) -> tuple[Any, Any]:
        """Take a step of semi-implicit Euler."""
        m = self.m
        if m.turning:
            q1, v1 = m.euler(q, v, a)
            self._values += [q1, v1]

            def pull() -> None:
                bars = self.derivative(q1), self.derivative(v1)
                self._give((q, v, a), m.pull_euler(q, v, a, bars))

            self._trail.append(pull)
            return q1, v1
        after = self.add(v, ((1.0, a),))
        if m.flat:
            return self.add(q, ((1.0, after),)), after
        moved = m.integrate(q, after)
        return self._record(moved, lambda bar: self._give((q, after), m.pull_integrate(q, after, bar))), after

    def project(self, q: Any) -> Any:
        """Return positions with normalised quaternions."""
        m = self.m
        return q if m.flat else self._record(m.project(q), lambda bar: self._give((q,), (m.pull_project(q, bar),)))

    # the way back --------------------------------------------------------------------------------------------------

    def weigh(self, value: Any, weights: Any) -> None:
        """Set the derivative by a result of the step."""
        self._add(value, (1.0, ONE, weights))

    def back(self) -> None:
        """Go back through all operations."""
        for pull in reversed(self._trail):
            pull()

    def derivative(self, value: Any) -> Any:
        """Return the derivative by a value; None if it is zero."""
        parts = self._parts.get(id(value))
        if parts is None:
            return None
        if len(parts) > 1 or parts[0][:2] != (1.0, ONE):
            parts[:] = [(1.0, ONE, self.m.combine(parts))]
        return parts[0][2]

    def _record(self, value: Any, pull: Callable[[Any], None]) -> Any:
        self._values.append(value)

        def if_needed() -> None:
            bar = self.derivative(value)
            if bar is not None:
                pull(bar)

        self._trail.append(if_needed)
        return value

    def _give(self, values: Sequence[Any], found: Sequence[Any]) -> None:
        for value, bar in zip(values, found, strict=True):
            self._add(value, (1.0, ONE, bar))

    def _add(self, value: Any, part: tuple[float, str, Any]) -> None:
        self._values.append(value)
        self._parts.setdefault(id(value), []).append(part)


class PushMachine(Protocol[V]):
    """A machine that computes steps, and the rates of an operation's results."""

    flat: bool
    turning: bool

    def combine(self, terms: Terms) -> V:
        """Return a weighted sum of values."""

    def push_acceleration(self, node: float, q: V, v: V, a: V, rates: tuple[V, V]) -> V:
        """Return the rate of dv/dt; forces have rates of their own."""

    def push_rate(self, q: V, v: V, rates: tuple[V, V]) -> V:
        """Return the rate of dq/dt."""

    def push_integrate(self, q: V, v: V, rates: tuple[V, V]) -> V:
        """Return the rate of a step along a velocity."""

    def push_euler(self, q: V, v: V, a: V, rates: tuple[V, V, V]) -> tuple[V, V]:
        """Return the rates of the joints' own steps."""

    def push_project(self, q: V, rate: V) -> V:
        """Return the rate of the projection."""


Pair = tuple[Any, Any]


class Moving:
    """Runs a step on pairs: a value, and its rate along a direction in which the start, the forces and h change."""

    def __init__(self, m: Any) -> None:
        self.m = m

    def slope(self, node: float, q: Pair, v: Pair) -> Point[Any]:
        """Return the rates at a stage; powers are not differentiated."""
        return Point(self.rate(q, v), self.acceleration(node, q, v), None)

    def acceleration(self, node: float, q: Pair, v: Pair) -> Pair:
        """Return dv/dt at a stage."""
        a = self.m.acceleration(node, q[0], v[0])
        return a, self.m.push_acceleration(node, q[0], v[0], a, (q[1], v[1]))

    def rate(self, q: Pair, v: Pair) -> Pair:
        """Return dq/dt."""
        m = self.m
        return v if m.flat else (m.rate(q[0], v[0]), m.push_rate(q[0], v[0], (q[1], v[1])))

    def add(self, x: Pair | None, terms: Sequence[tuple[float, Any]]) -> Any:
        """Return x plus a weighted sum times the step."""
        if terms[0][1] is None:
            return None
        parts: list[tuple[float, str, Any]] = [] if x is None else [(1.0, ONE, x[1])]
        for c, (k, dk) in terms:
            parts += [(c, STEP, dk), (c, STRETCH, k)]
        made = self.m.add(None if x is None else x[0], [(c, k[0]) for c, k in terms])
        return made, self.m.combine(parts)

    def blend(self, terms: Terms) -> Pair:
        """Return a weighted sum of values; a further factor is the step, which is constant here."""
        values, rates = ([(c, factor, x[n]) for c, factor, x in terms] for n in (0, 1))
        return self.m.combine(values), self.m.combine(rates)

    def error(self, *given: Any) -> float:
        """Return nothing: accepted steps need no estimate."""
        return 0.0

    def euler(self, q: Pair, v: Pair, a: Pair) -> tuple[Pair, Pair]:
        """Take a step of semi-implicit Euler."""
        m = self.m
        if m.turning:
            rates = m.push_euler(q[0], v[0], a[0], (q[1], v[1], a[1]))
            ends = m.euler(q[0], v[0], a[0])
            return (ends[0], rates[0]), (ends[1], rates[1])
        after = self.add(v, ((1.0, a),))
        if m.flat:
            return self.add(q, ((1.0, after),)), after
        return (m.integrate(q[0], after[0]), m.push_integrate(q[0], after[0], (q[1], after[1]))), after

    def project(self, q: Pair) -> Pair:
        """Return positions with normalised quaternions."""
        return q if self.m.flat else (self.m.project(q[0]), self.m.push_project(q[0], q[1]))
