"""The methods of inverse dynamics, and the wrenches in the joints: against each other, physics and Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import ordern as on
from ordern.algorithms.inverse_dynamics.denoc import about_centre, between_centres, mass_centre
from ordern.joints import Revolute
from ordern.spatial import Chain, Freedoms, Identity, Inertia, Motion, Transform
from tests.algorithms.trees import ask
from tests.peers_util import CASES, Pair, relative_errors
from tests.random_models import ALL_JOINTS, random_robot, random_state
from tests.tolerances import INVERSION, PEER, ROUNDING, SINGLE, assert_close

METHODS = ["composite-inertia", "denoc", "newton-euler-vector", "newton-euler-absolute"]
ALL_GIVEN = ("external", "base_velocity", "base_acceleration")
STATES = 3


def everything(robot: on.Robot, seed: int) -> tuple[np.ndarray, ...]:
    """A state, forces on the bodies, and a motion of the base."""
    rng = np.random.default_rng(seed)
    external = rng.normal(size=(STATES, len(robot.bodies), 6))
    return (*random_state(robot, seed, (STATES,)), external, *rng.normal(size=(2, STATES, 6)))


def tree(seed: int) -> on.Robot:
    """Trees, chains, floating ones, with armature, with joints that follow others, with fixed joints."""
    return random_robot(
        100 + seed,
        4 + seed,
        floating=seed % 3 == 1,
        chain=seed % 5 == 2,
        armature=seed % 2 == 0,
        mimic=seed % 4 == 3,
        merge=seed % 7 != 6,
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(15))
def test_all_methods_agree(seed: int, method: str) -> None:
    robot = tree(seed)
    given = everything(robot, seed)
    for present in ((), ALL_GIVEN[:1], ALL_GIVEN):
        arguments = given[: 3 + len(present)]
        expected = robot.kernel("inverse_dynamics", present=present, way="interpreted")(*arguments)
        found = robot.kernel("inverse_dynamics", method, present=present, way="interpreted")(*arguments)
        assert_close(found, expected, ROUNDING)


SMALL = {
    "tree": random_robot(120, 4, (on.Revolute, on.Universal, on.Spherical), armature=True),
    "coupled": random_robot(122, 3, (on.Prismatic,), floating=True, chain=True, mimic=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("robot", SMALL.values(), ids=SMALL)
@pytest.mark.parametrize(
    ("question", "method"), [*(("inverse_dynamics", m) for m in METHODS), ("joint_wrenches", "newton-euler")]
)
def test_every_way_of_running(question: str, method: str, robot: on.Robot) -> None:
    given = everything(robot, 1)[:4]
    expected = robot.kernel(question, method, present="external", way="interpreted")(*given)
    for way in ("rolled", "unrolled"):
        kernel = robot.kernel(question, method, present="external", way=way)
        assert_close(kernel(*given), expected, ROUNDING)
    if robot is SMALL["coupled"]:
        single = kernel(*(x.astype(np.float32) for x in given))
        assert single.dtype == np.float32
        assert_close(single, expected, SINGLE)


def test_bodies_without_mass() -> None:
    builder = on.Builder("gimbal").body("base")
    for k, axis in enumerate(np.eye(3), 1):
        more = {"mass": 2.0, "com": (0.1, 0.2, 0.3), "inertia": (0.3, 0.2, 0.1)} if k == 3 else {}
        parent = f"body{k - 1}" if k > 1 else "base"
        builder.body(f"body{k}", parent=parent, joint=on.Revolute(tuple(axis.tolist())), at=(0.1, 0.0, 0.2), **more)
    robot = builder.build()
    q, v, a = random_state(robot, 0, (STATES,))
    expected = ask(robot, "inverse_dynamics", q, v, a)
    for method in METHODS:
        assert_close(ask(robot, "inverse_dynamics", q, v, a, method=method), expected, ROUNDING)
    rolled = robot.kernel("inverse_dynamics", "denoc", way="rolled")
    assert_close(rolled(q, v, a), expected, ROUNDING)


def test_mass_centre() -> None:
    rng = np.random.default_rng(0)
    c, I = rng.normal(size=3), np.array([0.3, 0.01, 0.02, 0.4, 0.03, 0.5])
    about = Inertia(2.0, (0.0, 0.0, 0.0), tuple(I.tolist()))
    found, back = mass_centre(about.shifted(tuple(c.tolist())))
    assert_close(found, c, ROUNDING)
    assert_close(back.I, I, ROUNDING)
    assert (back.m, back.h) == (2.0, (0.0, 0.0, 0.0))
    assert mass_centre(Inertia.zero()) == ((0.0, 0.0, 0.0), Inertia.zero())


def test_twist_propagation_is_a_group() -> None:
    """Saha (14): B_ij B_jk = B_ik; and B_ij takes twists of mass centres, p_i of joint rates (13)."""
    rng = np.random.default_rng(1)
    joint = Revolute((0.0, 0.0, 1.0))
    Xs = [joint.transform(Freedoms((x,))) for x in rng.normal(size=2)]
    shifts = [Transform(Identity(), tuple(x)) for x in rng.normal(size=(2, 3)).tolist()]
    X1, X2 = (Chain((shift, X)) for shift, X in zip(shifts, Xs, strict=True))
    c0, c1, c2 = (tuple(x) for x in rng.normal(size=(3, 3)).tolist())
    t = Motion.of(tuple(rng.normal(size=6).tolist()))
    two = between_centres(X2, c1, c2) @ (between_centres(X1, c0, c1) @ t)
    one = between_centres(Chain((*X1.factors, *X2.factors)), c0, c2) @ t
    assert_close(two.scalars, one.scalars, ROUNDING)
    (p,) = about_centre(c1, joint.subspace(Freedoms((0.0,)))).columns
    assert_close(p.scalars, [0, 0, 1, *np.cross([0, 0, 1], c1)], ROUNDING)


def test_forces_of_a_rigid_composite() -> None:
    """Jain, Lemma 3.2: what hangs on a joint that alone accelerates is one rigid body; y is then zero beyond it."""
    robot = random_robot(130, 8)
    q, v, _ = random_state(robot, 0, (STATES,))
    M = ask(robot, "mass_matrix", q)
    rest = ask(robot, "inverse_dynamics", q, 0 * v, 0 * v, method="composite-inertia")
    for k in range(robot.nv):
        unit = np.eye(robot.nv)[k]
        force = ask(robot, "inverse_dynamics", q, 0 * v, unit, method="composite-inertia") - rest
        assert_close(force, M[..., k], ROUNDING)


def subspace(robot: on.Robot, k: int, q: np.ndarray) -> np.ndarray:
    """The motions of joint k, one to a row, in its body's own axes."""
    c = robot.joints[k]
    x = q[c.q] * c.mimic.ratio + c.mimic.offset if c.mimic else q[c.q]
    Q = c.type.working_frame()
    columns = c.type.subspace(Freedoms(x.tolist())).columns
    return np.array([[*(Q @ m.angular), *(Q @ m.linear)] for m in columns]).reshape(-1, 6)


@pytest.mark.parametrize("seed", range(6))
def test_wrenches_along_joints_are_joint_forces(seed: int) -> None:
    robot = tree(2 * seed + seed // 2)
    given = everything(robot, seed)
    wrench = robot.kernel("joint_wrenches", present=ALL_GIVEN, way="interpreted")(*given)
    tau = robot.kernel("inverse_dynamics", present=ALL_GIVEN, way="interpreted")(*given)
    q, v, a = given[:3]
    for s in range(STATES):
        found = np.zeros(robot.nv)
        for k, c in enumerate(robot.joints):
            ratio = c.mimic.ratio if c.mimic else 1.0
            along = subspace(robot, k, q[s]) @ wrench[s, k]
            drive = np.array(c.armature) * ratio
            turned = [Freedoms(map(float, x)) for x in (q[s, c.q], v[s, c.v], drive * v[s, c.v])]
            found[c.v] += ratio * (along + drive * a[s, c.v] + np.array(c.type.gyration(*turned)))
        assert_close(found, tau[s], ROUNDING)


@pytest.mark.parametrize("seed", range(3))
def test_wrenches_on_a_body_balance(seed: int) -> None:
    """What comes through its joint, less what it passes on to its children, is what the body itself takes."""
    robot = random_robot(140 + seed, 8, ALL_JOINTS, armature=True)
    q, v, a, external, _, _ = everything(robot, seed)
    wrench = ask(robot, "joint_wrenches", q, v, a, external=external)
    total = np.zeros((STATES, len(robot.bodies), 6))
    poses = [ask(robot, "pose", q, frame=b.name) for b in robot.bodies]
    for k, c in enumerate(robot.joints):
        total[:, k] += wrench[:, k]
        if c.parent >= 0:
            relative = np.linalg.inv(poses[c.parent]) @ poses[k]
            n, f = (np.einsum("sij,sj->si", relative[:, :3, :3], x) for x in np.split(wrench[:, k], 2, axis=-1))
            total[:, c.parent] -= np.concatenate([n + np.cross(relative[:, :3, 3], f), f], axis=-1)
    for k, b in enumerate(robot.bodies):
        w = ask(robot, "velocity", q, v, frame=b.name, axes="frame")[:, :3]
        dw, dv = np.split(ask(robot, "acceleration", q, v, a, frame=b.name, axes="frame", kind="classical"), 2, axis=-1)
        up = -np.einsum("sji,j->si", poses[k][:, :3, :3], robot.gravity)
        xx, yy, zz, xy, xz, yz = b.inertia
        I, c = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), np.array(b.com)
        f = b.mass * (dv + up + np.cross(dw, c) + np.cross(w, np.cross(w, c)))
        n = dw @ I + np.cross(w, w @ I) + np.cross(c, f)
        assert_close(total[:, k] + external[:, k], np.concatenate([n, f], axis=-1), ROUNDING)


@pytest.mark.parametrize("name", ["panda", "tiago", "solo12"])
def test_wrenches_are_those_of_pinocchio(name: str) -> None:
    pair = Pair(next(c for c in CASES if c.name == name), way="interpreted")
    s = pair.states(STATES)
    external = [pair.forces(x) for x in s.external]

    def theirs(q: np.ndarray, v: np.ndarray, a: np.ndarray, _: np.ndarray, k: int) -> np.ndarray:
        pin.rnea(pair.model, pair.data, q, v, a, external[k])
        found = [pair.data.f[joint.id] for _, joint in pair.joints]
        return np.array([[*f.angular, *f.linear] for f in found])

    mine = pair.ask("joint_wrenches", s.q, s.v, s.a, external=s.external)
    assert relative_errors(mine, pair.each(s, theirs)).max() < PEER


def test_wrenches_of_the_public_function() -> None:
    robot = SMALL["tree"]
    q, v, a, external, _, _ = everything(robot, 2)
    wrench = robot.joint_wrenches(q, v, a, external=external)
    tau = robot.inverse_dynamics(q, v, a, external=external)
    assert wrench.shape == (STATES, len(robot.bodies), 6)
    assert_close(robot.joint_wrenches(q, v, tau=tau, external=external), wrench, INVERSION)
    with pytest.raises(on.ArgumentError, match="either the accelerations `a` or the joint forces `tau`"):
        robot.joint_wrenches(q, v)
