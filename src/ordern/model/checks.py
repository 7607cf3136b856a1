"""Checks of numbers and names that a builder is given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, ModelError, UnknownNameError

if TYPE_CHECKING:
    from .model import Model

__all__ = [
    "Numbers",
    "are_coefficients",
    "inertia_numbers",
    "located",
    "name_of",
    "numbers",
    "require_closed_forms",
    "require_limits",
    "require_no_contacts",
    "require_one_set",
    "some",
    "vector",
]

Numbers = float | Sequence[float] | None
"""One number for all coordinates, one for each, or None for the default."""


class located:
    """Add the place in a file to errors that are raised inside: `with located(where):`."""

    __slots__ = ("where",)

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Raise a model error again with the place, unless it has one."""
        if isinstance(error, (ModelError, UnknownNameError)) and not getattr(error, "where", ""):
            raise ModelError(str(error), self.where) from None


def require_limits(what: str, lower: Sequence[float], upper: Sequence[float]) -> None:
    """Raise if a lower limit is above its upper limit."""
    for low, high in zip(lower, upper, strict=True):
        if low > high:
            raise ModelError(f"{what}: its lower limit {low:g} is above its upper limit {high:g}")


def require_no_contacts(model: Model, what: str) -> None:
    """Raise if a model has contacts, for functions that would ignore them in a motion."""
    if model.contacts is not None:
        raise ArgumentError(
            f"{what}: {model.name!r} has contacts, which only robot.rollout, robot.simulate and robot.contact_step "
            "solve for; robot.without_contacts() is the same robot without them"
        )


def require_closed_forms(model: Model, what: str) -> None:
    """Raise if a contact of a model is one of whole convex shapes, for functions that are compiled."""
    name = next((c.name for c in model.contacts.pairs if c.convex), None) if model.contacts is not None else None
    if name is not None:
        raise ArgumentError(
            f"{what}: contact {name!r} of {model.name!r} is one of convex shapes (convex=True), which only "
            'simulate(contacts="compliant") handles'
        )


def require_one_set(model: Model, what: str) -> None:
    """Raise if a model has sets of parameters, for functions that take one robot."""
    if model.batch_shape:
        raise ArgumentError(
            f"{what}: {model.name!r} has sets of parameters, of the leading shape {model.batch_shape}; choose one with "
            "`robot.folded(index)`"
        )


def vector(x: Any, n: int, what: str) -> tuple[float, ...]:
    """Return n finite numbers."""
    try:
        a = tuple([float(v) for v in x])
    except (TypeError, ValueError, OverflowError):
        a = ()
    if len(a) != n or not all(map(math.isfinite, a)):
        raise ModelError(f"{what} must be {n} finite numbers, not {x!r}")
    return a


def inertia_numbers(x: Any, what: str) -> tuple[float, ...]:
    """Return (xx, yy, zz, xy, xz, yz) from 3 principal values, these 6 values, or a symmetric matrix."""
    try:
        a = np.array(x, float)
    except (TypeError, ValueError, OverflowError):
        a = np.array(np.nan)
    six = a.ravel().tolist()
    if a.shape == (3,):
        six += [0.0, 0.0, 0.0]
    elif a.shape == (3, 3):
        xx, xy, xz, yx, yy, yz, zx, zy, zz = six
        rounding = 1e-9 * max(map(abs, six))
        symmetric = max(abs(xy - yx), abs(xz - zx), abs(yz - zy)) <= rounding
        six = [xx, yy, zz, xy, xz, yz] if symmetric else []
    if len(six) != 6 or a.shape not in ((3,), (6,), (3, 3)) or not all(map(math.isfinite, six)):
        raise ModelError(
            f"{what}: inertia must be 3 principal values, 6 values (xx, yy, zz, xy, xz, yz) or a symmetric 3x3 "
            f"matrix, all finite, not {x!r}"
        )
    return tuple(six)


def numbers(x: Numbers, n: int, default: float, what: str) -> tuple[float, ...]:
    """Return n numbers, from one number for all, one for each, or None."""
    if x is None:
        return (default,) * n
    try:
        a = tuple([float(v) for v in x]) if np.ndim(x) else (float(x),) * n  # type: ignore[union-attr,arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} must be {_one_or(n)}, not {x!r}") from None
    if len(a) != n:
        raise ModelError(f"{what} must be {_one_or(n)}, not {len(a)}")
    if any(map(math.isnan, a)):
        raise ModelError(f"{what} is not a number")
    return a


def _one_or(n: int) -> str:
    return "one number" if n == 1 else f"one number or {n}"


def are_coefficients(x: tuple[float, ...]) -> bool:
    """Return True if numbers are finite and not below zero."""
    return min(x, default=0.0) >= 0.0 and math.inf not in x


def name_of(name: object, what: str) -> str:
    """Return a name; raise if it is not a non-empty string."""
    if not isinstance(name, str) or not name:
        article = "an" if what[0] in "aeiou" else "a"
        raise ModelError(f"{article} {what}'s name must be a non-empty string, not {name!r}")
    return name


def some(names: list[str]) -> str:
    """Return the first few of a list of names, for messages."""
    return ", ".join(repr(n) for n in names[:5]) + (", ..." if len(names) > 5 else "")
