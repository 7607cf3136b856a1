from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
from hypothesis import given

from ordern.graph import OPS, Graph, live
from tests.graph.evaluation import evaluate
from tests.graph.expressions import (
    ARITHMETIC,
    CONSTANTS,
    FUNCTIONS,
    LEAVES,
    QUICK,
    leaf_values,
    real_numbers,
    run,
    settled,
    small_integers,
    steps,
    traced,
)
from tests.graph.rules import check
from tests.tolerances import MANY_DIGITS

RESULTS = LEAVES + len(CONSTANTS)


def test_every_operation_is_tested() -> None:
    assert set(FUNCTIONS) == set(OPS)


@QUICK
@given(steps(), real_numbers())
def test_evaluating_the_graph_is_evaluating_the_expression(program, numbers) -> None:
    program = settled(program, numbers)
    _, _, roots = traced(program)
    with mpmath.workdps(80):
        exact = [mpmath.mpf(x) for x in numbers]
        for got, wanted in zip(evaluate(roots, leaf_values(exact)), run(program, exact)[RESULTS:], strict=True):
            assert abs(got - wanted) <= MANY_DIGITS * max(1, abs(wanted))


@QUICK
@given(steps(ARITHMETIC), small_integers())
def test_arithmetic_on_small_integers_is_exact(program, numbers) -> None:
    program = settled(program, numbers)
    _, _, roots = traced(program)
    wanted = [Fraction(x) for x in run(program, [Fraction(x) for x in numbers])]
    if all(abs(x) < 2**40 and x.denominator < 2**12 for x in wanted):
        assert [Fraction(x) for x in evaluate(roots, leaf_values(numbers))] == wanted[RESULTS:]


@QUICK
@given(steps(ARITHMETIC), small_integers(), small_integers())
def test_arrays_are_evaluated_number_by_number(program, first, second) -> None:
    program = settled(settled(program, first), second)
    _, _, roots = traced(program)
    together = evaluate(roots, leaf_values([np.array(pair) for pair in zip(first, second, strict=True)]))
    for k, numbers in enumerate((first, second)):
        for got, wanted in zip(together, evaluate(roots, leaf_values(numbers)), strict=True):
            assert np.broadcast_to(got, 2)[k] == wanted


@QUICK
@given(steps(), real_numbers())
def test_what_tracing_makes_is_sound(program, numbers) -> None:
    graph, _, _ = traced(settled(program, numbers))
    check(graph)


@QUICK
@given(steps(), real_numbers())
def test_tracing_again_makes_nothing_new(program, numbers) -> None:
    program = settled(program, numbers)
    graph, leaves, roots = traced(program)
    size = len(graph.nodes)
    again = [graph.lift(x) for x in run(program, leaves)[RESULTS:]]
    assert all(a is b for a, b in zip(again, roots, strict=True))
    assert len(graph.nodes) == size


@QUICK
@given(steps(), real_numbers())
def test_the_order_of_emission_has_operands_before_their_users(program, numbers) -> None:
    _, _, roots = traced(settled(program, numbers))
    nodes = live(roots)
    place = {node.index: k for k, node in enumerate(nodes)}
    assert all(place[a.index] < place[n.index] for n in nodes for a in n.args)


def test_an_expression_is_the_same_in_another_graph() -> None:
    def texts(graph: Graph) -> list[str]:
        x, y = graph.leaf("x"), graph.leaf("y")
        FUNCTIONS["sin"](x * y - 2.0 / (x + y)) * y
        return [repr(node) for node in graph.nodes]

    assert texts(Graph("one")) == texts(Graph("two"))
