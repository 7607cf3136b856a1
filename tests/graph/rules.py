"""The rules that every graph keeps."""

from __future__ import annotations

from ordern.graph import OPS, Graph

__all__ = ["check"]


def check(graph: Graph) -> None:
    """Raise an AssertionError unless the graph keeps all its rules."""
    seen = set()
    for position, node in enumerate(graph.nodes):
        where = f"{graph.name}: {node!r}"
        assert node.graph is graph, f"{where}: belongs to another graph"
        assert node.index == position, f"{where}: stands at {position}"
        key = (node.op, node.data, *(a.index for a in node.args))
        assert key not in seen, f"{where}: exists twice"
        seen.add(key)
        if not node.args:
            assert node.op in ("leaf", "constant"), f"{where}: has no operands"
            continue
        assert node.op in OPS, f"{where}: is not an operation of the table"
        op = OPS[node.op]
        assert len(node.args) == op.arity, f"{where}: needs {op.arity} operands"
        assert all(a.index < node.index for a in node.args), f"{where}: comes before an operand"
        assert any(a.op != "constant" for a in node.args), f"{where}: has only constants; should be folded"
        if op.commutative:
            assert node.args[0].index <= node.args[1].index, f"{where}: operands out of order"
        plain = [a.data if a.op == "constant" else a for a in node.args]
        assert op.simplify(*plain) is None, f"{where}: can be simplified"
