"""Sources of robots: a file, or a text that is given in place of its name."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from ..errors import ModelError, OrdernError, close_names
from ..records import dataclass
from .xml import MAX_BYTES

__all__ = ["MissingFileError", "Source", "UnreadableError", "inside", "open_source", "require_regular", "unreadable"]

_BLANK = "\ufeff \t\r\n"


class UnreadableError(ModelError):
    """A source that cannot be read at all: no file, a directory, no permission."""


@contextmanager
def unreadable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what another library raises while it reads a file into our error: damaged files make it raise anything."""
    try:
        yield
    except OrdernError:
        raise
    except Exception as e:
        why = str(e).strip().partition("\n")[0][:200] or type(e).__name__
        raise UnreadableError(f"the file cannot be read: {why}", os.fspath(path)) from None


def require_regular(path: str | os.PathLike[str]) -> None:
    """Raise if a file is a pipe or a device: it may have no end, or keep its reader waiting."""
    try:
        kind = os.stat(path).st_mode
    except (OSError, ValueError):  # the reader reports it
        return
    if not stat.S_ISREG(kind):
        raise UnreadableError("this is not a regular file", os.fspath(path))


class MissingFileError(UnreadableError, FileNotFoundError):
    """A file that does not exist; also a `FileNotFoundError`."""

    def __init__(self, message: str, filename: str = "") -> None:
        super().__init__(message)
        self.errno = errno.ENOENT
        self.filename = filename

    def __str__(self) -> str:  # not OSError's, which would be "[Errno 2] ..."
        return str(self.args[0])

    def __reduce__(self) -> tuple[type[MissingFileError], tuple[str, str]]:
        return type(self), (str(self), self.filename)


@dataclass(frozen=True, slots=True)
class Source:
    """The contents of a file, with its name as it was given; or text, with the name `<string>`."""

    name: str
    data: bytes | str
    suffix: str = ""
    """In lower case, with its dot; empty for text."""


def open_source(source: str | os.PathLike[str], suffixes: Iterable[str] = (), unread: Container[str] = ()) -> Source:
    """Read a file, whole; or take a string that starts with `<` as the text itself.

    `suffixes` are the suffixes of suitable files, for hints in errors. Files whose suffix is in `unread` must exist,
    but are left to another library to read, whatever their size; their data are empty.
    """
    if isinstance(source, str) and len(source) > MAX_BYTES:
        raise ModelError(f"the text has {len(source):,} characters; at most {MAX_BYTES:,} are read", "<string>")
    if isinstance(source, str) and source.lstrip(_BLANK).startswith("<"):
        return Source("<string>", _text(source))
    if not isinstance(source, (str, os.PathLike)):
        raise UnreadableError(f"a robot is loaded from the path of a file or from XML text, not from {source!r:.80}")
    path = _expanded(Path(source))
    name = str(source)
    if not name.strip():
        raise UnreadableError("the name of the file is empty")
    try:
        kind = path.stat()
        if stat.S_ISDIR(kind.st_mode):
            raise UnreadableError(f"this is a directory; give the file itself{_choice(path, suffixes, 'it')}", name)
        if not stat.S_ISREG(kind.st_mode):
            raise UnreadableError("this is not a regular file", name)
        if path.suffix.lower() in unread:
            return Source(str(path), b"", path.suffix.lower())
        if kind.st_size > MAX_BYTES:
            raise ModelError(f"the file has {kind.st_size:,} bytes; at most {MAX_BYTES:,} are read", name)
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise MissingFileError(_missing(path, name, suffixes), name) from None
    except OSError as e:
        raise UnreadableError(f"the file cannot be read: {e.strerror or e}", f"{name:.200}") from None
    except ModelError:
        raise
    except ValueError as e:  # a NUL in the name
        raise UnreadableError(f"{name!r:.80} cannot be the name of a file: {e}") from None
    if not data.strip():
        raise ModelError("the file is empty", name)
    return Source(name, data, path.suffix.lower())


def _text(text: str) -> str:
    """Return a text without a byte order mark and XML declaration; its lines keep their numbers."""
    declaration, end, rest = text.partition("?>")
    if end and declaration.lstrip(_BLANK).startswith("<?xml"):
        return "\n" * declaration.count("\n") + rest  # it says nothing of a text that is decoded already
    return text.lstrip("\ufeff")


def _expanded(path: Path) -> Path:
    """Expand ~ to the home directory, as shells do, unless there is a folder of this name."""
    try:
        return path if path.exists() else path.expanduser()
    except (OSError, RuntimeError, ValueError):
        return path


def inside(path: Path, folder: Path) -> bool:
    """Return whether a path leads into a folder, links followed."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a NUL, or a circle of links
        return False


def _missing(path: Path, name: str, suffixes: Iterable[str]) -> str:
    folder = path.parent
    if not folder.is_dir():
        hint = f"; the directory {str(folder)!r} does not exist either"
    else:
        close = close_names(path.name, tuple(_names(folder)))
        called = "this folder" if folder == Path() else f"the folder {str(folder)!r}"
        hint = f"; did you mean {str(folder / close[0])!r}?" if close else _choice(folder, suffixes, called)
    return f"there is no file {name!r}{hint}"


def _choice(folder: Path, suffixes: Iterable[str], called: str) -> str:
    """List the files of a directory that could be meant."""
    wanted = tuple(suffixes)
    found = sorted(n for n in _names(folder) if n.lower().endswith(wanted)) if wanted else []
    return f"; {called} has {', '.join(found[:5])}{', ...' if len(found) > 5 else ''}" if found else ""


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, 1000)]
    except OSError:
        return []
