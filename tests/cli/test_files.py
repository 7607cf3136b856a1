"""Files and standard streams of commands: `-`, lists and targets from files, tables in JSON, motions to follow."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.cli import main
from tests.tolerances import ROUNDING, assert_close

Capture = pytest.CaptureFixture[str]
ARM = "planar-3r"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Input:
    """Standard input with some text."""

    def __init__(self, text: str) -> None:
        self.buffer = io.BytesIO(text.encode())


def acceleration(capsys: Capture, *arguments: str) -> list[float]:
    assert main(["forward", ARM, *arguments, "--json"]) == 0
    found: list[float] = json.loads(capsys.readouterr().out)["a"]
    return found


def test_a_list_is_the_same_from_every_kind_of_file(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    q = [0.1, -0.2, 0.3]
    names = [f"joint{k}" for k in (1, 2, 3)]
    (folder / "q.txt").write_text("joint3 = 0.3\njoint1=0.1 # rad\njoint2=-0.2\n")
    (folder / "plain.csv").write_text("0.1,-0.2,0.3\n")
    (folder / "named.csv").write_text("joint3,joint1,joint2\n0.3,0.1,-0.2\n")
    (folder / "list.json").write_text(json.dumps(q))
    (folder / "names.json").write_text(json.dumps(dict(zip(names, q, strict=True))))
    (folder / "rows.json").write_text(json.dumps({"t": [0, 1], "q": [[0, 0, 0], q]}))
    np.savez(folder / "one.npz", q=q)
    np.savez(folder / "many.npz", q=[[9.0, 9.0, 9.0], q])
    expected = acceleration(capsys, "--q", "0.1,-0.2,0.3")
    files = ("q.txt", "plain.csv", "named.csv", "list.json", "names.json", "one.npz")
    for file in (*files, "many.npz:last", "many.npz:1", "rows.json:last"):
        assert acceleration(capsys, "--q", f"@{file}") == expected, file
    monkeypatch.setattr("sys.stdin", Input("0.1 -0.2 0.3"))
    assert acceleration(capsys, "--q", "@-") == expected


def test_a_motion_is_the_same_from_every_kind_of_file(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = [0.0, 0.5, 1.0, 1.5]
    q = np.random.default_rng(0).uniform(-1, 1, (4, 3)).tolist()
    rows = [(time, *row) for time, row in zip(t, q, strict=True)]
    columns = {f"q.joint{k + 1}": [row[k] for row in q] for k in range(3)}
    texts = {
        "arrays.json": json.dumps({"t": t, "q": q}),
        "columns.json": json.dumps({"t": t, **columns}),
        "objects.json": json.dumps({"t": t, "q": {name[2:]: x for name, x in columns.items()}}),
        "records.json": json.dumps([dict(zip(("t", *columns), row, strict=True)) for row in rows]),
        "table.csv": "t,joint1,joint2,joint3\n" + "\n".join(",".join(map(repr, row)) for row in rows),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    answers = []
    for name in (*texts, "-"):
        monkeypatch.setattr("sys.stdin", Input(texts["table.csv"]))
        assert main(["inverse", ARM, "--motion", name, "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out)["joints"])
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.slow
def test_springs_follow_a_motion(folder: Path, capsys: Capture) -> None:
    assert main(["inverse", ARM, "--to", "1,0.5,0.2", "--duration", "1", "--out", "motion.csv"]) == 0
    drive = ["--pd", "500", "50", "--gravity-compensation", "--follow", "motion.csv"]
    assert main(["simulate", ARM, *drive, "--until", "1", "--out", "run.npz"]) == 0
    run = on.load_result("run.npz")
    assert np.abs(run.q[-1] - [1.0, 0.5, 0.2]).max() < 0.05  # springs follow with some delay
    assert np.abs(run.q[len(run) // 2]).max() > 0.1
    capsys.readouterr()
    assert main(["simulate", ARM, "--follow", "motion.csv", "--until", "1"]) == 2
    assert "--follow is for the springs of --pd" in capsys.readouterr().err


def test_a_table_on_standard_output_has_the_report_beside_it(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["inverse", ARM, "--to", "1,0.5,0.2", "--duration", "1", "--samples", "7", "--out", "-"]) == 0
    out, err = capfdbinary.readouterr()
    assert b"forces by newton-euler" in err and b"written" not in err
    (folder / "piped.csv").write_bytes(out)
    assert main(["inverse", ARM, "--to", "1,0.5,0.2", "--duration", "1", "--samples", "7", "--out", "file.csv"]) == 0
    piped, saved = on.load_result("piped.csv"), on.load_result("file.csv")
    assert_close(piped.tau, saved.tau, ROUNDING)
    assert len(piped) == 7


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["forward", ARM, "--q", "@many.npz"], "has 2 rows; name one: @many.npz:last"),
        (["forward", ARM, "--q", "@many.npz:5"], "there is no row 5"),
        (["forward", ARM, "--v", "@many.npz"], "no columns of v"),
        (["forward", ARM, "--q", "@bad.json"], "this is not JSON"),
        (["forward", ARM, "--q", "@wide.npz"], "expected (any, 3)"),
        (["inverse", ARM, "--motion", "short.json"], "q has 2 numbers in each row"),
        (["inverse", ARM, "--motion", "uneven.json"], "different lengths: [1, 2]"),
        (["inverse", ARM, "--motion", "-"], "<stdin>:2: 'x', in the column 'joint2', is not a number"),
        (["forward", "-", "--states", "-"], "standard input (-) is given for --states and for the robot"),
        (["simulate", ARM, "--out", "-", "--json"], "--out and --json both go to standard output"),
        (["plot", "-"], "give --out"),
    ],
)
def test_what_files_lack_is_2(
    arguments: list[str], words: str, folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(folder / "many.npz", q=np.zeros((2, 3)))
    np.savez(folder / "wide.npz", q=np.zeros(4))
    (folder / "bad.json").write_text("{")
    (folder / "short.json").write_text('{"t": [0], "q": [[1, 2]]}')
    (folder / "uneven.json").write_text('{"t": [0, 1], "joint1": [1]}')
    monkeypatch.setattr("sys.stdin", Input("t,joint1,joint2,joint3\n0,0,x,0\n"))
    assert main(arguments) == 2
    assert words in capsys.readouterr().err
