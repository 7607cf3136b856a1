"""Forward dynamics as Kalman filtering and smoothing by associative scans: logarithmic depth.

Five quantities describe a piece of a chain from outside. Let x be the force that enters it from the tip's side and a
the acceleration of its carrier; then the force that leaves it, and the acceleration at the tip's side, are

    x' = A x + b + C a,        a' = A^T a + eta - J x

In words of filtering, the piece takes a state x to x' = A x + b with covariance C, and has learned of x through its
measurements the information J, eta. To go through joint i, which is measured (S_i^T x' = tau_i, with the armature as
covariance of the noise), and on to its parent p, is

    step      D = S_i^T C S_i + armature_i,    G = C S_i D^-1,    C+ = C - G S_i^T C       (Kalman gain)
              e = tau_i - S_i^T b,             L = S_i^T A                                  (innovation)
              eta += L^T D^-1 e,               J += L^T D^-1 L
              A <- X_i^T (A - G L),            b <- X_i^T (b + G e + C+ c_i) + p_p
              eta += (A - G L)^T c_i,          C <- X_i^T C+ X_i + M_p

with c_i the acceleration, and p_p the force, that come from velocities. Two pieces, one after the other, are one:

    combine   Y = (C1^-1 + J2)^-1,             W = Y C1^-1 = (1 + C1 J2)^-1
              A = A2 W A1,                     C = A2 Y A2^T + C2,    J = A1^T W^T J2 A1 + J1
              b = A2 (W b1 + Y eta2) + b2,     eta = A1^T W^T (eta2 - J2 b1) + eta1

The filter is a scan of such pieces from tip to base; its states C are the articulated-body inertias. The smoother is a
scan of affine maps, from base to tip:

    a_i   = (1 - S_i G_i^T) (X_i a_p + c_i) + S_i nu_i,    qdd_i = nu_i - G_i^T (X_i a_p + c_i),    nu = D^-1 e

Chains are cut in the midst of links, each side taking half of the link's inertia, and only through links whose inertia
is regular. Then C1 is regular, and D is whenever it is for the chain as a whole: see docs/kalman_scan.md. Links that
cannot be cut are passed step by step. Trees are cut into paths; a branch adds its C and b to the link that carries it.
Mimic joints are bound at the end, in `coupled_scan`. Cost: order n operations, of depth log n for
chains (and log^2 n for trees) of links that can be cut.

Reference: Rodriguez and Kreutz 1988, eqs. (4.4)-(4.8), and Jain 1991, eqs. (45), (46), (60), for dynamics as filtering,
where C is P, b is z and C+ is P+; S. Saerkkae and A. F. Garcia-Fernandez, "Temporal parallelization of Bayesian
smoothers", IEEE Trans. Automatic Control 66, 2021, for the elements (A, b, C, eta, J) and their combination.
Differs: measurements of Rodriguez, Kreutz and Jain have no noise. The scan's authors end each element with a
measurement, and have no c. Their smoother's elements also have covariances, which have no use here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...model import Input, Output, RowAnswer, Tree, piece
from ..registry import algorithm
from .branches import joint_accelerations, through
from .coupled_scan import coupled
from .scan import Array, Arrays, BodyArrays, inverse, scan, symmetric, times, transpose

__all__ = ["combine", "kalman_scan", "predict"]


@algorithm(
    "forward_dynamics",
    "kalman-scan",
    paper="Rodriguez-Kreutz 1988 and Jain 1991, by the scan of Saerkkae and Garcia-Fernandez 2021",
    equations="R-K (4.4)-(4.8); Jain (45), (46), (60); see docs/kalman_scan.md",
    sweeps=False,
)
def kalman_scan(tree: Tree, *inputs: Input) -> Output | RowAnswer:
    """Return joint accelerations qdd for position q, velocity qd, joint forces tau and external forces."""
    if not tree.model.nv:
        return tree.output("v")
    k = BodyArrays(tree, *inputs)
    G, nu, Di = np.zeros_like(k.S), np.zeros_like(k.tau), k.zeros(k.count, *2 * k.S.shape[-1:])
    for path in reversed(k.paths):
        _filter(k, path, G, nu, Di)

    maps, pushes = tree.run(_outward, k.S, G, k.X, k.c, nu)
    k.outward(maps, pushes, k.a)
    (k.qdd,) = tree.run(joint_accelerations, nu, G, k.X, k.a[k.parent], k.c)
    if tree.couplings:
        coupled(k, G, Di)
    return k.answer()


@piece(2, 2, 2, 1, 1)
def _outward(S: Array, G: Array, X: Array, c: Array, nu: Array) -> Arrays:
    """Return the smoother's maps, from the acceleration of a parent to the acceleration of a link."""
    free = np.eye(6) - S @ transpose(G)
    return free @ X, times(free, c) + times(S, nu)


def _filter(k: BodyArrays, path: Array, G: Array, nu: Array, Di: Array) -> None:
    """Find the gains G, innovations nu and D^-1 of the links of a path; add its inertia and force to its carrier."""
    cuts = np.append(0, 1 + np.flatnonzero(k.regular[path[1:]]))
    ends = np.append(cuts[1:], len(path))
    tip, cut, run = path[:1], path[cuts[1:]], k.tree.run
    pieces = _pieces(k, path, cuts[:-1], ends[:-1])
    at_first_cut = pieces[1][:1], pieces[2][:1]  # no force enters the piece with the tip
    b, C = scan(combine, predict, tuple(x[1:] for x in pieces), at_first_cut, run)
    b = np.concatenate((k.p[tip], at_first_cut[0], b))
    if len(cut):
        (C,) = run(_loaded, np.concatenate((at_first_cut[1], C)), k.M[cut], _shares(k, 0.5))
    C = np.concatenate((k.M[tip], C))
    for on, t in _steps(cuts, ends):
        i = path[t]
        p = k.parent[i]
        G[i], nu[i], load, weight, Di[i] = through(k, i, b[on], C[on])
        b[on], C[on] = run(_onto, load, k.p[p], weight, k.M[p], _shares(k, 1.0))
    carrier = k.parent[path[-1]]
    k.p[carrier], k.M[carrier] = b[-1], C[-1]


def _pieces(k: BodyArrays, path: Array, cuts: Array, ends: Array) -> Arrays:
    """Return the elements (A, b, C, eta, J) of the pieces of a path between cuts, the first of which is at the tip."""
    n = len(cuts)
    A, b, C, run = k.eye(n), k.zeros(n, 6), k.zeros(n, 6, 6), k.tree.run
    if n:
        (C[:],) = run(_loaded, C, k.M[path[cuts]], _shares(k, 0.5))
    A[:1], b[:1], C[:1] = 0.0, k.p[path[:1]], k.M[path[:1]]
    eta, J = k.zeros(n, 6), k.zeros(n, 6, 6)
    for on, t in _steps(cuts, ends):
        i, p = path[t], path[t + 1]
        G, nu, load, weight, Di = through(k, i, b[on], C[on])
        before = A[on], eta[on], J[on]
        A[on], eta[on], J[on] = run(_learned, *before, G, nu, Di, k.S[i], k.X[i], k.c[i])
        share = _shares(k, *np.where(t + 1 == ends[on], 0.5, 1.0))
        b[on], C[on] = run(_onto, load, k.p[p], weight, k.M[p], share)
    return A, b, C, eta, J


def _shares(k: BodyArrays, *parts: float) -> Array:
    """Return parts of the inertias of links, as an array with a row for each link, or one row for all."""
    if len(set(parts)) == 1:
        parts = parts[:1]
    return np.array(parts, k.dtype).reshape(-1, *(1,) * (k.M.ndim - 2))


@piece(2, 2, 1)
def _loaded(C: Array, M: Array, share: Array) -> Arrays:
    """Return inertias, and a part of the inertias of links."""
    return (C + share[..., None] * M,)


@piece(1, 1, 2, 2, 1)
def _onto(load: Array, p: Array, weight: Array, M: Array, share: Array) -> Arrays:
    """Return the forces and inertias that joints pass on, with those of the parents, of whose inertia only a part."""
    return load + p, weight + share[..., None] * M


@piece(2, 1, 2, 2, 1, 2, 2, 2, 1)
def _learned(A: Array, eta: Array, J: Array, G: Array, nu: Array, Di: Array, S: Array, X: Array, c: Array) -> Arrays:
    """Return the A, eta and J of pieces, one joint longer."""
    L = transpose(S) @ A
    left = A - G @ L
    eta = eta + times(transpose(L), nu) + times(transpose(left), c)
    return transpose(X) @ left, eta, J + symmetric(transpose(L) @ Di @ L)


def _steps(cuts: Array, ends: Array) -> Iterator[tuple[Array, Array]]:
    """Visit the first link of every run, then the second links, and so on: the runs, and the places of the links."""
    for d in range(max(ends - cuts, default=0)):
        on = np.flatnonzero(cuts + d < ends)
        yield on, cuts[on] + d


@piece(2, 1, 2, 1, 2, 2, 1, 2, 1, 2)
def combine(one: Arrays, other: Arrays) -> Arrays:
    """Return two pieces of a chain as one, the first nearer to the tip."""
    (A1, b1, _, eta1, J1), (A2, _, _, eta2, J2) = one, other
    W, b, C = _passed(one[1:3], other)
    inner = W @ A1
    back = transpose(inner)
    return A2 @ inner, b, C, times(back, eta2 - times(J2, b1)) + eta1, symmetric(back @ J2 @ A1) + J1


@piece(2, 1, 2, 1, 2, 1, 2)
def predict(element: Arrays, state: Arrays) -> Arrays:
    """Return the state (b, C) after a piece of a chain, given that before it."""
    return _passed(state, element)[1:]


def _passed(state: Arrays, element: Arrays) -> Arrays:
    (b1, C1), (A2, b2, C2, eta2, J2) = state, element
    sharp = inverse(C1)
    Y = inverse(sharp + J2)
    W = Y @ sharp
    return W, times(A2, times(W, b1) + times(Y, eta2)) + b2, symmetric(A2 @ Y @ transpose(A2)) + C2
