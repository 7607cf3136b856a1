from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given

from ordern.graph import OPS, Graph, Node, atan2, cos, derive, root_above_zero, sin, sqrt, where_less
from tests.graph.evaluation import evaluate, forward, reverse
from tests.graph.expressions import FUNCTIONS, LEAVES, QUICK, leaf_values, real_numbers, settled, steps, traced
from tests.graph.rules import check
from tests.tolerances import MANY_DIGITS

POINTS = {
    "add": [(0.3, -1.2)],
    "sub": [(0.3, -1.2)],
    "mul": [(0.3, -1.2), (0.0, 2.0)],
    "div": [(0.3, -1.2), (-2.0, 0.5), (0.0, 3.0)],
    "neg": [(0.7,)],
    "sqrt": [(0.04,), (2.0,), (1e6,)],
    "sin": [(0.0,), (1.1,), (-40.0,)],
    "cos": [(0.0,), (1.1,), (-40.0,)],
    "atan2": [(0.3, 1.2), (0.3, -1.2), (-0.3, -1.2), (-0.3, 1.2), (2.0, 0.0), (-2.0, 0.0)],
    "where_less": [(0.0, 1.0, 3.0, 5.0), (1.0, 0.0, 3.0, 5.0), (1.0, 1.0, 3.0, 5.0)],
}
STEP = mpmath.mpf(10) ** -25


def _numeric(roots: list[Node], point: list, k: int, step=STEP) -> list:
    """The derivative by leaf k: a central difference that 80 digits make exact to 50."""
    plus, minus = list(point), list(point)
    plus[k], minus[k] = point[k] + step, point[k] - step
    values = (evaluate(roots, leaf_values(x)) for x in (plus, minus))
    return [(a - b) / (2 * step) for a, b in zip(*values, strict=True)]


def _close(got, wanted) -> bool:
    return abs(got - wanted) <= MANY_DIGITS * max(1, abs(wanted))


def _values(scalars: list, graph: Graph, point: list) -> list:
    return evaluate([graph.lift(s) for s in scalars], leaf_values(point))


@pytest.mark.parametrize("name", sorted(OPS))
def test_partials_of_every_operation(name) -> None:
    """Against differences, and written over the operands, whatever they are."""
    for numbers in POINTS[name]:
        graph = Graph(name)
        leaves = [graph.leaf(k) for k in range(OPS[name].arity)]
        root = graph.apply(OPS[name], *leaves)
        with mpmath.workdps(80):
            point = [mpmath.mpf(x) for x in numbers]
            if name == "where_less":  # the test has no derivative; stay on its side
                wanted = [0, 0, *(_numeric([root], point, k)[0] for k in (2, 3))]
            else:
                wanted = [_numeric([root], point, k)[0] for k in range(len(leaves))]
            traced_partials = _values(list(OPS[name].partials(*leaves)), graph, point)
            plain_partials = OPS[name].partials(*point)
            one_by_one = _values([forward([root], {leaf: 1.0})[0] for leaf in leaves], graph, point)
            gradient = _values(reverse([root], [1.0], leaves), graph, point)
            for found in (traced_partials, plain_partials, one_by_one, gradient):
                assert all(_close(a, b) for a, b in zip(found, wanted, strict=True)), (name, numbers)
        check(graph)


@pytest.mark.slow
@QUICK
@given(steps(size=10), real_numbers())
def test_forward_and_reverse_agree_with_differences(program, numbers) -> None:
    graph, leaves, roots = traced(settled(program, numbers))
    if not roots:
        return
    weights = [(-1) ** k * (k + 1.0) for k in range(len(roots))]
    with mpmath.workdps(80):
        point = [mpmath.mpf(x) for x in numbers]
        gradient = _values(reverse(roots, weights, leaves), graph, point)
        for k, leaf in enumerate(leaves):
            rates = _values(forward(roots, {leaf: 1.0}), graph, point)
            wanted, judge = _numeric(roots, point, k), _numeric(roots, point, k, 8 * STEP)
            # next to a pole or a step a difference says nothing of the derivative, and the two steps tell
            if all(abs(w) < 1e8 for w in wanted) and all(map(_close, judge, wanted)):
                assert all(_close(a, b) for a, b in zip(rates, wanted, strict=True))
                assert _close(gradient[k], sum(w * r for w, r in zip(weights, rates, strict=True)))
    check(graph)


@pytest.mark.slow
@QUICK
@given(steps(size=10), real_numbers())
def test_rates_are_linear_in_the_tangents(program, numbers) -> None:
    graph, leaves, roots = traced(settled(program, numbers))
    tangents = [0.5, -2.0, 4.0][:LEAVES]
    with mpmath.workdps(80):
        point = [mpmath.mpf(x) for x in numbers]
        together = _values(forward(roots, dict(zip(leaves, tangents, strict=True))), graph, point)
        single = [_values(forward(roots, {leaf: t}), graph, point) for leaf, t in zip(leaves, tangents, strict=True)]
        for k, got in enumerate(together):
            assert _close(got, sum(rates[k] for rates in single))


def test_tangents_may_be_traced_themselves() -> None:
    graph = Graph()
    x, dx = graph.leaf("x"), graph.leaf("dx")
    rate = forward([sin(x) * x], {x: dx})[0]
    values = {"x": 0.7, "dx": 2.0}
    wanted = 2.0 * (mpmath.cos(0.7) * 0.7 + mpmath.sin(0.7))
    assert float(evaluate([rate], values)[0]) == pytest.approx(float(wanted), rel=1e-14)


def test_what_does_not_depend_has_no_rate() -> None:
    graph = Graph()
    x, y = graph.leaf("x"), graph.leaf("y")
    assert forward([sin(x), graph.constant(3.0)], {y: 1.0}) == [0.0, 0.0]
    assert reverse([sin(x)], [1.0], [y]) == [0.0]


def test_a_root_that_another_root_needs() -> None:
    graph = Graph()
    x = graph.leaf("x")
    inner = x * x
    outer = inner * x
    assert evaluate([graph.lift(reverse([inner, outer], [1.0, 1.0], [x])[0])], {"x": 3.0}) == [6.0 + 27.0]
    assert evaluate([graph.lift(reverse([inner, inner], [1.0, 2.0], [x])[0])], {"x": 3.0}) == [18.0]
    assert evaluate([graph.lift(reverse([outer], [1.0], [inner])[0])], {"x": 3.0}) == [3.0]


def test_second_derivatives_by_differentiating_twice() -> None:
    graph = Graph()
    x = graph.leaf("x")
    first = forward([FUNCTIONS["sin"](x) / x], {x: 1.0})[0]
    second = forward([first], {x: 1.0})[0]
    with mpmath.workdps(40):
        wanted = mpmath.diff(lambda t: mpmath.sin(t) / t, mpmath.mpf(1.3), 2)
        assert _close(evaluate([second], {"x": mpmath.mpf(1.3)})[0], wanted) or (
            abs(evaluate([second], {"x": mpmath.mpf(1.3)})[0] - wanted) < 1e-18
        )


def test_a_branch_has_the_derivative_of_the_side_taken() -> None:
    graph = Graph()
    x = graph.leaf("x")
    rate = forward([where_less(x, 1.0, x * x, 2.0 * x)], {x: 1.0})
    assert evaluate(rate, {"x": 0.25}) == [0.5]
    assert evaluate(rate, {"x": 3.0}) == [2.0]


def _branches(x, y):
    """Functions that are smooth at zero, where the side that is not chosen has infinite partial derivatives."""
    square = x * x + y * y
    root = sqrt(square)
    sinc = where_less(square, 1e-4, 1.0 - square * (1.0 / 6.0 - square / 120.0), sin(root) / root)
    inner = where_less(square, 1e-6, 1.0, where_less(x, 10.0, atan2(root, cos(root)) / root, 2.0 / square))
    return [sinc * x, inner * sinc * y, root_above_zero(square) * x, where_less(square, 1e-4, square, root)]


@np.errstate(all="ignore")
@pytest.mark.parametrize("point", [(0.0, 0.0), (3e-4, -2e-4), (0.3, -0.2), (12.0, 0.5)])
def test_the_side_that_is_not_chosen_has_no_part_in_gradients(point) -> None:
    graph = Graph()
    x, y = graph.leaf("x"), graph.leaf("y")
    roots = [graph.lift(root) for root in _branches(x, y)]
    values = {"x": np.float64(point[0]), "y": np.float64(point[1])}
    columns = [evaluate([graph.lift(r) for r in derive.forward(roots, {leaf.index: 1.0})], values) for leaf in (x, y)]
    for k, root in enumerate(roots):
        gradient = [graph.lift(g) for g in derive.reverse([root], [1.0], [x, y])]
        found = evaluate(gradient, values)
        assert found == pytest.approx([column[k] for column in columns], rel=1e-13, abs=1e-15)
        twice = [graph.lift(h) for g in gradient for h in derive.reverse([g], [1.0], [x, y])]
        mixed = [graph.lift(h) for leaf in (x, y) for h in derive.forward(gradient, {leaf.index: 1.0})]
        assert evaluate(twice, values) == pytest.approx(evaluate(mixed, values), rel=1e-11, abs=1e-14)
    check(graph)


def test_gradients_by_values_inside_of_branches() -> None:
    graph = Graph()
    x = graph.leaf("x")
    inner = x * x
    root = where_less(x, 1.0, inner * 3.0, inner / x)
    found = [graph.lift(g) for g in derive.reverse([root], [1.0], [inner, x])]
    assert evaluate(found, {"x": 0.5}) == [3.0, 3.0]
    assert evaluate(found, {"x": 2.0}) == [0.5, 1.0]
