"""A robot from an SDF document.

The names of parts are those of the file; in a nested model, and where a document has several models, they begin with
the model's: `arm::gripper::finger`.

Differs: a model that is in one piece and not connected to the world is free to move by the format. Here its root link
is held where the file puts it, unless the robot is built with `floating=True`, as with other formats. Where there are
several pieces, or some are connected to the world, each of the others has a free joint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...joints import Fixed, Free
from ...model import ModelBuilder, Placement
from ..grammar import Examined, note_unread
from ..includes import Folder
from ..remarks import Remarks
from ..standing import StandingBuilder
from ..xml import Element
from .document import read_document
from .gearbox import add_gearbox
from .grammar import GRAMMAR
from .joint import SdfJoint, coefficients, joint_type, mimic_of, read_joint
from .link import add_link
from .motor import armature_of, gear_of, has_motor
from .scope import MODEL, WORLD, Scope
from .text import numbers
from .tree import Tree, span

__all__ = ["build_sdf"]


@np.errstate(over="ignore", invalid="ignore")  # placements that are not finite are refused
def build_sdf(root: Element, *, cut: Sequence[str] = (), folder: Folder = None) -> ModelBuilder:
    """Return a robot from the root element of an SDF document; the joints named in `cut` close loops.

    Files are included from `folder` and below; see `includes`.
    """
    examined = Examined()
    GRAMMAR.examine([root], examined)
    remarks = Remarks()
    world = read_document(root, remarks, folder)
    GRAMMAR.examine(_included(world), examined)
    scopes = list(_scopes(world))
    name = world.name or WORLD if len(world.models) > 1 else next(iter(world.models))
    builder = StandingBuilder(name, _gravity(world))
    builder.source = root.source
    places = {
        scope.full(link): scope.at @ scope.place(link, element, scope.what)
        for scope in scopes
        for link, element in scope.links.items()
    }
    if not places:
        raise world.element.error(f"{name!r} has no <link>")
    joints = [read_joint(scope, element) for scope in scopes for element in scope.joints.values()]
    moving = [joint for joint in joints if joint.kind != "gearbox"]
    static = [scope.full(link) for scope in scopes if scope.static for link in scope.links]
    tree = span(_canonical_first(world, places), static, moving, cut)
    if tree.grounded or len(tree.roots) > 1:
        builder.body(WORLD)
        places[WORLD] = Placement()
    for scope in scopes:
        _refuse_extensions(scope)
        for link in scope.links.values():
            add_link(builder, scope, link, remarks)
    _add_roots(builder, tree, static, places)
    _add_joints(builder, tree, moving, places, remarks)
    for joint in joints:
        if joint.kind == "gearbox":
            add_gearbox(builder, joint, [moving[k] for k in tree.carry])
    for scope in scopes:
        _add_frames(builder, scope, places)
    remarks.note(builder)
    examined.repeats.note(builder)
    note_unread(builder, examined.in_order())
    return builder


def _included(scope: Scope) -> Iterator[Element]:
    """Yield the models that come from other files."""
    for model in scope.models.values():
        if model.included:
            yield model.element
        yield from _included(model)


def _scopes(scope: Scope) -> Iterator[Scope]:
    """Yield a scope and all scopes in it, outer ones first, each placed in the world."""
    yield scope
    for name, model in scope.models.items():
        model.at = scope.at @ scope.place(name, model.element, model.what)
        yield from _scopes(model)


def _canonical_first(world: Scope, places: dict[str, Placement]) -> list[str]:
    """Return all links, the canonical links of models first."""
    chosen = [
        m.link_of(MODEL, m.element, m.what) for m in world.models.values() if not m.static and (m.links or m.models)
    ]
    return list(dict.fromkeys([name for name in chosen if name != WORLD] + list(places)))


def _gravity(world: Scope) -> tuple[float, ...]:
    """Return the world's gravity; up to version 1.4 it is a part of <physics>."""
    for element in (world.element, *world.element.all("physics")):
        gravity = element.only("gravity", world.what)
        if gravity is not None and gravity.text:
            return numbers(gravity, (3,), world.what)
    return (0.0, 0.0, -9.81)


def _refuse_extensions(scope: Scope) -> None:
    for element in scope.element.all("drake:joint"):
        raise element.error("<drake:joint> is an extension of SDF that is not read; use <joint>")


def _add_roots(builder: StandingBuilder, tree: Tree, static: list[str], places: dict[str, Placement]) -> None:
    """Fix static links to the world, and add free joints for roots that nothing connects to it."""
    for link in static:
        builder.joint(f"{link}_to_world", Fixed(), WORLD, link, at=places[link])
    if WORLD in places:
        for link in tree.roots:
            builder.joint(f"{link}_root_joint", Free(), WORLD, link, at=places[link])
    else:
        (builder.root,) = tree.roots
        builder.root_at = places[builder.root]


def _add_joints(
    builder: ModelBuilder, tree: Tree, joints: list[SdfJoint], places: dict[str, Placement], remarks: Remarks
) -> None:
    leaders = {joints[k].name for k in tree.carry if len(joints[k].axes) == 1}
    for k, reverse in sorted(tree.carry.items()):
        joint = joints[k]
        where = joint.element.where
        parent, child = (joint.child, joint.parent) if reverse else (joint.parent, joint.child)
        type, at = joint_type(joint, places[child], reverse=reverse), places[parent].inverse @ places[child]
        terms, mimic = coefficients(joint, remarks, reverse=reverse), mimic_of(joint, leaders, remarks)
        if len(joint.axes) == 1:
            terms["armature"] = armature_of(joint)
        builder.joint(joint.name, type, parent, child, at=at, where=where, mimic=mimic, **terms)
        if len(joint.axes) == 1 and has_motor(joint):
            builder.actuator(joint.name, "motor", joint.name, [gear_of(joint)], where=where)
        if reverse:
            remarks.add("joints that carry their parents", repr(joint.name), where)
    for k in tree.loops:
        joint = joints[k]
        where = joint.element.where
        type, ends = joint_type(joint, joint.at), (joint.parent, joint.child)
        at, child_at = (places[end].inverse @ joint.at for end in ends)
        builder.loop(joint.name, type, *ends, at=at, child_at=child_at, where=where, **coefficients(joint, remarks))
        mimic_of(joint, set(), remarks)
        remarks.add("joints that close loops", repr(joint.name), where)
        if armature_of(joint):
            remarks.add("without the inertia of its rotor, because it closes a loop", repr(joint.name), where)


def _add_frames(builder: ModelBuilder, scope: Scope, places: dict[str, Placement]) -> None:
    for own, element in scope.frames.items():
        name = scope.full(own)
        what = f"frame {name!r}"
        link = scope.link_of(own, element, what)
        if link in places:  # without a body for the world, frames on the world are left out
            at = scope.at @ scope.place(own, element, what)
            builder.frame(name, link, places[link].inverse @ at, where=element.where)
