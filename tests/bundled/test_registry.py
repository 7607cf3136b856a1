"""The names of bundled robots, and what is true of all of them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.robots.mechanisms import MECHANISMS
from tests.tolerances import ROUNDING, assert_close

ALL = (*robots.names(), "spherical-chain-3", "spherical-star-2", "four-bar-chain-2")

NO_BODY = {
    ("puma560", "shoulder_link"),
    ("puma560", "forearm_axis"),
    ("puma560-akb", "link1"),
    ("puma560-akb", "link3"),
}
"""Links of which the source knows the inertia about one axis only, or has measured what no body can have."""


def robot(name: str) -> on.Robot:
    return on.Robot.of(robots.builder(name).build())


def test_names() -> None:
    assert set(robots.names()) == {
        *MECHANISMS,
        "ant",
        "double-pendulum",
        "free-top",
        "humanoid",
        "kuka-kr5",
        "planar-3r",
        "puma560",
        "puma560-akb",
        "quadruped",
        "stanford-arm",
        "yamane-branched-30",
        "yamane-serial-30",
    }
    assert robots.families() == ("spherical-chain-N", "spherical-star-N", "four-bar-chain-N")


@pytest.mark.parametrize("name", ALL)
def test_a_robot_has_its_name_and_is_new_each_time(name: str) -> None:
    one, other = robots.builder(name), robots.builder(name)
    assert one is not other
    assert one.build() == other.build()
    assert one.build().name == name
    assert robots.known(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_mass_matrix_is_positive_definite(name: str) -> None:
    arm = robot(name)
    q = arm.random(np.random.default_rng(1), 5)
    M = arm.mass_matrix(q)
    assert_close(M, M.swapaxes(1, 2), ROUNDING)
    assert (np.linalg.eigvalsh(M)[:, 0] > 0.0).all()


@pytest.mark.parametrize("name", ALL)
def test_inertias_are_those_of_bodies(name: str) -> None:
    """No principal value is above the sum of the others; two links of the Stanford arm are at that limit."""
    wrong = set()
    for body in robots.builder(name).build().bodies:
        a, b, c = np.linalg.eigvalsh(body.inertia_matrix)
        if body.mass <= 0.0 or a <= 0.0 or c > (a + b) * (1.0 + 1e-12):
            wrong.add((name, body.name))
    assert wrong == {x for x in NO_BODY if x[0] == name}
    assert bool(robots.builder(name).build().notes) == bool(wrong)


@pytest.mark.parametrize("name", ALL)
def test_positions_are_positions(name: str) -> None:
    arm = robot(name)
    for q in robots.positions(name).values():
        assert q.shape == (arm.nq,)
        assert np.isfinite(q).all()


@pytest.mark.parametrize("ask", [robots.builder, robots.positions])
def test_an_unknown_name_lists_all(ask: object) -> None:
    with pytest.raises(on.UnknownNameError) as caught:
        ask("puma650")  # type: ignore[operator]
    message = str(caught.value)
    assert message.startswith("unknown robot 'puma650'. Did you mean 'puma560'? Known: ")
    for name in (*robots.names(), *robots.families()):
        assert name in message


@pytest.mark.parametrize("name", ["spherical-chain-0", "spherical-chain-", "spherical-chain-N", "chain-3", "", None, 3])
def test_names_that_are_none(name: object) -> None:
    assert not robots.known(name)
    with pytest.raises(on.UnknownNameError, match=r"unknown robot "):
        robots.builder(name)  # type: ignore[arg-type]


def test_modules_are_imported_when_they_are_asked_for() -> None:
    code = (
        "import sys; from ordern import robots; loaded = lambda: 'ordern.robots.kuka_kr5' in sys.modules; "
        "before = loaded(); robots.builder('kuka-kr5'); print(before, loaded())"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "True"]
