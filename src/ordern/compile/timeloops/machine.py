"""Time loops as native code: the machine that emits an integrator's step, and the kernels that it calls.

A time loop is one module: the bodies of the kernels that a step needs (forward dynamics, passive forces, rates and
steps of positions), all on one workspace; small functions for the sums between them; and a loop around it all, which
`fixed` and `adaptive` write. The step is any text over the machine's operations (those of
`ordern.simulate.integrators.rk_step`): values are tiles of the workspace, one vector of states for each number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...algorithms import find
from ...graph import Graph, Node, count, live
from ...joints import Joint
from ...model import Model
from ...records import dataclass
from ..emit.builder import Builder, Carried, Value
from ..emit.entry_points import attributes
from ..emit.nodes import TextEmitter, declarations
from ..emit.rolled import emit_rolled
from ..emit.target import Target, narrow_target, target
from ..emit.tiles import tile_functions
from ..pipeline import Request, layout_of
from ..program import choose_way, trace_request
from ..trace.layout import Layout, Operand
from ..trace.repeated_emit import emit_repeated
from ..trace.repeats import RepeatedCode, repeats, trace_repeated
from ..trace.roll import trace_rolled
from ..trace.rolled_count import estimate
from ..trace.unroll import emit_unrolled, trace_unrolled
from .code import LoopCode, varied_form, varied_forms

if TYPE_CHECKING:
    from .holding import Holding
    from .law_emit import LawEmitter
    from .projection import Projection

__all__ = ["Emitted", "Emitter", "Kernels", "Numbers", "Slope", "Tile", "is_flat", "part_request"]


@dataclass(frozen=True, slots=True)
class Tile:
    """A value: the place of its vectors in the workspace."""

    at: int
    size: int


@dataclass(frozen=True, slots=True)
class Slope:
    """Rates of positions, velocities and works: a point of `ordern.simulate.integrators.rk_step`."""

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
    """Tell whether the velocities are the rates of the positions, so that nothing is converted or projected."""
    return all(type(c.type).integrate is Joint.integrate and type(c.type).rate is Joint.rate for c in model.joints)


def part_request(model: Model, question: str, method: str | None = None, way: str | None = None) -> Request:
    """Return the request of a question without optional arguments."""
    asked, algorithm = find(question, method)
    return Request(model, asked, algorithm, frozenset(), (), way)


class Kernels:
    """The traced kernels of a time loop, and the vectors that suit all of them."""

    def __init__(self, requests: Mapping[str, Request], dtype: str, lanes: int | None) -> None:
        self.requests = dict(requests)
        self.ways = {name: request.way or choose_way(request) for name, request in self.requests.items()}
        self.rolled = tuple(name for name, way in self.ways.items() if way == "rolled")
        self.target: Target = narrow_target(dtype, 256) if self.rolled and not lanes else target(dtype, lanes)
        self._traced: dict[str, Any] = {}
        self.operations, self.freedoms = 0, False
        for name, request in self.requests.items():
            tracer = trace_rolled if name in self.rolled else trace_repeated if repeats(request) else trace_unrolled
            layout = layout_of(request, self.target.lanes, self.ways[name])
            traced = self._traced[name] = trace_request(request, tracer, layout)
            if name in self.rolled:
                self.operations += estimate(traced).total
                self.freedoms |= traced.has_freedoms
            elif isinstance(traced, RepeatedCode):
                self.operations += traced.operations
            else:
                self.operations += count(x for x in traced if isinstance(x, Node)).total

    def text(self, name: str, layout: Layout) -> tuple[str, int]:
        """Return the IR text of @{name}_init and @{name}_body, and the end of the workspace that they use."""
        traced = self._traced[name]
        straight = emit_repeated if isinstance(traced, RepeatedCode) else emit_unrolled
        emit: Callable[..., tuple[str, int]] = emit_rolled if name in self.rolled else straight
        text, size = emit(traced, layout, self.target)
        return re.sub(r"@(init|body|constants|(?:chunk|moved|renewed)\d+)\b", rf"@{name}_\1", text), size

    def depends(self, name: str, first: int) -> bool:
        """Return True if straight-line code computes a number of its result, from the first on, that is not zero."""
        return any(isinstance(x, Node) or x != 0.0 for x in self._traced[name][first:])

    def code(self, made: bytes, workspace: int) -> LoopCode:
        """Return the record of code that was compiled of them."""
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
        self.projection: Projection | None = None
        """Keeps loops closed, if there are any to be projected."""
        self.holding: Holding | None = None
        """Keeps joints at rest, if there are stops."""
        self.law: LawEmitter | None = None
        """The control law that computes the drives' forces."""
        self.target = kernels.target
        self.flat = is_flat(model)
        self.feedback = "difference" in kernels.requests
        self._end = 0
        self._functions: list[str] = []
        self._sequence = _calls()
        self.results: dict[str, Tile] = {}
        """The places to which kernels write."""
        self._copied: dict[Tile, Tile] = {}
        nq, nv = model.nq, model.nv
        self.q, self.v, self.force = self.tile(nq), self.tile(nv), self.tile(nv)
        """The places from which kernels read positions, velocities and joint forces."""
        self.applied, self.slanted = self.tile(nv), self.tile(nv)
        """The drives' forces, and how fast they change."""
        self.has_external = "external_force" in kernels.requests
        loads = 6 * len(model.bodies) if self.has_external else 0
        self.external, self.external_slant, self.loads = (self.tile(loads) for _ in range(3))
        """The external forces on bodies, how fast they change, and the place from which the kernel reads them."""
        self.goal = self.tile(nq)
        """The target of feedback."""
        self.numbers = self.tile(5 + 3 * nv)
        """The step, the smoothing of friction, the time since the forces were `applied`, rtol, atol; gains, and the
        limits of the forces of feedback."""
        at = self.numbers.at
        self.h, self.smoothing, self.since, self.rtol, self.atol = (Tile(at + k, 1) for k in range(5))
        self.stiffness, self.damping, self.effort = (Tile(at + 5 + k * nv, nv) for k in range(3))
        kept = "contact" in kernels.requests and "servo" in kernels.requests["contact"].present
        self.servo = self.tile(nv if kept else 0)
        """The forces of feedback, if steps keep them within their limits; else they are among all joint forces."""
        self.arguments: dict[str, tuple[Tile, ...]] = {
            "dynamics": (self.q, self.v, self.force),
            "passive": (self.q, self.v, self.smoothing),
            "integrate": (self.q, self.v, self.h),
            "euler_position": (self.q, self.v, self.force, self.h),
            "euler_velocity": (self.q, self.v, self.force, self.h),
            "rate": (self.q, self.v),
            "normalize": (self.q,),
            "difference": (self.q, self.goal),
            "external_force": (self.q, self.loads),
        }
        for name, request in kernels.requests.items():
            self.results[name] = self.tile(layout_of(request, 1).output.size)
        self._forms = varied_forms(kernels.requests, kernels.rolled)
        self.parameters = self.tile(sum(self._forms.values()))
        """The numbers of a varied robot, as different kernels read them, one form after the other."""

    def tile(self, size: int) -> Tile:
        """Reserve memory, of whole blocks, so that states can be transposed into it."""
        lanes = self.target.lanes
        made = Tile(self._end, size)
        self._end += -(-size // lanes) * lanes
        return made

    # operations of a step ------------------------------------------------------------------------------------------

    def slope(self, node: float, q: Tile, v: Tile) -> Slope:
        """Return the rates at a stage."""
        w = self.tile(2)
        return Slope(self.rate(q, v), self._accelerated(node, q, v, w), w)

    def acceleration(self, node: float, q: Tile, v: Tile) -> Tile:
        """Return dv/dt at a stage."""
        return self._accelerated(node, q, v, None)

    def rate(self, q: Tile, v: Tile) -> Tile:
        """Return dq/dt."""
        if self.flat:
            return v
        self.copy(q, self.q)
        self.copy(v, self.v)
        return self._call("rate")

    def euler(self, q: Tile, v: Tile, a: Tile) -> tuple[Tile, Tile]:
        """Take a step of semi-implicit Euler, by the joints if one of them has its own step."""
        self.copy(q, self.q)
        if "integrate" in self.kernels.requests:
            after = self.add(v, ((1.0, a),))
            self.copy(after, self.v)
            return self._call("integrate"), after
        self.copy(v, self.v)
        self.copy(a, self.force)
        self.kernel("euler_position")  # once in a step, at its end: results need no memory of their own
        self.kernel("euler_velocity")
        return self.results["euler_position"], self.results["euler_velocity"]

    def project(self, q: Tile) -> Tile:
        """Return positions with quaternions of unit length."""
        if self.flat:
            return q
        self.copy(q, self.q)
        return self._call("normalize")

    def add(self, x: Tile | None, terms: Sequence[tuple[float, Tile]]) -> Tile:
        """Return x plus a weighted sum times the step."""
        made = self.tile(terms[0][1].size)

        def body(e: Numbers) -> None:
            total = ""
            for c, k in terms:
                product = e.load_at(k) if c == 1.0 else e.binary("fmul", e.constant(c), e.load_at(k))
                total = e.binary("fadd", total, product) if total else product
            step = e.binary("fmul", e.once(self.h), total)
            e.store_at(step if x is None else e.binary("fadd", e.load_at(x), step), made)

        self.function(made.size, body)
        return made

    def error(self, before: Any, after: Any, q: Tile, v: Tile) -> Tile:
        """Return the mean square of (q, v), relative to the tolerance."""
        made = self.tile(1)
        share = 1.0 / max(1, q.size + v.size)
        parts = ((before.q, after.q, q), (before.v, after.v, v))
        for first, (y0, y1, error) in zip((True, False), parts, strict=True):

            def body(e: Numbers, y0: Tile = y0, y1: Tile = y1, error: Tile = error) -> list[str]:
                a, b = e.intrinsic("fabs", e.load_at(y0)), e.intrinsic("fabs", e.load_at(y1))
                larger = e.select_less(a, b, b, a)
                scale = e.binary("fadd", e.once(self.atol), e.binary("fmul", e.once(self.rtol), larger))
                r = e.binary("fdiv", e.load_at(error), scale)
                return [e.binary("fmul", r, r)]

            def after_it(e: Numbers, sums: list[str], first: bool = first) -> None:
                mean = e.binary("fmul", e.constant(share), sums[0])
                e.store(mean if first else e.binary("fadd", e.load("%ws", made.at), mean), "%ws", made.at)

            self.function(error.size, body, after_it)
        return made

    def scalar_function(
        self, inputs: Sequence[Tile], outputs: Sequence[Tile], function: Callable[[list[Any]], Sequence[Any]]
    ) -> None:
        """Write a function of single numbers, traced and lowered as kernels are, and a call of it."""
        graph, e = Graph("numbers"), TextEmitter(self.target, arguments=("ptr %ws",))
        roots = [graph.lift(x) for x in function([graph.leaf(k) for k in range(len(inputs))])]
        names: dict[int, str] = {}
        for node in live(roots):
            if node.op == "leaf":
                names[node.index] = e.load("%ws", inputs[node.data].at)
            elif node.op == "constant":
                names[node.index] = e.constant(node.data)
            else:
                names[node.index] = e.lower(node, [names[a.index] for a in node.args])
        for root, to in zip(roots, outputs, strict=True):
            e.store(names[root.index], "%ws", to.at)
        self.write(f"@operation{len(self._functions)}", e)

    # building blocks -------------------------------------------------------------------------------------------------

    def copy(self, source: Tile, to: Tile) -> None:
        """Copy a value, unless it was copied already: within a sequence no value is written twice."""
        if source != to and self._copied.get(to) != source:
            if to in (self.q, self.v):
                self._copied[to] = source
            self.function(to.size, lambda e: e.store_at(e.load_at(source), to))

    def forget(self, tile: Tile) -> None:
        """Copy to this place again, as it was changed."""
        self._copied.pop(tile, None)

    def _call(self, name: str) -> Tile:
        """Call a kernel; return a copy of its result."""
        self.kernel(name)
        result = self.results[name]
        made = self.tile(result.size)
        self.copy(result, made)
        return made

    def kernel(self, name: str, part: str = "body") -> None:
        """Call a kernel."""
        ws, datas = self._sequence.arguments
        place = sorted(self.kernels.requests).index(name)
        self._sequence.call(f"@{name}_{part}", datas.load("ptr", place), ws)

    def _accelerated(self, node: float, q: Tile, v: Tile, works: Tile | None) -> Tile:
        self.copy(q, self.q)
        self.copy(v, self.v)
        if self.projection is not None:
            self.projection.at(node)
        self.apply_forces(node, works)
        if self.projection is None and self.holding is None:
            return self._call("dynamics")
        self.kernel("dynamics")
        if self.projection is not None:
            self.projection.check("dynamics")
            if works is not None:
                self.projection.add_power(works)
        if self.holding is not None:
            self.holding.apply(Tile(self.results["dynamics"].at, self.v.size))
        made = self.tile(self.v.size)
        self.function(made.size, lambda e: e.store_at(e.load_at(self.results["dynamics"]), made))
        return made

    def apply_forces(self, node: float, works: Tile | None = None) -> None:
        """Compute all joint forces of a stage at the state from which kernels read, and perhaps their powers."""
        passive = "passive" in self.kernels.requests
        drive = None if self.law is None or self.law.sampled else self.law.compute(node)
        if passive:
            self.kernel("passive")
        if self.feedback:
            self.kernel("difference")

        def at_stage(e: Numbers, value: Tile, slant: Tile) -> str:
            """Return a force at the time of the stage; within a fixed step it is constant."""
            if not self.works:
                return e.load_at(value)
            time = e.binary("fadd", e.once(self.since), e.binary("fmul", e.constant(node), e.once(self.h)))
            return e.binary("fadd", e.load_at(value), e.binary("fmul", time, e.load_at(slant)))

        if self.has_external:
            self.function(
                self.loads.size, lambda e: e.store_at(at_stage(e, self.external, self.external_slant), self.loads)
            )
            self.kernel("external_force")

        def body(e: Numbers) -> list[str]:
            force = at_stage(e, self.applied, self.slanted) if drive is None else e.load_at(drive)
            speed = e.load_at(self.v)
            if self.has_external:
                force = e.binary("fadd", force, e.load_at(self.results["external_force"]))
            if self.feedback:
                pull = e.binary("fmul", e.load_at(self.stiffness), e.load_at(self.results["difference"]))
                pull = e.binary("fsub", pull, e.binary("fmul", e.load_at(self.damping), speed))
                if self.servo.size:
                    e.store_at(pull, self.servo)
                else:
                    force = e.binary("fadd", force, self.clipped(e, pull))
            powers = [force]
            if passive:
                powers.append(e.load_at(self.results["passive"]))
                force = e.binary("fadd", force, powers[-1])
            e.store_at(force, self.force)
            return [e.binary("fmul", x, speed) for x in powers] if works else []

        def after(e: Numbers, sums: list[str]) -> None:
            if works:
                e.store(sums[0], "%ws", works.at)
                e.store(e.negate(sums[1]) if passive else e.constant(0.0), "%ws", works.at + 1)

        self.function(self.force.size, body, after)

    def clipped(self, e: Numbers, force: str) -> str:
        """Return a force of feedback within its limits."""
        most = e.load_at(self.effort)
        least = e.negate(most)
        force = e.select_less(most, force, most, force)
        return e.select_less(force, least, least, force)

    def function(
        self,
        n: int,
        body: Callable[[Numbers], Sequence[str] | None],
        after: Callable[[Numbers, list[str]], None] | None = None,
    ) -> None:
        """Write a function with a loop over n numbers, and a call of it.

        `body` may return terms; `after` gets their sums over all numbers.
        """
        e = Numbers(self.target, arguments=("ptr %ws",))
        with e.counted(n) as e.k:
            sums = [e.summed(x) for x in body(e) or ()]
        if after:
            after(e, [total.next.name for total in sums])
        self.write(f"@operation{len(self._functions)}", e)

    def write(self, name: str, e: Builder) -> None:
        """Add a function of the workspace, and perhaps of the tables, and a call of it."""
        self._functions.append(e.text(name))
        self._sequence.call(name, *self._sequence.arguments[: len(e.arguments)])

    def include(self, text: str) -> None:
        """Add a function."""
        self._functions.append(text)

    def call(self, name: str) -> None:
        """Call a function of the workspace and the kernels' tables."""
        self._sequence.call(name, *self._sequence.arguments)

    def sequence(self, name: str) -> None:
        """Make one function of all calls since the last sequence."""
        self._functions.append(self._sequence.text(f"@{name}"))
        self._sequence, self._copied = _calls(), {}

    def numbers_of(self, request: Request, way: str) -> list[int]:
        """Return the place of the numbers of a varied robot that a kernel reads."""
        at = self.parameters.at
        for form, size in self._forms.items():
            if form == varied_form(request, way):
                return [at] if size else []
            at += size
        return []

    def finish(self) -> Emitted:
        """Return all functions, those of the kernels included, and the size of the workspace."""
        texts, end = [declarations(self.target), tile_functions(self.target)], self._end
        for name in sorted(self.kernels.requests):
            request, way = self.kernels.requests[name], self.kernels.ways[name]
            plain = layout_of(request, self.target.lanes, way)
            tiles = (*(tile.at for tile in self.arguments[name]), *self.numbers_of(request, way))
            inputs: tuple[Operand, ...] = plain.inputs
            placed = _Placed(inputs, plain.output, plain.lanes, tiles, self.results[name].at, self._end)
            text, size = self.kernels.text(name, placed)
            texts.append(text)
            end = max(end, size)
            self.kernel(name, "init")
        self.sequence("start")
        return Emitted("\n".join([*texts, *self._functions, attributes(self.target)]), end)


def _calls() -> Builder:
    """Begin a function of calls."""
    return Builder(("ptr %ws", "ptr %datas"))


class Numbers(TextEmitter):
    """Writes a function with a loop over the numbers of values."""

    k: Value

    def load_at(self, tile: Tile) -> str:
        """Read number k of a value."""
        return self.load(self.place(tile, self.k))

    def store_at(self, name: str, tile: Tile) -> None:
        """Write number k of a value."""
        self.store(name, self.place(tile, self.k))

    def once(self, tile: Tile) -> str:
        """Read a single number, before the loop."""
        key = ("once", str(tile.at))
        if key not in self.memo:
            with self.ahead():
                self.memo[key] = (self.load("%ws", tile.at), "")
        return self.memo[key][0]

    def summed(self, x: str) -> Carried:
        """Add a term to a sum that begins with zero."""
        total = self.carried(self.const(self.constant(0.0), self.vector))
        total.next = self.const(self.binary("fadd", total.value.name, x), self.vector)
        return total

    def place(self, tile: Tile, index: Value | int = 0) -> Value:
        """Return the address of a number of a value."""
        return self.arguments[0].at(tile.at, self.vector).at(index, self.vector)
