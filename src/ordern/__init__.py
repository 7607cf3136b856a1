"""ordern: order-N dynamics of robots and other joint-connected rigid bodies, compiled for the robot at hand.

>>> import ordern as on
>>> robot = on.load("panda.urdf")                     # doctest: +SKIP
>>> robot.forward_dynamics(q, v, tau)                 # doctest: +SKIP

Names are imported when they are first asked for: `import ordern` itself takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import forking as _forking  # a fork must wait for imports that other threads have begun

if TYPE_CHECKING:
    from . import rotations as rotations
    from .algorithms import Algorithm, algorithm, methods
    from .check import Finding, Report
    from .control import controllers as controllers
    from .control import trajectories as trajectories
    from .conversion import Converter, convert
    from .counting import count
    from .errors import (
        ArgumentError,
        CompileError,
        InconsistentStateError,
        LoopError,
        ModelError,
        OrdernError,
        SingularError,
        TraceError,
        UnknownNameError,
    )
    from .grasping import Grasp, grasp
    from .grasping import contacts as contacts
    from .interop.symbolic import symbolic
    from .io import ModelWarning
    from .joints import (
        Closure,
        Composite,
        Continuous,
        Cylindrical,
        Distance,
        Driven,
        Fixed,
        Free,
        Helical,
        Joint,
        JointType,
        KnifeEdge,
        Planar,
        PointOnLine,
        PointOnPlane,
        Prismatic,
        Revolute,
        RollingBall,
        RollingDisc,
        Spherical,
        Universal,
    )
    from .kernel import Kernel
    from .loading import chain, from_dh, load, load_result, tree
    from .model import Body, Connection, Coupling, Frame, Loop, Mimic, Model, ModelJoint, Note, Placement, Shape
    from .robot import Builder, Robot
    from .simulate.events import Event
    from .simulate.forces import Table
    from .simulate.results.report import SimulationWarning
    from .simulate.results.result import Result
    from .simulate.switches import Switch

__version__ = "0.1.0"

__all__ = [
    "Algorithm",
    "ArgumentError",
    "Body",
    "Builder",
    "Closure",
    "CompileError",
    "Composite",
    "Connection",
    "Continuous",
    "Converter",
    "Coupling",
    "Cylindrical",
    "Distance",
    "Driven",
    "Event",
    "Finding",
    "Fixed",
    "Frame",
    "Free",
    "Grasp",
    "Helical",
    "InconsistentStateError",
    "Joint",
    "JointType",
    "Kernel",
    "KnifeEdge",
    "Loop",
    "LoopError",
    "Mimic",
    "Model",
    "ModelError",
    "ModelJoint",
    "ModelWarning",
    "Note",
    "OrdernError",
    "Placement",
    "Planar",
    "PointOnLine",
    "PointOnPlane",
    "Prismatic",
    "Report",
    "Result",
    "Revolute",
    "Robot",
    "RollingBall",
    "RollingDisc",
    "Shape",
    "SimulationWarning",
    "SingularError",
    "Spherical",
    "Switch",
    "Table",
    "TraceError",
    "Universal",
    "UnknownNameError",
    "algorithm",
    "chain",
    "convert",
    "count",
    "from_dh",
    "grasp",
    "load",
    "load_result",
    "methods",
    "symbolic",
    "tree",
]

_WHERE = {
    "algorithms": ("Algorithm", "algorithm", "methods"),
    "check": ("Finding", "Report"),
    "conversion": ("Converter", "convert"),
    "counting": ("count",),
    "errors": (
        "ArgumentError",
        "CompileError",
        "InconsistentStateError",
        "LoopError",
        "ModelError",
        "OrdernError",
        "SingularError",
        "TraceError",
        "UnknownNameError",
    ),
    "grasping": ("Grasp", "grasp"),
    "interop.symbolic": ("symbolic",),
    "io": ("ModelWarning",),
    "joints": (
        "Closure",
        "Composite",
        "Continuous",
        "Cylindrical",
        "Distance",
        "Driven",
        "Fixed",
        "Free",
        "Helical",
        "Joint",
        "JointType",
        "KnifeEdge",
        "Planar",
        "PointOnLine",
        "PointOnPlane",
        "Prismatic",
        "Revolute",
        "RollingBall",
        "RollingDisc",
        "Spherical",
        "Universal",
    ),
    "kernel": ("Kernel",),
    "loading": ("chain", "from_dh", "load", "load_result", "tree"),
    "model": (
        "Body",
        "Connection",
        "Coupling",
        "Frame",
        "Loop",
        "Mimic",
        "Model",
        "ModelJoint",
        "Note",
        "Placement",
        "Shape",
    ),
    "robot": ("Builder", "Robot"),
    "simulate.events": ("Event",),
    "simulate.forces": ("Table",),
    "simulate.results.report": ("SimulationWarning",),
    "simulate.results.result": ("Result",),
    "simulate.switches": ("Switch",),
}
"""The modules of all names."""
_MODULES = {name: module for module, names in _WHERE.items() for name in names}

_SUBMODULES = {
    **{name: name for name in ("io", "joints", "model", "operators", "plot", "robots", "rotations", "spatial")},
    "contacts": "grasping.contacts",
    "controllers": "control.controllers",
    "trajectories": "control.trajectories",
}
"""Modules that are reached as attributes, and where they are."""


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f".{_SUBMODULES[name]}", __name__)
    if name not in _MODULES:
        raise AttributeError(f"module 'ordern' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    return value


_forking.install()


def __dir__() -> list[str]:
    return sorted([*__all__, "contacts", "controllers", "rotations", "trajectories", "__version__"])
