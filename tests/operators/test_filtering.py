"""The dictionary between mechanics and filtering (Jain, sec. 6; Rodriguez and Kreutz, sec. 4).

The mass matrix is the covariance of a process with the states x = phi w, driven by white noise w of covariance M, and
measured as y = H x + n; n, of covariance A, is there with armature only. Time runs from the tips to the base.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.operators.dense import ROBOTS, lazy, plain, six
from tests.tolerances import INVERSION, assert_close

NAMES = list(ROBOTS)
SAMPLES = 20_000
SIGMAS = 5.0
"""How far a sample covariance may be off, in standard deviations of its entries, which for Gaussian samples are
sqrt((c_ii c_jj + c_ij^2) / SAMPLES). Of the few hundred entries one is off by more once in thousands of seeds, and the
seed is fixed."""


def noise(rng: np.random.Generator, covariance: np.ndarray) -> np.ndarray:
    """Samples in columns, of a covariance that may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0)) @ rng.normal(size=(len(values), SAMPLES))


def assert_covariance(samples: np.ndarray, expected: np.ndarray) -> None:
    found, variance = samples @ samples.T / SAMPLES, np.diag(expected)
    spread = np.sqrt((np.outer(variance, variance) + expected**2) / SAMPLES)
    assert np.all(np.abs(found - expected) <= SIGMAS * spread)


@pytest.mark.parametrize("name", ["chain of arms", "tree", "tree with armature"])
def test_monte_carlo(name: str) -> None:
    """The measurements have the mass matrix as covariance; the filter makes white innovations of covariance D."""
    ops, rng = lazy(name), np.random.default_rng(1)
    w, n = noise(rng, ops.M.dense()), noise(rng, ops.armature.dense())
    x = ops.phi @ w
    y = ops.H @ x + n
    assert_covariance(y, ops.mass_matrix.dense())
    z = ops.psi @ (ops.K @ y)
    innovations = y - ops.H @ z
    assert_close(innovations, ops.expression("I - H psi K") @ y, INVERSION)
    assert_covariance(innovations, ops.D.dense())
    error = x - z
    for i in range(len(ROBOTS[name].bodies)):
        assert_covariance(error[six(i)], ops.P.block(i, i))
    # and back: white noise of covariance D is shaped to the same process
    assert_covariance(ops.expression("I + H phi K") @ noise(rng, ops.D.dense()), ops.mass_matrix.dense())


@pytest.mark.parametrize("name", NAMES)
def test_the_filter_is_the_best_predictor(name: str) -> None:
    """z(k) is the expectation of x(k), given what is measured at all joints beyond: by regression, exactly."""
    robot, ops, matrices = ROBOTS[name], lazy(name), plain(name)
    covariance = matrices["phi"] @ matrices["M"] @ matrices["phi"].T
    with_y = covariance @ matrices["H"].T
    of_y = matrices["H"] @ with_y + matrices["A"]
    predictor = (ops.psi @ ops.K).dense()
    beyond: list[list[int]] = [[] for _ in robot.bodies]
    for k in reversed(range(len(robot.bodies))):
        p = robot.joints[k].parent
        if p >= 0:
            beyond[p] += [*beyond[k], *range(robot.joints[k].v.start, robot.joints[k].v.stop)]
    for k, known in enumerate(beyond):
        others = sorted(set(range(robot.nv)) - set(known))
        assert not np.abs(predictor[six(k)][:, others]).max(initial=0.0)
        if known:
            best = with_y[six(k)][:, known] @ np.linalg.inv(of_y[np.ix_(known, known)])
            assert_close(predictor[six(k)][:, known], best, 1e3 * INVERSION)
            left = covariance[six(k), six(k)] - best @ with_y[six(k)][:, known].T
            assert_close(ops.P.block(k, k), left, 1e3 * INVERSION)


@pytest.mark.parametrize("name", ["chain", "chain of arms"])
def test_the_textbook_filter(name: str) -> None:
    """Predict and correct, body after body from the tip, as in any book: gain, covariance and innovations are ours."""
    robot, ops = ROBOTS[name], lazy(name)
    y = np.random.default_rng(2).normal(size=robot.nv)
    epsilon = ops.expression("I - H psi K") @ y
    x, P = np.zeros(6), np.zeros((6, 6))
    for k in reversed(range(len(robot.bodies))):
        P = P + ops.M.block(k, k)
        H = ops.H.block(k, k)
        assert_close(P, ops.P.block(k, k), INVERSION)
        innovation = y[robot.joints[k].v] - H @ x
        assert_close(innovation, epsilon[robot.joints[k].v], INVERSION)
        gain = P @ H.T @ np.linalg.inv(H @ P @ H.T)
        assert_close(gain, ops.G.block(k, k), INVERSION)
        x, P = x + gain @ innovation, P - gain @ H @ P
        if k:
            F = ops.E_phi.block(k - 1, k)
            x, P = F @ x, F @ P @ F.T
