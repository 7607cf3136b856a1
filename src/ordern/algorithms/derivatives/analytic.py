"""The choice between texts of derivatives and differentiated graphs.

The matrices of derivatives of inverse and forward dynamics have texts of their own, in order n d and n d^2, which take
half of the operations of a differentiated graph; for many freedoms there is one of order n^2. They are used for the
default methods of these questions, unless bodies are in a fluid. All other derivatives, and products with tangents and
cotangents, differentiate the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...graph import Scalar
from ...model import ConcreteTree, FreedomTables, Input, Model, core_size
from ...records import dataclass
from ..registry import find, find_question

__all__ = ["Analytic", "analytic", "has_text"]


@dataclass(frozen=True, slots=True)
class Analytic:
    """A question whose answer has the derivatives of another one, as square matrices one after the other."""

    question: str
    arguments: tuple[str, ...]
    """The arguments by which the matrices are derivatives, in order."""
    method: str | None = None
    """The method of the question; None for its default."""

    def blocks(self, tree: ConcreteTree, inputs: Sequence[Input], wrt: Sequence[str]) -> list[Scalar]:
        """Return the scalars of the matrices by some of the arguments, one after the other."""
        scalars: Sequence[Scalar] = find(self.question, self.method)[1].function(tree, *inputs).scalars
        size = core_size(tree.model, "matrix")
        starts = [size * self.arguments.index(x) for x in wrt]
        return [x for start in starts for x in scalars[start : start + size]]


_MANY_FREEDOMS = 60
_MANY_PAIRS = 380
"""Freedoms, and pairs of a freedom and one above it, beyond which code with factors of the mass matrix is compiled as
loops. Then solutions by articulated bodies are faster: twice for a chain of 40, five times for a chain of 100."""
_TEXTS = {
    "inverse_dynamics": Analytic("inverse_dynamics_derivatives", ("q", "v", "a")),
    "forward_dynamics": Analytic("forward_dynamics_derivatives", ("q", "v", "tau")),
}


def analytic(model: Model, question: str, method: str | None) -> Analytic | None:
    """Return the text for the derivatives of a question by a method; None if its graph is differentiated instead."""
    found = _TEXTS.get(question)
    if found is None or model.in_fluid or method not in (None, find_question(question).default):
        return None
    if question == "forward_dynamics" and _is_long(model) and not any(c.mimic for c in model.joints):
        return replace(found, method="innovations")
    return found


def has_text(question: str, method: str) -> bool:
    """Return whether the derivatives of a question by a method have a text of their own."""
    return question in _TEXTS and method == find_question(question).default


def _is_long(model: Model) -> bool:
    """Return True if straight-line code with factors of the mass matrix would be long."""
    if model.nv > _MANY_FREEDOMS:
        return True
    depth: list[int] = []
    for above in FreedomTables.of(model).up.tolist():
        depth.append(depth[above] + 1 if above >= 0 else 0)
    return sum(depth) > _MANY_PAIRS
