"""Derivatives of rollouts with contacts: against differences, between modes and libraries, and in bounded memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from ordern.simulate import contact_derivatives as module
from tests.contact.robots import ball, hopper
from tests.tolerances import FINITE_DIFFERENCE

N, DT, EVERY = 30, 2e-3, 5
KP, KD = np.r_[np.zeros(6), 40.0, 40.0], np.r_[np.zeros(6), 1.0, 1.0]
POSITIONS = ("q0", "target")


def walker() -> on.Robot:
    return hopper().with_contacts(on.Ground(0.5), points={"foot": 0.02}, sweeps=20)


def arguments(robot: on.Robot, count: int = 3) -> dict[str, Any]:
    """Return all arguments of rollouts in which the foot lands, sticks and slips."""
    rng = np.random.default_rng(0)
    q0 = robot.integrate(np.array([1, 0, 0, 0, 0, 0, 0.41, 0.2, -0.3]), 0.02 * rng.standard_normal((count, 8)))
    return {
        **{"q0": q0, "v0": 0.5 * rng.standard_normal((count, 8)), "tau": rng.standard_normal((count, N, 8))},
        **{"kp": KP, "kd": KD, "target": q0.copy(), "external": 0.1 * rng.standard_normal((count, N, 3, 6))},
        **{"dt": np.array(DT), "contact_friction": np.full((count, 1), 0.4), "ground_height": np.zeros((count, 1))},
    }


def run(robot: on.Robot, a: dict[str, Any]) -> Any:
    feedback, dt = (a["kp"], a["kd"], a["target"]), a["dt"] if a["dt"].ndim else float(a["dt"])
    more = {x: a[x] for x in ("external", "contact_friction", "ground_height")}
    return robot.rollout(a["q0"], a["v0"], a["tau"], dt=dt, feedback=feedback, every=EVERY, **more)


def weights(found: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    return rng.standard_normal(found.q.shape), rng.standard_normal(found.v.shape)


@pytest.mark.slow
def test_gradients_and_rates_are_those_of_differences() -> None:
    robot = walker()
    given = arguments(robot)
    found = run(robot, given)
    assert (found.contact_impulses[..., 2] > 0.0).any()
    wq, wv = weights(found)
    gradient, rng = found.vjp(q=wq, v=wv), np.random.default_rng(2)
    assert set(gradient._fields) == set(given)
    for name, x in given.items():
        along = rng.standard_normal((*np.shape(x)[:-1], 8) if name in POSITIONS else np.shape(x))
        along = along * {"dt": DT, "ground_height": 0.01}.get(name, 1.0)

        def cost(s: float, name: str = name, x: Any = x, along: Any = along) -> Any:
            moved = robot.integrate(x, s * along) if name in POSITIONS else x + s * along
            end = run(robot, {**given, name: moved})
            return (wq * end.q).sum((1, 2)) + (wv * end.v).sum((1, 2))

        e = 1e-7 if name == "q0" else 1e-6  # landings depend strongly on the start
        expected = (cost(e) - cost(-e)) / (2.0 * e)
        value = (getattr(gradient, name) * along).reshape(3, -1).sum(-1)
        assert np.abs(value - expected).max() < 20.0 * FINITE_DIFFERENCE * max(1.0, np.abs(expected).max()), name
        rates = found.jvp(**{name: along})
        rate = (wq * robot.position_rate(found.q, rates.q)).sum((1, 2)) + (wv * rates.v).sum((1, 2))
        np.testing.assert_allclose(rate, value, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_long_rollouts_go_back_in_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = walker()
    given = arguments(robot)
    found = run(robot, given)
    wq, wv = weights(found)
    whole = found.vjp(q=wq, v=wv)
    monkeypatch.setattr(module, "_TAPE_BYTES", 1)
    for x, y in zip(whole, found.vjp(q=wq, v=wv), strict=True):
        np.testing.assert_array_equal(x, y)
    settings = {"feedback": (KP, KD, given["target"]), "every": EVERY, "external": given["external"]}
    contact = {x: given[x] for x in ("contact_friction", "ground_height")}
    same = robot.rollout_vjp(given["q0"], given["v0"], given["tau"], dt=DT, q=wq, v=wv, **settings, **contact)
    np.testing.assert_array_equal(same.kd, whole.kd)
    found.v[:, -1] += 1.0
    with pytest.raises(ArgumentError, match="have changed since"):
        found.vjp(v=wv)


@pytest.mark.slow
def test_gradients_by_parameters_and_in_single_precision() -> None:
    robot = ball().with_contacts(on.Ground(0.3))
    q0, v0 = np.array([1, 0, 0, 0, 0, 0, 0.1]), np.array([0, 0, 0, 1.0, 0, -0.5])

    def end(mass: Any, kind: Any = np.float64) -> Any:
        varied = robot.vary(mass={"ball": mass})
        return varied.rollout(q0.astype(kind), v0.astype(kind), np.full((20, 6), 0.3, kind), dt=DT, every=20)

    masses = np.array([0.8, 1.5])
    found = end(masses)
    w = np.zeros_like(found.v)
    w[:, -1, 3] = 1.0
    gradient, e = found.vjp(v=w, wrt="inertia").inertia, 1e-6
    expected = (end(masses + e).v - end(masses - e).v)[:, -1, 3] / (2.0 * e)
    # `vary(mass=...)` scales all ten numbers of a body
    scaled = (gradient * found.source.robot.parameters.inertia).sum((-1, -2)) / masses
    np.testing.assert_allclose(scaled, expected, rtol=1e-5, atol=1e-8)
    rough = end(masses, np.float32).vjp(v=w.astype(np.float32), wrt="v0").v0
    np.testing.assert_allclose(rough, found.vjp(v=w, wrt="v0").v0, atol=1e-4)


@pytest.mark.slow
@pytest.mark.needs("jax")
def test_jax_rolls_out_and_differentiates() -> None:
    import jax
    import jax.numpy as jnp

    from tests.worlds.jax_precision import precision

    robot = walker()
    given = arguments(robot)
    found = run(robot, given)
    wq, wv = weights(found)
    gradient, names = found.vjp(q=wq, v=wv), ("v0", "tau", "kp", "contact_friction")

    def cost(*some: Any) -> Any:
        end = run(robot, {**given, **dict(zip(names, some, strict=True))})
        return (wq * end.q).sum() + (wv * end.v).sum(), end

    with precision(True):
        some = [jnp.asarray(given[x]) for x in names]
        bars, end = jax.jit(jax.grad(cost, tuple(range(4)), has_aux=True))(*some)
        (q, _, t), uncertified = end, end.uncertified
    np.testing.assert_allclose(q, found.q, atol=1e-12)
    np.testing.assert_allclose(end.contact_impulses, found.contact_impulses, atol=1e-12)
    np.testing.assert_array_equal(uncertified, found.uncertified)
    assert t.shape == found.t.shape
    expected = (gradient.v0, gradient.tau, gradient.kp.sum(0), gradient.contact_friction)
    for x, y in zip(bars, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.needs("torch")
def test_pytorch_rolls_out_and_differentiates() -> None:
    import torch

    robot = walker()
    given = arguments(robot)
    found = run(robot, given)
    wq, wv = weights(found)
    gradient = found.vjp(q=wq, v=wv)
    tensors = {name: torch.tensor(x, requires_grad=True) for name, x in given.items()}
    end = run(robot, {**tensors, "dt": torch.tensor(DT, dtype=torch.float64)})
    np.testing.assert_array_equal(end.q.detach(), found.q)
    np.testing.assert_array_equal(end.uncertified, found.uncertified)
    ((torch.tensor(wq) * end.q).sum() + (torch.tensor(wv) * end.v).sum()).backward()
    for name in ("v0", "tau", "external", "contact_friction", "ground_height"):
        np.testing.assert_allclose(tensors[name].grad, getattr(gradient, name), rtol=1e-9, atol=1e-9)
    steered = robot.rollout(
        tensors["q0"], tensors["v0"], steps=20, dt=DT, policy=lambda q, v: -0.1 * v, hold=2, every=5
    )
    plain = robot.rollout(given["q0"], given["v0"], steps=20, dt=DT, policy=lambda q, v: -0.1 * v, hold=2, every=5)
    np.testing.assert_allclose(steered.q.detach(), plain.q, atol=1e-12)
    assert steered.residual.shape == plain.certificate.residual.shape
    start = torch.tensor(given["v0"])
    rate = torch.func.jvp(
        lambda v: robot.rollout(given["q0"], v, steps=4, dt=DT).v, (start,), (torch.ones_like(start),)
    )
    expected = robot.rollout(given["q0"], given["v0"], steps=4, dt=DT).jvp(v0=np.ones((3, 8))).v
    np.testing.assert_allclose(rate[1], expected, rtol=1e-9, atol=1e-9)


ROLLING = [1, 0, 0, 0, 0, 0, 0.11], np.array([0.1, 0.2, 0.5, 0.3, 0.1, -0.5])


def rolling_ball() -> on.Robot:
    ground = on.Ground(0.8, torsional=0.01, rolling=0.002)
    return ball().with_contacts(ground, points={"ball": 0.1}, sweeps=50)


@pytest.mark.slow
def test_contacts_with_moments_have_gradients() -> None:
    robot, (q0, v0), e = rolling_ball(), ROLLING, 1e-6
    found = robot.rollout(q0, v0, steps=20, dt=DT)
    assert abs(found.contact_moments[-1]).max() > 0.0
    weight = np.zeros_like(found.v)
    weight[-1, 4] = 1.0
    ends = [robot.rollout(q0, v0 + e * s * np.eye(6), steps=20, dt=DT).v[:, -1, 4] for s in (1, -1)]
    gradient = found.vjp(v=weight).v0
    np.testing.assert_allclose(gradient, (ends[0] - ends[1]) / (2 * e), atol=1e-8)
    assert found.jvp(v0=np.eye(6)[1]).v[-1, 4] == pytest.approx(gradient[1], abs=1e-14)


@pytest.mark.slow
@pytest.mark.needs("jax")
def test_jax_takes_steps_with_moments() -> None:
    from jax import numpy as jnp

    robot, (q0, v0) = rolling_ball(), ROLLING
    found = robot.rollout(jnp.array(q0, jnp.float32), jnp.array(v0, jnp.float32), steps=20, dt=DT)
    np.testing.assert_allclose(found.v, robot.rollout(q0, v0, steps=20, dt=DT).v, atol=1e-4)
    assert found.contact_impulses.shape == (21, 1, 3)
    empty = robot.rollout(jnp.zeros((0, 7)), jnp.zeros((0, 6)), steps=2, dt=DT)
    assert empty.contact_impulses.shape == (0, 3, 1, 3)


@pytest.mark.slow
@pytest.mark.needs("torch")
@pytest.mark.parametrize("rows", [1, 2])
def test_pytorch_takes_steps_with_moments(rows: int) -> None:
    import torch

    robot, (q0, v0), first = rolling_ball(), ROLLING, np.full((rows, 3), 0.001)
    v = torch.tensor(v0, requires_grad=True)
    given = {"steps": 20, "dt": DT}
    found = robot.rollout(torch.tensor(q0, dtype=v.dtype), v, contact_impulses=torch.tensor(first), **given)
    found.v[-1, 4].backward()
    here = robot.rollout(q0, v0, contact_impulses=first, **given)
    weight = np.zeros_like(here.v)
    weight[-1, 4] = 1.0
    np.testing.assert_array_equal(found.v.detach(), here.v)
    np.testing.assert_allclose(v.grad, here.vjp(v=weight).v0, atol=1e-14)
    with pytest.raises(ArgumentError, match="contact_impulses has shape"):
        robot.rollout(torch.zeros(7), torch.zeros(6), contact_impulses=torch.zeros((3, 3)), **given)
