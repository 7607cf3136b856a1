"""Inertia that joints do not feel is given to parents: all that is told of joints stays the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.graph import cos, sin
from ordern.model.base_parameters import regrouped
from ordern.model.tables import INERTIA, PLACEMENT
from ordern.spatial import About, Columns, Freedoms, Inertia, Motion, Transform
from tests.random_models import ALL_JOINTS, CUSTOM_JOINTS, random_robot, random_state

QUESTIONS = ("forward_dynamics", "inverse_dynamics", "bias_force", "gravity_force", "mass_matrix")
JOINTS = [on.Revolute((0.6, 0.0, 0.8)), on.Continuous(), on.Prismatic((0.0, 0.6, 0.8)), on.Spherical()]


@pytest.mark.parametrize("joint", [*JOINTS, on.Free(), on.Universal(), on.Cylindrical(), on.Planar()])
def test_what_a_joint_does_not_feel_is_the_same_in_all_positions(joint: on.Joint) -> None:
    """Its inertia about the parent's origin, as the parent feels it, does not depend on the position."""
    rng = np.random.default_rng(0)
    m, h, I = 1.3, (0.2, -0.3, 0.4), (0.5, 0.1, 0.05, 0.6, -0.07, 0.8)
    given = joint.shiftable_inertia(Inertia(m, h, I))
    if given is None:
        assert joint.nv > 1 and not isinstance(joint, on.Spherical)
        return
    seen = []
    for _ in range(3):
        free = np.full(joint.nq, np.inf)
        X = joint.transform(Freedoms(joint.random(rng, (), -free, free).tolist()))
        A = X.T @ given.articulated() @ X
        seen.append(np.array([*A.I, *(x for row in A.H for x in row), *A.M], float))
    np.testing.assert_allclose(seen[1], seen[0], atol=1e-14)
    np.testing.assert_allclose(seen[2], seen[0], atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("floating", [False, True])
def test_answers_stay_the_same(seed: int, floating: bool) -> None:
    robot = random_robot(seed, 7, (*ALL_JOINTS, *CUSTOM_JOINTS), floating=floating)
    for question in QUESTIONS:
        kernel = robot.kernel(question, way="unrolled")
        given = random_state(robot, seed, (5,))[: len(kernel.ports)]
        found = kernel(*given)
        truth = robot.kernel(question, way="interpreted")(*[x.astype(np.longdouble) for x in given])
        size = max(1e-3, float(np.abs(truth).max()))
        assert np.abs(found - truth).max() < 1e-11 * size


def test_a_hinge_leaves_seven_numbers_of_ten() -> None:
    robot = random_robot(3, 6, (on.Revolute,), chain=True)
    rows = regrouped(robot.tables)
    m, h, I = rows[:, INERTIA][:, 0], rows[:, INERTIA][:, 1:4], rows[:, INERTIA][:, 4:]
    assert not m.any() and not h[:, 2].any() and not I[:, 3].any()
    assert (h[:, :2] != 0.0).all() and (I[:, [0, 1, 2, 4, 5]] != 0.0).all()
    np.testing.assert_array_equal(np.delete(rows, np.r_[INERTIA], 1), np.delete(robot.tables.rows, np.r_[INERTIA], 1))


def test_nothing_is_lost_of_a_floating_robot() -> None:
    """All of the mass ends up in the floating body, and what it weighs is the same."""
    robot = random_robot(4, 6, (on.Revolute,), floating=True)
    rows = regrouped(robot.tables)
    assert rows[0, INERTIA][0] == pytest.approx(robot.mass)
    assert not rows[1:, INERTIA][:, 0].any()


def test_aligned_bodies_stay_aligned() -> None:
    """Giving a parent what would skew it would cost more than it saves."""
    builder = on.Builder("plain").body("base")
    builder.body("one", parent="base", joint=on.Revolute((0, 0, 1)), mass=1.0, com=(0, 0, 0.2), inertia=(0.1, 0.2, 0.3))
    at = ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    builder.body("two", parent="one", joint=on.Revolute((0, 0, 1)), at=at, mass=1.0, inertia=(0.1, 0.1, 0.3))
    robot = builder.build()
    rows = regrouped(robot.tables)
    np.testing.assert_array_equal(rows[1, INERTIA], robot.tables.rows[1, INERTIA])
    assert rows[0, INERTIA][5] == rows[0, INERTIA][6] == rows[0, INERTIA][8] == 0.0
    np.testing.assert_array_equal(rows[:, PLACEMENT], robot.tables.rows[:, PLACEMENT])


def test_forces_between_bodies_and_energies_are_those_of_the_bodies_themselves() -> None:
    robot = random_robot(5, 5, (on.Revolute,), chain=True)
    for question in ("joint_wrenches", "kinetic_energy", "potential_energy"):
        kernel = robot.kernel(question, way="unrolled")
        given = random_state(robot, 1, (3,))[: len(kernel.ports)]
        truth = robot.kernel(question, way="interpreted")(*[x.astype(np.longdouble) for x in given])
        np.testing.assert_allclose(kernel(*given).astype(float), truth.astype(float), rtol=1e-11, atol=1e-11)


@dataclass(frozen=True)
class Thread(on.Revolute):
    """A hinge that also climbs along its axis: what a hinge says of inertia is not true of it."""

    def transform(self, q: Any) -> Transform:
        return Transform(About(2, cos(q[0]), sin(q[0])), (0.0, 0.0, 0.1 * q[0]))

    def subspace(self, q: Any) -> Columns:
        return Columns((Motion((0.0, 0.0, 1.0), (0.0, 0.0, 0.1)),))


def test_a_joint_that_moves_otherwise_does_not_inherit_what_it_does_not_feel() -> None:
    builder = on.Builder("screwed").body("base")
    body = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0.2, 0.3)}
    builder.body("one", parent="base", joint=on.Revolute((0, 1, 0)), **body)
    builder.body("two", parent="one", joint=Thread(), at=(0.3, 0, 0), **body)
    robot = builder.build()
    np.testing.assert_array_equal(regrouped(robot.tables)[1, INERTIA], robot.tables.rows[1, INERTIA])
    q, v, tau = random_state(robot, 0, (4,))
    a = robot.kernel("forward_dynamics", way="unrolled")(q, v, tau)
    np.testing.assert_allclose(robot.kernel("inverse_dynamics", way="interpreted")(q, v, a), tau, atol=1e-12)
