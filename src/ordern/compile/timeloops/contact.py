"""Steps with contacts: the kernel `contact_step` as the step of a rollout, with impulses that steps begin from.

The impulses of a step are the start of the next one, so they belong to the state. Between two stored states, the
certificate has the largest residual, the largest penetration, and the sum of the works.

Stops of joints are rows of the problem, but few joints are at their stops. A step without these rows is the solution
with them, if no joint is faster than its stop allows. So a step is first taken without, by the kernel `contact_free`.
States in which a joint is too fast take the step again, with all rows; tiles without such states do not.
"""

from __future__ import annotations

from typing import Any

from ...algorithms.contact.step import stop_speed
from ...graph import where_less
from .machine import Emitter, Numbers, Tile

__all__ = ["ContactStep"]


class ContactStep:
    """The places of impulses, surfaces, limits and certificates, and the step (q, v) -> (q, v) around the kernel."""

    def __init__(self, m: Emitter) -> None:
        self.m, contacts = m, m.model.contacts
        assert contacts is not None
        nq, nv, rows = m.model.nq, m.model.nv, 3 * contacts.blocks
        self.pushes = m.tile(rows + nv)
        """Impulses of contacts and of stops."""
        self.stored = Tile(self.pushes.at, rows + nv if contacts.limited else rows)
        """The impulses that are stored."""
        self.surfaces, self.bounds, self.certificate = m.tile(3 * len(contacts.pairs)), m.tile(2 * nq), m.tile(3)
        lower, upper = Tile(self.bounds.at, nq), Tile(self.bounds.at + nq, nq)
        impulses, stops = Tile(self.pushes.at, rows), Tile(self.pushes.at + rows, nv)
        m.arguments["contact"] = (m.q, m.v, m.force, m.h, m.damping, lower, upper, impulses, stops, self.surfaces)
        at = m.results["contact"].at
        self._q, self._v = Tile(at, nq), Tile(at + nq, nv)
        self._pushes, self._certificate = Tile(at + nq + nv, rows + nv), Tile(at + nq + 2 * nv + rows, 3)
        self.checks = "contact_free" in m.kernels.requests
        """True if a step is first taken without stops."""
        if self.checks:
            m.arguments["contact_free"] = m.arguments["contact"]
            self.stopped = m.tile(1)
            """1 in states in which a joint needs an impulse of its stop."""

    def __call__(self, q: Tile, v: Tile) -> tuple[Tile, Tile]:
        """Write a step; return the places of its positions and velocities."""
        m = self.m
        m.copy(q, m.q)
        m.copy(v, m.v)
        m.apply_forces(0.0)
        if self.checks:
            m.kernel("contact_free")
            self._test(m.results["contact_free"])
            m.sequence("step")
            m.kernel("contact")
            self._choose(m.results["contact_free"], m.results["contact"])
            m.sequence("stop")
            at, size = m.results["contact_free"].at, self._q.size + self._v.size
            self._q, self._v = Tile(at, self._q.size), Tile(at + self._q.size, self._v.size)
            self._pushes = Tile(at + size, self._pushes.size)
            self._certificate = Tile(at + size + self._pushes.size, 3)
        else:
            m.kernel("contact")
        m.copy(self._pushes, self.pushes)
        for k, larger in enumerate((True, True, False)):
            self._gather(Tile(self._certificate.at + k, 1), Tile(self.certificate.at + k, 1), larger)
        return self._q, self._v

    def _test(self, result: Tile) -> None:
        """Write functions that find the states in which a joint is faster than its stop allows, or not finite."""
        m, contacts, nq = self.m, self.m.model.contacts, self.m.model.nq
        assert contacts is not None
        joints = [m.model.joints[k] for k in contacts.limited]
        places = [(c.q.start, c.v.start) for c in joints]
        inputs = [m.h]
        for q, v in places:
            inputs += [Tile(m.q.at + q, 1), Tile(self.bounds.at + q, 1), Tile(self.bounds.at + nq + q, 1)]
            inputs.append(Tile(result.at + nq + v, 1))

        def stopped(x: list[Any]) -> list[Any]:
            h, *rest = x
            found: Any = 0.0
            for k in range(0, len(rest), 4):
                q, lower, upper, after = rest[k : k + 4]
                found = where_less(stop_speed(contacts, q, lower, upper, h, after), 0.0, 1.0, found)
            return [found]

        m.scalar_function(inputs, [self.stopped], stopped)

    def _choose(self, free: Tile, full: Tile) -> None:
        """Write a function that takes over the step with stops, in the states that need it."""

        def body(e: Numbers) -> None:
            e.store_at(e.select_less(e.constant(0.5), e.once(self.stopped), e.load_at(full), e.load_at(free)), free)

        self.m.function(free.size, body)

    def _gather(self, new: Tile, to: Tile, larger: bool) -> None:
        """Write a function that adds a number to a sum, or keeps the larger one; NaN stays."""

        def body(e: Numbers) -> None:
            x, old = e.load_at(new), e.load_at(to)
            e.store_at(e.select_less(x, old, old, x) if larger else e.binary("fadd", old, x), to)

        self.m.function(1, body)

    def write_clear(self) -> None:
        """Write "clear", which begins a new certificate, and "unload", which begins without impulses."""
        self.m.function(3, lambda e: e.store_at(e.constant(0.0), self.certificate))
        self.m.sequence("clear")
        self.m.function(self.pushes.size, lambda e: e.store_at(e.constant(0.0), self.pushes))
        self.m.sequence("unload")
