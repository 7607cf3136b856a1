"""Clear errors for keywords that a method of parameters does not take."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ..errors import unknown_name

__all__ = ["names_keywords"]

P = ParamSpec("P")
R = TypeVar("R")
_LIMITS = ("lower", "upper", "velocity_limit", "effort_limit")
_NO_PARAMETERS = {
    **{x: f"{x.capitalize()} are not parameters" for x in ("actuators", "shapes", "drags")},
    **{
        x: f"Limits of joints are not parameters; `robot.builder().set_terms(joint, {x}=...)` sets them"
        for x in _LIMITS
    },
}
_BY_NAME = {
    "mass": "`vary` takes masses; here they are the first of the ten numbers of `inertia`",
    "com": "`vary` takes centres of mass; here they are part of `inertia`, as first moments",
    "placement": "`vary` takes placements by name; here they are `joint_placement` and `frame_placement`",
}
_NOT_RANDOM = ("added_inertia", "rest", "joint_numbers", "mimic_ratio", "mimic_offset")
_HINTS = {
    "with_parameters": _BY_NAME,
    "randomise": {x: f"`vary` takes {x!r}, with random numbers that you draw" for x in _NOT_RANDOM},
}


def names_keywords(method: Callable[P, R]) -> Callable[P, R]:
    """Return a method that raises UnknownNameError, with the closest name or a hint, for a keyword that it lacks.

    The signature stays that of the method, for type checkers and documentation.
    """
    name, code = method.__name__, method.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    known = code.co_varnames[1:count]
    hints = _NO_PARAMETERS | _HINTS.get(name, {})

    @wraps(method)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for keyword in kwargs:
            if keyword not in known:
                raise unknown_name("argument", keyword, known, name, hints.get(keyword, ""))
        return method(*args, **kwargs)

    return checked
