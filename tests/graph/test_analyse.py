from __future__ import annotations

import pytest

from ordern.graph import OPS, Counts, Graph, Node, cos, count, live, sin, sqrt, where_less
from ordern.spatial import About, Force, Identity, Inertia, Motion, Transform
from ordern.spatial.linear import cross, dot, matvec
from tests.graph.evaluation import evaluate
from tests.graph.rules import check


def _leaves(graph: Graph, n: int, name: str = "x") -> tuple[Node, ...]:
    return tuple(graph.leaf((name, k)) for k in range(n))


@pytest.fixture
def graph() -> Graph:
    return Graph("block")


class TestLive:
    def test_dead_code_is_left_out(self, graph) -> None:
        x, y = _leaves(graph, 2)
        used = x * y
        dead = sin(x) + sin(y) / 3.0
        assert dead not in live([used])
        assert [n.index for n in live([used])] == [x.index, y.index, used.index]
        assert count([used]) == Counts(multiplications=1)

    def test_in_order_of_creation_and_each_once(self, graph) -> None:
        x, y = _leaves(graph, 2)
        s = x + y
        p = s * s
        found = live([p, s, p])
        assert [n.index for n in found] == sorted({n.index for n in found})
        assert set(found) == {x, y, s, p}

    def test_operands_come_before_their_users_whatever_the_order_of_the_roots(self, graph) -> None:
        """This is the order in which code is emitted."""
        x, y = _leaves(graph, 2)
        roots = [x * y, sin(x * y + y), x - sin(x)]
        for asked in (roots, roots[::-1]):
            place = {node.index: k for k, node in enumerate(live(asked))}
            assert all(place[a.index] < place[n.index] for n in live(asked) for a in n.args)

    def test_nothing_needs_nothing(self) -> None:
        assert live([]) == []
        assert count([]) == Counts()


class TestCount:
    def test_inner_product(self, graph) -> None:
        found = count([dot(_leaves(graph, 3, "a"), _leaves(graph, 3, "b"))])
        assert found == Counts(multiplications=3, additions=2)

    def test_vector_product(self, graph) -> None:
        found = count(cross(_leaves(graph, 3, "a"), _leaves(graph, 3, "b")))
        assert found == Counts(multiplications=6, additions=3)

    def test_zeros_and_ones_of_a_matrix_cost_nothing(self, graph) -> None:
        x = _leaves(graph, 3)
        assert matvec(((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)), x)[0] is x[0]
        assert count(matvec(((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)), x)) == Counts(negations=1)

    def test_a_turn_about_z(self, graph) -> None:
        q, *x = _leaves(graph, 4)
        turned = About(2, cos(q), sin(q)).apply((x[0], x[1], x[2]))
        assert count([graph.lift(s) for s in turned]) == Counts(multiplications=4, additions=2, other=2)

    def test_momentum_of_a_rigid_body(self, graph) -> None:
        """Ten numbers, not thirty-six: 9 + 6 products for the moment, 3 + 6 for the force."""
        m, *more = _leaves(graph, 10, "I")
        f = Inertia(m, tuple(more[:3]), tuple(more[3:])) @ Motion.of(_leaves(graph, 6, "v"))
        assert count(f.scalars) == Counts(multiplications=24, additions=18)

    def test_a_shift_along_one_axis(self, graph) -> None:
        """A distance along z moves two components."""
        d, v = graph.leaf("d"), Motion.of(_leaves(graph, 6, "v"))
        shifted = Transform(Identity(), (0.0, 0.0, d)) @ v
        assert count([graph.lift(s) for s in shifted.scalars]) == Counts(multiplications=2, additions=2)

    def test_every_column(self, graph) -> None:
        x, y = _leaves(graph, 2)
        roots = [x * y, x + y, x - y, x / y, -x, sqrt(x), where_less(x, y, x, y)]
        found = count(roots)
        assert found == Counts(multiplications=1, additions=2, divisions=1, negations=1, other=2)
        assert found.total == 7

    def test_what_is_shared_counts_once(self, graph) -> None:
        x, y = _leaves(graph, 2)
        assert count([(x + y) * (x + y), (y + x) * 2.0]) == Counts(multiplications=2, additions=1)

    def test_sums_and_multiples(self) -> None:
        a, b = Counts(1, 2, 3, 4, 5), Counts(10, 20, 30, 40, 50)
        assert a + b == Counts(11, 22, 33, 44, 55)
        assert a * 3 == Counts(3, 6, 9, 12, 15)
        assert (a * 3).total == 45


class TestEvaluate:
    def test_leaves_by_key_and_constants(self, graph) -> None:
        x = graph.leaf(("q", 1))
        assert evaluate([2.0 * x + 1.0, graph.constant(7)], {("q", 1): 3.0}) == [7.0, 7.0]

    def test_a_missing_leaf_is_an_error(self, graph) -> None:
        with pytest.raises(KeyError):
            evaluate([graph.leaf("x") + 1.0], {})


class TestCheck:
    """What tracing makes is sound (see test_expressions); here are graphs that were broken by hand."""

    def _add(self, graph: Graph, op: str, *args: Node, data: object = None, index: int | None = None) -> Node:
        node = Node(graph, len(graph.nodes) if index is None else index, op, args, data)
        graph.nodes.append(node)
        return node

    def _rejects(self, graph: Graph, words: str) -> None:
        with pytest.raises(AssertionError, match=words):
            check(graph)

    def test_a_sound_graph(self, graph) -> None:
        x, y = _leaves(graph, 2)
        assert isinstance((sin(x) * y - 2.0) / y, Node)
        check(graph)

    def test_a_node_twice(self, graph) -> None:
        x, y = _leaves(graph, 2)
        for _ in range(2):
            self._add(graph, "sub", x, y)
        self._rejects(graph, "exists twice")

    def test_a_leaf_twice(self, graph) -> None:
        graph.leaf("x")
        self._add(graph, "leaf", data="x")
        self._rejects(graph, "exists twice")

    @pytest.mark.parametrize("name", sorted(OPS))
    def test_too_many_operands(self, graph, name) -> None:
        self._add(graph, name, *_leaves(graph, OPS[name].arity + 1))
        self._rejects(graph, f"needs {OPS[name].arity} operands")

    def test_no_operands(self, graph) -> None:
        self._add(graph, "add")
        self._rejects(graph, "has no operands")

    def test_an_operand_after_its_user(self, graph) -> None:
        x = graph.leaf("x")
        late = Node(graph, 2, "leaf", (), "late")
        self._add(graph, "sub", late, x)
        graph.nodes.append(late)
        self._rejects(graph, "comes before an operand")

    def test_a_node_that_needs_itself(self, graph) -> None:
        x = graph.leaf("x")
        node = self._add(graph, "mul", x, x)
        node.args = (x, node)
        self._rejects(graph, "comes before an operand")

    def test_constants_that_should_be_folded(self, graph) -> None:
        self._add(graph, "mul", graph.constant(2.0), graph.constant(3.0))
        self._rejects(graph, "only constants; should be folded")

    def test_an_identity_that_was_missed(self, graph) -> None:
        self._add(graph, "mul", graph.leaf("x"), graph.constant(1.0))
        self._rejects(graph, "can be simplified")

    def test_operands_out_of_order(self, graph) -> None:
        x, y = _leaves(graph, 2)
        self._add(graph, "add", y, x)
        self._rejects(graph, "operands out of order")

    def test_a_node_of_another_graph(self, graph) -> None:
        graph.nodes.append(Graph("other").leaf("x"))
        self._rejects(graph, "belongs to another graph")

    def test_a_node_in_the_wrong_place(self, graph) -> None:
        self._add(graph, "leaf", data="x", index=5)
        self._rejects(graph, "stands at 0")

    def test_an_operation_that_does_not_exist(self, graph) -> None:
        self._add(graph, "frobnicate", graph.leaf("x"))
        self._rejects(graph, "frobnicate")


def test_forces_are_traced_like_numbers(graph) -> None:
    """A spatial force of leaves and one of numbers: the same function serves both."""
    f = Force.of(_leaves(graph, 6, "f"))
    power = f.dot(Motion.of((1.0, 0.0, 2.0, 0.0, 0.0, -1.0)))
    assert count([power]) == Counts(multiplications=1, additions=2)
    assert evaluate([power], {("f", k): float(k) for k in range(6)}) == [0.0 + 2 * 2.0 - 5.0]
