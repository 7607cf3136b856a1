"""Chains and trees of any size, for tests, benchmarks and experiments.

Their links are uniform round rods that hang straight down at the neutral position. With a seed, lengths, masses and
placements are drawn at random, as are the axes of joints that are given by their class. The same arguments give the
same robot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ..arguments import random_generator, real_number, shown
from ..declared import explained
from ..errors import ModelError
from ..joints import Joint, Revolute
from ..model import ModelBuilder, Placement

__all__ = ["at_least_one", "chain", "disc", "rod", "sizes", "tree"]

JointLike = Joint | type[Joint]

_AXES = ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0))


@explained
def chain(
    n: int,
    joint: JointLike | Sequence[JointLike] = Revolute,
    *,
    length: float = 0.2,
    mass: float = 1.0,
    radius: float = 0.02,
    seed: int | None = None,
    name: str = "",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
) -> ModelBuilder:
    """Build n links in series: "link1", which hangs on "base", to "link<n>", with a frame "tip" at its end.

    `joint` is a joint, or a class of joints, or several of these, which are used in turn. Joints of a class with an
    axis have y and x alternately, so that the chain moves in space. Links are round rods of `length` and `radius` in m
    and `mass` in kg. With a `seed`, sizes, placements and axes are random.
    """
    at_least_one(n, "n")
    link = {"length": length, "mass": mass, "radius": radius}
    return _grown(range(n), None, joint, link, seed, name or f"chain-{n}", gravity)


@explained
def tree(
    depth: int,
    branching: int = 2,
    joint: JointLike | Sequence[JointLike] = Revolute,
    *,
    length: float = 0.2,
    mass: float = 1.0,
    radius: float = 0.02,
    seed: int | None = None,
    name: str = "",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
) -> ModelBuilder:
    """Build a tree of `depth` generations: one link hangs on "base", and each carries `branching` links at its end.

    Links are numbered by generation: "link1" carries "link2", "link3" ... The links of one parent are fanned out evenly
    around it, 30 degrees from its direction. `joint` is as in `chain`, and goes by generation; `length`, `mass`,
    `radius` and `seed` are as in `chain`.
    """
    at_least_one(depth, "depth")
    at_least_one(branching, "branching")
    n = 0
    for k in range(depth):
        n += branching**k
        if n > MAX_LINKS:
            raise ModelError(f"a tree of depth {depth} and branching {branching} has more than {MAX_LINKS:,} links")
    parents = [0, *((k - 2) // branching + 1 for k in range(2, n + 1))]
    tilt = math.pi / 6 if branching > 1 else 0.0
    turns = [2.0 * math.pi * k / branching for k in range(branching)]
    fan = [Placement.xyz_rpy((0.0, 0.0, 0.0), (tilt, 0.0, turn)) for turn in turns]
    link = {"length": length, "mass": mass, "radius": radius}
    return _grown(parents, fan, joint, link, seed, name or f"tree-{depth}-{branching}", gravity)


def rod(mass: float, length: float, radius: float) -> dict[str, Any]:
    """Return mass, mass centre and inertia of a uniform round rod from the origin along -z."""
    return {"com": (0.0, 0.0, -length / 2.0), **disc(mass, radius, length)}


def disc(mass: float, radius: float, thickness: float = 0.0) -> dict[str, Any]:
    """Return mass and inertia of a uniform disc around the origin, with its axis along z."""
    across = mass * (3.0 * radius**2 + thickness**2) / 12.0
    return {"mass": mass, "inertia": (across, across, mass * radius**2 / 2.0)}


def _grown(
    parents: Sequence[int],
    fan: list[Placement] | None,
    joint: JointLike | Sequence[JointLike],
    link: dict[str, float],
    seed: int | None,
    name: str,
    gravity: Sequence[float],
) -> ModelBuilder:
    """Build links: link k (from 1) hangs on link parents[k-1], where 0 is the base; the fan places siblings."""
    n = len(parents)
    sizes(name, **link)
    rng = None if seed is None else random_generator(seed, name or "a robot", "seed")
    factors = np.ones((n, 3)) if rng is None else rng.uniform(0.5, 1.5, (n, 3))
    drawn = (factors * list(link.values())).tolist()
    axes = None if rng is None else rng.normal(size=(n, 3)).tolist()
    tilts = None if rng is None else rng.uniform(-0.5, 0.5, (n, 3)).tolist()
    kinds = tuple(joint) if isinstance(joint, Sequence) else (joint,)
    if not kinds:
        raise ModelError("joint must be at least one joint or class of joints")
    made = [_made(kind, axis) for axis in _AXES for kind in kinds]

    builder = ModelBuilder(name, gravity).body("base")
    generation, ends, born = [0], [0.0], [0]
    for k, (parent, (l, m, r)) in enumerate(zip(parents, drawn, strict=True), 1):
        carrier, turn = f"link{parent}" if parent else "base", generation[parent]
        at: Any = (0.0, 0.0, ends[parent])
        if tilts is not None:
            at = Placement.xyz_rpy(at, tilts[k - 1])
        if fan is not None and parent:
            outward = fan[born[parent]]
            at = Placement(outward.rotation, at) if tilts is None else at @ outward
        moving = made[turn % len(made)] if axes is None else _made(kinds[turn % len(kinds)], axes[k - 1])
        builder.body(f"link{k}", parent=carrier, joint=moving, joint_name=f"joint{k}", at=at, **rod(m, l, r))
        generation.append(turn + 1)
        ends.append(-l)
        born.append(0)
        born[parent] += 1
    if fan is None:
        builder.frame("tip", f"link{n}", at=(0.0, 0.0, ends[-1]))
    return builder


def _made(kind: object, axis: Sequence[float]) -> Joint:
    if isinstance(kind, Joint):
        return kind
    if not (isinstance(kind, type) and issubclass(kind, Joint)):
        raise ModelError(f"joint must be a joint or a class of joints such as Revolute, not {kind!r}")
    cls: Any = kind
    only_axis = is_dataclass(cls) and [f.name for f in fields(cls)] == ["axis"]
    try:
        made: Joint = cls(tuple(axis)) if only_axis else cls()
    except TypeError as e:
        raise ModelError(f"a {kind.__name__} needs more than its class ({e}): give a joint instead") from None
    return made


def sizes(what: str, **given: float) -> None:
    """Raise unless all of these are finite and above zero; `what` begins the message."""
    for name, x in given.items():
        if not 0.0 < real_number(x) < math.inf:
            raise ModelError(f"{what}: {name} must be a finite number above zero, not {x!r}")


MAX_LINKS = 200_000
"""The most links of a generated robot: they take about a gigabyte."""


def at_least_one(x: object, what: str) -> None:
    """Raise unless x is a whole number from 1 to `MAX_LINKS`."""
    if not isinstance(x, int) or isinstance(x, bool) or x < 1:
        raise ModelError(f"{what} must be a whole number from 1 on, not {shown(x)}")
    if x > MAX_LINKS:
        raise ModelError(f"{what} must be at most {MAX_LINKS:,}, not {shown(x)}")
