"""The campaign over model files, on those that are installed, or on the folder that ORDERN_MODELS names.

Only the counts and the disagreements matter here; `python -m tests.campaigns.model_files` prints the tables.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import mujoco
import pytest

from tests.campaigns.model_files import Outcome, compared, model_files, report, run
from tests.campaigns.workers import each_in_time
from tests.robots import ROBOTS

FOLDERS = {"mjcf": Path(mujoco.__file__).parent, "urdf": ROBOTS}


@pytest.mark.campaign
@pytest.mark.needs("mujoco", "pinocchio", "example_robot_data")
@pytest.mark.parametrize("format", FOLDERS)
def test_files_agree_with_other_libraries(format: str, campaign: Callable[[int, int], int]) -> None:
    files = model_files([os.environ.get("ORDERN_MODELS", FOLDERS[format])], format)
    files = files[:: max(1, len(files) // campaign(6, len(files)))]
    outcomes = run(files, format, limit=campaign(60, 120))
    print(report(outcomes, names=True))
    read = [x for x in outcomes if x.found != "unread"]
    assert read, "the other library reads none of these files"
    assert [x for x in read if x.found in ("disagree", "crashed")] == []


def work(task: str) -> str:
    if task == "hang":
        time.sleep(60.0)
    if task == "die":
        os._exit(3)
    return task.upper()


@pytest.mark.slow
def test_workers_are_replaced() -> None:
    tasks = ["a", "hang", "b", "die", "c", "d"]
    found = {task: str(result) for task, result in each_in_time(work, tasks, limit=3.0)}
    ends = {"hang": "longer than 3 s", "die": "the process ended with status 3"}
    assert found == {task: ends.get(task, task.upper()) for task in tasks}


TENDON = """</worldbody><tendon><spatial name="rope" armature="1"><site site="s"/><site site="t"/></spatial></tendon>
<worldbody>"""


@pytest.mark.needs("mujoco")
def test_outcomes(tmp_path: Path) -> None:
    body = '<body name="{0}"><joint name="{0}"/>{1}</body>'
    geom = '<geom size=".1" pos=".1 .2 .3"/>'
    for name, inside in {
        "same": body.format("a", geom),
        "flex": body.format("a", geom) + '<flexcomp name="f" type="grid" count="2 2 1" spacing="1 1 1"/>',
        "tendon": '<site name="s"/>' + body.format("a", geom + '<site name="t" pos="1 0 0"/>') + TENDON,
        "broken": "<nothing/>",
    }.items():
        (tmp_path / f"{name}.xml").write_text(f"<mujoco><worldbody>{inside}</worldbody></mujoco>")
    (tmp_path / "other.xml").write_text("<other/>")
    files = model_files([tmp_path], "mjcf")
    here = os.getcwd()
    try:
        outcomes = [compared(file, "mjcf") for file in files]
    finally:
        os.chdir(here)
    found = {Path(x.file).stem: x.found for x in outcomes}
    assert found == {"same": "agree", "flex": "in part", "tendon": "refused", "broken": "unread"}
    lines = report([*outcomes, Outcome("/x/y.xml", "disagree", "1", 1.0)], names=True).splitlines()
    assert lines[0].split()[:4] == ["folder", "files", "read", "agree"]
    assert any("refused: tendon" in line for line in lines)
