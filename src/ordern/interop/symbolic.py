"""Equations of motion as SymPy expressions, from the graph that the compiler uses."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..algorithms import find
from ..algorithms.method_limits import require_tree
from ..errors import ArgumentError, OrdernError
from ..graph import OPS, Graph, Node, Scalar, live
from ..joints import Joint
from ..kernel.settings import with_frames
from ..model import BASE, ConcreteTree, Index, Model, core_shape, core_size, result_scalars
from ..model.tables import INERTIA, PLACEMENT

__all__ = ["symbolic"]


def symbolic(
    robot: Model,
    question: str,
    method: str | None = None,
    *,
    present: tuple[str, ...] = (),
    parameters: bool = False,
    simplify: bool = True,
    **options: Any,
) -> Any:
    """Return the answer to a question as a SymPy expression, column or matrix, or as an array of more dimensions.

    Arguments are symbols q1, q2, ..., v1, ..., a1, ..., tau1, .... With `parameters`, masses (m1), mass centres (c1x),
    inertias about them (I1xx) and positions of joints in their parents (l1x) are symbols too, unless they are zero,
    numbered by body; rotations stay numbers, and inertias that are exactly alike along axes stay alike.

    >>> import ordern as on
    >>> on.symbolic(on.load("double-pendulum"), "mass_matrix").shape
    (2, 2)
    """
    try:
        import sympy
    except ImportError:
        raise OrdernError("symbolic equations need SymPy: pip install ordern[symbolic]") from None
    require_tree(robot, question)
    declared, algorithm = find(question, method)
    reason = algorithm.refuses(robot) if algorithm.refuses else ""
    if reason or algorithm.pieces:
        raise ArgumentError(f"{question} by the method {algorithm.name!r}: {reason or 'it iterates'}")
    options = with_frames(robot, question, options)
    graph = Graph("symbolic")
    tree = _SymbolicTree(robot, graph) if parameters else ConcreteTree(robot)
    tree.frames = len(options.get("frames", ()))
    accepted = algorithm.accepts(declared)
    inputs = []
    for port in declared.inputs:
        if port.name not in accepted:
            continue
        if port.optional and port.name not in present:
            inputs.append(tree.zeros(port.kind))
            continue
        size = core_size(robot, port.kind, tree.frames)
        leaves = [graph.leaf(f"{port.name}{k + 1}" if size > 1 else port.name) for k in range(size)]
        inputs.append(tree.input(port.kind, leaves))
    shape = core_shape(robot, declared.output, tree.frames)
    results = result_scalars(algorithm.function(tree, *inputs, **options), math.prod(shape))
    expressions = _expressions(results, sympy)
    if simplify:
        expressions = [sympy.simplify(sympy.nsimplify(x, rational=True) if _plain(x) else x) for x in expressions]
    if not shape:
        return expressions[0]
    if len(shape) > 2:
        return sympy.Array(expressions, shape)
    return sympy.Matrix(*(shape if len(shape) == 2 else (*shape, 1)), expressions)


def _plain(x: Any) -> bool:
    """Return whether all numbers are short decimals, which are exact values."""
    return all(abs(float(n) * 1e6 - round(float(n) * 1e6)) < 1e-6 for n in x.atoms() if n.is_Float)


def _expressions(results: list[Scalar], sympy: Any) -> list[Any]:
    values: dict[int, Any] = {}
    for node in live(x for x in results if isinstance(x, Node)):
        if node.op == "leaf":
            values[node.index] = sympy.Symbol(node.data, real=True)
        elif node.op == "constant":
            values[node.index] = _number(node.data, sympy)
        else:
            values[node.index] = OPS[node.op].evaluate(*(values[a.index] for a in node.args))
    return [values[x.index] if isinstance(x, Node) else _number(float(x), sympy) for x in results]


def _number(x: float, sympy: Any) -> Any:
    """Return small integers and halves as fractions, other numbers as floats."""
    return sympy.Rational(x) if x * 2 == round(x * 2) and abs(x) < 1e6 else sympy.Float(x)


class _SymbolicTree(ConcreteTree):
    """A tree whose bodies' masses, mass centres, inertias and places are symbols."""

    def __init__(self, model: Model, graph: Graph) -> None:
        super().__init__(model)
        t = model.tables
        self._index = []
        for k in range(len(model.bodies)):
            row: list[Scalar] = t.rows[k].tolist()
            row[PLACEMENT.start + 9 : PLACEMENT.stop] = _places(model, k, graph)
            row[INERTIA] = _inertia(model, k, graph)
            self._index.append(Index(k, t.kinds[t.kind[k]], row.__getitem__))


def _symbols(graph: Graph, names: Iterable[str], values: Iterable[float]) -> Any:
    """Return an array of symbols; entries that are zero stay zero."""
    found = [0.0 if value == 0.0 else graph.leaf(name) for name, value in zip(names, values, strict=True)]
    return np.array(found, object)


def _axes(joint: Joint) -> Any:
    """Return the axes of a joint's working frame; with Python's numbers, products with 0 and 1 leave no trace."""
    return np.round(joint.working_frame(), 15).astype(object)


def _places(model: Model, k: int, graph: Graph) -> list[Scalar]:
    c = model.joints[k]
    place = _symbols(graph, (f"l{k + 1}{axis}" for axis in "xyz"), c.placement.position)
    found: list[Scalar] = (place if c.parent == BASE else _axes(model.joints[c.parent].type).T @ place).tolist()
    return found


def _inertia(model: Model, k: int, graph: Graph) -> list[Scalar]:
    """Return mass, first and second moments about the origin, in the working axes."""
    b, Q = model.bodies[k], _axes(model.joints[k].type)
    (m,) = _symbols(graph, [f"m{k + 1}"], [b.mass])
    c = Q.T @ _symbols(graph, (f"c{k + 1}{axis}" for axis in "xyz"), b.com)
    xx, yy, zz, xy, xz, yz = _symbols(graph, (f"I{k + 1}{n}" for n in ("xx", "yy", "zz", "xy", "xz", "yz")), b.inertia)
    I = Q.T @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], object) @ Q
    squares = c[0] * c[0] + c[1] * c[1] + c[2] * c[2]
    pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    return [m, *(m * x for x in c), *(I[r, s] + m * ((squares if r == s else 0.0) - c[r] * c[s]) for r, s in pairs)]
