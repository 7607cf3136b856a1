"""Changes of numbers by name: what users give for some bodies or joints, as arrays for all of them.

A change is a number or an array for all, a dictionary by name, or a function of the present numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Array, broadcast_shapes, real
from ..errors import ArgumentError
from ..records import dataclass

__all__ = ["Change", "Places", "Rows", "changed", "in_one_piece", "moment_numbers", "upper_numbers", "value_of"]

Value = ArrayLike | Callable[[Array], ArrayLike]
Change = Value | Mapping[Any, Value]
Places = Mapping[str, int | slice]
"""The row, or the rows, of each name."""
_UPPER = np.triu_indices(6)


@dataclass(frozen=True, slots=True)
class Rows:
    """New numbers (..., N, *tail), and for each of the N rows whether it was given."""

    numbers: Array
    given: NDArray[np.bool_]


def changed(
    what: str, change: Change, now: Array, tail: tuple[int, ...], places: Places,
    read: Callable[[Array, str], Array] | None = None,
) -> Rows:  # fmt: skip
    """Return numbers (..., N, *tail) that a change makes of the present ones.

    All names of the change are among `places`. `read` turns other forms of the numbers into `tail`, such as matrices.
    """
    count = now.shape[now.ndim - 1 - len(tail)]

    def numbers(value: Value, present: Array, core: tuple[int, ...], name: str) -> Array:
        found = real(value_of(value, present, name), name, (..., *core))
        return found if read is None else read(found, name)

    if not isinstance(change, Mapping):
        core = (count, *tail)
        found = numbers(change, now, core, what)
        shape = _broadcast(found.shape, core)
        if shape is None:
            raise ArgumentError(
                f"{what} has shape {found.shape}, which does not broadcast to (..., {', '.join(map(str, core))}): give "
                "one for all, one for each, or a dictionary by name"
            )
        return Rows(np.broadcast_to(found, shape), np.ones(count, bool))
    pieces, given = [], np.zeros(count, bool)
    for name, value in change.items():
        at, label = places[_name(name)], f"{what} of {_name(name)!r}"
        rows = (..., at, *(slice(None),) * len(tail))
        core = tail if isinstance(at, int) else (at.stop - at.start,)
        found = numbers(value, now[rows], core, label)
        if found.shape[max(found.ndim - len(core), 0) :] != core:
            if found.ndim or isinstance(at, int):
                raise ArgumentError(f"{label} has shape {found.shape}; expected (..., {', '.join(map(str, core))})")
            found = np.broadcast_to(found, core)
        pieces.append((rows, found, len(core)))
        given[at] = True
    return Rows(in_one_piece(what, now, pieces, 1 + len(tail), [repr(_name(x)) for x in change]), given)


def value_of(value: Any, present: Array, what: str) -> Any:
    """Return what users give for numbers; of a function, what it makes of the present ones."""
    if not callable(value):
        return value
    found = value(present)
    if found is None:
        raise ArgumentError(f"{what}: the function returned None; it must return the new numbers")
    return found


def in_one_piece(
    what: str, now: Array, pieces: list[tuple[Any, Array, int]], rank: int, names: Sequence[str] = ()
) -> Array:
    """Return the present numbers with new ones in places: each an index, numbers, and how many dimensions one has.

    An error tells the `names` of pieces.
    """
    shapes = [now.shape[: now.ndim - rank], *(x.shape[: x.ndim - n] for _, x, n in pieces)]
    leading = broadcast_shapes(what, *shapes, names=names)
    found = np.array(np.broadcast_to(now, leading + now.shape[now.ndim - rank :]))
    for rows, numbers, _ in pieces:
        found[rows] = numbers
    return found


def _name(key: Any) -> str:
    """Return the name of a body, joint or link, or of a link itself."""
    return str(getattr(key, "name", key))


def _broadcast(shape: tuple[int, ...], core: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the shape of numbers that broadcast to (..., *core); None if they do not."""
    try:
        found = np.broadcast_shapes(shape, core)
    except ValueError:
        return None
    return found if found[len(found) - len(core) :] == core else None


def moment_numbers(given: Array, what: str) -> Array:
    """Return moments of inertia (..., 6) from these or from symmetric matrices (..., 3, 3)."""
    if given.shape[-2:] != (3, 3):
        return given
    _require_symmetric(given, what)
    return given[..., (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]


def upper_numbers(given: Array, what: str) -> Array:
    """Return the 21 numbers of added inertias from these or from symmetric matrices (..., 6, 6)."""
    if given.shape[-2:] != (6, 6):
        return given
    _require_symmetric(given, what)
    return given[..., _UPPER[0], _UPPER[1]]


def _require_symmetric(M: Array, what: str) -> None:
    off = np.abs(M - M.swapaxes(-1, -2)).max(initial=0.0)
    if off > 1e-9 * np.abs(M).max(initial=0.0):
        raise ArgumentError(f"{what}: the matrix must be symmetric; entries across its diagonal differ by {off:.3g}")
