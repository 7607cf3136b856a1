"""Base parameters: their number, their combinations by two methods, what data determine, and words for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ordern as on
from tests.identify.robots import random_tree
from tests.random_models import random_robot, random_state
from tests.robots import ROBOTS
from tests.tolerances import ROUNDING, assert_close

ARM = on.load("puma560")
PLANAR = on.load("planar-3r")


def panda() -> on.Robot:
    """The arm without its fingers."""
    robot = on.load(ROBOTS / "panda_description/urdf/panda.urdf")
    return robot.lock(*(c.name for c in robot.joints if "finger" in c.name))


@pytest.mark.parametrize(
    "name", ["planar-3r", *(pytest.param(x, marks=pytest.mark.slow) for x in ("puma560", "stanford-arm"))]
)
def test_both_methods_find_the_same_combinations(name: str) -> None:
    robot = on.load(name)
    numeric, tree = robot.base_parameters(), robot.base_parameters(method="tree")
    assert numeric.kept.tolist() == tree.kept.tolist()
    assert_close(numeric.matrix, tree.matrix, 1e-9)
    assert numeric.names == tree.names


@pytest.mark.slow
@pytest.mark.needs("example_robot_data")
@pytest.mark.parametrize("seed", range(5))
def test_both_methods_on_arms_and_random_trees_of_hinges_and_slides(seed: int) -> None:
    """Special geometry of random trees aside, which the rules know: parallel axes near the base, and gravity."""
    robots = [panda(), on.load("kuka-kr5"), on.load("quadruped")][seed : seed + 1]
    robots.append(random_robot(seed, 7, [on.Revolute, on.Prismatic, on.Fixed], chain=seed % 2 == 0, merge=seed % 3 > 0))
    for robot in robots:
        numeric, tree = robot.base_parameters(), robot.base_parameters(method="tree")
        assert numeric.kept.tolist() == tree.kept.tolist(), robot
        assert_close(numeric.matrix, tree.matrix, 1e-8)


@pytest.mark.parametrize(("robot", "count"), [pytest.param(ARM, 36, marks=pytest.mark.slow), (PLANAR, 9)])
def test_known_numbers_of_inertial_base_parameters(robot: on.Robot, count: int) -> None:
    """36 of a PUMA 560, as in Gautier and Khalil 1990; 9 of three hinges that are parallel, in a vertical plane."""
    base = robot.base_parameters()
    assert (base.kept < 10 * len(robot.bodies)).sum() == count


@pytest.mark.slow
@pytest.mark.needs("example_robot_data")
def test_known_number_of_the_panda() -> None:
    """43 dynamic coefficients, as Gaz and others 2019 count them for this arm, without friction and drives."""
    base = panda().base_parameters(method="tree")
    assert (base.kept < 70).sum() == 43


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (3, 7))])
def test_base_parameters_give_the_forces(seed: int) -> None:
    """Of all joint types, with mimic joints: independent columns times base parameters are Y theta, and are fewest."""
    robot = random_tree(seed)
    base = robot.base_parameters()
    motions = random_state(robot, seed, (2 * len(base) // robot.nv + 40,))
    Y = robot.kernel("inverse_dynamics_regressor", way="interpreted")(*motions, 0.01)
    theta = np.random.default_rng(seed).normal(size=Y.shape[-1])
    columns = base.columns(Y)
    assert_close(columns @ base.of_theta(theta), Y @ theta, 1e-10)
    flat = columns.reshape(-1, len(base))
    assert np.linalg.matrix_rank(flat / np.linalg.norm(flat, axis=0), tol=1e-8) == len(base)


@pytest.mark.slow
@pytest.mark.parametrize("of", ["joint_wrench", "base_wrench", "momentum", "kinetic_energy", "potential_energy"])
def test_base_parameters_of_other_measurements(of: str) -> None:
    base, (q, v, a) = PLANAR.base_parameters(of), random_state(PLANAR, 1, (50,))
    states = (q, v, a)[: {"momentum": 2, "kinetic_energy": 2, "potential_energy": 1}.get(of, 3)]
    Y, theta = getattr(PLANAR, f"{of}_regressor")(*states), np.random.default_rng(0).normal(size=39)
    assert_close(base.columns(Y) @ base.of_theta(theta), Y @ theta, 1e-10)
    assert {x for x in base.labels if "friction" in x} <= set(base.silent)
    with pytest.raises(on.ArgumentError, match="rules of the tree are for joint forces"):
        PLANAR.base_parameters(of, method="tree")


@pytest.mark.slow
def test_base_parameters_of_a_mechanism() -> None:
    robot = on.load("four-bar")
    base = robot.base_parameters()
    from ordern.identify.excitation import motions_of

    q, v, a = motions_of(robot, 60, np.random.default_rng(5))
    Y, theta = robot.actuation_regressor(q, v, a), np.random.default_rng(0).normal(size=39)
    assert_close(base.columns(Y) @ base.of_theta(theta), Y @ theta, 1e-8)
    assert len(base) < len(robot.opened().base_parameters())
    with pytest.raises(on.ArgumentError, match="has loops"):
        robot.base_parameters(method="tree")


def test_words() -> None:
    base = PLANAR.base_parameters()
    assert base.names[0] == "link1.zz + 0.09 link2.mass + 0.09 link3.mass + joint1.armature"
    assert "link1.mass" in base.silent and "joint2.damping" in base.alone and "link3.mass" in base.combined
    assert len(base.silent) + len(base.alone) + len(base.combined) == len(base.labels)
    assert "Without effect, cannot be identified (19): link1 (mass, mz" in base.report
    assert repr(base) == "<BaseParameters of 'planar-3r': 17 of 39 parameters, inverse_dynamics>"


def test_nearest_parameters_with_given_base_parameters() -> None:
    base, theta = PLANAR.base_parameters(), PLANAR.parameters.theta
    wanted = base.of_theta(theta) + 0.1
    found = base.theta_near(wanted, theta)
    assert_close(base.of_theta(found), wanted, ROUNDING)
    assert_close(base.theta_near(base.of_theta(theta), theta), theta, ROUNDING)
    assert not (found - theta)[[base.labels.index(x) for x in base.silent]].any()
    with pytest.raises(on.ArgumentError, match="last dimension must be 39"):
        base.of_theta(theta[:-1])


def test_identifiability_is_the_inverse_of_the_information() -> None:
    q, v, a = random_state(PLANAR, 0, (3, 70))
    noise = np.array([0.5, 0.2, 0.1])
    found = PLANAR.identifiability(q, v, a, noise)
    Y = found.base.columns(PLANAR.inverse_dynamics_regressor(q, v, a)) / noise[:, None]
    Y = Y.reshape(-1, len(found.base))
    assert found.samples == 210
    assert_close(found.deviations, np.sqrt(np.diag(np.linalg.inv(Y.T @ Y))), 1e-9)
    assert_close(found.condition, np.linalg.cond(Y / np.linalg.norm(Y, axis=0)), 1e-9)
    assert_close(found.values, found.base.of_theta(PLANAR.parameters.theta), ROUNDING)
    assert not found.unexcited and "condition number" in found.report


def test_motions_that_do_not_excite_a_joint() -> None:
    q, v, a = random_state(PLANAR, 0, (70,))
    still = PLANAR.identifiability(q * [1, 1, 0], v * [1, 1, 0], a * [1, 1, 0])
    assert {"joint3.damping", "joint3.armature"} <= set(still.unexcited)
    assert "joint1.damping" not in still.unexcited and still.condition == np.inf
    assert "do not determine" in still.report and "not excited" in repr(still)


@pytest.mark.slow
def test_motions_that_begin_at_rest() -> None:
    """The first samples of a log do not decide which parameters matter."""
    q, v, a = random_state(PLANAR, 0, (200,))
    q[:100], v[:100], a[:100] = 0.0, 0.0, 0.0
    for of in ("inverse_dynamics", "base_wrench"):
        found = PLANAR.identifiability(q, v, a, of=of)
        Y = found.base.columns(getattr(PLANAR, f"{of}_regressor")(q, v, a)).reshape(-1, len(found.base))
        assert_close(found.deviations, np.sqrt(np.diag(np.linalg.inv(Y.T @ Y))), 1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PLANAR.identifiability(np.zeros(3), np.zeros(3), np.zeros(3)), "a row for each of N samples"),
        (lambda: PLANAR.identifiability(*np.full((3, 5, 3), np.nan)), "q of sample 0 is not finite"),
        (lambda: PLANAR.identifiability(*np.zeros((3, 5, 3)), noise=[1.0, 2.0]), "expected one number, or 3"),
        (lambda: PLANAR.identifiability(*np.zeros((3, 5, 3)), noise=0.0), "noise must be a finite number above zero"),
        (lambda: PLANAR.base_parameters("torque"), "unknown regressor 'torque'"),
        (lambda: PLANAR.base_parameters(method="qr"), "unknown method of base_parameters"),
    ],
)
def test_errors(call: Callable[[], object], message: str) -> None:
    with pytest.raises(on.OrdernError, match=message):
        call()
