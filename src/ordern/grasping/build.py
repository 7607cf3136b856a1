"""The function `on.grasp`, which makes a grasp from its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..declared import explained
from ..errors import ArgumentError, LoopError
from ..joints import Placement
from ..loops.kernels import require_closed
from ..model import Frame
from ..simulate.constraints.start import assembled
from .arguments import finite, per_arm, placed
from .arms import Arm, arms_of
from .carried_object import held_body
from .contacts import Contact, Rigid
from .mechanism import Grasp

__all__ = ["grasp"]


@explained
def grasp(
    arms: Sequence[Any],
    object: Any,
    contacts: Sequence[Contact] | Contact | None = None,
    *,
    bases: Sequence[Any] | None = None,
    q: Any = None,
    pose: Any = None,
    gravity: ArrayLike | None = None,
    name: str = "grasp",
) -> Grasp:
    """Return several arms that hold one object, or legs that stand on a fixed object.

    `arms` are robots of any size, or pairs (robot, frame) where a robot has several ends; a robot that holds the object
    with several frames is (robot, [frame, frame, ...]). Robots with a floating base are mobile. `bases` place them in
    the world. `object` is a `Body` or (mass, com, inertia) in the object's frame, or None for a fixed object.
    `contacts` has one contact for each tip in the order of the arms, or is one contact for all tips; rigid by default.
    A contact without a placement (`at`) is where the tip is when the arms are at the positions `q` (by default neutral,
    with their own loops closed) and the object is at `pose` (by default the world's frame). `gravity`, in the world's
    axes, is by default that of the robots.

    >>> import ordern as on
    >>> arm = on.load("puma560")
    >>> two = on.grasp([arm, arm], (2.0, (0, 0, 0), (0.1, 0.1, 0.1)), bases=[(0, 0, 0), (1.0, 0, 0)], q=[[0.3] * 6] * 2)
    >>> two
    <Grasp of 'object' by 2 arms, nv=12: puma560-1 rigid, puma560-2 rigid>
    >>> motion = two.forward_dynamics([[0.3] * 6] * 2, [[0.0] * 6] * 2, [[0.0] * 6] * 2)
    >>> motion.forces.shape, bool(motion.singular)
    ((2, 6), False)
    """
    found, g = arms_of(arms, bases, gravity)
    body = held_body(object)
    given = _contacts(contacts, found)
    stands = placed(np.eye(4) if pose is None else pose, "grasp: pose")
    found = _with_tips(found, given)
    if any(c.at is None for c in given):
        tips = _tips_at(found, q)
        given = [c if c.at is not None else replace(c, at=stands.inverse @ t) for c, t in zip(given, tips, strict=True)]
    names = _contact_names(found, given)
    named = tuple(replace(c, name=n) for c, n in zip(given, names, strict=True))
    return Grasp(str(name), found, body, named, g, stands)


def _contacts(given: Any, arms: Sequence[Arm]) -> list[Contact]:
    """Return a contact for each tip."""
    count = sum(len(a.tips) for a in arms)
    if given is None or isinstance(given, Contact):
        return [Rigid() if given is None else given] * count
    kinds = "Rigid(), Hinge(axis=...), SoftFinger() or Point()"
    if isinstance(given, (str, type)) or not isinstance(given, Iterable):
        hint = f"; write {given.__name__}()" if isinstance(given, type) and issubclass(given, Contact) else ""
        raise ArgumentError(f"grasp: contacts must be {kinds}, or a list with one for each tip, not {given!r}{hint}")
    contacts = list(given)
    for k, c in enumerate(contacts):
        if not isinstance(c, Contact):
            raise ArgumentError(f"grasp: contact {k + 1} must be {kinds}, not {c!r}")
    if len(contacts) != count:
        raise ArgumentError(f"grasp: {len(contacts)} contacts for {count} tips; give one for each tip, or one for all")
    return contacts


def _contact_names(arms: Sequence[Arm], contacts: Sequence[Contact]) -> list[str]:
    """Return the given names of contacts, or the names of the arms, with the tip's name if an arm has several."""
    own = [a.name if len(a.tips) == 1 else f"{a.name}/{t.name}" for a in arms for t in a.tips]
    names = [c.name or usual for c, usual in zip(contacts, own, strict=True)]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise ArgumentError(f"grasp: the contact name {twice[0]!r} is given twice; every contact needs one of its own")
    return names


def _with_tips(arms: Sequence[Arm], contacts: Sequence[Contact]) -> tuple[Arm, ...]:
    """Return the arms with their tips moved to the contacts."""
    found = []
    for arm in arms:
        both = zip(arm.tips, contacts[arm.contacts], strict=True)
        found.append(replace(arm, tips=tuple(Frame(t.name, t.body, t.placement @ c.on_tip) for t, c in both)))
    return tuple(found)


def _tips_at(arms: Sequence[Arm], q: Any) -> list[Placement]:
    """Return the placements of the tips at a position of the arms."""
    positions = per_arm(arms, np.concatenate([assembled(a.robot) for a in arms]) if q is None else q, "q")
    if any(x.ndim != 1 for x in positions):
        raise ArgumentError("grasp: `q`, at which the contacts are closed, must be one position of each arm")
    finite(arms, positions, "q")
    found = []
    for arm, x in zip(arms, positions, strict=True):
        if arm.robot.nc:
            try:
                require_closed(arm.robot, f"grasp: `q` of arm {arm.name!r}", x)
            except LoopError as e:
                raise ArgumentError(str(e)) from None
        for tip in arm.tips:
            X = arm.robot.pose(x, tip)
            found.append(arm.base @ Placement.of(X[:3, :3], X[:3, 3]))
    return found
