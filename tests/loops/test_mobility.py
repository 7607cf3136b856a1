"""Freedoms of mechanisms, by the counts of the textbooks, and the motions that are left."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.robots.mechanisms.four_bar import four_bar
from tests.loops.test_solvers import ABOUT, parallelogram

KNOWN = {  # freedoms, rank, constraints: Gruebler's count, or the classical exceptions from it
    "four-bar": (1, 2, 2),
    "slider-crank": (1, 2, 2),
    "spatial-slider-crank": (1, 3, 3),
    "five-bar": (2, 2, 2),
    "stewart-platform": (6, 18, 18),
    "delta-robot": (3, 18, 18),
    "bricard": (1, 4, 5),
    "andrews-squeezer": (1, 6, 6),
    "double-parallelogram": (1, 3, 4),
    "door": (1, 0, 5),
}


LARGE = ("stewart-platform", "delta-robot")


@pytest.mark.parametrize("name", [pytest.param(x, marks=[pytest.mark.slow] * (x in LARGE)) for x in KNOWN])
def test_counts(name):
    robot = on.load(name)
    q = np.asarray(robots.positions(name)["assembled"], float)
    found = robot.mobility(q)
    freedoms, rank, constraints = KNOWN[name]
    assert (found.rank, found.constraints) == (rank, constraints)
    assert found.freedoms == robot.nv - rank
    if name != "delta-robot":  # whose rods turn about themselves
        assert found.freedoms == freedoms
    K = robot.loop_jacobian(q)
    assert found.motions.shape == (robot.nv, found.freedoms)
    assert np.abs(K @ found.motions).max(initial=0.0) < 1e-12
    np.testing.assert_allclose(found.motions.T @ found.motions, np.eye(found.freedoms), atol=1e-12)
    assert found.redundant == constraints - rank == sum(found.redundant_rows.values())
    assert not found.singular
    assert f"{found.freedoms} freedom" in str(found)


def test_redundant_rows_have_names():
    robot = on.Robot.of(four_bar(closure=on.Revolute(ABOUT)).build())
    found = robot.mobility(robots.positions("four-bar")["assembled"])
    assert found.redundant == 3 and found.redundant_rows == {"pin": 3} and found.independent == {"pin": 2}
    text = str(found)
    assert "pin: 5 constraints, 3 redundant" in text and all(c.name in text for c in robot.joints)


def test_singular_positions():
    robot = parallelogram()
    flat = robot.mobility(np.zeros(3))
    assert (flat.freedoms, flat.rank) == (2, 1) and flat.singular and "singular position" in str(flat)
    open_ = robot.mobility([0.7, -0.7, 0.7])
    assert (open_.freedoms, open_.rank) == (1, 2) and not open_.singular


def test_small_and_large_mechanisms_have_the_same_mobility():
    """Lengths of a micrometre, or of a kilometre: the units of rows must not count."""
    for size in (1e-6, 1e-3, 1.0, 1e3):
        builder = on.Builder("scaled").body("ground")
        for k, (parent, at) in enumerate((("ground", 0.0), ("link0", 1.0), ("ground", 0.5))):
            builder.body(f"link{k}", parent=parent, joint=on.Revolute(ABOUT), at=(at * size, 0, 0), mass=1.0,
                         inertia=(size**2, size**2, size**2))  # fmt: skip
        builder.loop("pin", on.Revolute(ABOUT), "link2", "link1", at=(size, 0, 0), child_at=(0.5 * size, 0, 0))
        robot = builder.build()
        found = robot.mobility([0.7, -0.7, 0.7])
        assert (found.freedoms, found.rank, found.constraints) == (1, 2, 5), size
        assert robot.mobility([0.0, 0.0, 0.0]).rank == 1


def test_trees_have_all_their_freedoms():
    arm = on.load("puma560")
    found = arm.mobility(np.zeros(6))
    assert (found.freedoms, found.rank, found.constraints) == (6, 0, 0) and not found.singular
    with pytest.raises(on.ArgumentError, match="one position"):
        arm.mobility(np.zeros((2, 6)))


@pytest.mark.slow
def test_a_stretched_chain_is_locked() -> None:
    """To first order the middle of two bars between pins can move; but no motion leads there."""
    bar = {"mass": 1.0, "com": (0.25, 0, 0), "inertia": (0.01, 0.01, 0.01)}
    builder = on.Builder("stretched").body("ground").body("left", parent="ground", joint=on.Revolute((0, 1, 0)), **bar)
    builder.body("right", parent="left", joint=on.Revolute((0, 1, 0)), at=(0.5, 0, 0), **bar)
    robot = builder.loop("pin", on.Revolute((0, 1, 0)), "ground", "right", at=(1, 0, 0), child_at=(0.5, 0, 0)).build()
    found = robot.mobility([0.0, 0.0])
    assert (found.freedoms, found.singular, found.locked) == (1, True, True)
    assert "no motion leads away from it" in str(found)
    bent = robot.with_loops([])
    assert not bent.mobility([0.0, 0.0]).locked
    flat = on.load("four-bar-chain-4").mobility(np.zeros(on.load("four-bar-chain-4").nq))
    assert not flat.locked
