"""Contacts that are far take no part in a step: nothing changes, and one that is left out by mistake is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms.contact import candidates

H = 1e-3
SWEEPS = 60


def crawler() -> on.Robot:
    """Return a trunk with three legs of two capsules each, whose joints have limits: 14 points and 6 stops."""
    builder = on.Builder("crawler")
    builder.body("trunk", mass=2.0, inertia=(0.02, 0.02, 0.03))
    builder.shape("trunk", "capsule", (0.04, 0.2), role="collision")
    limits: dict[str, Any] = {"lower": -0.6, "upper": 0.6, "damping": 0.05, "armature": 0.002}
    for k in range(3):
        angle = 2.0 * np.pi * k / 3.0
        parent, at = "trunk", (0.1 * np.cos(angle), 0.1 * np.sin(angle), 0.0)
        for part in ("thigh", "shin"):
            name = f"{part} {k}"
            builder.body(name, mass=0.3, com=(0.0, 0.0, -0.05), inertia=(1e-3, 1e-3, 1e-4))
            builder.shape(name, "capsule", (0.02, 0.1), at=(0.0, 0.0, -0.06), role="collision")
            axis = (-np.sin(angle), np.cos(angle), 0.0)
            builder.joint(f"{name} joint", on.Revolute(axis), parent, name, at=at, **limits)
            parent, at = name, (0.0, 0.0, -0.12)
    return builder.build(floating=True).with_contacts(on.Ground(0.6), sweeps=SWEEPS)


def arguments(robot: on.Robot, count: int) -> list[Any]:
    """Return the arguments of steps at random states near the ground, some of them with joints at their stops."""
    rng, nv = np.random.default_rng(3), robot.nv
    assert robot.contacts is not None
    q = np.tile(robot.neutral(), (count, 1))
    q = robot.integrate(q, rng.uniform(-0.8, 0.8, (count, nv)))
    q[:, 7:] = np.clip(q[:, 7:], -0.5999, 0.5999)
    gaps = robot.contact_points(q).gap.min(-1)
    q[:, 6] += rng.uniform(-1e-3, 4e-3, count) - gaps
    v, tau = rng.standard_normal((2, count, nv))
    pairs, blocks = len(robot.contacts.pairs), robot.contacts.blocks
    surfaces = np.tile([0.6, 0.0, 0.0], (count, pairs, 1))
    zeros = np.zeros((count, nv))
    return [
        q,
        v,
        tau,
        np.full(count, H),
        zeros,
        robot.lower,
        robot.upper,
        np.zeros((count, blocks, 3)),
        zeros,
        surfaces,
    ]


def test_nothing_changes_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = crawler()
    given, n = arguments(robot, 40), robot.nq + robot.nv
    found = robot.kernel("contact_step")(*given)
    monkeypatch.setattr(candidates, "_MARGIN", 1e9)
    whole = robot.kernel("contact_step", way="interpreted")(*given)
    solved = (found[:, -4] < 1e-9) & (whole[:, -4] < 1e-9)
    assert solved.mean() > 0.9
    np.testing.assert_allclose(found[solved][:, :n], whole[solved][:, :n], rtol=0.0, atol=1e-8)
    touching = (np.abs(found[:, n : n + 3 * 14]).reshape(-1, 14, 3).max(-1) > 0.0).sum(-1)
    assert 1 <= touching.max() < 14
    assert (np.abs(found[:, n + 3 * 14 : -3]) > 0.0).any()  # a stop acts, too


def test_answers_do_not_depend_on_the_place_in_a_batch() -> None:
    robot = crawler()
    given = arguments(robot, 37)
    kernel = robot.kernel("contact_step")
    found = kernel(*given)
    order = np.random.default_rng(0).permutation(37)
    shuffled = [x if k in (5, 6) else x[order] for k, x in enumerate(given)]
    np.testing.assert_array_equal(kernel(*shuffled), found[order])
    for k in (0, 17, 36):
        one = [x if j in (5, 6) else x[k] for j, x in enumerate(given)]
        np.testing.assert_array_equal(kernel(*one), found[k])


def seesaw() -> on.Robot:
    """Return a lever on a hinge, a ball above its left end, and one above its right end."""
    builder = on.Builder("seesaw").body("base")
    builder.body("lever", mass=0.1, inertia=(1e-2, 1e-2, 1e-2))
    builder.shape("lever", "capsule", (0.02, 1.0), role="collision", at=((0.0, 0.0, 0.0), (0.0, np.pi / 2, 0.0)))
    builder.joint("hinge", on.Revolute((0.0, 1.0, 0.0)), "base", "lever")
    for name in ("heavy", "light"):
        builder.body(name, mass=5.0 if name == "heavy" else 0.1, inertia=(0.01, 0.01, 0.01))
        builder.shape(name, "sphere", (0.1,), role="collision")
        builder.joint(name, on.Free(), "base", name)
    pairs = [("heavy", "lever"), ("light", "lever")]
    return builder.build().with_contacts(pairs=pairs, sweeps=SWEEPS)


def test_a_contact_that_is_left_out_by_mistake_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = seesaw()
    q, v = robot.neutral(), np.zeros(robot.nv)
    heavy, light = (robot.joint(name) for name in ("heavy", "light"))
    q[heavy.q][4:] = -0.4, 0.0, 0.12
    q[light.q][4:] = 0.4, 0.0, 0.121  # a gap of 1 mm, which the lever closes within the step
    v[heavy.v][5] = -2.0
    args = [q, v, np.zeros(robot.nv), H, np.zeros(robot.nv), robot.lower, robot.upper]
    args += [np.zeros((2, 3)), np.zeros(robot.nv), np.tile([0.0, 0.0, 0.0], (2, 1))]
    right = robot.kernel("contact_step", way="interpreted")(*args)
    assert right[-4] < 1e-9
    assert right[robot.nq + light.v.start + 5] > 0.1  # the light ball is thrown upwards
    monkeypatch.setattr(candidates, "_MARGIN", 0.0)
    monkeypatch.setattr(candidates, "_GAIN", 0.0)
    wrong = robot.kernel("contact_step", way="interpreted")(*args)
    assert wrong[-4] > 0.1
