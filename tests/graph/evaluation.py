"""Values of a graph, and its derivatives, forward and reverse, by the partial derivatives of operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ordern.graph import OPS, Node, Scalar, live

__all__ = ["evaluate", "forward", "reverse"]


def evaluate(roots: Sequence[Node], leaves: Mapping[Any, Any]) -> list[Any]:
    """Evaluate the roots for given values of the leaves."""
    values: dict[int, Any] = {}
    for node in live(roots):
        if node.op == "leaf":
            values[node.index] = leaves[node.data]
        elif node.op == "constant":
            values[node.index] = node.data
        else:
            values[node.index] = OPS[node.op].evaluate(*(values[a.index] for a in node.args))
    return [values[root.index] for root in roots]


def forward(roots: Sequence[Node], tangents: Mapping[Node, Scalar]) -> list[Scalar]:
    """Return the rates of change of the roots when the given leaves change at the given rates."""
    rate: dict[int, Scalar] = {leaf.index: t for leaf, t in tangents.items()}
    for node in live(roots):
        if node.args:
            total: Scalar = 0.0
            for partial, arg in zip(OPS[node.op].partials(*_plain(node)), node.args, strict=True):
                total = total + partial * rate.get(arg.index, 0.0)
            rate[node.index] = total
    return [rate.get(root.index, 0.0) for root in roots]


def reverse(roots: Sequence[Node], weights: Sequence[Scalar], wrt: Sequence[Node]) -> list[Scalar]:
    """Return the gradient, by the leaves `wrt`, of the weighted sum of the roots."""
    gradient: dict[int, Scalar] = {}
    for root, weight in zip(roots, weights, strict=True):
        gradient[root.index] = gradient.get(root.index, 0.0) + weight
    for node in reversed(live(roots)):
        bar = gradient.get(node.index, 0.0)
        if node.args:
            for partial, arg in zip(OPS[node.op].partials(*_plain(node)), node.args, strict=True):
                gradient[arg.index] = gradient.get(arg.index, 0.0) + bar * partial
    return [gradient.get(leaf.index, 0.0) for leaf in wrt]


def _plain(node: Node) -> list[Scalar]:
    return [a.data if a.op == "constant" else a for a in node.args]
