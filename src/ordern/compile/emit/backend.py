"""The interface between a rolled program and the language in which it is written.

`RolledWriter` (`rolled.py`) calls these methods. `TextEmitter` (`nodes.py`) writes LLVM IR, `CWriter` (`compile/c`) C.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ...graph import Node

__all__ = ["Backend", "Quantity"]

Quantity = Any
"""An integer, a test or an address of the emitted code, as `builder.Value`. Integers have `+`, `-`, `*`, `>=`,
`equals` and `differs`, tests have `select`, addresses have `at` and `load`; `str` gives the text."""


class Backend(Protocol):
    """Writes the lines of one function. Floating-point values are their names, as text."""

    memo: dict[tuple[str, str], tuple[str, str]]
    """Work that operations on one value share, such as that of its sine and cosine."""
    element: str
    """The type of a number."""
    vector: str
    """The type of a number in the workspace: one for each state that the code handles at a time."""

    def each(self, n: Any, inward: bool = False) -> AbstractContextManager[Quantity]:
        """Run what is inside for 0, 1 ... below n; inward the last number comes first."""

    def repeat(self) -> AbstractContextManager[None]:
        """Run what is inside again and again, until it is left."""

    def carried(self, start: Any) -> Any:
        """Declare an integer that the innermost loop carries along: it has a `value`, and `next` is set in the loop."""

    def leave_unless(self, test: Any) -> None:
        """Leave the innermost loop if a test fails."""

    def switch(
        self, value: Any, cases: Sequence[int]
    ) -> AbstractContextManager[Sequence[AbstractContextManager[None]]]:
        """Run one of several parts by an integer: `with part:` for each."""

    def const(self, x: int) -> Quantity:
        """Return an integer constant."""

    def constant(self, value: float) -> str:
        """Return a floating-point constant."""

    def lower(self, node: Node, operands: list[str]) -> str:
        """Write one operation of the graph."""

    def load(self, pointer: Any, index: int = 0) -> str:
        """Read a number of the workspace."""

    def store(self, name: str, pointer: Any, index: int = 0) -> None:
        """Write a number to the workspace."""

    def clear(self, base: Any, start: int, size: int) -> None:
        """Write zeros to a part of the workspace."""

    def copy(self, base: Any, start: int, source: Any, source_start: int, size: int) -> None:
        """Write a part of the workspace, or of an argument, to another part."""

    def splat(self, scalar: Any) -> str:
        """Return a number that is the same in every state."""

    def one_if(self, test: Any) -> str:
        """Return the number 1 if a test holds, and 0 if not."""
