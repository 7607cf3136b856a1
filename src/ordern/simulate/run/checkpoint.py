"""Checkpoints: a file from which a killed run continues, bit for bit as if it had not stopped.

The file is an SQLite database. An append is one transaction: after a kill, the next process finds all of it or nothing.
While a run is going on, and after a kill, the newest transactions are in a second file whose name ends in `-wal`; the
next run moves them into the first. SQLite also locks the file while a run uses it. A digest over all contents finds
damage that SQLite does not see.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from ...arguments import AnyArray
from ...errors import ArgumentError, ModelError
from ...records import dataclass

try:
    import sqlite3
except ImportError:
    raise ArgumentError("a checkpoint needs the module sqlite3, but this Python was built without it") from None

__all__ = ["Block", "Checkpoint"]

Block = tuple[str, Sequence[AnyArray]]
"""Arrays that belong together, and their kind."""

_APPLICATION = 0x6F72646E
"""Marks a database as a checkpoint of this library."""
_TABLES = (
    "CREATE TABLE run (key TEXT, appends INTEGER, blocks BLOB, digest BLOB)",
    "CREATE TABLE block (number INTEGER PRIMARY KEY, head TEXT, data BLOB)",
    "CREATE TABLE state (number INTEGER PRIMARY KEY, head TEXT, data BLOB)",
)
_LONGEST = 1 << 28
"""Bytes in one row; the rest of a longer block follows in rows without a head. SQLite itself allows 10^9."""
_EARLIER = b"ordern-ckpt-v1\r\n"
"""The first bytes of checkpoints before they were databases."""
_OUTDATED = (
    "the checkpoint was written by an earlier version of ordern, in a format that is no longer read; "
    "finish the run with that version, or delete the file to begin anew"
)
_FOREIGN = "the file is not a checkpoint and was left as it is; give another name"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The saved part of one run. Open it with `Checkpoint.open`; `close` it, or use it as a context.

    >>> import numpy as np, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "run.ckpt")
    >>> with Checkpoint.open(path, key="a run") as saved:
    ...     saved.append([("rows", [np.array([0.0, 0.1])])], {"h": np.array(0.1)})
    >>> with Checkpoint.open(path, key="a run") as saved:
    ...     saved.load()
    ([('rows', [array([0. , 0.1])])], {'h': array(0.1)})
    """

    path: str
    _database: sqlite3.Connection

    @classmethod
    def open(cls, path: str | os.PathLike[str], key: str) -> Checkpoint:
        """Open a checkpoint, or create it, and lock it until it is closed.

        `key` identifies the run, in words of the form `part=value`. It must be the key that the file was created with.
        """
        name, database = str(path), None
        try:
            # an absolute path, because SQLite keeps ":memory:" in memory
            database = sqlite3.connect(
                os.path.abspath(path), timeout=0.0, isolation_level=None, check_same_thread=False
            )
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("BEGIN EXCLUSIVE")
            _enter(database, key, name)
            database.execute("COMMIT")
            database.execute("PRAGMA journal_mode = WAL")  # a transaction waits for the disk once, not four times
            database.execute("PRAGMA synchronous = FULL")
        except BaseException as e:
            if database is not None:
                database.close()
            if isinstance(e, sqlite3.Error):
                raise _failure(e, name) from None
            raise
        return cls(name, database)

    def __len__(self) -> int:
        """Return the number of appends."""
        return int(self._run()[1])

    def append(self, blocks: Iterable[Block], state: Mapping[str, AnyArray]) -> None:
        """Add blocks, and replace the state from which the run continues. Both are on the disk on return.

        If this fails, the checkpoint keeps its earlier contents.
        """
        execute = self._database.execute
        try:
            execute("BEGIN")
            key, appends, digest, _ = self._run()
            for row in _rows(blocks):
                execute("INSERT INTO block (head, data) VALUES (?, ?)", row)
                digest = _digest(digest, *row)
            after = _state_digest(key, appends + 1, digest)
            execute("DELETE FROM state")
            for row in _rows((name, [array]) for name, array in state.items()):
                execute("INSERT INTO state (head, data) VALUES (?, ?)", row)
                after = _digest(after, *row)
            execute("UPDATE run SET appends = ?, blocks = ?, digest = ?", (appends + 1, digest, after))
            execute("COMMIT")
        except BaseException as e:
            if self._database.in_transaction:
                execute("ROLLBACK")
            if isinstance(e, sqlite3.Error):
                raise _failure(e, self.path) from None
            raise

    def load(self) -> tuple[list[Block], dict[str, AnyArray]]:
        """Return all blocks and the last state; both are empty before the first append. Raise if there is damage."""
        try:
            key, appends, expected, whole = self._run()
            blocks, digest = self._read("block", b"")
            state, after = self._read("state", _state_digest(key, appends, digest))
            if (digest, after) != (expected, whole):
                raise ValueError("its digest differs")
            return blocks, {name: arrays[0] for name, arrays in state}
        except (sqlite3.Error, ValueError, TypeError, LookupError, OverflowError, RecursionError) as e:
            why = str(e) if isinstance(e, (sqlite3.Error, ValueError)) else "its contents do not fit together"
            raise _damaged(why, self.path) from None

    def close(self) -> None:
        """Close and unlock the file."""
        self._database.close()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self) -> tuple[str, int, bytes, bytes]:
        ((key, appends, blocks, digest),) = self._database.execute("SELECT * FROM run")
        return key, appends, blocks, digest

    def _read(self, table: str, digest: bytes) -> tuple[list[Block], bytes]:
        """Return the blocks of a table, and the digest after them."""
        heads: list[str] = []
        data: list[bytearray] = []
        for head, piece in self._database.execute(f"SELECT head, data FROM {table} ORDER BY number"):
            digest = _digest(digest, head, piece)
            if head is not None:
                heads.append(head)
                data.append(bytearray())
            data[-1] += piece
        return [_block(head, whole) for head, whole in zip(heads, data, strict=True)], digest


def _enter(database: sqlite3.Connection, key: str, path: str) -> None:
    """Check that the file is of this run; create the tables if it is empty."""
    ((application,),) = database.execute("PRAGMA application_id")
    if not application and not database.execute("SELECT 1 FROM sqlite_master").fetchall():
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        for table in _TABLES:
            database.execute(table)
        database.execute("INSERT INTO run VALUES (?, 0, ?, ?)", (key, b"", _state_digest(key, 0, b"")))
        return
    if application != _APPLICATION:
        raise ModelError(_FOREIGN, path)
    found = database.execute("SELECT key FROM run").fetchall()
    if len(found) != 1 or not isinstance(found[0][0], str):
        raise _damaged("its key is missing", path)
    if found[0][0] != key:
        raise ModelError(
            f"the checkpoint is of another run: {_difference(found[0][0], key)}. "
            "Continue with the same robot, start, forces, method and settings, or give another file",
            path,
        )


def _rows(blocks: Iterable[Block]) -> Iterator[tuple[str | None, bytes]]:
    """Yield the rows of blocks: a head in JSON with name, types and shapes, and the numbers."""
    for name, arrays in blocks:
        found = [np.asarray(a) for a in arrays]
        if any(a.dtype.kind not in "biufcSU" for a in found):
            raise ArgumentError(f"{name!r} must have arrays of numbers or texts, not {[str(a.dtype) for a in found]}")
        head = json.dumps([name, [[a.dtype.str, list(a.shape)] for a in found]])
        data = b"".join(a.tobytes() for a in found)
        yield head, data[:_LONGEST]
        for at in range(_LONGEST, len(data), _LONGEST):
            yield None, data[at : at + _LONGEST]


def _block(head: str, data: bytearray) -> Block:
    """Return the block of a head and its numbers. Raise unless they fit; arrays share the memory of `data`."""
    name, described = json.loads(head)
    arrays, at = [], 0
    for text, shape in described:
        dtype, count = np.dtype(text), math.prod(shape)
        if dtype.kind not in "biufcSU" or min(shape, default=0) < 0:
            raise ValueError(f"an array of {dtype} {shape}")
        end = at + count * dtype.itemsize
        arrays.append(np.frombuffer(memoryview(data)[at:end], dtype, count).reshape(shape))
        at = end
    if at != len(data) or not isinstance(name, str):
        raise ValueError("numbers and their description differ")
    return name, arrays


def _digest(before: bytes, head: str | None, data: bytes) -> bytes:
    """Return the digest of a row and of all before it."""
    whole = hashlib.blake2b(before + repr(head).encode(), digest_size=16)
    whole.update(data)
    return whole.digest()


def _state_digest(key: str, appends: int, blocks: bytes) -> bytes:
    """Return the digest that the rows of the state go on from."""
    return _digest(blocks, key, str(appends).encode())


def _failure(e: sqlite3.Error, path: str) -> ModelError:
    """Return the error for a failure of SQLite."""
    text = str(e)
    if "locked" in text:
        return ModelError("another run is writing to this checkpoint; wait for it to end, or give another file", path)
    if "not a database" in text:
        with Path(path).open("rb") as file:
            earlier = file.read(len(_EARLIER)) == _EARLIER
        return ModelError(_OUTDATED if earlier else _FOREIGN, path)
    if "malformed" in text or "no such" in text:
        return _damaged(text, path)
    if "unable to open" in text:
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o666))
        except OSError as reason:
            text = reason.strerror or text
        return ModelError(f"the checkpoint cannot be opened: {text}", path)
    return ModelError(f"the checkpoint cannot be written: {text}", path)


def _damaged(why: str, path: str) -> ModelError:
    return ModelError(
        f"the checkpoint is damaged ({why}); delete the file to begin anew, or restore it from a copy", path
    )


def _difference(theirs: str, ours: str) -> str:
    """Name the parts in which two keys "part=value part=value" differ, or quote both keys."""
    parts = [dict(word.split("=", 1) for word in key.split() if "=" in word) for key in (theirs, ours)]
    names = [name for name, value in parts[0].items() if parts[1].get(name) != value]
    if not names or parts[0].keys() != parts[1].keys():
        quoted = [repr(key if len(key) <= 40 else f"{key[:36]}...") for key in (theirs, ours)]
        return f"its key is {quoted[0]}, the key of this run is {quoted[1]}"
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{listed} {'differs' if len(names) == 1 else 'differ'}"
