"""How many operations are left of an algorithm."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.graph import Counts


def general_arm(n: int, seed: int = 0) -> on.Robot:
    """Revolute joints in series by Denavit and Hartenberg, as the papers count: none of their numbers is special."""
    rng = np.random.default_rng(seed)
    builder = on.Builder(f"arm of {n}").body("body0")
    for k in range(1, n + 1):
        (twist, a, d), T = rng.uniform(0.3, 1.2, 3), np.eye(4)
        s, c = np.sin(twist), np.cos(twist)
        T[:3] = [[1, 0, 0, a], [0, c, -s, -d * s], [0, s, c, d * c]]
        x = rng.normal(size=(6, 3))
        inertia = np.einsum("kij->ij", (x**2).sum(1)[:, None, None] * np.eye(3) - x[:, :, None] * x[:, None])
        builder.body(
            f"body{k}",
            parent=f"body{k - 1}",
            joint=on.Revolute(),
            at=T,
            mass=rng.uniform(1, 2),
            com=rng.normal(size=3),
            inertia=inertia,
        )
    return builder.build()


def counts(robot: on.Robot, question: str) -> Counts:
    return robot.kernel(question, way="unrolled").counts()


@pytest.mark.slow
@pytest.mark.parametrize("n", [6, 7, 10, 30, 60])
def test_forward_dynamics_takes_fewer_multiplications_than_the_papers(n: int) -> None:
    """Saha 1999, Table 2: 201 n - 335; Featherstone 1983, as counted there: 199 n - 198."""
    found = counts(general_arm(n), "forward_dynamics")
    assert found.divisions <= n
    assert found.multiplications + found.divisions < 199 * n - 198


@pytest.mark.slow
def test_each_further_joint_takes_fewer_multiplications_than_in_the_papers() -> None:
    more, fewer = (counts(general_arm(n), "forward_dynamics") for n in (20, 19))
    assert more.multiplications + more.divisions - fewer.multiplications - fewer.divisions < 199


@pytest.mark.parametrize("n", [6, 30])
def test_inverse_dynamics_takes_fewer_multiplications_than_the_papers(n: int) -> None:
    """Saha 1999, Table 1: 150 n - 48 (Luh, Walker and Paul 1980) down to 93 n - 69 (Balafoutis et al. 1988)."""
    assert counts(general_arm(n), "inverse_dynamics").multiplications < 93 * n - 69


def test_counts_are_those_of_the_code() -> None:
    robot = general_arm(4)
    assert robot.kernel("inverse_dynamics").code.operations == counts(robot, "inverse_dynamics").total


def test_structure_saves_operations() -> None:
    """An arm drawn along its axes takes less than half the operations of a general one."""
    builder = on.Builder("arm").body("body0")
    for k in range(1, 7):
        builder.body(
            f"body{k}",
            parent=f"body{k - 1}",
            joint=on.Revolute(np.eye(3)[k % 3]),
            at=(0, 0, 0.3),
            mass=1.0,
            com=(0, 0, 0.1),
            inertia=(0.1, 0.1, 0.1),
        )
    general = counts(general_arm(6), "forward_dynamics").total
    assert 2 * counts(builder.build(), "forward_dynamics").total < general
