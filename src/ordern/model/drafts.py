"""Bodies and joints as a builder was given them, and what they become in a model."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError, unknown_name
from ..joints import Joint
from ..records import dataclass
from .parts import Body, Mimic, ModelJoint, Placement

__all__ = ["BodyDraft", "JointDraft", "connections", "followed_by", "merged"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BodyDraft:
    """A body as it was given."""

    name: str
    mass: float
    com: Array
    inertia: Array
    where: str


@dataclass(frozen=True, slots=True)
class JointDraft:
    """A joint of the tree as it was given."""

    name: str
    type: Joint
    parent: str
    child: str
    placement: Placement
    limits: dict[str, tuple[float, ...]]
    mimic: tuple[str, float, float] | None
    where: str
    actuated: bool | None = None
    """Whether it has a motor; None if that was not said."""


def connections(found: list[tuple[JointDraft, int, Placement]]) -> Iterable[ModelJoint]:
    """The joints with their places in q and v. One that follows another has the places of that one."""
    q = v = 0
    starts: list[tuple[int, int]] = []
    for joint, _, _ in found:
        starts.append((q, v))
        if joint.mimic is None:
            q, v = q + joint.type.nq, v + joint.type.nv
    index = {joint.name: k for k, (joint, _, _) in enumerate(found)}
    for k, (joint, parent, at) in enumerate(found):
        mimic = _followed(joint, [j for j, _, _ in found], index) if joint.mimic else None
        q_start, v_start = starts[k if mimic is None else mimic.joint]
        yield ModelJoint(
            joint.name, joint.type, parent, at, q_start, v_start, **joint.limits, mimic=mimic, where=joint.where
        )


def _followed(joint: JointDraft, joints: list[JointDraft], index: dict[str, int]) -> Mimic:
    """The joint that is followed in the end, where one that is followed follows another."""
    ratio, offset, name, seen = 1.0, 0.0, joint.name, {joint.name}
    while (follows := joints[index[name]].mimic) is not None:
        name = follows[0]
        if name in seen:
            raise ModelError(f"joint {joint.name!r} follows itself, by way of {name!r}", joint.where)
        if name not in index:
            known = unknown_name("joint", name, [j.name for j in joints if j.type.nv == 1])
            raise ModelError(f"joint {joint.name!r} follows an {known}", joint.where)
        seen.add(name)
        ratio, offset = ratio * follows[1], offset + ratio * follows[2]
    if joints[index[name]].type.nv != 1 or joints[index[name]].type.nq != 1:
        raise ModelError(f"joint {joint.name!r} follows {name!r}, which has not one coordinate", joint.where)
    return Mimic(index[name], ratio, offset)


def followed_by(given: Any, type: Joint, what: str) -> tuple[str, float, float] | None:
    """The joint that one follows, by name, with ratio and offset."""
    if given is None:
        return None
    try:
        name, ratio, offset = (given, 1.0, 0.0) if isinstance(given, str) else given
        ratio, offset = float(ratio), float(offset)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what}: mimic is the name of a joint or (name, ratio, offset), not {given!r}") from None
    if not (math.isfinite(ratio) and math.isfinite(offset)):
        raise ModelError(f"{what}: ratio and offset of mimic must be finite")
    if type.nq != 1 or type.nv != 1:
        raise ModelError(f"{what} has not one coordinate and cannot follow {name!r}")
    return str(name), ratio, offset


def merged(name: str, parts: list[tuple[BodyDraft, Placement]]) -> Body:
    """One body from several that are fixed to each other."""
    link = parts[0][0]
    m, c, I = link.mass, link.com, link.inertia
    if len(parts) > 1:
        with np.errstate(all="ignore"):
            coms = [at.R @ part.com + at.p for part, at in parts]
            m = sum(part.mass for part, _ in parts)
            c = sum((part.mass * x for (part, _), x in zip(parts, coms, strict=True)), np.zeros(3))
            c = c / m if m else c
            I = np.zeros((3, 3))
            for (part, at), x in zip(parts, coms, strict=True):
                d = x - c
                I = I + at.R @ part.inertia @ at.R.T + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
        if not math.isfinite(m + c.sum() + I.sum()):
            raise ModelError(f"body {name!r} and what is fixed to it have no finite mass and inertia", link.where)
    x, y, z = c.tolist()
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = I.tolist()
    return Body(name, m, (x, y, z), (xx, yy, zz, xy, xz, yz), link.where)
