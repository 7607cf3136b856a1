"""Divide and conquer: articulated bodies with two handles, joined pair by pair. Logarithmic depth.

A piece of a chain can be held at two ends: handle 1 is on the side of the base, handle 2 on that of the tip. Forces f
there cause accelerations, by inverse inertias Phi:

    a1 = Phi11 f1 + Phi12 f2 + b1,        a2 = Phi12^T f1 + Phi22 f2 + b2

    leaf      Phi11 = I^-1,    Phi12 = I^-1 X^T,    Phi22 = X I^-1 X^T,    b1 = -I^-1 p,    b2 = X b1

where X goes to the next link, in whose frame handle 2 is. Joint i between the pieces A and B transmits the force f;
a_B1 - a_A2 = S qdd + c and S^T f = tau - armature qdd give

    join      V = (Phi_A22 + Phi_B11)^-1,        D = S^T V S + armature,        G = V S D^-1,        W = V - G S^T V
              f = W gamma + G tau,               gamma = c + b_A2 - b_B1 + Phi_A12^T f1 - Phi_B12 f2
              Phi11 = Phi_A11 - Phi_A12 W Phi_A12^T,      Phi12 = Phi_A12 W Phi_B12
              Phi22 = Phi_B22 - Phi_B12^T W Phi_B12
              b1 = b_A1 - Phi_A12 f,             b2 = b_B2 + Phi_B12^T f                    (f without f1 and f2)
    part      f1 and f2 are known:  f as above,  qdd = D^-1 tau - G^T gamma;
              A has the forces f1 and -f, B has f and f2

The links are the leaves of a balanced binary tree, of which the whole chain is the root: it is joined to the base, a
piece that cannot be moved (Phi = 0). A branch is a chain of its own, which adds W and its force to the link that
carries it. Cost: order n operations, of depth log n for chains and log^2 n for trees.

Reference: R. Featherstone, "A divide-and-conquer articulated-body algorithm for parallel O(log(n)) calculation of
rigid-body dynamics. Part 1: basic algorithm", Int. J. Robotics Research 18, 1999; [12] of Featherstone and Orin 2000.
Differs: accelerations are derivatives in an inertial frame, in each link's own axes, not spatial ones. W could also be
had from the constraints of the joint, T (T^T (Phi_A22 + Phi_B11) T)^-1 T^T with T^T S = 0, without armature the same.
Bodies keep two handles in trees too.
"""

from __future__ import annotations

import numpy as np

from ...model import piece
from ...records import dataclass
from ..method_limits import all_of, no_couplings, no_massless_bodies
from .scan import Array, Arrays, BodyArrays, declare, inverse, symmetric, times, transpose

__all__ = ["solve"]


@declare(
    "divide-and-conquer",
    paper="Featherstone 1999, as in Featherstone-Orin 2000",
    equations="articulated bodies with two handles",
    refuses=all_of(no_couplings, no_massless_bodies),
)
def solve(k: BodyArrays, wrenches: Array | None) -> None:
    """Find all accelerations, and the wrenches through the joints, by which pieces are taken apart."""
    through = k.zeros(len(k.index), 6) if wrenches is None else wrenches
    assembled = [_assemble(k, path[::-1]) for path in reversed(k.paths)]
    for path, (links, joints) in zip(k.paths, reversed(assembled), strict=True):
        _take_apart(k, path[::-1], links, joints, through)


@dataclass(frozen=True, slots=True)
class _Joint:
    """Data of the joints of a level, kept until the forces at the ends of their pieces are known."""

    body: Array
    G: Array
    W: Array
    Di: Array
    gamma: Array
    A12: Array
    B12: Array


def _assemble(k: BodyArrays, i: Array) -> tuple[Arrays, list[_Joint]]:
    """Join the links i of a chain, root first, and the chain to its carrier: return the links, and joints by level."""
    X = k.zeros(len(i), 6, 6)
    X[:-1] = k.X[i[1:]]  # the transform beyond the tip has no effect
    links = k.tree.run(_leaf, k.M[i], X, k.p[i])
    levels, first, pieces = [], i, links
    while len(first) > 1:
        n = len(first)
        joint, joined = _join(k, first[1::2], tuple(x[: n - 1 : 2] for x in pieces), tuple(x[1::2] for x in pieces))
        levels.append(joint)
        pieces = tuple(np.concatenate((x, y[n - n % 2 :])) for x, y in zip(joined, pieces, strict=True))
        first = first[::2]

    # the carrier has an acceleration for its f1, and a force for its a1; it is held, so that Phi22 is zero
    none, p = k.zeros(1, 6, 6), k.parent[first]
    joint, joined = _join(k, first, (none, transpose(k.X[first]), none, none[..., 0], none[..., 0]), pieces)
    k.M[p], k.p[p] = k.M[p] - joined[0], k.p[p] - joined[3]
    return links, [*levels, joint]


@piece(2, 2, 1)
def _leaf(M: Array, X: Array, p: Array) -> Arrays:
    """Return the inverse inertias of links at both handles, and their accelerations without forces there."""
    Phi = inverse(M)
    b = -times(Phi, p)
    return Phi, Phi @ transpose(X), symmetric(X @ Phi @ transpose(X)), b, times(X, b)


def _join(k: BodyArrays, i: Array, A: Arrays, B: Arrays) -> tuple[_Joint, Arrays]:
    """Join the pieces A and B by the joints of bodies i."""
    (V,) = k.tree.run(_stiffness, A[2], B[0])
    G, Di, W = k.release(V, i)
    gamma, *joined = k.tree.run(_joined, A, B, G, W, k.c[i], k.tau[i])
    return _Joint(i, G, W, Di, gamma, A[1], B[1]), tuple(joined)


@piece(2, 2)
def _stiffness(A22: Array, B11: Array) -> Arrays:
    """Return V, the inertia of two handles that are held together."""
    return (inverse(A22 + B11),)


@piece(2, 2, 2, 1, 1, 2, 2, 2, 1, 1, 2, 2, 1, 1)
def _joined(A: Arrays, B: Arrays, G: Array, W: Array, c: Array, tau: Array) -> Arrays:
    """Return the acceleration gamma that is missing at joints, and the pieces that they join."""
    (A11, A12, _, a1, a2), (_, B12, B22, b1, b2) = A, B
    gamma = c + a2 - b1
    f = times(W, gamma) + times(G, tau)
    return (
        gamma,
        A11 - symmetric(A12 @ W @ transpose(A12)),
        A12 @ W @ B12,
        B22 - symmetric(transpose(B12) @ W @ B12),
        a1 - times(A12, f),
        b2 + times(transpose(B12), f),
    )


def _take_apart(k: BodyArrays, i: Array, links: Arrays, levels: list[_Joint], through: Array) -> None:
    """Find the forces at the handles of ever smaller pieces, down to the links i, and so all accelerations."""
    f1, f2 = k.a[k.parent[i[:1]]], k.zeros(1, 6)
    for at in reversed(levels):
        n = len(at.body)
        kept = (at.gamma, at.A12, at.B12, at.W, at.G, at.Di)
        f, k.qdd[at.body] = k.tree.run(_parted, kept, f1[:n], f2[:n], k.tau[at.body])
        through[at.body] = f
        f1, f2 = _alternate(f1, f), _alternate(-f, f2)
        if at is levels[-1]:
            f1, f2 = f1[1:], f2[1:]  # the carrier's own
    (k.a[i],) = k.tree.run(_held, links[0], links[1], links[3], f1, f2)


@piece(1, 2, 2, 2, 2, 2, 1, 1, 1)
def _parted(kept: Arrays, f1: Array, f2: Array, tau: Array) -> Arrays:
    """Return the forces through joints and the accelerations along them, from the forces at the ends of pieces."""
    gamma, A12, B12, W, G, Di = kept
    gamma = gamma + times(transpose(A12), f1) - times(B12, f2)
    return times(W, gamma) + times(G, tau), times(Di, tau) - times(transpose(G), gamma)


@piece(2, 2, 1, 1, 1)
def _held(Phi11: Array, Phi12: Array, b1: Array, f1: Array, f2: Array) -> Arrays:
    """Return the accelerations of links by the forces at their handles."""
    return (times(Phi11, f1) + times(Phi12, f2) + b1,)


def _alternate(one: Array, other: Array) -> Array:
    """Interleave two arrays; the rest of the longer one follows."""
    n = min(len(one), len(other))
    pairs = np.stack((one[:n], other[:n]), axis=1).reshape(-1, *one.shape[1:])
    return np.concatenate((pairs, one[n:], other[n:]))
