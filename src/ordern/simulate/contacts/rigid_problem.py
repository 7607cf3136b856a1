"""The equations of rigid contacts at one state: rows, impacts, and which contacts stick, slip or leave.

Rows of a contact are J, along its two axes and its normal. With the accelerations a of the robot without contacts, and
b the rate of J at constant velocities, contact forces f solve

    A f = -(W a + b),    A = W M^-1 C^T

Contacts that stick have three rows, W = C = J. Those that slip in the direction t have one: W = J_N, and friction
follows the normal force, C = J_N - mu t . J_T. Where several contacts of one body share a load, the smallest f is
taken; accelerations do not depend on this.

Which contacts stick, slip or leave, and impacts, are complementarity problems, solved by the sweeps of
`algorithms/contact/problem` until they converge. Where A of a contact that slips is not positive (Painleve's paradox)
there is no solution, or there are several: that is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...algorithms.contact.plate import Point
from ...algorithms.contact.problem import Problem
from ...algorithms.contact.restitution import kept_part
from ...algorithms.contact.rows import Link, Row
from ...arguments import Array
from ...model import ControlFlow
from ...records import dataclass
from ..integrators.integrator import StepFailedError
from ..run.endings import Ending

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["OPEN", "SLIP", "STICK", "RigidState", "complementary"]

OPEN, STICK, SLIP = 0, 1, 2
"""The modes of a contact."""
_SWEEPS = 5000
_SOLVED = 1e-11
"""The residual of solutions, relative to the largest velocity or acceleration, or to 1."""
_ACCEPTED = 1e-8
"""The largest residual that is not an error."""
_JAMS = 1e-6
"""A contact jams where its A, relative to that without friction, is not larger."""
_LEFT = 1e-10
"""Velocities of closed contacts up to this, in m/s, are left as they are."""
_HUGE = 1e100
"""Products of larger numbers may be infinite."""
_RANK = 1e-10
"""Singular values below this part of the largest are those of loads that contacts share."""


@dataclass(frozen=True, slots=True)
class RigidState:
    """The rows of all contacts at one state."""

    J: Array
    """(contacts, 3, nv)."""
    R: Array
    """M^-1 J^T, (contacts, 3, nv)."""
    b: Array
    """The rates of the rows at constant velocities, (contacts, 3)."""
    u: Array
    """The velocities of the contacts, (contacts, 3)."""
    names: tuple[str, ...]
    mu: Array

    @staticmethod
    def of(robot: Robot, surfaces: Array, q: Array, v: Array, u: Array, names: tuple[str, ...]) -> RigidState:
        """Compute the rows; u are the velocities of the contacts."""
        n, nv = len(names), robot.nv
        by_v = robot.kernel("push contact_motion by v")(q, v, surfaces, np.eye(nv)).reshape(nv, n, 4)[..., :3]
        J = np.ascontiguousarray(np.moveaxis(by_v, 0, -1))
        rate = robot.position_rate(q, v)
        b = robot.kernel("push contact_motion by q")(q, v, surfaces, rate).reshape(n, 4)[:, :3]
        R = robot.mass_matrix_solve(q, J.reshape(3 * n, nv)).reshape(n, 3, nv)
        return RigidState(J, R, b, u[:, :3], names, surfaces[:, 0])

    @property
    def is_finite(self) -> bool:
        """True unless numbers of a trial have become too large."""
        return all(bool(np.isfinite(x).all()) and bool((np.abs(x) < _HUGE).all()) for x in (self.J, self.R, self.b))

    def rows(self, which: Sequence[int], mode: Array, along: Array, t: float) -> tuple[Array, Array, Array]:
        """Return W, C M^-1 and b of contacts in their modes; `along` are the directions of slip."""
        W: list[Array] = []
        R: list[Array] = []
        b: list[float] = []
        for k in which:
            J, response = self.J[k], self.R[k]
            if mode[k] == STICK:
                W, R, b = [*W, *J], [*R, *response], [*b, *self.b[k].tolist()]
                continue
            W, R, b = [*W, J[2]], [*R, self._axis(k, along) @ response], [*b, float(self.b[k, 2])]
            if not float(J[2] @ R[-1]) > _JAMS * float(J[2] @ response[2]):
                raise StepFailedError(Ending.NOT_CONVERGED, t, self._jammed(k, t))
        shape = (len(b), self.J.shape[-1])
        return np.array(W).reshape(shape), np.array(R).reshape(shape), np.array(b)

    def _axis(self, k: int, along: Array) -> Array:
        """Return the force of a contact that slips, along its axes, for a normal force of one."""
        return np.array([*(-self.mu[k] * along[k]), 1.0])

    def _spread(self, f: Array, which: Sequence[int], mode: Array, along: Array) -> Array:
        """Return the forces of all contacts, (contacts, 3), from the numbers of the rows."""
        found, at = np.zeros((len(self.names), 3)), 0
        for k in which:
            n = 3 if mode[k] == STICK else 1
            found[k] = f[at : at + 3] if n == 3 else f[at] * self._axis(k, along)
            at += n
        return found

    def _jammed(self, k: int, t: float) -> str:
        return (
            f"contact {self.names[k]!r} jams while it slips, at t = {t:.9g} s (Painleve's paradox): with a friction of "
            f"{self.mu[k]:g}, rigid contact has no solution there, or several; contacts='compliant' has one"
        )

    def forces(self, which: Sequence[int], mode: Array, along: Array, a: Array, t: float) -> tuple[Array, Array]:
        """Return contact forces (contacts, 3) that keep contacts in their modes, and accelerations with them."""
        W, R, b = self.rows(which, mode, along, t)
        if not len(W):
            return np.zeros((len(self.names), 3)), a
        f = np.linalg.lstsq(W @ R.T, -(W @ a + b), rcond=_RANK)[0]
        return self._spread(f, which, mode, along), np.asarray(a + f @ R)

    def settled(self, which: Sequence[int], mode: Array, along: Array, a: Array, t: float) -> tuple[Array, Array]:
        """Return forces of closed contacts that may leave, and that may begin to slip if they stick, and J a + b.

        Forces are (contacts, 3), and so are the accelerations of the contacts.
        """
        W, R, b = self.rows(which, mode, along, t)
        f = complementary(W @ R.T, W @ a + b, [(mode[k] == STICK, self.mu[k], 0.0) for k in which], t, "forces")
        return self._spread(f, which, mode, along), np.asarray(self.J @ (a + f @ R) + self.b)

    def struck(self, which: Sequence[int], bounce: Array, v: Array, t: float) -> Array:
        """Return the velocities after an impact of these contacts; `bounce` are the speeds at which they part.

        Where these would add energy, only a part of the restitution is kept: see `algorithms.contact.restitution`.
        """
        n, nv = len(which), len(v)
        J, R = (x[list(which)].reshape(3 * n, nv) for x in (self.J, self.R))
        G, u = J @ R.T, J @ v
        p, rest = (
            complementary(G, u, [(True, self.mu[k], -part * bounce[k]) for k in which], t, "impulses")
            for part in (1.0, 0.0)
        )
        whole, without = (float(x @ u + 0.5 * x @ G @ x) for x in (p, rest))
        kept = kept_part(without, whole, 0.5 * float((p - rest) @ G @ (p - rest)))
        return np.asarray(v + (rest + kept * (p - rest)) @ R)

    def kept(self, which: Sequence[int], mode: Array, v: Array) -> Array:
        """Return the velocities next to v with which closed contacts stay closed, and stick."""
        rows = [(k, i) for k in which for i in ((0, 1, 2) if mode[k] == STICK else (2,))]
        if not rows:
            return v
        W, R = (np.array([x[k, i] for k, i in rows]) for x in (self.J, self.R))
        off = W @ v
        return v if np.abs(off).max() < _LEFT else np.asarray(v - np.linalg.lstsq(W @ R.T, off, rcond=_RANK)[0] @ R)


def complementary(G: Array, free: Array, laws: Sequence[tuple[bool, float, float]], t: float, what: str) -> Array:
    """Return impulses or forces in their cones by sweeps until they converge.

    `laws` are, for each contact, whether it has three rows, its friction, and its bias; one with a single row has a
    normal alone.
    """
    rows, at = [], 0
    for three, mu, bias in laws:
        size = 3 if three else 1
        u = tuple(free[at : at + size].tolist())
        link = Link.dense(G.tolist(), at, size)
        if three:
            rows.append(Row.of(u, u, [Point(at, bias, 0.0, float(mu))], link))
        else:
            rows.append(Row.of_joint(u[0], u[0], at, link, lower=-bias))
        at += size
    problem = Problem(ControlFlow(), rows, [1.0] * len(rows), at)
    p, limit = [0.0] * at, max(1.0, float(np.abs(free).max(initial=0.0)))
    residual = 0.0
    for sweep in range(_SWEEPS if at else 0):
        p = problem.sweep(p)
        if sweep % 5 == 4:
            residual = float(problem.certified(p, problem.channels(p))[2][0])
            if residual <= _SOLVED * limit:
                break
    if not residual <= _ACCEPTED * limit:
        raise StepFailedError(
            Ending.NOT_CONVERGED,
            t,
            f"the {what} of rigid contacts at t = {t:.9g} s are not found: their law stays open by {residual:.2g}",
        )
    return np.array(p)
