"""Runners: one class for each way in which a kernel computes its answers.

`Interpreted` runs the algorithm's text on arrays, `InPieces` does so with compiled pieces, `Composed` runs NumPy code
around other kernels, and `Compiled` (in its own file) calls machine code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from ..compile.pipeline import Code, Request
from ..errors import ArgumentError, CompileError
from ..graph import Counts
from .arguments import Arguments, stored
from .composed import PieceCounts, count_calls
from .elsewhere import ELSEWHERE, is_elsewhere

if TYPE_CHECKING:
    from .bound import Bound
    from .table import Kernels

__all__ = ["Composed", "InPieces", "Interpreted", "Runner"]


class Runner(ABC):
    """Computes a request for arguments of any kind."""

    def __init__(self, request: Request, arguments: Arguments) -> None:
        self.request, self.arguments = request, arguments

    def __call__(
        self, given: Sequence[Any], out: AnyArray | None, threads: int | None, varied: Bound | None = None
    ) -> AnyArray:
        """Return the answer, as an array of the batch shape followed by the shape of one state's answer.

        `varied` has the numbers of a varied robot. Arguments of other array libraries give ELSEWHERE.
        """
        if is_elsewhere(given, varied):
            return ELSEWHERE
        arrays, dtype = self.arguments.checked(given, out, threads)
        return self.computed(arrays, dtype, out, varied)

    def computed(
        self, arrays: list[AnyArray], dtype: np.dtype[Any], out: AnyArray | None, varied: Bound | None = None
    ) -> AnyArray:
        """Return the answer for arrays that were checked, computed in a data type."""
        from ..compile.trace.interpret import converted

        self.arguments.require_fit(arrays if varied is None else [*arrays, varied.values], out)
        name = self.request.question.name
        try:
            result = self.compute(converted(arrays, dtype), varied)
        except (TypeError, AttributeError) as e:
            if dtype.kind != "O":
                raise
            kinds = ", ".join(sorted({type(x).__name__ for a in arrays if a.dtype.kind == "O" for x in a.flat}))
            raise ArgumentError(
                f"{name}: cannot compute with objects of type {kinds}, only with numbers that have sines "
                f"and cosines, such as those of mpmath: {e}"
            ) from e
        return stored(name, result, out) if out is not None or result.ndim else result[()]

    @abstractmethod
    def compute(self, arrays: list[AnyArray], varied: Bound | None = None) -> AnyArray:
        """Return the answer for arrays of one data type."""

    @abstractmethod
    def counts(self) -> Counts | PieceCounts:
        """Return the number of operations per state."""

    @property
    @abstractmethod
    def code(self) -> Code:
        """The compiled code for float64."""


class Interpreted(Runner):
    """Runs the algorithm's text as it stands."""

    def compute(
        self, arrays: list[AnyArray], varied: Bound | None = None, pieces: Callable[..., Any] | None = None
    ) -> AnyArray:
        """Return the answer for arrays of one data type; `pieces` runs the pieces of the algorithm."""
        from ..compile.trace.interpret import interpret

        return interpret(self.request, arrays, pieces, None if varied is None else varied.values)

    def counts(self) -> Counts:
        """Count the operations of straight-line code for this robot."""
        from ..compile.program import count_operations

        return count_operations(self.request, rolled=False)

    @property
    def code(self) -> Code:
        """Raise: there is no code."""
        r = self.request
        raise CompileError(
            f"{r.question.name} of {r.model.name!r} by {r.algorithm.name!r} is interpreted: it has no code"
        )


class InPieces(Runner):
    """Runs the algorithm's text on arrays of all bodies, with each piece compiled for one element."""

    def __init__(self, request: Request, arguments: Arguments) -> None:
        from ..compile.run.pieces import Pieces

        super().__init__(request, arguments)
        self._text, self._pieces = Interpreted(request, arguments), Pieces(request.model)

    def compute(self, arrays: list[AnyArray], varied: Bound | None = None) -> AnyArray:
        """Return the answer for arrays of one data type."""
        if varied is not None and varied.shape and " " not in self.request.question.name:  # derivatives have no pieces
            r = self.request
            raise ArgumentError(
                f"{r.question.name} by the method {r.algorithm.name!r} is not for {r.model.name!r} with many sets of "
                "parameters: it computes on all bodies at once; use the default method"
            )
        return self._text.compute(arrays, varied, self._pieces)

    def counts(self) -> Counts:
        """Count the operations of all pieces, by running them for one state; NumPy's sums are not counted."""
        from ..compile.run.pieces import Counter

        a, counter = self.arguments, Counter()
        neutral = a.model.neutral()
        states = (neutral if p.kind == "q" else np.zeros(s) for p, s in zip(a.ports, a.shapes, strict=True))
        self._text.compute([np.asarray(x) for x in states], pieces=counter)
        return counter.counts

    @property
    def code(self) -> Code:
        """A description without an object: the pieces have the code."""
        return Code("rolled", b"", 0, self.counts().total, 1)


class Composed(Runner):
    """Runs NumPy code around other kernels of the same robot."""

    def __init__(self, request: Request, arguments: Arguments, kernels: Kernels) -> None:
        super().__init__(request, arguments)
        self._kernels = kernels

    def compute(self, arrays: list[AnyArray], varied: Bound | None = None) -> AnyArray:
        """Return the answer for arrays of one data type."""
        given = dict(zip((p.name for p in self.arguments.ports), arrays, strict=True))
        return np.asarray(self.request.algorithm.function(self._kernels.ask, **given, **dict(self.request.options)))

    def counts(self) -> PieceCounts:
        """Count the operations of each kernel, and how often it is called, by running the method for one state."""
        return count_calls(self._kernels, self.request)

    @property
    def code(self) -> Code:
        """Raise: other kernels have the code."""
        r = self.request
        raise ArgumentError(
            f"{r.question.name} by the method {r.algorithm.name!r} has no code of its own: it is NumPy code around "
            "other functions of the robot, which `ordern.count` lists; their kernels have code"
        )
