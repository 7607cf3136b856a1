"""Recordings in MCAP (.mcap), in JSON with the schemas of Foxglove: scene, transforms, joint states, series, events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from ...arguments import Array
from ...model import BASE
from ...rotations import quaternion_from_matrix
from ...simulate.results.series import labels
from ...simulate.results.tables import library
from ..looks import Part
from .foxglove import SCHEMAS
from .recording import Recording, Rod

__all__ = ["require", "write"]

_WORLD = "world"
_LISTS = ("arrows", "cubes", "spheres", "cylinders", "lines", "triangles", "texts", "models", "metadata")
"""The lists of an entity of a scene."""


def require() -> Any:
    """Import the writer of MCAP; the error says how to install it."""
    return library("mcap.writer", "a .mcap file", "mcap")


def write(recording: Recording, file: BinaryIO) -> None:
    """Write a recording."""
    _Writer(require().Writer(file), recording).write()


def _stamp(nanoseconds: int) -> dict[str, int]:
    return {"sec": nanoseconds // 10**9, "nsec": nanoseconds % 10**9}


def _vector(x: Any) -> dict[str, float]:
    return dict(zip("xyz", map(float, x), strict=True))


def _turn(wxyz: Any) -> dict[str, float]:
    return dict(zip("wxyz", map(float, wxyz), strict=True))


def _finite(numbers: Any) -> list[float | None]:
    """Return numbers for JSON, which has no NaN."""
    return [float(x) if np.isfinite(x) else None for x in numbers]


class _Writer:
    def __init__(self, writer: Any, recording: Recording) -> None:
        self._writer, self._recording = writer, recording
        # times in a file are not below zero
        self._times = [round(1e9 * t) for t in (recording.t - min(float(recording.t[0]), 0.0)).tolist()]
        self._channels: dict[str, int] = {}

    def write(self) -> None:
        """Write everything, in the order of time."""
        recording, writer = self._recording, self._writer
        writer.start(profile="", library="ordern")
        about = {"robot": recording.robot.name, "start": repr(float(recording.t[0]))}
        writer.add_metadata("ordern", about)
        for topic, schema in (
            ("/scene", "foxglove.SceneUpdate"),
            ("/tf", "foxglove.FrameTransforms"),
            ("/joint_states", "ordern.JointStates"),
            ("/series", "ordern.Series"),
            ("/events", "foxglove.Log"),
        ):
            text = json.dumps(SCHEMAS[schema]).encode()
            known = writer.register_schema(name=schema, encoding="jsonschema", data=text)
            self._channels[topic] = writer.register_channel(topic=topic, message_encoding="json", schema_id=known)
        self._scene()
        events = list(recording.result.events)
        rods = recording.rods()
        joints, series = self._joint_states(), self._series()
        for k, time in enumerate(self._times):
            while events and events[0].time <= recording.t[k]:
                self._event(events.pop(0))
            self._add("/tf", time, {"transforms": self._transforms(k, time)})
            self._add("/joint_states", time, {"timestamp": _stamp(time), **{n: x[k] for n, x in joints.items()}})
            self._add("/series", time, {"timestamp": _stamp(time), **{n: x[k] for n, x in series.items()}})
            if rods:
                self._add("/scene", time, {"deletions": [], "entities": [self._rod(r, k, time) for r in rods]})
        for event in events:
            self._event(event)
        writer.finish()

    def _add(self, topic: str, time: int, data: Mapping[str, Any]) -> None:
        text = json.dumps(data, separators=(",", ":"), allow_nan=False).encode()
        self._writer.add_message(self._channels[topic], log_time=time, data=text, publish_time=time)

    def _name(self, k: int) -> str:
        robot = self._recording.robot
        return _WORLD if k == BASE else robot.bodies[k].name

    def _entity(self, k: int, name: str, time: int, **contents: Any) -> dict[str, Any]:
        nothing: dict[str, Any] = {name: [] for name in _LISTS}
        own = {"timestamp": _stamp(time), "frame_id": self._name(k), "id": name, "lifetime": _stamp(0)}
        return {**own, "frame_locked": True, **nothing, **contents}

    def _scene(self) -> None:
        """Write the shapes of all bodies; each moves with the frame of its body."""
        time = self._times[0]
        entities = [
            self._entity(k, f"{self._name(k)} shapes", time, triangles=[_triangles(p) for p in parts])
            for k, parts in self._recording.shapes()
        ]
        if self._recording.ground is not None:
            entities.append(self._entity(BASE, "ground", time, triangles=[_triangles(self._recording.ground)]))
        self._add("/scene", time, {"deletions": [], "entities": entities})

    def _rod(self, rod: Rod, k: int, time: int) -> dict[str, Any]:
        """Return the rod of a sliding joint at a sample: a cylinder from the body back to the joint."""
        part, length = rod.part, float(rod.lengths[k])
        assert part.rod is not None
        pose = {
            "position": _vector(-0.5 * length * part.rod[:3, 2]),
            "orientation": _turn(quaternion_from_matrix(part.rod[:3, :3], check=False)),
        }
        size = _vector((2 * rod.radius, 2 * rod.radius, abs(length)))
        drawn = {"pose": pose, "size": size, "bottom_scale": 1.0, "top_scale": 1.0, "color": _colour(part)}
        return self._entity(part.body, f"{self._name(part.body)} rod", time, cylinders=[drawn])

    def _transforms(self, k: int, time: int) -> list[dict[str, Any]]:
        recording = self._recording
        return [
            {
                "timestamp": _stamp(time),
                "parent_frame_id": _WORLD,
                "child_frame_id": body.name,
                "translation": _vector(recording.poses[k, i, :3, 3]),
                "rotation": _turn(recording.turns[k, i]),
            }
            for i, body in enumerate(recording.robot.bodies)
        ]

    def _joint_states(self) -> dict[str, list[Any]]:
        """Return names and numbers of coordinates and velocities at each sample."""
        result, n = self._recording.result, len(self._times)
        positions, velocities = labels(result.robot)

        def rows(x: Array) -> list[list[float | None]]:
            return [_finite(row) for row in x]

        numbers = {"position": result.q, "velocity": result.v, "acceleration": result.a, "effort": result.tau}
        return {
            "position_names": n * [list(positions)],
            "velocity_names": n * [list(velocities)],
            **{name: rows(x) for name, x in numbers.items()},
        }

    def _series(self) -> dict[str, list[float | None]]:
        """Return energies and further series; those of joints are joint states."""
        found = self._recording.series()
        return {name: _finite(x) for name, x in found.items() if name.partition(".")[0] not in ("q", "v", "a", "tau")}

    def _event(self, event: Any) -> None:
        shift = min(float(self._recording.t[0]), 0.0)
        time = round(1e9 * (event.time - shift))
        log = {"timestamp": _stamp(time), "level": 2, "message": event.name, "name": "event", "file": "", "line": 0}
        self._add("/events", time, log)


def _colour(part: Part) -> dict[str, float]:
    r, g, b = (x / 255 for x in part.colour)
    return {"r": r, "g": g, "b": b, "a": float(part.opacity)}


def _triangles(part: Part) -> dict[str, Any]:
    here = {"position": _vector((0, 0, 0)), "orientation": _turn((1, 0, 0, 0))}
    points = [_vector(p) for p in np.round(part.solid.vertices, 6)]
    indices = np.asarray(part.solid.faces).ravel().tolist()
    return {"pose": here, "points": points, "color": _colour(part), "colors": [], "indices": indices}
