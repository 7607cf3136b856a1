"""Robots from files, from tables, and of any size."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .joints import Joint, Revolute
from .robot import Robot

if TYPE_CHECKING:
    from .simulate.result import Result

__all__ = ["chain", "from_dh", "load", "load_result", "tree"]


def load(
    source: str | os.PathLike[str], *, floating: bool | Joint = False, merge: bool = True, snap: float = 1e-11
) -> Robot:
    """A robot from a file (URDF, MJCF, SDF), from XML text, or from the name of a bundled robot.

    Bodies behind fixed joints are merged into their parents (their frames are kept) unless `merge` is False. With
    `floating` the root gets a free joint, or the joint that it is. Entries of placements within `snap` of 0 or +-1
    become exactly that, which makes computing faster; 0 turns it off. What was noticed while reading is in
    `robot.notes`, and in one warning.
    """
    from . import io, robots

    if robots.known(source):
        return Robot.of(robots.builder(str(source)).build(floating=floating, merge=merge, snap=snap))
    robot = Robot.of(
        io.load_builder(source, (*robots.names(), *robots.families())).build(floating=floating, merge=merge, snap=snap)
    )
    io.warn_of(robot)
    return robot


def load_result(path: str | os.PathLike[str], robot: Robot | None = None) -> Result:
    """A motion from a file that `Result.save` wrote: .npz, .csv or .parquet.

    The robot is the one in the file. Where there is none in it - its joints are of your own types, or the file is a
    table from elsewhere with columns "t", "q.<joint>", "v.<joint>" - it must be given; one that is given is taken
    instead of the file's. Reading a file executes nothing that is in it.
    """
    from .simulate.formats import load_result

    return load_result(path, robot, Robot)


def from_dh(
    rows: Sequence[Any],
    *,
    convention: str = "standard",
    floating: bool | Joint = False,
    merge: bool = True,
    snap: float = 1e-11,
    **options: Any,
) -> Robot:
    """An arm from its table of Denavit-Hartenberg parameters, one row per joint.

    `convention` is "standard" or "modified"; further options, such as `degrees`, are those of
    `ordern.io.dh.dh_builder`.

    >>> import ordern as on
    >>> arm = on.from_dh([{"a": 1.0, "mass": 1.0, "com": (-0.5, 0, 0)}, {"a": 0.5, "mass": 1.0, "com": (-0.25, 0, 0)}])
    >>> arm.nq
    2
    """
    from .io.dh import dh_builder

    builder = dh_builder(rows, convention=convention, **options)
    return Robot.of(builder.build(floating=floating, merge=merge, snap=snap))


def chain(n: int, joint: Joint | type[Joint] | Sequence[Joint | type[Joint]] = Revolute, **options: Any) -> Robot:
    """A robot of n bodies in series; `options` are those of `ordern.robots.chain`: length, mass, seed ..."""
    from . import robots

    return Robot.of(robots.chain(n, joint, **options).build())


def tree(
    depth: int,
    branching: int = 2,
    joint: Joint | type[Joint] | Sequence[Joint | type[Joint]] = Revolute,
    **options: Any,
) -> Robot:
    """A robot whose bodies each carry `branching` others, `depth` levels of them; `options` as for `chain`."""
    from . import robots

    return Robot.of(robots.tree(depth, branching, joint, **options).build())
