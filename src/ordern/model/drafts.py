"""Drafts: joints as a builder was given them, and the layout of bodies and joints in a model."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ModelError, unknown_name
from ..joints import Fixed, Joint
from ..records import dataclass
from .checks import require_limits
from .fluid import added_numbers, in_frame, matrix_of, moved
from .parts import BASE, TERMS, Body, Frame, Link, Mimic, ModelJoint, Placement, joint_terms, placement

__all__ = ["JointDraft", "Layout", "joint_draft", "merged", "model_joints"]

_HERE = Placement()
_NOT_GIVEN = dict.fromkeys(TERMS)


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
    """True if it has a motor; None if that was not given."""


def joint_draft(
    name: str,
    type: Joint,
    parent: str,
    child: str,
    *,
    at: Any = _HERE,
    mimic: Any = None,
    actuated: Any = None,
    where: str = "",
    **terms: Any,
) -> JointDraft:
    """Return a joint from the arguments of `ModelBuilder.joint`, checked."""
    what = f"joint {name!r}"
    if not isinstance(type, Joint):
        raise ModelError(f"{what}: its type must be a joint such as Revolute(axis), not {type!r}")
    for key in terms.keys() - TERMS.keys():
        raise unknown_name("keyword", key, (*TERMS, "mimic", "actuated"), what)
    if actuated is not None and not isinstance(actuated, (bool, np.bool_)):
        raise ModelError(f"{what}: actuated must be True, False or None, not {actuated!r}")
    limits = joint_terms(what, type, {**_NOT_GIVEN, **terms})
    require_limits(what, limits["lower"], limits["upper"])
    here, follows = placement(at, what), _mimic(mimic, type, what)
    motor = None if actuated is None else bool(actuated)
    return JointDraft(name, type, parent, child, here, limits, follows, where, motor)


def _mimic(given: Any, type: Joint, what: str) -> tuple[str, float, float] | None:
    """Return the name of the joint that one follows, with ratio and offset; None if it follows no other."""
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
        raise ModelError(f"{what} must have exactly one coordinate to follow {name!r}")
    return str(name), ratio, offset


class Layout:
    """The bodies and joints of a model, in order, and the place of every body that a builder was given."""

    def __init__(self, bodies: dict[str, Body], root: str) -> None:
        self._bodies = bodies
        self.placed: dict[str, tuple[int, Placement]] = {root: (BASE, _HERE)}
        """The body of the model that a body belongs to, and its place in the frame of that body."""
        self.parts: list[list[tuple[Body, Placement]]] = []
        """The bodies that are fixed to each other, for each body of the model: first the body that gives the name."""
        self.joints: list[tuple[JointDraft, int, Placement]] = []
        self.frames: list[Frame] = []
        """The places of fixed joints that were merged."""
        self.merged_by: dict[str, str] = {}
        """The fixed joints that merged bodies, by the names of these."""
        self.ground: list[tuple[Body, Placement]] = [(bodies[root], _HERE)]
        """The bodies that are fixed to the ground."""

    def add(self, joint: JointDraft, merge: bool) -> None:
        """Add a joint and its child; a fixed joint merges the child into the parent, with `merge`."""
        parent, at = self.placed[joint.parent]
        here = joint.placement if at is _HERE else at @ joint.placement
        if not (merge and isinstance(joint.type, Fixed)):
            self.carry(joint, parent, here)
            return
        self.placed[joint.child] = (parent, here)
        fixed_together = self.ground if parent == BASE else self.parts[parent]
        fixed_together.append((self._bodies[joint.child], here))
        self.frames.append(Frame(joint.name, parent, here))
        self.merged_by[joint.child] = joint.name

    def carry(self, joint: JointDraft, parent: int, at: Placement) -> None:
        """Add a joint and its child as a body of the model."""
        if self.placed.get(joint.child, (0, _HERE))[0] == BASE:
            self.ground = []  # the root floats
        self.placed[joint.child] = (len(self.parts), _HERE)
        self.parts.append([(self._bodies[joint.child], _HERE)])
        self.joints.append((joint, parent, at))

    def on_body(self, body: str, at: Placement, what: str, where: str) -> tuple[int, Placement]:
        """Return the body of the model, and the place in its frame, of a place on a body that the builder was given."""
        if body not in self.placed:
            raise ModelError(str(unknown_name("body", body, self._bodies, what)), where)
        index, outer = self.placed[body]
        return index, outer @ at

    def links(self, known: Mapping[str, Sequence[Link]], hosts: Container[str]) -> tuple[Link, ...]:
        """Return the links of all bodies that have several.

        `known` are those that were merged before, by body; `hosts` are the bodies to which something is fixed.
        """
        found: list[Link] = []
        for k, parts in ((BASE, self.ground), *enumerate(self.parts)):
            if len(parts) > 1 or (parts and known.get(parts[0][0].name)):
                for body, at in parts:
                    bare = body.name in self.merged_by and body.name not in hosts and not _is_felt(body)
                    first, *others = known.get(body.name) or (Link(k, body, bare=bare),)
                    first = replace(first, joint=self.merged_by.get(body.name, ""))
                    found += [replace(x, body=k, placement=at @ x.placement) for x in (first, *others)]
        return tuple(found)


def _is_felt(body: Body) -> bool:
    """Return True if a body has a part in the dynamics: mass, or forces of a fluid."""
    return bool(body.mass or any(body.inertia) or body.added_inertia or body.displaced or body.drags)


def model_joints(found: list[tuple[JointDraft, int, Placement]], coupled: Container[str] = ()) -> Iterable[ModelJoint]:
    """Return the joints with their places in q and v; a mimic joint has the places of its leader.

    Full turns of leaders, and of joints that are `coupled`, move other joints; so these joints count them.
    """
    q = v = 0
    starts: list[tuple[int, int]] = []
    for joint, _, _ in found:
        starts.append((q, v))
        if joint.mimic is None:
            q, v = q + joint.type.nq, v + joint.type.nv
    index = {joint.name: k for k, (joint, _, _) in enumerate(found)}
    drafts = [joint for joint, _, _ in found]
    mimics = [_followed(joint, drafts, index) if joint.mimic else None for joint in drafts]
    leaders = {mimic.joint for mimic in mimics if mimic is not None}
    for k, ((joint, parent, at), mimic) in enumerate(zip(found, mimics, strict=True)):
        q_start, v_start = starts[k if mimic is None else mimic.joint]
        type = joint.type.counting_turns() if k in leaders or joint.name in coupled else joint.type
        yield ModelJoint(joint.name, type, parent, at, q_start, v_start, **joint.limits, mimic=mimic, where=joint.where)


def _followed(joint: JointDraft, joints: list[JointDraft], index: dict[str, int]) -> Mimic:
    """Return the leader of a mimic joint, at the end of a chain of mimic joints."""
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
        message = f"joint {joint.name!r} follows {name!r}, which must have exactly one coordinate to be followed"
        raise ModelError(message, joint.where)
    return Mimic(index[name], ratio, offset)


def merged(parts: list[tuple[Body, Placement]]) -> Body:
    """Merge bodies that are fixed to each other into one, which has the name and the frame of the first."""
    first = parts[0][0]
    if len(parts) == 1:
        return first
    with np.errstate(all="ignore"):
        coms = [at.R @ np.array(part.com) + at.p for part, at in parts]
        m = sum(part.mass for part, _ in parts)
        c = sum((part.mass * x for (part, _), x in zip(parts, coms, strict=True)), np.zeros(3))
        c = c / m if m else c
        I = np.zeros((3, 3))
        for (part, at), x in zip(parts, coms, strict=True):
            d = x - c
            I = I + at.R @ part.inertia_matrix @ at.R.T + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    if not math.isfinite(m + c.sum() + I.sum()):
        raise ModelError(f"body {first.name!r} and the bodies fixed to it have no finite mass and inertia", first.where)
    x, y, z = c.tolist()
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = I.tolist()
    return Body(first.name, m, (x, y, z), (xx, yy, zz, xy, xz, yz), first.where, *_merged_fluid(parts))


def _merged_fluid(parts: list[tuple[Body, Placement]]) -> tuple[Any, Any, Any]:
    """Return the added inertia, the displaced fluid and the drags of bodies that are fixed to each other."""
    A, moment = np.zeros((6, 6)), np.zeros(4)
    drags: list[Any] = []
    for part, at in parts:
        if part.added_inertia:
            A = A + in_frame(matrix_of(part.added_inertia), at)
        if part.displaced:
            mass, *centre = part.displaced
            moment = moment + mass * np.array([1.0, *(at.R @ centre + at.p)])
        drags += moved(part.drags, at)
    displaced = (moment[0], *(moment[1:] / moment[0])) if moment[0] else ()
    return added_numbers(A, f"body {parts[0][0].name!r}"), displaced, tuple(drags)
