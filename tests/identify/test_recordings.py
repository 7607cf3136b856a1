"""Recordings as logs: MCAP files and bags of ROS 2, in the binary forms of ROS and in JSON; HDF5 files."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.tolerances import assert_close

ARM = on.load("planar-3r")
T = np.arange(50) * 0.01
START = 1_700_000_000 * 10**9
Q = np.sin(np.outer(T, [1.0, 2.0, 3.0]))
TAU = np.cos(np.outer(T, [3.0, 2.0, 1.0]))
NAMES = ["joint3", "gripper", "joint1", "joint2"]
ORDER = [2, None, 0, 1]


def cdr(t: int, names: list[str], *arrays: list[float]) -> bytes:
    """A JointState of ROS 2, packed field by field: each begins at a multiple of its size."""
    data = bytearray()

    def add(form: str, *x: Any) -> None:
        data.extend(b"\0" * (-len(data) % struct.calcsize(form)))
        data.extend(struct.pack("<" + form, *x))

    def text(x: str) -> None:
        add("I", len(x) + 1)
        data.extend(x.encode() + b"\0")

    add("i", t // 10**9)
    add("I", t % 10**9)
    text("base")
    add("I", len(names))
    for name in names:
        text(name)
    for x in arrays:
        add("I", len(x))
        for y in x:
            add("d", y)
    return b"\0\1\0\0" + bytes(data)


def ros1(t: int, names: list[str], *arrays: list[float]) -> bytes:
    """A JointState of ROS 1: without gaps, with a number first."""
    texts = ["", *names]
    packed = [struct.pack("<I", len(x)) + x.encode() for x in texts]
    head = (
        struct.pack("<III", 7, t // 10**9, t % 10**9) + packed[0] + struct.pack("<I", len(names)) + b"".join(packed[1:])
    )
    return head + b"".join(struct.pack(f"<I{len(x)}d", len(x), *x) for x in arrays)


def as_json(t: int, names: list[str], *arrays: list[float]) -> bytes:
    stamp = {"sec": t // 10**9, "nanosec": t % 10**9}
    fields = dict(zip(("position", "velocity", "effort"), arrays, strict=True))
    return json.dumps({"header": {"stamp": stamp}, "name": names, **fields}).encode()


def messages(pack: Callable[..., bytes]) -> list[tuple[int, bytes]]:
    """Messages with joints in another order, and with one that the robot does not have."""
    found = []
    for t, q, tau in zip(T, Q, TAU, strict=True):
        numbers = [[0.5 if k is None else float(x[k]) for k in ORDER] for x in (q, tau)]
        stamp = START + round(1e9 * t)
        found.append((stamp + 500_000, pack(stamp, NAMES, numbers[0], [], numbers[1])))
    return found


def bag(path: Path, topics: dict[str, list[tuple[int, bytes]]]) -> Path:
    base = sqlite3.connect(path)
    base.execute("create table topics (id integer, name text, type text, serialization_format text)")
    base.execute("create table messages (topic_id integer, timestamp integer, data blob)")
    base.execute("insert into topics values (99, '/tf', 'tf2_msgs/msg/TFMessage', 'cdr')")
    for k, (name, rows) in enumerate(topics.items()):
        base.execute("insert into topics values (?, ?, 'sensor_msgs/msg/JointState', 'cdr')", (k, name))
        base.executemany("insert into messages values (?, ?, ?)", [(k, *row) for row in rows])
    base.commit()
    base.close()
    return path


def check(log: Any) -> None:
    assert_close(log.t, T, 1e-12)
    assert_close(log.q, Q, 0.0)
    assert_close(log.tau, TAU, 0.0)
    assert log.v is None and "not read: gripper" in log.notes[0]


def test_bag_of_ros2(tmp_path: Path) -> None:
    folder = tmp_path / "bag"
    folder.mkdir()
    rows = messages(cdr)
    bag(folder / "bag_0.db3", {"/joint_states": rows[:20]})
    bag(folder / "bag_1.db3", {"/joint_states": rows[20:]})
    check(ARM.read_log(folder))
    single = bag(tmp_path / "one.db3", {"/joint_states": rows, "/other": rows})
    check(ARM.read_log(single, topics="/other"))
    with pytest.raises(on.OrdernError, match=r"several topics; name some: topics=\['/joint_states', '/other'\]"):
        ARM.read_log(single)
    with pytest.raises(on.OrdernError, match="unknown topic '/othr'"):
        ARM.read_log(single, topics=["/othr"])


def test_topics_of_different_times(tmp_path: Path) -> None:
    """Forces that come 3 ms later, in a topic of their own, are brought to the times of the positions."""
    names = ["joint1", "joint2", "joint3"]
    late = 3_000_000
    places = [
        (START + round(1e9 * t), cdr(START + round(1e9 * t), names, q.tolist(), [], []))
        for t, q in zip(T, Q, strict=True)
    ]
    forces = [
        (
            START,
            cdr(START + late + round(1e9 * t), names, [], [], np.cos((t + 3e-3) * np.array([3.0, 2.0, 1.0])).tolist()),
        )
        for t in T
    ]
    log = ARM.read_log(bag(tmp_path / "a.db3", {"/q": places, "/tau": forces}), topics=["/tau", "/q"])
    assert len(log) == 49 and log.t[0] == 0.0
    assert_close(log.q, Q[1:], 0.0)
    assert log.tau is not None and np.abs(log.tau - TAU[1:]).max() < 2e-4


@pytest.mark.needs("mcap")
@pytest.mark.parametrize(
    ("pack", "encoding", "schema"),
    [(cdr, "cdr", "sensor_msgs/msg/JointState"), (ros1, "ros1", "sensor_msgs/JointState"),
     (as_json, "json", "sensor_msgs/msg/JointState")],
)  # fmt: skip
def test_mcap(tmp_path: Path, pack: Callable[..., bytes], encoding: str, schema: str) -> None:
    from mcap.writer import Writer

    with (tmp_path / "a.mcap").open("wb") as file:
        writer = Writer(file)
        writer.start()
        known = writer.register_schema(schema, "ros2msg", b"")
        channel = writer.register_channel("/joint_states", encoding, known)
        for t, data in messages(pack):
            writer.add_message(channel, t, data, t)
        writer.finish()
    check(ARM.read_log(tmp_path / "a.mcap"))


@pytest.mark.slow
@pytest.mark.needs("mcap")
def test_recordings_of_simulations_are_logs(tmp_path: Path) -> None:
    result = ARM.simulate([1.0, 0.0, 0.0], until=np.linspace(0.0, 0.2, 21).tolist())
    result.save(tmp_path / "motion.mcap")
    log = ARM.read_log(tmp_path / "motion.mcap")
    assert_close(log.q, result.q, 1e-12)
    assert_close(log.v, result.v, 1e-12)


@pytest.mark.needs("h5py")
def test_hdf5(tmp_path: Path) -> None:
    import h5py

    with h5py.File(tmp_path / "log.h5", "w") as file:
        file["t"], file["q"] = T, Q
        for k, c in enumerate(ARM.joints):
            file[f"tau/{c.name}"] = TAU[:, k]
    log = ARM.read_log(tmp_path / "log.h5")
    assert_close(log.q, Q, 0.0)
    assert_close(log.tau, TAU, 0.0)
    (tmp_path / "bad.h5").write_bytes(b"no")
    with pytest.raises(on.OrdernError, match="cannot be read"):
        ARM.read_log(tmp_path / "bad.h5")


def test_refusals(tmp_path: Path) -> None:
    (tmp_path / "bad.db3").write_bytes(b"no bag of any kind, but long enough for a look" * 30)
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "a.db3.zstd").write_bytes(b"")
    short = messages(cdr)
    for source, topics, message in (
        (tmp_path / "bad.db3", None, "cannot be read as a bag of ROS 2"),
        (tmp_path / "packed", None, "no files .mcap or .db3; a.db3.zstd is packed"),
        (bag(tmp_path / "empty.db3", {}), None, "no messages of the type sensor_msgs/JointState"),
        (bag(tmp_path / "cut.db3", {"/j": [(t, x[:60]) for t, x in short]}), None, "is not a state of joints"),
        (
            bag(tmp_path / "few.db3", {"/j": [(1, cdr(1, NAMES, [1.0], [], []))]}),
            None,
            "1 numbers of position for 4 joints",
        ),
        (tmp_path / "no.mcap", None, "there is no file"),
        (tmp_path / "log.csv", ["/j"], "only recordings .* have topics"),
        (tmp_path / "log.bag", None, "convert bags of ROS 1"),
    ):
        with pytest.raises(on.OrdernError, match=message):
            ARM.read_log(source, topics=topics)


@pytest.mark.slow
@pytest.mark.needs("scipy")
def test_outliers_and_rates() -> None:
    t = np.arange(0.0, 4.0, 0.002)
    q = np.sin(np.outer(t, [1.0, 2.0, 3.0])) + 1e-5 * np.random.default_rng(0).normal(size=(len(t), 3))
    tau = np.sign(np.cos(np.outer(t, [1.0, 2.0, 3.0]))) + 0.01 * np.random.default_rng(1).normal(size=q.shape)
    bad_q, bad_tau = q.copy(), tau.copy()
    bad_q[[100, 700, 701], [0, 1, 2]] += 1.0
    bad_tau[500, 1] = -40.0
    log = ARM.read_log({"t": t, "q": bad_q, "tau": bad_tau}).without_outliers()
    assert log.notes == ("3 outliers of q in 3 samples replaced", "1 outliers of tau in 1 samples replaced")
    assert log.tau is not None and np.abs(log.q - q).max() < 0.02 and np.abs(log.tau - tau).max() < 0.1
    assert 3.0 < log.cutoff < 12.0  # ten times 3 rad/s, and the steps of a short log
    assert log.filtered().v is not None
    slow = log.resampled(100.0)
    assert len(slow) == 400 and abs(slow.rate - 100.0) < 1e-9
    for call, message in (
        (lambda: log.cut(0, 5).without_outliers(), "5 samples are fewer than the window of 11"),
        (lambda: log.without_outliers(4), "odd number of samples"),
        (lambda: log.resampled(0.1), "leave fewer than two"),
    ):
        with pytest.raises(on.ArgumentError, match=message):
            call()


def recorded(path: Path, pack: Callable[..., bytes], encoding: str) -> None:
    """Write a small recording; of states in JSON, those are the messages as they are."""
    from mcap.writer import Writer

    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        channel = writer.register_channel("/j", encoding, writer.register_schema(STATE, "ros2msg", b""))
        for t, data in messages(pack)[:20]:
            writer.add_message(channel, t, data, t)
        writer.finish()


def hdf5(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file["t"], file["q"] = T, Q


def parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"t": T} | {f"q.joint{k + 1}": Q[:, k] for k in range(3)}), path)


STATE = "sensor_msgs/msg/JointState"
HEADER = "t,q.joint1,q.joint2,q.joint3"
WRITERS: dict[str, Callable[[Path], object]] = {
    "csv": lambda path: np.savetxt(path, np.c_[T, Q], delimiter=",", header=HEADER, comments=""),
    "npz": lambda path: np.savez_compressed(path, t=T, q=Q),
    "db3": lambda path: bag(path, {"/j": messages(cdr)[:20]}),
    "mcap": lambda path: recorded(path, cdr, "cdr"),
    "h5": hdf5,
    "parquet": parquet,
}


@pytest.mark.needs("mcap", "h5py", "pyarrow")
@pytest.mark.filterwarnings("ignore")  # of NumPy, about what is in damaged files
@pytest.mark.parametrize("ending", WRITERS)
def test_damaged_logs_are_our_errors(ending: str, tmp_path: Path) -> None:
    path, rng, errors = tmp_path / f"log.{ending}", np.random.default_rng(0), 0
    WRITERS[ending](path)
    assert len(ARM.read_log(path)) >= 20
    whole = path.read_bytes()
    for k in range(120):
        data = bytearray(whole[: rng.integers(len(whole))] if k % 2 else whole)
        for at in rng.integers(len(data), size=5) if data else ():
            data[at] = rng.integers(256)
        path.write_bytes(data)
        try:
            ARM.read_log(path)
        except on.OrdernError:
            errors += 1
    assert errors > 20


@pytest.mark.needs("mcap")
@pytest.mark.parametrize("key", ["timestamp", "name", "position", "effort"])
def test_messages_in_json_with_odd_fields(key: str, tmp_path: Path) -> None:
    good = {"timestamp": {"sec": 1, "nsec": 0}, "name": NAMES, "position": [0.0] * 4, "effort": [0.0] * 4}
    for odd in (3, "12", {"sec": "a"}, {"sec": 10**30}, [None] * 4, ["1"] * 4, [[1.0]] * 4, [1.0]):
        data = json.dumps({**good, key: odd}).encode()
        recorded(tmp_path / "odd.mcap", lambda *_, data=data: data, "json")  # type: ignore[misc]
        with pytest.raises(on.OrdernError, match=r"state of joints|numbers of|joint"):
            ARM.read_log(tmp_path / "odd.mcap")
