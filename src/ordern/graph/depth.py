"""The critical path of a computation: its length if all independent operations run at the same time."""

from __future__ import annotations

from collections.abc import Iterable

from .analyse import live
from .node import Node

__all__ = ["depth"]


def depth(nodes: Iterable[Node]) -> int:
    """Return the number of operations on the longest chain in which each operation needs the one before."""
    roots = list(nodes)
    below: dict[int, int] = {}
    for node in live(roots):
        below[node.index] = 1 + max(below[a.index] for a in node.args) if node.args else 0
    return max((below[root.index] for root in roots), default=0)
