"""Named positions, as files describe them: "home", "ready" ... with the positions of some joints."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from ..arguments import Array
from ..errors import ModelError, unknown_name
from ..records import dataclass
from .checks import name_of
from .parts import ModelJoint

__all__ = ["NamedPosition", "Positions", "kept", "named_position"]

ROOT = "root_joint"
"""The joint of a floating base, which a robot has only if it floats."""


@dataclass(frozen=True, slots=True)
class NamedPosition:
    """The positions of some joints under one name; all others are neutral."""

    name: str
    joints: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    """For each of the joints, as many numbers as it has positions."""
    where: str = field(default="", compare=False)
    """File and line that it came from."""

    def __post_init__(self) -> None:
        what = f"position {name_of(self.name, 'position')!r}"
        if len(self.joints) != len(self.values):
            raise ModelError(f"{what} has {len(self.joints)} joints and {len(self.values)} values", self.where)
        for joint, values in zip(self.joints, self.values, strict=True):
            if not all(map(math.isfinite, values)):
                raise ModelError(f"{what}: the position of joint {joint!r} must be finite, not {values}", self.where)


class Positions(dict[str, Array]):
    """Positions q by name. The error for an unknown name lists those that there are."""

    def __init__(self, owner: str) -> None:
        super().__init__()
        self._owner = owner

    def __missing__(self, name: object) -> Array:
        raise unknown_name("position", name, self, self._owner)

    def __reduce__(self) -> tuple[type[dict[str, Array]], tuple[dict[str, Array]]]:
        return dict, (dict(self),)


def named_position(name: str, joints: Mapping[str, Any], where: str = "") -> NamedPosition:
    """Return a named position from the positions of joints: one number for each, or several."""
    try:
        values = tuple(
            tuple(map(float, x)) if isinstance(x, (Sequence, np.ndarray)) and not isinstance(x, str) else (float(x),)
            for x in joints.values()
        )
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"position {name!r}: positions of joints must be numbers, not {dict(joints)!r:.80}") from None
    return NamedPosition(name, tuple(joints), values, where)


def kept(
    positions: Iterable[NamedPosition], joints: Sequence[ModelJoint], known: Container[str]
) -> tuple[NamedPosition, ...]:
    """Return the positions of a built model, checked; joints that were merged, or have no coordinate, drop out.

    `known` are the joints that the builder was given.
    """
    sizes = {c.name: c.type.nq for c in joints}
    follows = {c.name: (joints[c.mimic.joint].name, c.mimic.ratio, c.mimic.offset) for c in joints if c.mimic}
    found: dict[str, NamedPosition] = {}
    for position in positions:
        what = f"position {position.name!r}"
        if position.name in found:
            raise ModelError(f"{what} exists already; every position needs a name of its own", position.where)
        chosen = []
        for joint, values in zip(position.joints, position.values, strict=True):
            n = sizes.get(joint, 0)
            if joint not in sizes and joint not in known and joint != ROOT:
                raise ModelError(str(unknown_name("joint", joint, sizes, what)), position.where)
            if n and len(values) != n:
                message = f"{what} has {len(values)} numbers for joint {joint!r}; expected {n}"
                raise ModelError(message, position.where)
            if joint in follows:  # the position of the joint that it follows
                leader, ratio, offset = follows[joint]
                if leader in position.joints or ratio == 0.0:
                    continue
                joint, values = leader, ((values[0] - offset) / ratio,)
            chosen += [(joint, values)] if n else []
        names, values_of = tuple(joint for joint, _ in chosen), tuple(values for _, values in chosen)
        found[position.name] = replace(position, joints=names, values=values_of)
    return tuple(found.values())
