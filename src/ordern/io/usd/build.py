"""A robot from a USD stage: all rigid bodies in it, and the joints between them.

Differs: bodies that no joint connects to the world are free by the format. If there is one piece of them and nothing
else, its root is held where the file puts it, unless the robot is built with `floating=True`, as with other formats.
Otherwise each piece has a free joint.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...joints import Composite, Continuous, Cylindrical, Fixed, Free, Joint, Prismatic, Revolute, Spherical, Universal
from ...model import Placement
from ...model.spanning import Edge, carrying
from ..includes import Folder
from ..remarks import Remarks
from ..standing import StandingBuilder
from .joint import WORLD, UsdJoint, read_joint
from .mass import add_body
from .shapes import add_shape
from .stage import Stage, number, triple
from .tree import Tree, span

__all__ = ["build_usd"]

_STRAIGHT = (Revolute, Continuous, Prismatic, Cylindrical)
"""Joints that may be anywhere on their axes."""
_ON_AXIS = 1e-9
"""Distances between an axis and the origin of a body, in m, that count as zero: places are in single precision."""


def build_usd(path: str | os.PathLike[str], root: Folder = None) -> StandingBuilder:
    """Return a robot from a USD file, which may include files of the folder `root`."""
    stage, remarks, looks = Stage(os.fspath(path), root), Remarks(), Remarks()
    prims = [prim for prim in stage.prims if stage.is_body(prim)]
    if not prims:
        why = "the stage has no rigid body: no prim has the PhysicsRigidBodyAPI"
        raise stage.error(stage.stage.GetPseudoRoot(), f"{why}; its files may be missing, or it describes only looks")
    names = _names(prims)
    top = stage.stage.GetDefaultPrim()
    builder = StandingBuilder(str(top.GetName()) if top else Path(path).stem, _gravity(stage))
    builder.source = stage.path
    places = {names[str(prim.GetPath())]: stage.place(prim).at for prim in prims}
    still = [names[str(prim.GetPath())] for prim in prims if _kinematic(stage, prim)]
    found = [prim for prim in stage.prims if prim.IsA(stage.UsdPhysics.Joint)]
    called = _names(found)
    read = [read_joint(stage, prim, called[str(prim.GetPath())], names, remarks) for prim in found]
    series = _in_series([joint for joint in read if joint is not None])
    tree = span(list(places), _articulations(stage, prims, names), still, [first for first, *_ in series])
    if tree.grounded or len(tree.roots) > 1:
        builder.body(WORLD)
        places[WORLD] = Placement()
    for prim in prims:
        name = names[str(prim.GetPath())]
        add_body(builder, stage, prim, name, remarks)
        for part in stage.below(prim):
            add_shape(builder, stage, part, name, places[name], looks)
    _add_roots(builder, tree, still, places, remarks)
    _add_joints(builder, tree, series, remarks)
    for error in stage.faults():
        remarks.add("parts of the stage that are missing", error, stage.path)
    remarks.note(builder)
    looks.note(builder, quiet=True)
    return builder


def _names(prims: Sequence[Any]) -> dict[str, str]:
    """Return names by path: the name that the prim shows, or its path if several have that name."""
    own = {str(prim.GetPath()): str(prim.GetDisplayName() or prim.GetName()) for prim in prims}
    counts = Counter([*own.values(), WORLD])
    return {path: name if counts[name] == 1 else path.lstrip("/") for path, name in own.items()}


def _in_series(joints: Sequence[UsdJoint]) -> list[list[UsdJoint]]:
    """Return the joints, those in series between two bodies in one list."""
    found: dict[tuple[str, ...], list[UsdJoint]] = {}
    for joint in joints:
        key = (joint.parent, joint.child) if joint.serial and isinstance(joint.type, Joint) else (joint.path,)
        found.setdefault(key, []).append(joint)
    return list(found.values())


def _gravity(stage: Stage) -> tuple[float, ...]:
    """Return the gravity of the first scene; by default that of the earth, downward."""
    down = -np.array([float(str(stage.UsdGeom.GetStageUpAxis(stage.stage)) == axis) for axis in "XYZ"])
    scene = next((prim for prim in stage.prims if prim.IsA(stage.UsdPhysics.Scene)), None)
    if scene is None:
        return tuple((9.81 * down).tolist())
    direction = triple(scene, "physics:gravityDirection")
    if direction is not None and direction.any():
        down = direction / np.linalg.norm(direction)
    strength = number(scene, "physics:gravityMagnitude", -math.inf)
    given = strength is not None and 0.0 <= strength < math.inf
    return tuple(((strength * stage.length if given and strength is not None else 9.81) * down).tolist())


def _kinematic(stage: Stage, prim: Any) -> bool:
    return stage.UsdPhysics.RigidBodyAPI(prim).GetKinematicEnabledAttr().Get() is True


def _articulations(stage: Stage, prims: Sequence[Any], names: dict[str, str]) -> list[str]:
    """Return the bodies that are roots of articulations: those marked as such, and the first below other marks."""
    found = []
    for mark in stage.prims:
        if mark.HasAPI(stage.UsdPhysics.ArticulationRootAPI):
            inside = (str(prim.GetPath()) for prim in prims if prim.GetPath().HasPrefix(mark.GetPath()))
            found += [names[path] for path in list(inside)[:1]]
    return found


def _add_roots(
    builder: StandingBuilder, tree: Tree, still: list[str], places: dict[str, Placement], remarks: Remarks
) -> None:
    """Fix bodies that do not move to the world, and add free joints for roots that nothing connects to it."""
    for body in still:
        builder.joint(f"{body}_to_world", Fixed(), WORLD, body, at=places[body])
        remarks.add("held still, because it is kinematic", repr(body), builder.source)
    if WORLD in places:
        for body in tree.roots:
            builder.joint(f"{body}_root_joint", Free(), WORLD, body, at=places[body])
    else:
        (builder.root,) = tree.roots
        builder.root_at = places[builder.root]


def _add_joints(builder: StandingBuilder, tree: Tree, series: list[list[UsdJoint]], remarks: Remarks) -> None:
    leaders = {joint.path: joint.name for k in tree.carry for joint in series[k]}
    for k, backwards in sorted(tree.carry.items()):
        _add_carrying(builder, series[k], backwards, leaders, remarks)
    for joint in (joint for k in tree.loops for joint in series[k]):
        terms = {key: x for key, x in joint.terms.items() if key != "armature"}
        ends, at, child_at = (joint.parent, joint.child), joint.at, joint.child_at
        builder.loop(joint.name, joint.type, *ends, at=at, child_at=child_at, where=builder.source, **terms)
        remarks.add("joints that close loops", repr(joint.name), builder.source)
        if "armature" in joint.terms:
            remarks.add("without its armature, because it closes a loop", repr(joint.name), builder.source)
    driven = [joint.name for k in tree.carry for joint in series[k] if joint.driven]
    if driven:
        builder.actuated = tuple(driven)


def _add_carrying(
    builder: StandingBuilder, joints: list[UsdJoint], backwards: bool, leaders: dict[str, str], remarks: Remarks
) -> None:
    """Add joints of the tree in series; bodies without mass are between them, at the child in the neutral position."""
    outward = joints[::-1] if backwards else joints
    inner = ""
    for k, joint in enumerate(outward):
        type, at, (parent, child) = _carrying(joint, backwards)
        if k + 1 < len(outward):
            builder.body(between := f"{child}_at_{joint.name}", where=builder.source)
            child = between
        if inner:
            parent, at = inner, Placement()
        mimic = None
        if joint.mimic is not None:
            path, ratio, offset = joint.mimic
            mimic = (leaders[path], ratio, offset) if path in leaders else None
            if mimic is None:
                remarks.add("independent, because it mimics no joint of the tree", repr(joint.name), builder.source)
        terms = joint.terms
        if backwards and isinstance(joint.type, (Universal, Composite)):
            terms = {key: x[::-1] for key, x in terms.items()}
        builder.joint(joint.name, type, parent, child, at=at, mimic=mimic, where=builder.source, **terms)
        inner = child
        if backwards:
            remarks.add("joints that carry their parents", repr(joint.name), builder.source)


def _carrying(joint: UsdJoint, backwards: bool) -> tuple[Joint, Placement, tuple[str, str]]:
    """Return a joint as one of the tree: its type in the frame of the body that it carries, its place, and its ends.

    A reversed joint keeps its angles and distances, in reverse order if there are several; the coordinates of a ball
    and the like are of the inverse motion.
    """
    type, at, child_at, ends = joint.type, joint.at, joint.child_at, (joint.parent, joint.child)
    assert isinstance(type, Joint)
    if backwards:
        ends = ends[::-1]
    if backwards and not isinstance(type, (*_STRAIGHT, Fixed)):
        type, at, child_at, backwards = _inverse(type), child_at, at, False
    if isinstance(type, _STRAIGHT):
        far = at if backwards else child_at
        axis = np.array(type.axis)
        along = Placement(position=tuple((-float(far.p @ far.R @ axis) * axis).tolist()))
        at, child_at = at @ along, child_at @ along
    if isinstance(type, (Spherical, Free)):  # their coordinates are along the axes of the body that they move
        turn = Placement(child_at.inverse.rotation)
        at, child_at = at @ turn, child_at @ turn
    at, child_at = (at, _tidy(child_at)) if not backwards else (_tidy(at), child_at)
    edge = Edge(joint.name, type, joint.parent, joint.child, at, child_at, {}, None, "")
    made, place = carrying(edge, backwards)
    return made, place, ends


def _inverse(joint: Joint) -> Joint:
    """Return the joint of the inverse motion: parts in series, about the opposite axes, in reverse order."""
    if isinstance(joint, Universal):
        return Universal(_opposite(joint.axis2), _opposite(joint.axis))
    if isinstance(joint, Composite):
        return Composite(tuple(_inverse(part) for part, _ in reversed(joint.parts)))
    return replace(joint, axis=_opposite(joint.axis)) if isinstance(joint, _STRAIGHT) else joint


def _opposite(axis: tuple[float, float, float]) -> tuple[float, float, float]:
    return -axis[0], -axis[1], -axis[2]


def _tidy(at: Placement) -> Placement:
    """Return a placement without a distance that is only rounding."""
    return Placement(at.rotation, (0.0, 0.0, 0.0)) if np.abs(at.p).max() <= _ON_AXIS else at
