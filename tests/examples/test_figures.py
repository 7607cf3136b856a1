"""Measured figures: pages take them from `docs/figures`, and the README, which is not rendered, agrees with it."""

from __future__ import annotations

import datetime
import json
import re
import runpy
from pathlib import Path

import pytest

from benchmarks.__main__ import CASES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MEASURED = runpy.run_path(str(DOCS / "measured.py"))
FIGURES = MEASURED["read"]()
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "_build" not in page.parts]
BY_HAND = {"h200"}
"""Machines whose figures scripts in `benchmarks/gpu` print."""

BATCH, LOOPS = "forward_dynamics.batch4096", "loops.stewart-platform.batch.4096"
DP8 = "talos.simulate.dormand-prince-8"
FOUR_FEET = ", ".join(
    f"contacts:{robot}.contacts.256x500.{how}.vs_mujoco"
    for robot, how in (("anymal", "sweeps_5"), ("anymal", "limits"), ("go2", "sweeps_5"), ("go2", "limits"))
)
HUMANOID = ", ".join(f"contacts:g1.contacts.256x500.{how}.vs_mujoco" for how in ("sweeps_5", "sweeps_10", "limits"))
ROLLOUT = "xeon:panda7.rollout.4096x1000"
README = f"""
{{{{ {FOUR_FEET} }}}} times as fast as MuJoCo's rollout
on one core for four feet, {{{{ {HUMANOID} }}}} times for a humanoid
{{{{ h200:panda7.forward_dynamics.float32.billion_states_per_s : 2 }}}} billion states a second
| {{{{ xeon:panda.{BATCH}.ns_per_state }}}} ns | {{{{ xeon:panda.{BATCH}.pinocchio_cpp.ns_per_state / 1000 }}}} µs (C++) | {{{{ xeon:panda.{BATCH}.vs_pinocchio_cpp }}}} |
| {{{{ xeon:talos.{BATCH}.ns_per_state }}}} ns | {{{{ xeon:talos.{BATCH}.pinocchio_cpp.ns_per_state / 1000 }}}} µs (C++) | {{{{ xeon:talos.{BATCH}.vs_pinocchio_cpp }}}} |
| {{{{ xeon:talos.{BATCH}.float32.ns_per_state }}}} ns | | {{{{ xeon:talos.{BATCH}.float32.vs_pinocchio_cpp }}}} |
| {{{{ xeon:panda.forward_dynamics.single.ns_per_call / 1000 }}}} µs | {{{{ xeon:panda.forward_dynamics.single.pinocchio_python.ns_per_call / 1000 }}}} µs | {{{{ xeon:panda.forward_dynamics.single.vs_pinocchio_python }}}} |
| {{{{ xeon:talos.forward_dynamics.single.ns_per_call / 1000 : 2 }}}} µs | {{{{ xeon:talos.forward_dynamics.single.pinocchio_python.ns_per_call / 1000 }}}} µs | {{{{ xeon:talos.forward_dynamics.single.vs_pinocchio_python }}}} |
| {{{{ xeon:chain100.forward_dynamics.single.ns_per_joint }}}} ns | (C++) | {{{{ xeon:chain100.forward_dynamics.single.vs_pinocchio_cpp }}}} |
| {{{{ xeon:{LOOPS}.ns }}}} ns | {{{{ xeon:{LOOPS}.pinocchio.us }}}} µs (from Python) | {{{{ xeon:{LOOPS}.vs_pinocchio }}}} |
| {{{{ xeon:spherical_chain100.forward_dynamics.error }}}} | {{{{ xeon:spherical_chain100.forward_dynamics.pinocchio_aba.error }}}} | |
| {{{{ {ROLLOUT}.ns_per_step }}}} ns | {{{{ {ROLLOUT}.mujoco.ns_per_step / 1000 }}}} µs (`mujoco.rollout`) | {{{{ {ROLLOUT}.vs_mujoco }}}} |
| {{{{ {ROLLOUT}.ns_per_step }}}} ns | {{{{ {ROLLOUT}.pinocchio_loop.ns_per_step / 1000 }}}} µs (Python loop around Pinocchio, one core) | {{{{ {ROLLOUT}.vs_pinocchio_loop }}}} |
| {{{{ xeon:{DP8}.ms }}}} ms | {{{{ xeon:{DP8}.scipy.ms }}}} ms (SciPy around Pinocchio) | {{{{ xeon:{DP8}.vs_scipy }}}} |
| {{{{ xeon:{DP8}.simulate.ms }}}} ms | {{{{ xeon:{DP8}.scipy_share.ms }}}} ms | {{{{ xeon:{DP8}.simulate.vs_scipy_share }}}} |
"""  # noqa: E501
"""What the README says, with the names of its figures."""


@pytest.mark.parametrize("said", README.strip().splitlines(), ids=lambda said: re.sub(r"[{}]", "", said)[:40])
def test_the_readme_agrees_with_the_files(said: str) -> None:
    rendered = MEASURED["render"](said, FIGURES)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert rendered in text or rendered in text.replace("\n", " "), "write this into the README"


def test_the_tables_of_the_readme_have_no_other_figures() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## How it compares")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if re.match(r"\|.*\d (?:[nµm]s\b|\|)|\|.*\de-\d", line)]
    known = [MEASURED["render"](said, FIGURES) for said in README.splitlines() if said.startswith("|")]
    assert len(rows) == len(known)
    assert [row for row in rows if not any(row.endswith(end) for end in known)] == []


def test_pages_name_figures_that_exist_and_all_of_them_are_used() -> None:
    used = {name for page in PAGES for name in MEASURED["names_in"](page.read_text(encoding="utf-8"))}
    assert used - FIGURES.keys() == set()
    assert len(used) > 100
    assert [page.name for page in PAGES if "{{" in MEASURED["PATTERN"].sub("", page.read_text("utf-8"))] == []


@pytest.mark.parametrize("path", sorted(MEASURED["FOLDER"].glob("*.json")), ids=lambda path: path.stem)
def test_files_name_their_machine_and_benchmarks(path: Path) -> None:
    known = json.loads(path.read_text(encoding="utf-8"))
    cases = [case.name + "." for case in CASES]
    assert known["machine"]
    for run in known["runs"]:
        assert run["command"] and datetime.date.fromisoformat(run["date"])
        for name, value in run["figures"].items():
            assert isinstance(value, int | float) or (value == sorted(value) and len(value) == 2), name
            assert path.stem in BY_HAND or any(map(name.startswith, cases)), f"no benchmark prints {name}"


def test_a_recorded_run_replaces_older_figures(tmp_path: Path) -> None:
    path = tmp_path / "here.json"
    MEASURED["record"](path, "a machine", "./dev bench a", "2026-01-01", {"a.ns": 2, "b.ns": 1370.0})
    MEASURED["record"](path, "a machine", "./dev bench b", "2026-01-02", {"b.ns": 0.44})
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
    assert [run["figures"] for run in runs] == [{"a.ns": 2}, {"b.ns": 0.44}]
    assert [run["date"] for run in runs] == ["2026-01-01", "2026-01-02"]
    assert MEASURED["read"](tmp_path) == {"here:a.ns": 2, "here:b.ns": 0.44}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{{ m:a.x }}", "0.44"),
        ("{{ m:a.y }} ns", "1,370 ns"),
        ("{{ m:a.y / 1000 : 2 }} µs", "1.4 µs"),
        ("{{ m:a.x, m:a.z }}", "0.44 to 19"),
        ("{{ m:a.z }}", "15 to 19"),
        ("{{\nm:a.x,\nm:a.z }}", "0.44 to 19"),
        ("{{ m:a.e }}", "6e-7"),
        (r"$x_{{i}}$", r"$x_{{i}}$"),
    ],
)
def test_how_figures_are_written(text: str, wanted: str) -> None:
    figures = {"m:a.x": 0.44, "m:a.y": 1370, "m:a.z": [15, 19], "m:a.e": 6e-7}
    assert MEASURED["render"](text, figures) == wanted


def test_an_unknown_figure_is_named() -> None:
    with pytest.raises(KeyError, match=r"m:a\.unknown"):
        MEASURED["render"]("{{ m:a.unknown }}", {})
