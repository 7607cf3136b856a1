"""Joints: the bodies that they connect, where, and the motion between them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...joints import (
    Closure,
    Composite,
    Continuous,
    Cylindrical,
    Distance,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from ...model import Placement
from ...records import dataclass
from ..remarks import Remarks
from ..standing import WORLD
from .stage import Stage, fault_of, number, only_target, quaternion, schemas, triple
from .terms import terms_of

__all__ = ["WORLD", "UsdJoint", "read_joint"]

_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
_FREEDOMS = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
"""The freedoms of a joint without a type of its own; limits lock some of them."""


@dataclass(frozen=True, slots=True, eq=False)
class UsdJoint:
    """A joint as the file has it, in SI units."""

    name: str
    path: str
    type: Closure
    parent: str
    child: str
    at: Placement
    """The frame of the joint on the parent."""
    child_at: Placement
    terms: Mapping[str, Any]
    excluded: bool
    """True if the file leaves it out of the articulation, so that it closes a loop."""
    driven: bool
    """True if it has a drive."""
    mimic: tuple[str, float, float] | None
    """The path of the joint that it follows, ratio and offset."""
    serial: bool = False
    """True if several such joints between two bodies are in series, in their order, as in files from MuJoCo."""


def read_joint(stage: Stage, prim: Any, name: str, bodies: Mapping[str, str], remarks: Remarks) -> UsdJoint | None:
    """Read a joint; None if it is switched off, or does not bind. `bodies` has the names of bodies by path."""
    joint = stage.UsdPhysics.Joint(prim)
    if joint.GetJointEnabledAttr().Get() is False:
        remarks.add("joints that are switched off", repr(name), stage.path)
        return None
    ends = [_end(stage, prim, k, bodies) for k in (0, 1)]
    if ends[0][0] == ends[1][0]:
        raise stage.error(prim, f"it connects {ends[0][0]!r} with itself")
    type, freedoms = _type(stage, prim, remarks)
    if type is None:
        return None
    terms, driven = terms_of(stage, prim, type, freedoms, remarks)
    (parent, at), (child, child_at) = ends
    excluded = joint.GetExcludeFromArticulationAttr().Get() is True
    mimic = _mimic(prim, bool(freedoms) and freedoms[0].startswith("rot"), stage.length) if len(freedoms) == 1 else None
    path = str(prim.GetPath())
    serial = "MjcJointAPI" in schemas(prim)
    return UsdJoint(name, path, type, parent, child, at, child_at, terms, excluded, driven, mimic, serial)


def _end(stage: Stage, prim: Any, k: int, bodies: Mapping[str, str]) -> tuple[str, Placement]:
    """Return the body at one end of a joint, and the frame of the joint on it."""
    joint = stage.UsdPhysics.Joint(prim)
    p, rotation = triple(prim, f"physics:localPos{k}"), f"physics:localRot{k}"
    position = np.zeros(3) if p is None else p * stage.length
    path = only_target(prim, joint.GetBody1Rel() if k else joint.GetBody0Rel())
    if path is None:
        return WORLD, quaternion(prim, rotation, position)
    target = stage.stage.GetPrimAtPath(path)
    if not target:
        raise stage.error(prim, f"its physics:body{k} is {path}, which does not exist")
    here = stage.place(target)
    local = quaternion(prim, rotation, position * here.scale)
    body = stage.body_of(target)
    if body is None:
        return WORLD, here.at @ local
    return bodies[str(body.GetPath())], stage.place(body).at.inverse @ here.at @ local


def _type(stage: Stage, prim: Any, remarks: Remarks) -> tuple[Closure | None, tuple[str, ...]]:
    """Return the motion that a joint allows, and its freedoms, one for each coordinate; none if these are no angles."""
    physics = stage.UsdPhysics
    if prim.IsA(physics.RevoluteJoint):
        axis = str(physics.RevoluteJoint(prim).GetAxisAttr().Get())
        limits = (number(prim, f"physics:{key}Limit", math.inf) for key in ("lower", "upper"))
        bounded = any(math.isfinite(x) for x in limits if x is not None)
        return (Revolute if bounded else Continuous)(_axis(prim, axis)), (f"rot{axis}",)
    if prim.IsA(physics.PrismaticJoint):
        axis = str(physics.PrismaticJoint(prim).GetAxisAttr().Get())
        return Prismatic(_axis(prim, axis)), (f"trans{axis}",)
    if prim.IsA(physics.FixedJoint):
        return Fixed(), ()
    if prim.IsA(physics.SphericalJoint):
        cone = [number(prim, f"physics:coneAngle{k}Limit", -1.0) for k in (0, 1)]
        if any(x is not None and x >= 0.0 for x in cone):
            remarks.add("ball joints whose cone of motion is not read", repr(str(prim.GetName())), stage.path)
        return Spherical(), ()
    if prim.IsA(physics.DistanceJoint):
        return _rod(stage, prim, remarks), ()
    return _of_freedoms(stage, prim, remarks)


def _axis(prim: Any, axis: str) -> tuple[float, float, float]:
    if axis not in _AXES:
        raise fault_of(prim, f"physics:axis must be X, Y or Z, not {axis!r}")
    return _AXES[axis]


def _rod(stage: Stage, prim: Any, remarks: Remarks) -> Closure | None:
    """Return the closure of a joint that limits a distance; None unless it keeps the distance as it is."""
    least, most = (number(prim, f"physics:{key}Distance", -1.0) or 0.0 for key in ("min", "max"))
    if least != most or least < 0.0:
        remarks.add("distance joints that leave the distance free, and are not read", repr(prim.GetName()), stage.path)
        return None
    return Distance(least * stage.length) if least else Spherical()


def _of_freedoms(stage: Stage, prim: Any, remarks: Remarks) -> tuple[Joint, tuple[str, ...]]:
    """Return the type of a joint whose limits say what is locked: a lower limit above the upper one."""
    free = []
    for freedom in _FREEDOMS:
        if prim.HasAPI(stage.UsdPhysics.LimitAPI, freedom):
            low, high = (number(prim, f"limit:{freedom}:physics:{key}", 0.0) or 0.0 for key in ("low", "high"))
            if low > high:
                continue
        free.append(freedom)
    slides, turns = ([x[-1] for x in free if x.startswith(kind)] for kind in ("trans", "rot"))
    if len(free) == 6:
        return Free(), ()
    if len(turns) == 3 and not slides:
        return Spherical(), ()
    if slides == turns and len(turns) == 1:
        return Cylindrical(_AXES[turns[0]]), (f"rot{turns[0]}", f"trans{turns[0]}")
    if len(turns) == 1 and len(slides) == 2 and turns[0] not in slides:
        return Planar(_AXES[turns[0]]), ()
    if len(turns) == 2 and not slides:
        return Universal(_AXES[turns[0]], _AXES[turns[1]]), tuple(free)
    if len(turns) == 3:
        parts: list[Joint] = [*(Prismatic(_AXES[x]) for x in slides), Spherical()]
        return Composite(tuple(parts)), ()
    made: list[Joint] = [Prismatic(_AXES[x]) for x in slides] + [Revolute(_AXES[x]) for x in turns]
    if len(made) == 1:
        return made[0], tuple(free)
    return (Composite(tuple(made)) if made else Fixed()), tuple(free)


def _mimic(prim: Any, angular: bool, length: float) -> tuple[str, float, float] | None:
    """Return the joint that one follows, in the words of Newton or of PhysX."""
    unit = math.radians(1.0) if angular else length
    leader = only_target(prim, prim.GetRelationship("newton:mimicJoint"))
    if leader is not None:
        ratio, offset = number(prim, "newton:mimicCoef1", 1.0), number(prim, "newton:mimicCoef0", 0.0)
        return str(leader), ratio or 0.0, (offset or 0.0) * unit
    for freedom in ("rotX", "rotY", "rotZ", "transX", "transY", "transZ"):
        leader = only_target(prim, prim.GetRelationship(f"physxMimicJoint:{freedom}:referenceJoint"))
        if leader is not None:
            gear, offset = (number(prim, f"physxMimicJoint:{freedom}:{key}", 0.0) for key in ("gearing", "offset"))
            return str(leader), -(gear or 0.0), -(offset or 0.0) * unit
    return None
