"""The friction of contacts as a parameter: beside others, in sets, by name, and folded."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError, UnknownNameError
from tests.contact.robots import ball, block

H, G = 1e-3, 9.81
SLIDE = [0, 0, 0, 1, 0, 0]


def sliding() -> on.Robot:
    return block().with_contacts(on.Ground(0.5), sweeps=20)


def test_friction_varies_beside_masses() -> None:
    mu, mass = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 5.0])
    robot = sliding().vary(contact_friction=mu[:, None], mass={"block": mass})
    assert robot.batch_shape == (3,)
    q0 = [1, 0, 0, 0, 0, 0, 0.05]
    run = robot.rollout(q0, SLIDE, steps=100, dt=H)
    np.testing.assert_allclose(run.v[:, -1, 3], 1.0 - mu * G * 0.1, atol=1e-6)
    np.testing.assert_allclose(run.contact_impulses[:, -1, :, 2].sum(-1), mass * G * H, rtol=1e-6)
    given = robot.rollout(q0, SLIDE, steps=100, dt=H, contact_friction=0.0)
    np.testing.assert_allclose(given.v[:, -1, 3], 1.0, atol=1e-9)
    again = pickle.loads(pickle.dumps(robot))
    np.testing.assert_array_equal(again.parameters.contact_friction, robot.parameters.contact_friction)


def test_friction_by_name_random_and_folded() -> None:
    robot = ball().with_contacts(on.Ground(0.5))
    (name,) = robot.parameters.names.contacts
    assert robot.parameters.contact_friction.tolist() == [0.5]
    assert robot.parameters.labels[-1] == f"{name}.contact_friction"
    slippery = robot.vary(contact_friction={name: lambda mu: mu / 5.0}, fold=True)
    assert slippery.contacts is not None
    assert slippery.contacts.pairs[0].friction == pytest.approx(0.1)
    many = robot.randomise(3, (500,), contact_friction=0.2)
    spread = np.log(many.parameters.contact_friction[:, 0] / 0.5)
    assert spread.std() == pytest.approx(0.2, rel=0.15)
    one = many.folded(7)
    assert one.contacts is not None
    assert one.contacts.pairs[0].friction == many.parameters.contact_friction[7, 0]
    single = robot.vary(contact_friction=0.3)
    assert single.contacts is not None
    assert single.contacts.pairs[0].friction == 0.3


def test_contacts_of_varied_robots_come_and_go() -> None:
    heavy = ball().vary(mass=2.0)
    robot = heavy.with_contacts(on.Ground(0.5))
    run = robot.rollout([1, 0, 0, 0, 0, 0, 0.1], np.zeros(6), steps=5, dt=H)
    assert run.contact_impulses[-1, 0, 2] / H == pytest.approx(2.0 * G)
    both = robot.vary(contact_friction=0.2)
    run = both.rollout([1, 0, 0, 0, 0, 0, 0.1], SLIDE, steps=5, dt=H)
    assert np.hypot(*run.contact_impulses[-1, 0, :2]) / H == pytest.approx(0.2 * 2.0 * G)
    bare = both.without_contacts()
    assert bare.mass == 2.0
    assert bare.parameters.contact_friction.shape == (0,)
    free = bare.rollout([1, 0, 0, 0, 0, 0, 0.1], np.zeros(6), steps=5, dt=H)
    assert free.v[-1, 5] == pytest.approx(-5 * H * G)


def test_wrong_friction_is_told() -> None:
    robot = sliding()
    with pytest.raises(on.ModelError, match="contact friction is not below zero"):
        robot.vary(contact_friction=-0.1)
    with pytest.raises(UnknownNameError, match="contact of the parameter 'contact_friction'"):
        robot.vary(contact_friction={"foot": 0.1})
    with pytest.raises(ArgumentError, match="no contact of 'block' has such a number"):
        block().vary(contact_friction=0.1)
    q = np.array([1, 0, 0, 0, 0, 0, 0.05])
    with pytest.raises(UnknownNameError, match="argument of `contact_step`"):
        robot.vjp("inverse_dynamics", (q, np.zeros(6), np.zeros(6)), np.ones(6), wrt="contact_friction")
