"""The inverse of the mass matrix in order n^2: M^-1 = (1 - H psi K)^* D^-1 (1 - H psi K), all columns at once.

    inward    P_i, D_i, G_i as in `articulated`
              for each column c of body i and the bodies that it carries:
              eps_ic = 1_ic - S_i^T z_ic,    z_pc = X_i^T (z_ic + G_i eps_ic)      the rows of 1 - H psi K
              nu_ic = D_i^-1 eps_ic
    outward   for each column c from i on:
              a' = X_i alpha_pc,    Y_ic = nu_ic - G_i^T a',    alpha_ic = a' + S_i Y_ic

Inward, a body has forces z only for the columns of what it carries. Outward, the columns before i are known from
symmetry. Bodies on different branches of one root have a block; those of different roots have none. Joints that follow
others, with their couplings B^T qdd = 0, leave Y - Y B (B^T Y B)^-1 B^T Y for the others. Cost: order n^2.

Reference: Jain 1991, Lemmas 6.3 and 6.4, eqs. (45), (46).
Differs: Jain numbers links from the tip and has chains only.
"""

from __future__ import annotations

from typing import Any

from ...model import Tree
from ...spatial import Factor, Forces, Freedoms, Motion
from ...spatial.linear import dot
from ..registry import algorithm
from .articulated import articulated
from .linear import Rows, identity, transposed

__all__ = ["innovations_inverse"]


@algorithm(
    "mass_matrix_inverse",
    "innovations",
    paper="Jain 1991",
    equations="Lemma 6.4, (45), (46)",
    order="n^2",
    sweeps=False,
)
def innovations_inverse(tree: Tree, q: Any) -> Any:
    """M^-1 for position q."""
    X, S, _, G, D = articulated(tree, q)
    bodies = [i for i, _ in tree.outward()]
    z: dict[Any, dict[Any, Forces]] = {i.key: {} for i in (*bodies, tree.base)}
    nu: dict[Any, dict[Any, Rows]] = {i.key: {} for i in bodies}
    alpha: dict[Any, dict[Any, tuple[Motion, ...]]] = {tree.base.key: {}}
    Y: dict[tuple[Any, Any], Rows] = {}  # a row for each column of the body c

    for i, p in tree.inward():
        unit = identity(len(i.armature))
        nu[i.key][i.key] = tuple(D[i].solve(e) for e in unit)
        z[p.key][i.key] = X[i].T @ G[i]
        for c, forces in z[i.key].items():
            eps = [-(S[i].T @ f) for f in forces.columns]
            nu[i.key][c] = tuple(D[i].solve(e) for e in eps)
            loads = zip(forces.columns, eps, strict=True)
            z[p.key][c] = X[i].T @ Forces(tuple(f + G[i] @ e for f, e in loads))

    for number, (i, p) in enumerate(tree.outward()):
        alpha[i.key] = {}
        for c in bodies[number:]:
            known, carried = nu[i.key].get(c.key), alpha[p.key].get(c.key)
            if known is None and carried is None:
                continue
            still = tuple(Motion.zero() for _ in c.armature)
            a = [X[i] @ m for m in carried] if carried is not None else still
            none = tuple(Freedoms((0.0,) * len(i.armature)) for _ in c.armature)
            y = [n - G[i].T @ m for n, m in zip(known or none, a, strict=True)]
            Y[i.key, c.key] = tuple(y)
            alpha[i.key][c.key] = tuple(m + S[i] @ x for m, x in zip(a, y, strict=True))

    if tree.couplings:
        Y = _bound(tree, bodies, Y)
    out = tree.output("symmetric")
    for (i, c), block in Y.items():
        one, other = bodies[i], bodies[c]
        if not (one.kind.follows or other.kind.follows):
            out[other, one] = block
    return out


def _bound(tree: Tree, bodies: list[Any], Y: dict[tuple[Any, Any], Rows]) -> dict[tuple[Any, Any], Rows]:
    """The inverse with joints that follow others: less what it takes to bind them."""
    m = tree.couplings
    B = {i.key: i.coupling for i in bodies}
    partners = [i for i in bodies if any(x for row in B[i.key] for x in row)]

    def block(c: Any, i: Any) -> Rows:
        """Rows for the freedoms of c, columns for those of i."""
        if (i.key, c.key) in Y:
            return Y[i.key, c.key]
        if (c.key, i.key) in Y:
            return transposed(Y[c.key, i.key], len(c.armature))
        return tuple(Freedoms((0.0,) * len(i.armature)) for _ in c.armature)

    def times(A: Rows, i: Any) -> list[list[Any]]:
        return [[dot(row, [b[k] for b in B[i.key]]) for k in range(m)] for row in A]

    W: dict[Any, list[Freedoms]] = {}  # Y B
    for c in bodies:
        total = [Freedoms((0.0,) * m) for _ in c.armature]
        for i in partners:
            total = [t + tuple(x) for t, x in zip(total, times(block(c, i), i), strict=True)]
        W[c.key] = total
    L = [[0.0] * m for _ in range(m)]
    for i in partners:
        for b, w in zip(B[i.key], W[i.key], strict=True):
            L = [[L[r][k] + b[r] * w[k] for k in range(m)] for r in range(m)]
    factor = Factor.of(tuple(tuple(row) for row in L))
    solved = {c.key: [factor.solve(w) for w in W[c.key]] for c in bodies}
    return {
        (i.key, c.key): tuple(
            Freedoms(x - dot(w, s) for x, s in zip(row, solved[i.key], strict=True))
            for row, w in zip(block(c, i), W[c.key], strict=True)
        )
        for i in bodies
        for c in bodies[i.key :]
    }
