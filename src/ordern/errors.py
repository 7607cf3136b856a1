"""Everything that ordern raises on purpose.

One base class, few children. A message says what was given, what was expected and what to do about it,
with the names of bodies and joints, and the file and line where a file is to blame.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

__all__ = [
    "ArgumentError",
    "CompileError",
    "InconsistentStateError",
    "LoopError",
    "ModelError",
    "OrdernError",
    "SingularError",
    "TraceError",
    "UnknownNameError",
    "unknown_name",
]


class OrdernError(Exception):
    """Base class of every error that ordern raises on purpose."""


class ModelError(OrdernError, ValueError):
    """A robot description that cannot be a robot, or cannot be used for what was asked."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where


class LoopError(ModelError):
    """A loop that cannot be closed, or motions of loops that cannot be driven."""


class ArgumentError(OrdernError, ValueError):
    """An argument of the wrong shape, type or value."""


class InconsistentStateError(ArgumentError, LoopError):
    """A state that a closed mechanism cannot have: loops or contacts are open, or velocities open them."""


class SingularError(ArgumentError):
    """A position in which the answer does not exist, because a frame cannot move in all six ways."""

    def __init__(self, message: str, rank: int = 0, directions: Any = (), index: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.rank = rank
        """In how many ways it can move."""
        self.directions = directions
        """An array (6 - rank, 6) of directions, (angular, linear), in which it cannot."""
        self.index = index
        """Which state of the batch it is; empty for a single one."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.rank, self.directions, self.index)


class UnknownNameError(OrdernError, LookupError):
    """A body, joint, frame or method that does not exist; the message lists those that do."""


class TraceError(OrdernError, TypeError):
    """An algorithm or joint did something that cannot be traced, such as branching on a value."""


class CompileError(OrdernError, RuntimeError):
    """Machine code could not be made or loaded."""


def unknown_name(kind: str, name: object, known: Iterable[str], owner: str = "", hint: str = "") -> UnknownNameError:
    """The error for a name that does not exist, with the likely spelling or a hint first and then all names."""
    names = list(known)
    folded = {n.lower(): n for n in reversed(names)}
    close = get_close_matches(str(name), names, n=1) or [
        folded[n] for n in get_close_matches(str(name).lower(), folded, n=1)
    ]
    if hint:
        hint = f" {hint}."
    elif close:
        hint = f" Did you mean {close[0]!r}?"
    listed = ", ".join(names[:40]) + (f", ... ({len(names)} in all)" if len(names) > 40 else "")
    of = f" in {owner}" if owner else ""
    return UnknownNameError(f"unknown {kind} {name!r}{of}.{hint} Known: {listed or 'none'}.")
