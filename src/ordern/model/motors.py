"""Actuated joints.

A model lists their names in `Model.motors`. Without a list every joint counts as actuated, except free joints, which
are floating bases and loose bodies, and joints that follow another one, by a mimic or by a coupling. A joint has a
motor for each of its freedoms, or no motor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..errors import ModelError, unknown_name
from ..joints import Composite, Free, Joint
from .parts import Coupling, ModelJoint

__all__ = ["chosen", "is_free", "listed", "names_of", "usual"]


def usual(joints: Sequence[ModelJoint], couplings: Iterable[Coupling]) -> tuple[str, ...]:
    """Return the actuated joints of a model without a list."""
    bound = {x.joint for x in couplings if x.active}
    return tuple(c.name for k, c in enumerate(joints) if c.nv and k not in bound and not is_free(c.type))


def listed(names: Iterable[str], joints: Sequence[ModelJoint], owner: str, hints: dict[str, str]) -> tuple[str, ...]:
    """Return the joints that these names stand for, in the order of the model.

    A joint that follows another stands for that one, whose coordinate its motor drives. A joint without a freedom drops
    out. `hints` say more about names that are not names of joints.
    """
    index = {c.name: c for c in joints}
    found: set[str] = set()
    for name in names_of(names, owner):
        c = index.get(name)
        if c is None:
            raise unknown_name("actuated joint", name, index, owner, hints.get(name, ""))
        leader = c if c.mimic is None else joints[c.mimic.joint]
        found |= {leader.name} if leader.nv else set()
    return tuple(c.name for c in joints if c.name in found)


def chosen(
    given: tuple[str, ...] | None,
    said: Mapping[str, bool],
    joints: Sequence[ModelJoint],
    couplings: Iterable[Coupling],
    loose: bool,
) -> tuple[str, ...] | None:
    """Return the joints with motors, from the data of a builder; None if nothing was given.

    `given` is its list. Entries of `said` for single joints take precedence; if one of them has a motor, and there is
    no list, the others have none. With `loose`, the first joint is that of a floating base, without a motor by
    default.
    """
    if given is None and not said and not loose:
        return None
    if given is None:
        base = joints[0].name if loose else ""
        given = () if any(said.values()) else tuple(name for name in usual(joints, couplings) if name != base)
    names = set(given)
    return listed((c.name for c in joints if said.get(c.name, c.name in names)), joints, "", {})


def names_of(names: object, owner: str) -> tuple[str, ...]:
    """Return names of joints from what was given, checked."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ModelError(f"{owner!r}: actuated must be a list of names of joints, not {names!r}")
    given = tuple(names)
    for name in given:
        if not isinstance(name, str):
            raise ModelError(f"{owner!r}: actuated must be names of joints, but one is {name!r}")
    return given


def is_free(joint: Joint) -> bool:
    """Return True if a joint is free, or has a free part: it has no motor unless one is given."""
    return isinstance(joint, Free) or (isinstance(joint, Composite) and any(is_free(part) for part, _ in joint.parts))
