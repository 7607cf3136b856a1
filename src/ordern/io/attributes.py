"""Names, numbers and inertias from XML elements; errors say what was found and what is expected."""

from __future__ import annotations

import math

import numpy as np

from ..errors import ModelError
from ..model import Placement
from .xml import Element

__all__ = ["bound", "clipped", "number", "parsed", "required", "turned_inertia", "vector"]

_UNTURNED = Placement().rotation


def required(element: Element, attribute: str, what: str = "") -> str:
    """Return an attribute that must be there and not be empty. `what` is the part of the robot, for messages."""
    value = element.attributes.get(attribute)
    if not value or value.isspace():
        fault = f"has no {attribute}" if value is None else f"has an empty {attribute}"
        raise ModelError(
            f'{_of(what)}<{element.tag}> {fault}; expected <{element.tag} {attribute}="...">', element.where
        )
    return value


def number(
    element: Element, attribute: str, what: str, default: float | None = None, *, infinite: bool = False
) -> float:
    """Return an attribute that is one number. Without a default it must be there. `infinite` allows inf and -inf."""
    if default is not None and attribute not in element.attributes:
        return default
    text = required(element, attribute, what)
    (x,) = _floats(element, attribute, text, 1, what, infinite=infinite)
    return x


def vector(
    element: Element, attribute: str, n: int, what: str, default: tuple[float, ...] | None = None
) -> tuple[float, ...]:
    """Return an attribute that is n numbers separated by spaces. Without a default it must be there."""
    if default is not None and attribute not in element.attributes:
        return default
    return _floats(element, attribute, required(element, attribute, what), n, what)


def _floats(
    element: Element, attribute: str, text: str, n: int, what: str, *, infinite: bool = False
) -> tuple[float, ...]:
    try:
        return parsed(text, (n,), infinite=infinite)
    except ValueError as e:
        hint = " (this looks like a xacro template: run xacro on it first)" if "${" in text or "$(" in text else ""
        raise ModelError(
            f'{_of(what)}<{element.tag}> has {attribute}="{clipped(text)}"; {e}{hint}', element.where
        ) from None


def parsed(text: str, counts: tuple[int, ...], *, infinite: bool = False) -> tuple[float, ...]:
    """Return the numbers in a text, as many as one of `counts`; ValueError, with what was expected, for other texts."""
    try:
        numbers = tuple(map(float, text.split()))
    except ValueError:
        numbers = ()
    # Python reads 1_000 and the digits of every script; other programs do not.
    if len(numbers) in counts and "_" not in text and text.isascii():
        if all(map(math.isfinite, numbers)):
            return numbers
        if infinite and "inf" in text.lower() and not any(map(math.isnan, numbers)):  # 1e400 is a mistake
            return numbers
    many = f"{' or '.join(map(str, counts))} finite numbers separated by spaces"
    raise ValueError(f"expected {'a finite number' if counts == (1,) else many}")


def bound(x: float) -> float:
    """Return a limit. Programs that cannot read `inf` write a huge number for it."""
    return math.copysign(math.inf, x) if abs(x) >= 1e300 else x


def turned_inertia(six: tuple[float, ...], at: Placement) -> tuple[float, ...]:
    """Return an inertia (xx, yy, zz, xy, xz, yz) in the axes in which its own axes are placed."""
    if at.rotation == _UNTURNED:
        return six
    xx, yy, zz, xy, xz, yz = six
    with np.errstate(over="ignore", invalid="ignore"):  # the builder refuses what is not finite
        I = at.R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ at.R.T
    return (*I.diagonal().tolist(), float(I[0, 1]), float(I[0, 2]), float(I[1, 2]))


def _of(what: str) -> str:
    return f"{what}: " if what else ""


def clipped(text: str) -> str:
    """Return a text for a message, at most 80 characters of it."""
    return text if len(text) <= 80 else text[:77] + "..."
