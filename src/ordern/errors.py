"""The exceptions of ordern.

One base class, few children. A message says what was given, what was expected and what to do, with the names of bodies
and joints, and with file and line if the mistake is in a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

__all__ = [
    "ArgumentError",
    "CompileError",
    "ConvergenceError",
    "GpuError",
    "InconsistentStateError",
    "LoopError",
    "ModelError",
    "OrdernError",
    "SingularError",
    "TraceError",
    "UnknownNameError",
    "close_names",
    "did_you_mean",
    "unknown_name",
]


class OrdernError(Exception):
    """Base class of every error that ordern raises on purpose."""


class ModelError(OrdernError, ValueError):
    """A description that is not a valid robot, or a robot that does not support the operation."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where


class LoopError(ModelError):
    """A loop that cannot be closed, or a motion of loops that the motors cannot cause."""


class ArgumentError(OrdernError, ValueError):
    """An argument of the wrong shape, type or value."""


class InconsistentStateError(ArgumentError, LoopError):
    """An impossible state of a closed mechanism: loops or contacts are open, or velocities open them."""


class SingularError(ArgumentError):
    """A position without a solution: a frame cannot move in all six directions, or constraints change their rank."""

    def __init__(self, message: str, rank: int = 0, directions: Any = (), index: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.rank = rank
        """The number of independent directions of motion."""
        self.directions = directions
        """An array (6 - rank, 6) of the directions, (angular, linear), in which the frame cannot move."""
        self.index = index
        """The index of the state in the batch; empty for a single state."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.rank, self.directions, self.index)


class ConvergenceError(OrdernError, ArithmeticError):
    """An iteration that ended before it reached its tolerance."""


class UnknownNameError(OrdernError, LookupError):
    """A body, joint, frame or method that does not exist; the message lists the existing ones."""


class TraceError(OrdernError, TypeError):
    """An operation of an algorithm or joint that cannot be traced, such as a branch on a value."""


class CompileError(OrdernError, RuntimeError):
    """Machine code could not be made or loaded."""


class GpuError(OrdernError, RuntimeError):
    """There is no usable GPU, or its driver refuses: too little memory, an old driver, a failed launch."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code
        """The number of the driver's error; 0 if the driver was not asked."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.code)


def unknown_name(kind: str, name: object, known: Iterable[str], owner: str = "", hint: str = "") -> UnknownNameError:
    """Return the error for a name that does not exist: a hint or the closest name first, then all known names."""
    names = tuple(known)
    close = close_names(str(name), names) or _longer_names(str(name), names)
    hint = f" {hint}." if hint else f" Did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(names[:40]) + (f", ... ({len(names)} in all)" if len(names) > 40 else "")
    of = f" in {owner}" if owner else ""
    return UnknownNameError(f"unknown {kind} {name!r}{of}.{hint} Known: {listed or 'none'}.")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" with the known name closest to this one; empty if no name is close."""
    close = close_names(name, tuple(known))
    return f"; did you mean {close[0]!r}?" if close else ""


def close_names(name: str, known: tuple[str, ...], n: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return the known names most like this one, at most n, the closest first; without regard to case if need be.

    The result is that of `difflib.get_close_matches`, which is slow and therefore sees only the names that have enough
    letters in common: a file may have a hundred thousand unknown names. `cutoff` is the least likeness, from 0 to 1.
    """
    found = _close_names(name, known, n, cutoff)
    folded = _folded(known)
    if found or (name == name.lower() and folded.keys() == set(known)):
        return found
    return [folded[k] for k in _close_names(name.lower(), tuple(folded), n, cutoff)]


def _longer_names(name: str, known: tuple[str, ...]) -> list[str]:
    """Return the known names that begin with this one, or else those that contain it; the shortest first."""
    part = name.lower()
    if len(part) < 2:
        return []
    longer = sorted((k for k in known if part in k.lower()), key=len)
    return [k for k in longer if k.lower().startswith(part)] or longer


@lru_cache(maxsize=64)
def _folded(known: tuple[str, ...]) -> dict[str, str]:
    """Return the known names by their names in lower case."""
    return {k.lower(): k for k in reversed(known)}


def _close_names(name: str, known: tuple[str, ...], n: int, cutoff: float) -> list[str]:
    letters = frozenset(name)
    near = []
    for other, own in _of_length(known, len(name), cutoff):
        common = min(len(name) - len(letters - own), len(other) - len(own - letters))
        if 2 * common >= cutoff * (len(name) + len(other)):
            near.append(other)
    if not near:
        return []
    import difflib

    return difflib.get_close_matches(name, near, n, cutoff)


@lru_cache(maxsize=4096)
def _of_length(known: tuple[str, ...], length: int, cutoff: float) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the known names whose length is close enough to this one, each with its letters."""
    return tuple(
        (name, frozenset(name)) for name in known if 2 * min(len(name), length) >= cutoff * (len(name) + length)
    )
