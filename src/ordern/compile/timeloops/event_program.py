"""Events of rollouts as programs: the operations of a traced function of (t, q, v), and what its change of sign does.

`watching` writes them as machine code. The records have all that the code depends on, so they are part of its key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...graph import Graph, apply, live
from ...records import dataclass

__all__ = ["Leaf", "Watched", "recorded"]

Leaf = tuple[str, int]
"""A number that a function reads: ("t", 0), or number k of "q", "v" or "pose", the pose of the event's frame."""


@dataclass(frozen=True, slots=True)
class Watched:
    """One event of a rollout."""

    operations: tuple[tuple[str, tuple[int, ...], Any], ...]
    """The operations of its function in order: name, places of the operands in this list, and the data of a leaf or a
    constant. The last one is the value of the function."""
    frame: str | None = None
    """The frame whose pose the function reads."""
    direction: int = 0
    """1: only upward changes of sign count, -1: only downward ones."""
    terminal: bool = False
    """True if the trajectory ends there."""

    @property
    def leaves(self) -> list[Leaf]:
        """The numbers that the function reads."""
        return [data for op, _, data in self.operations if op == "leaf"]

    def value(self, number: Callable[[Leaf], Any]) -> Any:
        """Return the value of the function, from numbers of any kind of scalar."""
        found: list[Any] = []
        for op, operands, data in self.operations:
            if op == "leaf":
                found.append(number(data))
            elif op == "constant":
                found.append(data)
            else:
                found.append(apply(op, *(found[k] for k in operands)))
        return found[-1]


def recorded(
    function: Callable[[dict[Leaf, Any]], Any], leaves: Iterable[Leaf]
) -> tuple[tuple[str, tuple[int, ...], Any], ...]:
    """Return the operations of a function of symbols for these numbers."""
    graph = Graph("event")
    root = graph.lift(function({leaf: graph.leaf(leaf) for leaf in leaves}))
    nodes = live([root])
    place = {node.index: k for k, node in enumerate(nodes)}
    return tuple((node.op, tuple(place[a.index] for a in node.args), node.data) for node in nodes)
