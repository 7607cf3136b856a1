"""The unrolling compiler: an algorithm as straight-line code for one robot.

The loops run while tracing; what remains is arithmetic. It is cut into functions of about a thousand operations, which
pass values through scratch memory: LLVM's time grows faster than the length of a function, and the processor
would have to keep such values in memory anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...graph import Graph, Node, Scalar, live
from ...model import ConcreteTree, result_scalars
from ..emit.builder import Builder
from ..emit.nodes import Constants, TextEmitter
from ..emit.target import Target
from ..emit.tiles import Prefetch
from .layout import Layout

if TYPE_CHECKING:
    from ..pipeline import Request

__all__ = [
    "assign_slots",
    "body_function",
    "cut",
    "emit_chunk",
    "emit_chunks",
    "emit_unrolled",
    "number_leaves",
    "run_text",
    "share",
    "trace_unrolled",
]

CHUNK = 700
"""Operations per function."""


def trace_unrolled(request: Request, layout: Layout) -> list[Scalar]:
    """Run an algorithm on graph nodes; return the scalars of the result, constants as floats."""
    graph = Graph("unrolled")
    tree = ConcreteTree(request.model, regroup=request.algorithm.regroup, **number_leaves(request, graph))
    return run_text(request, layout, tree, graph)


def number_leaves(request: Request, graph: Graph) -> dict[str, Any]:
    """Return the argument of a concrete tree with leaves for the numbers that vary; none if all numbers are fixed."""
    port, variation = len(request.ports), request.model.variation
    if variation is None:
        return {}
    if request.reads_values:
        return {"values": [graph.leaf((port, n)) for n in range(variation.count)]}
    return {"entry": lambda n: graph.leaf((port, n))}


def run_text(request: Request, layout: Layout, tree: ConcreteTree, graph: Graph) -> list[Scalar]:
    """Run an algorithm on the bodies of a tree and on leaves of a graph; return the scalars of the result."""
    tree.frames = request.frames
    operands = enumerate(layout.inputs)
    inputs = []
    for kind, given in request.slots:
        if given:
            k, operand = next(operands)
            inputs.append(tree.input(kind, [graph.leaf((k, n)) for n in range(operand.size)]))
        else:
            inputs.append(tree.zeros(kind))
    return result_scalars(request.algorithm.function(tree, *inputs, **dict(request.options)), layout.output.size)


def emit_unrolled(
    results: Sequence[Scalar], layout: Layout, target: Target, prefetches: Sequence[Prefetch] = ()
) -> tuple[str, int]:
    """Return the IR text of @init and @body, and the number of vectors in the workspace.

    With `prefetches`, @body takes a table of addresses as well, and prefetches from there, evenly spread.
    """
    init = TextEmitter(target, arguments=("ptr %data", "ptr noalias %ws"))
    stores: dict[int, list[int]] = {}
    roots: dict[int, Node] = {}
    places = layout.places or range(len(results))
    for place, x in dict(zip(places, results, strict=False)).items():
        if isinstance(x, Node):
            stores.setdefault(x.index, []).append(layout.output_tile + place)
            roots[x.index] = x
        else:
            init.store(init.constant(float(x)), "%ws", layout.output_tile + place)
    constants = Constants(target)
    chunks, size = emit_chunks(roots.values(), stores, layout, layout.scratch, constants, target, prefetches)
    body = body_function([f"@chunk{k}" for k in range(len(chunks))], bool(prefetches))
    return "\n".join([constants.text(), init.text("@init"), *chunks, body]), size


def emit_chunks(
    roots: Iterable[Node],
    stores: dict[int, list[int]],
    layout: Layout,
    scratch: int,
    constants: Constants,
    target: Target,
    prefetches: Sequence[Prefetch] = (),
) -> tuple[list[str], int]:
    """Return the IR text of the functions @chunk0, @chunk1 ... that compute the roots, and the size of the workspace.

    `stores` are the vectors of the workspace to which nodes are written, by the index of the node; free memory of the
    workspace begins at `scratch`.
    """
    chunks = cut(live(roots))
    slots, size = assign_slots(chunks, scratch)
    texts = []
    for number, chunk in enumerate(chunks):
        early = share(prefetches, number, len(chunks))
        names = ("ws", "constants", "wanted") if prefetches else ("ws", "constants")
        e = TextEmitter(target, constants, [f"ptr noalias %{name}" for name in names])
        emit_chunk(chunk, slots, stores, layout.leaves(), e, early)
        texts.append(e.text(f"@chunk{number}"))
    return texts, size


def body_function(chunks: Sequence[str], prefetching: bool, further: Sequence[str] = ()) -> str:
    """Return the IR text of @body, which calls chunks, and then further functions, which do not prefetch."""
    table = ("wanted",) if prefetching else ()
    body = Builder([f"ptr %{name}" for name in ("data", "ws", *table)])
    _, ws, *wanted = body.arguments
    constants = body.const("@constants", "ptr")
    for name in chunks:
        body.call(name, ws, constants, *wanted)
    for name in further:
        body.call(name, ws, constants)
    return body.text("@body")


def cut(nodes: list[Node]) -> list[list[Node]]:
    """Cut nodes into chunks of about equal length, without constants and leaves, which their users read."""
    work = [node for node in nodes if node.args]
    leaves = [node for node in nodes if node.op == "leaf"]
    if not work:
        return [leaves]
    count = -(-len(work) // CHUNK)
    size = -(-len(work) // count)
    return [work[k : k + size] for k in range(0, len(work), size)] + ([leaves] if leaves else [])


def assign_slots(
    chunks: list[list[Node]], start: int, loops: Sequence[tuple[int, int]] = ()
) -> tuple[dict[int, int], int]:
    """Assign a scratch slot to every value that a later chunk needs; slots are reused when their value is dead.

    `loops` are the first and the last chunk of code that runs several times: values from before it live to its end.
    """
    ends = {number: (first, last) for first, last in loops for number in range(first, last + 1)}
    born = {node.index: number for number, chunk in enumerate(chunks) for node in chunk if node.args}
    last: dict[int, int] = {}
    for number, chunk in enumerate(chunks):
        for node in chunk:
            for arg in node.args:
                if (made := born.get(arg.index, number)) < number:
                    first, end = ends.get(number, (number, number))
                    last[arg.index] = max(last.get(arg.index, 0), end if made < first else number)
    slots: dict[int, int] = {}
    free: list[int] = []
    dying: dict[int, list[int]] = {}
    size = start
    for number, chunk in enumerate(chunks):
        free.extend(dying.pop(number - 1, []))
        for node in chunk:
            if node.index in last and born.get(node.index) == number:
                if free:
                    slot = free.pop()
                else:
                    slot, size = size, size + 1
                slots[node.index] = slot
                dying.setdefault(last[node.index], []).append(slot)
    return slots, size


def share(prefetches: Sequence[Prefetch], number: int, count: int) -> Sequence[Prefetch]:
    """Return the prefetches of one of so many chunks."""
    return prefetches[len(prefetches) * number // count : len(prefetches) * (number + 1) // count]


def emit_chunk(
    chunk: list[Node],
    slots: dict[int, int],
    stores: dict[int, list[int]],
    place: Callable[[Any], int],
    e: TextEmitter,
    prefetches: Sequence[Prefetch],
    late: Sequence[tuple[Node, int]] = (),
) -> None:
    """Write the operations of a chunk; `place` returns where a leaf is in the workspace.

    Numbers of `late` are stored to their places at the end, when everything has been read.
    """
    names: dict[int, str] = {}

    def operand(node: Node) -> str:
        if node.op == "constant":
            return e.constant(node.data)
        if node.index not in names:
            where = place(node.data) if node.op == "leaf" else slots[node.index]
            names[node.index] = e.load("%ws", where)
        return names[node.index]

    done = 0
    for position, node in enumerate(chunk, 1):
        while done < len(prefetches) * position // len(chunk):
            prefetches[done].emit(e)
            done += 1
        if node.args:
            names[node.index] = e.lower(node, [operand(a) for a in node.args])
            if node.index in slots:
                e.store(names[node.index], "%ws", slots[node.index])
        for where in stores.get(node.index, ()):
            e.store(operand(node), "%ws", where)
    for node, where in late:
        e.store(operand(node), "%ws", where)
