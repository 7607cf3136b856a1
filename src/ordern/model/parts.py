"""The parts of a model: bodies, joints, frames, shapes, loops. All are immutable."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ..arguments import Array
from ..errors import ModelError
from ..joints import Closure, Joint, Placement, placement
from ..records import dataclass
from .checks import are_coefficients, located, numbers
from .contact_terms import ContactTerms
from .fluid import Drag, EllipsoidDrag, added_numbers, displaced_numbers, drags_of

__all__ = [
    "BASE",
    "SHAPES",
    "TERMS",
    "Body",
    "Connection",
    "Coupling",
    "Frame",
    "Link",
    "Loop",
    "Mimic",
    "ModelJoint",
    "Note",
    "Placement",
    "Shape",
    "carried",
    "inward",
    "joint_terms",
    "path_length",
    "placement",
]

_HERE = Placement()
_FLOATS = frozenset({float})
BASE = -1
"""The index of the base, which does not move and has no entry in `Model.bodies`."""
TERMS = {
    **{"lower": -math.inf, "upper": math.inf, "velocity_limit": math.inf, "effort_limit": math.inf},
    **dict.fromkeys(("damping", "friction", "armature", "stiffness", "rest"), 0.0),
}
"""The numbers of a joint that users may give, and their defaults. The default of `rest` is the neutral position."""
_terms_of = operator.attrgetter(*TERMS)
_OF_POSITIONS = ("lower", "upper", "rest")
"""The terms with a number for each position; the others have one for each velocity."""
_COEFFICIENTS = ("armature", "damping", "friction", "stiffness")


def joint_terms(what: str, joint: Joint | None, given: dict[str, Any], where: str = "") -> dict[str, tuple[float, ...]]:
    """Return the terms of a joint, checked, with a number for each coordinate; None stands for the default."""
    found = {}
    nq, nv = (0, 0) if joint is None else (joint.nq, joint.nv)
    for key, x in given.items():
        n = nq if key in _OF_POSITIONS else nv
        if x is not None:
            found[key] = _floats(x, n, what, key)
        elif key != "rest" or joint is None:
            found[key] = (TERMS[key],) * n
        else:
            found[key] = joint.neutral()
            if len(found[key]) != n:
                gives = f"nq = {n}, but `neutral` gives {len(found[key])} numbers"
                raise ModelError(f"{what}: its class {type(joint).__name__} has {gives}", where)
    if any(map(math.isinf, found["rest"])):
        raise ModelError(f"{what}: rest must be finite, not {found['rest']}", where)
    for key in _COEFFICIENTS:
        if key in found and not are_coefficients(found[key]):
            raise ModelError(f"{what}: {key} must be finite and not below zero", where)
    return found


def _floats(x: Any, n: int, what: str, key: str) -> tuple[float, ...]:
    """Return n numbers as a tuple of floats; one number stands for n."""
    if type(x) is tuple and len(x) == n and _FLOATS.issuperset(map(type, x)) and not any(map(math.isnan, x)):
        return x
    return numbers(x, n, math.nan, f"{what}: {key}")


@dataclass(frozen=True, slots=True)
class Body:
    """A rigid body: mass, centre of mass, and inertia about it, in the axes of the body's own frame."""

    name: str
    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, ...]
    """(xx, yy, zz, xy, xz, yz) about the centre of mass."""
    where: str = field(default="", compare=False)
    """File and line that it came from."""
    added_inertia: tuple[float, ...] = ()
    """The inertia of the fluid that moves with the body: 21 numbers, or none; see `ordern.model.fluid`."""
    displaced: tuple[float, ...] = ()
    """The fluid that the body displaces: its mass, and the centre of its volume; or no numbers."""
    drags: tuple[Drag | EllipsoidDrag, ...] = ()
    """The drag of the fluid."""

    def __post_init__(self) -> None:
        what = f"body {self.name!r}"
        (mass,) = _floats(self.mass, 1, what, "mass")
        if mass < 0.0 or math.isinf(mass):
            raise ModelError(f"{what} has mass {mass:g}; a mass is a finite number, not below zero", self.where)
        object.__setattr__(self, "mass", mass)
        for key, n in (("com", 3), ("inertia", 6)):
            numbers = _floats(getattr(self, key), n, what, key)
            if not all(map(math.isfinite, numbers)):
                raise ModelError(f"{what}: {key} must be finite, not {numbers}", self.where)
            object.__setattr__(self, key, numbers)
        if self.added_inertia or self.displaced or self.drags:
            with located(self.where):
                object.__setattr__(self, "added_inertia", added_numbers(self.added_inertia, what))
                object.__setattr__(self, "displaced", displaced_numbers(self.displaced, what))
                object.__setattr__(self, "drags", drags_of(self.drags, what))

    @property
    def inertia_matrix(self) -> Array:
        """The 3x3 inertia about the centre of mass."""
        xx, yy, zz, xy, xz, yz = self.inertia
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def __repr__(self) -> str:
        return f"Body({self.name!r}, mass={self.mass:.6g})"


@dataclass(frozen=True, slots=True)
class Mimic:
    """A joint that follows another: its position is ratio * q + offset, with q of the joint that it follows."""

    joint: int
    """The index of the joint that is followed; that one follows no other."""
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelJoint:
    """A joint of a model: what it connects, where, with which limits. Its formulas are in `type`."""

    name: str
    type: Joint
    parent: int
    """The index of the parent body; -1 is the base."""
    placement: Placement
    """The place of the joint's frame in the parent's: the child's frame at the neutral position."""
    q_start: int
    v_start: int
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    velocity_limit: tuple[float, ...]
    effort_limit: tuple[float, ...]
    damping: tuple[float, ...]
    friction: tuple[float, ...]
    armature: tuple[float, ...]
    stiffness: tuple[float, ...]
    rest: tuple[float, ...]
    """The position in which its spring is at rest."""
    mimic: Mimic | None = None
    """If it follows another joint: then it has no coordinates of its own, and `q` and `v` are that joint's."""
    where: str = field(default="", compare=False)
    """File and line that it came from."""

    def __post_init__(self) -> None:
        what = f"joint {self.name!r}"
        if not isinstance(self.type, Joint):
            raise ModelError(f"{what}: its type must be a joint such as Revolute(axis), not {self.type!r}", self.where)
        given = dict(zip(TERMS, _terms_of(self), strict=True))
        for key, x in joint_terms(what, self.type, given, self.where).items():
            if x is not given[key]:
                object.__setattr__(self, key, x)

    @property
    def nq(self) -> int:
        """Number of positions of its own."""
        return 0 if self.mimic else self.type.nq

    @property
    def is_passive(self) -> bool:
        """True if it has a damper, friction or a spring."""
        return any((*self.damping, *self.friction, *self.stiffness))

    @property
    def nv(self) -> int:
        """Number of velocities of its own."""
        return 0 if self.mimic else self.type.nv

    @property
    def q(self) -> slice:
        """The slice of this joint's positions in q."""
        return slice(self.q_start, self.q_start + self.type.nq)

    @property
    def v(self) -> slice:
        """The slice of this joint's velocities in v, a and tau."""
        return slice(self.v_start, self.v_start + self.type.nv)

    def __repr__(self) -> str:
        return f"ModelJoint({self.name!r}, {type(self.type).__name__})"


Connection = ModelJoint
"""The earlier name of `ModelJoint`."""


def carried(joints: Sequence[ModelJoint], body: int) -> list[int]:
    """Return a body and all that it carries, parents first."""
    found = {body}
    for k in range(body + 1, len(joints)):
        if joints[k].parent in found:
            found.add(k)
    return sorted(found)


def inward(joints: Sequence[ModelJoint], body: int, top: int = BASE) -> list[int]:
    """Return a body and all that carry it, up to the body `top`, which is left out."""
    found: list[int] = []
    while body != top:
        found.append(body)
        body = joints[body].parent
    return found


def path_length(joints: Sequence[ModelJoint], frame: Frame) -> float:
    """Return the sum of the distances from the base to a frame, joint after joint, in the neutral position."""
    path = [frame.placement.p, *(joints[k].placement.p for k in inward(joints, frame.body))]
    return sum(math.sqrt(p @ p) for p in path)


@dataclass(frozen=True, slots=True)
class Frame:
    """A named frame fixed to a body (or, with body -1, to the base)."""

    name: str
    body: int
    placement: Placement = _HERE

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "body", operator.index(self.body))
        except TypeError:
            raise ModelError(f"frame {self.name!r}: body must be the index of a body, not {self.body!r}") from None
        if not isinstance(self.placement, Placement):
            raise ModelError(f"frame {self.name!r}: placement must be a Placement, not {self.placement!r}")

    def __repr__(self) -> str:
        return f"Frame({self.name!r}, body={self.body})"


@dataclass(frozen=True, slots=True)
class Link:
    """A link that fixed joints merged with others into one body."""

    body: int
    """The index of the body that it is part of; -1 is the base."""
    own: Body
    """Its own mass, centre of mass and inertia, in its own frame."""
    placement: Placement = _HERE
    """The place of its frame in the frame of the body."""
    joint: str = ""
    """The name of the fixed joint that merged it; empty for the first link of a body."""
    bare: bool = False
    """True if it has no mass, and nothing is fixed to it: it is only a frame, which may be placed elsewhere."""

    @property
    def name(self) -> str:
        """The name of the link. The first link of a body has the name of the body."""
        return self.own.name

    @property
    def mass(self) -> float:
        """The mass of the link alone."""
        return self.own.mass

    @property
    def com(self) -> tuple[float, float, float]:
        """Its centre of mass, in its own frame."""
        return self.own.com

    @property
    def inertia(self) -> tuple[float, ...]:
        """(xx, yy, zz, xy, xz, yz) about its centre of mass, in the axes of its own frame."""
        return self.own.inertia

    def __repr__(self) -> str:
        return f"Link({self.name!r}, body={self.body}, mass={self.mass:.6g})"


SHAPES = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "ellipsoid": 3, "plane": 0, "mesh": 3, "hfield": 2}
"""Kinds of shapes, and how many numbers `Shape.size` has for them."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A visual or collision shape of a body, for viewers and checks. It has no part in the dynamics.

    `size` of a box are its three sides, of a sphere its radius, of a cylinder or capsule radius and length along z
    (without the caps), of an ellipsoid its half axes, of a mesh the scale along x, y and z, of a height field
    ("hfield") its lengths along x and y.
    """

    body: int
    """The index of the body; -1 is the base."""
    kind: str
    """One of SHAPES."""
    size: tuple[float, ...]
    placement: Placement = _HERE
    file: str = ""
    """The file of a mesh, as the description has it: a relative path, or package://..."""
    role: str = "visual"
    """"visual" or "collision"."""
    color: tuple[float, float, float, float] | None = None
    name: str = ""
    friction: float | None = None
    """The coefficient of friction of its surface, if the description has one; see `Robot.with_contacts`."""
    contact: ContactTerms | None = None
    """The other terms of its contacts, if the description has some."""
    link: str = field(default="", compare=False)
    """The link that it is on, as the description names it; `body` may have several."""
    heights: tuple[tuple[float, ...], ...] = ()
    """Of a height field, in m: rows along x, columns along y, with the centre of the grid in the origin."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A joint that closes a loop, between a frame on one body and a frame on another; or another `Closure`.

    The tree does not have it; what it forbids is a constraint on the tree's motion. A joint has coordinates, those of
    the child's frame relative to the parent's, and may have springs, dampers, friction and limits like one of the tree.
    """

    name: str
    type: Closure
    """The motion of the child's frame relative to the parent's that is left free."""
    parent: int
    parent_placement: Placement
    child: int
    child_placement: Placement
    where: str = field(default="", compare=False)
    active: bool = True
    """True if it binds; an inactive one only keeps its name."""
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    velocity_limit: tuple[float, ...] = ()
    effort_limit: tuple[float, ...] = ()
    damping: tuple[float, ...] = ()
    friction: tuple[float, ...] = ()
    stiffness: tuple[float, ...] = ()
    rest: tuple[float, ...] = ()
    """The position in which its spring is at rest."""

    def __post_init__(self) -> None:
        what = f"loop {self.name!r}"
        if not isinstance(self.type, Closure):
            raise ModelError(f"{what}: its type must be a joint such as Spherical(), not {self.type!r}", self.where)
        given = {key: getattr(self, key) for key in TERMS if key != "armature"}
        given = {key: None if isinstance(x, tuple) and not x else x for key, x in given.items()}
        for key, x in joint_terms(what, self._joint, given, self.where).items():
            if key in ("velocity_limit", "effort_limit") and min(x, default=0.0) < 0.0:
                raise ModelError(f"{what}: {key} must not be below zero, but is {x}", self.where)
            object.__setattr__(self, key, x)
        _set_active(self, what)

    @property
    def nq(self) -> int:
        """Number of coordinates of its joint; zero for other closures, or if the coordinates are not known."""
        return self._joint.nq if self._joint else 0

    @property
    def is_passive(self) -> bool:
        """True if it has a damper, friction or a spring."""
        return any((*self.damping, *self.friction, *self.stiffness))

    @property
    def nv(self) -> int:
        """Number of velocities of its joint; zero where it has no coordinates."""
        return self._joint.nv if self._joint else 0

    @property
    def angles(self) -> tuple[int, ...]:
        """Indices of its coordinates that are angles, which count without full turns."""
        return self._joint.angles if self._joint else ()

    @property
    def _joint(self) -> Joint | None:
        """Its joint, if the coordinates of the joint in the loop are known."""
        return self.type if isinstance(self.type, Joint) and not self.type.why_not_locatable else None

    def __repr__(self) -> str:
        return f"Loop({self.name!r}, {type(self.type).__name__})"


@dataclass(frozen=True, slots=True)
class Coupling:
    """A constraint between coordinates: the coordinate of `joint` is a polynomial of the coordinate of `other`.

    q_joint = c0 + c1 q_other + c2 q_other^2 + ...; without another joint (index -1), q_joint = c0.
    """

    name: str
    joint: int
    other: int
    coefficients: tuple[float, ...]
    where: str = field(default="", compare=False)
    active: bool = True
    """True if it binds; an inactive one only keeps its name."""

    def __post_init__(self) -> None:
        _set_active(self, f"coupling {self.name!r}")


def _set_active(part: Loop | Coupling, what: str) -> None:
    """Make `active` a plain bool; raise if it is something else."""
    if not isinstance(part.active, (bool, np.bool_)):
        raise ModelError(f"{what}: active must be True or False, not {part.active!r}", part.where)
    object.__setattr__(part, "active", bool(part.active))


@dataclass(frozen=True, slots=True)
class Note:
    """A remark of a loader on something in a file that it did not reject."""

    message: str
    where: str = ""
    suggestion: str = ""
    quiet: bool = False
    """True if it is about parts of the file that do not change the motion: sensors, looks, contacts."""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message
