"""Estimates: the truth is found, within deviations that are right, and bodies can have it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.identify.consistent import pseudo_inertias
from tests.identify.robots import closed_motion, random_tree
from tests.random_models import random_state
from tests.tolerances import EXACT, ROUNDING, assert_close

THICK = np.array([0.03, 0.03, 0.03, 0.0, 0.0, 0.0])
"""The links of the file are rods without thickness, which are on the edge of what is possible."""
ARM = on.load("planar-3r").vary(
    damping=0.3, joint_friction=0.4, armature=0.05, inertia=lambda moments: moments + THICK, fold=True
)
THETA = ARM.parameters.theta
N = 600
MOTION = random_state(ARM, 0, (N,))
CLEAN = ARM.kernel("inverse_dynamics_regressor", way="interpreted")(*MOTION, 0.01) @ THETA
NOISE = np.array([1.0, 0.3, 0.1])


def noisy(seed: int, size: float = 1.0) -> np.ndarray:
    """Measured forces."""
    return CLEAN + size * NOISE * np.random.default_rng(seed).normal(size=CLEAN.shape)


def guess(seed: int = 0) -> on.Robot:
    """The arm as its file may have it: with other masses and inertias, without friction."""
    return ARM.vary(damping=0.0, joint_friction=0.0, fold=True).randomise(
        seed, (), mass=0.3, com=0.02, inertia=0.3, fold=True
    )


def smallest(estimate: Any) -> float:
    """The smallest eigenvalue of the pseudo-inertias of an estimate, and of its drives."""
    p = estimate.parameters
    drives = np.concatenate([p.armature, p.damping, p.joint_friction])
    return float(min(np.linalg.eigvalsh(pseudo_inertias(p.inertia)).min(), drives.min()))


@pytest.mark.parametrize("exact", [False, True])
def test_forces_without_noise_give_the_truth(exact: bool) -> None:
    found = guess().identify(*MOTION, CLEAN, exact=exact)
    assert_close(found.values, found.base.of_theta(THETA), 1e-9)
    assert_close(found.predicted(*MOTION), CLEAN, 1e-9)


def test_weighted_least_squares_as_written_out() -> None:
    tau = noisy(1)
    found = guess().identify(*MOTION, tau, noise=NOISE)
    Y = found.base.columns(ARM.inverse_dynamics_regressor(*MOTION)) / NOISE[:, None]
    Y, z = Y.reshape(-1, len(found.base)), (tau / NOISE).ravel()
    assert_close(found.values, np.linalg.lstsq(Y, z, rcond=None)[0], 1e-9)
    assert_close(found.covariance, np.linalg.inv(Y.T @ Y), 1e-9)
    low, high = found.intervals(0.95).T
    assert_close(high - found.values, 1.959963984540054 * found.deviations, ROUNDING)
    assert_close(found.values - low, high - found.values, ROUNDING)


def test_noise_of_each_force_is_found() -> None:
    found = guess().identify(*MOTION, noisy(2))
    assert_close(found.noise / NOISE, np.ones(3), 0.1)
    errors = (found.values - found.base.of_theta(THETA)) / found.deviations
    assert np.abs(errors).max() < 4.0 and (errors**2).mean() < 2.0
    known = guess().identify(*MOTION, noisy(2), noise=found.noise)
    assert_close(known.values, found.values, 1e-9)


def test_weights_make_deviations_smaller() -> None:
    """Forces of equal weight tell less, since the noisy one disturbs the others."""
    weighted, alike = (guess().identify(*MOTION, noisy(3), noise=x) for x in (NOISE, 0.5))
    truth = weighted.base.of_theta(THETA)
    assert np.linalg.norm((weighted.values - truth) / weighted.deviations) < np.linalg.norm(
        (alike.values - truth) / weighted.deviations
    )


def covered(repetitions: int) -> np.ndarray:
    """The part of the intervals of 95 % that have the truth in them, for each parameter."""
    robot, inside = guess(), np.zeros(0)
    for seed in range(repetitions):
        found = robot.identify(*MOTION, noisy(1000 + seed))
        low, high = found.intervals(0.95).T
        truth = found.base.of_theta(THETA)
        inside = (inside if seed else np.zeros(len(truth))) + ((low <= truth) & (truth <= high))
    return inside / repetitions


def test_intervals_cover_the_truth() -> None:
    assert 0.92 < covered(30).mean() < 0.98


@pytest.mark.campaign
def test_intervals_cover_the_truth_at_length(campaign: Callable[[int, int], int]) -> None:
    """Of all parameters together, and, at full size, of each: 1,000 trials leave a deviation of 0.7 %."""
    found = covered(campaign(100, 1000))
    assert abs(found.mean() - 0.95) < 0.02
    assert np.abs(found - 0.95).max() < campaign(10, 3) / 100


def test_consistent_estimates_are_near_least_squares_where_data_decide() -> None:
    free, found = (guess().identify(*MOTION, noisy(4), consistent=x) for x in (False, True))
    assert np.abs((found.values - free.values) / free.deviations).max() < 0.1
    assert smallest(found) > 0.0
    assert_close(found.robot.parameters.theta, found.theta, ROUNDING)
    poor = guess(3).identify(*(x[:25] for x in MOTION), noisy(5, 20.0)[:25])
    assert smallest(poor) < 0.0 < poor.robot.mass


def test_consistent_estimate_is_the_minimum() -> None:
    """Any small change of the parameters makes the sum of squares and divergences larger."""
    robot = guess(2)
    found = robot.identify(*MOTION, noisy(5, 5.0), noise=5.0 * NOISE, consistent=True, prior=1.0)
    J0, own = pseudo_inertias(robot.parameters.inertia), robot.parameters.theta
    Y = ARM.inverse_dynamics_regressor(*MOTION)

    def cost(theta: np.ndarray) -> float:
        off = (Y @ theta - noisy(5, 5.0)) / (5.0 * NOISE)
        J = np.linalg.solve(J0, pseudo_inertias(theta[:30].reshape(3, 10)))
        entropy = np.trace(J, axis1=-2, axis2=-1).sum() - np.linalg.slogdet(J)[1].sum()
        return float(0.5 * (off**2).sum() + entropy)

    rng = np.random.default_rng(0)
    for _ in range(20):
        step = 1e-3 * rng.normal(size=len(own)) * np.abs(own)
        step[30:] = 0.0
        assert cost(found.theta + step) > cost(found.theta) and cost(found.theta - step) > cost(found.theta)


def impossible(repetitions: int) -> int:
    """How many estimates from few samples with much noise bodies cannot have."""
    few = tuple(x[:40] for x in MOTION)
    robots = [guess(k) for k in range(5)]
    found = (
        robots[k % 5].identify(
            *few, CLEAN[:40] * (1 + 0.2 * np.random.default_rng(k).normal(size=(40, 3))), consistent=True
        )
        for k in range(repetitions)
    )
    return sum(not smallest(x) > 0.0 or x.robot is None for x in found)


def test_consistent_estimates_are_possible() -> None:
    assert impossible(5) == 0


@pytest.mark.campaign
def test_consistent_estimates_are_possible_at_length(campaign: Callable[[int, int], int]) -> None:
    assert impossible(campaign(50, 1000)) == 0


def test_motions_that_do_not_excite_a_joint() -> None:
    q, v, a = (x * [1, 1, 0] for x in MOTION)
    tau = ARM.kernel("inverse_dynamics_regressor", way="interpreted")(q, v, a, 0.01) @ THETA
    with pytest.raises(on.ArgumentError, match=r"do not determine \d+ of 17 base parameters: .*joint3.armature"):
        guess().identify(q, v, a, tau)
    found = guess().identify(q, v, a, tau, consistent=True)
    assert smallest(found) > 0.0
    assert np.isinf(found.deviations[found.names.index("joint3.armature")])
    assert_close(found.theta[32], guess().parameters.armature[2], 0.2)  # the prior decides


def test_means_of_samples() -> None:
    """Of noise that lasts for several samples, single samples make deviations too small; means do not."""
    t = np.arange(4000) * 0.005
    angle = np.outer(t, [3.0, 4.0, 5.0])
    q, v, a = np.sin(angle), [3, 4, 5] * np.cos(angle), -np.square([3, 4, 5]) * np.sin(angle)
    v, a = v + 0.1 * np.cos(0.37 * angle), a - 0.037 * np.sin(0.37 * angle) * [3, 4, 5]
    q = q + 0.1 / 0.37 / np.array([3, 4, 5]) * np.sin(0.37 * angle)
    clean = ARM.kernel("inverse_dynamics_regressor", way="interpreted")(q, v, a, 0.01) @ THETA
    slow = np.repeat(np.random.default_rng(0).normal(size=(400, 3)), 10, axis=0) * NOISE
    single, means = (guess().identify(q, v, a, clean + slow, average=n) for n in (1, 10))
    truth = single.base.of_theta(THETA)
    assert (((means.values - truth) / means.deviations) ** 2).mean() < 2.0
    assert (((single.values - truth) / single.deviations) ** 2).mean() > 4.0
    assert_close(means.deviations / single.deviations, np.full(len(truth), np.sqrt(10.0)), 0.2)
    exact = guess().identify(q, v, a, clean, average=7, exact=True)
    assert_close(exact.values, truth, 1e-8)
    assert_close(guess().identify(q, v, a, clean + slow, average=7, exact=True).values,
                 guess().identify(q, v, a, clean + slow, average=7).values, 1e-8)  # fmt: skip


def test_springs_are_known_forces() -> None:
    sprung = ARM.vary(stiffness=[3.0, 0.0, 1.0], rest=0.2, fold=True)
    q, v, _ = MOTION
    tau = CLEAN + [3.0, 0.0, 1.0] * (q - 0.2)
    found = guess().vary(stiffness=[3.0, 0.0, 1.0], rest=0.2, fold=True).identify(*MOTION, tau)
    assert_close(found.values, found.base.of_theta(THETA), 1e-9)
    assert_close(found.predicted(*MOTION), tau, 1e-9)
    assert_close(sprung.inverse_dynamics(*MOTION) - sprung.passive_force(q, v), tau, 1e-9)
    loop = on.load("four-bar").vary(stiffness=1.0, fold=True)
    with pytest.raises(on.ArgumentError, match="has loops, and springs or drag"):
        loop.identify(*np.zeros((3, 5, 3)), np.zeros((5, 1)))


def test_varied_robots_are_as_folded_ones() -> None:
    """Numbers that vary, but have one set: the tree has the placements that were given."""
    change = {"joint2": lambda at: at + np.array([0.1, 0, 0, 0, 0, 0])}
    varied, folded = ARM.vary(placement=change), ARM.vary(placement=change, fold=True)
    for method in ("numeric", "tree"):
        one, other = varied.base_parameters(method=method), folded.base_parameters(method=method)
        assert one.kept.tolist() == other.kept.tolist()
        assert_close(one.matrix, other.matrix, 1e-9)


def test_payload_alone() -> None:
    """What the last link carries, with all else known: mass and centre."""
    loaded = ARM.vary(mass={"link3": 3.0}, com={"link3": (0.2, 0.03, 0.0)}, fold=True)
    tau = loaded.inverse_dynamics_regressor(*MOTION) @ loaded.parameters.theta + 0.02 * noisy(1, 1.0) - 0.02 * CLEAN
    found = ARM.identify(*MOTION, tau, only=["link3"], consistent=True)
    assert set(found.base.labels) == {x for x in ARM.parameters.theta_labels if x.startswith("link3.")}
    body = found.robot.body("link3")
    assert abs(body.mass - 3.0) < 0.01 and np.abs(np.array(body.com)[:2] - [0.2, 0.03]).max() < 0.002
    assert (found.theta[:20] == THETA[:20]).all() and (found.theta[30:] == THETA[30:]).all()


def test_friction_alone() -> None:
    start = ARM.vary(damping=0.0, joint_friction=0.0, fold=True)
    found = start.identify(*MOTION, noisy(1), only=["damping", "joint_friction"])
    assert found.names == found.base.labels and len(found.names) == 6
    assert np.abs((found.values - THETA[33:]) / found.deviations).max() < 4.0


def test_held_out_samples() -> None:
    found = guess().identify(*MOTION, noisy(6), held_out=0.25)
    assert found.samples == 450 and found.held_out is not None and found.held_out.samples == 150
    assert found.held_out.agrees and "holds for motions that it has not seen" in found.report
    silent = guess().identify(*MOTION, noisy(6) * [0, 1, 1], held_out=0.25)
    assert f"Errors in {ARM.joints[0].name} are as large as the forces themselves" in silent.report
    spring = noisy(6) + 5.0 * MOTION[0] ** 3 * [0, 1, 0]  # what no parameter can explain
    wrong = guess().identify(*(x[:300] * [1, 0.1, 1] for x in MOTION), CLEAN[:300] * 0.0 + noisy(6)[:300])
    verdict = wrong.check(*MOTION, spring)
    assert not verdict.agrees and "larger than the noise in" in verdict.report


@pytest.mark.slow
def test_every_joint_type_and_mimic_joints() -> None:
    robot = random_tree(7)
    motion = random_state(robot, 3, (400,))
    tau = robot.inverse_dynamics(*motion) - robot.passive_force(*motion[:2])  # with springs
    start = robot.with_parameters(inertia=1.3 * robot.parameters.inertia, fold=True)
    found = start.identify(*motion, tau)
    # sums of products have the square of the condition of the regressor, here 5e4
    assert found.condition < 1e5
    assert_close(found.values, found.base.of_theta(robot.parameters.theta), EXACT * found.condition**2)
    assert len(found.noise) == robot.nv


@pytest.mark.slow
def test_mechanism_with_a_loop() -> None:
    from ordern.identify.excitation import motions_of

    robot, _ = closed_motion("five-bar")
    q, v, a = motions_of(robot, 300, np.random.default_rng(1))
    tau = robot.actuation_regressor(q, v, a) @ robot.parameters.theta
    start = robot.with_parameters(inertia=1.2 * robot.parameters.inertia, fold=True)
    found = start.identify(q, v, a, tau + 1e-3 * np.random.default_rng(0).normal(size=tau.shape), consistent=True)
    assert_close(found.predicted(q, v, a), tau, 1e-3)
    assert smallest(found) > 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ARM.identify(*MOTION, CLEAN[:-1]), r"tau has shape \(599, 3\); expected \(600, 3\)"),
        (
            lambda: ARM.identify(*MOTION, CLEAN, only=["link9"]),
            "unknown body, joint, kind of .* 'link9'",
        ),
        (lambda: ARM.identify(*MOTION, CLEAN, only=[]), "names no parameter"),
        (
            lambda: ARM.identify(*MOTION, CLEAN, only=["link3.mass"], consistent=True),
            "all ten parameters of body 'link3'",
        ),
        (lambda: ARM.identify(*MOTION, CLEAN, held_out=1.0), "held_out is the part of the samples"),
        (lambda: ARM.identify(*MOTION, CLEAN, prior=0.0), "prior must be a finite number above zero"),
        (lambda: ARM.identify(*MOTION, CLEAN).intervals(95), "between 0 and 1"),
        (lambda: ARM.identify(*(x[:0] for x in (*MOTION, CLEAN))), "there are no samples"),
        (lambda: ARM.identify(*MOTION, 0.0 * CLEAN), "all forces are zero"),
        (
            lambda: ARM.identify(*(x[:5] for x in (*MOTION, CLEAN)), consistent=True),
            "5 samples of 3 forces are too few for 17 base parameters",
        ),
        (lambda: ARM.identify(*MOTION, CLEAN, average=0), "a whole number from 1 up; not 0"),
    ],
)
def test_errors(call: Callable[[], object], message: str) -> None:
    with pytest.raises(on.OrdernError, match=message):
        call()


def series() -> tuple[np.ndarray, ...]:
    """A motion in time of an arm with friction, and its forces with 1 % of noise."""
    t, rng = np.arange(800)[:, None] * 0.01, np.random.default_rng(0)
    w, p, size = rng.uniform(2, 6, (4, 3)), rng.uniform(0, 6, (4, 3)), 0.3
    q = sum(size * np.sin(w[k] * t + p[k]) for k in range(4))
    v = sum(size * w[k] * np.cos(w[k] * t + p[k]) for k in range(4))
    a = -sum(size * w[k] ** 2 * np.sin(w[k] * t + p[k]) for k in range(4))
    tau = ARM.inverse_dynamics(q, v, a) - ARM.passive_force(q, v)
    return q, v, a, tau + 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)


def swapped(x: np.ndarray) -> np.ndarray:
    return x[:, [0, 2, 1]]


def one_sign(tau: np.ndarray) -> np.ndarray:
    return tau * [1, 1, -1]


@pytest.mark.parametrize(
    ("wrong", "remark"),
    [
        (lambda q, v, a, tau: (q, v, a, -tau), "opposite sign of those of the robot's file in all joints"),
        (lambda q, v, a, tau: (q, v, a, -tau), "negative, which no robot has: .*joint3.damping"),
        (lambda q, v, a, tau: (q, v, a, one_sign(tau)), "the inertia that joint3 would move is negative"),
        (lambda q, v, a, tau: (q, v, a, 1000.0 * tau), "forces differ in scale from those of the robot's file"),
        (lambda q, v, a, tau: (q, -v, a, tau), "v has the opposite sign of the rate of q in joint1, joint2, joint3"),
        (lambda q, v, a, tau: (q, *np.degrees([v, a]), tau), "by a factor of 0.0175: some of them .* degrees"),
        (lambda q, v, a, tau: (*np.degrees([q, v, a]), tau), "positions are far beyond the range of joint1"),
        (lambda q, v, a, tau: (swapped(q), v, a, tau), "the columns of joint2 and joint3 look swapped in q or v"),
        (lambda q, v, a, tau: (q, v, a, swapped(tau)), "a poor fit|swapped"),
        (lambda q, v, a, tau: (*map(swapped, (q, v, a)), tau), "negative"),
    ],
)
def test_wrong_measurements_are_remarked(wrong: Callable[..., Any], remark: str) -> None:
    found = ARM.identify(*wrong(*series()))
    assert any(re.search(remark, x) for x in found.remarks), found.remarks
    assert f"Remark: {found.remarks[0]}." in found.report and "remarks: see `report`" in repr(found)


def test_a_robot_of_wrong_measurements_is_an_error() -> None:
    q, v, a, tau = series()
    with pytest.raises(on.ModelError, match=r"one that no robot has.*Remark: forces have the opposite sign"):
        _ = ARM.identify(q, v, a, -tau).robot


def test_right_measurements_have_no_remarks_and_give_a_robot() -> None:
    q, v, a, tau = series()
    for start in (guess(1), guess(2)):
        found = start.identify(q, v, a, tau)
        assert found.remarks == () and "Remark" not in found.report
        robot = found.robot
        forces = robot.inverse_dynamics(q, v, a) - robot.passive_force(q, v)
        assert (np.abs(forces - tau).std(axis=0) < 1.2 * found.noise).all()
    assert guess().identify(*MOTION, noisy(3)).remarks == ()  # no series in time
