"""The log of a run: rows of the result, polynomials between them, events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import Array
from ...records import dataclass

if TYPE_CHECKING:
    from .checkpoint import Block

__all__ = ["Events", "Happened", "Log"]


@dataclass(frozen=True, slots=True, eq=False)
class Happened:
    """An event that took place."""

    time: float
    name: str
    index: int
    """The place of the event among the events of the user; -1 for a limit that the run watches by itself."""
    q: Array
    """The positions at that time."""
    v: Array
    """The velocities at that time; before an impact."""

    def __str__(self) -> str:
        return f"{self.name} at {self.time:.9g} s"

    def _repr_html_(self) -> str:
        """Return the event with its state, for notebooks."""
        return Events((self,))._repr_html_()


class Events(tuple[Happened, ...]):
    """Events in the order of time."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return the events as a table, for notebooks."""
        from ...screen.html import folded, table, titled

        rows = [(e.name, f"{e.time:.9g}", _numbers(e.q), _numbers(e.v)) for e in self]
        listed = folded("all events", table(("event", "time, s", "q", "v"), rows), len(rows))
        return titled(f"{len(self)} event{'' if len(self) == 1 else 's'}", *([listed] if rows else []))


def _numbers(x: Array) -> str:
    """Return the first numbers of a vector."""
    return ", ".join(f"{v:.4g}" for v in x[:8]) + (" ..." if len(x) > 8 else "")


class Log:
    """Blocks of arrays in the order in which they were recorded."""

    def __init__(self, nq: int, nv: int, extra: Sequence[tuple[int, ...]] = ()) -> None:
        self._widths: dict[str, list[tuple[int, ...]]] = {
            "rows": [(), (nq,), (nv,), (nv,), (nv,), (), (), *extra],  # t, q, v, a, tau, work, dissipated ...
            "events": [(), (), (nq,), (nv,)],  # t, index, q, v
        }
        self._width = nq + nv
        self.blocks: list[Block] = []
        self._saved = 0

    def rows(self, t: Array, q: Array, v: Array, a: Array, tau: Array, work: Array, lost: Array, *extra: Array) -> None:
        """Record samples of the result, and of further series."""
        if len(t):
            self.blocks.append(("rows", [t, q, v, a, tau, work, lost, *extra]))

    def events(self, t: Array, index: Array, q: Array, v: Array) -> None:
        """Record events: their times, their indices and the states."""
        if len(t):
            self.blocks.append(("events", [t, np.asarray(index, dtype=float), q, v]))

    def dense(self, edges: Array, coefficients: Array) -> None:
        """Record the polynomials of steps, which begin and end at `edges`."""
        if len(coefficients):
            self.blocks.append(("dense", [edges, coefficients[:, :, : self._width]]))

    def column(self, kind: str, k: int) -> Array:
        """Return column k of all blocks of a kind."""
        parts = [arrays[k] for name, arrays in self.blocks if name == kind]
        return np.concatenate(parts) if parts else np.zeros((0, *self._widths[kind][k]))

    def motion(self) -> tuple[Array, Array]:
        """Return the ends of all steps, and their polynomials."""
        parts = [arrays for name, arrays in self.blocks if name == "dense"]
        if not parts:
            return np.zeros(0), np.zeros((0, 1, self._width))
        count, m = sum(len(c) for _, c in parts), max(c.shape[1] for _, c in parts)
        whole, at = np.empty((count, m, self._width)), 0
        for _, c in parts:
            rows = whole[at : at + len(c)]
            rows[:, : c.shape[1]], rows[:, c.shape[1] :] = c, 0.0  # powers that others have
            at += len(c)
        return np.concatenate([parts[0][0], *(e[1:] for e, _ in parts[1:])]), whole

    def unsaved(self) -> list[Block]:
        """Return the blocks that were added since the last call."""
        new, self._saved = self.blocks[self._saved :], len(self.blocks)
        return new

    def restore(self, blocks: list[Block]) -> None:
        """Continue after the blocks of a checkpoint."""
        self.blocks, self._saved = blocks, len(blocks)
