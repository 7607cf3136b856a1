"""Agreement with Pinocchio in the regressors of joint forces, energies, momenta and wrenches, on real robots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from ordern.parameters.inertias import TO_PINOCCHIO
from tests.peers_util import CASES, Case, Pair
from tests.tolerances import ROUNDING, assert_close, difference

pytestmark = pytest.mark.slow

ROBOTS = [case for case in CASES if case.name != "tiago"]
"""Fifteen robots; Pinocchio gives tiago's wheels other coordinates."""


@pytest.mark.parametrize("case", ROBOTS, ids=lambda case: case.name)
def test_regressors(case: Case) -> None:
    pair = Pair(case)
    m, d, s = pair.model, pair.data, pair.states(2)

    def forces(q: Any, v: Any, a: Any, *_: Any) -> Any:
        return pin.computeJointTorqueRegressor(m, d, q, v, a).copy()

    def kinetic(q: Any, v: Any, *_: Any) -> Any:
        return pin.computeKineticEnergyRegressor(m, d, q, v).copy()

    def potential(q: Any, *_: Any) -> Any:
        return pin.computePotentialEnergyRegressor(m, d, q).copy()

    ask = lambda name, *x: pair.robot.kernel(name, way="interpreted")(*x)  # noqa: E731
    theirs = np.einsum("nvp,va->nap", pair.each(s, forces), pair.E)
    for name, ours, other in (
        ("forces", ask("inverse_dynamics_regressor", s.q, s.v, s.a, 0.01), theirs),
        ("kinetic energy", ask("kinetic_energy_regressor", s.q, s.v), pair.each(s, kinetic)),
        ("potential energy", ask("potential_energy_regressor", s.q), pair.each(s, potential)),
    ):
        error = difference(_in_their_order(pair, ours), other.reshape(*ours.shape[:-1], -1))
        assert error <= ROUNDING, (name, error)


@pytest.mark.parametrize("case", [CASES[0], CASES[8]], ids=lambda case: case.name)
def test_wrenches_of_single_bodies(case: Case) -> None:
    """The wrench that moves a body by itself, for unit parameters: Pinocchio's regressor of a body on a joint."""
    pair = Pair(case)
    m, d, s = pair.model, pair.data, pair.states(1)
    W = pair.robot.kernel("joint_wrench_regressor", way="interpreted")(s.q, s.v, s.a)[0]
    (q,), (v,), (a,) = pair.positions(s.q), pair.velocities(s.v), pair.velocities(s.a)
    pin.rnea(m, d, q, v, a)
    for k, (_, theirs) in enumerate(pair.joints):
        other = pin.jointBodyRegressor(m, d, theirs.id)
        ours = W[k][:, 10 * k : 10 * k + 10][:, TO_PINOCCHIO]
        assert_close(np.concatenate([ours[3:], ours[:3]]), other, ROUNDING)


def _in_their_order(pair: Pair, ours: np.ndarray) -> np.ndarray:
    """Our columns of inertial parameters in the order of Pinocchio's joints and parameters."""
    n = len(pair.joints)
    blocks = ours[..., : 10 * n].reshape(*ours.shape[:-1], n, 10)[..., TO_PINOCCHIO]
    found = np.empty_like(blocks)
    for k, (_, theirs) in enumerate(pair.joints):
        found[..., theirs.id - 1, :] = blocks[..., k, :]
    return found.reshape(*ours.shape[:-1], 10 * n)
