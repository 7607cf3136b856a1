"""Analyses of a graph: its live nodes in the order of emission, its cost, and its critical path."""

from __future__ import annotations

from collections.abc import Iterable

from ..records import dataclass
from .node import Node
from .ops import OPS

__all__ = ["Counts", "count", "depth", "live"]


@dataclass(frozen=True, slots=True)
class Counts:
    """The exact numbers of operations of a computation."""

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    negations: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        """The sum of all operations."""
        return self.multiplications + self.additions + self.divisions + self.negations + self.other

    def _repr_html_(self) -> str:
        """Return the numbers as a table, for notebooks."""
        from ..screen.html import table

        rows = [(k, f"{getattr(self, k):,}") for k in self.__slots__]
        return table(("operations", "number"), [*rows, ("total", f"{self.total:,}")])

    def __add__(self, more: Counts) -> Counts:
        return Counts(*(getattr(self, k) + getattr(more, k) for k in self.__slots__))

    def __mul__(self, times: int) -> Counts:
        return Counts(*(getattr(self, k) * times for k in self.__slots__))


def live(roots: Iterable[Node]) -> list[Node]:
    """Return the nodes that the roots need, in creation order: all others are dead code.

    This is also the order of emission. Algorithms compute a body's values together and near their use, so creation
    order is kind to registers; depth-first orders, and moving each value down to its first use, were measured to be
    slower.
    """
    seen: set[int] = set()
    found: list[Node] = []
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.index not in seen:
            seen.add(node.index)
            found.append(node)
            stack.extend(node.args)
    found.sort(key=lambda node: node.index)
    return found


def count(roots: Iterable[Node]) -> Counts:
    """Count the operations that the roots need, exactly."""
    totals: dict[str, int] = {}
    for node in live(roots):
        if node.args:
            column = OPS[node.op].counts_as
            totals[column] = totals.get(column, 0) + 1
    return Counts(**totals)


def depth(nodes: Iterable[Node]) -> int:
    """Return the number of operations on the longest chain in which each operation needs the one before.

    This is the length of a computation if all independent operations run at the same time.
    """
    roots = list(nodes)
    below: dict[int, int] = {}
    for node in live(roots):
        below[node.index] = 1 + max(below[a.index] for a in node.args) if node.args else 0
    return max((below[root.index] for root in roots), default=0)
