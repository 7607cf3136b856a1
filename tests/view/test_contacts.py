"""Contact forces, friction cones and sloped ground, in scenes, pictures and plots of rollouts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from ordern.simulate.rollout import Rollout
from ordern.view.camera import ground_plane
from ordern.view.motion import motion_of
from ordern.view.render import Renderer
from ordern.view.stage import Stage
from tests.contact.robots import ball, floating, hopper

ANGLE = 0.2
NORMAL = np.array([np.sin(ANGLE), 0.0, np.cos(ANGLE)])


@pytest.fixture(scope="module")
def robot() -> on.Robot:
    return ball().with_contacts(on.Ground(0.8, normal=tuple(NORMAL), height=0.5))


@pytest.fixture(scope="module")
def run(robot: on.Robot) -> Rollout:
    """Two balls that roll down a slope; the ground of the second one has less friction."""
    start = np.tile([1.0, 0.0, 0.0, 0.0, *(0.6 * NORMAL)], (2, 1))
    return robot.rollout(start, np.zeros((2, 6)), steps=50, dt=1e-2, contact_friction=[[0.8], [0.3]])


def test_arrows_are_forces_at_the_contacts(robot: on.Robot, run: Rollout) -> None:
    stage = Stage(robot, run[0])
    arrows = stage.arrows(stage.motion)["contact forces"]
    at = robot.contact_points(run.q[0])
    assert len(arrows[0]) == 0  # no step before the first state
    start, end = arrows[30][0]
    np.testing.assert_allclose(start, at.points[30, 0])
    assert start @ NORMAL == pytest.approx(0.5)
    force = run[0].contact_forces[30, 0] @ at.axes[30, 0]
    np.testing.assert_allclose((end - start) / np.linalg.norm(end - start), force / np.linalg.norm(force))
    assert force[2] == pytest.approx(9.81 * (np.cos(ANGLE) ** 2 + 2.0 / 7.0 * np.sin(ANGLE) ** 2))
    np.testing.assert_allclose(stage.cones(stage.motion)[30][0][:3, 2], NORMAL, atol=1e-12)


def test_friction_and_ground_are_those_of_the_trajectory(robot: on.Robot, run: Rollout) -> None:
    assert Stage(robot, run[1]).friction.tolist() == [0.3]
    lower = robot.rollout([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5], np.zeros(6), steps=2, ground_height=0.1)
    stage = Stage(robot, lower)
    normal, height = ground_plane(stage.looks, np.zeros((1, 3)), stage.ground_height)
    np.testing.assert_allclose([*normal, height], [*NORMAL, 0.1])


def test_a_picture_shows_the_forces_of_its_state(robot: on.Robot, run: Rollout) -> None:
    state = Stage(robot, run[0], run.q[0, 30])
    np.testing.assert_array_equal(state.motion.still(state.q).contact_forces, run[0].contact_forces[30:31])  # type: ignore[arg-type]
    assert state.motion.still(robot.neutral()).contact_forces is None
    leg = hopper().with_contacts(on.Ground(), points=["foot"], limits=False)
    q = leg.neutral()
    q[6] = 0.4
    motion = SimpleNamespace(t=[0.0], q=q[None], contact_forces=np.array([[[0.0, 0.0, 60.0]]]))
    seen = [Renderer(Stage(leg, given, q), (160, 120)).still() / 255.0 for given in (motion, None)]
    assert (np.abs(seen[0] - seen[1]).max(axis=-1) > 0.1).sum() > 20  # pixels of the arrow and its cone
    with pytest.raises(ArgumentError, match="motion: contact_forces"):
        Stage(leg, SimpleNamespace(t=[0.0], q=q[None], contact_forces=np.zeros((1, 2, 3))))


def test_between_samples_the_forces_are_those_of_the_nearest(robot: on.Robot, run: Rollout) -> None:
    motion = motion_of(robot, run[0])
    found = motion.at(robot, np.array([0.104, 0.106]))
    np.testing.assert_array_equal(found.contact_forces, run[0].contact_forces[[10, 11]])  # type: ignore[arg-type]
    assert motion_of(ball(), run[0]).contact_forces is None  # drawn without contacts
    with pytest.raises(ArgumentError, match=r"many trajectories, of shape \(2,\); choose one, such as run\[0\]"):
        motion_of(robot, run)


def test_points_between_bodies() -> None:
    pair = floating([("sphere", (0.1,)), ("box", (0.2, 0.2, 0.2))]).with_contacts(pairs=[("0", "1")])
    q = pair.neutral()
    q[4] = 0.3
    found = pair.contact_points(np.tile(q, (3, 1)))
    np.testing.assert_allclose(found.points[2, 0], [0.15, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.axes[2, 0, 2], [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.gap, 0.1)
    with pytest.raises(ArgumentError, match="has no contacts"):
        ball().contact_points(ball().neutral())


@pytest.mark.slow
@pytest.mark.needs("viser")
def test_a_page_has_arrows_cones_and_curves(robot: on.Robot, run: Rollout, tmp_path: Path) -> None:
    robot.view(motion=run[0], save=tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text("utf-8")
    assert '"contact forces":["/contact forces"]' in text
    assert '"friction cones":["/friction cones/0"]' in text
    assert '"contact forces":{"labels":["ball"]' in text


@pytest.mark.needs("matplotlib")
def test_a_plot_of_contacts(robot: on.Robot, run: Rollout) -> None:
    from ordern import plot

    load, friction, residual = plot.contacts(run[1]).axes
    np.testing.assert_allclose(load.lines[0].get_ydata(), run[1].contact_forces[1:, 0, 2])
    used = 2.0 / 7.0 * np.tan(ANGLE) / 0.3  # of a ball that rolls
    np.testing.assert_allclose(friction.lines[0].get_ydata(), used, rtol=1e-6)
    assert len(residual.lines[1].get_xdata()) == 0  # all states are certified
    with pytest.raises(ArgumentError, match=r"choose one, such as run\[0\]"):
        plot.contacts(run)
    with pytest.raises(ArgumentError, match="a robot with contacts"):
        plot.contacts(ball().rollout(ball().neutral(), np.zeros(6), steps=1))
