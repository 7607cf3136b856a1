"""The constraint-force algorithm: all constraint forces of a chain at once, in a time of order log n.

For a chain, Phi n = alpha (see `links`) has blocks on the diagonal and next to it only. Cyclic reduction eliminates
every other n at the same time, which leaves a system of the same form, half as long:

    for every second joint k, between joints j and l:
        Phi_jj -= Phi_kj^T Phi_kk^-1 Phi_kj,         alpha_j -= Phi_kj^T Phi_kk^-1 alpha_k
        Phi_ll -= Phi_lk   Phi_kk^-1 Phi_lk^T,       alpha_l -= Phi_lk   Phi_kk^-1 alpha_k
        Phi_lj  = - Phi_lk Phi_kk^-1 Phi_kj
    and when n_j and n_l are known,
        n_k = Phi_kk^-1 (alpha_k - Phi_kj n_j - Phi_lk^T n_l)

All else is local to a joint and the links next to it, but for the angular velocities w_k = E_k w_(k-1) + s_k: those
are found by combining neighbours, neighbours of neighbours and so on, (E_l E_k, E_l s_k + s_l). On a machine with a
processor for each joint everything takes of the order of log n steps one after the other: that is how deep the
graph of the computation is. Cost: order n, with up to twice the operations of elimination from one end.

Reference: Featherstone and Orin 2000, sec. 3.5, eq. (28), after A. Fijany, I. Sharf and G. M. T. D'Eleuterio, Parallel
O(log N) algorithms for computation of manipulator forward dynamics, 1995.
Differs: the paper names the equation and the order only. Axes, the base, and drives with inertia as in `links`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ...graph import Scalar
from ...model import Tree
from ...spatial import Factor, Freedoms, Motion, Spin
from ...spatial.linear import Matrix3, Vector3, add, dot, matmul, matvec, transpose
from ..reach import all_of, chains_only
from ..registry import algorithm
from .links import Links, Mobility, beyond_reach, free_links, joint_accelerations, joint_wrenches

__all__ = ["all_at_once", "constraint_force", "spins_at_once", "tridiagonal", "wrenches"]

Rows = tuple[tuple[Scalar, ...], ...]
Columns = list[Freedoms]
Turned = tuple[Matrix3, Vector3]


def spins_at_once(tree: Tree, q: Any, qd: Any, v0: Any) -> tuple[Any, Any]:
    """The transforms and the angular velocities, by combining neighbours."""
    X, w = tree.own(), tree.field(Spin, base=Spin(v0[tree.base].angular))
    steps: list[Turned] = []
    for i, p in tree.outward():
        X[i] = i.transform(q[i])
        x, y, z = (X[i] @ Spin(e) for e in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
        s = (i.subspace(q[i]) @ qd[i]).angular
        steps.append((transpose((x.w, y.w, z.w)), s if steps else add((X[i] @ w[p]).w, s)))
    for (i, _), (_, s) in zip(tree.outward(), _combined(steps), strict=True):
        w[i] = Spin(s)
    return X, w


def _combined(steps: list[Turned]) -> list[Turned]:
    """What each step makes of all before it and itself."""
    if len(steps) < 2:
        return steps
    pairs = _combined([_after(steps[k + 1], steps[k]) for k in range(0, len(steps) - 1, 2)])
    more = [_after(steps[k], pairs[k // 2 - 1]) for k in range(2, len(steps), 2)]
    return [(steps[0], *more)[k // 2] if k % 2 == 0 else pairs[k // 2] for k in range(len(steps))]


def _after(second: Turned, first: Turned) -> Turned:
    (E, s), (F, t) = second, first
    return matmul(E, F), add(matvec(E, t), s)


def tridiagonal(tree: Tree, links: Links, a0: Any) -> tuple[list[Rows], list[Columns], list[Freedoms]]:
    """The blocks of Phi on the diagonal and below it (as columns), and alpha."""
    y = tree.field(Motion, base=tree.base_acceleration + a0[tree.base])
    A = tree.field(Mobility)
    for i, _ in tree.outward():
        A[i] = Mobility.of(i.inertia)
        y[i] = A[i] @ links.t[i]
    own, below, alpha = [], [], []
    for i, p in tree.outward():
        own.append(links.held[i].block(A[i] + A[p].outward(links.X[i])))
        alpha.append(links.apart(i, y[p], y[i]))
    for (i, _), (k, _) in pairwise(tree.outward()):
        below.append([-(links.held[k].T.T @ (links.X[k] @ m)) for m in (A[i] @ links.held[i].T).columns])
    return own, below, alpha


def all_at_once(own: list[Rows], below: list[Columns], alpha: list[Freedoms]) -> list[Freedoms]:
    """The solution of a block-tridiagonal system: every second unknown is eliminated, then half of the rest ..."""
    if len(own) < 2:
        return [Factor.of(B).solve(x) for B, x in zip(own, alpha, strict=True)]
    kept, right, between = list(own), list(alpha), []
    solved: dict[int, tuple[Columns, Columns, Freedoms]] = {}
    for k in range(1, len(own), 2):
        B = Factor.of(own[k])
        before, after = below[k - 1], _rows(below[k], len(own[k + 1])) if k + 1 < len(own) else []
        P, Q, e = [B.solve(x) for x in before], [B.solve(x) for x in after], B.solve(alpha[k])
        solved[k] = P, Q, e
        kept[k - 1], right[k - 1] = _less(kept[k - 1], before, P), right[k - 1] - _products(before, e)
        if after:
            kept[k + 1], right[k + 1] = _less(kept[k + 1], after, Q), right[k + 1] - _products(after, e)
        if k + 1 < len(own):
            between.append([-_products(after, x) for x in P])
    n = {2 * k: x for k, x in enumerate(all_at_once(kept[::2], between, right[::2]))}
    for k, (P, Q, e) in solved.items():
        n[k] = Freedoms(
            x - dot([c[r] for c in P], n[k - 1]) - (dot([c[r] for c in Q], n[k + 1]) if Q else 0.0)
            for r, x in enumerate(e)
        )
    return [n[k] for k in range(len(own))]


def _rows(columns: Columns, count: int) -> Columns:
    return [Freedoms(column[r] for column in columns) for r in range(count)]


def _products(vectors: Columns, x: Freedoms) -> Freedoms:
    return Freedoms(dot(v, x) for v in vectors)


def _less(A: Rows, B: Columns, C: Columns) -> Rows:
    """A - B^T C."""
    return tuple(tuple(x - dot(b, c) for x, c in zip(row, C, strict=True)) for row, b in zip(A, B, strict=True))


def _forces(tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any) -> tuple[Links, Any]:
    links = free_links(tree, q, qd, tau, external, *spins_at_once(tree, q, qd, v0))
    n = tree.own()
    for (i, _), x in zip(tree.outward(), all_at_once(*tridiagonal(tree, links, a0)), strict=True):
        n[i] = x
    return links, n


@algorithm(
    "forward_dynamics",
    "constraint-force",
    paper="Fijany-Sharf-D'Eleuterio 1995, as in Featherstone-Orin 2000",
    equations="F-O (28)",
    sweeps=False,
    refuses=all_of(chains_only, beyond_reach),
)
def constraint_force(tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any) -> Any:
    """Joint accelerations qdd for position q, velocity qd, joint forces tau and external forces on the bodies."""
    links, n = _forces(tree, q, qd, tau, external, v0, a0)
    return joint_accelerations(tree, links, n, a0)


@algorithm(
    "constraint_forces",
    "constraint-force",
    paper="Fijany-Sharf-D'Eleuterio 1995, as in Featherstone-Orin 2000",
    equations="F-O (28)",
    sweeps=False,
    refuses=all_of(chains_only, beyond_reach),
)
def wrenches(tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any) -> Any:
    """The wrench through each joint for position q, velocity qd, joint forces tau and external forces."""
    links, n = _forces(tree, q, qd, tau, external, v0, a0)
    return joint_wrenches(tree, links, n, tau)
