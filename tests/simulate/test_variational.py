"""The structure-preserving method: what it conserves, its order, its mirror image, its forces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.simulate.forces import Table
from ordern.simulate.integrators.integrator import StepFailedError
from ordern.simulate.integrators.variational import Variational
from tests.random_models import ALL_JOINTS, random_robot, random_state
from tests.simulate.stepping import apart, energy, run, started, without_gravity
from tests.tolerances import (
    CLOSED_FORM,
    DIFFERENCED,
    DISCRETE_MOMENTUM,
    INVERSION,
    REVERSED,
    ROUNDING,
    assert_close,
    difference,
)

Array = np.ndarray

TREE = random_robot(61, 13, ALL_JOINTS, floating=True)
FLAT = random_robot(62, 6, (on.Revolute, on.Prismatic, on.Universal, on.Helical), armature=True, passive=True)
COUPLED = random_robot(66, 6, (on.Revolute, on.Prismatic), mimic=True, armature=True)
SPINNING = random_robot(64, 4, (on.Spherical, on.Revolute, on.Planar, on.Universal), floating=True)


def _logarithm(R: Array) -> Array:
    cosine = np.clip((np.trace(R) - 1.0) / 2.0, -1.0, 1.0)
    angle = np.arccos(cosine)
    n = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return n * (0.5 if angle < 1e-7 else angle / (2.0 * np.sin(angle)))


def discrete_lagrangian(robot: on.Robot, q0: Array, q1: Array, h: float) -> float:
    """From the poses of the bodies alone: mass centres move straight, bodies turn evenly, potentials by trapezia."""
    total = -0.5 * h * float(robot.potential_energy(q0) + robot.potential_energy(q1))
    for body in robot.bodies:
        A, B = robot.pose(q0, body.name), robot.pose(q1, body.name)
        c = np.array([*body.com, 1.0])
        d = (B @ c - A @ c)[:3]
        w = _logarithm(A[:3, :3].T @ B[:3, :3])
        xx, yy, zz, xy, xz, yz = body.inertia
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        total += (body.mass * float(d @ d) + float(w @ I @ w)) / (2.0 * h)
    return total


def slopes(robot: on.Robot, function: Any, q: Array, delta: float = 1e-4) -> Array:
    """The derivatives of a function along each velocity, by differences of fourth order."""
    found = []
    for e in np.eye(robot.nv):
        f = [function(robot.integrate(q, e, k * delta)) for k in (-2, -1, 1, 2)]
        found.append((f[0] - 8.0 * f[1] + 8.0 * f[2] - f[3]) / (12.0 * delta))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("robot", [TREE, SPINNING], ids=["tree", "spinning"])
def test_momenta_are_derivatives_of_the_discrete_lagrangian(robot: on.Robot) -> None:
    q, x, _ = random_state(robot, 3)
    h = 0.2
    q1 = robot.integrate(q, x, h)
    departure = robot.kernel("departure_momentum")(q, x, h, 0.01)
    arrival = robot.kernel("arrival_momentum")(q, departure, x, h, 0.01)
    assert_close(departure, -slopes(robot, lambda at: discrete_lagrangian(robot, at, q1, h), q), DIFFERENCED)
    assert_close(arrival, slopes(robot, lambda at: discrete_lagrangian(robot, q, at, h), q1), DIFFERENCED)


def arm(**more: float) -> on.Robot:
    """A shoulder, a slide and a screw, all with the same drive, springs and dampers."""
    builder = on.Builder("arm").body("base")
    joints = {"shoulder": on.Revolute((0, 1, 0)), "slide": on.Prismatic((1, 0, 0)), "screw": on.Helical((0, 0, 1), 0.3)}
    parent = "base"
    for k, (name, joint) in enumerate(joints.items()):
        builder.body(
            f"link {name}",
            parent=parent,
            joint=joint,
            at=(0.3, 0.1 * k, 0.0),
            mass=1.0 + k,
            com=(0.1, 0.2, 0.0),
            inertia=(0.1, 0.2, 0.15, 0.0, 0.01, 0.0),
            **more,
        )
        parent = f"link {name}"
    return builder.build()


@pytest.mark.slow
def test_drives_springs_dampers_and_friction_enter_the_momenta() -> None:
    plain, robot = arm(), arm(armature=0.4, damping=0.7, friction=0.3, stiffness=5.0)
    h, s = 0.1, 0.02
    q, x, _ = random_state(robot, 4)
    q1 = robot.integrate(q, x, h)
    forces = -np.array([0.7 * x + 0.3 * x / np.sqrt(x**2 + s**2) + 5.0 * at for at in (q, q1)])
    start, bare = (r.kernel("departure_momentum")(q, x, h, s) for r in (robot, plain))
    assert_close(start - bare, 0.4 * x - 0.5 * h * forces[0], CLOSED_FORM)
    finish, plainly = (
        robot.kernel("arrival_momentum")(q, start, x, h, s),
        plain.kernel("arrival_momentum")(q, bare, x, h, s),
    )
    assert_close(finish - plainly, 0.4 * x + 0.5 * h * forces[1], CLOSED_FORM)


@pytest.mark.slow
@pytest.mark.parametrize("robot", [TREE, FLAT, COUPLED], ids=["tree", "flat", "coupled"])
@pytest.mark.parametrize("way", ["unrolled", "rolled"])
def test_compiled_is_interpreted(robot: on.Robot, way: str) -> None:
    q, x, p = random_state(robot, 5, (7,))
    h, s = np.linspace(0.01, 0.1, 7), 0.05
    for question, given in (
        ("departure_momentum", (q, x, h, s)),
        ("arrival_momentum", (q, p, x, h, s)),
        ("step_velocity", (q, p, x, h, s)),
    ):
        expected = robot.kernel(question, way="interpreted")(*given)
        tolerance = INVERSION if question == "step_velocity" else CLOSED_FORM
        assert_close(robot.kernel(question, way=way)(*given), expected, tolerance)


@pytest.mark.slow
def test_the_step_departs_with_the_given_momentum() -> None:
    for robot in (TREE, FLAT, COUPLED):
        q, v, _ = random_state(robot, 6)
        integrator = started(Variational, robot, q, v, step=0.01)
        p = robot.mass_matrix_product(q, v)
        x = integrator._velocity(0.0, q, p, v, 0.01)
        assert_close(robot.kernel("departure_momentum")(q, x, 0.01, 0.01), p, CLOSED_FORM)


@pytest.mark.slow
def test_energy_of_a_double_pendulum_stays_in_its_band() -> None:
    """In 30,000 steps; a million are in the documentation."""
    robot = on.load("double-pendulum")
    q, v = np.array([0.9, 0.4]), np.zeros(2)
    widths = []
    for h in (0.01, 0.005):
        steps = run(started(Variational, robot, q, v, step=h), 150.0)
        Q, V = np.array([s.q1 for s in steps]), np.array([s.v1 for s in steps])
        error = (energy(robot, Q, V) - energy(robot, q, v)) / robot.kinetic_energy(Q, V).max()
        tenths = np.array_split(error, 10)
        means, most = np.array([part.mean() for part in tenths]), np.array([np.abs(part).max() for part in tenths])
        assert np.abs(means[5:].mean() - means[:5].mean()) < 0.1 * most.max()
        assert most[5:].max() < 1.5 * most[:5].max()
        widths.append(most.max())
    assert widths[0] < 4e-3
    assert 2.5 < widths[0] / widths[1] < 6.0


@pytest.mark.slow
@pytest.mark.parametrize("joints", [(on.Revolute, on.Prismatic), ALL_JOINTS], ids=["arms", "all joints"])
def test_momentum_of_a_floating_robot_is_conserved(joints: Any) -> None:
    robot = without_gravity(random_robot(67, 6, joints, floating=True))
    q, v, _ = random_state(robot, 7)
    tau = 0.5 * np.sin(np.arange(robot.nv))
    tau[:6] = 0.0  # drives push bodies against each other
    steps = run(started(Variational, robot, q, 0.5 * v, tau=tau, step=0.002), 2.0)
    before = robot.momentum(q, 0.5 * v)
    after = robot.momentum(np.array([s.q1 for s in steps]), np.array([s.v1 for s in steps]))
    assert np.abs(after - before).max() <= DISCRETE_MOMENTUM * np.abs(before).max()


@pytest.mark.slow
def test_the_mass_centre_moves_with_the_momentum_exactly() -> None:
    robot = without_gravity(SPINNING)
    q, v, _ = random_state(robot, 8)
    last = run(started(Variational, robot, q, v, step=0.01), 1.0)[-1]
    mass = sum(b.mass for b in robot.bodies)
    way = mass_centre(robot, last.q1) - mass_centre(robot, q)
    assert_close(way, robot.momentum(q, v)[3:] / mass, DISCRETE_MOMENTUM)


def mass_centre(robot: on.Robot, q: Array) -> Array:
    parts = [b.mass * (robot.pose(q, b.name) @ np.array([*b.com, 1.0]))[:3] for b in robot.bodies]
    return np.sum(parts, axis=0) / sum(b.mass for b in robot.bodies)


@pytest.mark.slow
def test_a_ball_flies_and_spins_exactly() -> None:
    """Its closed form: the centre falls on a parabola, the rate of turning is constant."""
    inertia = (0.3, 0.3, 0.3, 0.0, 0.0, 0.0)
    robot = (
        on.Builder("ball").body("base").body("ball", parent="base", joint=on.Free(), mass=2.0, inertia=inertia).build()
    )
    v = np.array([1.0, -2.0, 0.5, 0.3, 0.2, 0.1])
    last = run(started(Variational, robot, robot.neutral(), v, step=0.1), 2.0)[-1]
    angle = np.linalg.norm(v[:3]) * 2.0
    turned = np.array([np.cos(angle / 2), *(np.sin(angle / 2) * v[:3] / np.linalg.norm(v[:3]))])
    assert_close(last.q1, np.array([*turned, *(v[3:] * 2.0 + [0.0, 0.0, -0.5 * 9.81 * 4.0])]), CLOSED_FORM)
    assert_close(last.v1[:3], v[:3], CLOSED_FORM)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spinning", "coupled", "flat"])
def test_second_order(name: str) -> None:
    robot = {"spinning": SPINNING, "coupled": COUPLED, "flat": FLAT}[name]
    q, v, _ = random_state(robot, 9)
    q, v, end = robot.project(q), 0.5 * v, 0.5
    smoothing = 0.5
    tau = 0.3 * np.cos(np.arange(robot.nv))
    exact = robot.simulate(q, v, tau, end, rtol=1e-12, atol=1e-12, smoothing=smoothing)
    errors = []
    for h in (0.005, 0.0025):
        last = run(started(Variational, robot, q, v, tau=tau, step=h, smoothing=smoothing), end)[-1]
        errors.append(apart(robot, last, exact.q[-1], exact.v[-1]))
    assert errors[1] < 5e-3
    assert 1.9 < np.log2(errors[0] / errors[1]) < 2.1


@pytest.mark.slow
def test_back_the_way_it_came() -> None:
    q, v, _ = random_state(SPINNING, 10)
    there = run(started(Variational, SPINNING, q, v, step=0.005), 1.0)[-1]
    back = run(started(Variational, SPINNING, there.q1, -there.v1, step=0.005), 1.0)[-1]
    assert apart(SPINNING, back, q, -v) < REVERSED


def oscillator(damping: float, stiffness: float) -> on.Robot:
    builder = on.Builder("oscillator", gravity=(0.0, 0.0, 0.0)).body("base")
    return builder.body(
        "mass", parent="base", joint=on.Prismatic((1, 0, 0)), mass=2.0, damping=damping, stiffness=stiffness
    ).build()


@pytest.mark.slow
def test_a_strong_damper_is_stable_and_its_loss_is_booked() -> None:
    """A step multiplies the velocity by (m - h d / 2) / (m + h d / 2), of magnitude below one for any step."""
    robot, h = oscillator(500.0, 0.0), 0.1
    integrator = started(Variational, robot, [0.0], [1.0], step=h)
    lost = 0.0
    for k in range(1, 4):
        step = integrator.step(1.0)
        lost += step.dissipated
        assert_close(step.v1, [((2.0 - 0.5 * h * 500.0) / (2.0 + 0.5 * h * 500.0)) ** k], CLOSED_FORM)
    assert_close(lost, 1.0 - float(step.v1[0]) ** 2, CLOSED_FORM)


@pytest.mark.slow
def test_work_of_forces_that_depend_on_time_and_state() -> None:
    """The energy that is there is what was put in, to second order; with a strong gain, too."""
    robot = on.load("planar-3r")
    q, v = np.array([0.3, 0.4, -0.2]), np.zeros(3)
    for gain in (2.0, 100.0):

        def pull(t: float, q: Array, v: Array, gain: float = gain) -> Array:
            return np.array([np.sin(3.0 * t), 0.5, 0.0]) - gain * v

        drift = []
        for h in (0.01, 0.005):
            steps = run(started(Variational, robot, q, v, tau=pull, step=h), 0.5)
            last = steps[-1]
            change = energy(robot, last.q1, last.v1) - energy(robot, q, v)
            drift.append(abs(change - sum(s.work for s in steps)))
        exact = robot.simulate(q, v, pull, 0.5, method="radau", rtol=1e-7, atol=1e-7)
        assert apart(robot, last, exact.q[-1], exact.v[-1]) < 1e-2
        assert drift[1] < 1e-3
        if gain < 10.0:  # with the other one the first milliseconds are shorter than a step
            assert 3.5 < drift[0] / drift[1] < 4.5


@pytest.mark.slow
def test_external_forces_and_tables() -> None:
    robot = on.load("planar-3r")
    q, v = np.array([0.3, 0.4, -0.2]), np.zeros(3)
    table = Table([0.0, 0.2, 0.3], [[0.0, 0.0, 0.0], [0.3, 0.1, 0.0], [0.0, 0.0, 0.05]])
    forces = {robot.bodies[-1].name: [0.0, 0.0, 0.03, 0.1, 0.0, 0.2]}
    exact = robot.simulate(q, v, table, 0.3, external=forces)
    coarse = robot.simulate(q, v, table, 0.3, external=forces, method="variational", step=0.005)
    fine = robot.simulate(q, v, table, 0.3, external=forces, method="variational", step=0.0025)
    errors = [difference(x.q[-1], exact.q[-1]) for x in (coarse, fine)]
    assert errors[1] < 1e-3
    assert 3.5 < errors[0] / errors[1] < 4.5


def test_driver_and_steps() -> None:
    robot = on.load("double-pendulum")
    result = robot.simulate([0.5, 0.2], [0.0, 0.0], until=0.105, method="variational", step=0.01)
    assert_close(result.t, np.array([*np.arange(11) * 0.01, 0.105]), ROUNDING)
    last = run(started(Variational, robot, [0.5, 0.2], [0.0, 0.0], step=0.01), 0.105)[-1]
    assert np.array_equal(result.q[-1], last.q1)


def test_continues_to_the_bit() -> None:
    one = started(Variational, on.load("double-pendulum"), [0.5, 0.2], [1.0, -2.0], step=0.003)
    run(one, 0.05)
    other = Variational(one.problem, one.settings)
    other.restore(one.state())
    a, b = run(one, 0.1), run(other, 0.1)
    assert all(
        np.array_equal(x.q1, y.q1) and np.array_equal(x.v1, y.v1) and x.t1 == y.t1 for x, y in zip(a, b, strict=True)
    )


def test_refuses_what_rolls() -> None:
    builder = on.Builder("coin").body("base")
    coin = builder.body("coin", parent="base", joint=on.RollingDisc(0.1), joint_name="rim", mass=1.0).build()
    with pytest.raises(on.ArgumentError, match="'rim' \\(RollingDisc\\) rolls"):
        started(Variational, coin, coin.neutral(), np.zeros(3), step=0.01)
    with pytest.raises(on.ArgumentError, match="'variational' takes steps of a fixed length: give step="):
        on.load("double-pendulum").simulate(method="variational")


def test_a_step_that_is_too_long_says_so() -> None:
    robot = on.load("double-pendulum")
    integrator = started(Variational, robot, [0.5, 0.2], [300.0, -500.0], step=0.02)
    with pytest.raises(StepFailedError, match="give a shorter `step`") as failed:
        run(integrator, 1.0)
    assert failed.value.kind == "not-converged"


@pytest.mark.slow
def test_drives_of_a_body_that_turns_keep_their_order() -> None:
    """Unequal armatures along axes that turn with the body: their momentum turns along, to second order."""
    builder = on.Builder("spun").body("base").body("a", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.25))
    robot = builder.joint("free", on.Free(), "base", "a", armature=[0.3, 0.1, 0.2, 0.5, 0.2, 0.1]).build()
    v0 = np.random.default_rng(0).normal(size=6)
    true = robot.simulate(None, v0, until=1.0).v[-1]
    errors = [
        np.abs(robot.simulate(None, v0, until=1.0, method="variational", step=h).v[-1] - true).max()
        for h in (0.01, 0.005)
    ]
    assert errors[0] < 1e-2
    assert 3.5 < errors[0] / errors[1] < 4.5
