"""Robots whose numbers are arguments: answers, shapes, code that is shared, and errors."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.compile import program
from ordern.errors import ArgumentError, ModelError
from ordern.model.parameter_fields import ALL_FIELDS, core_shapes, own_numbers
from ordern.model.variation import structure_of, varied_robot
from ordern.model.varied_rows import varied_rows
from tests.kernel.varied_robots import each_folded, folded, random_numbers
from tests.random_models import random_robot, random_state

QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "inverse_dynamics": ("qva", {}),
    "forward_dynamics": ("qva", {}),
    "mass_matrix": ("q", {}),
    "mass_matrix_inverse": ("q", {}),
    "coriolis_matrix": ("qv", {}),
    "passive_force": ("qvs", {}),
    "potential_energy": ("q", {}),
    "kinetic_energy": ("qv", {}),
    "integrate": ("qvs", {}),
    "joint_wrenches": ("qva", {}),
    "body_poses": ("q", {}),
    "pose": ("q", {"frame": "tool"}),
    "acceleration": ("qva", {"frame": "tool", "axes": "world", "kind": "classical"}),
    "jacobian": ("q", {"frame": "tool", "axes": "frame"}),
    "jacobian_rate": ("qv", {"frame": "tool", "axes": "world"}),
    "poses": ("q", {"frames": ("tool", "body1")}),
    "momentum": ("qv", {"frame": "tool"}),
    "com": ("q", {"frame": "tool"}),
    "operational_inertia_inverse": ("q", {"frame": "tool", "axes": "frame"}),
    "delassus_matrix": ("q", {"frames": ("tool",), "axes": "frame"}),
    "supported_wrench": ("qva", {"frame": "tool", "axes": "frame"}),
}


def _agree(seed: int, way: str, questions: Any = QUESTIONS, **about: Any) -> None:
    robot, rng = random_robot(seed, 6, **about), np.random.default_rng(seed)
    numbers = random_numbers(robot, rng, (2,))
    mask = {field: rng.random(x.shape[1:]) < 0.8 for field, x in numbers.items()} if seed % 2 else {}
    varied, fixed = varied_robot(robot, numbers, mask), each_folded(robot, numbers, mask)
    q, v, a = random_state(robot, seed)
    given = {"q": q, "v": v, "a": a, "s": 0.3}
    for name in questions:
        letters, options = QUESTIONS[name]
        arguments = [given[x] for x in letters]
        found = varied.kernel(name, way=way, **options)(*arguments)
        right = np.array([one.kernel(name, way="interpreted", **options)(*arguments) for one in fixed])
        np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-11 * max(1.0, np.abs(right).max()), err_msg=name)


def test_fields_have_the_shapes_of_the_robot() -> None:
    robot = random_robot(3, 6, mimic=True, armature=True)
    assert {field: x.shape for field, x in own_numbers(robot).items()} == core_shapes(robot)
    assert tuple(core_shapes(robot)) == ALL_FIELDS


@pytest.mark.parametrize("way", ["interpreted", "rolled"])
def test_all_numbers_vary(way: str) -> None:
    few = ("forward_dynamics", "potential_energy", "pose", "passive_force")
    _agree(2, way, few, armature=True, passive=True, mimic=True)


@pytest.mark.campaign
@pytest.mark.parametrize("way", ["interpreted", "unrolled", "rolled"])
def test_all_numbers_vary_on_trees_of_all_joints(way: str, campaign: Callable[[int, int], int]) -> None:
    for seed in range(10, 10 + campaign(3, 24)):
        about = {"armature": seed % 3 > 0, "passive": seed % 2 > 0, "mimic": seed % 4 == 3, "floating": seed % 5 == 0}
        _agree(seed, way, **about, merge=seed % 4 != 1)


def test_leading_shapes_broadcast_with_arguments() -> None:
    robot, rng = on.load("double-pendulum"), np.random.default_rng(0)
    own = own_numbers(robot)
    factor = rng.uniform(0.8, 1.2, (4, 1, 1, 1))
    gravity = own["gravity"] * rng.uniform(0.5, 1.0, (3, 1))
    varied = varied_robot(robot, {"inertia": own["inertia"] * factor, "gravity": gravity}, {})
    assert varied.batch_shape == (4, 3)
    q, v, tau = rng.normal(size=(3, 5, 1, 3, robot.nv))
    out = np.empty((5, 4, 3, 2))
    found = varied.forward_dynamics(q, v, tau, out=out)
    assert found is out
    assert varied.pose(q[0, 0, 0], robot.frames[-1]).shape == (4, 3, 4, 4)  # its numbers do not vary; its shape does
    assert varied.forward_dynamics(q, v, tau).tolist() == found.tolist()
    for k in range(4):
        for j in range(3):
            one = folded(robot, {"inertia": own["inertia"] * factor[k, 0], "gravity": gravity[j]})
            right = one.forward_dynamics(q[:, 0, j], v[:, 0, j], tau[:, 0, j])
            np.testing.assert_allclose(found[:, k, j], right, rtol=1e-12, atol=1e-12)
    with pytest.raises(ArgumentError, match=r"parameters of the robot \(4, 3\)"):
        varied.forward_dynamics(np.zeros((7, 2)), v[0, 0, 0], tau[0, 0, 0])


def test_kinds_of_numbers() -> None:
    robot = on.load("double-pendulum")
    own = own_numbers(robot)
    varied = varied_robot(robot, {"inertia": own["inertia"] * np.array([1.0, 2.0])[:, None, None]}, {})
    state = np.array([[0.3, 0.2], [0.1, -0.4], [1.0, 2.0]])
    right = varied.forward_dynamics(*state)
    single = varied.forward_dynamics(*state.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, right, rtol=1e-5)
    np.testing.assert_allclose(varied.forward_dynamics(*state.astype(np.longdouble)).astype(float), right, rtol=1e-13)
    np.testing.assert_allclose(varied.forward_dynamics(*state, threads=2), right, rtol=1e-13)


def test_new_numbers_do_not_compile_again(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = on.load("double-pendulum")
    own = own_numbers(robot)["inertia"]
    state = ([0.3, 0.2], [0.1, -0.4], [1.0, 2.0])
    first = varied_robot(robot, {"inertia": own}, {})
    first.forward_dynamics(*state)

    def compiled(*_: object) -> None:
        raise AssertionError("code is compiled again")

    monkeypatch.setattr(program, "compile_request", compiled)
    monkeypatch.setenv("ORDERN_CACHE", "off")
    for factor in (1.5, np.array([1.0, 2.0])[:, None, None]):
        other = varied_robot(robot, {"inertia": own * factor}, {})
        assert np.isfinite(other.forward_dynamics(*state)).all()
        assert other.kernel("forward_dynamics").request is not first.kernel("forward_dynamics").request
        assert other.kernel("forward_dynamics").code is first.kernel("forward_dynamics").code


def test_the_key_of_code_does_not_depend_on_values() -> None:
    def key(factor: float, mask: Any) -> Any:
        robot = on.load("double-pendulum")
        varied = varied_robot(robot, {"inertia": own_numbers(robot)["inertia"] * factor}, {"inertia": mask})
        return varied.kernel("forward_dynamics").request.model.digest

    everything, one = np.ones((2, 10), bool), np.ones((2, 10), bool)
    one[0] = False
    assert key(1.0, everything) == key(2.0, everything)
    assert key(1.0, everything) != key(1.0, one)


def test_numbers_replace_earlier_ones() -> None:
    robot = on.load("double-pendulum")
    own = own_numbers(robot)
    first = varied_robot(robot, {"inertia": 2.0 * own["inertia"]}, {})
    second = varied_robot(first, {"gravity": [0.0, 0.0, -1.62]}, {})
    right = folded(robot, {"inertia": 2.0 * own["inertia"], "gravity": np.array([0.0, 0.0, -1.62])})
    np.testing.assert_allclose(second.gravity_force([0.3, 0.2]), right.gravity_force([0.3, 0.2]), rtol=1e-13)
    assert second.gravity == (0.0, 0.0, -1.62)
    assert second.mass == pytest.approx(2.0 * robot.mass)


def test_varied_robots_pickle_and_compare() -> None:
    robot = on.load("double-pendulum")
    own = own_numbers(robot)["inertia"]
    varied = varied_robot(robot, {"inertia": own * np.array([1.0, 2.0])[:, None, None]}, {})
    again = pickle.loads(pickle.dumps(varied))
    assert again == varied != robot
    assert hash(again) == hash(varied)
    kernel = pickle.loads(pickle.dumps(varied.kernel("mass_matrix")))
    np.testing.assert_array_equal(kernel([0.3, 0.2]), again.mass_matrix([0.3, 0.2]))


def test_a_set_without_inertia_is_named() -> None:
    robot = on.load("double-pendulum")
    own = own_numbers(robot)["inertia"]
    sets = np.tile(own, (2, 3, 1, 1))
    sets[1, 2, 1] = 0.0
    with pytest.raises(ModelError, match=r"set \(1, 2\) of the parameters: joint '.*' .* meets no inertia"):
        varied_robot(robot, {"inertia": sets}, {}).forward_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    sets[1, 2] = own
    sets[0, 1, 1, 4:] = 0.0
    sets[0, 1, 1, 1:4] = 0.0  # a mass on the axis
    with pytest.raises(ModelError, match=r"set \(0, 1\)"):
        varied_robot(robot, {"inertia": sets}, {}).mass_matrix_inverse([0.0, 0.0])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"mass": np.ones(2)}, "'mass'"),
        ({"inertia": np.ones((2, 9))}, r"inertia has the shape \(2, 9\)"),
        ({"inertia": np.ones((3, 2, 10)), "gravity": np.ones((4, 3))}, "do not broadcast"),
        ({"gravity": [[0.0, 0.0, -9.81], [0.0, np.nan, 0.0]]}, r"set \(1,\): a number is not finite"),
        ({"added_inertia": np.ones((2, 21))}, "no body is in a fluid"),
    ],
)
def test_wrong_parameters_are_refused(values: Any, words: str) -> None:
    with pytest.raises(on.OrdernError, match=words):
        varied_robot(on.load("double-pendulum"), values, {})


def test_methods_that_cannot_vary_say_so() -> None:
    robot = on.load("double-pendulum")
    many = varied_robot(robot, {"inertia": np.tile(own_numbers(robot)["inertia"], (2, 1, 1))}, {})
    with pytest.raises(ArgumentError, match="whose parameters vary"):
        many.forward_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0], method="conjugate-gradient")
    with pytest.raises(ArgumentError, match="C code is written for fixed numbers"):
        many.kernel("mass_matrix").c()


def test_added_inertia_varies() -> None:
    builder, half = on.Builder("swimmer").body("world"), np.random.default_rng(0).normal(size=(2, 6, 6))
    for k, parent in enumerate(("world", "one")):
        builder.body(
            ("one", "two")[k], parent=parent, joint=on.Revolute((0.0, 0.6, 0.8)), at=(0.1, 0.2, 0.3), mass=1.0 + k,
            com=(0.1, 0.0, 0.2), inertia=(0.1, 0.2, 0.15), added_inertia=half[k] @ half[k].T,
        )  # fmt: skip
    robot = builder.build()
    numbers = {"added_inertia": own_numbers(robot)["added_inertia"] * np.array([1.0, 1.5])[:, None, None]}
    varied = varied_robot(robot, numbers, {})
    state = ([0.3, 0.2], [0.1, -0.4], [1.0, 2.0])
    right = [one.forward_dynamics(*state) for one in each_folded(robot, numbers)]
    np.testing.assert_allclose(varied.forward_dynamics(*state), right, rtol=1e-12)


def test_single_states_of_one_set() -> None:
    robot = on.load("double-pendulum")
    own, state = own_numbers(robot)["inertia"], [np.array(x) for x in ([0.3, 0.2], [0.1, -0.4], [1.0, 2.0])]
    heavy, light = (varied_robot(robot, {"inertia": own * factor}, {}) for factor in (2.0, 0.5))
    right = [folded(robot, {"inertia": own * factor}).forward_dynamics(*state) for factor in (2.0, 0.5)]
    for _ in range(3):  # from the second call on by fast functions, which share one piece of code
        for one, answer in zip((heavy, light), right, strict=True):
            np.testing.assert_allclose(one.forward_dynamics(*state), answer, rtol=1e-13)
            np.testing.assert_allclose(one.forward_dynamics(*(x.tolist() for x in state)), answer, rtol=1e-13)
            np.testing.assert_allclose(one.forward_dynamics(*state, out=np.empty(2)), answer, rtol=1e-13)
            assert one.forward_dynamics(*(np.tile(x, (3, 1)) for x in state)).shape == (3, 2)
    with pytest.raises(ArgumentError, match="argument 'q' has shape"):
        heavy.forward_dynamics(np.zeros(3), *state[1:])


def test_numbers_in_long_rows_are_the_same() -> None:
    """The matrix from values to numbers, and the text that it comes from."""
    robot = random_robot(5, 5, armature=True, passive=True, mimic=True)
    numbers = random_numbers(robot, np.random.default_rng(0), (3,))
    del numbers["joint_placement"], numbers["frame_placement"]
    varied = varied_robot(robot, numbers, {})
    assert varied.variation is not None
    assert varied.variation.values is not None
    for regroup in (False, True):
        rows = varied_rows(structure_of(varied), regroup)
        assert rows.is_affine
        right = np.stack(rows.evaluated(rows.nodes, list(varied.variation.values.T)), axis=-1)
        np.testing.assert_allclose(rows.arrays(rows.nodes, varied.variation.values), right, rtol=1e-13, atol=1e-13)
