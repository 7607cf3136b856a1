"""Spatial values as trees of scalars: taken apart into scalars, and put together again.

Fields store scalars; algorithms speak of motions, forces and inertias. Any frozen dataclass whose fields are
scalars, tuples or such dataclasses again can cross. Python ints, strings and None are structure, not scalars.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Protocol, TypeVar

from ..graph import Scalar

__all__ = ["FixedSize", "Real", "leaves", "rebuild"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class FixedSize(Protocol[T_co]):
    """A class of values that all have the same number of scalars, and a zero; or an object that stands for one."""

    def zero(self) -> T_co:
        """Return the neutral element of addition."""


class Real:
    """The class of plain scalars, as the type of a field."""

    @classmethod
    def zero(cls) -> float:
        """Return the number 0."""
        return 0.0


@cache
def _names(cls: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls))


def leaves(x: Any) -> list[Scalar]:
    """Return the scalars of a value, in order."""
    if isinstance(x, tuple):
        return [s for y in x for s in leaves(y)]
    if isinstance(x, (int, str)) or x is None:
        return []
    if is_dataclass(x) and not isinstance(x, type):
        return [s for name in _names(type(x)) for s in leaves(getattr(x, name))]
    return [x]


def rebuild(like: T, scalars: Iterator[Scalar]) -> T:
    """Return a value of the same structure as `like`, with other scalars."""
    if isinstance(like, tuple):
        return type(like)(rebuild(y, scalars) for y in like)
    if isinstance(like, (int, str)) or like is None:
        return like
    if is_dataclass(like) and not isinstance(like, type):
        return type(like)(*(rebuild(getattr(like, name), scalars) for name in _names(type(like))))
    return next(scalars)  # type: ignore[no-any-return]
