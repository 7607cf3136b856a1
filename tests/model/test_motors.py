"""Which joints have motors: what a builder is told, what is usual, and what survives changes of a robot."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.model.json_form import from_plain, to_plain

BALL = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}


def legs(name: str = "legs", *, said: dict[str, bool] | None = None, **options: Any) -> on.Builder:
    """A trunk that two hinges, a ball and a finger that follows are on."""
    builder = on.Builder(name, **options).body("trunk", **BALL)
    told = said or {}
    for joint, type_ in (("hip", on.Revolute()), ("ankle", on.Spherical()), ("thumb", on.Prismatic())):
        known = {"actuated": told[joint]} if joint in told else {}
        builder.body(joint + "_link", parent="trunk", joint=type_, joint_name=joint, **BALL, **known)
    return builder.body("tip", parent="thumb_link", joint=on.Prismatic(), joint_name="tip", mimic="thumb", **BALL)


def test_every_joint_but_free_ones_and_followers_by_default() -> None:
    assert legs().build().actuated == ("hip", "ankle", "thumb")
    floating = legs().build(floating=True)
    assert floating.joints[0].name == "root_joint" and floating.actuated == ("hip", "ankle", "thumb")
    assert legs().build(floating=on.Planar()).actuated == ("hip", "ankle", "thumb")
    assert legs().couple("geared", "thumb", "hip").build().actuated == ("hip", "ankle")
    inside = on.Builder().body("g").body("b", parent="g", joint=on.Composite([(on.Free(), on.Placement())]), **BALL)
    assert inside.build().actuated == ()


@pytest.mark.parametrize(
    ("listed", "said", "expected"),
    [
        (["thumb", "hip"], {}, ("hip", "thumb")),
        ([], {}, ()),
        (["tip"], {}, ("thumb",)),  # a motor at a follower drives the coordinate of its leader
        (["root_joint", "hip"], {}, ("root_joint", "hip")),
        (None, {"ankle": True}, ("ankle",)),
        (None, {"ankle": False}, ("hip", "thumb")),
        (["hip", "ankle"], {"thumb": True, "ankle": False}, ("hip", "thumb")),
    ],
)
def test_what_a_builder_is_told(listed: Any, said: dict[str, bool], expected: tuple[str, ...]) -> None:
    robot = legs(actuated=listed, said=said).build(floating=True)
    assert robot.actuated == expected
    assert pickle.loads(pickle.dumps(robot)).actuated == expected
    assert robot.builder().build().actuated == expected
    assert from_plain(to_plain(robot), on.Robot) == robot
    assert from_plain(to_plain(robot), on.Robot).actuated == expected


def test_data_of_before_says_nothing_of_motors() -> None:
    data = to_plain(legs(actuated=["hip"]).build())
    del data["motors"]
    assert from_plain(data, on.Robot).actuated == ("hip", "ankle", "thumb")


def test_what_is_added_and_what_is_locked() -> None:
    robot = legs(actuated=["hip", "ankle"]).build()
    assert robot.lock("hip").actuated == ("ankle",)
    hand = {"parent": "tip", "joint": on.Revolute(), "joint_name": "wrist", **BALL}
    assert robot.builder().body("hand", **hand).build().actuated == ("hip", "ankle")
    assert robot.builder().body("hand", **hand, actuated=True).build().actuated == ("hip", "ankle", "wrist")
    assert "wrist" in legs().build().builder().body("hand", **hand).build().actuated


def test_another_choice_shares_what_was_compiled() -> None:
    robot = legs().build()
    q, v = robot.random(0), np.ones(robot.nv)
    expected = robot.forward_dynamics(q, v, v)
    other = robot.with_actuated(["hip"])
    assert other.actuated == ("hip",) and robot.actuated == ("hip", "ankle", "thumb")
    assert other.kernel("forward_dynamics") is robot.kernel("forward_dynamics")
    assert (other.forward_dynamics(q, v, v) == expected).all()  # tau at joints without motors still acts
    assert other.with_actuated(None).actuated == robot.actuated
    assert replace(robot, motors=("thumb",)).actuated == ("thumb",)


def test_a_joint_with_a_motor_does_not_close_a_loop() -> None:
    def ring(**options: Any) -> on.Builder:
        builder = on.Builder("ring", actuated=options.pop("actuated", None)).body("ground")
        for name in ("crank", "coupler", "rocker"):
            builder.body(name, **BALL)
        builder.connect("a", on.Revolute(), "ground", "crank")
        builder.connect("b", on.Revolute(), "crank", "coupler", at=(0.2, 0, 0))
        builder.connect("d", on.Revolute(), "rocker", "coupler", at=(0.4, 0, 0), child_at=(0.5, 0, 0))
        return builder.connect("c", on.Revolute(), "ground", "rocker", at=(0.6, 0, 0), **options)

    assert [x.name for x in ring().build().loops] == ["d"]
    robot = ring(actuated=["d"]).build()
    assert robot.actuated == ("d",) and [x.name for x in robot.loops] != ["d"]
    with pytest.raises(on.ModelError, match=r"joint 'd' would close a loop.*'actuated'; let another joint"):
        ring(actuated=["a", "b", "c", "d"]).build()
    closed = ring(closes=True).build()
    with pytest.raises(on.UnknownNameError, match="'c' closes a loop, so it is not a joint of the tree"):
        closed.with_actuated(["c"])
    builder = closed.builder()
    builder.actuated = ("c",)
    with pytest.raises(on.ModelError, match="'c' closes a loop: let another joint close it"):
        builder.build()


def test_mistakes_are_named() -> None:
    robot = legs().build()
    with pytest.raises(on.UnknownNameError, match=r"unknown actuated joint 'hop' in legs\. Did you mean 'hip'"):
        robot.with_actuated(["hop"])
    with pytest.raises(on.ModelError, match=r"unknown actuated joint 'ankel' in legs\. Did you mean 'ankle'"):
        legs(actuated=["ankel"]).build()
    with pytest.raises(on.ModelError, match="must be a list of names of joints, not 'hip'"):
        legs(actuated="hip")
    with pytest.raises(on.ModelError, match="one is 3"):
        legs(actuated=[3])
    with pytest.raises(on.ModelError, match="joint 'hip': actuated must be True, False or None, not 'yes'"):
        legs(said={"hip": "yes"})  # type: ignore[dict-item]
