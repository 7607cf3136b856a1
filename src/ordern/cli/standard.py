"""Standard input and output in the place of files: `-` as the value of an option.

A file stands in for them while a command runs: what came from standard input, or what goes to standard output
afterwards. Messages name the stream, not that file.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ..io.source import UnreadableError

__all__ = ["named", "read_text", "report_stream", "stand_ins"]

_READ = ("motion", "states", "tau_file", "follow", "loops")
"""Options whose files are read."""
_WRITTEN = {"out": ".csv", "plot": ".png", "save": ".html"}
"""Options whose files are written, and the format on standard output."""
_OWN = {("plot", "out"): ".png", ("rollout", "out"): ".npz"}
"""Other formats, by command and option."""
_THEMSELVES = ("c", "convert", "papers")
"""Commands that write to standard output themselves."""
_STARTS = {b"PK": ".npz", b"PAR1": ".parquet", b"{": ".json", b"[": ".json"}
"""The first bytes of formats; all else is CSV."""


class _State:
    """The use of standard streams by the command that runs."""

    reader = ""
    """The purpose that standard input was read for."""
    writer = ""
    """The option whose file goes to standard output."""
    folder = ""


def named(text: str) -> str:
    """Return a message with the names of streams in the place of those of files."""
    if not _State.folder:
        return text
    for name in ("stdin", "stdout"):
        for suffix in {*_STARTS.values(), *_WRITTEN.values(), *_OWN.values(), ".csv"}:
            text = text.replace(str(Path(_State.folder) / f"{name}{suffix}"), f"<{name}>")
    return text


def report_stream() -> TextIO:
    """Return the stream for reports: standard error if standard output has a file."""
    return sys.stderr if _State.writer else sys.stdout


def read_text(what: str) -> str:
    """Return standard input as text; `what` it is read for."""
    try:
        return _taken(what).decode("utf-8")
    except UnicodeDecodeError as e:
        raise UnreadableError(f"standard input is not in UTF-8: {e.reason} at byte {e.start}") from None


def _taken(what: str) -> bytes:
    from .values import UsageError

    if _State.reader:
        raise UsageError(f"standard input (-) is given for {_State.reader} and for {what}: give a file for one of them")
    _State.reader = what
    return sys.stdin.buffer.read()


@contextmanager
def stand_ins(args: argparse.Namespace) -> Iterator[None]:
    """Let files stand in for streams while a command runs, and print its file at the end."""
    _State.reader = _State.writer = _State.folder = ""
    if "-" not in map(str, vars(args).values()):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="ordern-") as folder:
        written = _prepared(args, Path(folder))
        yield
        if written is not None and written.exists():
            sys.stdout.flush()
            with written.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()


def _prepared(args: argparse.Namespace, folder: Path) -> Path | None:
    """Put files in the place of `-`; return the one that goes to standard output."""
    from .values import UsageError

    given = vars(args)
    command = given.get("command", "")
    reading = [option for option in (*_READ, *(["file"] if command == "plot" else [])) if given.get(option) == "-"]
    if reading:
        _State.folder = str(folder)
    for option in reading:
        name = "FILE" if option == "file" else f"--{option.replace('_', '-')}"
        data = _taken(name)
        if not data.strip():
            raise UnreadableError(f"{name}: standard input is empty")
        suffix = next((x for start, x in _STARTS.items() if data.lstrip().startswith(start)), ".csv")
        given[option] = str(folder / f"stdin{suffix}")
        Path(given[option]).write_bytes(data)
    if command == "plot" and "file" in reading and given.get("out") is None:
        raise UsageError("a motion from standard input has no name for its picture: give --out")
    options = [] if command in _THEMSELVES else [option for option in _WRITTEN if given.get(option) == "-"]
    if not options:
        return None
    if len(options) > 1 or given.get("json"):
        both = " and ".join([*(f"--{option}" for option in options), *(["--json"] if given.get("json") else [])][:2])
        raise UsageError(f"{both} both go to standard output: give the name of a file")
    suffix = _OWN.get((command, options[0]), _WRITTEN[options[0]])
    if suffix in (".npz", ".png") and sys.stdout.isatty():
        raise UsageError(f"--{options[0]} - prints a {suffix} file, which is no text for a terminal: send it to a file")
    _State.writer, _State.folder = options[0], str(folder)
    given[options[0]] = str(folder / f"stdout{suffix}")
    return Path(given[options[0]])
