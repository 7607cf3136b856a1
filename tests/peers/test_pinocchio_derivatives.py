"""Agreement with Pinocchio in the derivatives of inverse and forward dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from tests.peers_util import CASES, Case, Pair
from tests.tolerances import assert_close

pytestmark = pytest.mark.slow

CLOSE = 1e-9


ROBOTS = [case for case in CASES if case.name != "tiago"]
"""Fifteen robots; Pinocchio gives tiago's wheels other coordinates."""
WELL_POSED = [
    *(case for case in ROBOTS if not case.ill_posed),
    Case("go2", "go2_description/urdf/go2.urdf", floating=True),
]
"""Fifteen, too: the mass matrix of icub has a condition of 1e9, so that accelerations have seven digits."""


@pytest.mark.parametrize("case", ROBOTS, ids=lambda case: case.name)
def test_derivatives_of_inverse_dynamics(case: Case) -> None:
    pair = Pair(case)
    s = pair.states(2)
    found = pair.robot.derivatives.inverse_dynamics(s.q, s.v, s.a)
    for ours, other in zip(found, _inverse(pair, s), strict=True):
        assert_close(ours, other, CLOSE)


def _inverse(pair: Pair, s: Any) -> np.ndarray:
    """Pinocchio's derivatives of inverse dynamics by position, velocity and acceleration."""
    m, d = pair.model, pair.data

    def theirs(q: np.ndarray, v: np.ndarray, a: np.ndarray, *_: Any) -> list[np.ndarray]:
        pin.computeRNEADerivatives(m, d, q, v, a)
        M = np.triu(d.M) + np.triu(d.M, 1).T
        return [d.dtau_dq.copy(), d.dtau_dv.copy(), M]

    expected = np.einsum("nkij,ia,jb->nkab", pair.each(s, theirs), pair.E, pair.E)
    return np.moveaxis(expected, 1, 0)


@pytest.mark.parametrize("case", WELL_POSED, ids=lambda case: case.name)
def test_derivatives_of_forward_dynamics(case: Case) -> None:
    """Of robots with mimic joints, which its `aba` does not have, by its derivatives of inverse dynamics."""
    pair = Pair(case)
    m, d, s = pair.model, pair.data, pair.states(2)
    if pair.coupled:
        forces = pair.robot.inverse_dynamics(s.q, s.v, s.a)
        found = pair.robot.derivatives.forward_dynamics(s.q, s.v, forces)
        dq, dv, M = _inverse(pair, s)
        for ours, other in zip(
            found, (-np.linalg.solve(M, dq), -np.linalg.solve(M, dv), np.linalg.inv(M)), strict=True
        ):
            assert_close(ours, other, CLOSE)
        return

    def theirs(q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray, k: int) -> list[np.ndarray]:
        pin.computeABADerivatives(m, d, q, v, tau)
        inverse = np.triu(d.Minv) + np.triu(d.Minv, 1).T
        return [d.ddq_dq.copy(), d.ddq_dv.copy(), inverse]

    found = pair.robot.derivatives.forward_dynamics(s.q, s.v, s.tau)
    expected = np.einsum("nkij,ia,jb->nkab", pair.each(s, theirs), pair.E, pair.E)
    for ours, other in zip(found, np.moveaxis(expected, 1, 0), strict=True):
        assert_close(ours, other, CLOSE)
