"""Second derivatives of forward dynamics of robots with loops: which robots and states have them.

They are those of the graph of the method "multipliers" of `closed_dynamics`. Its answer has the accelerations, the
multipliers of the constraints, and the smallest pivot, which is no part of the answer that users know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.closed_loop.reduced import SMALLEST_PIVOT
from ..errors import ArgumentError, unknown_name
from .consistent import whose
from .derivative_arguments import CLOSED, named_arguments
from .dynamics import closed_dynamics, usual_method
from .kernels import asking

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["regular_arguments", "rows_of"]

_OPENED = "`robot.opened()` is the same robot without loops"


def rows_of(robot: Robot, question: str) -> int:
    """Return how many numbers of the graph's answer are those of a question; raise if it has no second derivatives."""
    rows = {"forward_dynamics": robot.nv, "closed_dynamics": robot.nv + robot.nc}
    if question not in rows:
        raise ArgumentError(
            f"second derivatives of {question}: {robot.name!r} has loops, and only 'forward_dynamics' and "
            f"'closed_dynamics' have second derivatives that keep them closed; {_OPENED}"
        )
    return rows[question]


def regular_arguments(robot: Robot, question: str, arguments: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments by name; raise if loops are open, or if constraints depend on each other."""
    who = f"second derivatives of {question}"
    for name in settings:
        if name != "check":
            raise unknown_name("setting", name, ("check",), who)
    given = named_arguments(question, "arguments", arguments, CLOSED[question])
    for name in ("q", "v", "tau"):
        if name not in given:
            raise ArgumentError(f"{who}: the argument {name!r} is missing")
    if usual_method(robot) != "multipliers":
        raise ArgumentError(f"{who}: some joint of {robot.name!r} moves no mass; only first derivatives allow this")
    motion = closed_dynamics(robot, **given, asked=who, check=settings.get("check", True))
    optional = {x: given[x] for x in given if x not in ("q", "v", "tau", "external")}
    answer = asking(robot)(
        "closed_dynamics", *(given[x] for x in ("q", "v", "tau")), external=motion.external, **optional
    )
    pivot = np.abs(np.asarray(answer)[..., -1])
    bad = (motion.rank < robot.nc) | ~(pivot > SMALLEST_PIVOT)
    if bad.any():
        at = tuple(int(k) for k in np.argwhere(bad)[0])
        raise ArgumentError(
            f"{who}: constraints of {robot.name!r} depend on each other{whose(bad, at)}; such states have first "
            "derivatives only"
        )
    return given
