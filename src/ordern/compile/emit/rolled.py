"""The rolling compiler, second half: blocks become loops over rows of tables.

Memory, in vectors from the start of scratch: one row of slots for the base and each body, then the carried values, and
then matrices and results that are memory only. `%data` points to the tables: rows of numbers; rows of (kind, parent, q
start, v start, first freedom if none followed another); the path to the frame; and if there are loops over freedoms,
rows of `FreedomTables` and the two orders that these refer to.
"""

from __future__ import annotations

from collections.abc import Callable

from ...graph import Node, live
from ...model import core_size
from ...records import dataclass
from ..trace.layout import Layout
from ..trace.rolled_program import Block, Clear, Climb, Fetch, Leaf, Loop, Program, Store, Walk
from .nodes import TextEmitter
from .target import Target

__all__ = ["emit_rolled"]

_META = 5
_KIND, _PARENT, _Q, _V, _OWN = range(_META)
_FREE = 8
_UP, _BODY, _FIRST, _ROOT, _AT, _COUNT, _V_AT, _V_COUNT = range(_FREE)


def emit_rolled(program: Program, layout: Layout, target: Target) -> tuple[str, int]:
    """IR text of @init and @body, and the number of vectors in the workspace."""
    memory, end = _assign_memory(program, layout)
    body = _Writer(memory, target)
    body.program()
    init = _Writer(memory, target)
    init.clear_output()
    return "\n".join([init.function("@init"), body.function("@body")]), end


@dataclass(frozen=True, slots=True)
class _Memory:
    program: Program
    layout: Layout
    slots: dict[tuple[int, int], int]
    slot_count: int
    carry_start: list[int]
    start: dict[tuple[str, int], int]
    """Where a result, a matrix or the columns of a number begin, from the start of the workspace."""


def _assign_memory(program: Program, layout: Layout) -> tuple[_Memory, int]:
    """Where everything is, and where it ends."""
    model, slots = program.model, _assign_slots(program)
    slot_count = max([*slots.values(), -1]) + 1
    carry_start = [sum(program.carry_sizes[:k]) for k in range(len(program.carry_sizes))]
    end = layout.scratch + (len(model.bodies) + 1) * slot_count + sum(program.carry_sizes)
    start = {} if program.result is None else {("output", program.result): layout.output_tile}
    own = sum(c.type.nv for c in model.joints)
    for memory, number in sorted(_used(program)):
        if (memory, number) not in start:
            start[memory, number] = end
            if memory == "output":
                end += core_size(model, program.output_kinds[number])
            else:
                end += own * own if memory == "between" else len(model.bodies) * model.nv * program.column_sizes[number]
    return _Memory(program, layout, slots, slot_count, carry_start, start), end


def _used(program: Program) -> set[tuple[str, int]]:
    """The results, matrices and columns that are written."""
    found = set()
    for piece in program.pieces:
        for block in _blocks(piece):
            for step in block.steps:
                if isinstance(step, Clear):
                    found.add(("output", step.output))
                elif isinstance(step, Store) and step.place[0] not in ("field", "carry", "result"):
                    word = step.place[0]
                    found.add((word if word in ("between", "columns") else "output", step.place[1]))
    return found


def _blocks(piece: Loop | Block) -> list[Block]:
    """All blocks of a piece, with those inside of them."""
    return [one for block in (piece.blocks if isinstance(piece, Loop) else [piece]) for one in block.all()]


def _fields_read(block: Block) -> set[tuple[int, int]]:
    places = (_read(n) for n in live(block.roots()) if n.op == "leaf")
    return {(place[1], place[2]) for place in places if place[0] == "field"}


def _read(node: Node) -> Leaf:
    """The place that a leaf is read from."""
    place: Leaf = node.data[2] if node.data[0] == "fetch" else node.data
    return place


def _assign_slots(program: Program) -> dict[tuple[int, int], int]:
    """A slot for each number of each field that is read; fields whose lives do not overlap share slots."""
    first: dict[int, int] = {}  # by field: the base's values of all its numbers are written together
    last: dict[tuple[int, int], int] = {}
    for number, piece in enumerate(program.pieces):
        for one in _blocks(piece):
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
        self._labels = 0
        self._current = "entry"

    def function(self, name: str) -> str:
        """The function's text."""
        return "\n".join(
            [
                f"define internal void {name}(ptr %data, ptr %ws) #0 {{",
                "entry:",
                *self.lines,
                "  ret void",
                "}",
            ]
        )

    def clear_output(self) -> None:
        """Zero in every place of the result: what no loop writes stays so."""
        self._clear(self.memory.layout.output_tile, self.memory.layout.output.size)

    def _clear(self, start: int, size: int) -> None:
        k, close = self._counted(str(size), 1)
        at = self.value(f"add i64 {k}, {start}")
        pointer = self.value(f"getelementptr {self.target.vector}, ptr %ws, i64 {at}")
        self.store(self.constant(0.0), pointer, 0)
        close()

    def program(self) -> None:
        """All pieces, one after the other."""
        words = [self.value(f"getelementptr ptr, ptr %data, i64 {k}") for k in range(6)]
        tables = [self.value(f"load ptr, ptr {w}") for w in words]
        self.rows, self.meta, self.path, self.free, self.order, self.v_order = tables
        self.fields = self._vectors("%ws", str(self.memory.layout.scratch))
        rows = len(self.memory.program.model.bodies) + 1
        self.carries = self._vectors(self.fields, str(rows * self.memory.slot_count))
        seen: set[int] = set()
        for number, piece in enumerate(self.memory.program.pieces):
            self._base_values(number, seen)
            if isinstance(piece, Loop):
                self._loop(piece, {})
            else:
                self._block(piece, {})

    def _base_values(self, number: int, seen: set[int]) -> None:
        """Write the base's value of each field whose memory is first used by this piece."""
        piece = self.memory.program.pieces[number]
        used: set[int] = set()
        for one in _blocks(piece):
            used |= {f for f, _ in _fields_read(one)}
            used |= {s.place[1] for s in one.steps if isinstance(s, Store) and s.place[0] == "field"}
        for f in sorted(used - seen):
            seen.add(f)
            self._base_value(f)

    def _base_value(self, f: int) -> None:
        slots = self.memory.slots
        for k, x in enumerate(self.memory.program.field_bases[f] or ()):
            if (f, k) in slots:
                self.store(self.constant(x), self.fields, slots[f, k])

    def _loop(self, loop: Loop, outer: dict[str, str]) -> None:
        """A loop over bodies, or over freedoms."""
        if loop.name:
            self._freedom_loop(loop, outer)
        elif loop.moved_by is not None or loop.upto is not None:
            self._partial_loop(loop, outer)
        else:
            self._whole_loop(loop, outer)

    def _freedom_loop(self, loop: Loop, outer: dict[str, str]) -> None:
        where = dict(outer)
        if loop.moved_by is not None:
            t, close = self._counted(self._free(where, loop.moved_by, _V_COUNT), 1)
            at = self.value(f"add i64 {self._free(where, loop.moved_by, _V_AT)}, {t}")
            d = self._integer(self.v_order, at)
        else:
            n = str(self.memory.program.model.nv)
            if loop.upto is not None:
                n = self.value(f"add i64 {where[loop.upto]}, 1")
            d, close = self._counted(n, -1 if loop.order.endswith("inward") else 1)
        self._block(loop.blocks[0], {**where, loop.name: d})
        close()

    def _partial_loop(self, loop: Loop, outer: dict[str, str]) -> None:
        """Over the bodies that a freedom moves, the first of which is on the base; or those up to a freedom's body."""
        where, root = dict(outer), None
        if loop.moved_by is not None:
            count, start = (self._free(where, loop.moved_by, column) for column in (_COUNT, _AT))
            root = self._free(where, loop.moved_by, _ROOT)
            t, close = self._counted(count, -1 if loop.order == "inward" else 1)
            k = self._integer(self.order, self.value(f"add i64 {start}, {t}"))
        else:
            assert loop.upto is not None
            k, close = self._counted(self.value(f"add i64 {self._free(where, loop.upto, _BODY)}, 1"), 1)
        self._by_kind(loop.blocks, "i", {**where, **self._who("i", "p", k, root)})
        close()

    def _climb(self, climb: Climb, outer: dict[str, str]) -> None:
        """Over the freedoms above one: while there are any, or while they are of its joint."""
        where = dict(outer)
        d = where[climb.of]
        first = self._free(where, climb.of, _FIRST) if climb.within else "0"
        begin = (
            d if climb.itself else self.value(f"sub i64 {d}, 1") if climb.within else self._free(where, climb.of, _UP)
        )

        def body(d: str) -> str:
            inner = {**where, climb.name: d}
            self._block(climb.blocks[0], inner)
            return self.value(f"sub i64 {d}, 1") if climb.within else self._free(inner, climb.name, _UP)

        self._while(begin, f"sge i64 {{}}, {first}", body)

    def _while(self, begin: str, test: str, body: Callable[[str], str]) -> None:
        """A loop while a test of a number holds; the body returns the next number."""
        check, inside, end = (self._label() for _ in range(3))
        before = self._current
        self.line(f"br label %{check}")
        self._begin(check)
        k, hole = f"%while_{check}", len(self.lines)
        self.lines.append("")
        self.line(f"br i1 {self.value('icmp ' + test.format(k))}, label %{inside}, label %{end}")
        self._begin(inside)
        following = body(k)
        self.lines[hole] = f"  {k} = phi i64 [ {begin}, %{before} ], [ {following}, %{self._current} ]"
        self.line(f"br label %{check}")
        self._begin(end)

    def _free(self, where: dict[str, str], d: str, column: int) -> str:
        """An entry of a freedom's row."""
        key = f"{d}_free{column}"
        if key not in where:
            at = self.value(f"add i64 {self.value(f'mul i64 {where[d]}, {_FREE}')}, {column}")
            where[key] = self._integer(self.free, at)
        return where[key]

    def _integer(self, pointer: str, k: str) -> str:
        return self.value(f"load i64, ptr {self.value(f'getelementptr i64, ptr {pointer}, i64 {k}')}")

    def _whole_loop(self, loop: Loop, outer: dict[str, str]) -> None:
        on_path = loop.order.startswith("path")
        model = self.memory.program.model
        length = len(self.memory.program.path()) if on_path else len(model.bodies)
        if not length:
            return
        k, close = self._counted(str(length), -1 if loop.order.endswith("inward") else 1)
        if on_path:
            k = self._integer(self.path, k)
        where = {**outer, **self._who("i", "p", k)}
        if on_path:
            present = {int(model.tables.kind[b]) for b in self.memory.program.path()}
        else:
            present = set(range(len(model.tables.kinds)))
        blocks = [block for block in loop.blocks if block.kinds["i"] in present]
        self._by_kind(blocks, "i", where)
        close()

    def _walk(self, walk: Walk, outer: dict[str, str]) -> None:
        """While the ancestor's row is not the base's."""
        where = dict(outer)
        if walk.of is None:
            begin = where["p_row"]
        else:
            begin = self.value(f"add i64 {self._free(where, walk.of, _BODY)}, 1")

        def body(row: str) -> str:
            inner = {**where, **self._who("j", "jp", self.value(f"sub i64 {row}, 1"))}
            self._by_kind(walk.blocks, "j", inner)
            return inner["jp_row"]

        self._while(begin, "ne i64 {}, 0", body)

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
        """Stores up to each loop, the loop, and so on; values computed before a loop may be used after it."""
        names: dict[int, str] = {}
        where, self.memo = dict(where), {}
        for f in block.fields:
            self._base_value(f)
        pending: list[Store] = []
        needed = live(block.roots())
        if not all(isinstance(step, Store) for step in block.steps):
            # what is read after a loop is meant as it was before the stores ahead of the loop
            for node in needed:
                if node.op == "leaf" and node.data[0] == "field":
                    names[node.index] = self._node(node, names, where)
        used = {node.index for node in needed}
        for step in block.steps:
            if isinstance(step, Store):
                pending.append(step)
                continue
            self._stores(pending, names, where)
            pending = []
            if isinstance(step, Fetch):
                if step.value.index in used:
                    names[step.value.index] = self.load(*self._place(step.value.data[2], where))
                continue
            memo = self.memo
            self._inside(step, where)
            self.memo = memo
        self._stores(pending, names, where)

    def _inside(self, step: Clear | Walk | Climb | Loop, where: dict[str, str]) -> None:
        program = self.memory.program
        if isinstance(step, Clear):
            self._clear(
                self.memory.start["output", step.output], core_size(program.model, program.output_kinds[step.output])
            )
        elif isinstance(step, Walk):
            self._walk(step, where)
        elif isinstance(step, Climb):
            self._climb(step, where)
        else:
            self._loop(step, where)

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
        if place[0] == "unit":
            mine = self.value(f"add i64 {where[place[2] + '_v_start']}, {place[1]}")
            test = self.value(f"icmp eq i64 {mine}, {where[place[3]]}")
            return self.splat(self.value(f"uitofp i1 {test} to {self.target.element}"))
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
            case ("port", port, d):
                return (self._at(where, f"{d}_entry", d, 1), layout.input_tile(port))
            case ("entry", out, d):
                return (self._at(where, f"{d}_entry", d, 1), m.start["output", out])
            case ("entry", out, r, d):
                return (self._matrix(where, r, d, m.program.model.nv), m.start["output", out])
            case ("q_out" | "v_out" as kind, out, k, who):
                start = "q_start" if kind == "q_out" else "v_start"
                at = self._at(where, f"{who}_{kind[0]}_input", f"{who}_{start}", 1)
                return (at, m.start["output", out] + k)
            case ("column", out, r, c, who):
                at = self._at(where, f"{who}_v_input", f"{who}_v_start", 1)
                return (at, m.start["output", out] + r * m.program.model.nv + c)
            case ("span", out, r, c, who):
                return (self._at(where, f"{who}_spans", f"{who}_v_start", 6), m.start["output", out] + 6 * r + c)
            case ("body_out", out, k, who):
                return (self._at(where, f"{who}_bodies", f"{who}_number", 6), m.start["output", out] + k)
            case ("pair", out, r, c, i, j):
                nv = m.program.model.nv
                return (self._matrix(where, f"{i}_v_start", f"{j}_v_start", nv), m.start["output", out] + r * nv + c)
            case ("between", number, r, c, i, j):
                own = sum(c.type.nv for c in m.program.model.joints)
                at = self._matrix(where, f"{i}_own_start", f"{j}_own_start", own)
                return (at, m.start["between", number] + r * own + c)
            case ("columns", number, k, who, d):
                size, at = m.program.column_sizes[number], f"{who}_{d}_columns{number}"
                if at not in where:
                    row = self.value(f"mul i64 {where[f'{who}_number']}, {m.program.model.nv}")
                    both = self.value(f"add i64 {row}, {where[d]}")
                    where[at] = self._vectors("%ws", self.value(f"mul i64 {both}, {size}"))
                return (where[at], m.start["columns", number] + k)
            case ("result", k):
                return ("%ws", layout.output_tile + k)
        raise AssertionError(place)

    def _at(self, where: dict[str, str], key: str, number: str, times: int) -> str:
        """The workspace shifted by a body's own offset."""
        if key not in where:
            offset = where[number] if times == 1 else self.value(f"mul i64 {where[number]}, {times}")
            where[key] = self._vectors("%ws", offset)
        return where[key]

    def _matrix(self, where: dict[str, str], r: str, c: str, width: int) -> str:
        """The workspace shifted by the place of an entry of a matrix."""
        key = f"{r}_{c}_matrix"
        if key not in where:
            row = self.value(f"mul i64 {where[r]}, {width}")
            where[key] = self._vectors("%ws", self.value(f"add i64 {row}, {where[c]}"))
        return where[key]

    def _who(self, own: str, parent: str, k: str, root: str | None = None) -> dict[str, str]:
        """Pointers for the body with number k, and for its parent: the base if the body is the root."""
        slots, width = self.memory.slot_count, self.memory.program.model.tables.rows.shape[1]
        table = self.value(f"mul i64 {k}, {width}")
        meta = self.value(f"getelementptr i64, ptr {self.meta}, i64 {self.value(f'mul i64 {k}, {_META}')}")
        row = self.value(f"add i64 {k}, 1")
        p_row = self._meta(meta, _PARENT)
        if root is not None:
            p_row = self.value(f"select i1 {self.value(f'icmp eq i64 {k}, {root}')}, i64 0, i64 {p_row}")
        return {
            f"{own}_number": k,
            f"{own}_table": self.value(f"getelementptr {self.target.element}, ptr {self.rows}, i64 {table}"),
            f"{own}_meta": meta,
            f"{own}_q_start": self._meta(meta, _Q),
            f"{own}_v_start": self._meta(meta, _V),
            f"{own}_own_start": self._meta(meta, _OWN),
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
