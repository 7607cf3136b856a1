"""Static geometry of a scene: moving bodies touch tables and stairs by the rules of the file, unless told otherwise."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from ordern.io.warnings import ModelWarning

from .test_file_rules import SCENE, of_mujoco

BALL = (
    '<body name="ball" pos="0 0 1"><freejoint/><geom name="ball" size="0.1" friction="0.5"/><site name="top"/></body>'
)
TABLE = '<geom name="table" type="box" size="0.5 0.5 0.2" pos="0 0 0.2"/>'
FLOOR = '<geom name="floor" type="plane" size="0 0 1"/>'


def scene(*parts: str) -> on.Robot:
    return on.load(f"<mujoco><worldbody>{''.join(parts)}</worldbody></mujoco>")


def names(robot: on.Robot) -> list[str]:
    assert robot.contacts is not None
    return [c.name for c in robot.contacts.pairs]


@pytest.mark.parametrize("ground", [None, on.Ground(0.5)])
def test_a_ball_rests_on_a_table_by_default(ground: on.Ground | None) -> None:
    robot = scene(FLOOR, TABLE, BALL).with_contacts(ground)
    assert names(robot) == ["ball", "ball - table"]
    run = robot.rollout([1, 0, 0, 0, 0, 0, 0.55], np.zeros(6), steps=500, dt=2e-3)
    assert run.q[-1, 6] == pytest.approx(0.5, abs=1e-9)  # the top is at 0.4, its radius is 0.1
    assert not run.uncertified.any()


def test_tables_need_no_ground() -> None:
    assert names(scene(TABLE, BALL).with_contacts()) == ["ball - table"]
    assert names(scene(TABLE, BALL).with_contacts(bodies=["ball"])) == ["ball - table"]


@pytest.mark.needs("mujoco")
def test_moving_bodies_touch_what_mujoco_lets_them_touch() -> None:
    text = SCENE.format(filter="enable", floor=0)
    found = {
        frozenset(n.split(" - ")) if " - " in n else frozenset([n, "floor"])
        for n in names(on.load(text).with_contacts())
    }
    assert found == {pair for pair in of_mujoco(text) if pair & {"floor", "post"}}


def test_stairs_keep_all_their_boxes() -> None:
    stairs = [f'<geom name="s{k}" type="box" size="0.2 1 0.1" pos="{0.4 * k} 0 {0.2 * k}"/>' for k in range(20)]
    ghost = '<geom name="ghost" type="box" size="1 1 1" contype="0" conaffinity="0" group="1"/>'
    assert names(scene(FLOOR, ghost, *stairs, BALL).with_contacts()) == ["ball", *(f"ball - s{k}" for k in range(20))]
    with pytest.raises(ArgumentError, match=r"'mujoco' has 300 contacts with 300 static shapes.*scene=False"):
        scene(*(f'<geom type="box" size="1 1 1" pos="{k} 0 0"/>' for k in range(300)), BALL).with_contacts()


def test_points_are_told_about_static_geometry() -> None:
    robot = scene(FLOOR, TABLE, BALL)
    with pytest.warns(on.ModelWarning, match=r"pass through 1 static shapes of its file \('table'\): give scene=True"):
        assert names(robot.with_contacts(points=["top"])) == ["top"]
    with_table = robot.with_contacts(points={"top": 0.1}, scene=True)
    assert names(with_table) == ["top", "top - table"]
    run = with_table.rollout([1, 0, 0, 0, 0, 0, 0.55], np.zeros(6), steps=500, dt=2e-3)
    assert run.q[-1, 6] == pytest.approx(0.5, abs=1e-9)


def test_static_shapes_that_cannot_touch_are_named() -> None:
    vase = '<geom name="vase" type="ellipsoid" size="0.1 0.1 0.3"/>'
    robot = scene(FLOOR, vase, BALL)
    for given in ({}, {"points": ["top"], "scene": True}):
        with pytest.raises(ArgumentError, match=r"shape 'vase' is an ellipsoid, which cannot touch .*scene=False"):
            robot.with_contacts(**given)  # type: ignore[arg-type]
    assert names(robot.with_contacts(scene=False)) == ["ball"]


def test_a_free_body_touches_the_table_of_a_scene_without_rules() -> None:
    scene = on.Builder("room").body("table").body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
    scene.shape("table", "box", (1.0, 1.0, 0.1), role="collision").shape("ball", "sphere", (0.1,), role="collision")
    robot = scene.joint("free", on.Free(), "table", "ball").build().with_contacts(on.Ground(height=-1.0))
    run = robot.rollout([1, 0, 0, 0, 0, 0, 0.2], np.zeros(6), steps=500, dt=2e-3)
    assert run.q[-1, 6] == pytest.approx(0.15, abs=1e-6)


MJCF_PLANE = """<mujoco><worldbody><geom type="plane" size="5 5 .1" friction="1"/><body pos="0 0 .05"><freejoint/>
<geom type="box" size=".05 .05 .05" mass="1"/></body></worldbody></mujoco>"""


def test_given_coefficients_override_those_of_the_plane_of_a_file() -> None:
    robot = on.load(MJCF_PLANE).with_contacts(friction=0.05, restitution=0.3)
    assert {(c.friction, c.restitution) for c in robot.contacts.pairs} == {(0.05, 0.3)}
    assert {c.friction for c in on.load(MJCF_PLANE).with_contacts().contacts.pairs} == {1.0}


def test_coefficients_that_nothing_would_use_are_refused() -> None:
    robot = on.load(MJCF_PLANE)
    for given in ({"friction": 0.1}, {"restitution": 0.5}):
        with pytest.raises(on.ArgumentError, match="your own ground"):
            robot.with_contacts(on.Ground(0.5), **given)
    with pytest.raises(on.ArgumentError, match="requires limits='bounce'"):
        robot.rollout(robot.neutral(), np.zeros(6), steps=1, restitution=0.5)


def test_free_bodies_that_pass_through_each_other_are_named() -> None:
    scene = on.Builder("room").body("floor")
    for name in ("one", "two"):
        scene.body(name, mass=1.0, inertia=(0.004, 0.004, 0.004)).shape(name, "sphere", (0.1,), role="collision")
        scene.joint(f"free {name}", on.Free(), "floor", name)
    with pytest.warns(ModelWarning, match="two - one|one - two"):
        scene.build().with_contacts(on.Ground(0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scene.build().with_contacts(on.Ground(0.5), self_collision=True)
