"""Frames that cannot move in all six ways: an error that says how, or the answer among the motions that there are."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

import ordern as on
from ordern.control.operational_space import OperationalSpace
from tests.random_models import random_robot, random_state
from tests.tolerances import INVERSION, NEARLY_SINGULAR, ROUNDING, SINGLE, assert_close

Array = np.ndarray
QUESTIONS = ("operational_inertia", "dynamic_inverse", "operational_bias")


def asked(robot: on.Robot, question: str, q: Array, v: Array, *args: Any, **settings: Any) -> Array:
    given = (q, v) if question == "operational_bias" else (q,)
    found: Array = getattr(robot, question)(*given, *args, **settings)
    return found


def dense(robot: on.Robot, q: Array, v: Array, frame: str, axes: str) -> dict[str, Array]:
    """The answers by NumPy's pseudo-inverse of dense matrices."""
    M, J = robot.mass_matrix(q), robot.jacobian(q, frame, axes=axes)
    MJ = np.linalg.solve(M, J.swapaxes(-1, -2))
    Lambda = np.linalg.pinv(J @ MJ, rcond=1e-11, hermitian=True)
    a = robot.acceleration(q, v, robot.forward_dynamics(q, v, 0 * v), frame, axes=axes)
    return {
        "operational_inertia": Lambda,
        "dynamic_inverse": MJ @ Lambda,
        "operational_bias": -(Lambda @ a[..., None])[..., 0],
    }


@cache
def wrist_on_a_boom() -> on.Robot:
    """Three axes that meet in the frame's origin, a metre from the base: it turns, and never moves."""
    b = on.Builder("wrist on a boom").body("ground")
    at: Any = ((0.31, 0.77, 0.53), (0.3, 0.4, 0.5))
    for k, axis in enumerate(((0.3, 0.1, 1.0), (0.2, 1.0, 0.3), (1.0, 0.4, 0.2))):
        b.body(f"b{k}", parent="ground" if k == 0 else f"b{k - 1}", joint=on.Revolute(axis), at=at, mass=1.0 + k,
               com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25))  # fmt: skip
        at = ((0.0, 0.0, 0.0), (0.2, 0.3, 0.7))
    return b.build()


@cache
def puma() -> on.Robot:
    return on.load("puma560")


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("axes", ["frame", "world"])
def test_too_few_freedoms_are_an_error_that_tells_the_directions(question: str, axes: str) -> None:
    for robot, rank in ((on.load("planar-3r"), 3), (wrist_on_a_boom(), 3), (puma().lock("waist", "shoulder"), 4)):
        frame = robot.bodies[-1].name
        q, v, _ = random_state(robot, 1, (2, 3))
        with pytest.raises(on.SingularError) as caught:
            asked(robot, question, q, v, frame, axes=axes)
        e, words = caught.value, str(caught.value)
        assert (e.rank, e.index) == (rank, (0, 0))
        assert e.directions.shape == (6 - rank, 6)
        assert_close(e.directions @ robot.jacobian(q[0, 0], frame, axes=axes), np.zeros((6 - rank, robot.nv)), ROUNDING)
        for word in (question, repr(frame), repr(robot.name), f"{rank} of 6", "state (0, 0)", "6 states", "tolerance="):
            assert word in words
        assert f"only {robot.nv} freedoms move it" in words
        assert ("axes of the world" if axes == "world" else "axes of the frame") in words
        with pytest.raises(on.SingularError, match="can move in"):
            asked(robot, question, q.astype(np.float32), v.astype(np.float32), frame, axes=axes)


def test_directions_have_names_and_the_error_travels() -> None:
    robot = on.load("planar-3r")
    with pytest.raises(on.SingularError, match="turning about x; turning about y; moving along z") as caught:
        robot.operational_inertia(robot.random(1), robot.bodies[-1].name)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.rank == 3
    with pytest.raises(on.SingularError, match="no joint moves it"):
        robot.dynamic_inverse(robot.random(1), "world")


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("angle", [0.0, np.pi])
def test_a_singular_position_in_a_batch_is_named(question: str, angle: float) -> None:
    robot = puma()
    q, v, _ = random_state(robot, 3, (5,))
    q[3, 4] = angle  # the axes of joints 4 and 6 are one
    with pytest.raises(on.SingularError, match="state 3: the position is singular") as caught:
        asked(robot, question, q, v, "flange")
    assert (caught.value.rank, caught.value.index) == (5, (3,))
    with pytest.raises(on.SingularError) as single:
        asked(robot, question, q[3], v[3], "flange")
    assert single.value.index == ()
    assert "state" not in str(single.value)
    regular = [0, 1, 2, 4]
    found = asked(robot, question, q[regular], v[regular], "flange")
    assert_close(found, dense(robot, q[regular], v[regular], "flange", "frame")[question], INVERSION)


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("axes", ["frame", "world"])
def test_with_a_tolerance_the_answer_is_among_the_motions_that_there_are(question: str, axes: str) -> None:
    for robot in (puma(), on.load("planar-3r"), wrist_on_a_boom()):
        q, v, _ = random_state(robot, 3, (4,))
        if robot is puma():
            q[:2, 4] = 0.0
        frame = robot.bodies[-1].name
        expected = dense(robot, q, v, frame, axes)[question]
        found = asked(robot, question, q, v, frame, axes=axes, tolerance=1e-12)
        assert_close(found, expected, INVERSION)
        assert_close(asked(robot, question, q[0], v[0], frame, axes=axes, tolerance=1e-12), expected[0], INVERSION)
        out = np.empty_like(expected)
        assert asked(robot, question, q, v, frame, axes=axes, tolerance=1e-12, out=out) is out
        assert (out == found).all()


@pytest.mark.slow
def test_the_rank_does_not_depend_on_units_of_length() -> None:
    """The same arm, a thousand times as large and as small."""
    for size in (1e-3, 1.0, 1e3):
        b = on.Builder(f"arm of {size:g} m").body("ground")
        for k in range(6):
            axis = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0))[k]
            b.body(f"b{k}", parent="ground" if k == 0 else f"b{k - 1}", joint=on.Revolute(axis),
                   at=((0.3 if k < 4 else 0.0) * size, 0.1 * size * (k == 1), 0.0), mass=2.0, com=(0.1 * size, 0, 0),
                   inertia=tuple(size * size * x for x in (0.02, 0.03, 0.04)))  # fmt: skip
        robot = b.build()
        assert np.isfinite(robot.operational_inertia([0.1, 0.4, -0.7, 0.3, 0.6, 0.2], "b5")).all()
        with pytest.raises(on.SingularError) as caught:
            robot.operational_inertia([0.1, 0.4, -0.7, 0.3, 0.0, 0.2], "b5")
        assert caught.value.rank == 5


@pytest.mark.slow
@pytest.mark.parametrize("angle", [1e-2, 1e-3, 1e-4, 1e-5])
def test_next_to_a_singular_position_the_answer_is_that_of_many_digits(angle: float) -> None:
    robot = puma()
    q, v, _ = random_state(robot, 3)
    q[4] = angle
    with mpmath.workdps(50):
        digits = np.vectorize(mpmath.mpf, otypes=[object])
        for question in QUESTIONS:
            exact = np.asarray(asked(robot, question, digits(q), digits(v), "flange")).astype(float)
            found = asked(robot, question, q, v, "flange")
            assert np.abs(found - exact).max() <= NEARLY_SINGULAR / angle**2 * np.abs(exact).max()
            assert_close(asked(robot, question, q, v, "flange", tolerance=1e-14), found, NEARLY_SINGULAR / angle**2)


@pytest.mark.slow
def test_single_precision_next_to_a_singular_position() -> None:
    """What single precision cannot tell is computed in double."""
    robot = puma()
    q, v, _ = random_state(robot, 3, (4,))
    q[1, 4], q[2, 4] = 1e-3, 1e-4
    q, v = q.astype(np.float32), v.astype(np.float32)
    for question in QUESTIONS:
        found = asked(robot, question, q, v, "flange")
        assert found.dtype == np.float32
        assert_close(found[1:3], asked(robot, question, q[1:3].astype(float), v[1:3].astype(float), "flange"), SINGLE)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_no_random_tree_is_answered_where_there_is_no_answer(seed: int) -> None:
    joints = (on.Revolute, on.Prismatic, on.Universal, on.Helical)
    robot = random_robot(seed, 7, joints, chain=seed % 2 == 0, armature=seed % 3 == 0, mimic=seed % 4 == 1)
    q, v, _ = random_state(robot, seed, (3,))
    for body in robot.bodies[3::3]:
        J = robot.jacobian(q, body.name)
        sizes = np.linalg.svd(J, compute_uv=False)
        rank = (sizes > 1e-9 * sizes[:, :1]).sum(axis=1)
        for question in QUESTIONS:
            if (rank < 6).any():
                with pytest.raises(on.SingularError) as caught:
                    asked(robot, question, q, v, body.name)
                assert caught.value.rank == rank[caught.value.index[0]]
            else:
                assert np.isfinite(asked(robot, question, q, v, body.name)).all()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["interpreted", "unrolled", "rolled"])
def test_kernels_answer_with_no_numbers(way: str) -> None:
    """On the diagonal or in the first column; also for a joint that is not on the path to the frame."""
    b = on.Builder("two arms").body("ground")
    for name in ("aside", "near"):
        b.body(name, parent="ground", joint=on.Revolute((0, 1, 0)), mass=1.0, com=(0.1, 0, 0.2), inertia=(1, 2, 2))
    robot = b.body("far", parent="near", joint=on.Revolute((1, 0, 0)), mass=1.0, com=(0.1, 0.3, 0.2)).build()
    q, v, _ = random_state(robot, 1, (2,))
    for question in QUESTIONS:
        given = (q, v) if question == "operational_bias" else (q,)
        found = robot.kernel(question, way=way, frame="far", axes="world")(*given)
        if question == "operational_inertia":
            found = found[:, np.arange(6), np.arange(6)]
        assert np.isnan(found[..., 0] if question == "dynamic_inverse" else found).all()


def test_a_state_that_is_not_a_number_stays_one() -> None:
    q, v, _ = random_state(puma(), 1, (3,))
    q[1, 2] = np.nan
    for question in QUESTIONS:
        found = asked(puma(), question, q, v, "flange")
        assert np.isfinite(found[[0, 2]]).all()
        assert np.isnan(found[1]).any()


def test_nothing_to_answer() -> None:
    assert puma().operational_inertia(np.zeros((0, 6)), "flange").shape == (0, 6, 6)
    still = on.Builder("still").body("ground").frame("f", "ground").build()
    with pytest.raises(on.SingularError, match="0 of 6"):
        still.dynamic_inverse([], "f")
    assert still.dynamic_inverse([], "f", tolerance=1e-9).shape == (0, 6)


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -1e-3, True, "small", np.nan])
def test_what_a_tolerance_is(tolerance: Any) -> None:
    with pytest.raises(on.ArgumentError, match="`tolerance` must be a number between 0 and 1"):
        puma().operational_inertia(puma().random(1), "flange", tolerance=tolerance)


def test_the_controller_of_an_arm_with_few_freedoms() -> None:
    """The frame gets the part of the wanted acceleration that it can have."""
    robot = on.load("planar-3r")
    frame = robot.bodies[-1].name
    q, v, _ = random_state(robot, 4)
    control = OperationalSpace(robot, frame, robot.pose(q + 0.3, frame), 25.0)
    a = robot.forward_dynamics(q, v, control(0.0, q, v))
    J = robot.jacobian(q, frame, axes="world")
    free = robot.dynamic_inverse(q, frame, axes="world", tolerance=1e-12)
    drift = robot.acceleration(q, v, 0 * v, frame, axes="world")
    wanted = J @ free @ (control.wanted(0.0, q, v) - drift)
    assert_close(robot.acceleration(q, v, a, frame, axes="world") - drift, wanted, INVERSION)
