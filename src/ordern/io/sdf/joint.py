"""Joints: what they connect, where, about which axes, with which limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arguments import Array
from ...errors import unknown_name
from ...joints import Composite, Continuous, Fixed, Helical, Joint, Prismatic, Revolute, Spherical, Universal
from ...model import Placement
from ...records import dataclass
from ..attributes import bound, required, unquoted
from ..remarks import Remarks
from ..xml import Element
from .scope import MODEL, WORLD, Scope
from .text import flag, number, numbers, text_of

__all__ = ["SdfJoint", "coefficients", "joint_type", "mimic_of", "read_joint"]


_AXES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("revolute", "continuous", "prismatic", "screw"), ("axis",)),
    **dict.fromkeys(("universal", "revolute2", "gearbox"), ("axis", "axis2")),
    **dict.fromkeys(("ball", "fixed"), ()),
}
"""The types of joints, and the axes that each has."""

_UNLIMITED = 1e16
"""Limits this large count as unlimited."""
_ON_AXIS = 1e-12
"""Distances between a joint's axis and a link's origin, in m, that count as zero."""
_PERPENDICULAR = 5e-7
"""The largest cosine between the axes of a `Universal`, which itself refuses 1e-6."""


@dataclass(frozen=True, slots=True, eq=False)
class SdfJoint:
    """A joint as the file has it, at the file's poses. Names are those outside of its model."""

    name: str
    kind: str
    parent: str
    child: str
    at: Placement
    """The placement of its frame in the world."""
    axes: tuple[Array, ...]
    """Unit vectors in the world; the first is fixed to the parent, the last to the child."""
    pitch: float
    """The pitch of a screw, in metres per turn."""
    element: Element
    scope: Scope

    @property
    def what(self) -> str:
        """The joint's name for messages."""
        return f"joint {self.name!r}"


def read_joint(scope: Scope, element: Element) -> SdfJoint:
    """Read a joint from its element."""
    name = scope.prefix + required(element, "name", scope.what)
    what = f"joint {name!r}"
    kind = required(element, "type", what).lower()
    if kind not in _AXES:
        raise element.error(str(unknown_name("joint type", kind, _AXES, what)))
    ends = {role: _end(scope, element, role, what) for role in ("parent", "child")}
    if ends["parent"] == ends["child"]:
        raise element.error(f"{what} connects {ends['parent']!r} with itself")
    at = scope.at @ scope.place_element(element, text_of(element, "child", what), what)
    axes = tuple(_axis(scope, element, tag, at, what) for tag in _AXES[kind])
    pitch = _pitch(element, what) if kind == "screw" else 0.0
    return SdfJoint(name, kind, ends["parent"], ends["child"], at, axes, pitch, element, scope)


def joint_type(joint: SdfJoint, frame: Placement, *, reverse: bool = False) -> Joint:
    """Return the type of a joint, for a child whose frame is at `frame` in the world.

    A reversed joint carries its parent: its axes change their signs and order, so that its coordinates keep theirs.
    """
    here = frame.inverse @ joint.at
    sign = -1.0 if reverse else 1.0
    axes = [_triple(sign * frame.R.T @ axis) for axis in joint.axes]
    if reverse:
        axes.reverse()
    if joint.kind == "fixed":
        return Fixed()
    if joint.kind == "prismatic":
        return Prismatic(axes[0])
    moves: Joint
    if joint.kind == "ball":
        moves = Spherical()
    elif joint.kind == "screw":
        moves = Helical(axes[0], joint.pitch)
    elif len(axes) == 1:
        moves = (Continuous if joint.kind == "continuous" else Revolute)(axes[0])
    elif abs(np.dot(axes[0], axes[1])) <= _PERPENDICULAR:
        moves = Universal(*axes)
    else:
        moves = Composite((Revolute(axes[0]), Revolute(axes[1])))
    off = here.p if len(axes) != 1 else here.p - np.dot(here.p, axes[0]) * np.array(axes[0])
    if np.abs(off).max() <= _ON_AXIS:
        return moves
    at = Placement(position=here.position)
    parts = moves.parts if isinstance(moves, Composite) else ((moves, Placement()),)
    return Composite(tuple((part, at) for part, _ in parts))


def coefficients(joint: SdfJoint, remarks: Remarks, *, reverse: bool = False) -> dict[str, Any]:
    """Return limits and dynamics of a joint, as arguments of the builder."""
    if joint.kind == "fixed":
        return {}
    tags = _AXES[joint.kind] or ("axis",)
    each = [_of_axis(joint, axis, remarks) for axis in (joint.element.only(tag, joint.what) for tag in tags)]
    if joint.kind == "ball":  # its axis, if there is one, has no direction
        return {key: each[0][key] for key in ("damping", "friction")}
    if reverse:
        each.reverse()
    return {key: [one[key] for one in each] for key in each[0]}


def mimic_of(joint: SdfJoint, leaders: set[str], remarks: Remarks) -> tuple[str, float, float] | None:
    """Return the leader of a mimic joint, ratio and offset; follower = multiplier (leader - reference) + offset."""
    what = joint.what
    for axis in (joint.element.only(tag, what) for tag in _AXES[joint.kind]):
        mimic = axis.only("mimic", what) if axis else None
        if mimic is None:
            continue
        name = required(mimic, "joint", what)
        leader = joint.scope.prefix + name
        ratio = number(mimic, "multiplier", what, 1.0)
        offset = number(mimic, "offset", what, 0.0) - ratio * number(mimic, "reference", what, 0.0)
        if leader in leaders and leader != joint.name and len(joint.axes) == 1:
            return leader, ratio, offset
        kind = "independent, because only joints of the tree with one axis mimic each other"
        remarks.add(kind, f"{what} ({name!r})", mimic.where)
    return None


def _end(scope: Scope, element: Element, role: str, what: str) -> str:
    """Return the link at one end of a joint."""
    name = text_of(element, role, what)
    if role == "child" and name == WORLD and WORLD not in scope.links:
        raise element.error(f"{what} has the world as its child; swap its parent and child")
    return scope.link_of(name, element.only(role, what) or element, f"{what}, its {role}")


def _axis(scope: Scope, element: Element, tag: str, at: Placement, what: str) -> Array:
    """Return the axis of a joint, a unit vector in the world."""
    axis = element.only(tag, what)
    if axis is None:
        raise element.error(f"{what} has no <{tag}>; expected <{tag}><xyz>...</xyz></{tag}>")
    xyz = axis.only("xyz", what)
    given = np.array((0.0, 0.0, 1.0) if xyz is None or not xyz.text else numbers(xyz, (3,), what))
    length = math.hypot(*given.tolist())
    if not 0.0 < length < math.inf:
        raise (xyz or axis).error(f"{what}: <{tag}> has no direction: it is {given.tolist()}")
    frame = xyz.attributes.get("expressed_in", "") if xyz is not None else ""
    # Up to version 1.4 axes are in the model's frame, up to 1.6 if they say so, from 1.7 on in any frame.
    if scope.version < (1, 7) and flag(axis, "use_parent_model_frame", what, scope.version < (1, 5)):
        frame = frame or MODEL
    if frame:
        at = scope.at @ scope.place(frame, xyz or axis, what)
    return np.asarray(at.R @ (given / length))


def _pitch(element: Element, what: str) -> float:
    """Return the pitch in metres per turn, positive for a right-handed thread."""
    if element.only("screw_thread_pitch", what) is not None:
        return number(element, "screw_thread_pitch", what, 1.0)
    old = element.only("thread_pitch", what)
    if old is None:
        return 1.0
    pitch = number(element, "thread_pitch", what, 1.0)  # radians per metre, positive for a left-handed thread
    if pitch == 0.0:
        raise old.error(f"{what}: <thread_pitch>, in radians per metre, must not be zero")
    return -2.0 * math.pi / pitch


def _of_axis(joint: SdfJoint, axis: Element | None, remarks: Remarks) -> dict[str, float]:
    """Return limits and dynamics of one axis."""
    what, where = joint.what, (axis or joint.element).where
    limit = axis.only("limit", what) if axis else None
    dynamics = axis.only("dynamics", what) if axis else None
    lower, upper = (
        bound(number(limit, key, what, usual, infinite=True), _UNLIMITED)
        for key, usual in (("lower", -math.inf), ("upper", math.inf))
    )
    effort, velocity = (bound(_top(limit, key, what, remarks), _UNLIMITED) for key in ("effort", "velocity"))
    if lower > upper:
        remarks.add("without limits, because the lower one is above the upper one", what, where)
    free = joint.kind == "continuous" or lower > upper
    found = {
        "lower": -math.inf if free else lower,
        "upper": math.inf if free else upper,
        "effort_limit": math.inf if effort < 0.0 else effort,
        "velocity_limit": math.inf if velocity < 0.0 else velocity,
        "damping": number(dynamics, "damping", what, 0.0),
        "friction": number(dynamics, "friction", what, 0.0),
        "stiffness": number(dynamics, "spring_stiffness", what, 0.0),
    }
    remarks.raise_to_zero(found, ("damping", "friction", "stiffness"), what, where)
    return found | {"rest": number(dynamics, "spring_reference", what, 0.0)}


def _top(limit: Element | None, key: str, what: str, remarks: Remarks) -> float:
    """Return a limit of velocity or effort; quotes around its number are left out."""
    child = limit.only(key, what) if limit else None
    x = unquoted(child.text) if child else None
    if child is None or x is None:
        return number(limit, key, what, math.inf, infinite=True)
    remarks.add("read without the quotes around it", f"{key} of {what}", child.where)
    return x


def _triple(x: Array) -> tuple[float, float, float]:
    return float(x[0]), float(x[1]), float(x[2])
