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
are found by combining neighbours, neighbours of neighbours and so on, (E_l E_k, E_l s_k + s_l), in `scan`. On a machine
with a processor for each joint everything takes of the order of log n steps one after the other: that is how deep the
graph of the computation is. Cost: order n, with up to twice the operations of elimination from one end.

Reference: Featherstone and Orin 2000, sec. 3.5, eq. (28), after A. Fijany, I. Sharf and G. M. T. D'Eleuterio, Parallel
O(log N) algorithms for computation of manipulator forward dynamics, 1995.
Differs: the paper names the equation and the order only. Axes, the base, and drives with inertia as in `links`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...model import Piece, Tree, packed, piece
from ...records import dataclass
from ...spatial import Factor, Force
from ..reach import all_of, chains_only
from ..registry import algorithm
from .links import Mobility, beyond_reach, held
from .scan import Array, Bodies, Group, Values, freedoms, times, transpose

__all__ = ["Chain", "all_at_once", "constraint_force", "tridiagonal", "wrenches"]


@dataclass(frozen=True, slots=True)
class Chain:
    """The links of a chain as free bodies: mobilities A^-1, what joints hold, T and E, their own forces, and t.

    All joints have as many T as the one with most; those that a joint lacks are zero, with a yield E of one. J are the
    forces that act on one freedom each.
    """

    bodies: Bodies
    A: Array
    T: Array
    J: Array
    E: Array
    active: Array
    t: Array

    @classmethod
    def of(cls, k: Bodies) -> Chain:
        """From what is known of all bodies."""
        A, T, J, lacking = k.by_group(_free, (6, 6), (6, 6), (6, k.S.shape[-1]), (6,))
        width = max(len(held(g.index, _any_position(g)).E) for g in k.groups)
        active, felt = k.tree.run(_active, J, k.tau, k.X)
        t = active - k.p[:-1]
        t[:-1] = t[:-1] - felt[1:]
        return cls(k, A, T[..., :width], J, 1.0 - lacking[..., :width], active, t)


def _free(group: Group) -> Piece:
    """The piece that finds the mobility of each link of a group by itself, T, J and 1 - E."""

    def free(rows: Array, q: Array) -> Values:
        i = group.of(rows)
        joint, A = held(i, freedoms(q)), Mobility.of(i.inertia)
        units = [Force.of(tuple(1.0 if r == c else 0.0 for r in range(6))) for c in range(6)]
        return (
            packed([x for unit in units for x in (A @ unit).scalars], 6, 6),
            transpose(packed([x for f in joint.T.columns for x in f.scalars], len(joint.E), 6)),
            transpose(packed([x for f in joint.J.columns for x in f.scalars], len(joint.J.columns), 6)),
            packed([1.0 - e for e in joint.E], len(joint.E)),
        )

    return Piece(free, (1, 1), ("free", group.number))


def _any_position(group: Group) -> Any:
    return group.index.kind.joint.neutral()


@piece(2, 1, 2)
def _active(J: Array, tau: Array, X: Array) -> Values:
    """The joints' own forces on links, and on those that carry them."""
    f = times(J, tau)
    return f, times(transpose(X), f)


def tridiagonal(chain: Chain) -> Values:
    """The blocks of Phi on the diagonal, those below it, and alpha."""
    k, run = chain.bodies, chain.bodies.tree.run
    inner = np.concatenate((k.zeros(1, 6, 6), chain.A[:-1]))  # the base cannot be moved
    (y,) = run(_product, chain.A, chain.t)
    carrier = np.concatenate((k.a[-1:], y[:-1]))
    own, alpha = run(_own, chain.A, inner, chain.T, k.X, chain.E, carrier, y, k.c)
    (below,) = run(_below, chain.T[1:], k.X[1:], chain.A[:-1], chain.T[:-1])
    return own, below, alpha


@piece(2, 1)
def _product(A: Array, x: Array) -> Values:
    """A matrix by a vector."""
    return (times(A, x),)


@piece(2, 2, 2, 2, 1, 1, 1, 1)
def _own(A: Array, inner: Array, T: Array, X: Array, E: Array, carrier: Array, y: Array, c: Array) -> Values:
    """A joint's own block of Phi, and alpha."""
    both = A + X @ inner @ transpose(X)
    return transpose(T) @ both @ T + np.eye(E.shape[-1]) * E[..., None, :], times(
        transpose(T), times(X, carrier) + c - y
    )


@piece(2, 2, 2, 2)
def _below(T: Array, X: Array, A: Array, inner: Array) -> Values:
    """The block of Phi for a joint and the one that carries it."""
    return (-(transpose(T) @ X @ A @ inner),)


def all_at_once(own: Array, below: Array, alpha: Array, run: Any = lambda p, *x: p(*x)) -> Array:
    """The solution of a block-tridiagonal system: every second unknown is eliminated, then half of the rest ..."""
    n = np.zeros_like(alpha)
    if len(own) == 1:
        (n[:],) = run(_solution, own, alpha)
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


@piece(2, 1)
def _solution(A: Array, x: Array) -> Values:
    """Of a symmetric positive definite system."""
    return (packed(_factor(A).solve(freedoms(x)), x.shape[-1]),)


@piece(2, 2, 2, 1)
def _eliminated(own: Array, before: Array, after: Array, alpha: Array) -> Values:
    """One unknown in terms of its neighbours, and what it leaves: on either side, and between them."""
    B, w = _factor(own), alpha.shape[-1]
    columns = [freedoms(x[..., k]) for x in (before, transpose(after)) for k in range(w)]
    solved = packed([x for column in columns for x in B.solve(column)], 2, w, w)
    P, Q = transpose(solved[..., 0, :, :]), transpose(solved[..., 1, :, :])
    e = packed(B.solve(freedoms(alpha)), w)
    into = transpose(before)
    return P, Q, e, into @ P, times(into, e), after @ Q, times(after, e), -(after @ P)


@piece(2, 2, 1, 1, 1)
def _between(P: Array, Q: Array, e: Array, before: Array, after: Array) -> Values:
    """An unknown, given its neighbours."""
    return (e - times(P, before) - times(Q, after),)


def _factor(A: Array) -> Factor:
    n = A.shape[-1]
    return Factor.of(tuple(tuple(A[..., r, c][()] for c in range(n)) for r in range(n)))


def _forces(tree: Tree, *given: Any) -> tuple[Chain, Array]:
    """The links, and the constraint forces of their joints."""
    chain = Chain.of(Bodies(tree, *given))
    own, below, alpha = tridiagonal(chain)
    return chain, all_at_once(own, below, alpha, tree.run)


@piece(2, 1, 2)
def _wrench(T: Array, n: Array, X: Array) -> Values:
    """Constraint forces on links, and on those that carry them."""
    f = times(T, n)
    return f, times(transpose(X), f)


@piece(2, 2, 2, 1, 1, 1)
def _along(J: Array, A: Array, X: Array, f: Array, carrier: Array, c: Array) -> Values:
    """Accelerations of links by the forces on them; of joints, once those of the carriers are known."""
    return (times(transpose(J), times(A, f) - times(X, carrier) - c),)


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
    if not tree.model.nv:
        return tree.output("v")
    chain, n = _forces(tree, q, qd, tau, external, v0, a0)
    k = chain.bodies
    on_link, on_carrier = tree.run(_wrench, chain.T, n, k.X)
    f = chain.t + on_link
    f[:-1] = f[:-1] - on_carrier[1:]
    (k.a[:-1],) = tree.run(_product, chain.A, f)
    (k.qdd,) = tree.run(_along, chain.J, chain.A, k.X, f, k.a[k.parent], k.c)
    return k.answer()


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
    chain, n = _forces(tree, q, qd, tau, external, v0, a0)
    f, found = tree.run(_wrench, chain.T, n, chain.bodies.X)[0] + chain.active, tree.output("wrenches")
    for i, x in zip(chain.bodies.index, f, strict=True):
        found[i] = Force.of(freedoms(x))
    return found
