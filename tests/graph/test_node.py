"""Hash-consing, every simplification, and what a traced value refuses."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

from ordern.errors import TraceError
from ordern.graph import OPS, Graph, Node, atan2, cos, sin, sqrt, where_less
from tests.graph.evaluation import evaluate
from tests.graph.rules import check


@pytest.fixture
def graph() -> Graph:
    return Graph("block")


@pytest.fixture
def x(graph: Graph) -> Node:
    return graph.leaf("x")


@pytest.fixture
def y(graph: Graph) -> Node:
    return graph.leaf("y")


class TestSharing:
    def test_a_leaf_is_known_by_its_key(self, graph, x) -> None:
        assert graph.leaf("x") is x
        assert graph.leaf(("x",)) is not x

    def test_a_constant_is_one_node(self, graph) -> None:
        assert graph.constant(2) is graph.constant(2.0) is graph.constant(np.float32(2.0))

    def test_there_is_one_zero(self, graph) -> None:
        assert graph.constant(-0.0) is graph.constant(0.0)
        assert math.copysign(1.0, graph.constant(-0.0).data) == 1.0

    @pytest.mark.parametrize("name", sorted(OPS))
    def test_the_same_operation_on_the_same_operands_is_one_node(self, graph, name) -> None:
        operands = [graph.leaf(k) for k in range(OPS[name].arity)]
        assert graph.apply(OPS[name], *operands) is graph.apply(OPS[name], *operands)

    @pytest.mark.parametrize("name", sorted(OPS))
    def test_operands_may_change_places_where_that_is_the_same(self, graph, name) -> None:
        operands = [graph.leaf(k) for k in range(OPS[name].arity)]
        forwards, backwards = graph.apply(OPS[name], *operands), graph.apply(OPS[name], *operands[::-1])
        assert (forwards is backwards) == (OPS[name].commutative or OPS[name].arity == 1)

    def test_constants_of_any_kind_are_one(self, x) -> None:
        assert x * 2 is x * 2.0 is x * np.float64(2.0) is x * np.int64(2) is np.float64(2.0) * x

    def test_addition_and_multiplication_are_commutative(self) -> None:
        assert {name for name, op in OPS.items() if op.commutative} == {"add", "mul"}


def _identities() -> dict[str, tuple]:
    """Name of an identity, its left side, its right side, both as functions of two nodes."""
    return {
        "x + 0": (lambda x, y: x + 0.0, lambda x, y: x),
        "0 + x": (lambda x, y: 0.0 + x, lambda x, y: x),
        "x + -0": (lambda x, y: x + -0.0, lambda x, y: x),
        "x + -y": (lambda x, y: x + -y, lambda x, y: x - y),
        "-x + y": (lambda x, y: -x + y, lambda x, y: y - x),
        "-x + -y": (lambda x, y: -x + -y, lambda x, y: -(x + y)),
        "-x + 2": (lambda x, y: -x + 2.0, lambda x, y: 2.0 - x),
        "x - 0": (lambda x, y: x - 0.0, lambda x, y: x),
        "0 - x": (lambda x, y: 0.0 - x, lambda x, y: -x),
        "x - x": (lambda x, y: x - x, lambda x, y: 0.0),
        "x - -y": (lambda x, y: x - -y, lambda x, y: x + y),
        "-x - y": (lambda x, y: -x - y, lambda x, y: -(x + y)),
        "-x - -y": (lambda x, y: -x - -y, lambda x, y: y - x),
        "x * 0": (lambda x, y: x * 0.0, lambda x, y: 0.0),
        "0 * x": (lambda x, y: 0.0 * x, lambda x, y: 0.0),
        "x * 1": (lambda x, y: x * 1.0, lambda x, y: x),
        "1 * x": (lambda x, y: 1.0 * x, lambda x, y: x),
        "x * -1": (lambda x, y: x * -1.0, lambda x, y: -x),
        "-1 * x": (lambda x, y: -1.0 * x, lambda x, y: -x),
        "-x * y": (lambda x, y: -x * y, lambda x, y: -(x * y)),
        "x * -y": (lambda x, y: x * -y, lambda x, y: -(x * y)),
        "-x * -y": (lambda x, y: -x * -y, lambda x, y: x * y),
        "x / 2": (lambda x, y: x / 2.0, lambda x, y: x * 0.5),
        "x / 1": (lambda x, y: x / 1.0, lambda x, y: x),
        "x / -1": (lambda x, y: x / -1.0, lambda x, y: -x),
        "0 / x": (lambda x, y: 0.0 / x, lambda x, y: 0.0),
        "-x / y": (lambda x, y: -x / y, lambda x, y: -(x / y)),
        "x / -y": (lambda x, y: x / -y, lambda x, y: -(x / y)),
        "-x / -y": (lambda x, y: -x / -y, lambda x, y: x / y),
        "minus minus x": (lambda x, y: operator.neg(-x), lambda x, y: x),
        "-(x - y)": (lambda x, y: -(x - y), lambda x, y: y - x),
        "sin(-x)": (lambda x, y: sin(-x), lambda x, y: -sin(x)),
        "cos(-x)": (lambda x, y: cos(-x), lambda x, y: cos(x)),
        "where_less(1, 2, x, y)": (lambda x, y: where_less(1.0, 2.0, x, y), lambda x, y: x),
        "where_less(2, 1, x, y)": (lambda x, y: where_less(2.0, 1.0, x, y), lambda x, y: y),
        "where_less(1, 1, x, y)": (lambda x, y: where_less(1.0, 1.0, x, y), lambda x, y: y),
        "where_less(nan, 1, x, y)": (lambda x, y: where_less(math.nan, 1.0, x, y), lambda x, y: y),
        "where_less(x, y, x, x)": (lambda x, y: where_less(x, y, x, x), lambda x, y: x),
        "where_less(x, y, 3, 3)": (lambda x, y: where_less(x, y, 3.0, 3.0), lambda x, y: 3.0),
    }


class TestSimplification:
    @pytest.mark.parametrize("name", _identities())
    def test_identity(self, graph, x, y, name) -> None:
        left, right = _identities()[name]
        assert graph.lift(left(x, y)) is graph.lift(right(x, y))
        check(graph)

    def test_what_depends_on_a_value_stays(self, x, y) -> None:
        for kept in (x + y, x - y, x * y, x / y, -x, sqrt(x), atan2(x, y), where_less(x, y, y, x), 1.0 / x):
            assert isinstance(kept, Node)
            assert kept.args

    def test_constants_stay_numbers_until_they_meet_a_value(self, graph, x) -> None:
        size = len(graph.nodes)
        assert isinstance(x * 0.0, float)
        assert isinstance(where_less(x, 1.0, 2.0, 2.0), float)
        assert len(graph.nodes) <= size + 2

    @pytest.mark.parametrize("name", sorted(OPS))
    def test_constants_fold(self, graph, name) -> None:
        """Also those that were made nodes, as `lift` makes them."""
        numbers = [0.5, 2.0, 3.0, 4.0][: OPS[name].arity]
        folded = graph.lift(graph.apply(OPS[name], *(graph.constant(x) for x in numbers)))
        assert folded.op == "constant"
        assert folded.data == pytest.approx(OPS[name].evaluate(*numbers))

    def test_dividing_by_a_constant_zero_is_infinite_as_it_is_by_any_other(self, graph, x) -> None:
        """It must not fail while tracing: the branch it is in may never be taken."""
        with np.errstate(all="ignore"):
            (found,) = evaluate([graph.lift(x / 0.0)], {"x": np.array([1.0, -2.0])})
        assert found.tolist() == [math.inf, -math.inf]


class TestRefusals:
    def test_values_of_two_graphs_do_not_mix(self, x) -> None:
        other = Graph("elsewhere").leaf("z")
        for mixed in (lambda: x + other, lambda: other * x, lambda: atan2(x, other), lambda: x.graph.lift(other)):
            with pytest.raises(TraceError, match=r"a value of block '\w+' is used in block '\w+', .* through fields"):
                mixed()

    def test_both_blocks_are_named(self, x) -> None:
        with pytest.raises(TraceError, match="a value of block 'elsewhere' is used in block 'block'"):
            x + Graph("elsewhere").leaf("x")

    def test_no_truth_value(self, x) -> None:
        with pytest.raises(TraceError, match=r"no truth value: use where_less\(a, b, x, y\) instead of `if`"):
            assert x

    @pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
    def test_no_order(self, x, compare) -> None:
        for a, b in ((x, 1.0), (1.0, x), (x, x)):
            with pytest.raises(TraceError, match="no order: use where_less"):
                compare(a, b)

    @pytest.mark.parametrize("convert", [float, math.sin, math.sqrt, lambda x: np.array([x], float)])
    def test_not_a_float(self, x, convert) -> None:
        with pytest.raises(TraceError, match=r"not a float: use the functions of ordern\.graph, not math or NumPy"):
            convert(x)

    @pytest.mark.parametrize("thing", [np.zeros(2), 1j, "1", None, [1.0]], ids=lambda t: type(t).__name__)
    def test_only_numbers_can_be_traced(self, x, thing) -> None:
        with pytest.raises(TraceError, match=f"met {type(thing).__name__} .*only numbers can be traced"):
            x * thing

    def test_errors_are_type_errors_too(self) -> None:
        assert issubclass(TraceError, TypeError)


def test_repr_shows_the_operation(graph, x, y) -> None:
    assert repr(x) == "%0 = leaf('x')"
    assert repr(x * y) == "%2 = mul(%0, %1)"
    assert repr(graph) == "<Graph 'block': 3 nodes>"
