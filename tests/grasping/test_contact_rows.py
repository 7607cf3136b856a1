"""The constraint rows of a grasp: against each other, and against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.grasping.as_one_robot import to_whole
from ordern.grasping.contact_rows import ContactRows
from ordern.simulate.constraints.constraints import Constraints
from tests.grasping.systems import KINDS, arm, moving, random_system, system
from tests.grasping.test_closed_arms import pair
from tests.tolerances import GRASPED

C = on.contacts
EPS = 1e-6


def situation(name: str) -> tuple[Constraints, np.ndarray, np.ndarray]:
    grasp, q = pair((C.Rigid, C.Hinge, C.SoftFinger)) if name == "cranes" else system(name)
    q, v = to_whole(moving(grasp, q))
    return Constraints.near(ContactRows(grasp), q), q, v


@pytest.mark.slow
@pytest.mark.parametrize("name", [*KINDS, "cranes"])
def test_rates_and_biases_are_derivatives(name: str) -> None:
    now, q, v = situation(name)
    K = now.jacobian(q, 0.0)
    assert K.shape == (now.nc, now.robot.nv)
    x = np.random.default_rng(3).normal(size=now.robot.nv)
    assert np.abs(K @ x - now.rate(q, x, 0.0)).max() < 1e-12 * np.abs(K).max() * np.abs(x).max() * 10.0
    ahead, behind = (now.robot.integrate(q, s * x) for s in (EPS, -EPS))
    slope = (now.residual(ahead, 0.0) - now.residual(behind, 0.0)) / (2.0 * EPS)
    held = [c.holonomic for c in now.rows.grasp.contacts]
    keeps = np.concatenate([*held, now.robot.loop_holonomic]).astype(bool)
    assert np.abs(slope - now.rate(q, x, 0.0))[keeps].max() < 1e-7 * max(1.0, np.abs(slope).max())
    assert not slope[~keeps].any()
    ahead, behind = (now.robot.integrate(q, s * v) for s in (EPS, -EPS))
    bias = (now.rate(ahead, v, 0.0) - now.rate(behind, v, 0.0)) / (2.0 * EPS)
    assert np.abs(bias - now.bias(q, v, 0.0)).max() < 1e-7 * max(1.0, np.abs(bias).max())


def test_motors_of_arms_are_those_of_the_whole() -> None:
    grasp, q = system("rigid")
    usual = tuple(f"{a.name}/{name}" for a in grasp.arms for name in a.robot.actuated)
    assert usual and grasp.robot.actuated == usual  # and none at the object
    first, *rest = grasp.arms
    one = first.robot.actuated[0]
    arms = [(first.robot.with_actuated([one]), first.tips[0]), *((a.robot, a.tips[0]) for a in rest)]
    partly = on.grasp(arms, grasp.object, bases=[a.base for a in grasp.arms], q=q)
    assert partly.robot.actuated[0].endswith(f"/{one}")
    assert len(partly.robot.actuated) == 1 + len(usual) - len(first.robot.actuated)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*KINDS, "cranes"])
def test_arm_by_arm_and_all_at_once_agree(name: str) -> None:
    now, q, v = situation(name)
    dense = now.with_rank(now.rank)
    rng = np.random.default_rng(4)
    force, x = rng.normal(size=(2, now.robot.nv))
    wanted = now.jacobian(q, 0.0) @ rng.normal(size=now.robot.nv)  # what some motion does
    for one, other in (
        (now.solve(q, x, wanted, 0.0), dense.solve(q, x, wanted, 0.0)),
        (now.acceleration(q, v, force, 0.0, None, None), dense.acceleration(q, v, force, 0.0, None, None)),
    ):
        assert np.abs(one - other).max() < 1e2 * GRASPED * max(1.0, np.abs(other).max())
    assert np.abs(now.jacobian(q, 0.0) @ now.solve(q, x, wanted, 0.0) - wanted).max() < 1e-9 * np.abs(wanted).max()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_narrow_matrices_have_the_same_singular_values(seed: int) -> None:
    grasp, q = random_system(seed)
    whole, _ = to_whole(grasp.state(q))
    now = Constraints.near(ContactRows(grasp), whole)
    K, narrow = now.jacobian(whole[None], 0.0)[0], now.narrow(whole[None], 0.0)[0]
    assert np.abs(K @ K.T - narrow @ narrow.T).max() < 1e-12 * np.abs(K).max() ** 2 * 10.0
    assert now.rank == np.linalg.matrix_rank(K, tol=1e-7 * np.linalg.norm(K, 2))


@pytest.mark.slow
def test_many_arms() -> None:
    """From 60 rows on, values are roots of eigenvalues, and those of regular arms bound them from below."""
    count, rng = 12, np.random.default_rng(0)
    q = [arm(7).random(rng) for _ in range(count)]
    bases: Any = [(rng.normal(size=3), (0, 0, 1.0 * k)) for k in range(count)]
    held = (2.0, (0.1, 0.2, -0.1), (0.3, 0.4, 0.5))
    grasp = on.grasp([(arm(7), "tool")] * count, held, C.Rigid(), bases=bases, q=q, pose=(0.3, 0.2, 0.1))
    whole, _ = to_whole(grasp.state(q))
    now = Constraints.near(ContactRows(grasp), whole)
    assert now.rank == now.nc == 72
    sigma = np.linalg.svd(now.jacobian(whole, 0.0), compute_uv=False)
    assert np.abs(now.sigma(whole, 0.0) - sigma).max() < 1e-7 * sigma[0]
    arms = zip(grasp.arms, now.rows.names.values(), strict=True)
    each = [np.linalg.svd(now.jacobian(whole, 0.0)[rows, arm.v], compute_uv=False) for arm, rows in arms]
    least, most = min(x[-1] for x in each), max(x[0] for x in each)
    assert least <= sigma[-1] * (1.0 + 1e-9)
    bound, given = now.rows.lower_bound(whole[None], now.rank), now.smallest(whole[None], 0.0)[0]
    if least > 1e-2 * most:
        assert bound is not None and given == bound[0] == pytest.approx(least, rel=1e-6)
    else:
        assert bound is None and given == pytest.approx(sigma[-1], rel=1e-4)
