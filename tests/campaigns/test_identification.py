"""The campaign of identification: logs of a Panda and a UR5 like real ones, many times. Full size by `./dev soak`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ordern as on
from ordern.identify.consistent import pseudo_inertias
from tests.identify.test_base_parameters import panda
from tests.identify.test_logs import fourier
from tests.robots import ROBOTS

pytestmark = [
    pytest.mark.campaign, pytest.mark.needs("scipy"), pytest.mark.needs("example_robot_data"),
    pytest.mark.filterwarnings("ignore::ordern.ModelWarning"),
]  # fmt: skip
STEP = 2.0 * np.pi / 2**19
"""The step of encoders of 19 bits."""


def measured(name: str, seconds: int) -> tuple[on.Robot, on.Robot, np.ndarray, np.ndarray, np.ndarray]:
    """An arm by its file, the real one with friction and a payload of 2 kg, times, positions and forces at 1 kHz."""
    robot = panda() if name == "panda" else on.load(ROBOTS / "ur_description/urdf/ur5_robot.urdf")
    body = robot.bodies[-1]
    mass = body.mass + 2.0
    com = (body.mass * np.array(body.com) + 2.0 * np.array([0.02, 0.01, 0.08])) / mass
    real = robot.vary(damping=0.5, joint_friction=1.0, armature=0.1, fold=True)
    real = real.vary(mass={body.name: mass}, com={body.name: com}, fold=True)
    rest = np.array([0.0, -1.2, 1.2, -1.0, 1.0, 0.0]) if name == "ur5" else 0.5 * (robot.lower + robot.upper)
    t = np.arange(1000 * seconds) * 1e-3
    q, v, a = fourier(robot, t, rest)
    return robot, real, t, q, real.inverse_dynamics_regressor(q, v, a) @ real.parameters.theta


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_intervals_cover_the_truth(name: str, campaign: Callable[[int, int], int]) -> None:
    """Of 60 s at 1 kHz, with 5 % of noise, robust, means of ten samples: 95 % pooled within 2 %, each within 3 %."""
    robot, real, t, q, tau = measured(name, 60)
    noise, rng, count = 0.05 * np.sqrt((tau**2).mean(axis=0)), np.random.default_rng(0), campaign(3, 1000)
    inside = np.zeros(0)
    worst = 0.0
    for _ in range(count):
        zero = rng.random(q.shape[1])
        positions = STEP * (np.round(q / STEP + zero) - zero)
        log = robot.read_log({"t": t, "q": positions, "tau": tau + noise * rng.normal(size=tau.shape)}).filtered(20.0)
        # steps of the encoder turn the sign of a velocity near zero, and with it friction: a few forces are far off
        found = robot.identify(*log.motion, average=10, robust=True)
        truth = found.base.of_theta(real.parameters.theta)
        low, high = found.intervals(0.95).T
        inside = (inside if len(inside) else np.zeros(len(truth))) + ((low <= truth) & (truth <= high))
        worst = max(worst, float(np.abs((found.values - truth) / found.deviations).max()))
    covered = inside / count
    print(
        f"{name}: {100 * covered.mean():.2f} % pooled, {100 * covered.min():.1f} to {100 * covered.max():.1f} % of each"
    )
    assert abs(covered.mean() - 0.95) < campaign(8, 2) / 100 and worst < 6.0
    if count >= 1000:
        assert np.abs(covered - 0.95).max() < 0.03


def test_estimates_are_possible(campaign: Callable[[int, int], int]) -> None:
    """Of 2 s, with 20 % of noise: every body has a positive density, every drive positive friction."""
    robot, _, t, q, tau = measured("panda", 2)
    noise, rng = 0.2 * np.sqrt((tau**2).mean(axis=0)), np.random.default_rng(1)
    log = robot.read_log({"t": t, "q": q, "tau": tau}).filtered(20.0)
    positions, v, a, clean = log.motion
    for _ in range(campaign(5, 1000)):
        found = robot.identify(
            positions, v, a, clean + noise * rng.normal(size=clean.shape), consistent=True, average=5
        )
        p = found.parameters
        assert np.linalg.eigvalsh(pseudo_inertias(p.inertia)).min() > 0.0
        assert min(p.armature.min(), p.damping.min(), p.joint_friction.min()) > 0.0
        assert not found.robot.check().errors
