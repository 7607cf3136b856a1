"""Compliant contacts: springs and dampers of Hunt and Crossley, and smoothed Coulomb friction, as joint forces.

The text of the force is `algorithms/contact/compliant.py`; contacts of convex shapes are in `convex/`. Stiffness,
dissipation and slip speed are those of `Robot.with_contacts`, or follow from the robot: see `softness`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import Array
from ..run.watchers import Watcher, WatchFunction
from .touching import Touching

if TYPE_CHECKING:
    from ...robot import Robot
    from ..run.run import Run
    from .convex.forces import ConvexContacts

__all__ = ["Compliant", "dissipation_of", "softness"]

_SINKS = 1e-4
"""The depth, in m, to which the whole weight sinks on one contact with the usual stiffness."""
_APPROACH = 1.0
"""The speed of approach, in m/s, at which the usual dissipation gives a contact its restitution."""
_LEAST = 0.05
"""The least restitution that dissipation is made for: none at all would take an infinite one."""
_NEAR = 1e-4
"""Where a gap falls below this, in m, steps begin anew with a short one."""
_SLIPS = 10.0
"""Contacts slip above this many slip speeds: there friction is 0.995 of its full force."""


def softness(robot: Robot) -> Array:
    """Return stiffness, dissipation and slip speed of each contact, (contacts, 3).

    The usual stiffness is such that the weight of the robot, at 9.81 m/s^2, sinks by 0.1 mm on one contact, and the
    usual dissipation such that a contact that approaches at 1 m/s has its restitution, though not less than 0.05.
    """
    contacts = robot.contacts
    assert contacts is not None
    K = contacts.stiffness if contacts.stiffness is not None else robot.mass * 9.81 / _SINKS**1.5
    given = contacts.dissipation
    c = [dissipation_of(x.restitution) if given is None else given for x in contacts.pairs]
    return np.array([[K, x, contacts.slip_speed] for x in c])


def dissipation_of(restitution: float, approach: float = _APPROACH) -> float:
    """Return the dissipation c, in s/m, of contacts that part at e times the speed u at which they approach.

    For every stiffness and exponent, c u (1 + e) = log((1 + c u) / (1 - c u e)); c is found by bisection.
    """
    e = max(restitution, _LEAST)
    if e >= 1.0:
        return 0.0

    def off(x: float) -> float:
        return math.log1p(x) - math.log1p(-x * e) - x * (1.0 + e)

    low, high = 0.0, (1.0 - 1e-15) / e  # off is negative from zero to the root, then positive
    for _ in range(100):
        x = 0.5 * (low + high)
        low, high = (x, high) if off(x) < 0.0 else (low, x)
    return x / approach


class Compliant(Touching):
    """Contacts as forces of the state."""

    model = "compliant"

    def __init__(self, robot: Robot) -> None:
        super().__init__(robot)
        self.softness = softness(robot)
        self._answer = self._fast("compliant_contact")
        self._rows = list(self.closed)
        self._own = self.surfaces[self._rows], self.softness[self._rows]
        self.convex: ConvexContacts | None = None
        which = [k for k in range(self.count) if k not in self.closed]
        if which:
            from .convex.forces import ConvexContacts

            self.convex = ConvexContacts(robot, which, self.surfaces, self.softness)
        self._slow = _SLIPS * float(self.softness[:, 2].max())
        for k, name in enumerate(self.names):
            self.watchers += [
                self._watcher(f"touching {name}", k, -1, lambda x: x[..., 3]),
                self._watcher(f"leaving {name}", k, 1, lambda x: x[..., 3]),
                self._watcher(f"sticking {name}", k, 1, lambda x: self._slow - _speed(x), closed=True),
                self._watcher(f"slipping {name}", k, 1, lambda x: _speed(x) - self._slow, closed=True),
            ]
        for k, name in enumerate(self.names):
            near = self._watcher(f"near {name}", k, -1, lambda x: x[..., 3] - _NEAR)
            self.watchers.append(replace(near, effect=self._slowly(k), shown=False))

    def _slowly(self, k: int) -> Callable[[Run], None]:
        """Return the effect of being near: a short step, since a long one of free flight may pass through a body."""

        def effect(run: Run) -> None:
            motion = self.motion(run.q, run.v)
            run.stops.restart(run.t, run.q, run.v)
            for j in np.flatnonzero(motion[:, 3] < 1.01 * _NEAR).tolist():  # the others that come near just now, too
                run.watch.signs[run.watch.watchers.index(self.watchers[4 * self.count + j])] = -1.0
            run.renew(2.0 * _NEAR / max(-float(motion[k, 2]), _NEAR))

        return effect

    def _watcher(self, name: str, k: int, way: int, g: Callable[[Array], Array], closed: bool = False) -> Watcher:
        """Return the watcher of a function of a contact's motion; where it is `closed`, it is negative at open ones."""

        def over(t: Any, q: Array, v: Array) -> Array:
            x = self.motion(q, v)[..., k, :]
            return np.where(x[..., 3] < 0.0, g(x), -1.0) if closed else g(x)

        function: WatchFunction = lambda t, q, v: float(over(t, q, v))  # noqa: E731
        return Watcher(name, function, None, way, over=over, subject=k)

    def _all(self, q: Array, v: Array) -> Array:
        return self._answer(np.ascontiguousarray(q), np.ascontiguousarray(v), *self._own)

    def _moving(self, q: Array, v: Array) -> Array:
        if self.convex is None:
            return super()._moving(q, v)
        found = self._motion(q, v, self._own[0]) if self.closed else None
        return self._joined(found, self.convex.motion(q, v))

    def _joined(self, closed: Array | None, convex: Array) -> Array:
        """Return numbers (..., contacts, k) of all contacts, from those in closed form and those of convex shapes."""
        assert self.convex is not None
        found = np.empty((*convex.shape[:-2], self.count, convex.shape[-1]))
        found[..., list(self.convex.which), :] = convex
        if closed is not None:
            found[..., self._rows, :] = closed.reshape(*found.shape[:-2], len(self._rows), found.shape[-1])
        return found

    def force(self, q: Array, v: Array) -> Array:
        """Return the joint forces of all contacts, (..., nv)."""
        if self.convex is None:
            return self._all(q, v)[..., : self.robot.nv]
        found = self.convex.joint_force(q, v)
        return found + self._all(q, v)[..., : self.robot.nv] if self.closed else found

    def forces(self, t: Array, q: Array, v: Array, force: Array) -> Array:
        """Return the forces of all contacts, (n, contacts, 3)."""
        nv, n = self.robot.nv, len(self._rows)
        found = self._all(q, v)[..., nv : nv + 3 * n] if self.closed else None
        if self.convex is not None:
            return self._joined(found, self.convex.forces(q, v))
        assert found is not None
        return found.reshape(*found.shape[:-1], n, 3)

    def jacobian(self, q: Array, v: Array) -> Array:
        """Return the derivatives of the joint forces by the numbers of q and v, (nv, nq + nv).

        They are by compiled code; those of contacts of convex shapes are nearly right, see `ConvexContacts.jacobian`.
        """
        nq, nv = self.robot.nq, self.robot.nv
        total = np.zeros((nv, nq + nv)) if self.convex is None else self.convex.jacobian(q, v)
        if not self.closed:
            return total
        push = self.compiled.kernel("push compliant_contact by q v")
        rates = np.eye(nq + nv)
        found = push(q, v, *self._own, rates[:, :nq].copy(), rates[:, nq:].copy())
        return np.asarray(total + found[:, :nv].T)

    def _off(self, q: Array, v: Array, f: Array) -> float:
        speed = np.where(f[..., 2] > 0.0, _speed(self.motion(q, v)), 0.0)
        return float(np.where(speed < self._slow, speed, 0.0).max())

    def held_to(self) -> str:
        """Return what the result can be held to."""
        return (
            "the compliant model, to the tolerances; rigid contact up to the penetration, and a creep of up to "
            f"{self.residual:.2g} m/s where contacts stick"
        )


def _speed(x: Array) -> Array:
    return np.asarray(np.hypot(x[..., 0], x[..., 1]))
