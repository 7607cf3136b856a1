"""Motions in files: NPZ, CSV, Parquet. Every number is kept to its last bit, and reading executes nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import numpy as np

from ....errors import ArgumentError, ModelError
from ....io.writing import replacing
from ....memory import machine_memory
from .header import Stored, header, restored

if TYPE_CHECKING:
    from ....robot import Robot
    from ..result import Result

__all__ = ["SUFFIXES", "load_result", "save"]

R = TypeVar("R", bound="Robot")

SUFFIXES = {".npz": "npz", ".csv": "comma", ".parquet": "parquet"}
"""The module of each format, with `write(result, header, file)` and `read(file, size) -> Stored`."""
_TIMES = 4
"""A file may be this many times larger than memory: numbers take fewer bytes in memory than as text."""


RECORDINGS = (".rrd", ".mcap")
"""Recordings for other viewers (`ordern.view.recordings`), which are written and not read."""


def _format(path: str | os.PathLike[str], more: tuple[str, ...] = ()) -> Any:
    suffix = Path(path).suffix.lower()
    if suffix in RECORDINGS:
        raise ArgumentError(
            f"{os.fspath(path)}: {suffix} files are for other viewers, and are not read; save the motion as .npz too"
        )
    if suffix not in SUFFIXES:
        raise ArgumentError(
            f"{os.fspath(path)}: cannot tell the format of a motion from the suffix {suffix!r}; expected "
            f"{', '.join((*SUFFIXES, *more))}"
        )
    return import_module(f".{SUFFIXES[suffix]}", __name__)


def save(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a motion to a file, in the format of its suffix; an existing file is replaced in one step or stays."""
    if Path(path).suffix.lower() in RECORDINGS:
        import_module("ordern.view.recordings").save_recording(result, path)
        return
    write: Callable[[Result, dict[str, Any], BinaryIO], None] = _format(path, RECORDINGS).write
    about = header(result)
    with replacing(path) as file:
        write(result, about, file)


def _opened(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file: a pipe or a device may have no end, or keep its reader waiting."""
    try:
        file: BinaryIO = open(path, "rb", opener=_at_once)  # noqa: SIM115
    except IsADirectoryError:
        raise ModelError("this is a directory; give the file itself") from None
    except ValueError as e:  # a NUL in the name
        raise ModelError(f"{os.fspath(path)!r:.80} cannot be the name of a file: {e}") from None
    about = os.fstat(file.fileno())
    if stat.S_ISREG(about.st_mode) and about.st_size:
        return file
    file.close()
    raise ModelError("the file is empty" if stat.S_ISREG(about.st_mode) else "this is not a regular file")


def _at_once(path: str, flags: int) -> int:
    """Open a file; do not wait for the writer of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def load_result(path: str | os.PathLike[str], robot: R | None, cls: type[R]) -> Result:
    """Return the motion in a file, with the given robot or with the one in the file (made as a `cls`)."""
    read: Callable[[BinaryIO, int], Stored] = _format(path).read
    where = os.fspath(path)
    try:
        with _opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > _TIMES * machine_memory():
                raise ModelError(f"the file has {size:,} bytes, which do not fit into the memory of this machine")
            stored = read(file, size)
        with np.errstate(all="ignore"):
            return restored(stored, robot, cls, where)
    except OSError as e:
        raise ModelError(f"the file cannot be read: {e.strerror or e}", where) from None
    except MemoryError:
        raise ModelError("the file does not fit into memory", where) from None
    except ModelError as e:
        raise e if e.where else ModelError(str(e), where) from None
