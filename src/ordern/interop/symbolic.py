"""Equations of motion as SymPy expressions, from the graph that the compiler uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..algorithms import find
from ..algorithms.method_limits import require_tree
from ..arguments import choice
from ..declared import explained
from ..errors import ArgumentError, OrdernError
from ..graph import OPS, Graph, Node, Scalar, live
from ..joints import Joint, Revolute
from ..kernel.settings import with_frames
from ..model import BASE, ConcreteTree, Index, Model, core_shape, core_size, result_scalars
from ..model.checks import require_one_set
from ..model.tables import INERTIA, PLACEMENT
from ..spatial import Motion
from .forms import Writer
from .polynomials import Ring, TooLongError

__all__ = ["symbolic"]

_MOST_TERMS = 20_000
"""Terms of an answer beyond which it is not written as a sum: SymPy takes a few seconds for so many."""
_ZERO = 1e-15
"""Lengths, masses and inertias below this are roundings of zero."""


@explained
def symbolic(
    robot: Model,
    question: str,
    method: str | None = None,
    *,
    present: tuple[str, ...] = (),
    parameters: bool = False,
    gravity: bool = False,
    simplify: bool = True,
    **options: Any,
) -> Any:
    """Return the answer to a question as a SymPy expression, column or matrix, or as an array of more dimensions.

    Arguments are real symbols q1, q2, ..., v1, ..., a1, ..., tau1, .... With `parameters`, masses (m1), mass centres
    (c1x), inertias about them (I1xx) and positions of joints in their parents (l1x) are symbols too, unless they are
    zero, numbered by body; rotations stay numbers, and inertias that are exactly alike along axes stay alike. With
    `gravity`, its strength is the symbol g. Masses, moments of inertia, lengths along positive axes and g are positive
    symbols; all others are real.

    With `simplify`, the answer is multiplied out, and collected by accelerations, velocities and forces, then by sines
    and cosines, then by parameters. This takes seconds for an arm of six joints. An answer that would take longer
    is returned as the algorithm computes it, as all are without `simplify`.

    >>> import ordern as on
    >>> on.symbolic(on.load("double-pendulum"), "gravity_force", parameters=True, gravity=True)[1]
    -c2z*g*m2*sin(q1 + q2)
    """
    try:
        import sympy
    except ImportError:
        raise OrdernError("symbolic equations need SymPy: pip install ordern[symbolic]") from None
    if not isinstance(robot, Model):
        raise ArgumentError(f"symbolic: give a robot first, not {type(robot).__name__}; on.load(name) loads one")
    require_one_set(robot, "symbolic")
    require_tree(robot, question)
    declared, algorithm = find(question, method)
    reason = algorithm.refuses(robot) if algorithm.refuses else ""
    if reason or algorithm.pieces:
        raise ArgumentError(f"{question} by the method {algorithm.name!r}: {reason or 'it iterates'}")
    for name in options:
        choice("setting", name, declared.options, question)
    for name in declared.options:
        if name not in options:
            raise ArgumentError(f"{question} needs the setting {name!r}")
    options = with_frames(robot, question, options)
    graph = Graph("symbolic")
    tree = _SymbolicTree(robot, graph, parameters, gravity)
    tree.frames = len(options.get("frames", ()))
    accepted, inputs = algorithm.accepts(declared), []
    names: dict[str, list[str]] = {}
    for port in declared.inputs:
        if port.name not in accepted:
            continue
        if port.optional and port.name not in present:
            inputs.append(tree.zeros(port.kind))
            continue
        size = core_size(robot, port.kind, tree.frames)
        own = [f"{port.name}{k + 1}" if size > 1 else port.name for k in range(size)]
        names.setdefault("positions" if port.kind == "q" else "motions", []).extend(own)
        inputs.append(tree.input(port.kind, [graph.leaf(name) for name in own]))
    shape = core_shape(robot, declared.output, tree.frames)
    results = result_scalars(algorithm.function(tree, *inputs, **options), math.prod(shape))
    positive = tree.positive

    def symbol(name: str) -> Any:
        return sympy.Symbol(name, positive=True) if name in positive else sympy.Symbol(name, real=True)

    expressions = _simplified(results, names, robot, symbol, sympy) if simplify else None
    expressions = _expressions(results, symbol, sympy) if expressions is None else expressions
    if not shape:
        return expressions[0]
    if len(shape) > 2:
        return sympy.Array(expressions, shape)
    return sympy.Matrix(*(shape if len(shape) == 2 else (*shape, 1)), expressions)


def _simplified(
    results: list[Scalar], names: dict[str, list[str]], robot: Model, symbol: Callable[[str], Any], sympy: Any
) -> list[Any] | None:
    """Return the results in a short form; None if they are too long to be multiplied out."""
    ring, roots = Ring(), {x.index: x for x in results if isinstance(x, Node)}
    try:
        values = ring.evaluated(list(roots.values()))
    except TooLongError:
        return None
    inside = (x for g in ring.generators if g.kind == "other" for x in g.data[1])
    if sum(map(len, (*(values[k] for k in roots), *inside))) > _MOST_TERMS:
        return None
    motions = {*names.get("motions", ()), "g"}
    write = Writer(ring, symbol, motions, {*names.get("positions", ())}, _parallel(robot), sympy).expression
    written = {k: write(values[k]) for k in roots}  # a matrix may have a number in several places
    return [written[x.index] if isinstance(x, Node) else write({0: float(x)} if x else {}) for x in results]


def _parallel(robot: Model) -> list[list[str]]:
    """Return groups of hinges in series whose axes are parallel, by the names of their angles."""
    group: dict[int, list[str]] = {}
    rows = robot.tables.rows
    for k, c in enumerate(robot.joints):
        if not isinstance(c.type, Revolute) or c.mimic is not None:
            continue
        with_parent = c.parent in group and abs(abs(rows[k, PLACEMENT][8]) - 1.0) < 1e-12
        group[k] = group[c.parent] if with_parent else []
        group[k].append(f"q{c.q_start + 1}" if robot.nq > 1 else "q")
    return list({id(names): names for names in group.values()}.values())


def _expressions(results: list[Scalar], symbol: Callable[[str], Any], sympy: Any) -> list[Any]:
    """Return the results as they are computed."""
    # SymPy would compare them, term by term, with the equal ones that it remembers from an earlier call
    sympy.core.cache.clear_cache()
    values: dict[int, Any] = {}
    for node in live(x for x in results if isinstance(x, Node)):
        if node.op == "leaf":
            values[node.index] = symbol(node.data)
        elif node.op == "constant":
            values[node.index] = _number(node.data, sympy)
        else:
            operands = [values[a.index] for a in node.args]
            # SymPy asks whether the other factor is finite, which takes minutes for a long one
            zero = (node.op == "mul" and any(x.is_Number and x == 0 for x in operands)) or (
                node.op == "div" and operands[0].is_Number and operands[0] == 0
            )
            values[node.index] = sympy.S.Zero if zero else OPS[node.op].evaluate(*operands)
    return [values[x.index] if isinstance(x, Node) else _number(float(x), sympy) for x in results]


def _number(x: float, sympy: Any) -> Any:
    """Return small integers and halves as fractions, other numbers as floats."""
    return sympy.Rational(x) if x * 2 == round(x * 2) and abs(x) < 1e6 else sympy.Float(x)


class _SymbolicTree(ConcreteTree):
    """A tree whose masses, mass centres, inertias and places, and whose gravity, may be symbols."""

    def __init__(self, model: Model, graph: Graph, parameters: bool, gravity: bool) -> None:
        super().__init__(model)
        self._gravity = graph.leaf("g") if gravity else None
        self.positive = {"g"}
        """The names of symbols that are positive."""
        t = model.tables
        if parameters:
            self._index = []
        for k in range(len(model.bodies) if parameters else 0):
            row: list[Scalar] = t.rows[k].tolist()
            row[PLACEMENT.start + 9 : PLACEMENT.stop] = _places(model, k, graph)
            row[INERTIA] = _inertia(model, k, graph)
            self._index.append(Index(k, t.kinds[t.kind[k]], row.__getitem__))
            self.positive |= {f"m{k + 1}", *(f"I{k + 1}{axis}" for axis in ("xx", "yy", "zz"))}
            at = zip("xyz", model.joints[k].placement.position, strict=True)
            self.positive |= {f"l{k + 1}{axis}" for axis, x in at if x > _ZERO}

    @property
    def base_acceleration(self) -> Motion:
        """The acceleration of the base that stands for gravity: g upwards."""
        strength = math.hypot(*self.model.gravity)
        if self._gravity is None or not strength:
            return super().base_acceleration
        x, y, z = (self._gravity * (0.0 - a / strength) for a in self.model.gravity)
        return Motion((0.0, 0.0, 0.0), (x, y, z))


def _symbols(graph: Graph, names: Iterable[str], values: Iterable[float]) -> Any:
    """Return an array of symbols; entries that are zero, but for rounding, stay zero."""
    found = [0.0 if abs(value) < _ZERO else graph.leaf(name) for name, value in zip(names, values, strict=True)]
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
