"""Outputs of commands: files, whose names are checked before long work is done; JSON; notes."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..io.writing import UnwritableError
from .standard import named, report_stream
from .terminal import to_json
from .values import UsageError

__all__ = [
    "MOTIONS",
    "PAGES",
    "PICTURES",
    "RECORDINGS",
    "TABLES",
    "check_folder",
    "check_output",
    "check_view",
    "dump",
    "note",
    "noted",
    "show",
]

MOTIONS = (".npz", ".csv", ".parquet")
TABLES = (".csv", ".json", ".npz", ".parquet")
"""Formats from which motions, states and forces are read."""
RECORDINGS = (".rrd", ".mcap")
"""Motions for other viewers; they are not read."""
PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm")
_NEEDS = {
    **dict.fromkeys(PICTURES, ("a picture", "matplotlib", "plot")),
    **dict.fromkeys(PAGES, ("a page", "viser", "view")),
    ".parquet": ("a Parquet file", "pyarrow", "data"),
    ".rrd": ("a recording for Rerun", "rerun", "rerun"),
    ".mcap": ("a recording for Foxglove", "mcap", "mcap"),
}
"""The kind of file, the package that it needs, and the extra that installs the package, by suffix."""


def check_output(path: str | None, suffixes: Iterable[str]) -> None:
    """Raise now if a file cannot be written later: its suffix, its folder, rights, what writing it needs."""
    if path is None:
        return
    target, known = Path(path), tuple(suffixes)
    if target.suffix.lower() not in known:
        raise UsageError(f"the name must end in one of {', '.join(known)}, which selects the format", path)
    check_folder(path)
    what, package, extra = _NEEDS.get(target.suffix.lower(), ("", "", ""))
    if package and find_spec(package) is None:
        raise UnwritableError(f"{what} needs {package}: pip install 'ordern[{extra}]'", path)


def check_view(path: str | None) -> None:
    """Raise now if a page, a picture of a robot or a film cannot be written later."""
    from ..view.films import FILMS, STILLS, require_encoder

    if path is not None and Path(path).suffix.lower() in (*STILLS, *FILMS):
        check_folder(path)
        require_encoder(Path(path).suffix.lower())
    else:
        check_output(path, PAGES)


def check_folder(path: str) -> None:
    """Raise now if a file cannot be written later, whatever its suffix."""
    target = Path(path)
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise UnwritableError(f"the file cannot be written: there is no folder {str(folder)!r}", path)
    if target.is_dir() or not os.access(folder, os.W_OK):
        why = "it is a folder" if target.is_dir() else f"no right to write to {str(folder)!r}"
        raise UnwritableError(f"the file cannot be written: {why}", path)


def show(args: argparse.Namespace, data: Any, lines: Iterable[str], notes: Iterable[str] = ()) -> None:
    """Print the result of a command, as JSON or as text with the names of written files; then notes."""
    if args.json:
        print(dump(data))
    else:
        options = () if getattr(args, "dry_run", False) else ("out", "plot", "save")
        files = (getattr(args, option, None) for option in options)
        written = (f"written: {path}" for path in files if path and path != "-" and named(str(path)) == str(path))
        print("\n".join([*lines, *written]), file=report_stream())
    for text in notes:
        note(text)


def dump(data: Any) -> str:
    """Return JSON of numbers, arrays and texts; numbers that are not finite are null."""
    from ..simulate.results.formats.header import plain

    return to_json(plain(data, lambda x: None), indent=2)


@contextlib.contextmanager
def noted() -> Iterator[list[warnings.WarningMessage]]:
    """Print warnings about a robot as notes, afterwards."""
    from ..io.warnings import ModelWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        yield caught
    for warning in caught:
        note(str(warning.message))


def note(text: str) -> None:
    """Print a note to standard error."""
    print(f"ordern: note: {named(text)}", file=sys.stderr)
