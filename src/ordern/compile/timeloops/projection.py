"""Closed loops in time loops: clear solutions at the stages, stabilisation, and the projection of the end of a step.

Every lane decides for itself: it takes over a correction that brings it nearer, and is done when it is closed, or when
a correction does not. `valid` is 1 in the lanes in which every solution so far was clear.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...graph import where_less
from ..emit.builder import Builder, Value
from .code import Closing
from .impacts import any_lane
from .machine import Emitter, Tile

__all__ = ["Projection"]


class Projection:
    """Writes the operations that keep the loops of a model closed."""

    def __init__(self, m: Emitter, terms: Closing) -> None:
        """Reserve memory, and let the machine check its accelerations."""
        self.m, self.terms, m.projection = m, terms, self
        nq, nv = m.model.nq, m.model.nv
        self._rows = m.tile(m.model.nc)
        self._one, self._drop, self.valid = m.tile(1), m.tile(1), m.tile(1)
        self._off, self._tried, self._active = m.tile(1), m.tile(1), m.tile(1)
        self._q, self._v = m.tile(nq), m.tile(nv)
        self.clock, self._now = m.tile(1), m.tile(1)
        """The time at the start of a step."""
        time = (self._now,) if terms.timed else ()
        drop = (self._drop,) if terms.left_out else ()
        pull = (self._rows,) if terms.pull else ()
        self._more = (*time, *drop)
        m.arguments |= {
            "dynamics": (m.q, m.v, m.force, *time, *pull, *drop),
            "loop_residual": (m.q, *time),
            "loop_rate": (m.q, m.v, *time),
        }
        if "closed_solve" in m.results:
            self._change = Tile(m.results["closed_solve"].at, nv)
            self.push(m.tile(nv))
            m.arguments["close"] = (m.q, self._change, self._one)
        for tile, x in ((self._one, 1.0), (self.valid, 1.0), (self._drop, terms.drop)):
            m.function(1, lambda e, tile=tile, x=x: e.store_at(e.constant(x), tile))  # type: ignore[misc]
        m.sequence("reset")

    def push(self, force: Tile) -> None:
        """Let corrections be the response to joint forces at this place too, which are zero unless they are set."""
        self.m.arguments["closed_solve"] = (self.m.q, force, self._rows, *self._more)

    def at(self, node: float) -> None:
        """Set the time of a stage, and the term of Baumgarte's stabilisation at its state."""
        m = self.m
        self._set_time(node)
        if self.terms.pull:
            alpha, beta = self.terms.pull
            m.kernel("loop_rate")
            m.kernel("loop_residual")
            rate, residual = m.results["loop_rate"], m.results["loop_residual"]

            def pulled(e: Any) -> None:
                terms = ((2.0 * alpha, rate), (beta * beta, residual))
                damped, led = (e.binary("fmul", e.constant(c), e.load_at(tile)) for c, tile in terms)
                e.store_at(e.binary("fadd", damped, led), self._rows)

            m.function(self._rows.size, pulled)

    def _set_time(self, node: float) -> None:
        m = self.m
        if self.terms.timed:
            m.function(
                1,
                lambda e: e.store_at(
                    e.binary("fadd", e.load_at(self.clock), e.binary("fmul", e.constant(node), e.load_at(m.h))),
                    self._now,
                ),
            )

    def add_power(self, works: Tile) -> None:
        """Add the power of rows that time moves, lambda K v, to that of the drives.

        K v is the difference of the rates with the velocities and without.
        """
        if not self.terms.timed:
            return
        m, rates = self.m, self.m.results["loop_rate"]
        forces, moving = Tile(m.results["dynamics"].at + m.model.nv, rates.size), m.tile(rates.size)
        m.kernel("loop_rate")
        m.copy(rates, moving)
        m.function(m.v.size, lambda e: e.store_at(e.constant(0.0), m.v))
        m.forget(m.v)
        m.kernel("loop_rate")

        def after(e: Any, sums: list[str]) -> None:
            e.store(e.binary("fadd", e.load("%ws", works.at), sums[0]), "%ws", works.at)

        m.function(
            rates.size,
            lambda e: [e.binary("fmul", e.load_at(forces), e.binary("fsub", e.load_at(moving), e.load_at(rates)))],
            after,
        )

    def write(self, q: Tile, v: Tile) -> tuple[Tile, Tile]:
        """Write the sequences that close the loops of a state; return where the closed state will be.

        "open" computes the residual, "newton" tries a correction, and "keep" corrects the velocity.
        """
        m = self.m
        self._set_time(1.0)
        m.copy(q, self._q)
        m.copy(v, self._v)
        m.copy(self._q, m.q)
        self._residual(self._off)
        closed = self.terms.closed
        m.scalar_function([self._off], [self._active], lambda x: [where_less(closed, x[0], 1.0, 0.0)])
        m.sequence("open")
        self._solve("loop_residual")
        m.kernel("close")
        m.copy(m.results["close"], m.q)
        self._residual(self._tried)
        self._take_over()
        m.sequence("newton")
        m.copy(self._q, m.q)
        m.copy(self._v, m.v)
        m.kernel("loop_rate")
        self._solve("loop_rate")
        m.function(
            m.model.nv, lambda e: e.store_at(e.binary("fadd", e.load_at(self._v), e.load_at(self._change)), self._v)
        )
        bound = self.terms.open
        m.scalar_function([self._off, self.valid], [self.valid], lambda x: [where_less(bound, x[0], 0.0, x[1])])
        m.sequence("keep")
        return self._q, self._v

    def emit(self, b: Builder, run: Callable[[str], None], workspace: Value) -> None:
        """Emit the loop of Newton's method around the sequences, which `run` calls."""
        active = workspace.at(self._active.at, self.m.target.vector)
        run("open")
        with b.repeat():
            k = b.carried(0)
            b.leave_unless(any_lane(b, self.m, active) & (k.value < self.terms.rounds))
            run("newton")
            k.next = k.value + 1
        run("keep")

    def _take_over(self) -> None:
        """Take over a correction in the lanes that it brings nearer; the others are done."""
        m, new, taken = self.m, self.m.results["close"], self.m.tile(1)

        def judged(x: list[Any]) -> list[Any]:
            off, tried, active = x
            nearer = where_less(tried, off, active, 0.0)
            off = where_less(0.5, nearer, tried, off)
            return [nearer, off, where_less(self.terms.closed, off, nearer, 0.0)]

        m.scalar_function([self._off, self._tried, self._active], [taken, self._off, self._active], judged)
        m.function(
            new.size,
            lambda e: e.store_at(
                e.select_less(e.constant(0.5), e.once(taken), e.load_at(new), e.load_at(self._q)), self._q
            ),
        )

    def _solve(self, name: str) -> None:
        """Find the smallest motion that takes the result of a kernel to zero."""
        m, result = self.m, self.m.results[name]
        m.function(result.size, lambda e: e.store_at(e.negate(e.load_at(result)), self._rows))
        m.copy(self._q, m.q)
        m.kernel("closed_solve")
        self.check("closed_solve", signed=not self.terms.left_out)
        if m.holding is not None:
            m.function(result.size, lambda e: e.store_at(e.constant(0.0), self._rows))
            m.holding.apply(self._change)

    def _residual(self, largest: Tile) -> None:
        """Compute the residual, and the largest part of it; mark a state that is not finite."""
        self.m.kernel("loop_residual")
        result = self.m.results["loop_residual"]

        def measured(x: list[Any]) -> list[Any]:
            *rows, valid = x
            most, total = rows[0] * 0.0, rows[0] * rows[0]
            for y in rows:
                size = where_less(y, 0.0, -y, y)
                most = where_less(most, size, size, most)
            for y in rows[1:]:
                total = total + y * y
            return [most, where_less(total, 1e300, valid, 0.0)]

        parts = [Tile(result.at + k, 1) for k in range(result.size)]
        self.m.scalar_function([*parts, self.valid], [largest, self.valid], measured)

    def check(self, name: str, signed: bool = False) -> None:
        """Mark the state unless a solution is clear: large pivots, and the right number of rows left out.

        Rows that are left out have no force. If no row has one, none is needed.
        """
        terms, result, nv = self.terms, self.m.results[name], self.m.model.nv
        parts = [Tile(result.at + k, 1) for k in range(nv, result.size)]

        def clear(x: list[Any]) -> list[Any]:
            *forces, pivot, valid = x
            pivot = pivot if signed else where_less(pivot, 0.0, -pivot, pivot)
            valid = where_less(terms.least, pivot, valid, 0.0)
            if terms.left_out:
                count: Any = 0.5 - terms.left_out
                for f in forces:
                    count = count + where_less(0.0, where_less(f, 0.0, -f, f), 0.0, 1.0)
                more = where_less(len(forces) - terms.left_out, count, valid, 0.0)
                valid = where_less(0.0, count, where_less(count, 1.0, valid, more), 0.0)
            return [valid]

        self.m.scalar_function([*parts, self.valid], [self.valid], clear)
