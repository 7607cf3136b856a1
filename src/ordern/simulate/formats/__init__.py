"""Motions in files: NPZ, CSV, Parquet. Every number is kept to its last bit, and reading executes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import numpy as np

from ...errors import ArgumentError, ModelError
from ...io.writing import UnwritableError, replacing
from .header import Stored, header, restored

if TYPE_CHECKING:
    from ...robot import Robot
    from ..result import Result

__all__ = ["SUFFIXES", "load_result", "save"]

R = TypeVar("R", bound="Robot")

SUFFIXES = {".npz": "npz", ".csv": "comma", ".parquet": "parquet"}
"""By suffix: the module of the format, which has `write(result, header, file)` and `read(file, size) -> Stored`."""


def _format(path: str | os.PathLike[str]) -> Any:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ArgumentError(
            f"{os.fspath(path)}: cannot tell the format of a motion from the suffix {suffix!r}; expected "
            f"{', '.join(SUFFIXES)}"
        )
    return import_module(f".{SUFFIXES[suffix]}", __name__)


def save(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a motion to a file, in the format of its suffix; an existing file is replaced in one step or stays."""
    write: Callable[[Result, dict[str, Any], BinaryIO], None] = _format(path).write
    about = header(result)
    try:
        with replacing(path) as file:
            write(result, about, file)
    except OSError as e:
        raise UnwritableError(f"the file cannot be written: {e.strerror or e}", os.fspath(path)) from None


def load_result(path: str | os.PathLike[str], robot: R | None, cls: type[R]) -> Result:
    """The motion in a file, of the robot in the file (made as a `cls`) or of the one that is given."""
    read: Callable[[BinaryIO, int], Stored] = _format(path).read
    where = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            stored = read(file, os.fstat(file.fileno()).st_size)
        with np.errstate(all="ignore"):
            return restored(stored, robot, cls, where)
    except OSError as e:
        raise ModelError(f"the file cannot be read: {e.strerror or e}", where) from None
    except MemoryError:
        raise ModelError("the file does not fit into memory", where) from None
    except ModelError as e:
        raise e if e.where else ModelError(str(e), where) from None
