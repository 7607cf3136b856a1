"""Arguments of derivatives of functions that keep loops closed: their names, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, unknown_name
from ..model.parameter_fields import hint_of

__all__ = ["CLOSED", "CORES", "arguments_and_settings", "named_arguments"]

_STATE = ("q", "v", "tau", "external", "base_velocity", "base_acceleration", "t")
CLOSED: dict[str, tuple[str, ...]] = {
    "forward_dynamics": _STATE,
    "closed_dynamics": _STATE,
    "joint_wrenches": _STATE,
    "constraint_forces": _STATE,
    "link_accelerations": _STATE,
    "actuation": ("q", "v", "a", "external", "t"),
}
"""The functions that keep loops closed, and their arguments."""
CORES = {"external": 2, "t": 0}
"""The numbers of dimensions of one state, where it is not 1."""


def arguments_and_settings(
    question: str, values: Sequence[Any], named: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of a call by name, and its settings."""
    inputs = ("q", "v", "a", *_STATE[2:]) if question == "joint_wrenches" else CLOSED[question]
    given = named_arguments(question, "arguments", tuple(values), inputs)
    given |= {x: y for x, y in named.items() if x in inputs and y is not None}
    return given, {x: y for x, y in named.items() if x not in inputs}


def named_arguments(who: str, what: str, values: Any, inputs: Sequence[str]) -> dict[str, Any]:
    """Return arrays by the names of arguments, without those that are None."""
    if isinstance(values, Mapping):
        for name in values:
            if name not in inputs:
                raise unknown_name(f"name among the {what}", name, inputs, who, hint_of(name))
        return {x: values[x] for x in inputs if values.get(x) is not None}
    if isinstance(values, np.ndarray) or not isinstance(values, Sequence) or len(values) > len(inputs):
        raise ArgumentError(
            f"derivatives of {who}: {what} must be a tuple of at most {len(inputs)} arrays ({', '.join(inputs)}), or a "
            f"dictionary, not {type(values).__name__}: all {what} are one tuple"
        )
    return {x: value for x, value in zip(inputs, values, strict=False) if value is not None}
