"""Agreement with MuJoCo on MJCF models: hand-written ones for each feature, random trees, and MuJoCo's own.

Ours: a free joint has q = (quaternion, position), v = (angular, linear) in the body's axes. MuJoCo: q = (position,
quaternion), v = (linear in the world's axes, angular in the body's), and its acceleration is the derivative of that.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import mujoco
import numpy as np
import pytest

import ordern as on
from ordern.model import Frame, Placement
from tests.tolerances import PEER, ROUNDING, assert_close

Array = np.ndarray
FREE, BALL = mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL
TESTDATA = Path(mujoco.__file__).parent / "testdata"


class Pair:
    """One model in both libraries; MuJoCo without contacts, constraints and passive forces."""

    def __init__(self, source: str | Path) -> None:
        text = isinstance(source, str)
        self.m = mujoco.MjModel.from_xml_string(source) if text else mujoco.MjModel.from_xml_path(str(source))
        off = mujoco.mjtDisableBit
        self.m.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_EQUALITY | off.mjDSBL_FRICTIONLOSS
        self.m.opt.disableflags |= off.mjDSBL_SPRING | off.mjDSBL_DAMPER | off.mjDSBL_ACTUATION
        self.m.opt.density = self.m.opt.viscosity = 0.0
        self.m.body_gravcomp[:] = 0.0
        self.d = mujoco.MjData(self.m)
        self.robot = on.load(source, snap=0.0)
        assert (self.robot.nq, self.robot.nv) == (self.m.nq, self.m.nv)
        names = (mujoco.mj_id2name(self.m, mujoco.mjtObj.mjOBJ_JOINT, j) for j in range(self.m.njnt))
        self.joints = [self.robot.joint(name) if name else self.robot.joints[j] for j, name in enumerate(names)]
        assert len(set(self.joints)) == sum(c.mimic is None for c in self.robot.joints)

    def ask(self, question: str, *arguments: Array, **options: object) -> Array:
        return np.asarray(self.robot.kernel(question, way="interpreted", **options)(*arguments))

    def each(self) -> Iterator[tuple[int, int, int, on.Connection]]:
        """Type, place in qpos, place in qvel, and our joint."""
        yield from zip(self.m.jnt_type, self.m.jnt_qposadr, self.m.jnt_dofadr, self.joints, strict=True)

    def q(self, qpos: Array) -> Array:
        q = np.zeros(self.robot.nq)
        for kind, at, _, joint in self.each():
            x = qpos[at : at + joint.type.nq]
            q[joint.q] = [*x[3:], *x[:3]] if kind == FREE else x
        return q

    def rates(self, qpos: Array) -> Array:
        """The matrix that turns MuJoCo's velocities into ours."""
        B = np.zeros((self.robot.nv, self.m.nv))
        for kind, at, v, joint in self.each():
            if kind == FREE:
                B[joint.v, v : v + 6] = np.roll(np.eye(6), 3, axis=0)
                B[joint.v.start + 3 : joint.v.stop, v : v + 3] = rotation(qpos[at + 3 : at + 7]).T
            else:
                B[joint.v, v : v + joint.type.nv] = np.eye(joint.type.nv)
        return B

    def turning(self, v: Array) -> Array:
        """What our accelerations have besides MuJoCo's: those of axes that turn."""
        extra = np.zeros(self.robot.nv)
        for kind, _, _, joint in self.each():
            if kind == FREE:
                omega, u = v[joint.v][:3], v[joint.v][3:]
                extra[joint.v.start + 3 : joint.v.stop] = -np.cross(omega, u)
        return extra

    def state(self, rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
        qpos = rng.uniform(-2.0, 2.0, self.m.nq)
        mujoco.mj_normalizeQuat(self.m, qpos)
        return qpos, *rng.uniform(-2.0, 2.0, (3, self.m.nv))

    def check(self, states: int = 2, seed: int = 0, tolerance: float = PEER, frames: float = ROUNDING) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(states):
            qpos, qvel, qacc, force = self.state(rng)
            m, d = self.m, self.d
            d.qpos[:], d.qvel[:], d.qacc[:], d.qfrc_applied[:] = qpos, qvel, qacc, force
            mujoco.mj_inverse(m, d)
            M = np.zeros((m.nv, m.nv))
            mujoco.mj_fullM(m, d, M)
            q, B = self.q(qpos), self.rates(qpos)
            v = B @ qvel
            agree(B.T @ self.ask("mass_matrix", q) @ B, M, tolerance)
            tau = self.ask("inverse_dynamics", q, v, B @ qacc + self.turning(v))
            agree(B.T @ tau, d.qfrc_inverse, tolerance)
            mujoco.mj_forward(m, d)
            a = self.ask("forward_dynamics", q, v, np.linalg.solve(B.T, force))
            agree(np.linalg.solve(B, a - self.turning(v)), d.qacc, tolerance)
            self.check_frames(q, frames)

    def check_frames(self, q: Array, tolerance: float) -> None:
        m, d, objects = self.m, self.d, mujoco.mjtObj
        for kind, n, xpos, xmat in (
            (objects.mjOBJ_BODY, m.nbody, d.xpos, d.xmat),
            (objects.mjOBJ_SITE, m.nsite, d.site_xpos, d.site_xmat),
        ):
            for k in range(n):
                name = mujoco.mj_id2name(m, kind, k)
                if name is None and kind == objects.mjOBJ_SITE:
                    continue
                if kind == objects.mjOBJ_SITE and mujoco.mj_name2id(m, objects.mjOBJ_BODY, name) >= 0:
                    name += "_site"
                X = self.ask("pose", q, frame=name or f"body{k}")
                assert_close(X[:3, 3], xpos[k], tolerance)
                assert_close(X[:3, :3].ravel(), xmat[k], tolerance)


def rotation(q: Array) -> Array:
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, q)
    return R.reshape(3, 3)


def agree(mine: Array, theirs: Array, tolerance: float = PEER) -> None:
    """Relative to the largest number."""
    error = np.abs(mine - theirs).max(initial=0.0) / max(np.abs(theirs).max(initial=0.0), 1e-12)
    assert error <= tolerance, f"differ by {error:.1e}:\n{mine}\n{theirs}"


SPHERE = '<geom size=".1" pos=".1 .2 .3"/>'
TUBE = '<geom type="capsule" size=".05" fromto="0 0 0 .1 .2 .3"/>'
TETRA = '<mesh name="m" vertex="0 0 0 1 0 0 0 .7 0 .2 .1 .4 -.1 .1 .2"/>'
INERTIAL = '<inertial pos=".1 .2 .3" mass="2" diaginertia=".3 .2 .25" quat="1 .1 .2 .3"/>'


def arm(joints: str, first: str = "", before: str = "", after: str = "") -> str:
    """A body with these joints on another that turns about y, with things before and after the world."""
    return f"""<mujoco>{before}<worldbody>
    <body name="upper" pos=".1 .2 .3" euler="10 20 30"><joint name="shoulder" axis="0 1 0"/>{SPHERE}{first}
      <body name="lower" pos=".3 0 .1" quat=".5 .1 .2 -.3">{joints}{INERTIAL}</body></body>
    </worldbody>{after}</mujoco>"""


JOINTS = {
    "hinge": '<joint axis="1 2 3"/>',
    "hinge-off-centre": '<joint axis="1 2 3" pos=".1 -.2 .05"/>',
    "hinge-along-its-axis": '<joint axis="0 0 2" pos="0 0 .7"/>',
    "slide": '<joint type="slide" axis="1 -1 .5" pos="5 6 7"/>',
    "ball": '<joint type="ball"/>',
    "ball-off-centre": '<joint type="ball" pos=".1 .2 .3"/>',
    "hinge-ref": '<joint axis="1 2 3" pos=".1 -.2 .05" ref="50"/>',
    "slide-ref": '<joint type="slide" axis="1 -1 .5" ref=".3"/>',
    "no-joint": "",
    "two-hinges": '<joint axis="1 2 3" pos=".1 -.2 .05" ref="50"/><joint name="b" axis="0 1 0" ref="-20"/>',
    "gimbal": '<joint axis="1 0 0"/><joint axis="0 1 0"/><joint axis="0 0 1"/>',
    "slides-then-hinges": '<joint type="slide" axis="1 0 0" ref=".2"/><joint type="slide" axis="0 .7 1"/>'
    '<joint axis="1 2 0" pos="0 .1 0"/><joint axis="0 2 1" pos="0 .1 .2"/>',
    "hinge-then-slide": '<joint axis="1 2 3" pos=".1 -.2 .05"/><joint type="slide" axis="0 1 1"/>',
    "hinge-then-ball": '<joint axis="1 2 3" pos=".1 -.2 .05"/><joint type="ball" pos="0 0 .3"/>',
    "ball-then-slide": '<joint type="ball" pos="0 0 .3"/><joint type="slide" axis="1 1 0"/>',
    "armature": '<joint type="ball" armature=".5"/><joint type="slide" axis="1 1 0" armature="1.5"/>',
    "passive": '<joint axis="1 2 3" damping="2 1 1" stiffness="3 2" springref="20" frictionloss="1" range="-30 40"/>',
}


@pytest.mark.slow
@pytest.mark.parametrize("joints", JOINTS.values(), ids=JOINTS.keys())
def test_joints(joints: str) -> None:
    Pair(arm(joints)).check()


GEOMS = {
    "sphere": '<geom size=".2" pos=".1 .2 .3"/>',
    "box": '<geom type="box" size=".1 .2 .3" pos=".1 .2 .3" euler="10 20 30" density="500"/>',
    "capsule": '<geom type="capsule" size=".1 .2" zaxis="1 2 3"/>',
    "cylinder": '<geom type="cylinder" size=".1 .2" axisangle="1 2 3 40" mass="3"/>',
    "ellipsoid": '<geom type="ellipsoid" size=".1 .2 .3" xyaxes="1 2 3 -1 0 1"/>',
    "fromto-capsule": '<geom type="capsule" size=".1" fromto="0 .1 0 .2 .3 .4"/>',
    "fromto-cylinder": '<geom type="cylinder" size=".1" fromto="0 .1 0 .2 .3 .4"/>',
    "fromto-box": '<geom type="box" size=".1" fromto="0 .1 0 .2 .3 .4"/>',
    "fromto-ellipsoid": '<geom type="ellipsoid" size=".1" fromto="0 .1 .4 0 .1 0"/>',
    "several": '<geom size=".2"/><geom type="box" size=".1 .2 .3" pos="1 0 0" zaxis="0 0 -1"/>',
    "massless": '<geom size=".2" pos="1 0 0"/><geom size=".1" mass="0"/><geom size=".1" density="0"/>',
    "groups": '<geom size=".2" group="1"/><geom size=".3" pos="1 0 0" group="4"/><geom size=".1" group="6"/>',
    **{
        f"shell-{kind}": f'<geom type="{kind}" size="{size}" pos="0 .1 0" shellinertia="true"/>'
        for kind, size in {
            "sphere": ".2",
            "box": ".1 .2 .3",
            "capsule": ".1 .2",
            "cylinder": ".1 .2",
            "ellipsoid": ".1 .2 .3",
        }.items()
    },
}


@pytest.mark.parametrize("geoms", GEOMS.values(), ids=GEOMS.keys())
def test_masses_of_geoms(geoms: str) -> None:
    pair = Pair(
        f'<mujoco><worldbody><body name="b"><joint type="ball" pos=".1 0 0"/>{geoms}</body></worldbody></mujoco>'
    )
    pair.check(1)
    agree(np.array([pair.robot.mass]), pair.m.body_mass[1:])


WHOLE = {
    "degrees": '<compiler angle="degree"/>',
    "radians": '<compiler angle="radian"/>',
    **{f"euler-{seq}": f'<compiler eulerseq="{seq}"/>' for seq in ("zyx", "XYZ", "xYz", "ZXZ", "zXy")},
    "from-geoms": '<compiler inertiafromgeom="true"/>',
    "bounds": '<compiler boundmass="5" boundinertia=".28"/>',
    "balance": '<compiler balanceinertia="true" boundinertia=".1"/>',
    "group-range": '<compiler inertiagrouprange="1 2"/><default><geom group="2"/></default>',
    "gravity": '<option gravity="1 2 -3"/>',
    "no-gravity": '<option><flag gravity="disable"/></option>',
    "two-compilers": '<compiler angle="radian" eulerseq="zyx"/><compiler angle="degree"/>',
}


@pytest.mark.parametrize("before", WHOLE.values(), ids=WHOLE.keys())
def test_settings(before: str) -> None:
    Pair(arm('<joint axis="1 2 3" ref=".5"/>' + TUBE, before=before)).check()


@pytest.mark.filterwarnings("ignore:.*settotalmass")
def test_total_mass() -> None:
    pair = Pair(arm("<joint/>", before='<compiler settotalmass="7"/>'))
    pair.check()
    assert pair.robot.mass == pytest.approx(7.0)


def test_unbalanced_inertia() -> None:
    inertial = '<inertial pos=".1 0 0" mass="1" diaginertia="1 1 4"/>'
    text = arm("<joint/>", before='<compiler balanceinertia="true"/>').replace(INERTIAL, inertial)
    Pair(text).check()


def test_full_inertia() -> None:
    inertial = '<inertial pos=".1 0 0" mass="1" fullinertia="1 1.5 2 .1 .2 .3"/>'
    Pair(arm('<joint type="ball"/>').replace(INERTIAL, inertial)).check()


def test_defaults() -> None:
    Pair("""<mujoco><default><joint axis="1 0 0" armature=".1"/><geom type="box" size=".1 .2 .3" euler="10 20 30"/>
      <default class="soft"><joint armature=".2" pos=".1 0 0"/><geom size=".3" density="200"/>
        <default class="softer"><geom quat="1 2 3 4" mass="2"/><joint type="slide"/></default></default></default>
      <worldbody><body><joint/><geom/>
        <body childclass="soft" pos="0 0 1"><joint/><geom zaxis="1 1 1"/>
          <body pos="0 0 1"><joint class="softer"/><geom class="main"/>
            <frame childclass="softer" pos="1 0 0"><geom/><body><joint type="hinge"/><geom size=".1 .1"/></body></frame>
          </body></body></body></worldbody></mujoco>""").check()


def test_defaults_in_several_sections() -> None:
    Pair("""<mujoco><default class="main"><geom size=".3"/></default><default><geom density="500"/></default>
      <worldbody><body><joint axis="1 1 0"/><geom class="main" pos="0 .1 0"/></body></worldbody></mujoco>""").check()


def test_frames() -> None:
    Pair(
        f"""<mujoco><worldbody><frame pos="1 2 3" euler="10 20 30"><frame quat="1 2 3 4">
      <body name="a" pos="1 0 0" euler="0 40 0"><freejoint name="root"/>{SPHERE}
        <frame axisangle="1 1 0 50" pos="0 .1 0">
          <body name="b"><frame pos=".1 .2 .3" xyaxes="0 1 0 -1 0 1"><joint pos="0 .1 0" axis="1 2 0"/>{INERTIAL}
          <site name="tip" pos="0 0 1"/></frame></body></frame></body></frame></frame></worldbody></mujoco>""".replace(
            "<joint_/>", ""
        )
    ).check()


TERMS = (
    'damping="1" stiffness="2" armature="3" frictionloss="4" springref=".5" ref=".25" range="-1 2" limited="true" '
    'actuatorfrcrange="-3 3" actuatorfrclimited="true"'
)


@pytest.mark.parametrize("scale", ['scale="2"', 'scale=".5 .5 .5" massscale="3" scaling="geometry"', 'massscale="3"'])
def test_scaled_frames(scale: str) -> None:
    bodies = f"""<frame pos=".1 .2 0" euler="0 0 30" {scale}><frame pos="1 0 0" scale="1.5">
      <body name="a" pos="1 0 0"><joint name="h" {TERMS} pos=".1 0 0"/><joint name="s" type="slide" {TERMS}/>
        {SPHERE}<geom type="box" size=".1 .2 .3" mass="2"/><site name="x" pos="1 1 1" euler="0 10 0"/>
        <frame scale="1.2"><geom type="mesh" mesh="m" pos=".1 0 0"/></frame>
        <body name="b" pos="1 0 0"><joint name="ball" type="ball" damping="1" armature="1"/>{INERTIAL}</body></body>
      <replicate count="2" offset="0 1 0"><body name="c"><joint type="free" armature="1"/>{TUBE}</body></replicate>
    </frame></frame>"""
    after = """<equality><connect body1="b" body2="c0" anchor=".1 0 0"/>
      <weld body1="b" body2="c0" relpose="1 2 3 1 .2 0 0"/><joint joint1="h" joint2="s" polycoef="1 2 3 4 5"/>
      </equality><actuator><motor joint="h" gear="3" armature=".1"
      forcerange="-1 1"/><position name="p" joint="s" armature=".1" ctrlrange="-1 1" forcerange="-1 1"/></actuator>"""
    asset = f'<compiler angle="radian"/><asset>{TETRA}</asset>'
    pair = Pair(f"<mujoco>{asset}<worldbody>{bodies}</worldbody>{after}</mujoco>")
    pair.check(tolerance=MESH_AXES)
    robot, m = pair.robot, pair.m
    for k, name in enumerate("hs"):
        joint = robot.joint(name)
        terms = (joint.damping, joint.friction, joint.armature, joint.stiffness, joint.rest, joint.lower, joint.upper)
        moved = m.dof_armature[k] + m.actuator_armature[k] * m.actuator_gear[k, 0] ** 2
        theirs = (m.dof_damping[k], m.dof_frictionloss[k], moved, m.jnt_stiffness[k], m.qpos_spring[k])
        assert_close(np.array(terms).ravel(), np.array([*theirs, *m.jnt_range[k]]), ROUNDING)
        assert_close(robot.actuators[k].force_limits, m.actuator_forcerange[k], ROUNDING)
    assert_close(robot.actuators[1].control_limits, m.actuator_ctrlrange[1], ROUNDING)
    pair.m.opt.disableflags = 0
    qpos, *_ = pair.state(np.random.default_rng(0))
    pair.d.qpos[:] = qpos
    mujoco.mj_forward(pair.m, pair.d)
    ours, theirs = robot.loop_residual(pair.q(qpos)), pair.d.efc_pos[: robot.nc]
    assert_close(np.linalg.norm(ours[:3]), np.linalg.norm(theirs[:3]), ROUNDING)
    assert_close(abs(ours[-1]), abs(theirs[-1]), ROUNDING)
    apart = [np.linalg.norm(ours[3:6]), np.linalg.norm(ours[6:9])]
    assert min(abs(x - np.linalg.norm(theirs[3:6])) for x in apart) <= ROUNDING


def test_replicas() -> None:
    pair = Pair(f"""<mujoco><worldbody>
      <replicate count="3" offset="1 0 0" euler="0 0 40" sep="-"><body name="a" pos="0 1 0"><joint name="j"/>{SPHERE}
        <site name="s" pos="0 0 1"/>
        <replicate count="2" offset="0 0 .5"><body name="c"><joint name="k" axis="1 0 0"/>{TUBE}</body>
        <geom size=".1"/></replicate></body></replicate>
      <body name="b" pos="0 0 3"><joint axis="1 0 0"/>{SPHERE}</body></worldbody>
      <equality><joint name="e" joint1="j" polycoef="1"/><weld body1="c"/></equality></mujoco>""")
    pair.check()
    assert pair.robot.body("c1-2").mass > 0.0
    assert [c.name for c in pair.robot.couplings] == ["e-0", "e-1", "e-2"]
    assert len(pair.robot.loops) == 6


def test_names_of_ten_replicas() -> None:
    text = f'<replicate count="10" offset="1 0 0" sep="-"><body name="a"><joint name="j"/>{SPHERE}</body></replicate>'
    pair = Pair(f"<mujoco><worldbody>{text}</worldbody></mujoco>")  # which finds all joints by their names
    assert [c.name for c in pair.robot.joints] == [f"j-0{k}" for k in range(10)]


def test_floating_bodies() -> None:
    Pair(f"""<mujoco><worldbody><body name="a" pos="1 2 3" euler="10 20 30"><freejoint name="root"/>{SPHERE}{TUBE}
      <body pos=".1 .2 .3"><joint axis="1 1 1" pos="0 0 .1"/><joint axis="1 0 1" pos=".1 0 .1"/>{SPHERE}</body></body>
      <body><joint name="other" type="free" damping="1"/><geom type="box" size=".1 .2 .3" pos="1 0 0"/></body>
      <body><geom size="1"/><body pos="1 0 0"><joint/>{SPHERE}</body></body></worldbody></mujoco>""").check()


ALIGNED = {
    "inertial": INERTIAL,
    "full-inertia": '<inertial pos=".1 .2 .3" mass="2" fullinertia=".3 .2 .25 .03 -.02 .01"/>',
    "one-geom": '<geom type="box" size=".1 .2 .3" pos=".1 .2 .3" euler="10 20 30"/>',
    "geoms": '<geom type="box" size=".1 .2 .3" pos=".1 .2 .3" euler="10 20 30"/><geom size=".1" pos="-.2 0 .1"/>',
    "symmetric": '<geom type="cylinder" size=".1 .4" pos="-.1 0 0"/>'
    '<geom type="cylinder" size=".04 .15" zaxis="1 0 0" pos=".14 0 0"/>',
    "mesh": '<frame pos=".1 0 0" euler="0 20 40"><geom type="mesh" mesh="m" pos="0 .1 .2" euler="10 20 30"/></frame>',
}


@pytest.mark.parametrize("inside", ALIGNED.values(), ids=ALIGNED.keys())
def test_aligned_bodies(inside: str) -> None:
    """The frames of the first two are moved; the third carries another body, and the fourth says that it is not."""
    body = f'<body name="{{}}" pos="1 2 3" euler="40 50 60">{{}}{inside}<site name="{{}}" pos=".5 0 0"/>{{}}</body>'
    bodies = (
        body.format("a", "<freejoint/>", "of a", ""),
        body.format("b", '<joint type="free"/>', "of b", ""),
        body.format("c", "<freejoint/>", "of c", f'<body name="child"><joint/>{SPHERE}</body>'),
        body.format("d", '<freejoint align="false"/>', "of d", ""),
    )
    weld = '<equality><weld body1="a" body2="b"/></equality>'
    asset = f'<compiler alignfree="true"/><asset>{TETRA}</asset>'
    pair = Pair(f"<mujoco>{asset}<worldbody>{''.join(bodies)}</worldbody>{weld}</mujoco>")
    rounded = "mesh" in inside or "full" in inside or inside.count("<geom") > 1  # by the axes that MuJoCo finds
    pair.check(tolerance=MESH_AXES if rounded else PEER, frames=MESH_AXES if rounded else ROUNDING)
    assert not pair.robot.notes
    rest = pair.robot.neutral()
    for joint in pair.robot.joints:
        rest[joint.q] = joint.rest
    mujoco.mj_resetData(pair.m, pair.d)
    mujoco.mj_kinematics(pair.m, pair.d)
    pair.check_frames(rest, MESH_AXES if rounded else ROUNDING)
    assert_close(pair.robot.body("a").com, np.zeros(3), ROUNDING)
    assert_close(pair.robot.loop_residual(rest), np.zeros(6), MESH_AXES)


def test_armature_of_a_free_joint() -> None:
    """There the linear momentum of the armature is along the world's axes; here it turns with the body's."""
    pair = Pair(f"""<mujoco><worldbody><body><joint name="j" type="free" armature="2"/>{SPHERE}
      <body pos=".1 .2 .3"><joint type="ball" armature=".3"/>{TUBE}</body></body></worldbody></mujoco>""")
    pair.check()
    assert not pair.robot.notes


@pytest.mark.parametrize(
    ("default", "actuators"),
    [
        ("", '<motor joint="shoulder" gear="3" armature=".2" damping=".5"/><motor joint="shoulder" armature=".1"/>'),
        ('<position armature=".2" gear="3"/>', '<motor joint="shoulder"/><general joint="wrist" gear="2"/>'),
    ],
)
def test_armature_of_actuators(default: str, actuators: str) -> None:
    text = arm('<joint name="wrist" armature="1"/>', before=f"<default>{default}</default>")
    Pair(text.replace("</worldbody>", f"</worldbody><actuator>{actuators}</actuator>")).check()


CABLE = '<joint joint="shoulder" coef="1.5"/><joint joint="wrist" coef="-.5"/><joint joint="reach" coef="3"/>'


@pytest.mark.parametrize(
    ("tendon", "actuator"),
    [
        (f'<fixed armature=".4">{CABLE}</fixed><fixed armature="2"><joint joint="wrist" coef=".3"/></fixed>', ""),
        (f'<fixed name="t">{CABLE}</fixed>', '<motor tendon="t" gear="3" armature=".2"/>'),
        ('<spatial armature="2"><site site="one"/><site site="two"/></spatial>', ""),
    ],
    ids=["tendon", "actuator", "constant-length"],
)
def test_armature_of_tendons(tendon: str, actuator: str) -> None:
    joints = '<joint name="wrist" armature="1" springdamper="1 2"/><joint name="reach" type="slide" axis="1 1 0"/>'
    after = f"<tendon>{tendon}</tendon><actuator>{actuator}</actuator>"
    text = arm(joints, first='<site name="one"/><site name="two" pos="1 2 3"/>', after=after)
    pair = Pair(text)
    pair.check()
    assert all(note.quiet or "not acted on" in note.message for note in pair.robot.notes)
    wrist = pair.m.joint("wrist")
    assert_close(pair.robot.joint("wrist").stiffness, wrist.stiffness[:1], PEER)
    back = on.load(pair.robot.to_mjcf())
    q = pair.q(pair.state(np.random.default_rng(0))[0])
    assert_close(back.mass_matrix(q), pair.robot.mass_matrix(q), ROUNDING)
    assert [c.name for c in back.joints] == [c.name for c in pair.robot.joints]


def test_springs_and_dampers() -> None:
    """Dry friction is a constraint in MuJoCo, and not among its passive forces."""
    joints = """<joint name="h" axis="1 2 3" damping="2" stiffness="3" springref="20" ref="10"/>
      <joint type="slide" damping="1" stiffness="5" springref=".2"/><joint type="ball" stiffness="7" damping=".3"/>"""
    pair = Pair(arm(joints))
    pair.m.opt.disableflags = 0
    qpos, qvel, _, _ = pair.state(np.random.default_rng(0))
    pair.d.qpos[:], pair.d.qvel[:] = qpos, qvel
    mujoco.mj_forward(pair.m, pair.d)
    agree(pair.ask("passive_force", qpos, qvel, np.array(0.01)), pair.d.qfrc_passive)


def numbers(x: Array) -> str:
    return " ".join(repr(float(v)) for v in np.ravel(x))


def dented() -> tuple[Array, Array]:
    """A star with dents, in which the kinds of inertia differ."""
    k = np.arange(10)
    radius = np.where(k % 2, 0.15, 1.0)
    rim = np.column_stack([radius * np.cos(0.2 * np.pi * k), radius * np.sin(0.2 * np.pi * k), 0.0 * k])
    vertices = np.vstack([rim + np.array([0.3, 0.2, 0.0]), [[0.3, 0.2, 0.4], [0.2, 0.1, -0.1]]])
    faces = [f for i in k for f in ((i, (i + 1) % 10, 10), ((i + 1) % 10, i, 11))]
    return vertices, np.array(faces)


MESH_AXES = 1e-6
"""MuJoCo's principal axes of a mesh: the iteration that finds them ends at 1e-12, where nearly equal moments leave the
axes open to 1e-7 and more. Its moments are as exact as ours."""


def check_mesh(pair: Pair) -> None:
    pair.check(1, tolerance=MESH_AXES)
    (body,) = pair.robot.bodies
    com = pair.robot.frame("b").placement.inverse.p + np.array(body.com)
    agree(np.array([body.mass]), pair.m.body_mass[1:], ROUNDING)
    agree(com, pair.m.body_ipos[1], ROUNDING)
    agree(np.linalg.eigvalsh(body.inertia_matrix), np.sort(pair.m.body_inertia[1]), ROUNDING)


MESH = """<mujoco><asset><mesh name="m" {attributes}/></asset><worldbody><body name="b"><joint type="ball" pos="1 0 0"/>
  <geom type="{kind}" mesh="m" pos="1 2 3" euler="10 20 30" {more}/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("inertia", ["legacy", "exact", "convex", "shell"])
@pytest.mark.parametrize("more", ["", 'scale=".1 .2 -.3"', 'refpos=".1 .2 .3" refquat="1 .2 .3 .4"'])
def test_masses_of_meshes(inertia: str, more: str) -> None:
    vertices, faces = dented()
    given = f'vertex="{numbers(vertices)}" face="{" ".join(map(str, faces.ravel()))}" inertia="{inertia}" {more}'
    check_mesh(Pair(MESH.format(attributes=given, kind="mesh", more="")))


@pytest.mark.parametrize("more", ["", 'mass="3"', 'density="20"'])
def test_meshes_of_vertices_alone_are_their_hulls(more: str) -> None:
    vertices = np.random.default_rng(3).normal(size=(60, 3))
    check_mesh(Pair(MESH.format(attributes=f'vertex="{numbers(vertices)}"', kind="mesh", more=more)))


def test_hull_of_points_on_planes_and_lines() -> None:
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 4)] * 3), -1).reshape(-1, 3)
    check_mesh(Pair(MESH.format(attributes=f'vertex="{numbers(grid)}"', kind="mesh", more="")))


@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "ellipsoid", "box"])
def test_shapes_fitted_to_a_mesh(kind: str) -> None:
    vertices = np.random.default_rng(3).normal(size=(20, 3)) * [1.0, 2.0, 3.0]
    check_mesh(Pair(MESH.format(attributes=f'vertex="{numbers(vertices)}"', kind=kind, more='fitscale="1.5"')))


def stl(vertices: Array, faces: Array) -> bytes:
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *vertices[f].ravel(), 0) for f in faces)
    return b"\0" * 80 + struct.pack("<I", len(faces)) + rows


def obj(vertices: Array, faces: Array) -> bytes:
    lines = ["# a star", *(f"v {numbers(v)}" for v in vertices), "vn 0 0 1"]
    return "\n".join([*lines, *(f"f {a + 1}//1 {b + 1}//1 {c - len(vertices)}//1" for a, b, c in faces)]).encode()


def msh(vertices: Array, faces: Array) -> bytes:
    head = struct.pack("<4i", len(vertices), 0, 0, len(faces))
    return head + vertices.astype("<f4").tobytes() + faces.astype("<i4").tobytes()


@pytest.mark.parametrize("write", [stl, obj, msh])
@pytest.mark.parametrize("place", ['meshdir="parts"', 'assetdir="parts"', 'meshdir="parts" assetdir="no"', ""])
def test_mesh_files(write: object, place: str, tmp_path: Path) -> None:
    suffix = write.__name__  # type: ignore[attr-defined]
    folder = tmp_path / "parts" if place else tmp_path
    folder.mkdir(exist_ok=True)
    (folder / f"star.{suffix}").write_bytes(write(*dented()))  # type: ignore[operator]
    path = tmp_path / "model.xml"
    text = MESH.format(attributes="", kind="mesh", more="")
    text = text.replace('name="m"', f'file="star.{suffix}"').replace('mesh="m"', 'mesh="star"')
    path.write_text(text.replace("<mujoco>", f"<mujoco><compiler {place}/>"))
    check_mesh(Pair(path))


def test_a_mesh_of_mujoco(tmp_path: Path) -> None:
    (tmp_path / "abdomen_1_body.msh").write_bytes((TESTDATA / "abdomen_1_body.msh").read_bytes())
    path = tmp_path / "model.xml"
    path.write_text(MESH.format(attributes='file="abdomen_1_body.msh"', kind="mesh", more=""))
    check_mesh(Pair(path))


def test_includes(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "defaults.xml").write_text(
        '<mujoco><compiler angle="radian"/><default><geom size=".2"/></default></mujoco>'
    )
    (tmp_path / "parts/hand.xml").write_text('<x><body name="hand"><include file="parts/finger.xml"/></body></x>')
    (tmp_path / "parts/finger.xml").write_text('<x><joint axis="1 0 0" ref=".5"/><geom pos="0 0 .3"/></x>')
    path = tmp_path / "model.xml"
    path.write_text(
        '<mujoco><include file="defaults.xml"/><worldbody><body><joint axis="0 1 0"/><geom pos="1 0 0"/>'
        '<include file="./parts/hand.xml"/></body></worldbody></mujoco>'
    )
    Pair(path).check()


EQUALITIES = """
  <connect name="connect" body1="upper" body2="lower" anchor=".1 .2 .3"/>
  <connect name="world" body1="lower" anchor=".1 .2 .3"/>
  <connect name="sites" site1="s1" site2="s2"/>
  <weld name="weld" body1="upper" body2="lower"/>
  <weld name="anchored" body1="lower" body2="upper" anchor=".1 .2 .3"/>
  <weld name="posed" body1="lower" body2="upper" anchor=".1 .2 .3" relpose=".3 .2 .1 1 2 3 4"/>
  <weld name="welded-sites" site1="s1" site2="s2"/>
  <weld name="ball" body1="upper" body2="lower" torquescale="0"/>
  <joint name="gear" joint1="wrist" joint2="shoulder" polycoef=".1 -2 .3 .4 .5"/>
  <joint name="short" joint1="shoulder" joint2="slider" polycoef=".1 3"/>
  <joint name="fixed" joint1="wrist" polycoef=".25"/>
  <connect name="off" body1="upper" body2="lower" anchor=".1 .2 .3" active="false"/>"""


def equalities() -> Pair:
    joints = '<joint name="wrist" axis="1 2 3" pos=".1 0 0" ref="40"/><joint name="slider" type="slide" ref=".3"/>'
    sites = '<site name="s1" pos=".1 .2 0" euler="10 0 20"/>'
    text = arm(joints + '<site name="s2" pos="0 .1 .1" euler="0 40 0"/>', first=sites)
    return Pair(text.replace("</worldbody>", f"</worldbody><equality>{EQUALITIES}</equality>"))


CHILD = f"""<mujoco model="leg"><compiler angle="radian" eulerseq="zyx" boundmass=".5"/>
<default><geom density="500"/><default class="knee"><joint axis="1 0 0" armature=".2"/></default></default>
<asset><mesh name="m" file="parts/m.obj"/></asset>
<worldbody><geom size=".1" mass="3"/><body name="hip" pos="0 0 .2" euler=".1 .2 .3" childclass="knee">
  <joint name="hip" ref=".3"/>{SPHERE}<geom type="mesh" mesh="m"/>
  <frame name="shin_frame" pos="0 .1 0" euler=".3 0 0"><body name="shin" pos=".1 0 0"><joint name="shin"/>{TUBE}
    <site name="toe" pos="0 0 .1"/></body></frame>
</body></worldbody>
<equality><joint joint1="hip" joint2="shin" polycoef="0 2"/><weld name="w" body1="shin"/></equality>
<actuator><motor name="drive" joint="hip" gear="3" armature=".1"/><motor joint="shin"/></actuator></mujoco>"""


@pytest.mark.filterwarnings("ignore::ordern.ModelWarning")
def test_attachments(tmp_path: Path) -> None:
    (tmp_path / "legs/parts").mkdir(parents=True)
    (tmp_path / "legs/child.xml").write_text(CHILD)
    (tmp_path / "legs/parts/m.obj").write_text("v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .2\n")
    trunk = '<body name="trunk"><freejoint/>{}</body>'.format(SPHERE + "{}")
    inside = '<frame pos=".1 .2 .3" euler="10 0 0"><attach model="{0}" {1} prefix="{2}"/></frame>'
    both = inside.format("leg", 'body="hip"', "left_") + inside.format("named", 'frame="shin_frame"', "right_")
    turned = f'<replicate count="2" euler="0 0 90">{inside.format("leg", "", "whole_")}</replicate>'
    own = f'<body name="tail" pos="1 0 0"><joint axis="0 1 0"/>{TUBE}</body><attach body="tail" prefix="second_"/>'
    path = tmp_path / "main.xml"
    assets = '<asset><model file="legs/child.xml"/><model name="named" file="legs/child.xml"/></asset>'
    path.write_text(f"<mujoco>{assets}<worldbody>{trunk.format(both + turned)}{own}</worldbody></mujoco>")
    pair = Pair(path)
    pair.check()
    robot = pair.robot
    ids = [mujoco.mj_id2name(pair.m, mujoco.mjtObj.mjOBJ_ACTUATOR, k) for k in range(pair.m.nu)]
    assert sorted(filter(None, ids)) == sorted(x.name for x in robot.actuators if "drive" in x.name)
    assert len(robot.actuators) == pair.m.nu and len(robot.loops) + len(robot.couplings) == pair.m.neq
    assert {shape.file for shape in robot.shapes} == {"", "legs/parts/m.obj"}


@pytest.mark.filterwarnings("ignore::ordern.ModelWarning")
def test_springdampers() -> None:
    joints = '<joint name="a" axis="1 0 0" springdamper=".1 .7" ref="20"/><joint name="b" type="slide"/>'
    ball = f'<body pos=".1 0 0"><joint name="c" type="ball" springdamper=".5 2"/>{INERTIAL}</body>'
    loose = f'<body pos="1 2 3"><joint name="d" type="free" springdamper=".2 1"/>{INERTIAL}</body>'
    motor = '<actuator><motor joint="a" gear="2" damping="3"/></actuator>'
    default = '<default><joint armature=".1"/></default>'
    pair = Pair(arm(joints + ball, before=default, after=f"<worldbody>{loose}</worldbody>{motor}"))
    stiffness, damping = (x.reshape(len(x), -1)[:, 0] for x in (pair.m.jnt_stiffness, pair.m.dof_damping))
    for k, (_, _, v, joint) in enumerate(pair.each()):
        agree(np.array(joint.stiffness), np.full(joint.nv, stiffness[k]))
        agree(np.array(joint.damping), damping[v : v + joint.nv] + 12.0 * (joint.name == "a"))


def test_loops_have_the_errors_of_mujoco() -> None:
    """The distance of the two anchors and the rotation between them, as MuJoCo's constraints measure them."""
    pair = equalities()
    m, d, robot = pair.m, pair.d, pair.robot
    m.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_EQUALITY)
    qpos = np.random.default_rng(5).uniform(-1.0, 1.0, m.nq)
    d.qpos[:] = qpos
    mujoco.mj_forward(m, d)
    q = pair.q(qpos)
    names = [mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_EQUALITY, k) for k in range(m.neq)]
    active = [loop for loop in robot.loops if loop.active]
    assert [loop.name for loop in active] == names[:8]
    for loop in active:
        rows = d.efc_pos[: d.nefc][d.efc_id[: d.nefc] == names.index(loop.name)]
        one = pair.ask("pose", q, frame=Frame("one", loop.parent, loop.parent_placement))
        two = pair.ask("pose", q, frame=Frame("two", loop.child, loop.child_placement))
        assert_close(one[:3, 3] - two[:3, 3], rows[:3], ROUNDING)
        if isinstance(loop.type, on.Fixed):
            E = two[:3, :3].T @ one[:3, :3]
            half = np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]]) / (2 * np.sqrt(1 + np.trace(E)))
            assert_close(np.abs(half), np.abs(rows[3:]), ROUNDING)
        else:
            assert isinstance(loop.type, on.Spherical)
    reference = pair.q(m.qpos0)
    for loop in active[:2]:
        one = pair.ask("pose", reference, frame=Frame("one", loop.parent, loop.parent_placement))
        two = pair.ask("pose", reference, frame=Frame("two", loop.child, loop.child_placement))
        assert_close(one, two, ROUNDING)


def test_couplings_have_the_errors_of_mujoco() -> None:
    pair = equalities()
    m, d, robot = pair.m, pair.d, pair.robot
    m.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_EQUALITY)
    qpos = np.random.default_rng(6).uniform(-1.0, 1.0, m.nq)
    d.qpos[:] = qpos
    mujoco.mj_forward(m, d)
    q = pair.q(qpos)
    names = [mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_EQUALITY, k) for k in range(m.neq)]
    assert [c.name for c in robot.couplings] == ["gear", "short", "fixed"]
    for c in robot.couplings:
        x = q[robot.joints[c.other].q][0] if c.other >= 0 else 0.0
        wanted = sum(a * x**k for k, a in enumerate(c.coefficients))
        (error,) = d.efc_pos[: d.nefc][d.efc_id[: d.nefc] == names.index(c.name)]
        assert_close(q[robot.joints[c.joint].q][0] - wanted, error, ROUNDING)


def random_model(rng: np.random.Generator) -> str:
    """A tree with all joints, several in a body, odd orientations, frames, and masses of all kinds."""

    def three(scale: float = 0.3) -> str:
        return numbers(rng.uniform(-scale, scale, 3))

    def turn() -> str:
        kind = rng.choice(["quat", "axisangle", "euler", "xyaxes", "zaxis"])
        n = {"quat": 4, "axisangle": 4, "xyaxes": 6}.get(kind, 3)
        return f'{kind}="{numbers(rng.normal(size=n))}"'

    def joint(kind: str) -> str:
        pos = f'pos="{three()}"' if rng.random() < 0.5 else ""
        ref = f'ref="{rng.normal()}"' if rng.random() < 0.5 else ""
        return (
            f'<joint type="{kind}" axis="{numbers(rng.normal(size=3))}" {pos} {ref} armature="{rng.uniform(0, 0.1)}"/>'
        )

    def mass() -> str:
        if rng.random() < 0.4:
            moments = numbers(rng.uniform(1.0, 1.9, 3) * 0.1)
            return f'<inertial pos="{three()}" mass="{rng.uniform(0.5, 2)}" diaginertia="{moments}" {turn()}/>'
        kinds = rng.choice(["sphere", "capsule", "cylinder", "ellipsoid", "box"], size=rng.integers(1, 4))
        return "".join(
            f'<geom type="{kind}" size="{numbers(rng.uniform(0.05, 0.3, 3))}" pos="{three()}" {turn()}/>'
            for kind in kinds
        )

    def body(depth: int) -> str:
        sets = [
            "hinge",
            "hinge",
            "slide",
            "ball",
            "hinge hinge",
            "slide hinge",
            "slide slide ball",
            "hinge hinge hinge",
        ]
        joints = "".join(joint(kind) for kind in rng.choice([*sets, "", "hinge ball", "ball slide"]).split())
        if depth == 0 and rng.random() < 0.5:
            joints = "<freejoint/>"
        inside = "".join(body(depth + 1) for _ in range(rng.integers(0, 3))) if depth < 3 else ""
        text = f'<body pos="{three(1.0)}" {turn()}>{joints}{mass()}{inside}</body>'
        return f'<frame pos="{three()}" {turn()}>{text}</frame>' if rng.random() < 0.3 else text

    seq = "".join(rng.choice(list("xyzXYZ"), 3))
    unit = rng.choice(["degree", "radian"])
    bodies = "".join(body(0) for _ in range(rng.integers(1, 3)))
    return f'<mujoco><compiler angle="{unit}" eulerseq="{seq}"/><worldbody>{bodies}</worldbody></mujoco>'


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
def test_random_trees(seed: int) -> None:
    Pair(random_model(np.random.default_rng(seed))).check(1, seed)


def test_the_model_of_mujocos_own_tests() -> None:
    Pair(TESTDATA / "model.xml").check(1)


def test_compiled_functions_agree() -> None:
    pair = Pair(arm(JOINTS["slides-then-hinges"]))
    qpos, qvel, qacc, force = pair.state(np.random.default_rng(0))
    pair.d.qpos[:], pair.d.qvel[:], pair.d.qacc[:], pair.d.qfrc_applied[:] = qpos, qvel, qacc, force
    mujoco.mj_inverse(pair.m, pair.d)
    agree(pair.robot.inverse_dynamics(qpos, qvel, qacc), pair.d.qfrc_inverse)
    mujoco.mj_forward(pair.m, pair.d)
    agree(pair.robot.forward_dynamics(qpos, qvel, force), pair.d.qacc)


def test_shapes_are_where_the_geoms_are() -> None:
    text = "".join(GEOMS[k] for k in ("sphere", "box", "capsule", "cylinder", "ellipsoid", "fromto-capsule"))
    pair = Pair(f'<mujoco><worldbody><body name="b"><joint pos=".1 .2 0"/>{text}</body></worldbody></mujoco>')
    mujoco.mj_forward(pair.m, pair.d)
    shapes = [s for s in pair.robot.shapes if s.role == "collision"]
    assert len(shapes) == pair.m.ngeom == 6
    for k, shape in enumerate(shapes):
        X = pair.ask("pose", np.zeros(1), frame=Frame("shape", shape.body, shape.placement))
        assert_close(X[:3, 3], pair.d.geom_xpos[k], ROUNDING)
        assert_close(X[:3, :3].ravel(), pair.d.geom_xmat[k], ROUNDING)
        size = np.array(shape.size) * {"box": 0.5, "capsule": [1.0, 0.5], "cylinder": [1.0, 0.5]}.get(shape.kind, 1.0)
        assert_close(size, pair.m.geom_size[k][: len(size)], ROUNDING)


def test_a_frame_of_a_body_is_that_of_the_file() -> None:
    pair = Pair(arm(JOINTS["hinge-off-centre"]))
    assert pair.robot.frame("lower").placement != Placement()
    assert pair.robot.frame("lower_at_lower_joint").placement == Placement()
