"""Counting operations: as the robot is, and in general."""

from __future__ import annotations

import pytest

import ordern as on
from ordern.counting import critical_path, generic
from ordern.errors import ArgumentError
from ordern.papers.costs import PUBLISHED_FORWARD, PUBLISHED_INVERSE, formula, polynomial, revolute_arm, value


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


@pytest.mark.slow
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
    inverse = {name: (value(M, 6), value(A, 6)) for name, M, A in PUBLISHED_INVERSE}
    assert inverse["Saha 1999"] == (676, 527)
    assert inverse["Balafoutis et al. 1988"] == (489, 421)
    forward = {name: [(value(M, n), value(A, n)) for n in (6, 12)] for name, M, A in PUBLISHED_FORWARD}
    assert forward["Walker, Orin 1982"] == [(633, 475), (2357, 1716)]
    assert forward["Featherstone 1983"] == [(996, 871), (2190, 1915)]


def test_kernels_of_what_iterates_count_as_on_count_does() -> None:
    robot = on.load("puma560")
    found = robot.kernel("forward_dynamics", "conjugate-gradient").counts()
    assert found == on.count(robot, "forward_dynamics", "conjugate-gradient")
    assert found.each_step == on.count(robot, "mass_matrix_product")
    assert {p.question for p in found.pieces} == {"bias_force", "mass_matrix_product"}


@pytest.mark.parametrize("general", [False, True])
def test_an_iteration_is_counted_by_step_and_by_piece(general: bool) -> None:
    """As many products with the mass matrix as steps, each of order n; the rest once."""
    robot = on.load("puma560")
    one = {
        question: on.count(robot, question, general=general)
        for question in ("bias_force", "mass_matrix_product", "mass_matrix_diagonal_product")
    }
    plain = on.count(robot, "forward_dynamics", "conjugate-gradient", general=general)
    assert (plain.once, plain.each_step) == (one["bias_force"], one["mass_matrix_product"])
    helped = on.count(robot, "forward_dynamics", "conjugate-gradient-preconditioned", general=general)
    assert helped.once == one["bias_force"] + one["mass_matrix_diagonal_product"]
    assert helped.each_step == one["mass_matrix_product"]
    assert helped.after(7) == helped.once + helped.each_step * 7
    assert 6 <= helped.steps <= 12 and 6 <= plain.steps <= 12
    assert [(p.question, p.once, p.each_step) for p in helped.pieces] == [
        ("bias_force", 1, 0),
        ("mass_matrix_diagonal_product", 1, 0),
        ("mass_matrix_product", 0, 1),
    ]


@pytest.mark.slow
def test_a_step_is_of_order_n() -> None:
    name = "conjugate-gradient-preconditioned"
    totals = [on.count(generic(on.chain(n)), "forward_dynamics", name).after(1).total for n in (8, 16, 24)]
    assert totals[2] - totals[1] == totals[1] - totals[0]


@pytest.mark.slow
def test_methods_made_of_others_are_counted_by_piece() -> None:
    tree = on.load("yamane-branched-30")
    split = on.count(tree, "forward_dynamics", "virtual-work-split")
    (piece,) = split.pieces
    assert (piece.question, piece.method, piece.once, piece.each_step, split.steps) == (
        "forward_dynamics", "virtual-work", 1, 0, 0,
    )  # fmt: skip
    assert split.once == piece.counts == split.after(3)
    four_bar = on.load("four-bar")
    direct = on.count(four_bar, "closed_dynamics", "kkt")
    assert {p.question for p in direct.pieces} == {"bias_force", "loop_bias", "loop_jacobian", "mass_matrix"}
    proximal = on.count(four_bar, "closed_dynamics", "proximal")
    assert proximal.steps > 1
    solves = next(p for p in proximal.pieces if p.question == "mass_matrix_solve")
    assert solves.each_step == 1 and solves.once > 1
    assert proximal.to_dict()["each_step"]["multiplications"] == proximal.each_step.multiplications


def test_what_is_made_of_others_has_no_code_and_no_path_of_its_own() -> None:
    kernel = on.load("puma560").kernel("forward_dynamics", "conjugate-gradient")
    with pytest.raises(on.ArgumentError, match=r"'conjugate-gradient' has no code of its own.*`ordern.count`"):
        kernel.code  # noqa: B018
    with pytest.raises(on.ArgumentError, match=r"each of those that `on.count` lists"):
        critical_path(on.load("puma560"), "forward_dynamics", "conjugate-gradient")
    light = on.Builder("light").body("ground").body("a", parent="ground", joint=on.Revolute((0, 0, 1)))
    light.body("b", parent="a", joint=on.Revolute((0, 1, 0)), mass=1.0, com=(0.5, 0.0, 0.0))
    with pytest.raises(on.ArgumentError, match=r"'virtual-work-split': .*'a' is singular"):
        on.count(light.build(), "forward_dynamics", "virtual-work-split")


def test_forward_dynamics_with_loops_is_not_that_of_the_tree() -> None:
    robot = on.load("four-bar")
    with pytest.raises(ArgumentError, match=r"loops or couplings \(pin\).*closed_dynamics.*opened"):
        on.count(robot, "forward_dynamics")
    assert on.count(robot, "closed_dynamics").total > on.count(robot.opened(), "forward_dynamics").total
