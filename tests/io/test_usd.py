"""USD stages: texts of our own, and numbers worked out by hand."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.errors import ModelError

pytestmark = pytest.mark.needs("pxr")

HEAD = """#usda 1.0
(
    defaultPrim = "robot"
    metersPerUnit = {metres}
    kilogramsPerUnit = {kilograms}
    upAxis = "{up}"
)
"""
TOLERANCE = 3e-7
"""USD stores masses, places and limits in single precision."""


def stage(
    folder: Path, *parts: str, metres: float = 1, kilograms: float = 1, up: str = "Z", api: str = "", more: str = ""
) -> Path:
    """A file with one robot; `parts` are its bodies and joints, `more` what is beside it."""
    mark = f'(prepend apiSchemas = ["{api}"])' if api else ""
    inside = "\n".join(parts)
    head = HEAD.format(metres=metres, kilograms=kilograms, up=up)
    text = f'{head}def Xform "robot" {mark}\n{{\n{inside}\n}}\n{more}\n'
    (file := folder / "robot.usda").write_text(text.replace("{ ", "{\n").replace(" }", "\n}"))
    return file


def xform(at: str = "0, 0, 0", turn: str = "1, 0, 0, 0", scale: str = "1, 1, 1") -> str:
    return f"""double3 xformOp:translate = ({at})
quatd xformOp:orient = ({turn})
double3 xformOp:scale = ({scale})
uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient", "xformOp:scale"]"""


MASS = """float physics:mass = 2
point3f physics:centerOfMass = (0.1, 0.2, 0.3)
float3 physics:diagonalInertia = (1, 2, 3)
quatf physics:principalAxes = (0.8, 0, 0.6, 0)"""


def body(name: str, mass: str = MASS, place: str = "", inside: str = "", apis: str = "") -> str:
    schemas = f'"PhysicsRigidBodyAPI", "PhysicsMassAPI"{apis}'
    return f'def Xform "{name}" (prepend apiSchemas = [{schemas}])\n{{\n{mass}\n{place or xform()}\n{inside}\n}}'


def joint(
    name: str, kind: str = "Revolute", parent: str = "a", child: str = "b", more: str = "", apis: str = "",
    at: str = "0, 0, 0", child_at: str = "0, 0, 0", turn: str = "1, 0, 0, 0", child_turn: str = "1, 0, 0, 0",
) -> str:  # fmt: skip
    axis = 'uniform token physics:axis = "Y"' if kind in ("Revolute", "Prismatic") else ""
    first = f"rel physics:body0 = </robot/{parent}>" if parent else ""
    schemas = f"(prepend apiSchemas = [{apis}])" if apis else ""
    return f"""def Physics{kind}Joint "{name}" {schemas}
{{
{axis}
{first}
rel physics:body1 = </robot/{child}>
point3f physics:localPos0 = ({at})
point3f physics:localPos1 = ({child_at})
quatf physics:localRot0 = ({turn})
quatf physics:localRot1 = ({child_turn})
{more}
}}"""


def close(x: object, y: object) -> None:
    np.testing.assert_allclose(np.array(x), np.array(y), atol=TOLERANCE, rtol=TOLERANCE)


def pose(robot: on.Robot, q: object, frame: str) -> np.ndarray:
    return np.asarray(robot.kernel("pose", way="interpreted", frame=frame)(np.array(q, float)))


class TestBodies:
    def test_mass_centre_and_inertia(self, tmp_path: Path) -> None:
        robot = on.load(stage(tmp_path, body("a"), body("b"), joint("j")))
        found = robot.body("b")
        R = on.rotations.matrix_from_quaternion(np.array([0.8, 0, 0.6, 0]))
        assert robot.name == "robot"
        close((found.mass, *found.com), (2, 0.1, 0.2, 0.3))
        close(found.inertia_matrix, R @ np.diag([1, 2, 3]) @ R.T)

    def test_an_inertia_of_newton_is_exact(self, tmp_path: Path) -> None:
        six = MASS + "\ncustom double[] newton:inertia = [1.1, 1.2, 1.3, 0.01, 0.02, 0.03]"
        robot = on.load(stage(tmp_path, body("a"), body("b", six), joint("j")))
        assert robot.body("b").inertia == (1.1, 1.2, 1.3, 0.01, 0.02, 0.03)

    def test_units(self, tmp_path: Path) -> None:
        file = stage(
            tmp_path, body("a"), body("b"), joint("j", "Prismatic", at="0, 0, 50", more="float physics:upperLimit = 9"),
            metres=0.01, kilograms=0.5, more='def PhysicsScene "s" { float physics:gravityMagnitude = 162 }',
        )  # fmt: skip
        robot = on.load(file)
        found = robot.body("b")
        close((found.mass, *found.com), (1, 0.001, 0.002, 0.003))
        close(np.linalg.eigvalsh(found.inertia_matrix), np.array([1, 2, 3]) * 0.5e-4)
        close(robot.joints[0].placement.position, (0, 0, 0.5))
        close((robot.joints[0].upper[0], robot.gravity[2]), (0.09, -1.62))
        assert math.isinf(robot.joints[0].lower[0])

    def test_gravity_is_downward(self, tmp_path: Path) -> None:
        assert on.load(stage(tmp_path, body("a"), up="Y")).gravity == (0.0, -9.81, 0.0)
        scene = 'def PhysicsScene "s" { vector3f physics:gravityDirection = (2, 0, 0) }'
        assert on.load(stage(tmp_path, body("a"), more=scene)).gravity == (9.81, 0.0, 0.0)

    CUBE = (
        'def Cube "box" (prepend apiSchemas = ["PhysicsCollisionAPI"{apis}]) {{ double size = 2\n{more}\n{place} }}\n'
    )

    @pytest.mark.parametrize(
        ("own", "density"),
        [("", 1000), ("float physics:density = 500", 500), ("float physics:mass = 3", 3 / 8)],
    )
    def test_what_is_not_given_comes_from_collision_shapes(self, tmp_path: Path, own: str, density: float) -> None:
        cube = self.CUBE.format(apis="", more="", place=xform("1, 0, 0"))
        robot = on.load(stage(tmp_path, body("a", own, inside=cube), body("b"), joint("j", parent="b", child="a")))
        found = robot.body("a")
        close((found.mass, *found.com), (8 * density, 1, 0, 0))
        close(found.inertia_matrix, np.eye(3) * 8 * density * 4 / 6)
        (shape,) = (shape for shape in robot.shapes if shape.body == 0)
        assert (shape.kind, shape.size, shape.role, shape.placement.position) == (
            "box", (2.0, 2.0, 2.0), "collision", (1.0, 0.0, 0.0),
        )  # fmt: skip

    def test_densities_of_a_shape_and_of_its_material(self, tmp_path: Path) -> None:
        material = 'def Material "m" (prepend apiSchemas = ["PhysicsMaterialAPI"]) { float physics:density = 7 }'
        bound = "rel material:binding:physics = </robot/m>"
        light = self.CUBE.format(apis=', "MaterialBindingAPI"', more=bound, place="")
        heavy = self.CUBE.format(apis=', "PhysicsMassAPI"', more="float physics:density = 9", place=xform("4, 0, 0"))
        robot = on.load(stage(tmp_path, material, body("a", "", inside=light + heavy.replace('"box"', '"heavy"'))))
        robot = on.load(robot.source, floating=True)
        close((robot.body("a").mass, *robot.body("a").com), (8 * 16, 4 * 9 / 16, 0, 0))

    MESH = """def Mesh "solid" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"])
{{
int[] faceVertexCounts = [{counts}]
int[] faceVertexIndices = [{corners}]
point3f[] points = [(0,0,0), (1,0,0), (1,2,0), (0,2,0), (0,0,3), (1,0,3), (1,2,3), (0,2,3)]
uniform token physics:approximation = "{approximation}"
}}"""
    CORNERS = "0,3,2,1, 4,5,6,7, 0,1,5,4, 2,3,7,6, 0,4,7,3, 1,2,6,5"

    @pytest.mark.parametrize("approximation", ["none", "convexHull"])
    def test_the_volume_of_a_mesh(self, tmp_path: Path, approximation: str) -> None:
        mesh = self.MESH.format(counts="4,4,4,4,4,4", corners=self.CORNERS, approximation=approximation)
        found = on.load(stage(tmp_path, body("a", "", inside=mesh)), floating=True).body("a")
        close((found.mass / 6000, *found.com), (1, 0.5, 1, 1.5))
        close(found.inertia, (6000 * 13 / 12, 6000 * 10 / 12, 6000 * 5 / 12, 0, 0, 0))

    def test_a_mesh_that_is_open_is_refused_if_the_mass_depends_on_it(self, tmp_path: Path) -> None:
        mesh = self.MESH.format(counts="4,4,4,4,4", corners=self.CORNERS[:-9], approximation="none")
        with pytest.raises(
            ModelError, match=r"/robot/a: its mass is not given, and the volume of its shape Mesh .*solid"
        ):
            on.load(stage(tmp_path, body("a", "", inside=mesh)))
        assert on.load(stage(tmp_path, body("a", inside=mesh)), floating=True).body("a").mass == 2.0

    @pytest.mark.parametrize(
        ("shape", "volume", "kind", "size"),
        [
            ('Sphere "s" (A) { double radius = 2 }', 32 / 3 * math.pi, "sphere", (2.0,)),
            ('Cylinder "s" (A) { double radius = 2\ndouble height = 3 }', 12 * math.pi, "cylinder", (2.0, 3.0)),
            ('Capsule "s" (A) { double radius = 1\ndouble height = 3 }', 13 / 3 * math.pi, "capsule", (1.0, 3.0)),
            ('Cone "s" (A) { double radius = 2\ndouble height = 3 }', 4 * math.pi, "", ()),
        ],
    )
    def test_volumes_of_shapes(
        self, tmp_path: Path, shape: str, volume: float, kind: str, size: tuple[float, ...]
    ) -> None:
        text = "def " + shape.replace("(A)", '(prepend apiSchemas = ["PhysicsCollisionAPI"])')
        robot = on.load(stage(tmp_path, body("a", "float physics:density = 1", inside=text)), floating=True)
        close(robot.body("a").mass, volume)
        assert [(s.kind, s.size) for s in robot.shapes] == ([(kind, size)] if kind else [])

    def test_a_sheared_shape_is_left_out_and_a_sheared_body_refused(self, tmp_path: Path) -> None:
        """A rotation below an uneven scale shears."""
        cube = f'def Cube "c" {{ {xform(turn="0.92, 0, 0, 0.39")} }}'
        uneven = f'def Xform "x" {{ {xform(scale="1, 3, 1")}\nINSIDE }}'
        robot = on.load(stage(tmp_path, body("a", inside=uneven.replace("INSIDE", cube))), floating=True)
        assert not robot.shapes
        assert any("shapes that are left out: /robot/a/x/c: its transform shears it" in n.message for n in robot.notes)
        turned = body("a", place=xform(turn="0.92, 0, 0, 0.39"))
        with pytest.raises(ModelError, match=r"/robot/x/a: its transform shears it, so that it is no rigid body"):
            on.load(stage(tmp_path, uneven.replace("INSIDE", turned)))

    def test_a_body_without_mass_and_shape_is_noted(self, tmp_path: Path) -> None:
        robot = on.load(stage(tmp_path, body("a"), body("b", ""), joint("j")))
        assert robot.body("b").mass == 0.0
        assert any("massless, because it has neither a mass nor a collision shape: 'b'" in str(n) for n in robot.notes)


class TestJoints:
    @pytest.mark.parametrize(
        ("kind", "more", "expected"),
        [
            ("Revolute", "float physics:lowerLimit = -90\nfloat physics:upperLimit = 180", on.Revolute((0, 1, 0))),
            ("Revolute", "", on.Continuous((0, 1, 0))),
            ("Prismatic", "float physics:lowerLimit = -1", on.Prismatic((0, 1, 0))),
            ("Spherical", "", on.Spherical()),
            ("", "", on.Free()),
        ],
    )
    def test_types_and_limits(self, tmp_path: Path, kind: str, more: str, expected: on.Joint) -> None:
        (found,) = on.load(stage(tmp_path, body("a"), body("b"), joint("j", kind, more=more))).joints
        assert found.type == expected
        if "180" in more:
            close((*found.lower, *found.upper), (-math.pi / 2, math.pi))

    def test_a_fixed_joint(self, tmp_path: Path) -> None:
        robot = on.load(stage(tmp_path, body("a"), body("b"), joint("j", "Fixed", at="1, 2, 3")))
        assert robot.nv == 0
        close(robot.frame("b").placement.position, (1, 2, 3))

    @pytest.mark.parametrize(
        ("free", "expected"),
        [
            ("rotX", "Revolute"),
            ("transZ", "Prismatic"),
            ("transX rotX", "Cylindrical"),
            ("rotX rotZ", "Universal"),
            ("rotX rotY rotZ", "Spherical"),
            ("transX transY rotZ", "Planar"),
            ("transX transY transZ", "Composite"),
            ("", ""),
        ],
    )
    def test_joints_whose_limits_lock_freedoms(self, tmp_path: Path, free: str, expected: str) -> None:
        every = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
        locked = [x for x in every if x not in free.split()]
        apis = ", ".join(f'"PhysicsLimitAPI:{x}"' for x in locked)
        more = "\n".join(f"float limit:{x}:physics:low = 1\nfloat limit:{x}:physics:high = -1" for x in locked)
        robot = on.load(stage(tmp_path, body("a"), body("b"), joint("j", "", apis=apis, more=more)))
        assert [type(c.type).__name__ for c in robot.joints] == ([expected] if expected else [])

    def test_the_frames_of_a_joint(self, tmp_path: Path) -> None:
        """The joint turns about an axis away from the child's origin, and bodies are where its frames coincide."""
        places = {"at": "1, 2, 3", "child_at": "0, 0, 0.5", "turn": "0.8, 0.6, 0, 0", "child_turn": "0.6, 0, 0, 0.8"}
        robot = on.load(stage(tmp_path, body("a"), body("b"), joint("j", **places)))
        F0, F1 = np.eye(4), np.eye(4)
        F0[:3, :3] = on.rotations.matrix_from_quaternion(np.array([0.8, 0.6, 0, 0]))
        F1[:3, :3] = on.rotations.matrix_from_quaternion(np.array([0.6, 0, 0, 0.8]))
        F0[:3, 3], F1[:3, 3] = (1, 2, 3), (0, 0, 0.5)
        J = np.eye(4)
        J[:3, :3] = on.rotations.matrix_from_quaternion(np.array([math.cos(0.35), 0, math.sin(0.35), 0]))
        close(pose(robot, [0.7], "b"), F0 @ J @ np.linalg.inv(F1))

    def test_a_joint_may_be_anywhere_on_its_axis(self, tmp_path: Path) -> None:
        (found,) = on.load(stage(tmp_path, body("a"), body("b"), joint("j", at="0, 3, 0", child_at="0, 5, 0"))).joints
        assert found.type == on.Continuous((0, 1, 0))
        close(found.placement.position, (0, -2, 0))

    def test_places_of_a_scaled_body_are_scaled(self, tmp_path: Path) -> None:
        scaled = xform(scale="2, 3, 4")
        robot = on.load(stage(tmp_path, body("a", place=scaled), body("b", place=scaled), joint("j", at="1, 1, 1")))
        close(robot.joints[0].placement.position, (2, 3, 4))
        close(robot.body("b").com, (0.2, 0.6, 1.2))

    def test_a_joint_on_a_prim_that_is_no_body(self, tmp_path: Path) -> None:
        """It belongs to the body above, or to the world, in the frame of the prim."""
        tool = f'def Xform "tool" {{ {xform("0, 0, 1", "0.8, 0.6, 0, 0")} }}'
        arm = body("a", place=xform("0, 0, 2"), inside=tool)
        robot = on.load(stage(tmp_path, arm, body("b"), joint("j", parent="a/tool"), joint("w", "Fixed", "", "a")))
        expected = np.eye(4)
        expected[:3, :3] = on.rotations.matrix_from_quaternion(np.array([0.8, 0.6, 0, 0]))
        expected[2, 3] = 1.0
        close(robot.joint("j").placement.matrix, expected)

    def test_a_joint_that_carries_its_parent_keeps_its_coordinate(self, tmp_path: Path) -> None:
        parts = body("a"), body("b"), joint("w", "Fixed", "", "b"), joint("j", at="1, 0, 0", child_at="0, 0, 1")
        robot = on.load(stage(tmp_path, *parts))
        ours = on.load(stage(tmp_path, *parts[:2], joint("w", "Fixed", "", "a"), parts[3]))
        T = pose(ours, [0.3], "b")
        close(pose(robot, [0.3], "a"), np.linalg.inv(T))
        assert any("joints that carry their parents: 'j'" in str(n) for n in robot.notes)

    @pytest.mark.parametrize("free", ["rotX rotZ", "transX transY rotZ rotX", "transY rotY"])
    def test_a_joint_of_several_angles_that_carries_its_parent(self, tmp_path: Path, free: str) -> None:
        """Its angles come in reverse order."""
        locked = [x for x in ("transX", "transY", "transZ", "rotX", "rotY", "rotZ") if x not in free]
        apis = ", ".join(f'"PhysicsLimitAPI:{x}"' for x in locked)
        more = "\n".join(f"float limit:{x}:physics:low = 1\nfloat limit:{x}:physics:high = -1" for x in locked)
        j = joint("j", "", apis=apis, more=more, at="1, 2, 3", child_at="0, 0, 1", child_turn="0.8, 0.6, 0, 0")
        there = on.load(stage(tmp_path, body("a"), body("b"), joint("w", "Fixed", "", "a"), j))
        back = on.load(stage(tmp_path, body("a"), body("b"), joint("w", "Fixed", "", "b"), j))
        q = np.linspace(0.3, 0.9, there.nq)
        reverse = q if there.joints[0].type.nv == 2 and "trans" in free else q[::-1]
        close(pose(back, reverse, "a"), np.linalg.inv(pose(there, q, "b")))

    def test_drives_and_extensions(self, tmp_path: Path) -> None:
        more = """float drive:angular:physics:stiffness = 2
float drive:angular:physics:damping = 3
float drive:angular:physics:targetPosition = 90
float drive:angular:physics:maxForce = 7
custom float physxJoint:armature = 0.25
custom float physxJoint:maxJointVelocity = 180
custom float newton:damping = 1"""
        robot = on.load(
            stage(tmp_path, body("a"), body("b"), body("c"), joint("j", more=more, apis='"PhysicsDriveAPI:angular"'),
                  joint("k", child="c"))
        )  # fmt: skip
        j, degrees = robot.joint("j"), 180 / math.pi
        close((*j.stiffness, *j.damping, *j.rest), (2 * degrees, 4 * degrees, math.pi / 2))
        close((*j.effort_limit, *j.armature, *j.velocity_limit), (7, 0.25, math.pi))
        assert robot.actuated == ("j",)

    def test_a_drive_along_an_axis_in_other_units(self, tmp_path: Path) -> None:
        more = """float drive:linear:physics:stiffness = 2
float drive:linear:physics:targetPosition = 10
float drive:linear:physics:maxForce = 100
custom float physxJoint:armature = 4"""
        slide = joint("j", "Prismatic", more=more, apis='"PhysicsDriveAPI:linear"')
        (j,) = on.load(stage(tmp_path, body("a"), body("b"), slide, metres=0.01, kilograms=0.5)).joints
        close((*j.stiffness, *j.rest, *j.effort_limit, *j.armature), (1, 0.1, 0.5, 2))

    def test_followers(self, tmp_path: Path) -> None:
        newton = "rel newton:mimicJoint = </robot/j>\ncustom float newton:mimicCoef0 = 90\nfloat newton:mimicCoef1 = -2"
        physx = """rel physxMimicJoint:rotY:referenceJoint = </robot/j>
float physxMimicJoint:rotY:gearing = 3
float physxMimicJoint:rotY:offset = 90"""
        robot = on.load(
            stage(tmp_path, *map(body, "abcd"), joint("j"), joint("k", child="c", more=newton),
                  joint("l", child="d", more=physx))
        )  # fmt: skip
        assert robot.nv == 1
        mimics = [robot.joint(name).mimic for name in "kl"]
        assert [m and (m.joint, m.ratio) for m in mimics] == [(0, -2.0), (0, -3.0)]
        close([m and m.offset for m in mimics], (math.pi / 2, -math.pi / 2))

    def test_several_joints_of_mujoco_are_in_series(self, tmp_path: Path) -> None:
        x = joint("x", child_at="0, 0, 1", apis='"MjcJointAPI"')
        z = joint("z", "Prismatic", child_at="0, 0, 1", apis='"MjcJointAPI"')
        robot = on.load(stage(tmp_path, body("a"), body("b"), x, z))
        assert ([c.name for c in robot.joints], len(robot.loops)) == (["x", "z"], 0)
        assert [b.mass for b in robot.bodies] == [0.0, 2.0]
        close(pose(robot, [0, 0.5], "b")[:3, 3], (0, 0.5, -1))


class TestTree:
    def test_a_root_that_nothing_holds_stands_or_floats(self, tmp_path: Path) -> None:
        file = stage(
            tmp_path, body("a", place=xform("1, 2, 3")), body("b"), joint("j"), api="PhysicsArticulationRootAPI"
        )
        held, free = on.load(file), on.load(file, floating=True)
        assert (held.nv, free.nv, free.joints[0].type) == (1, 7, on.Free())
        close(pose(held, [0], "a")[:3, 3], (1, 2, 3))
        assert any("no joint connects 'a' to the world" in str(n) for n in held.notes)

    def test_the_mark_of_an_articulation_chooses_the_root(self, tmp_path: Path) -> None:
        marked = body("b", apis=', "PhysicsArticulationRootAPI"')
        assert on.load(stage(tmp_path, body("a"), marked, joint("j"))).base == "b"

    def test_pieces_are_free_each_on_its_own(self, tmp_path: Path) -> None:
        robot = on.load(stage(tmp_path, body("a"), body("b", place=xform("1, 0, 0"))))
        assert [(c.name, c.type) for c in robot.joints] == [("a_root_joint", on.Free()), ("b_root_joint", on.Free())]
        close(pose(robot, robot.neutral(), "b")[:3, 3], (1, 0, 0))

    def ring(self, folder: Path, marks: tuple[str, ...] = ("", "", "")) -> on.Robot:
        bodies = [body("a"), body("b"), body("c")]
        joints = [joint("i", child="b", at="1, 0, 0", more=marks[0])]
        joints += [joint("j", parent="b", child="c", at="0, 0, 1", more=marks[1])]
        joints += [joint("k", parent="c", child="a", at="1, 0, 0", child_at="2, 0, 1", more=marks[2])]
        return on.load(stage(folder, joint("w", "Fixed", "", "a"), *bodies, *joints))

    def test_a_joint_too_many_closes_a_loop(self, tmp_path: Path) -> None:
        robot = self.ring(tmp_path)
        (loop,) = robot.loops
        assert ([c.name for c in robot.joints], loop.name) == (["i", "j"], "k")
        assert np.abs(robot.loop_residual(np.zeros(2))).max() < TOLERANCE

    def test_a_joint_out_of_the_articulation_closes_it(self, tmp_path: Path) -> None:
        robot = self.ring(tmp_path, ("uniform bool physics:excludeFromArticulation = 1", "", ""))
        assert (sorted(c.name for c in robot.joints), robot.loops[0].name) == (["j", "k"], "i")

    def test_a_distance_is_a_rod(self, tmp_path: Path) -> None:
        rod = joint("r", "Distance", more="float physics:minDistance = 2\nfloat physics:maxDistance = 2")
        robot = on.load(stage(tmp_path, body("a"), body("b"), joint("j"), rod))
        assert robot.loops[0].type == on.Distance(2.0)
        robot = on.load(stage(tmp_path, body("a"), body("b"), joint("j"), rod.replace("max", "custom:max")))
        assert not robot.loops
        assert any("distance joints that leave the distance free" in str(n) for n in robot.notes)

    def test_what_is_off_is_left_out(self, tmp_path: Path) -> None:
        off = joint("j", more="uniform bool physics:jointEnabled = 0").replace("uniform bool", "bool")
        still = body("a", MASS + "\nbool physics:kinematicEnabled = 1", place=xform("0, 0, 1"))
        robot = on.load(stage(tmp_path, still, body("b"), off))
        assert [c.name for c in robot.joints] == ["b_root_joint"]
        assert any("held still, because it is kinematic: 'a'" in str(n) for n in robot.notes)
        assert any("joints that are switched off: 'j'" in str(n) for n in robot.notes)

    def test_a_file_that_is_missing_is_noted(self, tmp_path: Path) -> None:
        file = stage(tmp_path, body("a"), 'def Xform "x" (prepend payload = @./none.usda@) { }')
        (note, *_) = (n for n in on.load(file).notes if "missing" in n.message)
        assert "none.usda" in note.message

    def test_equal_names_are_told_apart_by_their_paths(self, tmp_path: Path) -> None:
        twice = body("a", inside=body("a"))
        robot = on.load(stage(tmp_path, twice, joint("j", parent="a", child="a/a")))
        assert (robot.base, robot.bodies[0].name) == ("robot/a", "robot/a/a")


PAIR = body("a") + "\n" + body("b")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((), "/: the stage has no rigid body: no prim has the PhysicsRigidBodyAPI"),
        ((body("a"), joint("j", child="none")), "/robot/j: its physics:body1 is /robot/none, which does not exist"),
        ((body("a"), joint("j", child="a")), "/robot/j: it connects 'a' with itself"),
        (
            (PAIR, joint("j", turn="nan, 0, 0, 0")),
            "/robot/j: physics:localRot0 must be four finite numbers (w, x, y",
        ),
        ((PAIR, joint("j", child_turn="1, inf, 0, 0")), "/robot/j: physics:localRot1 must be four finite numbers"),
        (
            (PAIR, joint("j", at="0, inf, 0")),
            "/robot/j: physics:localPos0 must be three finite numbers, got (0.0, inf",
        ),
        ((body("a", MASS.replace("0.8", "nan")),), "/robot/a: physics:principalAxes must be four finite numbers"),
        ((body("a", MASS.replace("0.1", "nan")),), "/robot/a: physics:centerOfMass must be three finite numbers"),
        (
            (PAIR, body("c"), joint("j").replace("</robot/a>", "[</robot/a>, </robot/c>]")),
            "/robot/j: physics:body0 has 2 targets (/robot/a, /robot/c); it must have one at most",
        ),
    ],
)
def test_faults(tmp_path: Path, parts: tuple[str, ...], message: str) -> None:
    file = stage(tmp_path, *parts)
    with pytest.raises(ModelError) as e:
        on.load(file)
    assert str(e.value).startswith(f"{file}: {message}")


@pytest.mark.parametrize("how", ["references = @{}@</robot>", "payload = @{}@</robot>", "", "variant"])
def test_files_outside_of_the_root_folder_are_refused(tmp_path: Path, how: str) -> None:
    (outside := tmp_path / "outside").mkdir()
    (here := tmp_path / "here").mkdir()
    stage(outside, body("a"))
    name = "../outside/robot.usda"
    file = here / "scene.usda"
    inside = f'variantSet "v" = {{ "x" {{ over "b" (prepend references = @{name}@</robot>) {{ }} }} }}'
    file.write_text(
        f"#usda 1.0\n(subLayers = [@{name}@])\n"
        if not how
        else f'#usda 1.0\ndef "robot" (prepend variantSets = "v") {{\n{inside}\n}}\n'.replace("{ ", "{\n").replace(
            " }", "\n}"
        )
        if how == "variant"
        else f'#usda 1.0\ndef "robot" (prepend {how.format(name)}) {{\n}}\n'
    )
    with pytest.raises(ModelError, match=r"outside/robot.usda' leads out of the folder .*root=folder"):
        on.load(file)
    if how != "variant":  # which is not chosen, so that nothing is left
        assert on.load(file, root=tmp_path).base == "a"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_is_no_layer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.usda")
    (file := tmp_path / "scene.usda").write_text('#usda 1.0\ndef "robot" (prepend references = @./pipe.usda@) {\n}\n')
    with pytest.raises(ModelError, match=r"'./pipe.usda' is not a regular file"):
        on.load(file)


def test_references_that_double_are_refused(tmp_path: Path) -> None:
    """40 prims that each refer twice to the next are 2^40 prims."""
    prims = [
        f'def "p{k}" {{\ndef "a" (references = </p{k + 1}>) {{\n}}\ndef "b" (references = </p{k + 1}>) {{\n}}\n}}'
        for k in range(40)
    ]
    (file := tmp_path / "scene.usda").write_text("\n".join(["#usda 1.0", *prims, 'def "p40" {\n}\n']))
    with pytest.raises(ModelError, match="more than 500,000 prims"):
        on.load(file)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (file := tmp_path / "robot.usda").write_text("no USD")
    with pytest.raises(ModelError, match=r"robot\.usda: USD cannot open it"):
        on.load(file)
    file.write_text('#usda 1.0\ndef Xform "robot"\n{{')
    with pytest.raises(ModelError, match=r"robot\.usda:3: USD cannot open it: a syntax error in column \d+"):
        on.load(file)
    with pytest.raises(FileNotFoundError, match=r"robot\.usdc.*did you mean .*robot\.usda"):
        on.load(tmp_path / "robot.usdc")


def test_without_the_package_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = stage(tmp_path, body("a"))
    monkeypatch.setitem(sys.modules, "pxr", None)
    for name in [name for name in sys.modules if name.startswith("pxr.")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModelError, match=r"usd-core, which is not installed .*: pip install 'ordern\[usd\]'"):
        on.load(file)
