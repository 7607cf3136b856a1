"""Derivatives of graphs: forward and reverse mode, as nodes of the same graph; and the value of a graph for numbers.

Forward mode carries the rates of all values along one direction, which costs about as much again as the values. Reverse
mode carries the derivatives of one number by all values from the end to the start, two to three times the values.

Reference: Griewank and Walther 2008, Evaluating Derivatives, chapter 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .analyse import live
from .node import Node
from .ops import OPS, Scalar
from .scalars import where_less

__all__ = ["evaluate", "forward", "reverse"]


def forward(results: Sequence[Scalar], rates: Mapping[int, Scalar]) -> list[Scalar]:
    """Return the rates of results for given rates of leaves, by the index of their nodes; other leaves are constant."""
    known: dict[int, Scalar] = dict(rates)
    for node in live(x for x in results if isinstance(x, Node)):
        if not node.args:
            continue
        moving = [known.get(a.index, 0.0) for a in node.args]
        if all(_is_zero(x) for x in moving):
            continue
        if node.op == "where_less":  # the side that is not chosen may be infinite
            a, b, *_ = node.args
            known[node.index] = where_less(a, b, moving[2], moving[3])
            continue
        rate: Scalar = 0.0
        for partial, x in zip(_partials(node), moving, strict=True):
            if not _is_zero(x):
                rate = rate + partial * x
        known[node.index] = rate
    return [known.get(x.index, 0.0) if isinstance(x, Node) else 0.0 for x in results]


def reverse(results: Sequence[Scalar], weights: Sequence[Scalar], leaves: Sequence[Node]) -> list[Scalar]:
    """Return the derivatives of the weighted sum of results by leaves.

    The side of a `where_less` that is not chosen has no part in them, even if its partial derivatives are infinite: see
    `_Adjoints`.
    """
    nodes = live(x for x in results if isinstance(x, Node))
    adjoints = _Adjoints(nodes)
    for x, weight in zip(results, weights, strict=True):
        if isinstance(x, Node):
            adjoints.add(x, weight, ())
    for node in reversed(nodes):
        if not node.args:
            continue
        for path, bar in adjoints.of(node):
            if node.op == "where_less":
                for chosen, operand in ((True, node.args[2]), (False, node.args[3])):
                    adjoints.add(operand, bar, _extended(path, node, chosen))
                continue
            for arg, partial in zip(node.args, _partials(node), strict=True):
                if not _is_zero(partial):
                    adjoints.add(arg, partial * bar, path)
    return [adjoints.total(leaf) for leaf in leaves]


_Path = tuple[tuple[Node, Node, bool], ...]
"""Sides of branches, the outermost first: (a, b, True) is the side that is chosen where a < b."""
_REGULAR = ("add", "sub", "mul", "neg", "sin", "cos", "where_less", "leaf", "constant")
"""Operations whose partial derivatives are finite where their operands are."""
_MOST_PATHS = 8
"""The number of paths to a node up to which each has a derivative of its own: it bounds the cost."""


class _Adjoints:
    """The derivatives of one number by all nodes, collected by the sides of branches that they pass through.

    Zero, for a side that is not chosen, times an infinite partial derivative would be NaN. So a side is differentiated
    as if it were chosen, and the choice is made where the derivatives reach nodes that are finite in any case.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._sums: dict[int, dict[_Path, Scalar]] = {}
        self._singular: set[int] = set()
        """Nodes that may be infinite, or that depend on one that may be."""
        if any(node.op == "where_less" for node in nodes):
            for node in nodes:
                if node.op not in _REGULAR or any(a.index in self._singular for a in node.args):
                    self._singular.add(node.index)

    def add(self, node: Node, x: Scalar, path: _Path | None) -> None:
        """Add a derivative that holds if the sides on a path are chosen; None is a path that never is."""
        if path is None or node.op == "constant" or _is_zero(x):
            return
        sums = self._sums.setdefault(node.index, {})
        sums[path] = sums[path] + x if path in sums else x

    def of(self, node: Node) -> list[tuple[_Path, Scalar]]:
        """Return the derivatives by a node, for each path; one for all of them where nothing can be infinite."""
        sums = self._sums.get(node.index, {})
        if node.index in self._singular and len(sums) <= _MOST_PATHS:
            return list(sums.items())
        return [((), self.total(node))] if sums else []

    def total(self, node: Node) -> Scalar:
        """Return the derivative by a node."""
        total: Scalar = 0.0
        for path, x in self._sums.get(node.index, {}).items():
            for a, b, chosen in reversed(path):
                x = where_less(a, b, x, 0.0) if chosen else where_less(a, b, 0.0, x)
            total = total + x
        return total


def _extended(path: _Path, branch: Node, chosen: bool) -> _Path | None:
    """Return a path with one more side of a branch; None if both sides of a condition are on it."""
    a, b, *_ = branch.args
    if (a, b, not chosen) in path:
        return None
    return path if (a, b, chosen) in path else (*path, (a, b, chosen))


def evaluate(results: Sequence[Scalar], values: Mapping[int, Scalar]) -> list[Scalar]:
    """Return the results for numbers of any kind, given those of the leaves by the index of their nodes."""
    known: dict[int, Scalar] = dict(values)
    for node in live(x for x in results if isinstance(x, Node)):
        if node.args:
            known[node.index] = OPS[node.op].evaluate(*(known[a.index] for a in node.args))
        elif node.op == "constant":
            known[node.index] = node.data
    return [known[x.index] if isinstance(x, Node) else x for x in results]


def _partials(node: Node) -> tuple[Scalar, ...]:
    """Return the partial derivatives of an operation by its operands; the result itself saves some operations."""
    args = node.args
    if node.op == "div":
        return 1.0 / args[1], -(node / args[1])
    if node.op == "sqrt":
        return (0.5 / node,)
    return OPS[node.op].partials(*args)


def _is_zero(x: Scalar) -> bool:
    return type(x) is float and x == 0.0
