"""The launches of a program on arrays: for each step its memory, as the parameters of its kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...arguments import AnyArray
from ...records import dataclass
from ..ptx.array_kernels import Shape, shape_of, views_of
from .program import Apply, Copy, Program, View

__all__ = ["Launch", "constants_of", "launches"]


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel: its step and shape, its parameters, and the number of its threads."""

    step: Apply | Copy
    shape: Shape
    parameters: tuple[int, ...]
    elements: int


def constants_of(program: Program, dtype: str) -> list[AnyArray]:
    """Return the arrays that must be in the memory of the device: constants as tables, then lists of rows."""
    tables = [np.ascontiguousarray(x.T, dtype) for x in program.constants.values()]
    return [*tables, *_lists(program).values()]


def _lists(program: Program) -> dict[int, AnyArray]:
    """Return the lists of rows, each once, by their identity."""
    found: dict[int, AnyArray] = {}
    for step in program.steps:
        for view in views_of(step):
            if view.rows.places is not None:
                found[id(view.rows.places)] = view.rows.places
    return found


def launches(
    program: Program, itemsize: int, states: int, memory: int, constants: Sequence[int]
) -> tuple[list[Launch], Callable[[int], int]]:
    """Return what to do, in order, and a function that gives the address of a table by its number.

    `memory` is the address of `places()[1] * states` numbers, `constants` has the addresses of `constants_of`.
    """
    starts, _ = program.places()
    fixed = dict(zip(program.constants, constants, strict=False))
    lists = dict(zip(_lists(program), constants[len(fixed) :], strict=True))

    def address(number: int) -> int:
        return fixed[number] if number in fixed else memory + starts[number] * states * itemsize

    def parameters(view: View) -> tuple[int, ...]:
        rows, table = view.rows, view.table
        scale, by_state = (states, 1) if table.batched else (1, 0)
        step = 0 if rows.count == 1 else rows.step * scale
        step = step if rows.places is None else lists[id(rows.places)]
        return address(table.number), table.rows * scale, rows.first * scale, step, scale, by_state

    found: list[Launch] = []
    for step in program.steps:
        count = step.count if isinstance(step, Apply) else step.target.rows.count
        given = tuple(x for view in views_of(step) for x in parameters(view))
        elements = count * states
        words = (0, 0, 0, 0, elements, *given, count, states)
        found.append(Launch(step, shape_of(step, states > 1), words, elements))
    return found, address
