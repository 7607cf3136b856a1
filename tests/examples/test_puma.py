"""The PUMA 560 of examples/robots against the values that its source publishes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from tests.tolerances import ROUNDING

URDF = Path(__file__).parents[2] / "examples" / "robots" / "puma560.urdf"

QN = np.array([0.0, np.pi / 4, np.pi, 0.0, np.pi / 4, 0.0])
"""The nominal pose, for which the values are given."""

# Standard Denavit-Hartenberg parameters; mass centre and principal inertias in the distal frame; motors.
HALF = np.pi / 2
D = (0.672, 0.0, 0.15005, 0.4318, 0.0, 0.0)
A = (0.0, 0.4318, 0.0203, 0.0, 0.0, 0.0)
ALPHA = (HALF, 0.0, -HALF, HALF, -HALF, 0.0)
MASS = (0.0, 17.4, 4.8, 0.82, 0.34, 0.09)
COM = ((0, 0, 0), (-0.3638, 0.006, 0.2275), (-0.0203, -0.0141, 0.07), (0, 0.019, 0), (0, 0, 0), (0, 0, 0.032))
INERTIA = (
    (0.0, 0.35, 0.0),
    (0.13, 0.524, 0.539),
    (0.066, 0.086, 0.0125),
    (1.8e-3, 1.3e-3, 1.8e-3),
    (0.3e-3, 0.4e-3, 0.3e-3),
    (0.15e-3, 0.15e-3, 0.04e-3),
)
GEAR = np.array([-62.6111, 107.815, -53.7063, 76.0364, 71.923, 76.686])
MOTOR = np.array([200e-6, 200e-6, 200e-6, 33e-6, 33e-6, 33e-6])
ARMATURE = GEAR**2 * MOTOR

PRINTED = 5e-5
"""The published values have four decimals."""


@pytest.fixture(scope="module")
def puma() -> on.Robot:
    return on.load(URDF)


def geared(puma: on.Robot) -> on.Robot:
    """The arm with its motors, whose inertia a URDF file cannot give."""
    joints = tuple(replace(c, armature=(float(J),)) for c, J in zip(puma.joints, ARMATURE, strict=True))
    return replace(puma, joints=joints)


def from_table() -> on.Robot:
    """The arm with its motors, straight from the table: each body is a massless one with its link fixed to it."""
    builder = on.Builder("puma560").body("base")
    parent, at = "base", ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for k in range(6):
        builder.body(f"turned{k}", parent=parent, joint=on.Revolute((0, 0, 1)), at=at, armature=float(ARMATURE[k]))
        distal = ((A[k], 0.0, D[k]), (ALPHA[k], 0.0, 0.0))
        link = {"mass": MASS[k], "com": COM[k], "inertia": INERTIA[k]}
        builder.body(f"link{k}", parent=f"turned{k}", joint=on.Fixed(), at=distal, **link)
        parent, at = f"link{k}", ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    robot = builder.build()
    assert isinstance(robot, on.Robot)
    return robot


def test_gravity_load(puma: on.Robot) -> None:
    expected = [0.0, 31.6399, 6.0351, 0.0, 0.0283, 0.0]
    np.testing.assert_allclose(puma.gravity_force(QN), expected, atol=PRINTED)


@pytest.mark.parametrize("which", ["file", "table"])
def test_mass_matrix_with_motors(puma: on.Robot, which: str) -> None:
    M = (geared(puma) if which == "file" else from_table()).mass_matrix(QN)
    np.testing.assert_allclose(M.diagonal(), [3.6594, 4.4137, 0.9378, 0.1925, 0.1713, 0.1941], atol=PRINTED)
    np.testing.assert_allclose([M[0, 1], M[0, 2], M[1, 2]], [-0.4044, 0.1006, 0.3509], atol=PRINTED)


@pytest.mark.slow
def test_file_is_the_table(puma: on.Robot) -> None:
    rng = np.random.default_rng(560)
    q, (v, a) = puma.random(rng, 20), rng.normal(size=(2, 20, 6))
    file, table = geared(puma), from_table()
    np.testing.assert_allclose(
        file.inverse_dynamics(q, v, a), table.inverse_dynamics(q, v, a), rtol=ROUNDING, atol=ROUNDING
    )
    flange = puma.pose(q, "flange")
    np.testing.assert_allclose(flange, table.pose(q, "link5"), atol=ROUNDING)


def test_reach(puma: on.Robot) -> None:
    """At zero angles the arm is an L: out along x, then up, as the source draws it."""
    np.testing.assert_allclose(puma.pose(np.zeros(6), "flange")[:3, 3], [0.4521, -0.15005, 1.1038], atol=ROUNDING)
