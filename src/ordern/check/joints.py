"""Checks of single joints: limits, and mimic joints."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..joints import Prismatic, Revolute
from ..model import Connection
from .report import Finding, Severity
from .subject import Subject

__all__ = [
    "effort_limit_zero",
    "limit_equal",
    "limit_negative",
    "limit_neutral",
    "limit_range",
    "mimic_limits",
    "mimic_zero",
    "velocity_limit_zero",
]


def limit_equal(s: Subject) -> Iterator[Finding]:
    """Find joints that cannot move."""
    for c in s.model.joints:
        if any(lower == upper for lower, upper in zip(c.lower, c.upper, strict=True)):
            why = f"cannot move: its lower and its upper limit are both {c.lower[0]:g}"
            yield _about(c, "warning", "limit-equal", why, "give it a range, or make it a fixed joint")


def limit_range(s: Subject) -> Iterator[Finding]:
    """Find ranges that look like degrees taken for radians, or millimetres for metres."""
    for c in s.model.joints:
        if len(c.lower) != 1:
            continue
        travel = c.upper[0] - c.lower[0]
        if not math.isfinite(travel):
            continue
        limits = f"has the limits {c.lower[0]:g} and {c.upper[0]:g}"
        if isinstance(c.type, Revolute) and travel > 4.001 * math.pi:
            why = f"{limits} rad: {travel / (2.0 * math.pi):.3g} turns"
            if travel > 16.0 * math.pi:
                yield _about(c, "warning", "limit-range", f"{why}; are these degrees?", _RADIANS)
            else:
                yield _about(c, "info", "limit-range", why, _RADIANS)
        elif isinstance(c.type, Prismatic) and travel > 100.0:
            yield _about(c, "warning", "limit-range", f"{limits} m; are these millimetres?", "distances are in metres")


_RADIANS = "angles are in radians; a joint without limits is continuous"


def limit_neutral(s: Subject) -> Iterator[Finding]:
    """Find neutral positions outside of the limits."""
    for c in s.model.joints:
        if len(c.lower) != 1 or c.mimic is not None:
            continue
        if not c.lower[0] - 1e-9 <= c.type.neutral()[0] <= c.upper[0] + 1e-9:
            why = f"has the limits {c.lower[0]:g} and {c.upper[0]:g}, which leave out its neutral position 0"
            yield _about(c, "info", "limit-neutral", why, "start from another position than `neutral()`")


def limit_negative(s: Subject) -> Iterator[Finding]:
    """Find limits of velocity or effort below zero."""
    for c in s.model.joints:
        for what, limit in (("velocity", c.velocity_limit), ("effort", c.effort_limit)):
            if any(x < 0.0 for x in limit):
                why = f"has the {what} limit {min(limit):g}; a limit is not below zero"
                yield _about(c, "error", "limit-negative", why, f"give the largest {what} without its sign")


def velocity_limit_zero(s: Subject) -> Iterator[Finding]:
    """Find joints with a velocity limit of zero."""
    for c in s.model.joints:
        if 0.0 in c.velocity_limit:
            yield _about(c, "warning", "velocity-limit-zero", "has the velocity limit 0", _ZERO)


def effort_limit_zero(s: Subject) -> Iterator[Finding]:
    """Find joints with an effort limit of zero."""
    for c in s.model.joints:
        if 0.0 in c.effort_limit:
            yield _about(c, "warning", "effort-limit-zero", "has the effort limit 0", _ZERO)


_ZERO = "give the real limit, or leave the attribute out where the format allows that; planners take 0 at its word"


def mimic_zero(s: Subject) -> Iterator[Finding]:
    """Find mimic joints with a ratio of zero."""
    for c in s.model.joints:
        if c.mimic is not None and c.mimic.ratio == 0.0:
            other = s.model.joints[c.mimic.joint].name
            why = f"follows {other!r} by the ratio 0: it never moves"
            yield _about(c, "warning", "mimic-zero", why, "make it a fixed joint")


def mimic_limits(s: Subject) -> Iterator[Finding]:
    """Find mimic joints that their leaders move beyond their limits."""
    for c in s.model.joints:
        if c.mimic is None:
            continue
        other = s.model.joints[c.mimic.joint]
        if not (math.isfinite(other.lower[0]) and math.isfinite(other.upper[0])):
            continue
        ends = [c.mimic.ratio * x + c.mimic.offset for x in (other.lower[0], other.upper[0])]
        slack = 1e-3 * max(1.0, abs(ends[0] - ends[1]))
        if min(ends) < c.lower[0] - slack or max(ends) > c.upper[0] + slack:
            why = (
                f"follows {other.name!r} from {min(ends):.4g} to {max(ends):.4g}, beyond its own limits "
                f"{c.lower[0]:g} and {c.upper[0]:g}"
            )
            yield _about(c, "info", "mimic-limits", why, "make the limits of both joints agree")


def _about(c: Connection, severity: Severity, code: str, why: str, advice: str) -> Finding:
    return Finding(severity, code, c.name, f"joint {c.name!r} {why}", advice, c.where)
