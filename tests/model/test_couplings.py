"""Joints that follow others: everything is that of the free robot with the dependent coordinates eliminated."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from tests.random_models import random_robot, random_state
from tests.tolerances import INVERSION, ROUNDING, assert_close

JOINTS = (on.Revolute, on.Prismatic, on.Spherical, on.Helical)
WAYS = ("interpreted", "unrolled", "rolled")


class Both:
    """A robot with couplings, and the same with all joints free."""

    def __init__(self, seed: int, **options: bool) -> None:
        self.robot = random_robot(seed, 9, JOINTS, mimic=True, **options)
        free = random_robot(seed, 9, JOINTS, mimic=True, **options)
        # the same parts, with nothing that follows
        self.free = _freed(free)
        self.E = np.zeros((self.free.nv, self.robot.nv))
        for c, d in zip(self.robot.joints, self.free.joints, strict=True):
            self.E[d.v, c.v] = np.eye(d.nv) * (c.mimic.ratio if c.mimic else 1.0)

    def positions(self, q: np.ndarray) -> np.ndarray:
        out = np.empty((*q.shape[:-1], self.free.nq))
        for c, d in zip(self.robot.joints, self.free.joints, strict=True):
            out[..., d.q] = c.mimic.ratio * q[..., c.q] + c.mimic.offset if c.mimic else q[..., c.q]
        return out


def _freed(robot: on.Robot) -> on.Robot:
    from dataclasses import replace

    joints, q, v = [], 0, 0
    for c in robot.joints:
        joints.append(replace(c, mimic=None, q_start=q, v_start=v))
        q, v = q + c.type.nq, v + c.type.nv
    return on.Robot.of(replace(on.Model(**robot.__getstate__()), joints=tuple(joints)))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(3))
def test_everything(seed: int, way: str) -> None:
    both = Both(seed, floating=seed == 1, armature=seed == 2, passive=True)
    robot, free, E = both.robot, both.free, both.E
    assert free.nv - robot.nv >= 2
    q, v, a = random_state(robot, seed, (3,))
    Q, V, A = both.positions(q), v @ E.T, a @ E.T

    def of_free(question: str, *given: np.ndarray, present: tuple[str, ...] = (), **options: str) -> np.ndarray:
        return free.kernel(question, present=present, way="interpreted", **options)(*given)

    def ask(question: str, *given: np.ndarray, present: tuple[str, ...] = (), **options: str) -> np.ndarray:
        return robot.kernel(question, present=present, way=way, **options)(*given)

    f = np.random.default_rng(0).normal(size=(3, len(robot.bodies), 6))
    M = E.T @ of_free("mass_matrix", Q) @ E
    assert_close(ask("mass_matrix", q), M, ROUNDING)
    pushed = of_free("inverse_dynamics", Q, V, A, f, present=("external",)) @ E
    assert_close(ask("inverse_dynamics", q, v, a, f, present=("external",)), pushed, ROUNDING)
    assert_close(ask("gravity_force", q), of_free("gravity_force", Q) @ E, ROUNDING)
    bias = of_free("bias_force", Q, V, f, present=("external",)) @ E
    expected = np.linalg.solve(M, (a - bias)[..., None])[..., 0]
    assert_close(ask("forward_dynamics", q, v, a, f, present=("external",)), expected, INVERSION)
    assert_close(ask("passive_force", q, v, np.array(0.1)), of_free("passive_force", Q, V, np.array(0.1)) @ E, ROUNDING)
    assert_close(ask("kinetic_energy", q, v), of_free("kinetic_energy", Q, V), ROUNDING)
    assert_close(ask("potential_energy", q), of_free("potential_energy", Q), ROUNDING)
    assert_close(ask("pose", q, frame="tool"), of_free("pose", Q, frame="tool"), ROUNDING)
    assert_close(
        ask("velocity", q, v, frame="tool", axes="world"),
        of_free("velocity", Q, V, frame="tool", axes="world"),
        ROUNDING,
    )
    assert_close(
        ask("jacobian", q, frame="tool", axes="frame"), of_free("jacobian", Q, frame="tool", axes="frame") @ E, ROUNDING
    )
    assert_close(
        both.positions(ask("integrate", q, v, np.array(0.3))), of_free("integrate", Q, V, np.array(0.3)), ROUNDING
    )
    q1 = robot.random(1, (3,))
    assert_close(ask("difference", q, q1) @ E.T, of_free("difference", Q, both.positions(q1)), ROUNDING)


def arm(**mimic: object) -> on.Builder:
    builder = on.Builder("arm").body("base")
    for k in range(3):
        name = f"j{k}"
        more = {"mimic": mimic[name]} if name in mimic else {}
        builder.body(
            f"b{k}", parent="base" if k == 0 else f"b{k - 1}", joint=on.Revolute(), joint_name=name, mass=1.0, **more
        )
    return builder


def test_followers_of_followers_follow_the_first() -> None:
    robot = arm(j1=("j0", 2.0, 0.5), j2=("j1", -3.0, 1.0)).build()
    assert (robot.nq, robot.nv) == (1, 1)
    assert robot.joint("j2").mimic == on.Mimic(0, -6.0, -0.5)
    assert robot.joint("j2").q == slice(0, 1)
    angle = robot.pose([0.1], "b2")
    assert_close(np.arctan2(angle[1, 0], angle[0, 0]), 0.1 + 0.7 - 1.1, ROUNDING)


def test_a_follower_may_come_before_its_leader() -> None:
    robot = arm(j0="j2").build()
    assert robot.nq == 2
    assert robot.joint("j0").q == robot.joint("j2").q


@pytest.mark.parametrize(
    ("mimic", "message"),
    [
        ({"j0": "j0"}, "joint 'j0' follows itself"),
        ({"j0": "j1", "j1": "j0"}, "joint 'j0' follows itself, by way of"),
        ({"j0": "j9"}, "joint 'j0' follows an unknown joint 'j9'"),
        ({"j0": ("j1", float("inf"), 0)}, "ratio and offset of mimic must be finite"),
        ({"j0": 3}, "mimic is the name of a joint or"),
    ],
)
def test_couplings_that_cannot_be(mimic: dict, message: str) -> None:
    with pytest.raises(on.ModelError, match=message):
        arm(**mimic).build()


def test_joints_with_several_coordinates_follow_none() -> None:
    builder = on.Builder().body("base").body("a", parent="base", joint=on.Revolute(), joint_name="a")
    with pytest.raises(on.ModelError, match="must have exactly one coordinate"):
        builder.body("b", parent="a", joint=on.Spherical(), mimic="a")


def test_massless_followers_follow() -> None:
    robot = (
        on.Builder().body("base").body("a", parent="base", joint=on.Revolute(), joint_name="lead", inertia=(1, 1, 2))
    )
    robot = robot.body("b", parent="base", joint=on.Revolute(), joint_name="follow", mimic="lead").build()
    assert_close(robot.forward_dynamics([0.0], [0.0], [3.0]), [1.5], ROUNDING)


def test_equal_but_for_a_ratio() -> None:
    one, other = (arm(j1=("j0", r, 0.0)).build() for r in (1.0, 2.0))
    assert one != other
    assert one.digest != other.digest
