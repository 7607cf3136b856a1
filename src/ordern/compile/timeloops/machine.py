"""Time loops as native code: the machine that emits an integrator's step, and the kernels that it calls.

A time loop is one module: the bodies of the kernels that a step needs (forward dynamics, passive forces, rates and
steps of positions), all on one workspace; small functions for the sums between them; and a loop around it all, which
`fixed` and `adaptive` write. The step is any text over the machine's operations (those of
`ordern.simulate.integrators.rk_step`): values are tiles of the workspace, one vector of states for each number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...algorithms import find
from ...graph import Node, count
from ...joints import Joint
from ...model import Model
from ...records import dataclass
from ..emit.entry_points import attributes
from ..emit.nodes import TextEmitter, declarations
from ..emit.rolled import emit_rolled
from ..emit.target import Target, narrow_target, target
from ..emit.tiles import tile_functions
from ..program import _choose, _trace
from ..request import Request, layout_of
from ..trace.layout import Layout, Operand
from ..trace.roll import trace_rolled
from ..trace.rolled_count import estimate
from ..trace.unroll import emit_unrolled, trace_unrolled
from .code import LoopCode

__all__ = ["Emitted", "Emitter", "Kernels", "Slope", "Tile", "is_flat", "part_request", "sequence"]


@dataclass(frozen=True, slots=True)
class Tile:
    """A value: where its vectors are in the workspace."""

    at: int
    size: int


@dataclass(frozen=True, slots=True)
class Slope:
    """Rates of positions, velocities and works: what `ordern.simulate.integrators.rk_step` calls a point."""

    q: Tile
    v: Tile
    w: Tile


@dataclass(frozen=True, slots=True)
class _Placed(Layout):
    """A layout whose tiles are anywhere in a workspace."""

    tiles: tuple[int, ...]
    result: int
    free: int

    def input_tile(self, k: int) -> int:
        return self.tiles[k]

    @property
    def output_tile(self) -> int:
        return self.result

    @property
    def scratch(self) -> int:
        return self.free


def is_flat(model: Model) -> bool:
    """Whether positions simply change at the velocities, so that there is nothing to convert and to project."""
    return all(type(c.type).integrate is Joint.integrate and type(c.type).rate is Joint.rate for c in model.joints)


def part_request(model: Model, question: str, method: str | None = None, way: str | None = None) -> Request:
    """A question without optional arguments."""
    asked, algorithm = find(question, method)
    return Request(model, asked, algorithm, frozenset(), (), way)


class Kernels:
    """The traced kernels of a time loop, and the vectors that suit all of them."""

    def __init__(self, requests: Mapping[str, Request], dtype: str, lanes: int | None) -> None:
        self.requests = dict(requests)
        self.ways = {name: request.way or _choose(request) for name, request in self.requests.items()}
        self.rolled = tuple(name for name, way in self.ways.items() if way == "rolled")
        self.target: Target = narrow_target(dtype, 256) if self.rolled and not lanes else target(dtype, lanes)
        self._traced: dict[str, Any] = {}
        self.operations, self.freedoms = 0, False
        for name, request in self.requests.items():
            tracer = trace_rolled if name in self.rolled else trace_unrolled
            traced = self._traced[name] = _trace(request, tracer, layout_of(request, self.target.lanes))
            if name in self.rolled:
                self.operations += estimate(traced).total
                self.freedoms |= traced.has_freedoms
            else:
                self.operations += count(x for x in traced if isinstance(x, Node)).total

    def text(self, name: str, layout: Layout) -> tuple[str, int]:
        """IR text of @{name}_init and @{name}_body, and the end of the workspace that they use."""
        emit: Callable[..., tuple[str, int]] = emit_rolled if name in self.rolled else emit_unrolled
        text, size = emit(self._traced[name], layout, self.target)
        return re.sub(r"@(init|body|constants|chunk\d+)\b", rf"@{name}_\1", text), size

    def code(self, made: bytes, workspace: int) -> LoopCode:
        """What was compiled of them."""
        return LoopCode(made, workspace, self.operations, self.target.lanes, self.rolled, self.freedoms)


@dataclass(frozen=True, slots=True)
class Emitted:
    """The text of a time loop, but for the loop."""

    text: str
    workspace: int


class Emitter:
    """The machine that emits: every operation is a small function, and a call of it.

    `@{name}` of a sequence calls its operations one after the other, with the workspace and the kernels' tables.
    """

    def __init__(self, kernels: Kernels, model: Model, works: bool) -> None:
        self.kernels, self.model, self.works = kernels, model, works
        self.target = kernels.target
        self.flat = is_flat(model)
        self.feedback = "difference" in kernels.requests
        self._end = 0
        self._functions: list[str] = []
        self._calls: list[str] = []
        self._results: dict[str, Tile] = {}
        self._copied: dict[Tile, Tile] = {}
        nq, nv = model.nq, model.nv
        self.q, self.v, self.force = self.tile(nq), self.tile(nv), self.tile(nv)
        """Where kernels read positions, velocities and joint forces."""
        self.applied, self.slanted = self.tile(nv), self.tile(nv)
        """The drives' forces, and how fast they change."""
        self.goal = self.tile(nq)
        """What feedback leads to."""
        self.numbers = self.tile(5 + 2 * nv)
        """The step, the smoothing of friction, the time since the forces were `applied`, rtol, atol; gains."""
        at = self.numbers.at
        self.h, self.smoothing, self.since, self.rtol, self.atol = (Tile(at + k, 1) for k in range(5))
        self.stiffness, self.damping = Tile(at + 5, nv), Tile(at + 5 + nv, nv)
        self._arguments = {
            "dynamics": (self.q, self.v, self.force),
            "passive": (self.q, self.v, self.smoothing),
            "integrate": (self.q, self.v, self.h),
            "euler_position": (self.q, self.v, self.force, self.h),
            "euler_velocity": (self.q, self.v, self.force, self.h),
            "rate": (self.q, self.v),
            "project": (self.q,),
            "difference": (self.q, self.goal),
        }
        for name, request in kernels.requests.items():
            self._results[name] = self.tile(layout_of(request, 1).output.size)

    def tile(self, size: int) -> Tile:
        """New memory, of whole blocks, so that states can be transposed into it."""
        lanes = self.target.lanes
        made = Tile(self._end, size)
        self._end += -(-size // lanes) * lanes
        return made

    # operations of a step ------------------------------------------------------------------------------------------

    def slope(self, node: float, q: Tile, v: Tile) -> Slope:
        """The rates at a stage."""
        w = self.tile(2)
        return Slope(self.rate(q, v), self._accelerated(node, q, v, w), w)

    def acceleration(self, node: float, q: Tile, v: Tile) -> Tile:
        """dv/dt at a stage."""
        return self._accelerated(node, q, v, None)

    def rate(self, q: Tile, v: Tile) -> Tile:
        """dq/dt."""
        if self.flat:
            return v
        self.copy(q, self.q)
        self.copy(v, self.v)
        return self._call("rate")

    def euler(self, q: Tile, v: Tile, a: Tile) -> tuple[Tile, Tile]:
        """A step of semi-implicit Euler: by the joints, where one has a step of its own."""
        self.copy(q, self.q)
        if "integrate" in self.kernels.requests:
            after = self.add(v, ((1.0, a),))
            self.copy(after, self.v)
            return self._call("integrate"), after
        self.copy(v, self.v)
        self.copy(a, self.force)
        self._kernel("euler_position")  # once in a step, at its end: results need no memory of their own
        self._kernel("euler_velocity")
        return self._results["euler_position"], self._results["euler_velocity"]

    def project(self, q: Tile) -> Tile:
        """Quaternions made units."""
        if self.flat:
            return q
        self.copy(q, self.q)
        return self._call("project")

    def add(self, x: Tile | None, terms: Sequence[tuple[float, Tile]]) -> Tile:
        """A weighted sum, times the step."""
        made = self.tile(terms[0][1].size)

        def body(e: _Loop) -> None:
            total = ""
            for c, k in terms:
                product = e.load_at(k) if c == 1.0 else e.binary("fmul", e.constant(c), e.load_at(k))
                total = e.binary("fadd", total, product) if total else product
            step = e.binary("fmul", e.once(self.h), total)
            e.store_at(step if x is None else e.binary("fadd", e.load_at(x), step), made)

        self.function(made.size, body)
        return made

    def error(self, before: Any, after: Any, q: Tile, v: Tile) -> Tile:
        """The mean square of (q, v), relative to the tolerance."""
        made = self.tile(1)
        share = 1.0 / max(1, q.size + v.size)
        parts = ((before.q, after.q, q), (before.v, after.v, v))
        for first, (y0, y1, error) in zip((True, False), parts, strict=True):

            def body(e: _Loop, y0: Tile = y0, y1: Tile = y1, error: Tile = error) -> None:
                a, b = e.intrinsic("fabs", e.load_at(y0)), e.intrinsic("fabs", e.load_at(y1))
                larger = e.select_less(a, b, b, a)
                scale = e.binary("fadd", e.once(self.atol), e.binary("fmul", e.once(self.rtol), larger))
                r = e.binary("fdiv", e.load_at(error), scale)
                e.sum(0, e.binary("fmul", r, r))

            def after_it(e: _Loop, sums: list[str], first: bool = first) -> None:
                mean = e.binary("fmul", e.constant(share), sums[0])
                e.store(mean if first else e.binary("fadd", e.load("%ws", made.at), mean), "%ws", made.at)

            self.function(error.size, body, 1, after_it)
        return made

    # what they are made of -----------------------------------------------------------------------------------------

    def copy(self, source: Tile, to: Tile) -> None:
        """Copy a value, unless it is there: within a sequence no value is written twice."""
        if source != to and self._copied.get(to) != source:
            if to in (self.q, self.v):
                self._copied[to] = source
            self.function(to.size, lambda e: e.store_at(e.load_at(source), to))

    def _call(self, name: str) -> Tile:
        """Call a kernel; its result in memory of its own."""
        self._kernel(name)
        result = self._results[name]
        made = self.tile(result.size)
        self.copy(result, made)
        return made

    def _kernel(self, name: str) -> None:
        place = sorted(self.kernels.requests).index(name)
        pointer = f"%d{len(self._calls)}"
        self._calls += [
            f"  {pointer}_at = getelementptr ptr, ptr %datas, i64 {place}",
            f"  {pointer} = load ptr, ptr {pointer}_at",
            f"  call void @{name}_body(ptr {pointer}, ptr %ws)",
        ]

    def _accelerated(self, node: float, q: Tile, v: Tile, works: Tile | None) -> Tile:
        self.copy(q, self.q)
        self.copy(v, self.v)
        passive = "passive" in self.kernels.requests
        if passive:
            self._kernel("passive")
        if self.feedback:
            self._kernel("difference")

        def body(e: _Loop) -> None:
            force = e.load_at(self.applied)
            if self.works:
                time = e.binary("fadd", e.once(self.since), e.binary("fmul", e.constant(node), e.once(self.h)))
                force = e.binary("fadd", force, e.binary("fmul", time, e.load_at(self.slanted)))
            speed = e.load_at(self.v)
            if self.feedback:
                pull = e.binary("fmul", e.load_at(self.stiffness), e.load_at(self._results["difference"]))
                brake = e.binary("fmul", e.load_at(self.damping), speed)
                force = e.binary("fadd", force, e.binary("fsub", pull, brake))
            if works:
                e.sum(0, e.binary("fmul", force, speed))
            if passive:
                own = e.load_at(self._results["passive"])
                if works:
                    e.sum(1, e.binary("fmul", own, speed))
                force = e.binary("fadd", force, own)
            e.store_at(force, self.force)

        def after(e: _Loop, sums: list[str]) -> None:
            if works:
                e.store(sums[0], "%ws", works.at)
                e.store(e.negate(sums[1]) if passive else e.constant(0.0), "%ws", works.at + 1)

        self.function(self.force.size, body, (2 if passive else 1) if works else 0, after)
        return self._call("dynamics")

    def function(
        self,
        n: int,
        body: Callable[[_Loop], None],
        sums: int = 0,
        after: Callable[[_Loop, list[str]], None] | None = None,
    ) -> None:
        """A function that does something for each of n numbers, and a call of it."""
        name = f"@operation{len(self._functions)}"
        self._functions.append(_Loop(self.target).text(name, n, body, sums, after))
        self._calls.append(f"  call void {name}(ptr %ws)")

    def raw(self, text: str, call: str) -> None:
        """A function of the caller's own, and a call of it."""
        self._functions.append(text)
        self._calls.append(f"  {call}")

    def sequence(self, name: str) -> None:
        """All calls since the last sequence as one function."""
        self._functions.append(sequence(name, self._calls))
        self._calls = []
        self._copied = {}

    def finish(self) -> Emitted:
        """All functions, those of the kernels included, and the size of the workspace."""
        texts, end = [declarations(self.target), tile_functions(self.target)], self._end
        names = sorted(self.kernels.requests)
        for name in names:
            plain = layout_of(self.kernels.requests[name], self.target.lanes)
            tiles = tuple(tile.at for tile in self._arguments[name])
            inputs: tuple[Operand, ...] = plain.inputs
            placed = _Placed(inputs, plain.output, plain.lanes, tiles, self._results[name].at, self._end)
            text, size = self.kernels.text(name, placed)
            texts.append(text)
            end = max(end, size)
        inits = []
        for k, name in enumerate(names):
            inits += [
                f"  %i{k}_at = getelementptr ptr, ptr %datas, i64 {k}",
                f"  %i{k} = load ptr, ptr %i{k}_at",
                f"  call void @{name}_init(ptr %i{k}, ptr %ws)",
            ]
        texts += [*self._functions, sequence("start", inits), attributes(self.target)]
        return Emitted("\n".join(texts), end)


def sequence(name: str, lines: Sequence[str]) -> str:
    """A function of calls."""
    return "\n".join([f"define internal void @{name}(ptr %ws, ptr %datas) #0 {{", *lines, "  ret void", "}"])


class _Loop(TextEmitter):
    """Writes a function that does something for each k."""

    def text(
        self,
        name: str,
        n: int,
        body: Callable[[_Loop], None],
        sums: int,
        after: Callable[[_Loop, list[str]], None] | None,
    ) -> str:
        """The function's text."""
        self._before: list[str] = []
        self._known: dict[int, str] = {}
        self._totals = [f"%sum{k}" for k in range(sums)]
        start = self.constant(0.0)
        ends = list(self._totals)
        if n:
            body(self)
            ends = [f"{total}_next" for total in self._totals]
        inner, self.lines = self.lines, []
        loop = [
            "  br label %loop",
            "loop:",
            "  %k = phi i64 [ 0, %entry ], [ %k_next, %loop ]",
            *(
                f"  {s} = phi {self._vector} [ {start}, %entry ], [ {e}, %loop ]"
                for s, e in zip(self._totals, ends, strict=True)
            ),
            *inner,
            "  %k_next = add i64 %k, 1",
            f"  %more = icmp slt i64 %k_next, {n}",
            "  br i1 %more, label %loop, label %end",
            "end:",
        ]
        if not n:
            loop, ends = [], [start] * sums
        if after:
            after(self, ends)
        return "\n".join(
            [
                f"define internal void {name}(ptr %ws) #0 {{",
                "entry:",
                *self._before,
                *loop,
                *self.lines,
                "  ret void",
                "}",
            ]
        )

    def load_at(self, tile: Tile) -> str:
        """Number k of a value."""
        return self.load(self._pointer(tile), 0)

    def store_at(self, name: str, tile: Tile) -> None:
        """Write number k of a value."""
        self.store(name, self._pointer(tile), 0)

    def once(self, tile: Tile) -> str:
        """A single number, read before the loop."""
        if tile.at not in self._known:
            inner, self.lines = self.lines, []
            self._known[tile.at] = self.load("%ws", tile.at)
            self._before += self.lines
            self.lines = inner
        return self._known[tile.at]

    def sum(self, k: int, x: str) -> None:
        """Add to a sum."""
        total = self._totals[k]
        self.lines.append(f"  {total}_next = fadd contract nsz arcp {self._vector} {total}, {x}")

    def _pointer(self, tile: Tile) -> str:
        base = self.value(f"getelementptr {self._vector}, ptr %ws, i64 {tile.at}") if tile.at else "%ws"
        return self.value(f"getelementptr {self._vector}, ptr {base}, i64 %k")
