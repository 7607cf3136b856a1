"""Joints from outside the library whose velocities are along directions that turn, with an armature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import ordern as on
from ordern.graph import atan2, cos, sin
from ordern.joints.limitable import directions_turn
from ordern.spatial import About, Chain, Freedoms, Transform, Units
from tests.random_models import ALL_JOINTS, random_joint
from tests.tolerances import ROUNDING, assert_close


@dataclass(frozen=True)
class Ball(on.Joint):
    """A spherical joint, without what an armature needs."""

    nq: ClassVar[int] = 4
    nv: ClassVar[int] = 3
    like: ClassVar[on.Joint] = on.Spherical()

    def transform(self, q: Freedoms) -> Any:
        return self.like.transform(q)

    def subspace(self, q: Freedoms) -> Any:
        return Units((0, 1, 2))

    def integrate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        return self.like.integrate(q, v)

    def difference(self, q0: Freedoms, q1: Freedoms) -> Freedoms:
        return self.like.difference(q0, q1)

    def neutral(self) -> tuple[float, ...]:
        return (1.0, 0.0, 0.0, 0.0)

    def random(self, rng: Any, shape: Any, lower: Any, upper: Any) -> Any:
        return self.like.random(rng, shape, lower, upper)


@dataclass(frozen=True)
class TurningBall(Ball):
    """The same, with it."""

    def gyration(self, q: Freedoms, v: Freedoms, h: Freedoms) -> Freedoms:
        return self.like.gyration(q, v, h)


@dataclass(frozen=True)
class TwoPointers(on.Joint):
    """A turn and a slide, the turn as cosine and sine: no plain numbers, but velocities are rates of an angle."""

    nq: ClassVar[int] = 3
    nv: ClassVar[int] = 2

    def transform(self, q: Freedoms) -> Any:
        return Chain((Transform(About(2, q[0], q[1]), (0.0, 0.0, q[2])),))

    def subspace(self, q: Freedoms) -> Any:
        return Units((2, 5))

    def integrate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        angle = atan2(q[1], q[0]) + v[0]
        return Freedoms((cos(angle), sin(angle), q[2] + v[1]))

    def difference(self, q0: Freedoms, q1: Freedoms) -> Freedoms:
        return Freedoms((atan2(q1[1], q1[0]) - atan2(q0[1], q0[0]), q1[2] - q0[2]))

    def neutral(self) -> tuple[float, ...]:
        return (1.0, 0.0, 0.0)


def robot(joint: on.Joint, armature: Any) -> on.Robot:
    b = on.Builder("one").body("ground")
    return b.body("b", parent="ground", joint=joint, armature=armature, mass=1.0, com=(0.1, 0.2, 0.3),
                  inertia=(1.0, 2.0, 2.5)).build()  # fmt: skip


@pytest.mark.parametrize("joint", [Ball(), on.Composite((on.Revolute((0, 0, 1)), Ball()))])
def test_an_armature_without_gyration_is_refused(joint: on.Joint) -> None:
    n = joint.nv
    with pytest.raises(on.ModelError, match=r"joint 'b.*armature.*class Ball does not define.*`gyration\(q, v, h\)`"):
        robot(joint, [1.0] * n).forward_dynamics(np.zeros(joint.nq), np.zeros(n), np.zeros(n))
    assert robot(joint, [0.0] * n).nv == n


def test_with_gyration_it_is_the_librarys_own() -> None:
    mine, theirs = robot(TurningBall(), (1.0, 2.0, 3.0)), robot(on.Spherical(), (1.0, 2.0, 3.0))
    rng = np.random.default_rng(1)
    q, v, tau = theirs.random(rng), rng.normal(size=3), rng.normal(size=3)
    assert_close(mine.forward_dynamics(q, v, tau), theirs.forward_dynamics(q, v, tau), ROUNDING)


def test_velocities_that_are_rates_need_none() -> None:
    one, other = robot(TwoPointers(), (1.0, 2.0)), robot(on.Cylindrical((0, 0, 1)), (1.0, 2.0))
    v, tau = np.array([0.3, 0.5]), np.array([0.7, -0.2])
    q = np.array([np.cos(0.4), np.sin(0.4), 0.2])
    assert_close(one.forward_dynamics(q, v, tau), other.forward_dynamics([0.4, 0.2], v, tau), ROUNDING)


@pytest.mark.parametrize("kind", ALL_JOINTS, ids=lambda t: t.__name__)
def test_it_is_found_for_exactly_the_joints_that_have_gyration(kind: type[on.Joint]) -> None:
    for joint, _ in random_joint(kind, np.random.default_rng(0)).serial_parts():
        assert directions_turn(joint) == (type(joint).gyration is not on.Joint.gyration)
