"""Straight-line code as a kernel: all values of a state are in the registers of one thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...graph import Node, Scalar, live
from ..trace.layout import Layout
from .emitter import Row, ThreadEmitter
from .entry import Arguments

__all__ = ["StraightWriter", "read_ahead"]

_PIECE = 1000
"""Operations of a basic block: the time in which LLVM selects instructions grows faster than the length of a block."""


class StraightWriter:
    """Writes nodes in order. Arguments are read some operations before their first use, results stored when known."""

    def __init__(self, e: ThreadEmitter, layout: Layout, rows: Sequence[Row], ahead: int) -> None:
        """Read arguments `ahead` operations before their use: they come from far away."""
        self._e, self._rows, self._ahead = e, rows, ahead
        self._held = [None if x.entries is None else {n: k for k, n in enumerate(x.entries)} for x in layout.inputs]
        self._names: dict[int, str] = {}

    def write(self, roots: Iterable[Node], stores: dict[int, list[tuple[Row, int]]]) -> None:
        """Write what the roots need, and store nodes, by their index, at places."""
        nodes = live(roots)
        work = [node for node in nodes if node.args]
        reads = read_ahead(work, self._ahead)
        for start in range(0, len(work), _PIECE):
            with self._e.block():
                for position in range(start, min(start + _PIECE, len(work))):
                    for leaf in reads.get(position, ()):
                        self._read(leaf)
                    node = work[position]
                    self._names[node.index] = self._e.lower(node, [self.operand(a) for a in node.args])
                    self._store(node, stores)
        for node in nodes:
            if not node.args:
                self._store(node, stores)

    def _store(self, node: Node, stores: dict[int, list[tuple[Row, int]]]) -> None:
        for row, index in stores.get(node.index, ()):
            self._e.store(self.operand(node), row, index)

    def operand(self, node: Node) -> str:
        """Return the name of a value that was written, of a constant, or of an argument."""
        if node.op == "constant":
            return self._e.constant(node.data)
        if node.index not in self._names:
            self._read(node)
        return self._names[node.index]

    def _read(self, leaf: Node) -> None:
        k, n = leaf.data
        entries = self._held[k]
        self._names[leaf.index] = self._e.load(self._rows[k], n if entries is None else entries[n])


def read_ahead(work: Sequence[Node], ahead: int) -> dict[int, list[Node]]:
    """Return, for positions of the work, the leaves to read there: so many operations before they are first used."""
    found: dict[int, list[Node]] = {}
    seen: set[int] = set()
    for position, node in enumerate(work):
        for a in node.args:
            if a.op == "leaf" and a.index not in seen:
                seen.add(a.index)
                found.setdefault(max(0, position - ahead), []).append(a)
    return found


def write_straight(
    e: ThreadEmitter, layout: Layout, results: Sequence[Scalar], arguments: Arguments, ahead: int
) -> None:
    """Write the scalars of a result to its row."""
    stores: dict[int, list[tuple[Row, int]]] = {}
    roots: list[Node] = []
    for k, x in enumerate(results):
        if isinstance(x, Node):
            stores.setdefault(x.index, []).append((arguments.output, k))
            roots.append(x)
        else:
            e.store(e.constant(float(x)), arguments.output, k)
    StraightWriter(e, layout, arguments.inputs, ahead).write(roots, stores)
