"""Methods that are NumPy code around other kernels: they call these by name, and are counted by counting the calls."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from ..compile.pipeline import Request
from ..graph import Counts
from ..records import dataclass

if TYPE_CHECKING:
    from .table import Kernels

__all__ = ["PieceCount", "PieceCounts", "count_calls"]


@dataclass(frozen=True, slots=True)
class PieceCount:
    """A compiled function that a method calls, and how often."""

    question: str
    method: str
    robot: str
    """The name of the model; mostly the robot itself."""
    counts: Counts
    """Operations of the function for one state."""
    once: int
    """The number of its calls besides the steps of an iteration."""
    each_step: int
    """The number of its calls in each step; the largest, if steps differ."""


@dataclass(frozen=True, slots=True)
class PieceCounts:
    """Operations of a method that is made of other functions, by piece and by step.

    Exact for the pieces. What NumPy does between them is not counted: sums and products of vectors, and for methods
    that solve dense systems these. A method without an iteration has no steps: all of its operations are in `once`.
    """

    question: str
    method: str
    pieces: tuple[PieceCount, ...]
    steps: int
    """The number of steps in the state that was tried; it depends on the state."""

    @property
    def once(self) -> Counts:
        """Operations besides the steps of the iteration."""
        return sum((p.counts * p.once for p in self.pieces), Counts())

    @property
    def each_step(self) -> Counts:
        """Operations of one step of the iteration."""
        return sum((p.counts * p.each_step for p in self.pieces), Counts())

    def after(self, steps: int) -> Counts:
        """Return the operations of some steps, and of what is done once."""
        return self.once + self.each_step * steps

    def _repr_html_(self) -> str:
        """Return pieces and sums as a table, for notebooks."""
        from ..screen.html import table, titled

        rows: list[tuple[object, ...]] = [
            (f"{p.question} by {p.method}", p.robot, p.once, p.each_step, *_numbers(p.counts)) for p in self.pieces
        ]
        rows += [("in all, once", "", "", "", *_numbers(self.once))]
        rows += [("in all, each step", "", "", "", *_numbers(self.each_step))]
        head = ("function", "robot", "calls once", "in each step", *Counts.__slots__, "total")
        steps = f"{self.steps} step{'' if self.steps == 1 else 's'} in the state that was tried"
        return titled(f"{self.question} by {self.method}: {steps}", table(head, rows, left=2))

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain numbers and words."""
        sums = {"once": asdict(self.once), "each_step": asdict(self.each_step)}
        return {**asdict(self), **sums, "pieces": [asdict(p) for p in self.pieces]}


def _numbers(counts: Counts) -> list[str]:
    return [f"{getattr(counts, k):,}" for k in (*Counts.__slots__, "total")]


def count_calls(kernels: Kernels, request: Request) -> PieceCounts:
    """Run a method for a random state, and count the kernels that it calls."""
    model, rng = kernels.model, np.random.default_rng(0)
    q = model.random(rng)
    ports = [p for p in request.question.inputs if not p.optional or p.name in request.present]
    given = {p.name: q if p.kind == "q" else rng.uniform(-1, 1, request.shape(p.kind)) for p in ports}
    calls = _Calls(kernels)
    request.algorithm.function(calls.ask, **given, **dict(request.options))
    return calls.counts(request)


class _Calls:
    """Stands in the place of a table of kernels, and counts the calls."""

    def __init__(self, kernels: Kernels) -> None:
        self._kernels, self.model = kernels, kernels.model
        self._called: list[dict[Any, int]] = [{}]  # first besides the steps, then in each step
        self._now = 0

    def note_step(self, k: int | None) -> None:
        """Begin a step; None ends the last one."""
        self._now = 0
        if k is not None:
            self._called.append({})
            self._now = len(self._called) - 1

    def ask(self, question: str, *arguments: Any, **named: Any) -> AnyArray:
        """Return the answer of a kernel, and count the states that it was called for."""
        kernel, optional = self._kernels.named(question, **named)
        given = [np.asarray(x) for x in (*arguments, *optional)]
        cores = (len(kernel.request.shape(p.kind)) for p in kernel.ports)
        states = math.prod(np.broadcast_shapes(*(x.shape[: x.ndim - n] for x, n in zip(given, cores, strict=True))))
        here = self._called[self._now]
        here[kernel] = here.get(kernel, 0) + states
        return kernel(*given)

    def counts(self, request: Request) -> PieceCounts:
        """Return the operations of all calls, as straight-line code."""
        once, *each = self._called
        each = [step for step in each if step]
        pieces = []
        for kernel in dict.fromkeys(k for calls in self._called for k in calls):
            counts = kernel.with_way("unrolled").counts()
            times = max((step.get(kernel, 0) for step in each), default=0)
            names = kernel.question.name, kernel.algorithm.name, kernel.model.name
            pieces.append(PieceCount(*names, counts, once.get(kernel, 0), times))
        return PieceCounts(request.question.name, request.algorithm.name, tuple(pieces), len(each))
