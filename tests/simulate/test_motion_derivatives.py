"""Derivatives of simulations: against differences of motions with the same steps, closed forms, and each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError, UnknownNameError
from ordern.model.variation import varied_robot
from ordern.simulate import motion_derivatives as module
from tests.kernel.varied_robots import random_numbers
from tests.random_models import random_robot, random_state
from tests.tolerances import METHODS, ROUNDING, assert_close

PENDULUM = on.load("double-pendulum")
ARM = on.load("puma560")
MIXED = random_robot(21, n=4, joints=(on.Revolute, on.Spherical, on.Planar, on.Universal), floating=True, passive=True)
TIMES = np.array([0.0, 0.1, 0.25])
CLOSE = 1e-6
"""Central differences with steps of 1e-5 in double precision; of adaptive methods, the steps differ by their error."""


def simulated(robot: on.Robot, a: dict[str, Any], hold: bool, **more: Any) -> on.Result:
    tau, external = (a.get(name) for name in ("tau", "external"))
    tau = on.Table(TIMES, tau, hold) if np.ndim(tau) > 1 else tau
    external = on.Table(TIMES, external) if np.ndim(external) > 2 else external
    return robot.simulate(a["q0"], a["v0"], tau, external=external, **more)


CASES: list[tuple[on.Robot, dict[str, Any], bool]] = [
    (PENDULUM, {"until": [0.05, 0.2, 0.3]}, False),
    (PENDULUM, {"until": [0.0, 0.051, 0.3], "method": "semi-implicit-euler", "step": 0.01}, False),
    (PENDULUM, {"until": [0.055, 0.3], "method": "rk4", "step": 0.01}, True),
    (ARM, {"until": [0.055, 0.3], "method": "cash-karp"}, True),
    (MIXED, {"until": [0.05, 0.2]}, False),
    (MIXED, {"until": [0.05, 0.2], "method": "dormand-prince"}, True),
    (MIXED, {"until": [0.031, 0.1], "method": "semi-implicit-euler", "step": 0.002}, True),
    (MIXED, {"until": [0.031, 0.1], "method": "rk4", "step": 0.002, "native": False}, False),
]


@pytest.mark.parametrize("case", [pytest.param(k, marks=pytest.mark.slow if k > 0 else ()) for k in range(len(CASES))])
@pytest.mark.parametrize("tables", [pytest.param(False, marks=pytest.mark.slow), True])
def test_against_differences(case: int, tables: bool) -> None:
    robot, more, hold = CASES[case]
    rng = np.random.default_rng(case)
    q, v, _ = random_state(robot, 1)
    rows, bodies = (3,) if tables else (), len(robot.bodies)
    arguments = {"q0": q, "v0": v, "tau": rng.normal(size=(*rows, robot.nv))}
    arguments["external"] = rng.normal(size=(*rows, bodies, 6))
    along = {name: rng.normal(size=(robot.nv,) if name == "q0" else x.shape) for name, x in arguments.items()}

    def moved(h: float) -> on.Result:
        some = {name: x + h * along[name] for name, x in arguments.items() if name != "q0"}
        return simulated(robot, some | {"q0": robot.integrate(q, h * along["q0"])}, hold, **more)

    result, h = moved(0.0), 1e-5
    found = result.jvp(**along)
    after, before = moved(h), moved(-h)
    scale = max(1.0, np.abs(found.v).max())
    assert_close(found.v / scale, (after.v - before.v) / (2 * h * scale), CLOSE)
    apart = robot.difference(result.q, after.q) - robot.difference(result.q, before.q)
    assert_close(found.q / scale, apart / (2 * h * scale), CLOSE)
    wq, wv = rng.normal(size=(2, *result.v.shape))
    gradient = result.vjp(wq, wv)
    assert gradient._fields == (*arguments, "until")
    total = sum(np.sum(getattr(gradient, name) * along[name]) for name in arguments)
    assert_close(total / scale, np.sum(wq * found.q + wv * found.v) / scale, METHODS)


def test_a_push() -> None:
    """A mass that is pushed: x = x0 + v0 t + f t^2 / (2 m), to rounding for a method of order two and more."""
    cart = on.Builder("cart", gravity=(0, 0, 0)).body("rail").body("cart", parent="rail", mass=2.0,
        joint=on.Prismatic((1, 0, 0)), joint_name="slide").build()  # fmt: skip
    t = np.array([0.2, 0.5, 1.3])
    result = cart.simulate([0.3], [0.5], tau=[3.0], until=t)
    gradients = result.vjp(q=np.eye(3)[..., None])
    assert_close(gradients.q0[:, 0], np.ones(3), ROUNDING)
    assert_close(gradients.v0[:, 0], t, ROUNDING)
    assert_close(gradients.tau[:, 0], t**2 / 4.0, ROUNDING)
    assert_close(gradients.until, np.diag(0.5 + 1.5 * t), ROUNDING)
    rates = result.jvp(until=np.ones(3))
    assert_close(rates.v[:, 0], np.full(3, 1.5), ROUNDING)
    free = cart.simulate([0.3], [0.5], tau=[3.0], until=1.3)  # a sample at the end of each step
    end = np.zeros((len(free.t), 1))
    end[-1] = 1.0
    assert_close(free.vjp(v=end).until, 1.5, ROUNDING)
    assert_close(free.jvp(v0=[1.0]).q[:, 0], free.t, ROUNDING)


class Brake(on.controllers.PD):
    """A controller of one's own, with another law than the one that it inherits."""

    def __call__(self, t: float, q: Any, v: Any) -> Any:
        return -v


class Spring:
    """A spring and a damper, which know their derivatives."""

    def __call__(self, t: float, q: Any, v: Any) -> Any:
        return np.cos(t) - 2.0 * np.sin(q) - 0.3 * v

    def jacobian(self, t: float, q: Any, v: Any) -> tuple[Any, Any]:
        return np.diag(-2.0 * np.cos(q)), -0.3 * np.eye(2)


def test_functions_that_know_their_jacobian() -> None:
    q, v = np.array([0.4, -0.2]), np.array([0.3, 0.1])
    result = PENDULUM.simulate(q, v, Spring(), until=[0.2, 0.5])
    found, h = result.jvp(q0=np.eye(2), v0=0.0 * np.eye(2)), 1e-5
    for k, e in enumerate(h * np.eye(2)):
        after, before = (PENDULUM.simulate(q + x, v, Spring(), until=[0.2, 0.5]) for x in (e, -e))
        assert_close(found.q[k], (after.q - before.q) / (2 * h), CLOSE)
    weights = np.random.default_rng(0).normal(size=(2, 2))
    gradient = result.vjp(q=weights)
    assert gradient._fields == ("q0", "v0", "until")
    assert_close(gradient.q0, np.einsum("kij,ij->k", found.q, weights), METHODS)


@pytest.mark.slow
@pytest.mark.parametrize("case", [0, 3, 6])
def test_by_parameters(case: int) -> None:
    robot, more, _ = CASES[case]
    rng, h = np.random.default_rng(case), 1e-6
    numbers = random_numbers(robot, rng, ())
    q, v, tau = random_state(robot, 1)
    along = {
        name: x * rng.normal() if "inertia" in name else 0.1 * rng.normal(size=x.shape) for name, x in numbers.items()
    }

    def moved(s: float) -> on.Result:
        some = varied_robot(robot, {name: x + s * along[name] for name, x in numbers.items()}, {})
        return some.simulate(q, v, tau, **more)

    result, after, before = moved(0.0), moved(h), moved(-h)
    found = result.jvp(**along)
    scale = max(1.0, np.abs(found.v).max())
    assert_close(found.v / scale, (after.v - before.v) / (2 * h * scale), CLOSE)
    wq, wv = rng.normal(size=(2, *result.v.shape))
    gradient = result.vjp(wq, wv)
    total = sum(np.sum(getattr(gradient, name) * along[name]) for name in numbers)
    assert_close(total / scale, np.sum(wq * found.q + wv * found.v) / scale, METHODS)


def controllers(robot: on.Robot) -> dict[str, Any]:
    """Controllers of joints, alone and together."""
    goal, gains = np.full(robot.nv, 0.3), {"kp": 20.0, "kd": 4.0}
    path = on.trajectories.minimum_jerk(robot, np.zeros(robot.nv), goal, 0.15)
    PD, c = on.controllers.PD, on.controllers
    return {
        "pd": PD(robot, goal, gravity=True, **gains),
        "computed-torque": c.ComputedTorque(robot, path, kp=100.0),
        "feed-forward": c.FeedForward(robot, path, **gains),
        "sum": c.Sum(c.GravityCompensation(robot, 0.5), PD(robot, goal, **gains)),
        "saturated": c.Saturated(robot, PD(robot, goal, **gains), [0.5, 100.0]),
    }


@pytest.mark.parametrize(
    "name", ["pd", *(pytest.param(x, marks=pytest.mark.slow) for x in list(controllers(PENDULUM))[1:])]
)
def test_controllers(name: str) -> None:
    """The law of a controller is differentiated with the motion."""
    robot, h = PENDULUM, 1e-5
    along = np.random.default_rng(0).normal(size=(2, 2))

    def moved(s: float) -> on.Result:
        q, v = np.array([[0.4, -0.2], [0.3, 0.1]]) + s * along
        until = [0.005, 0.01] if name == "saturated" else [0.1, 0.3]  # later, the first joint leaves its limit
        return robot.simulate(q, v, controllers(robot)[name], until=until)

    result, after, before = moved(0.0), moved(h), moved(-h)
    found = result.jvp(q0=along[0], v0=along[1])
    assert_close(found.q, (after.q - before.q) / (2 * h), CLOSE)
    assert_close(found.v, (after.v - before.v) / (2 * h), CLOSE)
    weights = np.random.default_rng(1).normal(size=result.v.shape)
    gradient = result.vjp(v=weights)
    assert_close(gradient.q0 @ along[0] + gradient.v0 @ along[1], np.sum(weights * found.v), METHODS)


def test_many_steps_in_parts_and_many_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    result = PENDULUM.simulate([0.4, -0.2], [0.3, 0.1], on.Table(TIMES, np.ones((3, 2))), until=[0.03, 0.2, 0.5])
    weights = np.random.default_rng(0).normal(size=(4, 3, 2))
    whole = result.vjp(q=weights), result.jvp(tau=np.ones((3, 2)))
    monkeypatch.setattr(module, "_NUMBERS_AT_ONCE", 40)
    parts = result.vjp(q=weights), result.jvp(tau=np.ones((3, 2)))
    for one, other in zip(whole, parts, strict=True):
        for a, b in zip(one, other, strict=True):
            assert_close(a, b, ROUNDING)
    assert whole[0].tau.shape == (4, 3, 2)
    assert_close(result.vjp(q=weights[1]).tau, whole[0].tau[1], ROUNDING)


def stopped_pendulum() -> on.Robot:
    """A double pendulum whose upper joint has a stop."""
    body = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.1), "joint": on.Revolute((0, 1, 0))}
    builder = on.Builder("stopped").body("base").body("upper", parent="base", lower=-0.6, upper=3.0, **body)
    return builder.body("lower", parent="upper", at=(0, 0, -1.0), **body).build()


KICK = on.Event(lambda t, q, v: q[0] - 0.1, name="kick", direction=-1, effect=lambda t, q, v: v * np.array([0.5, 1.2]))
SEEN = on.Event(lambda t, q, v: q[1], name="seen")


@pytest.mark.parametrize(
    "more",
    [
        {"limits": "bounce", "restitution": 0.8},
        pytest.param({"events": [KICK]}, marks=pytest.mark.slow),
        pytest.param({"events": [SEEN, KICK], "method": "cash-karp"}, marks=pytest.mark.slow),
    ],
)
def test_through_events(more: dict[str, Any]) -> None:
    """Impacts and effects take place at moments that move with the arguments: saltation matrices connect the steps."""
    robot, rng, h = stopped_pendulum(), np.random.default_rng(0), 1e-6
    start = np.array([[0.9, 0.2], [0.0, 0.1], [0.3, -0.2]])
    along = rng.normal(size=(3, 2))

    def moved(s: float, until: Any = (0.3, 0.9, 1.5)) -> on.Result:
        q, v, tau = start + s * along
        return robot.simulate(q, v, tau, until=until, **more)

    result, after, before = moved(0.0), moved(h), moved(-h)
    assert result.report.impacts == 1
    names = ("q0", "v0", "tau")
    found = result.jvp(**dict(zip(names, along, strict=True)))
    assert_close(found.q, (after.q - before.q) / (2 * h), CLOSE)
    assert_close(found.v, (after.v - before.v) / (2 * h), CLOSE)
    wq, wv = rng.normal(size=(2, *result.v.shape))
    gradient = result.vjp(wq, wv)
    total = sum(np.sum(getattr(gradient, name) * x) for name, x in zip(names, along, strict=True))
    assert_close(total, np.sum(wq * found.q + wv * found.v), METHODS)
    every = moved(0.0, 1.5)  # with a sample before and after the event
    assert_close(every.jvp(**dict(zip(names, along, strict=True))).v[-1], found.v[-1], CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["simulate", "semi-implicit-euler", "rk4"])
def test_a_rolling_disc(way: str) -> None:
    """Five positions, three velocities: where the disc goes depends on more than its tangent."""
    builder = on.Builder("disc").body("ground")
    builder.body("disc", parent="ground", joint=on.RollingDisc(0.3), mass=2.0, inertia=(0.1, 0.2, 0.1))
    arm = {"mass": 0.3, "com": (0.2, 0, 0), "inertia": (0.01, 0.01, 0.01), "at": (0, 0.1, 0)}
    robot = builder.body("arm", parent="disc", joint=on.Revolute((0, 1, 0)), **arm).build()
    rng, h = np.random.default_rng(0), 1e-6
    q, v, tau = np.array([0.2, 0.1, 0.3, 0.0, 0.0, 0.4]), *rng.normal(size=(2, robot.nv))
    along = rng.normal(size=(3, robot.nv))

    def moved(s: float) -> Any:
        state = robot.integrate(q, s * along[0]), v + s * along[1], tau + s * along[2]
        if way == "simulate":
            return robot.simulate(*state, until=[0.1, 0.3])
        return robot.rollout(*state, steps=20, dt=0.01, method=way)

    run = moved(0.0)
    weights = rng.normal(size=run.q.shape)
    rate = np.sum(weights * (moved(h).q - moved(-h).q)) / (2 * h)
    gradient = run.vjp(q=weights)
    assert_close(sum(np.sum(a * b) for a, b in zip(gradient[:3], along, strict=True)), rate, CLOSE)


def test_a_joint_that_rests_is_refused() -> None:
    result = stopped_pendulum().simulate([0.9, 0.2], until=[1.5], limits="bounce", restitution=0.0)
    with pytest.raises(ArgumentError, match="rests on its stop"):
        result.vjp(q=np.ones((1, 2)))


def test_refusals() -> None:
    q, weights = [0.4, -0.2], np.ones((1, 2))
    run = {"until": [0.1]}
    result = PENDULUM.simulate(q, **run)
    for refused, words in (
        (PENDULUM.simulate(q, tau=lambda t, q, v: -v, **run), "without a method `jacobian`"),
        (PENDULUM.simulate(q, dense=False, **run), "dense=True"),
        (PENDULUM.simulate(q, tau=Brake(PENDULUM, q, 1.0, 1.0), **run), "derivatives of Brake are not known"),
        (PENDULUM.simulate(q, tau=on.controllers.PD(PENDULUM, q, 1.0, 1.0, period=0.01), **run), "with a period"),
        (PENDULUM.simulate(q, external=lambda t, q, v: np.zeros((2, 6)), **run), "external forces are a function"),
        (result[:1], "as `simulate` returns it"),
    ):
        with pytest.raises(ArgumentError, match=words):
            refused.vjp(q=weights)
    with pytest.raises(ArgumentError, match="give the weights of positions"):
        result.vjp()
    with pytest.raises(ArgumentError, match=r"weights of v have shape \(2, 2\), not \(..., 1, 2\)"):
        result.vjp(v=np.ones((2, 2)))
    with pytest.raises(UnknownNameError, match="'external'"):
        result.vjp(v=weights, wrt="external")
    with pytest.raises(ArgumentError, match=r"tangent of q0 has shape \(3,\)"):
        result.jvp(q0=np.ones(3))
    kick = on.Event(lambda t, q, v: q[0] - 0.39, name="kick", effect=lambda t, q, v: -v)
    with pytest.raises(ArgumentError, match=r"'kick' at t = .* use an adaptive method"):
        PENDULUM.simulate(q, events=[kick], until=[0.5], method="rk4", step=0.01).vjp(q=weights)
    stop = on.Event(lambda t, q, v: q[0] - 0.39, name="stop", terminal=True)
    with pytest.raises(ArgumentError, match="the run ended early"):
        PENDULUM.simulate(q, events=[stop], until=[0.5]).vjp(q=weights)


@pytest.mark.slow
def test_refused_methods_and_loops() -> None:
    with pytest.raises(ArgumentError, match="'radau' has none"):
        PENDULUM.simulate([0.4, -0.2], method="radau", until=[0.1]).vjp(q=np.ones((1, 2)))
    tip = on.controllers.OperationalSpace(PENDULUM, "tip", np.eye(4), 1.0)
    with pytest.raises(ArgumentError, match="law of OperationalSpace has no derivatives"):
        PENDULUM.simulate([0.4, -0.2], tau=tip, until=[0.1]).vjp(q=np.ones((1, 2)))
    four_bar = on.load("four-bar")
    with pytest.raises(ArgumentError, match="has loops"):
        four_bar.simulate(until=[0.01]).vjp(v=np.ones((1, four_bar.nv)))
