"""Checkpoints: what was appended is there, whatever killed the process; all else is refused in clear words."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ordern.errors import ArgumentError, ModelError
from ordern.simulate.run import checkpoint
from ordern.simulate.run.checkpoint import Block, Checkpoint
from tests.simulate.kills import BLOCK, kill_simulation, kill_writer

KEY = "a run"


def blocks(k: int) -> list[Block]:
    rng = np.random.default_rng(k)
    rows = [k + np.arange(k) / 8.0, rng.normal(size=(k, 2)), rng.integers(0, 9, (k, 1, 2))]
    return [("rows", rows), *[("events", [np.array([k], np.float32)])] * (k % 3)]


def state(k: int) -> dict[str, np.ndarray]:
    return {"h": np.array(0.1 * k), "text": np.array("stage"), "K": np.full((k, 2), k, np.float32)}


def filled(path: Path, count: int) -> bytes:
    """Make a checkpoint of so many appends; return the bytes of the file."""
    with Checkpoint.open(path, KEY) as saved:
        for k in range(count):
            saved.append(blocks(k), state(k))
    return path.read_bytes()


def assert_equal(x: np.ndarray, y: np.ndarray) -> None:
    assert x.dtype == y.dtype
    assert x.flags.writeable
    np.testing.assert_array_equal(x, y)


def assert_holds(path: Path, count: int) -> None:
    with Checkpoint.open(path, KEY) as saved:
        found, last = saved.load()
        assert len(saved) == count
    expected = [block for k in range(count) for block in blocks(k)]
    assert [kind for kind, _ in found] == [kind for kind, _ in expected]
    for (_, arrays), (_, others) in zip(found, expected, strict=True):
        for x, y in zip(arrays, others, strict=True):
            assert_equal(x, y)
    final = state(count - 1) if count else {}
    assert list(last) == list(final)
    for name in final:
        assert_equal(last[name], final[name])


@pytest.mark.parametrize("count", [0, 1, 2, 6])
def test_what_was_appended_is_there(tmp_path: Path, count: int) -> None:
    filled(tmp_path / "log", count)
    assert_holds(tmp_path / "log", count)
    assert [p.name for p in tmp_path.iterdir()] == ["log"]


def test_appending_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "log"
    filled(path, 3)
    with Checkpoint.open(path, KEY) as saved:
        for k in (3, 4):
            saved.append(blocks(k), state(k))
    assert_holds(path, 5)


def test_blocks_longer_than_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_LONGEST", 50)
    filled(tmp_path / "log", 6)
    with sqlite3.connect(tmp_path / "log") as database:
        assert max(len(data) for (data,) in database.execute("SELECT data FROM block")) == 50
    database.close()
    assert_holds(tmp_path / "log", 6)


@pytest.mark.slow
def test_a_kill_at_any_statement_leaves_all_or_nothing(tmp_path: Path) -> None:
    """Copy the files at each statement of two appends that are too long for SQLite's memory, as if killed there."""
    path, copies = tmp_path / "log", []
    large = np.arange(1_000_000.0)

    def copy(statement: str) -> None:
        folder = tmp_path / str(len(copies))
        folder.mkdir()
        for file in tmp_path.glob("log*"):
            shutil.copy(file, folder)
        copies.append((folder / "log", statement))

    filled(path, 2)
    with Checkpoint.open(path, KEY) as saved:
        saved._database.set_trace_callback(copy)
        saved.append([("large", [large])], {"k": np.array(2)})
        saved.append([("large", [-large])], {"k": np.array(3)})
        saved._database.set_trace_callback(None)
    counts = []
    for file, _ in copies:
        with Checkpoint.open(file, KEY) as saved:
            found, last = saved.load()
            counts.append(len(saved))
        assert len(found) == (3 if counts[-1] == 2 else counts[-1] + 1)
        if counts[-1] > 2:
            np.testing.assert_array_equal(found[-1][1][0], large)
            assert last["k"] == 2
    begins = [k for k, (_, statement) in enumerate(copies) if statement == "BEGIN"]
    assert counts == [2] * begins[1] + [3] * (len(copies) - begins[1])


def test_without_its_second_file_a_checkpoint_is_an_earlier_one(tmp_path: Path) -> None:
    path, alone = tmp_path / "log", tmp_path / "alone"
    filled(path, 3)
    with Checkpoint.open(path, KEY) as saved:
        saved.append(blocks(3), state(3))
        assert (tmp_path / "log-wal").stat().st_size
        shutil.copy(path, alone)
    assert_holds(alone, 3)
    assert_holds(path, 4)


@pytest.mark.slow
def test_damage_is_told_or_does_not_matter(tmp_path: Path) -> None:
    """Flip bits everywhere: SQLite has unused bytes, but whatever is read is what was written."""
    path, bad = tmp_path / "log", tmp_path / "bad"
    data, told = filled(path, 4), 0
    places = np.random.default_rng(0).integers(0, 8 * len(data), 600).tolist()
    for place in [*range(0, 800), *places]:
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        bad.write_bytes(flipped)
        try:
            assert_holds(bad, 4)
        except ModelError as e:
            told += 1
            assert re.search("bad: .*(damaged|not a checkpoint|another run|cannot be)", str(e)), e
            if "not a checkpoint" in str(e):
                assert bad.read_bytes() == bytes(flipped)
    assert told > 100


def test_a_file_that_was_cut_is_damaged(tmp_path: Path) -> None:
    path, cut = tmp_path / "log", tmp_path / "cut"
    data = filled(path, 4)
    for end in [*range(2, 200, 13), *range(200, len(data), 1001)]:
        cut.write_bytes(data[:end])
        with pytest.raises(ModelError, match=r"cut: .*(damaged|not a checkpoint)"):
            assert_holds(cut, 4)
    cut.write_bytes(b"")
    assert_holds(cut, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM block WHERE number = 2",
        "DELETE FROM block WHERE number = (SELECT max(number) FROM block)",
        "DELETE FROM state",
        "DELETE FROM state WHERE number = 3",
        "UPDATE block SET number = -number",
        "UPDATE run SET appends = appends + 1",
        "UPDATE run SET blocks = digest",
        "UPDATE run SET digest = NULL",
        "INSERT INTO block (head, data) VALUES (NULL, x'00')",
        "UPDATE state SET data = 7",
        "DROP TABLE state",
        "DELETE FROM run",
        "UPDATE run SET key = 7",
        "INSERT INTO run SELECT * FROM run",
    ],
)
def test_contents_that_changed_are_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "log"
    filled(path, 4)
    database = sqlite3.connect(path, isolation_level=None)
    database.execute(change)
    database.close()
    with pytest.raises(ModelError, match=r"log: the checkpoint is (damaged|of another run)"):
        assert_holds(path, 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arrays",
    [
        [["<f8", [10**15]]],
        [["<f8", [0, 10**30]]],
        [["<f8", [10**30]]],
        [["|O8", [1]]],
        [["<U0", [10**15]]],
        [["<f8", [0]]],
        [["<f8", [-1, -1]]],
        [["<f8", 1]],
        [["<f8", ["1"]]],
        [["<f8"]],
        [[1, [1]]],
        [1, 2],
        {"a": 1},
        None,
    ],
)
def test_hostile_descriptions_are_refused(tmp_path: Path, arrays: Any) -> None:
    """A file with right digests may claim arrays that are not there: no memory is taken for them."""
    path = tmp_path / "log"
    filled(path, 0)
    database = sqlite3.connect(path, isolation_level=None)
    head, data = json.dumps(["rows", arrays]), bytes(8)
    digest = checkpoint._digest(b"", head, data)
    database.execute("INSERT INTO block (head, data) VALUES (?, ?)", (head, data))
    database.execute("UPDATE run SET blocks = ?, digest = ?", (digest, checkpoint._state_digest(KEY, 0, digest)))
    database.close()
    with Checkpoint.open(path, KEY) as saved, pytest.raises(ModelError, match=r"damaged \((?!its digest)"):
        saved.load()


def test_another_runs_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    before = filled(path, 2)
    with pytest.raises(ModelError, match=r"log: the checkpoint is of another run.*'a run'.*'one more'"):
        Checkpoint.open(path, "one more")
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"t,q\n0,1\n", b"PK\x03\x04", b"\0" * 100, b"o" + b"x" * 99])
def test_other_files_are_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "motion.csv"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="not a checkpoint and was left as it is"):
        Checkpoint.open(path, KEY)
    assert path.read_bytes() == content


def test_other_databases_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE run (key TEXT)")
    database.close()
    before = path.read_bytes()
    with pytest.raises(ModelError, match="not a checkpoint and was left as it is"):
        Checkpoint.open(path, KEY)
    assert path.read_bytes() == before


def test_a_checkpoint_in_the_earlier_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"ordern-ckpt-v1\r\n" + bytes(100))
    with pytest.raises(ModelError, match=r"log: .* by an earlier version of ordern.*delete the file to begin anew"):
        Checkpoint.open(path, KEY)
    assert path.stat().st_size == 116


@pytest.mark.slow
def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "log"
    code = f"from ordern.simulate.run.checkpoint import Checkpoint; Checkpoint.open({str(path)!r}, {KEY!r})"
    with Checkpoint.open(path, KEY) as saved:
        for _ in range(2):
            with pytest.raises(ModelError, match="another run is writing"):
                Checkpoint.open(path, KEY)
            other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
            assert "another run is writing" in other.stderr
            saved.append(blocks(len(saved)), state(len(saved)))
    assert_holds(path, 2)


def test_arrays_of_objects_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    filled(path, 3)
    with Checkpoint.open(path, KEY) as saved, pytest.raises(ArgumentError, match="'t' must have arrays of numbers"):
        saved.append([], {"h": np.array(1.0), "t": np.array([object(), None])})
    assert_holds(path, 3)


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "log"
    filled(path, 3)
    with Checkpoint.open(path, KEY) as saved:
        ((limit,),) = saved._database.execute("PRAGMA max_page_count")
        saved._database.execute("PRAGMA max_page_count = 20")
        with pytest.raises(ModelError, match=r"log: the checkpoint cannot be written: .*full"):
            saved.append([("large", [np.zeros(100_000)])], state(9))
        assert len(saved) == 3
        saved._database.execute(f"PRAGMA max_page_count = {limit}")
        saved.append(blocks(3), state(3))
    assert_holds(path, 4)


def test_an_interrupt_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    def interrupted() -> Iterator[Block]:
        yield from blocks(3)
        raise KeyboardInterrupt

    path = tmp_path / "log"
    filled(path, 3)
    with Checkpoint.open(path, KEY) as saved:
        with pytest.raises(KeyboardInterrupt):
            saved.append(interrupted(), state(3))
        saved.append(blocks(3), state(3))
    assert_holds(path, 4)


def test_a_file_that_may_only_be_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    filled(path, 3)
    with Checkpoint.open(path, KEY) as saved:
        saved._database.execute("PRAGMA query_only = 1")  # permissions do not stop an administrator
        with pytest.raises(ModelError, match=r"log: the checkpoint cannot be written: .*readonly"):
            saved.append(blocks(3), state(3))
    assert_holds(path, 3)


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be opened: No such file"):
        Checkpoint.open(tmp_path / "nowhere" / "log", KEY)
    with pytest.raises(ModelError, match="cannot be opened: Is a directory"):
        Checkpoint.open(tmp_path, KEY)


def test_names_that_are_special_to_sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:log?mode=memory"):
        filled(Path(name), 2)
        assert_holds(Path(name), 2)
        assert (tmp_path / name).stat().st_size


def test_python_without_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlite3", None)
    monkeypatch.delitem(sys.modules, "ordern.simulate.run.checkpoint")
    with pytest.raises(ArgumentError, match="needs the module sqlite3"):
        importlib.import_module("ordern.simulate.run.checkpoint")


@pytest.mark.slow
def test_only_a_checkpoint_needs_sqlite() -> None:
    code = (
        "import sys, ordern as on; on.load('double-pendulum').simulate([1.0, 0.0], until=0.01);"
        "assert 'sqlite3' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


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
