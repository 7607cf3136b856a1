"""Motions as recordings for other viewers: .rrd for Rerun, .mcap for Foxglove and other readers of MCAP."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ...io.warnings import warn
from ...io.writing import replacing

if TYPE_CHECKING:
    from ...simulate.results.result import Result

__all__ = ["FORMATS", "save_recording"]

FORMATS = {".rrd": "rerun_file", ".mcap": "mcap_file"}
"""The module of each format, with `require()` and `write(recording, file)`."""


def save_recording(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a motion with its robot as a recording, in the format of the suffix, whole or not at all."""
    from .recording import Recording

    module = import_module(f".{FORMATS[Path(path).suffix.lower()]}", __name__)
    module.require()  # before anything is computed
    recording = Recording(result)
    if recording.warning:
        warn(recording.warning)
    with replacing(path) as file:
        module.write(recording, file)
