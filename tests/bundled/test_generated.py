"""Chains and trees of any size, and those of Yamane and Nakamura."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.robots import double_pendulum as dp
from ordern.robots.generated import rod
from ordern.robots.yamane import spherical_chain, spherical_star
from tests.tolerances import CLOSED_FORM, ROUNDING, assert_close


def test_chain() -> None:
    model = robots.chain(5).build()
    assert (model.name, model.nv, model.mass) == ("chain-5", 5, 5.0)
    assert [b.name for b in model.bodies] == [f"link{k}" for k in range(1, 6)]
    assert [c.parent for c in model.joints] == [-1, 0, 1, 2, 3]
    axes = [c.type.axis for c in model.joints]  # type: ignore[attr-defined]
    assert axes == [(0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0)]
    assert model.frame("tip").placement.position == (0.0, 0.0, -0.2)


def test_chain_hangs_straight_down() -> None:
    robot = on.Robot.of(robots.chain(4, length=0.3).build())
    q = robot.neutral()
    assert_close(robot.pose(q, "tip")[:3, 3], [0.0, 0.0, -1.2], CLOSED_FORM)
    assert_close(robot.gravity_force(q), np.zeros(4), ROUNDING)


def test_chain_of_two_is_the_double_pendulum() -> None:
    two = robots.chain(
        2, on.Revolute((0, 1, 0)), length=dp.LENGTH, mass=dp.MASS, radius=dp.RADIUS, name="double-pendulum"
    )
    assert two.build().digest == robots.builder("double-pendulum").build().digest


def test_kinds_of_joints() -> None:
    screw = on.Prismatic((1, 1, 0))
    model = robots.chain(5, [on.Spherical, screw]).build()
    assert [type(c.type) for c in model.joints] == [on.Spherical, on.Prismatic] * 2 + [on.Spherical]
    assert model.joints[1].type is screw
    assert robots.chain(3, on.Spherical()).build().nv == 9
    assert robots.chain(2, on.Free).build().nv == 12
    several = robots.chain(4, [on.Revolute, on.Prismatic]).build()
    assert [c.type.axis for c in several.joints] == [(0, 1, 0)] * 2 + [(1, 0, 0)] * 2  # type: ignore[attr-defined]


def test_tree() -> None:
    model = robots.tree(4, 3).build()
    assert (model.name, len(model.bodies)) == ("tree-4-3", 1 + 3 + 9 + 27)
    children = Counter(c.parent for c in model.joints)
    assert children[-1] == 1
    assert Counter(children[k] for k in range(40)) == {3: 13, 0: 27}
    names = {b.name for b in model.bodies}
    assert names == {f"link{k}" for k in range(1, 41)}
    parent = {model.bodies[k].name: model.bodies[c.parent].name for k, c in enumerate(model.joints) if c.parent >= 0}
    assert [parent[f"link{k}"] for k in (2, 4, 5, 7, 8)] == ["link1", "link1", "link2", "link2", "link3"]


def test_generations_of_a_tree_have_joints_in_turn() -> None:
    model = robots.tree(3, 2, [on.Spherical, on.Prismatic]).build()
    kinds = {b.name: type(c.type) for b, c in zip(model.bodies, model.joints, strict=True)}
    assert [kinds[f"link{k}"] for k in range(1, 8)] == [on.Spherical] + [on.Prismatic] * 2 + [on.Spherical] * 4


def test_siblings_are_fanned_out() -> None:
    """Their mass centres are in equal distance from each other, and 30 degrees from the parent's direction."""
    robot = on.Robot.of(robots.tree(2, 3, on.Spherical).build())
    down = np.array([robot.pose(robot.neutral(), f"link{k}")[:3, 2] for k in (2, 3, 4)])
    assert_close(down[:, 2], np.full(3, np.cos(np.pi / 6)), CLOSED_FORM)
    assert_close(down.sum(0)[:2], [0.0, 0.0], CLOSED_FORM)


def test_tree_without_branches_is_a_chain() -> None:
    one, other = robots.tree(4, 1).build(), robots.chain(4).build()
    assert one.digest == other.digest


@pytest.mark.parametrize("make", [robots.chain, lambda n, **options: robots.tree(n, 2, **options)])
def test_seeds(make: Any) -> None:
    one, same, other, plain = make(4, seed=1), make(4, seed=1), make(4, seed=2), make(4)
    digests = [builder.build().digest for builder in (one, same, other, plain)]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3
    robot = on.Robot.of(one.build())
    masses = [b.mass for b in robot.bodies]
    assert len(set(masses)) == len(masses)
    assert all(0.5 <= m <= 1.5 for m in masses)
    assert (np.linalg.eigvalsh(robot.mass_matrix(robot.random(0)))[0] > 0.0).all()


def test_rod() -> None:
    """Against the sum over many slices."""
    m, l, r, n = 2.0, 0.6, 0.1, 4000
    z = -(np.arange(n) + 0.5) * l / n
    across = np.sum(m / n * (r**2 / 4 + (z + l / 2) ** 2))
    found = rod(m, l, r)
    assert found["mass"] == m
    assert found["com"] == (0.0, 0.0, -l / 2)
    np.testing.assert_allclose(found["inertia"], [across, across, m * r**2 / 2], rtol=1e-6)


@pytest.mark.slow
def test_long_chain() -> None:
    model = robots.chain(5_000).build()
    assert len(model.bodies) == 5_000
    assert model.joints[-1].parent == 4_998


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: robots.chain(0), "n must be a whole number from 1 on, not 0"),
        (lambda: robots.chain(2.5), "n must be a whole number from 1 on, not 2.5"),  # type: ignore[arg-type]
        (lambda: robots.chain(True), "n must be a whole number from 1 on, not True"),
        (lambda: robots.tree(2, 0), "branching must be a whole number from 1 on, not 0"),
        (lambda: robots.tree(0), "depth must be a whole number from 1 on, not 0"),
        (lambda: robots.chain(2, length=-1.0), "chain-2: length must be a finite number above zero, not -1.0"),
        (lambda: robots.chain(2, mass=np.nan), "chain-2: mass must be a finite number above zero, not nan"),
        (lambda: robots.chain(2, radius=np.inf), "chain-2: radius must be a finite number above zero, not inf"),
        (lambda: robots.chain(2, "revolute"), "joint must be a joint or a class of joints such as Revolute, not 'r'"),  # type: ignore[arg-type]
        (lambda: robots.chain(2, []), "joint must be at least one joint or class of joints"),
        (lambda: spherical_star(0), "n must be a whole number from 1 on, not 0"),
        (lambda: spherical_chain(0), "n must be a whole number from 1 on, not 0"),
    ],
)
def test_errors(make: Any, message: str) -> None:
    with pytest.raises(on.ModelError) as caught:
        make()
    assert str(caught.value) == message


class Odd(on.Joint):
    """A joint that cannot be made without an argument."""

    nq = nv = 1

    def __init__(self, pitch: float) -> None: ...

    def transform(self, q: Any) -> Any: ...

    def subspace(self, q: Any) -> Any: ...


def test_class_that_needs_arguments() -> None:
    with pytest.raises(on.ModelError, match=r"a Odd needs more than its class \(.*pitch.*\): give a joint instead"):
        robots.chain(2, Odd)


# ---------------------------------------------------------------- Yamane and Nakamura


@pytest.mark.parametrize("n", range(2, 17, 7))
def test_spherical_chain(n: int) -> None:
    model = robots.builder(f"spherical-chain-{n}").build()
    assert model == spherical_chain(n).build()
    assert model.nv == 3 * n
    assert [c.parent for c in model.joints] == list(range(-1, n - 1))


@pytest.mark.parametrize(("n", "freedoms"), [(2, 9), (12, 39)])
def test_spherical_star(n: int, freedoms: int) -> None:
    """The paper's Figure 7: 2 to 12 end links, 9 to 39 degrees of freedom."""
    model = robots.builder(f"spherical-star-{n}").build()
    assert model == spherical_star(n).build()
    assert model.nv == freedoms
    assert [c.parent for c in model.joints] == [-1] + [0] * n
    assert {type(c.type) for c in model.joints} == {on.Spherical}


def test_thirty_degrees_of_freedom() -> None:
    serial, branched = (robots.builder(f"yamane-{kind}-30").build() for kind in ("serial", "branched"))
    assert serial.nv == branched.nv == 30
    assert [c.parent for c in serial.joints] == list(range(-1, 9))
    assert [c.parent for c in branched.joints] == [-1, 0, 1, 2, 0, 4, 5, 0, 7, 8]


def test_hangs_at_rest() -> None:
    for name in ("yamane-branched-30", "spherical-star-3"):
        robot = on.Robot.of(robots.builder(name).build())
        assert_close(robot.gravity_force(robot.neutral()), np.zeros(robot.nv), ROUNDING)


@pytest.mark.parametrize(
    "make",
    [
        lambda: on.chain(10**9),
        lambda: on.tree(60),
        lambda: on.tree(3, 10**6),
        lambda: on.tree(10**9, 1),
        lambda: robots.chain(10**5000),
        lambda: spherical_star(10**9),
    ],
)
def test_sizes_are_bounded_before_anything_is_made(make: Any) -> None:
    with pytest.raises(on.ModelError, match=r"at most 200,000|more than 200,000 links"):
        make()
