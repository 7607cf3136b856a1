"""The arms of a grasp, and groups of arms that are computed together.

Arms with the same robot, the same tips and contacts of the same shapes form a group: one call of a compiled function
computes all of them, as a batch, in the axes of their bases. The results are then rotated to the world's axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms.method_limits import no_couplings
from ..algorithms.operational import filtering  # noqa: F401 - declares the questions that are asked here
from ..arguments import Array
from ..errors import ArgumentError, ModelError, OrdernError
from ..joints import Placement, placement
from ..model import BASE, Frame, Model
from ..records import dataclass
from ..robot import Robot
from ..rotations import rotate
from ..simulate.constraints.constraints import Constraints
from ..simulate.constraints.loop_rows import LoopRows
from .contacts import Contact

__all__ = ["Arm", "Group", "arms_of", "grouped"]


@dataclass(frozen=True, eq=False)
class Arm:
    """One arm: a robot, the frames by which it holds the object, and the placement of its base."""

    name: str
    robot: Robot
    """The robot, with gravity in the axes of its base."""
    tips: tuple[Frame, ...]
    base: Placement
    q: slice
    """The slice of its positions in those of all arms."""
    v: slice
    contacts: slice
    """The slice of its contacts in those of all arms."""

    def __repr__(self) -> str:
        tips = ", ".join(repr(t.name) for t in self.tips)
        return f"<Arm {self.name!r}: {self.robot.name!r} at {tips}>"


def arms_of(given: Any, bases: Any, gravity: Array) -> tuple[Arm, ...]:
    """Return the arms from the user's list of robots, or of pairs of a robot and a frame or frames."""
    if isinstance(given, Model) or not isinstance(given, Sequence) or not given:
        raise ArgumentError(f"grasp: arms must be a list of robots or of pairs (robot, frame), not {given!r}")
    if bases is None:
        places = [Placement()] * len(given)
    else:
        if isinstance(bases, (str, Mapping)) or not isinstance(bases, Iterable):
            raise ArgumentError(f"grasp: bases must be a list with a placement for each arm, not {bases!r}")
        bases = list(bases)
        if len(bases) != len(given):
            raise ArgumentError(f"grasp: {len(bases)} bases for {len(given)} arms; give one placement for each arm")
        places = [_placed(at, k) for k, at in enumerate(bases)]
    names = _names(given)
    arms: list[Arm] = []
    q = v = contact = 0
    for name, one, base in zip(names, given, places, strict=True):
        robot, tips = _robot(one, name)
        turned = base.R.T @ gravity
        if tuple(turned.tolist()) != robot.gravity:
            robot = replace(robot, gravity=tuple(turned.tolist()))
        spans = slice(q, q + robot.nq), slice(v, v + robot.nv), slice(contact, contact + len(tips))
        arms.append(Arm(name, robot, tips, base, *spans))
        q, v, contact = q + robot.nq, v + robot.nv, contact + len(tips)
    return tuple(arms)


def _placed(at: Any, k: int) -> Placement:
    try:
        return placement(at, f"grasp: base of arm {k + 1}")
    except ModelError as e:
        raise ArgumentError(str(e)) from None


def _names(given: Sequence[Any]) -> list[str]:
    robots = [
        one if isinstance(one, Model) else one[0] if isinstance(one, (tuple, list)) and one else one for one in given
    ]
    names = [getattr(r, "name", "arm") for r in robots]
    if len(set(names)) == len(names):
        return names
    return [f"{name}-{k + 1}" for k, name in enumerate(names)]


def _robot(given: Any, name: str) -> tuple[Robot, tuple[Frame, ...]]:
    """Return a robot and its tips. Without frames, the tip is the last body of its only branch."""
    robot, tip = given if isinstance(given, (tuple, list)) and len(given) == 2 else (given, None)
    if not isinstance(robot, Robot):
        raise ArgumentError(f"grasp: arm {name!r} must be a robot or a pair (robot, frame), not {given!r}")
    driven = next((x.loop.name for x in robot.loop_table.loops if x.type.timed), "")
    if driven:
        raise ArgumentError(
            f"grasp: loop {driven!r} of arm {name!r} is driven by time, which is not for `grasp`; model the object as "
            "a further body and the contacts as loops of one robot"
        )
    if tip is None:
        parents = {c.parent for c in robot.joints}
        ends = [b.name for k, b in enumerate(robot.bodies) if k not in parents]
        if len(ends) != 1:
            listed = ", ".join(ends[:8])
            raise ArgumentError(f"grasp: arm {name!r} has {len(ends)} ends ({listed}); say which one: (robot, frame)")
        tip = ends[0]
    try:
        tips = tuple(robot.frame(t) for t in (tip if isinstance(tip, (tuple, list)) else (tip,)))
    except OrdernError as e:
        raise ArgumentError(f"grasp: arm {name!r}: {e}") from None
    for t in tips:
        if t.body == BASE:
            raise ArgumentError(f"grasp: arm {name!r}: the frame {t.name!r} is on its base, which does not move")
    if not tips:
        raise ArgumentError(f"grasp: arm {name!r} has no frame that holds the object")
    if not robot.nc:
        robot.require_inertia()
    return robot, tips


@dataclass(frozen=True, eq=False)
class Group:
    """m arms with the same robot and k tips each, whose contacts have c constraint rows."""

    robot: Robot
    tips: tuple[Frame, ...]
    arms: tuple[int, ...]
    turn: Array
    """(m, 3, 3): the bases' rotations."""
    shift: Array
    """(m, 3): the bases' positions."""
    contacts: NDArray[np.intp]
    """(m, k): the contacts of the tips."""
    rows: NDArray[np.intp]
    """(m, c): their rows among all constraints."""
    bound: Array
    """(m, k, 6, c): forces of each contact by the group's rows, in the contact's axes."""
    holonomic: NDArray[np.bool_]
    """(c,): True for rows that constrain positions, not only velocities."""

    @cached_property
    def weightless(self) -> Robot:
        """The robot without gravity."""
        return replace(self.robot, gravity=(0.0, 0.0, 0.0))

    @cached_property
    def coupled(self) -> str:
        """The reason why recursions over single joints do not apply; empty if they apply."""
        if self.looped:
            return f"it has closed loops or couplings of its own ({', '.join(list(self.robot.loop_rows)[:5])})"
        return no_couplings(self.robot)

    @property
    def looped(self) -> bool:
        """True if the arms have closed loops or couplings of their own."""
        return self.robot.nc > 0

    def structure(self, q: Array) -> Constraints:
        """Return the constraints of the arms' own loops, of the rank that these have at the first positions given.

        The rank is kept, because redundant constraints appear independent away from closed positions, as in the stages
        of an integrator.
        """
        found: Constraints | None = self.__dict__.get("_structure")
        if found is None:
            first = q.reshape(-1, self.robot.nq)[0]
            found = self.__dict__["_structure"] = Constraints.near(LoopRows(self.robot), first)
        return found

    @cached_property
    def turn6(self) -> Array:
        """(m, 6, 6): the bases' rotations, for (angular, linear) vectors."""
        return np.kron(np.eye(2), self.turn)

    def world(self, x: Array) -> Array:
        """Rotate motions or forces (..., m, 6) from the base's axes to the world's."""
        return rotate(self.turn, x)

    def base(self, x: Array) -> Array:
        """Rotate motions or forces (..., m, 6) from the world's axes to the base's."""
        return rotate(np.swapaxes(self.turn, -1, -2), x)

    def tipwise(self, function: Callable[[Frame], Array]) -> Array:
        """Return `function(tip)` of all tips, rotated to the world's axes: (..., m, k, 6)."""
        return np.stack([self.world(function(tip)) for tip in self.tips], axis=-2)


def grouped(arms: Sequence[Arm], contacts: Sequence[Contact]) -> tuple[Group, ...]:
    """Group equal arms."""
    bounds = [c.bound for c in contacts]
    starts = np.concatenate([[0], np.cumsum([b.shape[1] for b in bounds])])
    found: dict[Any, list[int]] = {}
    for k, arm in enumerate(arms):
        shapes = tuple((c.bound.shape[1], c.holonomic.tobytes()) for c in contacts[arm.contacts])
        found.setdefault((arm.robot, arm.tips, shapes), []).append(k)
    groups = []
    for (robot, tips, _), members in found.items():
        chosen = [arms[k] for k in members]
        own = [range(*a.contacts.indices(len(contacts))) for a in chosen]
        rows = [[r for i in cs for r in range(starts[i], starts[i + 1])] for cs in own]
        c = len(rows[0])
        bound = np.zeros((len(members), len(tips), 6, c))
        for m, cs in enumerate(own):
            at = 0
            for k, i in enumerate(cs):
                bound[m, k, :, at : at + bounds[i].shape[1]] = bounds[i]
                at += bounds[i].shape[1]
        groups.append(
            Group(
                robot=robot,
                tips=tips,
                arms=tuple(members),
                turn=np.array([a.base.R for a in chosen]),
                shift=np.array([a.base.p for a in chosen]),
                contacts=np.array([list(cs) for cs in own], dtype=np.intp).reshape(len(members), len(tips)),
                rows=np.array(rows, dtype=np.intp).reshape(len(members), c),
                bound=bound,
                holonomic=np.concatenate([contacts[i].holonomic for i in own[0]]).astype(bool),
            )
        )
    return tuple(groups)
