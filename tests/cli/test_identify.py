"""The command `ordern identify`: from a log and a file to a file with other numbers, and a report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import ordern as on
from ordern.cli import main
from tests.tolerances import assert_close

THICK = np.array([0.03, 0.03, 0.03, 0, 0, 0])
FILE = on.load("planar-3r").vary(damping=0.3, joint_friction=0.4, inertia=lambda x: x + THICK, fold=True)
ARM = on.load(FILE.to_urdf(lossy=True))  # without gravity: its file has another one


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with other masses than the arm has, and a log of the arm."""
    monkeypatch.chdir(tmp_path)
    ARM.vary(mass=[2.0, 1.0, 1.5], damping=0.1, joint_friction=0.1, fold=True).save("arm.urdf")
    text = Path("arm.urdf").read_text(encoding="utf-8").replace("<link", "<!-- kept --><link", 1)
    Path("arm.urdf").write_text(text, encoding="utf-8")
    t, rng = np.arange(4000) * 0.002, np.random.default_rng(0)
    w, phase = np.array([3.0, 4.3, 5.9]), np.array([0.0, 1.0, 2.0])
    x, y = np.outer(t, w) + phase, 1.7 * np.outer(t, w)
    q, v = np.sin(x) + 0.5 * np.cos(y), w * np.cos(x) - 0.85 * w * np.sin(y)
    a = -(w**2) * np.sin(x) - 0.5 * (1.7 * w) ** 2 * np.cos(y)
    tau = ARM.inverse_dynamics_regressor(q, v, a) @ ARM.parameters.theta
    tau += 0.02 * tau.std(axis=0) * rng.normal(size=tau.shape)
    np.savez("log.npz", t=t, q=q, tau=tau)
    np.savez("whole.npz", t=t, q=q, v=v, a=a, tau=tau)
    return tmp_path


@pytest.mark.slow
@pytest.mark.needs("scipy")
def test_from_a_log_to_a_file_and_a_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only = ["--only", "inertia", "damping", "joint_friction"]
    assert main(["identify", "log.npz", "arm.urdf", "-o", "new.urdf", "--report", "r.html", *only]) == 0
    out, err = capsys.readouterr()
    assert "as large as the noise" in out and "written: new.urdf" in out and "positions filtered at" in err
    assert "<!-- kept -->" in Path("new.urdf").read_text(encoding="utf-8")
    new = on.load("new.urdf")
    assert_close(new.parameters.joint_friction, ARM.parameters.joint_friction, 0.05)
    page = Path("r.html").read_text(encoding="utf-8")
    pictures = re.findall(r"<svg.*?</svg>", page, re.S)
    assert len(pictures) == 3 and all(ElementTree.fromstring(x) is not None for x in pictures)
    assert "joint1.damping" in page and "Verdict" in page and "held out" in page


@pytest.mark.slow
def test_options_and_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--no-robust", "--offsets", "--stribeck", "search", "--average", "4"]
    more += ["--held-out", "0.1", "--least-squares"]
    assert main(["identify", "whole.npz", "arm.urdf", "--json", "--force-scale", "joint1=1,joint2=1.0", *more]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["cutoff"] is None and data["average"] == 4 and data["held_out"]["agrees"]
    assert abs(data["parameters"]["joint2.joint_friction"] - 0.4) < 0.05 and "joint3.offset" in data["parameters"]
    assert data["remarks"] == []
    assert main(["identify", "whole.npz", "arm.urdf", "--force-scale", "joint1=2,joint2=0.5"]) in (0, 1)
    main(["identify", "whole.npz", "arm.urdf", "--force-scale=joint1=-1,joint2=-1,joint3=-1", "--least-squares"])
    assert "remark: forces have the opposite sign" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["whole.npz", "arm.urdf", "-o", "new.xml"], "ends in .urdf"),
        (["whole.npz", "planar-3r", "-o", "new.urdf"], "no file of its own"),
        (["whole.npz", "arm.urdf", "--report", "r.pdf"], ".html"),
        (["whole.npz", "arm.urdf", "--stribeck", "fast"], "--stribeck is a velocity, or search"),
        (["whole.npz", "arm.urdf", "--force-scale", "joint1=x"], "expected JOINT=NUMBER"),
        (["whole.npz", "arm.urdf", "--force-scale", "west=1"], "unknown joint 'west'"),
        (["no.npz", "arm.urdf"], "there is no file 'no.npz'"),
        (["motion.npz", "arm.urdf"], "the log has no forces"),
    ],
)
def test_errors(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    with np.load("whole.npz") as log:
        np.savez("motion.npz", t=log["t"], q=log["q"])
    assert main(["identify", *arguments]) == 2
    assert message in capsys.readouterr().err
