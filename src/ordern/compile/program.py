"""From a question about a robot to machine code: which way of running it, the text, the object, the cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..algorithms import Algorithm, Question
from ..errors import CompileError
from ..graph import Counts, Node, count
from ..model import Frame, Model, core_shape
from . import cache
from .driver import attributes, call_function, init_function, loop_function
from .emit import declarations
from .engine import compile_object
from .layout import Layout, Operand
from .numpy_api import HEAD
from .roll import estimate, trace_rolled
from .roll_emit import emit_rolled
from .target import host, narrow_target, target
from .tiles import tile_functions
from .unroll import emit_unrolled, trace_unrolled

__all__ = ["WAYS", "Code", "Request", "code_for", "count_operations", "layout_of"]

WAYS = ("interpreted", "unrolled", "rolled")
UNROLL_LIMIT = 40_000
"""Operations of the loops, all bodies together, up to which straight-line code compiles in a second or two."""


@dataclass(frozen=True)
class Request:
    """What to compile, but for the target."""

    model: Model
    question: Question
    algorithm: Algorithm
    present: frozenset[str]
    """Names of the optional inputs that are given."""
    options: tuple[tuple[str, Any], ...]
    way: str | None
    """One of WAYS, or None to choose by the number of operations."""

    @property
    def kinds(self) -> list[str]:
        """The kinds of the inputs that are given."""
        return [p.kind for p in self.question.inputs if not p.optional or p.name in self.present]

    @property
    def absent(self) -> list[str]:
        """The kinds of the optional inputs that are left out."""
        return [p.kind for p in self.question.inputs if p.optional and p.name not in self.present]


@dataclass(frozen=True, slots=True)
class Code:
    """Machine code and what is needed to run it."""

    way: str
    object: bytes
    workspace: int
    """Vectors in the workspace."""
    operations: int
    """Arithmetic operations per state."""
    lanes: int
    """States per vector."""


_STREAMED_BYTES = 5_000_000
"""A workspace larger than this passes through memory in every loop; then fewer states at a time are faster."""


def layout_of(request: Request, lanes: int) -> Layout:
    """The arguments and the result of a request."""
    ports = [p for p in request.question.inputs if not p.optional or p.name in request.present]
    inputs = tuple(Operand(p.name, core_shape(request.model, p.kind)) for p in ports)
    return Layout(inputs, Operand("out", core_shape(request.model, request.question.output)), lanes)


def code_for(request: Request, dtype: str, lanes: int | None = None) -> Code:
    """Compiled code, from the cache or made now. The number of lanes is chosen, unless it is given."""
    try:
        key = cache.cache_key(_key(request, dtype, lanes))
    except _NotOurs:
        return _compile(request, dtype, lanes)
    found = cache.read(key)
    if found is not None:
        meta, code = found
        return Code(meta["way"], code, meta["workspace"], meta["operations"], meta["lanes"])
    made = _compile(request, dtype, lanes)
    meta = {name: getattr(made, name) for name in ("way", "workspace", "operations", "lanes")}
    cache.write(key, {**meta, "robot": request.model.name, "question": request.question.name}, made.object)
    return made


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


def count_operations(request: Request, rolled: bool) -> Counts:
    """Operations per state of straight-line code, or of loops."""
    layout = layout_of(request, 1)
    if rolled:
        return estimate(_trace(request, trace_rolled, layout))
    return count(x for x in _trace(request, trace_unrolled, layout) if isinstance(x, Node))


def _choose(request: Request) -> str:
    """Straight-line code while it is short enough to compile quickly, loops for the rest."""
    if len(request.model.bodies) <= 10:
        return "unrolled"
    # loops fold fewer constants: the straight-line code will be shorter than this, down to a half
    general = estimate(_trace(request, trace_rolled, layout_of(request, 1))).total
    return "unrolled" if general <= UNROLL_LIMIT else "rolled"


def _trace(request: Request, tracer: Callable[..., Any], layout: Layout) -> Any:
    return tracer(
        request.model,
        request.algorithm.function,
        request.kinds,
        layout,
        request.absent,
        dict(request.options),
    )


def _key(request: Request, dtype: str, lanes: int | None) -> list[Any]:
    """All that the code depends on, so that nothing needs to be traced to know it."""
    options = [
        (name, (value.body, value.placement) if isinstance(value, Frame) else value) for name, value in request.options
    ]
    used: list[Any] = [request.algorithm.function, *(type(kind.joint) for kind in request.model.tables.kinds)]
    if not all(thing.__module__.startswith("ordern.") for thing in used):
        raise _NotOurs
    h = host()
    return [
        request.model.digest,
        request.model.snap,
        request.question.name,
        request.algorithm.name,
        sorted(request.present),
        options,
        request.way,
        [dtype, lanes],
        [h.triple, h.cpu, h.features, h.vector_bits, h.llvm],
        HEAD,
        cache.source_digest(),
    ]


class _NotOurs(Exception):
    """A joint or algorithm of somebody else: what it depends on cannot be known, so its code is not kept on disk."""
