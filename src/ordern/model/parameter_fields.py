"""The numbers of a model that may vary: their fields, the shapes of these, and a model's own numbers in them.

Every field is an array of plain numbers. `core_shapes` has its shape for one robot; arrays of many robots have a
leading shape in front of it. Joints and bodies are in the order of the model, joints that follow others included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..arguments import Array
from ..rotations import log

if TYPE_CHECKING:
    from .contacts import Contacts
    from .parts import Body, Frame, ModelJoint, Placement

__all__ = [
    "ALL_FIELDS",
    "FIELDS",
    "JOINT_TERMS",
    "Parts",
    "core_shapes",
    "hint_of",
    "hint_of_motion",
    "own_numbers",
    "starts",
]

FIELDS = (
    "inertia",  # m, mx, my, mz, xx, yy, zz, xy, xz, yz about the origin of the body's own frame, in its axes
    "added_inertia",  # of the fluid: the upper half of a 6x6 matrix, row by row
    "armature",
    "damping",
    "joint_friction",
    "stiffness",
    "rest",
    "joint_numbers",  # the parameters of joint types: pitch, radius
    "mimic_ratio",
    "mimic_offset",
    "joint_placement",  # position and rotation vector of the joint's frame in the parent's frame
    "frame_placement",  # the same of named frames in the frame of their body
    "gravity",
)
"""The fields by which every question has derivatives."""
ALL_FIELDS = (*FIELDS, "contact_friction")
"""All fields. The friction of contacts is an argument of steps with them, `surfaces`, and no number of other code."""
JOINT_TERMS = {"armature": "armature", "damping": "damping", "joint_friction": "friction", "stiffness": "stiffness"}
"""The fields with a number for each freedom of each joint, and the attribute of `ModelJoint` that has it."""


def hint_of(name: object) -> str:
    """Return how derivatives by numbers that are no field are found; empty for other names."""
    if name == "contact_friction":
        return "It is an argument of `contact_step`: the first number of each contact in `surfaces`"
    if name not in ("mass", "com", "central_inertia"):
        return ""
    return (
        "It is part of the field 'inertia', which has ten numbers for each body, and a mass multiplies all ten: "
        "'Derivatives' in docs/parameters.md has the derivative by a mass"
    )


def hint_of_motion(name: object) -> str:
    """Return the same for motions of a robot, whose fields have derivatives only where they vary."""
    if name in FIELDS:
        change = "mass" if name == "inertia" else "placement" if str(name).endswith("placement") else name
        return f"Numbers of the robot have derivatives where they vary: vary them first, with robot.vary({change}=...)"
    return hint_of(name)


class Parts(Protocol):
    """A model, or what else has its parts."""

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies."""

    @property
    def joints(self) -> tuple[ModelJoint, ...]:
        """The joints."""

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The named frames."""

    @property
    def gravity(self) -> tuple[float, float, float]:
        """The acceleration of gravity."""

    @property
    def contacts(self) -> Contacts | None:
        """The contacts."""


def core_shapes(model: Parts) -> dict[str, tuple[int, ...]]:
    """Return the shape of each field for one robot."""
    n, joints = len(model.bodies), model.joints
    freedoms = sum(c.type.nv for c in joints)
    followers = sum(c.mimic is not None for c in joints)
    return {
        "inertia": (n, 10),
        "added_inertia": (n, 21),
        **dict.fromkeys(JOINT_TERMS, (freedoms,)),
        "rest": (sum(c.type.nq for c in joints),),
        "joint_numbers": (sum(len(c.type.parameters) for c in joints),),
        "mimic_ratio": (followers,),
        "mimic_offset": (followers,),
        "joint_placement": (n, 6),
        "frame_placement": (len(model.frames), 6),
        "gravity": (3,),
        "contact_friction": (0 if model.contacts is None else len(model.contacts.pairs),),
    }


def starts(model: Parts, field: str) -> list[int]:
    """Return where the numbers of each joint begin, in a field with numbers of freedoms, positions or parameters.

    The last number is the end of the field.
    """
    if field == "joint_numbers":
        sizes = [len(c.type.parameters) for c in model.joints]
    else:
        sizes = [c.type.nq if field == "rest" else c.type.nv for c in model.joints]
    return [0, *accumulate(sizes)]


def own_numbers(model: Parts, fields: Iterable[str] = ALL_FIELDS) -> dict[str, Array]:
    """Return the numbers of a model in some fields."""
    shapes = core_shapes(model)
    return {
        field: np.array(_own(model, field), float).reshape(shapes[field]) for field in ALL_FIELDS if field in fields
    }


def _own(model: Parts, field: str) -> Any:
    """Return the numbers of a model in one field."""
    joints = model.joints
    if field in JOINT_TERMS:
        return [x for c in joints for x in getattr(c, JOINT_TERMS[field])]
    match field:
        case "inertia":
            return _inertias(model)
        case "added_inertia":
            return [b.added_inertia or (0.0,) * 21 for b in model.bodies]
        case "rest":
            return [x for c in joints for x in c.rest]
        case "joint_numbers":
            return [x for c in joints for x in c.type.parameters]
        case "mimic_ratio":
            return [c.mimic.ratio for c in joints if c.mimic is not None]
        case "mimic_offset":
            return [c.mimic.offset for c in joints if c.mimic is not None]
        case "joint_placement":
            return _places([c.placement for c in joints])
        case "frame_placement":
            return _places([f.placement for f in model.frames])
        case "contact_friction":
            return [] if model.contacts is None else [c.friction for c in model.contacts.pairs]
    return model.gravity


def _inertias(model: Parts) -> Array:
    """Return mass, first moments and second moments (xx, yy, zz, xy, xz, yz) of bodies about their origins."""
    n = len(model.bodies)
    m = np.array([b.mass for b in model.bodies])
    x, y, z = c = np.array([b.com for b in model.bodies]).reshape(n, 3).T
    own = np.array([b.inertia for b in model.bodies]).reshape(n, 6)
    shift = np.stack([y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z], axis=-1)
    return np.concatenate([m[:, None], (m * c).T, own + m[:, None] * shift], axis=1) + 0.0


def _places(placements: Sequence[Placement]) -> Array:
    """Return the positions and the rotation vectors of placements."""
    p = np.array([at.position for at in placements]).reshape(-1, 3)
    R = np.array([at.rotation for at in placements]).reshape(-1, 3, 3)
    return np.concatenate([p, log(R, check=False) if len(R) else p], axis=-1)
