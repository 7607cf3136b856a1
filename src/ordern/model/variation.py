"""Robots whose numbers are arguments: which numbers vary, and their values.

The code of a varied robot has inputs in the place of the numbers that vary; all other numbers are folded into it. So it
depends on the *structure* of the robot: the numbers that are fixed, and which others vary, but not on their values. All
robots of one structure share their code. `varied_rows` computes the numbers that the code reads from the values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Array, real
from ..errors import ArgumentError, unknown_name
from ..rotations import exp
from .mimic_armature import lent_armature
from .parameter_fields import ALL_FIELDS, JOINT_TERMS, core_shapes, own_numbers, starts
from .parts import Body, Frame, ModelJoint, Placement

if TYPE_CHECKING:
    from .contacts import Contacts
    from .model import Model

__all__ = [
    "Variation",
    "all_varied",
    "structure_of",
    "varied_robot",
    "wholly_varied",
    "with_other_contacts",
    "with_values",
]

M = TypeVar("M", bound="Model")
Mask = NDArray[np.bool_]
_MOST_STRUCTURES = 32
"""Structures of one robot whose code is kept in memory."""


class Variation:
    """The numbers of a model that vary, by field, their values, and the model's own parts."""

    __slots__ = ("bodies", "contacts", "frames", "gravity", "joints", "masks", "shared", "values")

    def __init__(self, parts: Model | Variation, masks: Mapping[str, Mask], values: Array | None, shared: Any) -> None:
        self.bodies: tuple[Body, ...] = parts.bodies
        self.joints: tuple[ModelJoint, ...] = parts.joints
        self.frames: tuple[Frame, ...] = parts.frames
        self.gravity: tuple[float, float, float] = parts.gravity
        self.contacts: Contacts | None = parts.contacts
        """The parts of the robot before anything varied: the source of the numbers that are fixed."""
        self.masks = dict(masks)
        """For each field that varies an array of the field's core shape: True where the number varies."""
        self.values = values
        """(*leading, count): the numbers that vary, field after field; None for a structure."""
        self.shared: dict[Any, Model] = shared
        """The structures of the robot, which hold the code."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading shape of the numbers; empty for one set of numbers, and for a structure."""
        return () if self.values is None else self.values.shape[:-1]

    @property
    def count(self) -> int:
        """How many numbers vary."""
        return sum(int(mask.sum()) for mask in self.masks.values())

    @property
    def key(self) -> bytes:
        """Which numbers vary, as bytes."""
        parts = (f"{field} {mask.shape}".encode() + mask.tobytes() for field, mask in self.masks.items())
        return hashlib.sha256(b"".join(parts)).digest()

    @property
    def fixed(self) -> str:
        """The fixed numbers beside those that vary, which may be mixed with them, as text."""
        own = own_numbers(self, self.masks)
        found: list[Any] = [np.where(mask, 0.0, own[field]).tolist() for field, mask in self.masks.items()]
        if self.varies("armature"):
            found.append(sorted(lent_armature(self.bodies, self.joints).items()))
        if self.varies("joint_placement", "frame_placement"):  # some methods compare with lengths
            found += [c.placement for c in self.joints] + [f.placement for f in self.frames]
        return repr(found)

    def varies(self, *fields: str) -> bool:
        """Return True if some number of these fields varies."""
        return any(field in self.masks for field in fields)

    def by_joint(self, field: str) -> NDArray[np.bool_]:
        """Return for each joint and its body True if one of its numbers in a field varies."""
        if field not in self.masks:
            return np.zeros(len(self.joints), bool)
        mask = self.masks[field]
        if mask.ndim == 2:
            return np.asarray(mask.any(axis=1))
        bounds = starts(self, field)
        return np.array([mask[a:b].any() for a, b in pairwise(bounds)], bool)

    def places(self, field: str) -> range:
        """Return the places of a field's numbers among all that vary."""
        start = 0
        for name, mask in self.masks.items():
            stop = start + int(mask.sum())
            if name == field:
                return range(start, stop)
            start = stop
        return range(0)

    def full(self) -> dict[str, Array]:
        """Return all numbers of the fields that vary, with the leading shape; fixed ones are the model's own."""
        own, found = own_numbers(self, self.masks), {}
        assert self.values is not None
        values = real(self.values, "the vector of parameters that vary")
        for field, mask in self.masks.items():
            found[field] = np.broadcast_to(own[field], (*self.shape, *mask.shape)).copy()
            found[field][..., mask] = values[..., list(self.places(field))]
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variation):
            return NotImplemented
        if self.masks.keys() != other.masks.keys() or (self.values is None) != (other.values is None):
            return False
        same = all(np.array_equal(mask, other.masks[field]) for field, mask in self.masks.items())
        return same and (self.values is None or np.array_equal(self.values, other.values))  # type: ignore[arg-type]

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.bodies, self.joints, self.frames, self.gravity, self.contacts)
        return _restored, (parts, self.masks, self.values)

    def __repr__(self) -> str:
        fields = ", ".join(f"{field} {int(mask.sum())}" for field, mask in self.masks.items())
        return f"<Variation {self.shape}: {fields}>"


def _restored(parts: Any, masks: Mapping[str, Mask], values: Array | None) -> Variation:
    found: Variation = object.__new__(Variation)
    found.bodies, found.joints, found.frames, found.gravity, found.contacts = parts
    Variation.__init__(found, found, masks, values, {})
    return found


def varied_robot(robot: M, values: Mapping[str, ArrayLike], mask: Mapping[str, ArrayLike]) -> M:
    """Return a robot some of whose numbers are arguments of its code.

    `values[field]` has the shape (*leading, *core), with the fields and core shapes of `parameter_fields`; leading
    shapes broadcast. `mask[field]` has the core shape: True where the number varies. Other numbers are the robot's own.
    Every function of the result broadcasts over the leading shape.
    """
    earlier = robot.variation
    shapes = core_shapes(robot)
    masks, numbers = _given(robot, values, mask, shapes)
    if earlier is not None:
        masks, numbers = _joined(earlier, earlier.full(), masks, numbers)
    masks = {field: masks[field] for field in ALL_FIELDS if field in masks and masks[field].any()}
    if not masks:
        return robot
    picked = [numbers[field][..., masks[field]] for field in masks]
    try:
        leading = np.broadcast_shapes(*(x.shape[:-1] for x in picked))
    except ValueError:
        listed = ", ".join(f"{field} {x.shape[:-1]}" for field, x in zip(masks, picked, strict=True))
        raise ArgumentError(
            f"the leading shapes of the parameters of {robot.name!r} do not broadcast: {listed}"
        ) from None
    theta = np.concatenate([np.broadcast_to(x, (*leading, x.shape[-1])) for x in picked], axis=-1)
    theta.flags.writeable = False
    if not np.isfinite(theta).all():
        *index, _ = np.argwhere(~np.isfinite(theta))[0].tolist()
        where = f" set {tuple(index)}:" if index else ""
        raise ArgumentError(f"the parameters of {robot.name!r}:{where} a number is not finite")
    shared = robot.__dict__.setdefault("_structures", {}) if earlier is None else earlier.shared
    made = Variation(robot if earlier is None else earlier, masks, theta, shared)
    _require_variable(robot, made)
    return _robot(robot, made)


def all_varied(robot: M, fields: Iterable[str]) -> M:
    """Return a robot in which all numbers of some fields vary; they keep their values. It is made once."""
    kept: dict[tuple[str, ...], M] = robot.__dict__.setdefault("_by_parameters", {})
    names = tuple(fields)
    if names not in kept:
        earlier = robot.variation
        known = {} if earlier is None else earlier.full()
        parts = robot if earlier is None else earlier
        given = {x: known[x] if x in known else own_numbers(parts, (x,))[x] for x in names}
        kept[names] = varied_robot(robot, given, {})
    return kept[names]


def wholly_varied(robot: M, fields: Iterable[str]) -> M:
    """Return a varied robot in which all numbers of these fields vary, by which derivatives by the fields are complete.

    A mass multiplies ten numbers of its body, but those that are zero stay zero: they do not vary with it, and code has
    no place for them. The derivatives by them are not zero.
    """
    assert robot.variation is not None
    masks = robot.variation.masks
    partly = [x for x in fields if x in masks and not masks[x].all()]
    return all_varied(robot, partly) if partly else robot


def with_values(robot: M, values: Array) -> M:
    """Return a varied robot with other values (*leading, count) of the same numbers.

    With values of another array library, which may not be known yet, the parts of the robot keep their own numbers.
    """
    earlier = robot.variation
    assert earlier is not None
    if type(values) is np.ndarray:
        values = values.view()
        values.flags.writeable = False
    return _robot(robot, Variation(earlier, earlier.masks, values, earlier.shared))


def _robot(robot: M, made: Variation) -> M:
    """Return a robot with a variation."""
    state = {**robot.__getstate__(), **_parts(made), "variation": made}
    if type(made.values) is np.ndarray and not made.shape:
        state |= _with_numbers(made, made.full(), made.masks)
    return type(robot)(**state)


def with_other_contacts(robot: M, contacts: Contacts | None) -> M:
    """Return a robot with other contacts, or none; their friction no longer varies, and all other numbers stay."""
    earlier = robot.variation
    if earlier is None:
        return replace(robot, contacts=contacts)
    masks = {field: mask for field, mask in earlier.masks.items() if field != "contact_friction"}
    left = [k for field in masks for k in earlier.places(field)]
    values = None if earlier.values is None else earlier.values[..., left]
    made = Variation(earlier, masks, values, earlier.shared)
    made.contacts = contacts
    return replace(robot, contacts=contacts, variation=made if masks else None)


def structure_of(model: Model) -> Model:
    """Return the structure of a varied model, which all robots that differ in the varied numbers only share."""
    variation = model.variation
    assert variation is not None
    if variation.values is None:
        return model
    touching = "" if model.contacts is None else model.contacts.digest
    key = (variation.key, model.name, model.loop_digest, model.motors, touching)
    shared = variation.shared
    found = shared.get(key)
    if found is None:
        from .model import Model

        while len(shared) >= _MOST_STRUCTURES:
            del shared[next(iter(shared))]
        bare = Variation(variation, variation.masks, None, {})
        found = shared[key] = Model(**{**model.__getstate__(), **_parts(variation), "variation": bare})
    return found


def _given(
    model: Model, values: Mapping[str, ArrayLike], mask: Mapping[str, ArrayLike], shapes: dict[str, tuple[int, ...]]
) -> tuple[dict[str, Mask], dict[str, Array]]:
    """Return masks and numbers as arrays, checked."""
    masks, numbers = {}, {}
    for field in values:
        if field not in ALL_FIELDS:
            raise unknown_name("field of parameters", field, ALL_FIELDS, model.name)
        core = shapes[field]
        x = real(values[field], f"parameters of {model.name!r}: {field}")
        if x.ndim < len(core) or x.shape[x.ndim - len(core) :] != core:
            raise ArgumentError(
                f"parameters of {model.name!r}: {field} has the shape {x.shape}; its last dimensions must be {core}"
            )
        found = np.asarray(mask[field], bool) if field in mask else np.ones(core, bool)
        if found.shape != core:
            raise ArgumentError(
                f"parameters of {model.name!r}: the mask of {field} has the shape {found.shape}, not {core}"
            )
        masks[field], numbers[field] = found, x
    return masks, numbers


def _joined(
    earlier: Variation, before: dict[str, Array], masks: dict[str, Mask], numbers: dict[str, Array]
) -> tuple[dict[str, Mask], dict[str, Array]]:
    """Return masks and numbers of what varied before and of what varies now; new numbers replace earlier ones."""
    both, found = dict(earlier.masks), dict(before)
    for field, mask in masks.items():
        if field not in before:
            both[field], found[field] = mask, numbers[field]
            continue
        both[field] = earlier.masks[field] | mask
        found[field] = np.where(mask, numbers[field], before[field])
    return both, found


def _require_variable(model: Model, variation: Variation) -> None:
    """Raise if a number varies that the code of this robot has no place for."""
    if variation.varies("added_inertia") and not model.in_fluid:
        raise ArgumentError(
            f"parameters of {model.name!r}: added inertia varies, but no body is in a fluid; give one added inertia or "
            "displaced fluid when the robot is built"
        )


def _parts(variation: Variation) -> dict[str, Any]:
    """Return the parts of a model from before anything varied."""
    return {name: getattr(variation, name) for name in ("bodies", "joints", "frames", "gravity", "contacts")}


def _with_numbers(model: Variation, numbers: Mapping[str, Array], masks: Mapping[str, Mask]) -> dict[str, Any]:
    """Return the parts of a model with one set of numbers in their places."""
    bodies, joints, frames = list(model.bodies), list(model.joints), list(model.frames)

    def rows(field: str) -> list[tuple[int, Array]]:
        varied = np.flatnonzero(masks[field].any(axis=-1)).tolist() if field in masks else []
        return [(k, numbers[field][k]) for k in varied]

    for k, ten in rows("inertia"):
        bodies[k] = replace(bodies[k], **_body(ten))
    for k, more in rows("added_inertia"):
        bodies[k] = replace(bodies[k], added_inertia=tuple(more.tolist()) if more.any() else ())
    for field, term in (*JOINT_TERMS.items(), ("rest", "rest")):
        if field in numbers:
            for k, (start, stop) in enumerate(pairwise(starts(model, field))):
                given: dict[str, Any] = {term: tuple(numbers[field][start:stop].tolist())}
                joints[k] = replace(joints[k], **given)
    if "joint_numbers" in numbers:
        for k, (start, stop) in enumerate(pairwise(starts(model, "joint_numbers"))):
            if stop > start:
                own = tuple(numbers["joint_numbers"][start:stop].tolist())
                joints[k] = replace(joints[k], type=joints[k].type.with_parameters(own))
    followers = [k for k, c in enumerate(joints) if c.mimic is not None]
    for field, name in (("mimic_ratio", "ratio"), ("mimic_offset", "offset")):
        for k, x in zip(followers, numbers.get(field, np.zeros(0)).tolist(), strict=False):
            joints[k] = replace(joints[k], mimic=replace(joints[k].mimic, **{name: x}))  # type: ignore[type-var]
    for k, six in rows("joint_placement"):
        joints[k] = replace(joints[k], placement=_placement(six, joints[k].placement))
    for k, six in rows("frame_placement"):
        frames[k] = replace(frames[k], placement=_placement(six, frames[k].placement))
    gravity = tuple(numbers["gravity"].tolist()) if "gravity" in numbers else model.gravity
    contacts = model.contacts
    if "contact_friction" in numbers and contacts is not None:
        contacts = contacts.with_friction(numbers["contact_friction"].tolist())
    parts = {"bodies": tuple(bodies), "joints": tuple(joints), "frames": tuple(frames)}
    return {**parts, "gravity": gravity, "contacts": contacts}


def _body(ten: Array) -> dict[str, Any]:
    """Return mass, centre and inertia about it of a body, from ten numbers about its origin."""
    m, h, I = float(ten[0]), ten[1:4], ten[4:]
    x, y, z = c = h / m if m else np.zeros(3)
    shift = np.array([y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z])
    return {"mass": m, "com": tuple(c.tolist()), "inertia": tuple((I - m * shift).tolist())}


def _placement(six: Array, own: Placement) -> Placement:
    """Return the placement of a position and a rotation vector; an unchanged rotation keeps its digits."""
    R = exp(six[3:])
    near = np.abs(R - own.R).max() < 1e-14
    return Placement(own.rotation if near else tuple(R.ravel().tolist()), tuple(six[:3].tolist()))
