"""The tables that rolled code reads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..model import BASE, Model

__all__ = ["Data", "path_to"]


class Data:
    """The tables that rolled code reads, as arrays, and the words that point to them."""

    def __init__(self, model: Model, dtype: str, frame_body: int | None) -> None:
        t = model.tables
        self.rows = np.ascontiguousarray(t.rows, dtype)
        self.meta = np.ascontiguousarray(np.stack([t.kind, t.parent + 1, t.q_start, t.v_start], axis=1))
        self.path = np.array(path_to(model, frame_body), np.int64)
        self.words: NDArray[np.int64] = np.array([a.ctypes.data for a in (self.rows, self.meta, self.path)], np.int64)

    @property
    def address(self) -> int:
        """What `%data` points to."""
        return int(self.words.ctypes.data)


def path_to(model: Model, body: int | None) -> list[int]:
    """The bodies from the base to a body."""
    found: list[int] = []
    k = BASE if body is None else body
    while k != BASE:
        found.append(k)
        k = model.joints[k].parent
    return found[::-1]
