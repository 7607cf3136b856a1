"""`ordern ensemble`: studies from files, estimates, and runs that go on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ordern as on
from ordern.cli import main
from ordern.ensembles.study_file import read_study

STUDY = """
robot = "double-pendulum"
members = 300
steps = 20
dt = 1e-2
block = 64
keep = ["final", "series"]
every = 10
out = "falls.parquet"

[starts]
q = { uniform = [-3.1, 3.1] }

[parameters.mass]
lower = { normal = [1.0, 0.1] }

[[reduce]]
moments = "energy_change"
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def test_studies_in_files(study: Path):
    found = read_study(study, on.load)
    assert found.out == study.parent / "falls.parquet"
    assert (found.ensemble.members, found.ensemble.every, found.ensemble.block) == (300, 10, 64)
    drawn = found.ensemble.draws.drawn(0, 300)
    assert abs(drawn["parameters.mass.lower"].mean() - 1.0) < 0.03
    assert read_study(study, on.load, {"members": 7}).ensemble.members == 7
    for old, new, message in (
        ("uniform", "uniforn", "Did you mean 'uniform'"),
        ("[-3.1, 3.1]", "[-3.1, 3.1, 2.0]", "starts.q: uniform"),
        ('"falls.parquet"', "3", "out must be text"),
        ("steps", "stepss", "Did you mean 'steps'"),
        ("moments", "moment", "reduce: give one of"),
    ):
        study.write_text(STUDY.replace(old, new))
        with pytest.raises(on.ArgumentError, match=rf"study.toml: .*({message})"):
            read_study(study, on.load)


def test_events_in_files(study: Path, capsys):
    events = """
[[events]]
height = "tip"
at = 0.5
name = "low"
terminal = true

[[events]]
plane = "tip"
normal = [1.0, 0.0, 0.0]
direction = 0
name = "beside"

[[reduce]]
quantiles = "low_time"
"""
    plain = STUDY.replace('["final", "series"]', '["final", { crossing = "beside", state = false }]')
    plain = plain.replace("every = 10\n", "").replace('out = "falls.parquet"\n', "")
    study.write_text(plain + events)
    found = read_study(study, on.load).ensemble
    assert found.event_names == ("low", "beside")
    outcome = found.run()
    assert outcome["beside_time"].shape == (300,)
    assert outcome["low_time_quantiles"].count > 0
    assert main(["ensemble", str(study), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["reductions"]["low_time_quantiles"]
    assert set(shown) == {"p", "values", "count"}
    study.write_text(plain + events.replace('height = "tip"', 'height = "tp"'))
    for more in ([], ["--dry-run"]):
        assert main(["ensemble", str(study), *more]) != 0
        assert "study.toml: unknown frame 'tp'" in capsys.readouterr().err
    study.write_text(plain + events.replace("height", "heights"))
    with pytest.raises(on.ArgumentError, match="events: give one of height, plane, limit"):
        read_study(study, on.load)
    study.write_text(plain + events.replace("terminal", "final"))
    with pytest.raises(on.ArgumentError, match=r"events: height: .*final"):
        read_study(study, on.load)


@pytest.mark.needs("pyarrow")
def test_a_study_that_was_interrupted_goes_on(study: Path, capsys):
    def ran(*arguments: str) -> dict:
        assert main(["ensemble", str(study), "--json", *arguments]) == 0
        return json.loads(capsys.readouterr().out)

    assert ran("--dry-run")["blocks_done"] == 0
    whole = ran()
    assert (whole["members"], whole["failed"], whole["output"]) == (300, 0, str(study.parent / "falls.parquet"))
    left = ran("--resume", "--dry-run")
    assert (left["blocks"], left["blocks_done"], left["seconds"]) == (5, 5, 0.0)
    notes = sorted((study.parent / "falls.parquet.journal").glob("blocks-*"))
    notes[-1].unlink()  # the end of the run was lost
    assert ran("--resume", "--dry-run")["blocks_done"] < 5
    assert ran("--resume")["reductions"] == whole["reductions"]
    assert main(["ensemble", str(study), "--resume", "--dry-run", "--out", str(study.parent / "falls.parquet")]) == 0
    assert "written" not in capsys.readouterr().out
    assert main(["ensemble", str(study), "--resume"]) == 0
    assert f"written: {study.parent / 'falls.parquet'}" in capsys.readouterr().out
    assert main(["ensemble", str(study)]) == 2
    assert "give --resume" in capsys.readouterr().err
    study.write_text(STUDY.replace("dt = 1e-2", "dt = 2e-2"))
    assert main(["ensemble", str(study), "--resume", "--dry-run"]) != 0
    assert "another study: dt differ" in capsys.readouterr().err


def test_tables_of_files_are_tables(study: Path):
    plain = 'robot = "double-pendulum"\nmembers = 100\nsteps = 10\n'
    for more, message in (
        ("starts = 3", r"starts must be a table, \[starts\]"),
        ("parameters = 3", "parameters must be a table"),
        ("stop = 3", "stop must be a table"),
        ("[stop]\nof = 3", "stop: give name = .*'of'"),
    ):
        study.write_text(plain + more)
        with pytest.raises(on.ArgumentError, match=f"study.toml: {message}"):
            read_study(study, on.load)
    study.write_text(plain + '[[reduce]]\nmoments = "energy"\n[stop]\nname = "energy_moments"\nerror = 0.1')
    assert read_study(study, on.load).ensemble.stop is not None
