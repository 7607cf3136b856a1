"""Contacts on the command line: simulations and rollouts that touch the ground, and what users get wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.cli import main

Capture = pytest.CaptureFixture[str]
BALL = """<mujoco model="ball"><worldbody>{plane}<body name="ball" pos="0 0 {z}"><freejoint name="free"/>
<geom name="skin" type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>"""
PLANE = '<geom type="plane" size="5 5 1" friction="0.5"/>'
BARE = """<robot name="bare"><link name="a"/><link name="b"><inertial><mass value="2"/>
<inertia ixx="0.01" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="slide" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="10" velocity="9"/></joint></robot>"""
RIGID = ["--contacts", "rigid"]
HIGH = ["--q0", "free.z=0.12"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with some robots."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ball.xml").write_text(BALL.format(plane=PLANE, z=0.5))
    (tmp_path / "loose.xml").write_text(BALL.format(plane="", z=0))
    (tmp_path / "bare.urdf").write_text(BARE)
    return tmp_path


def told(capsys: Capture, arguments: list[str], status: int = 0) -> dict[str, Any]:
    """What a command says as JSON."""
    assert main([*arguments, "--json"]) == status
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("model", ["compliant", "rigid"])
def test_a_ball_lands_on_the_plane_of_its_file(model: str, capsys: Capture) -> None:
    run = ["simulate", "ball.xml", *HIGH, "--until", "0.3", "--contacts", model, "--rtol", "1e-7", "--atol", "1e-7"]
    found = told(capsys, [*run, "--v0", "free.vx=1", "--out", "run.npz"])
    assert found["report"]["contacts"]["model"] == model
    assert found["report"]["contacts"]["touches"] >= 1
    assert found["final"]["q"][6] == pytest.approx(0.1, abs=2e-3)
    result = on.load_result("run.npz")
    assert result.robot.contacts is not None
    assert result.robot.contacts.pairs[0].friction == 1.0  # the larger one, as in MuJoCo
    assert main(["simulate", *run[1:]]) == 0
    assert f"{model}: touched" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.needs("viser")
def test_a_saved_motion_is_viewed_with_its_contacts() -> None:
    run = ["simulate", "ball.xml", "--q0", "free.z=0.1", "--until", "0.1", *RIGID]
    assert main([*run, "--out", "run.npz", "--save", "run.html"]) == 0
    assert main(["view", "run.npz", "--save", "saved.html"]) == 0
    for page in ("run.html", "saved.html"):
        text = Path(page).read_text("utf-8")
        assert '"contact forces":{"labels":["skin"]' in text
        assert '"friction cones":["/friction cones/0"]' in text


def test_ground_and_points_are_given(capsys: Capture) -> None:
    """A ball as a point with a radius slides down a slope without friction."""
    run = [
        "simulate",
        "loose.xml",
        "--contacts",
        "rigid",
        "--ground",
        "0,-0.1",
        "--slope",
        "30",
        "--points",
        "ball=0.1",
    ]
    x = told(capsys, [*run, "--until", "0.5"])["final"]["q"][4]
    assert x == pytest.approx(0.5 * 9.81 * np.sin(np.pi / 6) * np.cos(np.pi / 6) * 0.25, rel=1e-6)


def test_without_a_position_bodies_are_where_the_file_has_them(capsys: Capture) -> None:
    for command in (["simulate", *RIGID, "--until", "0.1"], ["rollout", "--contacts", "--batch", "1"]):
        more = [] if command[0] == "simulate" else ["--steps", "100", "--dt", "1e-3"]
        final = told(capsys, [command[0], "ball.xml", *command[1:], *more])["final"]
        z = final["q"][6] if command[0] == "simulate" else next(x["mean"] for x in final if x["name"] == "q.free.z")
        assert z == pytest.approx(0.5 - 0.5 * 9.81 * 0.01, abs=1e-3)


def test_the_restitution_is_that_of_the_ground(capsys: Capture) -> None:
    run = [
        "rollout",
        "loose.xml",
        "--contacts",
        "--ground",
        "0.8",
        "--q0",
        "free.z=0.3",
        "--batch",
        "1",
        "--steps",
        "400",
    ]
    rests, bounces = (told(capsys, [*run, *more])["final"] for more in ([], ["--restitution", "0.8"]))
    assert next(row for row in rests if row["name"] == "q.free.z")["mean"] == pytest.approx(0.1, abs=1e-6)
    assert next(row for row in bounces if row["name"] == "q.free.z")["mean"] > 0.15


def test_a_rollout_tells_how_exact_it_was(capsys: Capture) -> None:
    run = ["rollout", "ball.xml", *HIGH, "--contacts", "--batch", "3", "--steps", "300"]
    about = told(capsys, [*run, "--out", "run.npz"])["contacts"]
    assert about["touches"] == 3
    assert (about["touching_at_the_end"], about["contacts"], about["kept_states"]) == (1.0, 1, 900)
    assert about["uncertified"] == 0.0
    assert about["residual"] < 1e-9
    with np.load("run.npz") as saved:
        assert saved["contact_forces"].shape == (3, 301, 1, 3)
        np.testing.assert_allclose(saved["contact_forces"][:, -1, 0, 2], 9.81)
        assert saved["residual"].shape == saved["penetration"].shape == saved["uncertified"].shape == (3, 301)
    assert main(run) == 0
    text = capsys.readouterr().out
    assert "1 contacts: 1 touch at the end on average" in text
    assert "0 % of 3 kept states, each of 300 steps, uncertified, in 0 trajectories" in text


def test_springs_of_a_rollout_act_at_motors(capsys: Capture) -> None:
    feet = "lf_foot,rf_foot,lh_foot,rh_foot"
    run = [
        "rollout",
        "quadruped",
        "--q0",
        "stand",
        "--pd",
        "200",
        "5",
        "--contacts",
        "--ground",
        "0.8",
        "--points",
        feet,
    ]
    found = told(capsys, [*run, "--batch", "2", "--steps", "500", "--dt", "2e-3"])
    height = next(row for row in found["final"] if row["name"] == "q.base.z")["mean"]
    assert 0.28 < height < 0.32
    assert found["contacts"]["touching_at_the_end"] == 4.0


def test_pieces_of_a_large_rollout_are_joined(capsys: Capture) -> None:
    run = ["rollout", "ball.xml", *HIGH, "--contacts", "--batch", "2048", "--steps", "2000"]
    about = told(capsys, run)["contacts"]
    assert about["kept_states"] == 2048


@pytest.mark.slow
@pytest.mark.needs("matplotlib", "viser")
def test_a_rollout_is_drawn(capsys: Capture) -> None:
    run = ["rollout", "ball.xml", *HIGH, "--contacts", "--batch", "2", "--steps", "100"]
    assert main([*run, "--save", "run.html", "--plot", "contacts.png"]) == 0
    assert '"contact forces":{"labels":["skin"]' in Path("run.html").read_text("utf-8")
    assert Path("contacts.png").stat().st_size > 1000
    assert "written: run.html" in capsys.readouterr().out


def test_a_file_of_one_trajectory_is_viewed() -> None:
    assert main(["rollout", "ball.xml", *HIGH, "--contacts", "--batch", "1", "--steps", "10", "--out", "one.npz"]) == 0
    assert main(["view", "ball.xml", "--motion", "one.npz", "--save", "one.png"]) == 0


def test_an_overlap_at_the_start_is_noted(capsys: Capture) -> None:
    run = ["rollout", "ball.xml", "--contacts", "--batch", "1", "--steps", "2"]
    assert main([*run, "--q0", "free.z=0"]) == 0
    assert "at the start, contact 'skin' overlaps by 0.1 m" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["simulate", "loose.xml", *RIGID], "nothing of 'ball' can touch; give --ground FRICTION[,HEIGHT]"),
        (["simulate", "loose.xml", *RIGID, "--points", "ball"], "there is none; give --ground FRICTION[,HEIGHT]"),
        (
            ["simulate", "bare.urdf", *RIGID, "--ground", "1"],
            "no collision shapes of its bodies in 'bare'; give --points",
        ),
        (["simulate", "bare.urdf", *RIGID, "--ground", "1", "--points", "bb"], "unknown frame 'bb' in bare"),
        (["simulate", "ball.xml", *RIGID, "--ground", "1", "--bodies", "bal"], "Did you mean 'ball'?"),
        (["simulate", "ball.xml", "--points", "ball"], "--points is for contacts: give --contacts, too"),
        (["rollout", "ball.xml", "--self-collision"], "--self-collision is for contacts"),
        (["simulate", "ball.xml", *RIGID, "--ground", "x"], "--ground must be a finite number, not 'x'"),
        (["simulate", "ball.xml", *RIGID, "--ground", "-1"], "--ground: friction must be not negative"),
        (["simulate", "ball.xml", *RIGID, "--ground", "nan"], "--ground must be a finite number"),
        (["simulate", "ball.xml", *RIGID, "--ground", "1,2,3"], "a friction and a height, not 3 numbers"),
        (["simulate", "ball.xml", *RIGID, "--slope", "3"], "--slope is that of a ground: give --ground"),
        (["simulate", "ball.xml", *RIGID, "--ground", "1", "--slope", "90"], "an angle below 90 degrees"),
        (["simulate", "ball.xml", *RIGID, "--ground", "1", "--points", "ball,"], "names with commas between them"),
        (["simulate", "ball.xml", *RIGID, "--ground", "1", "--points", "ball,ball"], "--points has ball twice"),
        (["simulate", "ball.xml", *RIGID, "--ground", "1", "--points", "ball=-1"], "the radius of 'ball' must be not"),
        (["simulate", "ball.xml", *RIGID, "--method", "radau"], "not for method='radau'"),
        (["simulate", "ball.xml", "--contacts", "rgid"], "did you mean 'rigid'?"),
        (["rollout", "ball.xml", "--contacts", "--limits", "bounce"], "--limits bounce does not go with --contacts"),
        (["rollout", "ball.xml", "--contacts", "--method", "rk4"], "method='rk4' is not supported"),
        (["rollout", "ball.xml", "--plot", "a.png"], "--plot draws contacts: give --contacts, too"),
        (["rollout", "ball.xml", "--target", "neutral"], "give their stiffness and damping, --pd KP KD"),
        (["rollout", "ball.xml", "--random", "1", "--pd", "1", "1"], "give --target"),
    ],
)
def test_errors_name_what_is_wrong(arguments: list[str], said: str, capsys: Capture) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
