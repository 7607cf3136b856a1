"""MJCF: what is made of a document, and the errors. That it moves as in MuJoCo is in tests/peers/test_mujoco.py."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.errors import ModelError
from ordern.io import load_builder
from ordern.io.mjcf import mesh
from ordern.io.mjcf.hull import convex_hull
from ordern.joints import Fixed, Free, Prismatic, Revolute, Spherical
from ordern.model import Model, Placement
from tests.tolerances import INVERSION, PUBLISHED, ROUNDING, SINGLE, assert_close

GEOM = '<geom size=".1"/>'


def arm(body: str = "<joint/>", *, before: str = "", after: str = "", attributes: str = "") -> str:
    """One body with a geom; its attributes are in line 3, what it has in line 4."""
    return f"""<mujoco model="arm">{before}
<worldbody>
<body name="link" {attributes}>
{body}
{GEOM}
</body></worldbody>
{after}
</mujoco>"""


def build(text: str | Path) -> Model:
    return load_builder(text).build()


def refused(text: str | Path, message: str, where: str = "") -> None:
    with pytest.raises(ModelError, match=message) as e:
        build(text)
    assert e.value.where.endswith(where), e.value


class TestDocument:
    def test_it_is_recognised_by_its_root_or_its_suffix(self, tmp_path: Path) -> None:
        for name in ("a.xml", "b.mjcf"):
            (tmp_path / name).write_text(arm())
            assert on.load(tmp_path / name).name == "arm"
        assert on.load(arm()).name == "arm"

    def test_a_model_without_a_name_has_that_of_its_file(self, tmp_path: Path) -> None:
        (tmp_path / "my_arm.xml").write_text(arm().replace(' model="arm"', ""))
        assert build(tmp_path / "my_arm.xml").name == "my_arm"
        assert build(arm().replace(' model="arm"', "")).name == "mujoco"

    def test_another_root_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "a.mjcf").write_text("<robot/>")
        refused(tmp_path / "a.mjcf", "the root element is <robot>; that of an MJCF document is <mujoco>", "a.mjcf:1")

    def test_gravity(self) -> None:
        assert build(arm()).gravity == (0.0, 0.0, -9.81)
        assert build(arm(before='<option gravity="1 2 3"/>')).gravity == (1.0, 2.0, 3.0)
        assert build(arm(before='<option><flag gravity="disable"/></option>')).gravity == (0.0, 0.0, 0.0)

    def test_a_model_without_bodies(self) -> None:
        model = build("<mujoco/>")
        assert (model.nv, model.base, model.notes) == (0, "world", ())

    @pytest.mark.slow
    def test_deep_trees(self) -> None:
        n = 900
        text = "<mujoco><worldbody>" + f"<body pos='0 0 1'><joint axis='0 1 0'/>{GEOM}" * n + "</body>" * n
        model = build(text + "</worldbody></mujoco>")
        assert model.nv == n
        assert model.frames[n].name == f"body{n}"


class TestJoints:
    @pytest.mark.parametrize(
        ("joint", "expected"),
        [
            ("<joint/>", Revolute((0.0, 0.0, 1.0))),
            ('<joint type="hinge" axis="0 -2 0"/>', Revolute((0.0, -1.0, 0.0))),
            ('<joint type="slide" axis="3 0 4"/>', Prismatic((0.6, 0.0, 0.8))),
            ('<joint type="ball"/>', Spherical()),
            ('<joint type="free"/>', Free()),
            ("<freejoint/>", Free()),
        ],
    )
    def test_types(self, joint: str, expected: object) -> None:
        model = build(arm(joint))
        assert [c.type for c in model.joints] == [expected]
        assert [b.name for b in model.bodies] == ["link"]

    def test_names(self) -> None:
        assert build(arm()).joints[0].name == "link_joint"
        assert build(arm('<joint name="a"/>')).joints[0].name == "a"
        model = build(arm('<joint/><joint name="a"/><joint/>'))
        assert [c.name for c in model.joints] == ["link_joint1", "a", "link_joint3"]
        assert [b.name for b in model.bodies] == ["link_at_link_joint1", "link_at_a", "link"]

    def test_names_that_are_taken(self) -> None:
        text = (
            f'<mujoco><worldbody><body name="body2"><joint name="body2_joint"/>{GEOM}</body><body>{GEOM}<joint/></body>'
        )
        model = build(text + "</worldbody></mujoco>")
        assert [b.name for b in model.bodies] == ["body2", "body2_"]
        assert [c.name for c in model.joints] == ["body2_joint", "body2__joint"]

    def test_a_body_without_joints_is_fixed(self) -> None:
        model = build(arm("", attributes='pos="1 2 3"'))
        assert (model.nv, model.frame("link").body) == (0, -1)
        assert model.frame("link").placement.position == (1.0, 2.0, 3.0)

    def test_a_joint_beside_the_origin_has_a_body_of_its_own(self) -> None:
        model = build(arm('<joint name="j" pos="1 0 0"/>', attributes='pos="0 0 5"'))
        assert [b.name for b in model.bodies] == ["link_at_j"]
        assert model.joint("j").placement.position == (1.0, 0.0, 5.0)
        assert model.frame("link").placement.position == (-1.0, 0.0, 0.0)
        assert model.bodies[0].com == (-1.0, 0.0, 0.0)

    @pytest.mark.parametrize("joint", ['<joint pos="0 0 3"/>', '<joint type="slide" pos="1 2 3"/>'])
    def test_a_place_that_makes_no_difference_is_left_out(self, joint: str) -> None:
        assert [b.name for b in build(arm(joint)).bodies] == ["link"]

    def test_at_its_reference_a_robot_is_as_in_the_file(self) -> None:
        text = arm('<joint axis="0 1 0" pos=".3 0 0" ref="30"/><joint type="slide" axis="1 0 0" ref=".5"/>')
        robot = on.load(text)
        assert_close(robot.pose([math.radians(30.0), 0.5], "link"), np.eye(4), ROUNDING)

    def test_a_free_joint_has_the_position_in_the_world(self) -> None:
        model = build(arm("<freejoint/>", attributes='pos="1 2 3" euler="10 20 30"'))
        assert model.joints[0].placement == Placement()
        assert model.joints[0].rest[4:] == (1.0, 2.0, 3.0)

    def test_limits_in_degrees_and_metres(self) -> None:
        joint = build(arm('<joint range="-90 180"/>')).joints[0]
        assert (joint.lower, joint.upper) == ((-math.pi / 2,), (math.pi,))
        joint = build(arm('<joint range="-1 2"/>', before='<compiler angle="radian"/>')).joints[0]
        assert (joint.lower, joint.upper) == ((-1.0,), (2.0,))
        joint = build(arm('<joint type="slide" range="-1 2"/>')).joints[0]
        assert (joint.lower, joint.upper) == ((-1.0,), (2.0,))

    @pytest.mark.parametrize("joint", ['limited="false" range="-1 1"', 'range="0 0"', 'range="1 -1"', ""])
    def test_without_limits(self, joint: str) -> None:
        assert build(arm(f"<joint {joint}/>")).joints[0].upper == (math.inf,)

    def test_limits_the_wrong_way_round_are_noted(self) -> None:
        (note,) = build(arm('<joint name="j" range="1 -1"/>')).notes
        assert str(note).endswith("because the larger one is given first: joint 'j' with range 1 to -1")
        assert build(arm('<joint limited="false" range="1 -1"/>')).notes == ()

    def test_autolimits(self) -> None:
        no = '<compiler autolimits="false"/>'
        assert build(arm('<joint limited="true" range="-1 1"/>', before=no)).upper < 1.0
        refused(arm('<joint name="j" range="-1 1"/>', before=no), "joint 'j' has range but not limited", ":4")
        for free in ('<joint type="free"/>', '<joint type="free" range="1 0"/>'):
            assert build(arm(free, before='<default><joint limited="true"/></default>')).nv == 6
        refused(arm('<joint limited="true"/>'), "joint 'link_joint': <joint> has no range", ":4")
        refused(arm('<joint limited="true" range="2 1"/>'), "range 2 to 1; expected the lower limit first", ":4")

    def test_coefficients(self) -> None:
        text = '<joint armature="1" damping="2" frictionloss="3" stiffness="4" springref="90" actuatorfrcrange="-5 6"/>'
        joint = build(arm(text)).joints[0]
        assert (joint.armature, joint.damping, joint.friction, joint.stiffness) == ((1.0,), (2.0,), (3.0,), (4.0,))
        assert (joint.rest, joint.effort_limit) == ((math.pi / 2,), (6.0,))

    def test_coefficients_of_joints_with_many_freedoms(self) -> None:
        ball = build(arm('<joint type="ball" armature="1" stiffness="2"/>')).joints[0]
        assert (ball.armature, ball.stiffness, ball.rest) == ((1.0,) * 3, (2.0,) * 3, (1.0, 0.0, 0.0, 0.0))
        free = build(arm('<joint type="free" stiffness="2"/>', attributes='pos="1 2 3" quat="0 0 1 0"')).joints[0]
        assert free.rest == pytest.approx((0.0, 0.0, 1.0, 0.0, 1.0, 2.0, 3.0))

    def test_freejoint_has_no_defaults(self) -> None:
        defaults = '<default><joint armature="1" damping="2"/></default>'
        assert build(arm("<freejoint/>", before=defaults)).joints[0].armature == (0.0,) * 6
        assert build(arm('<joint type="free"/>', before=defaults)).joints[0].damping == (2.0,) * 6

    def test_what_actuators_add(self) -> None:
        motor = '<actuator><motor joint="j" gear="10" armature=".1" damping=".2"/><motor joint="j"/></actuator>'
        joint = build(arm('<joint name="j" armature="1"/>', after=motor)).joints[0]
        assert (joint.armature, joint.damping) == ((11.0,), (20.0,))
        refused(arm(after=motor), "unknown joint 'j' in <motor>", ":7")

    @pytest.mark.parametrize(
        ("joint", "message"),
        [
            ('<joint type="hing"/>', "joint 'link_joint': unknown type 'hing' in <joint>. Did you mean 'hinge'"),
            ('<joint axis="0 0 0"/>', "joint 'link_joint': a joint's axis must have a direction"),
            ('<joint axis="0 0"/>', '<joint> has axis="0 0"; expected 3 finite numbers'),
            ('<joint pos="a b c"/>', '<joint> has pos="a b c"; expected 3 finite numbers'),
            ('<joint damping="1 2 3 4"/>', 'damping="1 2 3 4"; expected 1 to 3 finite numbers'),
            ('<joint damping="-1"/>', "damping must be finite and not below zero"),
            ('<joint name="a"/><joint name="a"/>', "joint 'a' exists already"),
            ("<freejoint/><joint/>", "is free, but body 'link' has other joints too"),
            (f"<body name='b'><freejoint/>{GEOM}</body>", "is free, but body 'b' is not a child of the world"),
            ('<joint armatur="1"/>', "unknown attribute 'armatur' of <joint>; did you mean 'armature'"),
            ('<joint limited="yes"/>', "unknown limited 'yes'"),
        ],
    )
    def test_errors(self, joint: str, message: str) -> None:
        refused(arm(joint), message, ":4")

    def test_the_world_has_no_joints(self) -> None:
        refused("<mujoco><worldbody>\n<joint/></worldbody></mujoco>", "the world has a <joint>", ":2")


class TestInertia:
    def test_given(self) -> None:
        text = arm('<joint/><inertial pos="1 2 3" mass="2" diaginertia="1 2 2.5"/>')
        body = build(text).bodies[0]
        assert (body.mass, body.com, body.inertia) == (2.0, (1.0, 2.0, 3.0), (1.0, 2.0, 2.5, 0.0, 0.0, 0.0))
        body = build(text.replace("diaginertia", 'quat="1 0 0 1" diaginertia')).bodies[0]
        assert body.inertia == pytest.approx((2.0, 1.0, 2.5, 0.0, 0.0, 0.0))
        body = build(text.replace('diaginertia="1 2 2.5"', 'fullinertia="1 2 2.5 .1 .2 .3"')).bodies[0]
        assert body.inertia == (1.0, 2.0, 2.5, 0.1, 0.2, 0.3)

    def test_of_geoms(self) -> None:
        body = build(arm()).bodies[0]
        assert body.mass == pytest.approx(4.0 / 3.0 * math.pi)
        assert body.inertia[0] == pytest.approx(0.4 * body.mass * 0.01)

    def test_of_a_mesh_that_is_a_box(self) -> None:
        """Its corners are exact in single precision, as MuJoCo keeps them."""
        R = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
        corners = np.stack(np.meshgrid([-1, 1], [-0.5, 0.5], [-0.25, 0.25], indexing="ij"), -1).reshape(-1, 3)
        vertices = " ".join(map(str, (corners @ R.T + [1.0, 2.0, 3.0]).ravel()))
        for extra in ("", 'inertia="convex"'):
            asset = f'<asset><mesh name="box" vertex="{vertices}" {extra}/></asset>'
            text = arm('<joint/><geom type="mesh" mesh="box" mass="3"/>', before=asset).replace(GEOM, "")
            body = build(text).bodies[0]
            assert (body.mass, body.com) == (pytest.approx(3.0), pytest.approx((1.0, 2.0, 3.0)))
            expected = R @ np.diag([0.25 + 0.0625, 1.0 + 0.0625, 1.25]) @ R.T
            assert_close(body.inertia_matrix, expected, ROUNDING)

    def test_settings(self) -> None:
        def mass(setting: str) -> float:
            return build(arm('<joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>', before=setting)).mass

        assert mass("") == 1.0
        assert mass('<compiler inertiafromgeom="true"/>') == pytest.approx(4.0 / 3.0 * math.pi)
        assert mass('<compiler boundmass="3"/>') == 3.0
        assert mass('<compiler settotalmass="7"/>') == 7.0
        assert mass('<compiler inertiafromgeom="true" inertiagrouprange="1 2"/>') == 1.0
        assert build(arm(before='<compiler inertiafromgeom="false"/>')).mass == 0.0

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ('<inertial mass="1"/>', "body 'link': <inertial> has no pos"),
            ('<inertial pos="0 0 0"/>', "body 'link': <inertial> has no mass"),
            (
                '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1" fullinertia="1 1 1 0 0 0"/>',
                "has diaginertia and fullinertia",
            ),
            ('<inertial pos="0 0 0" mass="1"/><inertial pos="0 0 0" mass="1"/>', "body 'link' has 2 <inertial>"),
            ('<geom name="g" type="box" size="1 1"/>', "geom 'g' of body 'link': a box has size=\"1 1\"; expected 3"),
            ('<geom type="sphere"/>', "a geom of body 'link': a sphere has size=\"\"; expected 1 positive"),
            ('<geom size="1" mass="-1"/>', "negative mass"),
            ('<geom type="ball" size="1"/>', "unknown type 'ball' in <geom>"),
            ('<geom type="capsule" size="1" fromto="1 2 3 1 2 3"/>', "no direction"),
            ('<geom type="mesh"/>', "<geom> has no mesh"),
            ('<geom type="mesh" mesh="nope"/>', "unknown mesh 'nope'"),
            ('<geom type="sdf" mesh="nope"/>', "unknown mesh 'nope'"),
        ],
    )
    def test_errors(self, body: str, message: str) -> None:
        refused(arm(body), message, ":4")


class TestMeshes:
    def geom(self, asset: str, before: str = "") -> str:
        return arm('<joint/><geom type="mesh" mesh="m"/>', before=f"{before}<asset>{asset}</asset>")

    @pytest.mark.parametrize(
        ("asset", "message"),
        [
            ('<mesh name="m" file="m.stl"/>', "text has no directory to find 'm.stl' in"),
            ('<mesh name="m" file="m.dae"/>', "'m.dae' must end in one of .stl, .obj, .msh"),
            ('<mesh name="m" vertex="0 0 0 1 0 0 0 1 0"/>', "mesh 'm' has 3 vertices"),
            ('<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 1 1 0"/>', "mesh 'm' has no volume"),
            ('<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 1 4"/>', "vertices that do not exist"),
            ('<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1 1"/>', "13 numbers in vertex"),
            ('<mesh name="m" builtin="sphere" params="2"/>', "made by MuJoCo itself"),
        ],
    )
    def test_errors_name_mesh_and_geom_and_the_way_out(self, asset: str, message: str) -> None:
        with pytest.raises(ModelError, match=message) as e:
            build(self.geom(asset))
        assert "a geom of body 'link' has its mass from mesh 'm'" in str(e.value)
        assert "give the body an <inertial>" in str(e.value)
        assert e.value.where == "<string>:4"

    def test_files(self, tmp_path: Path) -> None:
        path = tmp_path / "a.xml"
        path.write_text(self.geom('<mesh name="m" file="m.stl"/>', '<compiler meshdir="x"/>'))
        refused(path, "mesh 'm', which cannot be used: .*there is no file", "a.xml:4")
        (tmp_path / "x").mkdir()
        for content in (b"solid ascii", b"\0" * 80 + b"\xff" * 4, b""):
            (tmp_path / "x/m.stl").write_bytes(content)
            refused(path, "mesh 'm', which cannot be used: .*(broken|empty)", "a.xml:4")
        path.write_text(self.geom('<mesh name="m" file="m.obj"/>', '<compiler meshdir="x"/>'))
        for lines in ("v 0 0", "v a b c", *(f"v 0 0 0\n{x}" for x in ("f -2 1 1", "f 0 1 2", "f 1 1 1 2", "l 1 1"))):
            (tmp_path / "x/m.obj").write_text(lines)
            refused(path, "'x/m.obj' is broken", "a.xml:4")

    def test_files_are_read_once_also_beside_the_file_that_names_them(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path, part = tmp_path / "a.xml", tmp_path / "parts/assets.xml"
        part.parent.mkdir()
        part.write_text('<x><asset><mesh name="m" file="shapes/m.obj"/></asset></x>')
        geom = '<geom type="mesh" mesh="m"/>'
        include = '<include file="parts/assets.xml"/><compiler meshdir="elsewhere"/>'
        path.write_text(arm(f"<joint/>{geom}<body>{geom}{geom}</body>", before=include))
        refused(path, "there is no file '.*/elsewhere/shapes/m.obj'")
        (part.parent / "shapes").mkdir()
        (part.parent / "shapes/m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n")
        opened: list[str] = []
        real = mesh.open_source
        monkeypatch.setattr(mesh, "open_source", lambda path, *more: opened.append(str(path)) or real(path, *more))
        model = build(path)
        assert model.mass == pytest.approx(3 * 1000.0 / 6.0 + 1000.0 * 4.0 / 3.0 * math.pi * 0.001)
        assert [Path(name).name for name in opened] == ["m.obj"]
        assert model.shapes[0].file == "parts/shapes/m.obj"

    def test_a_mesh_that_gives_no_mass_is_not_read(self) -> None:
        inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        asset = '<compiler meshdir="../parts"/><asset><mesh file="sub/m.stl" scale="1 2 3" refpos="1 1 1"/></asset>'
        model = build(arm(f'<joint/>{inertial}<geom type="mesh" mesh="m"/>', before=asset))
        shape = model.shapes[0]
        assert (shape.kind, shape.file, shape.size) == ("mesh", "../parts/sub/m.stl", (1.0, 2.0, 3.0))
        assert shape.placement.position == (-1.0, -2.0, -3.0)
        model = build(arm('<joint/><geom type="mesh" mesh="m" mass="0"/>', before=asset))
        assert model.mass == pytest.approx(4.0 / 3.0 * math.pi)
        stripped = asset.replace("meshdir", 'strippath="true" meshdir')
        assert build(arm(f'{inertial}<geom type="mesh" mesh="m"/>', before=stripped)).shapes[0].file == "../parts/m.stl"

    def test_hull(self) -> None:
        rng = np.random.default_rng(0)
        points = rng.normal(size=(300, 3))
        points[:200] /= np.linalg.norm(points[:200], axis=1, keepdims=True)
        points[200:] *= 0.1
        faces = convex_hull(points)
        assert len(faces) == 2 * 200 - 4  # Euler: every point of the sphere is a corner, none of the others
        a, b, c = points[faces].transpose(1, 0, 2)
        normals = np.cross(b - a, c - a)
        heights = np.einsum("fi,fpi->fp", normals, points[None] - a[:, None])
        assert heights.max() <= ROUNDING
        assert not len(convex_hull(np.c_[points[:, :2], 0.0 * points[:, 0]]))
        assert not len(convex_hull(np.ones((5, 3))))

    @pytest.mark.parametrize("shape", ["ball", "drum", "grid"])
    def test_hulls_of_points_in_single_precision(self, shape: str) -> None:
        """Points that share a plane or a circle in the file do not quite share it after rounding."""
        rng = np.random.default_rng(3)
        n, angle = 600, rng.uniform(0.0, 6.3, 600)
        x = rng.normal(size=(n, 3))
        if shape == "ball":
            x /= np.linalg.norm(x, axis=1, keepdims=True)
        elif shape == "drum":
            x = np.column_stack([np.cos(angle), np.sin(angle), rng.choice([-1.0, 0.3, 1.0], n)])
        else:
            x = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, 11)] * 3), -1).reshape(-1, 3)
        turned = x @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
        points = turned.astype(np.float32).astype(np.float64)
        faces = convex_hull(points)
        edges = Counter((i, j) for f in faces.tolist() for i, j in zip(f, np.roll(f, -1).tolist(), strict=True))
        assert all(edges[j, i] == count for (i, j), count in edges.items())
        a, b, c = points[faces].swapaxes(0, 1)
        normals = np.cross(b - a, c - a)
        sizes = np.linalg.norm(normals, axis=1)
        solid = sizes > 1e-9  # others are slivers without a direction
        heights = (points - a[solid, None]) @ (normals[solid] / sizes[solid, None])[:, :, None]
        assert heights.max() <= SINGLE
        (volume,) = {"ball": [4.0], "drum": [6.28], "grid": [1.0]}[shape]
        assert abs(np.einsum("ij,ij->", np.cross(a, b), c) / 6.0 / volume - 1.0) < 0.05


class TestDefaults:
    def test_classes(self) -> None:
        text = """<mujoco><default><joint damping="1"/><default class="a"><joint damping="2" armature="5"/>
          <default class="b"><joint damping="3"/></default></default></default>
          <worldbody><body><joint/><geom size="1"/><body childclass="a"><joint/><geom size="1"/>
          <body><joint class="b"/><geom size="1"/><body><joint class="main"/><geom size="1"/></body></body>
          </body></body></worldbody></mujoco>"""
        joints = build(text).joints
        assert [c.damping[0] for c in joints] == [1.0, 2.0, 3.0, 1.0]
        assert [c.armature[0] for c in joints] == [0.0, 5.0, 5.0, 0.0]

    @pytest.mark.parametrize(
        ("before", "body", "attributes", "message", "line"),
        [
            ("", '<joint class="x"/>', "", "unknown class of defaults 'x'. Known: main", ":4"),
            ("", "<joint/>", 'childclass="x"', "unknown class of defaults 'x'", ":3"),
            ('<default><default class="a"/><default class="a"/></default>', "", "", "'a' exists already", ":1"),
            ("<default><default/></default>", "", "", "<default> has no class", ":1"),
            ('<default><joint dampin="1"/></default>', "", "", "unknown attribute 'dampin'", ":1"),
        ],
    )
    def test_errors(self, before: str, body: str, attributes: str, message: str, line: str) -> None:
        refused(arm(body, before=before, attributes=attributes), message, line)


class TestIncludes:
    def write(self, folder: Path, **files: str) -> Path:
        for name, text in files.items():
            (folder / f"{name}.xml").write_text(text)
        return folder / "main.xml"

    def test_anywhere_and_nested(self, tmp_path: Path) -> None:
        path = self.write(
            tmp_path,
            main=arm('<include file="joint.xml"/><joint name="b"/>', before='<include file="options.xml"/>'),
            joint='<x>\n<joint name="a"/>\n</x>',
            options='<mujocoinclude><option gravity="0 0 1"/><include file="more.xml"/></mujocoinclude>',
            more='<mujoco><compiler angle="radian"/></mujoco>',
        )
        model = build(path)
        assert [c.name for c in model.joints] == ["a", "b"]
        assert model.gravity == (0.0, 0.0, 1.0)
        assert model.joints[0].where == f"{tmp_path / 'joint.xml'}:2"

    @pytest.mark.parametrize(
        ("file", "message"),
        [
            ("nope.xml", '<include file="nope.xml">: there is no file'),
            ("../main.xml", "leads out of the directory of the main file"),
            ("sub/../../x.xml", "leads out of the directory of the main file"),
            ("/etc/passwd", "leads out of the directory of the main file"),
            ("main.xml", "this file is read already, as the main file"),
            ("sub/../main.xml", "this file is read already, as the main file"),
            ("circle.xml", "this file is read already, included at .*main.xml:4"),
            ("broken.xml", "the XML is broken"),
            ("empty.xml", "there is nothing in this file"),
            ("", "<include> has an empty file"),
        ],
    )
    def test_errors(self, file: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        path = self.write(
            tmp_path,
            main=arm(f'<include file="{file}"/>'),
            circle='<x><include file="circle.xml"/></x>',
            broken="<x>",
            empty="<x/>",
        )
        refused(path, message)

    def test_a_link_to_the_outside_is_refused(self, tmp_path: Path) -> None:
        inside = tmp_path / "inside"
        inside.mkdir()
        (tmp_path / "secret.xml").write_text("<x><joint/></x>")
        (inside / "link.xml").symlink_to(tmp_path / "secret.xml")
        refused(self.write(inside, main=arm('<include file="link.xml"/>')), "leads out of the directory", "main.xml:4")

    def test_names_are_relative_to_the_main_file_then_to_the_including_one(self, tmp_path: Path) -> None:
        for folder in ("models", "parts", "parts/deep"):
            (tmp_path / folder).mkdir()
        (tmp_path / "models/main.xml").write_text(arm('<include file="../parts/joint.xml"/><include file="own.xml"/>'))
        (tmp_path / "models/own.xml").write_text('<x><joint name="own"/></x>')
        (tmp_path / "parts/own.xml").write_text('<x><joint name="wrong"/></x>')  # the main file's own one comes first
        (tmp_path / "parts/joint.xml").write_text('<x><include file="deep/a.xml"/><include file="deep/b.xml"/></x>')
        for name in ("a", "b"):
            (tmp_path / f"parts/deep/{name}.xml").write_text(f'<x><joint name="{name}"/><include file="c.xml"/></x>')
        (tmp_path / "parts/deep/c.xml").write_text('<x><site pos="0 0 1"/></x>')  # twice, by files that are included
        path = tmp_path / "models/main.xml"
        refused(path, "leads out of the directory of the main file; .*: name a folder.*root=folder.*--root", "xml:4")
        named = [c.name for c in on.load(path, root=tmp_path).joints]
        (tmp_path / "pyproject.toml").touch()
        assert [c.name for c in build(path).joints] == named == ["a", "b", "own"]
        (tmp_path / "parts/pyproject.toml").touch()  # in another project than the main file
        outside = self.write(tmp_path / "parts", main=arm('<include file="../models/own.xml"/>'))
        refused(outside, "leads out of the directory of the main file")
        deep = tmp_path / "parts/deep/main.xml"
        deep.write_text(arm('<include file="../../models/own.xml"/>'))
        refused(deep, "leads out of the project folder '.*parts'; files are included from there and below")
        with pytest.raises(on.ModelError, match=r"root='.*models' does not hold the file itself"):
            on.load(deep, root=tmp_path / "models")
        with pytest.raises(on.ModelError, match=r"^[^']*\.xml: root='.*nothing' is not a folder"):
            on.load(deep, root=tmp_path / "nothing")

    def test_an_installed_package_is_its_own_root(self, tmp_path: Path) -> None:
        inside = tmp_path / "site-packages/suite/assets/arms"
        inside.mkdir(parents=True)
        (tmp_path / ".git").mkdir()
        (tmp_path / "site-packages/suite/__init__.py").touch()
        (inside.parent / "joint.xml").write_text('<x><joint name="a"/></x>')
        assert build(self.write(inside, main=arm('<include file="../joint.xml"/>'))).joints[0].name == "a"
        (tmp_path / "site-packages/joint.xml").write_text('<x><joint name="a"/></x>')
        refused(self.write(inside, main=arm('<include file="../../../joint.xml"/>')), "leads out of the project folder")

    def test_a_file_is_included_once(self, tmp_path: Path) -> None:
        main = arm('<include file="a.xml"/>\n<include file="a.xml"/>')
        refused(self.write(tmp_path, main=main, a="<x><joint/></x>"), "a file is included once", "main.xml:5")

    def test_text_includes_nothing(self) -> None:
        refused(arm('<include file="a.xml"/>'), "text has no directory to find other files in", "<string>:4")


class TestTree:
    def test_sites_are_frames(self) -> None:
        model = build(arm('<joint/><site name="tip" pos="1 2 3"/><site pos="1 1 1"/>'))
        assert model.frame("tip").placement.position == (1.0, 2.0, 3.0)
        assert len(model.frames) == 3

    def test_a_site_with_the_name_of_a_body(self) -> None:
        model = build(arm('<joint/><site name="link" pos="1 2 3"/>'))
        assert model.frame("link").placement.position == (0.0, 0.0, 0.0)
        assert model.frame("link_site").placement.position == (1.0, 2.0, 3.0)
        assert "renamed, because another frame has the name of the site: 'link_site'" in str(model.notes[0])
        assert model.notes[0].quiet

    def test_mocap_bodies_are_fixed(self) -> None:
        model = build(arm("", attributes='mocap="true"'))
        assert (model.nv, "fixed to the world" in str(model.notes[0])) == (0, True)
        refused(arm(attributes='mocap="true"'), "expected a child of the world without joints", ":3")

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ('<attach model="a" body="b" prefix="c"/>', "<attach>: unknown model 'a'"),
            ('<attach prefix="c"/>', "<attach> without a model needs the name of a body or frame"),
            ('<attach body="lnk" prefix="c"/>', "<attach>: this model has no body 'lnk'"),
            ('<attach body="link" prefix="c"/>', "attachments are nested more than 20 deep"),
            (
                '<joint/><composite type="grid"/>',
                "has <composite>, which is not read: of its types, only .cable. is read",
            ),
            ('<composite type="cable"/>', "a composite has 1 points; expected 3 to"),
            (
                '<composite prefix="c" type="cable" count="1000000000 1 1" size="1"/>',
                r"composite 'c' has 1e.09 points; expected 3 to 50,000",
            ),
            (
                '<composite prefix="c" type="cable" count="4 2 1"/>',
                "composite 'c' has count=.4 2 1.; a cable has one line",
            ),
            ('<composite type="cable" count="4" curve="s t"/>', 'has curve="s t"; expected three of s, cos'),
            ('<composite type="cable" count="4" curve="s"/>', "has a geom of type 'sphere'; a cable has capsule"),
            ('<joint/><flexcomp type="grid" name="f"/>', "deformable bodies are not supported"),
            ("<freejoint/><body><joint/></body><flexcomp/>", "deformable bodies are not supported"),
            ('<frame scale="2 1 1"/>', "a <frame> has a scale that differs along its axes .2 1 1., which is not read"),
            ('<frame scale="-2"/>', "a <frame> has scale -2 and massscale -8; expected positive numbers"),
            ("<joints/>", "unknown element 'joints'; did you mean 'joint'"),
            ('<body name="link"/>', "body 'link' exists already"),
            ('<body name="world"/>', "body 'world' exists already"),
            ('<body nam="x"/>', "unknown attribute 'nam' of <body>; did you mean 'name'"),
            ('<body quat="0 0 0 0"/>', 'a body: <body> has quat="0 0 0 0", which has no direction'),
            ('<body quat="1 0 0 0" euler="0 0 0"/>', "<body> has quat and euler; expected one orientation"),
            ('<body xyaxes="1 0 0 2 0 0"/>', "which has no direction"),
            ('<replicate count="0"/>', '<replicate> has count="0"; expected a positive integer'),
            ('<replicate count="two"/>', "expected a positive integer"),
            ("<replicate/>", "<replicate> has no count"),
            ('<replicate count="2"><joint/></replicate>', "a <joint> cannot be directly in a <replicate>"),
        ],
    )
    def test_errors(self, body: str, message: str) -> None:
        refused(arm(body), message, ":4")

    def test_too_many_replicas(self) -> None:
        inner = '<replicate count="1000">' * 3 + "<site/>" + "</replicate>" * 3
        refused(arm(inner), "replicas make more than 200,000 elements", ":4")

    @pytest.mark.parametrize(
        ("before", "message"),
        [
            ('<compiler coordinate="global"/>', "not supported"),
            ('<compiler angle="degrees"/>', "unknown angle 'degrees' in <compiler>. Did you mean 'degree'"),
            ('<compiler eulerseq="xyw"/>', 'eulerseq="xyw"; expected three of x y z X Y Z'),
            ('<compiler inertiafromgeom="yes"/>', "unknown inertiafromgeom 'yes'"),
            ('<compiler angel="radian"/>', "unknown attribute 'angel' of <compiler>; did you mean 'angle'"),
            ('<option gravity="1 2"/>', "expected 3 finite numbers"),
            ("<worldbodies/>", "unknown element 'worldbodies'; did you mean 'worldbody'"),
        ],
    )
    def test_errors_of_sections(self, before: str, message: str) -> None:
        refused(arm(before=before), message, ":1")


class TestEqualities:
    def model(self, equality: str) -> str:
        return arm(f'<joint name="a"/><site name="s"/><body name="tip">{GEOM}<joint name="b"/></body>', after=equality)

    def test_loops(self) -> None:
        text = '<equality><connect body1="link" body2="tip" anchor="1 2 3"/><weld name="w" body1="tip"/></equality>'
        connect, weld = build(self.model(text)).loops
        assert (connect.name, connect.type, weld.name, weld.type) == ("equality1", Spherical(), "w", Fixed())
        assert (connect.parent, connect.child, weld.parent, weld.child) == (0, 1, 1, -1)
        assert connect.parent_placement == connect.child_placement == Placement(position=(1.0, 2.0, 3.0))

    def test_couplings(self) -> None:
        text = '<equality><joint joint1="b" joint2="a" polycoef="1 2"/><joint joint1="a"/></equality>'
        two, one = build(self.model(text)).couplings
        assert (two.joint, two.other, two.coefficients) == (1, 0, (1.0, 2.0))
        assert (one.joint, one.other, one.coefficients) == (0, -1, (0.0,))

    def test_inactive_ones_are_noted(self) -> None:
        text = '<default><equality active="false"/></default><equality><weld name="w" body1="tip"/></equality>'
        model = build(self.model(text))
        assert [loop.active for loop in model.loops] == [False]
        assert str(model.notes[0]) == "<string>:7: not active, and so a loop that is open: equality 'w'"

    @pytest.mark.parametrize(
        ("equality", "message"),
        [
            ('<connect body1="link"/>', "equality 'equality1': <connect> has no anchor"),
            ('<connect anchor="0 0 0"/>', "<connect> has no body1"),
            ('<weld body1="lnk"/>', "unknown body 'lnk'. Did you mean 'link'"),
            ('<weld site1="s" site2="t"/>', "unknown site 't'"),
            ('<weld site1="s"/>', "<weld> has no site2"),
            ('<joint joint1="c"/>', "unknown joint 'c'. Known: a, b"),
            ('<joint joint1="a" polycoef="1 2 3 4 5 6"/>', "expected 1 to 5 finite numbers"),
            ('<joint joint1="a" joint="b"/>', "unknown attribute 'joint' of <joint>; did you mean 'joint"),
        ],
    )
    def test_errors(self, equality: str, message: str) -> None:
        refused(self.model(f"<equality>\n{equality}</equality>"), message, ":8")


class TestShapes:
    def test_roles_follow_contacts_and_groups(self) -> None:
        geoms = """<geom name="both" size="1"/><geom name="seen" size="1" contype="0" conaffinity="0" group="2"/>
          <geom name="hidden" size="1" group="3"/>"""
        shapes = build(arm(geoms)).shapes
        assert [(s.name, s.role) for s in shapes[:4]] == [
            *(("both", "visual"), ("both", "collision")),
            *(("seen", "visual"), ("hidden", "collision")),
        ]

    def test_colors(self) -> None:
        asset = '<asset><material name="red" rgba="1 0 0 1"/></asset>'
        geoms = '<geom size="1" material="red"/><geom size="1" rgba="0 1 0 1"/>'
        shapes = [s for s in build(arm(geoms, before=asset)).shapes if s.role == "visual"]
        assert [s.color for s in shapes] == [(1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0), None]

    def test_of_the_world(self) -> None:
        text = '<mujoco><worldbody><geom type="plane" size="1 1 1" pos="0 0 1"/></worldbody></mujoco>'
        shape = build(text).shapes[0]
        assert (shape.kind, shape.body, shape.placement.position) == ("plane", -1, (0.0, 0.0, 1.0))


class TestLeftOut:
    FLEX = '<flexcomp type="grid" name="f"/>'
    SDF = '<geom type="sdf" mesh="m"><plugin plugin="x"/></geom>'
    MESH = '<asset><mesh name="m"><plugin plugin="x"/></mesh></asset>'

    @pytest.mark.parametrize(
        ("more", "note", "quiet"),
        [
            (FLEX, "left out: deformable bodies, which move nothing but by contacts: body 'world'", False),
            (f"<body>{FLEX}</body>", "left out: deformable bodies, which move nothing but by contacts", False),
            (f"<body name='b'><freejoint/>{FLEX}</body>", "with deformable parts that float freely: body 'b'", False),
            (f"<body name='b'><freejoint/>{SDF}</body>", "masses are not known here: bodies that float freely", False),
            (f"<body name='b'>{SDF}</body>", "without the mass of a mesh, which does not move: body 'b'", True),
            (f"<body name='b'>{SDF.replace('sdf', 'mesh')}</body>", "without the mass of a mesh", True),
        ],
    )
    def test_where_the_rest_moves_without_it(self, more: str, note: str, quiet: bool) -> None:
        model = build(arm(before=self.MESH, after=f"<worldbody>{more}</worldbody>"))
        assert [c.name for c in model.joints] == ["link_joint"]
        assert any(note in found.message and found.quiet == quiet for found in model.notes), model.notes

    def test_equalities_of_deformable_bodies(self) -> None:
        pinned = f'<worldbody>{self.FLEX}</worldbody><equality><connect body1="f_0" anchor="0 0 0"/></equality>'
        assert not build(arm(after=pinned)).loops
        refused(arm(after=pinned.replace("anchor", 'body2="link" anchor')), "binds body 'link' to the deformable", ":7")
        refused(arm(after=pinned.replace("f_0", "g_0")), "unknown body 'g_0'", ":7")

    def test_where_it_is_part_of_a_robot(self) -> None:
        refused(arm(f"<joint/>{self.SDF}", before=self.MESH), "made by a plugin, and its mass is not known here", ":4")
        bound = f'<worldbody><body name="b"><freejoint/>{self.SDF}</body></worldbody>'
        bound += '<equality><weld body1="b" body2="link"/></equality>'
        refused(arm(before=self.MESH, after=bound), "mass is not known here; give the body an <inertial>", ":7")


class TestCables:
    """MuJoCo 3 reads them, and MuJoCo 4 does not. The numbers are those of MuJoCo 3.5."""

    COIL = 'curve="cos(s) sin(s) s" count="5 1 1" size="0.25 .1 4" offset=".1 .2 .3" quat=".5 .1 .2 -.3"'
    POSES = (
        (
            "cB_first",
            (0.174000000954, 0.173999999464, 0.273999999464),
            (-0.099111308788, 0.323097765724, 0.56001390862, 0.756418670054),
        ),
        ("cB_1", (0.180476287113, 0.0, 0.0), (-0.332978425674, 0.0, 0.0, -0.942934445248)),
        ("cB_2", (0.170034366633, 0.0, 0.0), (-0.332978445598, 0.0, 4.6838e-08, 0.942934438213)),
        ("cB_last", (0.180476275616, 0.0, 0.0), (-0.33297846597, 0.0, -3.6049e-08, -0.942934431018)),
    )

    def coil(self, more: str = "") -> on.Robot:
        default = '<default><geom mass="7" pos="1 2 3"/><joint armature="3"/></default>'
        parts = f'<joint kind="main" damping=".1" armature=".2"/><geom type="capsule" size=".02"/>{more}'
        composite = f'<composite prefix="c" type="cable" {self.COIL}>{parts}</composite>'
        return on.load(f"<mujoco>{default}<worldbody>{composite}</worldbody></mujoco>")

    def test_bodies(self) -> None:
        robot = self.coil()
        assert [c.name for c in robot.joints] == ["cJ_first", "cJ_1", "cJ_2", "cJ_last"] and not robot.notes
        for (name, position, quaternion), body, joint in zip(self.POSES, robot.bodies, robot.joints, strict=True):
            assert body.name == name and joint.armature == (0.2,) * 3 and joint.damping == (0.1,) * 3
            assert_close(joint.placement.p, np.array(position), PUBLISHED)
            assert_close(joint.placement.R, on.rotations.matrix_from_quaternion(quaternion), PUBLISHED)
        masses = [0.260303512735, 0.247181808467, 0.260303498287, 0.247181808701]
        assert_close([body.mass for body in robot.bodies], masses, PUBLISHED)

    def test_ends(self) -> None:
        """The sites are at the ends of the line."""
        cable = 'type="cable" vertex="0 0 0 .1 0 .05 .2 .1 .1 .3 .1 .2" offset="1 2 3"'
        composite = f'<composite {cable}><geom type="cylinder" size=".02"/></composite>'
        robot = on.load(f"<mujoco><worldbody>{composite}</worldbody></mujoco>")
        assert_close(robot.pose(robot.neutral(), "S_first")[:3, 3], [1.0, 2.0, 3.0], SINGLE)
        assert_close(robot.pose(robot.neutral(), "S_last")[:3, 3], [1.3, 2.1, 3.2], SINGLE)

    @pytest.mark.parametrize(
        ("cable", "quaternions"),
        [
            ('vertex="0 0 0 .1 0 0 .2 0 0 .3 0 0" initial="none"', [(1.0, 0.0, 0.0, 0.0)] * 3),
            ('vertex="0 0 0 0 0 .1 0 0 .2 0 .1 .3" initial="free"', [(0.0, 0.5**0.5, 0.0, 0.5**0.5)]),
        ],
    )
    def test_straight_lines_and_their_first_joint(self, cable: str, quaternions: list[tuple[float, ...]]) -> None:
        composite = f'<composite type="cable" {cable}><geom type="box" size="1 .02 .01"/></composite>'
        robot = on.load(f"<mujoco><worldbody>{composite}</worldbody></mujoco>")
        joints = [type(c.type) for c in robot.joints]
        assert joints == ([Spherical] * 2 if "none" in cable else [Free, Spherical, Spherical])
        q = robot.neutral()
        if "free" in cable:
            q[:7] = robot.joints[0].rest
        for name, quaternion in zip(("B_first", "B_1", "B_last"), quaternions, strict=False):
            assert_close(robot.pose(q, name)[:3, :3], on.rotations.matrix_from_quaternion(quaternion), ROUNDING)

    def test_forces_of_plugins_are_noted(self) -> None:
        with pytest.warns(on.ModelWarning, match="forces of the <plugin> of a <composite>"):
            self.coil('<plugin plugin="mujoco.elasticity.cable"/>')


class TestNotes:
    def test_what_is_not_read_is_in_two_notes(self) -> None:
        text = arm(
            '<joint springyield="1" frobnicate="3"/><camera/><light/><plugin/>',
            before='<option density="1.2"/><size njmax="3"/><visual/><statistic/>',
            after='<actuator><motor joint="link_joint"/><motor joint="link_joint"/></actuator><sensor><gyro/></sensor>',
            attributes='gravcomp="1"',
        )
        idle, loud, quiet = build(text).notes
        assert idle.message == "not acted on: gains, dynamics and controls of actuators (2 motor)"
        assert loud.message == (
            "not modelled, so that the motion differs: gravcomp of <body>, springyield of <joint>, "
            "frobnicate of <joint>, <plugin>"
        )
        assert quiet.message == "not read: sensor" and quiet.quiet and not loud.quiet
        with pytest.warns(on.ModelWarning) as caught:
            on.load(text)
        assert "frobnicate" in str(caught[0].message) and "sensor" not in str(caught[0].message)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            on.load(arm(after="<sensor><gyro/></sensor>"))

    def test_what_is_not_acted_on_is_one_loud_note(self) -> None:
        motors = '<motor joint="link_joint"/><position joint="link_joint" kp="3" ctrlrange="0 1"/>' * 3
        text = arm(
            '<joint name="link_joint"/>',
            before='<option timestep="0.004" gravity="0 0 -1"/><option integrator="implicit" solver="CG">'
            '<flag contact="disable" energy="enable" damper="enable"/></option>',
            after=f'<actuator>{motors}</actuator><keyframe><key ctrl="1 0 0 0 0 0" qpos="0"/>'
            '<key qvel="0.0" act="0"/><key ctrl="0 -2e-1 0 0 0 0" qvel="1"/></keyframe>',
        )
        (note,) = build(text).notes
        assert note.message == (
            "not acted on: gains, dynamics and controls of actuators (3 motor, 3 position); "
            "ctrl (2), qvel of keyframes; "
            'timestep="0.004", integrator="implicit", contact="disable" of <option>'
        )
        with pytest.warns(on.ModelWarning, match=r"not acted on(?!.*not acted on)") as caught:
            on.load(text)
        assert len(caught) == 1
        assert not build(arm('<joint name="link_joint"/>', before='<option gravity="0 0 -1"/>')).notes

    @pytest.mark.parametrize(
        ("given", "note", "quiet"),
        [
            ("", "not read: tendon", True),
            ('stiffness="0 0" limited="false" range="0 1"', "not read: tendon", True),
            ('stiffness="2" range="0 1"', "so that the motion differs: stiffness of tendons, range of tendons", False),
        ],
    )
    def test_tendons(self, given: str, note: str, quiet: bool) -> None:
        tendon = f'<tendon><fixed name="t" {given}><joint joint="link_joint" coef="1"/></fixed></tendon>'
        (found,) = build(arm('<joint name="link_joint"/>', after=tendon)).notes
        assert found.message.endswith(note) and found.quiet == quiet

    def test_armature_of_tendons_between_branches(self) -> None:
        """MuJoCo leaves out the inertia between branches; here it is complete."""
        other = f'<worldbody><body name="b"><joint name="other" type="slide"/>{GEOM}</body></worldbody>'
        joints = '<joint joint="link_joint" coef="2"/><joint joint="other" coef="-3"/>'
        tendon = '<tendon><fixed name="t" armature="{}">' + joints + "</fixed></tendon>"
        text = arm('<joint name="link_joint"/>', after=other + tendon)
        without, robot = (on.load(text.format(armature)) for armature in (0, 5))
        c, q, v = np.array([2.0, -3.0]), np.array([0.3, 0.1]), np.array([1.0, 2.0])

        def ask(model: on.Robot, question: str, *given: np.ndarray) -> np.ndarray:
            return np.asarray(model.kernel(question, way="interpreted")(*given))

        assert_close(ask(robot, "mass_matrix", q), ask(without, "mass_matrix", q) + 5.0 * np.outer(c, c), ROUNDING)
        a = ask(robot, "forward_dynamics", q, v, c)
        assert_close(ask(robot, "inverse_dynamics", q, v, a), c, INVERSION)
        energy = ask(robot, "kinetic_energy", q, v) - ask(without, "kinetic_energy", q, v)
        assert_close(energy, 2.5 * (c @ v) ** 2, ROUNDING)
        assert (robot.nv, robot.mass) == (2, without.mass)
        assert [found.severity for found in robot.check().findings] == ["info"] * len(robot.check().findings)
        assert "joints of several branches" in robot.to_mjcf()

    @pytest.mark.parametrize(
        ("tendon", "message"),
        [
            ('<fixed armature="-2"><joint joint="j" coef="1"/></fixed>', "has armature -2; expected zero or more"),
            ('<fixed armature="2"><joint joint="k" coef="1"/></fixed>', "unknown joint 'k' in tendon 't'"),
            (
                '<fixed armature="2"><joint joint="b" coef="1"/></fixed>',
                "is of type 'ball'; expected 'hinge' or 'slide'",
            ),
            ('<spatial armature="2"><site site="s"/><site site="x"/></spatial>', "unknown site 'x' in tendon 't'"),
            (
                '<spatial armature="2"><site site="s"/><site site="w"/></spatial>',
                "the mass matrix would depend on its path, which is not modelled. Set the armature to zero, or",
            ),
        ],
    )
    def test_armature_of_tendons_that_is_refused(self, tendon: str, message: str) -> None:
        world = f'<worldbody><site name="w"/><body name="o"><joint name="b" type="ball"/>{GEOM}</body></worldbody>'
        named = tendon.replace(" armature", ' name="t" armature')
        text = arm('<joint name="j"/><site name="s" pos="1 0 0"/>', after=f"{world}\n<tendon>{named}</tendon>")
        refused(text, message, ":8")

    def test_drag_of_a_mesh(self) -> None:
        inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        geom = '<geom type="mesh" mesh="m" fluidshape="ellipsoid"/>'
        before = '<option density="1"/><asset><mesh name="m" file="m.stl"/></asset>'
        (note,) = build(arm(f"<joint/>{inertial}{geom}", before=before)).notes
        assert note.message.endswith("motion differs: drag of an ellipsoid around a geom of type mesh")

    def test_no_note_about_the_motion_is_left_out_of_the_warning(self) -> None:
        bodies = "".join(f'<body name="b{k}" mocap="true"/>' for k in range(30))
        with pytest.warns(on.ModelWarning) as caught:
            on.load(arm('<joint springyield="1"/><site name="link"/>', after=f"<worldbody>{bodies}</worldbody>"))
        lines = str(caught[0].message).splitlines()
        assert len(lines) == 3 and "(30 in all)" in lines[1] and "springyield" in lines[2]

    def test_nothing_to_note(self) -> None:
        assert build(arm()).notes == ()

    def test_limits_and_terms_that_joints_cannot_have(self) -> None:
        (note,) = build(arm('<joint type="ball" range="0 30" damping="1 2"/>')).notes
        assert note.message == (
            "not modelled, so that the motion differs: non-linear damping of <joint>, range of ball joints"
        )
