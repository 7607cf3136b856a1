"""Ensembles: the same bits whatever the engine, the shards and the interruptions; failures, stores and reductions."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from threading import Timer

import numpy as np
import pytest

import ordern as on
from ordern.ensembles import engines

d = on.distributions


def study(members: int = 700, block: int = 64, **settings):
    given = {"starts": {"q": d.uniform(-2.0, 2.0), "v": d.normal(0.0, 0.5)}, "steps": 40, "dt": 1e-2, "seed": 3}
    keep = ["final", "energy", on.keep.moments("energy_change"), on.keep.worst("energy", count=3)]
    return on.Ensemble(on.load("double-pendulum"), members=members, block=block, **({"keep": keep} | given | settings))


def same(a, b) -> bool:
    arrays = ("q_final", "v_final", "energy_start", "energy_change")
    return all(np.asarray(a[x]).tobytes() == np.asarray(b[x]).tobytes() for x in arrays) and (
        a["energy_change_moments"].mean == b["energy_change_moments"].mean
        and (a["energy_worst"].members == b["energy_worst"].members).all()
    )


def test_members_are_rollouts():
    s = study(members=100)
    found, drawn = s.run(), s.draws.drawn(0, 100)
    run = s.robot.rollout(drawn["q"], drawn["v"], steps=40, dt=1e-2)
    assert (found["q_final"] == run.q[:, -1]).all()
    assert (found["v_final"] == run.v[:, -1]).all()
    energy = [s.robot.kinetic_energy(run.q[:, k], run.v[:, k]) + s.robot.potential_energy(run.q[:, k]) for k in (0, -1)]
    assert (found["energy_change"] == energy[1] - energy[0]).all()
    assert not found["failed"].any()


def test_workers_and_shards_do_not_change_a_bit():
    first = study().run(workers=1)
    assert same(first, study().run(workers=3, shard=1e-3))
    with ThreadPoolExecutor(2) as pool:
        assert same(first, study().run(engine=pool))
    assert same(first, study(target=None).run())
    assert first["energy_change_moments"] == study().run()["energy_change_moments"]
    # each member is the same in blocks of another size; sums over members may differ in rounding
    assert (study(block=100).run()["q_final"] == first["q_final"]).all()


@pytest.mark.slow
@pytest.mark.forks
@pytest.mark.skipif(sys.platform == "win32", reason="an executor of processes starts the test run again")
def test_other_processes_do_not_change_a_bit():
    with ProcessPoolExecutor(2) as pool:
        assert same(study().run(), study().run(engine=pool))


def test_series_and_values():
    s = study(
        members=50,
        keep=[
            on.keep.series(every=10),
            "drawn",
            on.keep.value("height", lambda m: m.robot.pose(m.q_final, "tip")[:, 2, 3], unit="m"),
            on.keep.value("fastest", lambda m: np.abs(m.v).max(axis=(1, 2)), every=5),
        ],
    )
    found, drawn = s.run(), s.draws.drawn(0, 50)
    run = s.robot.rollout(drawn["q"], drawn["v"], steps=40, dt=1e-2, every=5)
    assert (found["q"] == run.q[:, ::2]).all()
    assert (found["fastest"] == np.abs(run.v).max(axis=(1, 2))).all()
    assert (found["height"] == s.robot.pose(run.q[:, -1], "tip")[:, 2, 3]).all()
    assert (found["drawn.q"] == drawn["q"]).all()
    assert (found["time"] == run.t[::2]).all()
    assert list(found) == found.keys() and "time" in found and dict(found)["q"].shape == (50, 5, 2)


def test_forces_and_controllers():
    robot = on.load("double-pendulum")
    tau = np.random.default_rng(0).normal(size=(30, 2))
    found = on.Ensemble(robot, forces=tau, steps=20, block=8).run()
    run = robot.rollout(np.zeros((30, 2)), np.zeros((30, 2)), tau, 20)
    assert (found["q_final"] == run.q[:, -1]).all()
    found = on.Ensemble(robot, forces=tau, steps=30, block=30).run()  # as many members as steps
    assert (found["q_final"] == robot.rollout(np.zeros((30, 2)), np.zeros((30, 2)), tau[:, None], 30).q[:, -1]).all()
    table = np.random.default_rng(0).normal(size=(1, 20, 2))
    found = on.Ensemble(robot, members=30, forces=table, starts=(d.normal(), 0.0), steps=20, block=8)
    run = robot.rollout(found.draws.drawn(0, 30)["q"], np.zeros((30, 2)), table, 20)
    assert (found.run()["q_final"] == run.q[:, -1]).all()
    steered = on.Ensemble(
        robot, members=30, starts=(d.normal(), 0.0), controller=lambda q, v: -q - v, steps=20, block=8
    )
    run = robot.rollout(steered.draws.drawn(0, 30)["q"], np.zeros((30, 2)), None, 20, policy=lambda q, v: -q - v)
    assert (steered.run()["q_final"] == run.q[:, -1]).all()
    noisy = on.Ensemble(robot, members=30, noise={"tau": 0.1}, steps=20, block=8)
    assert (noisy.run(workers=1)["q_final"] == noisy.run(workers=2)["q_final"]).all()


def test_parts_of_a_block_share_no_noise() -> None:
    """Members that fail at their starts cut their block into parts, some of one size, whose noise must differ."""
    mass = np.ones(16)
    mass[[5, 13]] = -1.0
    study = on.Ensemble(
        on.load("double-pendulum"), noise={"tau": 0.1}, steps=5, parameters={"mass": {"lower": mass}}, block=16
    )
    found = study.run(workers=1)
    assert list(found.failures()) == [5, 13]
    ends = np.delete(found["v_final"], [5, 13], axis=0)
    assert len(np.unique(ends, axis=0)) == 14


def test_parameters_vary():
    robot = on.load("double-pendulum")
    link = robot.bodies[-1].name
    varied = {
        "mass": {link: d.uniform(0.5, 2.0)},
        "com": {link: d.normal(robot.bodies[-1].com, 0.01)},
        "gravity": (0, 0, -5.0),
    }
    s = on.Ensemble(robot, members=40, starts=(0.5, 0.0), parameters=varied, steps=30, dt=1e-2, block=16,
                    keep=["final", "drawn", "energy"])  # fmt: skip
    found = s.run()
    for k in (0, 17, 39):
        one = robot.vary(
            mass={link: found[f"drawn.parameters.mass.{link}"][k]},
            com={link: found[f"drawn.parameters.com.{link}"][k]},
            gravity=(0, 0, -5.0),
            fold=True,
        )
        run = one.rollout(np.full(2, 0.5), np.zeros(2), steps=30, dt=1e-2)
        assert np.abs(found["q_final"][k] - run.q[-1]).max() < 1e-12
        assert abs(found["energy_start"][k] - one.potential_energy(np.full(2, 0.5))) < 1e-12
    single = on.Ensemble(robot, members=3, starts=(0.5, 0.0), parameters=varied, until=0.3, dt=0.1).run()
    runs = on.Ensemble(robot, members=3, starts=(0.5, 0.0), parameters=varied, steps=3000, dt=1e-4, method="rk4").run()
    assert np.abs(single["q_final"] - runs["q_final"]).max() < 1e-9
    turned = {"placement": {"elbow": d.normal(robot.parameters.joint_placement[1], [0.01] * 6)}}
    tilted = on.Ensemble(robot, members=3, starts=(0.5, 0.0), parameters=turned, steps=9, keep=["final", "drawn"]).run()
    one = robot.vary(placement={"elbow": tilted["drawn.parameters.placement.elbow"][2]})  # a rotation vector, too
    assert np.abs(tilted["q_final"][2] - one.rollout(np.full(2, 0.5), np.zeros(2), steps=9).q[-1]).max() < 1e-12
    impossible = {"mass": {link: np.array([1.0, -1.0, 2.0])}}
    failed = on.Ensemble(robot, starts=(0.5, 0.0), parameters=impossible, steps=3).run()
    assert list(failed.failures()) == [1]
    assert link in failed.failures()[1]


def test_energies_are_those_of_each_variant():
    robot = on.load("double-pendulum")
    link = robot.bodies[-1].name
    masses = np.array([1.0, 2.0, -1.0, 3.0])
    for how in ({"steps": 100, "dt": 2e-3}, {"until": 0.2}):
        found = on.Ensemble(
            robot, starts=([1.0, 0.5], [0.0, 3.0]), parameters={"mass": {link: masses}}, keep=["final", "energy"], **how
        ).run()  # fmt: skip
        assert list(found.failures()) == [2]
        for k in (0, 1, 3):
            one = robot.vary(mass={link: masses[k]}, fold=True)
            q, v = found["q_final"][k], found["v_final"][k]
            start = one.potential_energy([1.0, 0.5]) + one.kinetic_energy([1.0, 0.5], [0.0, 3.0])
            assert abs(found["energy_start"][k] - start) < 1e-12
            end = one.potential_energy(q) + one.kinetic_energy(q, v)
            assert abs(found["energy_change"][k] - (end - start)) < 1e-12


def test_blocks_take_some_seconds_at_most():
    robot = on.load("double-pendulum")
    sizes = [on.Ensemble(robot, members=10**6, steps=n).block for n in (10, 1000, 10**5, 10**7)]
    assert sizes == [8192, 8192, 512, 64]


def test_simulated_members():
    robot = on.load("double-pendulum")
    event = on.Event(lambda t, q, v: q[0], name="down")
    s = on.Ensemble(robot, members=5, starts=(d.uniform(0.5, 1.0), 0.0), until=1.0, dt=0.25,
                    keep=["final", "series", "events"], events=[event])  # fmt: skip
    found, q = s.run(), s.draws.drawn(0, 5)["q"]
    assert found["q"].shape == (5, 5, 2)
    for k in range(5):
        result = robot.simulate(q[k], until=np.linspace(0.0, 1.0, 5), events=[event])
        assert (found["q_final"][k] == result.q[-1]).all()
        assert found["events"][k] == len(result.events)
        assert found["first_event"][k] == result.events[0].time


def test_members_that_fail_are_recorded():
    robot = on.load("double-pendulum")
    v = np.zeros((20, 2))
    v[7] = 1e200  # it becomes infinite
    found = on.Ensemble(robot, starts=(0.1, v), steps=50, keep=["final", on.keep.moments("energy")], block=8).run()
    assert list(found.failures()) == [7]
    assert "not finite" in found.failures()[7]
    assert found["failed"].tolist() == [k == 7 for k in range(20)]
    assert found["energy_moments"].count == 19
    assert np.isfinite(found["energy_moments"].mean)
    four_bar = on.load("four-bar")
    q = np.tile(four_bar.assemble(four_bar.neutral()).q, (6, 1))
    q[4] += 0.3  # not closed
    found = on.Ensemble(four_bar, starts=(q, 0.0), steps=10).run()
    assert list(found.failures()) == [4]
    assert "open" in found.failures()[4]
    assert np.isnan(found["q_final"][4]).all()
    assert np.isfinite(found["q_final"][[0, 1, 2, 3, 5]]).all()


def test_members_that_fail_by_chance_do_not_stop_the_others():
    robot = on.load("double-pendulum")
    link = robot.bodies[-1].name
    for masses, members in ((np.r_[np.full(12, -1.0), np.ones(8)], 20), (d.choice([-1.0, 1.0], p=[0.8, 0.2]), 100)):
        found = on.Ensemble(robot, members=members, parameters={"mass": {link: masses}}, steps=3, seed=7).run()
        failed = found.study.draws.drawn(0, members)[f"parameters.mass.{link}"] < 0.0
        assert (found["failed"] == failed).all() and failed[:8].all() and np.isfinite(found["q_final"][~failed]).all()
        assert all(x.startswith(f"body '{link}' has mass -1 kg") for x in found.failures().values())
    late = on.Ensemble(robot, members=70, starts=(0.1, 1e200), steps=50).run()  # each fails on its way
    assert late["failed"].all() and len(late.failures()) == 70
    with pytest.raises(on.ArgumentError, match=r"64 members that were tried all fail: .*mass"):
        on.Ensemble(robot, members=100, parameters={"mass": {link: d.uniform(-2.0, -1.0)}}, steps=3).run()


def test_time_limit_of_members():
    robot = on.load("double-pendulum")

    def slow(t, q, v):
        time.sleep(1e-3 if q[0] > 0.0 else 0.0)
        return np.zeros(2)

    start = {"q": np.array([[-0.1, 0.0], [0.1, 0.0]])}
    found = on.Ensemble(robot, starts=start, controller=slow, until=2.0, dt=1.0, time_limit=0.01).run()
    assert "time limit of 0.01 s" in found.failures()[1]
    with pytest.raises(on.ArgumentError, match="`time_limit` is for `until`"):
        on.Ensemble(robot, members=2, steps=3, time_limit=1.0)


def test_series_go_on_after_a_jump():
    robot = on.load("double-pendulum")
    stop = on.Event(lambda t, q, v: t - 0.26, name="stop", effect=lambda t, q, v: 0.0 * v)
    given = {"until": 0.5, "events": [stop]}
    found = on.Ensemble(robot, starts=([[0.5, 0.0]], 0.0), dt=0.05, keep=["series", "final", "forces"], **given).run()
    run = robot.simulate([0.5, 0.0], **given)
    for k, t in enumerate(np.linspace(0.0, 0.5, 11)):
        q, v = run.at(t)
        assert np.abs(found["q"][0, k] - q).max() < 1e-8 and np.abs(found["v"][0, k] - v).max() < 1e-8
    assert (found["q_final"] == found["q"][:, -1]).all()


def test_reductions_agree_with_numpy():
    s = study(
        members=1000,
        keep=[
            "final",
            on.keep.moments("v_final"),
            on.keep.histogram("v_final", range=(-2.0, 2.0), bins=10),
            on.keep.quantiles("v_final", p=(0.1, 0.5, 0.9)),
            on.keep.worst(lambda m: m.v_final[:, 0], count=4, name="fast"),
            on.keep.coverage(lambda m: m.v_final[:, 0], low=-1.0, high=1.0, name="slow"),
        ],
    )
    found = s.run()
    v = found["v_final"]
    m = found["v_final_moments"]
    assert np.abs(m.mean - v.mean(axis=0)).max() < 1e-13
    assert np.abs(m.std - v.std(axis=0, ddof=1)).max() < 1e-13
    assert (m.minimum == v.min(axis=0)).all() and (m.maximum == v.max(axis=0)).all()
    low, high = m.interval(0.95)
    assert np.abs((high - low) / (2 * 1.959963984540054 * m.std / np.sqrt(1000)) - 1.0).max() < 1e-12
    h = found["v_final_histogram"]
    for k in range(2):
        assert (h.counts[:, k] == np.histogram(v[:, k], h.edges)[0]).all()
    assert (h.below == (v < -2.0).sum(axis=0)).all() and (h.above == (v > 2.0).sum(axis=0)).all()
    exact = np.quantile(v, (0.1, 0.5, 0.9), axis=0, method="inverted_cdf")
    assert np.abs(found["v_final_quantiles"].values - exact).max() <= 0.005 * np.abs(exact).max()
    order = np.argsort(-v[:, 0], kind="stable")[:4]
    assert (found["fast"].members == order).all() and (found["fast"].values == v[order, 0]).all()
    inside = int((np.abs(v[:, 0]) <= 1.0).sum())
    assert found["slow"].inside == inside
    low, high = found["slow"].interval()
    assert low < inside / 1000 < high


def test_members_without_a_number_are_left_out():
    def logarithm(m):
        with np.errstate(invalid="ignore"):
            return np.log(m.q_final[:, 0])

    kinds = {"m": on.keep.moments, "q": on.keep.quantiles, "w": on.keep.worst}
    keep = {name: kind(logarithm) for name, kind in kinds.items()}
    keep["h"] = on.keep.histogram(logarithm, range=(-9.0, 9.0))
    keep["c"] = on.keep.coverage(logarithm, high=9.0)
    found = study(members=200, keep=keep | {"x": logarithm}).run()
    x = found["x"][~np.isnan(found["x"])]
    assert 50 < len(x) < 150
    assert found["m"].count == found["q"].count == found["w"].count == found["h"].count == len(x)
    assert abs(found["m"].mean - x.mean()) < 1e-14 and found["h"].above == 0
    assert (found["c"].inside, found["c"].count) == (len(x), 200)


def test_stops_when_the_answer_is_good_enough():
    keep = [on.keep.moments("energy_change"), "final"]
    s = study(members=6400, keep=keep, stop=on.keep.precise("energy_change_moments", error=0.02))
    first, again = s.run(workers=1), s.run(workers=2)
    assert first.members == again.members < 6400
    assert first.members // 64 in (1, 2, 4, 8, 16, 32, 64)
    low, high = first["energy_change_moments"].interval()
    assert high - low <= 0.04
    assert len(first["q_final"]) == first.members
    with pytest.raises(on.ArgumentError, match="not among the moments"):
        study(stop=on.keep.precise("height", 0.1)).run()


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param("zarr", marks=pytest.mark.needs("zarr")),
        pytest.param("parquet", marks=pytest.mark.needs("pyarrow")),
    ],
)
def test_stored_results_are_the_same(tmp_path: Path, ending):
    whole = study().run()
    path = tmp_path / f"x.{ending}"
    assert same(whole, study().run(out=path))
    assert same(whole, study().run(out=path))  # nothing is left to do
    assert not list(tmp_path.rglob("*.partial"))
    with pytest.raises(on.ArgumentError, match=r"another study: dt, seed differ"):
        study(seed=4, dt=2e-2).run(out=path)


@pytest.mark.needs("pandas")
def test_tables():
    found = study(members=10).run()
    table = found.to_pandas()
    assert (table["v_final[1]"] == found["v_final"][:, 1]).all()
    assert table.index.name == "member"


def test_progress_has_rate_failures_and_workers():
    from ordern.ensembles.telling import Telling
    from ordern.screen.progress import Bar

    class Seen(Bar):
        def begin(self, fraction):
            notes.append(fraction)

        def __call__(self, fraction, note=""):
            notes.append((fraction, note))

    notes = []
    tell = Telling(Seen(), 1000, 200)
    tell(600, 3, 2)
    assert notes[0] == 0.2 and notes[1][0] == 0.6
    assert notes[1][1].endswith(" members/s, 3 failed, 2 workers")
    tell(600, 0, 1)
    assert notes[2][1].endswith(" members/s, 1 worker")
    fractions = []
    study().run(progress=fractions.append)
    assert fractions == sorted(fractions) and fractions[-1] == 1.0


def test_workers_that_die_are_named(tmp_path: Path):
    from concurrent.futures import BrokenExecutor, Future

    class Broken(ThreadPoolExecutor):
        def submit(self, *_):
            future = Future()
            future.set_exception(BrokenExecutor("a process was terminated abruptly"))
            return future

    with Broken(1) as pool, pytest.raises(on.OrdernError, match=r"a worker process died.*give `out`.*abruptly"):
        study().run(engine=pool)


def test_csv(tmp_path: Path):
    found = study(members=10).run(out=tmp_path / "x.csv")
    rows = np.genfromtxt(tmp_path / "x.csv", delimiter=",", names=True)
    assert (rows["q_final0"] == found["q_final"][:, 0]).all()
    with pytest.raises(on.ArgumentError, match="too many for a CSV"):
        study(members=10**7).run(out=tmp_path / "y.csv")


def test_wrong_arguments_are_named(tmp_path: Path):
    robot = on.load("double-pendulum")
    for settings, message in (
        ({}, "give `steps`"),
        ({"steps": 3, "until": 1.0}, "not both"),
        ({"steps": 3}, "give `members`"),
        ({"steps": 3, "members": 4, "starts": (np.zeros((5, 2)), 0.0)}, r"differ \(members: 4, q: 5\)"),
        ({"steps": 3, "members": 4, "starts": {"w": 0.0}}, "'w'"),
        ({"steps": 3, "members": 4, "starts": (np.zeros(3), 0.0)}, r"q has shape \(3,\)"),
        ({"steps": 3, "members": 4, "keep": "finale"}, "Did you mean 'final'"),
        ({"steps": 3, "members": 4, "keep": []}, "nothing would be left"),
        ({"steps": 3, "members": 4, "keep": ["final", "final"]}, "'final' twice"),
        ({"steps": 3, "members": 4, "sampling": "grid"}, "sampling"),
        ({"steps": 3, "members": 4, "threads": 2}, "the ensemble gives itself; give `workers` of `run`"),
        ({"steps": 3, "members": 4, "smothing": 2}, "Did you mean 'smoothing'"),
        ({"stepss": 3, "members": 4}, "Did you mean 'steps'"),
        ({"steps": 3, "member": 4}, "Did you mean 'members'"),
        ({"steps": 3, "members": 4, "seed": -1}, "`seed`"),
        ({"steps": 3, "members": 4, "dt": 0.0}, "`dt`"),
        ({"until": 1.0, "members": 4, "keep": on.keep.series(every=4)}, "`every` counts steps"),
        ({"steps": 3, "members": 4, "keep": "events"}, "give `until`"),
        ({"steps": 3, "members": 4, "starts": [1.0, 2.0]}, "must be a pair"),
        ({"steps": 3, "members": 4, "starts": np.zeros((4, 2))}, r"not an array of shape \(4, 2\); positions alone"),
        ({"steps": 3, "members": 4, "stop": 0.1}, "`stop` must be a rule"),
        ({"steps": 3, "members": 4, "stop": on.keep.precise("x", 0.1)}, "`keep` has no reduction"),
        ({"steps": 3, "members": 4, "keep": on.keep.moments(lambda m: m.v_final)}, "keep={'speed'"),
        ({"steps": 3, "members": 4, "parameters": {"mas": {}}}, "Did you mean 'mass'"),
        ({"steps": 3, "members": 4, "starts": {"v": d.within_limits()}}, "distribution of positions"),
        ({"steps": 3, "members": 4, "starts": {"q": d.within_limits}}, r"call it, within_limits\(\.\.\.\)"),
        ({"steps": 3, "members": 4, "forces": np.zeros((1, 2, 2))}, r"\(1, 3, 2\)"),
        ({"steps": 3, "members": 4, "starts": {"q": np.nan}}, "q must be finite, but it is nan"),
        ({"steps": 3, "starts": {"q": np.zeros((0, 2))}}, "q has no rows"),
        ({"steps": 3, "members": 4, "parameters": [1.0]}, "`parameters` must be a dictionary"),
        ({"steps": 3, "members": 4, "keep": on.keep.series(every=4)}, "every=4, more than the 3 steps"),
    ):
        with pytest.raises(on.OrdernError, match=message):
            on.Ensemble(robot, **settings)
    for bad, message in (
        ({"method": "rk5"}, "rk5"),
        ({"starts": {"q": d.around(np.zeros(3), 0.1)}}, r"around: q has shape \(3,\)"),
        ({"starts": {"q": lambda seed: "a"}}, "function: the values must be"),
        ({"parameters": {"mass": {"lowr": 1.0}}}, "lowr"),
        ({"controller": lambda q, v: q[:, 0]}, r"shape \(1,\); for this batch of 'double-pendulum' give"),
        ({"keep": on.keep.value("failed", "energy")}, "the name 'failed'"),
        ({"keep": ["final", on.keep.value("q_final", "energy")]}, "the name 'q_final'"),
        ({"keep": {"time": on.keep.moments("energy")}}, "the name 'time'"),
        ({"parameters": {"mass": {robot.bodies[0].name: -1.0}}}, "the first 4 members all fail"),
    ):
        with pytest.raises(on.OrdernError, match=message):
            on.Ensemble(robot, members=4, steps=3, **bad).run()
    with pytest.raises(on.ArgumentError, match="sets of parameters"):
        on.Ensemble(robot.vary(gravity=np.zeros((2, 3))), members=4, steps=3)
    with pytest.raises(on.ArgumentError, match="give a robot"):
        on.Ensemble("puma560", members=4, steps=3)
    good = on.Ensemble(robot, members=4, steps=3)
    with pytest.raises(on.ArgumentError, match="not among the 4"):
        good.draws.drawn(4, 5)
    for given, message in (
        ({"engine": "slurm"}, "`engine` must be"),
        ({"out": tmp_path / "x.txt"}, "no known ending"),
        ({"out": 3}, "`out` must be the name"),
        ({"workers": 0}, "`workers`"),
        ({"out": tmp_path / "nowhere" / "x.parquet"}, "does not exist"),
    ):
        with pytest.raises(on.ArgumentError, match=message):
            good.run(**given)
    with pytest.raises(on.OrdernError, match="'q_fina'"):
        good.run()["q_fina"]
    for keep, message in (
        (lambda: on.keep.worst("energy", count=-1), "`count`"),
        (lambda: on.keep.coverage("energy"), "give `low`, `high` or both"),
        (lambda: on.keep.coverage("energy", low=1.0, high=0.0), "low below high"),
        (lambda: on.keep.histogram("energy", range=(1.0, 0.0)), "low below high"),
        (lambda: on.keep.histogram("energy", range=(0.0, 1.0), bins=0), "`bins`"),
        (lambda: on.keep.quantiles("energy", p="half"), "`p`"),
    ):
        with pytest.raises(on.ArgumentError, match=message):
            keep()


def test_workers_of_another_kind_store_nothing():
    from ordern.ensembles.engines import Shard, run_shard
    from ordern.ensembles.formats import store_of
    from ordern.ensembles.stores import Memory

    store, _ = store_of(None, None, None)
    assert isinstance(store, Memory)
    with pytest.raises(on.ArgumentError, match=r"compiles for .* and the run for another processor"):
        run_shard(study(), store, "another processor", Shard(0, 1))
    assert not store.arrays


_KILLED = """
import sys
sys.path[:0] = {path!r}
from tests.ensembles.test_ensembles import study
print("ready", flush=True)
study(members=20000, steps=400).run(out={out!r}, shard=0.02)
print("done", flush=True)
"""


def killed_runs(out: Path, kills: int, seed: int) -> int:
    """Run a study in other processes that are killed at random moments, until one ends; return how many were killed."""
    rng = np.random.default_rng(seed)
    killed = 0
    while True:
        code = _KILLED.format(path=sys.path, out=str(out))
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            if killed < kills:
                time.sleep(rng.uniform(0.0, 0.5))
                process.send_signal(signal.SIGKILL)
                killed += process.wait() != 0
            else:
                assert process.wait() == 0
                return killed


@pytest.mark.slow
@pytest.mark.needs("zarr")
@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_killed_runs_go_on_and_lose_nothing(tmp_path: Path):
    out = tmp_path / "x.zarr"
    assert killed_runs(out, 4, 0) == 4
    s = study(members=20000, steps=400)
    assert same(s.run(out=out), s.run())
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.slow
@pytest.mark.needs("zarr")
@pytest.mark.needs("distributed")
@pytest.mark.filterwarnings("ignore")
def test_dask_workers_may_be_killed(tmp_path: Path):
    from distributed import Client, LocalCluster

    s = study(members=20000, steps=400)
    whole = s.run()
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        pids = client.run(os.getpid).values()
        os.kill(next(iter(pids)), signal.SIGKILL)
        assert same(s.run(out=tmp_path / "x.zarr", engine=client, shard=0.05), whole)
        client.wait_for_workers(2)
        all_of_them = list(client.run(os.getpid).values())
        Timer(0.2, lambda: [os.kill(pid, signal.SIGKILL) for pid in all_of_them]).start()
        assert same(s.run(engine=client, shard=0.05), whole)  # the study was lost with them, and is sent again
        prefixes = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
        assert "double_pendulum-blocks" in prefixes  # one line of the dashboard for all tasks


@pytest.mark.needs("distributed")
@pytest.mark.slow
def test_a_study_that_no_worker_has_is_sent_again(monkeypatch):
    """A worker that dies while the study is sent can leave a scheduler that believes in a copy of it."""
    from distributed import Client, LocalCluster
    from distributed.worker_state_machine import FreeKeysEvent

    sent, send = [], engines._Cluster._send

    def forget(dask_worker):
        keys = [key for key in dask_worker.state.tasks if "_Remote" in str(key)]
        dask_worker.handle_stimulus(FreeKeysEvent(keys=keys, stimulus_id="a test"))

    def send_and_forget(cluster, task):
        sent.append(send(cluster, task))
        if len(sent) <= 2:
            cluster._client.run(forget)
        return sent[-1]

    monkeypatch.setattr(engines._Cluster, "_send", send_and_forget)
    monkeypatch.setattr(engines, "_ASK_AFTER", 1.0)
    s = study(members=2000, steps=40)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        assert same(s.run(engine=client, shard=0.05), s.run())
    assert len(sent) == 3
    assert len({x.key for x in sent}) == 3  # a late message about an old copy does not free a new one


@pytest.mark.needs("distributed")
@pytest.mark.slow
def test_reports_that_are_lost_with_the_study(monkeypatch):
    """A worker may die between the end of a task and its report, and no worker that is left knows the study."""
    from distributed import Client, LocalCluster

    monkeypatch.setattr(engines, "_ASK_AFTER", 1.0)
    monkeypatch.setattr(engines._Cluster, "_is_forgotten", lambda cluster: True)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        found = engines._Cluster(client, 1, "arm")
        found._sent = client.scatter("the study", broadcast=True, hash=False)
        endless = client.submit(time.sleep, 3600.0, pure=False)  # a report that never comes
        assert found.results([endless]) == [None]
        assert found._sent is None


@pytest.mark.needs("distributed")
@pytest.mark.slow
def test_programs_that_cannot_start_processes_are_told(monkeypatch):
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(on.ArgumentError, match="below the line `if __name__"):
        study(members=4).run(engine="dask")
