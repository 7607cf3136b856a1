"""From a question about a robot to machine code: which way of running it, the text, the object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import CompileError
from ..graph import Counts, Node, Scalar, count
from .driver import attributes, call_function, init_function, loop_function
from .emit import declarations
from .engine import compile_object
from .layout import Layout
from .numpy_api import HEAD
from .request import Code, Request, code_for, layout_of
from .roll import estimate, trace_rolled
from .roll_emit import emit_rolled
from .target import narrow_target, target
from .tiles import tile_functions
from .unroll import emit_unrolled, trace_unrolled

__all__ = ["code_for", "count_operations"]

UNROLL_LIMIT = 40_000
"""Operations of the loops, all bodies together, up to which straight-line code compiles in a second or two."""
_STREAMED_BYTES = 5_000_000
"""A workspace larger than this passes through memory in every loop; then fewer states at a time are faster."""


def _compile(request: Request, dtype: str, lanes: int | None) -> Code:
    way = request.way or _choose(request)
    if way == "unrolled":
        on = target(dtype, lanes)
        layout = layout_of(request, on.lanes)
        results = _trace(request, trace_unrolled, layout)
        operations = count(x for x in results if isinstance(x, Node)).total
        body, workspace = emit_unrolled(results, layout, on)
    elif way == "rolled":
        program = _trace(request, trace_rolled, layout_of(request, 1))
        operations = estimate(program).total
        for bits in (256, 128):
            on = target(dtype, lanes) if lanes else narrow_target(dtype, bits)
            layout = layout_of(request, on.lanes)
            body, workspace = emit_rolled(program, layout, on)
            if workspace * on.lanes * on.itemsize < _STREAMED_BYTES:
                break
    else:
        raise CompileError(f"{way!r} is not a way to compile; there are 'unrolled' and 'rolled'")
    text = "\n".join(
        [
            declarations(on),
            tile_functions(on),
            body,
            init_function(),
            loop_function(layout, on),
            call_function(layout, on, HEAD),
            attributes(on),
        ]
    )
    return Code(way, compile_object(text), workspace, operations, on.lanes)


def straight_line(request: Request) -> list[Scalar]:
    """The scalars of the result, as straight-line code computes them."""
    found: list[Scalar] = _trace(request, trace_unrolled, layout_of(request, 1))
    return found


def count_operations(request: Request, rolled: bool) -> Counts:
    """Operations per state of straight-line code, or of loops."""
    layout = layout_of(request, 1)
    if rolled:
        return estimate(_trace(request, trace_rolled, layout))
    return count(x for x in _trace(request, trace_unrolled, layout) if isinstance(x, Node))


def _choose(request: Request) -> str:
    """Straight-line code while it is short enough to compile quickly, loops for the rest."""
    if len(request.model.bodies) <= 10 or not request.algorithm.sweeps:
        return "unrolled"
    # loops fold fewer constants: the straight-line code will be shorter than this, down to a half
    general = estimate(_trace(request, trace_rolled, layout_of(request, 1))).total
    return "unrolled" if general <= UNROLL_LIMIT else "rolled"


def _trace(request: Request, tracer: Callable[..., Any], layout: Layout) -> Any:
    return tracer(
        request.model,
        request.algorithm.function,
        request.slots,
        layout,
        dict(request.options),
    )
