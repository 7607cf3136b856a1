"""Derivatives of forward dynamics from those of inverse dynamics.

    M(q) a + b(q, v) = tau        da = M^-1 (dtau - dID),        dID at the constant acceleration a

So only inverse dynamics is differentiated, and the derivatives are solved for: as M^-1 times a column for products with
tangents and for matrices, and for gradients once, before reverse mode:

    mu = M^-1 w,        the derivatives of w . a by x are those of -mu . ID, and mu by tau

Reference: Carpentier and Mansard 2018, Analytical derivatives of rigid body dynamics algorithms, sec. III.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...graph import Graph, Node, Scalar
from ...graph.derive import evaluate, forward, reverse
from ...model import ConcreteTree
from ..registry import find

__all__ = ["ImplicitDynamics"]

_FORCES = "tau"


class ImplicitDynamics:
    """Inverse dynamics at the acceleration that forward dynamics gave, and products with the inverse mass matrix."""

    def __init__(self, tree: ConcreteTree, given: Mapping[str, Any], answer: Sequence[Scalar], graph: Graph) -> None:
        """Trace inverse dynamics for the arguments of forward dynamics by name, and its answer."""
        self._tree, self._q, self._graph, self._answer = tree, given["q"], graph, answer
        self._a = [graph.leaf(("acceleration", k)) for k in range(len(answer))]
        values = {**given, "a": self._a}
        inputs = [
            tree.zeros(p.kind) if values.get(p.name) is None else tree.input(p.kind, values[p.name])
            for p in find("inverse_dynamics")[0].inputs
        ]
        self._forces = list(find("inverse_dynamics")[1].function(tree, *inputs).scalars)

    def _at_answer(self, results: Sequence[Scalar]) -> list[Scalar]:
        """Return scalars with the answer in the place of the accelerations.

        These are leaves until here: differentiation does not pass through leaves, while simplification may pass
        through other nodes.
        """
        values: dict[int, Scalar] = {node.index: node for node in self._graph.nodes if node.op == "leaf"}
        for leaf, x in zip(self._a, self._answer, strict=True):
            values[leaf.index] = x
        return evaluate(results, values)

    def _solved(self, x: Sequence[Scalar]) -> list[Scalar]:
        """Return M^-1 x."""
        tree = self._tree
        solve = find("mass_matrix_solve")[1].function
        return list(solve(tree, tree.input("q", self._q), tree.input("f", x)).scalars)

    def rates(self, rates: Mapping[int, Scalar], forces: Sequence[Scalar] | None) -> list[Scalar]:
        """Return the rates of accelerations for given rates of leaves, and of joint forces."""
        moved = self._at_answer(forward(self._forces, rates))
        right = [-x if forces is None else forces[k] - x for k, x in enumerate(moved)]
        return self._solved(right)

    def columns(self, rates: Sequence[Mapping[int, Scalar] | None]) -> list[list[Scalar]]:
        """Return the rates of accelerations for several sets of rates of leaves; None stands for all joint forces."""
        tree, n = self._tree, len(self._answer)
        inverse = find("mass_matrix_inverse")[1].function
        flat = list(inverse(tree, tree.input("q", self._q)).scalars)
        rows = [flat[n * r : n * r + n] for r in range(n)]
        found: list[list[Scalar]] = []
        for one in rates:
            if one is None:
                found += [list(row) for row in rows]
                continue
            column = self._at_answer(forward(self._forces, one))
            found.append([-_dot(row, column) for row in rows])
        return found

    def gradient(self, weights: Sequence[Scalar], leaves: Sequence[Node]) -> tuple[list[Scalar], list[Scalar]]:
        """Return the derivatives of the weighted sum of accelerations by leaves, and by the joint forces."""
        mu = self._solved(weights)
        return self._at_answer(reverse(self._forces, [-x for x in mu], leaves)), mu


def _dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total
