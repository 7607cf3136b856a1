"""What files of other programs have beyond the specification of URDF, and harmless faults."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ordern.errors import ModelError
from ordern.io import load_builder, read_urdf
from ordern.joints import Continuous, Prismatic, Revolute, Spherical
from ordern.model import Model

INERTIAL = """<inertial><origin xyz="1 2 3"/><mass value="2"/>
<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="3"/></inertial>"""
LINE = '<visual><geometry><sphere radius="1"/></geometry>{}</visual>'


def build(text: str) -> Model:
    return read_urdf(text).build()


def arm(joint: str = "", *, inertial: str = INERTIAL, more: str = "") -> str:
    """Two links; the joint between them starts in line 3."""
    return f"""<robot name="arm">
<link name="base"/>
<joint name="elbow" type="revolute"><parent link="base"/><child link="tip"/>{joint}</joint>
<link name="tip">{inertial}</link>
{more}
</robot>"""


class TestHarmlessFaults:
    def test_a_robot_whose_name_is_empty_has_that_of_its_file(self, tmp_path: Path) -> None:
        (file := tmp_path / "humanoid.urdf").write_text(arm().replace('name="arm"', 'name=""'))
        model = load_builder(file).build()
        assert model.name == "humanoid"
        assert [str(n) for n in model.notes] == [
            f"{file}:1: named after its file, because its own name is empty: the robot: 'humanoid'"
        ]
        assert build(arm().replace('name="arm"', 'name=" "')).name == "robot"

    @pytest.mark.parametrize(
        "text",
        [
            arm(more='<xacro:pelvis_sensors api="none"/>'),
            arm(inertial=INERTIAL + LINE.format("<xacro:grey/>")),
            arm(inertial=INERTIAL + LINE.format('<material name=""><xacro:grey/></material>')),
        ],
    )
    def test_a_macro_that_an_old_xacro_did_not_know_is_noted(self, text: str) -> None:
        model = build(text)
        assert model.body("tip").mass == 2.0
        (note,) = model.notes
        assert note.message.startswith("not read") and "<xacro:" in note.message

    @pytest.mark.parametrize(
        "text",
        [
            arm(inertial="<xacro:inertia/>"),
            arm("<xacro:axis/>"),
            arm(inertial="<inertial><xacro:box/></inertial>"),
            arm(more='<xacro:include filename="legs.xacro"/>'),
            arm(more='<xacro:if value="1"/>'),
        ],
    )
    def test_a_template_is_refused(self, text: str) -> None:
        with pytest.raises(ModelError, match=r"<xacro:\w+> belongs to a xacro template, which is not a robot yet"):
            build(text)

    def test_quotes_around_limits_of_velocity_and_effort_are_dropped(self) -> None:
        model = build(arm("""<limit lower="-1" upper="1" velocity="2.5&quot;" effort="'3'"/>"""))
        assert (model.joints[0].velocity_limit, model.joints[0].effort_limit) == ((2.5,), (3.0,))
        assert [str(n) for n in model.notes] == [
            "<string>:3: read without the quotes around it: velocity of joint 'elbow', effort of joint 'elbow'"
        ]
        with pytest.raises(ModelError, match="expected a finite number"):
            build(arm("""<limit lower="-1'" upper="1"/>"""))  # this one affects the motion

    @pytest.mark.parametrize("rgba", ['rgba=""', "", 'rgba="red"'])
    def test_an_empty_color_is_left_out(self, rgba: str) -> None:
        model = build(arm(inertial=LINE.format(f'<material name="m"><color {rgba}/></material>')))
        assert model.shapes[0].color is None
        assert "colors that are left out" in model.notes[0].message


def block(inertial: str, *collisions: str) -> str:
    shapes = "\n".join(f"<collision>{x}</collision>" for x in collisions)
    return arm(inertial=f"<inertial>{inertial}</inertial>\n{shapes}")


class TestDensity:
    def test_the_mass_is_that_of_the_collision_shapes(self) -> None:
        cube = '<origin xyz="1 0 0"/><geometry><box size="2 2 2"/></geometry>'
        tube = (
            '<origin xyz="-1 0 0" rpy="0 1.5707963267948966 0"/><geometry><cylinder radius="1" length="2"/></geometry>'
        )
        model = build(block('<density value="3"/>', cube, tube))
        body = model.body("tip")
        m1, m2 = 3 * 8.0, 3 * 2 * np.pi
        m = m1 + m2
        assert body.mass == pytest.approx(m, rel=1e-15)
        x = (m1 - m2) / m
        np.testing.assert_allclose(body.com, (x, 0, 0), atol=1e-15)
        across = m1 * 4 / 6 + m2 * (3 + 4) / 12 + m1 * (1 - x) ** 2 + m2 * (1 + x) ** 2
        np.testing.assert_allclose(body.inertia, (m1 * 4 / 6 + m2 / 2, across, across, 0, 0, 0), atol=1e-13)
        assert "by their <density>: link 'tip'" in model.notes[0].message

    def test_a_mass_that_is_given_wins(self) -> None:
        model = build(arm(inertial=INERTIAL.replace("<mass", '<density value="400"/><mass')))
        assert (model.body("tip").mass, model.notes) == (2.0, ())

    @pytest.mark.parametrize(
        ("shapes", "message"),
        [
            (['<geometry><mesh filename="a.obj"/></geometry>'], "of which one is a mesh; write <mass> and <inertia>"),
            (["<geometry><plane/></geometry>"], "of which one is no known shape"),
            ([], "but it has no <collision>"),
        ],
    )
    def test_a_mass_that_cannot_be_computed_is_an_error(self, shapes: list[str], message: str) -> None:
        with pytest.raises(ModelError, match=r"<string>:\d+: link 'tip': its mass is a <density> times") as e:
            build(block('<density value="400"/>', *shapes))
        assert message in str(e.value)


class TestRotors:
    def motor(self, *lines: str) -> str:
        more = "".join(f"<drake:{line}/>" for line in lines)
        return arm(more=f'<transmission><joint name="elbow"/><actuator name="m">{more}</actuator></transmission>')

    def test_the_armature_is_the_rotors_inertia_times_the_ratio_squared(self) -> None:
        model = build(self.motor('gear_ratio value="100"', 'rotor_inertia value="6e-5"'))
        assert model.joints[0].armature == (pytest.approx(0.6, rel=1e-15),)
        assert build(self.motor('rotor_inertia value="6e-5"')).joints[0].armature == (6e-5,)
        assert build(self.motor('gear_ratio value="100"')).joints[0].armature == (0.0,)
        assert not model.notes

    def test_a_negative_inertia_is_an_error(self) -> None:
        with pytest.raises(ModelError, match=r"actuator 'm': its <drake:rotor_inertia> is -1; expected zero or more"):
            build(self.motor('rotor_inertia value="-1"'))


class TestActuators:
    def actuators(self, *transmissions: str) -> list[tuple[object, ...]]:
        more = '<link name="c"/><joint name="k" type="prismatic"><parent link="tip"/><child link="c"/></joint>'
        found = build(arm(more=more + "\n".join(f"<transmission {x}</transmission>" for x in transmissions)))
        return [(a.name, a.kind, a.joints, a.gear, a.through) for a in found.actuators]

    def test_the_gear_is_the_reduction_of_actuator_joint_or_transmission(self) -> None:
        gear = "<mechanicalReduction>-80</mechanicalReduction>"
        actuator = (
            f'<type>transmission_interface/SimpleTransmission</type><joint name="elbow"/><actuator name="m">{gear}'
        )
        assert self.actuators(
            f"name='a'>{actuator}</actuator>",
            f"name='b' type='pr2/SimpleTransmission'><joint name='k'>{gear}</joint><actuator name='m'/>",
            f"name='c'><joint name='k'/>{gear}",
            "><joint name='k'/><actuator><drake:gear_ratio value='7'/><mechanicalReduction>1</mechanicalReduction>"
            "</actuator>",
        ) == [
            ("m", "SimpleTransmission", ("elbow",), ((-80.0,),), ""),
            ("m_2", "SimpleTransmission", ("k",), ((-80.0,),), ""),
            ("c", "transmission", ("k",), ((-80.0,),), ""),
            ("k_transmission", "transmission", ("k",), ((7.0,),), ""),
        ]

    def test_a_transmission_of_several_joints(self) -> None:
        assert self.actuators(
            "name='d'><joint name='elbow'/><joint name='k'/><actuator name='l'/><actuator name='r'/>"
        ) == [(name, "transmission", (), (), "transmission 'd' of joints 'elbow', 'k'") for name in ("l", "r")]

    def test_a_gear_that_is_no_number_is_noted_and_taken_as_one(self) -> None:
        gear = "<mechanicalReduction>reduction</mechanicalReduction>"
        text = f'<transmission><joint name="elbow"/><actuator name="m">{gear}</actuator></transmission>'
        model = build(arm(more=text))
        assert model.actuators[0].gear == ((1.0,),)
        assert "taken as 1, because it is not a number: gear of actuator 'm' (reduction)" in model.notes[0].message


def four_bar(closing: str) -> str:
    """A crank and a rocker of length 1, at a distance of 2; a coupler of length 2 hangs on the crank."""
    return f"""<robot name="bars"><link name="base"/><link name="crank"/><link name="rocker"/><link name="coupler"/>
<joint name="a" type="continuous"><parent link="base"/><child link="crank"/><axis xyz="0 1 0"/></joint>
<joint name="b" type="continuous"><parent link="base"/><child link="rocker"/><origin xyz="2 0 0"/><axis xyz="0 1 0"/>
</joint>
<joint name="c" type="continuous"><parent link="crank"/><child link="coupler"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
</joint>
{closing}</robot>"""


def closing_link(name: str, on: str, xyz: str, rpy: str = "1.5707963267948966 0 0") -> str:
    """A link as onshape-to-robot writes it; its z axis is minus the y axis of the link that it is on."""
    return f"""<link name="closing_{name}"/><joint name="closing_{name}_frame" type="fixed">
<origin xyz="{xyz}" rpy="{rpy}"/><parent link="{on}"/><child link="closing_{name}"/></joint>"""


class TestLoops:
    def test_a_loop_joint(self) -> None:
        ends = '<link1 link="coupler" xyz="2 0 0" rpy="0 0 0"/><link2 link="rocker" xyz="0 0 1"/>'
        text = four_bar(f"""<loop_joint name="d" type="continuous"><axis xyz="0 1 0"/>{ends}
<dynamics damping="0.5"/></loop_joint>""")
        (loop,) = build(text).loops
        assert (loop.name, loop.type, loop.damping) == ("d", Continuous((0.0, 1.0, 0.0)), (0.5,))
        assert (loop.parent_placement.position, loop.child_placement.position) == ((2.0, 0.0, 0.0), (0.0, 0.0, 1.0))
        assert [build(text).bodies[k].name for k in (loop.parent, loop.child)] == ["coupler", "rocker"]

    @pytest.mark.parametrize(
        ("kind", "expected"),
        [
            ("spherical", Spherical()),
            ("prismatic", Prismatic((1.0, 0.0, 0.0))),
            ("revolute", Revolute((1.0, 0.0, 0.0))),
        ],
    )
    def test_types_of_loop_joints(self, kind: str, expected: object) -> None:
        text = four_bar(
            f'<loop_joint name="d" type="{kind}"><link1 link="coupler"/><link2 link="rocker"/></loop_joint>'
        )
        assert build(text).loops[0].type == expected

    @pytest.mark.parametrize(
        ("inside", "message"),
        [
            ('<link1 link="coupler"/>', "loop joint 'd' has no <link2>; expected <link2 link="),
            ('<link1 link="coupler"/><link2/>', "loop joint 'd': <link2> has no link"),
            ('<link1 link="coupler"/><link2 link="rock"/>', "unknown body 'rock' in loop 'd'. Did you mean 'rocker'?"),
        ],
    )
    def test_faults(self, inside: str, message: str) -> None:
        with pytest.raises(ModelError, match="<string>:7: ") as e:
            build(four_bar(f'<loop_joint name="d" type="spherical">{inside}</loop_joint>'))
        assert message in str(e.value)

    def test_closing_links(self) -> None:
        ends = closing_link("d_1", "coupler", "2 0 0") + closing_link("d_2", "rocker", "0 0 1")
        model = build(four_bar(ends))
        (loop,) = model.loops
        assert (loop.name, loop.type) == ("closing_d", Spherical())
        assert loop.parent_placement.position == (2.0, 0.0, 0.0)
        assert "closed as a ball joint, because the file does not say which joint it is" in model.notes[0].message
        turned = ends + closing_link("d_1_z", "coupler", "2 -0.1 0") + closing_link("d_2_z", "rocker", "0 -0.1 1")
        model = build(four_bar(turned))
        (loop,) = model.loops
        assert (loop.type, model.notes) == (Revolute((0.0, 0.0, 1.0)), ())
        assert [model.bodies[k].name for k in (loop.parent, loop.child)] == ["coupler", "rocker"]

    def test_a_closing_link_without_a_partner_is_noted(self) -> None:
        model = build(four_bar(closing_link("d_1", "coupler", "2 0 0")))
        assert not model.loops
        assert "because there is no second link (closing_d_2): closing_d_1" in model.notes[0].message
