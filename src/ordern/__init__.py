"""ordern: order-N dynamics of robots and other joint-connected rigid bodies, compiled for the robot at hand.

>>> import ordern as on
>>> robot = on.load("panda.urdf")                     # doctest: +SKIP
>>> robot.forward_dynamics(q, v, tau)                 # doctest: +SKIP

Names are imported when they are first used: `import ordern` itself takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import forking as _forking  # a fork must wait for imports that other threads have begun

if TYPE_CHECKING:
    from . import rotations as rotations
    from .algorithms import Algorithm as Algorithm
    from .algorithms import algorithm as algorithm
    from .algorithms import methods as methods
    from .check import Finding as Finding
    from .check import Report as Report
    from .contact import tasks as tasks
    from .control import controllers as controllers
    from .control import trajectories as trajectories
    from .conversion import Converter as Converter
    from .conversion import convert as convert
    from .counting import count as count
    from .ensembles import Ensemble as Ensemble
    from .ensembles import distributions as distributions
    from .ensembles import keep as keep
    from .errors import ArgumentError as ArgumentError
    from .errors import CompileError as CompileError
    from .errors import ConvergenceError as ConvergenceError
    from .errors import GpuError as GpuError
    from .errors import InconsistentStateError as InconsistentStateError
    from .errors import LoopError as LoopError
    from .errors import ModelError as ModelError
    from .errors import OrdernError as OrdernError
    from .errors import SingularError as SingularError
    from .errors import TraceError as TraceError
    from .errors import UnknownNameError as UnknownNameError
    from .grasping import Grasp as Grasp
    from .grasping import contacts as contacts
    from .grasping import grasp as grasp
    from .interop.symbolic import symbolic as symbolic
    from .io import ModelWarning as ModelWarning
    from .joints import Closure as Closure
    from .joints import Composite as Composite
    from .joints import Continuous as Continuous
    from .joints import Cylindrical as Cylindrical
    from .joints import Distance as Distance
    from .joints import Driven as Driven
    from .joints import Fixed as Fixed
    from .joints import Free as Free
    from .joints import Helical as Helical
    from .joints import Joint as Joint
    from .joints import JointType as JointType
    from .joints import KnifeEdge as KnifeEdge
    from .joints import Planar as Planar
    from .joints import PointOnLine as PointOnLine
    from .joints import PointOnPlane as PointOnPlane
    from .joints import Prismatic as Prismatic
    from .joints import Revolute as Revolute
    from .joints import RollingBall as RollingBall
    from .joints import RollingDisc as RollingDisc
    from .joints import Spherical as Spherical
    from .joints import Universal as Universal
    from .kernel import Kernel as Kernel
    from .loading import chain as chain
    from .loading import from_dh as from_dh
    from .loading import load as load
    from .loading import load_result as load_result
    from .loading import tree as tree
    from .model import Actuator as Actuator
    from .model import Body as Body
    from .model import Connection as Connection
    from .model import Coupling as Coupling
    from .model import Drag as Drag
    from .model import EllipsoidDrag as EllipsoidDrag
    from .model import Frame as Frame
    from .model import Link as Link
    from .model import Loop as Loop
    from .model import Mimic as Mimic
    from .model import Model as Model
    from .model import ModelJoint as ModelJoint
    from .model import Note as Note
    from .model import Placement as Placement
    from .model import Shape as Shape
    from .model.contacts import Ground as Ground
    from .parameters import Parameters as Parameters
    from .robot import Builder as Builder
    from .robot import Robot as Robot
    from .simulate.events import Event as Event
    from .simulate.forces import Table as Table
    from .simulate.results.report import SimulationWarning as SimulationWarning
    from .simulate.results.result import Result as Result
    from .simulate.switches import Switch as Switch

__version__ = "0.2.0"

_WHERE = {
    "algorithms": "Algorithm algorithm methods",
    "check": "Finding Report",
    "conversion": "Converter convert",
    "counting": "count",
    "ensembles": "Ensemble",
    "errors": (
        "ArgumentError CompileError ConvergenceError GpuError InconsistentStateError LoopError ModelError OrdernError "
        "SingularError TraceError UnknownNameError"
    ),
    "grasping": "Grasp grasp",
    "interop.symbolic": "symbolic",
    "io": "ModelWarning",
    "joints": (
        "Closure Composite Continuous Cylindrical Distance Driven Fixed Free Helical Joint JointType KnifeEdge "
        "Planar PointOnLine PointOnPlane Prismatic Revolute RollingBall RollingDisc Spherical Universal"
    ),
    "kernel": "Kernel",
    "loading": "chain from_dh load load_result tree",
    "model": "Actuator Body Connection Coupling Drag EllipsoidDrag Frame Link Loop Mimic Model ModelJoint Note "
    "Placement Shape",
    "model.contacts": "Ground",
    "parameters": "Parameters",
    "robot": "Builder Robot",
    "simulate.events": "Event",
    "simulate.forces": "Table",
    "simulate.results.report": "SimulationWarning",
    "simulate.results.result": "Result",
    "simulate.switches": "Switch",
}
"""The public names, by the modules that define them."""
_MODULES = {name: module for module, names in _WHERE.items() for name in names.split()}
__all__ = list(_MODULES)

_SUBMODULES = {
    **{
        name: name
        for name in (
            "ensembles",
            "gpu",
            "gym",
            "io",
            "joints",
            "model",
            "operators",
            "plot",
            "robots",
            "rotations",
            "spatial",
        )
    },
    "contacts": "grasping.contacts",
    "controllers": "control.controllers",
    "distributions": "ensembles.distributions",
    "keep": "ensembles.keep",
    "tasks": "contact.tasks",
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
    return sorted(
        [
            *__all__,
            "contacts",
            "controllers",
            "distributions",
            "gpu",
            "gym",
            "keep",
            "rotations",
            "tasks",
            "trajectories",
            "__version__",
        ]
    )
