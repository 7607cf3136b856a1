"""Random parameters: possible by construction, the same for a seed, and spread as asked."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from tests.parameters.mechanism import build
from tests.robots import urdf_files

ROBOTS = ("puma560", "double-pendulum", "quadruped", "planar-3r")


@pytest.mark.parametrize("name", ROBOTS)
def test_checks_hold_for_every_robot(name: str) -> None:
    robot = on.load(name)
    known = {(f.code, f.name) for f in robot.check()}
    for seed in range(5):
        found = robot.randomise(seed, mass=0.3, com=0.003, inertia=0.2, placement=1e-3, fold=True)
        assert found != robot
        assert {(f.code, f.name) for f in found.check()} <= known


@pytest.mark.slow
@pytest.mark.needs("example_robot_data")
@pytest.mark.parametrize("path", urdf_files()[::5], ids=lambda path: path.stem)
def test_real_robots_stay_possible(path: Path) -> None:
    """Also the robots whose own inertias are not possible."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", on.ModelWarning)
        robot = on.load(path)
        robot = robot if robot.bodies else on.load(path, floating=True)
    labels = robot.parameters.labels
    assert len(set(labels)) == len(labels)
    assert robot.folded() == robot
    known = {(f.code, f.name) for f in robot.check().errors}
    many = robot.randomise(0, 20, mass=0.3, com=0.01, inertia=0.3, placement=(0.001, 0.01))
    for k in range(0, 20, 5):
        assert {(f.code, f.name) for f in many.folded(k).check().errors} <= known


def test_the_same_seed_gives_the_same_robots() -> None:
    spreads = {"mass": 0.1, "com": 0.01, "inertia": 0.1, "joint_friction": 0.3}
    spreads |= {"placement": (0.001, 0.01), "gravity": 0.1}
    one, two, other = (build().randomise(seed, fold=True, **spreads) for seed in (1, 1, 2))
    assert one == two and one.parameters == two.parameters and one != other
    assert build().randomise(np.random.default_rng(1), fold=True, **spreads) == one


def test_only_what_is_named_varies() -> None:
    robot = build()
    found = robot.randomise(0, mass={"a": 0.2, "hand": 0.1}, joint_friction=0.3, fold=True)
    p, own = found.parameters, robot.parameters
    assert (p.mass != own.mass).tolist() == [True, True, False, False, False]
    assert np.array_equal(p.joint_friction != own.joint_friction, own.joint_friction != 0.0)
    assert np.array_equal(p.damping, own.damping) and np.array_equal(p.joint_placement, own.joint_placement)
    assert found.links[1].own.mass != 0.5 and found.links[2].own.mass == 0.0


@pytest.mark.parametrize(
    ("spread", "message"),
    [
        ({}, "give the standard deviation of at least one"),
        ({"mass": -0.1}, "randomise: mass must be a finite number not below zero"),
        ({"mass": {"hnd": 0.1}}, "unknown body or link 'hnd'"),
        ({"mass": {"pad": 0.1}}, "'pad' has no mass"),
        ({"joint_friction": {"grip": 0.1}}, "joint 'grip' has no joint friction"),
        ({"joint_friction": {"girp": 0.1}}, "unknown joint 'girp'"),
        ({"placement": (1, 2, 3)}, "give one number, in metres, or two"),
    ],
)
def test_what_cannot_be(spread, message: str) -> None:
    with pytest.raises((on.ArgumentError, on.UnknownNameError), match=message):
        build().randomise(0, **spread)


def test_a_spread_of_nothing() -> None:
    with pytest.raises(on.ArgumentError, match=r"no joint of 'puma560' has damping, so damping=0.1 changes nothing"):
        on.load("puma560").randomise(0, damping=0.1)
    with pytest.raises(on.ArgumentError, match="no moving body of 'rock' has mass"):
        on.Builder("rock").body("base", mass=1.0).build().randomise(0, 3, mass=0.1)
    with pytest.raises(on.ArgumentError, match="a shape is a whole number or several"):
        build().randomise(0, 1.5, mass=0.1)


def test_a_random_generator_or_a_seed() -> None:
    for rng in ("a", -1, 1.5):
        with pytest.raises(on.ArgumentError, match="randomise: rng must be a NumPy Generator, a seed"):
            build().randomise(rng, 3, mass=0.1)  # type: ignore[arg-type]
        with pytest.raises(on.ArgumentError, match="random: rng must be"):
            build().random(rng)  # type: ignore[arg-type]


@pytest.mark.parametrize("what", ["mass", "com", "inertia", "joint_friction", "placement", "gravity"])
def test_random_robots_of_sets(what: str) -> None:
    """Shapes broadcast with the sets that the robot has."""
    robot = build().randomise(0, 4, mass=0.1, com=0.01, joint_friction=0.1, placement=0.01, gravity=0.1)
    assert robot.randomise(0, (3, 1), **{what: 0.1}).batch_shape == (3, 4)
    with pytest.raises(on.ArgumentError, match=r"\(3,\) does not broadcast .* \(4,\) .* give the shape \(3, 1\)"):
        robot.randomise(0, 3, **{what: 0.1})
