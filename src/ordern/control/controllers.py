"""Controllers: joint forces from time and state, for `robot.simulate(tau=...)` or a loop of your own.

| controller | forces |
|---|---|
| `PD` | springs and dampers to a position or a trajectory |
| `GravityCompensation` | what holds the robot where it is |
| `ComputedTorque` | inverse dynamics with feedback: a linear error, whatever the robot |
| `FeedForward` | inverse dynamics of the wanted motion, and a PD |
| `OperationalSpace` | a frame that moves as a unit mass on springs, with a null space |
| `Impedance` | a frame on springs and dampers, with the inertia that it has |
| `Sum`, `Saturated`, `Sampled` | several added; limited; with a zero-order hold |
| `Controller` | the protocol for one's own |

Most take the robot (a model of it) first. They check what they are given when they are made, and are functions:
`controller(t, q, v)` returns tau, for one state or for arrays of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .combined import Sampled, Saturated, Saturation, Sum
from .controller import Controller
from .impedance import Impedance
from .joint_controllers import PD, ComputedTorque, FeedForward, GravityCompensation
from .machines import NotRecordedError, Recorder
from .operational_space import OperationalSpace

if TYPE_CHECKING:
    from ..compile.timeloops.law_program import Law
    from ..robot import Robot

__all__ = [
    "PD",
    "ComputedTorque",
    "Controller",
    "FeedForward",
    "GravityCompensation",
    "Impedance",
    "OperationalSpace",
    "Sampled",
    "Saturated",
    "Saturation",
    "Sum",
]

_WRITTEN: frozenset[type] = frozenset(
    (PD, ComputedTorque, FeedForward, GravityCompensation, Impedance, OperationalSpace, Sampled, Saturated, Sum)
)


def recorded_law(controller: Any, robot: Robot) -> Law | None:
    """Return the law of a controller for compiled time loops of a robot; None if they must call the controller."""
    if type(controller) not in _WRITTEN:
        return None
    try:
        return Recorder(robot, _WRITTEN).finish(controller)
    except NotRecordedError:
        return None
