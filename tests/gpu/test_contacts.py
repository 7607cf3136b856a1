"""Steps and rollouts with contacts on a device are those of this machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import gpu as og
from tests.contact.robots import hopper
from tests.contact.test_steps import H, arguments

from . import suite_contacts
from .stand_in import StandIn


def walker(limits: bool = True) -> on.Robot:
    ground = on.Ground(0.5, restitution=0.2)
    return hopper().with_contacts(ground, points={"foot": 0.02}, sweeps=12, limits=limits)


def starts(robot: on.Robot, count: int = 6) -> tuple[Any, Any]:
    q, v, *_ = arguments(robot, count)
    return q, v


def close(found: Any, expected: Any) -> None:
    """Compare up to the residual of the solver: this machine may leave out stops where they do nothing."""
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9 if expected.dtype != np.float32 else 1e-4)


def same(found: on.Rollout, expected: on.Rollout) -> None:
    names = ["q", "v", "t", "contact_impulses", *(["stop_impulses"] if expected.stop_impulses is not None else [])]
    for name in names:
        close(getattr(found, name), getattr(expected, name))
    for name in ("residual", "penetration", "work"):
        close(getattr(found.certificate, name), getattr(expected.certificate, name))
    np.testing.assert_array_equal(found.uncertified, expected.uncertified)


@pytest.mark.parametrize("limits", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_rollout_is_that_of_this_machine(gpu: StandIn, limits: bool) -> None:
    robot, rng = walker(limits), np.random.default_rng(0)
    q, v = starts(robot)
    friction, height = rng.uniform(0.2, 1.0, (6, 1)), 0.01 * rng.standard_normal((6, 1))
    kp, kd = (np.r_[np.zeros(6), x, x] for x in (50.0, 1.0))
    first = robot.rollout(q, v, steps=8, dt=H)
    settings: list[dict[str, Any]] = [
        {"steps": 8, "every": 2},
        {"steps": 8, "contact_friction": friction, "ground_height": height, "feedback": (kp, kd, q[0])},
        {"tau": rng.standard_normal((6, 5, 8)), "contact_impulses": first.contact_impulses[:, -1], "every": 5},
        {"steps": 8, "policy": lambda q, v: 0.5 * np.sin(v), "hold": 2, "every": 4},
    ]
    for some in settings:
        same(robot.rollout(q, v, dt=H, device="cuda", **some), robot.rollout(q, v, dt=H, **some))
    assert (first.contact_impulses != 0.0).any() and len(gpu.launched) == 7
    single = [x.astype(np.float32) for x in (q, v)]
    same(robot.rollout(*single, steps=4, dt=H, device="cuda"), robot.rollout(*single, steps=4, dt=H))


@pytest.mark.slow
def test_varied_robots_and_other_contacts_have_their_own_loops(gpu: StandIn) -> None:
    robot = walker()
    q, v = starts(robot)
    many = robot.vary(mass=np.linspace(0.8, 1.2, 6)[:, None] * [body.mass for body in robot.bodies])
    same(many.rollout(q, v, steps=5, dt=H, device="cuda"), many.rollout(q, v, steps=5, dt=H))
    other = hopper().with_contacts(on.Ground(0.5), points={"foot": 0.3}, sweeps=4)
    same(other.rollout(q, v, steps=5, dt=H, device="cuda"), other.rollout(q, v, steps=5, dt=H))


@pytest.mark.parametrize("limits", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_arrays_of_a_device_stay_there(gpu: StandIn, limits: bool) -> None:
    robot, rng = walker(limits), np.random.default_rng(0)
    q, v = starts(robot)
    friction = rng.uniform(0.2, 1.0, (6, 1))
    settings = {"steps": 6, "dt": H, "every": 3, "feedback": (5.0, 1.0, q[0])}
    expected = robot.rollout(q, v, **settings, contact_friction=friction, ground_height=0.01)
    found: Any = robot.rollout(
        *map(og.array, (q, v)), **settings, contact_friction=og.array(friction), ground_height=0.01
    )
    for name in ("q", "v", "contact_impulses", *(["stop_impulses"] if limits else [])):
        assert isinstance(getattr(found, name), og.Array)
        close(getattr(found, name).numpy(), getattr(expected, name))
    certificate = found.certificate.numpy()
    close(certificate[..., 0], expected.certificate.residual)
    close(certificate[..., -1], expected.certificate.work)
    assert (found.stop_impulses is None) == (not limits)
    last = expected.contact_impulses[:, -1]
    further = robot.rollout(q, v, steps=2, dt=H, contact_impulses=last)
    for start in (last, og.array(last)):
        there: Any = robot.rollout(og.array(q), og.array(v), steps=2, dt=H, contact_impulses=start)
        close(there.q.numpy(), further.q)


def test_single_steps(gpu: StandIn) -> None:
    robot = walker()
    given = arguments(robot)
    kernel = robot.kernel("contact_step")
    np.testing.assert_array_equal(kernel.on("cuda")(*given), kernel(*given))
    q, v, tau, *_ = given
    found = robot.contact_step(q, v, tau, H, friction=0.3, device="cuda")
    expected = robot.contact_step(q, v, tau, H, friction=0.3)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)
    there = kernel.on("cuda")(*map(og.array, given[:3]), *given[3:])
    np.testing.assert_array_equal(there.numpy(), kernel(*given))
    assert len(gpu.launched) >= 3


def test_single_steps_without_contacts(gpu: StandIn) -> None:
    robot, rng = hopper(), np.random.default_rng(0)
    kernel, nothing = robot.kernel("contact_step"), np.zeros((7, 0, 3))
    v, tau = rng.standard_normal((2, 7, robot.nv))
    zero = np.zeros((7, robot.nv))
    given = robot.random(rng, (7,)), v, tau, np.full(7, H), zero, robot.lower, robot.upper, nothing, zero, nothing
    np.testing.assert_array_equal(kernel.on("cuda")(*given), kernel(*given))


@pytest.mark.slow
def test_the_checks_on_a_device_pass_here(gpu: StandIn) -> None:
    """`./dev gpu` runs them where there is a GPU."""
    robot, q = suite_contacts.hopper()
    for check in (suite_contacts._steps, suite_contacts._falls):
        assert check("hopper", robot, q, "float64") < 1e-9
    assert "ordern.gpu" in suite_contacts._libraries(robot, q)


def test_what_is_refused_says_so(gpu: StandIn) -> None:
    robot = walker()
    q, v = starts(robot)
    there = og.array(q), og.array(v)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"method": "rk4"}, "has contacts: method='rk4' is not supported"),
        ({"contact_friction": -1.0}, "contact_friction must not be negative"),
        ({"contact_friction": og.array(np.ones((5, 1)))}, r"contact_friction has shape \(5, 1\)"),
        ({"contact_impulses": og.array(np.zeros((6, 2, 3)))}, r"contact_impulses has shape \(6, 2, 3\)"),
        ({"contact_impulses": og.array(np.zeros((5, 1, 3)))}, r"batch shapes"),
    ]
    for change, message in wrong:
        with pytest.raises(on.ArgumentError, match=f"rollout.*{message}"):
            robot.rollout(*there, steps=3, dt=H, **change)
    with pytest.raises(on.ArgumentError, match="contact_friction is for robots with contacts"):
        hopper().rollout(*there, steps=3, dt=H, contact_friction=0.5)
    with pytest.raises(on.ArgumentError, match="events is not supported"):
        robot.rollout(q, v, steps=3, dt=H, device="cuda", events=on.Event(lambda t, q, v: q[0], "up"))
    assert not gpu.launched
