"""Free links, assembled joint by joint: the recursion of `virtual_work`, and its response to further forces."""

from __future__ import annotations

from ...model import Joints, Tree, Values
from ...records import dataclass
from ...spatial import Columns, Factor, Force, Forces, Freedoms
from ..field_types import Loads, Motions
from ..mobility import Mobility, reduced
from .links import Links

__all__ = ["Assembly", "assemble", "responses"]


@dataclass(frozen=True, slots=True)
class Assembly:
    """The links with all joints added: their constraint forces n, the pivots M^-1, and W = A_p^-1 X^T T of each."""

    n: Joints
    M: Values[Factor]
    W: Values[Columns]


def assemble(tree: Tree, links: Links) -> Assembly:
    """Add all joints, from the tips to the base, and find their constraint forces."""
    X, joint = links.X, links.held
    y = links.accelerations(tree)
    A, g = tree.field(Mobility), tree.field(Force)
    M, W, so_far, n = (tree.own() for _ in range(4))

    for i, _ in tree.outward():
        A[i] = Mobility.of(i.inertia)
        y[i] = A[i] @ links.t[i]

    for i, p in tree.inward():
        W[i] = A[p] @ (X[i].T @ joint[i].T)
        M[i] = Factor.of(joint[i].block(A[i] + A[p].carried(X[i])))
        so_far[i] = M[i].solve(links.apart(i, y[p], y[i]))
        y[p] = y[p] - W[i] @ so_far[i]
        A[p] = A[p] - Mobility.gram(reduced(M[i], W[i].columns), M[i].inverse)

    for i, p in tree.outward():
        n[i] = so_far[i] + M[i].solve(W[i].T @ g[p])
        g[i] = joint[i].T @ n[i]
        g[p] = g[p] - X[i].T @ g[i]
    return Assembly(n, M, W)


def responses(
    tree: Tree, links: Links, assembly: Assembly, F: Values[Forces], m: int
) -> tuple[Values[tuple[Freedoms, ...]], Values[Columns]]:
    """Return the constraint forces and the accelerations that m sets of forces F on the assembled links cause.

    F is a field of `Loads(m)`. As in `assemble`, without velocities, gravity and joint forces.
    """
    X, joint, M, W = links.X, links.held, assembly.M, assembly.W
    y, g, a = tree.field(Motions(m)), tree.field(Loads(m)), tree.field(Motions(m))
    so_far, n = tree.own(), tree.own()

    for i, _ in tree.outward():
        y[i] = Mobility.of(i.inertia) @ F[i]

    for i, p in tree.inward():
        pairs = zip(y[p].columns, y[i].columns, strict=True)
        so_far[i] = tuple(M[i].solve(joint[i].T.T @ (X[i] @ parent - child)) for parent, child in pairs)
        y[p] = Columns(tuple(x - W[i] @ z for x, z in zip(y[p].columns, so_far[i], strict=True)))

    for i, p in tree.outward():
        n[i] = tuple(z + M[i].solve(W[i].T @ f) for z, f in zip(so_far[i], g[p].columns, strict=True))
        g[i] = Forces(tuple(joint[i].T @ x for x in n[i]))
        g[p] = Forces(tuple(f - more for f, more in zip(g[p].columns, (X[i].T @ g[i]).columns, strict=True)))

    for i, _ in tree.outward():
        a[i] = Mobility.of(i.inertia) @ (F[i] + g[i])
    return n, a
