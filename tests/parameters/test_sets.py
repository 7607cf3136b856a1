"""Robots with sets of parameters: each function has the leading shape, and is right for every set."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.model.json_form import from_plain, to_plain
from tests.parameters.mechanism import assert_same_robot, build
from tests.random_models import random_state
from tests.tolerances import ROUNDING, assert_close

RNG = np.random.default_rng(5)
SIX = np.array([2, 2, 2, 0, 1, 0])
SPREAD = RNG.uniform(0.8, 1.2, (2, 1))
CHANGES: dict[str, dict[str, Any]] = {
    "mass": {"mass": {"a": 2.0 * SPREAD, "hand": 0.5 * SPREAD[:, 0]}},
    "com": {"com": {"hand": RNG.normal(0.0, 0.05, (2, 3)), "a": (0.1, 0.0, 0.0)}, "inertia": {"left": 0.1 * SIX}},
    "terms": {"armature": {"shoulder": SPREAD}, "joint_friction": 0.2 * SPREAD[..., None], "damping": {"grip": 0.1}},
    "types": {"joint_numbers": {"screw": [0.01, 0.05]}, "mimic_ratio": 0.5 * SPREAD[..., None], "mimic_offset": 0.1},
    "places": {"placement": {"screw": RNG.normal(size=(2, 1, 6)), "tool": RNG.normal(size=(2, 3))}},
    "gravity": {"gravity": RNG.normal(size=(2, 1, 3)), "rest": {"shoulder": [0.1, 0.2]}},
}


def agree(robot: on.Robot, varied: on.Robot, way: str) -> None:
    """Compare every set with the ordinary robot of its numbers."""
    shape = varied.batch_shape
    q, v, a = random_state(robot, 0, shape)
    for question, arguments, options in (
        ("inverse_dynamics", (q, v, a), {}),
        ("passive_force", (q, v, np.array(0.01)), {}),
        ("pose", (q,), {"frame": "tool"}),
        ("potential_energy", (q,), {}),
    ):
        found = varied.kernel(question, way=way, **options)(*arguments)
        for index in np.ndindex(shape):
            one = [x[index] if x.ndim else x for x in arguments]
            wanted = varied.folded(index).kernel(question, way="interpreted", **options)(*one)
            assert_close(found[index], wanted, ROUNDING)


@pytest.mark.parametrize("way", ["interpreted", pytest.param("unrolled", marks=pytest.mark.slow)])
@pytest.mark.parametrize("change", CHANGES)
def test_every_set_is_an_ordinary_robot(change: str, way: str) -> None:
    robot = build()
    varied = robot.vary(**CHANGES[change])
    assert varied.batch_shape == varied.parameters.shape != ()
    agree(robot, varied, way)


def test_one_set_is_the_robot_that_a_builder_makes() -> None:
    robot = build()
    varied = robot.vary(mass={"hand": 0.9}, gravity=(0, 0, -1))
    wanted = robot.vary(mass={"hand": 0.9}, gravity=(0, 0, -1), fold=True)
    assert varied.batch_shape == ()
    assert_same_robot(varied, wanted)
    assert varied.folded() == wanted and varied.parameters == wanted.parameters and varied != wanted
    assert_same_robot(varied.vary(com={"hand": (0, 0, 0)}).folded(), wanted.vary(com={"hand": (0, 0, 0)}, fold=True))


def test_changes_of_sets() -> None:
    robot = build()
    once = robot.vary(mass={"a": [2.0, 3.0]}, armature={"shoulder": 0.3})
    again = once.vary(gravity=[[[0, 0, -9.0]], [[0, 0, -8.0]], [[0, 0, -7.0]]], armature={"shoulder": 0.4})
    assert again.batch_shape == (3, 2)
    p = again.parameters
    assert np.unique(p.mass[..., 0]).tolist() == [2.0, 3.0] and np.unique(p.armature[..., 0]).tolist() == [0.4]
    assert_same_robot(
        again.folded((1, 1)), robot.vary(mass={"a": 3.0}, armature={"shoulder": 0.4}, gravity=(0, 0, -8), fold=True)
    )
    with pytest.raises(on.ModelError, match="the inertia of body 'b' is not that of its links together"):
        robot.vary(mass={"hand": [0.1, 0.2]}).vary(com={"hand": (0, 0, 0)})


def test_only_numbers_that_are_named_are_inputs() -> None:
    robot = build()

    def masks(**changes: Any) -> dict[str, int]:
        variation = robot.vary(**changes).variation
        assert variation is not None
        return {field: int(mask.sum()) for field, mask in variation.masks.items()}

    assert masks(mass={"left": 0.3}) == {"inertia": 4}  # its centre is in the origin, and its axes are principal
    assert masks(com={"left": (0, 0, 0.1)}) == {"inertia": 9}
    assert masks(inertia={"left": (1, 1, 1, 0, 0, 0)}) == {"inertia": 6}
    assert masks(mass={"a": 1.0}, gravity=(0, 0, 0)) == {"inertia": 10, "gravity": 3}
    assert masks(placement={"screw": (0, 0, 1)}) == {"joint_placement": 3}
    assert masks(armature={"socket": 1.0}, damping=0.1) == {"armature": 3, "damping": 7}
    assert robot.with_parameters(robot.parameters) == robot


def test_random_sets() -> None:
    robot = build()
    many = robot.randomise(3, (2, 4), mass=0.1, com=0.01, inertia=0.1, joint_friction=0.3)
    assert many.batch_shape == (2, 4)
    p, again = many.parameters, robot.randomise(3, (2, 4), mass=0.1, com=0.01, inertia=0.1, joint_friction=0.3)
    assert p == again.parameters and many == again
    for index in np.ndindex(2, 4):
        assert many.folded(index).check().ok
    draws = np.log(robot.randomise(0, 4000, mass=0.1).parameters.mass[:, 0] / 2.0)
    assert abs(draws.mean()) < 0.01 and abs(draws.std() - 0.1) < 0.005
    shifts = robot.randomise(0, 4000, com=0.01).parameters.com[:, 0] - robot.parameters.com[0]
    assert np.abs(shifts.mean(axis=0)).max() < 1e-3 and np.abs(shifts.std(axis=0) - 0.01).max() < 5e-4


def test_pickles() -> None:
    many = build().vary(mass={"hand": [0.4, 0.5]})
    again = pickle.loads(pickle.dumps(many))
    assert again == many and again.parameters == many.parameters and again.batch_shape == (2,)


@pytest.mark.parametrize(
    ("called", "function"),
    [
        ("builder", lambda r: r.builder()),
        ("lock", lambda r: r.lock("grip")),
        ("attach", lambda r: r.attach("payload", to="tool", mass=1.0)),
        ("attach", lambda r: build().attach(r, to="tool")),
        ("check", lambda r: r.check()),
        ("to_urdf", lambda r: r.to_urdf()),
        ("operators", lambda r: r.operators(r.neutral())),
        pytest.param("symbolic", lambda r: on.symbolic(r, "gravity_force"), marks=pytest.mark.needs("sympy")),
        ("a robot as data", to_plain),
    ],
)
def test_functions_for_one_robot_say_so(called: str, function: Any) -> None:
    many = build().vary(mass={"hand": [0.4, 0.5]})
    with pytest.raises(
        on.ArgumentError, match=rf"^{called}: 'all' has sets of parameters, of the leading shape \(2,\).*robot.folded"
    ):
        function(many)


def test_kinematics_is_the_same_for_all_masses() -> None:
    arm, four_bar = on.load("planar-3r"), on.load("four-bar")
    pose = arm.pose([0.3, 0.4, 0.5], "tool")
    many = arm.randomise(0, 3, mass=0.1)
    assert np.array_equal(many.inverse_kinematics(pose, "tool")[0], arm.inverse_kinematics(pose, "tool")[0])
    heavy = four_bar.vary(gravity=np.zeros((2, 3)))
    q = four_bar.assemble().q
    assert np.array_equal(heavy.assemble().q, q) and heavy.mobility(q).freedoms == four_bar.mobility(q).freedoms
    assert np.array_equal(heavy.close(q)[0], four_bar.close(q)[0])
    with pytest.raises(on.ArgumentError, match="inverse_kinematics: 'planar-3r' has sets of parameters"):
        arm.randomise(0, 3, placement=0.01).inverse_kinematics(pose, "tool")


def test_what_a_robot_with_sets_shows() -> None:
    robot = build()
    many = robot.vary(mass={"hand": [0.4, 0.5], "pad": [[0.0], [0.1]]})
    assert_close(many.mass, robot.mass + np.array([[-0.1, 0.0], [0.0, 0.1]]), ROUNDING)
    assert repr(many) == "<Robot 'all': 5 bodies, nq=7, nv=6, parameters (2, 2)>"
    assert many.summary().startswith("all: 5 bodies, nq 7, nv 6, parameters (2, 2)")
    one = robot.vary(mass={"hand": 0.4})
    assert_close(one.mass, robot.mass - 0.1, ROUNDING)
    assert from_plain(to_plain(one), on.Robot) == one.folded()
    assert_same_robot(one.builder().build(), one.folded())


def test_no_sets_at_all() -> None:
    """An empty leading shape gives empty answers of the right shapes."""
    robot = build()
    q, _, _ = random_state(robot, 0)
    varied = [
        robot.randomise(0, 0, mass=0.1, com=0.1, inertia=0.1, joint_friction=0.1, placement=(0.1, 0.1), gravity=0.1),
        robot.vary(mass={"a": np.zeros(0), "hand": np.zeros(0)}, added_inertia={"ball": np.zeros((0, 21))}),
        robot.vary(joint_numbers={"screw": np.zeros(0)}, placement={"tool": np.zeros((0, 4, 4))}),
    ]
    for none in varied:
        assert none.batch_shape == (0,) and none.mass.shape == (0,) and none.parameters.flatten().shape[0] == 0
        assert none.kernel("gravity_force", way="interpreted")(q).shape == (0, robot.nv)
    pendulum = on.load("double-pendulum").randomise(0, (2, 0), mass=0.1)
    assert pendulum.operational_inertia(np.zeros(2), "tip", tolerance=1e-9).shape == (2, 0, 6, 6)
    with pytest.raises(on.ArgumentError, match="there is no set 0"):
        varied[0].folded(0)


@pytest.mark.parametrize("index", [slice(0, 2), 1.5, np.arange(2), "a", None, ..., [0]])
def test_an_index_is_a_whole_number(index: Any) -> None:
    with pytest.raises(on.ArgumentError, match="index of one set of parameters is a whole number"):
        build().vary(mass={"a": [1.0, 2.0, 3.0]}).folded(index)
