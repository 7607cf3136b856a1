"""Outputs of commands: files, whose names are checked before long work is done; JSON; notes."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..io.writing import UnwritableError
from .terminal import to_json
from .values import UsageError

__all__ = ["MOTIONS", "PAGES", "PICTURES", "check_output", "dump", "note"]

MOTIONS = (".npz", ".csv", ".parquet")
PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm")
_NEEDS = {
    **dict.fromkeys(PICTURES, ("a picture", "matplotlib", "plot")),
    **dict.fromkeys(PAGES, ("a page", "viser", "view")),
    ".parquet": ("a Parquet file", "pyarrow", "data"),
}
"""The kind of file, the package that it needs, and the extra that installs the package, by suffix."""


def check_output(path: str | None, suffixes: Iterable[str]) -> None:
    """Raise now if a file cannot be written later: its suffix, its folder, rights, what writing it needs."""
    if path is None:
        return
    target, known = Path(path), tuple(suffixes)
    if target.suffix.lower() not in known:
        raise UsageError(f"the name must end in one of {', '.join(known)}, which selects the format", path)
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise UnwritableError(f"the file cannot be written: there is no folder {str(folder)!r}", path)
    if target.is_dir() or not os.access(folder, os.W_OK):
        why = "it is a folder" if target.is_dir() else f"no right to write to {str(folder)!r}"
        raise UnwritableError(f"the file cannot be written: {why}", path)
    what, package, extra = _NEEDS.get(target.suffix.lower(), ("", "", ""))
    if package and find_spec(package) is None:
        raise UnwritableError(f"{what} needs {package}: pip install 'ordern[{extra}]'", path)


def dump(data: Any) -> str:
    """Return JSON of numbers, arrays and texts; numbers that are not finite are null."""
    return to_json(_plain(data), indent=2)


def _plain(x: Any) -> Any:
    if isinstance(x, Mapping):
        return {str(name): _plain(y) for name, y in x.items()}
    if hasattr(x, "tolist"):
        return _plain(x.tolist())
    if isinstance(x, (tuple, list)):
        return [_plain(y) for y in x]
    return None if isinstance(x, float) and not math.isfinite(x) else x


def note(text: str) -> None:
    """Print a note to standard error."""
    print(f"ordern: note: {text}", file=sys.stderr)
