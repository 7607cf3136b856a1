"""Checkpoints: what was appended is there, whatever killed the process; all else is refused in clear words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ordern.errors import ArgumentError, ModelError
from ordern.simulate.run.checkpoint import Checkpoint
from tests.simulate.kills import BLOCK, kill_simulation, kill_writer

KEY = "a run"


def records(k: int, rows: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(k)
    return {"t": k + np.arange(rows) / 8.0, "q": rng.normal(size=(rows, 2)), "n": rng.integers(0, 9, (rows, 1, 2))}


def state(k: int) -> dict[str, np.ndarray]:
    return {"h": np.array(0.1 * k), "text": np.array("stage"), "K": np.full((k, 2), k, np.float32)}


def filled(path: Path, count: int) -> list[int]:
    """A log of some frames; the length of the file after each of them."""
    sizes = []
    with Checkpoint.open(path, KEY) as log:
        sizes.append(path.stat().st_size)
        for k in range(count):
            log.append(records(k, rows=k), state(k))
            sizes.append(path.stat().st_size)
    return sizes


def assert_holds(path: Path, count: int) -> None:
    with Checkpoint.open(path, KEY) as log:
        found, last = log.load()
        assert len(log) == count
        assert log.rows == sum(range(count))
    if not count:
        assert (found, last) == ({}, {})
        return
    for name in ("t", "q", "n"):
        expected = np.concatenate([records(k, rows=k)[name] for k in range(count)])
        assert found[name].dtype == expected.dtype
        np.testing.assert_array_equal(found[name], expected)
    for name, x in state(count - 1).items():
        assert last[name].dtype == x.dtype
        np.testing.assert_array_equal(last[name], x)


@pytest.mark.parametrize("count", [0, 1, 2, 6])
def test_what_was_appended_is_there(tmp_path: Path, count: int) -> None:
    filled(tmp_path / "log", count)
    assert_holds(tmp_path / "log", count)


def test_appending_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "log"
    filled(path, 3)
    with Checkpoint.open(path, KEY) as log:
        for k in (3, 4):
            log.append(records(k, rows=k), state(k))
    assert_holds(path, 5)


@pytest.mark.slow
def test_a_frame_that_is_cut_short_anywhere_is_cut_off(tmp_path: Path) -> None:
    path, cut = tmp_path / "log", tmp_path / "cut"
    sizes = filled(path, 4)
    data = path.read_bytes()
    for end in range(sizes[3] + 1, sizes[4]):
        cut.write_bytes(data[:end])
        assert_holds(cut, 3)
        assert cut.stat().st_size == sizes[3]
    for end in range(sizes[0]):  # not even the header was written
        cut.write_bytes(data[:end])
        assert_holds(cut, 0)


def test_a_file_that_grew_before_its_contents_came_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "log"
    sizes = filled(path, 4)
    data = path.read_bytes()
    for end in (sizes[3], sizes[3] + 8, sizes[3] + 60):
        path.write_bytes(data[:end] + bytes(sizes[4] - end))
        if end in (sizes[3], sizes[3] + 60):
            assert_holds(path, 3)
        else:  # half a head and zeros: not what a kill can leave, and nothing is thrown away unasked
            with pytest.raises(ModelError, match="damaged at byte"):
                Checkpoint.open(path, KEY)


def test_damage_before_the_end_is_told_and_not_cut(tmp_path: Path) -> None:
    path, bad = tmp_path / "log", tmp_path / "bad"
    sizes = filled(path, 4)
    data = path.read_bytes()
    for at in range(0, sizes[3], 7):
        flipped = bytearray(data)
        flipped[at] ^= 0x10
        bad.write_bytes(flipped)
        with pytest.raises(ModelError, match=r"bad: .*(damaged|no checkpoint|another run)"):
            Checkpoint.open(bad, KEY)
        assert bad.read_bytes() == bytes(flipped)


def test_another_runs_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    filled(path, 2)
    before = path.read_bytes()
    with pytest.raises(ModelError, match=r"log: the checkpoint is of another run.*'a run'.*'one more'"):
        Checkpoint.open(path, "one more")
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"t,q\n0,1\n", b"PK\x03\x04", b"\0" * 100, b"o" + b"x" * 99])
def test_other_files_are_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "motion.csv"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="no checkpoint; it is left as it is"):
        Checkpoint.open(path, KEY)
    assert path.read_bytes() == content


@pytest.mark.slow
def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Checkpoint.open(path, KEY):
        with pytest.raises(ModelError, match="another run is writing"):
            Checkpoint.open(path, KEY)
        code = f"from ordern.simulate.run.checkpoint import Checkpoint; Checkpoint.open({str(path)!r}, {KEY!r})"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "another run is writing" in other.stderr
    assert_holds(path, 0)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"t": np.zeros(2), "q": np.zeros((3, 2)), "n": np.zeros((2, 1, 2), int)}, "one entry each"),
        ({"t": np.array(0.0), "q": np.zeros((3, 2)), "n": np.zeros((2, 1, 2), int)}, "one entry each"),
        ({"t": np.zeros(2), "q": np.zeros((2, 3)), "n": np.zeros((2, 1, 2), int)}, "like those before"),
        ({"t": np.zeros(2), "q": np.zeros((2, 2), np.float32), "n": np.zeros((2, 1, 2), int)}, "like those before"),
        ({"t": np.zeros(2)}, "like those before"),
        ({"t": np.array([object(), None])}, "an array of numbers"),
    ],
)
def test_records_that_do_not_fit_are_refused(tmp_path: Path, bad: dict[str, np.ndarray], words: str) -> None:
    path = tmp_path / "log"
    filled(path, 3)
    with Checkpoint.open(path, KEY) as log, pytest.raises(ArgumentError, match=words):
        log.append(bad, {})
    assert_holds(path, 3)


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    filled(path, 3)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with Checkpoint.open(path, KEY) as log:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(ModelError, match="cannot be written: No space left"):
            log.append(records(9), state(9))
        monkeypatch.undo()
        log.append(records(3), state(3))
    assert_holds(path, 4)


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be opened"):
        Checkpoint.open(tmp_path / "nowhere" / "log", KEY)
    with pytest.raises(ModelError, match="cannot be opened"):
        Checkpoint.open(tmp_path, KEY)
    with pytest.raises(ArgumentError, match="1 to 4096 bytes"):
        Checkpoint.open(tmp_path / "log", "")
    log = Checkpoint.open(tmp_path / "log", KEY)
    log.remove()
    assert not (tmp_path / "log").exists()
    with pytest.raises(ArgumentError, match="is closed"):
        log.load()


def test_hostile_frames_are_refused(tmp_path: Path) -> None:
    """Frames with right digests that claim what is not there: nothing is believed, and no memory taken for it."""
    import json
    import struct

    from ordern.simulate.run import checkpoint as made

    path = tmp_path / "log"
    filled(path, 0)
    start = path.read_bytes()
    manifests: list[Any] = [
        [["record", "t", "<f8", [10**15]]],
        [["record", "t", "<f8", [0, 10**30]]],
        [["record", "t", "|O8", [1]]],
        [["record", "t", "<U0", [10**15]]],
        [["state", "t", "<f8", [1]], ["record", "t", "<f8", [0]]],
        [["record", "t", "<f8", [1]], ["record", "t", "<f8", [0]]],
        [["record", "t", "<f8", [-1, -1]]],
        [["record", "t", "<f8", 1]],
        [1, 2],
        {"a": 1},
        None,
    ]
    for manifest in manifests:
        text = json.dumps(manifest).encode()
        payload = struct.pack("<I", len(text)) + text + bytes(8)
        head = made._HEAD.pack(made._FRAME, 0, len(payload))
        frame = head + made._digest(head) + payload + made._digest(head, payload)
        path.write_bytes(start + frame)
        with pytest.raises(ModelError, match="damaged at byte"):
            Checkpoint.open(path, KEY)


@pytest.mark.slow
def test_a_killed_writer_loses_nothing(tmp_path: Path) -> None:
    blocks, (t, y), (t0, y0) = kill_writer(8, tmp_path)
    assert t.shape == (blocks * BLOCK,)
    np.testing.assert_array_equal(t, t0)
    np.testing.assert_array_equal(y, y0)


@pytest.mark.slow
@pytest.mark.parametrize("native", [False, True], ids=["from Python", "as machine code"])
def test_a_killed_simulation_ends_as_an_unbroken_one(tmp_path: Path, native: bool) -> None:
    runs, _ = kill_simulation(3, tmp_path, native)
    assert runs
