"""Gradients and sensitivities of rollouts: against differences in longdouble, closed forms, and each other."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError, UnknownNameError
from ordern.model.variation import varied_robot
from ordern.simulate import rollout_derivatives as module
from ordern.simulate.integrators.numpy_machine import NumpyMachine
from ordern.simulate.integrators.rk_step import fixed_step
from ordern.simulate.integrators.tableaus import TABLEAUS
from tests.kernel.varied_robots import random_numbers
from tests.random_models import ALL_JOINTS, random_robot, random_state
from tests.tolerances import FINITE_DIFFERENCE, METHODS, ROUNDING, SINGLE, assert_close

PENDULUM = on.load("double-pendulum")
ARM = on.load("puma560")
UNIT = tuple(j for j in ALL_JOINTS if j not in (on.Spherical, on.Free))
"""Joints whose positions are any numbers. Quaternions leave their unit length within Runge-Kutta steps; there, the
text and compiled code, which groups inertias, differ."""
PRECISE = 1e-9
"""Central differences in longdouble with steps of 1e-6: their error is 1e-12 times third derivatives up to 1e3."""


class Forced:
    """A robot under constant forces, with numbers of any precision."""

    def __init__(self, robot: on.Robot, tau: np.ndarray) -> None:
        self.robot, self.tau = robot, tau

    def rates(self, t, q, v):
        robot, smoothing = self.robot, np.asarray(0.01, q.dtype)
        tau = self.tau + robot.kernel("passive_force")(q, v, smoothing) if robot.has_passive else self.tau
        return robot.forward_dynamics(q, v, tau), 0.0, 0.0


def precise(robot: on.Robot, a: dict[str, Any], method: str) -> tuple[np.ndarray, np.ndarray]:
    """All states of one trajectory, step by step."""
    q, v = a["q0"], a["v0"]
    qs, vs = [q], [v]
    for tau in a["tau"]:
        q, v = fixed_step(NumpyMachine(Forced(robot, tau), 0.0, a["dt"]), TABLEAUS[method], q, v)
        qs.append(q)
        vs.append(v)
    return np.array(qs), np.array(vs)


def random_tangents(robot: on.Robot, arguments: dict[str, Any], seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    found = {}
    for name, x in arguments.items():
        shape = (*np.shape(x)[:-1], robot.nv) if name in ("q0", "target") else np.shape(x)
        found[name] = rng.normal(size=shape) * (0.01 if name == "dt" else 1.0)
    return found


def moved(robot: on.Robot, arguments: dict[str, Any], tangents: dict[str, Any], h: Any) -> dict[str, Any]:
    """All arguments, moved along their tangents."""
    place = dict.fromkeys(("q0", "target"), robot.integrate)
    return {name: place.get(name, np.add)(x, h * tangents[name]) for name, x in arguments.items()}


CASES = [
    ("semi-implicit-euler", random_robot(4, 6, UNIT[:7], passive=True)),
    ("semi-implicit-euler", random_robot(1, 4, (on.Spherical, on.Free, on.Planar, on.Revolute), floating=True)),
    ("semi-implicit-euler", random_robot(2, 4, (on.Spherical, on.Revolute), passive=True, armature=True)),
    ("rk4", random_robot(3, 5, UNIT[5:], passive=True, armature=True)),
    ("cash-karp", random_robot(7, 4, (on.Revolute, on.Prismatic), mimic=True, passive=True)),
    ("dormand-prince", ARM),
    ("dormand-prince-8", PENDULUM),
    ("rk4", PENDULUM),
]


@pytest.mark.parametrize("case", [pytest.param(k, marks=pytest.mark.slow if k < 7 else ()) for k in range(len(CASES))])
def test_against_differences_in_longdouble(case: int) -> None:
    method, robot = CASES[case]
    q, v, _ = random_state(robot, case)
    exact = {"q0": q, "v0": v, "tau": np.random.default_rng(case).normal(size=(4, robot.nv)), "dt": np.array(0.01)}
    plain = {"method": method, "dynamics": "articulated-body"}  # explicit forces, as in `precise`
    run = robot.rollout(q, v, exact["tau"], dt=0.01, **plain)
    along = random_tangents(robot, exact, case)
    exact, rates = ({k: np.asarray(x, np.longdouble) for k, x in some.items()} for some in (exact, along))
    h = np.longdouble(1e-6)
    here = precise(robot, exact, method)[0]
    (q1, v1), (q0, v0) = (precise(robot, moved(robot, exact, rates, s * h), method) for s in (1, -1))
    found = run.jvp(**along)
    assert_close(found.v, (v1 - v0) / (2 * h), PRECISE)
    assert_close(found.q, (robot.difference(here, q1) - robot.difference(here, q0)) / (2 * h), PRECISE)
    rng = np.random.default_rng(case)
    wq, wv = rng.normal(size=found.q.shape), rng.normal(size=found.v.shape)
    gradient = run.vjp(wq, wv)
    total = sum(np.sum(getattr(gradient, name) * along[name]) for name in gradient._fields)
    assert_close(total, np.sum(wq * found.q + wv * found.v), METHODS)


def rolled(robot: on.Robot, a: dict[str, Any], **more: Any) -> Any:
    feedback = (a["kp"], a["kd"], a["target"]) if "kp" in a else None
    external = a.get("external")
    return robot.rollout(
        a["q0"], a["v0"], a.get("tau"), dt=float(a["dt"]), feedback=feedback, external=external, **more
    )


def everything(robot: on.Robot, batch: tuple[int, ...], steps: int | None) -> dict[str, Any]:
    """All arguments that a rollout may have; forces and targets for each step, or constant."""
    q, v, tau = random_state(robot, 5, batch)
    rng, rows = np.random.default_rng(0), () if steps is None else (steps,)
    arguments: dict[str, Any] = {"q0": q, "v0": v, "dt": 0.02, "tau": np.broadcast_to(tau, tau.shape)}
    arguments["external"] = rng.normal(size=(*batch, *rows, len(robot.bodies), 6))
    arguments |= {"kp": rng.uniform(1, 3, robot.nv), "kd": rng.uniform(0, 1, robot.nv)}
    arguments["target"] = robot.random(rng, (*batch, *rows))
    if steps is not None:
        arguments["tau"] = rng.normal(size=(*batch, *rows, robot.nv))
    return arguments


MIXED = random_robot(21, n=5, joints=(on.Revolute, on.Spherical, on.Planar, on.Universal), floating=True, passive=True)


LONG = random_robot(3, 66, (on.Revolute, on.Prismatic), passive=True)
"""More freedoms than straight-line code is made for: derivatives are loops over bodies."""


@pytest.mark.parametrize(
    ("robot", "method", "rows", "every"),
    [
        (PENDULUM, "semi-implicit-euler", None, 3),
        pytest.param(MIXED, "semi-implicit-euler", 7, 1, marks=pytest.mark.slow),
        pytest.param(MIXED, "rk4", 7, 2, marks=pytest.mark.slow),
        pytest.param(MIXED, "rk4", None, 7, marks=pytest.mark.slow),
        pytest.param(random_robot(9, 8, ALL_JOINTS, passive=True), "rk4", 7, 1, marks=pytest.mark.slow),
        pytest.param(LONG, "semi-implicit-euler", 7, 7, marks=pytest.mark.slow),
    ],
)
def test_by_every_argument(robot: on.Robot, method: str, rows: int | None, every: int) -> None:
    """Differences of compiled rollouts have what the rates say, and weighted rates have what gradients say."""
    arguments, steps = everything(robot, (3,), rows), 7
    run = rolled(robot, arguments, method=method, every=every, steps=steps)
    along, h = random_tangents(robot, arguments, 1), 1e-6
    ends = [
        rolled(robot, moved(robot, arguments, along, s * h), method=method, every=every, steps=steps) for s in (1, -1)
    ]
    found = run.jvp(**along)
    positions = [robot.difference(run.q, x.q) for x in ends]
    scale = np.abs(found.v).max()
    assert_close(found.v / scale, (ends[0].v - ends[1].v) / (2 * h * scale), FINITE_DIFFERENCE)
    assert_close(found.q / scale, (positions[0] - positions[1]) / (2 * h * scale), FINITE_DIFFERENCE)
    rng = np.random.default_rng(2)
    wq, wv = rng.normal(size=run.v.shape), rng.normal(size=run.v.shape)
    gradient = run.vjp(wq, wv)
    assert set(gradient._fields) == set(arguments)
    total = sum(np.sum(getattr(gradient, name) * along[name]) for name in gradient._fields)
    assert_close(total / scale, np.sum(wq * found.q + wv * found.v) / scale, METHODS)
    part = run.vjp(v=wv, wrt=("dt", "v0"))
    assert part._fields == ("v0", "dt")
    assert_close(part.v0 + run.vjp(q=wq).v0, gradient.v0, METHODS)


def test_a_fall() -> None:
    """A mass that is pushed: after n steps of semi-implicit Euler, x = x0 + n h v0 + n (n + 1) / 2 h^2 f / m."""
    cart = on.Builder("cart", gravity=(0, 0, 0)).body("rail").body("cart", parent="rail", mass=2.0,
        joint=on.Prismatic((1, 0, 0)), joint_name="slide").build()  # fmt: skip
    n, h = 50, 0.01
    run = cart.rollout([0.3], [0.5], [3.0], n, h, every=n)
    gradient = run.vjp(q=[[0.0], [1.0]])
    wanted = (1.0, n * h, 0.5 * n * (n + 1) * h * h / 2.0, n * 0.5 + n * (n + 1) * h * 3.0 / 2.0)
    assert_close([float(np.squeeze(x)) for x in gradient], wanted, ROUNDING)
    table = cart.rollout([0.3], [0.5], np.full((n, 1), 3.0), dt=h, every=n).vjp(q=[[0.0], [1.0]])
    assert_close(table.tau[:, 0], h * h / 2.0 * np.arange(n, 0, -1), ROUNDING)


def test_tiles_threads_segments_and_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trajectory has the same gradient wherever it is in a batch, and however long the tape is."""
    q, v, tau = random_state(PENDULUM, 0, (37,))
    run = PENDULUM.rollout(q, v, tau[:, None] * np.ones((40, 1)), dt=0.01)
    wq, wv = np.random.default_rng(0).normal(size=(2, *run.v.shape))
    whole = run.vjp(wq, wv, threads=1)
    for threads in (None, 3):
        for a, b in zip(whole, run.vjp(wq, wv, threads=threads), strict=True):
            np.testing.assert_array_equal(a, b)
    monkeypatch.setattr(module, "_TAPE_BYTES", 1)
    for a, b in zip(whole, run.vjp(wq, wv), strict=True):
        np.testing.assert_array_equal(a, b)
    one = PENDULUM.rollout(q[5], v[5], tau[5] * np.ones((40, 1)), dt=0.01).vjp(wq[5], wv[5])
    for a, b in zip(whole, one, strict=True):
        np.testing.assert_array_equal(a[5], b)
    columns = PENDULUM.rollout(q[5], v[5], tau[5], steps=40, dt=0.01).jvp(q0=np.eye(2))
    assert_close(columns.q[:, -1] @ wq[5, -1], _by_start(PENDULUM, q[5], v[5], tau[5], wq[5, -1]), METHODS)


def _by_start(robot: on.Robot, q: Any, v: Any, tau: Any, weights: Any) -> Any:
    run = robot.rollout(q, v, tau, steps=40, dt=0.01, every=40)
    return run.vjp(q=np.stack([0.0 * weights, weights])).q0


def test_single_precision() -> None:
    q, v, tau = (x.astype(np.float32) for x in random_state(PENDULUM, 1, (9,)))
    runs = [PENDULUM.rollout(*(x.astype(kind) for x in (q, v, tau)), steps=30) for kind in (np.float32, float)]
    single, double = (run.vjp(q=np.ones(run.v.shape, run.v.dtype)) for run in runs)
    assert {x.dtype for x in single} == {np.dtype(np.float32)}
    for a, b in zip(single, double, strict=True):
        assert_close(a, b, SINGLE)
    rates = [run.jvp(v0=np.ones(2, run.v.dtype)) for run in runs]
    assert rates[0].v.dtype == np.float32
    assert_close(rates[0].v, rates[1].v, SINGLE)


def test_weights_by_the_numbers_of_quaternions() -> None:
    ball = on.Builder("ball").body("base").body("ball", parent="base", joint=on.Spherical(), mass=1.0,
        com=(0.1, 0, 0.2), inertia=(0.1, 0.2, 0.15)).build()  # fmt: skip
    q, v, tau = random_state(ball, 0, (3,))
    run = ball.rollout(q, v, tau, steps=5, dt=0.01, method="rk4")
    weights = np.random.default_rng(0).normal(size=run.q.shape)
    tangent = ball.kernel("pull position_rate by v")(run.q, run.v, weights)
    for a, b in zip(run.vjp(q=weights), run.vjp(q=tangent), strict=True):
        assert_close(a, b, METHODS)


@pytest.mark.slow
def test_loops() -> None:
    """Loops that Baumgarte's terms keep closed: their accelerations are differentiated with the multipliers."""
    robot = on.load("four-bar")
    q, v = robot.assemble().q, np.zeros(robot.nv)
    tau = np.random.default_rng(0).normal(size=(6, robot.nv))
    run = robot.rollout(q, v, tau, dt=1e-3, method="rk4")
    along = np.random.default_rng(1).normal(size=tau.shape)
    found, h = run.jvp(tau=along), 1e-4
    ends = [robot.rollout(q, v, tau + s * h * along, dt=1e-3, method="rk4") for s in (1, -1)]
    assert_close(found.v, (ends[0].v - ends[1].v) / (2 * h), FINITE_DIFFERENCE)
    wq, wv = np.random.default_rng(2).normal(size=(2, *run.v.shape))
    total = np.sum(run.vjp(wq, wv, wrt="tau").tau * along)
    assert_close(total, np.sum(wq * found.q + wv * found.v), METHODS)
    projected = robot.rollout(q, v, tau, dt=1e-3, drift="project")
    with pytest.raises(ArgumentError, match="drift='baumgarte' are exact"):
        projected.vjp(v=wv)


@pytest.mark.slow
def test_memory_is_bounded() -> None:
    """4096 motions of a thousand steps within 2 GB, with all that is given and found; a long one in some megabytes."""
    tracemalloc.start()
    q, v, _ = random_state(ARM, 0, (4096,))
    run = ARM.rollout(q, 0.0 * v, np.zeros((4096, 1000, ARM.nv)), dt=1e-4)
    gradient = run.vjp(q=np.ones_like(run.v), v=run.v)
    assert gradient.tau.shape == (4096, 1000, ARM.nv)
    assert tracemalloc.get_traced_memory()[1] < 2e9
    del run, gradient
    tracemalloc.stop()
    run = PENDULUM.rollout([0.1, 0.0], [0.0, 0.0], steps=1_000_000, dt=1e-5, every=1_000_000)
    tracemalloc.start()
    found = run.vjp(q=np.ones((2, 2)))
    assert np.isfinite(found.q0).all()
    assert tracemalloc.get_traced_memory()[1] < 5e7
    tracemalloc.stop()


def test_refusals() -> None:
    rest = np.zeros(2)
    run = PENDULUM.rollout(rest, rest, steps=3)
    weights = np.ones((4, 2))
    with pytest.raises(ArgumentError, match="give the weights of positions"):
        run.vjp()
    with pytest.raises(ArgumentError, match=r"weights of v have shape \(3, 2\), not \(4, 2\)"):
        run.vjp(v=weights[1:])
    for few in (1.0, np.ones(2), np.ones((1, 2)), np.ones((4, 1))):  # never one row for all states
        with pytest.raises(ArgumentError, match=r"weights of q have shape .*, not \(4, 2\).*zeros.*every=steps"):
            run.vjp(q=few)
    with pytest.raises(ArgumentError, match=r"have shape \(3, 1, 2\), not \(3, 4, 2\)"):
        PENDULUM.rollout(np.zeros((3, 2)), rest, steps=3).vjp(v=np.ones((3, 1, 2)))
    with pytest.raises(UnknownNameError, match="'mass'"):
        run.vjp(v=weights, wrt="mass")
    with pytest.raises(UnknownNameError, match=r"vary them first, with robot\.vary\(mass=\.\.\.\)"):
        run.vjp(v=weights, wrt="inertia")
    with pytest.raises(UnknownNameError, match="'kp'"):
        run.jvp(kp=rest)
    with pytest.raises(ArgumentError, match=r"tangent of v0 has shape \(3,\); its last dimensions must be \(2,\)"):
        run.jvp(v0=np.zeros(3))
    with pytest.raises(ArgumentError, match="at least one of q0, v0, dt"):
        run.jvp()
    with pytest.raises(ArgumentError, match="some trajectories of a rollout"):
        PENDULUM.rollout(np.zeros((3, 2)), rest, steps=3)[1].vjp(v=weights)
    with pytest.raises(ArgumentError, match=r"policy.*run\.tau"):
        PENDULUM.rollout(rest, rest, steps=3, policy=lambda q, v: -v).vjp(v=weights)
    with pytest.raises(ArgumentError, match="noise"):
        PENDULUM.rollout(rest, rest, steps=3, noise={"tau": 0.1}).vjp(v=weights)
    with pytest.raises(ArgumentError, match="limits='active' or 'ignore'"):
        ARM.rollout(ARM.neutral(), np.zeros(6), steps=2, limits="bounce").vjp(v=np.ones((3, 6)))
    q0 = np.array([0.1, 0.2])
    run = PENDULUM.rollout(q0, rest, steps=3)
    q0 += 0.1
    with pytest.raises(ArgumentError, match="have changed since"):
        run.vjp(v=weights)


VARIED = [
    (PENDULUM, "semi-implicit-euler"),
    (ARM, "rk4"),
    (random_robot(5, 4, (on.Revolute, on.Prismatic), mimic=True, passive=True), "rk4"),
    (random_robot(8, 4, (on.Revolute, on.Spherical, on.Planar, on.Helical), passive=True), "semi-implicit-euler"),
]


@pytest.mark.parametrize("case", [pytest.param(k, marks=pytest.mark.slow if k else ()) for k in range(len(VARIED))])
def test_by_parameters(case: int) -> None:
    """All parameters of a robot, with a set for each trajectory: masses, placements, springs, ratios, gravity ..."""
    robot, method = VARIED[case]
    rng, h = np.random.default_rng(case), 1e-6
    numbers = random_numbers(robot, rng, (3,))
    q, v, tau = random_state(robot, 1, (3,))
    along = {
        name: x * rng.normal() if "inertia" in name else 0.1 * rng.normal(size=x.shape) for name, x in numbers.items()
    }

    def roll(s: float) -> Any:
        some = varied_robot(robot, {name: x + s * along[name] for name, x in numbers.items()}, {})
        return some.rollout(q, v, tau, steps=6, dt=0.01, method=method)

    run, after, before = roll(0.0), roll(h), roll(-h)
    found = run.jvp(**along)
    scale = max(1.0, np.abs(found.v).max())
    assert_close(found.v / scale, (after.v - before.v) / (2 * h * scale), FINITE_DIFFERENCE)
    wq, wv = rng.normal(size=(2, *run.v.shape))
    gradient = run.vjp(wq, wv)
    assert gradient._fields == ("q0", "v0", "tau", "dt", *numbers)
    assert {name: getattr(gradient, name).shape for name in numbers} == {name: x.shape for name, x in numbers.items()}
    total = sum(np.sum(getattr(gradient, name) * along[name]) for name in numbers)
    assert_close(total / scale, np.sum(wq * found.q + wv * found.v) / scale, METHODS)


def test_without_the_states() -> None:
    """Functions of the robot take the arguments of a rollout, and give what the rollout gives."""
    q, v, tau = random_state(PENDULUM, 3, (4,))
    weights = np.random.default_rng(0).normal(size=(4, 6, 2))
    run = PENDULUM.rollout(q, v, tau, 5, 0.01, method="rk4")
    for a, b in zip(run.vjp(v=weights), PENDULUM.rollout_vjp(q, v, tau, 5, 0.01, v=weights, method="rk4"), strict=True):
        np.testing.assert_array_equal(a, b)
    found = PENDULUM.rollout_jvp(q, v, tau, 5, 0.01, tangents={"tau": tau}, method="rk4")
    np.testing.assert_array_equal(found.q, run.jvp(tau=tau).q)
    with pytest.raises(UnknownNameError, match="'restitution'"):
        PENDULUM.rollout_vjp(q, v, tau, 5, v=weights, restitution=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk4", "semi-implicit-euler"])
def test_long_robots_with_quaternions(method: str) -> None:
    robot = random_robot(3, 61, (on.Revolute, on.Revolute, on.Spherical), floating=True)
    rng = np.random.default_rng(0)
    q, v, tau = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=(3, robot.nv))
    run = robot.rollout(q, v, tau, dt=1e-3, method=method)
    dq, dv, dtau = rng.normal(size=robot.nv), rng.normal(size=robot.nv), rng.normal(size=tau.shape)
    rates = run.jvp(q0=dq, v0=dv, tau=dtau)
    h = 1e-6
    ends = [
        robot.rollout(robot.integrate(q, dq, s * h), v + s * h * dv, tau + s * h * dtau, dt=1e-3, method=method)
        for s in (1, -1)
    ]
    assert_close(rates.v, (ends[0].v - ends[1].v) / (2 * h), 1e-7)
    wq, wv = rng.normal(size=(2, *rates.v.shape))
    gradient = run.vjp(q=wq, v=wv)
    summed = gradient.q0 @ dq + gradient.v0 @ dv + np.sum(gradient.tau * dtau)
    assert_close(summed, np.sum(wq * rates.q) + np.sum(wv * rates.v), 1e-10)


@pytest.mark.slow
def test_long_robots_with_parameters_that_vary_are_refused() -> None:
    robot = random_robot(3, 61, (on.Revolute,)).vary(gravity=np.array([0.0, 0.0, -9.0]))
    run = robot.rollout(robot.neutral(), np.zeros(robot.nv), steps=1)
    with pytest.raises(ArgumentError, match="61 freedoms, and parameters that vary"):
        run.vjp(v=np.ones_like(run.v))


def test_no_steps_and_no_freedoms() -> None:
    run = PENDULUM.rollout(np.ones((3, 2)), np.zeros((3, 2)), steps=0)
    gradient = run.vjp(q=np.full((3, 1, 2), 2.0), v=np.full((3, 1, 2), 3.0))
    np.testing.assert_array_equal(gradient.q0, np.full((3, 2), 2.0))
    np.testing.assert_array_equal(gradient.v0, np.full((3, 2), 3.0))
    assert PENDULUM.rollout(np.ones((0, 2)), np.zeros((0, 2)), steps=2).vjp(v=np.ones((0, 3, 2))).v0.shape == (0, 2)
