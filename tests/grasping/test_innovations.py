"""The factors of M^-1 and J M^-1, one at a time, against matrices; in every way of running."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from tests.random_models import random_robot, random_state
from tests.tolerances import INVERSION


@pytest.mark.slow
@pytest.mark.parametrize("way", ["interpreted", "unrolled", "rolled"])
@pytest.mark.parametrize("axes", ["frame", "world"])
def test_filter_and_smoothers(way: str, axes: str) -> None:
    robot = random_robot(3, 8, armature=True)
    q, _, x = random_state(robot, 1, (4,))
    F = np.random.default_rng(0).normal(size=(4, 6))
    e = robot.kernel("innovations", frame="tool", axes=axes, way=way)(q, x, F)
    y = robot.kernel("joints_of_innovations", way=way)(q, e)
    tip = robot.kernel("frame_of_innovations", frame="tool", axes=axes, way=way)(q, e)
    J, M = robot.jacobian(q, "tool", axes=axes), robot.mass_matrix(q)
    truth = np.linalg.solve(M, (x + (np.swapaxes(J, -1, -2) @ F[..., None])[..., 0])[..., None])
    assert np.abs(y - truth[..., 0]).max() < INVERSION * np.abs(truth).max()
    assert np.abs(tip - (J @ truth)[..., 0]).max() < INVERSION * np.abs(truth).max()
    # e are innovations: their sum of squares, by the pivots, is the energy x^T M^-1 x
    load = x + (np.swapaxes(J, -1, -2) @ F[..., None])[..., 0]
    D = robot.mass_matrix_factors(q)[1]
    energy = np.einsum("bi,bi->b", e, np.linalg.solve(D, e[..., None])[..., 0])
    assert np.abs(energy - np.einsum("bi,bi->b", load, truth[..., 0])).max() < INVERSION * energy.max()


def test_joints_that_follow_others_are_refused() -> None:
    robot = random_robot(4, 6, (on.Revolute,), mimic=True)
    with pytest.raises(on.ArgumentError, match="follows another"):
        robot.kernel("innovations", frame="tool", axes="frame")
