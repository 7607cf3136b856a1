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
    """Return the derivatives of the weighted sum of results by leaves."""
    adjoint: dict[int, Scalar] = {}

    def add(node: Node, x: Scalar) -> None:
        if node.op != "constant" and not _is_zero(x):
            adjoint[node.index] = adjoint[node.index] + x if node.index in adjoint else x

    for x, weight in zip(results, weights, strict=True):
        if isinstance(x, Node):
            add(x, weight)
    for node in reversed(live(x for x in results if isinstance(x, Node))):
        bar = adjoint.get(node.index)
        if bar is None or not node.args:
            continue
        if node.op == "where_less":
            a, b, x, y = node.args
            add(x, where_less(a, b, bar, 0.0))
            add(y, where_less(a, b, 0.0, bar))
            continue
        for arg, partial in zip(node.args, _partials(node), strict=True):
            if not _is_zero(partial):
                add(arg, partial * bar)
    return [adjoint.get(leaf.index, 0.0) for leaf in leaves]


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
