"""The texts of the derivatives of inverse and forward dynamics, against products of differentiated graphs."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from tests.random_models import ALL_JOINTS, random_robot
from tests.tolerances import assert_close

CLOSE = {"inverse_dynamics": 1e-12, "forward_dynamics": 1e-10}
"""Relative. Solutions with random mass matrices lose some digits."""
QUESTIONS = {"inverse_dynamics": ("q", "v", "a"), "forward_dynamics": ("q", "v", "tau")}
MORE = ("external", "base_velocity", "base_acceleration")
OTHER = {"inverse_dynamics": "newton-euler-absolute", "forward_dynamics": "composite-body"}
"""Methods whose graphs are differentiated."""
FREE = tuple(x for x in ALL_JOINTS if x is not on.Fixed)


def _robot(seed: int, n: int = 5) -> on.Robot:
    """Robots with all joints in turn: on a fixed base, floating, with mimic joints."""
    joints = [FREE[(n * seed + k) % len(FREE)] for k in range(n)]
    if seed == 2:
        joints = [on.Revolute, on.Prismatic, on.Spherical, on.Revolute]
    if seed == 0:  # short: this one is tested always
        joints = [on.Revolute, on.Universal]
    return random_robot(seed, len(joints), joints, armature=True, floating=seed == 1, mimic=seed == 2)


def _given(robot: on.Robot, question: str, count: int, more: bool) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    names = QUESTIONS[question] + (MORE if more else ())
    shapes: dict[str, tuple[int, ...]] = {"external": (len(robot.bodies), 6)} | dict.fromkeys(MORE[1:], (6,))
    return {
        x: robot.random(rng, count) if x == "q" else rng.normal(size=(count, *shapes.get(x, (robot.nv,))))
        for x in names
    }


def _columns(robot: on.Robot, question: str, given: dict[str, np.ndarray]) -> np.ndarray:
    """The matrices by products with unit tangents, which are made from a graph."""
    spread = {x: a[:, None] for x, a in given.items()}
    units = np.eye(robot.nv)
    rates = [robot.jvp(question, spread, {x: units}) for x in QUESTIONS[question]]
    return np.stack([np.swapaxes(x, -1, -2) for x in rates], axis=1)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("seed", [pytest.param(k, marks=pytest.mark.slow if k else ()) for k in range(6)])
def test_texts_are_the_derivatives(question: str, seed: int) -> None:
    robot = _robot(seed)
    given = _given(robot, question, 2, more=True)
    kernel = robot.kernel(f"{question}_derivatives", present=MORE, way="interpreted")
    assert_close(kernel(*given.values()), _columns(robot, question, given), CLOSE[question])


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("way", ["unrolled", "rolled"])
def test_ways_of_running_agree(question: str, seed: int, way: str) -> None:
    robot = _robot(seed, 3)
    given = list(_given(robot, question, 19, more=True).values())  # several tiles: none finds numbers of another
    kernel = robot.kernel(f"{question}_derivatives", present=MORE, way=way)
    expected = kernel.with_way("interpreted")(*given)
    assert_close(kernel(*given), expected, CLOSE[question])
    assert_close(kernel(*given), expected, CLOSE[question])
    if seed < 2:
        single = kernel(*(np.asarray(x, np.float32) for x in given))
        assert single.dtype == np.float32
        assert_close(single, expected, 2e-2)


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("most", [1, 10_000], ids=["long", "short"])
def test_matrices_by_some_of_the_arguments(question: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one argument, by all, and by others beside them, as of robots that are too long for one piece of code."""
    monkeypatch.setattr("ordern.derivatives.call._MOST_AT_ONCE", most)
    robot = random_robot(5, 3, (on.Revolute, on.Spherical))
    given, last = _given(robot, question, 3, more=False), QUESTIONS[question][2]
    ask = getattr(robot.derivatives, question)
    every, expected = ask(**given), ask(**given, method=OTHER[question])
    assert every._fields == expected._fields == QUESTIONS[question]
    for name in every._fields:
        assert_close(getattr(every, name), getattr(expected, name), CLOSE[question])
        [one] = ask(**given, wrt=name)
        assert_close(one, getattr(every, name), CLOSE[question])
    pushed = ask(**given, base_velocity=np.zeros(6), wrt=("base_velocity", last))
    assert pushed._fields == (last, "base_velocity")
    assert_close(pushed[0], every[2], CLOSE[question])


def test_code_for_trees_is_refused_for_loops() -> None:
    robot = on.load("four-bar")
    assert "void" in robot.opened().kernel("forward_dynamics_derivatives").c()
    with pytest.raises(ArgumentError, match=r"derivatives of forward dynamics.*loops.*robot\.opened"):
        robot.kernel("forward_dynamics_derivatives").c()
    assert "void" in robot.opened().kernel("forward_dynamics_derivatives").c()


def test_bodies_in_a_fluid_have_derivatives_of_their_graph() -> None:
    builder = on.Builder("swimmer")
    builder.body("ground")
    builder.body("hull", mass=2.0, inertia=(0.1, 0.2, 0.15), added_inertia=np.diag([0.1, 0.2, 0.3, 1.0, 2.0, 3.0]))
    builder.joint("axis", on.Revolute((0.0, 0.0, 1.0)), "ground", "hull")
    robot = builder.build()
    with pytest.raises(ArgumentError, match="bodies in a fluid"):
        robot.kernel("inverse_dynamics_derivatives")
    found = robot.derivatives.inverse_dynamics([0.3], [0.2], [0.1])
    assert_close(found.a, robot.mass_matrix([0.3]), CLOSE["inverse_dynamics"])
