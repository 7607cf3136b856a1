"""Sampled control that is not ideal: delays, noise, rounding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.control.controllers import recorded_law
from tests.tolerances import REQUESTED, ROUNDING, assert_close

co = on.controllers
MASS = 2.0
CART = on.Builder("cart").body("rail").body("cart", parent="rail", joint=on.Prismatic((1, 0, 0)), joint_name="slide",
    mass=MASS).build()  # fmt: skip
ARM = on.load("planar-3r")
NEVER = on.Event(lambda t, q, v: 1.0)


def regulator(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return -3.0 * q - 2.0 * v


@pytest.mark.slow
@pytest.mark.parametrize("native", [None, False])
@pytest.mark.parametrize("delay", [0.1, 0.3, 0.025, 0.26])
def test_forces_act_after_their_delay(delay: float, native: bool | None) -> None:
    """Between the times at which forces change they are constant, so the motion is known."""
    T, n = 0.1, 15
    result = CART.simulate([1.0], tau=co.Sampled(regulator, T, delay=delay), until=np.arange(n + 1) * T, native=native)
    x, v, now = 1.0, 0.0, 0.0
    forces: dict[int, float] = {}
    held, expected = 0.0, []
    samples = {(round(k * T, 12), 0, k) for k in range(n + 1)}
    changes = sorted(samples | {(round(k * T + delay, 12), 1, k) for k in range(n)})
    for time, acts, k in changes:
        h = time - now
        x, v, now = x + h * v + 0.5 * h * h * held / MASS, v + h * held / MASS, time
        if acts:
            held = forces[k]
        else:
            expected.append(x)
            forces[k] = -3.0 * x - 2.0 * v
    assert_close(result.q[:, 0], expected, REQUESTED)
    assert result.report.native is (native is None) and result.report.energy_drift < REQUESTED


def noisy(**more: Any) -> co.Controller:
    hold = co.PD(ARM, [0.1, 0.2, 0.3], 3.0, 0.3, gravity=True)
    return co.Sampled(hold, 0.01, noise={"q": 1e-3, "v": {"joint1": 0.01}, "tau": 0.05}, **more)


def test_noise_is_that_of_its_seed_and_sample(tmp_path: Path) -> None:
    run = {"until": np.arange(11) * 0.01, "rtol": 1e-8}
    noise = {"q": 1e-3, "tau": {ARM.joints[0].name: 0.05}}
    hold = co.PD(ARM, [0.1, 0.2, 0.3], 3.0, 0.3, gravity=True)

    def control(seed: int = 0, **more: Any) -> co.Controller:
        return co.Sampled(hold, 0.01, noise=noise, seed=seed, **more)

    first = ARM.simulate(np.zeros(3), tau=control(), **run)
    assert first.report.native
    assert first == ARM.simulate(np.zeros(3), tau=control(), **run)
    apart = ARM.simulate(np.zeros(3), tau=control(), events=[NEVER], **run)  # each sample in a chunk of its own
    assert np.array_equal(first.q, apart.q)
    assert first != ARM.simulate(np.zeros(3), tau=control(1), **run)
    path = tmp_path / "run.ckpt"
    assert ARM.simulate(np.zeros(3), tau=control(delay=0.015), checkpoint=path, **run).report.ok
    with pytest.raises(on.OrdernError, match="tau"):
        ARM.simulate(np.zeros(3), tau=control(1, delay=0.015), checkpoint=path, **run)


def test_noise_has_its_size() -> None:
    q, v = np.zeros((4000, 3)), np.zeros((4000, 3))
    seen: dict[str, np.ndarray] = {}

    def see(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        seen.update(q=q, v=v)
        return np.zeros_like(v)

    control = co.Sampled(see, 0.1, noise={"q": [0.1, 0.2, 0.0], "v": 0.3, "tau": 4.0}, seed=3)
    control.start(ARM)
    tau = control(0.2, q, v)
    assert_close(seen["q"].std(axis=0), [0.1, 0.2, 0.0], 0.05)
    assert_close(seen["v"].std(axis=0), [0.3, 0.3, 0.3], 0.05)
    assert_close(tau.std(axis=0), [4.0, 4.0, 4.0], 0.05)
    assert np.array_equal(control(0.2, q, v), tau) and not np.array_equal(control(0.3, q, v), tau)


def test_noise_turns_quaternions() -> None:
    ball = {"joint": on.Spherical(), "mass": 1.0, "inertia": (0.1, 0.2, 0.15)}
    robot = on.Builder("ball").body("base").body("ball", parent="base", **ball).build()
    seen = []
    control = co.Sampled(lambda t, q, v: seen.append(q) or np.zeros(robot.nv), 0.1, noise={"q": 0.2})
    control.start(robot)
    control(0.0, robot.neutral(), np.zeros(robot.nv))
    assert_close(np.linalg.norm(seen[0][:4]), 1.0, ROUNDING)
    assert np.abs(seen[0] - robot.neutral()).max() > 1e-3
    with pytest.raises(on.ArgumentError, match="has a quaternion, which no encoder counts"):
        co.Sampled(regulator, 0.1, quantum={"q": 0.1}).start(robot)


def test_numbers_are_rounded() -> None:
    seen = []

    def see(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        seen.append((q, v))
        return -3.0 * q - 2.0 * v

    control = co.Sampled(see, 0.1, quantum={"q": 0.01, "v": {"slide": 0.05}, "tau": 0.25})
    result = CART.simulate([1.0], tau=control, until=1.0)
    for x, step in ((np.array([q for q, _ in seen]), 0.01), (np.array([v for _, v in seen]), 0.05), (result.tau, 0.25)):
        assert_close(x / step, np.rint(x / step), ROUNDING)
        assert x.any()
    assert np.abs(seen[3][0] - result.at(0.3)[0]).max() <= 0.005


def test_rounding_is_compiled() -> None:
    """States and forces in multiples of steps; compiled code and NumPy round alike, and halves to even numbers."""
    name = ARM.joints[1].name
    quantum = {"q": 0.01, "v": {name: 0.05}, "tau": [0.02, 0.0, 0.005]}
    control = co.Sampled(co.PD(ARM, [0.1, 0.2, 0.3], 3.0, 0.3, gravity=True), 0.01, quantum=quantum)
    assert recorded_law(control, ARM) is not None
    q0 = [0.005, -0.015, 0.1]  # halves of steps
    run = {"until": 0.1, "method": "rk4", "step": 0.005}
    native, python = (ARM.simulate(q0, tau=control, native=n, **run) for n in (True, False))
    assert native.report.native and not python.report.native
    assert_close(native.tau, python.tau, 10 * ROUNDING)
    assert_close(native.q, python.q, 10 * ROUNDING)
    steps = native.tau[:, [0, 2]] / [0.02, 0.005]
    assert_close(steps, np.rint(steps), 1e-9)
    assert recorded_law(noisy(), ARM) is None


@pytest.mark.parametrize(
    ("words", "make"),
    [
        ("delay must be a finite number not below zero, not -1", lambda: co.Sampled(regulator, 0.1, delay=-1.0)),
        ("the controller has a delay already", lambda: co.Sampled(co.Sampled(regulator, 0.1, delay=0.1), 0.1)),
        ("different delays, 0 s, 0.1 s", lambda: co.Sum(noisy(), noisy(delay=0.1))),
        ("seed must be a whole number from 0 on, not -1", lambda: noisy(seed=-1)),
        ("noise is a dictionary", lambda: co.Sampled(co.GravityCompensation(ARM), 0.1, noise=0.1)),
        ("quantum of 'q'", lambda: co.Sampled(co.GravityCompensation(ARM), 0.1, quantum={"q": -1.0})),
        (r"call start\(robot\) first", lambda: co.Sampled(regulator, 0.1, noise={"q": 1.0})(0.0, [0.0], [0.0])),
    ],
)
def test_bad_arguments_are_told(words: str, make: Any) -> None:
    with pytest.raises(on.ArgumentError, match=words):
        make()


def test_limits_keep_the_delay() -> None:
    late = co.Sampled(regulator, 0.1, delay=0.1)
    limited = co.Saturated(CART, late, limits=100.0)
    runs = [CART.simulate([1.0], tau=tau, until=1.0) for tau in (late, limited, co.Sum(late))]
    assert np.array_equal(runs[0].q, runs[1].q) and np.array_equal(runs[0].q, runs[2].q)
