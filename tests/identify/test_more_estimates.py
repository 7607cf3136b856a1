"""Robust estimates, instrumental variables, offsets and Stribeck friction, and what further data would tell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ordern as on
from ordern.identify.estimate import Estimate
from tests.identify.test_estimates import ARM, CLEAN, MOTION, NOISE, THETA, guess, noisy, smallest
from tests.random_models import random_state
from tests.tolerances import assert_close

Q, V, A = MOTION


def test_single_wrong_forces_do_not_spoil_robust_estimates() -> None:
    tau, rng = noisy(1), np.random.default_rng(5)
    wrong = rng.random(tau.shape) < 0.03
    tau = np.where(wrong, tau + 100.0 * NOISE, tau)
    plain, robust = (guess().identify(*MOTION, tau, robust=x) for x in (False, True))
    truth = plain.base.of_theta(THETA)
    errors = (robust.values - truth) / robust.deviations
    assert np.abs(errors).max() < 4.0 and (errors**2).mean() < 2.0
    assert np.linalg.norm((plain.values - truth) / robust.deviations) > 4.0 * np.linalg.norm(errors)
    assert_close(robust.noise / NOISE, np.ones(3), 0.15)
    assert "Huber" in robust.report
    assert smallest(guess().identify(*MOTION, tau, robust=True, consistent=True)) > 0.0


def test_robust_deviations_are_right() -> None:
    """Of normal noise they are 2.5 % above those of least squares; with the spread of the estimates themselves."""
    found = [guess().identify(*MOTION, noisy(k), robust=True) for k in range(12)]
    plain = guess().identify(*MOTION, noisy(0))
    assert_close(found[0].deviations / plain.deviations, np.full(len(plain.values), 1.025), 0.1)
    errors = np.array([(x.values - x.base.of_theta(THETA)) / x.deviations for x in found])
    assert 0.7 < np.sqrt((errors**2).mean()) < 1.3


def test_instruments_against_noise_in_the_motion() -> None:
    """Least squares are biased by noise in velocities and accelerations, instrumental variables are not."""
    rng = np.random.default_rng(0)
    motion = random_state(ARM, 5, (4000,))
    tau = ARM.inverse_dynamics_regressor(*motion) @ THETA + 0.02 * NOISE * rng.normal(size=(4000, 3))
    measured = motion[0], motion[1], motion[2] + 0.5 * rng.normal(size=motion[2].shape)
    biased = guess().identify(*measured, tau)
    found = guess().identify(*measured, tau, instruments=motion)
    truth = found.base.of_theta(THETA)
    assert np.abs((found.values - truth) / found.deviations).max() < 4.0
    assert abs(biased.values[0] - truth[0]) > 5.0 * abs(found.values[0] - truth[0])
    assert "instrumental" in found.report
    same = guess().identify(*MOTION, CLEAN, instruments=MOTION)
    assert_close(same.values, same.base.of_theta(THETA), 1e-8)


def test_instruments_that_are_the_motion_give_least_squares() -> None:
    one = guess().identify(*MOTION, noisy(2), noise=NOISE)
    two = guess().identify(*MOTION, noisy(2), noise=NOISE, instruments=MOTION, average=1)
    assert_close(two.values, one.values, 1e-7)
    assert_close(two.covariance, one.covariance, 1e-6)


def test_offsets_and_stribeck_friction() -> None:
    offset, more, speed = np.array([0.5, -0.2, 0.1]), np.array([0.6, 0.3, 0.2]), 0.15
    extra = offset + more * np.sign(V) * np.exp(-((V / speed) ** 2))
    exact = guess().identify(*MOTION, CLEAN + extra, offsets=True, stribeck=speed)
    assert_close(exact.extra_values, np.concatenate([offset, more]), 1e-7)
    assert_close(exact.predicted(*MOTION), CLEAN + extra, 1e-8)
    assert exact.extra is not None and exact.extra.labels[0] == "joint1.offset"
    assert {"joint2.offset", "joint3.stribeck"} <= set(exact.names)
    found = guess().identify(*MOTION, CLEAN + extra + 0.02 * (noisy(3) - CLEAN), offsets=True, stribeck="search")
    plain = guess().identify(*MOTION, CLEAN + extra + 0.02 * (noisy(3) - CLEAN), offsets=True)
    assert found.extra is not None and found.extra.stribeck is not None
    assert np.abs(np.log(found.extra.stribeck / speed)).max() < np.log(2.0)
    assert (found.noise < 0.8 * plain.noise).all()
    kept = guess().identify(*MOTION, noisy(3) + extra, offsets=True, stribeck=speed, consistent=True, held_out=0.2)
    assert smallest(kept) > 0.0 and kept.held_out is not None and kept.held_out.agrees
    alone = ARM.identify(*MOTION, CLEAN + offset, only=["link3"], offsets=True)
    assert_close(alone.extra_values, offset, 1e-7)


@pytest.mark.slow
@pytest.mark.needs("clarabel")
@pytest.mark.needs("scipy")
def test_matrix_inequalities() -> None:
    """Where data decide, they change nothing; with much noise, bodies are possible, and no possible ones fit better."""
    free, found = (guess().identify(*MOTION, noisy(4), consistent=x) for x in (False, "lmi"))
    inside = smallest(guess().identify(*MOTION, noisy(4), consistent="lmi")) > 0.0
    assert inside and np.abs((found.values - free.values) / free.deviations).max() < 0.05
    assert "inequalities" in found.report and found.consistent
    few, tau = tuple(x[:40] for x in MOTION), noisy(5, 5.0)[:40]
    hard, soft = (guess(3).identify(*few, tau, consistent=x, noise=5.0 * NOISE) for x in ("lmi", True))
    assert smallest(hard) > 0.0 and smallest(soft) > 0.0

    def misfit(estimate: Estimate) -> float:
        return float((((estimate.predicted(*few) - tau) / NOISE) ** 2).sum())

    assert misfit(hard) <= misfit(soft) * (1.0 + 1e-3)
    assert guess().identify(*MOTION, noisy(4), consistent="entropy").consistent
    with pytest.raises(on.OrdernError, match="unknown way to be consistent 'sdp'"):
        guess().identify(*MOTION, noisy(4), consistent="sdp")


def test_an_offset_that_is_a_mass() -> None:
    """A slide along gravity: its weight less its armature is a constant force, so that three numbers are two."""
    builder = on.Builder("lift")
    builder.body("ground")
    builder.body("cage", mass=2.0, inertia=np.eye(3))
    builder.joint("up", on.Prismatic((0.0, 0.0, 1.0)), "ground", "cage")
    lift = builder.build()
    q, v, a = random_state(lift, 0, (50,))
    found = lift.identify(q, v, a, lift.inverse_dynamics(q, v, a) + 0.3, offsets=True)
    assert len(found.values) == 4
    assert_close(found.predicted(q, v, a), lift.inverse_dynamics(q, v, a) + 0.3, 1e-9)


def test_what_further_motions_would_tell() -> None:
    few = tuple(x[:100] for x in MOTION)
    found = guess().identify(*few, noisy(4)[:100])
    rest = tuple(x[100:] for x in MOTION)
    promised = found.deviations_with(*rest)
    all_of_them = guess().identify(*MOTION, noisy(4), noise=found.noise)
    assert_close(promised, all_of_them.deviations, 1e-6)
    still = found.deviations_with(*(np.zeros_like(x) for x in rest))
    assert (promised < found.deviations).all() and still.mean() > promised.mean()
    assert len(found.weakest) == 5 and found.weakest[0] in found.names and "Known worst" in found.report


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ARM.identify(*MOTION, CLEAN, stribeck=-1.0), "stribeck must be a finite number above zero"),
        (lambda: ARM.identify(*MOTION, CLEAN, stribeck="find"), "unknown stribeck 'find'"),
        (lambda: ARM.identify(*MOTION, CLEAN, stribeck=[1.0, 2.0]), r"stribeck has shape \(2,\)"),
        (lambda: ARM.identify(*MOTION, CLEAN, instruments=MOTION[:2]), "reference motion"),
        (lambda: ARM.identify(*MOTION, CLEAN, instruments=[x[:9] for x in MOTION]), "9 samples; expected 600"),
        (lambda: ARM.identify(*MOTION, CLEAN, instruments=MOTION, consistent=True), "plain estimates only"),
        (lambda: ARM.identify(*MOTION, CLEAN, instruments=[0 * x for x in MOTION]), "does not determine"),
        (lambda: on.load("four-bar").identify(*np.zeros((3, 9, 3)), np.ones((9, 1)), offsets=True), "has loops"),
    ],
)
def test_errors(call: Callable[[], object], message: str) -> None:
    with pytest.raises(on.OrdernError, match=message):
        call()
