"""Denavit-Hartenberg tables, in the two conventions that are in use.

"standard" (Denavit and Hartenberg 1955; Paul; Saha): the link turns about z of the frame *before* it,

    T_i = Rz(theta_i) Tz(d_i) Tx(a_i) Rx(alpha_i),

and frame i+1 is fixed to link i. "modified" (Craig; Khalil and Kleinfinger): the link turns about z of its own frame,

    T_i = Rx(alpha_i) Tx(a_i) Rz(theta_i) Tz(d_i),

where Craig writes a_{i-1} and alpha_{i-1} for what stands in row i here. The product of the first i matrices is the
pose of the frame that carries the name of link i.

Differs: a joint's axis passes through the origin of the body that it carries. Where a standard row is revolute and has
an `a`, it does not pass through that of the link's frame; there, the body "<link>_axis" is on the axis, without mass,
and the link is fixed to it. Frames, forces and poses by the link's name are those of the table all the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, choice, real_number
from ..errors import ModelError, unknown_name
from ..joints import Fixed, Joint, Prismatic, Revolute
from ..model import ModelBuilder, Placement
from ..records import dataclass

__all__ = ["DHRow", "dh_builder", "initial_position"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DHRow:
    """One row of a table: a joint and the link that it carries."""

    type: str = "revolute"
    """"revolute" or "R", "prismatic" or "P", "fixed" or "F"."""
    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    """Also called b. Leave it out for a prismatic joint, whose variable it is."""
    theta: float = 0.0
    """Leave it out for a revolute joint, whose variable it is."""
    offset: float = 0.0
    """The difference of theta, or d, and the joint's position q."""
    initial: float = 0.0
    """The position q in which a motion begins; no part of the robot: see `initial_position`."""
    mass: float = 0.0
    com: Sequence[float] | None = None
    """The mass centre in the link's frame."""
    r: Sequence[float] | None = None
    """Instead of `com`, as Saha has it: from the mass centre to the origin of the link's frame, so that com = -r."""
    inertia: ArrayLike = (0.0, 0.0, 0.0)
    """About the mass centre, in the axes of the link's frame: 3 principal values, 6 (xx, yy, zz, xy, xz, yz) or 3x3."""
    lower: float | None = None
    upper: float | None = None
    velocity_limit: float | None = None
    effort_limit: float | None = None
    damping: float | None = None
    friction: float | None = None
    armature: float | None = None
    name: str = ""
    """The link's name; "link1", "link2" ... unless given."""
    joint_name: str = ""
    """The joint's name; "joint1", "joint2" ... unless given."""


Rows = Iterable[DHRow | Mapping[str, Any] | Sequence[Any]]

_FIELDS = tuple(f.name for f in fields(DHRow))
_ALIASES = {"b": "d"}
_TYPES = {"r": "revolute", "p": "prismatic", "f": "fixed"}
_TABLE = ("a", "alpha", "d", "theta", "offset", "initial", "mass")
_LIMITS = ("lower", "upper", "velocity_limit", "effort_limit", "damping", "friction", "armature")
_ANGLES = ("offset", "initial", "lower", "upper", "velocity_limit")
"""Angles where the joint is revolute, besides alpha and theta."""
_VARIABLE = {"revolute": "theta", "prismatic": "d"}


def dh_builder(
    rows: Rows,
    *,
    convention: str = "standard",
    degrees: bool = False,
    columns: Sequence[str] | None = None,
    inertia_at: str = "com",
    base: Placement | None = None,
    tool: Placement | None = None,
    name: str = "robot",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
) -> ModelBuilder:
    """Build a serial robot from a Denavit-Hartenberg table.

    A row is a `DHRow`, a mapping with its fields (`b` is another name of `d`), or, if `columns` names the fields, a
    sequence. Angles and angular speeds are in radians, or with `degrees` in degrees. Inertias are about the mass
    centre, or with `inertia_at="origin"` about the origin of the link's frame. `base` places the first frame of the
    table in the world; `tool` adds a frame "tool" to the last link.
    """
    choice("convention", convention, ("standard", "modified"))
    choice("inertia_at", inertia_at, ("com", "origin"))
    add = _standard if convention == "standard" else _modified
    table = _checked_rows(rows, degrees, columns)
    builder = ModelBuilder(name, gravity)
    parent = "base"
    if base is None:
        builder.body(parent)
    else:
        builder.body("ground").body(parent, parent="ground", joint=Fixed(), at=base)
    for k, row in enumerate(table, 1):
        where = f"row {k}"
        if convention == "modified" and row.r is not None:
            raise ModelError("r belongs to the standard convention; give com, the mass centre in frame i", where)
        if inertia_at == "origin":
            row = replace(row, inertia=_about_com(row, where))
        parent = add(builder, row, parent, where)
    if tool is not None:
        builder.frame("tool", parent, at=tool)
    return builder


def initial_position(rows: Rows, *, degrees: bool = False, columns: Sequence[str] | None = None) -> Array:
    """Return the position q of the column `initial`: theta_2(90) in a table means that theta_2 starts at 90 degrees.

    Takes the same rows as `dh_builder`; angles of the result are in radians.
    """
    return np.array([row.initial for row in _checked_rows(rows, degrees, columns) if row.type != "fixed"])


def _standard(builder: ModelBuilder, row: DHRow, parent: str, where: str) -> str:
    before, after = _along_z(row), _along_x(row)
    if row.type == "revolute" and row.a != 0.0:
        turning, name = f"{row.name}_axis", row.joint_name
        builder.body(turning, parent=parent, joint=Revolute(), joint_name=name, at=before, where=where, **_limits(row))
        return _link(builder, replace(row, joint_name=f"{row.name}_fixed"), turning, Fixed(), after, where)
    # The joint's axis, z of the frame before, in the axes of the link's frame.
    axis = (0.0, math.sin(row.alpha), math.cos(row.alpha))
    return _link(builder, row, parent, _joint(row, axis), before @ after, where)


def _modified(builder: ModelBuilder, row: DHRow, parent: str, where: str) -> str:
    return _link(builder, row, parent, _joint(row, (0.0, 0.0, 1.0)), _along_x(row) @ _along_z(row), where)


def _joint(row: DHRow, axis: tuple[float, float, float]) -> Joint:
    return Revolute(axis) if row.type == "revolute" else Prismatic(axis) if row.type == "prismatic" else Fixed()


def _link(builder: ModelBuilder, row: DHRow, parent: str, joint: Joint, at: Placement, where: str) -> str:
    com = (0.0, 0.0, 0.0) if row.com is None else row.com
    builder.body(row.name, mass=row.mass, com=com, inertia=row.inertia, where=where)
    limits = {} if isinstance(joint, Fixed) else _limits(row)
    builder.joint(row.joint_name, joint, parent, row.name, at=at, where=where, **limits)
    return row.name


def _along_z(row: DHRow) -> Placement:
    """Return Rz(theta) Tz(d) at q = 0."""
    angle = row.theta + (row.offset if row.type == "revolute" else 0.0)
    c, s = math.cos(angle), math.sin(angle)
    d = row.d + (row.offset if row.type == "prismatic" else 0.0)
    return Placement((c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, d))


def _along_x(row: DHRow) -> Placement:
    """Return Tx(a) Rx(alpha)."""
    c, s = math.cos(row.alpha), math.sin(row.alpha)
    return Placement((1.0, 0.0, 0.0, 0.0, c, -s, 0.0, s, c), (row.a, 0.0, 0.0))


def _limits(row: DHRow) -> dict[str, Any]:
    return {f: x for f in _LIMITS if (x := getattr(row, f)) is not None}


def _about_com(row: DHRow, where: str) -> Array:
    """Return the inertia about the mass centre, from the inertia about the frame's origin."""
    lone = ModelBuilder().body(row.name, inertia=row.inertia, where=where)
    I = lone.build(floating=True).bodies[0].inertia_matrix
    c = np.zeros(3) if row.com is None else np.array(row.com)
    about = I - row.mass * (c @ c * np.eye(3) - np.outer(c, c))
    if np.linalg.eigvalsh(about)[0] < -1e-9 * np.abs(I).max():
        raise ModelError("inertia about the mass centre is negative: is it given about the mass centre already?", where)
    return about


def _checked_rows(rows: Rows, degrees: bool, columns: Sequence[str] | None) -> list[DHRow]:
    if isinstance(rows, (str, bytes, Mapping)) or not hasattr(rows, "__iter__"):
        raise ModelError(f"a Denavit-Hartenberg table is a sequence of rows, not {rows!r:.80}")
    checked = []
    for k, given in enumerate(rows, 1):
        row = _checked(_row(given, columns, f"row {k}"), degrees, f"row {k}")
        checked.append(replace(row, name=row.name or f"link{k}", joint_name=row.joint_name or f"joint{k}"))
    if not checked:
        raise ModelError("a Denavit-Hartenberg table needs at least one row")
    return checked


def _row(given: DHRow | Mapping[str, Any] | Sequence[Any], columns: Sequence[str] | None, where: str) -> DHRow:
    if isinstance(given, DHRow):
        return given
    if not isinstance(given, Mapping):
        if columns is None or isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)):
            kinds = "a DHRow or a mapping such as {'a': 0.4, 'alpha': 0, 'd': 0}, or a sequence with `columns` that"
            raise ModelError(f"must be {kinds} names its entries, not {given!r}", where)
        if len(given) != len(columns):
            raise ModelError(f"has {len(given)} entries, but there are {len(columns)} columns", where)
        given = dict(zip(columns, given, strict=True))
    entries: dict[str, Any] = {}
    for key, value in given.items():
        field = _ALIASES.get(key, key)
        if field not in _FIELDS:
            raise ModelError(str(unknown_name("field", key, (*_FIELDS, *_ALIASES))), where)
        if field in entries:
            raise ModelError(f"{field} is given twice, as {key!r} too", where)
        entries[field] = value
    return DHRow(**entries)


def _checked(row: DHRow, degrees: bool, where: str) -> DHRow:
    """Return the row with its type spelled out, in radians, with a `com`."""
    entries: dict[str, Any] = {"type": _type(row.type, where)}
    entries |= {f: _number(getattr(row, f), f, where) for f in _TABLE}
    entries |= {f: _number(x, f, where, infinite=True) for f in _LIMITS if (x := getattr(row, f)) is not None}
    _refuse_variable(entries, where)
    if row.r is not None:
        if row.com is not None:
            raise ModelError("com and r say the same thing (com = -r): give one of them", where)
        hint = "; the distance along z that Khalil calls r is d here" if isinstance(row.r, Real) else ""
        entries["r"] = _vector(row.r, "r", where, hint)
        entries["com"] = tuple(0.0 - x for x in entries["r"])
    elif row.com is not None:
        entries["com"] = _vector(row.com, "com", where)
    if degrees:
        turned = ("alpha", "theta", *(_ANGLES if entries["type"] == "revolute" else ()))
        entries |= {f: math.radians(entries[f]) for f in turned if f in entries}
    return replace(row, **entries)


def _refuse_variable(entries: dict[str, Any], where: str) -> None:
    """Raise if the joint's variable has a value: it could mean an offset or a start."""
    kind = entries["type"]
    if kind == "fixed":
        moving = [f for f in ("offset", "initial", *_LIMITS) if entries.get(f)]
        if moving:
            raise ModelError(f"{moving[0]} is given, but a fixed row does not move", where)
        return
    field = _VARIABLE[kind]
    if entries[field] != 0.0:
        x = f"{entries[field]:g}"
        raise ModelError(
            f"{field} is the variable of a {kind} joint, but {x} is given for it: write offset={x} if {field} is "
            f"q plus {x}, or initial={x} if {x} is where a motion begins",
            where,
        )


def _type(given: object, where: str) -> str:
    kind = _TYPES.get(given.lower(), given) if isinstance(given, str) else ""
    if kind not in _TYPES.values():
        known = (*_TYPES.values(), *(k.upper() for k in _TYPES))
        raise ModelError(str(unknown_name("joint type", given, known)), where)
    return kind


def _number(x: object, field: str, where: str, *, infinite: bool = False) -> float:
    number = real_number(x)
    if math.isnan(number) or (math.isinf(number) and not infinite):
        expected = "a number" if infinite else "a finite number"
        raise ModelError(f"{field} must be {expected}, not {x!r:.80}", where)
    return number


def _vector(x: Any, field: str, where: str, hint: str = "") -> tuple[float, ...]:
    try:
        numbers = tuple(float(a) for a in x)
    except (TypeError, ValueError, OverflowError):
        numbers = ()
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        raise ModelError(f"{field} must be 3 finite numbers, not {x!r}{hint}", where)
    return numbers
