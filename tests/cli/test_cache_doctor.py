from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.cli import main


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own with two functions of one robot."""
    monkeypatch.setenv("ORDERN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ORDERN_CACHE", raising=False)
    robot = on.load("double-pendulum")
    robot.mass_matrix(np.zeros((3, 2)))
    robot.gravity_force(np.zeros((3, 2)))
    return tmp_path / "cache"


def test_cache_shows_what_is_kept(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache"]) == 0
    out = capsys.readouterr().out
    assert f"{filled}: 2 compiled functions" in out
    assert "double-pendulum" in out
    assert main(["cache", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {e["question"] for e in found["entries"]} == {"mass_matrix", "gravity_force"}
    assert found["bytes"] == sum(path.stat().st_size for path in filled.iterdir())


def test_cache_is_cleared(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "clear"]) == 0
    assert "removed 2 compiled functions" in capsys.readouterr().out
    assert not list(filled.iterdir())


def test_cache_tells_its_place(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(filled)


def test_damaged_entries_are_not_counted(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (filled / "damaged.kernel").write_bytes(b"x" * 10)
    assert main(["cache"]) == 0
    assert "2 compiled functions" in capsys.readouterr().out


def test_cache_that_is_off(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ORDERN_CACHE", "off")
    for action in ("show", "clear", "path"):
        assert main(["cache", action]) == 0
        assert "turned off" in capsys.readouterr().out


def test_doctor_finds_this_machine_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "numpy" in out
    assert "doubles at a time" in out
    assert "all is well" in out


def test_doctor_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from ordern.cli import doctor

    monkeypatch.setattr(doctor, "_installed", lambda name: "" if name == "viser" else "1")
    assert main(["doctor"]) == 0
    assert "pip install 'ordern[view]'" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform == "win32", reason="rights are not bits there")
def test_doctor_finds_a_cache_that_others_can_write_to(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.chmod(filled, 0o777)
    assert main(["doctor", "--json"]) == 1
    found = {line["name"]: line for line in json.loads(capsys.readouterr().out)}
    assert found["directory"]["state"] == "broken"
    assert "chmod 700" in found["directory"]["advice"]


def test_doctor_finds_code_that_computes_wrong_numbers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ordern.kernel import Kernel

    right = Kernel.__call__
    monkeypatch.setattr(
        Kernel, "__call__", lambda self, *a, **k: right(self, *a, **k) + (self.request.way != "interpreted")
    )
    assert main(["doctor"]) == 1
    assert "computes wrong numbers" in capsys.readouterr().out
