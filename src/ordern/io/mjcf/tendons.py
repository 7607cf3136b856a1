"""Tendons: the joints of fixed ones, and inertia along them (`armature`). Their other forces are not modelled.

A fixed tendon is a sum of joint positions with coefficients c: its length is c . q. So the joints are known that an
actuator drives by it, and an armature a adds a c c^T to the mass matrix. For one joint, that is an armature of the
joint. For several joints it is the inertia of a rotor that turns by c . q. The rotor is a chain of bodies on the world,
each of which turns relative to the one before by c_i q_i, as a mimic joint; only the last one has inertia.

Along a spatial tendon, the inertia depends on the position, and couples all joints between its sites. That is an error,
unless the tendon keeps its length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ...errors import ModelError, unknown_name
from ...model import ModelBuilder
from ...records import dataclass
from ..attributes import number
from ..remarks import Remarks
from ..xml import Element
from .bodies import joint_kind
from .nodes import BodyNode, Source
from .scale import ONE
from .tree import Tree, unique

if TYPE_CHECKING:
    from .actuators import Drive

__all__ = ["Rotor", "Tendon", "add_rotors", "add_to_joints", "inertia_along", "read_tendons"]

_FORCES = ("stiffness", "damping", "frictionloss", "range")
"""Attributes by which a tendon acts on the motion by itself, and which are not modelled."""
_ZEROS = ("0", "0.0", "0.", "-0")


@dataclass(frozen=True, slots=True)
class Tendon:
    """A tendon of a document, for one replica of what it refers to."""

    name: str
    coefficients: dict[str, float]
    """The joints of a fixed tendon that the tree has; empty for a spatial one."""
    missing: tuple[str, ...]
    """The joints and sites that the tree does not have."""
    sites: tuple[str, ...]
    armature: float
    element: Element
    attached: bool
    """True if it comes from a document that is attached, perhaps in part."""


@dataclass(frozen=True, slots=True)
class Rotor:
    """The inertia along a fixed tendon."""

    name: str
    coefficients: dict[str, float]
    """The coefficients of its joints, without zeros."""
    inertia: float
    where: str


def read_tendons(tree: Tree) -> list[Tendon]:
    """Return the tendons of a document, and of those that are attached; note what is not modelled."""
    joints = {part.name for body in tree.bodies for part in body.joints}
    sites = {part.name for body in tree.bodies for part in body.sites}
    found: list[Tendon] = []
    for source in tree.sources:
        for element in source.document.section("tendon") if source.whole else ():
            e = source.document.resolved(element, tag="tendon")
            _note_forces(e, source)
            found.extend(_tendon(e, source, suffix, joints, sites) for suffix in _suffixes(e, source))
    return found


def _tendon(e: Element, source: Source, suffix: str, joints: set[str], sites: set[str]) -> Tendon:
    name = f"{source.prefix}{e.attributes['name']}{suffix}" if e.attributes.get("name") else ""
    what = f"tendon {name!r}"

    def full(part: Element, key: str) -> str:
        return f"{source.prefix}{part.attributes.get(key, '')}{suffix}"

    coefficients: dict[str, float] = {}
    for part in e.all("joint"):
        joint = full(part, "joint")
        coefficients[joint] = coefficients.get(joint, 0.0) + number(part, "coef", what)
    through = tuple(full(part, "site") for part in e.all("site"))
    missing = (*(x for x in coefficients if x not in joints), *(x for x in through if x not in sites))
    known = {joint: c for joint, c in coefficients.items() if joint in joints}
    return Tendon(name, known, missing, through, number(e, "armature", what, 0.0), e, bool(source.prefix))


def _note_forces(e: Element, source: Source) -> None:
    acting = [key for key in _FORCES if any(word not in _ZEROS for word in e.attributes.get(key, "").split())]
    if e.attributes.get("limited") == "false" and "range" in acting:
        acting.remove("range")
    for key in acting:
        source.document.unread.add(f"{key} of tendons")
    if not acting and not any(word not in _ZEROS for word in e.attributes.get("armature", "").split()):
        source.document.unread.add("tendon", quiet=True)


def _suffixes(e: Element, source: Source) -> list[str]:
    """Return the suffixes of the replicas that a tendon refers to: it is repeated for each."""
    for part in e.children:
        for key in ("joint", "site", "geom"):
            suffixes = source.suffixes.get((key, part.attributes.get(key, "")))
            if suffixes:
                return suffixes
    return [""]


def inertia_along(tree: Tree, tendons: Sequence[Tendon], drives: Sequence[Drive]) -> list[Rotor]:
    """Return the inertias along fixed tendons, those of their actuators included; raise for spatial tendons."""
    parts = {part.name: part for body in tree.bodies for part in body.joints}
    kinds = {name: joint_kind(part.element, f"joint {name!r}") for name, part in parts.items()}
    found: list[Rotor] = []
    for k, tendon in enumerate(tendons):
        e, what = tendon.element, f"tendon {tendon.name!r}" if tendon.name else f"a <{tendon.element.tag}> tendon"
        armature = tendon.armature + _of_actuators(tendon, drives)
        if not armature or (tendon.missing and tendon.attached):
            continue  # a tendon of parts that are not attached is not attached either
        if armature < 0.0:
            raise e.error(f"{what} has armature {armature:g}; expected zero or more")
        if tendon.missing:
            kind, known = ("site", _sites(tree)) if tendon.sites else ("joint", kinds)
            raise e.error(str(unknown_name(kind, tendon.missing[0], known, what)))
        if tendon.sites:
            _check_length(tendon, tree, what, armature)
            continue
        terms = {joint: c for joint, c in tendon.coefficients.items() if c}
        for joint in terms:
            if kinds[joint] not in ("hinge", "slide"):
                raise e.error(f"{what}: joint {joint!r} is of type {kinds[joint]!r}; expected 'hinge' or 'slide'")
            if parts[joint].scale != ONE:
                why = f"{what} has an armature, and its joint {joint!r} is in a <frame> with a scale; this is not read"
                raise e.error(f"{why}: load the file in MuJoCo, which scales it, and save it")
        found.append(Rotor(tendon.name or f"tendon{k}", terms, armature, e.where))
    return found


def _of_actuators(tendon: Tendon, drives: Iterable[Drive]) -> float:
    """Return the armature that actuators add to a tendon."""
    return sum(drive.added.get("armature", 0.0) for drive in drives if tendon.name and drive.tendon == tendon.name)


def add_to_joints(rotors: Iterable[Rotor], terms: dict[str, dict[str, float]]) -> None:
    """Add the inertia along tendons of one joint to the armature of the joint; `terms` has those of joints."""
    for rotor in rotors:
        if len(rotor.coefficients) == 1:
            ((joint, c),) = rotor.coefficients.items()
            here = terms.setdefault(joint, {})
            here["armature"] = here.get("armature", 0.0) + rotor.inertia * c * c


def add_rotors(builder: ModelBuilder, tree: Tree, rotors: Iterable[Rotor]) -> None:
    """Add a rotor for each tendon of several joints: a chain of bodies that turn about one axis of the world."""
    remarks = Remarks()
    for rotor in rotors:
        if len(rotor.coefficients) < 2:
            continue
        on, last = tree.world.name, len(rotor.coefficients)
        for n, (joint, c) in enumerate(rotor.coefficients.items(), 1):
            body = unique(f"{rotor.name}_rotor{n}" if n < last else f"{rotor.name}_rotor", tree.names)
            own = (0.0, 0.0, rotor.inertia if n == last else 0.0)
            builder.rotor(
                joint, c, mass=0.0, inertia=own, axis=(0, 0, 1), on=on, at=(0, 0, 0), name=body, where=rotor.where
            )
            on = body
        why = "bodies that have the armature of tendons, and turn with the joints of these"
        remarks.add(why, repr(on), rotor.where)
    remarks.note(builder, quiet=True)


def _sites(tree: Tree) -> Iterable[str]:
    return [part.name for body in tree.bodies for part in body.sites if part.name]


def _check_length(tendon: Tendon, tree: Tree, what: str, armature: float) -> None:
    """Raise unless all sites of a tendon are on one rigid part, so that its length does not change."""
    on = {part.name: _carrier(body) for body in tree.bodies for part in body.sites}
    if len({id(on[site]) for site in tendon.sites}) > 1:
        raise ModelError(
            f"{what} is spatial and has armature {armature:g}; the mass matrix would depend on its path, which is not "
            "modelled. Set the armature to zero, or model the tendon as a strut: a light body on a ball joint at one "
            "end, and on it a slide joint with the armature, whose body a <connect> holds at the other end",
            tendon.element.where,
        )


def _carrier(body: BodyNode) -> BodyNode | None:
    """Return the nearest body with joints that carries a body, or the body itself; None if it is fixed to the world."""
    found: BodyNode | None = body
    while found is not None and not found.joints:
        found = found.parent
    return found
