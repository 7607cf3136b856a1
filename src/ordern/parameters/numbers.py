"""The parameters of a model, and the model with other numbers in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..arguments import Array
from ..joints import Placement
from ..model import Body, Frame, Link, Model, ModelJoint
from ..rotations import exp, log
from .inertias import about_centre, centre, numbers_of
from .names import FREEDOM_FIELDS, Names, names_of
from .record import Parameters

__all__ = ["folded_model", "parameters_of"]

_TERMS = {"joint_friction": "friction"}
"""Names of the terms of joints that differ from those of the parameters."""


def parameters_of(model: Model) -> Parameters:
    """Return the numbers of a model."""
    joints, names = model.joints, names_of(model)
    followed = [c.mimic for c in joints if c.mimic]
    terms = {x: np.array([y for c in joints for y in getattr(c, _TERMS.get(x, x))]) for x in (*FREEDOM_FIELDS, "rest")}
    added = [b.added_inertia or (0.0,) * 21 for b in model.bodies] if names.in_fluid else []
    return Parameters(
        inertia=numbers_of(model.bodies),
        added_inertia=np.array(added, float).reshape(-1, 21),
        **terms,
        joint_numbers=np.array([x for c in joints for x in c.type.parameters]),
        mimic_ratio=np.array([x.ratio for x in followed]),
        mimic_offset=np.array([x.offset for x in followed]),
        joint_placement=_places([c.placement for c in joints]),
        frame_placement=_places([f.placement for f in model.frames]),
        gravity=np.array(model.gravity),
        names=names,
    )


def _places(placements: list[Placement]) -> Array:
    """Return position and rotation vector of placements, (n, 6)."""
    p = np.array([x.position for x in placements]).reshape(-1, 3)
    R = np.array([x.rotation for x in placements]).reshape(-1, 3, 3)
    return np.concatenate([p, log(R, check=False) if len(R) else p], axis=-1)


def folded_model(model: Model, given: Parameters, links: Mapping[str, Body] | None = None) -> Model:
    """Return a model with the parameters of one robot. Parts whose numbers do not change are those of the model.

    `links` are merged links that have changed, by name. Bodies that have changed otherwise lose the list of their
    links, since it is not known which of them has changed.
    """
    own, names = parameters_of(model), given.names
    rows = np.flatnonzero((given.inertia != own.inertia).any(axis=-1)).tolist()
    bodies = list(model.bodies)
    for k, body in _changed_bodies(model, given, rows).items():
        bodies[k] = body
    for k in np.flatnonzero((given.added_inertia != own.added_inertia).any(axis=-1)).tolist():
        bodies[k] = replace(bodies[k], added_inertia=tuple(given.added_inertia[k].tolist()))
    whole = set(rows) - {x.body for x in model.links if x.name in (links or {})}
    return replace(
        model,
        bodies=tuple(bodies),
        joints=tuple(_changed_joints(model, own, given, names)),
        frames=tuple(_changed_frames(model, own, given)),
        gravity=tuple(given.gravity.tolist()),
        links=tuple(_changed_links(model, links or {}, whole)),
    )


def _changed_bodies(model: Model, given: Parameters, rows: list[int]) -> dict[int, Body]:
    """Return the bodies with new inertias, by index."""
    numbers = given.inertia[rows]
    coms, moments = centre(numbers), about_centre(numbers)
    found = {}
    for k, ten, com, inertia in zip(rows, numbers, coms, moments, strict=True):
        body, mass = model.bodies[k], float(ten[0])
        x, y, z = com.tolist() if mass else body.com
        found[k] = replace(body, mass=mass, com=(x, y, z), inertia=tuple(inertia.tolist()))
    return found


def _changed_joints(model: Model, own: Parameters, given: Parameters, names: Names) -> list[ModelJoint]:
    """Return the joints with new terms, types, mimic ratios and placements."""
    joints = list(model.joints)
    index = {c.name: k for k, c in enumerate(joints)}
    for field in (*FREEDOM_FIELDS, "rest", "joint_numbers", "mimic_ratio", "mimic_offset"):
        new, old = getattr(given, field), getattr(own, field)
        for name, part in names.places(field) if not np.array_equal(new, old) else ():
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
    changed: dict[str, Any] = {_TERMS.get(field, field): values}
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


def _changed_links(model: Model, changed: Mapping[str, Body], whole: set[int]) -> list[Link]:
    """Return the links of all bodies but those that have changed as a whole."""
    return [replace(x, own=changed.get(x.name, x.own)) for x in model.links if x.body not in whole]
