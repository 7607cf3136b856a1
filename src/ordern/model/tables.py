"""A model as arrays of numbers, in the frames in which algorithms work.

Each body's working frame is its own, turned so that the joint's axis is z (`Joint.turn`). A row holds what an
algorithm may need of one body; joints of one kind share their formulas and differ only in their rows.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..joints import Joint

if TYPE_CHECKING:
    from .model import Model

__all__ = ["ARMATURE", "INERTIA", "PLACEMENT", "TURN", "Kind", "Tables", "snapped", "tables_of"]

Array = NDArray[np.float64]

# where things are in a row: rotation and origin of the placement, mass, first and second moments, the turn from
# the body's own axes to its working axes, then the armature and the joint's parameters
PLACEMENT = slice(0, 12)
INERTIA = slice(12, 22)
TURN = slice(22, 31)
ARMATURE = 31


@dataclass(frozen=True, slots=True)
class Kind:
    """What bodies whose loops are traced together have in common."""

    joint: Joint
    """One of them; its parameters do not matter."""
    has_armature: bool

    @property
    def parameters(self) -> slice:
        """Where the joint's parameters are in a row."""
        start = ARMATURE + self.joint.nv
        return slice(start, start + len(self.joint.parameters))


@dataclass(frozen=True, eq=False)
class Tables:
    """A model's numbers. Bodies are rows; `parent` counts from -1, the base."""

    kinds: tuple[Kind, ...]
    kind: NDArray[np.int64]
    parent: NDArray[np.int64]
    q_start: NDArray[np.int64]
    v_start: NDArray[np.int64]
    rows: Array


def tables_of(model: Model) -> Tables:
    """Compute the arrays, all bodies at once."""
    n = len(model.bodies)
    known: dict[tuple[Joint, bool], tuple[int, Array]] = {}  # equal joints are looked at once
    kinds: dict[Hashable, int] = {}
    found: list[Kind] = []
    chosen: list[tuple[int, Array]] = []
    for c in model.joints:
        has_armature = any(c.armature)
        seen = known.get((c.type, has_armature))
        if seen is None:
            key = (c.type.kind, has_armature)
            if key not in kinds:
                kinds[key] = len(found)
                found.append(Kind(c.type, has_armature))
            seen = known[c.type, has_armature] = (kinds[key], c.type.turn())
        chosen.append(seen)
    kind = np.array([k for k, _ in chosen], np.int64)
    Q = np.array([turn for _, turn in chosen]).reshape(n, 3, 3)
    width = max([ARMATURE, *(k.parameters.stop for k in found)])

    parent = np.array([c.parent for c in model.joints], np.int64)
    rows = np.zeros((n, width))
    Q_parent = np.where((parent >= 0)[:, None, None], Q[parent], np.eye(3)) if n else Q
    R = np.array([c.placement.rotation for c in model.joints]).reshape(n, 3, 3)
    p = np.array([c.placement.position for c in model.joints]).reshape(n, 3)
    E = np.einsum("nji,nkj,nkl->nil", Q, R, Q_parent)  # Q^T R^T Q_parent
    r = np.einsum("nji,nj->ni", Q_parent, p)
    rows[:, 0:9] = snapped(E, model.snap).reshape(n, 9)
    rows[:, 9:12] = np.where(np.abs(r) < model.snap, 0.0, r)

    m = np.array([b.mass for b in model.bodies])
    com = np.einsum("nji,nj->ni", Q, np.array([b.com for b in model.bodies]).reshape(n, 3))
    Ic = np.array([b.inertia for b in model.bodies]).reshape(n, 6)
    xx, yy, zz, xy, xz, yz = Ic.T
    I = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=-1).reshape(n, 3, 3)
    I = np.einsum("nji,njk,nkl->nil", Q, I, Q)
    cc = np.einsum("ni,ni->n", com, com)
    I = I + m[:, None, None] * (cc[:, None, None] * np.eye(3) - com[:, :, None] * com[:, None, :])
    # what turning leaves of an exact zero is rounding; it would cost operations for nothing
    size = np.abs(I).max(axis=(1, 2), initial=0.0)[:, None, None]
    I = np.where(np.abs(I) < 4e-16 * size, 0.0, I)
    reach = np.abs(com).max(axis=1, initial=0.0)[:, None]
    com = np.where(np.abs(com) < 4e-16 * reach, 0.0, com)
    rows[:, 12] = m
    rows[:, 13:16] = m[:, None] * com
    rows[:, 16:22] = I.reshape(n, 9)[:, [0, 1, 2, 4, 5, 8]]
    rows[:, TURN] = Q.transpose(0, 2, 1).reshape(n, 9)
    for i, connection in enumerate(model.joints):
        own = (*connection.armature, *connection.type.parameters)
        if any(own):
            rows[i, ARMATURE : ARMATURE + len(own)] = own
    q_start = np.array([c.q_start for c in model.joints], np.int64)
    v_start = np.array([c.v_start for c in model.joints], np.int64)
    return Tables(tuple(found), kind, parent, q_start, v_start, rows + 0.0)


def snapped(E: Array, within: float) -> Array:
    """Entries that are 0, 1 or -1 but for the rounding of the file's angles become so."""
    near = np.round(E)
    return np.where(np.abs(E - near) < within, near, E)
