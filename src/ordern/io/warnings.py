"""Warnings about a robot's description: it loads, but its author should know something."""

from __future__ import annotations

import sys
import warnings

from ..model import Model

__all__ = ["ModelWarning", "warn", "warn_of"]

_PACKAGE = __name__.partition(".")[0]


class ModelWarning(UserWarning):
    """A robot description that loads, but perhaps not as its author meant it."""


def warn(message: str, category: type[Warning] = ModelWarning) -> None:
    """Issue a warning that points at the line of the user's code that called the library."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def warn_of(model: Model) -> None:
    """Issue one warning with the notes of the loader, if there are any but quiet ones."""
    shown = [str(note) for note in model.notes if not note.quiet]
    if shown:
        warn("\n  ".join([f"{model.name}: noticed while reading (see also robot.notes and robot.check()):", *shown]))
