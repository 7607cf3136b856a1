"""The parameters of a model, and the model with other numbers in their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..arguments import Array
from ..joints import Placement
from ..model import Body, Frame, Link, Model, ModelJoint
from ..model.parameter_fields import JOINT_TERMS, own_numbers
from ..rotations import exp
from .inertias import about_centre, centre
from .names import FREEDOM_FIELDS, names_of
from .record import Parameters

__all__ = ["changed_links", "folded_model", "parameters_of"]


def parameters_of(model: Model) -> Parameters:
    """Return the numbers of a model, with the leading shape of those that vary."""
    names, found = names_of(model), own_numbers(model)
    if model.variation is not None:
        found |= model.variation.full()
    if not names.in_fluid:
        found["added_inertia"] = np.zeros(names.core_shape("added_inertia"))
    return Parameters(**found, names=names)


def folded_model(model: Model, own: Parameters, given: Parameters) -> Model:
    """Return a model with the parameters of one robot, in the place of its own.

    Parts whose numbers do not change are those of the model.
    """
    bodies = list(model.bodies)
    for k, body in _changed_bodies(model, own, given).items():
        bodies[k] = body
    for k in np.flatnonzero((given.added_inertia != own.added_inertia).any(axis=-1)).tolist():
        bodies[k] = replace(bodies[k], added_inertia=tuple(given.added_inertia[k].tolist()))
    return replace(
        model,
        bodies=tuple(bodies),
        joints=tuple(_changed_joints(model, own, given)),
        frames=tuple(_changed_frames(model, own, given)),
        gravity=tuple(given.gravity.tolist()),
        contacts=None if model.contacts is None else model.contacts.with_friction(given.contact_friction.tolist()),
    )


def changed_links(
    model: Model, now: Parameters, given: Parameters, changed: Mapping[str, Body | None], frames: Iterable[Frame]
) -> tuple[Link, ...]:
    """Return the links of a model with other parameters than now, of one set.

    `changed` are the links whose own numbers change, by name, and `frames` those of the new model, which place the
    links that are frames only. Bodies that change otherwise lose the list of their links, since it is not known which
    of them changes.
    """
    differs = (given.inertia != now.inertia).any(axis=-1)
    rows = set(np.flatnonzero(differs.any(axis=tuple(range(differs.ndim - 1)))).tolist())
    whole = rows - {x.body for x in model.links if x.name in changed}
    places = {f.name: f.placement for f in frames}
    found = (
        replace(x, placement=places.get(x.name, x.placement)) if x.bare else x
        for x in model.links
        if x.body not in whole
    )
    return tuple(replace(x, own=changed.get(x.name) or x.own, bare=x.bare and x.name not in changed) for x in found)


def _changed_bodies(model: Model, own: Parameters, given: Parameters) -> dict[int, Body]:
    """Return the bodies with new inertias, by index."""
    rows = np.flatnonzero((given.inertia != own.inertia).any(axis=-1)).tolist()
    numbers = given.inertia[rows]
    coms, moments = centre(numbers), about_centre(numbers)
    found = {}
    for k, ten, com, inertia in zip(rows, numbers, coms, moments, strict=True):
        body, mass = model.bodies[k], float(ten[0])
        x, y, z = com.tolist() if mass else body.com
        found[k] = replace(body, mass=mass, com=(x, y, z), inertia=tuple(inertia.tolist()))
    return found


def _changed_joints(model: Model, own: Parameters, given: Parameters) -> list[ModelJoint]:
    """Return the joints with new terms, types, mimic ratios and placements."""
    joints = list(model.joints)
    index = {c.name: k for k, c in enumerate(joints)}
    for field in (*FREEDOM_FIELDS, "rest", "joint_numbers", "mimic_ratio", "mimic_offset"):
        new, old = getattr(given, field), getattr(own, field)
        for name, part in given.names.places(field) if not np.array_equal(new, old) else ():
            if not np.array_equal(new[part], old[part]):
                k, values = index[name], tuple(new[part].tolist())
                joints[k] = _with_term(joints[k], field, values)
    for k in np.flatnonzero((given.joint_placement != own.joint_placement).any(axis=-1)).tolist():
        at = _placed(joints[k].placement, own.joint_placement[k], given.joint_placement[k])
        joints[k] = replace(joints[k], placement=at)
    return joints


def _with_term(joint: ModelJoint, field: str, values: tuple[float, ...]) -> ModelJoint:
    """Return a joint with other numbers in one field of the parameters."""
    if field == "joint_numbers":
        return replace(joint, type=joint.type.with_parameters(values))
    if field.startswith("mimic"):
        assert joint.mimic is not None
        new: dict[str, Any] = {field.removeprefix("mimic_"): values[0]}
        return replace(joint, mimic=replace(joint.mimic, **new))
    changed: dict[str, Any] = {JOINT_TERMS.get(field, field): values}
    return replace(joint, **changed)


def _changed_frames(model: Model, own: Parameters, given: Parameters) -> list[Frame]:
    """Return the frames with new placements."""
    frames = list(model.frames)
    for k in np.flatnonzero((given.frame_placement != own.frame_placement).any(axis=-1)).tolist():
        at = _placed(frames[k].placement, own.frame_placement[k], given.frame_placement[k])
        frames[k] = replace(frames[k], placement=at)
    return frames


def _placed(at: Placement, old: Array, new: Array) -> Placement:
    """Return the placement of six numbers; its rotation is exactly the old one if only the position has changed."""
    if np.array_equal(old[3:], new[3:]):
        return replace(at, position=tuple(new[:3].tolist()))
    return Placement.of(exp(new[3:]), new[:3])
