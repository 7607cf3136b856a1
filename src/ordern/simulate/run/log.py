"""What a run has written down so far: rows of the result, polynomials between them, events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Log"]

Array = NDArray[np.float64]


class Log:
    """Blocks of arrays in the order in which they came. A checkpoint has them as one list of numbers."""

    def __init__(self, nq: int, nv: int, extra: Sequence[tuple[int, ...]] = ()) -> None:
        self._widths: dict[str, list[tuple[int, ...]]] = {
            "rows": [(), (nq,), (nv,), (nv,), (nv,), (), (), *extra],  # t, q, v, a, tau, work, dissipated ...
            "events": [(), (), (nq,), (nv,)],  # t, index, q, v
        }
        self._width = nq + nv
        self.blocks: list[tuple[str, list[Array]]] = []
        self._saved = 0

    def rows(self, t: Array, q: Array, v: Array, a: Array, tau: Array, work: Array, lost: Array, *extra: Array) -> None:
        """Samples of the result, and further series."""
        if len(t):
            self.blocks.append(("rows", [t, q, v, a, tau, work, lost, *extra]))

    def events(self, t: Array, index: Array, q: Array, v: Array) -> None:
        """What happened."""
        if len(t):
            self.blocks.append(("events", [t, np.asarray(index, dtype=float), q, v]))

    def dense(self, edges: Array, coefficients: Array) -> None:
        """Polynomials of steps that begin and end at these times."""
        if len(coefficients):
            self.blocks.append(("dense", [edges, coefficients[:, :, : self._width]]))

    def column(self, kind: str, k: int) -> Array:
        """One column of all blocks of a kind."""
        parts = [arrays[k] for name, arrays in self.blocks if name == kind]
        return np.concatenate(parts) if parts else np.zeros((0, *self._widths[kind][k]))

    def motion(self) -> tuple[Array, Array]:
        """The ends of all steps, and their polynomials."""
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

    def numbers(self) -> Array:
        """The blocks that are new since the last call, as numbers."""
        new, self._saved = self.blocks[self._saved :], len(self.blocks)
        parts: list[Any] = [np.zeros(0)]
        for kind, arrays in new:
            depth = arrays[1].shape[1] if kind == "dense" else 0
            count = len(arrays[1]) if kind == "dense" else len(arrays[0])
            parts.append(np.array([_KINDS.index(kind), count, depth], dtype=float))
            parts += [a.ravel() for a in arrays]
        return np.concatenate(parts)

    def read(self, numbers: Array) -> None:
        """Blocks from what `numbers` gave."""
        at = 0

        def take(*shape: int) -> Array:
            nonlocal at
            size = int(np.prod(shape))
            at += size
            return numbers[at - size : at].reshape(shape)

        while at < len(numbers):
            kind, count, depth = (int(x) for x in take(3))
            if _KINDS[kind] == "dense":
                arrays = [take(count + 1), take(count, depth, self._width)]
            else:
                arrays = [take(count, *w) for w in self._widths[_KINDS[kind]]]
            self.blocks.append((_KINDS[kind], arrays))
        self._saved = len(self.blocks)


_KINDS = ("rows", "events", "dense")
