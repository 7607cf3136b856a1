"""Every URDF file of example-robot-data, and the joints that none of them has: the dynamics agree with other libraries.

Pinocchio reads joints that follow others as independent ones; with velocities v_full = E v its answers become those of
the coupled robot: M = E^T M_full E, and so on. E also brings the coordinates from our order to Pinocchio's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import mpmath
import mujoco
import numpy as np
import pinocchio as pin
import pytest

import ordern as on
from tests.robots import BROKEN, ROBOTS, urdf_files
from tests.tolerances import PEER

Array = np.ndarray
STATES = 3

WITHIN = {
    on.Free: ([4, 5, 6, 1, 2, 3, 0], [3, 4, 5, 0, 1, 2]),
    on.Spherical: ([1, 2, 3, 0], [0, 1, 2]),
}
"""The order of the coordinates within a joint, of q and of v, where Pinocchio's is another."""

WITHOUT_INERTIA = {"bluevolta_bravo7_gripper", "bravo7_gripper", "falcon_bravo7_gripper", "romeo", "romeo_laas_small"}
"""Have fingers without mass: any force gives them any acceleration."""

ROUNDING = np.finfo(float).eps
"""Times the condition number of the mass matrix: what two libraries may differ by in an acceleration. It is 1e10 for
iCub, which has bodies without inertia on joints that they lie on; hence also the look at what is left of the
equations, which is small whatever the condition."""


class Both:
    """A robot as ordern has it and as Pinocchio has it."""

    def __init__(self, source: str | Path, *, floating: bool) -> None:
        self.robot = on.load(source, floating=floating, snap=0.0)
        text = source if isinstance(source, str) else source.read_text()
        self.model = pin.buildModelFromXML(text, *((pin.JointModelFreeFlyer(),) if floating else ()))
        self.data = self.model.createData()
        assert len(self.robot.joints) == self.model.njoints - 1
        self.E = np.zeros((self.model.nv, self.robot.nv))
        for ours, theirs in self.joints():
            order = WITHIN.get(type(ours.type), (None, range(ours.type.nv)))[1]
            if isinstance(ours.type, on.Planar):
                order = [2, 0, 1]
            for k, at in enumerate(order):
                self.E[theirs.idx_v + at, ours.v_start + k] = ours.mimic.ratio if ours.mimic else 1.0

    def joints(self) -> list[tuple[Any, Any]]:
        """Our joints, each with Pinocchio's of the same name."""
        return [(c, self.model.joints[self.model.getJointId(c.name)]) for c in self.robot.joints]

    def position(self, q: Array) -> Array:
        """Our position as Pinocchio's."""
        found = np.full(self.model.nq, np.nan)
        for ours, theirs in self.joints():
            x = q[ours.q]
            if ours.mimic:
                x = ours.mimic.ratio * x + ours.mimic.offset
            if isinstance(ours.type, on.Planar):
                x = np.array([x[1], x[2], np.cos(x[0]), np.sin(x[0])])
            elif isinstance(ours.type, on.Continuous):
                x = np.array([np.cos(x[0]), np.sin(x[0])])
            elif type(ours.type) in WITHIN:
                x = x[WITHIN[type(ours.type)][0]]
            found[theirs.idx_q : theirs.idx_q + theirs.nq] = x
        return found

    def mass_matrix(self, q: Array) -> Array:
        """Pinocchio's, of the coupled robot."""
        M = pin.crba(self.model, self.data, self.position(q))  # it promises the upper half only
        return self.E.T @ (np.triu(M) + np.triu(M, 1).T) @ self.E

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        """Pinocchio's, of the coupled robot."""
        return self.E.T @ pin.rnea(self.model, self.data, self.position(q), self.E @ v, self.E @ a)

    def ask(self, question: str, *arguments: Array) -> Array:
        """Our answer."""
        return self.robot.kernel(question, way="interpreted")(*arguments)

    def compare(self, *, accelerations: bool = True) -> None:
        """Inverse dynamics, mass matrix and, unless they are undefined, accelerations, at random states."""
        rng = np.random.default_rng(0)
        q = self.robot.random(rng, STATES)
        v, a, tau = rng.uniform(-2, 2, (3, STATES, self.robot.nv))
        M, forces = self.ask("mass_matrix", q), self.ask("inverse_dynamics", q, v, a)
        found = self.ask("forward_dynamics", q, v, tau) if accelerations else [None] * STATES
        for k in range(STATES):
            assert apart(M[k], self.mass_matrix(q[k])) <= PEER
            assert apart(forces[k], self.inverse_dynamics(q[k], v[k], a[k])) <= PEER
            if found[k] is not None:
                self.check(q[k], v[k], found[k], tau[k])

    def check(self, q: Array, v: Array, a: Array, tau: Array) -> None:
        """That the accelerations are Pinocchio's, and solve its equations however ill-conditioned these are."""
        M, bias = self.mass_matrix(q), self.inverse_dynamics(q, v, 0 * v)
        assert apart(a, np.linalg.solve(M, tau - bias)) <= max(PEER, ROUNDING * np.linalg.cond(M))
        size = np.abs(M) @ np.abs(a) + np.abs(bias) + np.abs(tau)
        assert np.abs(self.inverse_dynamics(q, v, a) - tau).max() <= PEER * size.max()


def apart(mine: Array, theirs: Array) -> float:
    """The largest difference, relative to the largest number."""
    return float(np.abs(mine - theirs).max() / np.abs(theirs).max())


def _name(path: Path) -> str:
    return path.relative_to(ROBOTS).with_suffix("").as_posix()


@pytest.mark.slow
@pytest.mark.parametrize("path", urdf_files(), ids=_name)
def test_a_robot_agrees(path: Path) -> None:
    both = Both(path, floating="floating" not in path.read_text())
    both.compare(accelerations=path.stem not in WITHOUT_INERTIA)


@pytest.mark.parametrize("path", [p for p in urdf_files() if p.stem in WITHOUT_INERTIA], ids=_name)
def test_accelerations_of_what_has_no_inertia_are_refused(path: Path) -> None:
    both = Both(path, floating=True)
    q = both.robot.neutral()
    assert np.linalg.matrix_rank(both.mass_matrix(q), hermitian=True) < both.robot.nv
    with pytest.raises(on.ModelError, match="moves nothing that has mass"):
        both.robot.forward_dynamics(q, np.zeros(both.robot.nv), np.zeros(both.robot.nv))


def test_where_the_two_differ_ours_is_nearer_to_the_truth() -> None:
    """iCub has bodies without inertia on joints that they lie on; at this state its condition number is 1e9.

    The truth are 50 digits, by the interpreter, of the same text and the same numbers of the robot.
    """
    both = Both(ROBOTS / "icub_description/robots/icub.urdf", floating=False)
    rng = np.random.default_rng(0)
    q = both.robot.random(rng, 12)[4]
    v, _, tau = rng.uniform(-2, 2, (3, 12, both.robot.nv))[:, 4]
    M, bias = both.mass_matrix(q), both.inverse_dynamics(q, v, 0 * v)
    assert np.linalg.cond(M) > 1e8
    with mpmath.workdps(50):
        exact = [np.array([mpmath.mpf(y) for y in x], object) for x in (q, v, tau)]
        truth = both.ask("forward_dynamics", *exact).astype(float)
    ours = apart(both.ask("forward_dynamics", q, v, tau), truth)
    theirs = [pin.aba(both.model, both.data, both.position(q), both.E @ v, both.E @ tau) @ both.E]
    theirs.append(np.linalg.solve(M, tau - bias))
    assert ours <= ROUNDING * np.linalg.cond(M)
    assert all(apart(x, truth) > 2.0 * ours for x in theirs)


FOLLOWERS = {
    "baxter": 2,
    "panda": 1,
    "panda_collision": 1,
    "pr2": 10,
    "romeo": 22,
    "talos_full_v2": 12,
    "talos_full_v2_box": 12,
    "tiago_pro": 10,
}
"""The robots with joints that follow others, and how many they have."""

UNREADABLE = {"romeo", "talos_full_v2", "talos_full_v2_box"}
"""Of them, those in which a joint comes before the one that it follows: Pinocchio cannot couple these."""


@pytest.mark.slow
def test_robots_with_joints_that_follow_others_are_among_them() -> None:
    found = {path.stem: sum(c.mimic is not None for c in on.load(path).joints) for path in urdf_files()}
    assert {name: count for name, count in found.items() if count} == FOLLOWERS


@pytest.mark.parametrize("path", [p for p in urdf_files() if p.stem in FOLLOWERS.keys() - UNREADABLE], ids=_name)
def test_joints_follow_as_pinocchio_lets_them_follow(path: Path) -> None:
    robot = on.load(path)
    model = pin.buildModelFromXML(path.read_text(), mimic=True)
    assert robot.nv == model.nv
    for joint in robot.joints:
        if joint.mimic:
            theirs = model.joints[model.getJointId(joint.name)].extract()
            followed = model.joints[model.getJointId(robot.joints[joint.mimic.joint].name)]
            assert theirs.idx_v == followed.idx_v
            assert (joint.mimic.ratio, joint.mimic.offset) == (theirs.scaling, theirs.offset)


@pytest.mark.parametrize("path", [p for p in urdf_files() if p.stem in UNREADABLE], ids=_name)
def test_joints_follow_as_the_file_says(path: Path) -> None:
    robot = on.load(path)
    for joint in ElementTree.parse(path).getroot().iterfind("joint[mimic]"):
        mimic = robot.joint(joint.attrib["name"]).mimic
        said = joint.find("mimic")
        assert mimic is not None and said is not None
        assert robot.joints[mimic.joint].name == said.attrib["joint"]
        assert mimic.ratio == float(said.get("multiplier", 1.0))
        assert mimic.offset == float(said.get("offset", 0.0))


def test_a_gripper_that_is_compiled_agrees() -> None:
    both = Both(ROBOTS / "panda_description/urdf/panda.urdf", floating=False)
    rng = np.random.default_rng(1)
    q = both.robot.random(rng)
    v, a, tau = rng.uniform(-2, 2, (3, both.robot.nv))
    assert apart(both.robot.inverse_dynamics(q, v, a), both.inverse_dynamics(q, v, a)) <= PEER
    assert apart(both.robot.mass_matrix(q), both.mass_matrix(q)) <= PEER
    both.check(q, v, both.robot.forward_dynamics(q, v, tau), tau)


@pytest.mark.parametrize("file", BROKEN)
def test_what_is_refused_here_is_refused_there(file: str) -> None:
    with pytest.raises(on.ModelError):
        on.load(ROBOTS / file)
    with pytest.raises(ValueError, match="not contain a valid URDF model"):
        pin.buildModelFromUrdf(str(ROBOTS / file))


def _chain(*kinds: str) -> str:
    """Links with odd inertias, connected by joints of these kinds; axes are z, the only one of Pinocchio's planar."""
    parts = ['<robot name="chain">']
    for k in range(len(kinds) + 1):
        parts.append(f"""
        <link name="l{k}"><inertial><origin xyz="0.1 -0.2 {k}" rpy="0.3 0.2 {k}"/><mass value="{k + 1}"/>
        <inertia ixx="{1 + k / 2}" iyy="2" izz="2.5" ixy="0.1" ixz="-0.2" iyz="0.3"/></inertial></link>""")
    for k, kind in enumerate(kinds, 1):
        parts.append(f"""
        <joint name="j{k}" type="{kind}"><parent link="l{k - 1}"/><child link="l{k}"/>
        <origin xyz="0.2 {k} 0.3" rpy="{k} 0.5 -0.4"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>""")
    return "".join([*parts, "</robot>"])


@pytest.mark.parametrize(
    "kinds",
    [
        ("planar",),
        ("revolute", "planar", "prismatic"),
        ("prismatic", "floating", "continuous"),
        ("floating", "fixed", "planar", "continuous", "planar"),
    ],
    ids="-".join,
)
@pytest.mark.parametrize("floating", [False, True])
def test_joints_that_are_rare_agree(kinds: tuple[str, ...], floating: bool) -> None:
    Both(_chain(*kinds), floating=floating).compare()


def test_spherical_joints_agree_with_mujoco() -> None:
    """Pinocchio refuses them."""
    text = _chain("spherical", "continuous", "spherical", "spherical").replace('lower="-1" ', 'lower="0" ')
    robot = on.load(text, snap=0.0)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    assert [model.joint(k).name for k in range(model.njnt)] == [c.name for c in robot.joints]
    rng = np.random.default_rng(0)
    data.qpos[:] = q = robot.random(rng)
    v, a = rng.uniform(-2, 2, (2, robot.nv))
    data.qvel[:], data.qacc[:] = v, a
    model.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    mujoco.mj_inverse(model, data)
    assert apart(robot.inverse_dynamics(q, v, a), data.qfrc_inverse) <= PEER
