"""Hard stops in steps of a fixed length: joints that end a step beyond a limit are set back, and strike it.

With u the velocities away from the stops at the end of the step, u_0 those at its start, e the restitution and Y_k the
response of all joints to a unit impulse of stop k, impulses p >= 0 are found by projected Gauss-Seidel sweeps

    d = max(p_k + (max(-e u_0k, 0) - u_k) / Y_k[k], 0) - p_k,    p_k <- p_k + d,    v <- v + d Y_k

The velocity at the start of a step tells a joint that strikes from one that rests: this one does not bounce. Every lane
has its own stops.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..emit.builder import Builder, Value
from .machine import Emitter, Numbers, Tile

__all__ = ["Impacts", "any_lane"]

_SWEEPS = 200
"""The most sweeps. One is enough for a single joint."""
_CHANGE = {"float64": 1e-13, "float32": 1e-5}
"""Sweeps end where they change velocities by less than this part."""


def any_lane(b: Builder, m: Emitter, place: Value) -> Value:
    """Test whether the number of some lane is above zero."""
    lanes, vector, align = m.target.lanes, m.target.vector, min(64, m.target.lanes * m.target.itemsize)
    numbers = b.value(f"load {vector}, ptr {place}, align {align}")
    above = b.value(f"fcmp ogt {vector} {numbers}, zeroinitializer")
    bits = b.value(f"bitcast <{lanes} x i1> {above} to i{lanes}")
    return b.typed("i1", f"icmp ne i{lanes} {bits}, 0")


class Impacts:
    """Writes "touch", which finds the lanes with joints beyond limits, and "strike", which lets these strike."""

    def __init__(self, m: Emitter, places: Sequence[tuple[int, int]]) -> None:
        """`places` are those of limited coordinates in q and of their rates in v."""
        self.m, self._places, n = m, places, len(places)
        nq = m.model.nq
        self.limits = m.tile(1 + 2 * nq)
        """The restitution, lower limits and upper limits."""
        self._lower, self._upper = Tile(self.limits.at + 1, nq), Tile(self.limits.at + 1 + nq, nq)
        self._side, self._wanted, self._impulse = m.tile(n), m.tile(n), m.tile(n)
        self.touched, self._size, self._moving = m.tile(1), m.tile(1), m.tile(1)
        self._unit, self._responses = m.tile(m.model.nv), m.tile(n * m.model.nv)
        m.arguments["mass_matrix_solve"] = (m.q, self._unit)
        m.kernel("mass_matrix_solve")
        m.sequence("respond")
        for name, column in (("q", 0), ("v", 1)):
            listed = ", ".join(f"i64 {place[column]}" for place in places)
            m.include(f"@limited_{name} = internal constant [{n} x i64] [{listed}]")

    def write(self, q: Tile, v: Tile, before: Tile) -> None:
        """Write both functions for the end of a step, with the velocities `before` it."""
        self.m.include(self._touch(q, v, before))
        self.m.include(self._strike(q, v))

    def _touch(self, q: Tile, v: Tile, before: Tile) -> str:
        """Return the IR text of @touch."""
        e, vector = Numbers(self.m.target, arguments=("ptr %ws", "ptr %datas")), self.m.target.vector
        at, zero = e.place, e.constant(0.0)
        with e.counted(len(self._places)) as k:
            i, j = (e.const(f"@limited_{name}", "ptr").load("i64", k) for name in ("q", "v"))
            touched = e.carried(e.const(zero, vector))
            x, low, high = (e.load(at(tile, i)) for tile in (q, self._lower, self._upper))
            side = e.select_less(x, low, e.constant(1.0), e.select_less(high, x, e.constant(-1.0), zero))
            x = e.select_less(x, low, low, e.select_less(high, x, high, x))
            start = e.binary("fmul", side, e.load(at(before, j)))
            bounce = e.negate(e.binary("fmul", e.load(at(self.limits)), start))
            e.store(x, at(q, i))
            e.store(side, at(self._side, k))
            e.store(e.select_less(start, zero, bounce, zero), at(self._wanted, k))
            e.store(zero, at(self._impulse, k))
            touched.next = e.const(e.binary("fadd", touched.value.name, e.intrinsic("fabs", side)), vector)
        e.store(touched.next.name, at(self.touched))
        return e.text("@touch")

    def _strike(self, q: Tile, v: Tile) -> str:
        """Return the IR text of @strike."""
        m, nv, n, vector = self.m, self.m.model.nv, len(self._places), self.m.target.vector
        e = Numbers(m.target, arguments=("ptr %ws", "ptr %datas"))
        at, zero, one = e.place, e.constant(0.0), e.constant(1.0)

        def struck(k: Value) -> tuple[Value, str, Value]:
            """Return the place in v of stop k, its side, and its response; go on unless some lane touches it."""
            side = e.load(at(self._side, k))
            e.store(e.intrinsic("fabs", side), at(self._size))
            e.leave_unless(any_lane(e, m, at(self._size)))
            return e.const("@limited_v", "ptr").load("i64", k), side, at(self._responses, k * nv)

        with e.counted(m.model.nq) as d:
            e.store(e.load(at(q, d)), at(m.q, d))
        with e.counted(n) as k, e.block():
            j, _, response = struck(k)
            e.store(one, at(self._unit, j))
            e.call("@respond", *e.arguments)
            e.store(zero, at(self._unit, j))
            with e.counted(nv) as d:
                e.store(e.load(at(m.results["mass_matrix_solve"], d)), response.at(d, vector))
        with e.repeat():
            sweep = e.carried(0)
            moving = at(self._moving)
            e.store(zero, moving)
            with e.counted(n) as k, e.block():
                j, side, response = struck(k)
                pivot = e.load(response.at(j, vector))
                wanted, before = e.load(at(self._wanted, k)), e.load(at(self._impulse, k))
                speed = e.binary("fmul", side, e.load(at(v, j)))
                after = e.binary("fadd", before, e.binary("fdiv", e.binary("fsub", wanted, speed), pivot))
                after = e.select_less(zero, after, after, zero)
                after = e.select_less(zero, e.intrinsic("fabs", side), after, zero)
                e.store(after, at(self._impulse, k))
                change = e.binary("fsub", after, before)
                size = e.binary("fadd", wanted, e.intrinsic("fabs", speed))
                least = e.binary("fmul", e.constant(_CHANGE[m.target.dtype]), size)
                moved = e.intrinsic("fabs", e.binary("fmul", change, pivot))
                e.store(e.select_less(least, moved, one, e.load(moving)), moving)
                change = e.binary("fmul", side, change)
                with e.counted(nv) as d:
                    to = at(v, d)
                    e.store(e.binary("fadd", e.load(to), e.binary("fmul", change, e.load(response.at(d, vector)))), to)
            sweep.next = sweep.value + 1
            e.leave_unless(any_lane(e, m, moving) & (sweep.next < _SWEEPS))
        return e.text("@strike")
