"""Rotations and poses against SciPy, matrix exponentials and 50 digits of mpmath; accurate near 0 and near pi."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import ordern as on
from ordern import rotations as ro
from tests.tolerances import EXACT, FINITE_DIFFERENCE, ROUNDING, assert_close

Array = np.ndarray
STRETCH = np.array([[1.2, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 2.0]])
"""Symmetric and positive definite: the polar decomposition of R @ STRETCH has the rotation R."""
ANGLES = [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.0999, 0.1001, 1.0, 3.0, np.pi - 1e-4, np.pi - 1e-8, np.pi - 1e-12]


def axes(seed: int = 0, n: int = 4) -> Array:
    """Random unit vectors, and the coordinate axes with both signs."""
    x = np.random.default_rng(seed).normal(size=(n, 3))
    return np.concatenate([x / np.linalg.norm(x, axis=1, keepdims=True), np.eye(3), -np.eye(3)])


def hat(x: Array) -> Array:
    """The 4x4 matrix of a twist."""
    out = np.zeros((4, 4))
    out[:3, :3], out[:3, 3] = np.cross(np.eye(3), x[:3]), x[3:]
    return out


@pytest.mark.parametrize("angle", ANGLES)
def test_exp_and_log_to_50_digits(angle: float) -> None:
    with mp.workdps(50):
        for axis in axes():
            r = angle * axis
            exact = np.array(mp.expm(mp.matrix(hat(np.array([*r, 0, 0, 0])).tolist())).tolist(), float)[:3, :3]
            assert np.abs(ro.exp(r) - exact).max() <= 2 * EXACT
            assert np.abs(ro.matrix_from_quaternion(ro.quaternion_from_vector(r)) - exact).max() <= 2 * EXACT
            assert np.abs(ro.log(exact) - r).max() <= 4 * EXACT


def test_small_rotations_keep_their_digits() -> None:
    for angle in (1e-300, 1e-20, 1e-9, 1e-5):
        r = angle * axes()
        assert (np.abs(ro.log(ro.exp(r)) - r) <= 1e-15 * angle).all()
        assert (np.abs(ro.vector_from_quaternion(ro.quaternion_from_vector(r)) - r) <= 1e-15 * angle).all()


def test_the_sign_of_the_logarithm() -> None:
    """A positive quarter turn about z takes x to y, has a positive logarithm, and is a positive twist."""
    R = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert_close(ro.log(R), [0.0, 0.0, np.pi / 2], EXACT)
    assert_close(ro.log(R.T), [0.0, 0.0, -np.pi / 2], EXACT)
    assert_close(ro.log_pose(ro.pose(R, [1.0, 1.0, 0.0])), [0.0, 0.0, np.pi / 2, np.pi / 2, 0.0, 0.0], ROUNDING)
    for angle in (1e-7, 0.5, 2.0, 3.0, np.pi - 1e-9):  # w is above, near and at zero
        r = angle * axes()
        assert (np.abs(ro.log(ro.exp(r)) - r) < 1e-14).all()
        assert_close(ro.log(ro.exp((2 * np.pi - angle) * axes())), -r, ROUNDING)  # the short way, against the axis


def test_half_turns() -> None:
    r = ro.log(ro.exp(np.pi * axes()))
    assert_close(np.linalg.norm(r, axis=1), np.full(len(r), np.pi), ROUNDING)
    assert_close(np.abs(np.einsum("ni,ni->n", r, axes())), np.full(len(r), np.pi), ROUNDING)


@pytest.mark.parametrize("shape", [(), (7,), (0,), (2, 3)])
def test_against_scipy(shape: tuple[int, ...]) -> None:
    n = int(np.prod(shape))
    x = np.random.default_rng(3).normal(size=(n, 3))
    x *= (np.pi * np.random.default_rng(4).uniform(size=n) / np.linalg.norm(x, axis=1))[:, None]
    S = Rotation.from_rotvec(x)
    R, r = S.as_matrix().reshape(*shape, 3, 3), x.reshape(*shape, 3)
    q = S.as_quat(canonical=True, scalar_first=True).reshape(*shape, 4)
    rpy = S.as_euler("xyz").reshape(*shape, 3)
    for mine, theirs in (
        (ro.exp(r), R),
        (ro.log(R), r),
        (ro.quaternion_from_matrix(R), q),
        (ro.matrix_from_quaternion(3.0 * q), R),
        (ro.quaternion_from_vector(r), q),
        (ro.vector_from_quaternion(-2.0 * q), r),
        (ro.rpy_from_matrix(R), rpy),
        (ro.matrix_from_rpy(rpy), R),
        (ro.nearest(R @ STRETCH), R),
        (ro.angle_between(R, np.eye(3)), np.linalg.norm(r, axis=-1)),
        (ro.angle_between(R, R), np.zeros(shape)),
        (ro.about(np.array([0.0, 0.6, 0.8]), r[..., 0]), ro.exp(r[..., :1] * [0.0, 0.6, 0.8])),
        (ro.rotate(R, r), np.einsum("...ij,...j->...i", R, r)),
        (ro.rotate(R, np.concatenate([r, 2 * r], axis=-1))[..., 3:], 2 * np.einsum("...ij,...j->...i", R, r)),
        (ro.skew(r) @ np.ones(3), np.cross(r, np.ones(3))),
    ):
        assert mine.shape == theirs.shape
        assert_close(mine, theirs, ROUNDING)


def test_products() -> None:
    A, B = Rotation.random(20, random_state=1), Rotation.random(20, random_state=2)
    a, b = (x.as_quat(scalar_first=True) for x in (A, B))
    assert_close(ro.matrix_from_quaternion(ro.quaternion_product(a, b)), (A * B).as_matrix(), ROUNDING)
    T = ro.exp_pose(np.random.default_rng(5).normal(size=(4, 5, 6)))
    assert_close(ro.inverse(T) @ T, np.broadcast_to(np.eye(4), T.shape), ROUNDING)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, 1.0])
def test_roll_pitch_yaw_together_are_exact(pitch: float) -> None:
    R = ro.matrix_from_rpy(np.array([[0.3, pitch, -1.2], [3.0, pitch, 2.0]]))
    assert_close(ro.matrix_from_rpy(ro.rpy_from_matrix(R)), R, ROUNDING)
    assert_close(R[0], Rotation.from_euler("xyz", [0.3, pitch, -1.2]).as_matrix(), ROUNDING)


@pytest.mark.parametrize("angle", [*ANGLES[:-2], 5.0])
def test_poses(angle: float) -> None:
    for axis in axes():
        x = np.array([*angle * axis, 0.4, -2.0, 1.5])
        T = ro.exp_pose(x)
        assert_close(T, expm(hat(x)), ROUNDING)
        assert_close(T[:3, :3], ro.exp(x[:3]), EXACT)
        if angle < np.pi:
            assert_close(ro.log_pose(T), x, ROUNDING)
        else:
            assert_close(ro.exp_pose(ro.log_pose(T)), T, ROUNDING)


@pytest.mark.parametrize("angle", [0.0, 1e-3, 0.0999, 0.1001, 1.0, 3.0])
def test_rates_of_rotation_vectors(angle: float) -> None:
    r, h = angle * axes(), 1e-6
    w = np.random.default_rng(8).normal(size=r.shape)
    ahead, behind = (ro.log(ro.exp(r) @ ro.exp(s * h * w)) for s in (1.0, -1.0))
    assert_close((ro.log_jacobian(r) @ w[..., None])[..., 0], (ahead - behind) / (2.0 * h), FINITE_DIFFERENCE)


def test_from_z() -> None:
    for z in axes(7, 20):
        R = ro.from_z(z)
        assert_close(R @ [0.0, 0.0, 1.0], z, ROUNDING)
        assert_close(R @ R.T, np.eye(3), ROUNDING)
        assert_close(ro.angle_between(R, np.eye(3)), np.arccos(z[2]), 1e-7)  # arccos has half the digits near its ends
    assert_close(ro.from_z(axes()), np.array([ro.from_z(z) for z in axes()]), EXACT)


def test_precision_is_kept_and_nan_stays_nan() -> None:
    r = axes().astype(np.float32)
    for x in (ro.exp(r), ro.log(ro.exp(r)), ro.quaternion_from_vector(r), ro.exp_pose(np.tile(r, 2))):
        assert x.dtype == np.float32
    assert ro.skew(np.ones(3, np.longdouble)).dtype == np.longdouble
    R = np.array([np.eye(3), np.full((3, 3), np.nan)])
    assert np.isnan(ro.log(R)[1]).all()
    assert (ro.log(R)[0] == 0.0).all()


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (r"vector has shape \(4,\); expected \(\.\.\., 3\)", lambda: ro.exp(np.zeros(4))),
        (r"R has shape \(3,\); expected \(\.\.\., 3, 3\)", lambda: ro.log(np.zeros(3))),
        (r"vector must be an array of real numbers, not of complex128", lambda: ro.exp(np.zeros(3) + 1j)),
        (r"q must be an array of real numbers", lambda: ro.matrix_from_quaternion(["w", "x", "y", "z"])),
        (r"R R\^T differs from the identity by 3; `rotations.nearest\(R\)`", lambda: ro.log(2 * np.eye(3))),
        (r"its determinant is negative", lambda: ro.log(-np.eye(3))),
        (r"a quaternion of zeros is not a rotation", lambda: ro.matrix_from_quaternion(np.zeros((2, 4)))),
        (r"a quaternion of zeros is not a rotation", lambda: ro.vector_from_quaternion(np.zeros(4))),
    ],
)
def test_errors(message: str, call: Any) -> None:
    with pytest.raises(on.ArgumentError, match=message):
        call()
