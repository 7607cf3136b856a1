"""The report of a run about its contacts."""

from __future__ import annotations

from ...records import dataclass

__all__ = ["ContactReport"]


@dataclass(frozen=True, slots=True)
class ContactReport:
    """How contacts were modelled in a simulation, and what its result can be held to."""

    model: str
    """"compliant" or "rigid"."""
    touches: int
    """How often contacts touched."""
    penetration: float
    """The deepest penetration at the end of a step, in m."""
    force: float
    """The largest normal force at the end of a step, in N."""
    residual: float
    """By how much the contact law is off. Compliant: the largest speed at which a contact that does not slip creeps,
    in m/s. Rigid: the largest normal velocity of a contact that is closed, and slip of one that sticks, in m/s."""
    held_to: str
    """What the result can be held to, in words."""

    def rows(self) -> list[tuple[str, str]]:
        """Return lines of the report: a name and a text."""
        touched = f"touched {self.touches} times, " if self.touches else ""
        figures = f"{touched}up to {self.force:.4g} N, penetration up to {self.penetration:.2g} m"
        return [("contacts", f"{self.model}: {figures}"), ("", self.held_to)]
