"""Residuals of forward dynamics: they show what methods lose, and refinement gets it back."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.algorithms.forward_dynamics.conjugate_gradient import PRECONDITIONED
from ordern.papers.accuracy import light_link, truth
from tests.random_models import random_robot, random_state
from tests.tolerances import SINGLE, assert_close

ARM = on.load("puma560")
LOSING = ("divide-and-conquer", "virtual-work-unsplit", "virtual-work", "kalman-scan", "constraint-force")


def state(robot: on.Robot, *batch: int) -> list[np.ndarray]:
    return list(np.random.default_rng(0).uniform(-1.0, 1.0, (3, *batch, robot.nv)))


def test_residual_is_that_of_inverse_dynamics() -> None:
    q, v, tau = state(ARM, 4)
    found = ARM.forward_dynamics_report(q, v, tau)
    assert found.method == "articulated-body" and found.residual.shape == (4,) and (found.residual < 1e-14).all()
    assert_close(found.acceleration, ARM.forward_dynamics(q, v, tau), 0.0)
    assert found.iterations is None and found.converged is None and not found.refinements.any()


@pytest.mark.parametrize("method", LOSING[-2:])
def test_a_light_middle_link_shows_in_the_residual_and_refinement_helps(method: str) -> None:
    robot = light_link(5, 1e-7)
    q, v, tau = state(robot)
    exact = truth(robot, q, v, tau)
    plain, better = (robot.forward_dynamics_report(q, v, tau, method=method, refine=k) for k in (0, 2))
    off, left = (np.abs(x.acceleration - exact).max() / np.abs(exact).max() for x in (plain, better))
    assert plain.residual > 1e-12 and off > 1e-12
    assert better.residual < 1e-2 * plain.residual and left < 1e-2 * off and better.refinements > 0


@pytest.mark.slow
@pytest.mark.parametrize("method", LOSING)
@pytest.mark.parametrize("ratio", [1e-6, 1e-9])
def test_no_method_loses_digits_without_a_large_residual(method: str, ratio: float) -> None:
    robot = light_link(10, ratio)
    q, v, tau = state(robot)
    exact = truth(robot, q, v, tau)
    for refine in (0, 1):
        found = robot.forward_dynamics_report(q, v, tau, method=method, refine=refine)
        error = np.abs(found.acceleration - exact).max() / np.abs(exact).max()
        assert error < 1e4 * max(float(found.residual), 1e-15)


def test_conjugate_gradients_report_their_steps() -> None:
    for method in PRECONDITIONED:
        found = ARM.forward_dynamics_report(*state(ARM, 3), method=method)
        assert found.converged.all() and (found.residual < 1e-12).all()
        assert (found.iterations > 0).all() and (found.iterations < 100).all()
        assert np.isnan(ARM.forward_dynamics(*(x * np.nan for x in state(ARM)), method=method)).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", PRECONDITIONED)
def test_conjugate_gradients_that_fail_raise(method: str) -> None:
    robot = on.chain(300, on.Revolute, seed=1)
    found = robot.forward_dynamics_report(*state(robot), method=method)
    assert not found.converged and found.iterations == 6100 and "1 states not converged" in repr(found)
    with pytest.raises(on.ConvergenceError, match=f"'{method}' has not converged in the state after 6100 steps"):
        robot.forward_dynamics(*state(robot), method=method)


def test_external_forces_a_moving_base_and_single_precision() -> None:
    robot = random_robot(3, 6, armature=True)
    q, v, tau = random_state(robot, 1, (2,))
    more = {"external": {robot.bodies[-1].name: np.ones(6)}, "base_velocity": v[:, :6], "base_acceleration": v[:, -6:]}
    for method in ("articulated-body", "conjugate-gradient", "kalman-scan"):
        assert (robot.forward_dynamics_report(q, v, tau, method=method, refine=1, **more).residual < 1e-12).all()
    single = ARM.forward_dynamics_report(*(x.astype(np.float32) for x in state(ARM)), refine=1)
    assert single.acceleration.dtype == np.float32 and single.residual < SINGLE


def test_batched_parameters() -> None:
    many = ARM.vary(mass=lambda m: m * np.array([[1.0], [2.0]]))
    assert many.forward_dynamics_report(*state(ARM)).residual.shape == (2,)


def test_errors() -> None:
    loop = on.load("four-bar")
    with pytest.raises(on.ArgumentError, match="'four-bar' has loops; `closed_dynamics`"):
        loop.forward_dynamics_report(*np.zeros((3, 3)))
    with pytest.raises(on.ArgumentError, match="refine must be an integer from 0 to 10, got -1"):
        ARM.forward_dynamics_report(*state(ARM), refine=-1)
    with pytest.raises(on.ArgumentError, match=r"tau has shape \(5,\); expected \(..., 6\)"):
        ARM.forward_dynamics_report(np.zeros(6), np.zeros(6), np.zeros(5))
