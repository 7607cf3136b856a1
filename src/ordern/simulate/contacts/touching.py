"""Contacts of a robot during a simulation: their motion, series, events and report, for all models of contact."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...arguments import Array
from ...model import BASE
from ...model.variation import with_other_contacts
from ..contact_record import ContactSettings, surfaces
from ..integrators.native import kept
from ..run.saved import Saved
from ..run.watchers import Watcher
from .report import ContactReport

if TYPE_CHECKING:
    from ...robot import Robot
    from ..run.chunk import Chunk
    from ..run.run import Run, State
    from ..run.watchers import Found

__all__ = ["Touching"]


class Touching(Saved):
    """The contacts of one run: they take part in it, keep a book for its report, and make series of its result.

    Series are "force.<contact>", (N, 3), along the two axes of the surface and its normal, and "gap.<contact>", (N,).
    """

    model = ""
    saved: ClassVar[tuple[str, ...]] = ("touches", "deepest", "strongest", "residual")

    def __init__(self, robot: Robot) -> None:
        contacts = robot.contacts
        assert contacts is not None
        self.robot, self.pairs = robot, contacts.pairs
        self.names, self.count = tuple(c.name for c in contacts.pairs), len(contacts.pairs)
        self.surfaces: Array = np.array(surfaces(robot, (), ContactSettings()), float).reshape(-1, 3)
        self.grounded = any(c.second is None or BASE in (c.first.body, c.second.body) for c in contacts.pairs)
        """True if a contact is with something that does not move: then momentum is not conserved."""
        self.watchers: list[Watcher] = []
        self.touches, self.deepest, self.strongest, self.residual = 0, 0.0, 0.0, 0.0
        self.closed = tuple(k for k, c in enumerate(contacts.pairs) if not c.convex)
        """The contacts in closed form, which are compiled; the others are of convex shapes."""
        self.compiled = robot if len(self.closed) == self.count else _with_some(robot, self.closed)
        """The robot with these contacts alone."""
        self._motion = self._fast("contact_motion")
        self._last: tuple[Any, Array] = (None, np.zeros(0))

    def _fast(self, question: str) -> Callable[..., Array]:
        if not self.closed:
            return _nothing
        kernel = self.compiled.kernel(question)
        return kept(self.compiled, ("fast", question), lambda: kernel.fast(kernel))

    def motion(self, q: Array, v: Array) -> Array:
        """Return velocities and gaps of all contacts, (..., contacts, 4); the last ones are kept for other watchers."""
        key = (q.shape, q.tobytes(), v.tobytes())
        if self._last[0] != key:
            self._last = key, self._moving(np.ascontiguousarray(q), np.ascontiguousarray(v))
        return self._last[1]

    def _moving(self, q: Array, v: Array) -> Array:
        found = self._motion(q, v, self.surfaces)
        return found.reshape(*found.shape[: q.ndim - 1], self.count, 4)

    def force(self, q: Array, v: Array) -> Array:
        """Return joint forces of the contacts that depend on the state alone, (..., nv)."""
        return np.zeros(v.shape)

    def accelerated(self, t: Any, q: Array, v: Array, a: Array) -> Array:
        """Return accelerations with contacts, from those without."""
        return a

    def forces(self, t: Array, q: Array, v: Array, force: Array) -> Array:
        """Return the forces of all contacts at states, (n, contacts, 3), by all other joint forces."""
        raise NotImplementedError

    # ---- series

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The names of the series, and the shapes of their entries."""
        return {f"force.{x}": (3,) for x in self.names} | {f"gap.{x}": () for x in self.names}

    def series(self, t: Array, q: Array, v: Array, force: Array) -> list[Array]:
        """Return the series at states, by the other joint forces on the robot."""
        f, gaps = self.forces(t, q, v, force), self.motion(q, v)[..., 3]
        return [*(f[:, k].copy() for k in range(self.count)), *(gaps[:, k].copy() for k in range(self.count))]

    # ---- part of a run

    def enter(self, run: Run) -> None:
        """Take part in a run."""
        self.run: Run = weakref.proxy(run)

    def begin(self) -> None:
        """Look at the start."""

    def follow(self, chunk: Chunk, found: list[Found]) -> None:
        """Count the contacts that touched."""
        mine = {id(w): w.name for w in self.watchers}
        names = (mine.get(id(self.run.watch.watchers[f.index]), "") for f in found if f.index >= 0)
        self.touches += sum(name.startswith("touching ") for name in names)

    def struck(self, after: State) -> State | None:
        """Return the state after an impact of joints."""
        return after

    # ---- the book

    def see(self, chunk: Chunk) -> None:
        """Note penetrations, forces and residuals at the ends of steps."""
        if not len(chunk):
            return
        q, v, problem = chunk.q, chunk.v, self.run.problem
        self.deepest = max(self.deepest, float(-self.motion(q, v)[..., 3].min()), 0.0)
        other = chunk.tau + problem.external_force(chunk.t, q, v) + problem.joint_passive_force(q, v)
        f = self.forces(chunk.t, q, v, other)
        self.strongest = max(self.strongest, float(f[..., 2].max()))
        self.residual = max(self.residual, self._off(q, v, f))

    def _off(self, q: Array, v: Array, f: Array) -> float:
        """Return the residual of the contact law at states."""
        raise NotImplementedError

    def held_to(self) -> str:
        """Return what the result can be held to, in words."""
        raise NotImplementedError

    def report(self) -> dict[str, Any]:
        """Return the field of the report."""
        figures = self.touches, self.deepest, self.strongest, self.residual
        return {"contacts": ContactReport(self.model, *figures, self.held_to())}

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state for a checkpoint."""
        return super().state()


def _with_some(robot: Robot, which: Sequence[int]) -> Robot:
    """Return the robot with some of its contacts; it keeps this one for later runs."""
    contacts = robot.contacts
    assert contacts is not None
    some = replace(contacts, pairs=tuple(contacts.pairs[k] for k in which))
    return kept(robot, ("contacts", *which), lambda: type(robot).of(with_other_contacts(robot, some)))


def _nothing(*arguments: Array) -> Array:
    raise NotImplementedError  # of no contacts, nothing is asked
