"""Steps with contacts: the kernel `contact_step` as the step of a rollout, with impulses that steps begin from.

The impulses of a step are the start of the next one, so they belong to the state. Between two stored states, the
certificate has the largest residual, penetration and leveling, and the sum of the works.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...model import Model
from ...model.contacts import CERTIFICATE
from ..pipeline import Request
from .machine import Emitter, Numbers, Tile

__all__ = ["ContactStep", "certifies"]


def certifies(model: Model, requests: Mapping[str, Request]) -> bool:
    """Return True if the kernels of a step solve for impulses or forces, so that its certificate is not zero anyway.

    Steps whose damping and feedback are implicit, and nothing else, are formulas without iterations.
    """
    step = requests.get("contact")
    if step is None:
        return False
    touches = model.contacts is not None and bool(model.contacts.pairs)
    return touches or model.has_stops or bool(model.nc) or "servo" in step.present


class ContactStep:
    """The places of impulses, surfaces, limits and certificates, and the step (q, v) -> (q, v) around the kernel."""

    def __init__(self, m: Emitter) -> None:
        self.m, contacts = m, m.model.contacts
        assert contacts is not None
        nq, nv, rows = m.model.nq, m.model.nv, 3 * contacts.blocks
        self.pushes = m.tile(rows + nv)
        """Impulses of contacts and of stops."""
        self.stored = Tile(self.pushes.at, rows + nv if m.model.has_stops else rows)
        """The impulses that are stored."""
        self.surfaces, self.bounds = m.tile(3 * len(contacts.pairs)), m.tile(2 * nq)
        self.certificate = m.tile(len(CERTIFICATE))
        lower, upper = Tile(self.bounds.at, nq), Tile(self.bounds.at + nq, nq)
        impulses, stops = Tile(self.pushes.at, rows), Tile(self.pushes.at + rows, nv)
        m.arguments["contact"] = (m.q, m.v, m.force, m.h, m.damping, lower, upper)
        m.arguments["contact"] += (impulses, stops, self.surfaces) if contacts.pairs else (stops,)
        if m.servo.size:
            m.arguments["contact"] += (m.servo, m.effort)
        at = m.results["contact"].at
        self._q, self._v = Tile(at, nq), Tile(at + nq, nv)
        self._pushes, self._certificate = Tile(at + nq + nv, rows + nv), Tile(at + nq + 2 * nv + rows, len(CERTIFICATE))

    def __call__(self, q: Tile, v: Tile) -> tuple[Tile, Tile]:
        """Write a step; return the places of its positions and velocities."""
        m = self.m
        m.copy(q, m.q)
        m.copy(v, m.v)
        m.apply_forces(0.0)
        m.kernel("contact")
        m.copy(self._pushes, self.pushes)
        for k, name in enumerate(CERTIFICATE):
            self._gather(Tile(self._certificate.at + k, 1), Tile(self.certificate.at + k, 1), name != "work")
        return self._q, self._v

    def _gather(self, new: Tile, to: Tile, larger: bool) -> None:
        """Write a function that adds a number to a sum, or keeps the larger one; NaN stays."""

        def body(e: Numbers) -> None:
            x, old = e.load_at(new), e.load_at(to)
            e.store_at(e.select_less(x, old, old, x) if larger else e.binary("fadd", old, x), to)

        self.m.function(1, body)

    def write_clear(self) -> None:
        """Write "clear", which begins a new certificate, and "unload", which begins without impulses."""
        self.m.function(self.certificate.size, lambda e: e.store_at(e.constant(0.0), self.certificate))
        self.m.sequence("clear")
        self.m.function(self.pushes.size, lambda e: e.store_at(e.constant(0.0), self.pushes))
        self.m.sequence("unload")
