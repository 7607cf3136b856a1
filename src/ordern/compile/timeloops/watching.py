"""Events in steps of a fixed length: where functions of (t, q, v) change sign, per lane, and lanes that end there.

After each step the functions are evaluated, and compared with their last values that were not zero. Only if one has
changed its sign in some lane, the moment is located: the step is taken again from its start, with the length s h, and s
in [0, 1] is moved until the function vanishes. So the state at the event is one that the method itself reaches, with
its own order of accuracy. The search for s is the Illinois variant of false position,

    s = b - g_b (b - a) / (g_b - g_a),    and the value of an end that stays twice is halved,

and halving where that has not ended after some rounds, as with a function that jumps. Every lane has its own s and is
left alone once it is done, so that a trajectory does not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...graph import where_less
from ..emit.builder import Builder, Value
from .event_program import Watched
from .impacts import any_lane
from .machine import Emitter, Tile

__all__ = ["Watching", "marks_size"]

_FALSE_POSITION, _HALVINGS = 12, 44
"""The most rounds of each kind."""
_CLOSE = {"float64": 1e-12, "float32": 1e-6}
"""The search ends where s changes by less than this part of a step."""


def marks_size(events: int, nq: int, nv: int) -> int:
    """Return how many numbers are kept of a trajectory: see `Watching.marks`."""
    return events * (4 + nq + nv)


class Watching:
    """Writes the sequences of events; `emit` and `emit_start` write the calls of them."""

    def __init__(self, m: Emitter, events: Sequence[Watched], q: Tile, v: Tile, plain: bool) -> None:
        """Reserve memory for events at the state (q, v); a `plain` step has nothing that follows its formulas."""
        self.m, self.events, self._q, self._v = m, events, q, v
        n, nq, nv = len(events), m.model.nq, m.model.nv
        self.stops = any(x.terminal for x in events)
        self._held = plain and self.stops
        """True if the step itself leaves lanes that have ended where they are."""
        self.marks = m.tile(marks_size(n, nq, nv))
        """Of each event: its last value that was not zero, the number of crossings; the step of the first one, the
        part of that step, and its state."""
        last, count, step, part = (self.marks.at + k * n for k in range(4))
        self._last, self._count, self._step, self._part = (_singles(Tile(x, n)) for x in (last, count, step, part))
        kept_q = self.marks.at + 4 * n
        self._kept_q = [Tile(kept_q + e * nq, nq) for e in range(n)]
        self._kept_v = [Tile(kept_q + n * nq + e * nv, nv) for e in range(n)]
        self.clock, self.running, self._some, self._whole, self._moment = (m.tile(1) for _ in range(5))
        """The number of steps that are done, 1 in lanes that have not ended, 1 or more where a function has changed
        its sign, the length of a step, and the time at which functions are evaluated."""
        self.q_before, self.v_before = m.tile(nq), m.tile(nv)
        self._q_end, self._v_end, self._valid = m.tile(nq), m.tile(nv), m.tile(1)
        values, ends, starts, crossed, wanted, found = (m.tile(n) for _ in range(6))
        self._g, self._g_end, self._g_start = _singles(values), _singles(ends), _singles(starts)
        self._crossed, self._wanted, self._found = _singles(crossed), _singles(wanted), _singles(found)
        self._found_q, self._found_v = [m.tile(nq) for _ in events], [m.tile(nv) for _ in events]
        bracket = _singles(m.tile(8))
        self._a, self._ga, self._b, self._gb, self._side, self._s, self._moving, self._sign = bracket
        m.arguments |= {f"watched{e}": (m.q,) for e, x in enumerate(events) if x.frame is not None}

    def note_start(self) -> None:
        """Copy the state before a step, as a part of its sequence."""
        before = [*_singles(self.q_before), *_singles(self.v_before)]
        self._scalar([*_singles(self._q), *_singles(self._v)], before, lambda *x: x)

    def take_over(self, source: Tile, to: Tile) -> None:
        """Copy the result of a step's formulas."""
        if self._held:
            self._select(self.running, source, to, to)
        else:
            self.m.copy(source, to)

    def write(self) -> None:
        """Write all sequences, after that of the step."""
        self._write_values()
        self._write_watch()
        self._write_search()
        self._write_settle()

    def _scalar(self, inputs: Sequence[Tile], outputs: Sequence[Tile], function: Callable[..., Sequence[Any]]) -> None:
        self.m.scalar_function(inputs, outputs, lambda x: function(*x))

    def _select(self, test: Tile, yes: Tile, no: Tile, to: Tile) -> None:
        """Copy one of two values, by a test in each lane."""
        self.m.function(
            to.size,
            lambda e: e.store_at(e.select_less(e.constant(0.5), e.once(test), e.load_at(yes), e.load_at(no)), to),
        )

    def _write_values(self) -> None:
        """Write "values": all functions at the state and at the moment."""
        self._write_poses()
        inputs = [Tile(self._tile(e, name).at + k, 1) for e, name, k in self._leaves]
        self._scalar(inputs, self._g, lambda *x: self._values(dict(zip(self._leaves, x, strict=True))))
        self.m.sequence("values")

    def _write_poses(self) -> None:
        """Call the kernels of the frames that functions are about."""
        for e, x in enumerate(self.events):
            if x.frame is not None:
                self.m.copy(self._q, self.m.q)
                self.m.kernel(f"watched{e}")

    @property
    def _leaves(self) -> list[tuple[int, str, int]]:
        """The numbers that functions read: the event, the name, and the place there."""
        return list(dict.fromkeys((e, name, k) for e, x in enumerate(self.events) for name, k in x.leaves))

    def _tile(self, e: int, name: str) -> Tile:
        """Return the place of what the function of an event reads."""
        return {"t": self._moment, "q": self._q, "v": self._v}.get(name) or self.m.results[f"watched{e}"]

    def _values(self, numbers: dict[tuple[int, str, int], Any]) -> list[Any]:
        """Return the values of all functions."""
        return [x.value(lambda leaf, e=e: numbers[e, leaf[0], leaf[1]]) for e, x in enumerate(self.events)]  # type: ignore[misc]

    def _write_watch(self) -> None:
        """Write what happens at the start, and after each step."""
        m = self.m
        m.copy(m.h, self._whole)
        self._scalar([self.clock, m.h], [self._moment], lambda n, h: [n * h])
        terminal = [self._count[e] for e, x in enumerate(self.events) if x.terminal]
        self._scalar(terminal, [self.running], lambda *counts: [_and_not(1.0, counts)])
        m.sequence("watch_start")
        for last, g in zip(self._last, self._g, strict=True):
            self._scalar([last, g], [last], lambda last, g: [_renewed(last, g)])
        m.sequence("watch_first")
        if any(x.frame is not None for x in self.events):
            self._write_parts()
        else:
            self._write_whole()
        m.sequence("watch")

    def _write_parts(self) -> None:
        """Write "watch" around kernels."""
        self._scalar(*self._arrival())
        self._write_poses()
        places = [Tile(self._tile(e, name).at + k, 1) for e, name, k in self._leaves]
        more = [self.running, *self._last]

        def judged(*x: Any) -> list[Any]:
            running, *last = x[: len(more)]
            g = self._values(dict(zip(self._leaves, x[len(more) :], strict=True)))
            return [*g, *self._judged(running, last, g)]

        self._scalar([*more, *places], [*self._g, *self._last, *self._crossed, self._some], judged)

    def _write_whole(self) -> None:
        """Write "watch" as one function, so that numbers stay in registers."""
        inputs, outputs, arrive = self._arrival()

        def watch(*x: Any) -> list[Any]:
            arrived, last = arrive(*x[: len(inputs)]), x[len(inputs) :]
            known = {tile.at: y for tile, y in zip(inputs, x, strict=False)}
            known |= {tile.at: y for tile, y in zip(outputs, arrived, strict=True)}
            g = self._values({(e, name, k): known[self._tile(e, name).at + k] for e, name, k in self._leaves})
            return [*arrived, *g, *self._judged(x[0], last, g)]

        to = [*outputs, *self._g, *self._last, *self._crossed, self._some]
        self._scalar([*inputs, *self._last], to, watch)

    def _arrival(self) -> tuple[list[Tile], list[Tile], Callable[..., list[Any]]]:
        """Return what happens before functions are evaluated: lanes that have ended stay, and time goes on."""
        q, v, before = _singles(self._q), _singles(self._v), [*_singles(self.q_before), *_singles(self.v_before)]
        state, n = [*q, *v], len(q) + len(v)
        stops = self.stops and not self._held

        def arrive(running: Any, clock: Any, h: Any, *x: Any) -> list[Any]:
            stay = zip(x[:n], x[n:], strict=True) if stops else ()
            return [clock + 1.0, (clock + 1.0) * h, *(where_less(0.5, running, new, old) for new, old in stay)]

        inputs = [self.running, self.clock, self.m.h, *state, *(before if stops else ())]
        return inputs, [self.clock, self._moment, *(state if stops else ())], arrive

    def _judged(self, running: Any, last: Sequence[Any], g: Sequence[Any]) -> list[Any]:
        """Return the last values that are not zero, 1 for functions that have changed sign, and the sum of these."""
        crossed = []
        for x, before, now in zip(self.events, last, g, strict=True):
            up = where_less(before, 0.0, where_less(0.0, now, 1.0, 0.0), 0.0) if x.direction >= 0 else 0.0
            down = where_less(0.0, before, where_less(now, 0.0, 1.0, 0.0), 0.0) if x.direction <= 0 else 0.0
            crossed.append(where_less(0.5, running, up + down, 0.0) if self.stops else up + down)
        renewed = [_renewed(*pair) for pair in zip(last, g, strict=True)]
        return [*renewed, *crossed, sum(crossed[1:], crossed[0])]

    def _write_search(self) -> None:
        """Write the parts of the search for the moments of events."""
        m = self.m
        ends = [(self._q, self._q_end), (self._v, self._v_end), *zip(self._g, self._g_end, strict=True)]
        if m.projection is not None:
            ends.append((m.projection.valid, self._valid))
        for source, to in ends:
            m.copy(source, to)
        self._rewind()
        for e in range(len(self.events)):
            ending = [self._crossed[k] for k, x in enumerate(self.events) if x.terminal]

            def needed(crossed: Any, count: Any, *ending: Any) -> list[Any]:
                again = where_less(0.5, sum(ending[1:], ending[0]), crossed, 0.0) if ending else 0.0
                return [where_less(count, 0.5, crossed, again), 0.0]

            self._scalar([self._crossed[e], self._count[e], *ending], [self._wanted[e], self._found[e]], needed)
        self._scalar([self.clock, self._whole], [self._moment], lambda n, h: [(n - 1.0) * h])
        m.sequence("rewind")
        for source, to in zip(self._g, self._g_start, strict=True):
            m.copy(source, to)
        m.sequence("note_start")
        bracket = [self._a, self._ga, self._b, self._gb, self._side, self._s, self._moving, self._sign]
        for e in range(len(self.events)):

            def begin(start: Any, end: Any, wanted: Any) -> list[Any]:
                sign = where_less(0.0, end, 1.0, -1.0)
                return [0.0, sign * start, 1.0, sign * end, 0.0, 0.0, wanted, sign]

            self._scalar([self._g_start[e], self._g_end[e], self._wanted[e]], bracket, begin)
            m.sequence(f"bracket{e}")
            self._scalar([*bracket, self._g[e]], bracket, self._narrowed)
            m.sequence(f"narrow{e}")
            for source, to in ((self._s, self._found[e]), (self._q, self._found_q[e]), (self._v, self._found_v[e])):
                m.copy(source, to)
            m.sequence(f"found{e}")
        for name, s in (("guess", lambda a, ga, b, gb: b - gb * (b - a) / (gb - ga)), ("halve", _middle)):
            self._scalar(
                [self._a, self._ga, self._b, self._gb, self._s, self._moving],
                [self._s],
                lambda a, ga, b, gb, old, moving, s=s: [where_less(0.5, moving, s(a, ga, b, gb), old)],
            )
            self._rewind()
            self._scalar([self._s, self._whole], [m.h], lambda s, h: [s * h])
            m.sequence(name)
        self._scalar([self.clock, self._s, self._whole], [self._moment], lambda n, s, h: [(n - 1.0 + s) * h])
        m.sequence("arrive")

    def _rewind(self) -> None:
        """Go back to the start of the step."""
        for source, to in ((self.q_before, self._q), (self.v_before, self._v)):
            self.m.copy(source, to)

    def _narrowed(
        self, a: Any, ga: Any, b: Any, gb: Any, side: Any, s: Any, moving: Any, sign: Any, g: Any
    ) -> list[Any]:
        """Return the bracket after the function was evaluated at s; it rises from a to b."""
        g = sign * g

        def chosen(above: Any, below: Any, old: Any) -> Any:
            return where_less(0.5, moving, where_less(0.0, g, above, below), old)

        near = where_less(0.5, side, 0.5, 1.0), where_less(side, -0.5, 0.5, 1.0)
        nearest = where_less(b - s, s - a, b - s, s - a)
        further = where_less(_CLOSE[self.m.target.dtype], nearest, 1.0, 0.0)
        further = where_less(0.0, g, further, where_less(g, 0.0, further, 0.0))  # not from a zero, nor from NaN
        return [
            chosen(a, s, a),
            chosen(near[0] * ga, g, ga),
            chosen(s, b, b),
            chosen(g, near[1] * gb, gb),
            chosen(1.0, -1.0, side),
            s,
            where_less(0.5, moving, further, 0.0),
            sign,
        ]

    def _write_settle(self) -> None:
        """Write "settle": take the events up to the first that ends the trajectory, and go on from there."""
        m, n, events = self.m, len(self.events), self.events
        taken, first, ends = (_singles(m.tile(n)) for _ in range(3))

        def settle(running: Any, *x: Any) -> list[Any]:
            crossed, found, count = x[:n], x[n : 2 * n], x[2 * n :]
            stop: Any = 2.0
            for e, event in enumerate(events):
                if event.terminal:
                    earlier = where_less(found[e], stop, found[e], stop)
                    stop = where_less(0.5, crossed[e], earlier, stop)
            in_time = [where_less(stop, s, 0.0, c) for s, c in zip(found, crossed, strict=True)]
            new = [where_less(c, 0.5, t, 0.0) for c, t in zip(count, in_time, strict=True)]
            over = [t if event.terminal else 0.0 for t, event in zip(in_time, events, strict=True)]
            return [where_less(stop, 1.5, 0.0, running), *in_time, *new, *over]

        outputs = [self.running, *taken, *first, *ends]
        self._scalar([self.running, *self._crossed, *self._found, *self._count], outputs, settle)
        for e in range(n):
            self._scalar(
                [first[e], taken[e], self._count[e], self._step[e], self._part[e], self.clock, self._found[e]],
                [self._count[e], self._step[e], self._part[e]],
                lambda first, taken, count, step, part, clock, s: [
                    count + taken,
                    where_less(0.5, first, clock - 1.0, step),
                    where_less(0.5, first, s, part),
                ],
            )
            self._select(first[e], self._found_q[e], self._kept_q[e], self._kept_q[e])
            self._select(first[e], self._found_v[e], self._kept_v[e], self._kept_v[e])
            if events[e].terminal:
                self._select(ends[e], self._found_q[e], self._q_end, self._q_end)
                self._select(ends[e], self._found_v[e], self._v_end, self._v_end)
        back = [(self._q_end, self._q), (self._v_end, self._v), (self._whole, m.h)]
        if m.projection is not None:
            back.append((self._valid, m.projection.valid))
        for source, to in back:
            m.copy(source, to)
        m.sequence("settle")

    def emit_start(self, run: Callable[[str], None]) -> None:
        """Emit the calls before the first step of a tile."""
        for name in ("watch_start", "values", "watch_first"):
            run(name)

    def emit(self, b: Builder, run: Callable[[str], None], workspace: Value, take: Callable[[], None]) -> None:
        """Emit the calls after a step; `take` emits one step."""
        vector = self.m.target.vector

        def some(tile: Tile) -> Value:
            return any_lane(b, self.m, workspace.at(tile.at, vector))

        run("watch")
        with b.if_(some(self._some)):
            for name in ("rewind", "values", "note_start"):
                run(name)
            for e in range(len(self.events)):
                with b.if_(some(self._wanted[e])):
                    run(f"bracket{e}")
                    with b.repeat():
                        k = b.carried(0)
                        with b.if_else(k.value < _FALSE_POSITION) as (early, late):
                            with early:
                                run("guess")
                            with late:
                                run("halve")
                        take()
                        for name in ("arrive", "values", f"narrow{e}"):
                            run(name)
                        k.next = k.value + 1
                        b.leave_unless(some(self._moving) & (k.next < _FALSE_POSITION + _HALVINGS))
                    run(f"found{e}")
            run("settle")


def _middle(a: Any, ga: Any, b: Any, gb: Any) -> Any:
    return 0.5 * (a + b)


def _renewed(last: Any, g: Any) -> Any:
    """Return the last value that is not zero."""
    return where_less(g, 0.0, g, where_less(0.0, g, g, last))


def _and_not(x: Any, tests: Sequence[Any]) -> Any:
    """Return a number, or zero where one of some tests holds."""
    for test in tests:
        x = where_less(0.5, test, 0.0, x)
    return x


def _singles(tile: Tile) -> list[Tile]:
    """Return the numbers of a vector, each as a vector of its own."""
    return [Tile(tile.at + k, 1) for k in range(tile.size)]
