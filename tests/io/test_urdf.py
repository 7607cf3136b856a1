from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import ordern as on
from ordern.errors import ModelError
from ordern.io import load_builder, read_urdf
from ordern.io.urdf import unread
from ordern.io.xml import parse_xml
from ordern.joints import Continuous, Free, Planar, Prismatic, Revolute, Spherical
from ordern.model import Mimic, Model, Shape
from tests.robots import BROKEN, ROBOTS, urdf_files

INERTIAL = """<inertial><origin xyz="1 2 3"/><mass value="2"/>
<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="3"/></inertial>"""


def arm(joint: str = "", *, kind: str = "revolute", inertial: str = INERTIAL, more: str = "") -> str:
    """Two links; the joint between them starts in line 3."""
    return f"""<robot name="arm">
<link name="base"/>
<joint name="elbow" type="{kind}"><parent link="base"/><child link="tip"/>{joint}</joint>
<link name="tip">{inertial}</link>
{more}
</robot>"""


def build(text: str) -> Model:
    return read_urdf(text).build()


class TestMeaning:
    def test_a_link_has_the_mass_centre_and_inertia_of_its_inertial(self) -> None:
        body = build(arm()).body("tip")
        assert (body.mass, body.com) == (2.0, (1.0, 2.0, 3.0))
        assert body.inertia == (1.0, 2.0, 3.0, 0.1, 0.2, 0.3)

    def test_what_is_said_twice_in_the_same_words_is_read_once(self) -> None:
        model = build(arm('\n<axis xyz="1 0 0"/>\n<dynamics damping="2"/>\n<axis xyz="1 0 0"/>'))
        assert model.joints[0].type == Revolute((1, 0, 0))
        assert [str(n) for n in model.notes] == ["<string>:6: repeated, and read once: <axis> of joint 'elbow'"]

    def test_an_inertia_is_turned_from_the_axes_of_the_inertial_to_those_of_the_link(self) -> None:
        turned = INERTIAL.replace('"1 2 3"', '"1 2 3" rpy="0.1 0.2 0.3"')
        body = build(arm(inertial=turned)).body("tip")
        R = pin.rpy.rpyToMatrix(0.1, 0.2, 0.3)
        I = np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 3]])
        assert body.com == (1.0, 2.0, 3.0)
        np.testing.assert_allclose(body.inertia_matrix, R @ I @ R.T, atol=1e-15)

    def test_a_link_without_inertial_is_massless(self) -> None:
        body = build(arm(inertial="")).body("tip")
        assert (body.mass, body.com, set(body.inertia)) == (0.0, (0.0, 0.0, 0.0), {0.0})

    def test_origin_of_a_joint(self) -> None:
        placed = build(arm('<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>')).joints[0].placement
        assert placed.position == (1.0, 2.0, 3.0)
        np.testing.assert_allclose(placed.R, pin.rpy.rpyToMatrix(0.1, 0.2, 0.3), atol=1e-15)

    @pytest.mark.parametrize(
        ("kind", "axis", "expected"),
        [
            ("revolute", "", Revolute((1.0, 0.0, 0.0))),
            ("revolute", '<axis xyz="0 -2 0"/>', Revolute((0.0, -1.0, 0.0))),
            ("continuous", '<axis xyz="0 3 4"/>', Continuous((0.0, 0.6, 0.8))),
            ("prismatic", '<axis xyz="0 0 1"/>', Prismatic((0.0, 0.0, 1.0))),
            ("planar", '<axis xyz="0 0 5"/>', Planar((0.0, 0.0, 1.0))),
            ("planar", "", Planar((1.0, 0.0, 0.0))),
            ("floating", '<axis xyz="0 0 0"/>', Free()),
            ("spherical", '<axis xyz="0 0 1"/>', Spherical()),
        ],
    )
    def test_types_and_axes(self, kind: str, axis: str, expected: object) -> None:
        assert build(arm(axis, kind=kind)).joints[0].type == expected

    def test_a_fixed_joint_is_merged_and_leaves_frames(self) -> None:
        model = build(arm('<origin xyz="1 2 3"/><axis xyz="0 0 0"/>', kind="fixed"))
        assert (model.nv, len(model.bodies)) == (0, 0)
        assert model.frame("tip").placement.position == (1.0, 2.0, 3.0)

    def test_limits_and_dynamics(self) -> None:
        text = '<limit lower="-1" upper="2" velocity="3" effort="inf"/><dynamics damping="0.5" friction="0.25"/>'
        joint = build(arm(text)).joints[0]
        assert (joint.lower, joint.upper) == ((-1.0,), (2.0,))
        assert (joint.velocity_limit, joint.effort_limit) == ((3.0,), (math.inf,))
        assert (joint.damping, joint.friction) == ((0.5,), (0.25,))

    @pytest.mark.parametrize(
        ("kind", "limit", "lower", "upper"),
        [
            ("revolute", "", -math.inf, math.inf),
            ("prismatic", '<limit effort="1" velocity="1"/>', -math.inf, math.inf),
            ("revolute", '<limit upper="1" effort="1" velocity="1"/>', 0.0, 1.0),
            ("revolute", '<limit lower="-Infinity" upper="1"/>', -math.inf, 1.0),
            ("continuous", '<limit lower="-1" upper="1"/>', -math.inf, math.inf),
        ],
    )
    def test_bounds_that_are_not_given(self, kind: str, limit: str, lower: float, upper: float) -> None:
        joint = build(arm(limit, kind=kind)).joints[0]
        assert (joint.lower, joint.upper) == ((lower,), (upper,))

    @pytest.mark.parametrize("kind", ["floating", "planar", "spherical"])
    def test_joints_of_many_coordinates_have_no_limits(self, kind: str) -> None:
        joint = build(arm('<limit lower="0" upper="1" effort="1" velocity="1"/>', kind=kind)).joints[0]
        assert (set(joint.lower), set(joint.upper)) == ({-math.inf}, {math.inf})
        assert (set(joint.velocity_limit), set(joint.effort_limit)) == ({math.inf}, {math.inf})

    def test_an_orientation_may_be_a_quaternion(self) -> None:
        q = np.array([0.1, 0.2, 0.3, 0.9])
        q /= np.linalg.norm(q)
        text = f'<origin xyz="1 2 3" quat_xyzw="{" ".join(map(repr, q.tolist()))}"/>'
        R = pin.Quaternion(q).matrix()
        placed = build(arm(text)).joints[0].placement
        assert placed.position == (1.0, 2.0, 3.0)
        np.testing.assert_allclose(placed.R, R, atol=1e-15)
        body = build(arm(inertial=INERTIAL.replace('<origin xyz="1 2 3"/>', text))).body("tip")
        I = np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 3]])
        np.testing.assert_allclose(body.inertia_matrix, R @ I @ R.T, atol=1e-15)

    def test_spaces_and_signs_of_numbers(self) -> None:
        joint = build(arm('<origin xyz=" +1\t 2.\n -.5e1 " /><axis xyz="  0 0  1 "/><limit lower=" -1 " upper="+1 "/>'))
        assert joint.joints[0].placement.position == (1.0, 2.0, -5.0)
        assert (joint.joints[0].lower, joint.joints[0].upper) == ((-1.0,), (1.0,))

    def test_a_frame_on_a_link(self) -> None:
        model = build(arm(more='<frame name="hand" link="tip" xyz="0 0 1" rpy="0 0 1.5"/>'))
        assert model.frame("hand").placement.position == (0.0, 0.0, 1.0)
        assert model.bodies[model.frame("hand").body].name == "tip"

    def test_a_world_that_no_link_describes_is_the_ground(self) -> None:
        more = '<joint name="weld" type="fixed"><parent link="world"/><child link="base"/><origin xyz="0 0 1"/></joint>'
        model = build(arm(more=more))
        assert model.base == "world"
        assert model.joints[0].placement.position == (0.0, 0.0, 1.0)
        assert [str(n) for n in model.notes] == [
            "<string>:6: taken as the ground, because no <link> describes it: 'world'"
        ]

    def test_name_and_source(self, tmp_path: Path) -> None:
        (file := tmp_path / "arm.urdf").write_text(arm())
        model = read_urdf(file).build()
        assert (model.name, model.source) == ("arm", str(file))
        assert build(arm()).source == "<string>"

    def test_joints_may_come_before_their_links(self) -> None:
        first, base, joint, *rest = arm().splitlines()
        assert build("\n".join([first, joint, base, *rest])).joints[0].name == "elbow"


def finger(name: str, mimic: str, kind: str = "revolute") -> str:
    return (
        f'<link name="l_{name}"/><joint name="{name}" type="{kind}"><parent link="tip"/><child link="l_{name}"/>\n'
        f"{mimic}</joint>"
    )


class TestMimic:
    def test_a_joint_follows_another(self) -> None:
        model = build(arm(more=finger("f", '<mimic joint="elbow" multiplier="-2" offset="0.5"/>')))
        assert model.joint("f").mimic == Mimic(0, -2.0, 0.5)
        assert (model.nq, model.nv, len(model.bodies)) == (1, 1, 2)

    def test_multiplier_and_offset_may_be_left_out(self) -> None:
        assert build(arm(more=finger("f", '<mimic joint="elbow"/>'))).joint("f").mimic == Mimic(0, 1.0, 0.0)

    def test_a_joint_may_come_before_the_one_that_it_follows(self) -> None:
        more = finger("f", '<mimic joint="g" multiplier="2"/>') + finger("g", "", kind="prismatic")
        model = build(arm(more=more))
        followed = model.joint("f").mimic
        assert followed is not None
        assert model.joints[followed.joint].name == "g"
        assert model.nv == 2

    def test_what_follows_a_follower_follows_the_first(self) -> None:
        more = finger("f", '<mimic joint="elbow" multiplier="2" offset="1"/>')
        more += finger("g", '<mimic joint="f" multiplier="3" offset="1"/>')
        assert build(arm(more=more)).joint("g").mimic == Mimic(0, 6.0, 4.0)

    def test_the_mimic_of_a_fixed_joint_means_nothing(self) -> None:
        model = build(arm(more=finger("f", '<mimic joint="elbow"/>', kind="fixed")))
        assert (model.nv, len(model.joints)) == (1, 1)

    @pytest.mark.parametrize("kind", ["fixed", "floating"])
    def test_a_joint_that_follows_nothing_that_moves_is_independent_and_noted(self, kind: str) -> None:
        model = build(arm(kind=kind, more=finger("f", '<mimic joint="elbow"/>') + finger("g", '<mimic joint="no"/>')))
        assert model.joint("f").mimic is None
        assert model.joint("g").mimic is None
        assert [str(n) for n in model.notes] == [
            "<string>:7: independent, because it mimics no moving joint: joint 'f' ('elbow'), "
            "joint 'g' (there is no joint 'no')"
        ]

    def test_the_joint_that_is_meant_is_suggested(self) -> None:
        (note,) = build(arm(more=finger("f", '<mimic joint="elbw"/>'))).notes
        assert note.message.endswith(": joint 'f' (there is no joint 'elbw'; did you mean 'elbow'?)")


LOOKS = """<visual name="front">
  <origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><geometry><box size="1 2 3"/></geometry>
</visual>
<collision><geometry><sphere radius="0.5"/></geometry></collision>
<visual><geometry><cylinder radius="0.5" length="2"/></geometry></visual>
<collision><geometry><capsule length="2" radius="0.25"/></geometry></collision>
<visual><geometry><mesh filename="package://arm/meshes/tip.stl" scale="1 -1 1"/></geometry></visual>
<visual><geometry><mesh filename="../meshes/tip with space.dae"/></geometry></visual>
"""


def shapes(looks: str, more: str = "") -> tuple[Shape, ...]:
    return build(arm(inertial=looks, more=more)).shapes


class TestShapes:
    def test_kinds_sizes_roles_and_names_in_the_order_of_the_file(self) -> None:
        found = shapes(LOOKS)
        assert [(s.kind, s.size, s.role, s.name, s.body) for s in found] == [
            ("box", (1.0, 2.0, 3.0), "visual", "front", 0),
            ("sphere", (0.5,), "collision", "", 0),
            ("cylinder", (0.5, 2.0), "visual", "", 0),
            ("capsule", (0.25, 2.0), "collision", "", 0),
            ("mesh", (1.0, -1.0, 1.0), "visual", "", 0),
            ("mesh", (1.0, 1.0, 1.0), "visual", "", 0),
        ]

    def test_names_of_meshes_are_kept_as_written(self) -> None:
        assert [s.file for s in shapes(LOOKS) if s.file] == [
            "package://arm/meshes/tip.stl",
            "../meshes/tip with space.dae",
        ]

    def test_a_shape_is_placed_on_its_body(self) -> None:
        at = shapes(LOOKS)[0].placement
        assert at.position == (1.0, 2.0, 3.0)
        np.testing.assert_allclose(at.R, pin.rpy.rpyToMatrix(0.1, 0.2, 0.3), atol=1e-15)

    def test_a_shape_of_a_link_behind_a_fixed_joint_moves_with_what_that_is_fixed_to(self) -> None:
        text = arm('<origin xyz="1 0 0"/>', kind="fixed", inertial=LOOKS)
        (first, *_) = build(text).shapes
        assert (first.body, first.placement.position) == (-1, (2.0, 2.0, 3.0))

    def test_shapes_change_nothing_else(self) -> None:
        with_shapes, without = build(arm(inertial=INERTIAL + LOOKS)), build(arm())
        assert (with_shapes.bodies, with_shapes.joints) == (without.bodies, without.joints)

    @pytest.mark.parametrize(
        ("material", "color"),
        [
            ("", None),
            ("<material/>", None),
            ('<material name=""/>', None),
            ('<material name=""><color rgba="0 0.5 1 0.25"/></material>', (0.0, 0.5, 1.0, 0.25)),
            ('<material name="own"><color rgba="0 0.5 1 0.25"/></material>', (0.0, 0.5, 1.0, 0.25)),
            ('<material name="steel"><color rgba="0 0.5 1 0.25"/></material>', (0.0, 0.5, 1.0, 0.25)),
            ('<material name="steel"/>', (0.5, 0.5, 0.5, 1.0)),
            ('<material name="steel"><texture filename="a.png"/></material>', (0.5, 0.5, 0.5, 1.0)),
            ('<material name="wood"><texture filename="a.png"/></material>', None),
        ],
    )
    def test_colors_are_of_the_shape_or_of_a_material_of_the_robot(self, material: str, color: object) -> None:
        looks = f'<visual><geometry><sphere radius="1"/></geometry>{material}</visual>'
        steel = '<material name="steel"><color rgba="0.5 0.5 0.5 1"/></material>'
        model = build(arm(inertial=looks, more=steel))
        assert model.shapes[0].color == color
        assert not model.notes

    def test_a_material_that_one_shape_defines_serves_the_next(self) -> None:
        sphere = '<geometry><sphere radius="1"/></geometry>'
        looks = f"""<visual>{sphere}<material name="red"><color rgba="1 0 0 1"/></material></visual>
        <visual>{sphere}<material name="red"/></visual>"""
        assert [s.color for s in shapes(looks)] == [(1.0, 0.0, 0.0, 1.0)] * 2

    def test_what_is_wrong_with_looks_is_noted_and_left_out(self) -> None:
        looks = """
<visual/>
<visual><geometry/></visual>
<visual><geometry><mesh/></geometry></visual>
<visual><geometry><box size="1 2"/></geometry></visual>
<visual><geometry><sphere radius="1"/></geometry><material name="gold"/></visual>
<visual><geometry><sphere radius="2"/></geometry><material name="x"><color rgba="1 0 0"/></material></visual>"""
        model = build(arm(inertial=looks))
        assert [(s.kind, s.size, s.color) for s in model.shapes] == [("sphere", (1.0,), None), ("sphere", (2.0,), None)]
        assert [str(n) for n in model.notes] == [
            "<string>:5: shapes that are left out: link 'tip': <visual> has no <geometry>; expected <geometry> with a "
            "shape in it, link 'tip': its <visual> has no known shape; expected one of box, sphere, "
            "cylinder, capsule, mesh, "
            "link 'tip': <mesh> has no filename; expected <mesh filename=\"...\">, "
            "link 'tip': <box> has size=\"1 2\"; expected 3 finite numbers separated by spaces",
            "<string>:9: materials that are not defined: 'gold' of link 'tip'",
            "<string>:10: colors that are left out: link 'tip': <color> has rgba=\"1 0 0\"; expected 4 finite numbers "
            "separated by spaces",
        ]

    @pytest.mark.slow
    @pytest.mark.parametrize("role", [pin.VISUAL, pin.COLLISION], ids=["visual", "collision"])
    def test_shapes_are_where_pinocchio_has_them(self, role: Any) -> None:
        file = ROBOTS / "a1_description/urdf/a1.urdf"
        ours = load_builder(file).build()
        model = pin.buildModelFromUrdf(str(file))
        theirs = list(
            pin.buildGeomFromUrdf(model, str(file), role, package_dirs=[str(ROBOTS.parent.parent)]).geometryObjects
        )
        found = [s for s in ours.shapes if s.role == str(role).lower()]
        assert len(found) == len(theirs) > 10

        def key(joint: str, matrix: Any, color: Any) -> tuple[Any, ...]:
            return joint, *np.round(matrix, 9).ravel().tolist(), *(() if role == pin.COLLISION else np.round(color, 6))

        names = [joint.name for joint in ours.joints]
        mine = [
            key("universe" if s.body < 0 else names[s.body], s.placement.matrix + 0.0, s.color or DEFAULT_COLOR)
            for s in found
        ]
        peers = [key(model.names[g.parentJoint], g.placement.homogeneous + 0.0, g.meshColor) for g in theirs]
        assert sorted(mine) == sorted(peers)


DEFAULT_COLOR = (0.9, 0.9, 0.9, 1.0)
"""Pinocchio's, where there is none."""


class TestNotes:
    TEXT = arm(
        '<gear/><limit current="1"/>\n<dynamics K="7" D="3"/>',
        inertial="<contact/><contact/><visual><verbose/><geometry><plane/></geometry></visual>",
        more='<gazebo><link/></gazebo>\n<transmission name="t"/><material name="m"><color/></material>\n<gazebo/>',
    ).replace('name="arm"', 'name="arm" xmlns:xacro="http://ros.org/wiki/xacro"')

    def test_two_notes_count_what_is_not_read(self) -> None:
        first, second, *_ = build(self.TEXT).notes
        assert str(first) == (
            "<string>:3: not read, though the motion may depend on it: <gear> in <joint> (1, first in line 3), "
            "K of <dynamics> (1, first in line 4), D of <dynamics> (1, first in line 4), "
            "<link> in <gazebo> (1, first in line 6)"
        )
        assert second.quiet and str(second) == (
            "<string>:3: not read: current of <limit> (1, first in line 3), "
            "<contact> in <link> (2, first in line 5), <verbose> in <visual> (1, first in line 5), "
            "<plane> in <geometry> (1, first in line 5), <gazebo> (2, first in line 6), "
            "<transmission> (1, first in line 7)"
        )

    @pytest.mark.parametrize(
        ("inside", "loud"),
        [
            ("<joint name='closing' type='ball'/>", True),
            ("<springStiffness>5</springStiffness>", True),
            ("<springStiffness value='0'/>", False),
            ("<turnGravityOff>true</turnGravityOff>", True),
            ("<turnGravityOff>False</turnGravityOff>", False),
            ("<gravity>0</gravity>", True),
            ("<gravity>1</gravity>", False),
            ("<mu1>1</mu1><plugin name='p'/><kp>1e6</kp>", False),
        ],
    )
    def test_parts_of_gazebo_that_change_the_motion_there(self, inside: str, loud: bool) -> None:
        first, *_ = build(arm(more=f"<gazebo reference='tip'>{inside}</gazebo>")).notes
        assert (" in <gazebo> (1, first" in first.message) is loud is not first.quiet

    def test_only_what_may_change_the_motion_is_a_warning(self) -> None:
        looks = "<visual><verbose/><geometry><plane/></geometry></visual>"
        quiet = arm("", inertial=INERTIAL + looks, more="<gazebo/><ros2_control/>")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            note, shape = on.load(quiet).notes
        assert shape.quiet and note.quiet and note.message.startswith("not read: ")
        with pytest.warns(on.ModelWarning, match=r"depend on it: K of <dynamics> \(1, first in line 3\)$"):
            on.load(quiet.replace("<gazebo/>", "<gazebo/><gazebo/>").replace("</joint>", '<dynamics K="1"/></joint>'))

    def test_the_elements_that_are_not_read_can_be_listed(self) -> None:
        found = unread(parse_xml(self.TEXT, "f"))
        assert [(e.tag, e.line) for e in found["<gazebo>"]] == [("gazebo", 6), ("gazebo", 8)]
        assert [(e.tag, e.line) for e in found["current of <limit>"]] == [("limit", 3)]

    def test_a_file_that_is_read_whole_has_no_notes(self) -> None:
        whole = """<calibration rising="0" falling="1"/><mimic joint="f"/><dynamics damping="0" friction="0"/>
        <safety_controller soft_lower_limit="0" soft_upper_limit="1" k_position="1" k_velocity="1"/>
        <limit lower="0" upper="1" velocity="1" effort="1"/>"""
        assert build(arm(whole, inertial=INERTIAL + LOOKS, more=finger("f", ""))).notes == ()

    @pytest.mark.parametrize(
        "text",
        [
            arm('<limit velocity="1" velocityy="2"/>'),  # what it is close to is there
            arm('<limit gear_velocity="2"/>'),  # another quantity
            arm('<limit drake:velocity="2"/>'),
            arm("<drake:limit/>"),
            arm(
                inertial='<visual><orgin xyz="0 0 1"/><geometry><sphere radius="1"/></geometry></visual>'
            ),  # only looks
        ],
    )
    def test_what_is_close_to_a_known_name_and_harms_nothing_is_noted(self, text: str) -> None:
        (note,) = build(text).notes
        assert note.message.startswith("not read")

    def test_damping_and_friction_below_zero_are_noted_and_taken_as_zero(self) -> None:
        model = build(arm('\n<dynamics damping="-0.5" friction="-1"/>'))
        assert (model.joints[0].damping, model.joints[0].friction) == ((0.0,), (0.0,))
        assert [str(n) for n in model.notes] == [
            "<string>:4: taken as zero, because it is below: damping -0.5 of joint 'elbow', "
            "friction -1 of joint 'elbow'"
        ]

    def test_limits_the_wrong_way_round_are_noted_and_taken_as_none(self) -> None:
        model = build(arm('\n<limit lower="1" upper="-1" effort="3"/>'))
        joint = model.joints[0]
        assert (joint.lower, joint.upper, joint.effort_limit) == ((-math.inf,), (math.inf,), (3.0,))
        assert [str(n) for n in model.notes] == [
            "<string>:4: without limits, because the lower one is above the upper one: joint 'elbow'"
        ]

    def test_long_lists_are_cut(self) -> None:
        more = "".join(finger(f"f{k}", '<mimic joint="no"/>') for k in range(9))
        (note,) = build(arm(more=more)).notes
        assert "joint 'f4' (there is no joint 'no'), ... (9 in all)" in note.message
        assert "f5" not in note.message
        (note,) = build(arm(more="".join(f"<x{k}/>" for k in range(99)))).notes
        assert "<x39> (1, first in line 6), ... (99 kinds in all)" in note.message


OVERFLOWING = f"""<inertial><origin rpy="1 1 1"/><mass value="1"/>
<inertia {" ".join(f'{key}="1.7e308"' for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))}/></inertial>"""
BASE = '<robot name="r">\n<link name="a"/>\n<link name="b"/>\n'
FAULTS: list[tuple[str, str]] = [
    ("<robot/>", "<string>:1: <robot> has no name; expected <robot name="),
    ('<robot name=" "/>', "<string>: 'robot' has no bodies"),
    ('<sdf version="1"/>', "<string>:1: the root element is <sdf>; that of a URDF document is <robot>"),
    ('<robot name="r"/>', "<string>: 'r' has no bodies"),
    ('<robot name="r">\n<link/></robot>', "<string>:2: <link> has no name; expected <link name="),
    (f'{BASE}<link name="a"/></robot>', "<string>:4: body 'a' exists already"),
    (f"{BASE}</robot>", "<string>:3: 'r' has 2 bodies that no joint carries ('a', 'b')"),
    (f'{BASE}<joint type="fixed"/></robot>', "<string>:4: <joint> has no name; expected <joint name="),
    (f'{BASE}<joint name="j"/></robot>', "<string>:4: joint 'j': <joint> has no type; expected"),
    (f'{BASE}<xacro:macro name="m"/></robot>', "<string>:4: <xacro:macro> belongs to a xacro template"),
    (
        f'{BASE}<joint name="j" type="fixed">\n<child link="b"/></joint></robot>',
        "<string>:4: joint 'j' has no <parent>; expected <parent link=",
    ),
    (
        f'{BASE}<joint name="j" type="fixed">\n<parent link="a"/></joint></robot>',
        "<string>:4: joint 'j' has no <child>; expected <child link=",
    ),
    (
        f'{BASE}<joint name="j" type="fixed"><parent link="a"/>\n<child/></joint></robot>',
        "<string>:5: joint 'j': <child> has no link; expected <child link=",
    ),
    (
        f'{BASE}<joint name="j" type="fixed"><parent link="a"/><child link="bb"/></joint></robot>',
        "<string>:4: joint 'j' has as its child an unknown body 'bb'. Did you mean 'b'?",
    ),
    (
        f'{BASE}<joint name="j" type="fixed"><parent link="zzz"/><child link="b"/></joint></robot>',
        "<string>:4: joint 'j' has as its parent an unknown body 'zzz'. Known: a, b.",
    ),
    (
        f'{BASE}<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>\n'
        '<link name="c"/><joint name="j" type="fixed"><parent link="a"/><child link="c"/></joint></robot>',
        "<string>:5: joint 'j' exists already",
    ),
    (
        f'{BASE}<joint name="j" type="fixed"><parent link="b"/><child link="b"/></joint></robot>',
        "<string>:4: the joints 'j' form a cycle",
    ),
    (
        arm(kind="revolut"),
        "<string>:3: unknown joint type 'revolut' in joint 'elbow'. Did you mean 'revolute'? "
        "Known: revolute, continuous, prismatic, planar, fixed, floating, spherical.",
    ),
    (arm('\n<axes xyz="0 0 1"/>'), "<string>:4: joint 'elbow' has the unknown element <axes>; did you mean <axis>?"),
    (arm('\n<limits lower="0"/>'), "<string>:4: joint 'elbow' has the unknown element <limits>; did you mean <limit>?"),
    (
        arm('\n<mimic joint="f" multipler="2"/>'),
        "<string>:4: <mimic> has the unknown attribute 'multipler'; did you mea",
    ),
    (
        arm('\n<orgin xyz="0 0 1"/>'),
        "<string>:4: joint 'elbow' has the unknown element <orgin>; did you mean <origin>?",
    ),
    (
        arm('\n<origin xyz="0 0 1" rpyy="1 0 0"/>'),
        "<string>:4: <origin> has the unknown attribute 'rpyy'; did you mean",
    ),
    (arm('\n<Axis xyz="0 0 1"/>'), "<string>:4: joint 'elbow' has the unknown element <Axis>; did you mean <axis>?"),
    (arm(inertial="<inertal/>"), "<string>:4: link 'tip' has the unknown element <inertal>; did you mean <inertial>?"),
    (arm(more="<jiont/>"), "<string>:6: robot 'arm' has the unknown element <jiont>; did you mean <joint>?"),
    (arm("\n<mimic/>"), "<string>:4: joint 'elbow': <mimic> has no joint; expected <mimic joint="),
    (
        arm(more=finger("f", '<mimic joint="elbow" multiplier="x"/>')),
        "<string>:7: joint 'f': <mimic> has multiplier=\"x\"; expected a finite number",
    ),
    (arm('<mimic joint="elbow"/>'), "<string>:3: joint 'elbow' follows itself"),
    (
        arm(more=finger("f", '<mimic joint="elbow"/>', kind="planar")),
        "<string>:6: joint 'f' must have exactly one coordinate to follow 'elbow'",
    ),
    (arm('\n<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>'), "<string>:4: joint 'elbow': <origin> has both rpy and"),
    (arm('<origin quat_xyzw="0 0 0 2"/>'), "joint 'elbow': <origin> has a quat_xyzw of length 2; expected 1"),
    (arm(inertial="\n<xacro:inertia/>"), "<string>:5: <xacro:inertia> belongs to a xacro template"),
    (arm(more="<frame/>"), "<string>:6: <frame> has no name; expected <frame name="),
    (arm(more='<frame name="f" link="no"/>'), "<string>:6: unknown body 'no' in frame 'f'. Known: base, tip."),
    (arm(kind="planar", joint='\n<axis xyz="0 0 0"/>'), "<string>:4: joint 'elbow': a joint's axis must have a dir"),
    (
        arm('\n<axis xyz="0 0 0"/>'),
        "<string>:4: joint 'elbow': a joint's axis must have a direction, but it is (0, 0, 0)",
    ),
    (arm("\n<axis/>"), "<string>:4: joint 'elbow': <axis> has no xyz; expected <axis xyz="),
    (arm('<axis xyz="1 0 0"/>\n<axis xyz="0 1 0"/>'), "<string>:4: joint 'elbow' has a second <axis>"),
    (
        arm('<origin xyz="1 2"/>'),
        "<string>:3: joint 'elbow': <origin> has xyz=\"1 2\"; expected 3 finite numbers separated by spaces",
    ),
    (arm('<origin xyz="1, 2, 3"/>'), 'xyz="1, 2, 3"; expected 3 finite numbers separated by spaces'),
    (arm('<origin rpy="0 0 nan"/>'), 'rpy="0 0 nan"; expected 3 finite numbers'),
    (arm('<origin rpy="0 0 1e400"/>'), 'rpy="0 0 1e400"; expected 3 finite numbers'),
    (arm('<origin rpy="0 0 ${pi/2}"/>'), "(this looks like a xacro template: run xacro on it first)"),
    (arm('<origin rpy="$(optenv RPY 0 0 0)"/>'), "(this looks like a xacro template: run xacro on it first)"),
    (arm('<origin xyz=""/>'), "<string>:3: joint 'elbow': <origin> has an empty xyz"),
    (arm('<limit lower="x" upper="1"/>'), "joint 'elbow': <limit> has lower=\"x\"; expected a finite number"),
    (arm('<limit effort="nan"/>'), 'effort="nan"; expected a finite number'),
    (arm('<limit effort="1e400"/>'), 'effort="1e400"; expected a finite number'),
    (arm('<limit effort="1_0"/>'), 'effort="1_0"; expected a finite number'),
    (arm('<limit effort="٣"/>'), 'effort="٣"; expected a finite number'),
    (
        arm('<dynamics damping="1 2"/>'),
        "joint 'elbow': <dynamics> has damping=\"1 2\"; expected a finite number",
    ),
    (
        arm(inertial="\n<inertial/>"),
        "<string>:5: link 'tip': <inertial> has no <mass>; expected <mass value=",
    ),
    (
        arm(inertial='<inertial><mass value="1"/></inertial>'),
        "<string>:4: link 'tip': <inertial> has no <inertia>; expected <inertia ixx=",
    ),
    (
        arm(inertial=INERTIAL.replace('ixz="0.2"', "")),
        "<string>:5: link 'tip': <inertia> has no ixz; expected",
    ),
    (
        arm(inertial=INERTIAL.replace("0.2", "O.2")),
        "link 'tip': <inertia> has ixz=\"O.2\"; expected a finite",
    ),
    (
        arm(inertial=INERTIAL.replace('value="2"', "")),
        "link 'tip': <mass> has no value; expected <mass value=",
    ),
    (arm(inertial=INERTIAL.replace('value="2"', 'value="-2"')), "<string>:4: body 'tip' has mass -2"),
    (arm(inertial=INERTIAL * 2), "<string>:5: link 'tip' has a second <inertial> (the first is in line 4)"),
    (arm(inertial=OVERFLOWING), "<string>:4: body 'tip': inertia must be"),
]


@pytest.mark.parametrize(("text", "message"), FAULTS, ids=[message[:40] for _, message in FAULTS])
def test_faults_say_where_they_are_and_what_is_expected(text: str, message: str) -> None:
    with pytest.raises(ModelError) as e:
        build(text)
    assert message in str(e.value)
    assert e.value.where.startswith("<string>")


def test_long_values_are_cut_in_messages() -> None:
    with pytest.raises(ModelError) as e:
        read_urdf(arm(f'<origin xyz="{"1 " * 1000}"/>'))
    assert len(str(e.value)) < 250


@pytest.mark.parametrize("file", BROKEN)
def test_broken_files_are_refused_with_the_reason(file: str) -> None:
    with pytest.raises(ModelError) as e:
        load_builder(ROBOTS / file).build()
    assert BROKEN[file] in str(e.value)
    assert e.value.where.startswith(f"{ROBOTS / file}:")


def test_there_are_many_real_robots() -> None:
    assert len(urdf_files()) >= 60  # 75 in release 5, 68 in release 6


ROUNDING = 1e-12
"""Merging bodies behind fixed joints sums some ten terms in another order than Pinocchio."""

UNBOUNDED = {"centauro.urdf", "quadruped.urdf"}
"""Have joints without bounds: zero to Pinocchio, infinite to us."""


@pytest.mark.slow
@pytest.mark.parametrize("file", urdf_files(), ids=lambda p: p.relative_to(ROBOTS).with_suffix("").as_posix())
def test_a_real_robot_is_what_pinocchio_makes_of_it(file: Path) -> None:
    ours = load_builder(file).build()
    theirs = pin.buildModelFromUrdf(str(file))  # joints that follow others are independent here
    free = ours.nv + sum(joint.type.nv for joint in ours.joints if joint.mimic)
    assert (ours.name, free, len(ours.bodies)) == (theirs.name, theirs.nv, theirs.njoints - 1)
    assert {joint.name for joint in ours.joints} == set(theirs.names[1:])
    assert {frame.name for frame in ours.frames} >= {f.name for f in theirs.frames if f.type == pin.BODY}
    assert ours.mass == pytest.approx(pin.computeTotalMass(theirs), rel=ROUNDING)
    for body, joint in zip(ours.bodies, ours.joints, strict=True):
        k = theirs.getJointId(joint.name)
        parent = theirs.names[theirs.parents[k]]
        assert parent == ("universe" if joint.parent < 0 else ours.joints[joint.parent].name)
        close(joint.placement.matrix, theirs.jointPlacements[k].homogeneous)
        close(body.mass, theirs.inertias[k].mass)
        if body.mass:  # without mass the centre is no property
            close(body.com, theirs.inertias[k].lever)
        close(body.inertia_matrix, theirs.inertias[k].inertia)
        v = theirs.idx_vs[k]
        close(joint.velocity_limit, theirs.velocityLimit[v], 0.0)
        close(joint.effort_limit, theirs.effortLimit[v], 0.0)
        close(joint.damping, theirs.damping[v], 0.0)
        close(joint.friction, theirs.friction[v], 0.0)
        if not isinstance(joint.type, Continuous) and file.name not in UNBOUNDED:
            q = theirs.idx_qs[k]
            close(joint.lower, theirs.lowerPositionLimit[q], 0.0)
            close(joint.upper, theirs.upperPositionLimit[q], 0.0)


def close(ours: Any, theirs: Any, atol: float = ROUNDING) -> None:
    a, b = np.broadcast_arrays(np.asarray(ours, float), np.asarray(theirs, float))
    differ = a != b  # infinite limits are equal, but have no difference
    assert (np.abs(a[differ] - b[differ]) <= atol * np.maximum(1.0, np.abs(b[differ]))).all(), (a, b)


def test_an_axis_that_is_no_unit_is_noted() -> None:
    text = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="2" izz="2" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 2"/></joint></robot>"""
    model = load_builder(text).build()
    assert model.joints[0].type.axis == (0.0, 0.0, 1.0)
    assert [str(note) for note in model.notes if "length one" in note.message and "joint 'j' (2)" in note.message]
    assert not load_builder(text.replace("0 0 2", "0 0 1")).build().notes
