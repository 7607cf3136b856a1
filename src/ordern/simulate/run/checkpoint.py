"""Checkpoints: a log on disk from which a long run goes on after it was killed.

A file starts with a header that says which run it is of. Each `append` adds one frame: the records that are new since
the last, and the state that the run goes on from. A frame carries its length and a digest, is written in one go and is
forced to the disk before `append` returns; so at any moment the file is whole but for its last frame, and a last frame
that is not whole is cut off when the file is opened again. Nothing in a file is ever executed.

    header   16 bytes of magic, 4 of the key's length, the key, 16 of digest
    frame    8 bytes of magic, 8 of the number of the frame, 8 of the length, 16 of digest of these; then
             the payload and 16 of its digest
    payload  4 bytes of length, a list in JSON of (group, name, dtype, shape), and the arrays one after the other
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError, ModelError
from ...records import dataclass
from .file_lock import lock

__all__ = ["Checkpoint"]

Array = NDArray[Any]

_MAGIC = b"ordern-ckpt-v1\r\n"
_FRAME = b"\xf1frame\r\n"
_HEAD = struct.Struct("<8sQQ")
_DIGEST = 16
_LONGEST_KEY = 4096
_CHUNK = 1 << 20
_MOST = 1 << 62
_DTYPE = re.compile(r"[<>|][biufc][0-9]{1,2}|[<>|][SU][0-9]{1,6}")


@dataclass(frozen=True, slots=True)
class _Part:
    """One array in a frame: whose it is, and where in the file."""

    group: str
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int

    @property
    def size(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(slots=True)
class Checkpoint:
    """An append-only log of one run. Open it with `Checkpoint.open`; it is closed by `close` or as a context.

    >>> import numpy as np, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "run.ckpt")
    >>> with Checkpoint.open(path, key="a run") as log:
    ...     log.append({"t": np.array([0.0, 0.1])}, {"h": np.array(0.1)})
    >>> with Checkpoint.open(path, key="a run") as log:
    ...     records, state = log.load()
    >>> records["t"], float(state["h"])
    (array([0. , 0.1]), 0.1)
    """

    path: Path
    key: str
    _file: BinaryIO
    _end: int = 0
    """Where the next frame goes."""
    _frames: int = 0
    _rows: list[int] = field(default_factory=list)
    """How many records each frame has."""
    _records: list[_Part] = field(default_factory=list)
    """The records of the first frame, which all others are like."""
    _starts: list[int] = field(default_factory=list)
    """Where the arrays of each frame start."""
    _state: list[_Part] = field(default_factory=list)
    """The state in the last frame."""

    @classmethod
    def open(cls, path: str | os.PathLike[str], key: str) -> Checkpoint:
        """The log in this file, made if there is none; locked until it is closed.

        `key` tells which run it is of, and must be the one that the file was made with. A last frame that was not
        written to its end is cut off.
        """
        if not 0 < len(str(key).encode()) <= _LONGEST_KEY:
            raise ArgumentError(f"the key of a checkpoint is a text of 1 to {_LONGEST_KEY} bytes, not {_short(key)}")
        target = Path(path)
        try:
            # opened for reading and writing, made if missing, never emptied
            descriptor = os.open(target, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as e:
            raise ModelError(f"the checkpoint cannot be opened: {e.strerror or e}", str(path)) from None
        file = os.fdopen(descriptor, "r+b", buffering=0)
        try:
            lock(file, str(path))
            log = cls(target, str(key), file)
            log._start()
        except OSError as e:
            file.close()
            raise ModelError(f"the checkpoint cannot be used: {e.strerror or e}", str(path)) from None
        except BaseException:
            file.close()
            raise
        return log

    def __len__(self) -> int:
        """The number of frames: of appends that are on the disk."""
        return self._frames

    @property
    def rows(self) -> int:
        """The number of records in all frames."""
        return sum(self._rows)

    def append(self, records: Mapping[str, Array], state: Mapping[str, Array]) -> None:
        """Add records, and the state that the run goes on from after them; on the disk when this returns.

        All arrays of `records` have the same length, one entry for each record; their names, types and further
        dimensions are the same in every append.
        """
        self._usable()
        groups = {"record": _checked(records, "records"), "state": _checked(state, "state")}
        rows = self._alike(groups["record"])
        manifest = [[g, name, a.dtype.str, list(a.shape)] for g, arrays in groups.items() for name, a in arrays.items()]
        text = json.dumps(manifest, separators=(",", ":")).encode()
        blocks = [struct.pack("<I", len(text)), text]
        blocks += [a.tobytes() for arrays in groups.values() for a in arrays.values()]
        payload = b"".join(blocks)
        head = _HEAD.pack(_FRAME, self._frames, len(payload))
        frame = b"".join((head, _digest(head), payload, _digest(head, payload)))
        self._write(frame)
        at = self._end + _HEAD.size + _DIGEST
        found = _located(manifest, at + 4 + len(text), at + len(payload))
        self._note([p for p in found if p.group == "record"], [p for p in found if p.group == "state"], rows)
        self._end += len(frame)

    def load(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """All records, one array each, and the last state; both empty where nothing was appended."""
        self._usable()
        records = {p.name: np.empty((self.rows, *p.shape[1:]), p.dtype) for p in self._records}
        row = 0
        for start, count in zip(self._starts, self._rows, strict=True):
            at = start
            for p in self._records:
                block = records[p.name][row : row + count]
                self._read_into(block, at)
                at += block.nbytes
            row += count
        state = {}
        for p in self._state:
            array = np.empty(p.shape, p.dtype)
            self._read_into(array, p.start)
            state[p.name] = array
        return records, state

    def remove(self) -> None:
        """Close the log and delete its file: the run is over."""
        self.close()
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Unlock and close the file."""
        self._file.close()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- the header, and what an earlier process left

    def _start(self) -> None:
        """Read what there is; write the header where there is nothing."""
        key = self.key.encode()
        body = _MAGIC + struct.pack("<I", len(key)) + key
        header = body + _digest(body)
        size = os.fstat(self._file.fileno()).st_size
        found = self._read(0, min(size, len(_MAGIC) + 4 + _LONGEST_KEY + _DIGEST))
        if found[: len(_MAGIC)] != _MAGIC[: len(found)]:
            raise ModelError("the file is no checkpoint; it is left as it is: give another name", str(self.path))
        if len(found) < len(_MAGIC) + 4 or len(found) < (whole := self._header_length(found)):
            self._end = 0  # its first write was cut short, so nothing was appended yet
            self._write(header)
            _sync_folder(self.path)
            self._end = len(header)
            return
        if found[whole - _DIGEST : whole] != _digest(found[: whole - _DIGEST]):
            raise ModelError("the header of the checkpoint is damaged; delete the file to begin anew", str(self.path))
        if found[:whole] != header:
            theirs = found[len(_MAGIC) + 4 : whole - _DIGEST].decode(errors="replace")
            raise ModelError(
                f"the checkpoint is of another run: {_difference(theirs, self.key)}. "
                "Continue with the same robot, start, forces, method and settings, or give another file",
                str(self.path),
            )
        self._end = whole
        self._scan(size)

    def _header_length(self, found: bytes) -> int:
        (length,) = struct.unpack_from("<I", found, len(_MAGIC))
        if not 0 < length <= _LONGEST_KEY:
            raise ModelError("the header of the checkpoint is damaged; delete the file to begin anew", str(self.path))
        return len(_MAGIC) + 4 + int(length) + _DIGEST

    def _scan(self, size: int) -> None:
        """Check every frame; cut off a last one that is not whole."""
        while self._end < size:
            length = self._frame_length(size)
            if length is None:
                self._file.truncate(self._end)
                os.fsync(self._file.fileno())
                return
            start = self._end + _HEAD.size + _DIGEST
            (text_length,) = struct.unpack("<I", self._read(start, 4))
            try:
                manifest = json.loads(self._read(start + 4, min(text_length, length - 4)))
                parts = list(_located(manifest, start + 4 + text_length, start + length))
            except (ValueError, TypeError, KeyError, RecursionError):
                raise self._damaged() from None
            records = [p for p in parts if p.group == "record"]
            if len({p.shape[:1] for p in records}) > 1 or any(not p.shape for p in records):
                raise self._damaged()
            if self._records and not _like(records, self._records):
                raise self._damaged()
            rows = records[0].shape[0] if records else 0
            self._note(records, [p for p in parts if p.group == "state"], rows)
            self._end = start + length + _DIGEST

    def _frame_length(self, size: int) -> int | None:
        """The length of the payload of the frame at the end, whose digests are right; None if it was cut short."""
        left = size - self._end
        head = self._read(self._end, min(left, _HEAD.size + _DIGEST))
        if not any(head) and self._zeros(self._end, size):
            return None  # the file grew, but the power went before its contents came
        if len(head) < _HEAD.size + _DIGEST:
            return None
        magic, number, length = _HEAD.unpack(head[: _HEAD.size])
        if head[_HEAD.size :] != _digest(head[: _HEAD.size]) or magic != _FRAME or number != self._frames:
            raise self._damaged()
        end = self._end + _HEAD.size + _DIGEST + length + _DIGEST
        if end > size:
            return None
        if length < 4 or not self._digest_fits(head[: _HEAD.size], end - length - _DIGEST, length):
            if end == size:
                return None
            raise self._damaged()
        return int(length)

    def _damaged(self) -> ModelError:
        return ModelError(
            f"the checkpoint is damaged at byte {self._end}, in frame {self._frames}, which was once whole; "
            "delete the file to begin anew, or take it from a copy",
            str(self.path),
        )

    def _digest_fits(self, head: bytes, start: int, length: int) -> bool:
        h = hashlib.blake2b(head, digest_size=_DIGEST)
        for at in range(start, start + length, _CHUNK):
            h.update(self._read(at, min(_CHUNK, start + length - at)))
        return h.digest() == self._read(start + length, _DIGEST)

    def _zeros(self, start: int, end: int) -> bool:
        return not any(any(self._read(at, min(_CHUNK, end - at))) for at in range(start, end, _CHUNK))

    # ---- frames

    def _note(self, records: list[_Part], state: list[_Part], rows: int) -> None:
        """Remember where a frame's arrays are."""
        if records:
            self._records = self._records or records
            self._starts.append(records[0].start)
            self._rows.append(rows)
        self._state = state
        self._frames += 1

    def _alike(self, records: dict[str, Array]) -> int:
        """The number of records; raise unless they are like those before."""
        lengths = {name: a.shape[:1] for name, a in records.items()}
        if len(set(lengths.values())) > 1 or () in lengths.values():
            shapes = ", ".join(f"{name} {a.shape}" for name, a in records.items())
            raise ArgumentError(f"records have one entry each for every time, but their shapes differ: {shapes}")
        if self._records:
            new = [_Part("record", name, a.dtype, a.shape, 0) for name, a in records.items()]
            if not _like(new, self._records):
                before = ", ".join(f"{p.name} {p.dtype}{list(p.shape[1:])}" for p in self._records)
                now = ", ".join(f"{p.name} {p.dtype}{list(p.shape[1:])}" for p in new)
                raise ArgumentError(f"records must be like those before, in the same order: {before}; not {now}")
        return next(iter(lengths.values()))[0] if lengths else 0

    def _write(self, data: bytes) -> None:
        """Write at the end and force it to the disk, or leave the file as it was."""
        view = memoryview(data)
        try:
            self._file.seek(self._end)
            while view:
                view = view[self._file.write(view) :]
            os.fsync(self._file.fileno())
        except BaseException as e:
            try:
                self._file.truncate(self._end)
            except OSError:
                self._file.close()  # what was half written is cut off when it is next opened
            if isinstance(e, OSError):
                raise ModelError(f"the checkpoint cannot be written: {e.strerror or e}", str(self.path)) from None
            raise

    def _read(self, start: int, count: int) -> bytes:
        data = bytearray(count)
        self._fill(memoryview(data), start)
        return bytes(data)

    def _read_into(self, array: Array, start: int) -> None:
        if array.nbytes:
            self._fill(memoryview(array.reshape(-1).view(np.uint8).data), start)  # contiguous, so no copy

    def _fill(self, view: memoryview, start: int) -> None:
        self._file.seek(start)
        while view:
            got = self._file.readinto(view)  # type: ignore[attr-defined]
            if not got:
                raise ModelError("the checkpoint became shorter while it was read", str(self.path))
            view = view[got:]

    def _usable(self) -> None:
        if self._file.closed:
            raise ArgumentError(f"the checkpoint {self.path} is closed")


def _checked(arrays: Mapping[str, Array], what: str) -> dict[str, Array]:
    found = {}
    for name, value in arrays.items():
        a = np.asarray(value)
        if not _DTYPE.fullmatch(a.dtype.str):
            raise ArgumentError(f"{what}: {name!r} must be an array of numbers or texts, not of {a.dtype}")
        found[str(name)] = a
    return found


def _like(one: list[_Part], other: list[_Part]) -> bool:
    return [(p.name, p.dtype, p.shape[1:]) for p in one] == [(p.name, p.dtype, p.shape[1:]) for p in other]


def _located(manifest: Any, start: int, end: int) -> Iterator[_Part]:
    """The arrays that a manifest tells of, records first; ValueError unless they fill the payload exactly."""
    seen: set[tuple[str, str]] = set()
    groups = ["record", "state"]
    for group, name, dtype, shape in manifest:
        if group not in groups or not isinstance(name, str) or (group, name) in seen or not _DTYPE.fullmatch(dtype):
            raise ValueError(f"{group} {name} {dtype}")
        if group == "state":
            groups = ["state"]
        seen.add((group, name))
        part = _Part(group, name, np.dtype(dtype), tuple(shape), start)
        sizes = all(type(n) is int and n >= 0 for n in shape)
        if not sizes or not part.dtype.itemsize or math.prod(n or 1 for n in shape) > _MOST // part.dtype.itemsize:
            raise ValueError(f"shape {shape}")
        start += part.size
        yield part
    if start != end:
        raise ValueError("the arrays do not fill the frame")


def _digest(*blocks: bytes) -> bytes:
    h = hashlib.blake2b(digest_size=_DIGEST)
    for block in blocks:
        h.update(block)
    return h.digest()


def _short(key: str) -> str:
    return repr(key if len(key) <= 40 else f"{key[:36]}...")


def _sync_folder(path: Path) -> None:
    """Force a new file's entry in its folder to the disk, where that can be asked for."""
    if os.name != "posix":
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    except OSError:
        pass  # some file systems cannot
    finally:
        os.close(folder)


def _difference(theirs: str, ours: str) -> str:
    """In which parts two keys of the form "name part=value part=value" differ; of others, what they are."""
    parts = [dict(word.split("=", 1) for word in key.split() if "=" in word) for key in (theirs, ours)]
    names = [name for name, value in parts[0].items() if parts[1].get(name) != value]
    if not names or parts[0].keys() != parts[1].keys():
        return f"its key is {_short(theirs)}, that of this run {_short(ours)}"
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{listed} {'differs' if len(names) == 1 else 'differ'}"
