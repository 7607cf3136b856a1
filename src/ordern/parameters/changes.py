"""Changes of the parameters of a robot by the names of bodies, links, joints and frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import AnyArray, Array, choice, pose, real
from ..errors import ArgumentError, unknown_name
from ..joints import Placement
from ..model import Body, Model
from ..records import dataclass
from ..rotations import log
from .bodies import varied_bodies
from .names import FREEDOM_FIELDS
from .record import Parameters
from .rows import Change, changed, in_one_piece, upper_numbers, value_of

__all__ = ["JOINT_FIELDS", "Changes", "Mask", "changed_parameters", "placed_rows"]

Mask = dict[str, NDArray[np.bool_]]
"""For each parameter that varies, in the shape of one robot's: True for the numbers that do."""
JOINT_FIELDS = (*FREEDOM_FIELDS, "rest", "joint_numbers", "mimic_ratio", "mimic_offset")


@dataclass(frozen=True, slots=True)
class Changes:
    """The changed parameters of a robot."""

    values: dict[str, Array]
    """The arrays of the fields that have changed."""
    mask: Mask
    links: dict[str, Body | None]
    """Merged links whose inertia has changed; None for one with sets of numbers."""


def changed_parameters(model: Model, now: Parameters, given: Mapping[str, Change]) -> Changes:
    """Return what changes make of the present parameters."""
    values: dict[str, Array] = {}
    mask: Mask = {}
    links: dict[str, Body | None] = {}
    of_bodies = {x: given[x] for x in ("mass", "com", "inertia") if x in given}
    if of_bodies:
        found = varied_bodies(model, now.inertia, of_bodies)
        values["inertia"], mask["inertia"], links = found.inertia, found.mask, found.links
    if "added_inertia" in given:
        values["added_inertia"], mask["added_inertia"] = _added(model, now, given["added_inertia"])
    for field in (*JOINT_FIELDS, "contact_friction"):
        if field in given:
            values[field], mask[field] = _terms(model, now, field, given[field])
    if "placement" in given:
        for name in links.keys() & set(given["placement"] if isinstance(given["placement"], Mapping) else ()):
            raise ArgumentError(
                f"vary: link {name!r} gets a mass and another place in one call. Vary its placement first, with one "
                "set of numbers, and its mass after that"
            )
        for field, (numbers, which) in _places(model, now, given["placement"]).items():
            values[field], mask[field] = numbers, which
    if "gravity" in given:
        numbers = real(value_of(given["gravity"], now.gravity, "gravity"), "gravity", (..., 3))
        if numbers.shape[-1:] != (3,):
            raise ArgumentError(f"gravity has shape {numbers.shape}; expected (..., 3)")
        values["gravity"], mask["gravity"] = numbers, np.ones(3, bool)
    exact = {x: np.where(mask[x], numbers, getattr(now, x)) for x, numbers in values.items()}
    return Changes(exact, mask, links)


def _added(model: Model, now: Parameters, change: Change) -> tuple[Array, NDArray[np.bool_]]:
    """Return new added inertias (..., n, 21), and which numbers vary."""
    if not now.names.in_fluid:
        raise ArgumentError(
            f"added_inertia: no body of {model.name!r} is in a fluid; build the robot with an added inertia, and vary "
            "it then"
        )
    places = {name: k for k, name in enumerate(now.names.bodies)}
    for name in change if isinstance(change, Mapping) else ():
        choice("body", name, places, model.name)
    rows = changed("added_inertia", change, now.added_inertia, (21,), places, upper_numbers)
    return rows.numbers, np.repeat(rows.given[:, None], 21, axis=1)


def _terms(model: Model, now: Parameters, field: str, change: Change) -> tuple[Array, NDArray[np.bool_]]:
    """Return new numbers (..., N) of one field of the joints, or of contacts, and which of them vary."""
    places: dict[str, int | slice] = {
        name: part.start if part.stop - part.start == 1 else part for name, part in now.names.places(field)
    }
    if not places:
        what = "contact" if field == "contact_friction" else "joint"
        raise ArgumentError(f"{field}: no {what} of {model.name!r} has such a number")
    for name in change if isinstance(change, Mapping) else ():
        if name not in places:
            hint = model.constraint_hint(name)
            if any(c.name == name for c in model.joints):
                hint = f"Joint {name!r} has no such number"
            kind = "contact" if field == "contact_friction" else "joint"
            raise unknown_name(f"{kind} of the parameter {field!r}", name, places, model.name, hint)
    rows = changed(field, change, getattr(now, field), (), places)
    return rows.numbers, rows.given


def _places(model: Model, now: Parameters, change: Change) -> dict[str, tuple[Array, NDArray[np.bool_]]]:
    """Return new placements of joints and frames that are named, and which of their numbers vary."""
    if not isinstance(change, Mapping):
        raise ArgumentError(
            "placement: give a dictionary by the names of joints and frames; `with_parameters` takes arrays for all, "
            "joint_placement and frame_placement"
        )
    pieces: dict[str, list[tuple[Any, Array, int]]] = {}
    mask: Mask = {}
    for name, value in change.items():
        field, rows = placed_rows(model, name)
        numbers, count = _place_numbers(value, getattr(now, field)[..., rows[0], :], f"placement of {name!r}")
        for row in rows:
            pieces.setdefault(field, []).append(((..., row, slice(count)), numbers, 1))
            mask.setdefault(field, np.zeros(now.names.core_shape(field), bool))[row, :count] = True
    return {x: (in_one_piece("placement", getattr(now, x), pieces[x], 2), mask[x]) for x in pieces}


def placed_rows(model: Model, name: Any) -> tuple[str, list[int]]:
    """Return the field of placements, and the rows in it, that the name of a joint or frame stands for."""
    joints = {c.name: k for k, c in enumerate(model.joints)}
    frames = {f.name: k for k, f in enumerate(model.frames)}
    field = _field(model, name, joints, frames)
    if field == "joint_placement":
        return field, [joints[name]]
    return field, [frames[name], *_fixed_joint(model, name, frames)]


def _fixed_joint(model: Model, name: str, frames: Mapping[str, int]) -> list[int]:
    """Return the frame of the fixed joint of a bare link, which moves with the frame of the link."""
    own, others = model.frames[frames[name]], {b.name for b in model.bodies} | {x.name for x in model.links}
    found = [frames[x.joint] for x in model.links if x.bare and x.name == name and x.joint in frames.keys() - others]
    return [k for k in found if model.frames[k] == replace(own, name=model.frames[k].name)]


def _field(model: Model, name: Any, joints: Mapping[str, int], frames: Mapping[str, int]) -> str:
    """Return whether a name is that of a joint or of a frame that can be placed elsewhere."""
    fixed = {name for x in model.links for name in (x.name, x.joint)}
    bodies = {b.name: c.name for c, b in zip(model.joints, model.bodies, strict=True)}
    if name in joints:
        if name in frames and name not in {*fixed, *bodies, model.base}:
            raise ArgumentError(
                f"placement: {name!r} is the name of a joint and of a frame; `with_parameters` takes joint_placement "
                "and frame_placement apart"
            )
        return "joint_placement"
    if name not in frames:
        raise unknown_name("joint or frame", name, [*joints, *frames], model.name, model.constraint_hint(name))
    if name in bodies:
        raise ArgumentError(f"placement: {name!r} is a body; vary the placement of its joint, {bodies[name]!r}")
    bare = {x.joint: x.name for x in model.links if x.bare}
    if name in bare.values():
        return "frame_placement"
    if name in bare:
        raise ArgumentError(
            f"placement: the fixed joint {name!r} was merged; vary the placement of its link, {bare[name]!r}, in "
            "the frame of the body that it is part of"
        )
    if name in fixed or name in (model.base, "world"):
        raise ArgumentError(
            f"placement: a fixed joint merged {name!r} into another body, and what is fixed to it would have to move "
            "with it. Load the robot with merge=False, and vary the placement of the fixed joint"
            if name in fixed
            else f"placement: {name!r} is the ground; it does not move"
        )
    return "frame_placement"


def _place_numbers(value: Any, now: Array, what: str) -> tuple[AnyArray, int]:
    """Return a position (..., 3), or position and rotation vector (..., 6); and how many numbers these are."""
    value = value_of(value, now, what)
    given = value.matrix if isinstance(value, Placement) else real(value, what)
    if given.shape[-2:] == (4, 4):
        T = pose(given, what, batch=True)
        return np.concatenate([T[..., :3, 3], log(T[..., :3, :3])], axis=-1), 6
    if given.shape[-1:] in ((3,), (6,)):
        return given, given.shape[-1]
    raise ArgumentError(
        f"{what} has shape {given.shape}; expected a position (..., 3), a position and a rotation vector (..., 6), or "
        "a pose (..., 4, 4)"
    )
