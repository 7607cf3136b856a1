from __future__ import annotations

import math
import timeit
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from ordern.errors import ModelError
from ordern.io import ModelWarning, load_builder, read_urdf
from ordern.io.urdf import unread_elements
from ordern.io.xml import parse_xml
from ordern.joints import Continuous, Free, Prismatic, Revolute
from ordern.model import Model
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
            ("floating", '<axis xyz="0 0 0"/>', Free()),
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

    def test_a_floating_joint_has_no_limits(self) -> None:
        joint = build(arm('<limit lower="0" upper="1" effort="1" velocity="1"/>', kind="floating")).joints[0]
        assert (set(joint.lower), set(joint.upper)) == ({-math.inf}, {math.inf})

    def test_name_and_source(self, tmp_path: Path) -> None:
        (file := tmp_path / "arm.urdf").write_text(arm())
        model = read_urdf(file).build()
        assert (model.name, model.source) == ("arm", str(file))
        assert build(arm()).source == "<string>"

    def test_joints_may_come_before_their_links(self) -> None:
        first, base, joint, *rest = arm().splitlines()
        assert build("\n".join([first, joint, base, *rest])).joints[0].name == "elbow"


class TestMimic:
    COUPLED = '<mimic joint="elbow"/>'

    def test_one_warning_lists_the_joints_that_are_treated_as_independent(self) -> None:
        more = "".join(
            f'<link name="l{k}"/><joint name="j{k}" type="revolute"><parent link="tip"/><child link="l{k}"/>'
            f'<mimic joint="elbow" multiplier="2"/></joint>'
            for k in (1, 2)
        )
        with pytest.warns(ModelWarning) as caught:
            builder = read_urdf(arm(more=more))
        assert [str(w.message) for w in caught] == [
            "<string>: mimic joints are not coupled yet; treated as independent: j1, j2 (2 in all)"
        ]
        assert caught[0].filename == __file__
        assert builder.build().nv == 3

    def test_a_mimic_needs_its_joint(self) -> None:
        with pytest.raises(ModelError, match="joint 'elbow': <mimic> has no joint; expected <mimic joint="):
            read_urdf(arm("<mimic/>"))


def test_unread_elements_are_ignored_and_can_be_listed() -> None:
    text = arm(
        "<gear/>",
        inertial="<visual><geometry/></visual><contact/>",
        more='<gazebo><link/></gazebo>\n<transmission name="t"/><material name="m"><color/></material>',
    )
    assert build(text).nv == 1
    found = unread_elements(parse_xml(text, "f"))
    assert [(e.tag, e.line) for e in found] == [
        ("gear", 3),
        ("contact", 4),
        ("gazebo", 5),
        ("transmission", 6),
    ]


OVERFLOWING = f"""<inertial><origin rpy="1 1 1"/><mass value="1"/>
<inertia {" ".join(f'{key}="1.7e308"' for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))}/></inertial>"""
BASE = '<robot name="r">\n<link name="a"/>\n<link name="b"/>\n'
FAULTS: list[tuple[str, str]] = [
    ("<robot/>", "<string>:1: <robot> has no name; expected <robot name="),
    ('<robot name=" "/>', "<string>:1: <robot> has an empty name; expected <robot name="),
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
        "Known: revolute, continuous, prismatic, fixed, floating, planar.",
    ),
    (arm(kind="planar"), "<string>:3: joint 'elbow': joints of type 'planar' are not supported yet"),
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


def test_there_are_75_real_robots() -> None:
    assert len(urdf_files()) >= 75


@pytest.mark.filterwarnings("ignore::ordern.io.ModelWarning")
def test_talos_loads_in_less_than_50_ms() -> None:
    file = ROBOTS / "talos_data/robots/talos_full_v2.urdf"
    assert min(timeit.repeat(lambda: load_builder(file).build(), number=1, repeat=10)) < 0.05


ROUNDING = 1e-12
"""Merging bodies behind fixed joints sums some ten terms in another order than Pinocchio."""

UNBOUNDED = {"centauro.urdf", "quadruped.urdf"}
"""Have joints without bounds: zero to Pinocchio, infinite to us."""


@pytest.mark.filterwarnings("ignore::ordern.io.ModelWarning")
@pytest.mark.parametrize("file", urdf_files(), ids=lambda p: p.relative_to(ROBOTS).with_suffix("").as_posix())
def test_a_real_robot_is_what_pinocchio_makes_of_it(file: Path) -> None:
    ours = load_builder(file).build()
    theirs = pin.buildModelFromUrdf(str(file))  # mimic joints are independent here, too
    assert (ours.name, ours.nv, len(ours.bodies)) == (theirs.name, theirs.nv, theirs.njoints - 1)
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
