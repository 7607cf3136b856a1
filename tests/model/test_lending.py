"""Bodies without inertia on joints that follow others: the robot moves, because the joints that move together do."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import ordern as on
from ordern.model.mimic_armature import lent_armature
from tests.model.test_couplings import JOINTS, WAYS, Both, _freed
from tests.random_models import random_state
from tests.robots import ROBOTS
from tests.tolerances import INVERSION, PEER, ROUNDING, assert_close

Array = np.ndarray
SEEDS = range(4)


class Light(Both):
    """A robot with couplings, in which the followers (or those that they follow) have no inertia; and it let free."""

    def __init__(self, seed: int, leaders: bool = False, **options: bool) -> None:
        super().__init__(seed, **options)
        followed = {c.mimic.joint for c in self.robot.joints if c.mimic}
        light = followed if leaders else {k for k, c in enumerate(self.robot.joints) if c.mimic}
        empty = [replace(b, mass=0.0, inertia=(0.0,) * 6) if k in light else b for k, b in enumerate(self.robot.bodies)]
        none = [replace(c, armature=0.0) if k in light else c for k, c in enumerate(self.robot.joints)]
        self.robot = replace(self.robot, bodies=tuple(empty), joints=tuple(none))
        self.free = _freed(self.robot)


def check(both: Both, way: str = "interpreted", tolerance: float = INVERSION) -> None:
    robot, E = both.robot, both.E
    q, v, tau = random_state(robot, 0, (3,))
    Q, V = both.positions(q), v @ E.T
    f = np.random.default_rng(0).normal(size=(3, len(robot.bodies), 6))
    M = E.T @ both.free.kernel("mass_matrix", way="interpreted")(Q) @ E
    bias = both.free.kernel("bias_force", present=("external",), way="interpreted")(Q, V, f) @ E
    expected = np.linalg.solve(M, (tau - bias)[..., None])[..., 0]
    found = robot.kernel("forward_dynamics", present=("external",), way=way)(q, v, tau, f)
    assert_close(found, expected, tolerance)
    assert_close(robot.kernel("mass_matrix", way=way)(q), M, ROUNDING)
    assert_close(robot.kernel("kinetic_energy", way=way)(q, v), np.einsum("ni,nij,nj->n", v, M, v) / 2, ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", SEEDS)
def test_followers_without_inertia(seed: int, way: str) -> None:
    both = Light(seed, floating=seed == 1, armature=seed == 2)
    assert lent_armature(both.robot.bodies, both.robot.joints)
    check(both, way)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_leaders_without_inertia(seed: int) -> None:
    both = Light(seed, leaders=True, floating=seed == 1)
    assert lent_armature(both.robot.bodies, both.robot.joints)
    check(both)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_lent_adds_up_to_nothing(seed: int) -> None:
    robot = Light(seed, leaders=seed % 2 == 0).robot
    lent = lent_armature(robot.bodies, robot.joints)
    total, size = np.zeros(robot.nv), np.zeros(robot.nv)
    for k, x in lent.items():
        c = robot.joints[k]
        total[c.v] += (c.mimic.ratio if c.mimic else 1.0) ** 2 * x
        size[c.v] += abs((c.mimic.ratio if c.mimic else 1.0) ** 2 * x)
    assert (np.abs(total) <= ROUNDING * size).all()
    assert size.any()


def test_nothing_is_lent_where_all_have_inertia() -> None:
    assert not lent_armature(Both(0).robot.bodies, Both(0).robot.joints)


METHODS = [m.name for m in on.methods("forward_dynamics") if not (m.alias_of or m.refuses)]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_method(method: str) -> None:
    robot = Light(0).robot
    q, v, tau = random_state(robot, 1)
    expected = robot.kernel("forward_dynamics", way="interpreted")(q, v, tau)
    assert_close(robot.kernel("forward_dynamics", method, way="interpreted")(q, v, tau), expected, INVERSION)


@pytest.mark.slow
def test_what_else_needs_inertia() -> None:
    robot = Light(0).robot
    q, _, tau = random_state(robot, 1)
    M = robot.mass_matrix(q)
    J = robot.jacobian(q, "tool")
    assert_close(robot.mass_matrix_solve(q, tau), np.linalg.solve(M, tau), INVERSION)
    assert_close(robot.frame_response(q, "tool"), np.linalg.solve(M, J.T), INVERSION)
    assert_close(robot.operational_inertia_inverse(q, "tool"), J @ np.linalg.solve(M, J.T), INVERSION)


def finger(*light: int) -> Both:
    """A finger that is stretched out, of three joints that move together; these of its links have no inertia."""

    def build(mimic: bool) -> on.Robot:
        builder = on.Builder("finger").body("palm")
        parent = "palm"
        for k in range(3):
            more = {} if k in light else {"mass": 0.1, "com": (0.02, 0.0, 0.0), "inertia": (1e-6, 1e-5, 1e-5)}
            follow = {"mimic": ("j0", 0.5 + k, 0.0)} if mimic and k else {}
            at = (0.05 if k else 0.0, 0.0, 0.0)
            builder.body(f"l{k}", parent=parent, joint=on.Revolute(), joint_name=f"j{k}", at=at, **more, **follow)
            parent = f"l{k}"
        return builder.build()

    both = object.__new__(Both)
    both.robot, both.free = build(True), build(False)
    both.E = np.array([[1.0], [1.5], [2.5]])
    return both


@pytest.mark.slow
@pytest.mark.parametrize("light", [(1,), (2,), (1, 2), (0,), (0, 1), (0, 2)], ids=str)
def test_links_without_inertia_anywhere_in_a_finger(light: tuple[int, ...]) -> None:
    both = finger(*light)
    check(both)
    q, tau = np.zeros(1), np.ones(1)  # stretched out, where links that are let go have no inertia along their joints
    M = both.E.T @ both.free.mass_matrix(np.zeros(3)) @ both.E
    assert_close(both.robot.forward_dynamics(q, 0 * q, tau), (tau - both.robot.gravity_force(q)) / M[0], PEER)


def test_a_follower_that_never_moves() -> None:
    builder = on.Builder().body("base").body("a", parent="base", joint=on.Revolute(), inertia=(1, 1, 2), joint_name="a")
    robot = builder.body("b", parent="a", joint=on.Revolute(), mimic=("a", 0.0, 0.5)).build()
    assert_close(robot.forward_dynamics([0.1], [0.2], [3.0]), [1.5], ROUNDING)


def test_joints_that_move_nothing_together_are_refused_by_name() -> None:
    with pytest.raises(on.ModelError, match=r"'j2' moves nothing that has mass .*moves with, 'j0', 'j1', meet no i"):
        finger(0, 1, 2).robot.forward_dynamics([0.0], [0.0], [0.0])


def test_armature_of_a_child_is_none_of_its_parent() -> None:
    builder = on.Builder().body("base").body("a", parent="base", joint=on.Revolute(), joint_name="first")
    robot = builder.body("b", parent="a", joint=on.Revolute(), joint_name="second", armature=0.1).build()
    with pytest.raises(on.ModelError, match="joint 'first' moves nothing that has mass"):
        robot.forward_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])


def test_joints_with_one_freedom_are_all_that_can_follow() -> None:
    assert {t for t in JOINTS if t.nv == 1} == {on.Revolute, on.Prismatic, on.Helical}


@pytest.mark.parametrize("file", ["panda_description/urdf/panda.urdf", "pr2_description/urdf/pr2.urdf"])
def test_grippers_without_inertia_agree_with_pinocchio(file: str) -> None:
    """Pinocchio has all joints independent; its answers are those of the coupled robot after elimination."""
    text = (ROBOTS / file).read_text()
    robot = on.load(text)
    for k, c in enumerate(robot.joints):
        if c.mimic:
            pattern = rf'(<link name="{re.escape(robot.bodies[k].name)}".*?)<inertial>.*?</inertial>'
            text, changed = re.subn(pattern, r"\1", text, count=1, flags=re.S)
            assert changed
    robot, model = on.load(text, snap=0.0), pin.buildModelFromXML(text)
    data, c = model.createData(), on.convert(robot, model)
    assert all(not robot.bodies[k].mass for k, joint in enumerate(robot.joints) if joint.mimic)
    q, v, tau = random_state(robot, 0)
    E = np.array([c.to_peer(q, x)[1] for x in np.eye(robot.nv)]).T
    x, y = c.to_peer(q, v)
    M = pin.crba(model, data, x)
    M = E.T @ (np.triu(M) + np.triu(M, 1).T) @ E
    expected = np.linalg.solve(M, tau - E.T @ pin.nonLinearEffects(model, data, x, y))
    found = robot.kernel("forward_dynamics", way="interpreted")(q, v, tau)
    assert_close(found, expected, PEER)
