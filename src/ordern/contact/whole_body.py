"""`Robot.whole_body`: the motion, motor forces and contact forces that fulfil tasks best, as a quadratic program.

    minimise    sum over tasks of weight |A a - b|^2 / 2  +  e (|f|^2 + |tau|^2) / 2
    such that   tau = M a + c - J^T f,  zero for freedoms without motors,  |tau| <= limits
                J_k a + dJ_k/dt v = 0           for contacts that touch: they stick
                |f_T| <= mu f_N                 for contacts that touch; the others have no force

The friction cones are true ones, not pyramids. Clarabel solves the program, by an interior-point method. Several points
under one foot make the rows of sticking dependent: their singular vectors take their place.

Reference: S. Kuindersma et al. 2016, Optimization-based locomotion planning, estimation, and control design for the
Atlas humanoid robot, sec. 4; P. Goulart and Y. Chen 2024, Clarabel: an interior-point solver for conic programs with
quadratic objectives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import AnyArray, Array, array, positive
from ..errors import ArgumentError
from ..kernel.arguments import broadcast_named
from ..model import Frame
from ..records import dataclass
from ..simulate.contact_record import ContactSettings, surfaces
from ..simulate.results.tables import library
from .forces import contact_rows, on_ground_only, standing, without_motors
from .tasks import Task

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["WholeBody", "whole_body"]

_RANK = 1e-9
"""Singular values below this part of the largest are zero."""
_APART = 1e-6
"""Points that stick must agree to this part of their accelerations."""
_IDLE = 1e-9
"""The weight of accelerations that no task mentions."""
_INFEASIBLE = ("PrimalInfeasible", "AlmostPrimalInfeasible")


class WholeBody(NamedTuple):
    """A motion that fulfils tasks, and its forces. All numbers are NaN where none was found."""

    a: Array
    """Joint accelerations (..., nv)."""
    tau: Array
    """Forces of the motors (..., nv), in addition to the passive forces of the joints; zero without a motor."""
    forces: Array
    """Contact forces in N, (..., contacts, 3): two directions along the ground, then its normal."""
    residual: Array
    """The largest force in N or N m that a freedom without a motor would need, (...): an error of the solver."""
    gap: Array
    """The distances of the contacts from the ground in m, (..., contacts)."""
    status: NDArray[np.str_]
    """"solved", or why there is no solution, (...): "infeasible: ...", or what stopped the solver."""


def whole_body(
    robot: Robot, q: Any, v: Any, tasks: Any, touching: Any, friction: Any, height: Any, effort: Any, least: float
) -> WholeBody:
    """See `Robot.whole_body`."""
    contacts = on_ground_only(robot, "whole_body")
    q = array(q, (..., robot.nq), "whole_body: q")
    v = np.zeros(robot.nv) if v is None else array(v, (..., robot.nv), "whole_body: v")
    batch = broadcast_named("whole_body: the batch shapes", {"q": q.shape[:-1], "v": v.shape[:-1]})
    count, nv = len(contacts.pairs), robot.nv
    named = "whole_body: friction", "whole_body: height"
    surface = surfaces(robot, batch, ContactSettings(friction, height), named).reshape((-1, count, 3))
    surface = surface.reshape((*batch, count, 3)) if len(surface) > 1 else surface[0]
    J, gap = contact_rows(robot, q, surface[..., 2])
    bias = _bias(robot, q, v)
    stands = standing(touching, gap, (*batch, count), "whole_body")
    A, b, w = _wishes(robot, q, v, tasks, batch)
    c = robot.inverse_dynamics(q, v, np.zeros(nv)) - robot.passive_force(q, v)
    limits = _limits(robot, effort)
    least = positive(least, "whole_body: least")
    free = without_motors(robot)
    given: tuple[AnyArray, ...] = (
        robot.mass_matrix(q), c, J.reshape((*J.shape[:-2], count, 3, nv)), bias.reshape((*bias.shape[:-1], count, 3)),
        surface[..., 0], stands, A, b,
    )  # fmt: skip
    each = [_flat(x, batch, n) for x, n in zip(given, (2, 1, 3, 2, 1, 1, 2, 1), strict=True)]
    n = len(each[0])
    a, tau, f = np.full((n, nv), np.nan), np.full((n, nv), np.nan), np.full((n, count, 3), np.nan)
    status, residual = np.full(n, "", "U64"), np.full(n, np.nan)
    for k in range(n):
        M, bias_force, rows, rate, mu, stand, wish, goal = (x[k] for x in each)
        program = _Program(M, bias_force, rows, rate, mu, stand, wish, goal, w, limits, free, least)
        status[k], a[k], f[k], forces = program.solution()
        residual[k] = np.abs(forces[free]).max(initial=0.0)
        tau[k] = forces * ~np.isin(np.arange(nv), free) + 0.0
    a, tau, f, residual = (x.reshape((*batch, *x.shape[1:])) for x in (a, tau, f, residual))
    return WholeBody(a, tau, f, residual, np.broadcast_to(gap, (*batch, count)), status.reshape(batch))


def _flat(x: AnyArray, batch: tuple[int, ...], own: int) -> AnyArray:
    """Return an array with one row for each state."""
    shape = x.shape[x.ndim - own :]
    return np.broadcast_to(x, (*batch, *shape)).reshape((math.prod(batch), *shape))


def _wishes(robot: Robot, q: Array, v: Array, tasks: Any, batch: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Return the matrix (..., m, nv), the numbers (..., m) and the weights (m,) of all tasks."""
    if isinstance(tasks, Task):
        tasks = [tasks]
    if not isinstance(tasks, Iterable):
        raise ArgumentError(f"whole_body: tasks must be a list of on.tasks, not {tasks!r}")
    A, b, w = [np.zeros((*batch, 0, robot.nv))], [np.zeros((*batch, 0))], [np.zeros(0)]
    for task in tasks:
        if not isinstance(task, Task):
            raise ArgumentError(f"whole_body: a task is one of on.tasks, such as on.tasks.Posture(...), not {task!r}")
        matrix, numbers = task.rows(robot, q, v)
        m = numbers.shape[-1]
        try:
            A.append(np.broadcast_to(matrix, (*batch, m, robot.nv)))
            b.append(np.broadcast_to(numbers, (*batch, m)))
        except ValueError:
            raise ArgumentError(
                f"{task.what}: its numbers are for a batch {numbers.shape[:-1]}, but that of the states is {batch}"
            ) from None
        w.append(np.full(m, task.importance()))
    return np.concatenate(A, axis=-2), np.concatenate(b, axis=-1), np.concatenate(w)


def _limits(robot: Robot, effort: Any) -> Array:
    """Return the largest motor forces (nv,): those of the robot unless given; infinite ones are none."""
    if effort is None:
        limits = np.full(robot.nv, np.inf)
        for name in robot.actuated:
            limits[robot.joint(name).v] = robot.joint(name).effort_limit
        return limits
    found = array(effort, (..., robot.nv) if np.ndim(effort) else (), "whole_body: effort", nonfinite=True)
    if found.ndim > 1 or not (found >= 0.0).all():
        raise ArgumentError(f"whole_body: effort must be a number, or {robot.nv} of them, none negative")
    return np.broadcast_to(found, (robot.nv,))


def _bias(robot: Robot, q: Array, v: Array) -> Array:
    """Return the accelerations (..., 3 contacts) of the contacts, along the axes of the ground, for a = 0.

    w x u is left out, for the velocity u of a contact, which is zero while it sticks. So points of one body never
    contradict each other, whatever rounding or a small slip leaves of w and u.
    """
    assert robot.contacts is not None and robot.contacts.ground is not None
    E = np.array(robot.contacts.ground.axes)
    solids = [c.first for c in robot.contacts.pairs]
    frames = [Frame(f"contact {k}", s.body, s.placement) for k, s in enumerate(solids)]
    lever = -np.array([s.size[0] for s in solids])[:, None] * E[2]
    rate = robot.accelerations(q, v, np.zeros(robot.nv), frames, "world")
    moving = robot.velocities(q, v, frames, "world")
    w = moving[..., :3]
    slip = moving[..., 3:] + np.cross(w, lever)
    found = (rate[..., 3:] + np.cross(rate[..., :3], lever) - np.cross(w, slip)) @ E.T
    return np.asarray(found.reshape((*found.shape[:-2], 3 * len(solids))))


@dataclass(frozen=True, slots=True)
class _Program:
    """The quadratic program of one state; its unknowns are a, and the forces of contacts that touch."""

    M: Array
    c: Array
    J: Array
    bias: Array
    mu: Array
    stands: NDArray[np.bool_]
    A: Array
    b: Array
    w: Array
    limits: Array
    free: NDArray[np.int64]
    least: float

    def solution(self) -> tuple[str, Array, Array, Array]:
        """Return the status, accelerations, contact forces (contacts, 3) and joint forces."""
        nv, f = len(self.c), np.zeros((len(self.mu), 3))
        nothing = np.full(nv, np.nan)
        status, x = self._solved(True)
        if status == "infeasible":
            why, _ = self._solved(False)
            status = "infeasible: effort limits" if why == "solved" else "infeasible: contacts cannot stick and push"
        if status != "solved":
            return status, nothing, np.full_like(f, np.nan), nothing
        f[self.stands] = x[nv:].reshape(-1, 3)
        return status, x[:nv], f, self.M @ x[:nv] + self.c - np.einsum("kij,ki->j", self.J, f)

    def _solved(self, limited: bool) -> tuple[str, Array]:
        clarabel = library("clarabel", "whole_body", "whole-body")
        sparse = library("scipy.sparse", "whole_body", "whole-body")
        stuck = self._sticking()
        if stuck is None:
            return "infeasible", np.zeros(0)
        J = self.J[self.stands].reshape(-1, len(self.c))
        forces = np.concatenate([self.M, -J.T], axis=1)  # joint forces are forces @ x + c
        H, g = self._cost(forces)
        balance = forces[self.free]
        equal, ends = np.concatenate([balance, stuck[0]]), np.concatenate([-self.c[self.free], stuck[1]])
        motors = np.setdiff1d(np.flatnonzero(np.isfinite(self.limits)), self.free) if limited else np.zeros(0, int)
        above, below = self.limits[motors] - self.c[motors], self.limits[motors] + self.c[motors]
        push, cone = self._cones(len(J), len(self.c))
        rows = np.concatenate([equal, forces[motors], -forces[motors], push, cone])
        bounds = np.concatenate([ends, above, below, np.zeros(len(push) + len(cone))])
        kinds = [clarabel.ZeroConeT(len(equal)), clarabel.NonnegativeConeT(2 * len(motors) + len(push))]
        kinds += [clarabel.SecondOrderConeT(3)] * (len(J) // 3)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        size = 1.0 / max(float(np.abs(H).max()), 1e-300)
        solver = clarabel.DefaultSolver(
            sparse.csc_matrix(np.triu(H * size)), g * size, sparse.csc_matrix(rows), bounds, kinds, settings
        )
        found = solver.solve()
        status = str(found.status).rpartition(".")[2]
        if status in _INFEASIBLE:
            return "infeasible", np.zeros(0)
        return "solved" if status in ("Solved", "AlmostSolved") else f"failed: {status}", np.array(found.x)

    def _cost(self, forces: Array) -> tuple[Array, Array]:
        """Return the matrix and the vector of the cost."""
        nv, n = len(self.c), forces.shape[1]
        A = np.concatenate([self.A, np.zeros((len(self.A), n - nv))], axis=1)
        motors = np.setdiff1d(np.arange(nv), self.free)
        T = forces[motors]
        H = (A.T * self.w) @ A + self.least * T.T @ T
        H[np.diag_indices(n)] += np.repeat([_IDLE, self.least], [nv, n - nv])
        return H, -(A.T * self.w) @ self.b + self.least * T.T @ self.c[motors]

    def _sticking(self) -> tuple[Array, Array] | None:
        """Return independent rows of J a = -dJ/dt v, over all unknowns; None if they contradict each other."""
        J, wanted = self.J[self.stands].reshape(-1, len(self.c)), -self.bias[self.stands].reshape(-1)
        U, s, V = np.linalg.svd(J, full_matrices=False)
        kept = s > _RANK * s.max(initial=0.0)
        U, s, V = U[:, kept], s[kept], V[kept]
        along = U.T @ wanted
        if np.abs(wanted - U @ along).max(initial=0.0) > _APART * (1.0 + np.abs(wanted).max(initial=0.0)):
            return None
        return np.concatenate([V, np.zeros((len(V), len(J)))], axis=1), along / s

    def _cones(self, m: int, nv: int) -> tuple[Array, Array]:
        """Return the rows of f_N, and those of (mu f_N, f_T), which lies in a cone, with the sign of Clarabel."""
        push, cone = np.zeros((m // 3, nv + m)), np.zeros((m, nv + m))
        for k, mu in enumerate(self.mu[self.stands]):
            at = nv + 3 * k
            push[k, at + 2] = -1.0  # the cone implies it, unless there is no friction
            cone[3 * k, at + 2], cone[3 * k + 1, at], cone[3 * k + 2, at + 1] = -mu, -1.0, -1.0
        return push, cone
