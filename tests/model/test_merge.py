"""Bodies behind fixed joints: merged into their parents or kept, the robot moves the same."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

import ordern as on
from ordern.model.json_form import from_plain, to_plain
from tests.random_models import random_robot, random_state
from tests.tolerances import EXACT, ROUNDING, assert_close

JOINTS = (on.Revolute, on.Fixed, on.Spherical, on.Fixed, on.Prismatic)


@pytest.fixture(scope="module", params=[(0, False), (1, True), (2, True)], ids=["fixed", "floating", "another"])
def pair(request) -> tuple[on.Robot, on.Robot]:
    seed, floating = request.param
    return tuple(random_robot(seed, n=9, joints=JOINTS, floating=floating, merge=merge) for merge in (True, False))


def test_only_moving_bodies_are_left(pair) -> None:
    merged, kept = pair
    assert (merged.nq, merged.nv) == (kept.nq, kept.nv)
    assert len(merged.bodies) < len(kept.bodies)
    assert not any(isinstance(c.type, on.Fixed) for c in merged.joints)
    assert sum(isinstance(c.type, on.Fixed) for c in kept.joints) == len(kept.bodies) - len(merged.bodies)


def test_frames_are_kept(pair) -> None:
    """Of bodies and by name, and merged joints give theirs."""
    merged, kept = pair
    names = {f.name for f in merged.frames}
    assert names >= {f.name for f in kept.frames}
    assert names >= {c.name for c in kept.joints if isinstance(c.type, on.Fixed)}
    q, _, _ = random_state(kept, 0, (4,))
    for f in kept.frames:
        wanted = kept.kernel("pose", way="interpreted", frame=f.name)(q)
        assert_close(merged.kernel("pose", way="interpreted", frame=f.name)(q), wanted, ROUNDING)


def test_dynamics_are_the_same(pair) -> None:
    q, v, a = random_state(pair[1], 1, (10,))
    for question, arguments in (
        ("inverse_dynamics", (q, v, a)),
        ("forward_dynamics", (q, v, a)),
        ("mass_matrix", (q,)),
        ("kinetic_energy", (q, v)),
    ):
        merged, kept = (robot.kernel(question, way="interpreted")(*arguments) for robot in pair)
        assert_close(merged, kept, ROUNDING)
    merged, kept = (robot.kernel("potential_energy", way="interpreted")(q) for robot in pair)
    assert_close(merged - merged[0], kept - kept[0], ROUNDING)


@pytest.mark.parametrize("way", ["unrolled", "rolled"])
def test_joints_without_freedom_compile(way) -> None:
    robot = random_robot(3, n=5, joints=JOINTS, merge=False)
    q, v, a = random_state(robot, 3, (10,))
    tau = robot.kernel("inverse_dynamics", way="interpreted")(q, v, a)
    assert_close(robot.kernel("inverse_dynamics", way=way)(q, v, a), tau, ROUNDING)
    assert_close(robot.kernel("forward_dynamics", way=way)(q, v, tau), a, ROUNDING)


def test_forces_on_merged_bodies(pair) -> None:
    """Given by the names of bodies that are no more."""
    merged, kept = pair
    q, v, a = random_state(kept, 2, (5,))
    rng = np.random.default_rng(0)
    external = {b.name: rng.normal(size=6) for b in kept.bodies}
    asked = {"present": ("external",), "way": "interpreted"}
    wanted = kept.kernel("inverse_dynamics", **asked)(q, v, a, np.array([external[b.name] for b in kept.bodies]))
    assert_close(merged.inverse_dynamics(q, v, a, external=external), wanted, ROUNDING)


def test_mass_centre_and_inertia_of_the_whole() -> None:
    """Two equal spheres on a stick: the closed form."""
    m, r, d = 2.0, 0.1, 0.5
    ball = 0.4 * m * r * r
    robot = (
        on.Builder("dumb-bell")
        .body("base")
        .body("left", parent="base", joint=on.Free(), mass=m, inertia=(ball,) * 3)
        .body("right", parent="left", joint=on.Fixed(), at=((0, d, 0), (0.3, 0.2, 0.1)), mass=m, inertia=(ball,) * 3)
        .build()
    )
    assert robot.mass == 2 * m
    (body,) = robot.bodies
    assert body.name == "left"
    assert_close(body.com, (0.0, d / 2, 0.0), ROUNDING)
    about = 2 * ball + 2 * m * (d / 2) ** 2
    assert_close(body.inertia_matrix, np.diag([about, 2 * ball, about]), ROUNDING)


def test_a_chain_of_fixed_joints() -> None:
    builder = on.Builder("stack").body("base").body("a", parent="base", joint=on.Revolute(), mass=1.0)
    for child, parent in (("b", "a"), ("c", "b"), ("d", "c")):
        builder.body(child, parent=parent, joint=on.Fixed(), at=(0, 0, 1), mass=1.0)
    builder.frame("tip", "d", at=(0, 0, 1))
    robot = builder.build()
    assert robot.body("a").mass == 4.0
    assert robot.frame("tip").placement.position == (0.0, 0.0, 4.0)
    assert_close(robot.body("a").com, (0.0, 0.0, 1.5), ROUNDING)


def test_what_is_fixed_to_the_ground_does_not_move() -> None:
    robot = (
        on.Builder("post")
        .body("base", mass=100.0)
        .body("post", parent="base", joint=on.Fixed(), at=(0, 0, 2), mass=50.0)
        .body("arm", parent="post", joint=on.Revolute((1, 0, 0)), at=(0, 0, 1), mass=1.0, inertia=(1, 1, 1))
        .build()
    )
    assert robot.mass == 1.0
    assert robot.frame("post").body == -1
    assert_close(robot.pose([0.0], "arm")[:3, 3], (0.0, 0.0, 3.0), ROUNDING)
    assert_close(robot.pose([0.0], "post")[:3, 3], (0.0, 0.0, 2.0), ROUNDING)


def test_nothing_moves() -> None:
    """A robot without freedoms is one, too."""
    robot = on.Builder("rock").body("base").body("a", parent="base", joint=on.Fixed(), at=(1, 0, 0), mass=1.0).build()
    assert (robot.nq, robot.nv, robot.bodies) == (0, 0, ())
    assert robot.inverse_dynamics([], [], []).shape == (0,)
    assert robot.mass_matrix(np.zeros((3, 0))).shape == (3, 0, 0)
    assert_close(robot.pose([], "a")[:3, 3], (1.0, 0.0, 0.0), ROUNDING)


class TestLinks:
    """A model knows the links that were merged, by name, in all robots that are made of it."""

    def arm(self) -> on.Robot:
        box, thin = (0.01, 0.02, 0.015), (0.001, 0.002, 0.0015)
        return (
            on.Builder("arm")
            .body("base", mass=5.0)
            .body("post", parent="base", joint=on.Fixed(), at=(0, 0, 1), mass=1.0)
            .body("a", parent="post", joint=on.Revolute((0, 1, 0)), mass=2.0, com=(0.1, 0, 0.2), inertia=box)
            .body("b", parent="a", joint=on.Revolute((0, 1, 0)), at=(0, 0, 1), mass=1.0, inertia=box)
            .body("hand", parent="b", joint=on.Fixed(), at=((0, 0.1, 0.3), (0.4, 0, 0)), mass=0.5, inertia=thin)
            .body("pad", parent="hand", joint=on.Fixed(), at=(0.1, 0, 0), mass=0.1, com=(0, 0, 0.01))
            .build()
        )

    def test_are_kept_in_their_own_frames(self) -> None:
        arm = self.arm()
        assert [(link.name, link.body) for link in arm.links] == [
            *(("base", -1), ("post", -1), ("b", 1), ("hand", 1), ("pad", 1))
        ]
        hand = arm.links[3]
        assert (hand.own.mass, hand.own.inertia) == (0.5, (0.001, 0.002, 0.0015, 0.0, 0.0, 0.0))
        assert (hand.joint, arm.links[2].joint) == ("hand_joint", "")
        assert hand.placement == arm.frame("hand").placement
        assert (hand.mass, hand.com, hand.inertia) == (hand.own.mass, hand.own.com, hand.own.inertia)
        assert sum(link.own.mass for link in arm.links if link.body == 1) == arm.body("b").mass

    @pytest.mark.parametrize("again", ["builder", "locked", "attached", "pickled", "json"])
    def test_are_kept_in_robots_of_robots(self, again: str) -> None:
        arm = self.arm()
        made = {
            "builder": lambda: arm.builder().build(),
            "locked": lambda: arm.lock("b_joint"),
            "attached": lambda: on.Builder("cart").body("cart").attach(arm, "cart", prefix="my ").build(),
            "pickled": lambda: pickle.loads(pickle.dumps(arm)),
            "json": lambda: from_plain(json.loads(json.dumps(to_plain(arm))), on.Robot),
        }[again]()
        before = "my " if again == "attached" else ""
        found = {link.name: link for link in made.links}
        for link in arm.links[2:]:
            same = found[before + link.name]
            assert (same.own.mass, same.own.com, same.own.inertia) == (link.own.mass, link.own.com, link.own.inertia)
            assert same.joint == (before + link.joint if link.joint else "b_joint" * (again == "locked"))
            assert_close(same.placement.matrix, made.frame(before + link.name).placement.matrix, EXACT)
        if again == "locked":
            assert [link.name for link in made.links if link.body == 0] == ["a", "b", "hand", "pad"]
        if again in ("pickled", "json"):
            assert made.links == arm.links

    def test_a_link_is_on_a_body(self) -> None:
        arm = self.arm()
        with pytest.raises(on.ModelError, match="link 'hand' is on body 7, but 'arm' has 2 bodies"):
            replace(arm, links=(replace(arm.links[3], body=7),))
