"""The tables that rolled code reads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...model import BASE, FreedomTables, Model
from ...model.parts import inward

__all__ = ["Data", "path_to"]


class Data:
    """The tables that rolled code reads, as arrays, and the words that point to them."""

    def __init__(self, model: Model, dtype: str, frame_body: int | None, freedoms: bool) -> None:
        """Make the tables of a model, with the path to a frame's body, and with `freedoms` the tables of freedoms."""
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
        tables = (self.rows, self.meta, self.path, self.freedoms, self.order, self.v_order)
        self.words: NDArray[np.int64] = np.array([a.ctypes.data for a in tables], np.int64)

    @property
    def address(self) -> int:
        """The address that `%data` holds."""
        return int(self.words.ctypes.data)


def path_to(model: Model, body: int | None) -> list[int]:
    """Return the bodies from the base to a body."""
    return inward(model.joints, BASE if body is None else body)[::-1]
