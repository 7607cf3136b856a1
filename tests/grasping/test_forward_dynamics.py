"""Forward dynamics of a grasp: every method against bodies that are solved one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.grasping.mechanism import METHODS
from tests.grasping.maximal import Maximal
from tests.grasping.systems import KINDS, forces, moving, random_system, system, walker
from tests.tolerances import GRASPED, assert_close

C = on.contacts


def numbers(motion: Any) -> np.ndarray:
    return np.concatenate([*motion.accelerations, motion.object_acceleration, motion.forces.ravel()])


def about_origin(grasp: on.Grasp, state: Any, f: np.ndarray) -> np.ndarray:
    """Contact forces about the object's origin."""
    return np.concatenate([f[:, :3] + np.cross(state.levers, f[:, 3:]), f[:, 3:]], axis=1)


def same(a: np.ndarray, b: np.ndarray) -> None:
    assert np.abs(a - b).max() <= GRASPED * max(1.0, np.abs(b).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_against_maximal_coordinates(name: str) -> None:
    grasp, q = system(name)
    state, (tau, wrench) = moving(grasp, q), forces(grasp)
    oracle = Maximal(grasp, list(state.q), list(state.v), state.pose, state.velocity)
    taus = [tau[a.v] for a in grasp.arms]
    truth = oracle.solve(taus, wrench)
    assert truth["violation"] < GRASPED  # of the velocities, which the library made fit
    motion = grasp.dynamics(state, tau, wrench=None if grasp.object is None else wrench)
    same(np.concatenate(motion.accelerations), np.concatenate(truth["accelerations"]))
    same(motion.object_acceleration, truth["object"])
    assert motion.rank == truth["rank"]
    assert motion.residual < GRASPED
    if motion.rank == motion.rows and grasp.object is not None:
        same(about_origin(grasp, state, motion.forces), truth["forces"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(15))
def test_random_systems_against_maximal_coordinates(seed: int) -> None:
    """One to five arms of 2, 3 or 7 joints, any contacts, often singular: accelerations, ranks, and equal forces."""
    grasp, q = random_system(seed)
    state, (tau, wrench) = moving(grasp, q, seed), forces(grasp, seed)
    oracle = Maximal(grasp, list(state.q), list(state.v), state.pose, state.velocity)
    truth = oracle.solve([tau[a.v] for a in grasp.arms], wrench)
    assert truth["violation"] < GRASPED
    load = None if grasp.object is None else wrench
    least = grasp.dynamics(state, tau, wrench=load).forces
    for method in ("rccfd1", "rccfd2", "rccfd3", "rccfd-fd4", "direct", "reduced", "closed-form"):
        motion = grasp.dynamics(state, tau, method, wrench=load)
        same(np.concatenate(motion.accelerations), np.concatenate(truth["accelerations"]))
        same(motion.object_acceleration, truth["object"])
        assert motion.rank == truth["rank"]
        same(motion.forces, least)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_all_methods_agree(name: str) -> None:
    grasp, q = system(name)
    state, (tau, wrench) = moving(grasp, q), forces(grasp)
    load = None if grasp.object is None else wrench
    truth = grasp.dynamics(state, tau, "rccfd1", wrench=load)
    for method in METHODS:
        for solver in ("by-arms", "dense"):
            if method == "appendix-b" and name in ("few", "few-fixed", "points"):
                with pytest.raises(on.ArgumentError, match=r"arm 'random-4.*six ways"):
                    grasp.dynamics(state, tau, method, wrench=load)
                continue
            motion = grasp.dynamics(state, tau, method, wrench=load, solver=solver)
            same(numbers(motion), numbers(truth))
            assert motion.rank == truth.rank
            for x, y in zip(motion.contact_accelerations, truth.contact_accelerations, strict=True):
                same(x, y) if x.size else None


@pytest.mark.slow
def test_neither_bias_moments_nor_a_sweep_for_the_tips(monkeypatch: pytest.MonkeyPatch) -> None:
    """The remark after (6.22): no T' in advance, and tips in the sweep that has the joints' accelerations."""
    grasp, q = system("mixed")
    state, (tau, _) = moving(grasp, q), forces(grasp)
    truth = grasp.dynamics(state, tau, "rccfd1")

    def unasked(*_: Any, **__: Any) -> Any:
        raise AssertionError("asked for")

    monkeypatch.setattr(on.Robot, "bias_force", unasked)
    monkeypatch.setattr(on.Grasp, "_tip_accelerations", unasked)
    motion = grasp.dynamics(state, tau, "rccfd-fd4")
    same(numbers(motion), numbers(truth))
    for x, y in zip(motion.contact_accelerations, truth.contact_accelerations, strict=True):
        assert_close(x, y, GRASPED)
    with pytest.raises(AssertionError, match="asked for"):
        grasp.dynamics(state, tau, "rccfd2")


@pytest.mark.slow
@pytest.mark.parametrize("arm_method", ["composite-body", "fd2", "divide-and-conquer"])
def test_any_forward_dynamics_of_the_arms(arm_method: str) -> None:
    grasp, q = system("rigid")
    state, (tau, _) = moving(grasp, q), forces(grasp)
    truth = grasp.dynamics(state, tau)
    same(numbers(grasp.dynamics(state, tau, "general", arm_method=arm_method)), numbers(truth))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mixed", "few"])
@pytest.mark.parametrize("method", METHODS)
def test_batches(name: str, method: str) -> None:
    if method == "appendix-b" and name == "few":
        return
    grasp, q = system(name)
    rng = np.random.default_rng(3)
    one = moving(grasp, q)
    v = np.concatenate(one.v) * rng.normal(size=(2, 3, 1))
    velocity = one.velocity * v[..., :1] / np.concatenate(one.v)[0]
    tau = rng.normal(size=(3, grasp.nv))
    many = grasp.forward_dynamics(one.q, v, tau, method, pose=one.pose, velocity=velocity)
    assert many.forces.shape == (2, 3, 3, 6)
    for i in np.ndindex(2, 3):
        single = grasp.forward_dynamics(one.q, v[i], tau[i[1]], method, pose=one.pose, velocity=velocity[i])
        same(many.forces[i], single.forces)
        same(many.accelerations[1][i], single.accelerations[1])
        assert many.rank[i] == single.rank


def test_forces_are_the_least_ones() -> None:
    grasp, q = system("few-fixed")
    state, (tau, _) = moving(grasp, q), forces(grasp)
    motion = grasp.dynamics(state, tau)
    assert motion.singular and motion.rank < motion.rows
    # what no joint feels has no part in them
    omega = grasp.omega(q)
    bound = omega.inverse @ omega.full @ omega.inverse
    same(bound, omega.inverse)
    f = motion.forces.ravel()
    same(omega.inverse @ (omega.full @ f), f)


@pytest.mark.slow
def test_one_robot_that_holds_with_two_frames() -> None:
    robot = walker()
    leaves = [b.name for k, b in enumerate(robot.bodies) if k not in {c.parent for c in robot.joints}]
    tips = leaves[:2]
    rng = np.random.default_rng(2)
    q = robot.random(rng)
    grasp = on.grasp([(robot, tips)], (1.5, (0.0, 0.1, 0.0), (0.2, 0.2, 0.3)), [C.Rigid(), C.Point()], q=[q])
    state, (tau, wrench) = moving(grasp, [q]), forces(grasp)
    truth = Maximal(grasp, list(state.q), list(state.v), state.pose, state.velocity).solve([tau], wrench)
    assert truth["violation"] < GRASPED
    for method in ("general", "rccfd1", "rccfd2", "rccfd3", "rccfd-fd4", "direct", "closed-form"):
        motion = grasp.dynamics(state, tau, method, wrench=wrench)
        same(motion.accelerations[0], truth["accelerations"][0])
        same(motion.object_acceleration, truth["object"])
        assert motion.rank == truth["rank"]


@pytest.mark.slow
def test_joints_that_follow_others() -> None:
    finger = (
        on.Builder("finger")
        .body("palm")
        .body(
            "a",
            parent="palm",
            joint=on.Revolute((0, 1, 0)),
            joint_name="a",
            mass=0.4,
            com=(0, 0, 0.1),
            inertia=(0.01,) * 3,
        )
        .body(
            "b",
            parent="a",
            joint=on.Revolute((0, 1, 0)),
            at=(0, 0, 0.3),
            mass=0.3,
            com=(0, 0, 0.1),
            inertia=(0.01,) * 3,
            mimic=("a", 0.5, 0.1),
        )
        .body("c", parent="b", joint=on.Prismatic((0, 0, 1)), at=(0, 0, 0.3), mass=0.2, inertia=(0.01,) * 3)
        .build()
    )
    grasp = on.grasp(
        [finger, finger],
        (1.0, (0, 0, 0), (0.1, 0.1, 0.1)),
        C.Point(),
        q=[[0.4, 0.0]] * 2,
        bases=[(0, 0, 0), ((1.0, 0.3, 0), (0, 0, 3.0))],
    )
    v = [[0.0, 0.0]] * 2
    motions = [
        grasp.forward_dynamics([[0.4, 0.0]] * 2, v, [[1.0, 2.0]] * 2, m, pose=np.eye(4), velocity=np.zeros(6))
        for m in (None, "direct", "closed-form")
    ]
    for m in motions[1:]:
        same(numbers(m), numbers(motions[0]))
    with pytest.raises(on.ArgumentError, match=r"rccfd2.*'finger-1'.*follow others.*general"):
        grasp.forward_dynamics([[0.4, 0.0]] * 2, v, [[1.0, 2.0]] * 2, "rccfd2", pose=np.eye(4), velocity=np.zeros(6))


@pytest.mark.slow
def test_two_floating_bodies_push_one() -> None:
    """Closed form: three bodies that are rigidly joined accelerate as one, and each takes its share of the force."""
    body = on.Builder("ball").body("ball", mass=3.0, inertia=(0.1, 0.1, 0.1)).build(floating=True)
    grasp = on.grasp([body, body], (2.0, (0, 0, 0), (0.1, 0.1, 0.1)), bases=[(-1, 0, 0), (1, 0, 0)])
    q, zero = grasp.arms[0].robot.neutral(), np.zeros(12)
    motion = grasp.forward_dynamics([q, q], zero, zero, wrench=[0, 0, 0, 16.0, 0, 0])
    same(motion.object_acceleration, np.array([0, 0, 0, 2.0, 0, -9.81]))
    same(motion.forces[:, 3:], np.array([[-6.0, 0, 0], [-6.0, 0, 0]]))
    for a in motion.accelerations:
        same(a, np.array([0, 0, 0, 2.0, 0, -9.81]))


@pytest.mark.slow
def test_the_conjecture_and_where_it_ends() -> None:
    """The right side is in the image of Omega on every smooth motion; a singular state that no motion has is told."""
    pendulum = (
        on.Builder("arm", gravity=(0, 0, 0))
        .body("base")
        .body("upper", parent="base", joint=on.Revolute((0, 0, 1)), mass=1.0, com=(0.5, 0, 0), inertia=(0.1,) * 3)
        .body(
            "lower",
            parent="upper",
            joint=on.Revolute((0, 0, 1)),
            at=(1.0, 0, 0),
            mass=1.0,
            com=(0.5, 0, 0),
            inertia=(0.1,) * 3,
        )
        .frame("tip", "lower", at=(1.0, 0, 0))
        .build()
    )
    straight, bent = np.zeros(2), np.array([0.3, -0.6])
    for q, singular in ((bent, False), (straight, True)):
        grasp = on.grasp([(pendulum, "tip")], None, C.Point(), q=[q], pose=np.eye(4))
        state = grasp.project([q], [[1.0, -2.0]])
        motion = grasp.dynamics(state, np.zeros(2))
        assert bool(motion.residual > 0.1) == singular  # elbow and base swing: the tip would have to be pulled in
        assert motion.rank == (1 if singular else 2)
        assert np.isfinite(numbers(motion)).all()
    still = grasp.forward_dynamics([straight], np.zeros(2), [1.0, 0.0])
    assert still.residual < GRASPED and still.rank == 1  # at rest the singular position is fine


def test_omega() -> None:
    grasp, q = system("rigid")
    state, omega = grasp.state(q), grasp.omega(q)
    J = np.zeros((18, grasp.nv))
    M = np.zeros((grasp.nv, grasp.nv))
    for i, (a, x) in enumerate(zip(grasp.arms, state.q, strict=True)):
        R = np.kron(np.eye(2), a.base.R)
        J[6 * i : 6 * i + 6, a.v] = R @ a.robot.jacobian(x, a.tips[0], axes="world")
        M[a.v, a.v] = a.robot.mass_matrix(x)
    A = state.A.reshape(18, 6)
    full = J @ np.linalg.solve(M, J.T) + A @ np.linalg.solve(state.inertia, A.T)
    same(omega.full, full)
    same(omega.inverse @ full, np.eye(18))
    assert omega.rank == 18
