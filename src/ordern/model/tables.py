"""A model as arrays of numbers, in the frames in which algorithms work.

Each body's working frame is its own, turned so that the joint's axis is z (`Joint.turn`). A row holds the numbers of
one body; joints of one kind share their formulas and differ only in their rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from ..errors import ModelError
from ..joints import Joint
from ..joints.limitable import directions_turn
from ..joints.placement import snapped
from ..records import dataclass
from ..spatial import Chain, Freedoms, Motion, Subspace, Transform, leaves
from .fluid_rows import FluidColumns, fluid_rows
from .mimic_armature import lent_armature

if TYPE_CHECKING:
    from .model import Model
    from .parts import Connection

__all__ = ["ARMATURE", "INERTIA", "OFFSET", "PLACEMENT", "RATIO", "TURN", "Kind", "Tables", "tables_of"]


# the entries of a row: rotation and origin of the placement, mass, first and second moments, the turn from
# the body's own axes to its working axes, ratio and offset of a mimic joint; then the armature, the
# joint's parameters, the joint's part in each coupling and, last, inertia that is shifted to the body
PLACEMENT = slice(0, 12)
INERTIA = slice(12, 22)
TURN = slice(22, 31)
RATIO, OFFSET = 31, 32
ARMATURE = 33


@dataclass(frozen=True, slots=True)
class Kind:
    """The common properties of bodies whose loops are traced together."""

    joint: Joint
    """The joint of one of the bodies; its parameters do not matter."""
    has_armature: bool
    follows: bool
    """True for a mimic joint, which has the coordinates of another joint."""
    couplings: slice
    """The entries of a row with the part in each coupling: 1 for a mimic joint, -ratio for the joint it follows."""
    passive: bool
    """True if rows have damping, friction, stiffness and rest."""
    borrowed: slice | None = None
    """The entries with the inertia shifted to the body across its joint: see `ordern.model.shiftable_inertia`."""
    fluid: FluidColumns | None = None
    """The entries with added inertia, displaced fluid and drag; None if no body of the model has any."""

    def term(self, number: int) -> slice:
        """Return the entries of a row with the armature (0), damping, friction, stiffness (3) or rest position (4)."""
        joint = self.joint
        start = ARMATURE + number * joint.nv
        return slice(start, start + (joint.nq if number == 4 else joint.nv))

    @property
    def parameters(self) -> slice:
        """The entries of a row with the joint's parameters."""
        start = self.term(4 if self.passive else 0).stop
        return slice(start, start + len(self.joint.parameters))


@dataclass(frozen=True, eq=False)
class Tables:
    """The numbers of a model. Bodies are rows; `parent` is -1 for the base."""

    kinds: tuple[Kind, ...]
    kind: NDArray[np.int64]
    parent: NDArray[np.int64]
    q_start: NDArray[np.int64]
    v_start: NDArray[np.int64]
    rows: Array
    couplings: int
    """The number of mimic joints."""

    @cached_property
    def constants(self) -> tuple[tuple[float | None, ...], ...]:
        """For each kind, the entries of a row that are equal in all its bodies; None for the others."""
        found = []
        for k in range(len(self.kinds)):
            rows = self.rows[self.kind == k]
            same = (rows == rows[0]).all(axis=0)
            found.append(tuple(float(x) if s else None for x, s in zip(rows[0], same, strict=True)))
        return tuple(found)


def tables_of(model: Model) -> Tables:
    """Compute the arrays, all bodies at once."""
    n = len(model.bodies)
    turns: dict[Joint, Array] = {}  # once for equal joints
    for c in model.joints:
        if c.type not in turns:
            turns[c.type] = c.type.turn()
    parent = np.array([c.parent for c in model.joints], np.int64)
    Q = np.array([turns[c.type] for c in model.joints]).reshape(n, 3, 3)
    Q_parent = np.where((parent >= 0)[:, None, None], Q[parent], np.eye(3)) if n else Q
    R = np.array([c.placement.rotation for c in model.joints]).reshape(n, 3, 3)
    p = np.array([c.placement.position for c in model.joints]).reshape(n, 3)
    E = snapped(np.einsum("nji,nkj,nkl->nil", Q, R, Q_parent), model.snap).reshape(n, 9)  # Q^T R^T Q_parent
    r = np.einsum("nji,nj->ni", Q_parent, p)

    passive = _is_passive(model)
    lent = lent_armature(model.bodies, model.joints)
    armature = [(c.armature[0] + lent[k],) if k in lent else c.armature for k, c in enumerate(model.joints)]
    own = [_own(c, a, passive) for c, a in zip(model.joints, armature, strict=True)]
    width = ARMATURE + max(map(len, own), default=0)
    followers = [k for k, c in enumerate(model.joints) if c.mimic]
    kind, found = _kinds(model, E, armature, slice(width, width + len(followers)), passive)
    rows = np.zeros((n, width + len(followers)))
    fluid, more = fluid_rows(model.bodies, Q, rows.shape[1])
    if fluid is not None:
        found = tuple(replace(k, fluid=fluid) for k in found)
    rows[:, 0:9] = E
    rows[:, 9:12] = np.where(np.abs(r) < model.snap, 0.0, r)

    m = np.array([b.mass for b in model.bodies])
    com = np.einsum("nji,nj->ni", Q, np.array([b.com for b in model.bodies]).reshape(n, 3))
    Ic = np.array([b.inertia for b in model.bodies]).reshape(n, 6)
    xx, yy, zz, xy, xz, yz = Ic.T
    I = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=-1).reshape(n, 3, 3)
    I = np.einsum("nji,njk,nkl->nil", Q, I, Q)
    cc = np.einsum("ni,ni->n", com, com)
    I = I + m[:, None, None] * (cc[:, None, None] * np.eye(3) - com[:, :, None] * com[:, None, :])
    # turning makes rounding errors of exact zeros; they would cost operations for nothing
    size = np.abs(I).max(axis=(1, 2), initial=0.0)[:, None, None]
    I = np.where(np.abs(I) < 4e-16 * size, 0.0, I)
    reach = np.abs(com).max(axis=1, initial=0.0)[:, None]
    com = np.where(np.abs(com) < 4e-16 * reach, 0.0, com)
    rows[:, 12] = m
    rows[:, 13:16] = m[:, None] * com
    rows[:, 16:22] = I.reshape(n, 9)[:, [0, 1, 2, 4, 5, 8]]
    rows[:, TURN] = Q.transpose(0, 2, 1).reshape(n, 9)
    for i, numbers in enumerate(own):
        if any(numbers):
            rows[i, ARMATURE : ARMATURE + len(numbers)] = numbers
    for number, k in enumerate(followers):
        mimic = model.joints[k].mimic
        assert mimic is not None
        rows[k, RATIO], rows[k, OFFSET] = mimic.ratio, mimic.offset
        rows[k, width + number] = 1.0
        rows[mimic.joint, width + number] = -mimic.ratio
    q_start = np.array([c.q_start for c in model.joints], np.int64)
    v_start = np.array([c.v_start for c in model.joints], np.int64)
    rows = np.concatenate([rows, more], axis=1)
    made = Tables(found, kind, parent, q_start, v_start, rows + 0.0, len(followers))
    for array in (made.kind, made.parent, made.q_start, made.v_start, made.rows):
        array.flags.writeable = False
    return made


def _is_passive(model: Model) -> bool:
    """Return True if joints have dampers, friction or springs, or may get some."""
    if model.variation is not None and model.variation.varies("damping", "joint_friction", "stiffness", "rest"):
        return True
    return any(any(x) for c in model.joints for x in (c.damping, c.friction, c.stiffness))


def _own(c: Connection, armature: tuple[float, ...], passive: bool) -> tuple[float, ...]:
    terms = (*armature, *c.damping, *c.friction, *c.stiffness, *c.rest) if passive else armature
    return (*terms, *c.type.parameters)


def _kinds(
    model: Model, E: Array, armature: list[tuple[float, ...]], couplings: slice, passive: bool
) -> tuple[NDArray[np.int64], tuple[Kind, ...]]:
    """Return the kinds of bodies: joints with the same formulas, and placements with the same zeros and ones."""
    patterns = np.where(np.isin(E, (-1.0, 0.0, 1.0)), E, 2.0) + 0.0
    driven = np.array([any(x) for x in armature], bool)
    if model.variation is not None:
        driven |= model.variation.by_joint("armature")
        if model.variation.varies("joint_placement"):
            patterns[model.variation.masks["joint_placement"][:, 3:].any(axis=1)] = 2.0
    for use_patterns in (True, False):
        kinds: dict[Hashable, int] = {}
        found: list[Kind] = []
        seen: set[Joint] = set()
        checked: set[int] = set()
        kind = np.zeros(len(model.joints), np.int64)
        for i, c in enumerate(model.joints):
            has_armature = bool(driven[i])
            key = (c.type.kind, has_armature, c.mimic is not None, patterns[i].tobytes() if use_patterns else None)
            number = kinds.get(key)
            if number is None:
                number = kinds[key] = len(found)
                found.append(Kind(c.type, has_armature, c.mimic is not None, couplings, passive))
            if c.type not in seen and not (_is_ours(c.type) and number in checked):
                seen.add(c.type)
                _check_alike(c.type, found[number].joint, c.name)
                checked.add(number)
            if has_armature and c.type.nv > 1:
                _check_armature(c.type, c.armature, c.name)
            kind[i] = number
        if len(found) <= _MOST_KINDS:
            break
    return kind, tuple(found)


def _is_ours(joint: Joint) -> bool:
    """Return True for joint types of the library: one of each kind is enough to check."""
    return all(type(part).__module__.startswith("ordern.joints.") for part, _ in joint.serial_parts())


def _check_alike(joint: Joint, first: Joint, name: str) -> None:
    """Raise if a joint is not valid, or differs from others of its kind in more than its parameters."""
    q = Freedoms(x + 0.1 * (k + 1) for k, x in enumerate(joint.neutral()))
    _check_joint(joint, q, name)
    for one in ("transform", "subspace"):
        own, stand_in = (getattr(j, one)(q) for j in (joint, first.with_parameters(joint.parameters)))
        if leaves(own) != leaves(stand_in):
            raise ModelError(
                f"joint {name!r}: its class {type(joint).__name__} uses numbers in `{one}` that differ between joints, "
                "so it must list them in `parameters` and take them in `with_parameters`, or tell them apart by `kind`"
            )


def _check_joint(joint: Joint, q: Freedoms, name: str) -> None:
    """Raise unless the formulas of a joint, which may be a user's own, return the right types and sizes."""
    what = f"joint {name!r}: its class {type(joint).__name__}"
    if len(q) != joint.nq:
        raise ModelError(f"{what} has nq = {joint.nq}, but `neutral` gives {len(q)} numbers")
    X, S = joint.transform(q), joint.subspace(q)
    if not isinstance(X, (Transform, Chain)):
        raise ModelError(f"{what}: `transform` must give a Transform or a Chain, not a {type(X).__name__}")
    if not isinstance(S, Subspace):
        raise ModelError(f"{what}: `subspace` must give Units or Columns, not a {type(S).__name__}")
    if len(S.columns) != joint.nv:
        raise ModelError(f"{what} has nv = {joint.nv}, but `subspace` has {len(S.columns)} columns")
    _check_bias(joint, q, name)
    if type(joint).gyration is not Joint.gyration:
        still = Freedoms((0.0,) * joint.nv)
        if (given := len(joint.gyration(q, still, still))) != joint.nv:
            raise ModelError(f"{what} has nv = {joint.nv}, but `gyration` gives {given} numbers")
    again = joint.with_parameters(joint.parameters)
    if type(again) is not type(joint):
        raise ModelError(f"{what}: `with_parameters` gives a {type(again).__name__}; write type(self)(...) there")


def _check_bias(joint: Joint, q: Freedoms, name: str) -> None:
    """Raise unless `bias` of a joint, or of each of its parts in series, returns a motion."""
    start = 0
    for part, _ in joint.serial_parts():
        own = Freedoms(q[k] for k in range(start, start + part.nq))
        start += part.nq
        if type(part).bias is Joint.bias:
            continue
        found = part.bias(own, Freedoms((0.1,) * part.nv))
        if not isinstance(found, Motion):
            raise ModelError(
                f"joint {name!r}: its class {type(part).__name__}: `bias` must give a Motion (angular, linear), not a "
                f"{type(found).__name__}"
            )
        if len(found.scalars) != 6:
            raise ModelError(
                f"joint {name!r}: its class {type(part).__name__}: `bias` must give a Motion of six numbers, three of "
                f"them angular and three linear, not {len(found.scalars)}"
            )


def _check_armature(joint: Joint, armature: Sequence[float], name: str) -> None:
    """Raise if the momentum of a joint's drive needs a force that the joint does not define."""
    parts, start = joint.serial_parts(), 0
    for part, _ in parts:
        own = armature[start : start + part.nv]
        start += part.nv
        if not any(own):
            continue
        if part is not joint and len(parts) > 1:
            _check_armature(part, own, name)
        elif type(part).gyration is Joint.gyration and directions_turn(part):
            raise ModelError(
                f"joint {name!r} has an armature, and velocities along directions that turn as it moves: the momentum "
                f"of its drive takes a force, which its class {type(part).__name__} does not define. Define "
                "`gyration(q, v, h)` there (for angular velocities w in the child's axes it is w x h; zeros, if the "
                "momentum does not turn with the joint), or give the joint no armature"
            )


_MOST_KINDS = 8
"""The largest number of kinds: with more, kinds do not depend on placements. Each loop is compiled once per kind."""
