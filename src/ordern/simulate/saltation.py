"""Saltation matrices: how small changes of the state before an event change the state after it.

An event takes place where g(t, x) = 0, and changes the state x = (q, v) to R(t, x): an impact, a kick, or nothing but
the forces. A change of x also shifts the time of the event. With f the rates (v, a) before and after,

    S = R_x + (f_after - R_x f_before - R_t) g_x / (g_t + g_x f_before)

q is the same on both sides, and changes of it are tangents, of `integrate`. Velocities jump by an impulse, which loops
and joints at their stops share (see `constraints.limits`):

    M D = C^T p,    v_after = w + D,    K v_after + dr/dt = 0,    E v_after = -e E w

for the rows C of the loops, K, and of the stops that take part, E; w are the velocities before, or those that the
effect of an event wants. Differentiated, these equations are those of `ordern.loops.implicit`. Derivatives of functions
of the user are differences of fourth order, with errors of about 1e-11.

Reference: N. J. Kong, J. J. Payne, J. Zhu and A. M. Johnson, Saltation matrices: the essential tool for linearizing
hybrid dynamical systems, 2024.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.closed_loop.rank import TOLERANCE
from ..arguments import Array
from ..errors import ArgumentError, SingularError
from ..loops.implicit import ImplicitMotion
from ..records import dataclass
from .constraints.limits import Stop, complementary
from .run.jumps import Jump
from .run.log import Happened
from .run.watchers import SAME_MOMENT, Phase

if TYPE_CHECKING:
    from ..robot import Robot
    from .events import Event
    from .switches import Switch

__all__ = ["Saltation"]

_STEP = 1e-3
"""Of differences of the user's functions, in rad, m, and rad/s, m/s, s."""
_GRAZES = 1e-9
"""A guard that passes zero slower than this part of its terms only touches it."""
_CLOSED = 1e-6
"""The largest correction of positions, in rad and m, of a loop that closes: beyond it, positions jump as well."""


@dataclass(frozen=True)
class Saltation:
    """The jumps of a result, and the functions that caused them."""

    robot: Robot
    events: tuple[Event, ...]
    """The events of the user."""
    switches: tuple[Switch, ...]
    jumps: tuple[Jump, ...]
    refused: str = ""
    """Why there are no matrices at all; empty if there are."""

    def matrix(self, happened: Happened) -> Array:
        """Return the matrix (2 nv, 2 nv) of an event."""
        who = f"saltation of {happened}"
        if self.refused:
            raise ArgumentError(f"{who}: {self.refused}")
        near = [x for x in self.jumps if abs(x.time - happened.time) <= SAME_MOMENT]
        mine = [x for x in near if any(w.name == happened.name for w in x.watchers)]
        own = self.events[happened.index] if happened.index >= 0 else None
        if not mine and own is not None and own.effect is None and not own.terminal:
            return np.eye(2 * self.robot.nv)
        if not mine:
            raise ArgumentError(
                f"{who}: the run has no note of it; one that went on from a checkpoint forgets earlier events"
            )
        jump = mine[0]
        if len(near) > 1 or len(jump.watchers) > 1:
            names = ", ".join(repr(w.name) for x in near for w in x.watchers)
            raise ArgumentError(
                f"{who}: several take place at one moment ({names}); which comes first depends on the direction of a "
                "change, so that there is no matrix"
            )
        if jump.a_after is None:
            raise ArgumentError(f"{who}: the run ends there")
        if jump.a is None:
            raise ArgumentError(f"{who}: it follows another event at once, and the accelerations between are not known")
        return self._of(jump, who)

    def _of(self, jump: Jump, who: str) -> Array:
        (watcher,), nv = jump.watchers, self.robot.nv
        if watcher.phase not in (Phase.STOP, Phase.SWITCH, Phase.EFFECT):
            raise ArgumentError(f"{who}: contacts that fail and singular positions have no matrix")
        apart = np.abs(self.robot.difference(jump.q, jump.q_after)).max(initial=0.0)
        if apart > _CLOSED:
            raise ArgumentError(f"{who}: positions jump too, by {apart:.3g} (rad, m): a loop closes that was open")
        g_t, g_x = self._guard(jump, who)
        R, R_t = self._reset(jump, who)
        before, after = np.concatenate([jump.v, jump.a]), np.concatenate([jump.v_after, jump.a_after])
        rate = g_t + g_x @ before
        if abs(rate) <= _GRAZES * (abs(g_t) + np.abs(g_x) @ np.abs(before)):
            raise SingularError(f"{who}: the motion only touches the event's zero, so that a change may miss it")
        S = np.eye(2 * nv)
        S[nv:] = R
        shift = after - S @ before
        shift[nv:] -= R_t
        return np.asarray(S + np.outer(shift, g_x) / rate)

    # ---- guards

    def _guard(self, jump: Jump, who: str) -> tuple[float, Array]:
        """Return the derivatives of the event's function by time, and by the tangents of q and v."""
        (watcher,), nv = jump.watchers, self.robot.nv
        if isinstance(watcher.subject, Stop):
            return 0.0, np.concatenate([_row(watcher.subject, nv, who), np.zeros(nv)])
        event = self.events[watcher.index] if watcher.index >= 0 else self._switch_event(watcher.name)
        function = event.bound(self.robot)
        exact = getattr(function, "gradient", None)
        if exact is not None:
            return 0.0, np.concatenate([exact(jump.q), np.zeros(nv)])

        def value(t: float, q: Array, v: Array) -> Array:
            return np.array([float(function(t, q, v))])

        columns = self._differences(value, jump)
        return float(columns[0, -1]), columns[0, :-1]

    def _switch_event(self, name: str) -> Event:
        return next(s.when for s in self.switches if s.when is not None and s.when.name == name)

    # ---- resets

    def _reset(self, jump: Jump, who: str) -> tuple[Array, Array]:
        """Return the derivatives of the velocities after the event by the state (nv, 2 nv), and by time (nv,)."""
        nv, (watcher,) = self.robot.nv, jump.watchers
        found = np.concatenate([np.zeros((nv, nv)), np.eye(nv), np.zeros((nv, 1))], axis=1)
        v, effect = jump.v, None
        if watcher.phase is Phase.EFFECT:
            effect = self.events[watcher.index].effect
        answer = None if effect is None else effect(jump.time, jump.q, jump.v)
        if effect is not None and answer is not None:
            v = np.array(answer, float)
            found = self._differences(lambda *state: np.asarray(effect(*state), float), jump)
        closes = watcher.phase is Phase.SWITCH or answer is not None
        if closes and jump.robot.nc:
            v, found = self._impact(jump, v, found, (), 0.0)
        if jump.struck is not None:
            stops, restitution = jump.struck
            for s in stops:
                _row(s, nv, who)
            v, found = self._impact(jump, v, found, stops, restitution)
        return found[:, :-1], found[:, -1]

    def _impact(
        self, jump: Jump, w: Array, changes: Array, stops: Sequence[Stop], restitution: float
    ) -> tuple[Array, Array]:
        """Return the velocities after an impact of loops and stops, and their derivatives from those of w."""
        robot, nv, q = jump.robot, self.robot.nv, jump.q_after
        M = robot.mass_matrix(q)
        timed = robot.loop_table.timed
        t: dict[str, Any] = {"t": jump.time} if timed else {}
        K = robot.loop_jacobian(q, **t) if robot.nc else np.zeros((0, nv))
        rate = robot.loop_rate(q, w, **t) if robot.nc else np.zeros(0)
        E = np.array([_row(s, nv, "") for s in stops]).reshape(-1, nv)
        if len(E):
            response = _response(M, K, E)
            A, u = E @ response, E @ w
            E = E[complementary(A, u + restitution * np.minimum(u, 0.0)) > 0.0]
        implicit = ImplicitMotion(robot, q[None], np.full(1, jump.time) if timed else None, TOLERANCE, None, E[None])
        sides = np.concatenate([-rate, -(1.0 + restitution) * (E @ w)])
        D = implicit.changes(np.zeros((1, nv, 1)), sides[None, :, None], None)[0][0, :, 0]
        p = np.linalg.lstsq(np.concatenate([K, E]).T, M @ D, rcond=1e-12)[0] if len(sides) else np.zeros(0)
        # the same equations with all changes of their coefficients
        c1 = np.zeros((nv, 2 * nv + 1))
        c2 = np.concatenate([-K @ changes, -(1.0 + restitution) * (E @ changes)])
        if robot.nc:
            still = np.zeros(nv)
            both = robot.derivatives.closed_balance(q, still, D, p[: robot.nc], **t, wrt="q").q[:nv]
            c1[:, :nv] = -(both - robot.derivatives.gravity_force(q).q)
            moved = robot.derivatives.loop_rate(q, w + D, **t, wrt=("q", *t))
            c2[: robot.nc, :nv] -= moved.q
            if timed:
                c2[: robot.nc, -1] -= moved.t
        else:
            c1[:, :nv] = -robot.derivatives.mass_matrix_product(q, D, wrt="q").q
        return w + D, changes + implicit.changes(c1[None], c2[None], None)[0][0]

    # ---- functions of the user

    def _differences(self, function: Callable[..., Array], jump: Jump) -> Array:
        """Return the derivatives of a function of (t, q, v) by tangents of q, by v and by t, in columns."""
        nv, robot = self.robot.nv, self.robot
        columns = []
        for k in range(2 * nv + 1):
            unit = np.eye(2 * nv + 1)[k]

            def at(s: float, unit: Array = unit) -> Array:
                q = robot.integrate(jump.q, unit[:nv], s) if unit[:nv].any() else jump.q
                return function(jump.time + s * unit[-1], q, jump.v + s * unit[nv:-1])

            h = _STEP
            columns.append((8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h))
        return np.stack(columns, axis=-1)


def _row(stop: Stop, nv: int, who: str) -> Array:
    """Return the velocity away from a stop, as a row."""
    if not stop.own or stop.v < 0:
        raise ArgumentError(
            f"{who}: {stop.joint!r} closes a loop; only stops of joints of the tree have saltation matrices"
        )
    row = np.zeros(nv)
    row[stop.v] = stop.side
    return row


def _response(M: Array, K: Array, E: Array) -> Any:
    """Return the velocities (nv, k) that unit impulses on stops cause, which loops share."""
    n, r = len(M), len(K)
    A = np.block([[M, -K.T], [K, np.zeros((r, r))]])
    return np.linalg.lstsq(A, np.concatenate([E.T, np.zeros((r, len(E)))]), rcond=1e-12)[0][:n]
