"""The functions around a kernel's body: a NumPy ufunc loop over tiles, and a Python function for one state.

`@loop` has the signature of a NumPy inner loop. Lane j of the tile at t works on state min(t + j, N - 1): lanes past
the end repeat the last state and store the same numbers, so a state's answer does not depend on its place.

`@call` is a Python function (METH_FASTCALL | METH_KEYWORDS). It checks that it got exactly the arrays that it expects,
and computes; for other arguments, and with any keyword, it calls a fallback. It reads the structures of Python and
NumPy at offsets that `fast_calls_work` has tested for this interpreter.
"""

from __future__ import annotations

import math

from ...records import dataclass
from ..run.numpy_api import CONTEXT, TYPE_NUMBER
from ..trace.layout import Layout, Operand
from .builder import Builder, Value
from .nodes import TextEmitter
from .stream import FROM_BYTES, ends, streamable
from .target import Target
from .tiles import MOST_PREFETCHED, prefetch

__all__ = ["attributes", "call_function", "init_function", "loop_function"]

_ALIGNED = 0x100


def attributes(target: Target) -> str:
    """Return the attributes of every function."""
    bits = 8 * target.lanes * target.itemsize
    # LLVM decides too late that vectors go to the stack to align it for them: each would lie across two cache lines
    stack = f"alignstack={bits // 8} " if bits > 128 else ""
    return f'attributes #0 = {{ nounwind {stack}"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}" }}'


@dataclass(frozen=True, slots=True)
class _Array:
    """One operand of @loop: an array of states, and its tile in the workspace."""

    operand: Operand
    base: Value
    outer: Value
    """Bytes from state to state."""
    strides: tuple[Value, ...]
    """Bytes between the numbers of one state, by dimension."""
    whole: Value
    """A test: the numbers of one state lie next to each other."""
    rows: Value
    """A table of the addresses of the current tile's states."""
    tile: Value


def loop_function(layout: Layout, target: Target, prefetching: bool) -> str:
    """Return the IR text of @loop(args, dimensions, steps, data).

    Memory of the next tile is prefetched: within a body that is `prefetching`, or before a body that is not. A large
    result is streamed instead, but for the ends of its rows.
    """
    e = _Loop(layout, target)
    streaming = e.streaming() if streamable(layout.output, target) else None
    data = e.arguments[3]
    e.call("@init", data, e.ws)
    with e.if_(e.n > 0), e.counted(e.n, step=target.lanes) as t:
        states = [(s < e.last).select(s, e.last) for s in (t + lane for lane in range(target.lanes))]
        for array in e.inputs:
            e.point(array, states)
            e.move("load", array)
        ends_of_rows = e.point(e.output, states)
        wanted = e.prefetch_table(t, streaming) if prefetching else e.prefetch_now(t, streaming)
        if streaming is not None:
            for lane, at in ends(layout.output, target):  # these lines are not written as a whole
                prefetch(e, ends_of_rows[lane].at(at), write=True, locality=3)
        e.call("@body", data, e.ws, *wanted)
        e.move("store", e.output, streaming, layout.spread_tile if layout.where else None)
    if streaming is not None:
        e.line("fence seq_cst")
    return e.text("@loop", internal=False)


class _Loop(TextEmitter):
    """Writes @loop, around one tile of states."""

    def __init__(self, layout: Layout, target: Target) -> None:
        super().__init__(target, arguments=("ptr %args", "ptr %dimensions", "ptr %steps", "ptr %data"))
        args, dimensions, steps, _ = self.arguments
        self.n = dimensions.load("i64")
        self.last = self.n - 1
        inputs = len(layout.inputs)
        self.ws = args.load("ptr", inputs)  # the workspace stands between inputs and output
        core = inputs + 2

        def array(operand: Operand, place: int, tile: int) -> _Array:
            strides = tuple(steps.load("i64", core + d) for d in range(len(operand.shape)))
            rows = self.alloca(f"[{target.lanes} x ptr]")
            whole = self._contiguous(operand, strides)
            at = self.ws.at(tile, target.vector)
            return _Array(operand, args.load("ptr", place), steps.load("i64", place), strides, whole, rows, at)

        self.inputs = []
        for k, operand in enumerate(layout.inputs):
            self.inputs.append(array(operand, k, layout.input_tile(k)))
            core += len(operand.shape)
        core += 1  # the workspace's own core stride
        self.output = array(layout.output, inputs + 1, layout.output_tile)

    def _contiguous(self, operand: Operand, strides: tuple[Value, ...]) -> Value:
        whole, expected = self.const("true", "i1"), self.target.itemsize
        for stride, n in zip(reversed(strides), reversed(operand.shape), strict=True):
            if n > 1:  # NumPy gives any stride to a dimension of length one
                whole = stride.equals(expected) & whole
            expected *= n
        return whole

    def streaming(self) -> Value:
        """Test whether the result goes past the caches: it is large, contiguous, and aligned to numbers."""
        out, size = self.output, self.target.itemsize
        large = self.n * (out.operand.size * size) >= FROM_BYTES
        misaligned = (out.base.to("ptrtoint", "i64") | out.outer) & (size - 1)
        return large & misaligned.equals(0) & out.whole

    def point(self, array: _Array, states: list[Value]) -> list[Value]:
        """Fill the table of an operand's addresses for the states of a tile."""
        addresses = [array.base.at(state * array.outer) for state in states]
        for lane, address in enumerate(addresses):
            array.rows.store(address, lane)
        return addresses

    def prefetch_table(self, t: Value, streaming: Value | None) -> list[Value]:
        """Return the table of addresses for the prefetches of the body: this tile's result, the next tile's arguments.

        Prefetching beyond the last state is useless but harmless. A result that is streamed is not prefetched.
        """
        lanes = self.target.lanes
        table = self.alloca(f"[{lanes * (len(self.inputs) + 1)} x ptr]")
        for k, array in enumerate([*self.inputs, self.output]):
            base, outer, first = array.base, array.outer, t + lanes
            if array is self.output:
                first = t
                if streaming is not None:
                    base, outer = streaming.select(self.ws, base), streaming.select(self.const(0), outer)
            for lane in range(lanes):
                table.store(base.at((first + lane) * outer), lanes * k + lane)
        return [table]

    def prefetch_now(self, t: Value, streaming: Value | None) -> list[Value]:
        """Prefetch the next tile's arguments and this tile's result, before the body."""
        sizes = [min(x.operand.size * self.target.itemsize, MOST_PREFETCHED) for x in (*self.inputs, self.output)]
        for array, size in zip(self.inputs, sizes, strict=False):
            self.call("@prefetch_loads", array.base, array.outer, t + self.target.lanes, self.last, size)
        bytes_ = streaming.select(self.const(0), sizes[-1]) if streaming is not None else sizes[-1]
        self.call("@prefetch_stores", self.output.base, self.output.outer, t, self.last, bytes_)
        return []

    def move(self, verb: str, array: _Array, streaming: Value | None = None, spread: int | None = None) -> None:
        """Move an operand between the states of this tile and the workspace.

        A result may go past the caches if it is `streaming`. One that has the same numbers in several places is put in
        order, in the vectors from `spread` on, if its numbers are not next to each other.
        """
        size, tile = array.operand.size, array.tile
        with self.if_else(array.whole) as (rows, picked):
            with rows, self.block():
                if streaming is not None:
                    with self.if_(streaming):
                        self.call("@stream_rows", array.rows, tile)
                        self.leave()
                self.call(f"@{verb}_rows", array.rows, tile, 0, size)
            with picked:
                if spread is not None:
                    ordered = self.ws.at(spread, self.target.vector)
                    self.call("@spread", ordered, tile, size)
                    tile = ordered
                self._move_strided(verb, array, tile)

    def _move_strided(self, verb: str, array: _Array, tile: Value, d: int = 0) -> None:
        """Move numbers that lie apart, of the dimensions from d on; the addresses of the states walk along."""
        shape, strides = array.operand.shape, array.strides
        if len(shape) - d < 2:
            self.call(f"@{verb}_strided", array.rows, tile, math.prod(shape[d:]), strides[d] if shape else 0)
            return
        with self.counted(shape[d]) as k:
            self._move_strided(verb, array, tile.at(k * math.prod(shape[d + 1 :]), self.target.vector), d + 1)
            self._walk(array, strides[d])
        if d:
            self._walk(array, strides[d] * -shape[d])

    def _walk(self, array: _Array, step: Value) -> None:
        """Add bytes to the addresses of the states."""
        for lane in range(self.target.lanes):
            array.rows.store(array.rows.load("ptr", lane).at(step), lane)


def init_function() -> str:
    """Return the IR text of @prepare(data, workspace): the constant part of the result, once per workspace of @call."""
    e = Builder(("ptr %data", "ptr %ws"))
    e.call("@init", *e.arguments)
    return e.text("@prepare", internal=False)


def call_function(layout: Layout, target: Target, head: int, prefetching: bool) -> str:
    """Return the IR text of @call(self, args, nargs, kwnames), and of @bind(context), which must be called first.

    `head` is the size of PyObject's header. A body that is `prefetching` gets an address that is in the cache. The
    answer has the dimensions `dims` of the context, and the first `numbers` of the result. If the context has a
    `floor`, the result's last number must be above it: else the fallback is called.
    """
    rows = target.lanes * (len(layout.inputs) + 1)
    bind = Builder(("ptr %context",))
    bind.const("@context", "ptr").store(bind.arguments[0])
    e = Builder(("ptr %self", "ptr %args", "i64 %nargs", "ptr %kwnames"))
    self, args, nargs, kwnames = e.arguments
    words = e.const("@context", "ptr").load("ptr")
    context = {word: words.load("ptr", n) for n, word in enumerate(CONTEXT)}
    with e.block():
        e.leave_unless(nargs.equals(len(layout.inputs)) & kwnames.equals(e.null))
        _compute(e, layout, target, head, context, prefetching)
    general = e.call(context["get_attribute"], self, context["fallback"], result="ptr")
    with e.if_(general.equals(e.null)):
        e.ret(e.null)
    answer = e.call(context["vectorcall"], general, args, nargs, kwnames, result="ptr")
    e.call(context["release"], general)
    e.ret(answer)
    return "\n".join(
        [
            "@here = internal constant i64 0",
            f"@at_hand = internal constant [{rows} x ptr] [{', '.join(['ptr @here'] * rows)}]" if prefetching else "",
            "@context = internal global ptr null",
            bind.text("@bind", internal=False),
            e.text("@call", "ptr", internal=False),
        ]
    )


def _compute(
    e: Builder, layout: Layout, target: Target, head: int, context: dict[str, Value], prefetching: bool
) -> None:
    """Return an array of the answer from @call; leave the block if the fast path is not for these arguments."""
    workspace, shape = context["workspace"], layout.output.shape
    given = [_checked(e, k, operand, target, head, context) for k, operand in enumerate(layout.inputs)]
    for k, (operand, numbers) in enumerate(zip(layout.inputs, given, strict=True)):
        e.call("@splat", numbers, workspace.at(layout.input_tile(k), target.vector), operand.size)
    e.call("@body", context["data"], workspace, *([e.const("@at_hand", "ptr")] if prefetching else []))
    tile = workspace.at(layout.output_tile, target.vector)
    with e.if_(context["floor"].differs(e.null)):
        last = layout.places[layout.output.size - 1] if layout.places else layout.output.size - 1
        number = tile.at(last, target.vector).load(target.element)
        e.leave_unless(number > context["floor"].load(target.element))
    rank, kind, zero = (e.const(k, "i32") for k in (len(shape), TYPE_NUMBER[target.dtype], 0))
    no = e.null
    array = e.call(
        context["new_array"], context["ndarray_type"], rank, context["dims"], kind, no, no, zero, zero, no, result="ptr"
    )
    with e.if_(array.equals(e.null)):
        e.ret(e.null)
    e.call("@extract", array.at(head).load("ptr"), tile, context["numbers"].to("ptrtoint", "i64"))
    e.ret(array if shape else e.call(context["array_return"], array, result="ptr"))


def _checked(e: Builder, k: int, operand: Operand, target: Target, head: int, context: dict[str, Value]) -> Value:
    """Return the address of argument k's numbers; leave the block unless it is exactly the array that is expected."""
    argument = e.arguments[1].load("ptr", k)
    kind = argument.at(head - 8).load("ptr")
    if not operand.shape:
        e.leave_unless(kind.equals(context["float_type"]))
        return argument.at(head)
    e.leave_unless(kind.equals(context["ndarray_type"]))
    data, dims, strides, dtype = (argument.at(head + offset).load("ptr") for offset in (0, 16, 24, 40))
    rank, flags = (argument.at(head + offset).load("i32") for offset in (8, 48))
    e.leave_unless(rank.equals(len(operand.shape)) & dtype.equals(context["dtype"]) & (flags & _ALIGNED).differs(0))
    good, stride = e.const("true", "i1"), target.itemsize
    for d in reversed(range(len(operand.shape))):
        good = dims.load("i64", d).equals(operand.shape[d]) & strides.load("i64", d).equals(stride) & good
        stride *= operand.shape[d]
    e.leave_unless(good)
    return data
