"""Names and numbers from the attributes of XML elements; errors say what was found and what is expected."""

from __future__ import annotations

import math

from ..errors import ModelError
from .xml import Element

__all__ = ["number", "required", "vector"]


def required(element: Element, attribute: str, what: str = "") -> str:
    """An attribute that must be there and not be empty. `what` is the part of the robot, for messages."""
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
    """An attribute that is one number; without a default it must be there. `infinite` allows inf and -inf."""
    if default is not None and attribute not in element.attributes:
        return default
    text = required(element, attribute, what)
    if infinite and text.strip().lower() in _INFINITE:
        return float(text)
    (x,) = _floats(element, attribute, text, 1, what)
    return x


def vector(
    element: Element, attribute: str, n: int, what: str, default: tuple[float, ...] | None = None
) -> tuple[float, ...]:
    """An attribute that is n numbers separated by spaces; without a default it must be there."""
    if default is not None and attribute not in element.attributes:
        return default
    return _floats(element, attribute, required(element, attribute, what), n, what)


_INFINITE = ("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity")


def _floats(element: Element, attribute: str, text: str, n: int, what: str) -> tuple[float, ...]:
    words = text.split()
    try:
        numbers = tuple(map(float, words))
    except ValueError:
        numbers = ()
    # Python reads 1_000 and the digits of every script; other programs do not.
    if len(numbers) != n or not all(map(math.isfinite, numbers)) or "_" in text or not text.isascii():
        expected = "a finite number" if n == 1 else f"{n} finite numbers separated by spaces"
        hint = " (this looks like a xacro template: run xacro on it first)" if "${" in text or "$(" in text else ""
        raise ModelError(
            f'{_of(what)}<{element.tag}> has {attribute}="{_clip(text)}"; expected {expected}{hint}',
            element.where,
        )
    return numbers


def _of(what: str) -> str:
    return f"{what}: " if what else ""


def _clip(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
