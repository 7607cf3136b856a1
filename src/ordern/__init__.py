"""ordern: order-N dynamics of robots and other joint-connected rigid bodies, compiled for the robot at hand.

>>> import ordern as on
>>> robot = on.load("panda.urdf")                     # doctest: +SKIP
>>> robot.forward_dynamics(q, v, tau)                 # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .algorithms import Algorithm, algorithm, methods
from .errors import (
    ArgumentError,
    CompileError,
    ModelError,
    OrdernError,
    TraceError,
    UnknownNameError,
)
from .joints import (
    Composite,
    Continuous,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    RollingDisc,
    Spherical,
    Universal,
)
from .model import Body, Connection, Coupling, Frame, Loop, Mimic, Model, Note, Placement, Shape
from .robot import Builder, Robot

if TYPE_CHECKING:
    from .check import Finding, Report
    from .conversion import Converter, convert
    from .counting import count
    from .interop.symbolic import symbolic
    from .io import ModelWarning
    from .kernel import Kernel

__version__ = "0.1.0"

__all__ = [
    "Algorithm",
    "ArgumentError",
    "Body",
    "Builder",
    "CompileError",
    "Composite",
    "Connection",
    "Continuous",
    "Converter",
    "Coupling",
    "Cylindrical",
    "Finding",
    "Fixed",
    "Frame",
    "Free",
    "Helical",
    "Joint",
    "Kernel",
    "Loop",
    "Mimic",
    "Model",
    "ModelError",
    "ModelWarning",
    "Note",
    "OrdernError",
    "Placement",
    "Planar",
    "Prismatic",
    "Report",
    "Revolute",
    "Robot",
    "RollingDisc",
    "Shape",
    "Spherical",
    "TraceError",
    "Universal",
    "UnknownNameError",
    "algorithm",
    "chain",
    "convert",
    "count",
    "from_dh",
    "load",
    "methods",
    "symbolic",
    "tree",
]


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


_LATER = {
    "Converter": "conversion",
    "Finding": "check",
    "Kernel": "kernel",
    "ModelWarning": "io",
    "Report": "check",
    "convert": "conversion",
    "count": "counting",
    "symbolic": "interop.symbolic",
}
"""Names whose modules are imported when they are first asked for."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module 'ordern' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
