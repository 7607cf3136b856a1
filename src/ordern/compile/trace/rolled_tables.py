"""The tables that rolled code reads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model import BASE, FreedomTables, Model
from ...model.parts import inward

__all__ = ["Data", "path_to"]


class Data:
    """The tables that rolled code reads, as arrays, and the words that point to them."""

    def __init__(
        self, model: Model, dtype: str, frame_body: int | None, freedoms: bool, from_root: bool = False
    ) -> None:
        """Make the tables of a model, with the path to a frame's body, and with `freedoms` the tables of freedoms.

        With `from_root`, they have the paths from the root to each body, and to each freedom in the elimination tree.
        """
        t = model.tables
        own = np.cumsum([0, *(c.type.nv for c in model.joints)])[:-1]
        self.rows = np.ascontiguousarray(t.rows, dtype)
        self.meta = np.ascontiguousarray(np.stack([t.kind, t.parent + 1, t.q_start, t.v_start, own], axis=1))
        self.path = np.array(path_to(model, frame_body), np.int64)
        self.freedoms = self.order = self.v_order = np.zeros(0, np.int64)
        if freedoms:
            f = FreedomTables.of(model)
            columns = (f.up, f.body, f.first, f.root, f.at, f.count, f.v_at, f.v_count)
            self.freedoms = np.ascontiguousarray(np.stack(columns, axis=1))
            self.order, self.v_order = f.order, f.v_order
        self.bodies_above = self.bodies_at = self.freedoms_above = self.freedoms_at = np.zeros(0, np.int64)
        if from_root:
            self.bodies_above, self.bodies_at = _from_root(t.parent.tolist())
            if freedoms:
                self.freedoms_above, self.freedoms_at = _from_root(self.freedoms[:, 0].tolist())
        self.words: NDArray[np.int64] = np.array([a.ctypes.data for a in self.arrays], np.int64)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The tables, in the order of `Tables`."""
        walks = (self.bodies_above, self.bodies_at, self.freedoms_above, self.freedoms_at)
        return (self.rows, self.meta, self.path, self.freedoms, self.order, self.v_order, *walks)

    @property
    def address(self) -> int:
        """The address that `%data` holds."""
        return int(self.words.ctypes.data)


def _from_root(above: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the paths from the root to each number, given the number before it or -1; and where each path begins."""
    at = np.zeros(len(above) + 1, np.int64)
    for k, p in enumerate(above):
        at[k + 1] = 1 if p < 0 else 1 + at[p + 1]
    lengths = at[1:].copy()
    np.cumsum(lengths, out=at[1:])
    paths = np.empty(int(at[-1]), np.int64)
    for k, p in enumerate(above):
        if p >= 0:
            paths[at[k] : at[k + 1] - 1] = paths[at[p] : at[p + 1]]
        paths[at[k + 1] - 1] = k
    return paths, at


def path_to(model: Model, body: int | None) -> list[int]:
    """Return the bodies from the base to a body."""
    return inward(model.joints, BASE if body is None else body)[::-1]
