"""Armature on joints whose velocities are along axes that turn: on the base, it is an inertia of the body.

A drive between the ground and a body that turns it has the kinetic energy of more inertia in that body, and one that
pushes it in all directions alike has that of more mass at its origin. So both robots must move alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.algorithms.trees import ask, external_forces, states
from tests.random_models import random_placement
from tests.tolerances import CLOSED_FORM, INVERSION, ROUNDING, assert_close

Array = np.ndarray
ROOTS: dict[str, tuple[on.Joint, tuple[float, ...], Array, float]] = {
    "spherical": (on.Spherical(), (0.3, 0.2, 0.6), np.array([0.3, 0.2, 0.6]), 0.0),
    "free": (on.Free(), (0.3, 0.2, 0.6, 1.5, 1.5, 1.5), np.array([0.3, 0.2, 0.6]), 1.5),
    "planar": (on.Planar((0.0, 1.0, 0.0)), (0.4, 1.5, 1.5), np.array([0.0, 0.4, 0.0]), 1.5),
    "rolling disc": (on.RollingDisc(0.5), (0.3, 0.2, 0.6), np.array([0.3, 0.2, 0.6]), 0.0),
}
"""A joint, its armature, and the moments of inertia and the mass at the origin that it amounts to."""


def both(name: str) -> tuple[on.Robot, on.Robot]:
    """A tree on this joint with armature, and one whose root has more inertia instead."""
    joint, armature, moments, mass = ROOTS[name]
    m, c, I = 2.0, np.array([0.1, -0.2, 0.3]), np.diag([0.5, 0.6, 0.4])
    about = I + m * (c @ c * np.eye(3) - np.outer(c, c)) + np.diag(moments)  # about the origin
    com = m * c / (m + mass)
    heavier = about - (m + mass) * (com @ com * np.eye(3) - np.outer(com, com))
    roots: list[dict[str, Any]] = [
        {"mass": m, "com": c, "inertia": I, "armature": armature},
        {"mass": m + mass, "com": com, "inertia": heavier},
    ]
    found = []
    for root in roots:
        rng = np.random.default_rng(0)
        builder = on.Builder(name, gravity=(1.0, -2.0, -9.0) if mass == 0.0 else (0.0, 0.0, 0.0)).body("ground")
        builder.body("root", parent="ground", joint=joint, at=random_placement(rng), **root)
        for k, (parent, next) in enumerate((("root", on.Revolute()), ("root", on.Universal()), ("b0", on.Prismatic()))):
            more = {"mass": 1.0 + k, "com": rng.normal(size=3), "inertia": (0.5, 0.6, 0.7)}
            builder.body(f"b{k}", parent=parent, joint=next, at=random_placement(rng), **more)
        found.append(builder.build())
    return found[0], found[1]


@pytest.fixture(params=ROOTS, scope="module")
def pair(request: pytest.FixtureRequest) -> tuple[on.Robot, on.Robot]:
    return both(request.param)


def names(question: str) -> list[str]:
    """The methods that take any tree."""
    return [m.name for m in on.methods(question) if not (m.alias_of or m.refuses)]


def agree(pair: tuple[on.Robot, on.Robot], question: str, *arguments: Array, tolerance: float, **more: Any) -> None:
    one, other = (ask(robot, question, *arguments, **more) for robot in pair)
    assert_close(one, other, tolerance)


@pytest.mark.parametrize("method", names("inverse_dynamics"))
def test_joint_forces(pair: tuple[on.Robot, on.Robot], method: str) -> None:
    agree(pair, "inverse_dynamics", *states(pair[0]), method=method, tolerance=ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("method", [m.name for m in on.methods("forward_dynamics") if not m.alias_of])
def test_accelerations(pair: tuple[on.Robot, on.Robot], method: str) -> None:
    q, v, tau = states(pair[0])
    f = external_forces(pair[0])
    (found,) = (m for m in on.methods("forward_dynamics") if m.name == method)
    if found.refuses and found.refuses(pair[0]):
        with pytest.raises(on.OrdernError):
            ask(pair[0], "forward_dynamics", q, v, tau, method=method)
        return
    expected = ask(pair[1], "forward_dynamics", q, v, tau)
    assert_close(ask(pair[0], "forward_dynamics", q, v, tau, method=method), expected, INVERSION)
    if found.name != "articulated-body-absolute":
        expected = ask(pair[1], "forward_dynamics", q, v, tau, external=f)
        assert_close(ask(pair[0], "forward_dynamics", q, v, tau, external=f, method=method), expected, INVERSION)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["unrolled", "rolled"])
def test_compiled(pair: tuple[on.Robot, on.Robot], way: str) -> None:
    q, v, tau = states(pair[0])
    for question in ("inverse_dynamics", "forward_dynamics", "coriolis_matrix"):
        arguments = (q, v) if question == "coriolis_matrix" else (q, v, tau)
        found = pair[0].kernel(question, way=way)(*arguments)
        assert_close(found, ask(pair[0], question, *arguments), INVERSION)


@pytest.mark.parametrize("question", ["bias_force", "kinetic_energy", "mass_matrix", "coriolis_matrix"])
def test_all_else_of_the_equations_of_motion(pair: tuple[on.Robot, on.Robot], question: str) -> None:
    q, v, _ = states(pair[0])
    if question == "coriolis_matrix":  # the matrices are two of many; their products with v are one
        one, other = (np.einsum("...ij,...j->...i", ask(robot, question, q, v), v) for robot in pair)
        assert_close(one, other, ROUNDING)
    else:
        agree(pair, question, *((q,) if question == "mass_matrix" else (q, v)), tolerance=ROUNDING)


def test_operational_bias() -> None:
    pair = both("free")  # others have less than six freedoms between the ground and the frame
    q, v, _ = states(pair[0])
    agree(pair, "operational_bias", q, v, frame="b1", axes="frame", tolerance=INVERSION)


@pytest.mark.parametrize("method", ["virtual-work", "lagrange-multipliers"])
def test_wrenches_through_the_joints(method: str) -> None:
    """By constraint forces, and by Newton and Euler."""
    robot, _ = both("spherical")
    q, v, tau = states(robot)
    expected = ask(robot, "joint_wrenches", q, v, ask(robot, "forward_dynamics", q, v, tau))
    assert_close(ask(robot, "constraint_forces", q, v, tau, method=method), expected, INVERSION)


def test_a_spinning_body_flies_straight() -> None:
    """Pushed by a constant force, a body with armature is accelerated along it, and no other way, however it turns."""
    builder = on.Builder("ball", gravity=(0.0, 0.0, 0.0)).body("ground")
    more = {"mass": 2.0, "inertia": (0.5, 0.6, 0.7), "armature": (0.1, 0.2, 0.3, 1.5, 1.5, 1.5)}
    robot = builder.body("ball", parent="ground", joint=on.Free(), **more).build()
    rng = np.random.default_rng(0)
    q, v = robot.random(rng), rng.normal(size=6)
    R, force = robot.pose(q, "ball")[:3, :3], np.array([1.0, -2.0, 3.0])
    a = robot.forward_dynamics(q, v, np.concatenate([np.zeros(3), R.T @ force]))
    seen = robot.acceleration(q, v, a, "ball", axes="world")
    assert_close(seen[3:], force / 3.5, CLOSED_FORM)
    J = np.array([0.6, 0.8, 1.0])
    assert_close(a[:3], -np.cross(v[:3], J * v[:3]) / J, CLOSED_FORM)  # Euler's equations
