"""Derivatives of steps with contacts: against differences in 50 digits, plates, single precision, JAX and PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest

import ordern as on
from tests.contact.robots import ball, block, floating, hopper
from tests.contact.test_loops import gripper
from tests.tolerances import CONTACT_DERIVATIVE

FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
H = 2e-3
STEP, FAR = mpmath.mpf(10) ** -15, mpmath.mpf(10) ** -7
_many = np.vectorize(mpmath.mpf, otypes=[object])

ROBOTS: dict[str, Callable[[], on.Robot]] = {
    "ball": lambda: ball().with_contacts(on.Ground(0.4, restitution=0.3)),
    "hopper": lambda: hopper().with_contacts(on.Ground(0.5), points={"foot": 0.02}, sweeps=20),
    "two balls": lambda: floating([("sphere", (0.1,))] * 2, 9.81).with_contacts(
        on.Ground(0.5), pairs=[("0", "1")], sweeps=60, settled=0.0
    ),
    "quadruped": lambda: on.load("quadruped").with_contacts(
        on.Ground(0.6), points=FEET, limits=False, sweeps=60, settled=0.0
    ),
}
SHARES = {"ball": 300, "hopper": 300, "two balls": 200, "quadruped": 250}
"""Problems of the whole campaign; some are left out because a switch is near."""


def problems(name: str, count: int) -> tuple[on.Robot, dict[str, Any]]:
    """Return a robot, and the arguments of steps from random states in which most contacts touch."""
    robot, rng = ROBOTS[name](), np.random.default_rng(len(name))
    start = robot.neutral() if name != "quadruped" else on.robots.positions("quadruped")["stand"]
    q = robot.integrate(start, 0.1 * rng.standard_normal((count, robot.nv)))
    if name == "two balls":
        q[:, 4:7], q[:, 11:14] = 0.0, rng.normal((0.0, 0.0, 0.2), 0.1, (count, 3))
    elif name == "hopper":
        q[:, -2:] = rng.uniform(-1.0, 1.0, (count, 2))
    assert robot.contacts is not None
    solids = [c.first for c in robot.contacts.pairs if c.second is None]
    frames = [on.Frame(str(k), s.body, s.placement) for k, s in enumerate(solids)]
    low = (robot.poses(q, frames)[..., 2, 3] - [s.size[0] for s in solids]).min(-1)
    q[:, 6] += rng.uniform(-5e-4, 5e-4, count) - low
    if name == "two balls":
        q[:, 13] += rng.uniform(-5e-4, 5e-4, count) - low
    v, tau = rng.standard_normal((2, count, robot.nv))
    v[:, 5] -= 1.5
    pairs = len(robot.contacts.pairs)
    surfaces = np.stack([rng.uniform(0.1, 1.0, (count, pairs)), np.full((count, pairs), 0.2), np.zeros((count, pairs))])
    given = {
        **{"q": q, "v": v, "tau": tau, "dt": np.full(count, H), "drag": rng.uniform(0.0, 0.1, (count, robot.nv))},
        **{"lower": robot.lower, "upper": robot.upper, "impulses": np.zeros((count, pairs, 3))},
        **{"stops": np.zeros(robot.nv), "surfaces": np.moveaxis(surfaces, 0, -1)},
    }
    return robot, given


def tangents(given: dict[str, Any], nv: int) -> dict[str, Any]:
    """Return random tangents of all arguments that the answer depends on."""
    rng, found = np.random.default_rng(5), {}
    for name in ("q", "v", "tau", "dt", "drag", "surfaces"):
        shape = (len(given["q"]), nv) if name == "q" else np.shape(given[name])
        found[name] = (H if name == "dt" else 1.0) * rng.standard_normal(shape)
    return found


def steps_beside(robot: on.Robot, given: dict[str, Any], along: dict[str, Any], start: Any, by: Any) -> Any:
    """Return the answers with 50 digits for arguments that have moved along their tangents."""
    assert robot.contacts is not None
    exact = on.Robot.of(replace(robot, contacts=replace(robot.contacts, sweeps=4 * robot.contacts.sweeps)))
    moved = {name: _many(x) for name, x in (given | start).items()}
    for name, x in along.items():
        if name == "q":
            one = np.array(mpmath.mpf(1), object)
            moved["q"] = exact.kernel("integrate", way="interpreted")(moved["q"], by * _many(x), one)
        else:
            moved[name] = moved[name] + by * _many(x)
    return np.asarray(exact.kernel("contact_step", way="interpreted")(*moved.values()))


@pytest.mark.campaign
@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_derivatives_are_those_of_50_digit_differences(name: str, campaign: Callable[[int, int], int]) -> None:
    robot, given = problems(name, campaign(2 if name in ("quadruped", "two balls") else 6, SHARES[name]))
    along, nq, nv = tangents(given, robot.nv), robot.nq, robot.nv
    answer = robot.kernel("contact_step")(*given.values())
    pairs = given["impulses"].shape[-2]
    impulses = answer[:, nq + nv : nq + nv + 3 * pairs]
    assert (answer[:, -4] <= 1e-14).mean() >= 0.9
    assert (np.abs(impulses) > 1e-6).any(-1).mean() >= 0.5
    found = robot.jvp("contact_step", given, along)[:, : nq + 2 * nv + 3 * pairs]  # without the certificate
    start = {"impulses": impulses.reshape(-1, pairs, 3)}
    with mpmath.workdps(50):
        near, far = (
            (steps_beside(robot, given, along, start, by) - steps_beside(robot, given, along, start, -by)) / (2 * by)
            for by in (STEP, FAR)
        )
        difference, other = (x[:, : found.shape[-1]].astype(float) for x in (near, far))
    size = np.maximum(1.0, np.abs(difference).max(-1))
    away = (np.abs(difference - other).max(-1) < 1e-4 * size) & (answer[:, -4] <= 1e-14)
    assert away.mean() >= 0.8
    assert (np.abs(found - difference).max(-1) / size)[away].max() < CONTACT_DERIVATIVE


@pytest.mark.slow
def test_gradients_are_transposes_in_all_kinds_of_numbers() -> None:
    """Contacts that stick, slip and are open: rates, gradients and matrices have one rule, in single precision too."""
    robot, given = problems("hopper", 12)
    along = tangents(given, robot.nv)
    answer = robot.kernel("contact_step")(*given.values())
    w = np.random.default_rng(2).standard_normal(answer.shape)
    rate = (w * robot.jvp("contact_step", given, along)).sum(-1)
    gradient = robot.vjp("contact_step", given, w, wrt=tuple(along))
    products = [(getattr(gradient, x) * y).reshape(12, -1).sum(-1) for x, y in along.items()]
    np.testing.assert_allclose(np.sum(products, axis=0), rate, rtol=1e-9, atol=1e-9)
    single = {name: np.asarray(x, np.float32) for name, x in given.items()}
    rough = robot.vjp("contact_step", single, w.astype(np.float32), wrt=("v", "surfaces"))
    np.testing.assert_allclose(rough.v, gradient.v, rtol=1e-3, atol=1e-3)
    assert np.isfinite(rough.surfaces).all()
    matrix = robot.derivatives.contact_step(**given, wrt="tau").tau
    np.testing.assert_allclose(np.einsum("ni,nij->nj", w, matrix), gradient.tau, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_points_of_a_plate_share_changes_of_the_load() -> None:
    """A block that lands flat has four corners on the ground, and six freedoms: its velocity has derivatives."""
    robot = block().with_contacts(on.Ground(0.8), sweeps=30)
    q, v, dv = (
        np.array([1, 0, 0, 0, 0, 0, 0.05], float),
        np.array([0, 0, 0, 0, 0, -1.0]),
        np.array([0, 0, 0, 1.0, 0, 0]),
    )
    zeros = {"tau": np.zeros(6), "drag": np.zeros(6), "impulses": np.zeros((8, 3)), "stops": np.zeros(6)}
    surfaces = np.tile([0.8, 0.0, 0.0], (8, 1))
    given = {"q": q, "v": v, "dt": H, "lower": robot.lower, "upper": robot.upper, "surfaces": surfaces, **zeros}
    rate = robot.jvp("contact_step", given, {"v": dv})
    np.testing.assert_allclose(rate[7:13], 0.0, atol=1e-9)  # it sticks
    np.testing.assert_allclose(rate[13:37].reshape(8, 3).sum(0), [-2.0, 0.0, 0.0], atol=1e-9)  # 2 kg
    stop = robot.jvp("contact_step", given, {"surfaces": np.ones((8, 3))})
    assert np.isfinite(stop).all()


@pytest.mark.slow
@pytest.mark.needs("jax")
def test_jax_uses_the_same_rule() -> None:
    import jax
    import jax.numpy as jnp

    from tests.worlds.jax_precision import precision

    robot, given = problems("hopper", 4)
    q, v = given["q"], given["v"]

    def cost(v: Any, friction: Any) -> Any:
        step = robot.contact_step(q, v, dt=H, friction=friction)
        return (step.v**2).sum() + step.impulses[..., 2].sum()

    with precision(True):
        by_v, by_friction = jax.grad(cost, (0, 1))(jnp.asarray(v), jnp.full((4, 1), 0.3))
        each = jax.vmap(lambda a, b: robot.contact_step(a, b, dt=H, friction=0.3).v)(jnp.asarray(q), jnp.asarray(v))
    plain = {**given, "tau": np.zeros(8), "dt": H, "drag": np.zeros(8), "surfaces": np.array([[0.3, 0.0, 0.0]])}
    answer = robot.kernel("contact_step")(*plain.values())
    np.testing.assert_allclose(each, answer[:, 9:17], atol=1e-12)
    w = np.zeros_like(answer)
    w[:, 9:17], w[:, 19] = 2.0 * answer[:, 9:17], 1.0
    expected = robot.vjp("contact_step", plain, w, wrt=("v", "surfaces"))
    np.testing.assert_allclose(by_v, expected.v, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(by_friction[:, 0], expected.surfaces[:, 0, 0], rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.needs("torch")
def test_pytorch_uses_the_same_rule() -> None:
    import torch

    robot, given = problems("hopper", 4)
    v = torch.tensor(given["v"], requires_grad=True)
    friction = torch.full((4, 1), 0.3, dtype=torch.float64, requires_grad=True)
    step = robot.contact_step(torch.tensor(given["q"]), v, dt=H, friction=friction)
    (step.v**2).sum().backward()
    plain = {**given, "tau": np.zeros(8), "dt": H, "drag": np.zeros(8), "surfaces": np.array([[0.3, 0.0, 0.0]])}
    answer = robot.kernel("contact_step")(*plain.values())
    w = np.zeros_like(answer)
    w[:, 9:17] = 2.0 * answer[:, 9:17]
    expected = robot.vjp("contact_step", plain, w, wrt=("v", "surfaces"))
    np.testing.assert_allclose(v.grad, expected.v, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(friction.grad[:, 0], expected.surfaces[:, 0, 0], rtol=1e-9, atol=1e-9)


def test_smoothed_contacts_push_at_a_distance() -> None:
    """A ball hovers at s^2 / 9.81, far balls are pushed by s^2 / gap, and gradients before touching are exact."""
    s = 0.1
    robot = ball().with_contacts(on.Ground(0.5), smooth=s)
    run = robot.rollout([1, 0, 0, 0, 0, 0, 0.15], np.zeros(6), steps=3000, dt=1e-3)
    assert not run.uncertified.any()
    assert run.q[-1, 6] - 0.1 == pytest.approx(s * s / 9.81, rel=1e-4)
    far = robot.contact_step([1, 0, 0, 0, 0, 0, 0.6], np.zeros(6), dt=1e-3)
    assert far.v[5] + 9.81e-3 == pytest.approx(s * s / 0.5 * 1e-3, rel=1e-3)
    with pytest.raises(on.ArgumentError, match="smooth must be not negative"):
        ball().with_contacts(on.Ground(0.5), smooth=-1.0)


@pytest.mark.slow
def test_derivatives_of_smoothed_contacts() -> None:
    rigid, given = problems("hopper", 6)
    assert rigid.contacts is not None
    robot = on.Robot.of(replace(rigid, contacts=replace(rigid.contacts, smooth=0.2)))
    given["q"][:, 6] += 0.05  # none touches
    along = {"q": tangents(given, 8)["q"], "surfaces": tangents(given, 8)["surfaces"]}
    answer = robot.kernel("contact_step")(*given.values())
    np.testing.assert_allclose(robot.kernel("contact_step", way="interpreted")(*given.values()), answer, atol=1e-12)
    assert (answer[:, 19] > 0.0).all() and (answer[:, -4] < 1e-12).all()
    found = robot.jvp("contact_step", given, along)[:, 9:20]

    def moved(e: float) -> Any:
        q = robot.integrate(given["q"], e * along["q"])
        some = {**given, "q": q, "surfaces": given["surfaces"] + e * along["surfaces"]}
        return robot.kernel("contact_step")(*some.values())[:, 9:20]

    expected = (moved(1e-6) - moved(-1e-6)) / 2e-6
    assert (np.abs(found[:, 8:]).max(-1) > 0.0).all()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def difference_by(robot: on.Robot, name: str, given: dict[str, Any], along: Any) -> tuple[Any, Any]:
    """Return the rate of a step along a tangent of one argument, and that of differences, without the certificate."""
    kernel, eps = robot.kernel("contact_step"), 1e-6
    sides = [kernel(*(given | {name: given[name] + e * along}).values()) for e in (eps, -eps)]
    found = robot.jvp("contact_step", given, {name: along})
    return found[..., :-4], ((sides[0] - sides[1]) / (2.0 * eps))[..., :-4]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["v", "tau", "dt"])
def test_derivatives_with_torsional_and_rolling_friction(name: str) -> None:
    robot = ball().with_contacts(on.Ground(0.4, torsional=0.01, rolling=0.003), sweeps=40, settled=0.0)
    rng = np.random.default_rng(3)
    v = np.array([[0.0, 3.0, 1.0, 0.3, 0.0, -0.1], [0.01, 3.0, 0.0, 0.301, 0.0, -0.1], [1.0, -2.0, 2.0, 1.0, 1.0, 0.0]])
    surfaces = np.tile([0.4, 0.0, 0.0], (3, 1, 1))
    given = {
        **{"q": np.tile([1, 0, 0, 0, 0, 0, 0.1 - 1e-5], (3, 1)), "v": v, "tau": np.zeros((3, 6)), "dt": np.full(3, H)},
        **{"drag": np.zeros((3, 6)), "lower": robot.lower, "upper": robot.upper, "impulses": np.zeros((3, 2, 3))},
        **{"stops": np.zeros(6), "surfaces": surfaces},
    }
    answer = robot.kernel("contact_step")(*given.values())
    assert (answer[:, -4] <= 1e-12).all() and (np.abs(answer[:, 16:19]) > 0.0).any(axis=1).all()  # moments act
    found, expected = difference_by(robot, name, given, rng.standard_normal(np.shape(given[name])))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("mimic", [True, False])
def test_derivatives_of_robots_with_loops_or_mimic_joints(mimic: bool) -> None:
    robot = gripper(mimic).with_contacts(on.Ground(0.5), sweeps=60, settled=0.0, limits=False)
    q, n = robot.neutral(), robot.nv
    q[6] += 0.02 - 1e-5
    if not mimic:
        q[-1] = 0.05
    v = np.zeros(n)
    v[3:6] = 0.2, 0.1, -0.3
    kernel = robot.kernel("contact_step")
    given: dict[str, Any] = {p.name: np.zeros(kernel.request.shape(p.kind)) for p in kernel.ports}
    given |= {"q": q, "v": v, "dt": np.array(H), "lower": robot.lower, "upper": robot.upper}
    given["surfaces"][:, 0] = 0.5
    found, expected = difference_by(robot, "v", given, np.random.default_rng(0).standard_normal(n))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
