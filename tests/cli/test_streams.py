"""Terminals with few letters, pipes that nobody reads, streams that are closed: no command ends in a traceback."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ordern
from ordern.cli import COMMANDS, main

NAME, JOINT = "Ärmchen", "Gelenk²"
ROBOT = f"""<robot name="{NAME}"><link name="Fuß"/><link name="関節"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{JOINT}" type="revolute"><parent link="Fuß"/><child link="関節"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" effort="0" velocity="2"/></joint></robot>"""
ARGUMENTS = {
    "check": ["check", "ä.urdf"],
    "info": ["info", "ä.urdf"],
    "convert": ["convert", "ä.urdf", "-", "--to", "mjcf"],
    "view": ["view", "ä.urdf", "--save", "ä.html"],
    "inverse": ["inverse", "ä.urdf", "--to", "0.5", "--duration", "1"],
    "forward": ["forward", "ä.urdf"],
    "simulate": ["simulate", "ä.urdf", "--until", "0.1"],
    "identify": ["identify", "log.npz", "ä.urdf", "--only", "damping", "--held-out", "0"],
    "rollout": ["rollout", "ä.urdf", "--batch", "2", "--steps", "3"],
    "ensemble": ["ensemble", "ä.toml"],
    "plot": ["plot", "ä.npz", "q", "--robot", "ä.urdf", "--force"],
    "methods": ["methods"],
    "count": ["count", "ä.urdf", "forward_dynamics"],
    "c": ["c", "ä.urdf", "mass_matrix"],
    "papers": ["papers", "methods"],
    "bench": ["bench", "ä.urdf", "--batch", "8", "--rounds", "1"],
    "cache": ["cache"],
    "doctor": ["doctor"],
    "completion": ["completion", "bash"],
}
QUICK = ("check", "info", "convert", "methods", "c", "completion")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("ä.urdf").write_text(ROBOT, encoding="utf-8")
    Path("ä.toml").write_text('robot = "ä.urdf"\nmembers = 2\nsteps = 3\n', encoding="utf-8")
    t = np.arange(100)[:, None] * 0.01
    np.savez("log.npz", t=t[:, 0], q=np.sin(t), v=np.cos(t), a=-np.sin(t), tau=np.cos(3 * t))
    ordern.Result(ordern.load("ä.urdf"), [0.0, 1.0], *np.zeros((4, 2, 1))).save("ä.npz")
    return tmp_path


def every_command() -> list[object]:
    assert ARGUMENTS.keys() == COMMANDS.keys()
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in COMMANDS]


@pytest.mark.parametrize("name", every_command())
@pytest.mark.parametrize("more", [[], ["--json"], ["--no-such-option-ä"]])
def test_every_command_writes_to_a_terminal_without_our_letters(
    name: str, more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "convert" and more == ["--json"]:
        arguments = ["convert", "ä.urdf", "ö.xml", "--json"]  # a document and JSON do not both go to the output
    else:
        arguments = [*ARGUMENTS[name], *more]
    monkeypatch.setattr("ordern.papers.methods.page", lambda folder: "# Ä\n")  # the work itself takes long
    out, err = io.BytesIO(), io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="ascii", errors="backslashreplace"))
    status = main(arguments)
    wrong = more == ["--no-such-option-ä"]
    assert status == (2 if wrong else 0), err.getvalue()
    if name == "convert" and not more:
        assert NAME in out.getvalue().decode()  # XML is in UTF-8 whatever the terminal has
        return
    text = out.getvalue().decode("ascii")
    if more == ["--json"] and name not in ("methods", "papers", "cache", "doctor", "count", "bench", "completion"):
        assert any(word in json.dumps(json.loads(text), ensure_ascii=False) for word in (NAME, JOINT, "ä"))
    elif not more and name in ("info", "check", "inverse", "forward", "simulate", "rollout", "view"):
        assert r"\u00" in text or "^2" in text
    if wrong:
        assert r"--no-such-option-\u00e4" in err.getvalue().decode("ascii")


def test_the_tree_of_a_robot_is_drawn_with_the_letters_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
    assert main(["info", "ä.urdf"]) == 0
    assert r"`- \u95a2\u7bc0" in out.getvalue().decode("ascii")
    assert sys.stdout.errors == "strict"  # as it was


def test_what_the_user_has_chosen_for_other_letters_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii", errors="replace"))
    assert main(["info", "ä.urdf"]) == 0
    assert b"?- ??" in out.getvalue() or b"?? ??" in out.getvalue()


def run(command: str, **more: str) -> tuple[int, str]:
    """The status of a shell's command, `ordern` being this one, and what it wrote to standard error."""
    environment = {**os.environ, "PYTHONPATH": str(Path(ordern.__file__).parents[1]), "PYTHONUNBUFFERED": "", **more}
    text = command.replace("ordern", f"'{sys.executable}' -m ordern")
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, env=environment, check=False)
    return done.returncode, done.stderr


@pytest.mark.slow
def test_a_locale_without_our_letters() -> None:
    status, err = run("ordern info ä.urdf", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (status, err) == (0, "")


@pytest.mark.slow
def test_a_pipe_that_nobody_reads() -> None:
    assert run("set -o pipefail; (sleep 0.05; ordern methods) | true") == (141, "")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
class TestClosed:
    @pytest.mark.parametrize("name", COMMANDS)
    def test_nobody_reads(self, name: str) -> None:
        """The command is told so when it writes: the pipe's other end is closed before it starts."""
        command = " ".join(["ordern", *ARGUMENTS[name]])
        status, err = run(f"set -o pipefail; (sleep 0.05; {command}) | true")
        assert status == 141
        assert "Traceback" not in err and "Exception ignored" not in err and "Error" not in err

    @pytest.mark.parametrize("name", COMMANDS)
    @pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
    def test_closed_from_the_start(self, name: str, closed: str) -> None:
        if closed != ">&-" and name not in QUICK:
            return
        status, err = run(f"{' '.join(['ordern', *ARGUMENTS[name]])} {closed}")
        assert status == 0
        assert "Traceback" not in err and "Exception ignored" not in err and "Error" not in err

    @pytest.mark.parametrize("arguments", ["--help", "info --help", "--version", ""])
    def test_help_that_nobody_reads(self, arguments: str) -> None:
        status, err = run(f"set -o pipefail; (sleep 0.05; ordern {arguments}) | true")
        assert (status, err) == (141, "")
        assert run(f"ordern {arguments} >&-") == (0 if arguments else 2, "")

    def test_errors_that_nobody_reads(self) -> None:
        assert run("set -o pipefail; (sleep 0.05; ordern info none.urdf 2>&1) | true")[0] == 141
        assert run("ordern info none.urdf 2>&-") == (2, "")
        status, err = run("ordern info - <&-")
        assert status == 2 and "standard input is empty" in err

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
    def test_a_full_disk(self) -> None:
        status, err = run("ordern info ä.urdf > /dev/full")
        assert (status, err) == (2, "ordern: error: the output cannot be written: No space left on device\n")
