"""Logs: columns by the names of joints, filters without phase, and the truth from a log as robots write it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from tests.identify.test_base_parameters import panda
from tests.robots import ROBOTS
from tests.tolerances import assert_close

ARM = on.load("puma560")
T = np.arange(0.0, 4.0, 0.002)


def fourier(robot: on.Robot, t: np.ndarray, middle: np.ndarray, size: float = 0.5) -> tuple[np.ndarray, ...]:
    """Positions, velocities and accelerations of a motion with six frequencies, 0.1 to 0.6 Hz."""
    rng, k = np.random.default_rng(0), np.arange(1, 7)[:, None, None]
    w, phase = 0.2 * np.pi * k, rng.uniform(0, 2 * np.pi, (6, 1, robot.nv))
    s = size * rng.uniform(0.3, 1.0, (6, 1, robot.nv)) / k**0.7
    x = w * t[:, None] + phase
    q, v, a = s * np.sin(x), s * w * np.cos(x), -s * w * w * np.sin(x)
    return middle + q.sum(axis=0), v.sum(axis=0), a.sum(axis=0)


Q, V, A = fourier(ARM, T, np.zeros(6))
TAU = np.cos(Q)


def test_columns_by_names_of_joints(tmp_path: Path) -> None:
    names = ["t", *(f"tau.{c.name}" for c in reversed(ARM.joints)), *(f"q.{c.name}" for c in ARM.joints)]
    rows = np.column_stack([T, TAU[:, ::-1], Q])
    np.savetxt(tmp_path / "log.csv", rows, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    np.savez(tmp_path / "log.npz", t=T, q=Q, tau=TAU)
    for source in (tmp_path / "log.csv", str(tmp_path / "log.npz"), dict(zip(names, rows.T, strict=True))):
        log = ARM.read_log(source)
        assert_close(log.q, Q, 0.0)
        assert_close(log.tau, TAU, 0.0)
        assert log.v is None and len(log) == len(T)
    assert repr(log) == "<Log of 'puma560': 2000 samples in 3.998 s, q, tau>"
    scaled = ARM.read_log({"t": T, "q": Q, "tau": TAU}, force_scale={"waist": 62.6})
    assert_close(scaled.tau, TAU * [62.6, 1, 1, 1, 1, 1], 0.0)


@pytest.mark.slow
@pytest.mark.needs("pyarrow")
def test_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"t": T, **{f"q.{c.name}": Q[:, k] for k, c in enumerate(ARM.joints)}}
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    assert_close(ARM.read_log(tmp_path / "log.parquet").q, Q, 0.0)


@pytest.mark.slow
@pytest.mark.needs("pyarrow")
def test_results_of_simulations_are_logs(tmp_path: Path) -> None:
    result = on.load("double-pendulum").simulate([1.0, 0.0], until=np.linspace(0.0, 1.0, 101).tolist())
    for name in ("motion.csv", "motion.parquet"):
        result.save(tmp_path / name)
        log = on.load("double-pendulum").read_log(tmp_path / name)
        assert_close(log.q, result.q, 0.0)


@pytest.mark.slow
@pytest.mark.needs("scipy")
def test_filter_shifts_no_phase_and_differentiates() -> None:
    rng = np.random.default_rng(0)
    log = ARM.read_log({"t": T, "q": Q + 1e-5 * rng.normal(size=Q.shape), "tau": TAU}).filtered(20.0)
    start = int(np.argmin(np.abs(T - log.t[0])))
    some = slice(start, start + len(log))
    assert 0 < len(T) - len(log) < 500
    q, v, a, tau = log.motion
    for found, expected, limit in ((q, Q, 2e-5), (v, V, 2e-3), (a, A, 0.2)):
        assert np.abs(found - expected[some]).max() < limit
    assert_close(tau, TAU[some], 0.0)


@pytest.mark.slow
@pytest.mark.needs("scipy")
def test_uneven_times() -> None:
    t = T + 4e-4 * np.sin(40.0 * T)
    q, _, _ = fourier(ARM, t, np.zeros(6))
    log = ARM.read_log({"t": t, "q": q, "tau": np.cos(q)}).filtered(20.0)
    assert np.ptp(np.diff(log.t)) < 1e-12
    expected = fourier(ARM, log.t, np.zeros(6))
    assert np.abs(log.q - expected[0]).max() < 1e-6 and np.abs(log.tau - np.cos(expected[0])).max() < 1e-6
    assert log.v is not None and np.abs(log.v - expected[1]).max() < 1e-4


@pytest.mark.slow
@pytest.mark.needs("scipy")
@pytest.mark.needs("example_robot_data")
@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_truth_from_a_log_as_robots_write_it(name: str) -> None:
    """60 s at 1 kHz, 5 % of noise in the torques, encoders of 19 bits, friction, and an unknown payload of 2 kg."""
    robot = panda() if name == "panda" else on.load(ROBOTS / "ur_description/urdf/ur5_robot.urdf")
    body = robot.bodies[-1]
    mass = body.mass + 2.0
    com = (body.mass * np.array(body.com) + 2.0 * np.array([0.02, 0.01, 0.08])) / mass
    frictional = robot.vary(damping=0.5, joint_friction=1.0, armature=0.1, fold=True)
    real = frictional.vary(mass={body.name: mass}, com={body.name: com}, fold=True)
    middle = np.array([-1.2, 1.2, -1.0, 1.0]) if name == "ur5" else None
    rest = np.array([0.0, *middle, 0.0]) if middle is not None else 0.5 * (robot.lower + robot.upper)
    t, rng = np.arange(60_000) * 1e-3, np.random.default_rng(3)
    q, v, a = fourier(robot, t, rest)
    tau = real.inverse_dynamics_regressor(q, v, a) @ real.parameters.theta
    noise = 0.05 * np.sqrt((tau**2).mean(axis=0))
    step = 2.0 * np.pi / 2**19
    log = robot.read_log({"t": t, "q": step * np.round(q / step), "tau": tau + noise * rng.normal(size=tau.shape)})
    motion = log.filtered(20.0).motion

    found = robot.identify(*motion, held_out=0.2, average=10)
    truth = found.base.of_theta(real.parameters.theta)
    assert np.abs((found.values - truth) / found.deviations).max() < 4.0
    sharp = found.deviations < 1e-3 * np.abs(truth)
    assert sharp.sum() > 3 and np.abs(found.values[sharp] / truth[sharp] - 1.0).max() < 5e-3
    assert found.held_out is not None and found.held_out.agrees

    held = frictional.identify(*motion, only=[body.name], consistent=True, average=10)
    assert abs(held.robot.body(body.name).mass - body.mass - 2.0) < 0.002 * 2.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ARM.read_log({"q": Q}), "has no time, in a column 't'"),
        (lambda: ARM.read_log({"t": T, "tau": TAU}), "no positions, in columns"),
        (lambda: ARM.read_log({"t": T, "q": Q[:-1]}), "different numbers of samples"),
        (lambda: ARM.read_log({"t": T, "q": Q[:, :5]}), r"q has shape \(2000, 5\); expected \(N, 6\)"),
        (
            lambda: ARM.read_log({"t": T, "q": np.where(T[:, None] == T[7], np.nan, Q)}),
            "7: q.waist is nan",
        ),
        (lambda: ARM.read_log("log.bag"), r"reads .csv, .parquet, .npz, .h5, .mcap"),
        (lambda: ARM.read_log({"t": T, "q": Q}).motion, "has no v and no a and no tau"),
        (lambda: ARM.read_log({"t": T, "q": Q}, force_scale={"west": 1.0}), "unknown joint 'west'"),
        (lambda: ARM.read_log({"t": T, "q": Q}, force_scale=[1.0, 2.0]), r"\(2,\); expected one number, 6 numbers"),
        (lambda: ARM.read_log([T, Q]), "give a file, or a dictionary of arrays, not list"),
        (lambda: ARM.read_log("no.csv"), "there is no file 'no.csv'"),
        (lambda: ARM.read_log("no.npz"), "there is no file 'no.npz'"),
        (
            lambda: ARM.read_log({"t": T + (T > 1.001), "q": Q}).filtered(20.0),
            r"no samples for 1.002 s after t = 1 s \(samples 500 and 501\).*log.cut",
        ),
        (lambda: ARM.read_log({"t": T.clip(0.01), "q": Q}).filtered(20.0), "samples 0 and 1 are both at t = 0.01 s"),
        (lambda: ARM.read_log({"t": T, "q": Q}).cut(5, 5), "2000 samples, and none from 5 up to 5"),
        (lambda: ARM.read_log({"t": T, "q": Q}).filtered(300.0), "must be below half of the 500 samples per second"),
        (lambda: ARM.read_log({"t": T, "q": Q}).filtered(0.5), "too few for a cutoff of 0.5 Hz"),
        (lambda: ARM.read_log({"t": T, "q": Q}).filtered(20.0, order=0), "order is a whole number from 1 to 10"),
    ],
)
def test_errors(call: Callable[[], object], message: str) -> None:
    with pytest.raises(on.OrdernError, match=message):
        call()


def test_factors_of_forces() -> None:
    factors = np.arange(1.0, 7.0)
    log = ARM.read_log({"t": T, "q": Q, "tau": TAU}, force_scale=factors)
    assert log.tau is not None and (log.tau == factors * TAU).all()


def test_files_whose_columns_have_no_names_are_refused(tmp_path: Path) -> None:
    path, rows = tmp_path / "log.csv", np.column_stack([T, Q, TAU])[:5]
    np.savetxt(path, rows, delimiter=",")  # the torques would pass for velocities
    with pytest.raises(on.ModelError, match=r"the columns have no names; .*first line such as t,q.<joint>"):
        ARM.read_log(path)
    names = [f"{kind}.{c.name}" for kind in ("q", "tau") for c in ARM.joints]
    np.savetxt(path, rows, delimiter=";", header=";".join(["t", *names]), comments="")
    with pytest.raises(on.ModelError, match="parted by semicolons; write the file with commas"):
        ARM.read_log(path)


def test_positions_that_are_no_numbers_are_not_filtered() -> None:
    top = on.load("free-top")
    log = top.read_log({"t": T, "q": np.tile(top.neutral(), (len(T), 1))})
    with pytest.raises(on.ArgumentError, match="are not plain numbers"):
        log.filtered(20.0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
@pytest.mark.parametrize("name", ["log.csv", "log.npz", "log.parquet", "log.mcap", "log.db3", "bag/log.mcap"])
def test_a_pipe_is_no_log(tmp_path: Path, name: str) -> None:
    """Its reader would wait for ever."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(on.ModelError, match="not a regular file"):
        on.load("double-pendulum").read_log(tmp_path / "bag" if "/" in name else tmp_path / name)
