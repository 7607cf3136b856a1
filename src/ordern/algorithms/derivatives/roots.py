"""Derivatives through solvers: from the equations that the solution satisfies, not from the iterations.

A text that solves equations F(x, p) = 0 for p by iterations hands the result to `Tree.root`, together with F. With
K = dF/dp at the solution,

    rates       K dp = -F_x dx
    gradients   K^T mu = -w,        the derivatives of w . p by x are those of mu . F at constant p

so that one factorisation of K serves both. F may choose between cases by `where_less`; the derivatives are those of the
case that holds at the solution, and one-sided where two cases meet. The unknowns of K are along orthonormal directions
that F names, in an order in which elimination needs no exchange of rows.

Where unknowns share a load in many ways, K has not full rank. Then pivots vanish, and their unknowns are constant: a
pivot counts as zero below `SMALLEST_PIVOT`, the number for loops (`closed_loop.reduced`). F must be scaled such that
pivots are of order one.

Reference: Griewank and Walther 2008, Evaluating Derivatives, section 15.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...errors import ArgumentError
from ...graph import Graph, Node, Scalar, where_less
from ...graph.derive import evaluate, forward, reverse
from ...records import dataclass
from ..closed_loop.reduced import SMALLEST_PIVOT

__all__ = ["Roots"]

_MOST = 100
"""Unknowns: elimination takes n^3 / 1.5 operations, one after the other in the code."""

Law = Callable[[Sequence[Scalar]], tuple[Sequence[Scalar], Sequence[Mapping[int, Scalar]]]]


@dataclass(frozen=True, slots=True)
class _Root:
    """Unknowns as leaves, their values, the equations, and directions: numbers of a direction by their places."""

    leaves: Sequence[Node]
    found: Sequence[Scalar]
    equations: Sequence[Scalar]
    directions: Sequence[Mapping[int, Scalar]]


class Roots:
    """The solutions of equations in one trace of a text, as implicit functions."""

    def __init__(self, graph: Graph, title: str) -> None:
        self._graph, self._title, self._roots = graph, title, list[_Root]()
        self._factors: dict[int, _Elimination] = {}

    def __bool__(self) -> bool:
        return bool(self._roots)

    def record(self, found: Sequence[Scalar], law: Law) -> list[Scalar]:
        """Return leaves in the place of a solution: what follows is differentiated by them."""
        if len(found) > _MOST:
            raise ArgumentError(
                f"derivatives of {self._title}: contacts and stops have {len(found)} unknown impulses, and at most "
                f"{_MOST} are differentiated; give fewer points or pairs, or with_contacts(limits=False)"
            )
        leaves = [self._graph.leaf(("root", len(self._roots), k)) for k in range(len(found))]
        self._roots.append(_Root(leaves, found, *law(leaves)))
        return list(leaves)

    def forward(self, results: Sequence[Scalar], rates: Mapping[int, Scalar]) -> list[Scalar]:
        """Return the rates of results for given rates of leaves; solutions move along."""
        known = dict(rates)
        for k, root in enumerate(self._roots):
            moved = [0.0 - x for x in forward(root.equations, known)]
            known |= {leaf.index: x for leaf, x in zip(root.leaves, self._factor(k).solve(moved), strict=True)}
        return forward(results, known)

    def reverse(self, results: Sequence[Scalar], weights: Sequence[Scalar], leaves: Sequence[Node]) -> list[Scalar]:
        """Return the derivatives of the weighted sum of results by leaves; solutions vary along."""
        results, weights = list(results), list(weights)
        for k, root in reversed(list(enumerate(self._roots))):
            bars = [0.0 - x for x in reverse(results, weights, root.leaves)]
            results += root.equations
            weights += self._factor(k).solve_transposed(bars)
        return reverse(results, weights, leaves)

    def at_solution(self, results: Sequence[Scalar]) -> list[Scalar]:
        """Return scalars with the solutions in the place of their leaves."""
        for root in reversed(self._roots):
            values: dict[int, Scalar] = {node.index: node for node in self._graph.nodes if node.op == "leaf"}
            values |= {leaf.index: x for leaf, x in zip(root.leaves, root.found, strict=True)}
            results = evaluate(results, values)
        return list(results)

    def _factor(self, k: int) -> _Elimination:
        if k not in self._factors:
            self._factors[k] = _Elimination(self._roots[k])
        return self._factors[k]


class _Elimination:
    """K = L U along the directions of a root."""

    def __init__(self, root: _Root) -> None:
        self._directions, n = root.directions, len(root.leaves)
        columns = []
        for direction in root.directions:
            column = forward(root.equations, {root.leaves[k].index: x for k, x in direction.items()})
            columns.append([_along(one, column) for one in root.directions])
        M = self._M = [list(row) for row in zip(*columns, strict=True)]
        self._over: list[Scalar] = []
        for k in range(n):
            square = M[k][k] * M[k][k]
            pivot = where_less(square, SMALLEST_PIVOT**2, 1.0, M[k][k])  # the side that is not chosen is finite, too
            self._over.append(where_less(square, SMALLEST_PIVOT**2, 0.0, 1.0 / pivot))
            for r in range(k + 1, n):
                M[r][k] = M[r][k] * self._over[k]
                for c in range(k + 1, n):
                    M[r][c] = M[r][c] - M[r][k] * M[k][c]

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return K^-1 b."""
        y, M = [_along(one, b) for one in self._directions], self._M
        for k in range(len(y)):
            for r in range(k + 1, len(y)):
                y[r] = y[r] - M[r][k] * y[k]
        for k in reversed(range(len(y))):
            for c in range(k + 1, len(y)):
                y[k] = y[k] - M[k][c] * y[c]
            y[k] = y[k] * self._over[k]
        return self._combined(y)

    def solve_transposed(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return K^-T b."""
        y, M = [_along(one, b) for one in self._directions], self._M
        for k in range(len(y)):
            for j in range(k):
                y[k] = y[k] - M[j][k] * y[j]
            y[k] = y[k] * self._over[k]
        for k in reversed(range(len(y))):
            for r in range(k + 1, len(y)):
                y[k] = y[k] - M[r][k] * y[r]
        return self._combined(y)

    def _combined(self, y: Sequence[Scalar]) -> list[Scalar]:
        """Return the sum of all directions, each y times."""
        found: list[Scalar] = [0.0] * len(y)
        for direction, x in zip(self._directions, y, strict=True):
            for k, part in direction.items():
                found[k] = found[k] + part * x
        return found


def _along(direction: Mapping[int, Scalar], x: Sequence[Scalar]) -> Scalar:
    """Return the component of x along a direction."""
    total: Scalar = 0.0
    for k, part in direction.items():
        total = total + part * x[k]
    return total
