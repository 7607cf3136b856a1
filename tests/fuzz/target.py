"""What fuzzing tries: a description becomes a robot, or an error that ordern raises on purpose."""

from __future__ import annotations

import ast
import warnings
from contextlib import suppress
from pathlib import Path

from ordern import Robot
from ordern.check import check
from ordern.errors import ModelError, OrdernError
from ordern.io import load_builder
from ordern.io.dh import dh_builder
from ordern.model import ModelBuilder

__all__ = ["attempt"]


def attempt(source: str | Path, format: str = "") -> bool:
    """Whether it is a robot; anything raised but ordern's own errors is a defect.

    A robot must also build with a floating base and unmerged, and be checked, whatever its numbers.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            builder = _table(source) if format == "dh" else load_builder(source)
            model = builder.build()
        except OrdernError:
            return False
        for options in ({"floating": True}, {"merge": False}):
            with suppress(ModelError):  # there may be no finite mass when the root moves too
                builder.build(**options)
        robot = Robot.of(model)
        assert robot.neutral().shape == (robot.nq,)
        assert robot.random(0).shape == (robot.nq,)
        str(check(robot))
        return True


def _table(source: str | Path) -> ModelBuilder:
    """A Denavit-Hartenberg table, from a Python literal: a dictionary of the arguments of `dh_builder`."""
    text = source.read_bytes().decode("latin-1") if isinstance(source, Path) else source
    try:
        arguments = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ModelError("not a literal") from None
    if not isinstance(arguments, dict) or not all(isinstance(k, str) for k in arguments):
        raise ModelError("not a dictionary")
    known = {"rows", "convention", "degrees", "columns", "inertia_at", "name", "gravity"}
    return dh_builder(arguments.get("rows", ()), **{k: v for k, v in arguments.items() if k in known - {"rows"}})
