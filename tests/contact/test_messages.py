"""What users get wrong about contacts: messages name the function and the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from tests.contact.robots import ball

HIGH = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1])


@pytest.fixture(scope="module")
def robot() -> on.Robot:
    return ball().with_contacts(on.Ground(0.5))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda r: r.contact_points(HIGH, height=np.nan), "contact_points: height must be finite"),
        (lambda r: r.contact_points(HIGH, height=[1.0, 2.0]), r"contact_points: height has shape \(2,\)"),
        (lambda r: r.contact_forces(HIGH, friction=-1.0), "contact_forces: friction must not be negative"),
        (lambda r: r.contact_forces(HIGH, height=[1.0, 2.0]), r"contact_forces: height has shape \(2,\)"),
        (lambda r: r.contact_step(HIGH, np.zeros(6), friction=np.nan), "contact_step: friction must be finite"),
        (
            lambda r: r.rollout(HIGH, np.zeros(6), steps=1, ground_height=np.nan),
            "rollout: ground_height must be finite",
        ),
    ],
)
def test_messages_name_function_and_argument(robot: on.Robot, call: Callable[[on.Robot], Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        call(robot)


NO_NUMBERS = {
    "complex": [0.5 + 1j],
    "text": "0.5",
    "text in objects": np.array(["0.5"], object),
    "timedelta64": np.timedelta64(1, "s"),
    "timedelta64 in objects": np.array([np.timedelta64(1, "s")], object),
    "masked": np.ma.array([0.5], mask=[True]),
    "a list with a masked entry": [np.ma.masked],
}


@pytest.mark.parametrize("given", NO_NUMBERS.values(), ids=NO_NUMBERS)
@pytest.mark.parametrize(
    "call",
    [
        lambda r, x: r.rollout(HIGH, np.zeros(6), steps=1, contact_friction=x),
        lambda r, x: r.rollout(HIGH, np.zeros(6), steps=1, ground_height=x),
        lambda r, x: r.rollout(HIGH, np.zeros(6), steps=1, contact_impulses=x),
        lambda r, x: r.contact_step(HIGH, np.zeros(6), friction=x),
        lambda r, x: r.contact_step(HIGH, np.zeros(6), height=x),
        lambda r, x: r.contact_forces(HIGH, friction=x, touching=[True]),
        lambda r, x: r.contact_points(HIGH, height=x),
    ],
)
def test_what_is_no_number_is_refused(robot: on.Robot, call: Callable[[on.Robot, Any], Any], given: Any) -> None:
    with pytest.raises(ArgumentError, match=r"friction|height|impulses"):
        call(robot, given)


@pytest.mark.needs("clarabel")
def test_messages_of_whole_body(robot: on.Robot) -> None:
    with pytest.raises(ArgumentError, match="whole_body: friction must not be negative"):
        robot.whole_body(HIGH, friction=-1.0)


def test_messages_of_the_ground() -> None:
    with pytest.raises(ArgumentError, match=r"heights must be finite numbers$"):
        on.Ground(heights=[[0.0, np.nan], [0.0, 0.0]], size=(1.0, 1.0))
    with pytest.raises(ArgumentError, match=r"shape \(rows, columns\), at least \(2, 2\), not \(1, 2\)"):
        on.Ground(heights=[[0.0, 1.0]], size=(1.0, 1.0))
    with pytest.raises(ArgumentError, match="size and centre two numbers each"):
        on.Ground(heights=np.zeros((2, 2)), size=(1.0, 1.0), centre=3)  # type: ignore[arg-type]


def test_a_robot_tells_its_contacts(robot: on.Robot) -> None:
    assert repr(robot).endswith("kg, 1 contact>")


@pytest.mark.parametrize(("height", "certified"), [(-0.1, True), (0.1, False)])
def test_a_point_that_no_joint_moves_does_not_disturb(height: float, certified: bool) -> None:
    builder = on.Builder("arm").body("base")
    builder.body("link", parent="base", joint=on.Revolute((0, 0, 1)), mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1))
    arm = builder.build().with_contacts(on.Ground(height=height), points=["link"])
    run = arm.rollout([0.0], [1.0], steps=10, dt=0.01)
    np.testing.assert_allclose(run.q[-1], 0.1, rtol=1e-12)
    assert run.uncertified[1:].any() != certified  # what is deep in the ground stays there, and is told


def test_a_rigid_run_tells_that_it_starts_in_the_ground(robot: on.Robot) -> None:
    low = HIGH - 0.02 * np.eye(7)[6]
    report = robot.simulate(low, until=0.01, contacts="rigid").report.contacts
    assert report is not None
    assert "but contacts overlap by up to 0.02 m" in report.held_to
    report = robot.simulate(HIGH, until=0.01, contacts="rigid").report.contacts
    assert report is not None
    assert "overlap" not in report.held_to


def test_lists_of_contacts_that_are_empty_or_no_lists(robot: on.Robot) -> None:
    for given, message in (
        ({"points": []}, "can touch: there are no points; give frames in points"),
        ({"bodies": []}, r"bodies must be a list of names, and not empty, not \[\]"),
        ({"pairs": [3]}, "pairs has two names of bodies each, not 3"),
        ({"pairs": ["ab"]}, "pairs has two names of bodies each, not 'ab'"),
    ):
        with pytest.raises(ArgumentError, match=message):
            robot.with_contacts(on.Ground(), **given)  # type: ignore[arg-type]
