"""The commands `plot` and `bench`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.cli import main
from ordern.cli.bench import _lines, _quiet
from ordern.cli.peers import peers
from ordern.screen.progress import Bar

pytestmark = pytest.mark.needs("matplotlib", "pinocchio", "mujoco")

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def motion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file with a motion, in the folder to work in."""
    monkeypatch.chdir(tmp_path)
    on.load("double-pendulum").simulate([1.0, 0.5], until=0.3).save("fall.npz")
    return "fall.npz"


@pytest.mark.slow
def test_the_usual_picture(motion: str, capsys: Capture) -> None:
    assert main(["plot", motion]) == 0
    assert capsys.readouterr().out == "written: fall.png\n"
    assert Path("fall.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_picture_is_not_replaced_unasked(motion: str, capsys: Capture) -> None:
    Path("fall.png").write_text("mine")
    assert main(["plot", motion, "q"]) == 2
    assert "fall.png: the picture exists already; --force replaces it" in capsys.readouterr().err
    assert Path("fall.png").read_text() == "mine"
    for more in (["--out", "fall.png"], ["--force"]):
        Path("fall.png").write_text("mine")
        assert main(["plot", motion, "q", *more]) == 0
        assert capsys.readouterr().out == "written: fall.png\n"
        assert Path("fall.png").read_bytes().startswith(b"\x89PNG")


def test_a_bad_line_of_a_table_is_told_as_elsewhere(motion: str, capsys: Capture) -> None:
    """`plot` reads tables as `load_result` does, `inverse` by itself; the words are the same."""
    on.load_result(motion).save("own.csv")
    lines = Path("own.csv").read_text().splitlines(keepends=True)
    Path("own.csv").write_text("".join(lines[:4]) + lines[4].replace(",", ",x", 1) + "".join(lines[5:]))
    head = "t,q.shoulder,q.elbow,v.shoulder,v.elbow\n0,0,0,1,1\n"
    Path("word.csv").write_text(f"# a remark\n{head}1,x,1,1,1\n")
    Path("short.csv").write_text(f"{head}1,1\n")
    words = {
        "own.csv": f"own.csv:5: 'x{lines[4].split(',')[1]}', in the column 'q.shoulder', is not a number",
        "word.csv": "word.csv:4: 'x', in the column 'q.shoulder', is not a number",
        "short.csv": "short.csv:3: the line has 2 columns, those before 5",
    }
    for name, told in words.items():
        for arguments in (
            ["plot", name, "--robot", "double-pendulum"],
            ["view", "double-pendulum", "--motion", name, "--save", "x.html"],
            ["inverse", "double-pendulum", "--motion", name],
        ):
            assert main(arguments) == 2
            assert capsys.readouterr().err == f"ordern: error: {told}\n"


@pytest.mark.slow
def test_what_where_and_of_which_joints(motion: str, capsys: Capture) -> None:
    assert main(["plot", motion, "q", "energy", "tip", "--joint", "elbow", "--out", "p.svg", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "robot": "double-pendulum",
        "samples": told["samples"],
        "what": ["q", "energy", "tip"],
        "output": "p.svg",
    }
    assert "<svg" in Path("p.svg").read_text("utf-8")


def test_a_table_from_elsewhere_needs_its_robot(motion: str, capsys: Capture) -> None:
    Path("t.csv").write_text("t,q.shoulder,q.elbow,v.shoulder,v.elbow\n0,0,0,1,1\n1,1,1,1,1\n2,2,2,1,1\n")
    assert main(["plot", "t.csv", "q"]) == 2
    assert "give it: --robot FILE|NAME" in capsys.readouterr().err
    assert main(["plot", "t.csv", "q", "--robot", "double-pendulum"]) == 0
    assert Path("t.png").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no.npz"], "no.npz: the file cannot be read"),
        (["fall.npz", "nonsense"], "unknown plot 'nonsense'"),
        (["fall.npz", "--joint", "elbw"], "Did you mean 'elbow'?"),
        (["fall.npz", "--out", "p.docx"], "must end in one of .png"),
        (["fall.npz", "--out", "no/p.png"], "there is no folder"),
        (["bad.npz"], "bad.npz: the file is not an NPZ file"),
        (["fall.txt"], "cannot tell the format"),
    ],
)
def test_what_cannot_be_drawn(motion: str, arguments: list[str], words: str, capsys: Capture) -> None:
    Path("bad.npz").write_bytes(b"PK")
    before = set(Path().iterdir())
    assert main(["plot", *arguments]) == 2
    err = capsys.readouterr().err
    assert words in err and "Traceback" not in err and set(Path().iterdir()) == before


def test_missing_matplotlib_is_told_before_the_work(
    motion: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr("ordern.cli.outputs.find_spec", lambda name: None)
    assert main(["plot", motion]) == 2
    assert "a picture needs matplotlib: pip install 'ordern[plot]'" in capsys.readouterr().err


def test_other_libraries_have_the_same_robot() -> None:
    """Their answers come from a model that is theirs, in coordinates of theirs."""
    robot = _quiet(on.load("stanford-arm"))
    found, notes = peers(robot)
    # Pinocchio has no release for Windows, and MuJoCo none for Python 3.10
    assert len(notes) == (sys.platform == "win32") + (sys.version_info < (3, 11))
    q, v, x = np.random.default_rng(1).uniform(-1, 1, (3, robot.nv))
    for peer in found.values():
        for question in ("inverse_dynamics", "forward_dynamics"):
            theirs = peer.answer(question, (q, v, x))
            np.testing.assert_allclose(getattr(robot, question)(q, v, x), theirs, rtol=1e-9, atol=1e-9)
    if "Pinocchio" in found:
        np.testing.assert_allclose(robot.mass_matrix(q), found["Pinocchio"].answer("mass_matrix", (q,)), atol=1e-12)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no Pinocchio")
def test_batches_of_one_freedom_are_not_given_to_pinocchio() -> None:
    """It writes past the end of an array of one row, and the process may die of that much later."""
    builder = on.Builder("one").body("ground")
    robot = builder.body("b", parent="ground", joint=on.Revolute(), mass=1.0, inertia=(1, 1, 1)).build()
    states = tuple(np.zeros((3, 64, 1)))
    (pinocchio, two) = (peers(_quiet(x))[0]["Pinocchio"] for x in (robot, on.load("double-pendulum")))
    assert pinocchio.batch("inverse_dynamics", states) is None
    assert pinocchio.single("inverse_dynamics", tuple(x[0] for x in states))() is not None
    assert two.batch("inverse_dynamics", tuple(np.zeros((3, 64, 2)))) is not None


def test_figures(capsys: Capture) -> None:
    assert main(["bench", "double-pendulum", "--batch", "256", "--rounds", "1", "--json"]) == 0
    ((found),) = json.loads(capsys.readouterr().out)
    assert (found["robot"], found["nv"], found["batch"]) == ("double-pendulum", 2, 256)
    rows = {row["function"]: row for row in found["seconds"]}
    assert list(rows) == ["inverse_dynamics", "forward_dynamics", "mass_matrix", "rollout (a step)"]
    assert all(0.0 < x < 1.0 for row in rows.values() for key, x in row.items() if key != "function")
    for name in found["peers"]:
        assert any(key.startswith(name) for key in rows["forward_dynamics"])
    title, head, *table = _lines(found)
    assert title.startswith("double-pendulum: 2 velocities") and head.split()[:3] == ["time", "per", "state"]
    assert [line.split()[0] for line in table[:3]] == list(rows)[:3]


def test_progress_is_shown_on_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, shown in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr(sys, "stderr", stream)
        bar = Bar()
        for fraction in (0.5, 1.0, 1.0):
            bar(fraction)
        assert stream.getvalue().rstrip(" \n").endswith("100.0%") == shown
        assert stream.getvalue().count("\n") == shown


def test_a_robot_that_is_none(capsys: Capture) -> None:
    assert main(["bench", "no-such-robot"]) == 2
    assert "no-such-robot" in capsys.readouterr().err


def test_papers_tell_how_far_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ordern.papers.methods.page", lambda folder: "# Methods\n")
    monkeypatch.setattr("ordern.papers.costs.page", lambda folder: "# Costs\n")
    assert main(["papers", "methods", "costs", "--out", str(tmp_path / "p")]) == 0
    told = capsys.readouterr()
    assert told.out == f"{tmp_path / 'p' / 'methods'}.md\n{tmp_path / 'p' / 'costs'}.md\n"
    lines = told.err.splitlines()
    assert len(lines) == 4 and lines[2].startswith("ordern: page 2 of 2, costs: operation counts")
    assert lines[3].startswith("ordern: page 2 of 2, costs: done in ") and "\r" not in told.err


def test_papers_without_matplotlib_say_so_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ordern.papers.find_spec", lambda name: None if name == "matplotlib" else name)
    monkeypatch.setattr("ordern.papers.methods.page", lambda folder: pytest.fail("work was done"))
    assert main(["papers", "--out", str(tmp_path / "p")]) == 2
    err = capsys.readouterr().err
    assert "matplotlib for costs, times, accuracy, saha, simulations" in err and "or make other pages: methods" in err
    assert not (tmp_path / "p").exists()
