"""The arguments of a simulation, which a result keeps for its derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..records import dataclass

if TYPE_CHECKING:
    from ..robot import Robot
    from .forces import Applied, External
    from .options import SimulationOptions

__all__ = ["MotionSource"]


@dataclass(frozen=True, eq=False)
class MotionSource:
    """The arguments of a simulation that its derivatives need."""

    robot: Robot
    drives: Applied
    external: External
    options: SimulationOptions
    listed: bool
    """True if the samples are at times that were asked for."""
