"""ordern: order-N dynamics of robots and other joint-connected rigid bodies, compiled for the robot at hand.

>>> import ordern as on
>>> robot = on.load("panda.urdf")                     # doctest: +SKIP
>>> robot.forward_dynamics(q, v, tau)                 # doctest: +SKIP
"""

from __future__ import annotations

import os
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
from .joints import Continuous, Fixed, Free, Joint, Prismatic, Revolute, Spherical
from .model import Body, Connection, Frame, Model, Placement
from .robot import Builder, Robot

if TYPE_CHECKING:
    from .io import ModelWarning
    from .kernel import Kernel

__version__ = "0.1.0"

__all__ = [
    "Algorithm",
    "ArgumentError",
    "Body",
    "Builder",
    "CompileError",
    "Connection",
    "Continuous",
    "Fixed",
    "Frame",
    "Free",
    "Joint",
    "Kernel",
    "Model",
    "ModelError",
    "ModelWarning",
    "OrdernError",
    "Placement",
    "Prismatic",
    "Revolute",
    "Robot",
    "Spherical",
    "TraceError",
    "UnknownNameError",
    "algorithm",
    "load",
    "methods",
]


def load(
    source: str | os.PathLike[str], *, floating: bool | Joint = False, merge: bool = True, snap: float = 1e-11
) -> Robot:
    """A robot from a file, or from XML text.

    Bodies behind fixed joints are merged into their parents (their frames are kept) unless `merge` is False. With
    `floating` the root gets a free joint, or the joint that it is. Entries of placements within `snap` of 0 or +-1
    become exactly that, which makes computing faster; 0 turns it off.
    """
    from .io import load_builder

    return Robot.of(load_builder(source).build(floating=floating, merge=merge, snap=snap))


def __getattr__(name: str) -> Any:
    """Names whose modules are imported when they are first asked for."""
    if name == "Kernel":
        from .kernel import Kernel

        return Kernel
    if name == "ModelWarning":
        from .io import ModelWarning

        return ModelWarning
    raise AttributeError(f"module 'ordern' has no attribute {name!r}")
