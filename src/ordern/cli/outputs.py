"""What commands write: files, whose names are checked before long work is done, JSON, and notes."""

from __future__ import annotations

import argparse
import math
import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..io.writing import UnwritableError
from .source import given, loops_argument
from .terminal import to_json
from .values import UsageError

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["MOTIONS", "PAGES", "PICTURES", "bundled", "check_output", "dump", "loaded", "note", "robot_argument"]

MOTIONS = (".npz", ".csv", ".parquet")
PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm")
_NEEDS = {
    **dict.fromkeys(PICTURES, ("a picture", "matplotlib", "plot")),
    **dict.fromkeys(PAGES, ("a page", "viser", "view")),
    ".parquet": ("a Parquet file", "pyarrow", "data"),
}
"""What formats need besides this library: the package, and the extra that brings it."""


def robot_argument(parser: argparse.ArgumentParser) -> None:
    """The robot, whether it floats, and its loops."""
    parser.add_argument("robot", metavar="FILE|NAME", help="robot description, name of a bundled robot, or - for stdin")
    parser.add_argument("--floating", action="store_true", help="let the root float")
    loops_argument(parser)


def loaded(args: argparse.Namespace) -> Robot:
    """The robot that the arguments name; what was noticed while reading is told by `ordern check`."""
    from .. import load

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load(given(args.robot), floating=args.floating, loops=args.loops)


def bundled(args: argparse.Namespace) -> str:
    """The name of the robot, if its named positions are those of what was loaded."""
    return "" if args.floating else str(args.robot)


def check_output(path: str | None, suffixes: Iterable[str]) -> None:
    """Raise now if a file cannot be written later: its suffix, its folder, rights, what writing it needs."""
    if path is None:
        return
    target, known = Path(path), tuple(suffixes)
    if target.suffix.lower() not in known:
        raise UsageError(f"the name must end in one of {', '.join(known)}, which tells the format", path)
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
    """JSON of numbers, arrays and texts; numbers that are not finite are null."""
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
    """Something to know, on standard error."""
    print(f"ordern: note: {text}", file=sys.stderr)
