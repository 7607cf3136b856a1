"""The frame of a kernel: its parameters, the state of a thread, shared memory, and the end of the batch.

The text of a kernel can be written for this machine's processor, too (`on_device=False`): as a function that computes
one thread of a block, with the numbers of the thread and the block, and the number of blocks, as further arguments, and
a function that waits for the other threads. This is how tests run it without a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...records import dataclass
from ..emit.builder import Value
from ..emit.target import Target
from ..trace.layout import Layout
from .emitter import GLOBAL, SHARED, Row, ThreadEmitter
from .spills import Slots

__all__ = ["NAME", "WARP", "Arguments", "Entry", "Frame", "parameters_of"]

NAME = "ordern_kernel"
WARP = 32
"""Threads of a warp."""
_SHORT = 40
"""Numbers of a result that threads write to their own rows; longer results take the way through the workspace."""
_REGISTERS = ("tid", "ctaid", "nctaid")
"""The special registers that have the number of the thread, of the block, and the number of blocks."""


class Frame:
    """Writes a kernel of blocks with so many threads."""

    def __init__(self, target: Target, parameters: Sequence[str], block: int, on_device: bool = True) -> None:
        """Begin a kernel with parameters such as "i64 %n"."""
        self.block, self.on_device = block, on_device
        arguments = tuple(parameters)
        if not on_device:
            arguments += (*(f"i64 %{name}" for name in _REGISTERS), "ptr %wait")
        self.e = ThreadEmitter(target, arguments)
        self.named = {x.name: x for x in self.e.arguments}
        """The parameters, by their names."""
        self.shared = 0
        """Numbers of shared memory of a block."""

    def register(self, name: str) -> Value:
        """Return a special register as i64."""
        if not self.on_device:
            return self.named[f"%{name}"]
        return self.e.typed("i32", f"call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()").to("zext", "i64")

    def shared_address(self, index: Value) -> Value:
        """Return the address of a number in shared memory: on a device a number of 32 bits."""
        e = self.e
        if not self.on_device:
            return e.const("@shared", "ptr").at(index, e.element)
        offset = index.to("trunc", "i32") * e.target.itemsize
        return offset + e.const(f"ptrtoint ({SHARED} @shared to i32)", "i32")

    def shared_pointer(self, index: Value) -> Value:
        """Return the address of a number in shared memory as a pointer."""
        return self.e.const("@shared", SHARED if self.on_device else "ptr").at(index, self.e.element)

    def slots_at(self, index: Value, apart: int) -> Slots:
        """Return slots in shared memory from a number on."""
        return Slots(self.e, self.shared_address(index).name, "shared", apart, self.on_device)

    def wait_for_block(self, alone: bool = False) -> None:
        """Wait for all threads of the block, and for what they wrote to shared memory; `alone` if it is one warp."""
        if not self.on_device:
            self.e.line("call void %wait()")
            return
        text = "bar.warp.sync 0xffffffff;" if alone else "bar.sync 0;"
        self.e.line(f'call void asm sideeffect "{text}", "~{{memory}}"() #1')

    def text(self, registers: int = 0) -> str:
        """Return the IR text of the module, without its head; code of a thread gets at most so many registers."""
        e, element = self.e, self.e.element
        e.ret()
        suffix = f"f{8 * e.target.itemsize}"
        lines = [f"declare {element} @llvm.{name}.{suffix}({element})" for name in ("sqrt", "fabs")]
        lines.append(f"declare {element} @llvm.fma.{suffix}({element}, {element}, {element})")
        if self.shared:
            size = (
                f"[0 x {element}], align 16"
                if self.on_device
                else f"[{self.shared} x {element}] zeroinitializer, align 16"
            )
            lines.append(f"@shared = {'external addrspace(3)' if self.on_device else 'internal'} global {size}")
        attributes = ["attributes #0 = { nounwind }", "attributes #1 = { nounwind convergent }"]
        if not self.on_device:
            return "\n".join([*lines, e.text(f"@{NAME}", "void", internal=False), *attributes, "!0 = !{}"])
        lines += [f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}.x()" for name in _REGISTERS]
        marks = {"reqntidx": self.block, "reqntidy": 1, "reqntidz": 1, **({"maxnreg": registers} if registers else {})}
        notes = [f'!{k} = !{{ptr @{NAME}, !"{word}", i32 {x}}}' for k, (word, x) in enumerate(marks.items(), 1)]
        listed = ", ".join(f"!{k}" for k in range(1, len(notes) + 1))
        kernel = e.text(f"@{NAME}", "ptx_kernel void", internal=False)
        return "\n".join([*lines, kernel, *attributes, f"!nvvm.annotations = !{{{listed}}}", "!0 = !{}", *notes])


@dataclass(frozen=True, slots=True)
class Arguments:
    """The addresses of one state's numbers."""

    inputs: list[Row]
    output: Row
    workspace: Row


def parameters_of(layout: Layout) -> list[str]:
    """Return the parameters of a kernel that answers a question: see `code.py`."""
    found = [x for k in range(len(layout.inputs)) for x in (f"{GLOBAL} noalias %in{k}", f"i64 %in{k}_stride")]
    return [
        *found,
        f"{GLOBAL} noalias %out",
        "i64 %out_stride",
        *(f"{GLOBAL} noalias %{x}" for x in ("ws", "tables")),
        "i64 %n",
    ]


class Entry(Frame):
    """Writes a kernel with one state a thread."""

    def __init__(self, target: Target, layout: Layout, block: int, on_device: bool = True) -> None:
        super().__init__(target, parameters_of(layout), block, on_device)
        self.layout = layout
        self._tiles = 0
        """The place in shared memory of squares in which results are transposed."""

    @property
    def _through_workspace(self) -> bool:
        """True if results are first written to the workspace."""
        return self.layout.output.size > _SHORT

    def workspace(self, own: int) -> int:
        """Return the numbers of the workspace of a state, with `own` numbers of its code."""
        return own + (-(-self.layout.output.size // WARP) * WARP if self._through_workspace else 0)

    @contextmanager
    def state(self, own: int = 0) -> Iterator[Arguments]:
        """Run what is inside for the state of the thread; with a workspace, for every state that falls to it.

        The code may use `own` numbers of the workspace.
        """
        e, n, workspace = self.e, self.named["%n"], self.workspace(own)
        thread, block = self.register("tid"), self.register("ctaid")
        if not workspace:
            state = block * self.block + thread
            with e.if_(state < n):
                yield self._arguments(state, Row(e, "%ws", GLOBAL), None)
            return
        blocks = self.register("nctaid")
        numbers = self.named["%ws"].at(block * (self.block * workspace) + thread, e.element)
        memory = Row(e, numbers.name, GLOBAL, self.block)
        result = memory.at(own, e.element) if self._through_workspace else None
        if result is not None:
            self._tiles, self.shared = self.shared, self.shared + self.block * (WARP + 1)
        with e.repeat():
            group = e.carried(block)
            e.leave_unless(group.value * self.block < n)
            state = group.value * self.block + thread
            with e.if_(state < n):
                yield self._arguments(state, memory, result)
            if result is not None:
                self._copy_results(result, group.value * self.block)
            group.next = group.value + blocks

    def _copy_results(self, result: Row, first: Value) -> None:
        """Copy the results of a warp from the workspace to their rows, by way of a square of shared memory.

        If each thread wrote to its own row, every instruction would touch 32 lines of memory.
        """
        e, n, size = self.e, self.named["%n"], self.layout.output.size
        thread, stride = self.register("tid"), self.named["%out_stride"]
        lane, warp = thread & (WARP - 1), thread >> 5
        first = first + warp * WARP
        tile = warp * (WARP * (WARP + 1)) + self._tiles
        by_state, by_column = self.slots_at(tile + lane, WARP + 1), tile + lane * (WARP + 1)
        with e.counted(size, 0, WARP) as start:
            source = result.at(start, e.element)
            for k, x in enumerate([e.load(source, k) for k in range(WARP)]):
                by_state.write(k, x)
            self.wait_for_block(alone=True)
            column = start + lane
            row = self.named["%out"].at(first * stride + column, e.element)
            with e.if_(column < size), e.if_else(first + WARP <= n) as (yes, no):
                with yes:
                    slots, to = self.slots_at(by_column, 1), row
                    for k in range(WARP):
                        to.store(e.const(slots.read(k), e.element))
                        to = to.at(stride, e.element)
                with no, e.if_(first < n), e.counted(n - first) as r:
                    x = self.slots_at(by_column + r, 1).read(0)
                    row.at(r * stride, e.element).store(e.const(x, e.element))
            self.wait_for_block(alone=True)

    def slots(self, count: int, space: str) -> Slots:
        """Return memory of each thread for values that wait: its own ("local"), or a part of "shared" memory."""
        e = self.e
        if space == "shared":
            first, self.shared = self.shared, self.shared + count * self.block
            return self.slots_at(self.register("tid") + first, self.block)
        own = e.alloca(f"[{count} x {e.element}]")
        if not self.on_device:
            return Slots(e, own.name, space, 1, on_device=False)
        base = e.typed("ptr addrspace(5)", f"addrspacecast ptr {own} to ptr addrspace(5)").to("ptrtoint", "i64")
        return Slots(e, base.name, space, 1, on_device=True)

    def _arguments(self, state: Value, workspace: Row, result: Row | None) -> Arguments:
        """Return the rows of a state."""

        def row(name: str, constant: bool) -> Row:
            base, stride = self.named[f"%{name}"], self.named[f"%{name}_stride"]
            return Row(self.e, base.at(state * stride, self.e.element).name, GLOBAL, constant=constant)

        inputs = [row(f"in{k}", constant=True) for k in range(len(self.layout.inputs))]
        output = row("out", constant=False) if result is None else result
        return Arguments(inputs, output, workspace)
