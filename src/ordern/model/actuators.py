"""Actuators, as files describe them: motors, servos, transmissions; the joints that they drive, gears and limits."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from ..errors import ModelError, unknown_name
from ..records import dataclass
from .checks import name_of

__all__ = ["Actuator", "on_joints"]

_NO_LIMITS = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Actuator:
    """An actuator of a robot: the joints that it drives, its gear, and its limits.

    Its force f, within `force_limits`, adds `gear[k] * f` to the forces of joint `joints[k]`; the velocity of the
    actuator is the sum of `gear[k] * v` over its joints. It has no part in the dynamics: `robot.actuated` says which
    joints controllers push, and `effort_limit` of a joint how hard.
    """

    name: str
    kind: str
    """The kind of the actuator, in the words of the file: `"motor"`, `"position"`, `"SimpleTransmission"` ..."""
    joints: tuple[str, ...] = ()
    """The names of the joints that it drives; empty if it acts on something else, see `through`."""
    gear: tuple[tuple[float, ...], ...] = ()
    """For each of its joints, one number for each freedom: the force on that freedom per force of the actuator."""
    force_limits: tuple[float, float] = _NO_LIMITS
    """The least and the largest force of the actuator, before the gear: N m, or N."""
    control_limits: tuple[float, float] = _NO_LIMITS
    """The least and the largest control signal, in the units that the kind of the actuator takes."""
    through: str = ""
    """The part between the actuator and the robot, such as `"tendon 'flexor'"`; empty if it drives joints directly."""
    where: str = field(default="", compare=False)
    """File and line that it came from."""

    def __post_init__(self) -> None:
        what = f"actuator {name_of(self.name, 'actuator')!r}"
        joints = tuple(self.joints)
        gear = tuple(_numbers(row, f"{what}: gear", self.where) for row in self.gear)
        if len(gear) != len(joints):
            raise ModelError(f"{what} has {len(joints)} joints and {len(gear)} gears; expected as many", self.where)
        if not all(math.isfinite(x) for row in gear for x in row):
            raise ModelError(f"{what}: its gear must be finite, not {gear}", self.where)
        object.__setattr__(self, "joints", joints)
        object.__setattr__(self, "gear", gear)
        for key in ("force_limits", "control_limits"):
            limits = _numbers(getattr(self, key), f"{what}: {key}", self.where)
            if len(limits) != 2 or not limits[0] <= limits[1]:
                raise ModelError(f"{what}: {key} must be the least and the largest number, not {limits}", self.where)
            object.__setattr__(self, key, limits)

    def __repr__(self) -> str:
        """Return the call that makes it; arguments that have their default values are left out."""
        given = [repr(self.name), repr(self.kind)]
        given += [f"{key}={getattr(self, key)!r}" for key in ("joints", "gear") if self.joints]
        for key in ("force_limits", "control_limits"):
            if getattr(self, key) != _NO_LIMITS:
                low, high = ("-inf" if x == -math.inf else repr(x) for x in getattr(self, key))
                given.append(f"{key}=({low}, {high})")
        given += [f"through={self.through!r}"] if self.through else []
        return f"Actuator({', '.join(given)})"


def _numbers(x: Any, what: str, where: str) -> tuple[float, ...]:
    """Return one number, or a sequence of numbers, as a tuple."""
    try:
        return tuple(map(float, x)) if isinstance(x, Iterable) else (float(x),)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} must be numbers, not {x!r}", where) from None


def on_joints(
    actuators: Iterable[Actuator], freedoms: Mapping[str, int], fixed: Container[str]
) -> tuple[Actuator, ...]:
    """Return the actuators of a built model, checked. Joints that are `fixed` drop out, and actuators of only these.

    `freedoms` has the numbers of freedoms of the joints, also of those that close loops.
    """
    found: list[Actuator] = []
    names: set[str] = set()
    for actuator in actuators:
        what = f"actuator {actuator.name!r}"
        if actuator.name in names:
            raise ModelError(f"{what} exists already; every actuator needs a name of its own", actuator.where)
        names.add(actuator.name)
        kept = []
        for joint, gear in zip(actuator.joints, actuator.gear, strict=True):
            if joint in freedoms:
                n = freedoms[joint]
                if n and len(gear) != n:
                    why = f"its gear has {len(gear)} numbers for joint {joint!r}; expected {n}, one for each freedom"
                    raise ModelError(f"{what}: {why}", actuator.where)
                kept += [(joint, gear)] if n else []
            elif joint not in fixed:
                raise ModelError(str(unknown_name("joint", joint, freedoms, what)), actuator.where)
        if kept or not actuator.joints:
            found.append(replace(actuator, joints=tuple(j for j, _ in kept), gear=tuple(g for _, g in kept)))
    return tuple(found)
