"""A kernel as one C99 file: a comment that documents the function, tables if there are loops, and the function.

The statements are those of the graph from which machine code is made, in the same order. Straight-line code needs no
memory but the stack; a program of loops reads constant tables, and keeps its fields in a workspace that the caller
provides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from ...arguments import AnyArray
from ...errors import ArgumentError, CompileError
from ...graph import Counts, Node, Scalar, count, live
from ...records import dataclass
from ..emit.rolled import RolledWriter, Tables
from ..pipeline import Request, layout_of
from ..program import choose_way, straight_line, trace_request
from ..trace.layout import Layout, Operand
from ..trace.roll import trace_rolled
from ..trace.rolled_count import estimate
from ..trace.rolled_memory import Regions, Use, assign_memory
from ..trace.rolled_program import Memory, Program
from ..trace.rolled_tables import Data
from .comment import comment
from .names import c_name
from .writer import CWriter, Expression, literal

__all__ = ["Written", "c_source"]

_ELEMENTS = {"float64": "double", "float32": "float"}
_SHORT = 2**15
"""Indices below this are of type int, which has 16 bits on small machines."""
_TABLES = ("rows", "meta", "path", "freedoms", "order", "v_order", "above", "above_at", "v_above", "v_above_at")


@dataclass(frozen=True, slots=True)
class Written:
    """The body of a function, and what it needs."""

    lines: str
    counts: Counts
    tables: str = ""
    workspace: int | None = None
    """The numbers of the workspace; None for straight-line code, which takes none."""


def c_source(request: Request, dtype: str = "float64", name: str | None = None) -> str:
    """Return the C99 text of a request: one function, of this name or one made from those of robot and question."""
    try:
        element = _ELEMENTS[np.dtype(dtype).name]
    except (KeyError, TypeError):
        raise ArgumentError(f"C code is written for 'float64' or 'float32', not for {dtype!r}") from None
    layout = layout_of(request, 1)
    ports = [Operand(c_name(x.name), x.shape) for x in layout.inputs]
    layout = Layout(tuple(ports), Operand(_unused("out", ports), layout.output.shape), 1)
    work = _unused("work", [*ports, layout.output])
    function = c_name(f"{request.model.name}_{request.question.name}") if name is None else c_name(name, strict=True)
    way = request.way or choose_way(request)
    if way == "rolled" and not request.algorithm.sweeps:
        raise CompileError(
            f"{request.question.name} by the method {request.algorithm.name!r} is not made of loops over bodies: it "
            "has C code only as straight-line code (way='unrolled')"
        )
    written = _rolled(request, layout, element, work) if way == "rolled" else _straight(request, layout, element)
    arguments = [f"const {element} *{x.name}" for x in layout.inputs] + [f"{element} *{layout.output.name}"]
    size = f"{function.upper()}_WORK"
    if written.workspace is not None:
        arguments.append(f"{element} *{work}")
    signature = f"void {function}({', '.join(arguments)})"
    ignored = [x for x in arguments if not re.search(rf"\b{x.split('*')[-1]}\b", written.lines)]
    return "\n".join(
        [
            comment(request, layout, element, signature, written, (work, size)),
            "#include <math.h>",
            *([f"#define {size} {written.workspace}"] if written.workspace is not None else []),
            "",
            "#ifdef __cplusplus",
            'extern "C"',
            "#endif",
            f"{signature};",
            "",
            f"{signature}\n{{",
            *(f"    (void){x.split('*')[-1]};" for x in ignored),
            *([written.tables] if written.tables else []),
            *([written.lines] if written.lines else []),
            "}\n",
        ]
    )


def _unused(name: str, others: Sequence[Operand]) -> str:
    """Return a name that no argument has."""
    while any(x.name == name for x in others):
        name += "_"
    return name


def _straight(request: Request, layout: Layout, element: str) -> Written:
    """Write straight-line code: each result as soon as it is known."""
    results: list[Scalar] = straight_line(request)
    e, out = CWriter(element), layout.output.name
    names: dict[int, str] = {}
    stores: dict[int, list[int]] = {}
    for k, x in enumerate(results):
        if isinstance(x, Node):
            stores.setdefault(x.index, []).append(k)
        else:
            e.line(f"{out}[{k}] = {literal(x, element)};")
    for node in live(x for x in results if isinstance(x, Node)):
        if node.op == "leaf":
            port, number = node.data
            names[node.index] = f"{layout.inputs[port].name}[{number}]"
        elif node.op == "constant":
            names[node.index] = e.constant(node.data)
        else:
            names[node.index] = e.lower(node, [names[a.index] for a in node.args])
        for k in stores.get(node.index, ()):
            e.line(f"{out}[{k}] = {names[node.index]};")
    return Written(e.text(), count(x for x in results if isinstance(x, Node)))


def _rolled(request: Request, layout: Layout, element: str, work: str) -> Written:
    """Write loops over tables."""
    program: Program = trace_request(request, trace_rolled, layout)
    uses = [Use.of(section) for section in program.sections]
    given: Regions = {Memory("input", k): (0, 1) for k in range(len(layout.inputs))}
    given[Memory("result")] = 0, 1
    regions, end = assign_memory(program, uses, 0, given)
    data = Data(request.model, _dtype(element), program.frame_body, program.has_freedoms, program.walks_from_root)
    largest = max(end, *(math.prod(x.shape) for x in data.arrays), *(x.size for x in (*layout.inputs, layout.output)))
    integer = "int" if largest < _SHORT else "long"
    e = CWriter(element, integer)
    taken = [*layout.inputs, layout.output, Operand(work, ())]
    names = [_unused(name, taken) for name in _TABLES]

    def base(memory: Memory) -> Expression:
        if memory.kind == "input":
            return Expression(e, layout.inputs[memory.number].name)
        result = memory.kind == "result" or (memory.kind == "array" and memory.number == program.result)
        return Expression(e, layout.output.name if result else work)

    e.clear(Expression(e, layout.output.name), 0, layout.output.size)  # entries that no loop writes are zero
    RolledWriter(program, regions, e, base, Tables(*(Expression(e, name) for name in names))).program(uses)
    lines = e.text()
    used = [(n, x) for n, x in zip(names, data.arrays, strict=True) if re.search(rf"\b{n}\[", lines)]
    tables = "\n".join(_table(n, x, element if n == names[0] else integer) for n, x in used)
    return Written(lines, estimate(program), tables, max(1, end))


def _dtype(element: str) -> str:
    return next(dtype for dtype, name in _ELEMENTS.items() if name == element)


def _table(name: str, array: AnyArray, kind: str) -> str:
    """Return a constant array, each row on a line."""
    rows = array.tolist() if array.ndim == 2 else [array.tolist()]
    integer = array.dtype.kind == "i"
    lines = (", ".join(str(x) if integer else literal(x, kind) for x in row) for row in rows)
    return "\n".join([f"    static const {kind} {name}[] = {{", *(f"        {line}," for line in lines), "    };"])
