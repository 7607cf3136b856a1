"""Centre of mass, centroidal momentum, the rate of Jacobians: sums over bodies, rates along motions, Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError, UnknownNameError
from tests.algorithms.trees import ask, rate, skew, times
from tests.random_models import random_placement, random_robot, random_state
from tests.tolerances import FINITE_DIFFERENCE, ROUNDING, SINGLE, assert_close

STATES = 3
AXES = ["frame", "world", "origin"]
WORLD = on.Frame("world", -1)


def tree(seed: int) -> on.Robot:
    """Trees, chains, floating ones, with joints that follow others, with fixed joints."""
    return random_robot(
        700 + seed, 4 + seed % 8, floating=seed % 3 == 1, chain=seed % 5 == 2, mimic=seed % 4 == 3, merge=seed % 7 != 6
    )


def roots(robot: on.Robot, seed: int) -> list[tuple[on.Frame, list[int]]]:
    """The whole robot, and a subtree, each with the numbers of its bodies."""
    first = seed % len(robot.bodies)
    carried = [first]
    for k, joint in enumerate(robot.joints):
        if joint.parent in carried:
            carried.append(k)
    return [(WORLD, list(range(len(robot.bodies)))), (on.Frame(robot.bodies[first].name, first), carried)]


def by_bodies(robot: on.Robot, numbers: list[int], q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
    """The sums over bodies as they are defined."""
    mass = sum(robot.bodies[k].mass for k in numbers)
    centres, momenta, kinetic, potential = [], [], 0.0, 0.0
    for k in numbers:
        body = robot.bodies[k]
        frame = on.Frame("centre", k, on.Placement(position=body.com))
        R, V = ask(robot, "pose", q, frame=frame), ask(robot, "velocity", q, v, frame=frame, axes="frame")
        xx, yy, zz, xy, xz, yz = body.inertia
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        R, p = R[..., :3, :3], R[..., :3, 3]
        centres.append(body.mass * p)
        momenta.append((p, times(R, times(I, V[..., :3])), body.mass * times(R, V[..., 3:])))
        turning = (V[..., :3] * times(I, V[..., :3])).sum(axis=-1)
        kinetic = kinetic + 0.5 * (turning + body.mass * (V[..., 3:] ** 2).sum(axis=-1))
        potential = potential - body.mass * p @ np.array(robot.gravity)
    com = sum(centres) / mass
    linear = sum(l for _, _, l in momenta)
    angular = sum(a + np.cross(p - com, l) for p, a, l in momenta)
    return {
        "com": com,
        "com_velocity": linear / mass,
        "centroidal_momentum": np.concatenate([angular, linear], axis=-1),
        "kinetic_energy": kinetic,
        "potential_energy": potential,
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_sums_over_bodies(seed: int) -> None:
    robot = tree(seed)
    q, v, _ = random_state(robot, seed, (STATES,))
    for root, numbers in roots(robot, seed):
        expected = by_bodies(robot, numbers, q, v)
        assert_close(ask(robot, "com", q, frame=root), expected["com"], ROUNDING)
        assert_close(ask(robot, "com_velocity", q, v, frame=root), expected["com_velocity"], ROUNDING)
        assert_close(ask(robot, "centroidal_momentum", q, v, frame=root), expected["centroidal_momentum"], ROUNDING)
        kinetic = ask(robot, "subtree_kinetic_energy", q, v, frame=root)
        assert_close(kinetic, expected["kinetic_energy"], ROUNDING)
        assert_close(ask(robot, "subtree_potential_energy", q, frame=root), expected["potential_energy"], ROUNDING)
        J, A = ask(robot, "com_jacobian", q, frame=root), ask(robot, "centroidal_map", q, frame=root)
        assert_close(times(J, v), expected["com_velocity"], ROUNDING)
        assert_close(times(A, v), expected["centroidal_momentum"], ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_rates_along_motions(seed: int) -> None:
    robot = tree(seed)
    q, v, a = random_state(robot, seed, (STATES,))
    v *= 0.3
    for root, _ in roots(robot, seed):
        moved = rate(robot, lambda q, v, root=root: ask(robot, "com", q, frame=root), q, v)
        assert_close(ask(robot, "com_velocity", q, v, frame=root), moved, FINITE_DIFFERENCE)
        moved = rate(robot, lambda q, v, root=root: ask(robot, "com_velocity", q, v, frame=root), q, v, a)
        assert_close(ask(robot, "com_acceleration", q, v, a, frame=root), moved, FINITE_DIFFERENCE)
        moved = rate(robot, lambda q, v, root=root: ask(robot, "centroidal_map", q, frame=root), q, v)
        assert_close(ask(robot, "centroidal_map_rate", q, v, frame=root), moved, FINITE_DIFFERENCE)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("seed", range(8))
def test_rate_of_the_jacobian(seed: int, axes: str) -> None:
    robot = tree(seed)
    q, v, a = random_state(robot, seed, (STATES,))
    v *= 0.3
    frame = on.Frame("tool", seed % len(robot.bodies), random_placement(np.random.default_rng(seed)))
    J = ask(robot, "jacobian", q, frame=frame, axes=axes)
    J_rate = ask(robot, "jacobian_rate", q, v, frame=frame, axes=axes)
    moved = rate(robot, lambda q, v: ask(robot, "jacobian", q, frame=frame, axes=axes), q, v)
    assert_close(J_rate, moved, FINITE_DIFFERENCE)
    assert_close(times(J, v), ask(robot, "velocity", q, v, frame=frame, axes=axes), ROUNDING)
    kind = "classical" if axes == "world" else "spatial"
    found = ask(robot, "acceleration", q, v, a, frame=frame, axes=axes, kind=kind)
    assert_close(times(J, a) + times(J_rate, v), found, ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_axes_at_the_origin(seed: int) -> None:
    """The velocity field of the frame's body, at the world's origin."""
    robot = tree(seed)
    q, v, _ = random_state(robot, seed, (STATES,))
    name = robot.bodies[-1].name
    p = robot.pose(q, name)[..., :3, 3]
    V = robot.velocity(q, v, name, axes="world")
    expected = np.concatenate([V[..., :3], V[..., 3:] + np.cross(p, V[..., :3])], axis=-1)
    assert_close(robot.velocity(q, v, name, axes="origin"), expected, ROUNDING)
    J = robot.jacobian(q, name, axes="world")
    J[..., 3:, :] += skew(p) @ J[..., :3, :]
    assert_close(robot.jacobian(q, name, axes="origin"), J, ROUNDING)


@pytest.mark.slow
def test_a_moving_base_moves_the_centre_of_mass() -> None:
    robot = tree(2)
    q, v, a = random_state(robot, 5)
    V, A = np.array([0.3, -0.1, 0.2, 0.5, 0.4, -0.6]), np.array([-0.2, 0.1, 0.6, 1.0, -2.0, 0.3])
    c, moved = robot.com(q), robot.com_velocity(q, v)
    assert_close(robot.com_velocity(q, v, base_velocity=V), moved + V[3:] + np.cross(V[:3], c), ROUNDING)
    turning = np.cross(V[:3], np.cross(V[:3], c)) + 2.0 * np.cross(V[:3], moved)
    expected = robot.com_acceleration(q, v, a) + A[3:] + np.cross(A[:3], c) + turning
    assert_close(robot.com_acceleration(q, v, a, base_velocity=V, base_acceleration=A), expected, ROUNDING)


QUESTIONS = {
    "com": 1,
    "com_velocity": 2,
    "com_acceleration": 3,
    "com_jacobian": 1,
    "centroidal_momentum": 2,
    "centroidal_map": 1,
    "centroidal_map_rate": 2,
    "subtree_kinetic_energy": 2,
    "subtree_potential_energy": 1,
}


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("seed", [1, 3, 4])
def test_every_way_gives_the_same(seed: int, question: str) -> None:
    robot = tree(seed)
    arguments = random_state(robot, seed, (5,))[: QUESTIONS[question]]
    for root, _ in roots(robot, seed):
        expected = ask(robot, question, *arguments, frame=root)
        for way in ("unrolled", "rolled"):
            kernel = robot.kernel(question, way=way, frame=root)
            assert_close(kernel(*arguments), expected, ROUNDING)
            single = kernel(*(x.astype(np.float32) for x in arguments))
            assert single.dtype == np.float32
            assert_close(single, expected, SINGLE)


@pytest.mark.slow
@pytest.mark.parametrize("axes", AXES)
def test_every_way_gives_the_same_rate_of_the_jacobian(axes: str) -> None:
    robot = tree(3)
    q, v, _ = random_state(robot, 3, (5,))
    expected = ask(robot, "jacobian_rate", q, v, frame=robot.bodies[-1].name, axes=axes)
    for way in ("unrolled", "rolled"):
        assert_close(
            robot.kernel("jacobian_rate", way=way, frame=robot.bodies[-1].name, axes=axes)(q, v), expected, ROUNDING
        )


@pytest.mark.slow
def test_subtrees_by_name() -> None:
    robot = on.load("puma560")
    q = np.zeros(6)
    wrist = robot.com(q, "wrist")
    bodies = [robot.body(name) for name in ("wrist", "hand", "flange")]
    points = [robot.pose(q, b.name) @ [*b.com, 1.0] for b in bodies]
    assert_close(
        wrist, sum(b.mass * p[:3] for b, p in zip(bodies, points, strict=True)) / sum(b.mass for b in bodies), ROUNDING
    )
    v = np.full(6, 0.1)
    parts = [("kinetic_energy", (q, v)), ("potential_energy", (q,))]
    for energy, state in parts:
        whole, part = getattr(robot, energy)(*state), getattr(robot, energy)(*state, subtree="wrist")
        assert_close(getattr(robot, energy)(*state, subtree=robot.bodies[0].name), whole, ROUNDING)
        assert part.shape == () and part != whole
    with pytest.raises(UnknownNameError, match=r"unknown body 'wrst' in puma560. Did you mean 'wrist'"):
        robot.com(q, "wrst")
    with pytest.raises(ArgumentError, match=r"subtree must be the name of a body.*\['wrist'\]"):
        robot.com(q, ["wrist"])


def test_a_link_that_no_joint_moves_is_no_subtree() -> None:
    builder = on.Builder("arm").body("base").body("link", parent="base", joint=on.Revolute((0, 0, 1)), mass=1.0)
    builder.body("tool", parent="link", joint=on.Fixed(), mass=0.5)
    with pytest.raises(ArgumentError, match=r"'tool' is fixed to 'link' of 'arm'.*merge=False"):
        builder.build().com([0.0], "tool")
    with pytest.raises(ArgumentError, match="'base' is fixed to the base"):
        builder.build().com([0.0], "base")


def test_without_mass_there_is_no_centre() -> None:
    robot = (
        on.Builder("hollow")
        .body("base")
        .body("a", parent="base", joint=on.Revolute((0, 0, 1)), mass=1.0, inertia=(1, 1, 1))
        .body("b", parent="a", joint=on.Revolute((1, 0, 0)))
        .build()
    )
    with pytest.raises(ArgumentError, match="'b' has no mass, and so no centre of mass"):
        robot.com_jacobian([0.0, 0.0], "b")
    assert robot.com([0.0, 0.0]).shape == (3,)
    assert robot.kinetic_energy([0.0, 0.0], [1.0, 1.0], subtree="b") == 0.0


def test_operational_answers_are_about_the_frame() -> None:
    robot = on.load("puma560")
    with pytest.raises(ArgumentError, match='must be "frame" or "world", not "origin"'):
        robot.operational_inertia(np.ones(6), "flange", axes="origin")
