"""Every adaptive method at several tolerances, against motions in closed form or 50 digits (`ordern papers`)."""

from __future__ import annotations

import numpy as np
import pytest

from ordern.papers.references import ADAPTIVE, KNOWN, Known, double_pendulum, error, planar_arm, projectile, top
from tests.simulate.test_closed_forms import DOUBLE_PENDULUM_AT_2
from tests.tolerances import ROUNDING, TIMES_REQUESTED, assert_close

RUNS = [(m, t) for m in ADAPTIVE for t in (1e-6, 1e-9, 1e-12) if m != "radau" or t > 1e-12]
"""Radau at 1e-12 takes thousands of steps from Python: it is in docs/papers/simulations.md only."""


@pytest.mark.slow
@pytest.mark.parametrize("known", KNOWN, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("method", "tolerance"), RUNS)
def test_error(known: object, method: str, tolerance: float) -> None:
    motion: Known = known()  # type: ignore[operator]
    result = motion.run(method, tolerance)
    assert result.report.ok
    assert error(motion, result) <= TIMES_REQUESTED[method] * tolerance


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("known", [planar_arm, projectile], ids=lambda f: f.__name__)
def test_the_default_method_is_within_the_tolerance(known: object, tolerance: float) -> None:
    motion: Known = known()  # type: ignore[operator]
    assert error(motion, motion.run("dormand-prince-8", tolerance)) <= tolerance


@pytest.mark.slow
def test_the_top_keeps_what_it_should() -> None:
    """The closed form by itself: energy, both momenta, unit quaternions, and the start as its limit."""
    known = top()
    q, v = known.states[:, :4], known.states[:, 4:]
    robot = known.robot
    energy = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    start = robot.kinetic_energy(known.q0, known.v0) + robot.potential_energy(known.q0)
    assert_close(energy, np.full(len(q), start), ROUNDING)
    assert_close(np.linalg.norm(q, axis=1), np.ones(len(q)), ROUNDING)
    vertical = [robot.momentum(a, b)[2] for a, b in zip(q, v, strict=True)]
    assert_close(vertical, np.full(len(q), robot.momentum(known.q0, known.v0)[2]), ROUNDING)


@pytest.mark.slow
def test_the_double_pendulum_is_that_of_another_derivation() -> None:
    """60 digits, by other series: two references that share nothing."""
    import mpmath

    from ordern.papers.planar import DOUBLE_PENDULUM, falling

    with mpmath.workdps(50):
        end = falling(DOUBLE_PENDULUM, (2 - mpmath.pi / 2, -0.5), [2.0])[0]
    assert_close([float(end[0]) + np.pi / 2, *end[1:].astype(float)], DOUBLE_PENDULUM_AT_2, ROUNDING)
    assert double_pendulum().states.shape == (4, 4)
