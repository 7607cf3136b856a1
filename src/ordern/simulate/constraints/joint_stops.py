"""Joints at their limits during a run: which stops are touched, which ones joints rest on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..events import Event, EventFunction, Tracker
from ..run.problem import Problem
from .limits import REST, Stop, complementary, impact

__all__ = ["Contact"]

Array = NDArray[np.float64]


class Contact:
    """Watches stops through events that follow the user's own: one for each stop, then one for each joint at rest."""

    def __init__(self, problem: Problem, watch: Tracker, stops: list[Stop], mode: str, restitution: float) -> None:
        self.problem, self.watch, self.stops, self.restitution = problem, watch, stops, restitution
        self.ends = mode == "stop"
        self._again = (float("nan"), -1)
        self._user = len(watch.events)
        self._own = [Event(self._inside(k), s.name, -1, True) for k, s in enumerate(stops)]
        self._set([])

    def _set(self, held: list[int]) -> None:
        """Joints rest on these stops from now on."""
        self.held = held
        self.problem.hold([self.stops[k] for k in held])
        releases = [
            Event(_force(self.problem, n), f"release of {self.stops[k].joint}", -1, True) for n, k in enumerate(held)
        ]
        self.watch.watch((*self.watch.events[: self._user], *self._own, *releases))

    def is_release(self, index: int) -> bool:
        """Whether an event is that a joint leaves its stop."""
        return index >= self._user + len(self.stops)

    def stop(self, index: int) -> Stop | None:
        """The stop whose event it is that it was reached."""
        k = index - self._user
        return self.stops[k] if 0 <= k < len(self.stops) else None

    def begin(self, t: float, q: Array, v: Array) -> tuple[Array, Array] | None:
        """The run starts: perhaps with joints at their limits."""
        return self.again(t, q, v)

    def again(self, t: float, q: Array, v: Array) -> tuple[Array, Array] | None:
        """Loops were opened or closed: joints at stops may leave them, come to rest, or strike."""
        touching = [k for k, s in enumerate(self.stops) if s.reached(q)]
        if self.ends or not touching:
            if self.held:
                self._set([])
            self.restart(t, q, v)
            return None
        return self._resolved(t, q, v, touching)

    def touched(self, t: float, q: Array, v: Array, index: int) -> tuple[Array, Array] | None:
        """One of the stops' events took place: the state after it."""
        if self.is_release(index):
            n = index - self._user - len(self.stops)
            self._rest(t, q, v, [k for i, k in enumerate(self.held) if i != n])
            return None
        k = index - self._user
        others = [i for i, s in enumerate(self.stops) if i != k and i not in self.held and s.reached(q)]
        insists = k if self._again == (t, k) else -1
        self._again = (t, k)
        return self._resolved(t, q, v, [*self.held, k, *others], insists)

    def _resolved(self, t: float, q: Array, v: Array, touching: list[int], insists: int = -1) -> tuple[Array, Array]:
        """Impacts of all joints that touch their stops, those that rest on theirs included; slow ones come to rest.

        A joint that was let go, did not move away and is back at the same moment (`insists`) is held.
        """
        stops = [self.stops[k] for k in touching]
        q, v = self.problem.at_stops(t, q, v, stops)
        towards = -self.problem.stop_rows(stops, q) @ v
        slow = bool((towards * self.restitution < REST).all())
        after, away = impact(self.problem, stops, t, q, v, 0.0 if slow else self.restitution)
        self._rest(t, q, after, [k for k, u in zip(touching, away.tolist(), strict=True) if u == 0.0], insists)
        return q, after

    def _rest(self, t: float, q: Array, v: Array, still: list[int], insists: int = -1) -> None:
        """Of joints that do not move at their stops, those that are pushed onto them rest, or that loops keep there."""
        problem = self.problem
        problem.hold([])
        held = still
        if still:
            stops = [self.stops[k] for k in still]
            E, a = problem.stop_rows(stops, q), problem.acceleration(t, q, v)
            away = E @ a + problem.stop_bias(stops, q, v)
            A = problem.stop_response(q, E, t) @ E.T
            p = complementary(A, away)
            held = [k for n, k in enumerate(still) if p[n] > 0.0 or k == insists or A[n, n] == 0.0]
        self._set(held)
        self.restart(t, q, v)

    def restart(self, t: float, q: Array, v: Array) -> None:
        """Watch from here; a joint at or beyond a stop that it does not rest on is about to leave it, or to strike."""
        self.watch.start(t, q, v)
        for k, s in enumerate(self.stops):
            if k not in self.held and s.reached(q):
                self.watch.leave(self._user + k, float(self.problem.stop_rows([s], q)[0] @ v))

    def _inside(self, k: int) -> EventFunction:
        """How far a joint is inside of a limit; one that rests on it does not reach it again."""
        stop = self.stops[k]
        return lambda t, q, v: 0.0 if k in self.held else stop.inside(q)

    def state(self) -> NDArray[np.int64]:
        """The stops that joints rest on."""
        return np.array(self.held, dtype=np.int64)

    def restore(self, held: NDArray[np.int64]) -> None:
        """Rest on these."""
        self._set([int(k) for k in held])


def _force(problem: Problem, n: int) -> EventFunction:
    return lambda t, q, v: problem.stop_forces(t, q, v)[n]
