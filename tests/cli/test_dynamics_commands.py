"""The commands `inverse`, `forward`, `simulate`, `rollout`: numbers by closed forms, and what users get wrong."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.cli import main
from ordern.cli.motions import differentiated

from ..tolerances import DIFFERENTIATED, HUNG, REQUESTED, ROUNDING

Capture = pytest.CaptureFixture[str]

M, L, G = 2.0, 0.5, 9.81
INERTIA = '<inertia ixx="0.01" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/>'
LIMIT = '<limit lower="-2" upper="2" effort="{effort}" velocity="9"/>'
PENDULUM = (
    '<robot name="pendulum"><link name="a"/><link name="b"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>'
    + INERTIA
    + '</inertial></link><joint name="swing" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>'
    + LIMIT
    + "{dynamics}</joint></robot>"
)
SLIDER = (
    '<robot name="slider"><link name="a"/><link name="b"><inertial><mass value="2"/>'
    + INERTIA
    + '</inertial></link><joint name="slide" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>'
    + LIMIT.format(effort=100)
    + "</joint></robot>"
)
ABOUT = 0.02 + M * L * L
"""The inertia of the pendulum about its axis."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the two robots."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pendulum.urdf").write_text(PENDULUM.format(effort=1000, dynamics=""))
    (tmp_path / "weak.urdf").write_text(PENDULUM.format(effort=3, dynamics=""))
    (tmp_path / "damped.urdf").write_text(PENDULUM.format(effort=1000, dynamics='<dynamics damping="0.4"/>'))
    (tmp_path / "slider.urdf").write_text(SLIDER)
    return tmp_path


def told(capsys: Capture, arguments: list[str], status: int = 0) -> dict[str, Any]:
    """What a command says as JSON."""
    assert main([*arguments, "--json"]) == status
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


# ---- inverse


def test_torques_along_a_cycloid(capsys: Capture) -> None:
    T, end = 2.0, 1.2
    arguments = ["inverse", "pendulum.urdf", "--to", str(end), "--duration", str(T), "--out", "tau.csv"]
    (row,) = told(capsys, [*arguments, "--samples", "401"])["joints"]
    table = np.loadtxt("tau.csv", delimiter=",", skiprows=2)
    t, tau = table[:, 0], table[:, 4]
    w = 2 * math.pi / T
    q, a = end / (2 * math.pi) * (w * t - np.sin(w * t)), end * w / T * np.sin(w * t)
    expected = ABOUT * a + M * G * L * np.sin(q)
    np.testing.assert_allclose(tau, expected, atol=ROUNDING * 10, rtol=0)
    k = int(np.argmax(np.abs(expected)))
    assert (row["name"], row["unit"], row["limit"]) == ("swing", "N m", 1000.0)
    assert row["peak"] == pytest.approx(expected[k]) and row["time"] == pytest.approx(t[k])
    mean = ((expected[1:] ** 2 + expected[:-1] ** 2) / 2).mean()
    assert row["rms"] == pytest.approx(math.sqrt(mean))


def test_the_table_and_the_warning_about_limits(capsys: Capture) -> None:
    arguments = ["inverse", "weak.urdf", "--to", "swing=60deg", "--duration", "1"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].split() == ["joint", "peak", "at", "rms", "limit"]
    assert out.splitlines()[2].split()[0] == "swing" and out.rstrip().endswith("3  N m")
    assert "ordern: warning: joint 'swing' exceeds its effort limit at t = " in err
    assert main([*arguments, "--strict"]) == 1


def test_damping_is_overcome_unless_told_otherwise(capsys: Capture) -> None:
    arguments = ["inverse", "damped.urdf", "--from=-1", "--to", "1", "--duration", "1", "--samples", "101"]
    found = []
    for more in ([], ["--no-passive"]):
        notes = told(capsys, [*arguments, "--out", "x.npz", *more])["notes"]
        assert len(notes) == (not more)
        result = on.load_result("x.npz")
        found.append(result.tau - (0.4 * result.v if not more else 0.0))
    np.testing.assert_allclose(found[0], found[1], atol=ROUNDING * 10)


@pytest.mark.parametrize("kind", ["quintic", "minimum-jerk"])
def test_two_names_of_one_motion(kind: str, capsys: Capture) -> None:
    arguments = ["inverse", "pendulum.urdf", "--to", "1", "--duration", "1", "--trajectory"]
    t = np.linspace(0.0, 1.0, 1001)
    a = 60 * t - 180 * t**2 + 120 * t**3
    expected = ABOUT * a + M * G * L * np.sin(10 * t**3 - 15 * t**4 + 6 * t**5)
    (row,) = told(capsys, [*arguments, kind])["joints"]
    assert row["peak"] == pytest.approx(np.abs(expected).max())


def test_a_trapezoid_keeps_its_limits(capsys: Capture) -> None:
    arguments = ["inverse", "slider.urdf", "--trajectory", "trapezoidal", "--to", "1", "--acceleration", "4"]
    found = told(capsys, [*arguments, "--velocity", "slide=1"])
    assert found["duration"] == pytest.approx(1.25)
    assert found["joints"][0]["peak"] == pytest.approx(M * (G + 4)) and found["joints"][0]["unit"] == "N"


def test_a_motion_of_positions_is_differentiated(capsys: Capture) -> None:
    t = np.linspace(0.0, 1.0, 201)
    rows = "\n".join(f"{x!r},{math.sin(3 * x)!r}" for x in t.tolist())
    Path("motion.csv").write_text(f"# recorded\nt,q.swing\n{rows}\n")
    found = told(capsys, ["inverse", "pendulum.urdf", "--motion", "motion.csv", "--out", "tau.npz"])
    q = np.sin(3 * t)
    expected = -9 * ABOUT * q + M * G * L * np.sin(q)
    np.testing.assert_allclose(on.load_result("tau.npz").tau[:, 0], expected, atol=DIFFERENTIATED)
    assert found["notes"] == [
        "motion.csv: velocities and accelerations were found by differentiation, from 5 samples each"
    ]


@pytest.mark.slow
def test_what_a_simulation_wrote_gives_its_forces_again(capsys: Capture) -> None:
    for name in ("motion.csv", "motion.npz"):
        assert main(["simulate", "pendulum.urdf", "--q0", "1", "--tau", "0.5", "--rate", "50", "--out", name]) == 0
        capsys.readouterr()
        (row,) = told(capsys, ["inverse", "pendulum.urdf", "--motion", name])["joints"]
        assert row["peak"] == pytest.approx(0.5, abs=ROUNDING * 100)


def test_a_spline_through_points(capsys: Capture) -> None:
    Path("points.csv").write_text("t,slide\n1,0\n2,1\n3,0\n")
    found = told(capsys, ["inverse", "slider.urdf", "--motion", "points.csv", "--trajectory", "spline"])
    assert found["duration"] == 2.0 and found["samples"] == 1001
    assert found["joints"][0]["peak"] == pytest.approx(M * (G + 6))  # 3 t^2 - 2 t^3 there, and back


def test_rotations_are_differentiated_on_their_manifold() -> None:
    ball = on.Builder("r").body("a").body("b", parent="a", joint=on.Spherical(), mass=1.0, inertia=(1, 1, 1, 0, 0, 0))
    robot = ball.build()
    t = (np.arange(360) + np.random.default_rng(0).uniform(-0.3, 0.3, 360)) * 5e-3
    c, s, C, S = (f(x) for x in (0.5 * t, 0.35 * t**2) for f in (np.cos, np.sin))
    q = np.stack([c * C, c * S, s * S, s * C], axis=-1)  # about z by t, then about the turned x by 0.7 t^2
    angle, rate = 0.7 * t**2, 1.4 * t
    v = np.stack([rate, np.sin(angle), np.cos(angle)], axis=-1)
    a = np.stack([np.full_like(t, 1.4), rate * np.cos(angle), -rate * np.sin(angle)], axis=-1)
    q[::3] *= -1.0  # the same rotations
    for found, expected in zip(differentiated(robot, t, q), (v, a), strict=True):
        np.testing.assert_allclose(found, expected, atol=DIFFERENTIATED)
    np.testing.assert_allclose(differentiated(robot, t, q, v)[1], a, atol=DIFFERENTIATED)


# ---- forward


def test_the_acceleration_of_a_state(capsys: Capture) -> None:
    found = told(capsys, ["forward", "pendulum.urdf", "--q", "-0.3", "--v", "swing=2", "--tau", "1.5"])
    assert found["a"] == [pytest.approx((1.5 - M * G * L * math.sin(-0.3)) / ABOUT, rel=1e-13)]
    damped = told(capsys, ["forward", "damped.urdf", "--q", "-0.3", "--v", "2", "--tau", "1.5"])["a"][0]
    assert damped == pytest.approx(found["a"][0] - 0.4 * 2 / ABOUT, rel=1e-13)
    free = told(capsys, ["forward", "damped.urdf", "--q=-0.3", "--v", "2", "--tau", "1.5", "--no-passive"])["a"]
    assert free == found["a"]


def test_a_table_for_people(capsys: Capture) -> None:
    assert main(["forward", "slider.urdf", "--tau", "1", "--method", "composite-body"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["joint", "v", "tau", "acceleration"]
    assert row.split() == ["slide", "0", "1", f"{1 / M - G:.10g}"]


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_many_states(suffix: str, capsys: Capture) -> None:
    Path("states.csv").write_text("q.swing,tau.swing\n0.1,1\n0.2,2\n0.3,3\n")
    out = f"a{suffix}"
    assert main(["forward", "pendulum.urdf", "--states", "states.csv", "--out", out]) == 0
    assert "accelerations of 3 states" in capsys.readouterr().out
    q, tau = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])
    a = np.loadtxt(out, delimiter=",", skiprows=1)[:, 3] if suffix == ".csv" else np.load(out)["a"][:, 0]
    np.testing.assert_allclose(a, (tau - M * G * L * np.sin(q)) / ABOUT, rtol=1e-13)


def test_states_with_times_are_a_motion(capsys: Capture) -> None:
    Path("states.csv").write_text("t,q.swing\n0,0.1\n1,0.2\n")
    assert main(["forward", "pendulum.urdf", "--states", "states.csv", "--out", "a.npz"]) == 0
    assert on.load_result("a.npz").t.tolist() == [0.0, 1.0]


def test_loops_are_closed_unless_positions_are_given(capsys: Capture) -> None:
    robot = on.load("four-bar")
    found = told(capsys, ["forward", "four-bar"])
    q = robot.assemble().q
    np.testing.assert_allclose(found["q"], q, atol=1e-12)
    np.testing.assert_allclose(found["a"], robot.forward_dynamics(q, np.zeros(3), np.zeros(3)), rtol=1e-9)
    assert main(["forward", "four-bar", "--q", "0,0,0"]) == 2
    assert "loop 'pin' of 'four-bar' is open by 0.25 m" in capsys.readouterr().err


# ---- simulate


def test_a_fall(capsys: Capture) -> None:
    found = told(
        capsys, ["simulate", "slider.urdf", "--q0", "0.5", "--v0", "slide=1", "--until", "2", "--out", "f.npz"]
    )
    assert found["final"]["q"] == [pytest.approx(0.5 + 2 - G * 2, abs=REQUESTED)]
    assert found["report"]["stopped"] == "end" and found["report"]["violations"][0]["joint"] == "slide"
    assert on.load_result("f.npz").robot.name == "slider"


@pytest.mark.slow
def test_springs_to_a_position(capsys: Capture) -> None:
    kp, kd = 50.0, 4.0
    arguments = ["simulate", "slider.urdf", "--pd", str(kp), str(kd), "--target", "1", "--gravity-compensation"]
    q = told(capsys, [*arguments, "--until", "1.5"])["final"]["q"][0]
    decay, w = kd / (2 * M), math.sqrt(kp / M - (kd / (2 * M)) ** 2)
    expected = 1 - math.exp(-decay * 1.5) * (math.cos(1.5 * w) + decay / w * math.sin(1.5 * w))
    assert q == pytest.approx(expected, abs=REQUESTED)


def test_forces_over_time(capsys: Capture) -> None:
    Path("tau.csv").write_text(f"t,slide\n0,{M * G}\n1,{M * G + 6}\n")
    q = told(capsys, ["simulate", "slider.urdf", "--tau-file", "tau.csv", "--until", "1"])["final"]["q"]
    assert q == [pytest.approx(6 / M / 6, abs=REQUESTED)]


@pytest.mark.slow
def test_it_rests_where_gravity_is_compensated(capsys: Capture) -> None:
    arguments = ["simulate", "pendulum.urdf", "--q0", "1", "--gravity-compensation", "--until", "1"]
    assert told(capsys, arguments)["final"]["q"] == [pytest.approx(1.0, abs=REQUESTED)]


def test_the_report_the_times_and_the_limits(capsys: Capture) -> None:
    arguments = ["simulate", "slider.urdf", "--until", "1", "--limits", "stop", "--rate", "10", "--out", "m.csv"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert out.startswith("slider: dormand-prince-8, accelerations by articulated-body\n  stopped  ")
    assert "energy drift" in out and "written: m.csv" in out and not err
    result = on.load_result("m.csv")
    np.testing.assert_allclose(result.t[:7], np.arange(7) / 10, atol=ROUNDING)
    assert result.q[-1, 0] == pytest.approx(-2.0) and result.t[-1] == pytest.approx(math.sqrt(4 / G))


def test_a_run_that_fails_is_1_and_keeps_what_it_has(capsys: Capture) -> None:
    assert main(["simulate", "slider.urdf", "--tau", "1e308", "--until", "1", "--out", "m.npz"]) == 1
    out, err = capsys.readouterr()
    assert "ordern: note: the run ended before its time: " in err and "slide" in err
    assert "Traceback" not in err and Path("m.npz").exists() and "energy drift" in out


@pytest.mark.slow
def test_a_checkpoint_is_gone_on_from(capsys: Capture) -> None:
    arguments = ["simulate", "pendulum.urdf", "--q0", "1", "--checkpoint", "run.ckpt"]
    first = told(capsys, arguments)["final"]
    assert Path("run.ckpt").stat().st_size > 0
    assert told(capsys, arguments)["final"] == first


@pytest.mark.slow
@pytest.mark.needs("matplotlib", "viser")
def test_a_page_and_a_picture(capsys: Capture) -> None:
    arguments = ["simulate", "pendulum.urdf", "--q0", "1", "--save", "motion.html", "--plot", "motion.png"]
    found = told(capsys, arguments)
    assert (found["page"], found["plot"]) == ("motion.html", "motion.png")
    assert Path("motion.png").read_bytes().startswith(b"\x89PNG")
    assert "<title>pendulum</title>" in Path("motion.html").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.needs("PIL", "mcap")
def test_a_film_and_a_recording(capsys: Capture) -> None:
    arguments = ["simulate", "pendulum.urdf", "--q0", "1", "--until", "0.2", "--save", "m.gif", "--out", "m.mcap"]
    assert told(capsys, arguments)["page"] == "m.gif"
    assert Path("m.gif").read_bytes().startswith(b"GIF89a")
    assert Path("m.mcap").read_bytes().startswith(b"\x89MCAP")


# ---- rollout


def test_trajectories(capsys: Capture) -> None:
    arguments = ["rollout", "slider.urdf", "--batch", "10", "--steps", "100", "--dt", "0.01", "--q0", "1"]
    found = told(capsys, [*arguments, "--every", "50", "--limits", "ignore", "--out", "r.npz"])
    expected = 1 - G * 1e-4 * np.array([0, 50 * 51, 100 * 101]) / 2  # semi-implicit Euler
    kept = np.load("r.npz")
    assert kept["q"].shape == (10, 3, 1) and kept["t"].tolist() == [0.0, 0.5, 1.0]
    np.testing.assert_allclose(kept["q"][:, :, 0], np.tile(expected, (10, 1)), rtol=1e-12)
    assert found["final"][0]["name"] == "q.slide"
    assert found["final"][0]["mean"] == pytest.approx(expected[-1]) and found["final"][0]["deviation"] < 1e-12
    assert found["diverged"] == 0 and found["states_per_second"] > 0


def test_random_starts_are_the_same_again_and_within_limits(capsys: Capture) -> None:
    arguments = ["rollout", "slider.urdf", "--batch", "32", "--steps", "10", "--random", "3", "--out"]
    for name in ("a.npz", "b.npz"):
        assert main([*arguments, name]) == 0
    assert "states per second" in capsys.readouterr().out
    a, b = np.load("a.npz")["q"], np.load("b.npz")["q"]
    assert np.array_equal(a, b) and len(np.unique(a[:, 0])) == 32 and (np.abs(a[:, 0]) <= 2).all()


def test_trajectories_bounce_off_limits(capsys: Capture) -> None:
    arguments = [
        "rollout",
        "slider.urdf",
        "--batch",
        "2",
        "--steps",
        "1500",
        "--limits",
        "bounce",
        "--restitution",
        "0.5",
    ]
    assert main([*arguments, "--out", "r.npz"]) == 0
    q, v = np.load("r.npz")["q"][0, :, 0], np.load("r.npz")["v"][0, :, 0]
    assert q.min() == -2.0 and v.max() == pytest.approx(0.5 * np.sqrt(2 * G * 2.0), rel=0.01)
    capsys.readouterr()


@pytest.mark.slow
def test_trajectories_keep_loops_closed_by_projection(capsys: Capture) -> None:
    arguments = ["rollout", "four-bar", "--batch", "2", "--steps", "100", "--drift", "project", "--out", "r.npz"]
    assert main(arguments) == 0
    assert np.abs(on.load("four-bar").loop_residual(np.load("r.npz")["q"])).max() < 1e-11
    capsys.readouterr()


def test_single_precision(capsys: Capture) -> None:
    assert main(["rollout", "slider.urdf", "--batch", "4", "--steps", "4", "--float32", "--out", "r.npz"]) == 0
    assert "float32" in capsys.readouterr().out and np.load("r.npz")["q"].dtype == np.float32


def test_trajectories_that_diverge_are_1(capsys: Capture) -> None:
    assert main(["rollout", "slider.urdf", "--batch", "4", "--steps", "9", "--tau", "1e308", "--dt", "1e3"]) == 1
    assert "4 of 4 trajectories diverged" in capsys.readouterr().err


# ---- what users get wrong

FILES = {
    "word.csv": "t,q.swing\n0,1\n1,x\n",
    "short.csv": "t,q.swing\n0,1\n1\n",
    "name.csv": "t,q.swong\n0,1\n1,2\n",
    "twice.csv": "t,q.swing,swing\n0,1,1\n1,2,2\n",
    "back.csv": "t,q.swing\n0,1\n2,1\n1,2\n",
    "nan.csv": "t,q.swing\n0,1\n1,nan\n2,1\n",
    "two.csv": "t,q.swing\n0,1\n1,2\n",
    "same.csv": "t,q.swing\n0,1\n0,1\n1,2\n",
    "empty.csv": "t,q.swing\n",
    "bare.csv": "0,1,2,3,4\n",
    "still.csv": "t\n0\n1\n2\n",
    "v.txt": "# start\n0.5\nhalf\n",
}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["inverse", "pendulum.urdf"], "the end is not given: give --to"),
        (["inverse", "pendulum.urdf", "--to", "1"], "the duration is not given: give --duration"),
        (
            ["inverse", "pendulum.urdf", "--to", "1,2", "--duration", "1"],
            "--to has 2 numbers, 'pendulum' needs 1: swing",
        ),
        (["inverse", "pendulum.urdf", "--to", "swong=1", "--duration", "1"], "Did you mean 'swing'?"),
        (["inverse", "pendulum.urdf", "--to", "swing=abc"], "--to: 'abc' is not a finite number"),
        (["inverse", "pendulum.urdf", "--to", "abc", "--trajectory", "trapezoidal"], "unknown position 'abc'"),
        (["inverse", "pendulum.urdf", "--to", "1,swing=2", "--duration", "1"], "'1' has no name"),
        (["inverse", "pendulum.urdf", "--to", "ready", "--duration", "1"], "unknown position 'ready'"),
        (["inverse", "pendulum.urdf", "--to", "1", "--duration", "1", "--method", "x"], "Known: newton-euler"),
        (["inverse", "pendulum.urdf", "--to", "1", "--duration", "1", "--velocity", "1"], "is for --trajectory trap"),
        (["inverse", "pendulum.urdf", "--to", "1", "--trajectory", "trapezoidal"], "needs --acceleration"),
        (["inverse", "pendulum.urdf", "--trajectory", "spline"], "give them by --motion"),
        (["inverse", "pendulum.urdf", "--motion", "two.csv", "--to", "1"], "--to has no meaning with --motion"),
        (
            ["inverse", "pendulum.urdf", "--motion", "word.csv"],
            "word.csv:3: 'x', in the column 'q.swing', is not a number",
        ),
        (["inverse", "pendulum.urdf", "--motion", "short.csv"], "short.csv:3: the line has 1 columns"),
        (["inverse", "pendulum.urdf", "--motion", "name.csv"], "column 'q.swong': unknown joint 'swong'"),
        (["inverse", "pendulum.urdf", "--motion", "twice.csv"], "the column 'swing' is there twice"),
        (["inverse", "pendulum.urdf", "--motion", "back.csv"], "back.csv:4: the time 1 "),
        (["inverse", "pendulum.urdf", "--motion", "nan.csv"], "nan.csv:3: q.swing is nan"),
        (["inverse", "pendulum.urdf", "--motion", "two.csv"], "three rows are needed, not 2"),
        (["inverse", "pendulum.urdf", "--motion", "same.csv"], "t = 0 is there twice"),
        (["inverse", "pendulum.urdf", "--motion", "empty.csv"], "no rows of numbers"),
        (["inverse", "pendulum.urdf", "--motion", "bare.csv"], "the columns have no names"),
        (["inverse", "pendulum.urdf", "--motion", "still.csv"], "a motion needs columns of positions"),
        (["inverse", "pendulum.urdf", "--motion", "no.csv"], "there is no file 'no.csv'"),
        (["inverse", "pendulum.urdf", "--motion", "pendulum.urdf"], "a table is read from .csv"),
        (["inverse", "pendulum.urdf", "--to", "1", "--duration", "1", "--out", "x.doc"], "must end in one of .npz"),
        (["inverse", "pendulum.urdf", "--to", "1", "--duration", "1", "--plot", "no/x.png"], "there is no folder"),
        (["forward", "pendulum.urdf", "--q", "@v.txt"], "v.txt:3: --q: 'half' is not a finite number"),
        (["forward", "pendulum.urdf", "--q", "@no.txt"], "no.txt: the file cannot be read"),
        (["forward", "pendulum.urdf", "--q", "inf"], "'inf' "),
        (["forward", "pendulum.urdf", "--states", "two.csv", "--v", "1"], "--v has no meaning with --states"),
        (["forward", "pendulum.urdf", "--states", "still.csv"], "no columns of positions"),
        pytest.param(
            *(["forward", "pendulum.urdf", "--out", "x.parquet"], "states without times"),
            marks=pytest.mark.needs("pyarrow"),
        ),
        (["simulate", "no.urdf"], "there is no file 'no.urdf'"),
        (["simulate", "pendulum.urdf", "--method", "rk5"], "Did you mean 'rk4'?"),
        (["simulate", "pendulum.urdf", "--method", "rk4"], "give --step"),
        (["simulate", "pendulum.urdf", "--tau", "1", "--pd", "1", "2"], "--tau and --pd do not go together"),
        (["simulate", "pendulum.urdf", "--tau", "1", "--gravity-compensation"], "do not go together"),
        (["simulate", "pendulum.urdf", "--target", "1"], "--pd KP KD"),
        (["simulate", "pendulum.urdf", "--pd", "1", "-2"], "must not be below zero"),
        (["simulate", "pendulum.urdf", "--q0", "3", "--limits", "stop"], "beyond its upper limit 2"),
        (["simulate", "pendulum.urdf", "--checkpoint", "no/run.ckpt"], "a folder that exists"),
        (["simulate", "pendulum.urdf", "--save", "page.pdf"], "must end in one of .html"),
        (["simulate", "pendulum.urdf", "--tau-file", "two.csv"], "need the columns t and tau.<joint>"),
        (["simulate", "pendulum.urdf", "--rate", "1e12"], "give a lower one"),
        (["rollout", "pendulum.urdf", "--every", "2"], "give a file"),
        (["rollout", "pendulum.urdf", "--random", "1", "--q0", "1"], "do not go together"),
        (["rollout", "pendulum.urdf", "--random", "-1"], "a seed is a whole number"),
        (["rollout", "pendulum.urdf", "--method", "radau"], "unknown method 'radau'"),
        (["simulate", "pendulum.urdf", "--until", "0"], "must be a positive number"),
        (["rollout", "pendulum.urdf", "--batch", "1.5"], "must be a whole number above 0"),
    ],
)
def test_what_is_not_understood(arguments: list[str], words: str, folder: Path, capsys: Capture) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text)
    before = set(folder.iterdir())
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert words in err and "Traceback" not in err
    assert set(folder.iterdir()) == before


def test_robots_that_nothing_holds_are_1(capsys: Capture) -> None:
    assert main(["forward", "stanford-arm", "--floating"]) == 1
    assert "meets no inertia" in capsys.readouterr().err


def test_errors_as_json(capsys: Capture) -> None:
    Path("bad.csv").write_text(FILES["word.csv"])
    found = told(capsys, ["inverse", "pendulum.urdf", "--motion", "bad.csv"], 2)
    assert found == {"error": "'x', in the column 'q.swing', is not a number", "where": "bad.csv:3"}


def test_quaternions_become_units(capsys: Capture) -> None:
    found = told(capsys, ["forward", "free-top", "--q", "2,0,0,0" if on.load("free-top").nq == 4 else "neutral"])
    assert np.linalg.norm(found["q"][:4]) == pytest.approx(1.0)
    name = on.load("free-top").joints[0].name
    assert main(["forward", "free-top", "--q", f"{name}=1"]) == 2
    assert f"joint '{name}' has several coordinates: {name}.qw" in capsys.readouterr().err
    assert main(["forward", "free-top", "--q", f"{name}.qw=0"]) == 2
    assert "a quaternion must not be zero" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_keeps_what_was_computed() -> None:
    run = ["simulate", "slider.urdf", "--method", "radau", "--step", "1e-4", "--until", "1e4", "--gravity-compensation"]
    command = [sys.executable, "-m", "ordern", *run, "--checkpoint", "run.ckpt", "--out", "m.npz"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        sizes = {0}
        while process.poll() is None and len(sizes) < 5:  # nothing, its tables, steps
            sizes.add(sum(file.stat().st_size for file in Path().glob("run.ckpt*")))
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HUNG)
    assert process.returncode == 130, err
    assert "interrupted at t = " in out and "Traceback" not in err
    assert len(on.load_result("m.npz")) >= 1


@pytest.mark.slow
def test_a_process_of_its_own() -> None:
    command = [sys.executable, "-m", "ordern", "simulate", "slider.urdf", "--q0", "-1", "--until", "0.1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HUNG, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("slider: ") and "\x1b" not in done.stdout
    done = subprocess.run([*command, "--pd", "x", "1"], capture_output=True, text=True, timeout=HUNG, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "ordern: error: --pd: 'x' is not a finite number\n"
