"""`rate` and `project`: how positions change, and how they are made positions again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import mpmath
import numpy as np
import pytest

import ordern as on
from ordern.graph import Graph
from ordern.joints import quaternion
from ordern.spatial import Freedoms, Subspace, Transform, Units
from tests.graph.evaluation import evaluate
from tests.joints.poses import MOVING, ROTATING, SEEDS, along, as_float, digits, rate, sample
from tests.random_models import ALL_JOINTS, random_robot, random_state
from tests.tolerances import EXACT, FINITE_DIFFERENCE, ROUNDING, SINGLE, assert_close

WITH_DISC = (*MOVING, on.RollingDisc)


@dataclass(frozen=True)
class OwnBall(on.Joint):
    """A user's joint with more positions than velocities, which says nothing about rates: scaled quaternions."""

    size: float = 2.0
    nq: ClassVar[int] = 4
    nv: ClassVar[int] = 3

    def _unit(self, q: Freedoms) -> tuple:
        return quaternion.normalised((q[0], q[1], q[2], q[3]))

    def transform(self, q: Freedoms) -> Transform:
        return Transform(quaternion.turn(self._unit(q)), (0.0, 0.0, 0.0))

    def subspace(self, q: Freedoms) -> Subspace:
        return Units((0, 1, 2))

    def integrate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        turned = quaternion.multiply(self._unit(q), quaternion.exponential((v[0], v[1], v[2])))
        return Freedoms(self.size * x for x in quaternion.normalised(turned))

    def difference(self, q0: Freedoms, q1: Freedoms) -> Freedoms:
        return Freedoms(quaternion.logarithm(quaternion.multiply(quaternion.inverse(self._unit(q0)), self._unit(q1))))

    def neutral(self) -> tuple[float, ...]:
        return (self.size, 0.0, 0.0, 0.0)

    def random(self, rng, shape, lower, upper):
        x = rng.normal(size=(*shape, 4))
        return self.size * x / np.linalg.norm(x, axis=-1, keepdims=True)

    @property
    def parameters(self) -> tuple[float, ...]:
        return (self.size,)

    def with_parameters(self, parameters: tuple) -> OwnBall:
        return OwnBall(*parameters)


@pytest.mark.parametrize("type", (*WITH_DISC, OwnBall), ids=lambda t: t.__name__)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_rate_is_the_derivative_of_a_step(type, seed) -> None:
    joint, q, v = sample(type, seed)
    with mpmath.workdps(60):
        q, v = digits(q), digits(v)
        wanted = rate(along(joint, q, v))
        found = joint.rate(q, v)
        assert len(found) == joint.nq
        assert_close(as_float(found), as_float(wanted), ROUNDING)


@pytest.mark.parametrize("type", WITH_DISC, ids=lambda t: t.__name__)
def test_own_formulas_are_the_general_one(type) -> None:
    """A joint's own `rate` and `project` say what the base class derives from `integrate`."""
    joint, q, v = sample(type, 1)
    assert_close(as_float(joint.rate(q, v)), as_float(on.Joint.rate(joint, q, v)), ROUNDING)
    assert_close(as_float(joint.project(q)), as_float(on.Joint.project(joint, q)), ROUNDING)


@pytest.mark.parametrize("type", (*WITH_DISC, OwnBall), ids=lambda t: t.__name__)
def test_projecting_a_position_changes_nothing(type) -> None:
    joint, q, _ = sample(type, 2)
    assert_close(as_float(joint.project(q)), as_float(q), 4 * EXACT)


@pytest.mark.parametrize("type", ROTATING, ids=lambda t: t.__name__)
def test_quaternions_become_units(type) -> None:
    joint, q, v = sample(type, 0)
    long = Freedoms((*(1.01 * x for x in q[:4]), *q[4:]))
    assert_close(as_float(joint.project(long)), as_float(q), 4 * EXACT)
    assert abs(np.dot(as_float(joint.rate(q, v))[:4], as_float(q)[:4])) < 4 * EXACT  # their length does not change


@pytest.mark.parametrize("type", (*WITH_DISC, OwnBall), ids=lambda t: t.__name__)
def test_they_trace(type) -> None:
    joint, q, v = sample(type, 0)
    graph = Graph(type.__name__)
    traced = joint.with_parameters(tuple(graph.leaf(("p", k)) for k in range(len(joint.parameters))))
    nodes = [Freedoms(graph.leaf((name, k)) for k in range(n)) for name, n in (("q", joint.nq), ("v", joint.nv))]
    values = {(name, k): x for name, xs in (("q", q), ("v", v), ("p", joint.parameters)) for k, x in enumerate(xs)}
    for found, wanted in (
        (traced.rate(*nodes), joint.rate(q, v)),
        (traced.project(nodes[0]), joint.project(q)),
    ):
        numbers = evaluate([graph.lift(x) for x in found], values)
        assert_close(as_float(numbers), as_float(wanted), ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["interpreted", "unrolled", "rolled"])
def test_of_a_robot(way) -> None:
    """By differences of steps, for every joint, with joints that follow others."""
    robot = random_robot(7, n=14, joints=ALL_JOINTS, floating=True, mimic=True)
    q, v, _ = random_state(robot, 0, (6,))
    h = 1e-5
    wanted = (robot.integrate(q, v, h) - robot.integrate(q, v, -h)) / (2 * h)
    assert_close(robot.kernel("position_rate", way=way)(q, v), wanted, FINITE_DIFFERENCE)
    assert_close(robot.kernel("normalize", way=way)(q), q, 4 * EXACT)


def test_as_functions_of_a_robot() -> None:
    robot = random_robot(8, n=6, joints=(on.Spherical, on.Planar, on.Prismatic), floating=True)
    q, v, _ = random_state(robot, 0, (2, 3))
    found, projected = robot.position_rate(q, v), robot.project(1.001 * q)
    assert found.shape == projected.shape == (2, 3, robot.nq)
    assert_close(robot.position_rate(q[0, 0], v[0, 0]), found[0, 0], EXACT)
    assert_close(robot.position_rate(q.astype(np.float32), v.astype(np.float32)), found, SINGLE)
    with pytest.raises(on.errors.ArgumentError, match=r"position_rate: argument 'v' has shape \(2,\)"):
        robot.position_rate(q, [0.0, 1.0])
