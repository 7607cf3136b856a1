"""The constraint-force algorithm: all constraint forces of a chain at once, in a time of order log n.

For a chain, Phi n = alpha (see `links`) has blocks on the diagonal and next to it only. Cyclic reduction eliminates
every other n at the same time, which leaves a system of the same form, half as long:

    for every second joint k, between joints j and l:
        Phi_jj -= Phi_kj^T Phi_kk^-1 Phi_kj,         alpha_j -= Phi_kj^T Phi_kk^-1 alpha_k
        Phi_ll -= Phi_lk   Phi_kk^-1 Phi_lk^T,       alpha_l -= Phi_lk   Phi_kk^-1 alpha_k
        Phi_lj  = - Phi_lk Phi_kk^-1 Phi_kj
    and when n_j and n_l are known,
        n_k = Phi_kk^-1 (alpha_k - Phi_kj n_j - Phi_lk^T n_l)

All else is local to a joint and the links next to it, but for the angular velocities w_k = E_k w_(k-1) + s_k: they are
found by combining neighbours, neighbours of neighbours and so on, (E_l E_k, E_l s_k + s_l), in `scan`. On a machine
with a processor for each joint everything takes of the order of log n steps one after the other: that is how deep the
graph of the computation is. Cost: order n, with up to twice the operations of elimination from one end.

Each child of the base starts a chain, which goes on to the child that carries most. Chains do not couple, because the
base cannot be moved: their blocks of Phi next to the diagonal are zero. Branches of a chain are added to its links as
articulated bodies (`branches`), one body after the other: they should be short. A_i^-1 is then the inverse of an
articulated inertia, and t_i has the force of the branch.

Reference: Featherstone and Orin 2000, sec. 3.5, eq. (28), after A. Fijany, I. Sharf and G. M. T. D'Eleuterio, Parallel
O(log N) algorithms for computation of manipulator forward dynamics, 1995; for branches R. Featherstone and A. Fijany, A
technique for analyzing constrained rigid-body systems, and its application to the constraint force algorithm, 1999.
Differs: the paper names the equation and the order only. Axes, the base, and drives with inertia as in `links`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...model import packed, piece
from ...records import dataclass
from .branches import Branches
from .freed import Freed, product
from .links import beyond_reach
from .scan import Array, Arrays, BodyArrays, declare, factor, freedoms, inverse, solution, times, transpose

__all__ = ["Chain", "all_at_once", "solve", "tridiagonal"]


@dataclass(frozen=True, slots=True)
class Chain:
    """The links of chains as free bodies, and the known forces t on them.

    `line` are the links, chain after chain from the base. `follows` are the places of links that the link before them
    carries.
    """

    bodies: BodyArrays
    line: Array
    follows: Array
    branches: Branches
    links: Freed
    t: Array

    @classmethod
    def of(cls, k: BodyArrays) -> Chain:
        """Collect the links of all chains."""
        line = np.concatenate([path[::-1] for path in k.paths if k.parent[path[-1]] < 0])
        follows = np.flatnonzero(k.parent[line] >= 0)
        links = Freed.of(k, line)
        branches = Branches.fold(k, line)
        loaded = np.flatnonzero(np.isin(line, [k.parent[i] for level in branches.levels for i in level]))
        if loaded.size:
            (links.A[loaded],) = k.tree.run(_mobility, k.M[line[loaded]])
        t = links.active - k.p[line]
        t[follows - 1] = t[follows - 1] - links.felt[follows]
        return cls(k, line, follows, branches, links, t)


@piece(2)
def _mobility(M: Array) -> Arrays:
    """Invert the articulated inertias of links with branches."""
    return (inverse(M),)


def tridiagonal(chain: Chain) -> Arrays:
    """Return the blocks of Phi on the diagonal, the blocks below it, and alpha."""
    k, run, line = chain.bodies, chain.bodies.tree.run, chain.line
    A, T = chain.links.A, chain.links.T
    (y,) = run(product, A, chain.t)
    inner, carrier = k.zeros(len(line), 6, 6), k.zeros(len(line), 6) + k.a[-1:]  # the base cannot be moved
    inner[chain.follows], carrier[chain.follows] = A[chain.follows - 1], y[chain.follows - 1]
    own, alpha = run(_own, A, inner, T, k.X[line], chain.links.E, carrier, y, k.c[line])
    (below,) = run(_below, T[1:], k.X[line[1:]], inner[1:], T[:-1])
    return own, below, alpha


@piece(2, 2, 2, 2, 1, 1, 1, 1)
def _own(A: Array, inner: Array, T: Array, X: Array, E: Array, carrier: Array, y: Array, c: Array) -> Arrays:
    """Return a joint's own block of Phi, and alpha."""
    both = A + X @ inner @ transpose(X)
    return transpose(T) @ both @ T + np.eye(E.shape[-1]) * E[..., None, :], times(
        transpose(T), times(X, carrier) + c - y
    )


@piece(2, 2, 2, 2)
def _below(T: Array, X: Array, A: Array, inner: Array) -> Arrays:
    """Return the block of Phi for a joint and the one that carries it."""
    return (-(transpose(T) @ X @ A @ inner),)


def all_at_once(own: Array, below: Array, alpha: Array, run: Any = lambda p, *x: p(*x)) -> Array:
    """Solve a block-tridiagonal system by cyclic reduction: eliminate every second unknown, and so on."""
    n = np.zeros_like(alpha)
    if len(own) == 1:
        (n[:],) = run(solution, own, alpha)
        return n
    before, after = below[::2], np.concatenate((below[1::2], np.zeros_like(below[:1])))[: len(own) // 2]
    P, Q, e, *less, between = run(_eliminated, own[1::2], before, after, alpha[1::2])
    kept, right = own[::2].copy(), alpha[::2].copy()
    kept[: len(P)], right[: len(P)] = kept[: len(P)] - less[0], right[: len(P)] - less[1]
    beyond = len(kept) - 1
    kept[1:], right[1:] = kept[1:] - less[2][:beyond], right[1:] - less[3][:beyond]
    n[::2] = all_at_once(kept, between[:beyond], right, run)
    following = np.concatenate((n[2::2], np.zeros_like(n[:1])))[: len(P)]
    (n[1::2],) = run(_between, P, Q, e, n[: 2 * len(P) : 2], following)
    return n


@piece(2, 2, 2, 1)
def _eliminated(own: Array, before: Array, after: Array, alpha: Array) -> Arrays:
    """Return one unknown in terms of its neighbours, and the terms that its elimination adds to them."""
    B, w = factor(own), alpha.shape[-1]
    columns = [freedoms(x[..., k]) for x in (before, transpose(after)) for k in range(w)]
    solved = packed([x for column in columns for x in B.solve(column)], 2, w, w)
    P, Q = transpose(solved[..., 0, :, :]), transpose(solved[..., 1, :, :])
    e = packed(B.solve(freedoms(alpha)), w)
    into = transpose(before)
    return P, Q, e, into @ P, times(into, e), after @ Q, times(after, e), -(after @ P)


@piece(2, 2, 1, 1, 1)
def _between(P: Array, Q: Array, e: Array, before: Array, after: Array) -> Arrays:
    """Return an unknown, given its neighbours."""
    return (e - times(P, before) - times(Q, after),)


@declare(
    "constraint-force",
    paper="Fijany-Sharf-D'Eleuterio 1995, as in Featherstone-Orin 2000",
    equations="F-O (28)",
    refuses=beyond_reach,
)
def solve(k: BodyArrays, wrenches: Array | None) -> None:
    """Find the accelerations of links and joints, and the wrenches through the joints."""
    chain = Chain.of(k)
    own, below, alpha = tridiagonal(chain)
    n = all_at_once(own, below, alpha, k.tree.run)
    chain.links.moved(k, chain.line, n, chain.t, chain.follows, chain.follows - 1, wrenches)
    chain.branches.unfold()
    if wrenches is not None:
        chain.branches.wrenches(wrenches)
