"""Controllers made of other controllers: sums, limited forces, samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, positive
from ..errors import ArgumentError
from ..records import dataclass
from .arguments import freedom_name, freedoms, of_robot
from .controller import Controller, Modelled, Written
from .drives import Drives

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Sampled", "Saturated", "Saturation", "Sum"]

Law = Controller | Callable[[float, Any, Any], Any]


class Sum(Written):
    """The forces of several controllers, or functions of (t, q, v), added."""

    def __init__(self, *parts: Law) -> None:
        if not parts:
            raise ArgumentError("Sum takes one or more controllers")
        self.parts = tuple(_callable(p) for p in parts)
        periods = {p.period for p in self.parts if isinstance(p, Controller)} - {None}
        if len(periods) > 1:
            raise ArgumentError(f"the controllers of a Sum have different periods: {sorted(map(str, periods))}")
        if periods and not all(getattr(p, "period", None) for p in self.parts):
            raise ArgumentError(
                "some controllers of the Sum are sampled, others are not: give all of them the period, or wrap the Sum "
                "in Sampled"
            )
        self.period = next(iter(periods), None)
        self.breaks = tuple(sorted({t for p in self.parts for t in getattr(p, "breaks", ())}))

    def start(self, robot: Robot) -> None:
        """Start every part."""
        for part in self.parts:
            _start(part, robot)

    def _law(self, m: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        return sum(m.part("Sum", part, q, v) for part in self.parts)


class Sampled(Written):
    """A controller, or a function of (t, q, v), called once in each period; its force holds until the next call."""

    def __init__(self, controller: Law, period: float) -> None:
        self.controller, self.period = _callable(controller), positive(period, "period")

    def start(self, robot: Robot) -> None:
        """Start the controller."""
        _start(self.controller, robot)

    def _law(self, m: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        return m.part("Sampled", self.controller, q, v)


@dataclass(frozen=True)
class Saturation:
    """A joint whose demanded force exceeded the limit: the largest demand, its time, and the limit."""

    joint: str
    time: float
    demand: float
    limit: float

    def __str__(self) -> str:
        return f"joint {self.joint!r}: {self.demand:.6g} demanded at t = {self.time:.6g} s, limit {self.limit:.6g}"


class Saturated(Modelled):
    """A controller whose forces are clipped to the effort limits of the model, or to given ones; zero without a motor.

    `report` lists the joints whose demand exceeded the limit since the last `start`. It includes demands at states that
    the integrator tried and rejected.
    """

    def __init__(
        self, robot: Robot, controller: Law, limits: ArrayLike | Mapping[str, ArrayLike] | None = None
    ) -> None:
        of_robot(robot)
        self.robot, self.controller = robot, _callable(controller)
        if limits is None:
            limits = np.array([x for c in robot.independent for x in c.effort_limit])
        self.limits = np.where(Drives(robot).at, freedoms(robot, limits, "limits", infinite=True), 0.0)
        self.period, self.breaks = getattr(controller, "period", None), getattr(controller, "breaks", ())
        self._forget()

    def _forget(self) -> None:
        self.demand, self.time = np.zeros(self.robot.nv), np.zeros(self.robot.nv)

    def start(self, robot: Robot) -> None:
        """Start the controller, and reset the report."""
        super().start(robot)
        _start(self.controller, robot)
        self._forget()

    def _law(self, m: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        return m.clip(m.part("Saturated", self.controller, q, v), self.limits, self)

    def _note(self, t: Any, tau: Array) -> None:
        """Note the largest demands above the limits, for `report`."""
        rows = tau.reshape(-1, self.robot.nv)
        over = np.abs(rows).max(axis=0, initial=0.0)
        more = (over > self.limits) & (over > np.abs(self.demand))
        if more.any():
            worst = np.abs(rows).argmax(axis=0)
            self.demand[more] = rows[worst, np.arange(self.robot.nv)][more]
            self.time[more] = np.broadcast_to(t, len(rows))[worst][more]

    @property
    def report(self) -> tuple[Saturation, ...]:
        """The joints whose demand exceeded the limit, each at its worst."""
        return tuple(
            Saturation(freedom_name(self.robot, k), *(float(x[k]) for x in (self.time, self.demand, self.limits)))
            for k in np.flatnonzero(self.demand).tolist()
        )


def _callable(controller: Any) -> Law:
    if not callable(controller):
        raise ArgumentError(f"a controller is a function of (t, q, v), not {controller!r}")
    return controller  # type: ignore[no-any-return]


def _start(part: Law, robot: Robot) -> None:
    if hasattr(part, "start"):
        part.start(robot)
