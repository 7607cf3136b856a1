"""Joints at their limits during a run: which stops are touched, which ones joints rest on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import Array
from ..run.endings import Ending
from ..run.watchers import Phase, Watcher, WatchFunction
from .limits import REST, Stop, complementary, impact

if TYPE_CHECKING:
    from ..run.run import Run

__all__ = ["JointStops"]


class JointStops:
    """The stops of a run. Each of them has a watcher, and so has each joint that rests on one."""

    def __init__(self, run: Run, stops: list[Stop]) -> None:
        options = run.options
        self.run, self.problem, self.stops = run, run.problem, stops
        self.restitution, self.ends = options.restitution, options.limits == "stop"
        self.held: list[int] = []
        self.struck: tuple[tuple[Stop, ...], float] | None = None
        """The stops of the last impact, and its restitution."""
        self._again = (math.nan, -1)
        self.watchers = [
            Watcher(
                s.name,
                self._inside(k),
                self._ended(s) if self.ends else self._struck(k),
                -1,
                Phase.END if self.ends else Phase.STOP,
                together=bool(options.switches),
                subject=s,
                over=self._inside_over(k) if s.own else None,
            )
            for k, s in enumerate(stops)
        ]

    # ---- watchers and their effects

    def _inside(self, k: int) -> WatchFunction:
        """Return how far a joint is inside of a limit; a joint that rests on the limit does not reach it again."""
        stop = self.stops[k]
        return lambda t, q, v: 0.0 if k in self.held else stop.inside(q)

    def _inside_over(self, k: int) -> Callable[[Array, Array, Array], Array]:
        """Return the same function of many states, for a joint of the tree."""
        s = self.stops[k]
        return lambda t, q, v: np.zeros(len(t)) if k in self.held else s.side * (q[:, s.q] - s.bound)

    def _ended(self, stop: Stop) -> Callable[[Run], None]:
        return lambda run: run.stop(Ending.LIMIT, f"{stop.name} at t = {run.t:.9g} s")

    def _struck(self, k: int) -> Callable[[Run], None]:
        """Let a joint strike its stop."""

        def resolve(t: float, q: Array, v: Array) -> tuple[Array, Array]:
            others = [i for i, s in enumerate(self.stops) if i != k and i not in self.held and s.reached(q)]
            insists = k if self._again == (t, k) else -1
            self._again = (t, k)
            return self._resolved(t, q, v, [*self.held, k, *others], insists)

        return lambda run: run.strike(resolve)

    def _released(self, n: int) -> Watcher:
        """Return the watcher of a joint that rests on a stop, which it leaves when the stop's force would pull."""
        held = list(self.held)

        def leave(t: float, q: Array, v: Array) -> None:
            self._rest(t, q, v, [k for i, k in enumerate(held) if i != n])

        return Watcher(
            f"release of {self.stops[held[n]].joint}",
            lambda t, q, v: self.problem.stop_forces(t, q, v)[n],
            lambda run: run.strike(leave),
            -1,
            Phase.STOP,
            shown=False,
            over=lambda t, q, v: self.problem.stop_forces(t, q, v)[:, n],
        )

    # ---- impacts and rest

    def again(self, t: float, q: Array, v: Array) -> tuple[Array, Array] | None:
        """Resolve joints at stops at the start, or after constraints changed: they leave, come to rest, or strike."""
        touching = [k for k, s in enumerate(self.stops) if s.reached(q)]
        if self.ends or not touching:
            if self.held:
                self.set([])
            self.restart(t, q, v)
            return None
        return self._resolved(t, q, v, touching)

    def _resolved(self, t: float, q: Array, v: Array, touching: list[int], insists: int = -1) -> tuple[Array, Array]:
        """Compute impacts of all joints that touch their stops, resting ones included; slow ones come to rest.

        A joint that was let go, did not move away and is back at the same moment (`insists`) is held.
        """
        stops = [self.stops[k] for k in touching]
        q, v = self.problem.at_stops(t, q, v, stops)
        towards = -self.problem.stop_rows(stops, q) @ v
        slow = bool((towards * self.restitution < REST).all())
        self.struck = tuple(stops), 0.0 if slow else self.restitution
        after, away = impact(self.problem, stops, t, q, v, self.struck[1])
        self._rest(t, q, after, [k for k, u in zip(touching, away.tolist(), strict=True) if u == 0.0], insists)
        return q, after

    def _rest(self, t: float, q: Array, v: Array, still: list[int], insists: int = -1) -> None:
        """Let joints rest that do not move at their stops and are pushed onto them, or that loops keep there."""
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
        self.set(held)
        self.restart(t, q, v)

    def set(self, held: list[int]) -> None:
        """Let joints rest on these stops from now on."""
        self.held = held
        self.problem.hold([self.stops[k] for k in held])
        self.run.watch.add([self._released(n) for n in range(len(held))])

    def restart(self, t: float, q: Array, v: Array) -> None:
        """Watch from here; a joint at or beyond a stop on which it does not rest is about to leave it, or to strike."""
        watch = self.run.watch
        watch.start(t, q, v)
        for k, s in enumerate(self.stops):
            if k not in self.held and s.reached(q):
                watch.leave(watch.watchers.index(self.watchers[k]), float(self.problem.stop_rows([s], q)[0] @ v))
