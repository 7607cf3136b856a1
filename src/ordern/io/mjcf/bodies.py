"""Bodies and joints: from the tree of the file to that of a model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arguments import Array
from ...errors import ModelError
from ...joints import Fixed, Free, Joint, Prismatic, Revolute, Spherical
from ...model import ModelBuilder, Placement
from ...rotations import about, quaternion_from_matrix
from ..attributes import bound, flag, keyword, number, required, vector
from ..remarks import Remarks
from ..solids import Mass
from ..xml import Element
from .contact import paired_geoms
from .document import Settings
from .fluid import body_drags
from .geometry import add_shapes, geom_of
from .nodes import BodyNode, Part
from .orientation import fromto, placed, shifted
from .tree import Tree, unique

__all__ = ["Drives", "add_bodies", "joint_kind", "reference", "site_placement"]

Drives = dict[str, dict[str, float]]
_ZERO = (0.0, 0.0, 0.0)
_KINDS = ("hinge", "slide", "ball", "free")


def add_bodies(builder: ModelBuilder, tree: Tree, masses: dict[str, Mass], drives: Drives) -> None:
    """Add all bodies, joints, frames and shapes of a document. `drives` are the terms of joints by actuators."""
    remarks, names, paired = Remarks(), Remarks(), paired_geoms(tree)
    builder.body(tree.world.name, where=tree.world.element.where)
    for body in tree.bodies:
        try:
            if body is not tree.world:
                _add_body(builder, body, masses[body.name], tree, drives, remarks)
            for part in body.geoms:
                add_shapes(builder, geom_of(part, body), part, body, paired)
        except ModelError as e:
            raise e if e.where else body.element.error(f"{body.what}: {e}") from None
    for body in tree.bodies:
        for part in body.sites:
            if part.name:
                _add_site(builder, part, body, tree, names)
    remarks.note(builder)
    names.note(builder, quiet=True)


def _add_site(builder: ModelBuilder, part: Part, body: BodyNode, tree: Tree, names: Remarks) -> None:
    where, name = part.element.where, part.name
    if name in tree.names:
        name = f"{name}_site"
        names.add("renamed, because another frame has the name of the site", repr(name), where)
    builder.frame(unique(name, tree.names), body.name, site_placement(part), where)


def site_placement(part: Part) -> Placement:
    """Return the placement of a site in its body."""
    what, e = f"site {part.name!r}", part.element
    at = fromto(e, what)[0] if "fromto" in e.attributes else placed(e, part.document.settings, what)
    return part.at @ part.scale.of_placement(at)


def _add_body(builder: ModelBuilder, body: BodyNode, mass: Mass, tree: Tree, drives: Drives, remarks: Remarks) -> None:
    """Add a body and its joints, in their order. `at` places the next body in the one before it."""
    assert body.parent is not None
    element, before, at = body.element, body.parent.name, body.at
    drags = body_drags(body, mass)
    inertia = {"mass": mass.m, "com": mass.com.tolist(), "inertia": mass.I, "drag": drags}
    _note_mocap(body, tree, remarks)
    for part in body.joints:
        what = f"joint {part.name!r}"
        with np.errstate(all="ignore"):  # placements that are not finite are refused
            type, anchor = _joint_type(part, what)
        limits = _limits(part, type, what)
        _note_reversed(part.element, limits, what, remarks)
        if isinstance(type, Free):
            _check_free(body, tree, part, what)
            at = Placement()  # its position is that of the body in the world
            limits["rest"] = (*quaternion_from_matrix(body.pose.R).tolist(), *body.pose.position)
            if limits.get("stiffness"):
                why = "which MuJoCo applies along the axes of the world; here it applies along those of the body"
                remarks.add(f"free joints with stiffness, {why}", repr(part.name), part.element.where)
        else:
            at = at @ shifted(anchor) @ _back(type, reference(part, what))
        for key, x in drives.get(part.name, {}).items():
            if key != "effort_limit":
                limits[key] = limits.get(key, 0.0) + x
            elif type.nv == 1:
                limits[key] = min(x, limits.get(key, math.inf))
        is_last = part is body.joints[-1] and not anchor.any()
        here = body.name if is_last else unique(f"{body.name}_at_{part.name}", tree.names)
        builder.body(here, where=element.where, **(inertia if is_last else {}))
        builder.joint(part.name, type, before, here, at=at, where=part.element.where, **limits)
        before, at = here, shifted(-anchor)
    if before != body.name:
        builder.body(body.name, where=element.where, **inertia)
        name = unique(f"{body.name}_fixed", tree.joint_names)
        builder.joint(name, Fixed(), before, body.name, at=at, where=element.where)


def _note_mocap(body: BodyNode, tree: Tree, remarks: Remarks) -> None:
    if flag(body.element, "mocap", False, body.what):
        where = body.element.where
        if body.joints or body.parent is not tree.world:
            raise ModelError(f"{body.what} is a mocap body; expected a child of the world without joints", where)
        remarks.add("moved by motion capture in MuJoCo, and fixed to the world here", body.what, where)


def _check_free(body: BodyNode, tree: Tree, part: Part, what: str) -> None:
    if body.parent is not tree.world:
        raise part.element.error(f"{what} is free, but {body.what} is not a child of the world")
    if len(body.joints) > 1:
        raise part.element.error(f"{what} is free, but {body.what} has other joints too; expected one")


def joint_kind(element: Element, what: str) -> str:
    """Return the type of a joint in the words of MJCF."""
    return "free" if element.tag == "freejoint" else keyword(element, "type", _KINDS, "hinge", what)


def _joint_type(part: Part, what: str) -> tuple[Joint, Array]:
    """Return the type of a joint, its axis in the axes of the body, and the point that it turns about."""
    e, R = part.element, part.at.R
    kind = joint_kind(e, what)
    if kind == "free":
        return Free(), np.zeros(3)
    anchor = part.at.p + part.scale.length * (R @ np.array(vector(e, "pos", 3, what, _ZERO)))
    if kind == "ball":
        return Spherical(), anchor
    x, y, z = (R @ np.array(vector(e, "axis", 3, what, (0.0, 0.0, 1.0)))).tolist()
    try:
        type = Revolute((x, y, z)) if kind == "hinge" else Prismatic((x, y, z))
    except ModelError as error:
        raise e.error(f"{what}: {error}") from None
    # A slide has no place, and a hinge may be anywhere on its axis.
    axis = np.array(type.axis)
    beside = anchor - (axis @ anchor) * axis
    on_axis = kind == "slide" or math.hypot(*beside) <= 1e-12 * math.hypot(*anchor)
    return type, np.zeros(3) if on_axis else anchor


def reference(part: Part, what: str) -> float:
    """Return the position of a joint in the pose of the file; zero for a ball."""
    ref = number(part.element, "ref", what, 0.0)
    kind = joint_kind(part.element, what)
    return part.document.settings.angle(ref) if kind == "hinge" else part.scale.length * ref if kind == "slide" else 0.0


def _back(type: Joint, ref: float) -> Placement:
    """Return the motion of a joint from its reference position to zero."""
    if isinstance(type, Revolute) and ref:
        return Placement.of(about(type.axis, -ref), _ZERO)
    if isinstance(type, Prismatic) and ref:
        return shifted(-ref * np.array(type.axis))
    return Placement()


def _limits(part: Part, type: Joint, what: str) -> dict[str, Any]:
    """Return limits and coefficients of a joint, as arguments of the builder."""
    e, document = part.element, part.document
    if e.tag == "freejoint":
        return {}
    settings, limits = document.settings, dict[str, Any]()
    scalar, turns = isinstance(type, (Revolute, Prismatic)), isinstance(type, Revolute)
    for attribute, key in (("armature", "armature"), ("frictionloss", "friction")):
        if attribute in e.attributes:
            limits[key] = number(e, attribute, what)
    for key in ("damping", "stiffness"):
        if coefficients := vector(e, key, range(1, 4), what, ()):
            limits[key] = coefficients[0]
            if any(coefficients[1:]):
                document.unread.add(f"non-linear {key} of <joint>")
    if scalar and "springref" in e.attributes:
        rest = number(e, "springref", what)
        limits["rest"] = settings.angle(rest) if turns else rest
    if scalar and _limited(e, "range", "limited", what, settings):
        low, high = (settings.angle(x) if turns else x for x in vector(e, "range", 2, what))
        limits["lower"], limits["upper"] = bound(low), bound(high)
    elif isinstance(type, Spherical) and e.attributes.get("limited", "auto") != "false" and "range" in e.attributes:
        document.unread.add("range of ball joints")
    if scalar and _limited(e, "actuatorfrcrange", "actuatorfrclimited", what, settings):
        limits["effort_limit"] = max(map(abs, vector(e, "actuatorfrcrange", 2, what)))
    kind = joint_kind(e, what)
    return {term: x * part.scale.of_term(term, kind) for term, x in limits.items()}


def _note_reversed(e: Element, limits: dict[str, Any], what: str, remarks: Remarks) -> None:
    low, high = vector(e, "range", 2, what, _ZERO[:2])
    if low > high and "lower" not in limits and e.attributes.get("limited", "auto") == "auto":
        why = "without limits, as in MuJoCo, because the larger one is given first"
        remarks.add(why, f"{what} with range {low:g} to {high:g}", e.where)


def _limited(e: Element, attribute: str, switch: str, what: str, settings: Settings) -> bool:
    """Return whether a range applies: as its switch says or, if that is "auto", if there is a range."""
    limited = keyword(e, switch, ("false", "true", "auto"), "auto", what)
    low, high = vector(e, attribute, 2, what, (0.0, 0.0))
    if limited == "auto" and not settings.autolimits and attribute in e.attributes:
        why = f'{what} has {attribute} but not {switch}, which autolimits="false" demands'
        raise e.error(f'{why}; expected {switch}="true" or "false"')
    if limited == "true" and not low < high:
        required(e, attribute, what)
        raise e.error(f"{what} has {attribute} {low:g} to {high:g}; expected the lower limit first")
    return limited == "true" or (limited == "auto" and low < high)
