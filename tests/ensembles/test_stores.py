"""Results in files: row groups, shapes, and the layout of LeRobot."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ordern as on

pytestmark = [pytest.mark.needs("pyarrow"), pytest.mark.needs("pandas")]
FAILED = (3, 9, *range(16, 24), 30)


def study(**more):
    """Return 32 members in blocks of 8; some fail in the first blocks, and all in the third."""
    q = np.random.default_rng(0).normal(size=(32, 2))
    v = np.zeros((32, 2))
    v[list(FAILED)] = 1e200
    keep = [on.keep.series(every=2), on.keep.forces(every=2), "energy", "drawn"]
    given = {"starts": (q, v), "steps": 20, "dt": 1e-2, "keep": keep, "block": 8, "controller": lambda q, v: -q - v}
    return on.Ensemble(on.load("double-pendulum"), **given | more)


def tables(folder: Path):
    import pyarrow.parquet as pq

    return [pq.ParquetFile(path) for path in sorted(folder.glob("*/*.parquet"))]


def test_forces_are_those_that_act_from_each_state_on():
    robot = on.load("double-pendulum")
    tau = np.random.default_rng(0).normal(size=(3, 6, 2))
    keep = [on.keep.series(every=2), on.keep.forces(every=2)]
    found = on.Ensemble(robot, forces=tau, steps=6, keep=keep).run()
    assert (found["tau"] == tau[:, [0, 2, 4, 5]]).all()
    found = on.Ensemble(robot, members=2, forces=[1.0, 2.0], until=0.02, dt=0.01, keep=["series", "forces"]).run()
    assert (found["tau"] == [1.0, 2.0]).all() and found["tau"].shape == (2, 3, 2)
    found = study().run()
    fine = ~found["failed"]
    assert np.abs(found["tau"][fine, :-1] + (found["q"] + found["v"])[fine, :-1]).max() < 1e-12
    with pytest.raises(on.ArgumentError, match=r"series every 2 steps and forces every 4 steps"):
        study(keep=[on.keep.series(every=2), on.keep.forces(every=4)])


def test_each_episode_is_a_row_group(tmp_path: Path):
    import pyarrow.parquet as pq

    whole, stored = study().run(), study().run(out=tmp_path / "x.parquet")
    files = [pq.ParquetFile(path) for path in sorted((tmp_path / "x.parquet").glob("*.parquet"))]
    assert [x.num_row_groups for x in files] == [8] * 4
    assert files[1].read_row_group(2)["member"].unique().to_pylist() == [10]
    for name in stored.store.names():
        assert stored[name].dtype == whole[name].dtype
        assert np.array_equal(stored[name], whole[name], equal_nan=whole[name].dtype.kind == "f"), name


def test_layout_of_lerobot(tmp_path: Path):
    import pandas as pd

    out = tmp_path / "falls"
    whole, stored = study().run(), study().run(out=out, format="lerobot", task="Swing to rest.")
    count = 32 - len(FAILED)
    info = json.loads((out / "meta/info.json").read_text())
    assert (info["codebase_version"], info["fps"], info["robot_type"]) == ("v3.0", 50, "double-pendulum")
    assert (info["total_episodes"], info["total_frames"], info["splits"]) == (
        count,
        11 * count,
        {"train": f"0:{count}"},
    )
    state = info["features"]["observation.state"]
    assert (state["dtype"], state["shape"]) == ("float32", [4])
    assert state["names"] == ["shoulder.pos", "elbow.pos", "shoulder.vel", "elbow.vel"]
    assert info["features"]["index"] == {"dtype": "int64", "shape": [1], "names": None}
    assert pd.read_parquet(out / "meta/tasks.parquet").loc["Swing to rest."].task_index == 0
    data, episodes = tables(out / "data"), tables(out / "meta/episodes")
    assert [x.num_row_groups for x in data] == [7, 7, 7]  # a row group for each episode; the third block has none
    frames = pd.concat(x.read().to_pandas() for x in data)
    rows = pd.concat(x.read().to_pandas() for x in episodes)
    fine = [k for k in range(32) if k not in FAILED]
    assert (frames["index"] == np.arange(11 * count)).all()
    assert (frames["episode_index"] == np.repeat(np.arange(count), 11)).all()
    assert (frames["member"] == np.repeat(fine, 11)).all() and (rows["member"] == fine).all()
    assert (rows["episode_index"] == np.arange(count)).all() and (rows["length"] == 11).all()
    assert (rows["dataset_from_index"] == 11 * np.arange(count)).all()
    assert (rows["data/file_index"] == [k // 8 for k in fine]).all()
    assert np.abs(np.stack(frames["action"]).reshape(count, 11, 2) - whole["tau"][fine]).max() < 1e-6
    assert (rows["energy_change"] == whole["energy_change"][fine]).all()
    seen, stats = np.stack(frames["observation.state"]), json.loads((out / "meta/stats.json").read_text())
    found = stats["observation.state"]
    assert (np.min(seen, axis=0) == found["min"]).all() and found["count"] == [11 * count]
    assert np.abs(seen.astype(float).mean(axis=0) - found["mean"]).max() < 1e-12
    assert np.abs(seen.astype(float).std(axis=0) - found["std"]).max() < 1e-12
    assert (np.stack(rows["stats/timestamp/max"]) == 0.2).all()
    assert np.array_equal(stored["failed"], whole["failed"])
    assert (stored["q"][fine] == whole["q"][fine].astype(np.float32)).all() and np.isnan(stored["q"][3]).all()


def test_datasets_of_lerobot_that_were_interrupted_are_the_same(tmp_path: Path):
    first, second = tmp_path / "a", tmp_path / "b"
    study().run(out=first, format="lerobot")
    study(members=32).run(out=second, format="lerobot", workers=1, shard=1e-3)
    for path in first.rglob("*.*"):
        assert path.read_bytes() == (second / path.relative_to(first)).read_bytes(), path
    before = (second / "data/chunk-000/file-003.parquet").read_bytes()
    from ordern.ensembles.formats import store_of
    from ordern.ensembles.work import columns_of, run_block

    s = study()
    store, _ = store_of(second, "lerobot", None)
    store.resume(s, columns_of(s))
    store.write(3, run_block(s, 24, 32))  # as it was when a run was killed before the episodes had their numbers
    assert (second / "data/chunk-000/file-003.parquet").read_bytes() != before
    study().run(out=second, format="lerobot")
    assert (second / "data/chunk-000/file-003.parquet").read_bytes() == before
    with pytest.raises(on.ArgumentError, match="another study: task differ"):
        study().run(out=second, format="lerobot", task="Another one.")
    with pytest.raises(on.ArgumentError, match="another study: format, task differ"):
        study().run(out=second, format="parquet")
    with pytest.raises(on.ArgumentError, match="`keep` must have 'series'"):
        study(keep="final").run(out=tmp_path / "c", format="lerobot")
    with pytest.raises(on.OrdernError, match="'lerobo'"):
        study().run(out=tmp_path / "c", format="lerobo")
    with pytest.raises(on.ArgumentError, match="`task` describes"):
        study().run(out=tmp_path / "c.zarr", task="Swing.")


@pytest.mark.slow
@pytest.mark.needs("lerobot")
def test_lerobot_reads_its_datasets(tmp_path: Path, monkeypatch):
    """Run it in an environment with lerobot, which is too large to be installed for all tests."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    whole = study().run()
    study().run(out=tmp_path / "falls", format="lerobot", task="Swing to rest.")
    before = {"observation.state": [-0.02, 0.0], "action": [0.0, 0.02]}
    found = LeRobotDataset("us/falls", root=tmp_path / "falls", delta_timestamps=before, video_backend="pyav")
    fine = [k for k in range(32) if k not in FAILED]
    assert (len(found), found.num_episodes, found.fps) == (11 * len(fine), len(fine), 50)
    for k in range(0, len(found), 5):
        item = found[k]
        member, frame = fine[k // 11], k % 11
        assert (int(item["index"]), int(item["member"]), item["task"]) == (k, member, "Swing to rest.")
        rows = [max(0, frame - 1), frame]
        state = np.concatenate([whole["q"], whole["v"]], axis=-1)[member, rows]
        assert (item["observation.state"].numpy() == state.astype(np.float32)).all()
        assert bool(item["next.done"]) == (frame == 10)
    some = LeRobotDataset("us/falls", root=tmp_path / "falls", episodes=[2, 5], video_backend="pyav")
    assert len(some) == 22 and int(some[11]["episode_index"]) == 5


@pytest.mark.needs("xarray", "zarr")
def test_arrays_have_units_and_labels(tmp_path: Path) -> None:
    """The third joint of the Stanford arm slides. Results in memory and in files have the same attributes."""
    arm = on.load("stanford-arm")
    swung = on.Ensemble(arm, members=4, starts={"q": 0.1}, steps=4, keep=["series", "forces", "energy"])
    here, stored = swung.run().to_xarray(), swung.run(out=tmp_path / "x.zarr").to_xarray()
    assert here.q.attrs["position_units"] == ["rad", "rad", "m", "rad", "rad", "rad"]
    assert here.v.attrs["velocity_units"][2] == "m/s" and here.tau.attrs["velocity_units"][2] == "N"
    assert here.energy_change.attrs["units"] == "J" and here.time.attrs["units"] == "s"
    assert all(stored[x].attrs == here[x].attrs for x in here.variables)
    pendulum = on.Ensemble(on.load("double-pendulum"), members=4, steps=4).run().to_xarray()
    assert pendulum.q_final.attrs["units"] == "rad" and pendulum.v_final.attrs["units"] == "rad/s"


class Policy:
    """A policy that holds something, and computes with one number in it."""

    def __init__(self, held):
        self.held = held

    def __call__(self, q, v):
        return -self.held["layers"][0] * v


def test_results_of_another_policy_are_not_returned(tmp_path: Path):
    def stored(gain: float):
        return study(controller=Policy({"layers": [np.full(2, gain)]})).run(out=tmp_path / "x.parquet")

    first = stored(1.0)
    assert np.array_equal(stored(1.0)["tau"], first["tau"], equal_nan=True)
    with pytest.raises(on.ArgumentError, match="another study: controller differ"):
        stored(2.0)
    policy = Policy({"layers": [np.ones(2)]})
    again = study(controller=policy)
    again.run(out=tmp_path / "y.parquet")
    policy.held["layers"][0][1] = 3.0  # as an optimiser does, in place
    with pytest.raises(on.ArgumentError, match="another study: controller differ"):
        again.run(out=tmp_path / "y.parquet")


def test_results_of_a_policy_that_cannot_be_compared_need_a_key(tmp_path: Path):
    policy = Policy({"layers": [np.ones(2)], "file": memoryview(b"weights")})
    policy.__deepcopy__ = lambda memo: policy
    first = study(controller=policy).run(out=tmp_path / "x.parquet")
    why = "its controller is .* not known, because 'file' of attribute 'held' of Policy is a memoryview"
    with pytest.raises(on.ArgumentError, match=f"{why}.*attribute `fingerprint`"):
        study(controller=policy).run(out=tmp_path / "x.parquet")
    policy.fingerprint = "May"
    for _ in range(2):
        again = study(controller=policy).run(out=tmp_path / "y.parquet")
        assert np.array_equal(again["tau"], first["tau"], equal_nan=True)


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b"PK\3\4 no archive", b"\xff\xfe", b'{"parts": {"dt": 3}}'])
@pytest.mark.parametrize("name", ["study.json", "blocks-*.npz"])
def test_damaged_journals_are_told(tmp_path: Path, name: str, damage: bytes):
    made = study(keep=["final", on.keep.moments("energy_change")])
    made.run(out=tmp_path / "x.parquet")
    path = next(tmp_path.rglob(name))
    path.write_bytes(damage)
    with pytest.raises(on.ArgumentError, match=rf"{path.name}: the (description|journal) .*is damaged .*delete"):
        made.run(out=tmp_path / "x.parquet")
    path.rename(path.with_name(path.name.replace("00000", "00x00")))
    with pytest.raises(on.ArgumentError, match=r"is damaged|was begun here"):
        made.run(out=tmp_path / "x.parquet")
