"""The scalar graph: hash-consed, simplified as it grows.

A `Node` behaves as a number; arithmetic on it records the operation in its `Graph`. Equal operations on equal
operands are one node (hash-consing), identities are applied before a node is made, and constants stay Python
floats until an operation needs them. After tracing, only the arithmetic that this robot needs is left.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from ..errors import TraceError
from .ops import OPS, Op, Scalar

__all__ = ["Graph", "Node"]

_UFUNCS = {op.ufunc: op for op in OPS.values() if op.ufunc}


class Graph:
    """The nodes of one traced block, operands before users.

    Values of two graphs do not mix: a value that leaves its block without a field is an error here, at trace
    time, rather than wrong numbers later.
    """

    __slots__ = ("_memo", "name", "nodes")

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.nodes: list[Node] = []
        self._memo: dict[Hashable, Node] = {}

    def leaf(self, key: Hashable) -> Node:
        """Return the node of a value from outside (an input, a table entry, a stored field), identified by its key."""
        return self._make("leaf", (), key)

    def constant(self, value: float) -> Node:
        """Return a constant as a node; operations make such nodes themselves where they need them."""
        return self._make("constant", (), float(value) + 0.0)  # -0.0 + 0.0 is 0.0: one zero, one node

    def apply(self, op: Op, *operands: Scalar) -> Scalar:
        """Return the operation on these operands: its simpler form, an equal node, or a new one."""
        plain: list[Node | float] = []
        traced = False
        for x in operands:  # tracing spends most of its time here
            if type(x) is not float:
                x = self._plain(x)
                traced = traced or type(x) is Node
            plain.append(x)
        if not traced:
            with np.errstate(all="ignore"):
                return float(op.evaluate(*map(np.float64, plain)))
        simpler = op.simplify(*plain)
        if simpler is not None:
            return simpler
        args = tuple([x if isinstance(x, Node) else self.constant(x) for x in plain])
        if op.commutative and args[0].index > args[1].index:
            args = (args[1], args[0])
        return self._make(op.name, args, None)

    def lift(self, x: Scalar) -> Node:
        """Return a number or node as a node of this graph."""
        plain = self._plain(x)
        return plain if isinstance(plain, Node) else self.constant(plain)

    def _plain(self, x: Scalar) -> Node | float:
        """Return a node of this graph, or a float."""
        if type(x) is Node:
            if x.graph is not self:
                raise TraceError(
                    f"a value of block '{x.graph.name}' is used in block '{self.name}', for another body or another "
                    "loop: values move between loops and bodies only through fields"
                )
            return float(x.data) if x.op == "constant" else x
        if type(x) is float:
            return x
        if isinstance(x, (int, np.floating, np.integer)):
            return float(x)
        raise TraceError(f"a traced value met {type(x).__name__} {x!r}: only numbers can be traced")

    def _make(self, op: str, args: tuple[Node, ...], data: Hashable) -> Node:
        key = (op, data, *[a.index for a in args])
        node = self._memo.get(key)
        if node is None:
            node = self._memo[key] = Node(self, len(self.nodes), op, args, data)
            self.nodes.append(node)
        return node

    def __repr__(self) -> str:
        return f"<Graph {self.name!r}: {len(self.nodes)} nodes>"


def _operators(name: str) -> tuple[Callable[[Node, Scalar], Scalar], Callable[[Node, Scalar], Scalar]]:
    """Return the methods of an operation, with the node as the left and as the right operand."""
    op = OPS[name]
    return (
        lambda self, other: self.graph.apply(op, self, other),
        lambda self, other: self.graph.apply(op, other, self),
    )


class Node:
    """A traced scalar. `op` is a name in the table of operations, or "leaf", or "constant"."""

    __slots__ = ("args", "data", "graph", "index", "op")

    def __init__(self, graph: Graph, index: int, op: str, args: tuple[Node, ...], data: Any) -> None:
        self.graph, self.index, self.op, self.args, self.data = graph, index, op, args, data

    def ordern_apply(self, name: str, *operands: Scalar) -> Scalar:
        """Apply an elementary function, one of whose operands is a node."""
        return self.graph.apply(OPS[name], *operands)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Scalar, **more: Any) -> Scalar:
        """Trace a function of NumPy, or arithmetic with its scalars, as the operation of the same name."""
        if method != "__call__" or more or ufunc.__name__ not in _UFUNCS:
            known = ", ".join(_UFUNCS)
            raise TraceError(f"np.{ufunc.__name__} cannot be traced; of NumPy's functions these can: {known}")
        return self.graph.apply(_UFUNCS[ufunc.__name__], *operands)

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("sub")
    __mul__, __rmul__ = _operators("mul")
    __truediv__, __rtruediv__ = _operators("div")

    def __neg__(self) -> Scalar:
        return self.graph.apply(OPS["neg"], self)

    def __pow__(self, exponent: Any) -> Scalar:
        if not isinstance(exponent, int) or exponent < 0:
            raise TraceError(f"a traced value can be raised to whole powers from 0 on, not to {exponent!r}")
        power: Scalar = 1.0
        for _ in range(exponent):
            power = power * self
        return power

    def __abs__(self) -> Scalar:
        return self.graph.apply(OPS["where_less"], self, 0.0, -self, self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Node):
            return self is other
        raise TraceError("traced values have no known value: use where_less(a, b, x, y) instead of comparing")

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TraceError("a traced value has no truth value: use where_less(a, b, x, y) instead of `if`")

    def _no_order(self, other: Scalar) -> bool:
        raise TraceError("traced values have no order: use where_less(a, b, x, y) instead of comparing")

    __lt__ = __le__ = __gt__ = __ge__ = _no_order

    def __float__(self) -> float:
        raise TraceError("a traced value is not a float: use the functions of ordern.graph, not math or NumPy")

    def __repr__(self) -> str:
        inside = repr(self.data) if not self.args else ", ".join(f"%{a.index}" for a in self.args)
        return f"%{self.index} = {self.op}({inside})"
