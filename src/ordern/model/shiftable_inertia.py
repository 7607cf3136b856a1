"""Shift inertia across joints, so that the inertia of each body by itself can be inverted.

Some methods take all joints apart and let each body accelerate by itself. A body without mass, a point mass or a rod
without thickness cannot: its inertia is singular. But part of a body's inertia has the same effect on the other side of
its joint (`Joint.shiftable_inertia`). So a singular body borrows such inertia from its parent or from its children; the
base lends any amount:

    I_k + U_k - sum over children c of X_c^T U_c X_c  is positive definite for each body k,    U_k shiftable at joint k

Joint accelerations and forces stay the same. The wrench through joint k then also moves U_k; subtracting
U_k a_k + (gyroscopic force of U_k) gives the wrench of the robot as it was given.

U minimises the sum of -log det A_k + tr(C_k^-1 A_k) over all bodies next to a singular one, where A_k is the sum above
and C_k a model for A_k: the body's own inertia, or a round one for a singular body. The problem is convex. Newton's
method starts from A_k + s C_k with s large enough, and s is lowered while A_k + s C_k stays definite. If s stays above
zero, there is no such U. Bodies far from singular ones borrow nothing: it would not help.

Reference: inertias that joints cannot tell apart are those of Gautier and Khalil 1990, as in `base_parameters`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from ..records import dataclass
from .base_parameters import in_parent, is_own
from .inertia_numbers import inertia_of, second_moments, spatial
from .model import Model
from .parts import BASE
from .tables import INERTIA, PLACEMENT, Tables

__all__ = ["borrowed", "lacking", "singular_bodies"]


_SINGULAR = 1e-12
"""An inertia about the mass centre that is smaller than this part of the largest counts as zero."""
_LEAST = 1e-8
"""The smallest eigenvalue of C_k^-1 A_k that is taken for regular."""
_STEPS = 60


def borrowed(model: Model) -> Model:
    """Return the model with borrowed inertia; the model itself if no body needs it or it does not help."""
    found = _found(model)
    return model if isinstance(found, int) else found


def lacking(model: Model) -> int | None:
    """Return the first body that stays singular, whatever it borrows; None if all can be made regular."""
    found = _found(model)
    return found if isinstance(found, int) and found >= 0 else None


def _found(model: Model) -> Model | int:
    """Return the model with borrowed inertia; -1 if no body needs it, or else the body that stays singular."""
    known: Model | int | None = model.__dict__.get("_borrowed")
    if known is None:
        known = model.__dict__["_borrowed"] = _find(model)
    return known


def _find(model: Model) -> Model | int:
    t = model.tables
    singular = singular_bodies(t)
    if not singular.any():
        return -1
    problem = _Problem.of(t, singular)
    x = problem.solved()
    if isinstance(x, int):
        return x
    inertias, own = problem.inertias(x), np.zeros((len(t.rows), 10))
    for k, basis, here in problem.joints:
        own[k] = x[here] @ basis
    rows = np.concatenate((t.rows, own), axis=1)
    for k, A in zip(problem.bodies, inertias, strict=True):
        rows[k, INERTIA] = A
    end = rows.shape[1]
    kinds = tuple(replace(kind, borrowed=slice(end - 10, end)) for kind in t.kinds)
    rows.flags.writeable = False
    made = Model(**model.__getstate__())
    made.__dict__["tables"] = replace(t, kinds=kinds, rows=rows)
    return made


def singular_bodies(t: Tables) -> NDArray[np.bool_]:
    """Return True for each body whose inertia is singular."""
    m, h, I = t.rows[:, 12], t.rows[:, 13:16], second_moments(t.rows[:, INERTIA])
    safe = np.where(m > 0.0, m, 1.0)[:, None, None]
    squares = (h * h).sum(1)[:, None, None] * np.eye(3) - h[:, :, None] * h[:, None, :]
    values = np.linalg.eigvalsh(I - squares / safe) if len(m) else np.zeros((0, 3))
    size = np.maximum(values[:, -1], np.abs(I).max(axis=(1, 2), initial=0.0))
    return np.asarray((m <= 0.0) | (values[:, 0] <= _SINGULAR * size))


@dataclass(frozen=True, slots=True)
class _Problem:
    """The bodies next to singular ones, the inertia that they may borrow, and the models C for their inertias."""

    bodies: tuple[int, ...]
    singular: tuple[bool, ...]
    numbers: Array
    """(bodies, 10): the inertias as they are."""
    joints: tuple[tuple[int, Array, slice], ...]
    """For each joint with shiftable inertia: its body, a basis (d, 10) of it, and the slice of its unknowns."""
    lent: Array
    """(unknowns, bodies, 10): the inertia that a unit of each unknown adds to each body."""
    scale: Array
    """(bodies, 6, 6): L^-1 with C = L L^T."""

    @classmethod
    def of(cls, t: Tables, singular: NDArray[np.bool_]) -> _Problem:
        """Set up the problem from a model's tables."""
        joints: list[tuple[int, Array, slice]] = []
        touched = set(np.flatnonzero(singular).tolist())
        start = 0
        for k, parent in enumerate(t.parent.tolist()):
            if not (singular[k] or (parent != BASE and singular[parent])):
                continue
            basis = _shiftable(t, k)
            if len(basis):
                joints.append((k, basis, slice(start, start + len(basis))))
                start += len(basis)
                touched |= {k, parent} - {BASE}
        bodies = sorted(touched)
        place = {k: n for n, k in enumerate(bodies)}
        lent = np.zeros((start, len(bodies), 10))
        for k, basis, here in joints:
            lent[here, place[k]] += basis
            if (parent := int(t.parent[k])) != BASE:
                lent[here, place[parent]] -= [in_parent(row, t.rows[k, PLACEMENT]) for row in basis]
        numbers = t.rows[bodies][:, INERTIA]
        scale = _scales(spatial(numbers), singular[bodies])
        return cls(tuple(bodies), tuple(singular[bodies].tolist()), numbers, tuple(joints), lent, scale)

    def inertias(self, x: Array) -> Array:
        """Return the inertias (bodies, 10), with the borrowed parts."""
        return np.asarray(self.numbers + np.tensordot(x, self.lent, 1))

    def solved(self) -> Array | int:
        """Return the unknowns, or the body that stays singular."""
        L = self.scale
        A0 = L @ spatial(self.numbers) @ np.swapaxes(L, 1, 2)
        E = L @ spatial(self.lent) @ np.swapaxes(L, 1, 2)
        least = np.linalg.eigvalsh(A0)[:, 0]
        if not len(E):
            return self.bodies[int(np.argmin(least))]
        x, s = np.zeros(len(E)), 1.0 + max(0.0, -float(least.min()))
        for _ in range(_STEPS):
            x = _centred(A0, E, x, s)
            values = np.linalg.eigvalsh(A0 + np.tensordot(x, E, 1))[:, 0]
            lowest = float(values.min())
            if lowest > _LEAST:
                return _centred(A0, E, x, 0.0)
            if s < _LEAST:
                break
            s -= 0.7 * (s + lowest)
        among = np.where(self.singular, values, np.inf)
        return self.bodies[int(np.argmin(among))]


def _shiftable(t: Tables, k: int) -> Array:
    """Return a basis (d, 10) of the inertias of body k that can be shifted across its joint."""
    joint = t.kinds[t.kind[k]].joint
    if not is_own(type(joint)):
        return np.zeros((0, 10))
    found = []
    for unit in np.eye(10).tolist():
        given = joint.shiftable_inertia(inertia_of(unit))
        if given is not None and any(numbers := (given.m, *given.h, *given.I)):
            found.append(numbers)
    return np.array(found, float).reshape(-1, 10)


def _scales(A: Array, singular: NDArray[np.bool_]) -> Array:
    """Return L^-1 of the model C for each body: its own inertia, or a round one of usual mass and size."""
    masses, sizes = A[:, 3, 3], np.abs(A[:, :3, :3]).max(axis=(1, 2))
    usual = masses[masses > 0.0].mean() if (masses > 0.0).any() else 0.0
    moment = sizes[sizes > 0.0].mean() if (sizes > 0.0).any() else 0.0
    usual, moment = usual or moment or 1.0, moment or usual or 1.0
    L = np.zeros_like(A)
    for k, alone in enumerate(singular):
        if alone:
            m, size = masses[k] if masses[k] > 0.0 else usual, sizes[k] or moment
            L[k] = np.diag(np.repeat([size**-0.5, m**-0.5], 3))
        else:
            L[k] = np.linalg.inv(np.linalg.cholesky(A[k]))
    return L


def _centred(A0: Array, E: Array, x: Array, s: float) -> Array:
    """Return the x that minimises the sum of tr A - log det(A + s) for A = A0 + x E, by Newton's method from inside."""
    eye, traces = np.eye(6), np.trace(E, axis1=-2, axis2=-1).sum(axis=1)

    def value(x: Array) -> float:
        A = A0 + np.tensordot(x, E, 1)
        sign, size = np.linalg.slogdet(A + s * eye)
        inside = (sign > 0.0).all() and (np.linalg.eigvalsh(A + s * eye)[:, 0] > 0.0).all()
        return float(x @ traces - size.sum()) if inside else np.inf

    now = value(x)
    for _ in range(50):
        P = np.linalg.inv(A0 + np.tensordot(x, E, 1) + s * eye)
        PE = P @ E
        slope = traces - np.trace(PE, axis1=-2, axis2=-1).sum(axis=1)
        H = np.einsum("ikab,jkba->ij", PE, PE)
        step = -np.linalg.solve(H, slope)
        gain, length = float(-slope @ step), 1.0
        while (then := value(x + length * step)) > now - 0.1 * length * gain and length > 1e-10:
            length *= 0.5
        if length <= 1e-10:
            break
        x, now = x + length * step, then
        if gain < 1e-10:
            break
    return x
