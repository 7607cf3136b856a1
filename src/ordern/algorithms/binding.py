"""Bind joints by forces: correct the motion of a tree whose joints were treated as free.

Mimic joints and the constraints of loops bind joints by C^T qdd = c, with a column of C for each constraint. The forces
C lambda that do this do no work. With X, S, G, D of the articulated inertias of the free tree,

    inward    w_i = C_i - S_i^T p_i,    p_p += X_i^T (p_i + G_i w_i)                     w = (1 - H psi K) C
              L  += w_i^T D_i^-1 w_i                                                     L = C^T M^-1 C
    outward   a'  = X_i a_p,    W_i = D_i^-1 w_i - G_i^T a',    a_i = a' + S_i W_i       W = M^-1 C

and accelerations qdd0 of the free tree become qdd0 + W lambda, where L lambda = c - C^T qdd0. The last sweep takes w
column by column, or w lambda as one column.

For a mimic joint, qdd_j = ratio qdd_i, the column of C is called B: it is 1 at joint j, -ratio at joint i, and c is 0.
Cost: order n m^2 + m^3 for m columns. Where no column acts on the subtree of a joint, its w is zero, and straight-line
code computes nothing for it.

Reference: M^-1 = (1 - H psi K)* D^-1 (1 - H psi K), Jain 1991, Lemma 6.4, whose right factor takes C to w;
Featherstone and Orin 2000, eq. (21), for lambda.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..graph import Scalar
from ..model import Answer, Field, Index, Joints, Output, Tree, Values
from ..records import dataclass
from ..spatial import Chain, Columns, Factor, Forces, Freedoms, Motion, Subspace
from ..spatial.linear import dot
from .field_types import Loads, Motions, Numbers, cleared

__all__ = [
    "Binding",
    "Gains",
    "bind_followers",
    "follower_binding",
    "follower_columns",
    "free_accelerations",
    "lower_half",
    "responded",
    "symmetric_rows",
    "tree_sum",
    "violations",
]

Gains = tuple[Values[Chain], Values[Subspace], Values[Forces], Values[Factor]]
"""X, S, G and D of each body."""
PerColumn = tuple[Freedoms, ...]
"""Numbers for the freedoms of a joint, for each column of C."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The result of the inward sweep: w for each body, and the lower half of L, which is complete at the base."""

    tree: Tree
    gains: Gains
    m: int
    w: Values[PerColumn]
    L: Values[Freedoms]

    @classmethod
    def of(cls, tree: Tree, gains: Gains, m: int, columns: Callable[[Index], PerColumn]) -> Binding:
        """Sweep inward, with the m columns C_i of each body."""
        X, S, G, D = gains
        half = lower_half(m)
        p, L, w = cleared(tree, Loads(m)), cleared(tree, Numbers(len(half))), tree.own()
        for i, parent in tree.inward():
            w[i] = tuple(column - S[i].T @ f for column, f in zip(columns(i), p[i].columns, strict=True))
            p[parent] += X[i].T @ Forces(tuple(f + G[i] @ x for f, x in zip(p[i].columns, w[i], strict=True)))
            solved = [D[i].solve(x) for x in w[i]]
            L[parent] += L[i] + Freedoms(dot(w[i][r], solved[c]) for r, c in half)
        return cls(tree, gains, m, w, L)

    @property
    def rows(self) -> tuple[tuple[Scalar, ...], ...]:
        """The matrix L."""
        return symmetric_rows(self.m, self.L[self.tree.base])

    def solve(self, e: Iterable[Scalar]) -> Freedoms:
        """Return L^-1 e."""
        return Factor.of(self.rows).solve(tuple(e))

    def responses(self, bodies: Iterable[tuple[Index, Index]]) -> tuple[Values[PerColumn], Values[Columns]]:
        """Return W and a on these bodies, which are visited outward: for each body a tuple of m, and m motions."""
        X, S, G, D = self.gains
        W, a = self.tree.own(), self.tree.field(Motions(self.m))
        for i, parent in bodies:
            a_ = [X[i] @ motion for motion in a[parent].columns]
            W[i] = tuple(D[i].solve(x) - G[i].T @ motion for x, motion in zip(self.w[i], a_, strict=True))
            a[i] = Columns(tuple(motion + S[i] @ y for motion, y in zip(a_, W[i], strict=True)))
        return W, a

    def corrected(self, qdd0: Joints, forces: Freedoms) -> Output:
        """Return the accelerations qdd0 + W lambda, for forces lambda."""
        lam = self.tree.field(Numbers(self.m))
        lam[self.tree.base] = forces

        def load(i: Index, parent: Index) -> Freedoms:
            lam[i] = lam[parent]
            return Freedoms(dot([x[k] for x in self.w[i]], lam[i]) for k in range(len(i.armature)))

        return responded(self.tree, self.gains, qdd0, load)


def responded(tree: Tree, gains: Gains, qdd0: Joints, load: Callable[[Index, Index], Freedoms]) -> Output:
    """Return the accelerations qdd0 + (1 - H psi K)* D^-1 y, where `load(body, parent)` is y at the joint of a body."""
    X, S, G, D = gains
    qdd, a = tree.output("v"), tree.field(Motion)
    for i, parent in tree.outward():
        y = load(i, parent)
        a_ = X[i] @ a[parent]
        more = D[i].solve(y) - G[i].T @ a_
        a[i] = a_ + S[i] @ more
        qdd[i] = qdd0[i] + more
    return qdd


def free_accelerations(tree: Tree) -> Answer:
    """Return storage for accelerations of free joints: the result itself, unless mimic joints are yet to be bound."""
    return tree.own() if tree.couplings else tree.output("v")


def bind_followers(tree: Tree, gains: Gains, qdd0: Answer) -> Output:
    """Return the accelerations of the robot, from the accelerations qdd0 of its joints as if all were free."""
    if isinstance(qdd0, Output):  # there are no mimic joints
        return qdd0
    bound = follower_binding(tree, gains)
    return bound.corrected(qdd0, -bound.solve(violations(tree, qdd0)[tree.base]))


def follower_binding(tree: Tree, gains: Gains) -> Binding:
    """Sweep inward with the columns B of the mimic joints."""
    return Binding.of(tree, gains, tree.couplings, follower_columns)


def follower_columns(i: Index) -> PerColumn:
    """Return the columns B_i of a body, one for each mimic joint of the robot."""
    rows = i.coupling
    return tuple(Freedoms(row[c] for row in rows) for c in range(i.kind.couplings.stop - i.kind.couplings.start))


def violations(tree: Tree, qdd0: Joints) -> Field[Freedoms]:
    """Sum B^T qdd0, by how much accelerations of free joints violate each mimic relation; see `tree_sum`."""
    return tree_sum(tree, tree.couplings, lambda i, _: Freedoms(dot(x, qdd0[i]) for x in follower_columns(i)))


def tree_sum(tree: Tree, n: int, term: Callable[[Index, Index], Freedoms]) -> Field[Freedoms]:
    """Sum n numbers, `term(body, parent)`, over all bodies: a field that has the sums at the base."""
    total = cleared(tree, Numbers(n))
    for i, parent in tree.inward():
        total[parent] += total[i] + term(i, parent)
    return total


def lower_half(m: int) -> list[tuple[int, int]]:
    """Return the places (row, column) of the lower half of a symmetric matrix."""
    return [(r, c) for r in range(m) for c in range(r + 1)]


def symmetric_rows(m: int, half: Iterable[Scalar]) -> tuple[tuple[Scalar, ...], ...]:
    """Return the rows of a symmetric matrix, from its lower half."""
    known = dict(zip(lower_half(m), half, strict=True))
    return tuple(tuple(known[max(r, c), min(r, c)] for c in range(m)) for r in range(m))
