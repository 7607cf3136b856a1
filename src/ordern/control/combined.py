"""Controllers made of other controllers: sums, limited forces, samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, positive
from ..declared import explained_methods
from ..errors import ArgumentError
from ..model import Model
from ..records import dataclass
from .arguments import freedom_name, freedoms, of_robot
from .controller import Controller, Modelled, Written
from .drives import Drives
from .imperfections import Imperfections

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Sampled", "Saturated", "Saturation", "Sum", "delay_of"]

Law = Controller | Callable[[float, Any, Any], Any]


@explained_methods
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
        delays = {delay_of(p) for p in self.parts}
        if len(delays) > 1:
            listed = ", ".join(f"{x:g} s" for x in sorted(delays))
            raise ArgumentError(
                f"the controllers of a Sum have different delays, {listed}: wrap the Sum in one Sampled with a delay"
            )
        self.delay = delays.pop()
        self.breaks = tuple(sorted({t for p in self.parts for t in getattr(p, "breaks", ())}))

    def start(self, robot: Robot) -> None:
        """Start every part."""
        for part in self.parts:
            _start(part, robot)

    def _law(self, m: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        return sum(m.part("Sum", part, q, v) for part in self.parts)


@explained_methods
class Sampled(Written):
    """A controller, or a function of (t, q, v), called once in each period; its force holds until the next call.

    With a `delay`, in seconds, the force acts so much later than its sample, and none acts before. `noise` and
    `quantum` make sensors and motors imperfect: dictionaries from "q", "v" (measured) and "tau" (exerted) to a number,
    nv numbers, or numbers by joints. `noise` has standard deviations of normal noise, a new draw for each sample, which
    depends on `seed` and the number of the sample only. `quantum` has the steps to which the numbers are rounded, after
    the noise: the resolution of encoders and converters.

    `controller(t, q, v)` returns the force of the sample at t, with noise and rounding; simulations delay it.

    >>> import ordern as on
    >>> robot = on.load("double-pendulum")
    >>> hold = on.controllers.PD(robot, [0.0, 0.0], 50.0, 5.0)
    >>> real = on.controllers.Sampled(hold, 0.001, delay=0.002, noise={"v": 0.01}, quantum={"q": 1e-3})
    >>> result = robot.simulate([0.1, 0.0], tau=real, until=0.1)
    """

    period: float

    def __init__(
        self,
        controller: Law,
        period: float,
        *,
        delay: float = 0.0,
        noise: Mapping[str, Any] | None = None,
        quantum: Mapping[str, Any] | None = None,
        seed: Any = 0,
    ) -> None:
        self.controller, self.period = _callable(controller), positive(period, "period")
        self.delay = positive(delay, "delay", zero=True)
        if delay_of(controller):
            raise ArgumentError("Sampled: the controller has a delay already; give one delay for both")
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise ArgumentError(f"Sampled: seed must be a whole number from 0 on, not {seed!r}")
        self.seed, self._given = int(seed), (noise, quantum)
        self.imperfect: Imperfections | None = None
        robot = getattr(controller, "robot", None)
        if isinstance(robot, Model):
            self._know(robot)

    @property
    def _ideal(self) -> bool:
        """True without noise and rounding."""
        return all(x is None for x in self._given)

    def _know(self, robot: Any) -> None:
        if not self._ideal:
            self.imperfect = Imperfections(robot, *self._given, "Sampled")

    def start(self, robot: Robot) -> None:
        """Start the controller."""
        self._know(robot)
        _start(self.controller, robot)

    def _law(self, m: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        return m.sampled(self, q, v)

    def _exact(self, m: Any, q: Any, v: Any) -> Any:
        """Return the joint forces that the controller computes from measured states."""
        return m.part("Sampled", self.controller, q, v)

    def _real(self, m: Any, q: Array, v: Array) -> Array:
        """Return the joint forces with noise and rounding."""
        if self._ideal:
            return np.asarray(self._exact(m, q, v))
        if self.imperfect is None:
            raise ArgumentError("Sampled: noise and quantum need the joints of a robot; call start(robot) first")
        sample = max(round(float(np.min(m.t)) / self.period), 0) if self.imperfect.noise else 0
        rng = np.random.Generator(np.random.Philox(key=self.seed, counter=[0, 0, 0, sample]))
        tau = self._exact(m, *self.imperfect.measured(q, v, rng))
        return np.asarray(self.imperfect.exerted(np.asarray(tau), rng))


@dataclass(frozen=True)
class Saturation:
    """A joint whose demanded force exceeded the limit: the largest demand, its time, and the limit."""

    joint: str
    time: float
    demand: float
    limit: float

    def __str__(self) -> str:
        return f"joint {self.joint!r}: {self.demand:.6g} demanded at t = {self.time:.6g} s, limit {self.limit:.6g}"


@explained_methods
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
        self.delay = delay_of(controller)
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


def delay_of(controller: Any) -> float:
    """Return the time from a sample of a controller of this library to the moment at which its force acts."""
    return controller.delay if isinstance(controller, (Sampled, Saturated, Sum)) else 0.0


def _callable(controller: Any) -> Law:
    if not callable(controller):
        raise ArgumentError(f"a controller is a function of (t, q, v), not {controller!r}")
    return controller  # type: ignore[no-any-return]


def _start(part: Law, robot: Robot) -> None:
    if hasattr(part, "start"):
        part.start(robot)
