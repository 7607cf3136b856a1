"""Recordings for Rerun (.rrd): meshes, transforms, scalars and events on one timeline."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...model import BASE
from ...rotations import quaternion_from_matrix
from ...simulate.results.tables import library
from ..looks import Part
from .recording import Recording

__all__ = ["require", "write"]

_TIME = "time"


def require() -> Any:
    """Import Rerun; the error says how to install it."""
    return library("rerun", "a .rrd file", "rerun")


def write(recording: Recording, file: BinaryIO) -> None:
    """Write a recording. Rerun writes to a path only, so it goes through a file of its own."""
    rr = require()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "motion.rrd"
        stream = rr.RecordingStream(recording.robot.name or "ordern")
        stream.save(str(path), default_blueprint=_blueprint(recording))
        _Writer(rr, stream, recording).write()
        stream.flush()
        stream.disconnect()
        del stream
        file.write(path.read_bytes())


def _blueprint(recording: Recording) -> Any:
    """Return the layout of the viewer: the robot on the left, curves on the right."""
    blueprint = library("rerun.blueprint", "a .rrd file", "rerun")
    kinds = dict.fromkeys(name.partition(".")[0] for name in recording.series())
    curves = [name for name in ("q", "v", "tau") if name in kinds] + (["energy"] if "energy" in kinds else [])
    views = [blueprint.TimeSeriesView(origin=f"/series/{name}", name=name) for name in curves]
    robot = blueprint.Spatial3DView(origin="/", name=recording.robot.name)
    return blueprint.Blueprint(blueprint.Horizontal(robot, blueprint.Vertical(*views), column_shares=[3, 2]))


class _Writer:
    def __init__(self, rr: Any, stream: Any, recording: Recording) -> None:
        self.rr, self.stream, self.recording = rr, stream, recording
        self.time = [rr.TimeColumn(_TIME, duration=recording.t)]

    def write(self) -> None:
        rr, recording = self.rr, self.recording
        axes = {0: "X", 1: "Y", 2: "Z"}
        along = int(np.argmax(np.abs(recording.up)))
        sign = "UP" if recording.up[along] > 0 else "DOWN"
        world = getattr(rr.ViewCoordinates, f"RIGHT_HAND_{axes[along]}_{sign}")
        self.stream.log("/", world, static=True)
        for k, parts in recording.shapes():
            for n, part in enumerate(parts):
                self.stream.log(f"{self._body(k)}/shape {n}".replace(" ", "_"), self._mesh(part), static=True)
        if recording.ground is not None:
            self.stream.log("ground", self._mesh(recording.ground), static=True)
        for k in range(len(recording.robot.bodies)):
            T, turn = recording.poses[:, k], recording.turns[:, k]
            self._columns(self._body(k), rr.Transform3D, translation=T[:, :3, 3], quaternion=turn[:, [1, 2, 3, 0]])
        for rod in recording.rods():
            assert rod.part.rod is not None
            path, n = f"{self._body(rod.part.body)}/rod", len(recording.t)
            self.stream.log(path, self._mesh(rod.part), static=True)
            turn = quaternion_from_matrix(rod.part.rod[:3, :3], check=False)[[1, 2, 3, 0]]
            scale = np.stack([np.ones(n), np.ones(n), rod.lengths], axis=1)
            self._columns(path, rr.Transform3D, scale=scale, quaternion=np.tile(turn, (n, 1)))
        for name, x in recording.series().items():
            self._columns(rr.new_entity_path(["series", *name.split(".")]), rr.Scalars, scalars=x)
        for event in recording.result.events:
            self.stream.set_time(_TIME, duration=event.time)
            self.stream.log("events", rr.TextLog(event.name, level="INFO"))

    def _columns(self, path: str, kind: Any, **values: Any) -> None:
        self.stream.send_columns(path, indexes=self.time, columns=kind.columns(**values))

    def _body(self, k: int) -> str:
        """Return the path of a body; its name is escaped."""
        robot = self.recording.robot
        return str(self.rr.new_entity_path(["robot", robot.base if k == BASE else robot.bodies[k].name]))

    def _mesh(self, part: Part) -> Any:
        solid = part.solid
        vertices, faces = solid.vertices, np.asarray(solid.faces)
        if solid.flat:  # every face has corners, and so a normal, of its own
            vertices, faces = vertices[faces].reshape(-1, 3), np.arange(3 * len(faces)).reshape(-1, 3)
        colour = (*part.colour, round(255 * part.opacity))
        normals = vertex_normals(vertices, faces)
        return self.rr.Mesh3D(
            vertex_positions=vertices, triangle_indices=faces, vertex_normals=normals, albedo_factor=colour
        )


def vertex_normals(vertices: Any, faces: Any) -> Any:
    """Return the mean normals of the faces at each vertex."""
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sums = np.zeros_like(vertices, dtype=float)
    for k in range(3):
        np.add.at(sums, faces[:, k], normals)
    return sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-30)
