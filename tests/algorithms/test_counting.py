"""Counting operations: as the robot is, and in general."""

from __future__ import annotations

import pytest

import ordern as on
from ordern.counting import generic
from ordern.errors import ArgumentError
from ordern.papers.costs import PUBLISHED_FORWARD, PUBLISHED_INVERSE, _value, formula, polynomial, revolute_arm


def test_counts_are_those_of_the_kernel() -> None:
    robot = on.load("stanford-arm")
    assert on.count(robot, "mass_matrix") == robot.kernel("mass_matrix", way="unrolled").counts()


def test_a_general_robot_has_the_same_joints_and_nothing_special() -> None:
    robot = on.load("puma560")
    general = generic(robot)
    assert [type(c.type) for c in general.joints] == [type(c.type) for c in robot.joints]
    assert [c.parent for c in general.joints] == [c.parent for c in robot.joints]
    assert all(x != 0.0 for b in general.bodies for x in (b.mass, *b.com, *b.inertia))
    assert not any(any(c.armature) for c in general.joints)
    assert not general.check().errors


def test_general_costs_more_than_special() -> None:
    robot = on.load("stanford-arm")
    for question in ("forward_dynamics", "inverse_dynamics", "mass_matrix"):
        assert on.count(robot, question).total < on.count(robot, question, general=True).total


def test_order_n_is_a_line() -> None:
    """A further joint costs as much as the one before."""
    counts = [on.count(revolute_arm(n), "inverse_dynamics", method).multiplications for method, n in _lengths()]
    for k in range(0, len(counts), 4):
        a, b, c, d = counts[k : k + 4]
        assert b - a == c - b == d - c


def _lengths() -> list[tuple[str, int]]:
    names = [m.name for m in on.methods("inverse_dynamics") if m.function.__module__.startswith("ordern.")]
    return [(name, n) for name in names for n in (5, 6, 7, 8)]


def test_link_coordinates_take_fewer_operations_than_absolute_ones() -> None:
    """Featherstone and Orin 2000, sec. 3.2."""
    arm = revolute_arm(6)
    absolute = on.count(arm, "forward_dynamics", "articulated-body-absolute")
    assert on.count(arm, "forward_dynamics").total < 0.8 * absolute.total


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([5, 7, 9, 11, 13], "2n + 1"),
        ([8, 27, 64, 125, 216], "n^3"),
        ([3, 3, 3, 3, 3], "3"),
        ([1, 3, 6, 10, 15], "1/2 n^2 - 1/2 n"),
        ([1, 2, 4, 8, 17], "no polynomial"),
    ],
)
def test_formulas(values: list[int], wanted: str) -> None:
    assert formula(polynomial(values, 2)) == wanted


def test_published_formulas_give_the_published_numbers() -> None:
    """Saha 1999, Tables 1 and 2; 475, where 480 is printed, is what the formula gives."""
    inverse = {name: (_value(M, 6), _value(A, 6)) for name, M, A in PUBLISHED_INVERSE}
    assert inverse["Saha 1999"] == (676, 527)
    assert inverse["Balafoutis et al. 1988"] == (489, 421)
    forward = {name: [(_value(M, n), _value(A, n)) for n in (6, 12)] for name, M, A in PUBLISHED_FORWARD}
    assert forward["Walker, Orin 1982"] == [(633, 475), (2357, 1716)]
    assert forward["Featherstone 1983"] == [(996, 871), (2190, 1915)]


def test_what_iterates_has_no_count() -> None:
    with pytest.raises(on.ArgumentError, match="cannot be counted"):
        on.load("puma560").kernel("forward_dynamics", "conjugate-gradient").counts()


def test_forward_dynamics_with_loops_is_not_that_of_the_tree() -> None:
    robot = on.load("four-bar")
    with pytest.raises(ArgumentError, match=r"loops or couplings \(pin\).*closed_dynamics.*opened"):
        on.count(robot, "forward_dynamics")
    assert on.count(robot, "closed_dynamics").total > on.count(robot.opened(), "forward_dynamics").total
