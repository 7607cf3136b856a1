from __future__ import annotations

import math

import numpy as np
import pytest

import ordern as on
from ordern.model import placement
from tests.random_models import random_placement, random_rotation
from tests.tolerances import EXACT, ROUNDING, assert_close


def _about(axis: int, angle: float) -> np.ndarray:
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i] = R[j, j] = math.cos(angle)
    R[j, i], R[i, j] = math.sin(angle), -math.sin(angle)
    return R


class TestPlacement:
    def test_none_is_the_frame_itself(self) -> None:
        assert (on.Placement().matrix == np.eye(4)).all()
        assert on.Placement() == on.Placement.of(np.eye(3), (0, 0, 0)) == on.Placement.xyz_rpy((0, 0, 0))

    def test_roll_pitch_yaw_are_about_fixed_axes_x_y_z(self) -> None:
        rpy = (0.3, -0.7, 1.9)
        P = on.Placement.xyz_rpy((1, 2, 3), rpy)
        assert_close(P.R, _about(2, rpy[2]) @ _about(1, rpy[1]) @ _about(0, rpy[0]), EXACT * 4)
        assert P.p.tolist() == [1.0, 2.0, 3.0]

    @pytest.mark.parametrize("seed", range(5))
    def test_products_are_those_of_matrices(self, seed) -> None:
        rng = np.random.default_rng(seed)
        a, b, c = (random_placement(rng) for _ in range(3))
        assert_close((a @ b).matrix, a.matrix @ b.matrix, ROUNDING)
        assert_close(((a @ b) @ c).matrix, (a @ (b @ c)).matrix, ROUNDING)
        assert (on.Placement() @ a).matrix.tolist() == (a @ on.Placement()).matrix.tolist() == a.matrix.tolist()

    def test_parts(self) -> None:
        rng = np.random.default_rng(0)
        R, p = random_rotation(rng), rng.normal(size=3)
        P = on.Placement.of(R, p)
        assert (P.R == R).all()
        assert (P.p == p).all()
        assert (P.matrix[:3, :3] == R).all()
        assert P.matrix[3].tolist() == [0.0, 0.0, 0.0, 1.0]

    def test_a_value(self) -> None:
        a, b = (on.Placement.xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3)) for _ in range(2))
        assert a == b
        assert hash(a) == hash(b)
        assert a != on.Placement.xyz_rpy((1, 2, 3))
        with pytest.raises(AttributeError):
            a.position = (0.0, 0.0, 0.0)

    @pytest.mark.parametrize(
        ("R", "p", "words"),
        [
            (np.eye(2), (0, 0, 0), r"3x3 rotation and 3 numbers, not arrays of shape \(2, 2\) and \(3,\)"),
            (np.eye(3), (0, 0), "3x3 rotation and 3 numbers"),
            (np.eye(3) * 2, (0, 0, 0), "not a rotation matrix"),
            (np.diag([1, 1, -1]), (0, 0, 0), "not a rotation matrix"),
            (np.full((3, 3), np.nan), (0, 0, 0), "must be finite"),
            (np.eye(3), (0, 0, np.inf), "must be finite"),
        ],
        ids=range(6),
    )
    def test_what_is_none(self, R, p, words) -> None:
        with pytest.raises(on.ModelError, match=words):
            on.Placement.of(R, p)


class TestWaysToWriteIt:
    def test_a_placement_is_one(self) -> None:
        P = on.Placement.xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3))
        assert placement(P) is P

    @pytest.mark.parametrize("at", [(1, 2, 3), [1, 2, 3], np.array([1, 2, 3])], ids=repr)
    def test_a_position(self, at) -> None:
        assert placement(at) == on.Placement(position=(1.0, 2.0, 3.0))

    @pytest.mark.parametrize("kind", [tuple, list, np.array], ids=["tuple", "list", "array"])
    def test_position_and_angles(self, kind) -> None:
        at = (kind([1, 2, 3]), kind([0.1, 0.2, 0.3]))
        assert placement(at) == on.Placement.xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3))

    def test_a_homogeneous_matrix(self) -> None:
        P = on.Placement.xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3))
        assert placement(P.matrix) == P
        assert placement(P.matrix.tolist()) == P

    def test_a_transposed_matrix_is_none(self) -> None:
        """Its translation stands in the last row, and would be lost."""
        P = on.Placement.xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3))
        with pytest.raises(on.ModelError, match="frame 'f'"):
            placement(P.matrix.T, "frame 'f'")

    @pytest.mark.parametrize(
        "at",
        [5, (1, 2), (1, 2, 3, 4), "abc", None, (1, "x", 3), ((1, 2), (3, 4, 5)), ((1, 2, 3), (4, 5)), np.eye(3)],
        ids=range(9),
    )
    def test_what_cannot_be_read(self, at) -> None:
        with pytest.raises(on.ModelError, match="frame 'f': "):
            placement(at, "frame 'f'")

    @pytest.mark.parametrize("bad", [math.nan, math.inf])
    def test_what_is_not_finite(self, bad) -> None:
        for at in ((0, 0, bad), ((0, 0, bad), (0, 0, 0)), ((0, 0, 0), (0, 0, bad))):
            with pytest.raises(on.ModelError, match="frame 'f': "):
                placement(at, "frame 'f'")
