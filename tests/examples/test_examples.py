"""The examples run, quickly, and say what they should."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from tests.robots import ROBOTS
from tests.tolerances import HUNG

EXAMPLES = Path(__file__).parents[2] / "examples"
NUMBER = r"\d\.?\d*e[-+]\d+"

SAYS = {
    "01_own_urdf.py": [
        r"└─ flange",
        r"puma560\.urdf:70: warning: body 'forearm'",
        r"'flange_roll' has q\[5\]",
        r"-2\.1101 +-20\.0496",
        r"rank of its Jacobian 6",
        r"\(1000, 6\)",
    ],
    "02_floating_base.py": [
        r"nq 15, nv 14; joint 'root_joint' has 7 positions and 6 velocities",
        r"linear acceleration of the base \[ *-?0\. +-?0\. +-9\.81 *\]",
        r"missing 0\.0",
        r"angular momentum constant to \de-1\d",
    ],
    "03_plot.py": [
        r"written: fall\.png, paths\.pdf",
        r"lowest flange 0\.499 m",
        r"at 100 Hz \(201, 6\) \(201,\)",
        r"written: methods\.svg",
        r"largest kinetic energy 72\.397 J, at 1\.108 s",
    ],
    "04_builder.py": [r"└─ lower", rf"largest difference .*: {NUMBER} rad/s²", r"-1\.7\]"],
    "05_batches.py": [r"\(50, 20, 6\)", r"the same bits: True", r"float32: float32", r"views .*: True"],
    "06_simulate.py": [
        rf"fall: \d+ steps, energy wrong by {NUMBER}",
        r"flange at height 1 at 0\.810956889 s; there z is 1\.000000000000 m; stopped by: event",
        r"pulse: 2\.787209 J of work in, 2\.787209 J more energy",
        r"bounce: \d+ impacts, lowest shoulder -0\.900 rad",
        rf"J lost, balance wrong by {NUMBER} J",
        r"stiff: \d+ steps of radau",
        r"long: energy within (\d\.\d\de-04) J in the first half, (\d\.\d\de-04) J in the second",
        r"rollout: q \(1000, 5, 6\)",
        r"the same when read again: True",
    ],
    "07_view.py": [r"fall\.html: 2 s of motion", r"wave\.html: \(200, 6\)", r"arm\.html written\narm\.png written"],
    "08_control.py": [
        r"largest torque 41\.7 N m",
        r"off by \de-\d+ m at most; 0 limits exceeded",
        r"500 of 500 reached",
        r"far away: 0 of 1 reached\n1 stuck in a local minimum",
        r"computed torque +off the line by +0\.000 mm, with the load +0\.887 mm",
        r"operational space +off the line by +0\.000 mm",
    ],
    "09_closed_loops.py": [
        r"loops +open by up to \d\.\de-1\d \(pin\)",
        r"the pin bears up to 7\.230 N",
        r"project +open by up to \d\.\de-1\d",
        r"singular at 0\.71667\d+ s: rank 3 instead of 6",
        r"differ by \d\.\de-\d+ rad; drift \d\.\de-1\d",
        r"tight at 0\.403855022 s",
        r"2 switches, which took 5\.023 J",
    ],
    "10_grasp.py": [
        r"<Grasp of 'object' by 2 arms, nv=12: puma560-1 rigid, puma560-2 rigid>",
        r"falls with -0\.7117 m/s2; rank 12 of 12",
        r"appendix-b +differs by \de-1\d N",
        r"\(1000, 2, 6\)",
        r"nothing accelerates by more than \de-1\d rad/s2",
        r"6 ways to squeeze",
        r"fall: \d+ steps, tips within \de-1\d m of the box",
        r"energy wrong by \de-1\d of the kinetic energy",
        r"t = 0\.5095 s: contact 'finger-.' of arm 'finger-.' would slip",
        r"slips at 0\.5095 s; at 0\.8 s it is 0\.4139 m lower",
    ],
    "11_debugging.py": [r"body 5, Revolute", r"in all 3\.971178 J; compiled 3\.971178 J", r"mpmath +\d"],
    "12_own_joint.py": [
        r"\(helical, v\[1\]\)",
        r"-65\.400000000000 rad/s², by hand -65\.400000000000",
        r"rolled .*e-1\d",
    ],
    "13_own_algorithm.py": [r"carried-weight +interpreted", r"carried-weight +rolled", r"10,000 links, rolled"],
    "14_legs.py": [
        r"18 velocities, 12 constraints: 6 freedoms are left",
        r"moved by \[ *0\.03 +0\.04 +-0\.02 *\] m",
        r"energy balance wrong by \de-1\d",
        r"at first \[37\.1 37\.1 43\.4 43\.4\] and at last \[55\.\d 30\.\d 49\.\d 2[45]\.\d? *\] N",
        r"at least 21\.\d N, friction at least 0\.09",
    ],
    "15_lqr.py": [
        r"cart-pole: falls at 3\.8\d/s, returns at 1\.2\d/s",
        r"cart [-+]0\.000\d m, pole [-+]0\.000\d rad",
        r"five-bar: A \(4, 4\); the tool is off by 44\.0 mm, after 2 s by 0\.00\d mm",
    ],
    "16_swing_up.py": [
        r"takes 19\.62 N m; the motors have 7\.85 N m",
        r"round 400: cost of the best guess +0\.000 J",
        r"height of 2\.000 m, with 0\.0\d rad/s",
        r"simulated: height 2\.000 m",
    ],
    "17_ilqr.py": [r"round 0: cost +7000\.000", r"round 7: cost +8\.127", r"at 0\.2\d rad/s"],
    "18_varied_masses.py": [
        r"payload 0\.0 kg: the shoulder holds  28\.65 N m",
        r"payload 2\.0 kg: the shoulder holds  34\.04 N m",
        r"centre moves by 2 cm: -0\.19 N m",
        r"shoulder of 1,000 arms: 28\.\d ± 2\.\d N m",
        r"passes the checks: True",
    ],
    "19_counterweights.py": [
        r"without weights: torques of 26\.35 N m",
        r"12\.652 and  2\.030 kg:  8\.158 N m",
        r"least squares: 12\.652 and 2\.030 kg",
    ],
    "20_flips.py": [r"6\d% flip within 10 s, half of them by 1\.\d s"],
    "21_identify.py": [
        r"52 combinations of 78 parameters can be identified",
        r"largest error: [0-3]\.\d standard deviations",
        r"the estimate holds for motions that it has not seen",
        r"shoulder\.damping: 0\.00 in the file, 0\.[34]\d measured, 0\.4 in truth",
        r"the flange carries 1\.4\d kg",
        r"measured: torques of other motions are off by 0\.0\d\d N m",
    ],
    "22_contacts.py": [
        "<Robot 'quadruped': 13 bodies, nq=19, nv=18, 16.4 kg, 4 contacts>",
        "1024 of 1024 robots stand",
        "0 states not certified",
    ],
    "23_humanoid.py": [
        "<Robot 'humanoid': 19 bodies, nq=25, nv=24, 33.6 kg, 8 contacts>",
        r"100\.0, 0\.0, 0\.0\] N: stands; centre of mass off by up to 2\.\d cm, 0\.\d cm at the end",
        r"0\.0, 100\.0, 0\.0\] N: stands; centre of mass off by up to [12]\.\d cm, 0\.\d cm at the end",
        r"infeasible: .*\n.*200\.0, 0\.0, 0\.0\] N: falls",
        r"humanoid\.png written",
    ],
    "24_trot.py": [
        r"pushed while it stands: tilts by [12]\.\d degrees",
        r"trots at 0\.[34]\d m/s, tilted by at most [1-3]\.\d degrees",
        r"steps of the feet: \[1[345] 1[345] 1[345] 1[345]\]; lf and rh agree 9\d% of the time, lf and rf \d%",
        r"height of the trunk 0\.(29|30)\d to 0\.30\d m, torques up to (2|3)\d of 35 N m",
        "0 of 3001 uncertified",
    ],
    "25_gripper.py": [
        r"10 contacts",
        r"4[5678] of 64 boxes are lifted by 0\.1498 m",
        r"friction needed: 0\.3[012]; to hold 0\.25, to lift 0\.31",
        rf"residual up to {NUMBER} m/s",
    ],
    "26_hoppers.py": [
        r"3\d\d\d of 4096 hop for four seconds",
        r"friction 0\.05 to 0\.10: 0% hop\n",
        r"friction 0\.40 to 1\.00: 100% hop, at 0\.9\d m/s",
        "0 of 823296 uncertified",
    ],
    "27_cassie.py": [
        r"m/s wanted, \[-0\.(2[789]|3\d) +-?0\.0\d* +0\.3\d* +0\.(59|6\d*) +0\.8\d\] m/s found",
        r"in 6 s, by steps \[[ \d]+\] left, \[[ \d]+\] right",
        r"feet rise by [789] cm, torques to 1[34]\d N m, loops open by [34]e-08 m",
        r"residual of 99 % of the states below \de-0[78] m/s",
        r"\b\d{1,3} of 80005 uncertified",
    ],
}
"""Patterns that the output of each example has, in this order."""
NEEDS = {"23_humanoid.py": "clarabel", "27_cassie.py": "example_robot_data"}
"""Packages without which an example does nothing."""
WARNS = {"27_cassie.py"}
"""Examples of files with tags that are not read, of which they warn."""


def run(example: str, *arguments: str, folder: Path, warnings: str = "error") -> str:
    # the output has letters beyond ASCII, which must not depend on where the tests run
    package = str(Path(on.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": package, "PYTHONUTF8": "1", "PYTHONWARNINGS": warnings}
    command = [sys.executable, str(EXAMPLES / example), *arguments]
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, encoding="utf-8", timeout=HUNG, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def expect(output: str, patterns: list[str]) -> None:
    at = 0
    for pattern in patterns:
        found = re.compile(pattern).search(output, at)
        assert found, f"{pattern!r} is not where it should be in:\n{output}"
        at = found.end()


def test_every_example_is_listed() -> None:
    assert {p.name for p in EXAMPLES.glob("[0-9]*.py")} == set(SAYS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "example", [pytest.param(x, marks=pytest.mark.needs(NEEDS[x])) if x in NEEDS else x for x in SAYS]
)
def test_example(example: str, tmp_path: Path) -> None:
    expect(run(example, folder=tmp_path, warnings="ignore" if example in WARNS else "error"), SAYS[example])
    assert len((EXAMPLES / example).read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.slow
def test_ilqr_of_a_panda(tmp_path: Path) -> None:
    """The goal is within a millimetre after seven rounds."""
    output = run("17_ilqr.py", str(ROBOTS / "panda_description/urdf/panda.urdf"), folder=tmp_path, warnings="ignore")
    expect(output, [r"round 0: cost +7000\.000", r"round 7: cost +3\.060", r"at 0\.0\d rad/s"])
    goal, end = (np.array(x.split(), float) for x in re.findall(r"(?:goal|end) \[([^]]*)\]", output))
    assert np.abs(goal - end).max() <= 1e-3


@pytest.mark.slow
def test_demo(tmp_path: Path) -> None:
    output = run("demo.py", "demo.png", folder=tmp_path)
    said = [
        r"forward of inverse dynamics.* NUM",
        r"ns per state",
        r"x real time",
        r"ns per step",
        r"demo\.png",
        r"What next",
    ]
    expect(output, [r"└─ flange", *(pattern.replace("NUM", NUMBER) for pattern in said)])
    (drift,) = re.findall(rf"largest drift .* ({NUMBER}) of the kinetic energy", output)
    assert float(drift) < 1e-9
    assert [p.name for p in tmp_path.iterdir()] == ["demo.png"]
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "demo.png").stat().st_size > 50_000
