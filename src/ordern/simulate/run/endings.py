"""The ways in which a run can end."""

from __future__ import annotations

from enum import Enum

__all__ = ["Ending"]


class Ending(str, Enum):
    """The way in which a run ended: its word in a report, and a sentence."""

    text: str
    planned: bool
    """True if the user wanted this end."""

    END = "end", "reached the end", True
    EVENT = "event", "a terminal event took place", True
    LIMIT = "limit", "a joint reached its limit", True
    NOT_FINITE = "not-finite", "a number of the state is not finite"
    STEP_TOO_SMALL = "step-too-small", "no step is short enough for the tolerance"
    NOT_CONVERGED = "not-converged", "the equations of a step have no solution"
    BAD_FORCE = "bad-force", "a force is not finite"
    NOT_CLOSED = "not-closed", "a loop cannot be closed"
    LOCKED = "locked", "the loops lock the mechanism at its start"
    BLOCKED = "blocked", "a joint driven by its loops reached its limit"
    MAX_STEPS = "max-steps", "the run took max_steps steps"
    INTERRUPTED = "interrupted", "interrupted"

    def __new__(cls, word: str, text: str = "", planned: bool = False) -> Ending:
        """Make a member that equals its word."""
        member = str.__new__(cls, word)
        member._value_, member.text, member.planned = word, text, planned
        return member

    def __str__(self) -> str:
        return str(self.value)
