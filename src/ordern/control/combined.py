"""Controllers made of other controllers: sums, limited forces, samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, positive, real
from ..errors import ArgumentError
from ..records import dataclass
from .arguments import freedom_name, freedoms, of_robot
from .controller import Controller, Modelled
from .drives import Drives

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Sampled", "Saturated", "Saturation", "Sum"]

Law = Controller | Callable[[float, Any, Any], Any]


class Sum(Controller):
    """The forces of several controllers, or functions of (t, q, v), added."""

    def __init__(self, *parts: Law) -> None:
        if not parts:
            raise ArgumentError("Sum takes one or more controllers")
        self.parts = tuple(_law(p) for p in parts)
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

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return the joint forces."""
        return np.asarray(sum(_real("Sum", part, part(t, q, v)) for part in self.parts))


class Sampled(Controller):
    """A controller, or a function of (t, q, v), called once in each period; its force holds until the next call."""

    def __init__(self, controller: Law, period: float) -> None:
        self.controller, self.period = _law(controller), positive(period, "period")

    def start(self, robot: Robot) -> None:
        """Start the controller."""
        _start(self.controller, robot)

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return the joint forces."""
        return np.asarray(self.controller(t, q, v))


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
        self.robot, self.controller = robot, _law(controller)
        if limits is None:
            limits = np.array([x for c in robot.independent for x in c.effort_limit])
        self.limits = np.where(Drives(robot).at, freedoms(robot, limits, "limits", infinite=True), 0.0)
        self.period, self.breaks = getattr(controller, "period", None), getattr(controller, "breaks", ())
        self._forget()

    def _forget(self) -> None:
        self._demand, self._time = np.zeros(self.robot.nv), np.zeros(self.robot.nv)

    def start(self, robot: Robot) -> None:
        """Start the controller, and reset the report."""
        super().start(robot)
        _start(self.controller, robot)
        self._forget()

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return the joint forces."""
        tau = _real("Saturated", self.controller, self.controller(t, q, v))
        over = np.abs(tau).reshape(-1, self.robot.nv).max(axis=0, initial=0.0)
        more = (over > self.limits) & (over > np.abs(self._demand))
        if more.any():
            rows = tau.reshape(-1, self.robot.nv)
            signed = rows[np.abs(rows).argmax(axis=0), np.arange(self.robot.nv)]
            self._demand[more], self._time[more] = signed[more], t
        return np.asarray(np.clip(tau, -self.limits, self.limits))

    @property
    def report(self) -> tuple[Saturation, ...]:
        """The joints whose demand exceeded the limit, each at its worst."""
        return tuple(
            Saturation(freedom_name(self.robot, k), *(float(x[k]) for x in (self._time, self._demand, self.limits)))
            for k in np.flatnonzero(self._demand).tolist()
        )


def _law(controller: Any) -> Law:
    if not callable(controller):
        raise ArgumentError(f"a controller is a function of (t, q, v), not {controller!r}")
    return controller  # type: ignore[no-any-return]


def _real(whole: str, part: Law, answer: Any) -> Array:
    """Return the forces of a part as floats."""
    return real(answer, f"{whole}: the forces of {getattr(part, '__name__', type(part).__name__)}")


def _start(part: Law, robot: Robot) -> None:
    if hasattr(part, "start"):
        part.start(robot)
