"""The table of checks, in the order of the report.

A check is a function under one of the decorators below, which add it to the table. The order is that of the modules in
`check/__init__.py`, and of the functions in each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps

from ..model import Body, Connection
from .report import Finding, Severity
from .subject import Subject

__all__ = ["CHECKS", "body_check", "joint_check", "robot_check"]

Check = Callable[[Subject], Iterator[Finding]]
BodyProblem = Callable[[Subject, int, Body], str]
JointProblem = Callable[[Subject, Connection], str]

CHECKS: list[Check] = []


def robot_check(check: Check) -> Check:
    """Add a function that yields findings about a robot."""
    CHECKS.append(check)
    return check


def body_check(code: str, severity: Severity, advice: str) -> Callable[[BodyProblem], Check]:
    """Add a check of every body, from a function that returns the problem of one body, or "".

    A problem continues a sentence that begins with the body. If no joint moves the body, it is only an information.
    """

    def declare(problem: BodyProblem) -> Check:
        @wraps(problem)
        def check(s: Subject) -> Iterator[Finding]:
            for k, b in enumerate(s.model.bodies):
                if why := problem(s, k, b):
                    grade = severity if s.moved[k] else "info"
                    yield Finding(grade, code, b.name, f"body {b.name!r} {why}", advice, b.where)

        return robot_check(check)

    return declare


def joint_check(code: str, severity: Severity, advice: str) -> Callable[[JointProblem], Check]:
    """Add a check of every joint, from a function that returns the problem of one joint, or ""."""

    def declare(problem: JointProblem) -> Check:
        @wraps(problem)
        def check(s: Subject) -> Iterator[Finding]:
            for c in s.model.joints:
                if why := problem(s, c):
                    yield Finding(severity, code, c.name, f"joint {c.name!r} {why}", advice, c.where)

        return robot_check(check)

    return declare
