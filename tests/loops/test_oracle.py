"""All methods on random closed systems, against maximal coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from ordern.loops.dynamics import METHODS
from tests.loops.closed_systems import LOOP_TYPES, closed_robot, motion_state
from tests.loops.oracle import maximal
from tests.tolerances import CLOSED_DYNAMICS, LEAST_NORM

CASES = [
    *((k, 6, (kind,), k % 3 == 2) for k, kind in enumerate(LOOP_TYPES)),
    (20, 7, ("spherical", "universal"), False),
    (21, 8, ("distance", "revolute", "planar"), True),
    (22, 4, ("fixed", "fixed"), False),  # more rows than freedoms
    (23, 8, ("cylindrical", "distance", "helical"), False),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(c[2]))
def test_methods_agree_with_maximal_coordinates(case):
    seed, n, kinds, floating = case
    robot, q = closed_robot(seed, n, kinds, floating)
    assert np.abs(robot.loop_residual(q)).max() < 1e-13  # by formulas on paper
    v, tau = motion_state(robot, q, seed)
    known = maximal(robot, q, v, tau)
    scale = 1.0 + np.abs(known.a).max()
    least = None
    for method in METHODS:
        motion = robot.closed_dynamics(q, v, tau, method=method)
        assert np.abs(motion.a - known.a).max() < CLOSED_DYNAMICS * scale, method
        assert int(motion.rank) == known.rank
        assert bool(motion.consistent) and float(motion.residual) < CLOSED_DYNAMICS * scale
        if known.rank == robot.nc:  # else the forces are not unique
            for name, w in known.loop_wrenches.items():
                assert np.abs(motion.wrenches[name] - w).max() < CLOSED_DYNAMICS * (1.0 + np.abs(w).max())
            joints = known.joint_wrenches
            assert np.abs(motion.joint_wrenches - joints).max() < CLOSED_DYNAMICS * np.abs(joints).max()
        # M a + C = tau + K^T lambda, and lambda has nothing in the null space of K^T
        K, force = robot.loop_jacobian(q), robot.inverse_dynamics(q, v, motion.a) - tau
        assert np.abs(K.T @ motion.multipliers - force).max() < CLOSED_DYNAMICS * (1.0 + np.abs(force).max())
        shortest = np.linalg.lstsq(K.T, force, rcond=1e-8)[0]
        assert np.abs(motion.multipliers - shortest).max() < LEAST_NORM * (1.0 + np.abs(shortest).max())
        least = motion if least is None else least
        assert np.abs(motion.multipliers - least.multipliers).max() < LEAST_NORM * (1.0 + np.abs(shortest).max())


@pytest.mark.slow
def test_batches_are_state_by_state():
    robot, q = closed_robot(5, 6, ("universal",))
    rng = np.random.default_rng(0)
    start = robot.integrate(q, rng.normal(size=(2, 7, robot.nv)) * 0.05)
    states = robot.assemble(start).q
    v = robot.project_velocity(states, rng.normal(size=(7, robot.nv)))
    assert np.abs(robot.loop_rate(states, v)).max() < 1e-12
    tau = rng.normal(size=robot.nv)
    for method in METHODS:
        many = robot.closed_dynamics(states, v, tau, method=method)
        assert many.a.shape == (2, 7, robot.nv) and many.multipliers.shape == (2, 7, robot.nc)
        one = robot.closed_dynamics(states[1, 3], v[1, 3], tau, method=method)
        np.testing.assert_allclose(many.a[1, 3], one.a, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(many.wrenches["loop0"][1, 3], one.wrenches["loop0"], rtol=1e-8, atol=1e-8)
        known = maximal(robot, states[0, 5], v[0, 5], tau)
        np.testing.assert_allclose(many.a[0, 5], known.a, rtol=CLOSED_DYNAMICS, atol=CLOSED_DYNAMICS)
