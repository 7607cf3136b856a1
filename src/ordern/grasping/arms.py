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
from numpy.typing import ArrayLike, NDArray

from ..algorithms.method_limits import no_couplings
from ..algorithms.operational import filtering  # noqa: F401 - declares questions of this package
from ..arguments import Array, array
from ..errors import ArgumentError, OrdernError
from ..joints import Placement
from ..model import BASE, Frame
from ..model.checks import require_one_set
from ..records import dataclass
from ..robot import Robot
from ..rotations import rotate
from ..simulate.constraints.constraints import Constraints
from ..simulate.constraints.loop_rows import LoopRows
from .arguments import placed
from .contacts import Contact

__all__ = ["Arm", "Group", "arms_of", "grouped", "join_rows", "split_rows"]


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


def arms_of(given: Any, bases: Any, gravity: ArrayLike | None) -> tuple[tuple[Arm, ...], Array]:
    """Return arms, from robots or pairs of a robot and a frame or frames, and gravity in the world's axes."""
    wanted = "arms must be a list of robots or of pairs (robot, frame)"
    parts = [one if isinstance(one, (tuple, list)) and len(one) == 2 else (one, None) for one in _list(given, wanted)]
    if not parts:
        raise ArgumentError(f"grasp: {wanted}, not an empty one")
    names = [getattr(robot, "name", "arm") for robot, _ in parts]
    if len(set(names)) < len(names):
        names = [f"{name}-{k + 1}" for k, name in enumerate(names)]
    places = _places(bases, len(names))
    robots = [_robot(robot, name) for (robot, _), name in zip(parts, names, strict=True)]
    g = _gravity(robots, gravity)
    arms: list[Arm] = []
    q = v = contact = 0
    for name, robot, (_, frames), base in zip(names, robots, parts, places, strict=True):
        tips = _tips(robot, frames, name)
        turned = tuple((base.R.T @ g).tolist())
        if turned != robot.gravity:
            robot = replace(robot, gravity=turned)
        ends = q + robot.nq, v + robot.nv, contact + len(tips)
        arms.append(Arm(name, robot, tips, base, slice(q, ends[0]), slice(v, ends[1]), slice(contact, ends[2])))
        q, v, contact = ends
    return tuple(arms), g


def _list(given: Any, wanted: str) -> list[Any]:
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise ArgumentError(f"grasp: {wanted}, not {given!r}")
    return list(given)


def _places(bases: Any, count: int) -> list[Placement]:
    """Return the placements of the arms' bases."""
    if bases is None:
        return [Placement()] * count
    bases = _list(bases, "bases must be a list with a placement for each arm")
    if len(bases) != count:
        raise ArgumentError(f"grasp: {len(bases)} bases for {count} arms; give one placement for each arm")
    return [placed(at, f"grasp: base of arm {k + 1}") for k, at in enumerate(bases)]


def _gravity(robots: list[Robot], given: ArrayLike | None) -> Array:
    """Return gravity in the world's axes."""
    if given is not None:
        return array(given, (3,), "grasp: gravity")
    found = {r.gravity for r in robots}
    if len(found) > 1:
        raise ArgumentError(f"grasp: the arms have different gravities, {sorted(found)}; choose one by `gravity`")
    return np.array(found.pop())


def _robot(robot: Any, name: str) -> Robot:
    """Return a robot that can be an arm."""
    if not isinstance(robot, Robot):
        raise ArgumentError(f"grasp: arm {name!r} must be a robot or a pair (robot, frame), not {robot!r}")
    require_one_set(robot, f"grasp: arm {name!r}")
    driven = next((x.loop.name for x in robot.loop_table.loops if x.type.timed), "")
    if driven:
        raise ArgumentError(
            f"grasp: loop {driven!r} of arm {name!r} is driven by time, which is not for `grasp`; model the object as "
            "a further body and the contacts as loops of one robot"
        )
    if not robot.nc:
        robot.require_inertia()
    return robot


def _tips(robot: Robot, frames: Any, name: str) -> tuple[Frame, ...]:
    """Return the frames that hold the object; by default the last body of the robot's only branch."""
    if frames is None:
        parents = {c.parent for c in robot.joints}
        frames = [b.name for k, b in enumerate(robot.bodies) if k not in parents]
        if len(frames) != 1:
            listed = ", ".join(frames[:8])
            raise ArgumentError(f"grasp: arm {name!r} has {len(frames)} ends ({listed}); choose one: (robot, frame)")
    try:
        tips = tuple(robot.frame(t) for t in (frames if isinstance(frames, (tuple, list)) else (frames,)))
    except OrdernError as e:
        raise ArgumentError(f"grasp: arm {name!r}: {e}") from None
    for t in tips:
        if t.body == BASE:
            raise ArgumentError(f"grasp: arm {name!r}: the frame {t.name!r} is on its base, which does not move")
    if not tips:
        raise ArgumentError(f"grasp: arm {name!r} has no frame that holds the object")
    return tips


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
        if "_structure" not in self.__dict__:
            first = q.reshape(-1, self.robot.nq)[0]
            self.__dict__["_structure"] = Constraints.near(LoopRows(self.robot), first)
        found: Constraints = self.__dict__["_structure"]
        return found

    @cached_property
    def turn6(self) -> Array:
        """(m, 6, 6): the bases' rotations, for (angular, linear) vectors."""
        return np.asarray(np.kron(np.eye(2), self.turn))

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
        first, last = (np.array([getattr(a.contacts, end) for a in chosen]) for end in ("start", "stop"))
        rows = [np.arange(starts[i], starts[j]) for i, j in zip(first, last, strict=True)]
        bound = np.zeros((len(members), len(tips), 6, len(rows[0])))
        for m, i in enumerate(first):
            for k, E in enumerate(bounds[i : i + len(tips)]):
                at = starts[i + k] - starts[i]
                bound[m, k, :, at : at + E.shape[1]] = E
        groups.append(
            Group(
                robot=robot,
                tips=tips,
                arms=tuple(members),
                turn=np.array([a.base.R for a in chosen]),
                shift=np.array([a.base.p for a in chosen]),
                contacts=first[:, None] + np.arange(len(tips)),
                rows=np.array(rows, dtype=np.intp),
                bound=bound,
                holonomic=np.concatenate([c.holonomic for c in contacts[chosen[0].contacts]]).astype(bool),
            )
        )
    return tuple(groups)


def split_rows(groups: Sequence[Group], x: Array) -> list[Array]:
    """Split numbers of all rows, (..., nc), into those of each group, (..., m, c)."""
    return [x[..., g.rows] for g in groups]


def join_rows(groups: Sequence[Group], parts: Sequence[Array]) -> Array:
    """Join numbers of the rows of each group, (..., m, c), to those of all rows, (..., nc)."""
    whole = np.zeros((*parts[0].shape[:-2], sum(g.rows.size for g in groups)))
    for g, part in zip(groups, parts, strict=True):
        whole[..., g.rows] = part
    return whole
