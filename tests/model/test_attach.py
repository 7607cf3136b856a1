"""Robots, tools and payloads on robots; frames in the places of bodies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ordern as on
from ordern.errors import ModelError, UnknownNameError
from tests.random_models import random_placement, random_robot, random_state
from tests.tolerances import ROUNDING, assert_close

INERTIA = (0.02, 0.03, 0.04, 0.001, -0.002, 0.003)


def gripper(**terms: object) -> on.Builder:
    """A palm with mass, two fingers, of which one follows the other, and a frame."""
    finger = {"joint": on.Prismatic((0, 1, 0)), "at": (0, 0, 0.1)}
    return (
        on.Builder("gripper")
        .body("palm", mass=0.7, com=(0.01, 0.0, 0.03), inertia=(1e-3, 2e-3, 1.5e-3))
        .body("plate", mass=0.1, parent="palm", joint=on.Fixed(), at=(0.0, 0.05, 0.0), inertia=(1e-4, 1e-4, 1e-4))
        .body("left", mass=0.05, com=(0, 0, 0.02), parent="palm", **finger, **terms)
        .body("right", mass=0.05, com=(0, 0, 0.02), parent="palm", **finger, mimic=("left_joint", -1.0, 0.0))
        .frame("tip", "palm", at=(0, 0, 0.15))
    )


def test_a_payload_adds_its_inertia() -> None:
    arm = on.load("puma560")
    place = random_placement(np.random.default_rng(0))
    loaded = arm.attach("load", to="flange", at=place, mass=2.0, com=(0.1, 0.2, 0.3), inertia=INERTIA)
    again = arm.attach(on.Body("load", 2.0, (0.1, 0.2, 0.3), INERTIA), "flange", at=place)
    q = random_state(arm, 1, (5,))[0]
    flange = arm.frame("flange")
    centre = on.Frame("c", flange.body, flange.placement @ place @ on.Placement(position=(0.1, 0.2, 0.3)))
    J, six = arm.jacobian(q, centre), np.zeros((6, 6))
    xx, yy, zz, xy, xz, yz = INERTIA
    six[:3, :3], six[3:, 3:] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], 2.0 * np.eye(3)
    assert_close(loaded.mass_matrix(q), arm.mass_matrix(q) + J.swapaxes(-1, -2) @ six @ J, ROUNDING)
    assert_close(again.mass_matrix(q), loaded.mass_matrix(q), ROUNDING)
    assert_close(loaded.pose(q, "load"), arm.pose(q, "flange") @ place.matrix, ROUNDING)
    assert loaded.nq == arm.nq and loaded.actuated == arm.actuated


@pytest.mark.slow
@pytest.mark.parametrize("floating", [False, True])
def test_a_robot_on_a_robot(floating: bool) -> None:
    """Energies add up; the palm, which was fixed to the ground, brings its mass."""
    arm, hand = replace(random_robot(31, 4, floating=True), gravity=(0, 0, -9.81)), gripper().build(floating=floating)
    place = random_placement(np.random.default_rng(2))
    whole = arm.attach(hand, to=arm.bodies[2].name, at=place, prefix="hand_")
    assert {"hand_palm", "hand_plate", "hand_left", "hand_right", "hand_tip"} <= {f.name for f in whole.frames}
    assert whole.nv == arm.nv + 1
    assert whole.joint("hand_right_joint").mimic is not None
    q, v, _ = random_state(whole, 3, (4,))
    q_arm, v_arm = np.zeros((4, arm.nq)), np.zeros((4, arm.nv))
    for c in arm.joints:
        q_arm[:, c.q], v_arm[:, c.v] = q[:, whole.joint(c.name).q], v[:, whole.joint(c.name).v]
    alone = gripper().build(floating=True)
    mount = on.Frame("mount", 2, arm.frame(arm.bodies[2].name).placement @ place)
    pose, V = arm.pose(q_arm, mount), arm.velocity(q_arm, v_arm, mount)
    finger = whole.joint("hand_left_joint")
    turned = on.rotations.quaternion_from_matrix(pose[:, :3, :3])
    q_hand = np.concatenate([turned, pose[:, :3, 3], q[:, finger.q]], axis=-1)
    v_hand = np.concatenate([V, v[:, finger.v]], axis=-1)
    kinetic = arm.kinetic_energy(q_arm, v_arm) + alone.kinetic_energy(q_hand, v_hand)
    potential = arm.potential_energy(q_arm) + alone.potential_energy(q_hand)
    assert_close(whole.kinetic_energy(q, v), kinetic, ROUNDING)
    assert_close(whole.potential_energy(q), potential, ROUNDING)
    assert_close(whole.pose(q, "hand_tip"), alone.pose(q_hand, "tip"), ROUNDING)


def test_loops_couplings_shapes_and_motors_come_along() -> None:
    arm, bar = on.load("planar-3r"), on.load("four-bar")
    whole = arm.attach(bar, "tool")
    assert whole.nc == bar.nc and whole.loops[0].name == f"four-bar/{bar.loops[0].name}"
    assert len(whole.shapes) == len(arm.shapes) + len(bar.shapes)
    q = whole.neutral()
    for c in bar.joints:
        q[whole.joint(f"four-bar/{c.name}").q] = bar.assemble(bar.neutral()).q[c.q]
    assert_close(whole.loop_residual(q), np.zeros(whole.nc), ROUNDING)
    some = arm.with_actuated(["joint1"]).attach(gripper().build(), "tool")
    assert some.actuated == ("joint1", "gripper/left_joint")
    some = arm.attach(gripper(actuated=False), "tool", joint=on.Revolute((1, 0, 0)), joint_name="turn", damping=0.1)
    assert some.actuated == ("joint1", "joint2", "joint3")
    assert some.joint("turn").damping == (0.1,)
    bound = gripper().couple("bind", "left_joint", None, (0.01,))
    assert arm.attach(bound, "tool").couplings[0].name == "gripper/bind"


def test_fixed_joints_are_kept_apart_where_they_were() -> None:
    hand = gripper().build(merge=False)
    assert "load" in [b.name for b in hand.attach("load", "tip", mass=1.0).bodies]
    assert "load" not in [b.name for b in hand.attach("load", "tip", mass=1.0, merge=True).bodies]
    assert gripper().build().attach("load", "left", mass=1.0, merge=False).body("load").mass == 1.0


def test_the_ground_is_remembered() -> None:
    fixed = gripper().build()
    assert fixed.ground is not None and fixed.ground.mass == pytest.approx(0.8)
    q, v, _ = random_state(gripper().build(floating=True), 0)
    again = fixed.builder().build(floating=True)
    assert again.ground is None
    assert_close(again.kinetic_energy(q, v), gripper().build(floating=True).kinetic_energy(q, v), ROUNDING)
    assert on.Builder("free").body("base").build().ground is None


@pytest.mark.slow
def test_frames_stand_for_bodies() -> None:
    rng = np.random.default_rng(7)
    first, second, place = (random_placement(rng) for _ in range(3))
    parts = {"joint": on.Revolute((0, 0, 1)), "mass": 1.0, "com": (0.1, 0, 0), "inertia": (0.1, 0.1, 0.1)}

    def robot(on_frames: bool) -> on.Robot:
        builder = on.Builder("arm").body("base").frame("plate", "base", first)
        where = ("edge", place) if on_frames else ("base", first @ second @ place)
        builder.body("link", parent=where[0], at=where[1], **parts)
        builder.frame("edge", "plate" if on_frames else "base", second if on_frames else first @ second)
        builder.frame("tool", "link", (0.3, 0, 0))
        tip = ("tool", (0, 0, 0)) if on_frames else ("link", (0.3, 0, 0))
        builder.body("tip", parent=tip[0], at=tip[1], **parts)
        end = ("tool", (0, 0.1, 0)) if on_frames else ("link", (0.3, 0.1, 0))
        builder.shape(end[0], "sphere", (0.1,), at=end[1])
        return builder.loop("rod", on.Distance(0.2), end[0], "base", at=end[1]).build()

    ours, plain = robot(True), robot(False)
    q, v, _ = random_state(plain, 0)
    for name in ("plate", "edge", "tool", "tip"):
        assert_close(ours.pose(q, name), plain.pose(q, name), ROUNDING)
    assert_close(ours.bias_force(q, v), plain.bias_force(q, v), ROUNDING)
    assert_close(ours.loop_residual(q), plain.loop_residual(q), ROUNDING)
    assert ours.shapes[0].body == plain.shapes[0].body
    assert_close(ours.shapes[0].placement.p, plain.shapes[0].placement.p, ROUNDING)


def test_a_graph_takes_frames_on_both_sides() -> None:
    builder = on.Builder("pair").body("base").body("bar", mass=1.0, inertia=(1, 1, 1)).frame("end", "bar", (0.5, 0, 0))
    robot = builder.connect("pin", on.Revolute((0, 1, 0)), "base", "end").build()
    assert_close(robot.pose([0.0], "end"), np.eye(4), ROUNDING)


def test_what_cannot_be_attached() -> None:
    arm = on.load("puma560")
    with pytest.raises(ModelError, match=r"has a body or frame 'base' already; give another `prefix`"):
        arm.attach(arm, "flange", prefix="")
    assert arm.attach(arm, "flange").nq == 12
    with pytest.raises(UnknownNameError, match="unknown frame 'flnge'"):
        arm.attach("load", "flnge", mass=1.0)
    with pytest.raises(ModelError, match="give a robot, a builder, a Body or the name of a new body, not a int"):
        arm.attach(3, "flange")
    with pytest.raises(ModelError, match="mass is for a single body"):
        arm.attach(arm, "flange", mass=1.0)
    with pytest.raises(ModelError, match="body 'load' has its own mass"):
        arm.attach(on.Body("load", 1.0, (0, 0, 0), (0,) * 6), "flange", mass=1.0)
    with pytest.raises(ModelError, match="a prefix is for the parts of a robot"):
        arm.attach("load", "flange", prefix="x")
    with pytest.raises(ModelError, match="body 'wrist' exists already"):
        arm.attach("wrist", "flange", mass=1.0)
    builder = gripper()
    with pytest.raises(ModelError, match="cannot be attached to itself"):
        builder.attach(builder, "palm")
    with pytest.raises(ModelError, match="has as its child the frame 'tip'"):
        gripper().body("b").joint("j", on.Revolute((0, 0, 1)), "b", "tip").build()
    with pytest.raises(ModelError, match="are fixed to each other, and to no body"):
        on.Builder("x").body("base").frame("a", "b").frame("b", "a").build()
