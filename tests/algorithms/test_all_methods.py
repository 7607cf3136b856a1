"""All methods of a question give one answer: on random trees, in every way of running, and on real robots.

The suite takes some trees; `ORDERN_TREES=200 pytest tests/algorithms/test_all_methods.py` takes more.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import Algorithm, find, questions
from tests.compile.asking import arguments, relative
from tests.random_models import ALL_JOINTS, random_robot
from tests.robots import ROBOTS
from tests.tolerances import METHODS, METHODS_ON_ROBOTS

TREES = int(os.environ.get("ORDERN_TREES", "6"))
SETTINGS = {"frame": "tool", "frames": ("tool",), "axes": "frame", "kind": "classical"}


def _ours(question: str) -> list[Algorithm]:
    return [m for m in on.methods(question) if m.function.__module__.startswith("ordern.")]


UNLIKE = {
    ("mass_matrix_factor", "ltl"),
    ("mass_matrix_pivots", "ltl"),
    ("mass_matrix_root_product", "ltl"),
    ("mass_matrix_root_solve", "ltl"),
    ("coriolis_matrix", "saha"),
}
"""Methods whose answers are other matrices with the same purpose; they are tested by themselves."""
on.methods()  # some modules declare questions of their own
CHOICES = [
    m
    for question in questions()
    for m in _ours(question.name)
    if m.name != question.default and not m.alias_of and (question.name, m.name) not in UNLIKE
]
choices = pytest.mark.parametrize("method", CHOICES, ids=lambda m: f"{m.question}-{m.name}")


def tree(seed: int) -> on.Robot:
    """Robots of every structure that some method treats, in turn."""
    n = 3 + seed % 7
    match seed % 6:
        case 0:
            return random_robot(seed, n, ALL_JOINTS)
        case 1:
            return random_robot(seed, n, ALL_JOINTS, floating=True, armature=True)
        case 2:
            return random_robot(seed, n, ALL_JOINTS, chain=True)
        case 3:
            return random_robot(seed, n, (on.Spherical,), chain=seed % 12 == 3)
        case 4:
            return random_robot(seed, n, (on.Revolute, on.Prismatic), mimic=True)
        case _:
            return random_robot(seed, n, (on.Revolute,), chain=True)


def apart(robot: on.Robot, method: Algorithm, way: str | None, count: int = 2) -> float | None:
    """How far a method is from the usual one; None if it refuses the robot."""
    question = find(method.question)[0]
    options = {name: SETTINGS[name] for name in question.options}
    present = ("external",) if "external" in method.accepts(question) else ()
    given = arguments(robot, method.question, present, count)
    try:
        kernel = on.Kernel(robot, method.question, method.name, present, way, **options)
    except on.ArgumentError as e:
        usual = find(method.question)[1]
        assert any(m.refuses is not None and m.refuses(robot) and m.refuses(robot) in str(e) for m in (method, usual))
        return None
    if (usual := find(method.question)[1]).refuses and usual.refuses(robot):
        return None  # it is tested by itself
    expected = robot.kernel(method.question, present=present, way="interpreted", **options)(*given)
    return relative(kernel(*given), expected)


@pytest.mark.slow
@choices
def test_on_random_trees(method: Algorithm) -> None:
    found = [apart(tree(seed), method, "interpreted") for seed in range(TREES)]
    accepted = [x for x in found if x is not None]
    assert len(accepted) >= TREES // 6
    assert max(accepted) <= METHODS


@pytest.mark.slow
@choices
def test_in_every_way_of_running(method: Algorithm) -> None:
    if method.pieces:
        return  # runs one way
    robots = [tree(seed) for seed in (0, 2, 3, 5)]
    robot = next(r for r in sorted(robots, key=lambda r: r.nv) if not (method.refuses and method.refuses(r)))
    for way in ("unrolled", "rolled"):
        found = apart(robot, method, way, 5)
        assert found is not None and found <= METHODS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "floating"),
    [
        ("panda_description/urdf/panda.urdf", False),
        ("solo_description/robots/solo12.urdf", True),
        ("ur_description/urdf/ur5_robot.urdf", False),
    ],
)
def test_on_real_robots(file: str, floating: bool) -> None:
    robot = on.load(ROBOTS / file, floating=floating)
    robot = robot.builder().frame("tool", robot.bodies[-1].name).build()
    wrong = {}
    for method in CHOICES:
        found = apart(robot, method, "interpreted")
        if found is not None and not found <= METHODS_ON_ROBOTS:
            wrong[method.question, method.name] = found
    assert not wrong


def test_aliases_are_what_they_are_called_after() -> None:
    names = {m.name for m in on.methods("forward_dynamics") if m.alias_of == "articulated-body"}
    assert names == {"featherstone", "rodriguez", "brandl-johanni-otter", "rosenthal", "aba"}
    short = [("inverse_dynamics", "rnea"), ("bias_force", "rnea"), ("mass_matrix", "crba")]
    robot = tree(0)
    for question, name in [*(("forward_dynamics", name) for name in names), *short]:
        given = arguments(robot, question, (), 1)
        assert find(question, name)[1].alias_of == find(question)[1].name
        assert np.array_equal(
            robot.kernel(question, name, way="interpreted")(*given), robot.kernel(question, way="interpreted")(*given)
        )
