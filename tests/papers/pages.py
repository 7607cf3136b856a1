"""Two versions of a page: whether they say the same, of what every machine should say alike."""

from __future__ import annotations

import re
from itertools import zip_longest

from tests.tolerances import PAGE_COUNTS, PAGE_ERRORS, PAGE_NOTHING, PAGE_NUMBERS

__all__ = ["MEASURED", "differences"]

MEASURED = ("<!-- measured: depends on the machine -->", "<!-- end of what was measured -->")
"""Marks around measured text, which depends on the machine and the day."""
ROUNDING = ("<!-- rounding: depends on it -->", "<!-- end of what depends on rounding -->")
"""Marks around numbers that depend on rounding: on another processor they differ, at about the same size."""

_NUMBER = re.compile(r"(?<![\w.^])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")


def differences(one: str, other: str, *, exact: bool) -> list[str]:
    """The lines that differ. Times do not count; other numbers must be the same if `exact`, or else alike."""
    found = []
    for a, b in zip_longest(_lines(one), _lines(other)):
        if a is None or b is None or not _alike(*a, *b, exact):
            found.append(f"- {a[1] if a else ''}\n+ {b[1] if b else ''}")
    return found


def _lines(text: str) -> list[tuple[str, str]]:
    """The lines, each with the part of the page that it is in: "", "measured" or "rounding"."""
    marks = {MEASURED[0]: "measured", ROUNDING[0]: "rounding", MEASURED[1]: "", ROUNDING[1]: ""}
    found, part = [], ""
    for line in text.splitlines():
        part = marks.get(line, part)
        if line.strip() and not (part and line.startswith("Measured on ")):
            found.append((part, line))
    return found


def _alike(part: str, one: str, other_part: str, other: str, exact: bool) -> bool:
    if part != other_part:
        return False
    if part == "measured":
        if "faster" in one:  # what follows from times is a time
            one, other = one.partition(". ")[0], other.partition(". ")[0]
        return _masked(one) == _masked(other)
    if part == "rounding" and not one.startswith("|"):  # what is said of such numbers is said of their own table
        return _NUMBER.split(one)[0] == _NUMBER.split(other)[0]
    if exact:
        return one == other
    if _masked(one) != _masked(other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(_near(a, b, part == "rounding") for a, b in pairs)


def _masked(line: str) -> str:
    return _NUMBER.sub("#", line)


def _near(one: str, other: str, rounding: bool) -> bool:
    a, b = float(one), float(other)
    low, high = min(a, b), max(a, b)
    if one == other:
        return True
    if "e-" in one or "e-" in other:
        return high < PAGE_NOTHING or high <= PAGE_ERRORS * low
    if rounding or "." in one or "." in other:
        return high <= PAGE_NUMBERS * low
    return high - low <= max(2.0, PAGE_COUNTS * high)
