"""Robots written as URDF and MJCF: read back by us, by Pinocchio and by MuJoCo, they are the same robots."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import ordern as on
from ordern.conversion import convert
from ordern.errors import ModelError
from ordern.io.export_mjcf import to_mjcf
from ordern.io.export_urdf import to_urdf
from ordern.io.writing import save
from tests.random_models import random_placement, random_robot, random_state
from tests.robots import ROBOTS
from tests.tolerances import PEER, ROUNDING, assert_close

Array = np.ndarray

FILES = [
    "panda_description/urdf/panda.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "kinova_description/robots/kinova.urdf",
    "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "baxter_description/urdf/baxter.urdf",
    "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
    "anymal_b_simple_description/robots/anymal.urdf",
    "solo_description/robots/solo12.urdf",
    "icub_description/robots/icub.urdf",
    "human_description/robots/human.urdf",
    "pr2_description/urdf/pr2.urdf",
    "talos_data/robots/talos_full_v2.urdf",
    "so_arm_description/urdf/so100.urdf",
]
"""Arms, hands, legged robots; with mimic joints, continuous joints, links without mass."""

URDF_JOINTS = (on.Revolute, on.Continuous, on.Prismatic, on.Planar, on.Free, on.Fixed)
MJCF_JOINTS = (on.Revolute, on.Continuous, on.Prismatic, on.Spherical, on.Fixed, on.Cylindrical, on.Composite)
INERTIAL = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.5, 0.6, 0.7, 0.01, 0.02, 0.03)}


def load(file: str, floating: bool = False) -> on.Robot:
    """Without looks, and without rounding of placements."""
    return on.Robot.of(replace(on.load(ROBOTS / file, floating=floating, snap=0.0), shapes=()))


def floats(file: str) -> bool:
    return any(name in file for name in ("anymal", "solo", "icub", "human"))


def states(robot: on.Robot, count: int = 3) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(5)
    return robot.random(rng, count), rng.normal(size=(count, robot.nv)), rng.normal(size=(count, robot.nv))


def ask(robot: on.Robot, question: str, *arguments: Array) -> Array:
    return np.asarray(robot.kernel(question, way="interpreted")(*arguments))


def assert_same_dynamics(one: on.Robot, other: on.Robot) -> None:
    q, v, a = states(one)
    assert_close(ask(other, "mass_matrix", q), ask(one, "mass_matrix", q), ROUNDING)
    assert_close(ask(other, "inverse_dynamics", q, v, a), ask(one, "inverse_dynamics", q, v, a), ROUNDING)


def assert_pinocchio_agrees(robot: on.Robot, model: Any) -> None:
    c, data = convert(robot, model), model.createData()
    q, v, a = states(robot)
    B = c.velocity_matrix(q)
    for k, (x, y, z) in enumerate(zip(*c.to_peer(q, v, a), strict=True)):
        assert_close(B[k].T @ pin.rnea(model, data, x, y, z), ask(robot, "inverse_dynamics", q[k], v[k], a[k]), PEER)
        M = np.triu(pin.crba(model, data, x))
        assert_close(B[k].T @ (M + np.triu(M, 1).T) @ B[k], ask(robot, "mass_matrix", q[k]), PEER)


def assert_mujoco_agrees(robot: on.Robot, model: Any) -> None:
    c, data = convert(robot, model), mujoco.MjData(model)
    q, v, a = states(robot)
    B = c.velocity_matrix(q)
    for k, (x, y, z) in enumerate(zip(*c.to_peer(q, v, a), strict=True)):
        data.qpos[:], data.qvel[:], data.qacc[:] = x, y, z
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        tau, M = np.zeros(model.nv), np.zeros((model.nv, model.nv))
        mujoco.mj_rne(model, data, 1, tau)
        mujoco.mj_fullM(model, data, M)
        tau += model.dof_armature * z
        assert_close(B[k].T @ tau, ask(robot, "inverse_dynamics", q[k], v[k], a[k]), PEER)
        assert_close(B[k].T @ M @ B[k], ask(robot, "mass_matrix", q[k]), PEER)


def names(robot: on.Robot) -> set[str]:
    return {frame.name for frame in robot.frames}


def arm(joint: on.Joint | None = None, name: str = "elbow", **more: Any) -> on.Robot:
    builder = on.Builder("arm").body("base")
    at = on.Placement.xyz_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    return builder.body(
        "tip", parent="base", joint=joint or on.Revolute((0, 1, 0)), joint_name=name, at=at, **INERTIAL, **more
    ).build()


class TestUrdf:
    @pytest.mark.slow
    @pytest.mark.parametrize("file", FILES)
    def test_real_robots(self, file: str) -> None:
        robot = load(file, floats(file))
        text = to_urdf(robot)
        back = on.load(text, snap=0.0)
        assert_same_dynamics(robot, back)
        assert names(back) == names(robot)
        assert [c.name for c in back.joints] == [c.name for c in robot.joints]
        assert back.nv == robot.nv
        assert_pinocchio_agrees(robot, pin.buildModelFromXML(text))

    @pytest.mark.parametrize("seed", range(6))
    def test_random_robots(self, seed: int) -> None:
        robot = random_robot(seed, 12, URDF_JOINTS, floating=bool(seed % 2), merge=seed < 3)
        robot = on.Robot.of(replace(robot, gravity=(0.0, 0.0, -9.81), snap=0.0))
        back = on.load(to_urdf(robot), snap=0.0, merge=seed < 3)
        assert_same_dynamics(robot, back)
        assert names(robot) <= names(back)
        for mine in robot.joints:  # what is not merged has one more: that of the frame
            theirs = back.joint(mine.name)
            assert (mine.lower, mine.upper) == (theirs.lower, theirs.upper)

    def test_the_puma(self) -> None:
        robot = on.load(Path(__file__).parents[2] / "examples/robots/puma560.urdf", snap=0.0)
        assert_same_dynamics(robot, on.load(to_urdf(robot), snap=0.0))
        with pytest.raises(ModelError, match=r"puma560.urdf:\d+: MJCF cannot express .* of body 'shoulder_link'"):
            to_mjcf(robot)

    def test_links_behind_fixed_joints_come_back_once(self) -> None:
        robot = load("panda_description/urdf/panda.urdf")
        once = on.load(to_urdf(robot), snap=0.0)
        twice = on.load(to_urdf(once), snap=0.0)
        assert names(robot) == names(once) == names(twice)
        for frame in ("panda_hand", "panda_hand_joint"):
            mine, back = robot.frame(frame), twice.frame(frame)
            assert mine.body == back.body
            assert_close(back.placement.matrix, mine.placement.matrix, ROUNDING)

    def test_links_on_the_ground_keep_their_mass(self) -> None:
        """It counts when the robot floats, or is attached to another."""
        builder = on.Builder("cart").body("base", mass=3.0, com=(0.1, 0, 0), inertia=(0.2, 0.3, 0.4))
        builder.body("plate", mass=1.0, inertia=(0.1, 0.1, 0.1), parent="base", joint=on.Fixed(), at=(0, 0.2, 0))
        builder.body("arm", mass=2.0, inertia=(0.1, 0.2, 0.3), parent="plate", joint=on.Revolute((0, 1, 0)))
        again = on.load(builder.build().to_urdf(), floating=True)
        q, v, _ = random_state(again, 0)
        floating = builder.build(floating=True)
        assert again.mass == pytest.approx(6.0)
        assert_close(again.kinetic_energy(q, v), floating.kinetic_energy(q, v), ROUNDING)

    def test_a_frame_becomes_a_link_and_may_have_the_name_of_a_joint(self) -> None:
        builder = on.Builder("arm").body("base")
        builder.body("tip", parent="base", joint=on.Revolute(), joint_name="elbow", **INERTIAL)
        builder.frame("tool", "tip", (0, 0, 1)).frame("elbow", "tip", (0, 0, 1)).frame("tool_joint", "tip")
        robot = builder.build()
        back = on.load(to_urdf(robot))
        assert names(robot) <= names(back)
        assert pin.buildModelFromXML(to_urdf(robot)).existBodyName("tool")

    def test_limits_damping_friction_and_mimics(self) -> None:
        builder = on.Builder("arm").body("base")
        more = {
            "lower": -1.5,
            "upper": 0.1,
            "velocity_limit": 3.0,
            "effort_limit": 7.0,
            "damping": 0.5,
            "friction": 0.25,
        }
        builder.body("a", parent="base", joint=on.Revolute((0, 0, 1)), joint_name="one", **INERTIAL, **more)
        mimic = {"mimic": ("one", -2.0, 0.125), "lower": -1.0, "upper": 1.0}
        builder.body("b", parent="a", joint=on.Prismatic((0, 1, 0)), joint_name="two", **INERTIAL, **mimic)
        robot = builder.build()
        back = on.load(to_urdf(robot))
        assert back.joints[0] == robot.joints[0]
        assert back.joints[1].mimic == robot.joints[1].mimic == on.load(to_urdf(back)).joints[1].mimic
        assert_same_dynamics(robot, back)

    def test_what_has_no_limit_has_a_number_that_every_reader_knows(self) -> None:
        text = to_urdf(arm(on.Prismatic((0, 0, 1)), lower=-1.0))
        assert 'lower="-1" upper="1e+308" velocity="1e+308" effort="1e+308"' in text
        assert pin.buildModelFromXML(text).lowerPositionLimit[0] == -1.0

    def test_a_revolute_joint_without_limits_is_continuous(self) -> None:
        text = to_urdf(arm(on.Revolute((0, 0, 1))))
        assert 'type="continuous"' in text
        assert "<limit" not in text
        assert 'type="revolute"' in to_urdf(arm(on.Continuous((0, 0, 1)), lower=-1.0, upper=1.0))

    def test_shapes(self) -> None:
        builder = on.Builder("arm").body("base")
        builder.body("tip", parent="base", joint=on.Revolute(), lower=-1.0, upper=1.0, **INERTIAL)
        at = on.Placement.xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3))
        builder.shape("tip", "box", (1, 2, 3), at=at, color=(1, 0, 0, 0.5), name="lid")
        builder.shape("tip", "cylinder", (0.1, 2), role="collision").shape("base", "sphere", (0.5,))
        builder.shape("tip", "mesh", (1, 1, 2), file="package://arm/tip.dae")
        robot = builder.build()
        back = on.load(to_urdf(robot))
        for mine, theirs in zip(sorted(robot.shapes, key=str), sorted(back.shapes, key=str), strict=True):
            assert replace(theirs, placement=mine.placement) == mine
            assert_close(theirs.placement.matrix, mine.placement.matrix, ROUNDING)

    def test_a_shape_that_the_format_lacks_is_noted(self) -> None:
        builder = on.Builder("arm").body("base").shape("base", "ellipsoid", (1, 2, 3))
        assert "<!-- left out: the ellipsoid of link 'base' -->" in to_urdf(builder.build())

    @pytest.mark.parametrize(
        ("joint", "instead"),
        [
            (on.Spherical(), "Spherical, which URDF has no type for; write it as three revolute joints, or MJCF"),
            (on.Universal(), "Universal, which URDF has no type for; write it as two revolute joints, or MJCF"),
            (on.Cylindrical(), "Cylindrical, which URDF has no type for; write it as a revolute and a prismatic joint"),
            (on.Helical(), "Helical, which URDF has no type for"),
        ],
    )
    def test_joints_that_it_has_no_type_for(self, joint: on.Joint, instead: str) -> None:
        with pytest.raises(ModelError, match=f"^joint 'elbow' is a {instead}"):
            to_urdf(arm(joint), lossy=True)

    def test_all_that_is_lost_is_listed(self) -> None:
        robot = on.Robot.of(replace(arm(armature=0.1, stiffness=2.0), gravity=(0.0, 0.0, -1.62)))
        with pytest.raises(
            ModelError,
            match=r"^URDF cannot express all of this robot: armature of joint 'elbow'; spring of joint 'elbow'; "
            r"gravity 0 0 -1.62 \(readers take 0 0 -9.81\) of the robot. With lossy=True",
        ):
            to_urdf(robot)
        text = to_urdf(robot, lossy=True)
        assert "<!-- left out: armature of joint 'elbow' -->" in text
        assert on.load(text).joints[0].armature == (0.0,)

    def test_loops_and_couplings_are_lost(self) -> None:
        builder = on.Builder("arm").body("base")
        builder.body("tip", parent="base", joint=on.Revolute(), joint_name="elbow", **INERTIAL)
        builder.loop("close", on.Spherical(), "base", "tip").couple("hold", "elbow", None, (0.5,))
        with pytest.raises(ModelError, match="closing of loop 'close'; constraint of coupling 'hold'"):
            to_urdf(builder.build())

    def test_a_loss_names_the_line_of_its_file(self) -> None:
        text = to_urdf(arm(lower=-1.0, upper=1.0))
        robot = on.load(text)
        lossy = replace(robot, joints=(replace(robot.joints[0], armature=(1.0,)),))
        with pytest.raises(ModelError, match=r"^<string>:\d+: URDF cannot express"):
            to_urdf(lossy)

    def test_names_are_quoted(self) -> None:
        name = "a<b>&\"c'\t\n é"
        back = on.load(to_urdf(arm(name=name, lower=-1.0, upper=1.0)))
        assert back.joints[0].name == name

    def test_names_that_xml_cannot_have(self) -> None:
        with pytest.raises(ModelError, match=r"the joint 'a\\x00' has a name with the character '\\x00'"):
            to_urdf(arm(name="a\0"))
        with pytest.raises(ModelError, match="a joint has the name '  '; expected more than spaces"):
            to_urdf(arm(name="  "))

    def test_a_floating_robot_whose_root_is_called_world(self) -> None:
        robot = on.Builder("r").body("world", **INERTIAL).build(floating=True)
        back = on.load(to_urdf(robot))
        assert back.bodies[0].name == "world"
        assert back.nv == 6

    def test_a_comment_cannot_end_early(self) -> None:
        robot = arm(name="--> <robot/> --", armature=1.0)
        assert on.load(to_urdf(robot, lossy=True)).joints[0].name == "--> <robot/> --"


class TestMjcf:
    @pytest.mark.slow
    @pytest.mark.parametrize("file", FILES)
    def test_real_robots(self, file: str) -> None:
        robot = load(file, floats(file))
        text = to_mjcf(robot)
        model = mujoco.MjModel.from_xml_string(text)
        assert_mujoco_agrees(robot, model)
        if any(c.mimic for c in robot.joints):
            assert model.neq == sum(c.mimic is not None for c in robot.joints)
        else:
            back = on.load(text, snap=0.0)
            assert_same_dynamics(robot, back)
            assert [c.name for c in back.joints] == [c.name for c in robot.joints]

    @pytest.mark.parametrize("seed", range(6))
    def test_random_robots(self, seed: int) -> None:
        robot = self.random(seed)
        text = to_mjcf(robot)
        assert_mujoco_agrees(robot, mujoco.MjModel.from_xml_string(text))
        back = on.load(text, snap=0.0)
        assert_same_dynamics(robot, back)
        assert names(robot) <= names(back)

    @staticmethod
    def random(seed: int) -> on.Robot:
        rng = np.random.default_rng(seed)
        builder = on.Builder("random", gravity=rng.normal(size=3)).body("b0", **INERTIAL)
        joints = [
            on.Revolute(tuple(rng.normal(size=3))),
            on.Prismatic((0, -1, 0)),
            on.Spherical(),
            on.Universal((0, 0, 1), (1, 1, 0)),
            on.Cylindrical(tuple(rng.normal(size=3))),
            on.Composite((on.Revolute((1, 0, 0)), (on.Prismatic((0, 1, 0)), random_placement(rng)), on.Spherical())),
            on.Composite(((on.Universal(), random_placement(rng)), (on.Cylindrical(), random_placement(rng)))),
        ]
        for k, j in enumerate(rng.permutation(len(joints))):
            joint = joints[j]
            scalar = all(part.nv == 1 for part, _ in getattr(joint, "parts", ((joint, None),)))
            armature = rng.uniform(0, 0.1, joint.nv) if scalar else 0.1
            parent = f"b{rng.integers(k + 1)}"
            at = random_placement(rng)
            builder.body(f"b{k + 1}", parent=parent, joint=joint, at=at, armature=armature, **INERTIAL)
        builder.frame("tool", "b7", random_placement(rng))
        return builder.build(floating=bool(seed % 2), snap=0.0)

    def test_bodies_without_mass_between_joints_are_joints_of_one_body(self) -> None:
        builder = on.Builder("arm").body("base")
        builder.body("a", parent="base", joint=on.Revolute((1, 0, 0)), at=((0, 0, 1), (0.1, 0.2, 0.3)))
        builder.body("b", parent="a", joint=on.Prismatic((0, 1, 0)), at=((0, 1, 1), (0.4, 0.2, 0.3)))
        builder.body("c", parent="b", joint=on.Revolute((0, 0, 1)), at=((1, 0, 1), (0.1, 0.7, 0.3)), **INERTIAL)
        robot = builder.build(snap=0.0)
        text = to_mjcf(robot)
        model = mujoco.MjModel.from_xml_string(text)
        assert (model.nbody, model.njnt) == (2, 3)
        assert_mujoco_agrees(robot, model)
        assert_same_dynamics(robot, on.load(text, snap=0.0))
        assert "frame, which lies between two joints of one body there, of body 'a', body 'b'" in text

    def test_one_body_has_at_most_six_freedoms(self) -> None:
        builder = on.Builder("arm").body("b0")
        for k in range(1, 8):
            builder.body(f"b{k}", parent=f"b{k - 1}", joint=on.Revolute((k % 2, 1, 0)), at=(0, 0, k))
        robot = builder.body("tip", parent="b7", joint=on.Cylindrical(), **INERTIAL).build(snap=0.0)
        text = to_mjcf(robot)
        assert (text.count("<body"), text.count("<joint")) == (2, 9)
        assert mujoco.MjModel.from_xml_string(text).nv == 9
        assert_same_dynamics(robot, on.load(text, snap=0.0))
        with pytest.raises(ModelError, match="joint 'elbow' is a Composite with 7 freedoms"):
            to_mjcf(arm(on.Composite((on.Revolute(),) * 7)))

    def test_a_body_without_mass_that_has_a_frame_stays(self) -> None:
        builder = on.Builder("arm").body("base")
        builder.body("a", parent="base", joint=on.Revolute((1, 0, 0)))
        builder.body("b", parent="a", joint=on.Revolute((0, 1, 0)), **INERTIAL)
        builder.frame("eye", "a", (0, 0, 1))
        robot = builder.build()
        text = to_mjcf(robot)
        model = mujoco.MjModel.from_xml_string(text)
        assert model.nbody == 3
        assert "body 'a' has no mass; MuJoCo requires some" in text
        assert_mujoco_agrees(robot, model)

    def test_a_rod_and_a_point_have_enough_inertia(self) -> None:
        builder = on.Builder("arm").body("base")
        builder.body("rod", parent="base", joint=on.Revolute((1, 0, 0)), mass=1.0, com=(0, 0, 1), inertia=(3, 3, 0))
        builder.body("bob", parent="rod", joint=on.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, 1))
        robot = builder.build()
        assert_mujoco_agrees(robot, mujoco.MjModel.from_xml_string(to_mjcf(robot)))

    def test_inertias_that_no_body_has(self) -> None:
        builder = on.Builder("arm").body("base")
        builder.body("tip", parent="base", joint=on.Revolute(), mass=1.0, inertia=(1, 1, 3))
        with pytest.raises(ModelError, match=r"balance \(no body has inertias with A \+ B < C; .* of body 'tip'"):
            to_mjcf(builder.build())
        model = mujoco.MjModel.from_xml_string(to_mjcf(builder.build(), lossy=True))
        assert model.body_inertia[1].tolist() == pytest.approx([5 / 3] * 3)
        bad = on.Builder("arm").body("base").body("tip", parent="base", joint=on.Revolute(), inertia=(1, 1, -1))
        with pytest.raises(ModelError, match=r"body 'tip' has a moment of inertia below zero \(-1\)"):
            to_mjcf(bad.build(), lossy=True)

    def test_limits_damping_friction_armature_and_springs(self) -> None:
        more = {"lower": -1.5, "upper": 0.1, "effort_limit": 7.0, "damping": 0.5, "friction": 0.25, "armature": 0.125}
        robot = arm(on.Revolute((0, 0, 1)), **more, stiffness=3.0, rest=0.75)
        text = to_mjcf(robot)
        m = mujoco.MjModel.from_xml_string(text)
        assert m.jnt_range[0].tolist() == [-1.5, 0.1]
        assert m.jnt_actfrcrange[0].tolist() == [-7.0, 7.0]
        found = (m.dof_damping[0], m.dof_frictionloss[0], m.dof_armature[0], m.jnt_stiffness[0], m.qpos_spring[0])
        assert found == pytest.approx((0.5, 0.25, 0.125, 3.0, 0.75))
        back = on.load(text).joints[0]
        assert replace(back, placement=robot.joints[0].placement) == robot.joints[0]

    def test_one_limit(self) -> None:
        model = mujoco.MjModel.from_xml_string(text := to_mjcf(arm(upper=2.0)))
        assert model.jnt_range[0].tolist() == [-1e308, 2.0]
        assert model.jnt_limited[0]
        assert on.load(text).joints[0].upper == (2.0,)

    @pytest.mark.parametrize("turn", [(0.5, 0.5, 0.5, 0.5), (2.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)])
    def test_a_free_body_starts_from_its_rest(self, turn: tuple[float, ...]) -> None:
        builder = on.Builder("top").body("ground")
        rest = (*turn, 1.0, 2.0, 3.0)
        builder.body("top", parent="ground", joint=on.Free(), joint_name="free", rest=rest, **INERTIAL)
        robot = builder.build()
        model = mujoco.MjModel.from_xml_string(text := to_mjcf(robot))
        unit = turn if turn == (0.5, 0.5, 0.5, 0.5) else (1.0, 0.0, 0.0, 0.0)
        assert_close(model.qpos0, [1, 2, 3, *unit], ROUNDING)
        again = on.load(text)
        assert_close(np.array(again.joint("free").rest), [*unit, 1, 2, 3], ROUNDING)
        assert again.joint("free").placement == on.Placement()
        assert_same_dynamics(robot, again)

    def test_velocity_limits_and_looks_are_only_noted(self) -> None:
        builder = on.Builder("arm").body("base")
        builder.body("tip", parent="base", joint=on.Revolute(), joint_name="elbow", velocity_limit=2.0, **INERTIAL)
        builder.shape("tip", "mesh", (1, 1, 1), file="package://arm/tip.dae").shape("tip", "plane")
        builder.shape("tip", "mesh", (1, 1, 1), file="tip.dae")
        text = to_mjcf(builder.build())
        assert "<!-- left out: velocity limit of joint 'elbow' -->" in text
        assert (
            "left out: the mesh 'package://arm/tip.dae' (only paths of files; MuJoCo does not know package://) of body"
            in text
        )
        assert "left out: the mesh 'tip.dae' (only files that end in .stl, .obj, .msh) of body 'tip'" in text
        assert "left out: the plane (only the ground has one) of body 'tip'" in text

    def test_shapes(self) -> None:
        builder = on.Builder("arm").body("base")
        builder.body("tip", parent="base", joint=on.Revolute(), **INERTIAL)
        at = on.Placement.xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3))
        builder.shape("tip", "box", (1, 2, 3), at=at, color=(1, 0, 0, 0.5), name="lid")
        builder.shape("tip", "cylinder", (0.1, 2), role="collision", name="lid").shape("tip", "capsule", (0.5, 1))
        builder.shape("tip", "ellipsoid", (1, 2, 3)).shape("tip", "sphere", (0.5,)).shape("base", "plane")
        model = mujoco.MjModel.from_xml_string(to_mjcf(builder.build()))
        assert model.ngeom == 6
        assert model.geom("lid").size.tolist() == [0.5, 1.0, 1.5]
        assert model.geom("lid").contype[0] == 0
        assert model.geom("lid_2").size.tolist()[:2] == [0.1, 1.0]
        assert model.body_mass[1] == 1.0

    def test_loops_and_couplings(self) -> None:
        builder = on.Builder("loops").body("base")
        for name in "abc":
            builder.body(name, parent="base", joint=on.Revolute((0, 1, 0)), joint_name=f"j{name}", **INERTIAL)
        at = on.Placement.xyz_rpy((0, 0, 1), (0.1, 0.2, 0.3))
        builder.frame("corner", "a", at)
        builder.loop("pin", on.Spherical(), "a", "b", at=at, child_at=(1, 0, 0))
        builder.loop("glue", on.Fixed(), "base", "b", at=(1, 2, 3))
        builder.couple("gear", "jb", "jc", (0.5, 2.0)).couple("hold", "ja", None, (0.25,))
        robot = builder.build()
        text = to_mjcf(robot)
        model = mujoco.MjModel.from_xml_string(text)
        assert model.eq_type.tolist() == [0, 1, 2, 2]
        assert 'site1="corner"' in text
        back = on.load(text)
        assert [(x.name, type(x.type), x.parent, x.child) for x in back.loops] == [
            (x.name, type(x.type), x.parent, x.child) for x in robot.loops
        ]
        for mine, theirs in zip(robot.loops, back.loops, strict=True):
            assert_close(theirs.parent_placement.matrix, mine.parent_placement.matrix, ROUNDING)
            assert_close(theirs.child_placement.p, mine.child_placement.p, ROUNDING)
        builder.loop("axle", on.Revolute(), "a", "c")
        with pytest.raises(ModelError, match=r"closing by a Revolute \(only Spherical and Fixed\) of loop 'axle'"):
            to_mjcf(builder.build())

    def test_a_joint_that_follows_another_is_a_constraint_and_noted(self) -> None:
        builder = on.Builder("hand").body("base")
        builder.body("a", parent="base", joint=on.Revolute((0, 1, 0)), joint_name="one", **INERTIAL)
        builder.body(
            "b", parent="a", joint=on.Revolute((0, 1, 0)), joint_name="two", mimic=("one", 2.0, 0.5), **INERTIAL
        )
        text = to_mjcf(robot := builder.build())
        assert "joint 'two' follows 'one' by a constraint" in text
        model = mujoco.MjModel.from_xml_string(text)
        assert model.eq_data[0][:3].tolist() == [0.5, 2.0, 0.0]
        assert_mujoco_agrees(robot, model)

    @pytest.mark.parametrize(
        ("joint", "why"),
        [
            (on.Helical(), "joint 'elbow' is a Helical, which MJCF has no type for"),
            (on.Planar(), "joint 'elbow' is a Planar, which MJCF has no type for"),
            (
                on.Composite((on.Spherical(), on.Revolute())),
                "joint 'elbow' is a Composite with a Spherical that is not its last part",
            ),
            (
                on.Composite((on.Revolute(), (on.Spherical(), ((0, 0, 0), (1, 0, 0))))),
                "joint 'elbow' is a Composite with a Spherical that is turned",
            ),
        ],
        ids=["helical", "planar", "ball first", "ball turned"],
    )
    def test_joints_that_it_has_no_type_for(self, joint: on.Joint, why: str) -> None:
        with pytest.raises(ModelError, match=f"^{why}"):
            to_mjcf(arm(joint), lossy=True)

    def test_a_free_joint_starts_from_the_world(self) -> None:
        with pytest.raises(ModelError, match=r"placement \(MuJoCo's coordinates are from the world\) of joint 'elbow'"):
            to_mjcf(arm(on.Free()))
        robot = arm(on.Free())
        assert_mujoco_agrees(robot, mujoco.MjModel.from_xml_string(to_mjcf(robot, lossy=True)))
        builder = on.Builder("two").body("base").body("a", parent="base", joint=on.Revolute(), **INERTIAL)
        builder.body("b", parent="a", joint=on.Free(), joint_name="fly", **INERTIAL)
        with pytest.raises(ModelError, match="joint 'fly' is a Free that does not start from the ground"):
            to_mjcf(builder.build())

    def test_what_a_free_joint_cannot_have(self) -> None:
        builder = on.Builder("ball").body("base")
        more = {"armature": 0.1, "damping": 0.2, "friction": 0.3, "stiffness": 0.4, "effort_limit": 1.0}
        builder.body("ball", parent="base", joint=on.Free(), joint_name="fly", **INERTIAL, **more)
        lost = "effort limit of joint 'fly'; friction of joint 'fly'; spring of joint 'fly'"
        with pytest.raises(ModelError, match=lost):
            to_mjcf(builder.build())
        model = mujoco.MjModel.from_xml_string(to_mjcf(builder.build(), lossy=True))
        assert set(model.dof_damping.tolist()) == {0.2}
        assert_mujoco_agrees(builder.build(), model)  # with the armature

    def test_names(self) -> None:
        name = "a<b>&\"c'\t\n é"
        model = mujoco.MjModel.from_xml_string(to_mjcf(arm(name=name)))
        assert model.joint(0).name == name
        robot = on.Builder("r").body("base").body("world", parent="base", joint=on.Revolute(), **INERTIAL).build()
        with pytest.raises(ModelError, match="a body has the name 'world', which in MJCF is the ground's"):
            to_mjcf(robot)

    def test_chains_that_are_too_deep(self) -> None:
        builder = on.Builder("chain").body("b0")
        for k in range(1, 492):
            builder.body(f"b{k}", parent=f"b{k - 1}", joint=on.Revolute(), **INERTIAL)
        with pytest.raises(ModelError, match="body 'b491' has 490 bodies between it and the ground"):
            to_mjcf(builder.build())

    def test_the_deepest_chain_is_read(self) -> None:
        builder = on.Builder("chain").body("b0")
        for k in range(1, 491):
            builder.body(f"b{k}", parent=f"b{k - 1}", joint=on.Revolute(), **INERTIAL)
        assert mujoco.MjModel.from_xml_string(to_mjcf(builder.build())).nv == 490


class TestSave:
    @pytest.mark.parametrize(("file", "tag"), [("r.urdf", "<robot"), ("r.xml", "<mujoco"), ("R.MJCF", "<mujoco")])
    def test_by_suffix(self, tmp_path: Path, file: str, tag: str) -> None:
        robot = arm(lower=-1.0, upper=1.0)
        save(robot, tmp_path / file)
        assert tag in (tmp_path / file).read_text()
        assert_same_dynamics(robot, on.load(tmp_path / file))
        assert os.listdir(tmp_path) == [file]

    def test_other_suffixes(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match=r"suffix '.stl'; expected .urdf, .xml, .mjcf"):
            save(arm(), tmp_path / "r.stl")

    def test_a_failure_leaves_the_old_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (file := tmp_path / "r.urdf").write_text("old")

        def fails(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", fails)
        with pytest.raises(ModelError, match=r"r.urdf: the file cannot be written: No space left"):
            save(arm(lower=-1.0, upper=1.0), file)
        assert file.read_text() == "old"
        assert os.listdir(tmp_path) == ["r.urdf"]

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match=r"the file cannot be written: No such file or directory"):
            save(arm(), tmp_path / "none" / "r.urdf")

    def test_losses(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="armature"):
            save(arm(armature=1.0), tmp_path / "r.urdf")
        assert not os.listdir(tmp_path)
        save(arm(armature=1.0), tmp_path / "r.urdf", lossy=True)
        assert "armature" in (tmp_path / "r.urdf").read_text()

    def test_shapes_that_mujoco_cannot_have(self, tmp_path: Path) -> None:
        few = "v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\n"
        corners = {"flat": f"{few}v 0 1 0\nf 1 3 4\n", "few": few}
        for name, text in corners.items():
            (tmp_path / f"{name}.obj").write_text(text)
        builder = on.Builder("r").body("g").body("tip", parent="g", joint=on.Revolute(), **INERTIAL)
        builder.shape("tip", "sphere", (0.0,)).shape("tip", "sphere", (0.1,), role="collision")
        for role in ("visual", "collision"):
            for name in corners:
                builder.shape("tip", "mesh", (1, 1, 1), file=str(tmp_path / f"{name}.obj"), role=role)
        (tmp_path / "new").mkdir()
        builder.build().save(tmp_path / "new/r.xml")
        assert mujoco.MjModel.from_xml_path(str(tmp_path / "new/r.xml")).ngeom == 3
        back = on.load(tmp_path / "new/r.xml")
        assert [f"{x.kind} {x.role}" for x in back.shapes] == ["sphere collision", "mesh visual", "mesh visual"]
        text = (tmp_path / "new/r.xml").read_text()
        assert "left out: the sphere without size of body 'tip'" in text
        assert "few.obj' (fewer than four points, or all on a line) of body 'tip'" in text
        assert "flat.obj', which is only shown, of body 'tip'" in text

    def test_meshes_are_found_from_the_new_place(self, tmp_path: Path) -> None:
        builder = on.Builder("r").body("base")
        builder.body("tip", parent="base", joint=on.Revolute(), lower=-1.0, upper=1.0, **INERTIAL)
        for file in ("meshes/tip.stl", "package://r/tip.dae"):
            builder.shape("tip", "mesh", (1, 1, 1), file=file)
        (tmp_path / "here").mkdir()
        (tmp_path / "there").mkdir()
        save(builder.build(), tmp_path / "here/r.urdf")
        save(on.load(tmp_path / "here/r.urdf"), tmp_path / "there/r.urdf")
        files = [shape.file for shape in on.load(tmp_path / "there/r.urdf").shapes]
        assert files == ["../here/meshes/tip.stl", "package://r/tip.dae"]

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no such links")
    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "link.urdf").symlink_to(tmp_path / "r.urdf")
        save(arm(lower=-1.0, upper=1.0), tmp_path / "link.urdf")
        assert (tmp_path / "link.urdf").is_symlink()
        assert (tmp_path / "r.urdf").read_text().startswith("<?xml")

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
    def test_others_may_read_it_as_any_file(self, tmp_path: Path) -> None:
        (plain := tmp_path / "plain").write_text("")
        save(arm(lower=-1.0, upper=1.0), tmp_path / "r.urdf")
        assert (tmp_path / "r.urdf").stat().st_mode == plain.stat().st_mode


def test_actuators_of_mimic_joints_are_transmissions() -> None:
    """A motor of the leader is not made up, if the follower has one."""
    builder = on.Builder("gripper").body("base")
    builder.body("a", parent="base", joint=on.Prismatic((1, 0, 0)), joint_name="one", **INERTIAL)
    builder.body(
        "b", parent="base", joint=on.Prismatic((1, 0, 0)), joint_name="two", mimic=("one", 2.0, 0.0), **INERTIAL
    )
    builder.actuator("motor", "SimpleTransmission", ["two"], [3.0])
    builder.actuator("other", "muscle", through="tendon 't'")
    builder.actuated = ("one",)
    robot = builder.build()
    text = to_urdf(robot)
    back = on.load(text)
    assert back.actuators == robot.actuators[:1] and back.motors == robot.motors == ("one",)
    assert "left out: the actuator of 'other'" in text


@pytest.mark.parametrize("more", ["", "limits", "mass", "actuator"])
def test_rotors_of_several_joints_are_tendons(more: str) -> None:
    """Only where nothing of the rotor is lost: otherwise it is a body with a joint that follows."""
    builder = on.Builder("hand").body("base")
    for name in ("one", "two"):
        builder.body(name, parent="base", joint=on.Revolute((0, 1, 0)), joint_name=f"{name}_joint", **INERTIAL)
    builder.rotor("one_joint", 2.0, mass=0.0, inertia=(0, 0, 0), axis=(0, 0, 1), on="base", at=(0, 0, 0), name="r1")
    mass = 1.0 if more == "mass" else 0.0
    builder.rotor("two_joint", 3.0, mass=mass, inertia=(0, 0, 5), axis=(0, 0, 1), on="r1", at=(0, 0, 0), name="r")
    if more == "limits":
        builder.set_terms("r_joint", upper=3.0)
    if more == "actuator":
        builder.actuator("a", "motor", ["r_joint"], [1.0])
    model = mujoco.MjModel.from_xml_string(to_mjcf(builder.build(), lossy=True))
    assert (model.ntendon, model.neq) == ((0, 2) if more else (1, 0))
    if not more:
        assert model.tendon_armature[0] == 5.0 and model.nv == 2


FLUID = """<mujoco><option density="1.2" viscosity=".3" wind="1 0 0"/><worldbody><body name="a" pos="0 0 1"><freejoint/>
<geom type="box" size=".1 .2 .3" euler="10 20 30"/><body name="b"><joint name="h" axis="0 1 0"/>
<geom type="capsule" size=".1 .3" fluidshape="ellipsoid" fluidcoef="1 .2 .3 .4 .5"/>
<body name="c"><joint type="ball" name="ball"/><geom size=".1" pos=".1 0 0"/><geom type="box" size=".1 .2 .3"/>
</body></body></body></worldbody><keyframe><key name="home" qpos="1 2 3 0 1 0 0 .5 .6 .8 0 0"/></keyframe></mujoco>"""


def test_fluids_and_named_positions_in_mjcf() -> None:
    robot = on.load(FLUID)
    text = to_mjcf(robot)
    back = on.load(text)
    q, v, _ = states(robot, 1)
    assert_close(back.passive_force(q, v, 0.01), robot.passive_force(q, v, 0.01), ROUNDING)
    assert_close(back.positions["home"], robot.positions["home"], ROUNDING)
    ours, theirs = (mujoco.MjModel.from_xml_string(x) for x in (text, FLUID))
    assert_close(ours.key_qpos, theirs.key_qpos, ROUNDING)
    forces = []
    for model in (ours, theirs):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = convert(robot, model).to_peer(q[0], v[0])
        mujoco.mj_forward(model, data)
        forces.append(data.qfrc_fluid.copy())
    assert_close(forces[0], forces[1], PEER)


def test_drags_that_no_one_fluid_explains_are_lost() -> None:
    robot = on.Robot.of(replace(on.load(FLUID), shapes=()))  # the ellipsoid has no geom any more
    with pytest.raises(ModelError, match="drag of body 'a', body 'b', body 'c'"):
        to_mjcf(robot)
    builder = on.Builder("buoy").body("base")
    drag = on.Drag(quadratic=(0, 0, 0, 1, 2, 3))
    builder.body("a", parent="base", joint=on.Spherical(), **INERTIAL, drag=drag)
    with pytest.raises(ModelError, match="drag of body 'a'"):
        to_mjcf(builder.build())


@pytest.mark.parametrize("file", FILES[:2])
@pytest.mark.parametrize("floating", [False, True])
def test_a_builder_makes_the_same_robot_again(file: str, floating: bool) -> None:
    """The root of the second is called "world", as is the base of any robot that floats."""
    robot = on.load(ROBOTS / file, floating=floating)
    assert robot.builder().build() == robot
