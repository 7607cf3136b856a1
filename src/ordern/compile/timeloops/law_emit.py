"""Writes a control law as machine code of a time loop: kernels, sums between them, and the goal at each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...algorithms.configuration.chart import TEXTS
from ...algorithms.operational.task_force import impedance_force, task_force
from ...graph import cos, sin, where_less
from ..emit.builder import Value
from ..emit.nodes import TextEmitter
from .law_program import DEGREE, FRAME_FORCES, Operation, Program
from .machine import Emitter, Tile

__all__ = ["LawEmitter"]

_TO_INTEGER, _WHOLE = 1.5 * 2.0**52, 2.0**51
"""Adding and subtracting the first rounds numbers up to the second to integers."""
_ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul"}


class LawEmitter:
    """The memory of a law in the workspace, and `@law`, which computes the joint forces at the state of a stage."""

    def __init__(self, m: Emitter, program: Program) -> None:
        self.m, self.program, self.sampled = m, program, program.sampled
        operations = program.operations
        self.parameters = m.tile(sum(x.size for x in operations if x.name == "parameter"))
        self.memory = m.tile(2 * m.model.nv * program.saturations)
        """The largest demand of each joint and its time, for each saturation."""
        self.clock, self.until, self.valid, self._moment = (m.tile(1) for _ in range(4))
        """The time at which a step begins, the end of the piece of smooth forces, 0 if forces are not clear, and the
        time of a stage."""
        self._goals = [self._goal_tiles(g) for g in range(len(program.waves))]
        self._tiles: dict[int, Tile] = {}
        """The places of the vectors that are in memory."""
        for g in range(len(program.waves)):
            self._write_goal(g)
        for k, x in enumerate(operations):
            self._write(k, x)
        self.result = self._stored(len(operations) - 1)
        """The joint forces."""
        m.sequence("law")
        m.law = self

    def compute(self, node: float) -> Tile:
        """Call the law, at the state that the kernels read and the time of a stage; return the place of the forces."""

        def moment(e: Any) -> None:
            time = e.binary("fadd", e.once(self.clock), e.binary("fmul", e.constant(node), e.once(self.m.h)))
            e.store_at(time, self._moment)

        if self.program.waves or self.program.saturations:
            self.m.function(1, moment)
        self.m.call("@law")
        return self.result

    def _goal_tiles(self, g: int) -> dict[str, Tile]:
        sizes = {x.name[5:]: x.size for x in self.program.operations if x.name.startswith("goal") and x.which == g}
        singles = dict.fromkeys(("s", "angle", "sin", "cos"), 1)
        return {name: self.m.tile(size) for name, size in (sizes | singles).items()}

    def _write(self, k: int, x: Operation) -> None:
        """Write an operation that needs memory; sums and products are written where their results are used."""
        m, operations = self.m, self.program.operations
        if x.name in ("q", "v"):
            self._tiles[k] = m.q if x.name == "q" else m.v
        elif x.name == "parameter":
            before = sum(y.size for y in operations[:k] if y.name == "parameter")
            self._tiles[k] = Tile(self.parameters.at + before, x.size)
        elif x.name.startswith("goal"):
            self._tiles[k] = self._goals[x.which][x.name[5:]]
        elif x.name == "kernel":
            self._tiles[k] = self._call(x)
        elif x.name in FRAME_FORCES:
            self._tiles[k] = self._task_force(x)
        elif x.name == "chart":
            self._tiles[k] = self._chart(x)
        elif x.name == "pull":
            self._tiles[k] = self._pull(*(self._stored(j) for j in x.operands))
        elif x.name == "clip":
            before = sum(y.name == "clip" for y in operations[:k])
            force, limit = (self._stored(j) for j in x.operands)
            self._tiles[k] = self._clip(force, limit, self.memory.at + 2 * m.model.nv * before)

    def _call(self, x: Operation) -> Tile:
        """Call a kernel. If the law calls it once, it reads its arguments where they are."""
        m, given = self.m, [self._stored(k) for k in x.operands]
        if sum(y.name == "kernel" and y.which == x.which for y in self.program.operations) == 1:
            m.arguments[x.which] = tuple(given)
            m.kernel(x.which)
            return m.results[x.which]
        if x.which not in m.arguments:
            m.arguments[x.which] = tuple(m.tile(y.size) for y in given)
        for source, to in zip(given, m.arguments[x.which], strict=True):
            m.copy(source, to)
        m.kernel(x.which)
        made = m.tile(x.size)
        m.copy(m.results[x.which], made)
        return made

    def _stored(self, k: int) -> Tile:
        """Return the place of a vector, computed now if it is not in memory yet."""
        if k not in self._tiles:
            made = self.m.tile(self.program.operations[k].size)
            self.m.function(made.size, lambda e: e.store_at(self._value(e, k), made))
            self._tiles[k] = made
        return self._tiles[k]

    def _value(self, e: Any, k: int) -> str:
        """Return number e.k of a vector."""
        if k in self._tiles:
            return str(e.load_at(self._tiles[k]))
        x = self.program.operations[k]
        operands = [self._value(e, j) for j in x.operands]
        if x.name == "round":
            return self._rounded(e, *operands)
        if x.name == "only":
            return str(e.select_less(e.constant(0.0), operands[1], operands[0], e.constant(0.0)))
        return str(e.binary(_ARITHMETIC[x.name], *operands))

    def _rounded(self, e: Any, x: str, step: str) -> str:
        """Return the multiple of a step next to a number; the number itself without a step, or beyond all integers."""
        zero, one = e.constant(0.0), e.constant(1.0)
        unit = e.select_less(zero, step, step, one)
        count, shift = e.binary("fdiv", x, unit), e.constant(_TO_INTEGER)
        whole = e.binary("fsub", e.binary("fadd", count, shift), shift)
        found = e.select_less(e.intrinsic("fabs", count), e.constant(_WHOLE), e.binary("fmul", whole, unit), x)
        return str(e.select_less(zero, step, found, x))

    def _task_force(self, x: Operation) -> Tile:
        """Write the force on a frame; mark forces that are not clear."""
        made, given = self.m.tile(x.size), [_singles(self._stored(k)) for k in x.operands]
        sizes = [len(part) for part in given]
        compute = task_force if x.name == "task force" else impedance_force

        def text(numbers: list[Any]) -> list[Any]:
            *rest, valid = numbers
            parts = [[rest.pop(0) for _ in range(size)] for size in sizes]
            *force, clear = compute(range(*x.which), parts)
            return [*force, where_less(0.5, clear, valid, 0.0)]

        inputs = [tile for part in given for tile in part]
        self.m.scalar_function([*inputs, self.valid], [*_singles(made), self.valid], text)
        return made

    def _chart(self, x: Operation) -> Tile:
        """Write a text about rotating bodies, on the numbers of vectors."""
        made, given = self.m.tile(x.size), [_singles(self._stored(k)) for k in x.operands]
        name, curved = x.which

        def text(numbers: list[Any]) -> list[Any]:
            rest = list(numbers)
            return TEXTS[name](curved, *([rest.pop(0) for _ in part] for part in given))

        self.m.scalar_function([tile for part in given for tile in part], _singles(made), text)
        return made

    def _pull(self, matrix: Tile, force: Tile) -> Tile:
        """Write the product of the transpose of a matrix of six rows and six numbers."""
        nv = self.m.model.nv
        made = self.m.tile(nv)

        def body(e: Any) -> None:
            total = ""
            for k, part in enumerate(_singles(force)):
                term = e.binary("fmul", e.load_at(Tile(matrix.at + k * nv, nv)), e.once(part))
                total = e.binary("fadd", total, term) if total else term
            e.store_at(total, made)

        self.m.function(nv, body)
        return made

    def _clip(self, x: Tile, limit: Tile, at: int) -> Tile:
        """Limit a vector, and remember the largest demand."""
        m, nv = self.m, self.m.model.nv
        made, demand, time = m.tile(nv), Tile(at, nv), Tile(at + nv, nv)

        def body(e: Any) -> None:
            force, most, before = e.load_at(x), e.load_at(limit), e.load_at(demand)
            size, least = e.intrinsic("fabs", force), e.negate(most)
            worst = e.intrinsic("fabs", before)
            for new, old, to in ((force, before, demand), (e.once(self._moment), e.load_at(time), time)):
                more = e.select_less(worst, size, new, old)
                e.store_at(e.select_less(most, size, more, old), to)
            e.store_at(e.select_less(force, least, least, e.select_less(most, force, most, force)), made)

        m.function(nv, body)
        return made

    def _write_goal(self, g: int) -> None:
        """Write the functions that evaluate a goal at the moment."""
        tiles, wave = self._goals[g], self.program.waves[g]
        self._write_with_table(f"@find_goal{g}", g, lambda e, table: self._find(e, table, tiles))
        if wave:
            self.m.scalar_function([tiles["angle"]], [tiles["sin"], tiles["cos"]], lambda x: [sin(x[0]), cos(x[0])])
        self._write_with_table(f"@goal{g}", g, lambda e, table: self._evaluate(e, table, tiles, wave))

    def _write_with_table(self, name: str, g: int, body: Callable[[TextEmitter, Value], None]) -> None:
        """Write a function that reads the table of a goal, and a call of it."""
        e = TextEmitter(self.m.target, arguments=("ptr %ws", "ptr %datas"))
        body(e, e.arguments[1].load("ptr", len(self.m.kernels.requests) + g))
        self.m.write(name, e)

    def _width(self, tiles: dict[str, Tile]) -> int:
        return 3 + (DEGREE + 2) * tiles["q"].size + (tiles["base"].size if "base" in tiles else 0)

    def _find(self, e: TextEmitter, table: Value, tiles: dict[str, Tile]) -> None:
        """Find the piece of the goal: the last that begins by this time, and before the end of the piece of forces."""
        ws, vector = e.arguments[0], self.m.target.vector
        t, until = (ws.at(x.at, vector).load("double") for x in (self._moment, self.until))
        rows, width, last = table.at(1, "double"), self._width(tiles), table.load("i64")
        with e.repeat():
            k = e.carried(last)
            start = rows.load("double", k.value * width)
            e.leave_unless((start > t) | (start >= until))
            k.next = k.value - 1
        with e.repeat():
            n = e.carried(k.value)
            start = rows.load("double", (n.value + 1) * width)
            e.leave_unless((start <= t) & (start < until))
            n.next = n.value + 1
        table.store(n.value)
        row = rows.at(n.value * width, "double")
        s = t - row.load("double", 1)
        for x, tile in ((s, tiles["s"]), (s * row.load("double", 2), tiles["angle"])):
            e.store(e.splat(x), ws.at(tile.at, vector))

    def _evaluate(self, e: TextEmitter, table: Value, tiles: dict[str, Tile], wave: bool) -> None:
        """Evaluate position, velocity and acceleration."""
        ws, vector, n = e.arguments[0], self.m.target.vector, tiles["q"].size
        row = table.at(1, "double").at(table.load("i64") * self._width(tiles), "double")
        s = e.load(ws.at(tiles["s"].at, vector))
        with e.counted(n) as k:
            c = [e.splat(row.load("double", k + (3 + j * n))) for j in range(DEGREE + 1)]
            found = [self._polynomial(e, s, c, order) for order in range(3)]
            if wave:
                amplitude, rate = (
                    e.splat(row.load("double", k + (3 + (DEGREE + 1) * n))),
                    e.splat(row.load("double", 2)),
                )
                sine, cosine = (e.load(ws.at(tiles[name].at, vector)) for name in ("sin", "cos"))
                first = e.binary("fmul", amplitude, rate)
                found[0] = e.binary("fadd", found[0], e.binary("fmul", amplitude, sine))
                found[1] = e.binary("fadd", found[1], e.binary("fmul", first, cosine))
                found[2] = e.binary("fsub", found[2], e.binary("fmul", e.binary("fmul", first, rate), sine))
            for name, x in zip("qva", found, strict=True):
                if name in tiles:
                    e.store(x, ws.at(tiles[name].at, vector).at(k, vector))
        if "base" in tiles:
            with e.counted(tiles["base"].size) as k:
                x = e.splat(row.load("double", k + (3 + (DEGREE + 2) * n)))
                e.store(x, ws.at(tiles["base"].at, vector).at(k, vector))

    def _polynomial(self, e: TextEmitter, s: str, c: list[str], order: int) -> str:
        """Return a derivative of a polynomial, by Horner's rule."""
        total = ""
        for j in reversed(range(order, len(c))):
            factor = 1.0
            for i in range(order):
                factor *= j - i
            term = c[j] if factor == 1.0 else e.binary("fmul", e.constant(factor), c[j])
            total = e.binary("fadd", term, e.binary("fmul", s, total)) if total else term
        return total


def _singles(tile: Tile) -> list[Tile]:
    """Return the numbers of a vector, each as a vector of its own."""
    return [Tile(tile.at + k, 1) for k in range(tile.size)]
