"""The names and shapes of the parameters of a robot."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, cast

from ..joints import Joint
from ..model import Model
from ..records import dataclass
from .inertias import INERTIA_NAMES

__all__ = ["BODY_FIELDS", "FIELDS", "FREEDOM_FIELDS", "THETA", "Names", "names_of"]

FREEDOM_FIELDS = ("armature", "damping", "joint_friction", "stiffness")
"""The parameters with a number for each freedom of each joint; all are at least zero."""
BODY_FIELDS = ("inertia", "added_inertia")
FIELDS = (
    *BODY_FIELDS,
    *FREEDOM_FIELDS,
    *("rest", "joint_numbers", "mimic_ratio", "mimic_offset", "joint_placement", "frame_placement", "gravity"),
    "contact_friction",
)
"""All parameters, in the order of `Parameters.labels`."""
THETA = ("inertia", "armature", "damping", "joint_friction")
"""The parameters in which forces are linear, in the order of the columns of regressors."""
_AXES = ("x", "y", "z")
_PLACE = (*_AXES, "rx", "ry", "rz")
_UPPER = tuple(f"added[{i},{j}]" for i in range(6) for j in range(i, 6))


@dataclass(frozen=True, slots=True)
class JointNames:
    """A joint with the sizes of its parameters."""

    name: str
    nv: int
    nq: int
    numbers: tuple[str, ...]
    """The names of the numbers of its type, such as the pitch of a screw."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of bodies, joints and frames, from which shapes and labels of parameters follow."""

    robot: str
    bodies: tuple[str, ...]
    joints: tuple[JointNames, ...]
    followers: tuple[str, ...]
    """The mimic joints."""
    frames: tuple[str, ...]
    in_fluid: bool
    """True if some body is in a fluid; otherwise bodies have no numbers for added inertia."""
    contacts: tuple[str, ...] = ()

    def core_shape(self, field: str) -> tuple[int, ...]:
        """Return the shape of a parameter of one robot."""
        if field == "inertia":
            return (len(self.bodies), 10)
        if field == "added_inertia":
            return (len(self.bodies) if self.in_fluid else 0, 21)
        if field == "joint_placement":
            return (len(self.joints), 6)
        if field == "frame_placement":
            return (len(self.frames), 6)
        return (3,) if field == "gravity" else (sum(k.stop - k.start for _, k in self.places(field)),)

    def size(self, field: str) -> int:
        """Return how many numbers a parameter of one robot has."""
        return math.prod(self.core_shape(field))

    def places(self, field: str) -> Iterator[tuple[str, slice]]:
        """Yield the name of each joint with the slice of its numbers, for parameters of joints; or of each contact."""
        if field == "contact_friction":
            yield from ((name, slice(k, k + 1)) for k, name in enumerate(self.contacts))
            return
        start = 0
        for c in self.joints:
            if field in ("mimic_ratio", "mimic_offset"):
                count = int(c.name in self.followers)
            else:
                count = len(c.numbers) if field == "joint_numbers" else c.nq if field == "rest" else c.nv
            if count:
                yield c.name, slice(start, start + count)
            start += count

    def labels(self, field: str) -> Iterator[str]:
        """Yield the label of each number of a parameter, such as "link7.mass" or "joint3.armature"."""
        rows: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
            "inertia": (self.bodies, "", INERTIA_NAMES),
            "added_inertia": (self.bodies if self.in_fluid else (), "", _UPPER),
            "joint_placement": (tuple(c.name for c in self.joints), "placement.", _PLACE),
            "frame_placement": (self.frames, "frame.", _PLACE),
            "gravity": (("gravity",), "", _AXES),
        }
        if field in rows:
            names, between, ends = rows[field]
            yield from (f"{name}.{between}{end}" for name in names for end in ends)
        elif field == "joint_numbers":
            yield from (f"{c.name}.{number}" for c in self.joints for number in c.numbers)
        else:
            for name, part in self.places(field):
                count = part.stop - part.start
                yield from (f"{name}.{field}{f'[{k}]' if count > 1 else ''}" for k in range(count))


def names_of(model: Model) -> Names:
    """Return the names of a model."""
    return Names(
        model.name,
        tuple(b.name for b in model.bodies),
        tuple(JointNames(c.name, c.type.nv, c.type.nq, _number_names(c.type)) for c in model.joints),
        tuple(c.name for c in model.joints if c.mimic),
        tuple(f.name for f in model.frames),
        model.in_fluid,
        () if model.contacts is None else tuple(c.name for c in model.contacts.pairs),
    )


def _number_names(joint: Joint) -> tuple[str, ...]:
    """Return the names of the numbers of a joint's type: those of its fields, where these are its numbers."""
    count, given = len(joint.parameters), cast("Any", joint)
    if not count:
        return ()
    own = [f.name for f in fields(given) if not f.name.startswith("axis")] if is_dataclass(given) else []
    same = len(own) == count and tuple(getattr(joint, name) for name in own) == joint.parameters
    return tuple(own) if same else tuple(f"number[{k}]" for k in range(count))
