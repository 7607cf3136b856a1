"""Coordinates of Pinocchio, MuJoCo and Drake: the dynamics agree through the converter, and back comes what went."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import ordern as on
from ordern.conversion import Converter, convert
from ordern.errors import ArgumentError, UnknownNameError
from ordern.io.export_mjcf import to_mjcf
from ordern.io.export_urdf import to_urdf
from ordern.rotations import matrix_from_quaternion
from tests.random_models import random_placement
from tests.robots import ROBOTS
from tests.tolerances import FINITE_DIFFERENCE, PEER, ROUNDING, assert_close

Array = np.ndarray
INERTIAL = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.5, 0.6, 0.7, 0.01, 0.02, 0.03)}
DRAKE = json.loads((Path(__file__).parent / "data/drake.json").read_text())
BATCH = (2, 3)


def robot(*joints: on.Joint, floating: bool = False, seed: int = 0, **more: Any) -> on.Robot:
    """A chain of these joints, named j1, j2 ... and carrying b1, b2 ...; on a base b0."""
    rng = np.random.default_rng(seed)
    builder = on.Builder("chain").body("b0", **INERTIAL)
    for k, joint in enumerate(joints, 1):
        at = random_placement(rng)
        builder.body(f"b{k}", parent=f"b{k - 1}", joint=joint, joint_name=f"j{k}", at=at, **INERTIAL, **more)
    return builder.build(floating=floating, snap=0.0)


def matrix(quaternion: Array) -> Array:
    return matrix_from_quaternion(np.array(quaternion))


def stand(model: Any) -> on.Placement:
    """Where MuJoCo has the body `trunk`."""
    return on.Placement.of(matrix(model.body("trunk").quat), model.body("trunk").pos)


def state(one: on.Model, shape: tuple[int, ...] = BATCH) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(3)
    v, a, tau = (rng.normal(size=(*shape, one.nv)) for _ in range(3))
    return one.random(rng, shape), v, a, tau


def ask(one: on.Robot, question: str, *arguments: Array) -> Array:
    return np.asarray(one.kernel(question, way="interpreted")(*arguments))


def assert_back(c: Converter) -> None:
    """There and back; power is kept; the matrix does what the functions do."""
    given = q, v, _, tau = state(c.robot)
    there = c.to_peer(*given)
    assert [x.shape for x in there] == [(*BATCH, n) for n in (c.nq, c.nv, c.nv, c.nv)]
    back = c.from_peer(*there)
    apart = ask(c.robot, "difference", q, back[0])  # a quaternion and its negative are one rotation
    assert_close(apart, np.zeros_like(v), ROUNDING)
    for x, y in zip(back[1:], given[1:], strict=True):
        assert_close(x, y, ROUNDING)
    assert_close((there[3] * there[1]).sum(-1), (tau * v).sum(-1), ROUNDING)
    B = c.velocity_matrix(q)
    assert_close(np.einsum("...ij,...j->...i", B, v), there[1], ROUNDING)
    assert_close(np.einsum("...ji,...j->...i", B, there[3]), tau, ROUNDING)
    assert_close(c.to_peer(q), there[0], 0.0)


def assert_derivatives(c: Converter) -> None:
    """Accelerations are the rates of the velocities, by central differences along a motion."""
    q, v, a, _ = state(c.robot, ())
    h = 1e-5
    ahead, behind = (
        c.to_peer(ask(c.robot, "integrate", q, v * t + a * t * t / 2, np.array(1.0)), v + a * t)[1] for t in (h, -h)
    )
    assert_close((ahead - behind) / (2 * h), c.to_peer(q, v, a)[2], FINITE_DIFFERENCE)


def assert_pinocchio(one: on.Robot, model: Any) -> Converter:
    c, data = convert(one, model), model.createData()
    assert (c.nq, c.nv) == (model.nq, model.nv)
    q, v, a, _ = (x.reshape(6, -1) for x in state(one))
    tau, M = ask(one, "inverse_dynamics", q, v, a), ask(one, "mass_matrix", q)
    B = c.velocity_matrix(q)
    pq, pv, pa = c.to_peer(q, v, a)
    theirs = np.array([pin.rnea(model, data, *x) for x in zip(pq, pv, pa, strict=True)])
    assert_close(c.from_peer(pq, pv, pa, theirs)[3], tau, PEER)
    for k in range(6):
        half = np.triu(pin.crba(model, data, pq[k]))
        assert_close(B[k].T @ (half + np.triu(half, 1).T) @ B[k], M[k], PEER)
    return c


def assert_mujoco(one: on.Robot, model: Any) -> Converter:
    c, data = convert(one, model), mujoco.MjData(model)
    assert (c.nq, c.nv) == (model.nq, model.nv)
    q, v, a, _ = (x.reshape(6, -1) for x in state(one))
    expected, matrices = ask(one, "inverse_dynamics", q, v, a), ask(one, "mass_matrix", q)
    B = c.velocity_matrix(q)
    pq, pv, pa = c.to_peer(q, v, a)
    for k in range(6):
        data.qpos[:], data.qvel[:], data.qacc[:] = pq[k], pv[k], pa[k]
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        tau, M = np.zeros(model.nv), np.zeros((model.nv, model.nv))
        mujoco.mj_rne(model, data, 1, tau)
        mujoco.mj_fullM(model, data, M)
        tau += model.dof_armature * pa[k]
        assert_close(c.from_peer(pq[k], pv[k], pa[k], tau)[3], expected[k], PEER)
        assert_close(B[k].T @ M @ B[k], matrices[k], PEER)
        for body in one.bodies:
            pose = one.kernel("pose", way="interpreted", frame=body.name)(q[k])
            assert_close(data.xpos[model.body(body.name).id], pose[:3, 3], PEER)
    return c


class TestPinocchio:
    def test_a_floating_robot_with_continuous_joints(self) -> None:
        path = ROBOTS / "iris_description/robots/iris.urdf"
        model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
        assert_back(c := assert_pinocchio(on.load(path, floating=True, snap=0.0), model))
        assert_derivatives(c)

    def test_siblings_in_another_order(self) -> None:
        path = ROBOTS / "talos_data/robots/talos_reduced.urdf"
        one = on.load(path, floating=True, snap=0.0)
        c = assert_pinocchio(one, pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()))
        assert [p.v for p in c.pieces] != [p.peer_v for p in c.pieces]

    def test_every_joint_of_a_file(self) -> None:
        one = robot(on.Free(), on.Planar(), on.Continuous((0, 1, 1)), on.Revolute((1, 0, 0)), on.Prismatic((1, 2, 3)))
        assert_back(c := assert_pinocchio(one, pin.buildModelFromXML(to_urdf(one))))
        assert_derivatives(c)
        assert (c.nq, one.nq) == (7 + 4 + 2 + 2 + 1, 7 + 3 + 1 + 1 + 1)

    def test_joints_that_no_file_has(self) -> None:
        one = robot(on.Spherical(), on.Helical((0, 0, 1), 0.3), on.Universal((0, 0, 1), (1, 0, 0)), on.Revolute())
        model, parent = pin.Model(), 0
        z, x = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
        joints = [pin.JointModelSpherical(), pin.JointModelHZ(0.3 / (2 * np.pi))]
        joints += [pin.JointModelUniversal(z, x), pin.JointModelRZ()]
        for c, body, joint in zip(one.joints, one.bodies, joints, strict=True):
            at = pin.SE3(c.placement.R, c.placement.p)
            parent = model.addJoint(parent, joint, at, c.name)
            inertia = pin.Inertia(body.mass, np.array(body.com), body.inertia_matrix)
            model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
        assert_back(c := assert_pinocchio(one, model))
        assert_derivatives(c)

    def test_a_free_joint_that_starts_from_elsewhere(self) -> None:
        one, theirs = robot(on.Free(), on.Revolute()), pin.Model()
        elsewhere = random_placement(np.random.default_rng(5))
        at = [pin.SE3(elsewhere.R, elsewhere.p), pin.SE3(one.joints[1].placement.R, one.joints[1].placement.p)]
        parent = 0
        joints = [pin.JointModelFreeFlyer(), pin.JointModelRZ()]
        for c, body, joint, M in zip(one.joints, one.bodies, joints, at, strict=True):
            parent = theirs.addJoint(parent, joint, M, c.name)
            inertia = pin.Inertia(body.mass, np.array(body.com), body.inertia_matrix)
            theirs.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
        assert_back(c := assert_pinocchio(one, theirs))
        assert_derivatives(c)

    def test_joints_that_follow_others(self) -> None:
        path = str(ROBOTS / "panda_description/urdf/panda.urdf")
        one = on.load(path, snap=0.0)
        assert (one.nv, len(one.joints)) == (8, 9)
        coupled, free = (pin.buildModelFromUrdf(path, mimic=mimic) for mimic in (True, False))
        assert_back(assert_pinocchio(one, coupled))
        c = convert(one, free)
        assert_back(c)
        q, v, a, _ = state(one, ())
        pq, pv, pa = c.to_peer(q, v, a)
        tau = pin.rnea(free, free.createData(), pq, pv, pa)
        assert_close(c.from_peer(pq, pv, pa, tau)[3], ask(one, "inverse_dynamics", q, v, a), PEER)

    def test_a_joint_that_follows_another_only_there(self) -> None:
        text = (ROBOTS / "panda_description/urdf/panda.urdf").read_text()
        free = on.load("\n".join(line for line in text.splitlines() if "<mimic" not in line))
        with pytest.raises(ArgumentError, match="joint 'panda_finger_joint2' follows another joint in Pinocchio"):
            convert(free, pin.buildModelFromXML(text, mimic=True))


class TestMujoco:
    def test_every_joint(self) -> None:
        one = robot(
            on.Spherical(), on.Revolute((0, 1, 1)), on.Prismatic(), on.Continuous(), floating=True, armature=0.0
        )
        assert_back(c := assert_mujoco(one, mujoco.MjModel.from_xml_string(to_mjcf(one))))
        assert_derivatives(c)

    def test_joints_that_are_several_there(self) -> None:
        parts = (on.Universal((0, 0, 1), (0, 1, 0)), (on.Prismatic((0, 1, 0)), (0, 0, 0.1)), on.Spherical())
        one = robot(on.Universal(), on.Cylindrical((0, 1, 1)), on.Composite(parts), armature=0.1)
        assert_back(c := assert_mujoco(one, mujoco.MjModel.from_xml_string(to_mjcf(one))))
        assert len(c.pieces) == 2 + 2 + 4

    def test_a_free_joint_that_does_not_start_from_the_world(self) -> None:
        one = robot(on.Free(), on.Spherical())
        assert_back(c := assert_mujoco(one, mujoco.MjModel.from_xml_string(to_mjcf(one, lossy=True))))
        assert_derivatives(c)

    def test_references_and_joints_without_names(self) -> None:
        text = """<mujoco><compiler angle="radian"/><worldbody>
        <body name="trunk" pos="0 0 1"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
        <body name="leg" pos="0 0.1 0"><joint axis="0 1 0" ref="0.5"/>
        <inertial pos="0 0 -0.2" mass="1" diaginertia="1 1 1"/></body></body></worldbody></mujoco>"""
        one = (
            on.Builder("legged")
            .body("trunk", mass=1.0, inertia=(1, 1, 1))
            .body(
                "leg",
                parent="trunk",
                joint=on.Revolute((0, 1, 0)),
                at=(0, 0.1, 0),
                mass=1.0,
                com=(0, 0, -0.2),
                inertia=(1, 1, 1),
            )
            .build(floating=True)
        )
        assert_back(c := assert_mujoco(one, mujoco.MjModel.from_xml_string(text)))
        assert c.to_peer(one.neutral()).tolist() == [0, 0, 0, 1, 0, 0, 0, 0.5]

    REFERENCES = """<mujoco><compiler angle="radian"/><worldbody>
        <body name="trunk" pos="0 0 1" euler="0.1 0.2 0.3">
        <body name="leg" pos="0 0.1 0.2" euler="0.3 0 0.2">
        <joint name="hip" axis="0 1 0" ref="0.5" {}/><inertial pos="0 0 -0.2" mass="1" diaginertia="1 1 1"/>
        <body name="shin" pos="0.1 0 -0.4" euler="0 0.3 0"><joint name="knee" type="slide" axis="0 0 1" ref="-0.2"/>
        <inertial pos="0 0 -0.2" mass="1" diaginertia="1 1 1"/></body></body></body></worldbody></mujoco>"""

    @pytest.mark.parametrize("more", ["", 'pos="0.1 0.2 0.3"'])
    def test_references_of_the_file_that_the_robot_was_loaded_from(self, more: str) -> None:
        text = self.REFERENCES.format(more).replace(
            '<joint name="knee"', '<joint name="ankle" axis="1 0 0" ref="0.4"/><joint name="knee"'
        )
        one, model = on.load(text, snap=0.0), mujoco.MjModel.from_xml_string(text)
        c, data = convert(one, model), mujoco.MjData(model)
        assert_back(c)
        q = np.array([0.3, 0.4, 0.5])
        assert c.to_peer(q).tolist() == q.tolist()
        data.qpos[:] = c.to_peer(q)
        mujoco.mj_kinematics(model, data)
        for name in ("leg", "shin"):
            pose = one.kernel("pose", way="interpreted", frame=name)(q)
            assert_close(data.xpos[model.body(name).id], pose[:3, 3], PEER)
            assert_close(data.xmat[model.body(name).id].reshape(3, 3), pose[:3, :3], PEER)

    @pytest.mark.parametrize("named", [True, False])
    def test_references_of_another_description(self, named: bool) -> None:
        text = self.REFERENCES.format("")
        model = mujoco.MjModel.from_xml_string(text)
        mass = {"mass": 1.0, "com": (0, 0, -0.2), "inertia": (1, 1, 1)}
        hip = on.Placement.of(matrix(model.body("leg").quat), (0, 0.1, 0.2))
        knee = on.Placement.of(matrix(model.body("shin").quat), (0.1, 0, -0.4))
        trunk, leg, shin = ("trunk", "leg", "shin") if named else ("a", "b", "c")
        builder = on.Builder("other").body(trunk)
        if not named:  # nothing but the joints tells what is what: the robot stands where MuJoCo has it
            builder = on.Builder("other").body("ground").body(trunk, parent="ground", joint=on.Fixed(), at=stand(model))
        builder.body(leg, parent=trunk, joint=on.Revolute((0, 1, 0)), joint_name="hip", at=hip, **mass)
        builder.body(shin, parent=leg, joint=on.Prismatic((0, 0, 1)), joint_name="knee", at=knee, **mass)
        one = builder.build(snap=0.0)
        assert_back(c := convert(one, model))
        assert c.to_peer(np.zeros(2)).tolist() == [0.5, -0.2]
        q, data = np.array([0.3, 0.4]), mujoco.MjData(model)
        data.qpos[:] = c.to_peer(q)
        mujoco.mj_kinematics(model, data)
        ours = np.linalg.inv(one.kernel("pose", way="interpreted", frame=trunk)(q)) @ one.kernel(
            "pose", way="interpreted", frame=shin
        )(q)
        R = data.body("trunk").xmat.reshape(3, 3)
        assert_close(R.T @ (data.body("shin").xpos - data.body("trunk").xpos), ours[:3, 3], PEER)

    def test_a_reference_of_a_joint_of_another_kind(self) -> None:
        model = mujoco.MjModel.from_xml_string(self.REFERENCES.format(""))
        one = robot(on.Spherical(), on.Prismatic())
        with pytest.raises(ArgumentError, match="joint 'j1' is a Spherical here and a hinge in MuJoCo"):
            convert(one, model, names={"j1": "hip", "j2": "knee"})

    GEOM = '<geom type="box" size=".1 .2 .3" pos=".1 .2 .3" mass="1"/>'

    @pytest.mark.parametrize(
        "bodies",
        [
            '<body{a}><joint axis="0 1 0"/>{g}<body{b} pos="0 0 1"><joint/><joint axis="0 1 0"/>{g}</body></body>',
            '<body name="x"><joint name="j"/><joint axis="0 1 0"/>{g}</body><body{a}><joint type="slide"/>{g}</body>',
            '<body{a} pos="1 2 3" euler="9 8 7"><freejoint/>{g}</body><body{b} pos="3 2 1"><freejoint/>{g}</body>',
            '<body pos="1 2 3"><body{a} pos="1 0 0" euler="9 8 7"><joint pos=".1 .2 .3"/>{g}</body></body>',
        ],
    )
    @pytest.mark.parametrize("named", [False, True])
    def test_joints_without_names(self, bodies: str, named: bool) -> None:
        a, b = (' name="a"', ' name="b"') if named else ("", "")
        text = f"<mujoco><worldbody>{bodies.format(a=a, b=b, g=self.GEOM)}</worldbody></mujoco>"
        one, model = on.load(text, snap=0.0), mujoco.MjModel.from_xml_string(text)
        assert_back(c := convert(one, model))
        q, v, a, _ = state(one, ())
        data, tau = mujoco.MjData(model), np.zeros(model.nv)
        data.qpos[:], data.qvel[:], data.qacc[:] = pq, pv, pa = c.to_peer(q, v, a)
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_rne(model, data, 1, tau)
        assert_close(c.from_peer(pq, pv, pa, tau)[3], ask(one, "inverse_dynamics", q, v, a), PEER)

    def test_joints_without_names_of_another_robot(self) -> None:
        """The same number of joints is not enough: a chain is no tree, and a hinge no slide."""
        fork = "<body><joint/>{g}</body><body><joint/>{g}</body>"
        text = f"<mujoco><worldbody>{fork.format(g=self.GEOM)}</worldbody></mujoco>"
        for joints in ((on.Revolute(), on.Revolute()), (on.Revolute(), on.Prismatic())):
            with pytest.raises(ArgumentError, match=r"MuJoCo's: the unnamed one of body 1, the unnamed one of body 2"):
                convert(robot(*joints), mujoco.MjModel.from_xml_string(text))

    def test_a_robot_that_was_loaded_from_the_same_file(self) -> None:
        text = to_mjcf(robot(on.Spherical(), on.Universal(), on.Revolute(), floating=True))
        one = on.load(text, snap=0.0)
        assert_back(convert(one, mujoco.MjModel.from_xml_string(text)))

    def test_a_joint_of_another_kind(self) -> None:
        model = mujoco.MjModel.from_xml_string(to_mjcf(robot(on.Prismatic())))
        with pytest.raises(
            ArgumentError, match=r"joint 'j1' is a Revolute here and a slide in MuJoCo \('j1'\); expected"
        ):
            convert(robot(on.Revolute()), model)


class _Joint:
    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def name(self) -> str:
        return str(self.data["name"])

    def type_name(self) -> str:
        return str(self.data["type"])

    def num_positions(self) -> int:
        return 1

    def position_start(self) -> int:
        return int(self.data["q"])

    def velocity_start(self) -> int:
        return int(self.data["v"])

    def model_instance(self) -> str:
        return str(self.data.get("model", "m"))

    def child_body(self) -> _Joint:
        return _Joint({"name": self.data["child"]})

    def parent_body(self) -> _Joint:
        return _Joint({"name": self.data["parent"]})

    def frame_on_parent(self) -> _Pose:
        return _Pose(self.data["on_parent"])

    def frame_on_child(self) -> _Pose:
        return _Pose(self.data["on_child"])


class _Pose:
    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    def GetFixedPoseInBodyFrame(self) -> _Pose:
        return self

    def GetAsMatrix4(self) -> Array:
        return np.array(self.matrix)


class MultibodyPlant:
    """What Drake said of its own plant, which `data/drake.json` records."""

    def __init__(self, data: dict[str, Any], finalized: bool = True) -> None:
        self.data = data
        self.is_finalized = lambda: finalized
        self.GetModelInstanceName = lambda instance: instance
        self.num_positions = lambda: data["num_positions"]
        self.num_velocities = lambda: data["num_velocities"]

    def GetJointIndices(self) -> list[int]:
        return list(range(len(self.data["joints"])))

    def get_joint(self, index: int) -> _Joint:
        return _Joint(self.data["joints"][index])


MultibodyPlant.__module__ = "pydrake.multibody.plant"


class TestDrake:
    @pytest.mark.parametrize("case", ["floating", "fixed", "joints"])
    def test_recorded_values(self, case: str) -> None:
        data = DRAKE[case]
        if case == "joints":
            builder = on.Builder("joints").body("ground")
            joints = [on.Free(), on.Spherical(), on.Planar((0, 0, 1)), on.Universal((1, 0, 0), (0, 1, 0))]
            joints.append(on.Helical((0, 0, 1), 0.2))
            for parent, child, joint in zip(["ground", *"rbpu"], "rbpus", joints, strict=True):
                at = on.Placement.xyz_rpy((0.1, 0.2, 0.3), (0.3, -0.4, 0.5))
                mass = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.5, 0.6, 0.7)}
                builder.body(child, parent=parent, joint=joint, joint_name=f"j{child}", at=at, **mass)
            builder.gravity = tuple(data["gravity"])
            one = builder.build(snap=0.0)
        else:
            assert data["gravity"] == [0, 0, -9.81]
            one = on.load(DRAKE["arm"], floating=case == "floating", snap=0.0)
        c = convert(one, MultibodyPlant(data))
        assert_back(c)
        assert_derivatives(c)
        for theirs in data["states"]:
            q, v, a, tau = c.from_peer(*(theirs[x] for x in ("q", "v", "a", "tau")))
            assert_close(ask(one, "inverse_dynamics", q, v, a), tau, PEER)
            B = c.velocity_matrix(q)
            assert_close(B.T @ np.array(theirs["mass_matrix"]) @ B, ask(one, "mass_matrix", q), PEER)

    def test_joints_of_several_models_away_from_the_origins_of_their_links(self) -> None:
        data, one = DRAKE["off origin"], on.load(DRAKE["scene"], snap=0.0)
        assert sum(isinstance(c.type, on.Composite) for c in one.joints) == 5
        c = convert(one, MultibodyPlant(data))
        assert_back(c)
        assert_derivatives(c)
        for theirs in data["states"]:
            q, v, a, tau = c.from_peer(*(theirs[x] for x in ("q", "v", "a", "tau")))
            for body, pose in theirs["poses"].items():
                assert_close(one.kernel("pose", way="interpreted", frame=body)(q), np.array(pose), PEER)
            assert_close(ask(one, "inverse_dynamics", q, v, a), tau, PEER)

    def test_models_in_a_model(self) -> None:
        """The name of the outermost model, which ours do not have, may stand before all names there."""
        data, one = DRAKE["off origin"], on.load(DRAKE["scene"], snap=0.0)
        inner = {**data, "joints": [{**joint, "model": f"outer::{joint['model']}"} for joint in data["joints"]]}
        assert convert(one, MultibodyPlant(inner)).pieces == convert(one, MultibodyPlant(data)).pieces

    @pytest.mark.parametrize("case", ["placed", "moved quaternion", "moved rpy"])
    @pytest.mark.parametrize("somewhere", [False, True])
    def test_a_free_body_is_where_drake_has_it(self, case: str, somewhere: bool) -> None:
        """Wherever a free joint of ours starts from, and wherever Drake's does."""
        data, at = DRAKE[case], random_placement(np.random.default_rng(7)) if somewhere else on.Placement()
        trunk = {"mass": 1.5, "com": (0.1, 0.2, 0.3), "inertia": (1, 1.1, 1.2)}
        leg = {"mass": 0.7, "com": (0, 0.2, 0.1), "inertia": (0.1, 0.2, 0.15)}
        hip = on.Placement.xyz_rpy((0.2, 0.1, 0.3), (0.5, 0.2, 0.1))
        builder = on.Builder("walker").body("ground").body("trunk", parent="ground", joint=on.Free(), at=at, **trunk)
        builder.body("leg", parent="trunk", joint=on.Revolute((0, 1, 0)), joint_name="hip", at=hip, **leg)
        one = builder.build(snap=0.0)
        order = [joint["name"] for joint in sorted(data["joints"], key=lambda joint: joint["q"])]
        plant = convert(one, MultibodyPlant(data))
        names = {"free": one.joints[0].name, "trunk": one.joints[0].name}
        alone = convert(one, "drake", [names.get(name, name) for name in order])
        for c in (plant, alone) if case == "placed" else (plant,):
            assert_back(c)
            assert_derivatives(c)
            for theirs in data["states"]:
                q, v, a, tau = c.from_peer(*(theirs[x] for x in ("q", "v", "a", "tau")))
                for body, pose in theirs["poses"].items():
                    assert_close(one.kernel("pose", way="interpreted", frame=body)(q), np.array(pose), PEER)
                assert_close(ask(one, "inverse_dynamics", q, v, a), tau, PEER)
                B = c.velocity_matrix(q)
                assert_close(B.T @ np.array(theirs["mass_matrix"]) @ B, ask(one, "mass_matrix", q), PEER)

    def test_a_robot_that_was_loaded_from_the_same_file(self) -> None:
        """Drake puts a free body where the file has it, and measures its position from the world."""
        one, data = on.load(DRAKE["walker"], floating=True, snap=0.0), DRAKE["placed"]
        c = convert(one, MultibodyPlant(data))
        for theirs in data["states"]:
            q, v, a, tau = c.from_peer(*(theirs[x] for x in ("q", "v", "a", "tau")))
            assert_close(one.kernel("pose", way="interpreted", frame="leg")(q), np.array(theirs["poses"]["leg"]), PEER)
            assert_close(ask(one, "inverse_dynamics", q, v, a), tau, PEER)

    def test_free_joints_that_are_not_the_same(self) -> None:
        one = on.load(DRAKE["walker"], floating=True)
        with pytest.raises(ArgumentError, match=r"moves a frame other than that of the body 'trunk'"):
            convert(one, MultibodyPlant(DRAKE["moved child"]))
        builder = on.Builder("walker").body("ground")
        builder.body("cart", parent="ground", joint=on.Revolute(), joint_name="hip", **INERTIAL)
        builder.body("trunk", parent="cart", joint=on.Free(), **INERTIAL)
        with pytest.raises(ArgumentError, match=r"starts from 'cart' here and from 'the world' in Drake"):
            convert(builder.build(), MultibodyPlant(DRAKE["placed"]))

    def test_a_list_of_names_does_as_well(self) -> None:
        data = DRAKE["fixed"]
        one = on.load(DRAKE["arm"])
        order = [joint["name"] for joint in sorted(data["joints"], key=lambda joint: joint["q"])]
        assert convert(one, "drake", order).pieces == convert(one, MultibodyPlant(data)).pieces

    def test_a_plant_that_is_not_finished(self) -> None:
        with pytest.raises(ArgumentError, match=r"not finalized; call plant.Finalize\(\) first"):
            convert(on.load(DRAKE["arm"]), MultibodyPlant(DRAKE["fixed"], finalized=False))


class TestNames:
    def test_by_library(self) -> None:
        one = robot(on.Continuous(), on.Spherical(), on.Planar(), floating=True)
        c = convert(one, "pinocchio", ["root_joint", "j2", "j1", "j3"])
        assert (c.nq, c.nv) == (7 + 4 + 2 + 4, 6 + 3 + 1 + 3)
        assert_back(c)
        assert repr(c) == "<Converter of 'chain' and Pinocchio: nq=17, nv=13>"
        c = convert(one := robot(on.Universal(), on.Spherical()), "mujoco", ["j2", "j1"])
        assert c.nq == 6
        assert_back(c)

    def test_joints_that_follow_others_may_be_missing(self) -> None:
        one = on.load(ROBOTS / "panda_description/urdf/panda.urdf")
        names = [joint.name for joint in one.joints]
        assert convert(one, "pinocchio", names).nv == 9
        assert_back(convert(one, "pinocchio", names[:-1]))

    def test_joints_without_a_partner(self) -> None:
        model = mujoco.MjModel.from_xml_string(to_mjcf(robot(on.Revolute(), on.Revolute())))
        one = on.Builder("other").body("base")
        one.body("x", parent="base", joint=on.Revolute(), joint_name="j1", **INERTIAL)
        one.body("y", parent="x", joint=on.Revolute(), joint_name="wrist", **INERTIAL)
        with pytest.raises(
            ArgumentError,
            match=r"the joints of 'other' and of the MuJoCo model do not match\. Without a partner: ours: 'wrist'; "
            r"MuJoCo's: 'j2'. All of ours: j1, wrist. All of MuJoCo's: j1, j2",
        ):
            convert(one.build(), model)
        assert_back(convert(one.build(), model, names={"wrist": "j2"}))
        with pytest.raises(UnknownNameError, match=r"unknown joint 'wirst' in other\. Did you mean 'wrist'"):
            convert(one.build(), model, names={"wirst": "j2"})

    def test_joints_that_have_no_equal(self) -> None:
        with pytest.raises(ArgumentError, match="joint 'j1' is a RollingDisc, which has no equal in Drake"):
            convert(robot(on.RollingDisc()), "drake", ["j1"])
        with pytest.raises(ArgumentError, match="joint 'j1' is a Planar, which has no equal in MuJoCo"):
            convert(robot(on.Planar()), "mujoco", ["j1"])
        with pytest.raises(ArgumentError, match=r"only if its normal is \(0, 0, 1\), not \(1.0, 0.0, 0.0\)"):
            convert(robot(on.Planar((1, 0, 0))), "pinocchio", ["j1"])

    def test_what_is_no_peer(self) -> None:
        one = robot(on.Revolute())
        with pytest.raises(ArgumentError, match=r"expected a pinocchio\.Model, a mujoco.MjModel, .*; got builtins.int"):
            convert(one, 3)
        with pytest.raises(UnknownNameError, match=r"unknown library 'bullet'\. Known: pinocchio, mujoco, drake"):
            convert(one, "bullet", ["j1"])
        with pytest.raises(ArgumentError, match="give the names of the joints in its order"):
            convert(one, "drake")
        with pytest.raises(ArgumentError, match="has an order of its own"):
            convert(one, mujoco.MjModel.from_xml_string(to_mjcf(one)), ["j1"])


class TestArrays:
    def test_batches_broadcast_and_types_stay(self) -> None:
        one = robot(on.Spherical(), on.Revolute(), floating=True)
        c = convert(one, "mujoco", ["root_joint", "j1", "j2"])
        q, v, a, _ = state(one)
        pq, pv, pa = c.to_peer(q[0, 0], v, a[:, :1])
        assert (pq.shape, pv.shape, pa.shape) == ((*BATCH, 12), (*BATCH, 10), (*BATCH, 10))
        assert_close(pa[1, 2], c.to_peer(q[0, 0], v[1, 2], a[1, 0])[2], 0.0)
        assert c.to_peer(q.astype(np.float32)).dtype == np.float32
        assert c.to_peer(one.neutral().astype(int)).dtype == np.float64
        assert c.to_peer(np.zeros((0, one.nq))).shape == (0, 12)

    def test_wrong_shapes(self) -> None:
        c = convert(robot(on.Revolute()), "mujoco", ["j1"])
        with pytest.raises(ArgumentError, match=r"v has shape \(2,\); its last dimension must be 1"):
            c.to_peer([0.0], [0.0, 1.0])
        with pytest.raises(ArgumentError, match="accelerations are converted together with velocities: give v too"):
            c.from_peer([0.0], a=[1.0])
