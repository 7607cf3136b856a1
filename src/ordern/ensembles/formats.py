"""Formats of results: which store writes a path that a user gives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..arguments import choice
from ..errors import ArgumentError
from .lerobot_store import LeRobot
from .parquet_store import Parquet
from .stores import Memory, Store
from .zarr_store import Zarr

__all__ = ["FORMATS", "store_of"]

FORMATS = ("zarr", "parquet", "lerobot", "csv")


def store_of(out: Any, format: str | None, task: str | None) -> tuple[Store, Path | None]:
    """Return the store for a path, and the path of a CSV file that is written from memory in the end."""
    if format is not None:
        choice("format", format, FORMATS, "Ensemble.run")
    if not isinstance(out, (str, os.PathLike, type(None))):
        raise ArgumentError(f"Ensemble.run: `out` must be the name of a file or folder, not {out!r}")
    path = Path("" if out is None else out)
    kind = format if format is not None else path.suffix.removeprefix(".")
    if task is not None and kind != "lerobot":
        raise ArgumentError("Ensemble.run: `task` describes the episodes of format='lerobot'; give that format too")
    if out is None:
        if format is not None:
            raise ArgumentError(f"Ensemble.run: format={format!r} needs `out`")
        return Memory(), None
    if not path.absolute().parent.is_dir():
        raise ArgumentError(f"Ensemble.run: the folder {path.absolute().parent} of `out` does not exist")
    if kind == "csv":
        return Memory(), path
    if kind == "lerobot":
        return LeRobot(path, task), None
    if kind not in FORMATS:
        raise ArgumentError(
            f"Ensemble.run: {str(path)!r} has no known ending; give a name that ends in .zarr, .parquet or .csv, "
            "or `format`"
        )
    return (Zarr if kind == "zarr" else Parquet)(path), None
