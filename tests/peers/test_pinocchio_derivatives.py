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


@pytest.mark.parametrize("case", [case for case in CASES if case.name != "tiago"], ids=lambda case: case.name)
def test_derivatives_of_inverse_dynamics(case: Case) -> None:
    pair = Pair(case)
    m, d, s = pair.model, pair.data, pair.states(2)

    def theirs(q: np.ndarray, v: np.ndarray, a: np.ndarray, *_: Any) -> list[np.ndarray]:
        pin.computeRNEADerivatives(m, d, q, v, a)
        M = np.triu(d.M) + np.triu(d.M, 1).T
        return [d.dtau_dq.copy(), d.dtau_dv.copy(), M]

    found = pair.robot.derivatives.inverse_dynamics(s.q, s.v, s.a)
    expected = np.einsum("nkij,ia,jb->nkab", pair.each(s, theirs), pair.E, pair.E)
    for ours, other in zip(found, np.moveaxis(expected, 1, 0), strict=True):
        assert_close(ours, other, CLOSE)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name in ("ur5", "kinova", "anymal-b", "solo12", "hyq", "iris")], ids=lambda c: c.name
)
def test_derivatives_of_forward_dynamics(case: Case) -> None:
    pair = Pair(case)
    assert not pair.coupled
    m, d, s = pair.model, pair.data, pair.states(2)

    def theirs(q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray, k: int) -> list[np.ndarray]:
        pin.computeABADerivatives(m, d, q, v, tau)
        inverse = np.triu(d.Minv) + np.triu(d.Minv, 1).T
        return [d.ddq_dq.copy(), d.ddq_dv.copy(), inverse]

    found = pair.robot.derivatives.forward_dynamics(s.q, s.v, s.tau)
    expected = np.einsum("nkij,ia,jb->nkab", pair.each(s, theirs), pair.E, pair.E)
    for ours, other in zip(found, np.moveaxis(expected, 1, 0), strict=True):
        assert_close(ours, other, CLOSE)
