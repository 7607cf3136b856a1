"""Changing a robot: parts replaced by hand, a builder from a robot, joints that are locked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ordern as on
from tests.random_models import random_robot, random_state
from tests.tolerances import ROUNDING, assert_close


@pytest.fixture(scope="module")
def robot() -> on.Robot:
    return random_robot(1, 5, (on.Revolute, on.Prismatic, on.Spherical, on.Revolute, on.Free))


def changed(robot: on.Robot, **fields: object) -> on.Robot:
    """The robot with its first joint changed."""
    return replace(robot, joints=(replace(robot.joints[0], **fields), *robot.joints[1:]))


class TestReplacedByHand:
    def test_one_number_stands_for_each_freedom(self, robot: on.Robot) -> None:
        joint = next(c for c in robot.joints if c.nv == 3)
        assert replace(joint, armature=0.1).armature == (0.1, 0.1, 0.1)
        assert replace(joint, armature=np.array([1, 2, 3])).armature == (1.0, 2.0, 3.0)

    def test_gravity_as_an_array(self, robot: on.Robot) -> None:
        assert replace(robot, gravity=np.array([0, 0, -1])).gravity == (0.0, 0.0, -1.0)
        assert replace(robot, gravity=np.array(robot.gravity)) == robot

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda r: replace(r, gravity=(0, 0)), "gravity must be 3 finite numbers, not"),
            (lambda r: replace(r.bodies[0], mass=-1.0), "has mass -1"),
            (lambda r: replace(r.bodies[0], com=(1, 2)), "com must be one number or 3, not 2"),
            (lambda r: replace(r.bodies[0], inertia=(1, 2, float("nan"), 0, 0, 0)), "inertia is not a number"),
            (lambda r: changed(r, armature=-1.0), "armature must be finite and not below zero"),
            (
                lambda r: changed(r, damping="x"),
                "damping must be one number, not 'x'|damping must be . numbers, not 'x'",
            ),
            (lambda r: changed(r, type=3), "its type must be a joint"),
            (lambda r: changed(r, parent=3), "parents come before their children"),
            (lambda r: replace(r, joints=r.joints[:3]), "has 5 bodies and 3 joints"),
            (lambda r: replace(r, bodies=(r.bodies[0],) * 5), "has several of the name .*; every body needs one"),
            (
                lambda r: replace(r, frames=(*r.frames, on.Frame("x", 99))),
                "frame 'x' is on body 99, but .* has 5 bodies",
            ),
            (lambda r: replace(r, frames=[1]), "its frames must be of type Frame, but one is 1"),
            (lambda r: replace(r, snap="x"), "snap must be one number, not 'x'"),
            (lambda r: changed(r, lower=2.0, upper=1.0), "its lower limit 2 is above its upper limit 1"),
            (lambda r: on.Frame("x", 2.0), "frame 'x': body must be the index of a body, not 2.0"),
            (lambda r: on.Frame("x", 0, (1, 2, 3)), "frame 'x': placement must be a Placement"),
            (
                lambda r: replace(r, joints=(replace(r.joints[0], q_start=4), *r.joints[1:])),
                "use `robot.builder\\(\\)`",
            ),
        ],
    )
    def test_what_cannot_be(self, robot: on.Robot, change, message: str) -> None:
        with pytest.raises(on.ModelError, match=message):
            change(robot)


class TestBuilderOfARobot:
    @pytest.mark.parametrize("seed", range(4))
    def test_builds_the_same_again(self, seed: int) -> None:
        one = random_robot(seed, 8, mimic=seed % 2 == 0, passive=True, floating=seed == 3)
        again = one.builder().build(snap=one.snap)
        assert (again.bodies, again.joints, again.base) == (one.bodies, one.joints, one.base)
        assert set(again.frames) == set(one.frames)  # those of merged bodies come last

    def test_keeps_what_a_file_has(self) -> None:
        one = on.load("puma560")
        again = one.builder().build()
        assert again.digest == one.digest
        assert again.notes == one.notes

    def test_more_can_be_added(self, robot: on.Robot) -> None:
        more = robot.builder().body("tip", parent=robot.bodies[-1].name, joint=on.Revolute(), mass=1.0).build()
        assert more.nv == robot.nv + 1


class TestLock:
    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(3))
    def test_a_locked_joint_does_not_move(self, seed: int) -> None:
        robot = random_robot(seed, 6)
        q, v, a = random_state(robot, seed)
        locked = robot.joints[2]
        less = robot.lock(at={locked.name: q[locked.q]})
        keep_q = np.setdiff1d(np.arange(robot.nq), np.arange(robot.nq)[locked.q])
        keep = np.setdiff1d(np.arange(robot.nv), np.arange(robot.nv)[locked.v])
        v[locked.v] = a[locked.v] = 0.0
        assert_close(less.pose(q[keep_q], "tool"), robot.pose(q, "tool"), ROUNDING)
        assert_close(
            less.inverse_dynamics(q[keep_q], v[keep], a[keep]), robot.inverse_dynamics(q, v, a)[keep], ROUNDING
        )

    def test_at_the_neutral_position(self) -> None:
        robot = on.load("puma560")
        assert robot.lock("waist").nv == 5
        assert "waist" in {f.name for f in robot.lock("waist").frames}

    def test_followers_are_locked_too(self) -> None:
        builder = on.Builder().body("base")
        for k, mimic in enumerate((None, ("j0", 2.0, 0.5))):
            builder.body(f"b{k}", parent="base", joint=on.Revolute(), joint_name=f"j{k}", mass=1.0, mimic=mimic)
        builder.body("b2", parent="base", joint=on.Revolute(), mass=1.0)
        robot = builder.build().lock(at={"j0": 0.2})
        assert robot.nv == 1
        R = robot.pose([0.0], "b1")
        assert_close(np.arctan2(R[1, 0], R[0, 0]), 0.9, ROUNDING)

    def test_an_unknown_joint(self) -> None:
        with pytest.raises(on.UnknownNameError, match="unknown joint 'joint9'"):
            on.load("puma560").lock("joint9")


class TestPlacement:
    def test_arrays_become_numbers_that_do_not_change(self) -> None:
        p = np.array([1.0, 0.0, 0.0])
        at = on.Placement(np.eye(3).ravel(), p)  # type: ignore[arg-type]
        p[0] = 5.0
        assert at == on.Placement(position=(1.0, 0.0, 0.0))
        assert hash(at) == hash(on.Placement(position=(1.0, 0.0, 0.0)))

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"position": (np.nan, 0, 0)}, "joint 'b_joint': a placement must be finite"),
            ({"rotation": (2, 0, 0, 0, 1, 0, 0, 0, 1)}, "joint 'b_joint': not a rotation matrix"),
            ({"rotation": (1, 0, 0, 0, 1, 0, 0, 0, -1)}, "joint 'b_joint': not a rotation matrix"),
            ({"rotation": (0, 0, 0)}, "the rotation of a placement must be 9 numbers in a row"),
            ({"position": "abc"}, "the position of a placement must be 3 numbers in a row"),
        ],
    )
    def test_what_cannot_be(self, given: dict[str, tuple[float, ...]], message: str) -> None:
        with pytest.raises(on.ModelError, match=message):
            on.Builder("x").body("a").body("b", parent="a", joint=on.Revolute((0, 0, 1)), at=on.Placement(**given))


def test_sizes_of_random_positions(robot: on.Robot) -> None:
    assert robot.random(0, np.int64(3)).shape == (3, robot.nq)
    assert robot.random(0, (np.int8(2), 1)).shape == (2, 1, robot.nq)
    with pytest.raises(on.ArgumentError, match="a shape is a whole number or several, not 'x'"):
        robot.random(0, "x")  # type: ignore[arg-type]
    with pytest.raises(on.ArgumentError, match="no negative numbers; got -1"):
        robot.random(0, -1)


@pytest.mark.parametrize("joint", [on.Revolute(), on.Prismatic(), on.Planar(), on.RollingDisc(), on.Free()])
@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (0.0, -0.0),
        (-0.0, 0.0),
        (2.0, 2.0),
        (-1e308, 1e308),
        (-1.7e308, 1.7e308),
        (1e308, 1.7e308),
        (-np.inf, -1.2),
        (-np.inf, -1.7e308),
        (1e308, np.inf),
        (-1e16, 1e16),
        (0.0, 1e16),
        (1e6, 1e6 + 1.0),
    ],
)
def test_random_positions_are_within_any_limits(joint: on.Joint, lower: float, upper: float) -> None:
    limits = {"lower": (lower,) * joint.nq, "upper": (upper,) * joint.nq}
    robot = on.Builder("one").body("ground").body("b", parent="ground", joint=joint, mass=1.0, **limits).build()
    q = robot.random(0, 50)[:, 4 if isinstance(joint, on.Free) else 0 :]  # a quaternion has no limits
    assert np.isfinite(q).all() and (q >= lower).all() and (q <= upper).all()
    if lower == -upper != 0.0:
        assert (q < 0.0).any() and (q > 0.0).any()
    assert np.abs(q - np.clip(0.0, lower, upper)).max() <= 2.0 * np.pi  # no angle so large that it has no sine
