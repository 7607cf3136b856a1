"""The command `ordern view`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.cli import main
from tests.tolerances import HUNG

pytestmark = pytest.mark.needs("viser")


def test_a_page_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "arm.html"
    assert main(["view", "stanford-arm", "--position", "initial", "--save", str(page), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"robot": "stanford-arm", "output": str(page), "bytes": page.stat().st_size}
    assert "<title>stanford-arm</title>" in page.read_text("utf-8")


def test_a_motion_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    motion, page = tmp_path / "m.npz", tmp_path / "m.html"
    np.savez(motion, t=[0.0, 1.0], q=[[0.0, 0.0], [1.0, 0.5]])
    assert main(["view", "double-pendulum", "--motion", str(motion), "--path", "tip", "--save", str(page)]) == 0
    assert f"{page}: double-pendulum, " in capsys.readouterr().out
    assert '"curves"' in page.read_text("utf-8")


@pytest.mark.slow
def test_a_result_brings_its_robot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    motion, page = tmp_path / "fall.npz", tmp_path / "fall.html"
    on.load("double-pendulum").simulate([1.0, 0.5], [0.0, 0.0], until=0.2).save(motion)
    assert main(["view", str(motion), "--save", str(page)]) == 0
    assert main(["view", str(motion), "--save", str(tmp_path / "still.png")]) == 0
    assert (tmp_path / "still.png").read_bytes().startswith(b"\x89PNG")
    assert f"{page}: double-pendulum, " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["no-such-robot"], 2, "no-such-robot"),
        (["puma560", "--save", "page.pdf"], 2, "page.pdf: the name must end in one of .html"),
        (["puma560", "--q", "1", "2", "--save", "page.html"], 2, "--q has 2 numbers, 'puma560' needs 6: waist"),
        (["puma560", "--q", "elbw=1", "--save", "page.html"], 2, "Did you mean 'elbow'?"),
        (["puma560", "--q", "@no.txt", "--save", "page.html"], 2, "no.txt: the file cannot be read"),
        (["puma560", "--position", "redy", "--save", "page.html"], 2, "Did you mean 'ready'?"),
        (["double-pendulum", "--position", "ready", "--save", "page.html"], 2, "unknown position 'ready'"),
        (["no.npz", "--save", "page.html"], 2, "no.npz: the file cannot be read"),
        (["puma560", "--path", "flang", "--save", "page.html"], 2, "Did you mean 'flange'?"),
        (["puma560", "--motion", "no.npz", "--save", "page.html"], 2, "no.npz: the file cannot be read"),
        (["puma560", "--motion", "m.txt", "--save", "page.html"], 2, "m.txt: a motion is read from"),
        (["puma560", "--save", "no/such/page.html"], 2, "no/such/page.html: the file cannot be written"),
        (["puma560", "--port", "0"], 2, "port must be a whole number"),
    ],
)
def test_what_cannot_be_done(
    arguments: list[str],
    status: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["view", *arguments, "--no-browser"]) == status
    err = capsys.readouterr().err
    assert words in err and "Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_a_motion_of_another_robot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    motion, page = tmp_path / "m.npz", tmp_path / "m.html"
    np.savez(motion, t=[0.0, 1.0], q=[[0.0, 0.0], [1.0, 0.5]])
    assert main(["view", "puma560", "--motion", str(motion), "--save", str(page), "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert told["where"] == str(motion) and "q has shape (2, 2); expected (2, 6)" in told["error"]
    table = tmp_path / "t.csv"
    table.write_text("t,q.a,v.a\n0,1,2\n")
    assert main(["view", str(table), "--save", str(page)]) == 2
    assert "give it: ordern view FILE|NAME --motion FILE" in capsys.readouterr().err
    assert not page.exists()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["0.5", "-1"], [0.5, -1.0]),
        (["-0.5,-1"], [-0.5, -1.0]),
        (["elbow=30deg"], [0.0, np.pi / 6]),
        (["@start.txt"], [0.25, -0.5]),
        (["neutral"], [0.0, 0.0]),
    ],
)
def test_positions_are_given_as_elsewhere(
    given: list[str], expected: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ordern.view.show", lambda robot, motion, q, **rest: shown.append(q))
    (tmp_path / "start.txt").write_text("0.25  # shoulder\n-0.5\n")
    (tmp_path / "page.html").write_text("")
    assert main(["view", "double-pendulum", "--save", "page.html", "--q", *given]) == 0
    np.testing.assert_array_equal(shown, [expected])


def test_missing_meshes_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "r.urdf"
    file.write_text(
        '<robot name="r"><link name="a"><visual><geometry><mesh filename="no.stl"/></geometry></visual></link></robot>'
    )
    assert main(["view", str(file), "--save", str(tmp_path / "page.html")]) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "no.stl" in line]
    assert notes == ["ordern: note: r: meshes that are not shown: no.stl (no such file)"]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_it() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(on.__file__).parents[1])}
    command = [sys.executable, "-m", "ordern", "view", "puma560", "--no-browser", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        told = json.loads(process.stdout.readline())
        with urllib.request.urlopen(told["url"], timeout=30) as answer:
            assert answer.status == 200
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=HUNG) == 0
        assert process.stderr.read() == ""


def test_a_motion_is_read_by_the_names_of_its_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ordern.view.show", lambda robot, motion, **rest: shown.append(motion))
    (tmp_path / "m.csv").write_text("t,q.elbow,volts,q.shoulder\n0,1,9,2\n1,3,9,4\n")
    (tmp_path / "page.html").write_text("")
    assert main(["view", "double-pendulum", "--save", "page.html", "--motion", "m.csv"]) == 0
    np.testing.assert_array_equal(shown[0].q, [[2.0, 1.0], [4.0, 3.0]])
    assert "note: m.csv: not read: volts" in capsys.readouterr().err
    (tmp_path / "m.csv").write_text("t,q.elbo,q.shoulder\n0,1,2\n1,3,4\n")
    assert main(["view", "double-pendulum", "--save", "page.html", "--motion", "m.csv"]) == 2
    assert "column 'q.elbo': unknown joint 'elbo' in double-pendulum. Did you mean 'elbow'?" in capsys.readouterr().err
