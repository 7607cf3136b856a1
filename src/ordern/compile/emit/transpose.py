"""Square blocks of numbers, transposed: from a vector of states for each number to a vector of numbers for each state.

Vectors of more than 128 bits consist of pieces of so many; numbers are moved more easily within pieces than between.
"""

from __future__ import annotations

from collections.abc import Sequence

from .builder import Value
from .nodes import TextEmitter

__all__ = ["transpose", "transposed"]


def transpose(e: TextEmitter, rows: list[str]) -> list[str]:
    """Transpose a block in registers."""
    return _interleaved(e, rows, e.target.lanes)


def transposed(e: TextEmitter, at: Sequence[Value]) -> list[str]:
    """Load and transpose the block whose vectors are at these addresses.

    Halves of vectors are loaded into their final places, at no cost, which saves half of the moves between pieces.
    """
    lanes = e.target.lanes
    piece = min(lanes, 16 // e.target.itemsize)
    if lanes // piece not in (2, 4):
        return transpose(e, [e.load(p) for p in at])
    found: list[str] = []
    for start in (0, lanes // 2):
        groups = [
            _interleaved(e, [_halves(e, at[k], at[k + piece], start) for k in range(first, first + piece)], piece)
            for first in range(0, lanes, 2 * piece)
        ]
        found += groups[0] if len(groups) == 1 else _sorted_out(e, groups[0], groups[1], piece)
    return found


def _interleaved(e: TextEmitter, rows: list[str], piece: int) -> list[str]:
    """Transpose the pieces of rows, as many rows as a piece has numbers, by interleaving rows k and k + piece/2."""
    lanes, half = e.target.lanes, piece // 2
    low = [k for start in range(0, lanes, piece) for n in range(start, start + half) for k in (n, n + lanes)]
    high = [k + half for k in low]
    for _ in range(piece.bit_length() - 1):
        rows = [e.shuffle(a, b, pick) for a, b in zip(rows[:half], rows[half:], strict=True) for pick in (low, high)]
    return rows


def _sorted_out(e: TextEmitter, first: list[str], second: list[str], piece: int) -> list[str]:
    """Separate vectors whose pieces belong to two columns by turns into the vectors of each column."""
    even = [start + k for start in range(0, 2 * e.target.lanes, 2 * piece) for k in range(piece)]
    odd = [k + piece for k in even]
    return [e.shuffle(a, b, pick) for pick in (even, odd) for a, b in zip(first, second, strict=True)]


def _halves(e: TextEmitter, a: Value, b: Value, start: int) -> str:
    """Load a vector from the halves, beginning with number `start`, of the vectors at a and b."""
    lanes, half = e.target.lanes, f"<{e.target.lanes // 2} x {e.target.element}>"
    addresses = (p.at(start, e.target.element) for p in (a, b))
    loaded = [e.value(f"load {half}, ptr {at}, align {e.align // 2}") for at in addresses]
    order = ", ".join(f"i32 {k}" for k in range(lanes))
    return e.value(f"shufflevector {half} {loaded[0]}, {half} {loaded[1]}, <{lanes} x i32> <{order}>")
