"""`ordern c`: the code of a kernel, in a file or on standard output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ordern as on
from ordern.cli import main


def test_code_on_standard_output_and_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arm, file = on.load("double-pendulum"), tmp_path / "fd.c"
    assert main(["c", "double-pendulum", "forward_dynamics"]) == 0
    assert capsys.readouterr().out == arm.kernel("forward_dynamics").c()
    options = ["--float32", "--name", "fd", "--with", "external", "--way", "rolled", "-o", str(file), "--json"]
    assert main(["c", "double-pendulum", "forward_dynamics", *options]) == 0
    assert json.loads(capsys.readouterr().out)["output"] == str(file)
    kernel = arm.kernel("forward_dynamics", present=("external",), way="rolled")
    assert file.read_text("utf-8") == kernel.c("float32", "fd")


def test_settings_of_a_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["c", "puma560", "jacobian", "--frame", "flange", "--axes", "world"]) == 0
    assert capsys.readouterr().out == on.load("puma560").kernel("jacobian", frame="flange", axes="world").c()
    assert main(["c", "puma560", "poses", "--frame", "flange", "--frame", "base"]) == 0
    assert capsys.readouterr().out == on.load("puma560").kernel("poses", frames=("flange", "base")).c()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mass_matrx"], "mass_matrix"),
        (["mass_matrix", "--name", "a b"], "is not a name for a C function"),
        (["pose", "--frame", "upper", "--frame", "lower"], "pose is not about several frames"),
        (["mass_matrix", "-o", "no/such/folder/m.c"], "there is no folder"),
        (["forward_dynamics", "--method", "conjugate-gradient"], "no code of its own"),
    ],
)
def test_what_cannot_be_written_is_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["c", "double-pendulum", *arguments]) == 2
    assert words in capsys.readouterr().err
