"""The rolling compiler, second half: blocks become loops over rows of tables.

Memory, in vectors from the start of scratch: one row of slots for the base and each body, then the carried values.
`%data` points to the tables: rows of numbers, rows of (kind, parent, q start, v start), and the path to the frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..graph import Node, live
from .emit import TextEmitter
from .layout import Layout
from .roll import Block, Flush, Leaf, Loop, Program, Store, Walk
from .target import Target

__all__ = ["emit_rolled"]

_META = 4
_KIND, _PARENT, _Q, _V = range(_META)


def emit_rolled(program: Program, layout: Layout, target: Target) -> tuple[str, int]:
    """IR text of @init and @body, and the number of vectors in the workspace."""
    rows = len(program.model.bodies) + 1
    slots = _assign_slots(program)
    memory = _Memory(
        program=program,
        layout=layout,
        slots=slots,
        slot_count=max([*slots.values(), -1]) + 1,
        carry_start=[sum(program.carry_sizes[:k]) for k in range(len(program.carry_sizes))],
    )
    body = _Writer(memory, target)
    body.program()
    init = _Writer(memory, target)
    init.clear_output()
    text = "\n".join([init.function("@init"), body.function("@body")])
    return text, layout.scratch + rows * memory.slot_count + sum(program.carry_sizes)


@dataclass(frozen=True, slots=True)
class _Memory:
    program: Program
    layout: Layout
    slots: dict[tuple[int, int], int]
    slot_count: int
    carry_start: list[int]


def _fields_read(block: Block) -> set[tuple[int, int]]:
    return {(n.data[1], n.data[2]) for n in live(block.roots()) if n.op == "leaf" and n.data[0] == "field"}


def _inner(block: Block) -> list[Block]:
    return [inner for step in block.steps if isinstance(step, Walk) for inner in step.blocks]


def _assign_slots(program: Program) -> dict[tuple[int, int], int]:
    """A slot for each number of each field that is read; fields whose lives do not overlap share slots."""
    first: dict[int, int] = {}  # by field: the base's values of all its numbers are written together
    last: dict[tuple[int, int], int] = {}
    for number, piece in enumerate(program.pieces):
        for block in piece.blocks if isinstance(piece, Loop) else [piece]:
            for one in [block, *_inner(block)]:
                for c in _fields_read(one):
                    last[c] = number
                    first.setdefault(c[0], number)
                for step in one.steps:
                    if isinstance(step, Store) and step.place[0] == "field":
                        first.setdefault(step.place[1], number)
    slots: dict[tuple[int, int], int] = {}
    busy: list[int] = []
    for c in sorted(last, key=lambda c: (first[c[0]], c)):
        slot = next((s for s, end in enumerate(busy) if end < first[c[0]]), len(busy))
        if slot == len(busy):
            busy.append(0)
        slots[c], busy[slot] = slot, last[c]
    return slots


class _Writer(TextEmitter):
    """Writes one function."""

    def __init__(self, memory: _Memory, target: Target) -> None:
        super().__init__(target)
        self.memory = memory
        self._allocas: list[str] = []
        self._labels = 0
        self._current = "entry"

    def function(self, name: str) -> str:
        """The function's text."""
        return "\n".join(
            [
                f"define internal void {name}(ptr %data, ptr %ws) #0 {{",
                "entry:",
                *self._allocas,
                *self.lines,
                "  ret void",
                "}",
            ]
        )

    def clear_output(self) -> None:
        """Zero in every place of the result: what no loop writes stays so."""
        size = self.memory.layout.output.size
        k, close = self._counted(str(size), 1)
        at = self.value(f"add i64 {k}, {self.memory.layout.output_tile}")
        pointer = self.value(f"getelementptr {self.target.vector}, ptr %ws, i64 {at}")
        self.store(self.constant(0.0), pointer, 0)
        close()

    def program(self) -> None:
        """All pieces, one after the other."""
        if self.memory.program.adds:
            self.clear_output()
        words = [self.value(f"getelementptr ptr, ptr %data, i64 {k}") for k in range(3)]
        self.rows, self.meta, self.path = (self.value(f"load ptr, ptr {w}") for w in words)
        self.fields = self._vectors("%ws", str(self.memory.layout.scratch))
        rows = len(self.memory.program.model.bodies) + 1
        self.carries = self._vectors(self.fields, str(rows * self.memory.slot_count))
        seen: set[int] = set()
        for number, piece in enumerate(self.memory.program.pieces):
            self._base_values(number, seen)
            if isinstance(piece, Loop):
                self._loop(piece)
            else:
                self._block(piece, {})

    def _base_values(self, number: int, seen: set[int]) -> None:
        """Write the base's value of each field whose memory is first used by this piece."""
        program, slots = self.memory.program, self.memory.slots
        piece = program.pieces[number]
        used: set[int] = set()
        for block in piece.blocks if isinstance(piece, Loop) else [piece]:
            for one in [block, *_inner(block)]:
                used |= {f for f, _ in _fields_read(one)}
                used |= {s.place[1] for s in one.steps if isinstance(s, Store) and s.place[0] == "field"}
        for f in sorted(used - seen):
            seen.add(f)
            for k, x in enumerate(program.field_bases[f] or ()):
                if (f, k) in slots:
                    self.store(self.constant(x), self.fields, slots[f, k])

    def _loop(self, loop: Loop) -> None:
        on_path = loop.order.startswith("path")
        model = self.memory.program.model
        length = len(self.memory.program.path()) if on_path else len(model.bodies)
        if not length:
            return
        k, close = self._counted(str(length), -1 if loop.order.endswith("inward") else 1)
        if on_path:
            k = self.value(f"load i64, ptr {self.value(f'getelementptr i64, ptr {self.path}, i64 {k}')}")
        where = self._who("i", "p", k)
        if on_path:
            present = {int(model.tables.kind[b]) for b in self.memory.program.path()}
        else:
            present = set(range(len(model.tables.kinds)))
        blocks = [block for block in loop.blocks if block.kinds["i"] in present]
        self._by_kind(blocks, "i", where)
        close()

    def _walk(self, walk: Walk, outer: dict[str, str]) -> None:
        """While the ancestor's row is not the base's."""
        start, test, body, end = (self._label() for _ in range(4))
        self.line(f"br label %{start}")
        self._begin(start)
        cell = f"%walk_{start}"
        self._allocas.append(f"  {cell} = alloca i64")
        self.line(f"store i64 {outer['p_row']}, ptr {cell}")
        self.line(f"br label %{test}")
        self._begin(test)
        row = self.value(f"load i64, ptr {cell}")
        done = self.value(f"icmp eq i64 {row}, 0")
        self.line(f"br i1 {done}, label %{end}, label %{body}")
        self._begin(body)
        where = {**outer, **self._who("j", "jp", self.value(f"sub i64 {row}, 1"))}
        self._by_kind(walk.blocks, "j", where)
        self.line(f"store i64 {where['jp_row']}, ptr {cell}")
        self.line(f"br label %{test}")
        self._begin(end)

    def _by_kind(self, blocks: list[Block], who: str, where: dict[str, str]) -> None:
        """The block of the body's kind."""
        if len(blocks) == 1:
            self._block(blocks[0], where)
            return
        kind = self._meta(where[f"{who}_meta"], _KIND)
        labels = [self._label() for _ in blocks]
        end = self._label()
        cases = " ".join(f"i64 {b.kinds[who]}, label %{label}" for b, label in zip(blocks[1:], labels[1:], strict=True))
        self.line(f"switch i64 {kind}, label %{labels[0]} [ {cases} ]")
        for block, label in zip(blocks, labels, strict=True):
            self._begin(label)
            self._block(block, where)
            self.line(f"br label %{end}")
        self._begin(end)

    def _block(self, block: Block, where: dict[str, str]) -> None:
        """Stores up to each walk, the walk, and so on; values computed before a walk may be used after it."""
        names: dict[int, str] = {}
        where, self.memo = dict(where), {}
        pending: list[Store] = []
        if any(isinstance(step, Walk) for step in block.steps):
            # what is read after a walk is meant as it was before the stores ahead of the walk
            for node in live(block.roots()):
                if node.op == "leaf" and node.data[0] == "field":
                    names[node.index] = self._node(node, names, where)
        for step in [*block.steps, None]:
            if isinstance(step, Store):
                pending.append(step)
                continue
            self._stores(pending, names, where)
            pending = []
            if step is not None and not isinstance(step, Flush):
                memo = self.memo
                self._walk(step, where)
                self.memo = memo

    def _stores(self, stores: list[Store], names: dict[int, str], where: dict[str, str]) -> None:
        last = {s.place: s for s in stores}  # of several writes to one place the last one counts
        wanted = [s for s in last.values() if s.place[0] != "field" or s.place[1:3] in self.memory.slots]
        for node in live([s.value for s in wanted]):
            if node.index not in names and node.op != "constant":
                names[node.index] = self._node(node, names, where)
        for s in wanted:
            value = self.constant(s.value.data) if s.value.op == "constant" else names[s.value.index]
            self.store(value, *self._place(s.place, where))

    def _node(self, node: Node, names: dict[int, str], where: dict[str, str]) -> str:
        if node.op != "leaf":
            operands = [self.constant(a.data) if a.op == "constant" else names[a.index] for a in node.args]
            return self.lower(node, operands)
        place: Leaf = node.data
        if place[0] == "row":
            at = f"getelementptr {self.target.element}, ptr {where[place[2] + '_table']}, i64 {place[1]}"
            return self.splat(self.value(f"load {self.target.element}, ptr {self.value(at)}"))
        return self.load(*self._place(place, where))

    def _place(self, place: Leaf, where: dict[str, str]) -> tuple[str, int]:
        """Pointer and index, in vectors, of a place in the workspace."""
        m, layout = self.memory, self.memory.layout
        match place:
            case ("field", f, k, who):
                if isinstance(who, int):
                    return (self.fields, (who + 1) * m.slot_count + m.slots[f, k])
                return (where[f"{who}_fields"], m.slots[f, k])
            case ("carry", c, k):
                return (self.carries, m.carry_start[c] + k)
            case ("scalar", port, k):
                return ("%ws", layout.input_tile(port) + k)
            case ("input", "body_input", port, k, who):
                return (self._at(where, f"{who}_bodies", f"{who}_number", 6), layout.input_tile(port) + k)
            case ("input", kind, port, k, who):
                start = "q_start" if kind == "q_input" else "v_start"
                return (self._at(where, f"{who}_{kind}", f"{who}_{start}", 1), layout.input_tile(port) + k)
            case ("q_out" | "v_out" as kind, k, who):
                start = "q_start" if kind == "q_out" else "v_start"
                at = self._at(where, f"{who}_{kind[0]}_input", f"{who}_{start}", 1)
                return (at, layout.output_tile + k)
            case ("column", r, c, who):
                at = self._at(where, f"{who}_v_input", f"{who}_v_start", 1)
                return (at, layout.output_tile + r * layout.output.shape[1] + c)
            case ("span", r, c, who):
                return (self._at(where, f"{who}_spans", f"{who}_v_start", 6), layout.output_tile + 6 * r + c)
            case ("body_out", k, who):
                return (self._at(where, f"{who}_bodies", f"{who}_number", 6), layout.output_tile + k)
            case ("pair", r, c, i, j):
                nv = layout.output.shape[1]
                key = f"{i}_{j}_pair"
                if key not in where:
                    row = self.value(f"mul i64 {where[f'{i}_v_start']}, {nv}")
                    where[key] = self._vectors("%ws", self.value(f"add i64 {row}, {where[f'{j}_v_start']}"))
                return (where[key], layout.output_tile + r * nv + c)
            case ("result", k):
                return ("%ws", layout.output_tile + k)
        raise AssertionError(place)

    def _at(self, where: dict[str, str], key: str, number: str, times: int) -> str:
        """The workspace shifted by a body's own offset."""
        if key not in where:
            offset = where[number] if times == 1 else self.value(f"mul i64 {where[number]}, {times}")
            where[key] = self._vectors("%ws", offset)
        return where[key]

    def _who(self, own: str, parent: str, k: str) -> dict[str, str]:
        """Pointers for the body with number k, and for its parent."""
        slots, width = self.memory.slot_count, self.memory.program.model.tables.rows.shape[1]
        table = self.value(f"mul i64 {k}, {width}")
        meta = self.value(f"getelementptr i64, ptr {self.meta}, i64 {self.value(f'mul i64 {k}, {_META}')}")
        row = self.value(f"add i64 {k}, 1")
        p_row = self._meta(meta, _PARENT)
        return {
            f"{own}_number": k,
            f"{own}_table": self.value(f"getelementptr {self.target.element}, ptr {self.rows}, i64 {table}"),
            f"{own}_meta": meta,
            f"{own}_q_start": self._meta(meta, _Q),
            f"{own}_v_start": self._meta(meta, _V),
            f"{own}_fields": self._vectors(self.fields, self.value(f"mul i64 {row}, {slots}")),
            f"{parent}_row": p_row,
            f"{parent}_fields": self._vectors(self.fields, self.value(f"mul i64 {p_row}, {slots}")),
        }

    def _meta(self, pointer: str, k: int) -> str:
        return self.value(f"load i64, ptr {self.value(f'getelementptr i64, ptr {pointer}, i64 {k}')}")

    def _vectors(self, pointer: str, offset: str) -> str:
        return self.value(f"getelementptr {self.target.vector}, ptr {pointer}, i64 {offset}")

    def _label(self) -> str:
        self._labels += 1
        return f"block{self._labels}"

    def _begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self._current = label

    def _counted(self, n: str, step: int) -> tuple[str, Callable[[], None]]:
        """Open a loop over 0 ... n - 1, or backwards; returns the counter and what closes the loop. n > 0."""
        before, body, end = self._current, self._label(), self._label()
        self.line(f"br label %{body}")
        self._begin(body)
        t, following = f"%count_{body}", f"%next_{body}"
        hole = len(self.lines)
        self.lines.append("")
        k = t if step > 0 else self.value(f"sub i64 {self.value(f'sub i64 {n}, 1')}, {t}")

        def close() -> None:
            self.line(f"{following} = add i64 {t}, 1")
            self.lines[hole] = f"  {t} = phi i64 [ 0, %{before} ], [ {following}, %{self._current} ]"
            self.line(f"br i1 {self.value(f'icmp slt i64 {following}, {n}')}, label %{body}, label %{end}")
            self._begin(end)

        return k, close
