"""Watchers: functions of the motion whose change of sign has an effect on the run.

A sign change is found on the dense output, to rounding. Events of the user, switches of loops, joint stops, failing
contacts and singular positions are all watched in this way, and differ in their effects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import Array
from ...errors import ArgumentError
from ...records import dataclass
from ..exchange import read_only
from ..integrators.dense import Segment, evaluate
from .roots import crossing

if TYPE_CHECKING:
    from ...robot import Robot
    from .run import Run

__all__ = ["SAME_MOMENT", "Found", "Phase", "Tracker", "WatchFunction", "Watcher"]

_BLOCK = 16
"""Steps that are searched at a time: no function of the user is called for times past the end of a chunk."""

_LOOKS = 24
"""The number of halvings of a part of a step, to see if a function that starts at zero rises first."""

SAME_MOMENT = 1e-10
"""Sign changes that are no further apart, in seconds, take place at the same moment: values of the functions have
roundings of some 1e-16 m or rad, which passages at 1e-6 m/s or rad/s turn into such a time."""

WatchFunction = Callable[[float, Array, Array], Any]


class Phase(IntEnum):
    """The order of effects at one moment."""

    STRUCTURE = 0
    """Contacts fail, singular positions are entered or left."""
    STOP = 1
    """Joints strike or leave their stops."""
    SWITCH = 2
    """Loops open and close."""
    EFFECT = 3
    """Effects of the user's events."""
    END = 4
    """The run ends."""


@dataclass(frozen=True, eq=False)
class Watcher:
    """A function of (t, q, v), and the effect that its change of sign has on the run."""

    name: str
    function: WatchFunction
    effect: Callable[[Run], None] | None = None
    """The steps end where it takes place. None: the sign change is noted, and the steps go on."""
    direction: int = 0
    """1: only upward changes count, -1: only downward ones."""
    phase: Phase = Phase.EFFECT
    shown: bool = True
    """True if the result lists it among its events."""
    together: bool = False
    """True if the run evaluates it also at the time of another watcher that ends the steps."""
    index: int = -1
    """The place among the user's events."""
    subject: Any = None
    """The stop or the contact that it watches."""
    over: Callable[[Array, Array, Array], Array] | None = None
    """The same function of times (n,) and states (n, nq), (n, nv), where that is faster."""


@dataclass(frozen=True, slots=True)
class Found:
    """A sign change: its step, the part s of the step, the time, the watcher, and the state."""

    step: int
    s: float
    t: float
    index: int
    q: Array
    v: Array


class Tracker:
    """Follows the signs of all watchers along a motion."""

    def __init__(self, robot: Robot, watchers: Sequence[Watcher], samples: int) -> None:
        self.robot, self.samples, self._always = robot, samples, tuple(watchers)
        self.add(())

    def add(self, more: Sequence[Watcher]) -> None:
        """Follow these watchers besides the permanent ones, from the next `start` on."""
        self.watchers = (*self._always, *more)
        self.signs = np.zeros(len(self.watchers))
        self.leaving: dict[int, float] = {}
        """Watchers at whose zero the motion starts, on its way to positive values, with their rates."""
        self._begins: list[Array] = []
        """The signs at the start of each of the steps that were searched last."""

    def value(self, index: int, t: float, q: Array, v: Array) -> float:
        """Return the function of a watcher."""
        answer = self.watchers[index].function(t, read_only(q), read_only(v))
        try:
            g = math.nan if np.iscomplexobj(answer) else float(answer)
        except (TypeError, ValueError):
            g = math.nan
        if math.isnan(g) and np.isfinite(q).all() and np.isfinite(v).all():
            raise ArgumentError(
                f"event {self.watchers[index].name!r} returned {answer!r} at t = {t:.9g} s; give one real number"
            )
        return g

    def start(self, t: float, q: Array, v: Array) -> None:
        """Note the signs at the start of the motion, or after a jump of the state."""
        self.leaving = {}
        for k in range(len(self.watchers)):
            self.signs[k] = np.sign(self.value(k, t, q, v))

    def leave(self, index: int, rate: float) -> None:
        """Start at a watcher's zero, towards positive values if the rate is above zero."""
        self.signs[index] = 1.0
        self.leaving[index] = rate

    def search(self, edges: Array, dense: Array) -> list[Found]:
        """Return sign changes within steps that begin and end at `edges`, by time, up to the first with an effect."""
        found: list[Found] = []
        self._begins = []
        for first in range(0, len(dense) if self.watchers else 0, _BLOCK):
            found += self._block(edges[first : first + _BLOCK + 1], dense[first : first + _BLOCK], first)
            if any(self.watchers[f.index].effect for f in found):
                break
        found.sort(key=lambda f: (f.t, f.index))
        for n, f in enumerate(found):
            if self.watchers[f.index].effect:
                return found[: n + 1]
        return found

    def beside(self, segment: Segment, step: int, s: float, which: Iterable[int]) -> list[int]:
        """Return which of these watchers change sign at a moment of one of the steps just searched.

        The motion is followed a little beyond it, also where the step ends; but not back to before it begins, where
        the state may jump.
        """
        early = s * (segment.t1 - segment.t0) < SAME_MOMENT
        before, after = segment.beside(s, -SAME_MOMENT), segment.beside(s, SAME_MOMENT)
        found = []
        for k in which:
            was = self._begins[step][k] if early else np.sign(self.value(k, *before))
            will_be = np.sign(self.value(k, *after))
            if was * will_be < 0.0 and self.watchers[k].direction in (0, will_be):
                found.append(k)
        return found

    def _block(self, edges: Array, dense: Array, first: int) -> list[Found]:
        """Search a few steps: signs at samples, and roots where they change."""
        n, nq, nv = len(dense), self.robot.nq, self.robot.nv
        parts = np.arange(1, self.samples + 1) / self.samples
        y = evaluate(dense[:, None], np.broadcast_to(parts, (n, self.samples)))
        q = self.robot.normalize(np.ascontiguousarray(y[..., :nq]))
        v = np.ascontiguousarray(y[..., nq : nq + nv])
        times = edges[:-1, None] + parts * np.diff(edges)[:, None]
        times[:, -1] = edges[1:]
        known = {
            k: w.over(times.ravel(), q.reshape(-1, nq), v.reshape(-1, nv)).reshape(times.shape)
            for k, w in enumerate(self.watchers)
            if w.over is not None
        }
        changing = [k for k in range(len(self.watchers)) if k not in known or self._may_change(k, known[k])]
        found = []
        for j in range(n):
            self._begins.append(self.signs.copy())
            segment = Segment(self.robot, float(edges[j]), float(edges[j + 1]), dense[j])
            for i in range(self.samples if changing else 0):
                t = float(times[j, i])
                for k in changing:
                    value = known[k][j, i] if k in known else self.value(k, t, q[j, i], v[j, i])
                    before, now = self.signs[k], np.sign(value)
                    if now > 0.0:
                        self.leaving.pop(k, None)
                    if now in (before, 0.0):
                        continue
                    self.signs[k] = now
                    if before == 0.0 or self.watchers[k].direction not in (0, now):
                        continue
                    s = self._root(segment, k, 0.0 if i == 0 else float(parts[i - 1]), float(parts[i]))
                    found.append(Found(first + j, s, segment.time(s), k, *segment.at(s)[1:]))
        return found

    def _may_change(self, k: int, values: Array) -> bool:
        """Tell whether some of these values of a watcher have another sign than the last one."""
        if (np.sign(values) != self.signs[k]).any():
            return True
        if self.signs[k] > 0.0:
            self.leaving.pop(k, None)
        return False

    def _root(self, segment: Segment, k: int, s0: float, s1: float) -> float:
        """Return the root between two parts of a step at which the signs differ."""

        def g(s: float) -> float:
            return self.value(k, *segment.at(s))

        if k in self.leaving:  # the root that the motion starts from is divided out
            rate = self.leaving.pop(k) * (segment.t1 - segment.t0)
            if s0 == 0.0:
                return crossing(lambda s: g(s) / s, 0.0, s1, rate) if rate > 0.0 else _after_rising(g, s1)
        return crossing(g, s0, s1)


def _after_rising(g: Callable[[float], float], end: float) -> float:
    """Return the root of a function that starts from zero with no rate, rises, and is negative at the end.

    Return 0 if it does not rise.
    """
    for k in range(_LOOKS):
        s = end * 0.5 ** (k + 1)
        if g(s) > 0.0:
            return crossing(g, s, 2.0 * s)
    return 0.0
