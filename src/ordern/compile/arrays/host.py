"""Runs a program on arrays by NumPy and compiled pieces: the reference for other machines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arguments import AnyArray
from ...model import Model
from ..run.pieces import CompiledPiece
from .program import Apply, Copy, Program, View, first_places, used

__all__ = ["run_program"]


def run_program(program: Program, model: Model, arguments: Sequence[AnyArray], dtype: str) -> AnyArray:
    """Return the result (states, numbers) for arguments (states, numbers) of one data type."""
    states = max(len(x) for x in arguments)
    tables: dict[int, AnyArray] = {k: x.astype(dtype)[:, None] for k, x in program.constants.items()}
    for table, x in zip(program.inputs, arguments, strict=True):
        tables[table.number] = np.broadcast_to(x, (states, x.shape[1])).T[..., None].astype(dtype)
    compiled: dict[Any, CompiledPiece] = {}
    last = program.last_uses()
    for number, step in enumerate(program.steps):
        for table in used(step):
            if table.number not in tables:
                tables[table.number] = np.zeros((table.rows, states, table.width), dtype)
        if isinstance(step, Copy):
            places, target = step.target.rows.all_places[:, None], tables[step.target.table.number]
            target[places, :, list(step.target.columns)] = _read(tables, step.source).swapaxes(1, 2)
        else:
            patterns = tuple(first_places(x.columns) for x in step.inputs)
            key = step.piece, step.cores, patterns
            if key not in compiled:
                compiled[key] = CompiledPiece(model, step.piece, step.traced, step.cores, dtype, patterns)
            _apply(step, tables, compiled[key])
        for table in used(step):
            if last[table.number] == number:
                tables.pop(table.number, None)
    return np.asarray(tables[program.result.number][..., 0].T)


def _read(tables: dict[int, AnyArray], view: View) -> AnyArray:
    """Return rows of a table: (rows, states, numbers)."""
    return np.asarray(tables[view.table.number][view.rows.all_places][..., list(view.columns)])


def _apply(step: Apply, tables: dict[int, AnyArray], compiled: CompiledPiece) -> None:
    """Apply a piece to rows of tables."""
    read = zip((_read(tables, view) for view in step.inputs), step.cores, strict=True)
    given = [x.reshape(*x.shape[:2], *core) for x, core in read if math.prod(core)]
    for table, places, part in zip(step.results, step.stored, compiled(given), strict=True):
        tables[table.number][:] = part.reshape(*part.shape[:2], -1)[..., list(places)]
