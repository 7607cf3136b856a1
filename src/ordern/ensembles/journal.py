"""The journal of a stored ensemble: which blocks are done, with the states of reductions and the failures.

It is a folder with one small file for each shard, which is written after the data of the shard, under another name
first: a file that is there is complete. Its name has the key of the study.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
import uuid
import zipfile
import zlib
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentError
from .work import Block

__all__ = ["UNKNOWN", "Journal", "flush", "read_states", "write_atomically"]

_STUDY = "study.json"
UNKNOWN = "unknown"
"""The first word of the fingerprint of something whose content cannot be compared; the reason follows a colon."""
_BLOCKS = re.compile(r"blocks-(\d{9,})-(\d{9,})-[0-9a-f]{16}\.npz")
_DAMAGE = (OSError, EOFError, ValueError, LookupError, TypeError, zipfile.BadZipFile, zlib.error, struct.error)
"""What reading a damaged file raises."""


class Journal:
    """The shards that are done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, results: Path, stored: bool, parts: dict[str, str], about: dict[str, Any]) -> bool:
        """Write the description of a study, or check that it is the one which is there; tell whether it was.

        `results` is the place of the results, and `stored` tells whether they are there.
        """
        path = self.folder / _STUDY
        if results.exists():
            self._require_target(results, self.require(results, parts), about.get("target"))
            self.clean(results)
            if stored:
                return True
        try:
            for old in self.folder.glob("*"):
                old.unlink()  # of results that were deleted
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, json.dumps({"parts": parts, **about}, indent=1).encode())
        except OSError as e:
            raise ArgumentError(f"Ensemble.run: {results} cannot be written: {e.strerror or e}") from None
        return False

    def require(self, results: Path, parts: dict[str, str]) -> dict[str, Any]:
        """Return the description of the results that exist; raise unless they are those of this study."""
        path = self.folder / _STUDY
        if not path.exists():
            raise ArgumentError(f"{results} exists, and is not an ensemble that was begun here; give another `out`")
        stored = self._description(path)
        before = stored["parts"]
        differ = sorted(name for name in {*before, *parts} if before.get(name) != parts.get(name))
        unknown = next((name for name in differ if _reason(parts.get(name)) or _reason(before.get(name))), None)
        if unknown is not None:
            from ..simulate.run.fingerprint import ADVICE

            why = _reason(parts.get(unknown)) or _reason(before.get(unknown))
            raise ArgumentError(
                f"{results} holds results that cannot be continued: whether its {unknown} is that of this study is not "
                f"known, because {why}. Next time, {ADVICE}. Now, give another `out`, or delete that one"
            )
        if differ:
            raise ArgumentError(
                f"{results} holds the results of another study: {', '.join(differ)} differ. Give another "
                "`out`, or delete that one"
            )
        found: dict[str, Any] = stored
        return found

    def _description(self, path: Path) -> dict[str, Any]:
        """Return the description of a study in its file."""
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            parts = stored["parts"]
            if not isinstance(parts, dict) or not all(isinstance(x, str) for x in parts.values()):
                raise ValueError("its parts are no texts")
        except (*_DAMAGE, RecursionError) as e:
            raise ArgumentError(
                f"{path}: the description of the study is damaged ({_words(e)}); delete the results and {self.folder} "
                "to begin anew, or restore them from a copy"
            ) from None
        found: dict[str, Any] = stored
        return found

    @staticmethod
    def _require_target(results: Path, stored: dict[str, Any], target: Any) -> None:
        """Raise unless the results were begun on a processor of this kind."""
        if stored.get("target") != target:
            raise ArgumentError(
                f"{results} was begun with code for {stored.get('target')}, and this machine compiles for {target}: a "
                "mixture would not be the same bit for bit. Go on with a machine of the first kind, or give another "
                "`out`"
            )

    def clean(self, results: Path) -> None:
        """Delete files that killed processes have left half-written."""
        for folder in (self.folder, results):
            for path in folder.rglob("*.partial"):
                with contextlib.suppress(OSError):
                    path.unlink()

    def note(self, start: int, stop: int, key: str, blocks: Iterable[Block]) -> None:
        """Write that the blocks from `start` to before `stop` are done."""
        states: dict[str, Any] = {}
        failures: list[tuple[int, str]] = []
        for number, block in zip(range(start, stop), blocks, strict=True):
            failures += block.failures
            for name, state in block.states.items():
                states |= {f"{number}/{name}/{field}": x for field, x in state.items()}
        path = self.folder / f"blocks-{start:09d}-{stop:09d}-{key[:16]}.npz"
        partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}.partial")
        with partial.open("wb") as file:
            np.savez(file, failures=np.array(json.dumps(failures)), **states)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)

    def done(self, key: str, blocks: int) -> dict[int, Path]:
        """Return the file of each block that is done; a study has so many `blocks`."""
        found: dict[int, Path] = {}
        for path in sorted(self.folder.glob(f"blocks-*-{key[:16]}.npz")):
            name = _BLOCKS.fullmatch(path.name)
            start, stop = (int(name[1]), int(name[2])) if name else (0, 0)
            if not start < stop <= blocks:
                raise _damaged(path, "its name")
            found |= dict.fromkeys(range(start, stop), path)
        return found

    def failures(self, key: str, blocks: int) -> dict[int, str]:
        """Return why members failed."""
        found: dict[int, str] = {}
        for path in dict.fromkeys(self.done(key, blocks).values()):
            try:
                with path.open("rb") as raw, np.load(raw) as file:
                    found |= {int(k): str(why) for k, why in json.loads(str(file["failures"]))}
            except _DAMAGE as e:
                raise _damaged(path, _words(e)) from None
        return found


def read_states(path: Path, block: int, names: Collection[str]) -> dict[int, dict[str, dict[str, Any]]]:
    """Return the states of reductions of each block in a file of the journal, of which `block` is one."""
    states: dict[int, dict[str, dict[str, Any]]] = {}
    try:
        with path.open("rb") as raw, np.load(raw) as file:
            for entry in file.files:
                if entry != "failures":
                    number, name, field = entry.split("/")
                    states.setdefault(int(number), {}).setdefault(name, {})[field] = file[entry]
    except _DAMAGE as e:
        raise _damaged(path, _words(e)) from None
    if block not in states or any(set(found) != set(names) for found in states.values()):
        raise _damaged(path, "states are missing")
    return states


def _damaged(path: Path, why: str) -> ArgumentError:
    return ArgumentError(
        f"{path}: the journal of the ensemble is damaged ({why}); delete this file to run its blocks again"
    )


def _words(e: BaseException) -> str:
    return str(e).partition("\n")[0] or type(e).__name__


def _reason(part: str | None) -> str:
    """Return why a part of a study has no fingerprint; nothing if it has one."""
    head, _, why = (part or "").partition(": ")
    return why if head.startswith(f"{UNKNOWN} ") else ""


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file such that it is there as a whole, or not at all."""
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}.partial")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def flush(path: Path) -> None:
    """Wait until a file is on the disk, so that it outlives a machine that stops. Other paths are left alone."""
    if path.is_file():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
