"""Functions that return robots: from files, from tables, and of any size."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from .arguments import Array
from .declared import explained
from .errors import ArgumentError
from .joints import Joint, Revolute
from .model import Model, NamedPosition
from .robot import Robot

if TYPE_CHECKING:
    from .simulate.results.result import Result

__all__ = ["chain", "from_dh", "load", "load_result", "tree"]


@explained
def load(
    source: str | os.PathLike[str],
    *,
    floating: bool | Joint = False,
    merge: bool = True,
    snap: float = 1e-11,
    loops: str | os.PathLike[str] | Sequence[Mapping[str, Any]] | Mapping[str, Any] | None = None,
    cut: str | Sequence[str] = (),
    root: str | os.PathLike[str] | None = None,
    xacro: bool = False,
    xacro_args: Mapping[str, str | float | bool] | None = None,
    srdf: str | os.PathLike[str] | None = None,
) -> Robot:
    """Return the robot that `source` describes: a file (URDF, MJCF, SDF, USD, xacro), XML text, or a name.

    A name is that of a bundled robot, or `description:` and the name of a robot of the package robot_descriptions.

    Bodies behind fixed joints are merged into their parents (their frames are kept) unless `merge` is False. With
    `floating` the root gets a free joint, or the given joint. Entries of placements within `snap` of 0 or +-1 become
    exactly that, which makes computing faster; 0 turns it off. Remarks about the file are in `robot.notes`; those
    on parts that may change the motion are also in one warning.

    `loops` are joints that close loops, which URDF cannot express: the name of a JSON file, or its contents, a list
    with a dictionary for each (see docs/formats/loops.md). `cut` names the joints (or one joint) of an SDF file that
    close its loops; by default they are chosen. Documents may include files in the folder `root` and below; by default
    this is the project that the document belongs to (see docs/formats/mjcf.md). A xacro template is
    expanded only with `xacro=True`: its expressions can run any command, so give it for templates that you trust.
    `xacro_args` are the arguments of the template, by name. `srdf` is an SRDF file, whose named positions become
    `robot.positions`, and whose rotors (`<rotor_params>`) become armatures of joints.
    """
    from . import io, robots

    cut = _joint_names(cut)
    bundled = robots.known(source)
    if bundled and cut:
        raise ArgumentError(f"cut: the bundled robot {str(source)!r} has its tree already")
    if bundled and xacro_args is not None:
        raise ArgumentError(f"xacro_args: the bundled robot {str(source)!r} has no arguments")
    if bundled and srdf is not None:
        raise ArgumentError(f"srdf: the bundled robot {str(source)!r} has its named positions already")
    known = () if bundled else (*robots.names(), *robots.families())
    builder = (
        robots.builder(str(source))
        if bundled
        else io.load_builder(source, known, cut=cut, root=root, xacro=xacro, xacro_args=xacro_args, srdf=srdf)
    )
    if loops is not None:
        from .io.loops import add_loops

        add_loops(builder, loops)
    if bundled:
        model = builder.build(floating=floating, merge=merge, snap=snap)
        named = _bundled_positions(model, robots.positions(str(source)), bool(floating))
        return Robot.of(replace(model, named_positions=named))
    robot = Robot.of(builder.build(floating=floating, merge=merge, snap=snap))
    io.warn_of(robot)
    return robot


def _bundled_positions(model: Model, positions: Mapping[str, Array], floating: bool) -> tuple[NamedPosition, ...]:
    """Return the named positions of a bundled robot; those of its floating base are neutral."""
    joints = [c for c in model.independent if c.nq][int(floating) :]
    ends = list(accumulate((c.nq for c in joints), initial=0))
    return tuple(
        NamedPosition(
            name,
            tuple(c.name for c in joints),
            tuple(tuple(q[start:end].tolist()) for start, end in pairwise(ends)),
        )
        for name, q in positions.items()
    )


def _joint_names(cut: object) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    names = (cut,) if isinstance(cut, str) else tuple(cut) if isinstance(cut, Iterable) else (cut,)
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(f"load: cut must be the name of a joint or a list of names, not {cut!r}")
    return names


@explained
def load_result(path: str | os.PathLike[str], robot: Robot | None = None) -> Result:
    """Return the motion in a file that `Result.save` wrote: .npz, .csv or .parquet.

    The robot is the one in the file. Where there is none in it - its joints are of your own types, or the file is a
    table from elsewhere with columns "t", "q.<joint>", "v.<joint>" - it must be given; one that is given is taken
    instead of the file's. Reading a file executes nothing that is in it.
    """
    from .simulate.results.formats import load_result

    return load_result(path, robot, Robot)


@explained
def from_dh(
    rows: Sequence[Any],
    *,
    convention: str = "standard",
    floating: bool | Joint = False,
    merge: bool = True,
    snap: float = 1e-11,
    **options: Any,
) -> Robot:
    """Return the arm of a table of Denavit-Hartenberg parameters, with one of `rows` per joint.

    `convention` is "standard" or "modified"; `floating`, `merge` and `snap` are as in `load`; further options, such as
    `degrees`, are those of `ordern.io.dh.dh_builder`.

    >>> import ordern as on
    >>> arm = on.from_dh([{"a": 1.0, "mass": 1.0, "com": (-0.5, 0, 0)}, {"a": 0.5, "mass": 1.0, "com": (-0.25, 0, 0)}])
    >>> arm.nq
    2
    """
    from .io.dh import dh_builder

    builder = dh_builder(rows, convention=convention, **options)
    return Robot.of(builder.build(floating=floating, merge=merge, snap=snap))


@explained
def chain(n: int, joint: Joint | type[Joint] | Sequence[Joint | type[Joint]] = Revolute, **options: Any) -> Robot:
    """Return a robot of n bodies in series, with the `joint` and `options` (length, mass ...) of `robots.chain`."""
    from . import robots

    return Robot.of(robots.chain(n, joint, **options).build())


@explained
def tree(
    depth: int,
    branching: int = 2,
    joint: Joint | type[Joint] | Sequence[Joint | type[Joint]] = Revolute,
    **options: Any,
) -> Robot:
    """Return a robot of `depth` levels whose bodies each carry `branching` others; `joint`, `options` as in `chain`."""
    from . import robots

    return Robot.of(robots.tree(depth, branching, joint, **options).build())
