"""The kinds of arguments and results of algorithms: one table, which everything else reads.

A kind is an array. Each of its axes is a number, its length, or one of the `AXES`: then its entries belong to
coordinates, to freedoms, to bodies, to the frames that a call lists, or to the constraints of loops. A body's part of
the array follows: its own range along each axis of bodies or joints, and all of the other axes. So a new kind is one
row of `PORT_KINDS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from ..errors import TraceError, unknown_name
from ..graph import Scalar
from ..records import dataclass
from ..spatial import Force, Freedoms, Motion, leaves
from .model import Model
from .parameter_fields import JOINT_TERMS

__all__ = [
    "AXES",
    "OUR_AXES",
    "OUR_KINDS",
    "PORT_KINDS",
    "Axis",
    "PortKind",
    "check_block",
    "core_shape",
    "core_size",
    "result_scalars",
]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of arrays: its length, and a body's range along it."""

    length: Callable[[Model], int]
    start: str = ""
    """The number of a body at which its range starts: "q", "v", "body", its own number, or "own", its first freedom
    among those of all joints, those that follow others included. Empty: the axis has no range for each body."""
    count: Callable[[Any], int] | None = None
    """The length of a joint's range. None: one entry for each body."""
    per_frame: int = 0
    """The number of entries for each frame of the setting `frames`; then the length is that of all frames."""


AXES = {
    "q": Axis(lambda model: model.nq, "q", lambda joint: joint.nq),
    "v": Axis(lambda model: model.nv, "v", lambda joint: joint.nv),
    "body": Axis(lambda model: len(model.bodies), "body"),
    "frame": Axis(lambda model: 0, per_frame=1),
    "frame_direction": Axis(lambda model: 0, per_frame=6),
    "point_direction": Axis(lambda model: 0, per_frame=3),
    "row": Axis(lambda model: model.loop_table.nc),
    "loop_q": Axis(lambda model: model.loop_table.nq),
    "loop_v": Axis(lambda model: model.loop_table.nv),
    "v_motion": Axis(lambda model: model.nv + 6),
    "closed": Axis(lambda model: model.nv + model.loop_table.nc + 1),
    "state": Axis(lambda model: 2 * model.nv),
    "state_force": Axis(lambda model: 3 * model.nv),
    "joint_freedom": Axis(lambda model: sum(c.type.nv for c in model.joints)),
    "joint_position": Axis(lambda model: sum(c.type.nq for c in model.joints)),
    "joint_number": Axis(lambda model: sum(len(c.type.parameters) for c in model.joints)),
    "follower": Axis(lambda model: sum(c.mimic is not None for c in model.joints)),
    "named_frame": Axis(lambda model: len(model.frames)),
    "balance": Axis(lambda model: model.nv + model.loop_table.nc),
    "own": Axis(lambda model: sum(c.type.nv for c in model.joints), "own", lambda joint: joint.nv),
    "theta": Axis(lambda model: 10 * len(model.bodies) + 3 * sum(c.type.nv for c in model.joints)),
    "contact": Axis(lambda model: 0 if model.contacts is None else len(model.contacts.pairs)),
    "contact_block": Axis(lambda model: 0 if model.contacts is None else model.contacts.blocks),
    "number": Axis(lambda model: _varied_count(model, False)),
    "regrouped_number": Axis(lambda model: _varied_count(model, True)),
}


def _varied_count(model: Model, regroup: bool) -> int:
    """Return how many numbers of a varied robot straight-line code reads."""
    if model.variation is None:
        return 0
    from .varied_rows import varied_rows  # most robots have none

    return len(varied_rows(model, regroup).nodes)


@dataclass(frozen=True, slots=True)
class PortKind:
    """One kind of argument or result."""

    axes: tuple[str | int, ...]
    meaning: str
    """Words for messages: the entries of the array."""
    value: Callable[[tuple[Scalar, ...]], Any] = Freedoms
    """Makes the value that an algorithm reads, from the numbers of a body's part or of the whole array."""
    turned: bool = False
    """True if users give or get it in the axes of the body, and algorithms in the axes of the working frame."""
    adds: bool = False
    """True if the part of a joint that follows another (mimic), times its ratio, is added to the part of that joint.
    As an argument it is zero at such a joint. A kind that does not add belongs to the followed joint alone; as an
    argument it is multiplied by the ratio."""
    offset: bool = False
    """True if the offset of a joint that follows another is added to it."""
    symmetric: bool = False
    """True if setting a block [i, j] of a matrix sets [j, i] too."""


PORT_KINDS = {
    "q": PortKind(("q",), "positions: nq", offset=True),
    "v": PortKind(("v",), "velocities or accelerations: nv"),
    "f": PortKind(("v",), "joint forces: nv", adds=True),
    "coordinates": PortKind(("q",), "positions as plain numbers, all of which may vary: nq", offset=True),
    "coordinate_rates": PortKind(("q",), "rates of positions as plain numbers: nq"),
    "bodies": PortKind(("body", 6), "a moment and a force for each body", Force.of, turned=True),
    "wrenches": PortKind(("body", 6), "a moment and a force for each body", Force.of, turned=True),
    "scalar": PortKind((), "one number", itemgetter(0)),
    "motion": PortKind((6,), "angular and linear", Motion.of),
    "symmetric": PortKind(("v", "v"), "a symmetric matrix between freedoms", adds=True, symmetric=True),
    "matrix": PortKind(("v", "v"), "a matrix between freedoms", adds=True),
    "matrices": PortKind((3, "v", "v"), "three matrices between freedoms", adds=True),
    "columns": PortKind((6, "v"), "a motion for each freedom", adds=True),
    "spans": PortKind(("v", 6), "six numbers for each freedom", adds=True),
    "point": PortKind((3,), "a vector of three"),
    "point_columns": PortKind((3, "v"), "a vector of three for each freedom", adds=True),
    "spatial": PortKind((6, 6), "a matrix between spatial vectors"),
    "v_motion": PortKind(("v_motion",), "accelerations of the joints, then a motion"),
    "pose": PortKind((4, 4), "a homogeneous matrix"),
    "poses": PortKind(("frame", 4, 4), "a homogeneous matrix for each frame"),
    "motions": PortKind(("frame", 6), "angular and linear for each frame"),
    "frame_columns": PortKind(("frame", 6, "v"), "for each frame a motion for each freedom", adds=True),
    "frame_matrix": PortKind(("frame_direction",) * 2, "a matrix between six directions of each frame"),
    "point_matrix": PortKind(("point_direction",) * 2, "a matrix between three directions of each frame"),
    "column_rates": PortKind((6, "v", "v"), "for each two freedoms a motion", adds=True),
    "body_poses": PortKind(("body", 4, 4), "a homogeneous matrix for each body"),
    "body_motions": PortKind(("body", 6), "angular and linear for each body"),
    "rows": PortKind(("row",), "constraints of loops and couplings: nc"),
    "row_columns": PortKind(("row", "v"), "for each constraint a number for each freedom", adds=True),
    "row_wrenches": PortKind(("row", 6), "for each constraint a moment and a force"),
    "loop_q": PortKind(("loop_q",), "positions of the joints that close loops"),
    "loop_v": PortKind(("loop_v",), "freedoms of the joints that close loops"),
    "q_rate": PortKind(("q",), "rates of positions: nq"),
    "closed": PortKind(("closed",), "accelerations, multipliers, and the smallest relative pivot"),
    "linear": PortKind(("state", "state_force"), "for each change of position and velocity a row of (A, B)"),
    "numbers": PortKind(("number",), "the numbers of a varied robot that code reads"),
    "regrouped_numbers": PortKind(("regrouped_number",), "the same, with inertia moved between bodies"),
    "balance": PortKind(("balance",), "a joint force for each freedom, then a number for each constraint"),
    "force_regressor": PortKind(("v", "theta"), "for each freedom a number for each parameter", adds=True),
    "wrench_regressor": PortKind(("body", 6, "theta"), "for each body a wrench for each parameter"),
    "spatial_regressor": PortKind((6, "theta"), "a spatial vector for each parameter"),
    "scalar_regressor": PortKind(("theta",), "a number for each parameter"),
    "v_inertia": PortKind(("v", "body", 10), "for each freedom ten numbers for each body", adds=True),
    "v_own": PortKind(("v", "own"), "for each freedom a number for each freedom of each joint", adds=True),
    "wrench_inertia": PortKind(("body", 6, "body", 10), "for each body ten wrenches for each body"),
    "spatial_inertia": PortKind((6, "body", 10), "ten spatial vectors for each body"),
    "own": PortKind(("own",), "a number for each freedom of each joint"),
    "contact_impulses": PortKind(
        ("contact_block", 3), "for each contact an impulse: two along the surface, one across; then moments"
    ),
    "surfaces": PortKind(("contact", 3), "friction, restitution and the height of the ground for each contact"),
    "softness": PortKind(("contact", 3), "stiffness, dissipation and slip speed for each contact"),
    "contact_motion": PortKind(("contact", 4), "for each contact a velocity, two along the surface, and the gap"),
    "compliant_contact": PortKind(
        ("flat f contact_impulses contact_motion",), "joint forces, then forces, velocities and gaps of contacts"
    ),
    "contact_places": PortKind(("contact", 13), "for each contact its point, its three axes and its gap"),
    "certificate": PortKind((4,), "residual, penetration, leveling and work of a step with contacts"),
    "contact_step": PortKind(
        ("flat q v contact_impulses v certificate",), "position, velocity, impulses of contacts and stops, certificate"
    ),
    "inertia": PortKind(("body", 10), "ten inertial parameters for each body"),
    "added_inertia": PortKind(("body", 21), "the added inertia of each body"),
    **dict.fromkeys(JOINT_TERMS, PortKind(("joint_freedom",), "a number for each freedom of each joint")),
    "rest": PortKind(("joint_position",), "a number for each position of each joint"),
    "joint_numbers": PortKind(("joint_number",), "the parameters of joint types"),
    **dict.fromkeys(("mimic_ratio", "mimic_offset"), PortKind(("follower",), "a number for each mimic joint")),
    "joint_placement": PortKind(("body", 6), "a position and a rotation vector for each joint"),
    "frame_placement": PortKind(("named_frame", 6), "a position and a rotation vector for each named frame"),
    "gravity": PortKind((3,), "the acceleration of gravity"),
}
OUR_KINDS, OUR_AXES = dict(PORT_KINDS), dict(AXES)
"""The rows of the library, as they are declared here: others enter the keys of the cache."""


def port_kind(name: str) -> PortKind:
    """Return a row of the table; an error for an unknown name lists all.

    "flat a b" stands for the numbers of the kinds a and b in one row; "table c a b" for a row of the numbers of c for
    each number of a, then of b. Such a kind among others is in parentheses.
    """
    if name.startswith(("flat ", "table ")):
        return PortKind((name,), "numbers of several kinds in one row")
    if name not in PORT_KINDS:
        raise unknown_name("kind of argument or result", name, PORT_KINDS)
    return PORT_KINDS[name]


def core_shape(model: Model, kind: str, frames: int = 0) -> tuple[int, ...]:
    """Return the array shape of a port, without batch dimensions, in a call that lists so many frames."""

    def length(axis: str | int) -> int:
        if isinstance(axis, int):
            return axis
        if " " in axis:
            form, *kinds = _words(axis)
            first = core_size(model, kinds.pop(0), frames) if form == "table" else 1
            return first * sum(core_size(model, x, frames) for x in kinds)
        found = AXES[axis]
        return found.per_frame * frames if found.per_frame else found.length(model)

    return tuple(map(length, port_kind(kind).axes))


def _words(kind: str) -> list[str]:
    """Return the words of the name of a kind, where words in parentheses are one, without the parentheses."""
    found, depth = [""], 0
    for letter in kind:
        depth += (letter == "(") - (letter == ")")
        if letter == " " and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [x[1:-1] if x.startswith("(") else x for x in found]


def core_size(model: Model, kind: str, frames: int = 0) -> int:
    """Return the number of scalars of a port."""
    return math.prod(core_shape(model, kind, frames))


def result_scalars(value: Any, size: int) -> list[Scalar]:
    """Return the scalars of an algorithm's result, in the order of its array, which has this size."""
    if isinstance(value, tuple):
        scalars = [x for part in value for x in (part.scalars if hasattr(part, "scalars") else leaves(part))]
    else:
        scalars = list(value.scalars) if hasattr(value, "scalars") else [value]
    if len(scalars) != size or any(x is None for x in scalars):
        raise TraceError(f"an algorithm returned {value!r}, but its result has {size} numbers; is a `return` missing?")
    return [x + 0.0 if type(x) is float else x for x in scalars]  # no negative zeros


def check_block(value: Any, *lengths: int) -> None:
    """Raise unless a part of a result has these lengths."""
    if len(value) != lengths[0]:
        raise TraceError(f"a joint with {lengths[0]} coordinates was given {len(value)} numbers of the result")
    if len(lengths) > 1:
        for row in value:
            check_block(row, *lengths[1:])
