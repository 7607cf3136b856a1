"""Recordings of robots as logs: messages with the states of joints in MCAP files and in bags of ROS 2.

Messages are those of `sensor_msgs/JointState`, in the binary forms of ROS 2 (CDR) and of ROS 1, and the same fields in
JSON: name, position, velocity, effort. They are decoded here, so that no part of ROS has to be installed. A bag of
ROS 2 is a folder with files .mcap or .db3, the latter of SQLite, which Python reads by itself.

Several topics are brought to the times of the one that has the positions, linear in between.
"""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import Array, choice
from ..io.source import UnreadableError, require_regular, unreadable
from ..records import dataclass
from ..simulate.results.tables import library

__all__ = ["RECORDINGS", "columns_of_recording"]

RECORDINGS = (".mcap", ".db3")
_KINDS = {"position": "q", "velocity": "v", "effort": "tau"}
_STATES = ("sensor_msgs/msg/JointState", "sensor_msgs/JointState", "ordern.JointStates")


@dataclass(frozen=True, slots=True)
class _State:
    """One message: its time in ns, and names of joints with their numbers, by kind."""

    t: int
    of: dict[str, tuple[tuple[str, ...], Sequence[float]]]


class _Reader:
    """Reads numbers from a message, each at a multiple of its size where `aligned`."""

    def __init__(self, data: bytes, order: str, start: int, aligned: bool) -> None:
        self.data, self.order, self.start, self.aligned, self.at = data, order, start, aligned, start

    def number(self, kind: str) -> Any:
        """Return the next number, of a kind of `struct`."""
        return self.several(kind, 1)[0]

    def several(self, kind: str, count: int) -> tuple[Any, ...]:
        """Return so many numbers."""
        size = struct.calcsize(f"={kind}")
        if self.aligned and count:
            self.at += -(self.at - self.start) % size
        found = struct.unpack_from(f"{self.order}{count}{kind}", self.data, self.at)
        self.at += count * size
        return found

    def text(self) -> str:
        """Return the next text."""
        count = self.number("I")
        found = self.data[self.at : self.at + count]
        self.at += count
        return found.rstrip(b"\0").decode("utf-8", "replace")


def _cdr(data: bytes) -> _State:
    """Return a message of ROS 2."""
    reader = _Reader(data, "<" if data[1] & 1 else ">", 4, True)
    return _joint_state(reader)


def _ros1(data: bytes) -> _State:
    """Return a message of ROS 1, whose header begins with a number of the message."""
    return _joint_state(_Reader(data, "<", 4, False))


def _joint_state(reader: _Reader) -> _State:
    t = 10**9 * reader.number("i") + reader.number("I")
    reader.text()
    names = tuple(reader.text() for _ in range(reader.number("I")))
    return _State(t, {kind: (names, reader.several("d", reader.number("I"))) for kind in _KINDS})


def _json(data: bytes) -> _State:
    given = json.loads(data)
    stamp = given.get("timestamp") or given.get("header", {}).get("stamp") or {}
    t = 10**9 * int(stamp.get("sec", 0)) + int(stamp.get("nsec", stamp.get("nanosec", 0)))
    names = given.get("name", given.get("position_names")), given.get("name", given.get("velocity_names"))
    numbers = {kind: given.get(kind) or [] for kind in _KINDS}
    if any(not isinstance(row, list) or any(type(x) not in (int, float) for x in row) for row in numbers.values()):
        raise TypeError("its fields are no lists of numbers")
    return _State(t, {kind: (tuple(map(str, names[kind != "position"])), numbers[kind]) for kind in _KINDS})


_DECODERS: dict[str, Callable[[bytes], _State]] = {"cdr": _cdr, "ros1": _ros1, "json": _json}


@dataclass(slots=True)
class _Topic:
    """The messages of one topic: (time of the recording in ns, message), and how to decode them."""

    encoding: str
    messages: list[tuple[int, bytes]]


def columns_of_recording(path: str, topics: Sequence[str] | None) -> dict[str, Array]:
    """Return columns by name, "t", "q.<joint>" ..., of a file or a folder of files, from the given topics."""
    files = _files(Path(path))
    found: dict[str, _Topic] = {}
    for file in files:
        require_regular(file)
        for name, encoding, t, data in (_mcap if file.suffix == ".mcap" else _db3)(file):
            kinds = (name, str), (encoding, str), (t, int), (data, bytes)
            if not all(isinstance(x, kind) for x, kind in kinds):
                raise UnreadableError("the file is damaged: a message has no topic, encoding, time or data", str(file))
            found.setdefault(name, _Topic(encoding, [])).messages.append((t, data))
    if not found:
        raise UnreadableError("there are no messages of the type sensor_msgs/JointState", path)
    if topics is None and len(found) > 1:
        raise UnreadableError(f"states of joints are in several topics; name some: topics={list(found)}", path)
    names = tuple(found) if topics is None else tuple(topics)
    parts = [_columns(found[choice("topic", x, found, path)], x, path) for x in names]
    return _together(parts, names, path)


def _files(path: Path) -> list[Path]:
    """Return the files of a recording."""
    if not path.is_dir():
        return [path]
    files = sorted(x for x in path.iterdir() if x.suffix in RECORDINGS)
    if not files:
        packed = next((x.name for x in path.iterdir() if x.suffix in (".zstd", ".bag")), "")
        hint = f"; {packed} is packed or of ROS 1: unpack it with `ros2 bag convert`" if packed else ""
        raise UnreadableError(f"the folder has no files .mcap or .db3{hint}", str(path))
    return files


def _mcap(path: Path) -> Iterator[tuple[str, str, int, bytes]]:
    """Yield topic, encoding, time and data of the messages with states of joints."""
    reader = library("mcap.reader", "a .mcap file", "mcap")
    with unreadable(path), path.open("rb") as file:
        for schema, channel, message in reader.make_reader(file).iter_messages():
            if schema is not None and schema.name in _STATES:
                yield channel.topic, channel.message_encoding, message.log_time, message.data


def _db3(path: Path) -> Iterator[tuple[str, str, int, bytes]]:
    """Yield topic, encoding, time and data of the messages of a bag in SQLite."""
    try:
        base = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        base.text_factory = lambda text: text.decode("utf-8", "replace")
        try:
            rows = base.execute(
                "select topics.name, topics.serialization_format, messages.timestamp, messages.data from messages "
                "join topics on messages.topic_id = topics.id where topics.type in (?, ?, ?) order by timestamp",
                _STATES,
            )
            yield from rows
        finally:
            base.close()
    except (sqlite3.Error, UnicodeError, OverflowError) as e:
        raise UnreadableError(f"the file cannot be read as a bag of ROS 2: {e}", str(path)) from None


def _columns(topic: _Topic, name: str, path: str) -> dict[str, Any]:
    """Return the columns of one topic. Times, in ns, are those of the messages themselves, or of the recording."""
    if topic.encoding not in _DECODERS:
        raise UnreadableError(f"messages of {name!r} are in {topic.encoding!r}; known are {list(_DECODERS)}", path)
    decode = _DECODERS[topic.encoding]
    try:
        states = [decode(data) for _, data in topic.messages]
        times = [x.t for x in states] if all(x.t > 0 for x in states) else [t for t, _ in topic.messages]
        order = np.argsort(np.array(times, np.int64), kind="stable")
    except (struct.error, LookupError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as e:
        raise UnreadableError(f"a message of {name!r} is not a state of joints: {e}", path) from None
    columns: dict[str, Any] = {"t": np.array(times, np.int64)[order]}
    for kind, short in _KINDS.items():
        names, numbers = states[0].of[kind]
        if len(numbers):
            rows = _rows(states, kind, name, path)
            columns |= {f"{short}.{joint}": rows[order, k] for k, joint in enumerate(names)}
    return columns


def _rows(states: Sequence[_State], kind: str, topic: str, path: str) -> Array:
    """Return the numbers of a kind, (N, joints), in the order of the first message."""
    names, _ = states[0].of[kind]
    rows = np.empty((len(states), len(names)))
    for k, state in enumerate(states):
        own, given = state.of[kind]
        if len(given) != len(own) or {*own} != {*names}:
            raise UnreadableError(
                f"message {k} of {topic!r} has {len(given)} numbers of {kind} for {len(own)} joints, not for the "
                f"{len(names)} of the first message",
                path,
            )
        rows[k] = given if own == names else [given[own.index(x)] for x in names]
    return rows


def _together(parts: Sequence[dict[str, Any]], names: Sequence[str], path: str) -> dict[str, Array]:
    """Return the columns of all topics at the times of the first one with positions, which all of them cover."""
    leader = next((x for x in parts if any(name.startswith("q.") for name in x)), parts[0])
    low, high = max(x["t"][0] for x in parts), min(x["t"][-1] for x in parts)
    t = leader["t"]
    t = t[(t >= low) & (t <= high)]
    if not len(t):
        raise UnreadableError(f"the topics {', '.join(names)} have no times in common", path)
    found = {"t": 1e-9 * (t - t[0])}
    for part in (leader, *(x for x in parts if x is not leader)):
        for name, x in part.items():
            found.setdefault(name, np.interp(1e-9 * (t - t[0]), 1e-9 * (part["t"] - t[0]), x))
    return found
