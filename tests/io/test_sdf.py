from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import ordern as on
from ordern.errors import ModelError
from ordern.io import load_builder
from ordern.joints import Composite, Continuous, Fixed, Free, Helical, Joint, Prismatic, Revolute, Spherical, Universal
from ordern.model import Frame, Mimic, Model
from tests.robots import ROBOTS
from tests.tolerances import PEER, PUBLISHED, ROUNDING, assert_close

CASSIE = ROBOTS / "cassie_description/robots"
Array = np.ndarray


def inertial(mass: float = 1.0, pose: str = "0 0 0 0 0 0") -> str:
    return (
        f"<inertial><pose>{pose}</pose><mass>{mass}</mass><inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.25</izz>"
        "<ixy>0.01</ixy><ixz>-0.02</ixz><iyz>0.03</iyz></inertia></inertial>"
    )


def link(name: str, pose: str = "0 0 0 0 0 0", more: str = "", mass: float = 1.0) -> str:
    return f"<link name='{name}'><pose>{pose}</pose>{inertial(mass, '.1 .02 .03 .1 .2 .3')}{more}</link>"


def joint(name: str, parent: str, child: str, kind: str = "revolute", more: str = "") -> str:
    axis = "" if "<axis>" in more or kind in ("fixed", "ball") else "<axis><xyz>0 0 1</xyz></axis>"
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f"<joint name='{name}' type='{kind}'>{ends}{axis}{more}</joint>"


def model(*parts: str, version: str = "1.9", more: str = "") -> str:
    """The parts of a model, one in each line from line 2 on."""
    return "\n".join([f"<sdf version='{version}'><model name='m' {more}>", *parts, "</model></sdf>"])


def build(text: str, **options: bool) -> Model:
    return load_builder(text).build(**options)


def arm(more: str = "", kind: str = "revolute", version: str = "1.9") -> str:
    """Two links, in lines 2 and 3, with a joint in line 4 between them."""
    return model(link("base"), link("tip", "1 2 3 0.1 0.2 0.3"), joint("j", "base", "tip", kind, more), version=version)


def pose(model: Model, q: Array, frame: str | Frame) -> Array:
    """By the interpreter, which needs no compiling."""
    return np.asarray(on.Robot.of(model).kernel("pose", way="interpreted", frame=frame)(q))


def ask(model: Model, question: str, *arguments: Array) -> Array:
    return np.asarray(on.Robot.of(model).kernel(question, way="interpreted")(*arguments))


def placed(text: str) -> Array:
    """A homogeneous matrix from what a <pose> has."""
    x = [float(w) for w in text.split()]
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = pin.rpy.rpyToMatrix(*x[3:]), x[:3]
    return T


def turn(axis: list[float], angle: float) -> Array:
    T = np.eye(4)
    T[:3, :3] = pin.exp3(np.array(axis) / np.linalg.norm(axis) * angle)
    return T


def slide(axis: list[float], distance: float) -> Array:
    T = np.eye(4)
    T[:3, 3] = np.array(axis) / np.linalg.norm(axis) * distance
    return T


MODERN = f"""<sdf version="1.11"><model name="m" placement_frame="foot"><pose degrees="true">0.1 0.2 0.3 10 20 30</pose>
<frame name="foot" attached_to="base"><pose>0 0.1 -0.5 0.3 0 0.1</pose></frame>
<link name="base"><pose>0.2 0 0.1 0.5 0 0</pose>{inertial(3, ".1 .02 .03 .1 .2 .3")}</link>
<joint name="weld" type="fixed"><parent>world</parent><child>base</child></joint>
<joint name="j1" type="revolute"><pose relative_to="base">0.1 0.2 0.3 0.1 0.4 -0.2</pose>
  <parent>base</parent><child>l1</child><axis><xyz>0.6 0 0.8</xyz></axis></joint>
<link name="l1"><pose relative_to="j1">0 0 0 0 0 0</pose>{inertial(1.5, ".1 -.02 .03 .1 .2 -.3")}</link>
<frame name="elbow" attached_to="l1">
  <pose rotation_format="quat_xyzw">0.3 0.1 0 0.1 0.2 0.3 0.9273618495495703</pose></frame>
<link name="l2"><pose relative_to="elbow">0.05 0.1 0 0 0 0.7</pose>{inertial(0.8, ".2 0 0 0 0 0")}</link>
<joint name="j2" type="universal"><pose relative_to="elbow">0 0 0 0 0 0</pose><parent>elbow</parent><child>l2</child>
  <axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint>
<link name="l3"><pose relative_to="l2" degrees="true">0.3 0 0 0 90 0</pose>{inertial(0.5, "0 .1 0 0 0 0")}</link>
<joint name="j3" type="screw"><pose>0.05 0.02 0 0 0 0</pose><parent>l2</parent><child>l3</child>
  <screw_thread_pitch>0.3</screw_thread_pitch><axis><xyz expressed_in="__model__">0 1 1</xyz></axis></joint>
<link name="l4"><pose relative_to="l3">0.1 0 .1 0 0 1</pose>{inertial(0.4, "0 .1 0 0 0 0")}</link>
<joint name="j4" type="prismatic"><pose>0.5 0.2 0 0 0 0.1</pose><parent>l3</parent><child>l4</child>
  <axis><xyz expressed_in="elbow">0 1 0</xyz><limit><lower>-0.5</lower><upper>0.7</upper></limit></axis></joint>
<link name="l5"><pose relative_to="l4">0.1 0 .1 0 0 1</pose>{inertial(0.4, "0 .1 0 0 0 0")}</link>
<joint name="j5" type="continuous"><pose>0 0.2 0 0 0 0</pose><parent>l4</parent><child>l5</child>
  <axis><xyz>0 0 1</xyz></axis></joint>
<model name="hand" placement_frame="wrist"><pose relative_to="l5">0 0 .2 0 .3 0</pose>
  <link name="palm"><pose>.1 0 0 0 0 .2</pose>{inertial(0.3, "0 .1 0 0 0 0")}</link>
  <frame name="wrist" attached_to="palm"><pose>0 0 -.1 .2 0 0</pose></frame>
  <link name="finger"><pose relative_to="wrist">0 0 .3 0 0 0</pose>{inertial(0.1, "0 .1 0 0 0 0")}</link>
  <joint name="knuckle" type="revolute"><parent>palm</parent><child>finger</child><axis><xyz>1 0 0</xyz></axis></joint>
</model>
<joint name="grasp" type="revolute"><parent>l5</parent><child>hand::wrist</child><axis><xyz>0 1 0</xyz></axis></joint>
</model></sdf>"""
"""Whatever a frame can be relative to, and joints off the origins of their links."""


class TestAgainstDrake:
    """Numbers that Drake 1.51 has computed from the same document, by its own reader of SDF."""

    q = np.array([0.3, -0.4, 0.5, 0.6, -0.2, 0.7, -0.8, 0.9])
    v = np.array([0.5, 0.4, -0.3, -0.6, 0.7, -0.2, 0.1, 0.8])
    a = np.array([-0.5, 0.2, 0.3, 0.6, -0.4, 0.9, 0.2, -0.7])

    def test_the_joints_are_in_the_order_of_the_file(self) -> None:
        joints = [c.name for c in build(MODERN).joints]
        assert joints == ["j1", "j2", "j3", "j4", "j5", "grasp", "hand::knuckle"]

    def test_pose(self) -> None:
        expected = [
            [0.056213368873, -0.505245542732, -0.861142844544, -0.314100025192],
            [0.831334772952, 0.501340084838, -0.239876248542, 1.233863714739],
            [0.552921832125, -0.702413739106, 0.448210203672, 0.873478466255],
            [0.0, 0.0, 0.0, 1.0],
        ]
        assert_close(pose(build(MODERN), self.q, "hand::finger"), expected, PUBLISHED)

    def test_mass_matrix(self) -> None:
        M = ask(build(MODERN), "mass_matrix", self.q)
        expected = [
            *(2.125865010873, 1.685182631817, 1.641239320681, 1.081553582235),
            *(1.2, 0.658998961314, 0.431265956338, 0.101),
        ]
        assert_close(np.diag(M), expected, PUBLISHED)

    def test_inverse_dynamics(self) -> None:
        tau = ask(build(MODERN), "inverse_dynamics", self.q, self.v, self.a)
        expected = [
            *(10.45075060464, 7.9546908493, 7.328744899904, 1.035302147211),
            *(8.344597165405, 1.855867840804, 0.227404483001, 0.002729496461),
        ]
        assert_close(tau, expected, PUBLISHED)


class TestCassie:
    """Closed loops: links that two joints name as their child."""

    @pytest.fixture
    def robot(self) -> Model:
        return load_builder(CASSIE / "cassie_v2.sdf").build(floating=True, snap=0.0)

    def test_the_tree_has_the_first_joint_of_every_link(self, robot: Model) -> None:
        assert (len(robot.bodies), robot.nv, len(robot.loops)) == (23, 28, 4)
        assert [(x.name, type(x.type)) for x in robot.loops] == [
            ("left-pitch-rod-joint", Spherical),
            ("right-pitch-rod-joint", Spherical),
            ("right-plantar-foot-joint", Spherical),
            ("left-plantar-foot-joint", Spherical),
        ]
        ends = {x.name: (robot.bodies[x.parent].name, robot.bodies[x.child].name) for x in robot.loops}
        assert ends["left-pitch-rod-joint"] == ("left-achilles-rod", "left-hip-pitch")

    @pytest.mark.parametrize("path", sorted(CASSIE.glob("*.sdf")), ids=lambda p: p.stem)
    def test_every_loop_is_closed_where_the_file_puts_the_links(self, path: Path) -> None:
        robot = load_builder(path).build(snap=0.0)
        assert len(robot.loops) in (4, 6)
        for loop in robot.loops:
            one = pose(robot, robot.neutral(), Frame("a", loop.parent, loop.parent_placement))
            other = pose(robot, robot.neutral(), Frame("b", loop.child, loop.child_placement))
            assert_close(one, other, ROUNDING)

    @pytest.mark.parametrize("path", sorted(CASSIE.glob("*.sdf")), ids=lambda p: p.stem)
    def test_links_are_where_the_file_puts_them(self, path: Path) -> None:
        robot = load_builder(path).build(snap=0.0)
        links = ET.parse(path).getroot().findall("model/link")
        assert len(links) > 20
        for element in links:
            expected = placed(element.findtext("pose", "0 0 0 0 0 0"))
            assert_close(pose(robot, robot.neutral(), element.attrib["name"]), expected, ROUNDING)

    def test_dynamics_of_the_tree_agrees_with_pinocchio(self, robot: Model) -> None:
        theirs = pinocchio_tree(CASSIE / "cassie_v2.sdf", robot)
        data = theirs.createData()
        rng = np.random.default_rng(1)
        # Pinocchio: position before rotation, and quaternions as x y z w.
        to_q = [4, 5, 6, 1, 2, 3, 0]
        to_v = [3, 4, 5, 0, 1, 2]
        joints = [robot.joint(theirs.names[k]) for k in range(2, theirs.njoints)]
        to_q += [c.q.start for c in joints]
        to_v += [c.v.start for c in joints]
        for _ in range(3):
            q, v, a = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
            tau = ask(robot, "inverse_dynamics", q, v, a)
            expected = pin.rnea(theirs, data, q[to_q], v[to_v], a[to_v])
            assert_close(tau[to_v], expected, PEER)
            M = ask(robot, "mass_matrix", q)
            assert_close(M[np.ix_(to_v, to_v)], pin.crba(theirs, data, q[to_q]), PEER)

    def test_springs_limits_and_damping(self, robot: Model) -> None:
        spring = robot.joint("left-knee-shin-joint")
        assert (spring.stiffness, spring.rest, spring.damping) == ((1500.0,), (0.0,), (0.1,))
        assert (spring.lower, spring.upper) == ((-0.34907,), (0.34907,))

    def test_a_gearbox_couples_two_joints(self) -> None:
        robot = load_builder(CASSIE / "cassie.sdf").build()
        assert len(robot.couplings) == 10
        found = {c.name: c for c in robot.couplings}["left-roll-joint"]
        names = robot.joints[found.joint].name, robot.joints[found.other].name
        assert names == ("left-roll-op", "left-roll-ip")
        assert found.coefficients == (0.0, -0.04)


def pinocchio_tree(path: Path, robot: Model) -> pin.Model:
    """The joints that `robot` has in its tree, from the file by hand. Old files have joint poses in the child."""
    root = ET.parse(path).getroot().find("model")
    assert root is not None
    links = {e.attrib["name"]: e for e in root.findall("link")}
    joints = {e.attrib["name"]: e for e in root.findall("joint")}
    at = {name: pin.SE3(placed(e.findtext("pose", "0 0 0 0 0 0"))) for name, e in links.items()}
    base = robot.bodies[0].name
    result = pin.Model()
    frames = {
        base: (result.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint"), pin.SE3.Identity())
    }
    for c in robot.joints[1:]:
        e = joints[c.name]
        assert e.attrib["type"] == "revolute"
        parent, child = e.findtext("parent", ""), e.findtext("child", "")
        J = pin.SE3(placed(e.findtext("pose", "0 0 0 0 0 0")))
        axis = np.array([float(x) for x in e.findtext("axis/xyz", "").split()])
        k, X = frames[parent]
        where = X * at[parent].inverse() * at[child] * J
        frames[child] = result.addJoint(k, pin.JointModelRevoluteUnaligned(axis), where, c.name), J.inverse()
    for name, (k, X) in frames.items():
        e = links[name].find("inertial")
        assert e is not None
        I = {x.tag: float(x.text or 0) for x in e.findall("inertia/*")}
        rotational = np.array(
            [[I["ixx"], I["ixy"], I["ixz"]], [I["ixy"], I["iyy"], I["iyz"]], [I["ixz"], I["iyz"], I["izz"]]]
        )
        C = pin.SE3(placed(e.findtext("pose", "0 0 0 0 0 0")))
        own = pin.Inertia(float(e.findtext("mass", "0")), np.zeros(3), rotational)
        result.appendBodyToJoint(k, C.act(own), X)
    return result


class TestInertia:
    def test_an_inertia_is_in_the_axes_of_its_pose(self) -> None:
        body = build(arm()).body("tip")
        R = pin.rpy.rpyToMatrix(0.1, 0.2, 0.3)
        I = np.array([[0.1, 0.01, -0.02], [0.01, 0.2, 0.03], [-0.02, 0.03, 0.25]])
        assert (body.mass, body.com) == (1.0, (0.1, 0.02, 0.03))
        assert_close(body.inertia_matrix, R @ I @ R.T, ROUNDING)

    def test_what_is_said_twice_in_the_same_words_is_read_once(self) -> None:
        text = model(link("a"), link("b").replace("<mass>", "<mass>1.0</mass>\n<mass>"), joint("j", "a", "b"))
        found = build(text)
        assert found.body("b").mass == 1.0
        assert "repeated, and read once: <mass> of <inertial> in line 3" in [n.message for n in found.notes]

    BOX = "<collision name='c'><pose>{}</pose>{}<geometry><box><size>1 2 3</size></box></geometry></collision>"

    @pytest.mark.parametrize(
        ("inside", "own", "mass"),
        [
            ("", "", 6000),
            ("<density>5</density>", "", 30),
            ("<density>5</density>", "<density>2</density>", 12),
            ("<mass>7</mass>", "", 7),
        ],
    )
    def test_an_inertia_from_shapes(self, inside: str, own: str, mass: float) -> None:
        text = f"<link name='a'><inertial auto='true'>{inside}</inertial>{self.BOX.format('1 0 0 0 0 0', own)}</link>"
        body = build(model(text), floating=True).body("a")
        assert_close([body.mass, *body.com], [mass, 1, 0, 0], ROUNDING)
        assert_close(body.inertia, [mass * 13 / 12, mass * 10 / 12, mass * 5 / 12, 0, 0, 0], ROUNDING)

    def test_an_inertia_from_two_shapes(self) -> None:
        both = self.BOX.format("1 0 0 0 0 0", "") + self.BOX.format("-1 0 0 0 0 1.5707963267948966", "").replace(
            "'c'", "'d'"
        )
        body = build(model(f"<link name='a'><inertial auto='true'/>{both}</link>"), floating=True).body("a")
        assert_close([body.mass, *body.com], [12000, 0, 0, 0], ROUNDING)
        assert_close(body.inertia[0], 6000 * (13 + 10) / 12, ROUNDING)
        assert_close(body.inertia[2], 6000 * 2 * (5 / 12 + 1), ROUNDING)

    def test_what_is_not_said_is_one_as_specified(self) -> None:
        found = build(model(link("a"), "<link name='b'/>", joint("j", "a", "b")))
        assert (found.body("b").mass, found.body("b").inertia) == (1.0, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
        assert any(
            n.message == "without <inertial>, and so with 1 kg and a unit inertia: link 'b'" for n in found.notes
        )
        some = "<link name='b'><inertial><inertia><iyy>3</iyy></inertia></inertial></link>"
        assert build(model(link("a"), some, joint("j", "a", "b"))).body("b").inertia[:3] == (1.0, 3.0, 1.0)


class TestPoses:
    def test_a_link_is_where_the_model_puts_it(self) -> None:
        found = build(model("<pose>0 0 1 0.5 0 0</pose>", link("a", "1 2 3 0.1 0.2 0.3")))
        expected = placed("0 0 1 0.5 0 0") @ placed("1 2 3 0.1 0.2 0.3")
        assert_close(pose(found, found.neutral(), "a"), expected, ROUNDING)

    def test_relative_to_a_joint_a_frame_and_another_link(self) -> None:
        found = build(
            model(
                link("a", "1 0 0 0 0 0.5"),
                "<frame name='f' attached_to='a'><pose>0 1 0 0.2 0 0</pose></frame>",
                "<link name='b'><pose relative_to='f'>0 0 1 0 0.3 0</pose></link>",
                "<joint name='j' type='revolute'><pose relative_to='b'>1 1 1 0 0 0.7</pose><parent>a</parent>"
                "<child>b</child><axis><xyz>0 0 1</xyz></axis></joint>",
                "<link name='c'><pose relative_to='j'>0 0 2 0.1 0 0</pose></link>",
                joint("k", "b", "c"),
            )
        )
        F = placed("1 0 0 0 0 0.5") @ placed("0 1 0 0.2 0 0")
        B = F @ placed("0 0 1 0 0.3 0")
        C = B @ placed("1 1 1 0 0 0.7") @ placed("0 0 2 0.1 0 0")
        for name, expected in {"f": F, "b": B, "c": C}.items():
            assert_close(pose(found, found.neutral(), name), expected, ROUNDING)

    def test_a_frame_without_attached_to_is_fixed_to_the_canonical_link(self) -> None:
        parts = [link("a"), link("b"), joint("j", "a", "b"), "<frame name='f'><pose>0 0 1 0 0 0</pose></frame>"]
        found = build(model(*parts, more="canonical_link='b'"))
        assert found.frame("f").body == found.frame("b").body != found.frame("a").body

    def test_degrees_and_quaternions(self) -> None:
        s = math.sqrt(0.5)
        for text in ("degrees='true'>1 2 3 0 0 90", f"rotation_format='quat_xyzw'>1 2 3 0 0 {2 * s} {2 * s}"):
            found = build(model(f"<link name='a'><pose {text}</pose></link>"))
            assert_close(pose(found, found.neutral(), "a"), placed(f"1 2 3 0 0 {math.pi / 2}"), ROUNDING)

    @pytest.mark.slow
    def test_a_long_chain_of_poses_does_not_exhaust_the_stack(self) -> None:
        n = 3000
        parts = [link("l0")]
        for k in range(1, n):
            parts.append(f"<link name='l{k}'><pose relative_to='l{k - 1}'>0 0 1 0 0 0</pose></link>")
            parts.append(joint(f"j{k}", f"l{k - 1}", f"l{k}"))
        found = build(model(*reversed(parts)))
        assert len(found.bodies) == n - 1
        assert found.joint("j2").placement.position == (0.0, 0.0, 1.0)


class TestVersions:
    axis = "<pose>0.1 0.2 0.3 0.4 0 0</pose><axis><xyz>0 1 0</xyz>{}</axis>"
    world = "<use_parent_model_frame>1</use_parent_model_frame>"

    def direction(self, text: str) -> Array:
        """The joint's axis in the world."""
        found = build(text)
        T = pose(found, np.ones(1), "tip")[:3, :3] @ pose(found, np.zeros(1), "tip")[:3, :3].T
        return pin.log3(T)

    def test_up_to_1_4_axes_are_in_the_model_s_frame(self) -> None:
        assert_close(self.direction(arm(self.axis.format(""), version="1.4")), [0, 1, 0], ROUNDING)

    def test_from_1_5_on_they_are_in_the_joint_s_frame(self) -> None:
        J = placed("1 2 3 0.1 0.2 0.3") @ placed("0.1 0.2 0.3 0.4 0 0")
        for version in ("1.5", "1.6", "1.7", "1.11"):
            assert_close(self.direction(arm(self.axis.format(""), version=version)), J[:3, 1], ROUNDING)

    def test_before_1_7_they_may_be_in_the_model_s_frame(self) -> None:
        text = self.axis.format(self.world)
        assert_close(self.direction(arm(text, version="1.6")), [0, 1, 0], ROUNDING)

    def test_from_1_7_on_in_any_frame(self) -> None:
        text = self.axis.format("").replace("<xyz>", "<xyz expressed_in='tip'>")
        assert_close(self.direction(arm(text)), placed("1 2 3 0.1 0.2 0.3")[:3, 1], ROUNDING)

    def test_a_link_called_world_hides_the_world_in_old_files(self) -> None:
        parts = [link("world", "0 0 1 0 0 0"), link("a"), joint("j", "world", "a")]
        found = build(model(*parts, version="1.6"))
        assert [b.name for b in found.bodies] == ["a"]
        assert_close(pose(found, np.zeros(1), "m::world"), placed("0 0 1 0 0 0"), ROUNDING)
        with pytest.raises(ModelError, match=r"<string>:2: a link is called 'world', which is reserved"):
            build(model(*parts))


TYPES: list[tuple[str, str, type[Joint], Callable[[Array], Array]]] = [
    ("fixed", "", Fixed, lambda q: np.eye(4)),
    ("revolute", "<axis><xyz>1 2 3</xyz></axis>", Revolute, lambda q: turn([1, 2, 3], q[0])),
    ("Continuous", "<axis><xyz>1 2 3</xyz></axis>", Continuous, lambda q: turn([1, 2, 3], q[0])),
    ("prismatic", "<axis><xyz>1 2 3</xyz></axis>", Prismatic, lambda q: slide([1, 2, 3], q[0])),
    (
        "screw",
        "<screw_thread_pitch>0.5</screw_thread_pitch><axis><xyz>1 2 3</xyz></axis>",
        Helical,
        lambda q: slide([1, 2, 3], 0.5 * q[0] / (2 * math.pi)) @ turn([1, 2, 3], q[0]),
    ),
    (
        "screw",  # radians per metre, and left-handed
        "<thread_pitch>4</thread_pitch><axis><xyz>1 2 3</xyz></axis>",
        Helical,
        lambda q: slide([1, 2, 3], -q[0] / 4) @ turn([1, 2, 3], q[0]),
    ),
    (
        "universal",
        "<axis><xyz>1 0 1</xyz></axis><axis2><xyz>0 2 0</xyz></axis2>",
        Universal,
        lambda q: turn([1, 0, 1], q[0]) @ turn([0, 1, 0], q[1]),
    ),
    (
        "revolute2",
        "<axis><xyz>1 0 1</xyz></axis><axis2><xyz>0 1 1</xyz></axis2>",
        Composite,
        lambda q: turn([1, 0, 1], q[0]) @ turn([0, 1, 1], q[1]),
    ),
]


class TestJointTypes:
    @pytest.mark.parametrize(("kind", "more", "expected", "motion"), TYPES, ids=[t[0] for t in TYPES])
    def test_at_the_child_s_origin(
        self, kind: str, more: str, expected: type[Joint], motion: Callable[[Array], Array]
    ) -> None:
        found = build(arm(more, kind), merge=False)
        assert type(found.joint("j").type) is expected
        q = np.array([0.7, -0.4])[: found.nq]
        assert_close(pose(found, q, "tip"), placed("1 2 3 0.1 0.2 0.3") @ motion(q), ROUNDING)

    @pytest.mark.parametrize(("kind", "more", "expected", "motion"), TYPES, ids=[t[0] for t in TYPES])
    @pytest.mark.parametrize("reverse", [False, True])
    def test_anywhere(
        self, kind: str, more: str, expected: type[Joint], motion: Callable[[Array], Array], reverse: bool
    ) -> None:
        """A joint with a frame of its own; if the world holds its child, it carries its parent, with the same q."""
        J, P, C = "0.3 0.1 0.2 0.4 0.5 0.6", "0.5 0.1 0 0.3 0 0", "1 2 3 0.1 0.2 0.3"
        held, moved = ("c", "p") if reverse else ("p", "c")
        found = build(
            model(
                link("p", P),
                link("c", C),
                joint("j", "p", "c", kind, f"<pose>{J}</pose>{more}"),
                joint("w", "world", held, "fixed"),
            ),
            merge=False,
        )
        q = np.array([0.7, -0.4])[: found.nq]
        X = np.linalg.inv(placed(P)) @ placed(C) @ placed(J) @ motion(q) @ np.linalg.inv(placed(J))
        expect = placed(C) @ np.linalg.inv(X) if reverse else placed(P) @ X
        # Both ways the coordinates are those of the file; those of two axes come in the tree's order.
        assert_close(pose(found, q[::-1] if reverse else q, moved), expect, ROUNDING)
        assert any("that carry their parents: 'j'" in n.message for n in found.notes) == reverse

    def test_a_ball_agrees_with_pinocchio(self) -> None:
        found = build(
            arm("<pose>0.1 0.2 0.3 0.4 0 0</pose><axis><dynamics><damping>0.5</damping></dynamics></axis>", "ball")
        )
        assert found.joint("j").damping == (0.5, 0.5, 0.5)
        theirs = pin.Model()
        offset = pin.SE3(np.eye(3), np.array([0.1, 0.2, 0.3]))
        k = theirs.addJoint(0, pin.JointModelSpherical(), pin.SE3(placed("1 2 3 0.1 0.2 0.3")) * offset, "j")
        body = found.body("tip")
        own = pin.Inertia(body.mass, np.array(body.com), body.inertia_matrix)
        theirs.appendBodyToJoint(k, own, offset.inverse())
        rng = np.random.default_rng(2)
        q, v, a = found.random(rng), rng.normal(size=3), rng.normal(size=3)
        expected = pin.rnea(theirs, theirs.createData(), q[[1, 2, 3, 0]], v, a)
        assert_close(ask(found, "inverse_dynamics", q, v, a), expected, PEER)

    def test_a_joint_on_the_axis_of_its_link_stays_simple(self) -> None:
        found = build(arm("<pose>0 0 5 0 0 1</pose>"))
        assert found.joint("j").type == Revolute((0.0, 0.0, 1.0))


class TestLimits:
    def test_of_one_axis(self) -> None:
        found = build(
            arm(
                "<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>2</upper><effort>3</effort><velocity>4</velocity>"
                "</limit><dynamics><damping>5</damping><friction>6</friction><spring_stiffness>7</spring_stiffness>"
                "<spring_reference>0.5</spring_reference></dynamics></axis>"
            )
        ).joint("j")
        limits = (found.lower, found.upper, found.effort_limit, found.velocity_limit)
        assert limits == ((-1.0,), (2.0,), (3.0,), (4.0,))
        assert (found.damping, found.friction, found.stiffness, found.rest) == ((5.0,), (6.0,), (7.0,), (0.5,))

    @pytest.mark.parametrize(
        "limit",
        [
            "",
            "<limit><lower>-1e+16</lower><upper>1e16</upper><effort>-1</effort><velocity>-1</velocity></limit>",
            "<limit><lower>-inf</lower><upper>inf</upper><effort>inf</effort><velocity>inf</velocity></limit>",
        ],
    )
    def test_what_means_none(self, limit: str) -> None:
        found = build(arm(f"<axis><xyz>0 0 1</xyz>{limit}</axis>")).joint("j")
        assert (found.lower, found.upper) == ((-math.inf,), (math.inf,))
        assert (found.effort_limit, found.velocity_limit) == ((math.inf,), (math.inf,))

    def test_quotes_around_limits_of_velocity_and_effort_are_dropped(self) -> None:
        limit = "<limit><lower>-1</lower><upper>1</upper><velocity>2.5\"</velocity><effort>'3'</effort></limit>"
        found = build(arm(f"<axis><xyz>1 0 0</xyz>{limit}</axis>"))
        assert (found.joints[0].velocity_limit, found.joints[0].effort_limit) == ((2.5,), (3.0,))
        assert any("read without the quotes around it: effort of joint 'j', velocity" in n.message for n in found.notes)

    def test_the_inertia_of_a_rotor_is_an_armature(self) -> None:
        axis = "<axis><xyz>1 0 0</xyz></axis><drake:rotor_inertia>6e-5</drake:rotor_inertia>"
        assert build(arm(f"{axis}<drake:gear_ratio>100</drake:gear_ratio>")).joints[0].armature == (
            pytest.approx(0.6, rel=1e-15),
        )
        assert build(arm(axis)).joints[0].armature == (6e-5,)
        (actuator,) = build(arm(f"{axis}<drake:gear_ratio>100</drake:gear_ratio>")).actuators
        assert (actuator.name, actuator.joints, actuator.gear) == ("j", ("j",), ((100.0,),))
        with pytest.raises(ModelError, match=r"joint 'j': its <drake:rotor_inertia> is -1; expected zero or more"):
            build(arm(axis.replace("6e-5", "-1")))

    def test_a_continuous_joint_has_none(self) -> None:
        limited = "<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>"
        assert build(arm(limited, "continuous")).joint("j").lower == (-math.inf,)

    def test_of_two_axes_in_the_order_of_the_coordinates(self) -> None:
        axes = "".join(
            f"<{tag}><xyz>{xyz}</xyz><limit><lower>{low}</lower></limit><dynamics><damping>{d}</damping></dynamics></{tag}>"
            for tag, xyz, low, d in (("axis", "1 0 0", -1, 3), ("axis2", "0 1 0", -2, 4))
        )
        found = build(arm(axes, "universal")).joint("j")
        assert (found.lower, found.damping) == ((-1.0, -2.0), (3.0, 4.0))
        parts = [link("a"), link("b"), joint("j", "a", "b", "universal", axes), joint("w", "world", "b", "fixed")]
        turned = build(model(*parts)).joint("j")
        assert (turned.lower, turned.damping) == ((-2.0, -1.0), (4.0, 3.0))

    def test_a_mimic_follows_with_ratio_reference_and_offset(self) -> None:
        follower = (
            "<axis><xyz>0 0 1</xyz><mimic joint='j'><multiplier>2</multiplier><offset>0.5</offset>"
            "<reference>0.1</reference></mimic></axis>"
        )
        parts = [link("a"), link("b"), link("c"), joint("j", "a", "b"), joint("k", "b", "c", more=follower)]
        found = build(model(*parts, version="1.11"))
        mimic = found.joint("k").mimic
        assert mimic == Mimic(0, 2.0, 0.5 - 2.0 * 0.1)
        assert found.nv == 1

    def test_a_mimic_without_a_leader_is_independent(self) -> None:
        follower = "<axis><xyz>0 0 1</xyz><mimic joint='none'/></axis>"
        found = build(arm(follower))
        assert found.joint("j").mimic is None
        assert any("independent, because" in n.message and "joint 'j' ('none')" in n.message for n in found.notes)

    def test_wrong_signs_are_noted_and_left_out(self) -> None:
        found = build(
            arm(
                "<axis><xyz>0 0 1</xyz><limit><lower>1</lower><upper>0</upper></limit>"
                "<dynamics><damping>-2</damping></dynamics></axis>"
            )
        )
        c = found.joint("j")
        assert (c.lower, c.upper, c.damping) == ((-math.inf,), (math.inf,), (0.0,))
        notes = [n.message for n in found.notes]
        assert "without limits, because the lower one is above the upper one: joint 'j'" in notes
        assert "taken as zero, because it is below: damping -2 of joint 'j'" in notes


class TestTree:
    def test_a_second_parent_closes_a_loop(self) -> None:
        parts = [
            link("a"),
            link("b", "1 0 0 0 0 0"),
            link("c", "0 1 0 0.2 0 0"),
            joint("ab", "a", "b"),
            joint("ac", "a", "c"),
            joint("bc", "b", "c", "revolute", "<pose>0 0.5 0 0.1 0 0</pose><axis><xyz>0 1 0</xyz></axis>"),
        ]
        found = build(model(*parts))
        assert [c.name for c in found.joints] == ["ab", "ac"]
        (loop,) = found.loops
        assert (loop.name, loop.type, loop.where) == ("bc", Revolute((0.0, 1.0, 0.0)), "<string>:7")
        ends = [found.bodies[loop.parent].name, found.bodies[loop.child].name]
        assert ends == ["b", "c"]
        J = placed("0 1 0 0.2 0 0") @ placed("0 0.5 0 0.1 0 0")
        assert_close(loop.parent_placement.matrix, np.linalg.inv(placed("1 0 0 0 0 0")) @ J, ROUNDING)
        assert_close(loop.child_placement.matrix, placed("0 0.5 0 0.1 0 0"), ROUNDING)
        assert any("joints that close loops: 'bc'" in n.message for n in found.notes)

    def test_links_in_a_ring_hang_on_the_canonical_link(self) -> None:
        parts = [link(n) for n in "abc"] + [joint(x + y, x, y) for x, y in ("ab", "bc", "ca")]
        found = build(model(*parts, more="canonical_link='b'"))
        assert found.base == "b"
        assert [c.name for c in found.joints] == ["bc", "ca"]
        assert [x.name for x in found.loops] == ["ab"]

    def test_the_root_is_the_link_that_no_joint_carries(self) -> None:
        found = build(model(link("tip"), link("base"), joint("j", "base", "tip")))
        assert found.base == "base"

    def test_a_joint_to_the_world_makes_the_tree_hang_there(self) -> None:
        parts = [
            link("a"),
            link("b"),
            link("c"),
            joint("ab", "a", "b"),
            joint("bc", "b", "c"),
            joint("w", "world", "b"),
        ]
        found = build(model(*parts))
        assert found.base == "world"
        assert [(c.name, found.bodies[k].name) for k, c in enumerate(found.joints)] == [
            ("w", "b"),
            ("ab", "a"),
            ("bc", "c"),
        ]
        with pytest.raises(ModelError, match="cannot float as a whole"):
            build(model(*parts), floating=True)

    def test_a_model_in_one_piece_is_held_or_floats(self) -> None:
        text = model("<pose>0 0 1 0.3 0 0</pose>", link("a", "1 0 0 0 0.2 0"), link("b"), joint("j", "a", "b"))
        held = build(text)
        assert held.nv == 1
        assert_close(pose(held, np.zeros(1), "a"), placed("0 0 1 0.3 0 0") @ placed("1 0 0 0 0.2 0"), ROUNDING)
        assert "no joint connects 'a' to the world" in held.notes[0].message
        free = build(text, floating=True)
        assert free.notes == ()
        assert [type(c.type) for c in free.joints] == [Free, Revolute]
        # Gravity acts along the world's z on both, however the link is turned.
        q = np.array([1.0, 0, 0, 0, 0, 0, 0, 0.5])
        R = pose(held, np.zeros(1), "a")[:3, :3]
        q[:4] = pin.Quaternion(R).coeffs()[[3, 0, 1, 2]]
        zero = np.zeros(7)
        assert_close(
            ask(free, "inverse_dynamics", q, zero, zero)[6:],
            ask(held, "inverse_dynamics", np.array([0.5]), np.zeros(1), np.zeros(1)),
            ROUNDING,
        )

    def test_one_builder_builds_both(self) -> None:
        builder = load_builder(arm().replace("0 0 0 0 0 0", "0 0 1 0 0 0"))
        assert [builder.build(floating=x).nv for x in (False, True, False)] == [1, 7, 1]

    def test_pieces_float_each_on_its_own(self) -> None:
        found = build(model(link("a", "1 0 0 0 0 0"), link("b", "2 0 0 0 0 0"), link("c"), joint("bc", "b", "c")))
        assert [(c.name, type(c.type)) for c in found.joints] == [
            ("a_root_joint", Free),
            ("b_root_joint", Free),
            ("bc", Revolute),
        ]
        assert_close(pose(found, found.neutral(), "b"), placed("2 0 0 0 0 0"), ROUNDING)

    def test_a_static_model_does_not_move(self) -> None:
        found = build(model("<static>true</static>", link("a", "1 0 0 0 0 0"), link("b"), joint("j", "a", "b")))
        assert (found.nv, found.loops) == (0, ())
        assert_close(pose(found, np.zeros(0), "a"), placed("1 0 0 0 0 0"), ROUNDING)


class TestDocuments:
    def test_a_world_with_several_models(self) -> None:
        text = f"""<sdf version='1.9'><world name='w'><gravity>0 0 -1.62</gravity>
        <model name='floor'><static>1</static><link name='link'/></model>
        <model name='one'><pose>0 0 1 0 0 0</pose>{link("a")}{link("b")}{joint("j", "a", "b")}</model>
        <model name='two'><pose relative_to='one'>1 0 0 0 0 0</pose>{link("a")}{joint("j", "world", "a")}</model>
        </world></sdf>"""
        found = build(text)
        assert (found.name, found.gravity, found.base) == ("w", (0.0, 0.0, -1.62), "world")
        assert [b.name for b in found.bodies] == ["one::a", "one::b", "two::a"]
        assert [c.name for c in found.joints] == ["one::a_root_joint", "one::j", "two::j"]
        assert_close(pose(found, found.neutral(), "two::a"), placed("1 0 1 0 0 0"), ROUNDING)

    def test_joints_and_frames_of_the_world(self) -> None:
        text = f"""<sdf version='1.11'><world name='w'><frame name='f'><pose>0 0 2 0 0 0</pose></frame>
        <model name='one'><pose relative_to='f'>1 0 0 0 0 0</pose>{link("a")}</model>
        <model name='two'>{link("a")}</model>
        <joint name='j' type='fixed'><parent>f</parent><child>one</child></joint>
        {joint("k", "one::a", "two::a")}
        </world></sdf>"""
        found = build(text)
        assert [(c.name, found.bodies[k].name) for k, c in enumerate(found.joints)] == [("k", "two::a")]
        assert_close(pose(found, np.zeros(1), "one::a"), placed("1 0 2 0 0 0"), ROUNDING)
        assert_close(pose(found, np.zeros(1), "f"), placed("0 0 2 0 0 0"), ROUNDING)

    def test_one_model_in_a_world_keeps_plain_names(self) -> None:
        found = build(f"<sdf version='1.6'><world name='w'><model name='m'>{link('a')}</model></world></sdf>")
        assert (found.name, found.base) == ("m", "a")

    def test_shapes(self) -> None:
        shapes = """<visual name='v'><pose>1 0 0 0 0 0</pose><geometry><mesh><uri>model://x/a.stl</uri>
        <scale>2 2 2</scale></mesh></geometry><material><diffuse>1 0 0</diffuse></material></visual>
        <collision name='c'><geometry><cylinder><radius>0.1</radius><length>2</length></cylinder></geometry></collision>
        <collision name='p'><geometry><plane><normal>1 0 0</normal></plane></geometry></collision>
        <collision name='b'><pose relative_to='f'>0 0 1 0 0 0</pose><geometry><box><size>1 2 3</size></box></geometry>
        </collision><visual name='e'><geometry><heightmap/></geometry></visual>"""
        found = build(
            model(link("a", "0 0 1 0 0 0.5", shapes), "<frame name='f'><pose>1 0 0 0 0 0</pose></frame>"), floating=True
        )
        mesh, cylinder, plane, box = found.shapes
        assert (mesh.kind, mesh.size, mesh.file, mesh.color) == (
            "mesh",
            (2.0, 2.0, 2.0),
            "model://x/a.stl",
            (1.0, 0.0, 0.0, 1.0),
        )
        assert (mesh.role, mesh.name, mesh.placement.position) == ("visual", "v", (1.0, 0.0, 0.0))
        assert (cylinder.kind, cylinder.size, cylinder.role) == ("cylinder", (0.1, 2.0), "collision")
        assert_close(plane.placement.R[:, 2], [1, 0, 0], ROUNDING)
        expected = np.linalg.inv(placed("0 0 1 0 0 0.5")) @ placed("1 0 0 0 0 0") @ placed("0 0 1 0 0 0")
        assert_close(box.placement.matrix, expected, ROUNDING)
        assert any("<heightmap> in <geometry> (1, first in line " in n.message for n in found.notes)

    def test_a_shape_that_cannot_be_read_is_left_out(self) -> None:
        box = "<visual name='v'><geometry><box><size>1 2</size></box></geometry></visual>"
        found = build(model(link("a", more=box)))
        assert found.shapes == ()
        (note,) = [n for n in found.notes if n.message.startswith("shapes that are left out: visual 'v' of link 'a'")]
        assert note.where == "<string>:2"

    def test_what_is_not_read_is_one_note(self) -> None:
        more = "<plugin name='p'/><plugin name='q'/><self_collide>1</self_collide>"
        found = build(model(link("a", more="<sensor name='s' type='imu'/>"), more))
        unread = [n for n in found.notes if n.message.startswith("not read")]
        assert [n.message for n in unread] == [
            "not read: <sensor> in <link> (1, first in line 2), <plugin> in <model> (2, first in line 3), "
            "<self_collide> in <model> (1, first in line 3)"
        ]

    def test_links_without_gravity_are_noted(self) -> None:
        found = build(model(link("a", more="<gravity>0</gravity>")))
        assert any("moved by gravity and forces as all others" in n.message for n in found.notes)


class TestIncludes:
    def write(self, folder: Path, include: str, part: str = "") -> Path:
        (folder / "parts").mkdir()
        (folder / "parts/model.sdf").write_text(
            f"<sdf version='1.4'><model name='part'><pose>9 9 9 0 0 0</pose>{link('p')}{link('q', '0 0 1 0 0 0')}"
            f"{joint('j', 'p', 'q', more='<pose>0 0 0 1 0 0</pose>')}{part}</model></sdf>"
        )
        path = folder / "robot.sdf"
        path.write_text(model(link("a"), include, joint("k", "a", "b::p", "fixed")))
        return path

    def test_a_model_next_to_the_document(self, tmp_path: Path) -> None:
        include = "<include><uri>parts</uri><name>b</name><pose>1 0 0 0 0 0</pose></include>"
        found = load_builder(self.write(tmp_path, include)).build()
        assert [c.name for c in found.joints] == ["b::j"]
        assert_close(pose(found, np.zeros(1), "b::q"), placed("1 0 1 0 0 0"), ROUNDING)
        # The file that is included has a version of its own, in which axes are in the model's frame.
        T = pose(found, np.ones(1), "b::q")
        assert_close(pin.log3(T[:3, :3]), [0, 0, 1], ROUNDING)

    @pytest.mark.parametrize(
        ("uri", "message"),
        [
            ("model://cassie", "'model://cassie' is included from elsewhere, and nothing is fetched: put the <model>"),
            (
                "../../etc/passwd",
                "leads out of the directory of the main file; files are included from there and below",
            ),
            (
                "/etc/passwd",
                "leads out of the directory of the main file; files are included from there and below",
            ),
            ("robot.sdf", "'robot.sdf' includes itself"),
            ("none.sdf", "there is no file"),
        ],
    )
    def test_what_is_not_included(self, tmp_path: Path, uri: str, message: str) -> None:
        path = self.write(tmp_path, f"<include><uri>{uri}</uri></include>")
        with pytest.raises(ModelError) as caught:
            load_builder(path)
        assert message in str(caught.value)
        assert str(caught.value).startswith(f"{path}:3: ")

    def test_the_sun_and_the_floor_may_be_missing(self, tmp_path: Path) -> None:
        light = "<include><uri>parts/sun.sdf</uri></include>"
        sun, floor = (f"<include><uri>model://{name}</uri></include>" for name in ("sun", "ground_plane"))
        path = self.write(tmp_path, "")
        (tmp_path / "parts/sun.sdf").write_text("<sdf version='1.6'><light name='sun' type='point'/></sdf>")
        path.write_text(
            f"<sdf version='1.6'><world name='w'>{sun}{floor}{light}<model name='m'>{link('a')}</model></world></sdf>"
        )
        found = load_builder(path).build(floating=True)
        assert [b.name for b in found.bodies] == ["a"]
        assert [n.message for n in found.notes if "left out" in n.message] == [
            "left out, since it does not move and is not here: 'model://sun', 'model://ground_plane'",
            "left out, since it has no model: 'parts/sun.sdf'",
        ]

    @pytest.mark.parametrize("scheme", ["model", "package"])
    def test_models_beside_the_document(self, tmp_path: Path, scheme: str) -> None:
        """A folder with a model.config is one of a library: the folder above has the models."""
        (tmp_path / "robot").mkdir()
        path = self.write(tmp_path / "robot", f"<include><uri>{scheme}://hand</uri><name>b</name></include>")
        (tmp_path / "robot/parts").rename(tmp_path / "hand")
        with pytest.raises(ModelError, match=f"'{scheme}://hand' is included from elsewhere.*by root=folder"):
            load_builder(path)
        assert load_builder(path, root=tmp_path).build().nv == 1
        (tmp_path / "robot/model.config").write_text("<model/>")
        assert load_builder(path).build().nv == 1

    def test_a_model_config_names_the_file(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, "<include><uri>parts</uri><name>b</name></include>")
        (tmp_path / "parts/model.sdf").rename(tmp_path / "parts/hand-1_4.sdf")
        (tmp_path / "parts/model.config").write_text("<model><sdf>old.sdf</sdf><sdf>hand-1_4.sdf</sdf></model>")
        assert load_builder(path).build().nv == 1
        (tmp_path / "parts/model.config").write_text("<model><sdf>../robot.sdf</sdf></model>")
        with pytest.raises(ModelError, match="there is no file"):
            load_builder(path)

    def test_a_broken_file_that_is_included_is_named_with_both_places(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, "<include><uri>parts</uri></include>", part="</link>")
        with pytest.raises(ModelError) as caught:
            load_builder(path)
        assert str(caught.value).startswith(f"{path}:3: <include> of 'parts': {tmp_path / 'parts/model.sdf'}:")

    def test_text_has_no_neighbours(self) -> None:
        with pytest.raises(
            ModelError, match=r"<string>:2: 'a\.sdf' is included, but text has no directory to find other files in"
        ):
            build(model("<include><uri>a.sdf</uri></include>"))


ERRORS = [
    ("<sdf><model name='m'/></sdf>", 1, "<sdf> has no version"),
    ("<sdf version='2.0'><model name='m'/></sdf>", 1, 'version="2.0"; SDF from 1.3 on is read, of which 1.12 is'),
    ("<sdf verison='1.9'><model name='m'/></sdf>", 1, "<sdf> has the unknown attribute 'verison'; did you mean 'ver"),
    (
        model(link("a"), link("b"), joint("j", "a", "c")),
        4,
        "unknown link or frame 'c' in joint 'j', its child. Known: a, b, j, __model__",
    ),
    (
        model("<link name='a'>\n<inertal><mass>1</mass></inertal></link>"),
        3,
        "link 'a' has the unknown element <inertal>",
    ),
    (model("<link name='a'><inertial>\n<masss>1</masss></inertial></link>"), 3, "<masss>; did you mean <mass>?"),
    (model("<link name='a'><inertial><inertia>\n<ixxx>1</ixxx></inertia></inertial></link>"), 3, "did you mean <ixx>?"),
    (
        model(link("a"), "<link name='b'>\n<pose relativ_to='a'/></link>"),
        4,
        "'relativ_to'; did you mean 'relative_to'?",
    ),
    (arm("<axis><xyz>1 0 0</xyz>\n<limits><lower>0</lower></limits></axis>"), 5, "did you mean <limit>?"),
    (
        model(link("a"), link("b"), "<jiont name='j'/>"),
        4,
        "model 'm' has the unknown element <jiont>; did you mean <joi",
    ),
    ("<sdf version='1.9'/>", 1, "the document has no <model>"),
    ("<sdf version='1.9'><model name='m'><model name='n'/></model></sdf>", 1, "'m' has no <link>"),
    ("<sdf version='1.9'><world name='a'/>\n<world name='b'/></sdf>", 2, "2 worlds ('a', 'b'); expected one"),
    (model(link("a"), link("a")), 3, "model 'm' has a second link 'a' (the first is in line 2)"),
    (model("<link/>"), 2, "model 'm': <link> has no name"),
    (model(link("a", "1 2 3")), 2, "link 'a': <pose> is '1 2 3'; expected 6 finite numbers"),
    (model(link("a", "1 2 3 0 0 x")), 2, "expected 6 finite numbers"),
    (model("<link name='a'><pose relative_to='b'/></link>"), 2, "unknown frame 'b' in link 'a'"),
    (
        model("<link name='a'><pose relative_to='b'/></link>", "<link name='b'><pose relative_to='a'/></link>"),
        3,
        "poses are relative to each other in a circle: a -> b -> a",
    ),
    (
        model(link("a"), "<frame name='f' attached_to='g'/>", "<frame name='g' attached_to='f'/>"),
        4,
        "frames are attached to each other in a circle",
    ),
    (model("<link name='a'><pose rotation_format='wxyz'>1</pose></link>"), 2, "expected euler_rpy or quat_xyzw"),
    (model("<link name='a'><pose degrees='maybe'>0 0 0 0 0 0</pose></link>"), 2, "expected true or false"),
    (arm(kind="hinge"), 4, "unknown joint type 'hinge' in joint 'j'"),
    (arm("<axis><xyz>0 0 0</xyz></axis>"), 4, "joint 'j': <axis> has no direction"),
    (
        model(link("a"), link("b"), "<joint name='j' type='revolute'><parent>a</parent><child>b</child></joint>"),
        4,
        "joint 'j' has no <axis>",
    ),
    (arm("<axis><xyz>1 0 0</xyz></axis>", "universal"), 4, "joint 'j' has no <axis2>"),
    (arm("<thread_pitch>0</thread_pitch>", "screw"), 4, "must not be zero"),
    (model(link("a"), joint("j", "a", "b")), 3, "joint 'j', its child"),
    (model(link("a"), joint("j", "a", "a")), 3, "joint 'j' connects 'a' with itself"),
    (model(link("a"), joint("j", "a", "world")), 3, "joint 'j' has the world as its child"),
    (model(link("a"), "<joint name='j' type='fixed'><child>a</child></joint>"), 3, "joint 'j' has no <parent>"),
    (
        model(
            link("a"),
            link("b"),
            joint("j", "a", "b"),
            joint(
                "g",
                "a",
                "b",
                "gearbox",
                "<axis><xyz>1 0 0</xyz></axis><axis2/><gearbox_reference_body>a</gearbox_reference_body>",
            ),
        ),
        5,
        "joint 'g' is a gearbox, but no revolute joint",
    ),
    (model("<link name='a'><inertial auto='true'/></link>"), 2, "its inertia is to be computed from its shapes (auto)"),
    (
        model(
            "<link name='a'><inertial auto='true'/><collision name='c'>",
            "<geometry><mesh><uri>a.obj</uri></mesh></geometry></collision></link>",
        ),
        2,
        "its inertia is to be computed from its shapes (auto), of which one is a mesh",
    ),
    (model("<link name='a'><inertial><mass>-1</mass></inertial></link>"), 2, "body 'a' has mass -1"),
    (
        model("<link name='a'><inertial><mass>1 kg</mass></inertial></link>"),
        2,
        "<mass> is '1 kg'; expected a finite number",
    ),
    (model(link("a"), "<drake:joint name='j' type='planar'/>"), 3, "<drake:joint> is an extension of SDF"),
    (
        model(link("a"), "<include merge='true'><uri>x</uri></include>"),
        3,
        "<include merge=...> of 'x' is not read",
    ),
]


@pytest.mark.parametrize(("text", "line", "message"), ERRORS, ids=[e[2][:40] for e in ERRORS])
def test_errors_say_what_is_wrong_and_where(text: str, line: int, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        build(text)
    assert str(caught.value).startswith(f"<string>:{line}: ")
    assert message in str(caught.value)


def test_models_nested_too_deep_are_refused() -> None:
    n = 200
    text = "<model name='a'>" * n + "<link name='l'/>" + "</model>" * n
    with pytest.raises(ModelError, match="models are nested more than 100 deep"):
        build(f"<sdf version='1.9'>{text}</sdf>")


def test_the_code_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[2] / "docs/formats/sdf.md"
    code = page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    exec(compile(code, str(page), "exec"), {})
    out = capsys.readouterr().out
    assert out.startswith("3 (Loop('closing', Revolute),)\n")
    assert "joints that close loops: 'closing'" in out
