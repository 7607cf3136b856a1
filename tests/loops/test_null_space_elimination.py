"""The null space of loop constraints by Gaussian elimination: the basis, its condition, and the accelerations."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.algorithms.closed_loop.null_space_elimination import eliminated, solve
from ordern.algorithms.closed_loop.rank import decide
from ordern.loops.dynamics import METHODS
from ordern.robots import MECHANISMS, positions
from tests.tolerances import CLOSED_DYNAMICS, ROUNDING, assert_close

BUNDLED = tuple(MECHANISMS)
LARGEST_CONDITION = 3.0
"""What the docstring of the method says of the condition number of N on the bundled mechanisms."""


def assembled(name: str) -> tuple[on.Robot, np.ndarray]:
    """A bundled mechanism, in the positions that it comes with."""
    return on.load(name), np.array(list(positions(name).values()), float)


def test_every_bundled_mechanism_is_there() -> None:
    assert len(BUNDLED) >= 11


@pytest.mark.slow
@pytest.mark.parametrize("name", BUNDLED)
def test_accelerations_and_forces_are_those_of_all_other_methods(name: str) -> None:
    robot, q = assembled(name)
    rng = np.random.default_rng(1)
    v = robot.project_velocity(q, rng.normal(size=(len(q), robot.nv)))
    tau = rng.normal(size=(len(q), robot.nv))
    found = robot.closed_dynamics(q, v, tau, method="null-space-elimination")
    for method in set(METHODS) - {"null-space-elimination"}:
        expected = robot.closed_dynamics(q, v, tau, method=method)
        assert_close(found.a, expected.a, CLOSED_DYNAMICS)
        assert_close(found.multipliers, expected.multipliers, CLOSED_DYNAMICS)
        assert (found.rank == expected.rank).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", BUNDLED)
def test_the_basis(name: str) -> None:
    """K N = 0, K a_0 = c, N is the identity for the independent joints, and its condition is what W allows."""
    robot, q = assembled(name)
    whole = robot.loop_jacobian(q)
    found = decide(whole)
    for s, r in enumerate(found.rank.tolist()):
        K = whole[s : s + 1] if r == robot.nc else found.rows(np.array([s]), r)  # what solvers are given
        c = np.random.default_rng(r).normal(size=(1, r))
        N, a0, order = eliminated(K, c)
        assert sorted(order[0]) == list(range(robot.nv))
        assert_close(K[0] @ N[0], np.zeros((r, robot.nv - r)), ROUNDING)
        assert_close(K[0] @ a0[0], c[0], ROUNDING)
        assert np.array_equal(N[0][order[0, r:]], np.eye(robot.nv - r))
        assert not a0[0][order[0, r:]].any()
        if robot.nv > r:
            W = np.linalg.norm(N[0][order[0, :r]], 2) if r else 0.0
            condition = np.linalg.cond(N[0])
            assert condition <= np.sqrt(1.0 + W**2) * (1.0 + ROUNDING)
            assert condition < LARGEST_CONDITION


def test_pivots_are_the_largest_entries() -> None:
    """Partial pivoting along rows or columns alone would take 1e-9 here, and lose nine digits."""
    K = np.array([[[1e-9, 1.0, 0.0], [1e-9, 1e-9, 1.0]]])
    N, _, order = eliminated(K, np.zeros((1, 2)))
    assert order[0].tolist() in ([1, 2, 0], [2, 1, 0])
    assert_close(N[0, :, 0], [1.0, -1e-9, -1e-9 + 1e-18], ROUNDING)
    assert (np.abs(N) <= 1.0).all()


def test_rows_in_other_units_choose_the_same_joints() -> None:
    rng = np.random.default_rng(3)
    K = rng.normal(size=(20, 4, 7))
    scales = 10.0 ** rng.integers(-6, 6, size=(20, 4, 1))
    order = eliminated(K, np.zeros((20, 4)))[2]
    assert np.array_equal(order, eliminated(K * scales, np.zeros((20, 4)))[2])


def test_the_unknowns_are_joint_accelerations() -> None:
    """With y = a_i, the accelerations of the independent joints: a = N a_i + a_0."""
    rng = np.random.default_rng(4)
    K, c, f = rng.normal(size=(5, 3, 6)), rng.normal(size=(5, 3)), rng.normal(size=(5, 6))
    M = rng.normal(size=(5, 6, 6))
    M = M @ np.swapaxes(M, -1, -2) + np.eye(6)
    a, multipliers = solve(M, f, K, c)
    N, a0, order = eliminated(K, c)
    y = np.take_along_axis(a, order[:, 3:], axis=-1)
    assert_close((N @ y[..., None])[..., 0] + a0, a, ROUNDING)
    whole = np.block([[M, np.swapaxes(K, -1, -2)], [K, np.zeros((5, 3, 3))]])
    x = np.linalg.solve(whole, np.concatenate([f, c], -1)[..., None])[..., 0]
    assert_close(a, x[:, :6], CLOSED_DYNAMICS)
    assert_close(multipliers, -x[:, 6:], CLOSED_DYNAMICS)
