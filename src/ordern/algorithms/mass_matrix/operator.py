"""The mass matrix as a product of operators, each a matrix of blocks: M = H phi M phi* H*.

    E_phi*      blocks X_i at (i, parent of i): from each body to its children
    phi*        (1 - E_phi*)^-1, whose block at (i, j) takes motions of body j to body i, for j = i and ancestors
    H*          block diagonal, S_i;    M  block diagonal, I_i
    V           phi* H*: the velocities of all bodies for a unit velocity of each freedom
    mass        V* (M V) + armature

Nothing is recursive but the inverse, which is a sum of powers of E_phi*; the blocks are multiplied as they stand. Cost:
order n^3; it is the definition from which the fast methods are derived.

Reference: Rodriguez and Kreutz 1988, sec. 3; Jain 1991, eqs. (18)-(21).
Differs: Jain and R-K number links from the tip, and their phi is lower triangular; here phi* is.
"""

from __future__ import annotations

from typing import Any

from ...model import Tree
from ...spatial import Columns, Freedoms, Motion, Units, plus_diagonal
from ..registry import algorithm

__all__ = ["operator"]

_ALL = Units((0, 1, 2, 3, 4, 5)).columns


@algorithm(
    "mass_matrix",
    "operator",
    paper="Rodriguez-Kreutz 1988; Jain 1991",
    equations="Jain (18)-(21)",
    order="n^3",
    sweeps=False,
)
def operator(tree: Tree, q: Any) -> Any:
    """The mass matrix for position q."""
    bodies = {i.key: i for i, _ in tree.outward()}
    mass = tree.output("symmetric")

    phi: dict[Any, dict[Any, Columns]] = {}
    H = {i.key: i.subspace(q[i]) for i in bodies.values()}
    for i, p in tree.outward():
        X = i.transform(q[i])
        above = phi.get(p.key, {})
        phi[i.key] = {j: Columns(tuple(X @ m for m in block.columns)) for j, block in above.items()}
        phi[i.key][i.key] = Columns(_ALL)

    V = {i: {j: _product(block, H[j].columns) for j, block in row.items()} for i, row in phi.items()}
    MV = {i: {j: block.under(bodies[i].inertia) for j, block in row.items()} for i, row in V.items()}

    for j in bodies.values():
        for k in V[j.key]:  # j and its ancestors: one half will do, and different branches share nothing
            blocks = [V[i][k].T @ MV[i][j.key] for i in V if j.key in V[i]]
            total = blocks[0]
            for block in blocks[1:]:
                total = tuple(Freedoms(one) + other for one, other in zip(total, block, strict=True))
            mass[j, bodies[k]] = plus_diagonal(total, j.armature) if k == j.key else total
    return mass


def _product(block: Columns, columns: tuple[Motion, ...]) -> Columns:
    """A 6x6 block times some columns."""
    return Columns(tuple(block @ Freedoms(m.scalars) for m in columns))
