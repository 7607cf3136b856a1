"""Random expressions, as programs that run on any scalar.

A program is a list of steps; each applies an operation to values that exist already: leaves, constants, results of
earlier steps. A step that has no sense for the numbers at hand (a division by zero, a root of a negative number, a
branch between numbers that are nearly equal) is left out when the program is settled on these numbers. So is a step
that folds to a constant that is rounded, such as the sine of one: with 80 digits, that would show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mpmath
from hypothesis import settings
from hypothesis import strategies as st

from ordern.graph import OPS, Graph, Node, atan2, cos, sin, sqrt, where_less

Step = tuple[str, tuple[int, ...]]

LEAVES = 3
CONSTANTS = (0.0, 1.0, -1.0, 2.0, -0.5, 4.0)
"""Those that simplifications look for, and others whose reciprocals are exact."""

QUICK = settings(deadline=None, derandomize=True, max_examples=100)
"""The same examples in every run; no clock, because other processes may be busy."""

# written once more, not taken from the table, so that the table is tested
FUNCTIONS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "sqrt": sqrt,
    "sin": sin,
    "cos": cos,
    "atan2": atan2,
    "where_less": where_less,
}
ARITHMETIC = ("add", "sub", "mul", "neg", "where_less")
"""Exact on small integers."""


def steps(names: Sequence[str] = tuple(OPS), size: int = 15) -> st.SearchStrategy[list[Step]]:
    """Programs, before they are settled: operands are any integers."""
    which = st.sampled_from(sorted(names))
    where = st.tuples(*[st.integers(0, 10_000)] * 4)
    return st.lists(st.tuples(which, where), min_size=1, max_size=size)


def small_integers() -> st.SearchStrategy[list[float]]:
    """Values of the leaves on which arithmetic is exact."""
    return st.lists(st.integers(-5, 5).map(float), min_size=LEAVES, max_size=LEAVES)


def settled(program: Sequence[Step], leaves: Sequence[float]) -> list[Step]:
    """The program without the steps that have no sense on these leaves; operands count from the first leaf."""
    kept: list[Step] = []
    graph = Graph("to see what folds")
    nodes: list[Any] = [*(graph.leaf(k) for k in range(LEAVES)), *CONSTANTS]
    with mpmath.workdps(80):
        values = [mpmath.mpf(x) for x in (*leaves, *CONSTANTS)]
        for name, places in program:
            where = tuple(p % len(values) for p in places[: OPS[name].arity])
            args = [values[w] for w in where]
            if _rounds(name, [nodes[w] for w in where]) or not _sensible(name, args):
                continue
            value = FUNCTIONS[name](*args)
            if abs(value) < 1e8:
                kept.append((name, where))
                values.append(value)
                nodes.append(FUNCTIONS[name](*(nodes[w] for w in where)))
    return kept


def _rounds(name: str, args: Sequence[Any]) -> bool:
    """Whether a constant that is not exact would come of it; a division by a constant is a product."""
    if name == "div" and not isinstance(args[1], Node):
        return abs(math.frexp(args[1])[0]) != 0.5
    return name not in ARITHMETIC and not any(isinstance(x, Node) for x in args)


def _sensible(name: str, args: Sequence[Any]) -> bool:
    if name == "div":
        return abs(args[1]) > 1e-2
    if name == "sqrt":
        return args[0] > 1e-2
    if name == "atan2":
        return abs(args[0]) > 1e-2
    if name == "where_less":
        return abs(args[0] - args[1]) > 1e-20
    return True


def run(program: Sequence[Step], leaves: Sequence[Any]) -> list[Any]:
    """All values of a settled program: leaves, constants, one for each step."""
    values = [*leaves, *CONSTANTS]
    for name, where in program:
        values.append(FUNCTIONS[name](*(values[w] for w in where)))
    return values


def traced(program: Sequence[Step]) -> tuple[Graph, list[Node], list[Node]]:
    """A graph, its leaves and the results of a settled program's steps, as nodes."""
    graph = Graph("random")
    leaves = [graph.leaf(k) for k in range(LEAVES)]
    values = run(program, leaves)
    return graph, leaves, [graph.lift(x) for x in values[LEAVES + len(CONSTANTS) :]]


def leaf_values(numbers: Sequence[Any]) -> dict[int, Any]:
    """What `evaluate` needs to know."""
    return dict(enumerate(numbers))


def real_numbers() -> st.SearchStrategy[list[float]]:
    """Values of the leaves."""
    return st.lists(st.floats(-3.0, 3.0).map(lambda x: round(x, 3)), min_size=LEAVES, max_size=LEAVES)
