"""The functions around a kernel's body: a NumPy ufunc loop over tiles, and a Python function for one state.

`@loop` has the signature of a NumPy inner loop. Lane j of the tile at t works on state min(t + j, N - 1): lanes past
the end repeat the last state and store the same numbers, so a state's answer does not depend on its place.

`@call` is a Python function (METH_FASTCALL | METH_KEYWORDS). It checks that it got exactly the arrays that it expects,
and computes; anything else, and any keyword, it hands to a fallback. Python's and NumPy's structures are read at the
offsets that `fast_calls_work` has found to be right for this interpreter.
"""

from __future__ import annotations

from ..trace.layout import Layout, Operand, Repeating
from .stream import FROM_BYTES, ends, streamable
from .target import Target
from .tiles import MOST_EXPECTED

__all__ = ["CONTEXT", "attributes", "call_function", "init_function", "loop_function"]

CONTEXT = (
    "get_attribute",
    "fallback",
    "vectorcall",
    "release",
    "ndarray_type",
    "dtype",
    "new_array",
    "array_return",
    "float_type",
    "workspace",
    "data",
    "dims",
    "numbers",
    "floor",
)
"""The words that `@bind` is given: what @call needs, addresses but for `numbers`.

`fallback` is a name: the method of that name is looked up in `self` for every call that it takes, so that @call holds
no reference that the collector cannot see.
"""


def attributes(target: Target) -> str:
    """The attributes of every function."""
    bits = 8 * target.lanes * target.itemsize
    # LLVM learns too late that vectors go to the stack to align it for them, and each would lie across two lines
    stack = f"alignstack={bits // 8} " if bits > 128 else ""
    return f'attributes #0 = {{ nounwind {stack}"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}" }}'


def loop_function(layout: Layout, target: Target, asking: bool) -> str:
    """IR text of @loop(args, dimensions, steps, data).

    Memory of the next tile is asked for ahead: by a body that is `asking`, or before a body that is not. A large result
    is streamed instead, but for the ends of its rows.
    """
    operands = [*layout.inputs, layout.output]
    streams = streamable(layout.output, target)
    count = len(operands) + 1  # the workspace stands between inputs and output
    place = [*range(len(layout.inputs)), count - 1]
    lines = [
        "define void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data) #0 {",
        "entry:",
        "  %n = load i64, ptr %dimensions",
        "  %last = sub i64 %n, 1",
        f"  %wsp = getelementptr ptr, ptr %args, i64 {count - 2}",
        "  %ws = load ptr, ptr %wsp",
    ]
    if asking:
        lines.append(f"  %wanted = alloca [{target.lanes * len(operands)} x ptr], align 16")
    core = count
    for k, (operand, at) in enumerate(zip(operands, place, strict=True)):
        lines += [
            f"  %ap{k} = getelementptr ptr, ptr %args, i64 {at}",
            f"  %a{k} = load ptr, ptr %ap{k}",
            f"  %op{k} = getelementptr i64, ptr %steps, i64 {at}",
            f"  %o{k} = load i64, ptr %op{k}",
            f"  %l{k} = alloca [{target.lanes} x ptr], align 16",
        ]
        if at == count - 1:
            core += 1  # the workspace's own core stride
        for d in range(len(operand.shape)):
            lines += [
                f"  %cp{k}_{d} = getelementptr i64, ptr %steps, i64 {core}",
                f"  %c{k}_{d} = load i64, ptr %cp{k}_{d}",
            ]
            core += 1
        lines += _contiguous(k, operand, target)
    if streams:
        lines += _streaming(len(layout.inputs), layout.output, target)
    lines += [
        "  call void @init(ptr %data, ptr %ws)",
        "  %some = icmp sgt i64 %n, 0",
        "  br i1 %some, label %tile, label %end",
        "tile:",
        f"  %t = phi i64 [ 0, %entry ], [ %t_next, %stored{len(layout.inputs)} ]",
    ]
    for lane in range(target.lanes):
        lines += [
            f"  %s{lane} = add i64 %t, {lane}",
            f"  %s{lane}_in = icmp slt i64 %s{lane}, %last",
            f"  %i{lane} = select i1 %s{lane}_in, i64 %s{lane}, i64 %last",
        ]
    for k, operand in enumerate(layout.inputs):
        lines += _row_table(k, target)
        lines += _transfer(k, operand, layout.input_tile(k), target, "load")
    lines += _row_table(len(layout.inputs), target)
    lines.append(f"  %t_next = add i64 %t, {target.lanes}")
    for k, operand in enumerate(operands):
        # the result's place is asked for now, the arguments of the next tile for then
        verb, when = ("store", "%t") if k == len(layout.inputs) else ("load", "%t_next")
        streamed = streams and verb == "store"
        if asking:
            lines += _wanted(k, when, target, streamed)
        else:
            size: int | str = min(operand.size * target.itemsize, MOST_EXPECTED)
            if streamed:
                lines.append(f"  %asked = select i1 %streaming, i64 0, i64 {size}")
                size = "%asked"
            lines.append(f"  call void @expect_{verb}(ptr %a{k}, i64 %o{k}, i64 {when}, i64 %last, i64 {size})")
    if streams:
        lines += _ends_wanted(len(layout.inputs), layout.output, target)
    lines.append(f"  call void @body(ptr %data, ptr %ws{', ptr %wanted' if asking else ''})")
    spread = layout.spread_tile if isinstance(layout, Repeating) else None
    lines += _transfer(len(layout.inputs), layout.output, layout.output_tile, target, "store", streams, spread)
    lines += [
        "  %t_more = icmp slt i64 %t_next, %n",
        "  br i1 %t_more, label %tile, label %end",
        "end:",
        "  fence seq_cst" if streams else "",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def _streaming(k: int, operand: Operand, target: Target) -> list[str]:
    """%streaming: whether the result, operand k, goes past the caches."""
    return [
        f"  %bytes = mul i64 %n, {operand.size * target.itemsize}",
        f"  %large = icmp uge i64 %bytes, {FROM_BYTES}",
        f"  %first_row = ptrtoint ptr %a{k} to i64",
        f"  %rows_at = or i64 %first_row, %o{k}",
        f"  %amiss = and i64 %rows_at, {target.itemsize - 1}",
        "  %aligned = icmp eq i64 %amiss, 0",
        "  %worth_it = and i1 %large, %aligned",
        f"  %streaming = and i1 %worth_it, %whole{k}",
        f"  %want_at = select i1 %streaming, ptr %ws, ptr %a{k}",  # nothing is asked for that will not be read
        f"  %want_step = select i1 %streaming, i64 0, i64 %o{k}",
    ]


def _wanted(k: int, first: str, target: Target, streamed: bool) -> list[str]:
    """Note where operand k of the states from `first` on is; beyond the last state, asking is in vain but harmless."""
    lines = []
    at, step = ("%want_at", "%want_step") if streamed else (f"%a{k}", f"%o{k}")
    for lane in range(target.lanes):
        lines += [
            f"  %ws{k}_{lane} = add i64 {first}, {lane}",
            f"  %wx{k}_{lane} = mul i64 %ws{k}_{lane}, {step}",
            f"  %wp{k}_{lane} = getelementptr i8, ptr {at}, i64 %wx{k}_{lane}",
            f"  %wt{k}_{lane} = getelementptr ptr, ptr %wanted, i64 {target.lanes * k + lane}",
            f"  store ptr %wp{k}_{lane}, ptr %wt{k}_{lane}",
        ]
    return lines


def _ends_wanted(k: int, operand: Operand, target: Target) -> list[str]:
    """Ask for what of a result's rows, operand k, is not written as whole lines: other stores would wait for it."""
    lines = []
    for n, (lane, at) in enumerate(ends(operand, target)):
        lines += [
            f"  %end{n} = getelementptr i8, ptr %p{k}_{lane}, i64 {at}",
            f"  call void @llvm.prefetch.p0(ptr %end{n}, i32 1, i32 3, i32 1)",
        ]
    return lines


def _row_table(k: int, target: Target) -> list[str]:
    """Where operand k of this tile's states is: %p{k}_{lane}, and the table %l{k} of them."""
    lines = []
    for lane in range(target.lanes):
        lines += [
            f"  %x{k}_{lane} = mul i64 %i{lane}, %o{k}",
            f"  %p{k}_{lane} = getelementptr i8, ptr %a{k}, i64 %x{k}_{lane}",
            f"  %y{k}_{lane} = getelementptr ptr, ptr %l{k}, i64 {lane}",
            f"  store ptr %p{k}_{lane}, ptr %y{k}_{lane}",
        ]
    return lines


def _contiguous(k: int, operand: Operand, target: Target) -> list[str]:
    """%whole{k}: whether one state's numbers lie next to each other."""
    lines, stride, whole = [], target.itemsize, "true"
    for d in reversed(range(len(operand.shape))):
        lines += [
            f"  %w{k}_{d} = icmp eq i64 %c{k}_{d}, {stride}",
            f"  %so_far{k}_{d} = and i1 %w{k}_{d}, {whole}",
        ]
        whole = f"%so_far{k}_{d}"
        stride *= operand.shape[d]
    lines.append(f"  %whole{k} = and i1 {whole}, true")
    return lines


def _transfer(
    k: int, operand: Operand, tile: int, target: Target, verb: str, streams: bool = False, spread: int | None = None
) -> list[str]:
    """Move operand k for the states of this tile; ends in block %stored{k}.

    A result that `streams` may go past the caches. One that has the same numbers in several places is put in order, in
    the vectors from `spread` on, if it has to be picked apart.
    """
    lines = [
        f"  %b{k} = getelementptr {target.vector}, ptr %ws, i64 {tile}",
        f"  br i1 %whole{k}, label %rows{k}, label %picked{k}",
        f"rows{k}:",
        *_streamed(k, streams),
        f"  call void @{verb}_rows(ptr %l{k}, ptr %b{k}, i64 0, i64 {operand.size})",
        f"  br label %stored{k}",
        f"picked{k}:",
        f"  %d{k} = getelementptr {target.vector}, ptr %ws, i64 {tile if spread is None else spread}",
    ]
    if spread is not None:
        lines.append(f"  call void @spread(ptr %d{k}, ptr %b{k}, i64 {operand.size})")
    if len(operand.shape) < 2:
        stride = f"%c{k}_0" if operand.shape else "0"
        lines.append(f"  call void @{verb}_strided(ptr %l{k}, ptr %d{k}, i64 {operand.size}, i64 {stride})")
        lines.append(f"  br label %stored{k}")
    else:
        lines += _row_by_row(k, operand, target, verb)
    lines.append(f"stored{k}:")
    return lines


def _streamed(k: int, streams: bool) -> list[str]:
    """Stream rows if that is worth it, or go on."""
    if not streams:
        return []
    return [
        f"  br i1 %streaming, label %stream{k}, label %cached{k}",
        f"stream{k}:",
        f"  call void @stream_rows(ptr %l{k}, ptr %b{k})",
        f"  br label %stored{k}",
        f"cached{k}:",
    ]


def _row_by_row(k: int, operand: Operand, target: Target, verb: str) -> list[str]:
    """A matrix with strides of its own: one row after another."""
    rows, columns = operand.shape
    lines = [
        f"  br label %row{k}",
        f"row{k}:",
        f"  %r{k} = phi i64 [ 0, %picked{k} ], [ %r{k}_next, %row{k} ]",
        f"  %r{k}_tile = mul i64 %r{k}, {columns}",
        f"  %r{k}_to = getelementptr {target.vector}, ptr %d{k}, i64 %r{k}_tile",
        f"  call void @{verb}_strided(ptr %l{k}, ptr %r{k}_to, i64 {columns}, i64 %c{k}_1)",
    ]
    for lane in range(target.lanes):
        lines += [
            f"  %z{k}_{lane} = getelementptr ptr, ptr %l{k}, i64 {lane}",
            f"  %u{k}_{lane} = load ptr, ptr %z{k}_{lane}",
            f"  %v{k}_{lane} = getelementptr i8, ptr %u{k}_{lane}, i64 %c{k}_0",
            f"  store ptr %v{k}_{lane}, ptr %z{k}_{lane}",
        ]
    lines += [
        f"  %r{k}_next = add i64 %r{k}, 1",
        f"  %r{k}_more = icmp slt i64 %r{k}_next, {rows}",
        f"  br i1 %r{k}_more, label %row{k}, label %stored{k}",
    ]
    return lines


def init_function() -> str:
    """IR text of @prepare(workspace): the constant part of the result, once per workspace of @call."""
    return "\n".join(
        [
            "define void @prepare(ptr %data, ptr %ws) #0 {",
            "  call void @init(ptr %data, ptr %ws)",
            "  ret void",
            "}",
        ]
    )


def call_function(layout: Layout, target: Target, head: int, asking: bool) -> str:
    """IR text of @call(self, args, nargs, kwnames), and of @bind(context), which must be called first.

    `head` is the size of PyObject's header. A body that is `asking` asks for what is at hand. The answer has the
    dimensions `dims` of the context, and the first `numbers` of the result. If the context has a `floor`, the result's
    last number must be above it: else the fallback is called.
    """
    shape = layout.output.shape
    rows = target.lanes * (len(layout.inputs) + 1)
    lines = [
        "@here = internal constant i64 0",
        f"@at_hand = internal constant [{rows} x ptr] [{', '.join(['ptr @here'] * rows)}]" if asking else "",
        "@context = internal global ptr null",
        "define void @bind(ptr %context) #0 {",
        "  store ptr %context, ptr @context",
        "  ret void",
        "}",
        "define ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) #0 {",
        "entry:",
        "  %context = load ptr, ptr @context",
    ]
    for n, word in enumerate(CONTEXT):
        lines += [
            f"  %{word}_at = getelementptr ptr, ptr %context, i64 {n}",
            f"  %{word} = load ptr, ptr %{word}_at",
        ]
    lines += [
        f"  %right = icmp eq i64 %nargs, {len(layout.inputs)}",
        "  %bare = icmp eq ptr %kwnames, null",
        "  %plain = and i1 %right, %bare",
        "  br i1 %plain, label %check0, label %slow",
    ]
    for k, operand in enumerate(layout.inputs):
        lines += _check(k, operand, target, head)
    lines.append(f"check{len(layout.inputs)}:")
    for k, operand in enumerate(layout.inputs):
        lines += [
            f"  %tile{k} = getelementptr {target.vector}, ptr %workspace, i64 {layout.input_tile(k)}",
            f"  call void @splat(ptr %data{k}, ptr %tile{k}, i64 {operand.size})",
        ]
    last = layout.places[layout.output.size - 1] if layout.places else layout.output.size - 1
    lines += [
        f"  call void @body(ptr %data, ptr %workspace{', ptr @at_hand' if asking else ''})",
        "  %free = icmp eq ptr %floor, null",
        "  br i1 %free, label %answer, label %guard",
        "guard:",
        f"  %last_at = getelementptr {target.vector}, ptr %workspace, i64 {layout.output_tile + last}",
        f"  %last = load {target.element}, ptr %last_at",
        f"  %least = load {target.element}, ptr %floor",
        f"  %good = fcmp ogt {target.element} %last, %least",
        "  br i1 %good, label %answer, label %slow",
        "answer:",
        f"  %array = call ptr %new_array(ptr %ndarray_type, i32 {len(shape)}, ptr %dims, "
        f"i32 {_TYPE_NUMBER[target.dtype]}, ptr null, ptr null, i32 0, i32 0, ptr null)",
        "  %failed = icmp eq ptr %array, null",
        "  br i1 %failed, label %fail, label %filled",
        "filled:",
        f"  %out_at = getelementptr i8, ptr %array, i64 {head}",
        "  %out = load ptr, ptr %out_at",
        f"  %tile = getelementptr {target.vector}, ptr %workspace, i64 {layout.output_tile}",
        "  %count = ptrtoint ptr %numbers to i64",
        "  call void @extract(ptr %out, ptr %tile, i64 %count)",
    ]
    if shape:
        lines.append("  ret ptr %array")
    else:
        lines += ["  %number = call ptr %array_return(ptr %array)", "  ret ptr %number"]
    lines += [
        "fail:",
        "  ret ptr null",
        "slow:",
        "  %general = call ptr %get_attribute(ptr %self, ptr %fallback)",
        "  %lost = icmp eq ptr %general, null",
        "  br i1 %lost, label %fail, label %hand_over",
        "hand_over:",
        "  %told = call ptr %vectorcall(ptr %general, ptr %args, i64 %nargs, ptr %kwnames)",
        "  call void %release(ptr %general)",
        "  ret ptr %told",
        "}",
    ]
    return "\n".join(lines)


_TYPE_NUMBER = {"float32": 11, "float64": 12}
_ALIGNED = 0x100


def _check(k: int, operand: Operand, target: Target, head: int) -> list[str]:
    """From %check{k} on to the next check if argument k is what it should be, else to %slow; sets %data{k}."""
    lines = [
        f"check{k}:",
        f"  %arg{k}_at = getelementptr ptr, ptr %args, i64 {k}",
        f"  %arg{k} = load ptr, ptr %arg{k}_at",
    ]

    def field(name: str, offset: int, kind: str) -> str:
        lines.append(f"  %{name}{k}_at = getelementptr i8, ptr %arg{k}, i64 {offset}")
        lines.append(f"  %{name}{k} = load {kind}, ptr %{name}{k}_at")
        return f"%{name}{k}"

    kind = field("type", head - 8, "ptr")
    if not operand.shape:
        lines += [
            f"  %data{k} = getelementptr i8, ptr %arg{k}, i64 {head}",
            f"  %ok{k} = icmp eq ptr {kind}, %float_type",
            f"  br i1 %ok{k}, label %check{k + 1}, label %slow",
        ]
        return lines
    lines += [
        f"  %is_array{k} = icmp eq ptr {kind}, %ndarray_type",
        f"  br i1 %is_array{k}, label %array{k}, label %slow",
        f"array{k}:",
    ]
    field("data", head, "ptr")
    nd = field("nd", head + 8, "i32")
    dims = field("dims", head + 16, "ptr")
    strides = field("strides", head + 24, "ptr")
    dtype = field("descr", head + 40, "ptr")
    flags = field("flags", head + 48, "i32")
    lines += [
        f"  %good_nd{k} = icmp eq i32 {nd}, {len(operand.shape)}",
        f"  %good_dtype{k} = icmp eq ptr {dtype}, %dtype",
        f"  %aligned{k} = and i32 {flags}, {_ALIGNED}",
        f"  %good_flags{k} = icmp ne i32 %aligned{k}, 0",
        f"  %good_a{k} = and i1 %good_nd{k}, %good_dtype{k}",
        f"  %good_b{k} = and i1 %good_a{k}, %good_flags{k}",
        f"  br i1 %good_b{k}, label %shape{k}, label %slow",
        f"shape{k}:",
    ]
    good, stride = "true", target.itemsize
    for d in reversed(range(len(operand.shape))):
        lines += [
            f"  %n{k}_{d}_at = getelementptr i64, ptr {dims}, i64 {d}",
            f"  %n{k}_{d} = load i64, ptr %n{k}_{d}_at",
            f"  %s{k}_{d}_at = getelementptr i64, ptr {strides}, i64 {d}",
            f"  %s{k}_{d} = load i64, ptr %s{k}_{d}_at",
            f"  %good_n{k}_{d} = icmp eq i64 %n{k}_{d}, {operand.shape[d]}",
            f"  %good_s{k}_{d} = icmp eq i64 %s{k}_{d}, {stride}",
            f"  %good_ns{k}_{d} = and i1 %good_n{k}_{d}, %good_s{k}_{d}",
            f"  %good{k}_{d} = and i1 %good_ns{k}_{d}, {good}",
        ]
        good, stride = f"%good{k}_{d}", stride * operand.shape[d]
    lines.append(f"  br i1 {good}, label %check{k + 1}, label %slow")
    return lines
