"""Controllers: joint forces from time and state, for `robot.simulate(tau=...)` or a loop of your own.

| controller | forces |
|---|---|
| `PD` | springs and dampers to a position or a trajectory |
| `GravityCompensation` | what holds the robot where it is |
| `ComputedTorque` | inverse dynamics with feedback: a linear error, whatever the robot |
| `FeedForward` | inverse dynamics of the wanted motion, and a PD |
| `OperationalSpace` | a frame that moves as a unit mass on springs, with a null space |
| `Sum`, `Saturated`, `Sampled` | several added; limited; with a zero-order hold |
| `Controller` | the protocol for one's own |

Most take the robot (a model of it) first. They check what they are given when they are made, and are functions:
`controller(t, q, v)` returns tau, for one state or for arrays of them.
"""

from __future__ import annotations

from .combined import Sampled, Saturated, Saturation, Sum
from .controller import Controller
from .joint_controllers import PD, ComputedTorque, FeedForward, GravityCompensation
from .operational_space import OperationalSpace

__all__ = [
    "PD",
    "ComputedTorque",
    "Controller",
    "FeedForward",
    "GravityCompensation",
    "OperationalSpace",
    "Sampled",
    "Saturated",
    "Saturation",
    "Sum",
]
