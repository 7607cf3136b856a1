"""Short names of three recursions, as Featherstone's book and Pinocchio have them."""

from __future__ import annotations

from .registry import alias

__all__: list[str] = []

for _question, _name, _of in (
    ("forward_dynamics", "aba", "articulated-body"),
    ("inverse_dynamics", "rnea", "newton-euler"),
    ("bias_force", "rnea", "newton-euler"),
    ("mass_matrix", "crba", "composite-body"),
):
    alias(_question, _name, of=_of)
