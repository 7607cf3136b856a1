"""Compile a request: choose unrolled or rolled, trace, emit IR text, and make the object."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from ..errors import CompileError, ModelError
from ..graph import Counts, Node, Scalar, count, live
from .emit.columns import emit_columns
from .emit.entry_points import attributes, call_function, init_function, loop_function
from .emit.nodes import declarations
from .emit.rolled import emit_rolled
from .emit.stream import stream_functions, streamable
from .emit.target import Target, narrow_target, target
from .emit.tiles import prefetches, tile_functions
from .pipeline import Code, Request, layout_of
from .run.engine import compile_object
from .run.numpy_api import HEAD
from .trace.columns import StraightCode, trace_columns
from .trace.layout import Layout, sharing
from .trace.repeated_emit import emit_repeated
from .trace.repeats import RepeatedCode, repeats, trace_repeated
from .trace.roll import trace_rolled
from .trace.rolled_count import estimate
from .trace.rolled_memory import Use
from .trace.rolled_program import Memory, Program
from .trace.unroll import emit_unrolled, trace_unrolled

__all__ = [
    "choose_way",
    "chosen",
    "compile_request",
    "compile_straight",
    "count_operations",
    "read_numbers",
    "reads_numbers",
    "straight_line",
    "trace_request",
    "uncollected",
    "with_columns",
]

UNROLL_LIMIT = 40_000
"""Operations of the loops, for all bodies, up to which straight-line code compiles in a second or two."""
_FEW_FREEDOMS = 60
"""Freedoms up to which methods that work on matrices are traced, to see whether straight-line code is short."""
_STREAMED_BYTES = 5_000_000
"""A larger workspace passes through memory in every loop; then fewer states at a time are faster."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the cyclic collector from running: it would visit all nodes, which are not garbage, again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@uncollected()
def compile_request(request: Request, dtype: str, lanes: int | None = None) -> Code:
    """Trace a request, emit LLVM code, and compile it."""
    way, code = (request.way, None) if request.way else chosen(request)
    if way == "unrolled" and repeats(request):
        return _compile_repeated(request, dtype, lanes)
    if way == "unrolled":
        code = code or with_columns(request)
        numbers = read_numbers(request, code)
        layouts = partial(layout_of, request, way=way, numbers=numbers)
        compiled = _compile_columns(code, layouts, dtype, lanes) if code.loops else None
        return replace(compiled or compile_straight(code.results, layouts, dtype, lanes), numbers=numbers)
    if way != "rolled":
        raise CompileError(f"{way!r} is not a way to compile; there are 'unrolled' and 'rolled'")
    program = trace_request(request, trace_rolled, layout_of(request, 1, way))
    numbers = None if request.model.variation is None or reads_numbers(request, program) else ()
    for bits in (256, 128):
        on = target(dtype, lanes) if lanes else narrow_target(dtype, bits)
        layout = layout_of(request, on.lanes, way, numbers)
        body, workspace = emit_rolled(program, layout, on)
        if workspace * on.lanes * on.itemsize < _STREAMED_BYTES:
            break
    made = _assembled(body, layout, on, prefetching=False, level=2)
    operations = estimate(program).total
    read = program.has_freedoms, numbers, program.walks_from_root
    return Code(way, made, workspace, operations, on.lanes, *read)


def _compile_repeated(request: Request, dtype: str, lanes: int | None) -> Code:
    """Compile straight-line code with loops of `repeat`."""
    code: RepeatedCode = trace_request(request, trace_repeated, layout_of(request, 1))
    numbers, on = read_numbers(request, code), target(dtype, lanes)
    layout = layout_of(request, on.lanes, numbers=numbers)
    body, workspace = emit_repeated(code, layout, on, prefetches(layout, on))
    made = _assembled(body, layout, on, prefetching=True)
    return Code("unrolled", made, workspace, code.operations, on.lanes, numbers=numbers)


def read_numbers(request: Request, code: StraightCode | RepeatedCode) -> tuple[int, ...] | None:
    """Return the places of the numbers that vary which straight-line code reads; None if all numbers are fixed."""
    if request.model.variation is None:
        return None
    port = len(request.ports)
    leaves = (node.data for node in live(code.roots) if node.op == "leaf")
    return tuple(sorted(leaf[1] for leaf in leaves if len(leaf) == 2 and leaf[0] == port))


def reads_numbers(request: Request, program: Program) -> bool:
    """Return True if loops read numbers that vary."""
    memory = Memory("input", len(request.ports))
    return any(memory in Use.of(section).read for section in program.sections)


def compile_straight(
    results: Sequence[Scalar], layout_for: Callable[[int], Layout], dtype: str, lanes: int | None = None
) -> Code:
    """Compile straight-line code that computes scalars; the layout depends on the number of lanes."""
    on = target(dtype, lanes)
    layout = sharing(layout_for(on.lanes), [x.index if isinstance(x, Node) else float(x).hex() for x in results])
    body, workspace = emit_unrolled(results, layout, on, prefetches(layout, on))
    operations = count(x for x in results if isinstance(x, Node)).total
    made = _assembled(body, layout, on, prefetching=True)
    return Code("unrolled", made, workspace, operations, on.lanes)


def _compile_columns(code: StraightCode, layout_for: Callable[[int], Layout], dtype: str, lanes: int | None) -> Code:
    """Compile straight-line code with loops over columns."""
    on = target(dtype, lanes)
    layout = layout_for(on.lanes)
    arguments = [line for line in prefetches(layout, on) if not line.write]  # the result is too long for the cache
    body, workspace = emit_columns(code, layout, on, arguments)
    made = _assembled(body, layout, on, prefetching=True)
    return Code("unrolled", made, workspace, code.operations, on.lanes)


def _assembled(body: str, layout: Layout, on: Target, prefetching: bool, level: int = 1) -> bytes:
    """Return the machine code of a kernel's body and the functions around it; see `loop_function` for `prefetching`."""
    text = "\n".join(
        [
            declarations(on),
            tile_functions(on, layout.places),
            stream_functions(layout, on) if streamable(layout.output, on) else "",
            body,
            init_function(),
            loop_function(layout, on, prefetching),
            call_function(layout, on, HEAD, prefetching),
            attributes(on),
        ]
    )
    return compile_object(text, level)


def straight_line(request: Request) -> list[Scalar]:
    """Return the scalars of the result, as straight-line code computes them."""
    found: list[Scalar] = trace_request(request, trace_unrolled, layout_of(request, 1))
    return found


def count_operations(request: Request, rolled: bool) -> Counts:
    """Count the operations per state of straight-line code, or of loops."""
    if rolled:
        return estimate(trace_request(request, trace_rolled, layout_of(request, 1, "rolled")))
    return count(x for x in straight_line(request) if isinstance(x, Node))


def with_columns(request: Request) -> StraightCode:
    """Return straight-line code, with loops over columns if the text has them and the robot is not short."""
    found: StraightCode = trace_request(request, trace_columns, layout_of(request, 1))
    return found


def choose_way(request: Request) -> str:
    """Choose straight-line code if it is short enough to compile quickly, and loops otherwise."""
    return chosen(request)[0]


def chosen(request: Request) -> tuple[str, StraightCode | None]:
    """Return the way of `choose_way`, and the straight-line code if it was needed for the choice."""
    if len(request.model.bodies) <= 10 or not request.algorithm.sweeps:
        return "unrolled", None
    # straight-line code for derivatives of derivatives has far fewer operations than loops
    if " by " in request.question.name.partition(" by ")[2] and request.model.nv <= _FEW_FREEDOMS:
        return "unrolled", None
    # loops fold fewer constants: the straight-line code will be shorter than this, down to a half
    try:
        program = trace_request(request, trace_rolled, layout_of(request, 1, "rolled"))
    except CompileError:  # the gradients of some methods keep too many numbers
        return "unrolled", None
    if estimate(program).total <= UNROLL_LIMIT:
        return "unrolled", None
    # methods that work on matrices compute all of them as loops, and much less in straight-line code
    few = _FEW_FREEDOMS * (3 if request.question.loops else 1)  # most of what loops constrain is zero
    if program.has_freedoms and request.model.nv <= few:
        code = with_columns(request)
        if code.length <= 1.5 * UNROLL_LIMIT:
            return "unrolled", code
    return "rolled", None


def trace_request(request: Request, tracer: Callable[[Request, Layout], Any], layout: Layout) -> Any:
    """Return what a tracer makes of a request; a division by a constant zero is an error of the model."""
    try:
        return tracer(request, layout)
    except ZeroDivisionError:  # by a number that is zero in every state
        raise ModelError(request.model.singular(request.question.name), request.model.source) from None
