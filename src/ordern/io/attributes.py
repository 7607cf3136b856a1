"""Names, words, numbers and inertias from XML elements; errors say what was found and what is expected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from ..errors import unknown_name
from ..model import Placement
from .xml import Element

__all__ = [
    "bound",
    "flag",
    "found",
    "from_quaternion",
    "keyword",
    "number",
    "parsed",
    "required",
    "rotated",
    "unquoted",
    "vector",
]

T = TypeVar("T")
Numbers = tuple[float, ...]
_UNTURNED = Placement().rotation


def required(element: Element, attribute: str, what: str = "") -> str:
    """Return an attribute that must be there and not be empty. `what` is the part of the robot, for messages."""
    value = element.attributes.get(attribute)
    if not value or value.isspace():
        fault = f"has no {attribute}" if value is None else f"has an empty {attribute}"
        raise element.error(f'{_of(what)}<{element.tag}> {fault}; expected <{element.tag} {attribute}="...">')
    return value


def number(
    element: Element, attribute: str, what: str, default: float | None = None, *, infinite: bool = False
) -> float:
    """Return an attribute that is one number. Without a default it must be there. `infinite` allows inf and -inf."""
    if default is not None and attribute not in element.attributes:
        return default
    return vector(element, attribute, 1, what, infinite=infinite)[0]


def vector(
    element: Element, attribute: str, n: int | range, what: str, default: Numbers | None = None, infinite: bool = False
) -> Numbers:
    """Return an attribute that is n numbers separated by spaces. Without a default it must be there."""
    if default is not None and attribute not in element.attributes:
        return default
    text = required(element, attribute, what)
    try:
        return parsed(text, (n,) if isinstance(n, int) else n, infinite=infinite)
    except ValueError as e:
        hint = " (this looks like a xacro template: run xacro on it first)" if "${" in text or "$(" in text else ""
        raise element.error(f'{_of(what)}<{element.tag}> has {attribute}="{_clipped(text)}"; {e}{hint}') from None


def parsed(text: str, counts: Sequence[int], *, infinite: bool = False) -> tuple[float, ...]:
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
    if tuple(counts) == (1,):
        raise ValueError("expected a finite number")
    many = f"{counts[0]} to {counts[-1]}" if len(counts) > 2 else " or ".join(map(str, counts))
    raise ValueError(f"expected {many} finite numbers separated by spaces")


def unquoted(text: str) -> float | None:
    """Return a number that has stray quotes around it, as typing errors leave them; None for any other text."""
    bare = text.strip(" \t\r\n\"'")
    if bare == text.strip():
        return None
    try:
        return parsed(bare, (1,), infinite=True)[0]
    except ValueError:
        return None


def keyword(element: Element, attribute: str, choices: Iterable[str], default: str, what: str) -> str:
    """Return an attribute that is one of a few words."""
    value = element.attributes.get(attribute, default)
    if value not in (known := tuple(choices)):
        raise element.error(f"{what}: {unknown_name(attribute, value, known, f'<{element.tag}>')}")
    return value


def flag(element: Element, attribute: str, default: bool, what: str) -> bool:
    """Return whether an attribute is "true", rather than "false"."""
    return keyword(element, attribute, ("false", "true"), str(default).lower(), what) == "true"


def found(kind: str, name: str, table: Mapping[str, T], element: Element, what: str = "") -> T:
    """Return the entry of a table; an unknown name is an error."""
    if name not in table:
        raise element.error(f"{_of(what)}{unknown_name(kind, name, table)}")
    return table[name]


def bound(x: float, most: float = 1e300) -> float:
    """Return a limit. Programs that cannot read `inf` write a huge number for it."""
    return math.copysign(math.inf, x) if abs(x) >= most else x


def from_quaternion(quaternion: Sequence[float], position: Sequence[float]) -> Placement:
    """Return the placement of a quaternion (w, x, y, z), of any length but zero, and a position.

    In plain Python, which for one rotation is ten times as fast as arrays.
    """
    n = math.hypot(*quaternion)
    w, x, y, z = (a / n for a in quaternion)
    rotation = (
        *(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        *(2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        *(2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )
    return Placement(rotation, tuple(position))


def rotated(six: tuple[float, ...], at: Placement) -> tuple[float, ...]:
    """Return an inertia (xx, yy, zz, xy, xz, yz) in the axes in which its own axes are placed."""
    if at.rotation == _UNTURNED:
        return six
    xx, yy, zz, xy, xz, yz = six
    with np.errstate(over="ignore", invalid="ignore"):  # the builder refuses what is not finite
        I = at.R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ at.R.T
    return (*I.diagonal().tolist(), float(I[0, 1]), float(I[0, 2]), float(I[1, 2]))


def _of(what: str) -> str:
    return f"{what}: " if what else ""


def _clipped(text: str) -> str:
    """Return a text for a message, at most 80 characters of it."""
    return text if len(text) <= 80 else text[:77] + "..."
