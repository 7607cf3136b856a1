"""What must hold between the functions, on random trees with every type of joint, for every method."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import ordern as on
from tests.algorithms.trees import TREES, ask, external_forces, rate, skew, states, times
from tests.random_models import ALL_JOINTS, random_robot
from tests.tolerances import ENERGY_STEPS, FINITE_DIFFERENCE, INVERSION, ROUNDING, assert_close


@pytest.fixture(params=TREES, scope="module")
def robot(request: pytest.FixtureRequest) -> on.Robot:
    return TREES[request.param]


def every_method(question: str) -> pytest.MarkDecorator:
    """Those that take any tree."""
    found = [m.name for m in on.methods(question) if not (m.pieces or m.alias_of or m.refuses)]
    return pytest.mark.parametrize("method", found)


def test_every_type_of_joint_is_there() -> None:
    seen = {type(c.type) for robot in TREES.values() for c in robot.joints}
    assert seen == set(ALL_JOINTS)


@pytest.mark.slow
@every_method("inverse_dynamics")
def test_mass_matrix_is_the_derivative_of_inverse_dynamics(robot: on.Robot, method: str) -> None:
    q, v, _ = states(robot)
    M = ask(robot, "mass_matrix", q)
    bias = ask(robot, "inverse_dynamics", q, v, np.zeros_like(v), method=method)
    for k in range(robot.nv):
        column = ask(robot, "inverse_dynamics", q, v, np.eye(robot.nv)[k], method=method) - bias
        assert_close(column, M[..., k], ROUNDING)


@every_method("mass_matrix")
def test_mass_matrix_is_symmetric_and_positive(robot: on.Robot, method: str) -> None:
    q, _, _ = states(robot)
    M = ask(robot, "mass_matrix", q, method=method)
    assert (M.swapaxes(-1, -2) == M).all()
    assert np.linalg.eigvalsh(M).min() > 0.0


def test_armature_adds_to_the_diagonal() -> None:
    robot = TREES["tree with armature"]
    armature = np.array([x for c in robot.joints for x in c.armature])
    assert armature.any() and not armature.all()
    bare = dataclasses.replace(
        robot, joints=tuple(dataclasses.replace(c, armature=(0.0,) * c.nv) for c in robot.joints)
    )
    q, _, _ = states(robot)
    assert_close(ask(robot, "mass_matrix", q), ask(bare, "mass_matrix", q) + np.diag(armature), ROUNDING)


@pytest.mark.slow
@every_method("forward_dynamics")
def test_forward_dynamics_inverts_inverse_dynamics(robot: on.Robot, method: str) -> None:
    q, v, a = states(robot)
    f = external_forces(robot)
    tau = ask(robot, "inverse_dynamics", q, v, a, external=f)
    assert_close(ask(robot, "forward_dynamics", q, v, tau, external=f, method=method), a, INVERSION)
    tau = ask(robot, "inverse_dynamics", q, v, a)
    assert_close(ask(robot, "forward_dynamics", q, v, tau, method=method), a, INVERSION)


@pytest.mark.slow
@every_method("forward_dynamics")
def test_forward_dynamics_solves_the_equation_of_motion(robot: on.Robot, method: str) -> None:
    q, v, tau = states(robot)
    a = ask(robot, "forward_dynamics", q, v, tau, method=method)
    M, bias = ask(robot, "mass_matrix", q), ask(robot, "bias_force", q, v)
    assert_close(times(M, a) + bias, tau, INVERSION)


@every_method("bias_force")
def test_bias_force_is_inverse_dynamics_without_acceleration(robot: on.Robot, method: str) -> None:
    q, v, _ = states(robot)
    f = external_forces(robot)
    zero = np.zeros_like(v)
    assert_close(ask(robot, "bias_force", q, v, method=method), ask(robot, "inverse_dynamics", q, v, zero), ROUNDING)
    assert_close(
        ask(robot, "bias_force", q, v, external=f, method=method),
        ask(robot, "inverse_dynamics", q, v, zero, external=f),
        ROUNDING,
    )


@every_method("gravity_force")
def test_gravity_force_is_bias_force_at_rest(robot: on.Robot, method: str) -> None:
    q, v, _ = states(robot)
    gravity = ask(robot, "gravity_force", q, method=method)
    assert_close(gravity, ask(robot, "bias_force", q, np.zeros_like(v)), ROUNDING)
    assert np.abs(gravity).max() > 1.0


@pytest.mark.slow
@every_method("potential_energy")
def test_gravity_force_is_the_gradient_of_potential_energy(robot: on.Robot, method: str) -> None:
    q, _, _ = states(robot)
    gravity = ask(robot, "gravity_force", q)
    for k in range(robot.nv):
        along = np.broadcast_to(np.eye(robot.nv)[k], gravity.shape)
        slope = rate(robot, lambda q, v: ask(robot, "potential_energy", q, method=method), q, along)
        assert_close(slope, gravity[..., k], FINITE_DIFFERENCE)


@every_method("kinetic_energy")
def test_kinetic_energy_is_that_of_the_mass_matrix(robot: on.Robot, method: str) -> None:
    q, v, _ = states(robot)
    M = ask(robot, "mass_matrix", q)
    expected = np.einsum("...i,...ij,...j->...", v, M, v) / 2
    assert_close(ask(robot, "kinetic_energy", q, v, method=method), expected, ROUNDING)


def test_power_of_joint_forces_is_the_rate_of_energy(robot: on.Robot) -> None:
    q, v, a = states(robot)

    def energy(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return ask(robot, "kinetic_energy", q, v) + ask(robot, "potential_energy", q)

    power = np.einsum("...i,...i->...", ask(robot, "inverse_dynamics", q, v, a), v)
    assert_close(rate(robot, energy, q, v, a), power, FINITE_DIFFERENCE)


def test_power_of_external_forces_is_that_of_their_bodies(robot: on.Robot) -> None:
    q, v, a = states(robot)
    f = external_forces(robot)
    less = ask(robot, "inverse_dynamics", q, v, a) - ask(robot, "inverse_dynamics", q, v, a, external=f)
    expected = np.zeros(len(q))
    for k, body in enumerate(robot.bodies):
        expected += (f[:, k] * ask(robot, "velocity", q, v, frame=body.name, axes="frame")).sum(axis=-1)
    assert_close((less * v).sum(axis=-1), expected, ROUNDING)


@pytest.mark.parametrize("name", ["tree with armature", "chain", "floating tree"])
def test_energy_balance_of_a_motion(name: str) -> None:
    """Ten steps of a Runge-Kutta rule under constant joint forces: they do as much work as the energy grows."""
    robot = TREES[name]
    q, v, tau = (x[:3] for x in states(robot))
    h, work = 1e-3, np.zeros(3)

    def energy() -> np.ndarray:
        return ask(robot, "kinetic_energy", q, v) + ask(robot, "potential_energy", q)

    def slope(u: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
        """The rates of a step u from q, of the velocity w and of the work."""
        here = ask(robot, "integrate", q, u, 1.0)
        return w + _turning(robot, u, w), ask(robot, "forward_dynamics", here, w, tau), (tau * w).sum(axis=-1)

    before = energy()
    for _ in range(10):
        k1 = slope(0 * v, v)
        k2 = slope(h / 2 * k1[0], v + h / 2 * k1[1])
        k3 = slope(h / 2 * k2[0], v + h / 2 * k2[1])
        k4 = slope(h * k3[0], v + h * k3[1])
        u, dv, dw = (h * (a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True))
        q, v, work = ask(robot, "integrate", q, u, 1.0), v + dv, work + dw
    assert np.abs(work).max() > 1e-3
    assert_close(energy() - before, work, ENERGY_STEPS)


def _turning(robot: on.Robot, u: np.ndarray, w: np.ndarray) -> np.ndarray:
    """How the axes of rotations turn under a step: u x w / 2 + u x (u x w) / 12 (dexp inverse, body axes)."""
    out = np.zeros_like(w)
    for c in robot.joints:
        along = {on.Spherical: [0, 1, 2], on.Free: [0, 1, 2, 3, 4, 5], on.Planar: [2, 3, 4]}.get(type(c.type))
        if along is None:
            continue
        x, y = np.zeros((2, *u.shape[:-1], 6))
        x[..., along], y[..., along] = u[..., c.v], w[..., c.v]
        once = _bracket(x, y)
        out[..., c.v] = (once / 2 + _bracket(x, once) / 12)[..., along]
    return out


def _bracket(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    shifted = np.cross(x[..., :3], y[..., 3:]) + np.cross(x[..., 3:], y[..., :3])
    return np.concatenate([np.cross(x[..., :3], y[..., :3]), shifted], axis=-1)


@pytest.mark.parametrize("axes", ["frame", "world"])
@pytest.mark.parametrize("frame", ["tool", "body2"])
def test_jacobian_times_velocity_is_velocity(robot: on.Robot, frame: str, axes: str) -> None:
    q, v, _ = states(robot)
    J = ask(robot, "jacobian", q, frame=frame, axes=axes)
    assert_close(times(J, v), ask(robot, "velocity", q, v, frame=frame, axes=axes), ROUNDING)


def test_velocity_is_the_rate_of_pose(robot: on.Robot) -> None:
    q, v, _ = states(robot)
    moved = rate(robot, lambda q, v: ask(robot, "pose", q, frame="tool"), q, v)
    R = ask(robot, "pose", q, frame="tool")[..., :3, :3]
    own = ask(robot, "velocity", q, v, frame="tool", axes="frame")
    assert_close(moved[..., :3, :3], R @ skew(own[..., :3]), FINITE_DIFFERENCE)
    assert_close(moved[..., :3, 3], times(R, own[..., 3:]), FINITE_DIFFERENCE)
    world = ask(robot, "velocity", q, v, frame="tool", axes="world")
    assert_close(world[..., :3], times(R, own[..., :3]), ROUNDING)
    assert_close(world[..., 3:], times(R, own[..., 3:]), ROUNDING)


def test_acceleration_is_the_rate_of_velocity(robot: on.Robot) -> None:
    """In the world's axes that is the classical kind, in the frame's own the spatial one."""
    q, v, a = states(robot)
    for axes, kind in (("world", "classical"), ("frame", "spatial")):

        def velocity(q: np.ndarray, v: np.ndarray, axes: str = axes) -> np.ndarray:
            return ask(robot, "velocity", q, v, frame="tool", axes=axes)

        found = ask(robot, "acceleration", q, v, a, frame="tool", axes=axes, kind=kind)
        assert_close(found, rate(robot, velocity, q, v, a), FINITE_DIFFERENCE)


def test_kinds_of_acceleration_differ_by_the_turning_of_the_velocity(robot: on.Robot) -> None:
    q, v, a = states(robot)
    for axes in ("frame", "world"):
        u = ask(robot, "velocity", q, v, frame="tool", axes=axes)
        spatial, classical = (
            ask(robot, "acceleration", q, v, a, frame="tool", axes=axes, kind=kind) for kind in ("spatial", "classical")
        )
        assert_close(classical[..., :3], spatial[..., :3], ROUNDING)
        assert_close(classical[..., 3:] - spatial[..., 3:], np.cross(u[..., :3], u[..., 3:]), ROUNDING)


@pytest.mark.parametrize("question", ["inverse_dynamics", "bias_force"])
def test_external_forces_act_through_the_jacobians_of_their_bodies(robot: on.Robot, question: str) -> None:
    q, v, a = states(robot)
    arguments = (q, v, a)[: 3 if question == "inverse_dynamics" else 2]
    f = external_forces(robot)
    expected = ask(robot, question, *arguments)
    for k, body in enumerate(robot.bodies):
        J = ask(robot, "jacobian", q, frame=body.name, axes="frame")
        expected = expected - times(J.swapaxes(-1, -2), f[:, k])
    assert_close(ask(robot, question, *arguments, external=f), expected, ROUNDING)


@pytest.mark.slow
def test_forces_by_name_act_at_their_frames(robot: on.Robot) -> None:
    q, v, a = states(robot)
    rng = np.random.default_rng(1)
    wrenches = {"tool": rng.normal(size=6), "body3": rng.normal(size=(len(q), 6)), robot.base: np.ones(6)}
    expected = ask(robot, "inverse_dynamics", q, v, a)
    for name in ("tool", "body3"):
        J = ask(robot, "jacobian", q, frame=name, axes="frame")
        expected = expected - times(J.swapaxes(-1, -2), wrenches[name])
    if robot.base not in {f.name for f in robot.frames}:
        del wrenches[robot.base]
    assert_close(robot.inverse_dynamics(q, v, a, external=wrenches), expected, ROUNDING)


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 0.0), (1.0, -2.0, -9.81)])
def test_momentum_of_a_floating_system_changes_by_gravity_alone(gravity: tuple[float, ...]) -> None:
    robot = dataclasses.replace(TREES["floating tree"], gravity=gravity)
    q, v, _ = states(robot)
    tau = np.random.default_rng(2).normal(size=v.shape)
    tau[:, :6] = 0.0  # nothing holds the base
    a = ask(robot, "forward_dynamics", q, v, tau)

    def momentum(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Angular about the world's origin, and linear: six rows of the mass matrix, in the world's axes."""
        h = times(ask(robot, "mass_matrix", q)[..., :6, :], v)
        T = ask(robot, "pose", q, frame="body0")
        linear = times(T[..., :3, :3], h[..., 3:])
        angular = times(T[..., :3, :3], h[..., :3]) + np.cross(T[..., :3, 3], linear)
        return np.concatenate([angular, linear], axis=-1)

    mass, g = robot.mass, np.array(gravity)
    centre = np.zeros((len(q), 3))
    for body in robot.bodies:
        T = ask(robot, "pose", q, frame=body.name)
        centre += body.mass / mass * (times(T[..., :3, :3], np.array(body.com)) + T[..., :3, 3])
    weight = np.concatenate([mass * np.cross(centre, g), np.broadcast_to(mass * g, centre.shape)], axis=-1)
    size = np.abs(momentum(q, v)).max()
    assert_close(rate(robot, momentum, q, v, a) / size, weight / size, FINITE_DIFFERENCE)


def test_steps_lead_from_one_position_to_the_other(robot: on.Robot) -> None:
    q0, v, _ = states(robot, 1)
    q1, _, _ = states(robot, 2)
    there = ask(robot, "integrate", q0, ask(robot, "difference", q0, q1), 1.0)
    for c in robot.joints:
        if c.nq in (4, 7):  # a quaternion and its negative are one rotation
            w = slice(c.q_start, c.q_start + 4)
            there[:, w] *= np.sign((there[:, w] * q1[:, w]).sum(axis=-1, keepdims=True))
    assert_close(there, q1, ROUNDING)
    assert_close(ask(robot, "difference", q0, ask(robot, "integrate", q0, v, 0.3)), 0.3 * v, ROUNDING)


def test_frames_of_merged_bodies_move_as_if_they_were_not_merged() -> None:
    kept, merged = random_robot(5, 12, merge=False), random_robot(5, 12)
    assert len(kept.bodies) > len(merged.bodies) and kept.nv == merged.nv
    q, v, a = states(kept)
    assert_close(ask(merged, "inverse_dynamics", q, v, a), ask(kept, "inverse_dynamics", q, v, a), ROUNDING)
    assert_close(ask(merged, "mass_matrix", q), ask(kept, "mass_matrix", q), ROUNDING)
    for frame in (b.name for b in kept.bodies):
        assert_close(ask(merged, "pose", q, frame=frame), ask(kept, "pose", q, frame=frame), ROUNDING)
