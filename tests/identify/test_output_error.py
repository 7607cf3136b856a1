"""Output error: simulations with the estimate follow the measured positions, with exact gradients."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.identify.output_error import _Run
from tests.identify.test_estimates import ARM, THETA, guess
from tests.tolerances import assert_close

pytestmark = pytest.mark.slow
DT = 0.002


def measured(noise: float, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Times, positions, velocities and forces of a simulation in the steps of the estimate."""
    t = np.arange(2000) * DT
    pulls = np.array([[6.0, 3.0, 1.0], [0.7, 1.9, 3.1]])
    tau = pulls[0] * np.sin(np.outer(t, [2.0, 3.1, 4.3])) + 0.5 * pulls[0] * np.cos(np.outer(t, [5.1, 1.7, 6.4]))
    tau = tau + ARM.inverse_dynamics(np.zeros(3), np.zeros(3), np.zeros(3))
    q, v, _ = ARM.rollout(np.zeros(3), np.zeros(3), tau[None], dt=DT, method="plain-euler")
    q, v = q.reshape(-1, 3)[:2000], v.reshape(-1, 3)[:2000]
    rng = np.random.default_rng(seed)
    return t, q + noise * rng.normal(size=q.shape), v, tau


def test_gradients_are_those_of_simulations() -> None:
    t, q, v, tau = measured(1e-3)
    base = ARM.base_parameters()
    run = _Run(ARM.read_log({"t": t, "q": q, "v": v, "tau": tau}), 20, 99, DT, 0.01, base.kept)
    r, J = run.simulated(ARM, THETA)
    for k in (0, 3, len(base) - 1):
        step = np.zeros(len(THETA))
        step[base.kept[k]] = 1e-5
        ends = [run.simulated(ARM, THETA + x)[0] for x in (step, -step)]
        assert_close((ends[0] - ends[1]) / 2e-5, J[..., k], 1e-6)
    assert r.shape == (99, 20, 3)


def test_truth_from_positions() -> None:
    t, q, v, tau = measured(2e-5)
    a = np.gradient(v, DT, axis=0)
    rough = guess().identify(q, v + 0.02 * np.random.default_rng(1).normal(size=v.shape), a, tau, consistent=True)
    log = guess().read_log({"t": t, "q": q, "v": v, "tau": tau})
    found = rough.by_simulation(log, horizon=0.2)
    truth = found.base.of_theta(THETA)
    errors = (found.values - truth) / found.deviations
    assert np.abs(errors).max() < 5.0
    scaled = np.abs(np.array([rough.values, found.values]) - truth) / found.deviations
    assert np.linalg.norm(scaled[1]) < 0.2 * np.linalg.norm(scaled[0])
    assert "simulations" in found.report and found.robot.check() is not None


def test_refusals() -> None:
    t, q, v, tau = measured(0.0)
    found = guess().identify(q, v, np.gradient(v, DT, axis=0), tau, consistent=True)
    for log, horizon, message in (
        ({"t": t, "q": q, "tau": tau}, 0.1, "velocities to begin with"),
        ({"t": t, "q": q, "v": v, "tau": tau}, 100.0, "shorter than the horizon"),
        ({"t": t**2, "q": q, "v": v, "tau": tau}, 0.1, "equal steps"),
    ):
        with pytest.raises(on.ArgumentError, match=message):
            found.by_simulation(guess().read_log(log), horizon)


def test_close_to_forces() -> None:
    """Without noise both ways find the same."""
    t, q, v, tau = measured(0.0)
    log = guess().read_log({"t": t, "q": q, "v": v, "tau": tau})
    found = guess().identify(q[:-1], v[:-1], np.diff(v, axis=0) / DT, tau[:-1], consistent=True, smoothing=0.01)
    after = found.by_simulation(log, horizon=0.1)
    assert_close(after.values, found.base.of_theta(THETA), 0.02)
