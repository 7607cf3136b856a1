"""Recordings for other viewers are read by their own tools, and have the poses, series and events of the motion."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.view.recordings.foxglove import SCHEMAS
from tests.tolerances import ROUNDING, assert_close

KINDS = {"number": (int, float), "integer": int, "string": str, "boolean": bool, "null": type(None)}


def fitting(value: Any, schema: dict[str, Any], where: str = "") -> None:
    """Check a value against a schema: all of its parts are declared, and have the declared types."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if kinds == ["object"]:
        assert isinstance(value, dict), where
        for name, x in value.items():
            own = schema["properties"].get(name) or schema.get("additionalProperties")
            assert own, f"{where}.{name} is not in the schema"
            fitting(x, own, f"{where}.{name}")
        assert schema["properties"].keys() <= value.keys(), where
    elif kinds == ["array"]:
        for x in value:
            fitting(x, schema["items"], f"{where}[]")
    else:
        assert isinstance(value, tuple(t for k in kinds for t in np.atleast_1d(KINDS[k]))), where


@pytest.fixture(scope="module")
def result() -> on.Result:
    """Return the motion of an arm with a sliding joint, nasty names, an event, and an unknown acceleration."""
    builder = on.Builder('arm "1"').body("base")
    builder.body("up/er", parent="base", joint=on.Revolute((0, 1, 0)), mass=1.0, com=(0.3, 0, 0), inertia=(1, 1, 1))
    builder.body("lower", parent="up/er", joint=on.Prismatic((1, 0, 0)), mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1))
    robot = builder.build()
    event = on.Event(lambda t, q, v: q[0] - 0.5, name="half")
    run = robot.simulate([0.2, 0.4], until=np.linspace(0.0, 1.0, 21), events=[event])
    assert len(run.events) == 1
    return run


def body_pose(result: on.Result, name: str) -> np.ndarray:
    return np.asarray(result.robot.pose(result.q, name))


@pytest.mark.slow
@pytest.mark.needs("mcap")
def test_mcap(result: on.Result, tmp_path: Path) -> None:
    from mcap.reader import make_reader

    result.save(tmp_path / "motion.mcap")
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    with open(tmp_path / "motion.mcap", "rb") as file:
        for schema, channel, message in make_reader(file, validate_crcs=True).iter_messages():
            data = json.loads(message.data)
            assert schema is not None and json.loads(schema.data) == SCHEMAS[schema.name]
            fitting(data, SCHEMAS[schema.name])
            found.setdefault(channel.topic, []).append((message.log_time, data))
    assert {topic: len(x) for topic, x in found.items()} == {
        "/scene": 22,  # the shapes, and the rod at each sample
        "/tf": 21,
        "/joint_states": 21,
        "/series": 21,
        "/events": 1,
    }
    times = [time for time, _ in found["/tf"]]
    np.testing.assert_allclose(times, 1e9 * result.t, atol=1.0)
    for k, name in enumerate(("up/er", "lower")):
        T = body_pose(result, name)
        moves = [data["transforms"][k] for _, data in found["/tf"]]
        assert {(x["parent_frame_id"], x["child_frame_id"]) for x in moves} == {("world", name)}
        assert_close(np.array([[x["translation"][i] for i in "xyz"] for x in moves]), T[:, :3, 3], ROUNDING)
        turns = np.array([[x["rotation"][i] for i in "wxyz"] for x in moves])
        assert_close(on.rotations.matrix_from_quaternion(turns), T[:, :3, :3], ROUNDING)
    states = [data for _, data in found["/joint_states"]]
    np.testing.assert_array_equal([x["position"] for x in states], result.q)
    np.testing.assert_array_equal([x["effort"] for x in states], result.tau)
    np.testing.assert_array_equal([data["energy"] for _, data in found["/series"]], result.energy)
    ((time, event),) = found["/events"]
    assert event["message"] == "half" and time == round(1e9 * result.events[0].time)
    shapes = {entity["frame_id"]: entity["triangles"] for entity in found["/scene"][0][1]["entities"]}
    assert {"up/er", "lower"} <= shapes.keys()
    for surface in (x for listed in shapes.values() for x in listed):
        assert min(surface["indices"]) >= 0 and max(surface["indices"]) < len(surface["points"])
    lengths = [data["entities"][0]["cylinders"][0]["size"]["z"] for _, data in found["/scene"][1:]]
    assert_close(np.array(lengths), np.abs(result.q[:, 1]), ROUNDING)


@pytest.mark.slow
@pytest.mark.needs("rerun")
def test_rerun(result: on.Result, tmp_path: Path) -> None:
    from rerun.chunk import RrdReader

    result.save(tmp_path / "motion.rrd")
    reader = RrdReader(tmp_path / "motion.rrd")
    assert len(reader.recordings()) == 1 and len(reader.blueprints()) == 1
    columns: dict[str, dict[str, list[Any]]] = {}
    for chunk in reader.stream():
        batch = chunk.to_record_batch()
        own = columns.setdefault(str(chunk.entity_path), {})
        own |= {name: batch.column(k).to_pylist() for k, name in enumerate(batch.schema.names)}
    energy = columns["/series/energy"]
    np.testing.assert_array_equal(np.ravel(energy["Scalars:scalars"]), result.energy)
    assert_close(np.array([x.total_seconds() for x in energy["time"]]), result.t, 1e-6)
    slide = result.robot.joints[1].name
    np.testing.assert_array_equal(np.ravel(columns[f"/series/q/{slide}"]["Scalars:scalars"]), result.q[:, 1])
    (upper,) = (path for path in columns if path.endswith("er") and path.startswith("/robot/up"))
    places = np.reshape(columns["/robot/lower"]["Transform3D:translation"], (-1, 3))
    assert_close(places, body_pose(result, "lower")[:, :3, 3], 1e-6)  # in single precision
    turns = np.reshape(columns[upper]["Transform3D:quaternion"], (-1, 4))[:, [3, 0, 1, 2]]
    assert_close(on.rotations.matrix_from_quaternion(turns), body_pose(result, "up/er")[:, :3, :3], 1e-6)
    scales = np.reshape(columns["/robot/lower/rod"]["Transform3D:scale"], (-1, 3))
    assert_close(np.abs(scales[:, 2]), np.abs(result.q[:, 1]), 1e-6)
    assert columns["/events"]["TextLog:text"] == [["half"]]
    assert any("Mesh3D:vertex_positions" in found for found in columns.values())


def test_recordings_that_cannot_be_written_or_read(
    result: on.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, package in (("rerun", "rerun"), ("mcap.writer", "mcap")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(on.OrdernError, match=rf"needs {package}: pip install 'ordern\[{package}\]'"):
            result.save(tmp_path / f"motion.{'rrd' if package == 'rerun' else 'mcap'}")
    with pytest.raises(on.ArgumentError, match=r"\.mcap files are for other viewers, and are not read"):
        on.load_result(tmp_path / "motion.mcap")
    with pytest.raises(on.ArgumentError, match=r"expected \.npz, \.csv, \.parquet, \.rrd, \.mcap"):
        result.save(tmp_path / "motion.txt")
    assert not list(tmp_path.iterdir())
