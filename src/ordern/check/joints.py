"""Checks of single joints: limits, and mimic joints."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..joints import Prismatic, Revolute
from ..model import Connection
from .report import Finding
from .subject import Subject
from .table import joint_check, robot_check

__all__: list[str] = []

_RADIANS = "angles are in radians; a joint without limits is continuous"
_ZERO = "give the real limit, or leave the attribute out where the format allows that; planners take 0 at its word"


@robot_check
def limit_negative(s: Subject) -> Iterator[Finding]:
    """Find limits of velocity or effort below zero."""
    for c in s.model.joints:
        for what, limit in (("velocity", c.velocity_limit), ("effort", c.effort_limit)):
            if any(x < 0.0 for x in limit):
                why = f"joint {c.name!r} has the {what} limit {min(limit):g}; a limit is not below zero"
                advice = f"give the largest {what} without its sign"
                yield Finding("error", "limit-negative", c.name, why, advice, c.where)


@joint_check("limit-equal", "warning", "give it a range, or make it a fixed joint")
def limit_equal(s: Subject, c: Connection) -> str:
    """Find joints that cannot move."""
    equal = any(lower == upper for lower, upper in zip(c.lower, c.upper, strict=True))
    return f"cannot move: its lower and its upper limit are both {c.lower[0]:g}" if equal else ""


@joint_check("limit-range", "warning", _RADIANS)
def range_degrees(s: Subject, c: Connection) -> str:
    """Find ranges that look like degrees taken for radians."""
    return f"{_turns(c)}; are these degrees?" if _travel(c, Revolute) > 16.0 * math.pi else ""


@joint_check("limit-range", "info", _RADIANS)
def range_turns(s: Subject, c: Connection) -> str:
    """Find ranges of more than two turns."""
    return _turns(c) if 4.001 * math.pi < _travel(c, Revolute) <= 16.0 * math.pi else ""


@joint_check("limit-range", "warning", "distances are in metres")
def range_millimetres(s: Subject, c: Connection) -> str:
    """Find ranges that look like millimetres taken for metres."""
    return f"{_limits(c)} m; are these millimetres?" if _travel(c, Prismatic) > 100.0 else ""


@joint_check("limit-neutral", "info", "start from another position than `neutral()`")
def limit_neutral(s: Subject, c: Connection) -> str:
    """Find neutral positions outside of the limits."""
    scalar = len(c.lower) == 1 and c.mimic is None
    outside = scalar and not c.lower[0] - 1e-9 <= c.type.neutral()[0] <= c.upper[0] + 1e-9
    return f"{_limits(c)}, which leave out its neutral position 0" if outside else ""


@joint_check("velocity-limit-zero", "warning", _ZERO)
def velocity_limit_zero(s: Subject, c: Connection) -> str:
    """Find joints with a velocity limit of zero."""
    return "has the velocity limit 0" if 0.0 in c.velocity_limit else ""


@joint_check("effort-limit-zero", "warning", _ZERO)
def effort_limit_zero(s: Subject, c: Connection) -> str:
    """Find joints with an effort limit of zero."""
    return "has the effort limit 0" if 0.0 in c.effort_limit else ""


@joint_check("mimic-zero", "warning", "make it a fixed joint")
def mimic_zero(s: Subject, c: Connection) -> str:
    """Find mimic joints with a ratio of zero."""
    if c.mimic is None or c.mimic.ratio != 0.0:
        return ""
    return f"follows {s.model.joints[c.mimic.joint].name!r} by the ratio 0: it never moves"


@joint_check("mimic-limits", "info", "make the limits of both joints agree")
def mimic_limits(s: Subject, c: Connection) -> str:
    """Find mimic joints that their leaders move beyond their limits."""
    if c.mimic is None:
        return ""
    leader = s.model.joints[c.mimic.joint]
    low, high = sorted(c.mimic.ratio * x + c.mimic.offset for x in (leader.lower[0], leader.upper[0]))
    slack = 1e-3 * max(1.0, high - low)
    limited = math.isfinite(leader.lower[0]) and math.isfinite(leader.upper[0])
    if not limited or c.lower[0] - slack <= low <= high <= c.upper[0] + slack:
        return ""
    own = f"{c.lower[0]:g} and {c.upper[0]:g}"
    return f"follows {leader.name!r} from {low:.4g} to {high:.4g}, beyond its own limits {own}"


def _travel(c: Connection, kind: type[Revolute | Prismatic]) -> float:
    """Return the distance between finite limits of a joint of this kind; zero for other joints."""
    travel = c.upper[0] - c.lower[0] if isinstance(c.type, kind) else 0.0
    return travel if math.isfinite(travel) else 0.0


def _turns(c: Connection) -> str:
    return f"{_limits(c)} rad: {_travel(c, Revolute) / (2.0 * math.pi):.3g} turns"


def _limits(c: Connection) -> str:
    return f"has the limits {c.lower[0]:g} and {c.upper[0]:g}"
