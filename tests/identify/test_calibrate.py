"""Kinematic calibration: placements are found from poses and from positions, up to what these can tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.rotations import exp_pose
from tests.tolerances import assert_close

ARM = on.load("puma560")
RNG = np.random.default_rng(0)
PLACES = ARM.parameters.joint_placement + 1e-3 * RNG.normal(size=(6, 6))
REAL = ARM.with_parameters(joint_placement=PLACES, fold=True)
Q = ARM.random(1, 60)
POSES = REAL.kernel("pose", way="interpreted", frame="flange")(Q)


@pytest.mark.slow
def test_poses_without_noise() -> None:
    """Other positions are predicted exactly, and the number of combinations is the known 4 R + 2 P + 6."""
    found = ARM.calibrate(Q, POSES)
    assert len(found.base) == 4 * 6 + 2  # without the turn and shift of the flange across its axis
    other = ARM.random(2, 20)
    assert_close(found.predicted(other), REAL.poses(other, ["flange"])[:, 0], 1e-9)
    assert found.after[1] < 1e-9 < found.before[1] and found.check(other, REAL.poses(other, ["flange"])[:, 0])[1] < 1e-9
    whole = ARM.calibrate(Q, POSES, target=True)
    assert len(whole.base) == 4 * 6 + 6


def test_device_and_target_from_positions() -> None:
    device, target = exp_pose([0.3, -0.2, 1.0, 2.0, -1.0, 0.5]), exp_pose([0, 0, 0, 0.02, 0.03, 0.1])
    measured = (device @ POSES @ target)[:, :3, 3] + 2e-5 * np.random.default_rng(3).normal(size=(60, 3))
    found = ARM.calibrate(Q, measured, device=True, target=True)
    other = ARM.random(4, 50)
    there = (device @ REAL.poses(other, ["flange"])[:, 0] @ target)[:, :3, 3]
    assert found.check(other, there)[1] < 1e-4 < found.before[1]
    assert 2e-5 < found.after[1] < 6e-5 and np.isnan(found.after[0])
    assert (
        "mm" in found.report
        and any("device.x" in x for x in found.names)
        and repr(found).startswith("<Calibration of 'puma560'")
    )


@pytest.mark.slow
def test_deviations_are_right() -> None:
    """Errors of the combinations, in deviations, over repetitions with noise in turns and shifts."""
    truth = ARM.calibrate(Q, POSES).values
    errors = []
    for seed in range(15):
        noise = np.random.default_rng(seed).normal(size=(60, 6)) * [1e-4, 1e-4, 1e-4, 3e-5, 3e-5, 3e-5]
        found = ARM.calibrate(Q, POSES @ exp_pose(noise))
        errors.append((found.values - truth) / found.deviations)
    assert 0.85 < np.sqrt(np.mean(np.square(errors))) < 1.15


def test_some_joints_only_and_in_place(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    ARM.save(path, lossy=True)  # without armature
    arm = on.load(path)
    real = arm.vary(placement={"elbow": lambda at: at + np.array([0.002, 0.001, 0, 0, 0.01, 0])}, fold=True)
    found = arm.calibrate(Q, real.poses(Q, ["flange"])[:, 0], "flange", only=["elbow"])
    assert_close(found.robot.poses(Q, ["flange"]), real.poses(Q, ["flange"]), 1e-9)
    found.robot.save(tmp_path / "new.urdf", in_place=True)
    assert_close(on.load(tmp_path / "new.urdf").poses(Q, ["flange"]), real.poses(Q, ["flange"]), 1e-9)
    old, new = path.read_text().splitlines(), (tmp_path / "new.urdf").read_text().splitlines()
    assert sum(a != b for a, b in zip(old, new, strict=True)) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ARM.calibrate(Q, POSES[:5]), r"measured has shape \(5, 4, 4\); expected \(60, 3\)"),
        (lambda: ARM.calibrate(Q[0], POSES[0]), r"q has shape \(6,\)"),
        (lambda: ARM.calibrate(Q[:3], POSES[:3]), "3 measurements are too few"),
        (lambda: ARM.calibrate(Q, 2.0 * POSES), "measured pose 0 is not rigid"),
        (lambda: ARM.calibrate(Q, np.full((60, 3), np.nan)), "not finite"),
        (lambda: ARM.calibrate(Q * np.nan, POSES), "q has numbers that are not finite"),
        (lambda: ARM.calibrate(Q, POSES, only=["knee"]), "unknown joint 'knee'"),
        (lambda: ARM.calibrate(Q, POSES, only=[]), "names no joint"),
        (lambda: ARM.calibrate(Q, POSES, frame="hands"), "unknown frame 'hands'"),
        (lambda: on.load("four-bar").calibrate(np.zeros((9, 3)), np.zeros((9, 3))), "has loops"),
    ],
)
def test_errors(call: Callable[[], object], message: str) -> None:
    with pytest.raises(on.OrdernError, match=message):
        call()
