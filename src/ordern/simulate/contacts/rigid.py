"""Rigid contacts by events: contacts are open, stick or slip, and between events the motion is smooth.

An event is a gap that closes (an impact), a normal force that would pull (the contact leaves), friction that reaches
its cone (it slips), or a slip that comes to rest (it sticks). Contacts with gaps below 1e-6 m take part in an impact
together. Contacts that approach more slowly than 1 cm/s do not bounce, as in `rollout`: otherwise a ball would bounce
infinitely often in a finite time (Zeno). `rigid_problem` has the equations. Made to be exact, not fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import Array
from ..integrators.integrator import StepFailedError
from ..run.endings import Ending
from ..run.watchers import Found, Phase, Watcher
from .rigid_problem import OPEN, SLIP, STICK, RigidState
from .touching import Touching

if TYPE_CHECKING:
    from ...robot import Robot
    from ..run.chunk import Chunk
    from ..run.run import State

__all__ = ["Rigid"]

_TOGETHER = 1e-6
"""Gaps below this, in m, are closed at the same moment."""
_SLOW = 0.01
"""Contacts that approach more slowly than this, in m/s, do not bounce; as in a step of `rollout`."""
_STILL = 1e-7
"""Speeds along a surface up to this, in m/s, are those of contacts that may stick."""
_PARTS = 1e-9
"""Contacts part at a larger speed, in m/s, or acceleration, in m/s^2."""
_ZENO, _ZENO_TIME = 100, 1e-4
"""So many impacts in so short a time, in s, are a sequence without an end."""
_BLENDS = 1e-5
"""At speeds of this order, in m/s, friction keeps part of its last direction; above a hundredfold, none."""
_BEGINS = 1e-7
"""Contacts begin to slip at a larger acceleration, in m/s^2."""
_UNDECIDED = 3
"""After so many changes of modes at one moment, contacts with friction at its cone slip."""
_RESTLESS = 30
"""So many changes of modes at one moment do not settle."""
_KINDS = ("touching", "leaving", "sticking", "slipping")


class Rigid(Touching):
    """The contacts of a run, their modes, and what changes these."""

    model = "rigid"
    saved = (*Touching.saved, "mode", "along", "idle", "shared", "truncated", "_impacts", "_moment", "_again")

    def __init__(self, robot: Robot) -> None:
        super().__init__(robot)
        n = self.count
        self.mode = np.full(n, OPEN)
        self.along = np.zeros((n, 2))
        """The directions in which contacts slip."""
        self.idle = np.zeros(n, bool)
        """Contacts that are closed while others carry their load."""
        self.shared = False
        """True if the smallest forces of contacts that share a load are outside of cones: others are within."""
        self.truncated = 0
        """Impacts of contacts with restitution that were too slow to bounce."""
        self._impacts = np.full(_ZENO, -np.inf)
        self._moment, self._again = -np.inf, 0
        self._known: tuple[Any, tuple[Array, Array]] = (None, (np.zeros(0), np.zeros(0)))
        self._marks = [
            [Watcher(f"{kind} {name}", lambda t, q, v: 1.0, over=_ones, subject=k) for kind in _KINDS]
            for k, name in enumerate(self.names)
        ]
        """Watchers that never change sign, for events that are written down where modes change."""
        self.watchers = [w for marks in self._marks for w in marks]
        for k, name in enumerate(self.names):
            self.watchers += [
                self._watcher(f"gap of {name}", self._gap(k)),
                self._watcher(f"force of {name}", self._pull(k)),
                self._watcher(f"slip of {name}", self._sliding(k)),
            ]
        self.watchers.append(self._watcher("shared loads", self._moves))

    def _watcher(self, name: str, function: Callable[[Any, Array, Array], Any]) -> Watcher:
        strike = self._resolve
        return Watcher(name, function, lambda run: run.strike(strike), -1, Phase.STRUCTURE, shown=False)

    # ---- what changes the modes

    def _gap(self, k: int) -> Callable[[Any, Array, Array], float]:
        """Return the gap of an open contact; one that lies idle closes only if it sinks in."""

        def gap(t: Any, q: Array, v: Array) -> float:
            if self.mode[k] != OPEN:
                return 0.0
            return float(self.motion(q, v)[k, 3]) + (1e-8 if self.idle[k] else 0.0)

        return gap

    def _pull(self, k: int) -> Callable[[Any, Array, Array], float]:
        """Return by how much the force of a closed contact is within its cone."""

        def left(t: Any, q: Array, v: Array) -> float:
            if self.mode[k] == OPEN or self.shared:
                return 1.0
            return self._left(k, self._acting(t, q, v)[0][k])

        return left

    def _sliding(self, k: int) -> Callable[[Any, Array, Array], float]:
        """Return the speed of a contact that slips along the direction in which it did."""

        def speed(t: Any, q: Array, v: Array) -> float:
            return 1.0 if self.mode[k] != SLIP else float(self.along[k] @ self.motion(q, v)[k, :2])

        return speed

    # ---- forces

    def _acting(self, t: Any, q: Array, v: Array) -> tuple[Array, Array]:
        """Return contact forces and accelerations at a state; the last ones are kept for other watchers."""
        key = (float(t), q.tobytes(), v.tobytes(), self.mode.tobytes(), self.along.tobytes())
        if self._known[0] != key:
            problem = self.run.problem
            force = problem.applied_force(float(t), q, v) + problem.joint_passive_force(q, v)
            self._known = key, self._solved(t, q, v, problem.free_dynamics(q, v, force, t))
        return self._known[1]

    def _solved(self, t: Any, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return forces and accelerations of one state in the modes of this moment, from accelerations without."""
        closed = [int(k) for k in np.flatnonzero(self.mode != OPEN)]
        if not closed:
            return np.zeros((self.count, 3)), a
        state = self._rows(q, v)
        if not state.is_finite or not np.isfinite(a).all():  # a trial that goes too far, and is taken again, shorter
            return np.full((self.count, 3), np.nan), np.full(a.shape, np.nan)
        return state.forces(closed, self.mode, self._directions(state.u), a, float(t))

    def _rows(self, q: Array, v: Array) -> RigidState:
        return RigidState.of(self.robot, self.surfaces, q, v, self.motion(q, v), self.names)

    def _directions(self, u: Array) -> Array:
        """Return the directions of slip: of velocities; at slow ones, where these turn at once, rather the last ones.

        Velocities that are turned back, past the end of a slip, do not count.
        """
        speed = np.hypot(u[:, 0], u[:, 1])
        blended = u[:, :2] + (_BLENDS * np.maximum(1.0 - speed / (100.0 * _BLENDS), 0.0))[:, None] * self.along
        forward = (u[:, :2] * self.along).sum(axis=1) > 0.0
        size = np.hypot(blended[:, 0], blended[:, 1])
        return np.where(forward[:, None], blended / np.maximum(size, 1e-300)[:, None], self.along)

    def accelerated(self, t: Any, q: Array, v: Array, a: Array) -> Array:
        """Return accelerations with contacts, from those without."""
        if not (self.mode != OPEN).any():
            return a
        if q.ndim == 1:
            return self._solved(t, q, v, a)[1]
        times = np.broadcast_to(t, len(q))
        return np.array([self._solved(times[k], q[k], v[k], a[k])[1] for k in range(len(q))]).reshape(a.shape)

    def forces(self, t: Array, q: Array, v: Array, force: Array) -> Array:
        """Return the forces of all contacts, (n, contacts, 3)."""
        if not (self.mode != OPEN).any():
            return np.zeros((len(q), self.count, 3))
        problem = self.run.problem
        found = [
            self._solved(t[k], q[k], v[k], problem.free_dynamics(q[k], v[k], force[k], t[k])) for k in range(len(q))
        ]
        return np.array([f for f, _ in found]).reshape(len(q), self.count, 3)

    # ---- impacts and modes

    def begin(self) -> None:
        """Find the modes at the start, with an impact if contacts approach."""
        run = self.run
        try:
            run.problem.enter(0.0, run.q, run.v)
            run.touch(self._resolve(0.0, run.q, run.v))
        except StepFailedError as e:
            run.stop(e.kind, str(e))

    def _resolve(self, t: float, q: Array, v: Array) -> State:
        """Return the state after impacts, and set the modes of all contacts."""
        self._again = self._again + 1 if t - self._moment < 1e-12 * max(1.0, t) else 0
        self._moment = t
        if self._again > _RESTLESS:
            raise StepFailedError(
                Ending.NOT_CONVERGED,
                t,
                f"contacts do not settle between sticking, slipping and leaving at t = {t:.9g} s; "
                "contacts='compliant' passes such moments",
            )
        state, x = self._rows(q, v), self.motion(q, v)
        was = np.where(self.idle, STICK, self.mode)
        near = [k for k in range(self.count) if x[k, 3] < _TOGETHER]
        hit = [k for k in near if x[k, 2] < -_PARTS]
        if hit:
            v = self._struck(t, state, near, v)
            state = self._rows(q, v)
        u = state.u
        closed = [k for k in near if u[k, 2] <= _PARTS]
        self._modes(t, q, v, state, closed)
        v = state.kept([k for k in closed if self.mode[k] != OPEN], self.mode, v)
        self._note(t, q, v, was, hit)
        watch = self.run.watch
        watch.start(t, q, v)
        x = self.motion(q, v)
        for k in range(self.count):
            if self.mode[k] == OPEN and not self.idle[k] and x[k, 3] < _TOGETHER:
                watch.leave(watch.watchers.index(self.watchers[4 * self.count + 3 * k]), max(float(x[k, 2]), 0.0))
        return q, v

    def _struck(self, t: float, state: RigidState, near: list[int], v: Array) -> Array:
        """Return the velocities after an impact; raise if impacts follow each other without an end."""
        self._impacts = np.append(self._impacts[1:], t)
        if t - self._impacts[0] < _ZENO_TIME:
            raise StepFailedError(
                Ending.NOT_CONVERGED,
                t,
                f"contacts: {_ZENO} impacts within {_ZENO_TIME:g} s, at t = {t:.9g} s, are a sequence without an end "
                "(Zeno); contacts='compliant' passes it",
            )
        u, e = state.u[:, 2], self.surfaces[:, 1]
        fast = u < -_SLOW
        self.truncated += sum(bool(e[k]) and not fast[k] and u[k] < -_PARTS for k in near)
        return state.struck(near, np.where(fast, -e * u, 0.0), v, t)

    def _modes(self, t: float, q: Array, v: Array, state: RigidState, closed: list[int]) -> None:
        """Decide which closed contacts stick, slip and leave, by their forces and accelerations."""
        u, problem = state.u, self.run.problem
        speed = np.hypot(u[:, 0], u[:, 1])
        mode, along = np.full(self.count, OPEN), self.along.copy()
        for k in closed:
            mode[k] = SLIP if speed[k] > _STILL else STICK
            if mode[k] == SLIP:
                along[k] = u[k, :2] / speed[k]
        force = problem.applied_force(t, q, v) + problem.joint_passive_force(q, v)
        f, a = state.settled(closed, mode, along, problem.free_dynamics(q, v, force, t), t)
        least = 1e-9 * max(1.0, float(np.abs(f).max(initial=0.0)))
        idle = np.zeros(self.count, bool)
        for k in closed:
            if f[k, 2] <= least:
                idle[k], mode[k] = abs(a[k, 2]) <= 1e-7, OPEN
            elif mode[k] == STICK and np.hypot(*a[k, :2]) > _BEGINS:  # it begins to slip
                mode[k], along[k] = SLIP, a[k, :2] / np.hypot(*a[k, :2])
            elif mode[k] == STICK and self._again > _UNDECIDED:  # it is about to slip, and was found to stick again
                friction = float(np.hypot(*f[k, :2]))
                if friction > (1.0 - 1e-9) * self.surfaces[k, 0] * f[k, 2]:
                    mode[k], along[k] = SLIP, -f[k, :2] / friction
        self.mode, self.along, self.idle = mode, along, idle
        left = [self._left(k, self._acting(t, q, v)[0][k]) for k in closed if mode[k] != OPEN]
        self.shared = bool(min(left, default=1.0) <= 0.0)

    def _left(self, k: int, f: Array) -> float:
        """Return by how much the force of a closed contact is within its cone; of one that slips, its normal part."""
        inside = float(self.surfaces[k, 0] * f[2] - np.hypot(f[0], f[1]))
        return float(f[2]) if self.mode[k] == SLIP else min(float(f[2]), inside)

    def _moves(self, t: Any, q: Array, v: Array) -> float:
        """Return how far closed contacts are from moving, however they share their loads: an acceleration.

        Only if the smallest forces do not tell it, as one of them is outside of its cone.
        """
        if not self.shared:
            return 1.0
        closed = [int(k) for k in np.flatnonzero((self.mode != OPEN) | self.idle)]
        mode = np.where(self.idle, STICK, self.mode)
        problem, state = self.run.problem, self._rows(q, v)
        force = problem.applied_force(float(t), q, v) + problem.joint_passive_force(q, v)
        free = problem.free_dynamics(q, v, force, t)
        _, a = state.settled(closed, mode, self._directions(state.u), free, float(t))
        moves = [np.abs(a[k] if mode[k] == STICK else a[k, 2:]).max() for k in closed]
        return 10.0 * _BEGINS - float(max(moves, default=0.0))

    def _note(self, t: float, q: Array, v: Array, was: Array, hit: list[int]) -> None:
        """Write down the events of contacts that bounced, or whose modes changed."""
        now = np.where(self.idle, np.where(was == OPEN, STICK, was), self.mode)
        first, found = self.run.watch.watchers.index(self.watchers[0]), []
        for k in range(self.count):
            kinds = [0, 1] if k in hit and was[k] == OPEN == now[k] else []
            if was[k] == OPEN != now[k]:
                kinds.append(0)
            if was[k] != OPEN == now[k]:
                kinds.append(1)
            elif was[k] != now[k]:
                kinds.append(1 + int(now[k]))
            found += [Found(0, 0.0, t, first + 4 * k + kind, q, v) for kind in kinds]
            self.touches += 0 in kinds
        self.run.note(found)

    def follow(self, chunk: Chunk, found: list[Found]) -> None:
        """Turn the directions of slip with the motion."""
        if len(chunk):
            self.along = self._directions(self.motion(chunk.q[-1], chunk.v[-1]))

    # ---- the report

    def _off(self, q: Array, v: Array, f: Array) -> float:
        u = np.abs(self.motion(q, v)[..., :3])
        stick, closed = self.mode == STICK, self.mode != OPEN
        return float(max(u[..., closed, 2].max(initial=0.0), u[..., stick, :].max(initial=0.0)))

    def held_to(self) -> str:
        """Return what the result can be held to."""
        slow = f"; {self.truncated} impacts below {_SLOW:g} m/s did not bounce (Zeno)" if self.truncated else ""
        deep = f"; but contacts overlap by up to {self.deepest:.2g} m" if self.deepest > _TOGETHER else ""
        return f"rigid contact with Coulomb friction, to the tolerances and {self.residual:.2g} m/s{slow}{deep}"


def _ones(t: Array, q: Array, v: Array) -> Array:
    return np.ones(len(t))
