"""The numbers of the operators: transforms, inertias and velocities of the bodies in one state.

Everything is in each body's own frame, the frame that users see: `X[i]` takes motions from the parent's frame to the
body's, so that phi(k+1, k) of the papers is X[i]^T, and `S[i]` is H*(k).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.velocities import velocities
from ..errors import ArgumentError
from ..model import ConcreteTree, Model
from ..model.tables import TURN
from ..records import dataclass
from ..rotations import skew
from ..spatial import Motion, Pose, Spin
from .sources import Array, inverse

__all__ = ["Articulated", "State", "rigid", "rigid_inverse", "state_of"]


@dataclass(frozen=True, eq=False)
class Articulated:
    """The articulated-body quantities: Jain (45)."""

    P: Array
    G: Sequence[Array]
    D: Sequence[Array]
    D_inverse: Sequence[Array]


@dataclass(frozen=True, eq=False)
class State:
    """The bodies of a robot in one state. Bodies are numbered from the base; -1 is the base."""

    model: Model
    parent: tuple[int, ...]
    X: Array
    """(n, 6, 6): from motions of the parent's frame to motions of the body's."""
    S: Sequence[Array]
    """(6, nv) for each body: the motion subspace of its joint."""
    M: Array
    """(n, 6, 6): the inertia of each body."""
    armature: Sequence[Array]
    gyration: Sequence[Array]
    """The joint forces that turn the momenta of the drives."""
    V: Array
    """(n, 6): velocities of the bodies."""
    a: Array
    """(n, 6): velocity-dependent accelerations from body to body, Jain (14)."""
    b: Array
    """(n, 6): gyroscopic forces, Jain (11)."""
    from_coordinates: Array
    """(n, 6, 6): from motions in these coordinates to motions of the bodies' own frames."""
    own: State | None = None
    """The state in the bodies' own frames, if this one is in others."""

    @cached_property
    def R(self) -> Array:
        """(n, 6, 6): the inertia of each body and all that it carries, Jain (25)."""
        R: Array = self.M.copy()
        for i, p in reversed(list(enumerate(self.parent))):
            if p >= 0:
                R[p] += _symmetric(self.X[i].T @ R[i] @ self.X[i])
        return R

    @cached_property
    def articulated(self) -> Articulated:
        """P, G and D, Jain (45).

        P passes to the parent as psi P psi* + K A K*, Joseph's form in filtering: it stays symmetric and positive
        in spite of rounding.
        """
        self.model.require_inertia()
        P: Array = self.M.copy()
        one = np.eye(6, dtype=P.dtype)
        found: list[tuple[Array, Array, Array]] = []
        for i, p in reversed(list(enumerate(self.parent))):
            S, A = self.S[i], self.armature[i]
            U = P[i] @ S
            D = _symmetric(S.T @ U + np.diag(A))
            try:
                D_inverse = inverse(D)
            except np.linalg.LinAlgError:
                name = self.model.joints[i].name
                raise ArgumentError(f"operators: joint {name!r} meets no inertia, so that D has no inverse") from None
            G = U @ D_inverse
            found.append((G, D, D_inverse))
            if p >= 0:
                psi, K = self.X[i].T @ (one - G @ S.T), self.X[i].T @ G
                P[p] += _symmetric(psi @ P[i] @ psi.T + (K * A) @ K.T)
        found.reverse()
        return Articulated(P, *([part[k] for part in found] for k in range(3)))

    @cached_property
    def to_body(self) -> Array:
        """(n, 6, 6): from motions of the base's frame to motions of the body's."""
        found = np.empty_like(self.X)
        for i, p in enumerate(self.parent):
            found[i] = self.X[i] if p < 0 else self.X[i] @ found[p]
        return found

    def moved(self, W: Array, n: Array) -> State:
        """Return the state in other coordinates: motions are multiplied by W, and n is added to accelerations."""
        back = rigid_inverse(W)
        X = W @ self.X @ _at_parents(back, self.parent)
        M = _congruent(back, self.M)
        moved_n = np.array([np.zeros(6) if p < 0 else X[i] @ n[p] for i, p in enumerate(self.parent)]).reshape(n.shape)
        return replace(
            self,
            X=X,
            S=[w @ s for w, s in zip(W, self.S, strict=True)],
            M=M,
            V=_each(W, self.V),
            a=_each(W, self.a) + n - moved_n,
            b=_each(back.swapaxes(1, 2), self.b) - _each(M, n),
            from_coordinates=self.from_coordinates @ back,
            own=self,
        )

    def about(self, point: str) -> State:
        """Return the state in the base's axes, each body about its joint, its mass centre, or the base's origin."""
        if self.own is not None:
            return self.own.about(point)
        R = self.to_body[:, :3, :3].swapaxes(1, 2)
        W, n = rigid(R), np.zeros_like(self.V)
        if point == "mass centre":
            com = np.array([b.com if b.mass else (0.0, 0.0, 0.0) for b in self.model.bodies], W.dtype).reshape(-1, 3)
            c, w = _each(R, com), _each(R, self.V[:, :3])
            W = rigid(R, -skew(c) @ R)
            n[:, 3:] = np.cross(w, np.cross(w, c))
        elif point == "base":
            W = rigid_inverse(self.to_body)
            n[:, 3:] = -np.cross(self.V[:, :3], self.V[:, 3:])  # the spatial acceleration, as Featherstone and Orin
            n = _each(W, n)
        return self.moved(W, n)


def state_of(model: Model, position: ArrayLike, velocity: ArrayLike) -> State:
    """Return the numbers of one state; composite and articulated inertias are computed on first use."""
    given_q, given_v = np.asarray(position), np.asarray(velocity)
    x: Array
    for name, x, size in (("q", given_q, model.nq), ("v", given_v, model.nv)):
        if x.shape != (size,):
            raise ArgumentError(f"operators: `{name}` is that of one state, of shape ({size},), not {x.shape}")
        if x.dtype.kind not in "biuf":
            raise ArgumentError(f"operators: `{name}` has data type {x.dtype}; give real numbers")
    dtype = np.result_type(given_q, given_v, np.float64)
    exact = dtype.itemsize > 8
    tree = ConcreteTree(model, dtype.type if exact else None)

    def numbers(x: Array) -> list[Any]:
        return list(x.astype(dtype)) if exact else x.astype(float).tolist()

    q, qd = tree.input("q", numbers(given_q)), tree.input("v", numbers(given_v))
    w, v = tree.field(Spin), tree.field(Motion)
    rows: list[tuple[Any, ...]] = []
    for i, p in tree.outward():
        X, S, w[i], r, c, b = velocities(i, q[i], qd[i], w[p])
        v[i] = X @ v[p] + S @ qd[i]
        at = X.child(Pose.zero())
        columns = np.array([motion.scalars for motion in S.columns], dtype).reshape(-1, 6).T
        pose, drive = (*at.rotation, at.position), (i.armature, i.gyration(q[i], qd[i]))
        vectors = v[i].scalars, (X @ r + c).scalars, b.scalars
        rows.append((p.key, columns, drive, i.row(TURN), pose, i.inertia.articulated().rows(), *vectors))

    def array(part: int, *shape: int) -> Array:
        return np.array([row[part] for row in rows], dtype).reshape(len(rows), *shape)

    # from the frames in which algorithms work, whose z is along the joint's axis, to the bodies' own
    E = array(3, 3, 3)
    E = E @ (3.0 * np.eye(3, dtype=dtype) - E.swapaxes(1, 2) @ E) / 2.0  # orthogonal to the last digit
    Q = rigid(E)
    own = Q.swapaxes(1, 2)
    parent = tuple(row[0] for row in rows)
    return State(
        model=model,
        parent=parent,
        X=own @ _transforms(array(4, 4, 3)) @ _at_parents(Q, parent),
        S=[t @ row[1] for t, row in zip(own, rows, strict=True)],
        M=_congruent(Q, array(5, 6, 6)),
        armature=[np.array(row[2][0], dtype) for row in rows],
        gyration=[np.array(row[2][1], dtype) for row in rows],
        V=_each(own, array(6, 6)),
        a=_each(own, array(7, 6)),
        b=_each(own, array(8, 6)),
        from_coordinates=np.broadcast_to(np.eye(6, dtype=dtype), Q.shape),
    )


def _transforms(pose: Array) -> Array:
    """Return transforms of motions from rotations and origins of the children in the parents."""
    E, r = pose[:, :3].swapaxes(1, 2), pose[:, 3]
    return rigid(E, -E @ skew(r))


def _at_parents(W: Array, parent: Sequence[int]) -> Array:
    """Return the matrix of each body's parent, and the identity for the base."""
    base = np.eye(6, dtype=W.dtype)
    return np.array([base if p < 0 else W[p] for p in parent]).reshape(W.shape)


def _each(A: Array, x: Array) -> Array:
    """Multiply matrix and vector, for each body."""
    y: Array = (A @ x[..., None])[..., 0]
    return y


def _congruent(W: Array, A: Array) -> Array:
    """Return W^T A W, kept symmetric."""
    return _symmetric(W.swapaxes(1, 2) @ A @ W)


def _symmetric(A: Array) -> Array:
    B: Array = (A + A.swapaxes(-1, -2)) / 2
    return B


def rigid(E: Array, A: Array | float = 0.0) -> Array:
    """Return rigid transforms of motions [[E, 0], [A, E]]."""
    X = np.zeros((*E.shape[:-2], 6, 6), E.dtype)
    X[..., :3, :3] = X[..., 3:, 3:] = E
    X[..., 3:, :3] = A
    return X


def rigid_inverse(W: Array) -> Array:
    """Return the inverses of rigid transforms of motions."""
    T = W[:, :3, :3].swapaxes(1, 2)
    return rigid(T, -T @ W[:, 3:, :3] @ T)
