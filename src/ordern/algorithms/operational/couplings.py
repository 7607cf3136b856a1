"""Joints that follow others, as a frame feels them.

A coupling B^T qdd = 0 is kept by forces B lambda on the joints. With J the Jacobian of the frame and M the mass matrix
of the joints as if they were free,

    inward    b_i = B_i - S_i^T p_i,    p_p += X_i^T (p_i + G_i b_i)           b = (1 - H psi K) B
              L += b_i^T D_i^-1 b_i                                            L = B^T M^-1 B
    outward, on the path to the frame:
              a' = X_i a_p,    a_i = a' + S_i (D_i^-1 b_i - G_i^T a')          W = J M^-1 B, at the frame

and what the couplings take from J M^-1 J^T is W L^-1 W^T. Cost: order n m^2 for m couplings.

Reference: Jain 1991, Lemma 6.4; Featherstone and Orin 2000, eq. (21).
"""

from __future__ import annotations

from typing import Any

from ...model import PlacedFrame, Tree
from ...spatial import Columns, Factor, Forces, Freedoms, Motion
from ...spatial.linear import dot
from ..factors.articulated import Articulated
from ..field_types import Loads, Motions, Numbers

__all__ = ["Couplings", "couplings"]


class Couplings:
    """What was found of them: b, the accelerations of bodies for each, and L."""

    def __init__(self, tree: Tree, b: Any, a: Any, L: Any) -> None:
        self._tree, self.b, self._a, self._L = tree, b, a, L

    def accelerations(self, frame: PlacedFrame) -> tuple[Motion, ...]:
        """The accelerations of the frame's body for a unit of each coupling's force."""
        found: tuple[Motion, ...] = self._a[frame.body].columns
        return found

    def forces(self, e: Any) -> Freedoms:
        """L^-1 e."""
        m = self._tree.couplings
        known = dict(zip(_halves(m), self._L[self._tree.base], strict=True))
        full = tuple(tuple(known[max(r, c), min(r, c)] for c in range(m)) for r in range(m))
        return Factor.of(full).solve(tuple(e))


def _halves(m: int) -> list[tuple[int, int]]:
    return [(r, c) for r in range(m) for c in range(r + 1)]


def couplings(tree: Tree, known: Articulated, frame: PlacedFrame) -> Couplings:
    """The couplings of a tree, and how they move a frame."""
    X, S, _, G, D = known
    m, halves = tree.couplings, _halves(tree.couplings)
    p, L, a = tree.field(Loads(m)), tree.field(Numbers(len(halves))), tree.field(Motions(m))
    b = tree.own()

    for i, _ in tree.outward():
        p[i], L[i] = Loads(m).zero(), Numbers(len(halves)).zero()

    for i, parent in tree.inward():
        B, loads = i.coupling, [S[i].T @ f for f in p[i].columns]
        columns = tuple(Freedoms(row[c] - loads[c][k] for k, row in enumerate(B)) for c in range(m))
        solved = [D[i].solve(x) for x in columns]
        b[i] = columns
        p[parent] += X[i].T @ Forces(tuple(f + G[i] @ x for f, x in zip(p[i].columns, columns, strict=True)))
        L[parent] += L[i] + Freedoms(dot(columns[r], solved[c]) for r, c in halves)

    for i, parent in tree.path(frame):
        moved = []
        for column, motion in zip(b[i], a[parent].columns, strict=True):
            a_ = X[i] @ motion
            moved.append(a_ + S[i] @ (D[i].solve(column) - G[i].T @ a_))
        a[i] = Columns(tuple(moved))
    return Couplings(tree, b, a, L)
