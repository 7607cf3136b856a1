"""Compiled code on disk, so that the second process does not compile again.

An entry is checked before LLVM sees a byte of it: a damaged object does not fail to load, it crashes or computes wrong
numbers. Entries that are damaged, of another version, or in a directory that others can write to are ignored and
made anew. Nothing here ever raises: without a usable directory there is no cache.

`ORDERN_CACHE_DIR` moves the directory, `ORDERN_CACHE=off` turns the cache off, `ORDERN_CACHE_MB` bounds its size.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ...records import dataclass

__all__ = [
    "CODE_FIELDS",
    "Entry",
    "cache_directory",
    "cache_key",
    "clear",
    "entries",
    "limit",
    "read",
    "source_digest",
    "usable",
    "write",
]

_MAGIC = b"ordern kernel 1\n"
_DIGEST = hashlib.sha256().digest_size
_SUFFIX = ".kernel"
_USUAL_MB = 256.0
_ROOM = 0.9
"""The part of the limit that a cache keeps after it was full."""
_taken: dict[str, float] = {}
"""Bytes of all entries in a directory, as far as this process knows."""
_MOST = 1 << 29
"""Bytes of the largest entry: no code is as long."""
_OBJECT_FILES = (b"\x7fELF", b"\xcf\xfa\xed\xfe")
"""The first bytes of the object files that LLVM makes here: ELF, and Mach-O on macOS."""


def cache_directory() -> Path | None:
    """Return the directory of the entries; None if the cache is turned off or there is no home directory."""
    if os.environ.get("ORDERN_CACHE", "").lower() in ("off", "0", "no", "false"):
        return None
    try:
        given = os.environ.get("ORDERN_CACHE_DIR")
        if given:
            return Path(given).expanduser()
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "ordern" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ordern"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "ordern"


def cache_key(parts: Any) -> str:
    """Return the name of an entry: a digest of everything that the code depends on."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()


@cache
def source_digest() -> str | None:
    """Return a digest of the library's sources, which decide what code they compile to; None if they cannot be seen.

    It has their location, and the size and time of each file, by which Python itself decides whether bytecode is stale.
    """
    package = Path(__file__).absolute().parents[2]
    try:
        return cache_key([str(package), sorted(_stamps(str(package)))])
    except OSError:
        return None  # in an archive, for one


def _stamps(folder: str) -> Iterator[tuple[str, int, int]]:
    """Yield path, size and time of all modules in a folder and below."""
    with os.scandir(folder) as found:
        for entry in found:
            if entry.name.endswith(".py") and not entry.name.startswith("."):  # editors leave links to nowhere
                about = entry.stat()
                yield entry.path, about.st_size, about.st_mtime_ns
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _stamps(entry.path)


def read(key: str, expected: Mapping[str, Callable[[Any], bool]]) -> tuple[dict[str, Any], bytes] | None:
    """Return the entry's description and code, if there is a sound one.

    Its description must have the `expected` fields, each with a value that the field's test accepts.
    """
    directory = _usable(create=False)
    if directory is None:
        return None
    path = directory / (key + _SUFFIX)
    try:
        content = path.read_bytes() if _is_file(path) else b""
    except OSError:
        return None
    head = len(_MAGIC) + _DIGEST
    body = content[head:]
    if content[: len(_MAGIC)] != _MAGIC or hashlib.sha256(body).digest() != content[len(_MAGIC) : head]:
        return None
    length = int.from_bytes(body[:8], "little")
    try:
        meta = json.loads(body[8 : 8 + length])
    except (ValueError, RecursionError):
        return None
    code = body[8 + length :]
    if not isinstance(meta, dict) or meta.get("key") != key or not code.startswith(_OBJECT_FILES):
        return None
    if not all(name in meta and fits(meta[name]) for name, fits in expected.items()):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # recently used entries are kept longest
    return meta, code


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**40


CODE_FIELDS: dict[str, Callable[[Any], bool]] = {
    "workspace": _is_count,
    "operations": _is_count,
    "lanes": lambda value: type(value) is int and value in (1, 2, 4, 8, 16),
    "freedoms": lambda value: type(value) is bool,
}
"""The fields that all code has in the cache, beside the object, each with the test that a stored value must pass."""


def _is_file(path: Path) -> bool:
    """Return True if a path is a plain file of a size that an entry can have: others may never end."""
    about = path.stat()
    return stat.S_ISREG(about.st_mode) and about.st_size <= _MOST


def write(key: str, meta: dict[str, Any], code: bytes) -> None:
    """Store an entry: complete or not at all."""
    import tempfile  # not needed by those who only read

    directory = _usable(create=True)
    if directory is None:
        return
    described = json.dumps({**meta, "key": key}).encode()
    body = len(described).to_bytes(8, "little") + described + code
    with contextlib.suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=directory, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as f:
                f.write(_MAGIC + hashlib.sha256(body).digest() + body)
            os.replace(temporary, directory / (key + _SUFFIX))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        where = str(directory)
        _taken[where] = _taken.get(where, math.inf) + len(body)
        if _taken[where] > limit():
            _taken[where] = _trim(directory)


def clear() -> int:
    """Remove all entries; return how many there were."""
    directory = _usable(create=False)
    if directory is None:
        return 0
    removed = 0
    for path in directory.glob("*" + _SUFFIX):
        with contextlib.suppress(OSError):
            path.unlink()
            removed += 1
    return removed


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored entry: a question about a robot, and the bytes on disk."""

    robot: str
    question: str
    size: int


def entries() -> list[Entry]:
    """Return all entries that can be read."""
    found = []
    directory = _usable(create=False)
    for path in sorted(directory.glob("*" + _SUFFIX)) if directory else ():
        try:
            if not _is_file(path):
                continue
            with path.open("rb") as file:
                file.seek(len(_MAGIC) + _DIGEST)
                meta = json.loads(file.read(min(int.from_bytes(file.read(8), "little"), 100_000)))
            found.append(Entry(str(meta.get("robot", "")), str(meta.get("question", "")), path.stat().st_size))
        except (OSError, ValueError, AttributeError, RecursionError):
            continue  # damaged, or removed by another process meanwhile
    return found


def usable() -> bool:
    """Return True if the directory exists, belongs to this user, and only this user can write to it."""
    return _usable(create=False) is not None


def limit() -> float:
    """Return the limit of all entries together, in bytes."""
    try:
        megabytes = float(os.environ.get("ORDERN_CACHE_MB", _USUAL_MB))
    except ValueError:
        megabytes = math.nan
    return 1e6 * (_USUAL_MB if math.isnan(megabytes) else megabytes)


def _usable(create: bool) -> Path | None:
    """Return the directory if it belongs to this user and is private."""
    directory = cache_directory()
    if directory is None:
        return None
    try:
        if create:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = directory.stat()
    except OSError:
        return None
    if not stat.S_ISDIR(info.st_mode):
        return None
    if hasattr(os, "getuid") and (info.st_uid != os.getuid() or info.st_mode & 0o022):
        return None
    return directory


def _trim(directory: Path) -> int:
    """If entries take too much, remove the least recently used ones until there is some room; return the bytes left.

    To look through thousands of entries takes a tenth of a second, so this is not done after every write.
    """
    entries = []
    with os.scandir(directory) as files:  # there may be thousands: a scan is much faster than a look at each path
        for file in files:
            with contextlib.suppress(OSError):
                if file.name.endswith(_SUFFIX):
                    info = file.stat()
                    entries.append((info.st_mtime, info.st_size, file.path))
                elif file.name.endswith(".part") and time.time() - file.stat().st_mtime > 3600.0:
                    os.unlink(file.path)  # left by a process that was killed while it wrote
    total = sum(size for _, size, _ in entries)
    enough = limit() if total <= limit() else _ROOM * limit()
    for _, size, path in sorted(entries):
        if total <= enough:
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
            total -= size
    return total
