"""Combinations of parameters, and lists of them, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arguments import Array

__all__ = ["combination", "listed"]

_MOST = 12
"""The largest number of names that a list has before it is cut."""


def combination(row: Array, labels: Sequence[str], first: int) -> str:
    """Return a sum of parameters with their factors, beginning with one of them: "a.xx - a.yy + 0.25 b.mass"."""
    words = [labels[first]]
    for k in np.flatnonzero(row).tolist():
        if k == first:
            continue
        size = abs(float(row[k]))
        factor = "" if size == 1.0 else f"{size:.4g} "
        words.append(f"{'-' if row[k] < 0 else '+'} {factor}{labels[k]}")
    return " ".join(words)


def listed(names: Sequence[str]) -> str:
    """Return names in one line, the numbers of each body or joint together: "link1 (mass, mx), joint1 (armature)"."""
    groups: dict[str, list[str]] = {}
    for name in names:
        owner, _, number = name.rpartition(".")
        groups.setdefault(owner, []).append(number)
    lines = [f"{owner} ({', '.join(numbers)})" for owner, numbers in groups.items()]
    more = f", and {len(lines) - _MOST} more" if len(lines) > _MOST else ""
    return (", ".join(lines[:_MOST]) + more) or "none"
